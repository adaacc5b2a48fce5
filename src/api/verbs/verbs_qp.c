/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_qp - queue pairs, from verbs' many attributes to the device's few.
 *
 * RC and UC are both the device's connections; UC is then more reliable than was asked for.  What a
 * program sets and the device has no use for (service level, hop limit, alternate path, P_Key) is
 * kept and given back on query.  Read and atomic depths beyond the device's are cut to them, as
 * perftest asks for what its own table of cards says.
 *
 * What a transition must bring is what the specification says (IBTA vol. 1, Modify Queue Pair) and
 * the kernel insists on for most cards (ib_modify_qp_is_ok()), so that a program that forgets some
 * of it fails here and not on its first card.  The lists of what a transition may bring beyond that
 * are not enforced: more than it needs does no harm, and cards differ in what they let pass.
 */
#include "verbs_local.h"

#include <stdlib.h>
#include <string.h>

#define PSN_MASK 0xffffffu
/* All that has a name: a region's mean nothing here, but programs pass them on. */
#define ACCESS_KNOWN 0x3ff000ffu

/* ---- making ---- */

static int check_init(const struct context *context, const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
			       IBV_QP_INIT_ATTR_CREATE_FLAGS;
	const struct ibv_qp_cap *cap = &attr->cap;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd || !attr->send_cq ||
		(!attr->recv_cq && attr->qp_type != IBV_QPT_XRC_SEND))
		return EINVAL;
	if ((attr->comp_mask & ~known) ||
		((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags))
		return EOPNOTSUPP;
	if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC &&
		attr->qp_type != IBV_QPT_UD && attr->qp_type != IBV_QPT_XRC_SEND)
		return EOPNOTSUPP;
	if (context->strict && attr->qp_type == IBV_QPT_UD)
		return strict_refuses(STRICT_UD, "a queue pair of datagrams (UD)");
	if (context->strict && attr->qp_type == IBV_QPT_XRC_SEND)
		return strict_refuses(STRICT_XRC, "a queue pair of XRC");
	if (context->strict && attr->srq)
		return strict_refuses(STRICT_SRQ, "a shared receive queue");
	if (cap->max_send_wr > context->attr.max_qp_wr ||
		cap->max_recv_wr > context->attr.max_qp_wr ||
		cap->max_send_sge > context->attr.max_sge ||
		cap->max_recv_sge > context->attr.max_sge ||
		cap->max_inline_data > context->attr.max_inline_bytes)
		return EINVAL;
	return 0;
}

/* What is granted: never nothing, and inline data always. */
static struct ibv_qp_cap grant(const struct context *context, const struct ibv_qp_cap *asked)
{
	uint32_t inline_bytes = WEFT_MAX(asked->max_inline_data, (uint32_t)INLINE_BYTES);

	return (struct ibv_qp_cap){ .max_send_wr = WEFT_MAX(asked->max_send_wr, 1u),
		.max_recv_wr = WEFT_MAX(asked->max_recv_wr, 1u),
		.max_send_sge = WEFT_MAX(asked->max_send_sge, 1u),
		.max_recv_sge = WEFT_MAX(asked->max_recv_sge, 1u),
		.max_inline_data = WEFT_MIN(inline_bytes, context->attr.max_inline_bytes) };
}

void qp_fill(struct qp *qp, struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *ibv = &qp->ibv.qp_base;

	ibv->context = context;
	ibv->qp_context = attr->qp_context;
	ibv->pd = attr->pd;
	ibv->send_cq = attr->send_cq;
	ibv->recv_cq = attr->recv_cq;
	ibv->srq = attr->srq;
	ibv->qp_num = ibv->handle = weft_dev_qp_number(qp->dev);
	ibv->state = IBV_QPS_RESET;
	ibv->qp_type = attr->qp_type;
	qp->sq_sig_all = attr->sq_sig_all;
	pthread_mutex_init(&ibv->mutex, NULL);
	pthread_cond_init(&ibv->cond, NULL);
}

static uint8_t profile_of(const struct context *context, enum ibv_qp_type type)
{
	if (type == IBV_QPT_UD)
		return WEFT_DEV_DATAGRAM;
	if (type == IBV_QPT_XRC_SEND)
		return WEFT_DEV_XRC_SEND;
	return context->strict ? WEFT_DEV_STRICT : WEFT_DEV_EXTENDED;
}

/* It has no queues: what else is asked for means nothing. */
static struct ibv_qp *create_target(struct ibv_context *ibv, struct ibv_qp_init_attr_ex *attr)
{
	struct qp *qp = calloc(1, sizeof(*qp));
	bool is_named = attr->comp_mask & IBV_QP_INIT_ATTR_XRCD && attr->xrcd;
	int error = !qp ? ENOMEM : is_named ? xrc_target_open(qp, attr->xrcd) : EINVAL;

