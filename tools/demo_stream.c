/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_stream - what people use today, through the same faults: one TCP connection, and MPTCP.
 *
 * Both are the kernel's own with its own settings.  TCP has the addresses of plane 0, as any one
 * connection has one pair of addresses.  MPTCP gets what its in-kernel path manager offers: the
 * receiver announces its address in every plane, the sender opens a subflow to each.  The file is
 * sent round and round for as long as the plan lasts, so that each transport has the same time and
 * the same faults however fast it is; the receiver compares every byte with the file.
 *
 * The two ends are child processes that entered their hosts' networks; what they find they leave
 * in memory shared with the parent.
 */
#include "demo.h"
#include "live_args.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mptcp.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weft/base.h>
#include <weft/net.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef SOL_MPTCP
#define SOL_MPTCP 284
#endif

#define PORT 5001
#define PIECE_BYTES ((size_t)262144)
#define BINS_MAX ((size_t)600000)
#define POLL_MS 1
#define POLL_LATE_NS (UINT64_C(1000000) * POLL_MS + DEMO_GAP_NS)
#define SUBFLOWS_MAX 8     /* the kernel's own limit */
#define CONNECT_TRIES 1000 /* ten seconds: the receiver is a process that has to get its turn */
#define CONNECT_NAP_US 10000

struct shared {
	atomic_bool stop, listens, counted; /* counted: the sender is through */
	uint64_t wrong_bytes, retransmits, paths;
	char error[2][DEMO_TEXT_BYTES]; /* of sender, of receiver */
	struct demo_series series;
	uint64_t bins[BINS_MAX];
};

static struct {
	struct shared *shared;
	pid_t sender, receiver;
} now_running;

static const uint8_t *map_file(const struct demo *demo)
{
	int fd = open(demo->file, O_RDONLY | O_CLOEXEC);
	void *data =
		fd < 0 ? MAP_FAILED : mmap(NULL, demo->file_bytes, PROT_READ, MAP_SHARED, fd, 0);

	if (fd >= 0)
		(void)close(fd);
	return data == MAP_FAILED ? NULL : data;
}

static struct sockaddr_in6 address_of(const struct demo *demo, uint32_t host, uint32_t plane)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };

	weft_topo_host_addr(weft_lab_topo(demo->lab), host, plane, address.sin6_addr.s6_addr);
	return address;
}

/* The path manager has a command line tool, ip-mptcp(8); it is configured once per run. */
static bool set_up_mptcp(const struct demo *demo, bool announce)
{
	uint32_t planes = weft_topo_shape(weft_lab_topo(demo->lab))->planes;
	char command[256], text[INET6_ADDRSTRLEN];
	FILE *enabled = fopen("/proc/sys/net/mptcp/enabled", "w");
	bool ok = enabled && fputs("1", enabled) >= 0;

	if (enabled)
		ok = !fclose(enabled) && ok;
	(void)snprintf(command, sizeof(command),
		"ip mptcp endpoint flush && ip mptcp limits set subflows %d add_addr_accepted %d",
		SUBFLOWS_MAX, SUBFLOWS_MAX);
	ok = ok && !system(command);
	for (uint32_t plane = 1; ok && announce && plane < WEFT_MIN(planes, SUBFLOWS_MAX);
		plane++) {
		struct sockaddr_in6 address = address_of(demo, demo->receiver, plane);

		(void)inet_ntop(AF_INET6, &address.sin6_addr, text, sizeof(text));
		(void)snprintf(command, sizeof(command), "ip mptcp endpoint add %s signal", text);
		ok = !system(command);
	}
	return ok;
}

static int make_socket(const struct demo *demo, enum demo_transport transport, bool announce,
	char error[DEMO_TEXT_BYTES])
{
	bool multipath = transport == DEMO_MPTCP;

	if (multipath && !set_up_mptcp(demo, announce)) {
		(void)snprintf(
			error, DEMO_TEXT_BYTES, "this kernel or its ip(8) cannot configure MPTCP");
		return -1;
	}
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, multipath ? IPPROTO_MPTCP : 0);
	if (fd < 0)
		(void)snprintf(error, DEMO_TEXT_BYTES, "socket: %s", strerror(errno));
	return fd;
}

