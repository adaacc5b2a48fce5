/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LABS_H
#define LABS_H
/*
 * What the tests of lab share: small fabrics, a world built inside the test's own process, and
 * packets sent over one path and counted at the other end.
 */
#include "check.h"
#include "lab_local.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TWO_PLANES "name: two\nplanes: 2\nt0s: 2\nt1s: 2\nhosts: 4\n"
#define PARALLEL "name: para\nplanes: 1\nt0s: 2\nt1s: 1\nparallel_links: 2\nhosts: 2\n"

#ifndef UDP_NO_CHECK6_TX
#define UDP_NO_CHECK6_TX 101
#define UDP_NO_CHECK6_RX 102
#endif

static inline void need_namespaces(void)
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNET : CLONE_NEWNET) ? 1 : 0);
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		SKIP("network namespaces cannot be made here");
}

/* In this process; becomes root of a user namespace where it is not root already. */
static inline void need_root_here(void)
{
	char map[64];

	need_namespaces();
	if (!geteuid())
		return;
	snprintf(map, sizeof(map), "0 %u 1\n", (unsigned)geteuid());
	REQUIRE(!unshare(CLONE_NEWUSER));
	int fd = open("/proc/self/uid_map", O_WRONLY);
	REQUIRE(fd >= 0 && write(fd, map, strlen(map)) > 0);
	close(fd);
}

static inline struct weft_topo *read_fabric(const char *text)
{
	struct weft_topo *topo = NULL;
	char error[256] = "";

	if (weft_topo_open_text(&topo, text, strlen(text), "test.yaml", error, sizeof(error))) {
		CHECK_FAIL("%s", error);
		longjmp(check_leave, 1);
	}
	return topo;
}

static inline void build(struct world *world, const char *text, uint64_t rate_bps)
{
	const struct weft_lab_options options = { .rate_bps = rate_bps,
		.switches = WEFT_LAB_SWITCHES_KERNEL };

	need_root_here();
	if (world_open(world, read_fabric(text), &options))
		return;
	CHECK_FAIL("%s", world->error);
	longjmp(check_leave, 1);
}

/* The same with soft switches, whose sockets need a place: build_end() takes it away again. */
static char build_folder[64];

static inline void build_soft_at(struct world *world, const char *text, uint64_t rate_bps)
{
	const struct weft_lab_options options = {
		.name = "soft", .rate_bps = rate_bps, .switches = WEFT_LAB_SWITCHES_SOFT
	};
	char path[128];

	need_root_here();
	snprintf(build_folder, sizeof(build_folder), "/tmp/weft-soft-XXXXXX");
	REQUIRE(mkdtemp(build_folder));
	setenv("WEFT_LABS", build_folder, 1);
	snprintf(path, sizeof(path), "%s/soft", build_folder);
	REQUIRE(!mkdir(path, 0700));
	snprintf(path, sizeof(path), "%s/soft/fabric.yaml", build_folder);
	FILE *out = fopen(path, "w");
	REQUIRE(out && fputs(text, out) >= 0 && !fclose(out));
	if (world_open(world, read_fabric(text), &options))
		return;
	CHECK_FAIL("%s", world->error);
	longjmp(check_leave, 1);
}

static inline void build_soft(struct world *world, const char *text)
{
	build_soft_at(world, text, 0);
}

/* The same with programs of ours in the kernel; false: it takes none here. */
static inline bool build_programs(struct world *world, const char *text, uint64_t rate_bps)
{
	const struct weft_lab_options options = { .rate_bps = rate_bps,
		.switches = WEFT_LAB_SWITCHES_XDP };

	need_root_here();
	if (world_open(world, read_fabric(text), &options))
		return true;
	if (!strstr(world->error, "needs CAP_BPF")) {
		CHECK_FAIL("%s", world->error);
		longjmp(check_leave, 1);
	}
	fprintf(stderr, "%s: skipped: %s\n", check_name, world->error);
	world_close(world);
	return false;
}

static inline void build_end(struct world *world)
{
	bool is_soft = world->switches == WEFT_LAB_SWITCHES_SOFT;

	world_close(world);
	if (!is_soft)
		return;
	state_remove("soft");
	CHECK(access(build_folder, F_OK)); /* nothing of it is left */
	unsetenv("WEFT_LABS");
}