	if (error) {
		free(qp);
		return refuse(error);
	}
	const struct ibv_qp_init_attr_ex own = { .qp_context = attr->qp_context,
		.qp_type = IBV_QPT_XRC_RECV };

	qp_fill(qp, ibv, &own);
	attr->cap = qp->cap;
	return &qp->ibv.qp_base;
}

struct ibv_qp *qp_create_ex(struct ibv_context *ibv, struct ibv_qp_init_attr_ex *attr)
{
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return create_target(ibv, attr);
	const struct context *context = context_of(ibv);
	int error = check_init(context, attr);
	struct qp *qp = error ? NULL : calloc(1, sizeof(*qp));

	if (!qp)
		return refuse(error ? error : ENOMEM);
	qp->cap = grant(context, &attr->cap);
	const struct weft_dev_qp_init init = { .profile = profile_of(context, attr->qp_type),
		.signal_all = attr->sq_sig_all,
		.cq_tx = cq_of(attr->send_cq)->dev,
		.cq_rx = cq_of(attr->recv_cq ? attr->recv_cq : attr->send_cq)->dev,
		.srq = attr->srq ? ((struct srq *)attr->srq)->dev : NULL,
		.sq_depth = qp->cap.max_send_wr,
		.rq_depth = qp->cap.max_recv_wr,
		.sq_sges = qp->cap.max_send_sge,
		.rq_sges = qp->cap.max_recv_sge,
		.inline_bytes = qp->cap.max_inline_data,
		.user = qp };

	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		error = !build_open(qp)                          ? ENOMEM
			: build_serves(qp, attr->send_ops_flags) ? 0
								 : EOPNOTSUPP;
	if (!error)
		error = weft_dev_qp_open(((struct pd *)attr->pd)->dev, &init, &qp->dev);
	if (error) {
		build_close(qp);
		free(qp);
		return refuse(error);
	}
	qp_fill(qp, ibv, attr);
	attr->cap = qp->cap;
	return &qp->ibv.qp_base;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr_ex attr = { .qp_context = init->qp_context,
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.srq = init->srq,
		.cap = init->cap,
		.qp_type = init->qp_type,
		.sq_sig_all = init->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd };
	struct ibv_qp *qp = qp_create_ex(pd->context, &attr);

	if (qp)
		init->cap = attr.cap;
	return qp;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return qp_of(qp)->build ? &qp_of(qp)->ibv : NULL;
}

int ibv_destroy_qp(struct ibv_qp *ibv)
{
	struct qp *qp = qp_of(ibv);
	int error = qp->domain ? xrc_target_close(qp) : weft_dev_qp_close(qp->dev);

	if (error)
		return complain(error);
	wait_for_acks(&ibv->mutex, &ibv->cond, &qp->async_events, &ibv->events_completed);
	pthread_mutex_destroy(&ibv->mutex);
	pthread_cond_destroy(&ibv->cond);
	build_close(qp);
	free(qp);
	return 0;
}

/* ---- moving ---- */

static const struct {
	int verbs;
	uint32_t device;
} masks[] = {
	{ IBV_QP_STATE, WEFT_DEV_SET_STATE },
	{ IBV_QP_ACCESS_FLAGS, WEFT_DEV_SET_ACCESS },
	{ IBV_QP_QKEY, WEFT_DEV_SET_QKEY },
	{ IBV_QP_AV, WEFT_DEV_SET_PEER },
	{ IBV_QP_DEST_QPN, WEFT_DEV_SET_PEER_QPN },
	{ IBV_QP_RQ_PSN, WEFT_DEV_SET_PSN_RX },
	{ IBV_QP_SQ_PSN, WEFT_DEV_SET_PSN_TX },
	{ IBV_QP_TIMEOUT, WEFT_DEV_SET_TIMEOUT },
	{ IBV_QP_RETRY_CNT, WEFT_DEV_SET_RETRY },
	{ IBV_QP_RNR_RETRY, WEFT_DEV_SET_RNR_RETRY },
	{ IBV_QP_MIN_RNR_TIMER, WEFT_DEV_SET_RNR_TIMER },
	{ IBV_QP_MAX_QP_RD_ATOMIC, WEFT_DEV_SET_RD_TX },
	{ IBV_QP_MAX_DEST_RD_ATOMIC, WEFT_DEV_SET_RD_RX },
	{ IBV_QP_PATH_MTU, WEFT_DEV_SET_MTU },
	{ IBV_QP_EN_SQD_ASYNC_NOTIFY, WEFT_DEV_SET_NOTIFY },
};