/* ---- the receiver's process ---- */

static uint64_t compare(
	const struct demo *demo, const uint8_t *file, const uint8_t *data, size_t n, uint64_t at)
{
	uint64_t wrong = 0;

	for (size_t i = 0; i < n;) {
		uint64_t place = (at + i) % demo->file_bytes;
		size_t piece = WEFT_MIN(n - i, demo->file_bytes - place);

		if (memcmp(file + place, data + i, piece))
			for (size_t k = 0; k < piece; k++)
				wrong += file[place + k] != data[i + k];
		i += piece;
	}
	return wrong;
}

static void take_all(const struct demo *demo, struct shared *shared, int fd, const uint8_t *file)
{
	static uint8_t data[PIECE_BYTES];
	uint64_t before = weft_clock_now(NULL);

	/* An end that hangs up takes the other's subflows along before they are counted. */
	while (!atomic_load(&shared->counted)) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		int n_ready = poll(&ready, 1, POLL_MS);
		uint64_t now = weft_clock_now(NULL);

		if (now - before > POLL_LATE_NS)
			series_add_gap(&shared->series, before + POLL_MS * 1000000,
				now - before - POLL_MS * 1000000);
		before = now;
		ssize_t n = n_ready > 0 ? recv(fd, data, sizeof(data), MSG_DONTWAIT) : -1;
		if (!n_ready || (n < 0 && (errno == EAGAIN || errno == EINTR)))
			continue;
		if (n <= 0) {
			(void)snprintf(shared->error[1], DEMO_TEXT_BYTES, "connection ended: %s",
				n ? strerror(errno) : "by the sender");
			return;
		}
		shared->wrong_bytes += compare(demo, file, data, (size_t)n, shared->series.bytes);
		series_add(&shared->series, (uint64_t)n, now);
	}
}

static void receive(const struct demo *demo, enum demo_transport transport, struct shared *shared)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };
	const uint8_t *file = map_file(demo);
	int on = 1, fd = make_socket(demo, transport, true, shared->error[1]);

	if (fd < 0)
		return;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!file || bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 1)) {
		(void)snprintf(shared->error[1], DEMO_TEXT_BYTES, "listen: %s", strerror(errno));
		return;
	}
	atomic_store(&shared->listens, true);
	int from = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	if (from < 0)
		(void)snprintf(shared->error[1], DEMO_TEXT_BYTES, "accept: %s", strerror(errno));
	else
		take_all(demo, shared, from, file);
}

/* ---- the sender's process ---- */

static void count_tcp(struct shared *shared, int fd)
{
	struct tcp_info info;
	socklen_t bytes = sizeof(info);

	shared->paths = 1;
	if (!getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes))
		shared->retransmits = info.tcpi_total_retrans;
}

static void count_mptcp(struct shared *shared, int fd)
{
	struct {
		struct mptcp_subflow_data head;
		struct tcp_info info[SUBFLOWS_MAX + 1];
	} all = { .head = { .size_subflow_data = sizeof(all.head),
			  .size_user = sizeof(all.info[0]) } };
	socklen_t bytes = sizeof(all);

	if (getsockopt(fd, SOL_MPTCP, MPTCP_TCPINFO, &all, &bytes))
		return;
	shared->paths = all.head.num_subflows;
	for (uint32_t i = 0; i < all.head.num_subflows && i < WEFT_COUNT(all.info); i++)
		shared->retransmits += all.info[i].tcpi_total_retrans;
}

