/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STRANGER_H
#define STRANGER_H
/*
 * stranger - the other end of TCP, by hand: a caller without rdma_cm, a program that has a place of
 * a port.  And deadlines that are over at once.
 */
#include "fake_verbs.h"

#include <endian.h>
#include <fcntl.h>
#include <weft/net.h>

/* A TCP connection to where a listener listens. */
static inline int call(struct rdma_cm_id *listener)
{
	struct sockaddr_in to;
	socklen_t bytes = sizeof(to);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	REQUIRE(!getsockname(id_of(listener)->fd, (struct sockaddr *)&to, &bytes));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	REQUIRE(!connect(fd, (struct sockaddr *)&to, sizeof(to)));
	return fd;
}

static inline struct message hear(int fd, enum message_type type)
{
	struct message m = { 0 };

	CHECK_EQ(recv(fd, &m, sizeof(m), MSG_WAITALL), (ssize_t)sizeof(m));
	CHECK_EQ(m.type, type);
	return m;
}

static inline void say(int fd, enum message_type type)
{
	struct message m = { .magic = htobe32(0x57434d32),
		.type = type,
		.space = (uint8_t)RDMA_PS_TCP,
		.qpn = htobe32(5),
		.port = htobe16(4711) };

	CHECK_EQ(send(fd, &m, sizeof(m), MSG_NOSIGNAL), (ssize_t)sizeof(m));
}

/* Whether the other end hangs up in time. */
static inline bool is_hung_up(int fd, int timeout_ms)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	char byte;

	return poll(&ready, 1, timeout_ms) == 1 && recv(fd, &byte, 1, MSG_DONTWAIT) <= 0;
}

/* Listens by TCP at a place of the port. */
static inline int squat(enum rdma_port_space ps, uint16_t port, uint32_t place)
{
	struct sockaddr_in at = loopback(port_place((uint8_t)ps, port, place));
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 8)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* What it waits for is over now; how many seconds it had left. */
static inline double hurry(struct rdma_cm_id *rdma)
{
	struct id *id = id_of(rdma);

	weft_lock_take(&cm_lock);
	double left_s = id->due_ns ? id->due_ns / 1e9 - weft_clock_now(NULL) / 1e9 : 0;
	id->called_ns -= WEFT_MIN(id->called_ns, ANSWER_NS);
	thread_alarm(id, 1);
	weft_lock_give(&cm_lock);
	return left_s;
}

/* Identifiers of this process, or of a state. */
static inline uint32_t ids(int state)
{
	uint32_t n = 0;

	weft_lock_take(&cm_lock);
	for (const struct id *id = id_next(NULL); id; id = id_next(id))
		n += state < 0 || id->state == (enum state)state;
	weft_lock_give(&cm_lock);
	return n;
}

#endif