/* A UDP socket in a node's namespace, without checksums, that tells destination addresses. */
static inline int udp_open(struct world *world, uint32_t node, uint16_t port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	int on = 1;

	REQUIRE(world_enter(world, node));
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	REQUIRE(fd >= 0);
	CHECK(!setsockopt(fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, &on, sizeof(on)));
	CHECK(!setsockopt(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, &on, sizeof(on)));
	CHECK(!setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on)));
	REQUIRE(!bind(fd, (struct sockaddr *)&any, sizeof(any)));
	return fd;
}

static inline bool udp_send(int fd, const uint8_t address[16], const void *data, size_t bytes)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = htons(4791) };

	memcpy(&to.sin6_addr, address, 16);
	return sendto(fd, data, bytes, 0, (struct sockaddr *)&to, sizeof(to)) == (ssize_t)bytes;
}

/* Bytes of the next packet or -1 after wait_ms; where it was sent to and came from. */
static inline ssize_t udp_take(
	int fd, int wait_ms, uint8_t to[16], uint8_t from[16], void *data, size_t bytes)
{
	union {
		char buf[CMSG_SPACE(sizeof(struct in6_pktinfo))];
		struct cmsghdr align;
	} control;
	struct sockaddr_in6 source = { 0 };
	struct iovec part = { data, bytes };
	struct msghdr m = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_name = &source,
		.msg_namelen = sizeof(source),
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf) };
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	if (poll(&ready, 1, wait_ms) != 1)
		return -1;
	ssize_t n = recvmsg(fd, &m, 0);
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	if (n >= 0 && c && c->cmsg_type == IPV6_PKTINFO)
		memcpy(to, &((struct in6_pktinfo *)CMSG_DATA(c))->ipi6_addr, 16);
	memcpy(from, &source.sin6_addr, 16);
	return n;
}

/* Sends n packets over one path; how many come. */
static inline unsigned deliver(
	struct world *world, uint32_t src, uint32_t dst, uint32_t ev, unsigned n)
{
	int tx = udp_open(world, src, 5000), rx = udp_open(world, dst, 4791);
	uint8_t address[16], to[16], from[16];
	unsigned got = 0;
	char byte;

	REQUIRE(weft_topo_usid(world->topo, src, dst, ev, address));
	for (unsigned i = 0; i < n; i++) {
		(void)udp_send(tx, address, "x", 1);
		while (udp_take(rx, 0, to, from, &byte, 1) >= 0)
			got++;
	}
	while (udp_take(rx, 60, to, from, &byte, 1) >= 0)
		got++;
	close(tx);
	close(rx);
	return got;
}

/* One packet over every EV of a pair, as bits: bit i is EV i of weft_topo_evs with seed 1. */
static inline uint64_t deliver_all(struct world *world, uint32_t src, uint32_t dst)
{
	uint32_t evs[64];
	size_t n = weft_topo_evs(world->topo, src, dst, 1, evs, 64);
	int tx = udp_open(world, src, 5000), rx = udp_open(world, dst, 4791);
	uint8_t address[16], to[16], from[16];
	uint64_t got = 0;
	uint8_t i;

	for (i = 0; i < n; i++) {
		REQUIRE(weft_topo_usid(world->topo, src, dst, evs[i], address));
		(void)udp_send(tx, address, &i, 1);
	}
	/* A machine that does other things lets the first one wait longest. */
	while (udp_take(rx, got ? 60 : 200, to, from, &i, 1) == 1) {
		got |= UINT64_C(1) << i;
		CHECK_EQ(weft_topo_usid_ev(to), evs[i]);
	}
	close(tx);
	close(rx);
	return got;
}

/* The bits of deliver_all whose EV is of a plane (any: WEFT_TOPO_NONE) and uplink (same). */
static inline uint64_t ev_bits(
	const struct world *world, uint32_t src, uint32_t dst, uint32_t plane, uint32_t uplink)
{
	uint32_t evs[64];
	size_t n = weft_topo_evs(world->topo, src, dst, 1, evs, 64);
	uint64_t bits = 0;

	for (size_t i = 0; i < n; i++) {
		if ((plane == WEFT_TOPO_NONE || weft_ev_plane(evs[i]) == plane) &&
			(uplink == WEFT_TOPO_NONE || weft_ev_uplink(evs[i]) == uplink))
			bits |= UINT64_C(1) << i;
	}
	return bits;
}

#endif