#define INIT_NEEDS (IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define RTR_NEEDS (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RECEIVER_NEEDS (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define SENDER_NEEDS (IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)

/* What must be set on the way up; the two ends of XRC share what RC has at both. */
static const struct {
	enum ibv_qp_type type;
	int init, rtr, rts;
} needs[] = {
	{ IBV_QPT_RC, INIT_NEEDS | IBV_QP_ACCESS_FLAGS, RTR_NEEDS | RECEIVER_NEEDS,
		IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | SENDER_NEEDS },
	{ IBV_QPT_UC, INIT_NEEDS | IBV_QP_ACCESS_FLAGS, RTR_NEEDS, IBV_QP_SQ_PSN },
	{ IBV_QPT_UD, INIT_NEEDS | IBV_QP_QKEY, 0, IBV_QP_SQ_PSN },
	{ IBV_QPT_XRC_SEND, INIT_NEEDS | IBV_QP_ACCESS_FLAGS, RTR_NEEDS,
		IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | SENDER_NEEDS },
	{ IBV_QPT_XRC_RECV, INIT_NEEDS | IBV_QP_ACCESS_FLAGS, RTR_NEEDS | RECEIVER_NEEDS,
		IBV_QP_SQ_PSN | IBV_QP_TIMEOUT },
};

/* Ways that lead nowhere need nothing: the device refuses them. */
static int needed(enum ibv_qp_type type, uint8_t from, enum ibv_qp_state to)
{
	for (size_t i = 0; i < WEFT_COUNT(needs); i++) {
		if (needs[i].type != type)
			continue;
		if (from == WEFT_DEV_RESET && to == IBV_QPS_INIT)
			return needs[i].init;
		if (from == WEFT_DEV_INIT && to == IBV_QPS_RTR)
			return needs[i].rtr;
		if (from == WEFT_DEV_RTR && to == IBV_QPS_RTS)
			return needs[i].rts;
	}
	return 0;
}

static bool is_in(int asked, uint32_t value, uint32_t low, uint32_t high)
{
	return !asked || (value >= low && value <= high);
}

/*
 * What an attribute may be, where its type has room for more than cards take (as the kernel's
 * rxe and ib_core check).  PSNs are not here: drivers take the low 24 bits.
 */
static bool are_in_range(const struct qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	const struct context *context = context_of(qp->ibv.qp_base.context);
	const struct ibv_ah_attr *to = &attr->ah_attr;
	/* In strict MRC nothing is read: programs say how much all the same. */
	uint32_t rd_max = context->strict ? UINT8_MAX : context->attr.max_rd_atomic;

	return is_in(mask & IBV_QP_PORT, attr->port_num, PORT, PORT) &&
	       is_in(mask & IBV_QP_PKEY_INDEX, attr->pkey_index, 0, 0) &&
	       is_in(mask & IBV_QP_PATH_MTU, attr->path_mtu, IBV_MTU_256, attr_mtu(context)) &&
	       is_in(mask & IBV_QP_DEST_QPN, attr->dest_qp_num, 0, PSN_MASK) &&
	       is_in(mask & IBV_QP_TIMEOUT, attr->timeout, 0, 31) &&
	       is_in(mask & IBV_QP_RETRY_CNT, attr->retry_cnt, 0, 7) &&
	       is_in(mask & IBV_QP_RNR_RETRY, attr->rnr_retry, 0, 7) &&
	       is_in(mask & IBV_QP_MIN_RNR_TIMER, attr->min_rnr_timer, 0, 31) &&
	       is_in(mask & IBV_QP_ALT_PATH, attr->alt_timeout, 0, 31) &&
	       is_in(mask & IBV_QP_MAX_QP_RD_ATOMIC, attr->max_rd_atomic, 0, rd_max) &&
	       is_in(mask & IBV_QP_MAX_DEST_RD_ATOMIC, attr->max_dest_rd_atomic, 0, rd_max) &&
	       /* An address without a GID would be a LID, and there are none on Ethernet. */
	       is_in(mask & IBV_QP_AV, to->is_global, 1, UINT8_MAX) &&
	       is_in(mask & IBV_QP_AV, to->grh.sgid_index, 0, GIDS - 1) &&
	       is_in(mask & IBV_QP_AV, to->port_num, 0, PORT) && /* 0: not said */
	       !(mask & IBV_QP_ACCESS_FLAGS && attr->qp_access_flags & ~ACCESS_KNOWN);
}

