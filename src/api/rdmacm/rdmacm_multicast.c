/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rdmacm_multicast - groups by IP address: joined, told of, left.
 *
 * A group is named as the kernel does it for RoCE v2: an IPv4 address mapped into IPv6, an IPv6
 * address as it is, and a GID (AF_IB) as well.  The device knows the rest; so joining is done when
 * it returns, and the event says where to send to.
 */
#include "rdmacm_local.h"

#include <infiniband/ib.h>
#include <stdlib.h>
#include <string.h>

#define QPN 0xffffffu
#define QKEY 0x01234567
#define GROUPS_MAX 64u /* of one id */

struct joined {
	struct joined *next;
	union ibv_gid gid;
	bool attached;
};

bool multicast_gid(const struct sockaddr *address, uint8_t gid[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	switch (address->sa_family) {
	case AF_INET:
		memcpy(gid, mapped, sizeof(mapped));
		memcpy(gid + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
		break;
	case AF_INET6:
		memcpy(gid, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
		break;
	case AF_IB:
		memcpy(gid, &((const struct sockaddr_ib *)(const void *)address)->sib_addr, 16);
		break;
	default:
		return false;
	}
	return gid[0] == 0xff || (!memcmp(gid, mapped, sizeof(mapped)) && gid[12] >> 4 == 14);
}

/* Where in the list, or its end. */
static struct joined **find(struct id *id, const uint8_t gid[16], uint32_t *n)
{
	struct joined **at = &id->joined;

	for (*n = 0; *at && memcmp((*at)->gid.raw, gid, 16); ++*n)
		at = &(*at)->next;
	return at;
}

static int join(struct id *id, struct joined *joined, bool receives, void *context)
{
	struct message where = { .is_datagram = 1, .qpn = QPN, .qkey = QKEY };

	if (!event_reserve(id, 1))
		return -1;
	if (receives && id->rdma.qp && !joined->attached) {
		int error = ibv_attach_mcast(id->rdma.qp, &joined->gid, 0);

		if (error)
			return fail(error);
		joined->attached = true;
	}
	memcpy(where.gid, joined->gid.raw, 16);
	memcpy(where.private_data, &context, sizeof(context));
	event_raise(id, NULL, RDMA_CM_EVENT_MULTICAST_JOIN, 0, &where);
	return 0;
}

int rdma_join_multicast_ex(
	struct rdma_cm_id *rdma, struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
	struct id *id = id_of(rdma);
	uint8_t gid[16];
	uint32_t n;

	if (!(attr->comp_mask & RDMA_CM_JOIN_MC_ATTR_ADDRESS) || !attr->addr ||
		!(attr->comp_mask & RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS) ||
		attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED || !rdma->verbs ||
		rdma->ps == RDMA_PS_TCP || !multicast_gid(attr->addr, gid))
		return fail(EINVAL);
	weft_lock_take(&cm_lock);
	struct joined **at = find(id, gid, &n);
	bool is_new = !*at;
	int result = -1;

	if (is_new && n < GROUPS_MAX)
		*at = calloc(1, sizeof(**at));
	if (*at) {
		memcpy((*at)->gid.raw, gid, 16);
		result = join(id, *at, attr->join_flags == RDMA_MC_JOIN_FLAG_FULLMEMBER, context);
	} else {
		errno = ENOMEM;
	}
	if (result && is_new && *at) {
		free(*at); /* the last */
		*at = NULL;
	}
	weft_lock_give(&cm_lock);
	return result ? -1 : event_finish(id);
}

int rdma_join_multicast(struct rdma_cm_id *rdma, struct sockaddr *address, void *context)
{
	struct rdma_cm_join_mc_attr_ex attr = { .comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
							     RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER,
		.addr = address };

	return rdma_join_multicast_ex(rdma, &attr, context);
}

static void drop(struct id *id, struct joined **at)
{
	struct joined *joined = *at;

	if (joined->attached && id->rdma.qp)
		(void)ibv_detach_mcast(id->rdma.qp, &joined->gid, 0);
	*at = joined->next;
	free(joined);
}

int rdma_leave_multicast(struct rdma_cm_id *rdma, struct sockaddr *address)
{
	struct id *id = id_of(rdma);
	uint8_t gid[16];
	uint32_t n;

	if (!address || !multicast_gid(address, gid))
		return fail(EINVAL);
	weft_lock_take(&cm_lock);
	struct joined **at = find(id, gid, &n);
	bool was_there = *at;

	if (was_there)
		drop(id, at);
	weft_lock_give(&cm_lock);
	return was_there ? 0 : fail(EADDRNOTAVAIL);
}

/* Queue pairs in groups are not destroyed. */
void multicast_detach(struct id *id)
{
	for (struct joined *joined = id->joined; joined; joined = joined->next) {
		if (joined->attached)
			(void)ibv_detach_mcast(id->rdma.qp, &joined->gid, 0);
		joined->attached = false;
	}
}

void multicast_forget(struct id *id)
{
	while (id->joined)
		drop(id, &id->joined);
}
