/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ONE_DEVICE_H
#define ONE_DEVICE_H
/*
 * one_device - the part of a false libibverbs that finds one device, at 127.0.0.1, and opens it.
 *
 * These definitions stand before the verbs room's when a test is linked.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* TCP's ports and names of sockets are those of a network: each program has one of its own, where
 * it may, so that two runs of the suite, or of two builds, do not take each other's. */
__attribute__((constructor)) static void enter_own_network(void)
{
	if (!unshare(getuid() ? CLONE_NEWUSER | CLONE_NEWNET : CLONE_NEWNET))
		(void)!system("ip link set lo up"); /* NOLINT: a test's own constant */
}

static struct ibv_context one_context; /* whoever moves data fills in its operations */
static uint32_t one_device_opened;     /* how often */
static int one_device_lacks;           /* errno of the next time only; 0: opens */

struct ibv_device **ibv_get_device_list(int *n)
{
	static struct ibv_device device;
	struct ibv_device **list = calloc(2, sizeof(*list));

	list[0] = &device;
	*n = 1;
	return list;
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	one_context.device = device;
	one_device_opened++;
	errno = one_device_lacks;
	one_device_lacks = 0;
	if (errno)
		return NULL;
	return &one_context;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	(void)context, (void)port, (void)index;
	memset(gid, 0, sizeof(*gid));
	inet_pton(AF_INET6, "::ffff:127.0.0.1", gid->raw);
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	static struct ibv_pd pd;

	pd.context = context;
	return &pd;
}

static inline struct sockaddr_in loopback(uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return in;
}

#endif