static int check_modify(const struct qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	struct weft_dev_qp_attr now;

	if (!are_in_range(qp, attr, mask))
		return EINVAL;
	if (!(mask & (IBV_QP_STATE | IBV_QP_CUR_STATE)))
		return 0;
	weft_dev_qp_query(qp->dev, &now, NULL);
	if ((mask & IBV_QP_CUR_STATE) && (uint32_t)attr->cur_qp_state != now.state)
		return EINVAL;
	if (mask & IBV_QP_STATE) {
		int must = needed(qp->ibv.qp_base.qp_type, now.state, attr->qp_state);

		if ((mask & must) != must)
			return EINVAL;
	}
	return 0;
}

/* Verbs' attributes in the device's words; those that it does not have stay in qp->attr. */
static struct weft_dev_qp_attr to_device(const struct ibv_qp_attr *attr, int mask)
{
	uint32_t timeout = attr->timeout;
	struct weft_dev_qp_attr to = { .state = (uint8_t)attr->qp_state,
		/* 4.096 us * 2^n (IBTA vol. 1, 9.9.2.1.1) in units of a quarter; 0: for ever */
		.timeout = (uint8_t)(timeout ? WEFT_MIN(timeout + 2, 31u) : 0),
		.retry = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
		.rnr_timer = attr->min_rnr_timer,
		.rd_tx = attr->max_rd_atomic,
		.rd_rx = attr->max_dest_rd_atomic,
		.mtu = (uint8_t)attr->path_mtu,
		.notify = attr->en_sqd_async_notify,
		.access = attr->qp_access_flags & 15,
		.qkey = attr->qkey,
		.peer_qpn = attr->dest_qp_num,
		.psn_rx = attr->rq_psn & PSN_MASK,
		.psn_tx = attr->sq_psn & PSN_MASK };

	if (mask & IBV_QP_AV)
		gid_address(&attr->ah_attr.grh.dgid, to.gid);
	return to;
}

static void keep(struct ibv_qp_attr *kept, const struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_AV)
		kept->ah_attr = attr->ah_attr;
	if (mask & IBV_QP_PATH_MTU)
		kept->path_mtu = attr->path_mtu;
	if (mask & IBV_QP_ACCESS_FLAGS)
		kept->qp_access_flags = attr->qp_access_flags;
	if (mask & IBV_QP_ALT_PATH) {
		kept->alt_ah_attr = attr->alt_ah_attr;
		kept->alt_timeout = attr->alt_timeout;
		kept->alt_port_num = attr->alt_port_num;
	}
	if (mask & IBV_QP_TIMEOUT)
		kept->timeout = attr->timeout;
	if (mask & IBV_QP_RATE_LIMIT)
		kept->rate_limit = attr->rate_limit;
}

int ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask)
{
	struct qp *qp = qp_of(ibv);
	uint32_t set = 0;
	int error = check_modify(qp, attr, mask);

	if (error)
		return complain(error);
	for (size_t i = 0; i < WEFT_COUNT(masks); i++)
		set |= mask & masks[i].verbs ? masks[i].device : 0;
	if (context_of(ibv->context)->strict)
		set &= ~(uint32_t)(WEFT_DEV_SET_RD_TX | WEFT_DEV_SET_RD_RX);
	struct weft_dev_qp_attr to = to_device(attr, mask);
	error = weft_dev_qp_modify(qp->dev, &to, set);
	if (error)
		return complain(error);
	keep(&qp->attr, attr, mask);
	if (mask & IBV_QP_STATE)
		ibv->state = attr->qp_state;
	return 0;
}

int ibv_query_qp(
	struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	struct qp *qp = qp_of(ibv);
	struct weft_dev_qp_attr now;
	struct weft_dev_qp_init made;

	(void)mask; /* all of it, always */
	weft_dev_qp_query(qp->dev, &now, &made);
	ibv->state = (enum ibv_qp_state)now.state;
	*attr = qp->attr;
	attr->qp_state = attr->cur_qp_state = ibv->state;
	attr->en_sqd_async_notify = now.notify;
	attr->sq_draining = now.draining;
	attr->path_mig_state = IBV_MIG_MIGRATED;
	attr->qkey = now.qkey;
	attr->rq_psn = now.psn_rx;
	attr->sq_psn = now.psn_tx;
	attr->dest_qp_num = now.peer_qpn;
	attr->cap = qp->cap;
	attr->max_rd_atomic = now.rd_tx;
	attr->max_dest_rd_atomic = now.rd_rx;
	attr->min_rnr_timer = now.rnr_timer;
	attr->port_num = PORT;
	attr->retry_cnt = now.retry;
	attr->rnr_retry = now.rnr_retry;
	*init = (struct ibv_qp_init_attr){ .qp_context = ibv->qp_context,
		.send_cq = ibv->send_cq,
		.recv_cq = ibv->recv_cq,
		.srq = ibv->srq,
		.cap = qp->cap,
		.qp_type = ibv->qp_type,
		.sq_sig_all = qp->sq_sig_all };
	return 0;
}
