/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hint - what a group of QPs is going to be used for.
 *
 * Hints [P 2.10] help a NIC to share out its resources.  Ours are memory and the operating
 * system's, so a hint is kept, checked and given back, and a QP holds on to it; nothing else
 * follows from it.
 */
#include "mrc_local.h"

#include <stdlib.h>
#include <string.h>

#define MASK_ALL                                                                                   \
	(MRC_QP_HINT_NUM_QPS_PER_PEER | MRC_QP_HINT_NUM_SEND_PEERS |                               \
		MRC_QP_HINT_NUM_REMOTE_RECV_PEERS | MRC_QP_HINT_VENDOR_CFG)

static bool is_possible(const struct mrc_qp_hint_attr *attr, int mask)
{
	return !(mask & MRC_QP_HINT_NUM_QPS_PER_PEER && attr->num_qps_per_peer < 0) &&
	       !(mask & MRC_QP_HINT_NUM_SEND_PEERS && attr->num_send_peers < 0) &&
	       !(mask & MRC_QP_HINT_NUM_REMOTE_RECV_PEERS && attr->num_remote_recv_peers < 0);
}

struct mrc_qp_hint *mrc_create_qp_hint(
	struct mrc_context *mrc_ctx, struct mrc_qp_hint_init_attr *init_attr)
{
	if (!alive_is(mrc_ctx) || !init_attr || !is_possible(&init_attr->attr, MASK_ALL))
		return fail_null(EINVAL);
	if (atomic_fetch_add(&mrc_ctx->station->hints, 1) >= HINTS_MAX) {
		atomic_fetch_sub(&mrc_ctx->station->hints, 1);
		return fail_null(ENOMEM);
	}
	struct mrc_qp_hint *hint = calloc(1, sizeof(*hint));

	if (!hint || !alive_add(hint)) {
		free(hint);
		atomic_fetch_sub(&mrc_ctx->station->hints, 1);
		return fail_null(ENOMEM);
	}
	hint->context = mrc_ctx;
	hint->attr = init_attr->attr;
	atomic_fetch_add(&mrc_ctx->objects, 1);
	return hint;
}

int mrc_destroy_qp_hint(struct mrc_qp_hint *qp_hint)
{
	if (!alive_is(qp_hint))
		return fail(EINVAL);
	if (atomic_load(&qp_hint->users))
		return fail(EBUSY);
	alive_drop(qp_hint);
	atomic_fetch_sub(&qp_hint->context->station->hints, 1);
	atomic_fetch_sub(&qp_hint->context->objects, 1);
	free(qp_hint);
	return 0;
}

static void copy(struct mrc_qp_hint_attr *to, const struct mrc_qp_hint_attr *from, int mask)
{
	if (mask & MRC_QP_HINT_NUM_QPS_PER_PEER)
		to->num_qps_per_peer = from->num_qps_per_peer;
	if (mask & MRC_QP_HINT_NUM_SEND_PEERS)
		to->num_send_peers = from->num_send_peers;
	if (mask & MRC_QP_HINT_NUM_REMOTE_RECV_PEERS)
		to->num_remote_recv_peers = from->num_remote_recv_peers;
	if (mask & MRC_QP_HINT_VENDOR_CFG)
		memcpy(to->vendor_cfg, from->vendor_cfg, sizeof(to->vendor_cfg));
}

int mrc_query_qp_hint(
	struct mrc_qp_hint *qp_hint, struct mrc_qp_hint_attr *qp_hint_attr, int qp_hint_attr_mask)
{
	if (!alive_is(qp_hint) || !qp_hint_attr || qp_hint_attr_mask & ~MASK_ALL)
		return fail(EINVAL);
	copy(qp_hint_attr, &qp_hint->attr, qp_hint_attr_mask);
	return 0;
}

int mrc_modify_qp_hint(
	struct mrc_qp_hint *qp_hint, struct mrc_qp_hint_attr *qp_hint_attr, int qp_hint_attr_mask)
{
	if (!alive_is(qp_hint) || !qp_hint_attr || qp_hint_attr_mask & ~MASK_ALL ||
		!is_possible(qp_hint_attr, qp_hint_attr_mask))
		return fail(EINVAL);
	copy(&qp_hint->attr, qp_hint_attr, qp_hint_attr_mask);
	return 0;
}
