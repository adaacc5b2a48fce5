/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_qp - queue pairs of the strict profile: made, asked, destroyed.  qp_modify.c moves them.
 *
 * What is granted is what was asked for, and at least one of each, except that data may always be
 * inline up to what verbs programs expect of a NIC.
 */
#include "mrc_local.h"

#include <stdlib.h>
#include <string.h>

#define INLINE_BYTES 256u
#define OPS_STRICT (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)

static struct ibv_qp_cap grant(const struct ibv_qp_cap *asked, const struct weft_dev_attr *dev)
{
	uint32_t inline_bytes = WEFT_MAX(asked->max_inline_data, INLINE_BYTES);

	return (struct ibv_qp_cap){ .max_send_wr = WEFT_MAX(asked->max_send_wr, 1u),
		.max_recv_wr = WEFT_MAX(asked->max_recv_wr, 1u),
		.max_send_sge = WEFT_MAX(asked->max_send_sge, 1u),
		.max_recv_sge = WEFT_MAX(asked->max_recv_sge, 1u),
		.max_inline_data = asked->max_inline_data > dev->max_inline_bytes
					   ? asked->max_inline_data /* for the device to refuse */
					   : WEFT_MIN(inline_bytes, dev->max_inline_bytes) };
}

/* What holds until somebody says otherwise. */
static void take_defaults(struct mrc_qp *qp)
{
	struct weft_dev_qp_attr attr;
	struct weft_dev_qp_init init;

	weft_dev_qp_query(qp->inner, &attr, &init);
	qp->attr.mpr.mpr = (uint8_t)WEFT_MIN(attr.mpr_tx_psns / MPR_UNIT, 255u);
	qp->attr.mpr.mpr_dest = (uint8_t)WEFT_MIN(attr.mpr_rx_psns / MPR_UNIT, 255u);
	qp->attr.wimm.max_wimm = (uint16_t)WEFT_MIN(attr.wimm_tx, 65535u);
	qp->attr.wimm.max_wimm_dest = (uint16_t)WEFT_MIN(attr.wimm_rx, 65535u);
	qp->attr.timeout = attr.timeout;
	qp->attr.retry.linear_cnt = attr.linear;
	qp->attr.retry.exp_cnt = attr.retry;
}

/* Not one of EV events, and not another context's, which would get its errors. */
static bool is_usable(const struct mrc_cq *cq, const struct mrc_context *context)
{
	return alive_is(cq) && cq->inner && cq->context == context;
}

struct mrc_qp *mrc_create_qp(struct mrc_context *mrc_ctx, struct mrc_qp_init_attr *mrc_qp_attr)
{
	struct mrc_qp_init_attr *asked = mrc_qp_attr;
	struct weft_dev_attr dev;

	if (!alive_is(mrc_ctx) || !asked || !asked->pd || asked->pd->context != mrc_ctx->verbs ||
		!is_usable(asked->send_cq, mrc_ctx) || !is_usable(asked->recv_cq, mrc_ctx) ||
		(unsigned)asked->protocol_version > MRC_PROTOCOL_VERSION_1)
		return fail_null(EINVAL);
	if (asked->send_ops_flags & ~(uint64_t)OPS_STRICT)
		return fail_null(ENOTSUP);
	weft_dev_query(mrc_ctx->station->dev, &dev);
	struct mrc_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return fail_null(ENOMEM);
	qp->context = mrc_ctx;
	weft_lock_open(&qp->lock);
	qp->init = *asked;
	qp->init.cap = grant(&asked->cap, &dev);
	struct weft_dev_qp_init init = { .profile = WEFT_DEV_STRICT,
		.signal_all = asked->sq_sig_all,
		.cq_tx = asked->send_cq->inner,
		.cq_rx = asked->recv_cq->inner,
		.sq_depth = qp->init.cap.max_send_wr,
		.rq_depth = qp->init.cap.max_recv_wr,
		.sq_sges = qp->init.cap.max_send_sge,
		.rq_sges = qp->init.cap.max_recv_sge,
		.inline_bytes = qp->init.cap.max_inline_data,
		.owner = mrc_ctx->owner,
		.user = qp };
	int rc = weft_dev_qp_open(weft_verbs_pd(asked->pd), &init, &qp->inner);

	if (!rc && !alive_add(qp)) {
		(void)weft_dev_qp_close(qp->inner);
		rc = ENOMEM;
	}
	if (rc) {
		free(qp);
		return fail_null(rc);
	}
	take_defaults(qp);
	asked->cap = qp->init.cap;
	atomic_fetch_add(&mrc_ctx->objects, 1);
	return qp;
}

int mrc_destroy_qp(struct mrc_qp *qp)
{
	if (!alive_is(qp))
		return EINVAL;
	struct weft_dev_qp *inner = qp->inner;
	struct station *station = qp->context->station;

	weft_lock_take(&station->lock); /* the watcher may be looking at it */
	int rc = weft_dev_qp_close(inner);

	weft_lock_give(&station->lock);
	if (rc)
		return rc;
	alive_drop(qp);
	profile_release(qp);
	acks_await(&qp->unacked);
	weft_lock_close(&qp->lock);
	if (qp->attr.qp_hint)
		atomic_fetch_sub(&qp->attr.qp_hint->users, 1);
	atomic_fetch_sub(&qp->context->objects, 1);
	free(qp);
	return 0;
}

int mrc_get_qpn(struct mrc_qp *qp, uint32_t *qpn)
{
	if (!alive_is(qp) || !qpn)
		return fail(EINVAL);
	*qpn = weft_dev_qp_number(qp->inner);
	return 0;
}

int mrc_query_qp(struct mrc_qp *qp, struct ibv_qp_attr *vattr, int vattr_mask,
	struct mrc_qp_attr *mrc_attr, int mrc_attr_mask, struct mrc_qp_init_attr *init_attr)
{
	struct weft_dev_qp_attr own;
	struct weft_dev_qp_init init;

	if (!alive_is(qp) || (vattr_mask && !vattr) || (mrc_attr_mask && !mrc_attr) ||
		mrc_attr_mask & ~MRC_QP_ALL || vattr_mask & ~VERBS_QP_ALL)
		return EINVAL;
	weft_lock_take(&qp->lock);
	weft_dev_qp_query(qp->inner, &own, &init);
	if (vattr) {
		memset(vattr, 0, sizeof(*vattr));
		vattr->qp_state = vattr->cur_qp_state = (enum ibv_qp_state)own.state;
		vattr->path_mtu = (enum ibv_mtu)own.mtu;
		vattr->rq_psn = own.psn_rx;
		vattr->sq_psn = own.psn_tx;
		vattr->dest_qp_num = own.peer_qpn;
		vattr->qp_access_flags = own.access;
		vattr->cap = qp->init.cap;
		vattr->ah_attr = qp->ah_attr;
		vattr->port_num = 1;
		vattr->timeout = own.timeout;
	}
	if (mrc_attr)
		*mrc_attr = qp->attr;
	if (init_attr)
		*init_attr = qp->init;
	weft_lock_give(&qp->lock);
	return 0;
}
