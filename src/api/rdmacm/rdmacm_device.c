/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rdmacm_device - the devices of this host, opened once for all connections of a process.
 *
 * One that could not be opened for want of memory, descriptors or planes is tried again with the
 * next connection: a server outlives such a moment.  An id gets the device whose address it is
 * bound to; with any other address the first.  A child of fork() opens them anew: its parent's are
 * dead there.
 */
#include "rdmacm_local.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <weft/device.h>
#include <weft/net.h>

#define DEVICES_MAX 16
#define GID_INDEX 3
#define PLANES_NS UINT64_C(1000000000)

static struct ibv_context *contexts[DEVICES_MAX + 1];
static struct ibv_pd *pds[DEVICES_MAX];
static int n_contexts;
static bool all_open; /* or it would be in vain to try again */
static uint64_t again_ns;
static struct weft_lock lock = WEFT_LOCK_INIT;

static bool is_open(const char *name)
{
	for (int i = 0; i < n_contexts; i++) {
		if (!strcmp(ibv_get_device_name(contexts[i]->device), name))
			return true;
	}
	return false;
}

/* Planes come by other hands, and not within a second. */
static void note_failure(int error)
{
	if (weft_dev_may_pass(error))
		all_open = false;
	if (error == EADDRNOTAVAIL)
		again_ns = weft_clock_now(NULL) + PLANES_NS;
}

static void open_missing(void)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);

	all_open = true;
	if (!list)
		note_failure(errno);
	for (int i = 0; list && i < n && n_contexts < DEVICES_MAX; i++) {
		if (is_open(ibv_get_device_name(list[i])))
			continue;
		struct ibv_context *context = ibv_open_device(list[i]);

		if (context)
			contexts[n_contexts++] = context;
		else
			note_failure(errno);
	}
	if (list)
		ibv_free_device_list(list);
}

static int count(void)
{
	weft_lock_take(&lock);
	if (!all_open && weft_clock_now(NULL) >= again_ns)
		open_missing();
	int n = n_contexts;
	weft_lock_give(&lock);
	return n;
}

void device_hold(void)
{
	weft_lock_take(&lock);
}

void device_let_go(bool in_child)
{
	if (in_child) {
		n_contexts = 0;
		all_open = false;
		memset(pds, 0, sizeof(pds));
	}
	weft_lock_give(&lock);
}

int device_gid(struct ibv_context *verbs, uint8_t gid[16])
{
	union ibv_gid found;

	if (ibv_query_gid(verbs, PORT, GID_INDEX, &found))
		return -1;
	memcpy(gid, found.raw, 16);
	return 0;
}

static bool is_of(const struct sockaddr *address, const uint8_t gid[16])
{
	const struct sockaddr_in6 *six = (const void *)address;
	const struct sockaddr_in *four = (const void *)address;

	if (address->sa_family == AF_INET6)
		return !memcmp(gid, &six->sin6_addr, 16);
	return address->sa_family == AF_INET && !memcmp(gid + 12, &four->sin_addr, 4);
}

struct ibv_context *device_at(const struct sockaddr *address)
{
	int n = count();
	uint8_t gid[16];

	for (int i = 0; i < n && address; i++) {
		if (!device_gid(contexts[i], gid) && is_of(address, gid))
			return contexts[i];
	}
	return NULL;
}

struct ibv_context *device_for(const struct sockaddr *address)
{
	struct ibv_context *found = device_at(address);

	if (found)
		return found;
	if (count())
		return contexts[0];
	errno = ENODEV;
	return NULL;
}

struct ibv_pd *device_pd(struct ibv_context *verbs)
{
	struct ibv_pd *pd = NULL;

	weft_lock_take(&lock);
	for (int i = 0; i < n_contexts; i++) {
		if (contexts[i] != verbs)
			continue;
		if (!pds[i])
			pds[i] = ibv_alloc_pd(verbs);
		pd = pds[i];
	}
	weft_lock_give(&lock);
	return pd;
}

struct ibv_context **rdma_get_devices(int *n)
{
	struct ibv_context **list = calloc(DEVICES_MAX + 1, sizeof(*list));

	if (!list)
		return NULL;
	int found = count();
	memcpy(list, contexts, (size_t)found * sizeof(*list));
	if (n)
		*n = found;
	return list;
}

void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
