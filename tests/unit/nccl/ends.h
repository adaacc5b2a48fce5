/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ENDS_H
#define ENDS_H
/* What the tests of nccl share: a device on loopback, and both ends of a connection over it. */
#include "check.h"
#include "nccl_local.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIES_MAX 200000 /* of 100 us: a busy machine has its time */

/* A pattern that no shift by pages or entries leaves as it is; zeros where it is to arrive. */
static inline void ends_fill(uint8_t from[], uint8_t to[], size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		from[i] = (uint8_t)(i * 31 + i / 4093);
	memset(to, 0, bytes);
}

static char ends_said[1024]; /* what the plugin logged last */

__attribute__((format(printf, 5, 6))) static inline void ends_log(
	int level, unsigned long flags, const char *file, int line, const char *format, ...)
{
	va_list list;

	(void)level;
	(void)flags;
	(void)file;
	(void)line;
	va_start(list, format);
	vsnprintf(ends_said, sizeof(ends_said), format, list);
	va_end(list);
}

static inline void ends_init(void)
{
	unsetenv("WEFT_CONFIG");
	unsetenv("WEFT_IPV4");
	setenv("WEFT_PLANES", "127.0.0.1", 1);
	*ends_said = 0;
	REQUIRE(nic_init(ends_log) == WEFT_NCCL_SUCCESS);
}

struct ends {
	void *listener;
	struct comm *sender, *receiver;
};

static inline void ends_open(struct ends *e)
{
	uint8_t handle[WEFT_NCCL_HANDLE_BYTES];
	void *sender = NULL, *receiver = NULL;

	ends_init();
	REQUIRE(meet_listen(0, handle, &e->listener) == WEFT_NCCL_SUCCESS);
	for (unsigned i = 0; i < TRIES_MAX && (!sender || !receiver); i++) {
		if (!sender)
			REQUIRE(meet_connect(0, handle, &sender) == WEFT_NCCL_SUCCESS);
		if (!receiver)
			REQUIRE(meet_accept(e->listener, &receiver) == WEFT_NCCL_SUCCESS);
		usleep(100);
	}
	REQUIRE(sender && receiver);
	e->sender = sender;
	e->receiver = receiver;
}

static inline void ends_close(struct ends *e)
{
	CHECK_EQ(comm_close(e->sender), WEFT_NCCL_SUCCESS);
	CHECK_EQ(comm_close(e->receiver), WEFT_NCCL_SUCCESS);
	CHECK_EQ(meet_close(e->listener), WEFT_NCCL_SUCCESS);
}

/* Until it is done or has failed; drives the other end as well.  Its result. */
static inline int ends_wait(struct ends *e, void *request, int bytes[])
{
	int done = 0, result = WEFT_NCCL_SUCCESS;

	for (unsigned i = 0; i < TRIES_MAX && !done && !result; i++) {
		result = comm_test(request, &done, bytes);
		if (!done)
			usleep(100);
	}
	CHECK(done || result);
	(void)e;
	return result;
}

/* Until the plugin takes it. */
static inline void *ends_send(struct ends *e, void *data, size_t bytes, int tag, void *mr)
{
	void *request = NULL;

	for (unsigned i = 0; i < TRIES_MAX && !request; i++) {
		REQUIRE(send_begin(e->sender, data, bytes, tag, mr, &request) == WEFT_NCCL_SUCCESS);
		if (!request)
			usleep(100);
	}
	REQUIRE(request);
	return request;
}

static inline void *ends_mr(struct comm *comm, void *data, size_t bytes)
{
	void *mr = NULL;

	REQUIRE(ncclNetPlugin_v12.reg_mr(comm, data, bytes, WEFT_NCCL_PTR_HOST, &mr) ==
		WEFT_NCCL_SUCCESS);
	return mr;
}

#endif
