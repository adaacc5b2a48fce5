/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switchd - opening and closing.
 *
 * All switches of a fabric are one process, and one thread at a time: a packet crosses three of
 * them in the time that handing it to another thread would take, and a cable between two is a
 * number in a heap.
 *
 * The pool's memory is given out by the kernel as it is touched, so its size is what may be needed
 * at worst (every host's programs and every queue of the fabric full), not what is used.
 */
#include "switchd_local.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <unistd.h>

#define SLOTS_MIN 8192u
#define SLOTS_MAX 131072u
#define SLOTS_PER_LINK 256u

bool fail(struct weft_switchd *sw, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(sw->error, sizeof(sw->error), format, args);
	va_end(args);
	return false;
}

bool watch_add(struct weft_switchd *sw, int fd, enum watch what, uint32_t index)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = (uint64_t)what << 32 | index };

	return !epoll_ctl(sw->epoll_fd, EPOLL_CTL_ADD, fd, &event) ||
	       fail(sw, "epoll: %s", strerror(errno));
}

static bool open_state(struct weft_switchd *sw)
{
	const struct weft_topo_shape *s = sw->shape;

	sw->told = calloc(s->links, sizeof(*sw->told));
	sw->is_off = calloc(s->nodes, sizeof(*sw->is_off));
	sw->is_frozen = calloc(s->nodes, sizeof(*sw->is_frozen));
	sw->on_again_ns = calloc(s->nodes, sizeof(*sw->on_again_ns));
	sw->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!sw->told || !sw->is_off || !sw->is_frozen || !sw->on_again_ns || sw->epoll_fd < 0)
		return fail(sw, "out of memory");
	return true;
}

static bool open_network(struct weft_switchd *sw)
{
	const struct weft_topo_shape *s = sw->shape;
	uint32_t wanted = WEFT_MIN(s->links, SLOTS_MAX / SLOTS_PER_LINK) * SLOTS_PER_LINK;
	uint32_t slots = WEFT_MAX(wanted, SLOTS_MIN);
	uint32_t slot_bytes = WEFT_ALIGN_UP(WEFT_SHM_HEADROOM + s->mtu_bytes, 64u);

	if (!slots_open(&sw->slots, slots))
		return fail(sw, "out of memory");
	if (weft_shm_pool_open(&sw->pool, slots, slot_bytes, sw->error, sizeof(sw->error)))
		return false;
	struct weft_network_config config = { .topo = sw->topo,
		.memory = sw->pool.memory,
		.slot_bytes = slot_bytes,
		.slot_offset = WEFT_SHM_HEADROOM,
		.frames = slots,
		.rate_bps = sw->rate_bps,
		.seed = real_unix_ns() };

	return !weft_network_open(&sw->network, &config, sw->error, sizeof(sw->error));
}

/*
 * The lock is the truth about who runs here: the kernel drops it when a switch ends in whatever
 * way, so sockets beside a lock that can be had are litter.
 */
static bool take_dir(struct weft_switchd *sw, const char *dir)
{
	char path[PATH_BYTES];

	if (snprintf(path, sizeof(path), "%s/control", dir) >= (int)sizeof(path))
		return fail(sw, "%s: too long for a socket's path", dir);
	(void)snprintf(path, sizeof(path), "%s/lock", dir);
	sw->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (sw->lock_fd < 0)
		return fail(sw, "%s: %s", path, strerror(errno));
	if (flock(sw->lock_fd, LOCK_EX | LOCK_NB))
		return fail(sw, "%s: another switch runs there", dir);
	(void)snprintf(sw->ports_path, PATH_BYTES, "%s/ports", dir);
	(void)snprintf(sw->control_path, PATH_BYTES, "%s/control", dir);
	(void)unlink(sw->ports_path);
	(void)unlink(sw->control_path);
	return true;
}

static bool open_all(struct weft_switchd *sw, const struct weft_switchd_config *config)
{
	uint64_t files_max = weft_files_raise(); /* each program costs one, each request one */

	if (weft_topo_open(&sw->topo, config->fabric, sw->error, sizeof(sw->error)))
		return false;
	sw->shape = weft_topo_shape(sw->topo);
	if (config->rate_bps &&
		(config->rate_bps < WEFT_TOPO_BPS_MIN || config->rate_bps > WEFT_TOPO_BPS_MAX)) {
		(void)snprintf(sw->error, sizeof(sw->error),
			"a rate of %" PRIu64 " b/s, allowed: 1Mb/s to 10Tb/s", config->rate_bps);
		return false;
	}
	if (!take_dir(sw, config->dir) || !open_state(sw) || !open_network(sw))
		return false;
	lend_open(sw, files_max);
	if (!nic_open(sw, sw->ports_path) || !ifaces_open(sw, config->ifname_format) ||
		!control_open(sw, sw->control_path))
		return false;
	loop_tell_carrier(sw);
	return true;
}

int weft_switchd_open(struct weft_switchd **out, const struct weft_switchd_config *config,
	char *error, size_t error_bytes)
{
	struct weft_switchd *sw = calloc(1, sizeof(*sw));

	if (!sw) {
		(void)snprintf(error, error_bytes, "out of memory");
		return -1;
	}
	sw->ears = (struct ears){ .baton = PTHREAD_MUTEX_INITIALIZER, .kick_fd = -1 };
	sw->epoll_fd = sw->control.fd = sw->lock_fd = sw->pool.fd = -1;
	sw->ifaces = (struct ifaces){ .tx_fd = -1, .netlink_fd = -1, .ioctl_fd = -1 };
	for (uint32_t i = 0; i < CLIENTS_MAX; i++)
		sw->clients[i].fd = -1;
	sw->rate_bps = config->rate_bps;
	sw->next_on_ns = sw->next_late_ns = WEFT_NEVER;
	sw->burst_ns = GATHER_NS_MAX;
	sw->epoch_ns = sw->window_ns = real_now_ns();
	if (!realpath(config->fabric, sw->fabric))
		(void)snprintf(sw->fabric, sizeof(sw->fabric), "%s", config->fabric);
	if (open_all(sw, config)) {
		*out = sw;
		return 0;
	}
	(void)snprintf(error, error_bytes, "%s", sw->error);
	weft_switchd_close(sw);
	return -1;
}

void weft_switchd_close(struct weft_switchd *sw)
{
	int fds[] = { 0, 0 };

	if (!sw)
		return;
	control_close(sw);
	ifaces_close(sw);
	nic_close(sw);
	weft_network_close(sw->network);
	if (sw->pool.memory)
		weft_shm_pool_close(&sw->pool);
	slots_close(&sw->slots);
	/* Before the lock goes: what is there after may be another's. */
	if (*sw->ports_path) {
		(void)unlink(sw->ports_path);
		(void)unlink(sw->control_path);
	}
	fds[0] = sw->epoll_fd;
	fds[1] = sw->lock_fd;
	for (size_t i = 0; i < WEFT_COUNT(fds); i++) {
		if (fds[i] >= 0)
			(void)close(fds[i]);
	}
	free(sw->told);
	free(sw->is_off);
	free(sw->is_frozen);
	free(sw->on_again_ns);
	weft_topo_close(sw->topo);
	free(sw);
}
