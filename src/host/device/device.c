/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device - opening, closing, and what a device can do.
 *
 * Everything is sized for the limits that are told, so that a limit is never a lie; the engine's
 * block is address space first and memory when used.
 *
 * A child of fork() has the memory of its parent, but not its thread, and shares its sockets and
 * rings: whatever it did there would be done to the parent.  So its devices are dead from the
 * beginning, without a lock being touched.
 */
#include "device_local.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/version.h>

#define LINGER_NS UINT64_C(100000) /* between looks, while it closes */

uint32_t device_fork_age;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void on_fork(void)
{
	device_fork_age++;
	stats_in_child();
}

static void watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, on_fork);
}

static void size_engine(struct weft_config *engine)
{
	/* An extended one takes a pair; a strict one stands in the way of one pair at most. */
	engine->extended_qps = QPS_MAX + CONTACTS_MAX + ZOMBIES_MAX;
	engine->qps = (uint32_t)weft_pow2_up(2 * engine->extended_qps);
	engine->cqs = 1;
	engine->cq_depth = 1u << 17;
	engine->regions = KEYS;
	engine->pathsets = 2048;
	engine->paths_per_set = 256;
	engine->paths = 1u << 18;
	engine->sq_depth = 256;
	engine->rq_depth = 512;
	engine->inflight_pkts = 16384;
	engine->answers = 4096;
	engine->events = 8192;
	engine->rd_atomic_max = RD_ATOMIC_MAX;
	engine->recvqs = SRQS_MAX + QPS_MAX + ZOMBIES_MAX; /* those of datagrams have one each */
	engine->recvq_depth = SRQ_DEPTH_MAX;
	engine->reach = weft_nofault_reach;
}

static void close_fds(struct weft_dev *dev)
{
	if (dev->greetings.fd >= 0)
		close(dev->greetings.fd);
	progress_close(dev);
	event_close(&dev->events);
}

/* Without a fabric file a host is known by one address, which its programs tell their peers: one
 * that is there. */
static uint32_t find_home(struct weft_dev *dev)
{
	uint32_t up = dev->port->ops->carrier(dev->port), first = 0;

	while (first + 1 < dev->end.planes && weft_inet_is_none(dev->end.addr[first]))
		first++;
	return weft_live_topo(dev->live) || !up ? first : weft_ctz64(up);
}

void device_find_planes(struct weft_dev *dev)
{
	struct weft_live_end end;

	weft_live_end(dev->live, &end);
	memcpy(dev->end.addr, end.addr, sizeof(end.addr));
}

/* Interfaces that somebody has named, rightly or not: nothing else would tell him. */
static void say_missing(const struct weft_dev *dev)
{
	char words[sizeof(dev->name.planes)], *rest = words, *word;

	memcpy(words, dev->name.planes, sizeof(words));
	for (uint32_t i = 0; *words && (word = strsep(&rest, ",")); i++)
		if (i < dev->end.planes && weft_inet_is_none(dev->end.addr[i]))
			weft_dev_say("%s: plane %u: interface %s is not there, or has no address: "
				     "it joins when it has one",
				dev->name.name, i, word);
}

static int open_live(struct weft_dev *dev, char *error, size_t error_bytes)
{
	struct weft_live_config config;

	weft_live_defaults(&config);
	config.planes = dev->name.planes[0] ? dev->name.planes : NULL;
	config.no_path_mtu = true;
	config.scatter = post_place;
	config.port = dev->net.port;
	config.clock = dev->env.now;
	config.clock_arg = dev->env.arg;
	config.engine.seed = device_random(dev);
	size_engine(&config.engine);
	if (weft_live_open(&dev->live, &config, error, error_bytes))
		return -1;
	dev->ep = weft_live_endpoint(dev->live);
	dev->port = weft_live_port(dev->live);
	dev->pump = weft_live_pump(dev->live);
	weft_live_end(dev->live, &dev->end);
	dev->end.home = find_home(dev);
	memcpy(dev->name.gid, dev->end.addr[dev->end.home], 16);
	say_missing(dev);
	return 0;
}

static int open_all(struct weft_dev *dev, char *error, size_t error_bytes)
{
	dev->mrs = calloc(KEYS, sizeof(*dev->mrs));
	dev->zombies = calloc(ZOMBIES_MAX, sizeof(*dev->zombies));
	if (!dev->mrs || !dev->zombies || event_open(&dev->events)) {
		snprintf(error, error_bytes, "no memory or descriptors");
		return ENOMEM;
	}
	if (open_live(dev, error, error_bytes))
		return weft_dev_may_pass(errno) ? errno : ENODEV;
	if (dev->has_net)
		dev->number = dev->net.number;
	else if (greet_open(dev, error, error_bytes))
		return EMFILE;
	dev->planes_up = dev->port->ops->carrier(dev->port);
	dev->next_slot = 16 + (uint32_t)device_random(dev) % (QP_SLOTS / 2);
	dev->greetings.at_ns = WEFT_NEVER;
	return 0;
}

static void machine_sleep(void *arg, uint64_t ns)
{
	(void)arg;
	weft_clock_sleep(ns);
}

static uint64_t machine_random(void *arg)
{
	(void)arg;
	return weft_random();
}

static const struct weft_dev_env machine = {
	.now = weft_clock_now, .sleep = machine_sleep, .random = machine_random
};

int weft_dev_open(
	struct weft_dev **out, const struct weft_dev_name *name, char *error, size_t error_bytes)
{
	return weft_dev_open_in(out, name, NULL, error, error_bytes);
}