static void send_all(const struct demo *demo, struct shared *shared, int fd, const uint8_t *file)
{
	uint64_t at = 0;

	while (!atomic_load(&shared->stop)) {
		struct pollfd ready = { .fd = fd, .events = POLLOUT };

		if (poll(&ready, 1, 10) < 1)
			continue;
		ssize_t n = send(fd, file + at, WEFT_MIN(PIECE_BYTES, demo->file_bytes - at),
			MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n > 0) {
			at = (at + (uint64_t)n) % demo->file_bytes;
		} else if (errno != EAGAIN && errno != EINTR) {
			(void)snprintf(
				shared->error[0], DEMO_TEXT_BYTES, "send: %s", strerror(errno));
			return;
		}
	}
}

static void transmit(const struct demo *demo, enum demo_transport transport, struct shared *shared)
{
	struct sockaddr_in6 address = address_of(demo, demo->receiver, 0);
	const uint8_t *file = map_file(demo);
	int fd = make_socket(demo, transport, false, shared->error[0]);

	for (int i = 0; i < CONNECT_TRIES && !atomic_load(&shared->listens); i++)
		usleep(CONNECT_NAP_US);
	if (fd < 0)
		return;
	if (!atomic_load(&shared->listens)) {
		(void)snprintf(shared->error[0], DEMO_TEXT_BYTES,
			"the receiver did not listen within %d s",
			CONNECT_TRIES * CONNECT_NAP_US / 1000000);
		return;
	}
	if (!file || connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		(void)snprintf(shared->error[0], DEMO_TEXT_BYTES, "connect: %s", strerror(errno));
		return;
	}
	send_all(demo, shared, fd, file);
	if (transport == DEMO_MPTCP)
		count_mptcp(shared, fd);
	else
		count_tcp(shared, fd);
	atomic_store(&shared->counted, true);
}

/* ---- the parent ---- */

static int start(struct demo *demo, struct demo_run *run)
{
	struct shared *shared = mmap(
		NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED) {
		(void)snprintf(run->error, sizeof(run->error), "mmap: %s", strerror(errno));
		return -1;
	}
	now_running.shared = shared;
	series_begin(&shared->series, shared->bins, BINS_MAX);
	now_running.receiver = run_fork(demo, demo->receiver);
	if (!now_running.receiver) {
		live_hurry();
		receive(demo, run->transport, shared);
		_exit(0);
	}
	now_running.sender = run_fork(demo, demo->sender);
	if (!now_running.sender) {
		live_hurry();
		transmit(demo, run->transport, shared);
		_exit(0);
	}
	return 0;
}

static int ended(struct demo *demo, struct demo_run *run)
{
	const struct shared *shared = now_running.shared;
	const char *error = *shared->error[0] ? shared->error[0] : shared->error[1];

	(void)demo;
	if (!*error && !run_gone(&now_running.sender, NULL) &&
		!run_gone(&now_running.receiver, NULL))
		return 0;
	(void)snprintf(run->error, sizeof(run->error), "%s", error);
	return -1;
}

static int stop(struct demo *demo, struct demo_run *run)
{
	struct shared *shared = now_running.shared;

	(void)demo;
	if (!shared)
		return -1;
	atomic_store(&shared->stop, true);
	/* They look at "stop" often, but a receiver nobody ever called does not. */
	for (int i = 0; i < 100 && (!run_gone(&now_running.sender, NULL) ||
					   !run_gone(&now_running.receiver, NULL));
		i++)
		usleep(10000);
	run_kill(&now_running.sender);
	run_kill(&now_running.receiver);
	run->wrong_bytes = shared->wrong_bytes;
	run->retransmits = shared->retransmits;
	run->paths = shared->paths;
	run->series = shared->series;
	run->series.bins = calloc(shared->series.n + 1, sizeof(uint64_t));
	if (run->series.bins)
		memcpy(run->series.bins, shared->bins, shared->series.n * sizeof(uint64_t));
	else
		run->series.n = 0;
	(void)munmap(shared, sizeof(*shared));
	memset(&now_running, 0, sizeof(now_running));
	run->done = !*run->error;
	return run->done ? 0 : -1;
}

const struct demo_driver demo_stream = { start, ended, stop };