int weft_dev_open_in(struct weft_dev **out, const struct weft_dev_name *name,
	const struct weft_dev_env *env, char *error, size_t error_bytes)
{
	struct weft_dev *dev = calloc(1, sizeof(*dev));
	int rc;

	if (!dev) {
		snprintf(error, error_bytes, "no memory");
		return ENOMEM;
	}
	(void)pthread_once(&once, watch_forks);
	weft_nofault_watch();
	dev->name = *name;
	dev->env = env ? *env : machine;
	dev->has_net = dev->env.net != NULL;
	if (dev->has_net)
		dev->net = *dev->env.net;
	dev->env.net = NULL; /* it was lent */
	dev->fork_age = device_fork_age;
	dev->greetings.fd = dev->events.fd[0] = dev->events.fd[1] = -1;
	weft_lock_open(&dev->lock);
	rc = progress_open(dev);
	if (rc) {
		snprintf(error, error_bytes, "no memory or descriptors");
		free(dev);
		return rc;
	}
	rc = open_all(dev, error, error_bytes);
	if (rc) {
		weft_live_close(dev->live);
		close_fds(dev);
		free(dev->mrs);
		free(dev->zombies);
		free(dev);
		return rc;
	}
	stats_register(dev);
	*out = dev;
	return 0;
}

/* Last ACKs: peers shall not fail for what has been received. */
static void linger(struct weft_dev *dev)
{
	while (dev->n_zombies) {
		if (!run_once(dev)) {
			weft_lock_give(&dev->lock);
			dev->env.sleep(dev->env.arg, LINGER_NS);
			weft_lock_take(&dev->lock);
		}
		(void)zombie_reap(dev, device_now(dev), false);
	}
}

bool device_leave(struct weft_dev *dev)
{
	if (device_is_dead(dev))
		return false;
	/* exit() may be called by a signal's handler, while its thread holds the lock. */
	for (unsigned tries = 0; !weft_lock_try(&dev->lock); tries++) {
		if (tries == 1000)
			return false;
		dev->env.sleep(dev->env.arg, LINGER_NS);
	}
	for (const struct link *at = dev->opened; at; at = at->next) {
		struct weft_dev_qp *qp = at->of;

		if (!pair_is_open(qp))
			continue;
		qp->attr.state = WEFT_DEV_ERR;
		qp_let_go(qp);
	}
	linger(dev);
	weft_lock_give(&dev->lock);
	return true;
}

static void close_own(struct weft_dev *dev)
{
	weft_lock_take(&dev->lock);
	bool busy = dev->n_qps || dev->n_mrs || dev->n_mws || dev->n_pds || dev->n_cqs ||
		    dev->n_srqs || dev->n_ahs || dev->n_channels || dev->listeners;

	linger(dev);
	weft_lock_give(&dev->lock);
	run_stop(dev);
	stats_forget(dev);
	weft_live_close(dev->live);
	close_fds(dev);
	for (uint32_t i = 0; i < dev->n_paths; i++) {
		free(dev->paths[i].evs);
		free(dev->paths[i].states);
	}
	free(dev->paths);
	for (uint32_t i = 0; i < GROUPS_MAX; i++) {
		free(dev->datagrams.groups[i]);
		dev->datagrams.groups[i] = NULL;
	}
	free(dev->mrs);
	free(dev->zombies);
	free(dev->greetings.proofs.list);
	/* Programs forget objects (perftest a CQ), and kernels forgive that.  What they still
	 * hold finds a dead device, as in a child. */
	if (busy) {
		dev->fork_age = DEVICE_CLOSED;
		stats_keep(dev);
		return;
	}
	weft_lock_close(&dev->lock);
	free(dev);
}

int weft_dev_close(struct weft_dev *dev)
{
	if (dev->fork_age == DEVICE_CLOSED)
		return ENODEV;
	if (device_is_dead(dev)) {
		close_fds(dev); /* this process's copies; the rest is the parent's */
		return 0;
	}
	int cancel = weft_cancel_off(); /* the thread is waited for, and half a device is none */

	close_own(dev);
	weft_cancel_on(cancel);
	return 0;
}

void weft_dev_query(const struct weft_dev *dev, struct weft_dev_attr *attr)
{
	const struct weft_config *engine = weft_live_engine(dev->live);

	*attr = (struct weft_dev_attr){ .version = WEFT_VERSION,
		.guid = dev->name.guid,
		.rate_bps = dev->end.rate_bps,
		.line_bps = weft_live_line_bps(dev->live),
		.planes = dev->end.planes,
		.mtu_bytes = dev->end.mtu_bytes,
		.max_qp = QPS_MAX,
		.max_qp_wr = DEPTH_MAX,
		.max_sge = SGES_MAX,
		.max_inline_bytes = INLINE_MAX,
		.max_cq = CQS_MAX,
		.max_cqe = CQES_MAX,
		.max_mr = MRS_MAX,
		.max_mw = MWS_MAX,
		.max_pd = PDS_MAX,
		.max_ah = AHS_MAX,
		.max_srq = SRQS_MAX,
		.max_srq_wr = SRQ_DEPTH_MAX,
		.max_srq_sge = SGES_MAX,
		.max_rd_atomic = RD_ATOMIC_MAX,
		.max_msg_bytes = MESSAGE_MAX,
		.max_datagram_bytes = dev->end.mtu_bytes,
		.max_mr_bytes = UINT64_C(1) << 47,
		.max_wimm = engine->wimm_max,
		.max_mpr_psns = engine->window_psns,
		.page_size_cap = 0xfffff000u,
		.extended = true };
	memcpy(attr->name, dev->name.name, sizeof(attr->name));
	memcpy(attr->host, dev->end.host, sizeof(attr->host));
}

void weft_dev_gid(const struct weft_dev *dev, uint8_t gid[16])
{
	memcpy(gid, dev->name.gid, 16);
}
