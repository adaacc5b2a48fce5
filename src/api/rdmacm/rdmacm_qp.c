/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rdmacm_qp - queue pairs of identifiers, moved through their states for the program.
 *
 * One that was created on an id is ready to receive at once and to send when the connection is; a
 * program that brings its own asks rdma_init_qp_attr() for the attributes and moves it itself.
 */
#include "rdmacm_local.h"

#include <stdlib.h>
#include <string.h>

#define QKEY 0x01234567
#define RNR_TIMER 12 /* 640 us */
#define ACCESS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
		IBV_ACCESS_REMOTE_ATOMIC)

static int attr_of_init(const struct id *id, struct ibv_qp_attr *attr, int *mask)
{
	attr->port_num = PORT;
	attr->pkey_index = 0;
	*mask = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX;
	if (id->rdma.qp_type == IBV_QPT_UD) {
		attr->qkey = QKEY;
		*mask |= IBV_QP_QKEY;
	} else {
		attr->qp_access_flags = ACCESS;
		*mask |= IBV_QP_ACCESS_FLAGS;
	}
	return 0;
}

/* The port's, as librdmacm takes it. */
static enum ibv_mtu path_mtu(const struct id *id)
{
	struct ibv_port_attr port;

	return ibv_query_port(id->rdma.verbs, PORT, &port) ? IBV_MTU_1024 : port.active_mtu;
}

static int attr_of_rtr(const struct id *id, struct ibv_qp_attr *attr, int *mask)
{
	*mask = IBV_QP_STATE;
	if (id->rdma.qp_type == IBV_QPT_UD)
		return 0;
	memset(&attr->ah_attr, 0, sizeof(attr->ah_attr));
	attr->ah_attr.is_global = 1;
	attr->ah_attr.port_num = PORT;
	attr->ah_attr.grh.hop_limit = 64;
	attr->ah_attr.grh.sgid_index = 3;
	memcpy(attr->ah_attr.grh.dgid.raw, id->peer.gid, 16);
	attr->path_mtu = path_mtu(id);
	attr->dest_qp_num = id->peer.qpn;
	attr->rq_psn = id->peer.psn;
	/* What the peer asks at once, as far as we have said that we answer. */
	attr->max_dest_rd_atomic = id->local.responder;
	attr->min_rnr_timer = RNR_TIMER;
	*mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return 0;
}

static int attr_of_rts(const struct id *id, struct ibv_qp_attr *attr, int *mask)
{
	attr->sq_psn = id->local.psn;
	*mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (id->rdma.qp_type == IBV_QPT_UD)
		return 0;
	attr->timeout = id->timeout;
	attr->retry_cnt = id->local.retry;
	attr->rnr_retry = id->peer.rnr_retry;
	attr->max_rd_atomic = (uint8_t)WEFT_MIN(id->local.initiator, id->peer.responder);
	*mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	return 0;
}

int rdma_init_qp_attr(struct rdma_cm_id *rdma, struct ibv_qp_attr *attr, int *mask)
{
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		return attr_of_init(id_of(rdma), attr, mask);
	case IBV_QPS_RTR:
		return attr_of_rtr(id_of(rdma), attr, mask);
	case IBV_QPS_RTS:
		return attr_of_rts(id_of(rdma), attr, mask);
	default:
		return fail(EINVAL);
	}
}

static int move(struct id *id, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask = IBV_QP_STATE;

	if (state != IBV_QPS_ERR && rdma_init_qp_attr(&id->rdma, &attr, &mask))
		return -1;
	int error = ibv_modify_qp(id->rdma.qp, &attr, mask);
	return error ? fail(error) : 0;
}

int qp_to_ready(struct id *id)
{
	return move(id, IBV_QPS_INIT) || move(id, IBV_QPS_RTR) || move(id, IBV_QPS_RTS) ? -1 : 0;
}

int qp_to_error(struct id *id)
{
	return move(id, IBV_QPS_ERR);
}

/* ---- making ---- */

static void drop_queues(struct rdma_cm_id *rdma)
{
	if (rdma->send_cq)
		(void)ibv_destroy_cq(rdma->send_cq);
	if (rdma->recv_cq)
		(void)ibv_destroy_cq(rdma->recv_cq);
	if (rdma->send_cq_channel)
		(void)ibv_destroy_comp_channel(rdma->send_cq_channel);
	if (rdma->recv_cq_channel)
		(void)ibv_destroy_comp_channel(rdma->recv_cq_channel);
	rdma->send_cq = rdma->recv_cq = NULL;
	rdma->send_cq_channel = rdma->recv_cq_channel = NULL;
}

static struct ibv_cq *make_queue(
	struct rdma_cm_id *rdma, struct ibv_comp_channel **channel, uint32_t entries)
{
	*channel = ibv_create_comp_channel(rdma->verbs);
	return *channel ? ibv_create_cq(rdma->verbs, (int)WEFT_MAX(entries, 1u), rdma, *channel, 0)
			: NULL;
}

/* Queues of the id's own for who brings none. */
static bool complete_queues(struct rdma_cm_id *rdma, struct ibv_qp_init_attr_ex *attr)
{
	if (!attr->send_cq) {
		rdma->send_cq = make_queue(rdma, &rdma->send_cq_channel, attr->cap.max_send_wr);
		attr->send_cq = rdma->send_cq;
	}
	if (!attr->recv_cq) {
		rdma->recv_cq = make_queue(rdma, &rdma->recv_cq_channel, attr->cap.max_recv_wr);
		attr->recv_cq = rdma->recv_cq;
	}
	return attr->send_cq && attr->recv_cq;
}

int rdma_create_qp_ex(struct rdma_cm_id *rdma, struct ibv_qp_init_attr_ex *attr)
{
	struct id *id = id_of(rdma);

	if (!rdma->verbs || rdma->qp)
		return fail(EINVAL);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd) {
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		attr->pd = rdma->pd ? rdma->pd : device_pd(rdma->verbs);
	}
	if (!attr->pd || attr->pd->context != rdma->verbs)
		return fail(EINVAL);
	if (!attr->srq)
		attr->srq = rdma->srq;
	rdma->pd = attr->pd;
	if (!complete_queues(rdma, attr))
		goto failed;
	rdma->qp = ibv_create_qp_ex(rdma->verbs, attr);
	if (!rdma->qp)
		goto failed;
	rdma->qp_type = attr->qp_type;
	if (move(id, IBV_QPS_INIT) ||
		(attr->qp_type == IBV_QPT_UD && (move(id, IBV_QPS_RTR) || move(id, IBV_QPS_RTS)))) {
		int error = errno;

		rdma_destroy_qp(rdma);
		return fail(error);
	}
	return 0;
failed:
	drop_queues(rdma);
	return -1;
}

int rdma_create_qp(struct rdma_cm_id *rdma, struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr_ex attr = { .qp_context = init->qp_context,
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.srq = init->srq,
		.cap = init->cap,
		.qp_type = init->qp_type,
		.sq_sig_all = init->sq_sig_all,
		.comp_mask = pd ? IBV_QP_INIT_ATTR_PD : 0,
		.pd = pd };

	if (rdma_create_qp_ex(rdma, &attr))
		return -1;
	init->cap = attr.cap;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *rdma)
{
	if (rdma->qp) {
		weft_lock_take(&cm_lock);
		multicast_detach(id_of(rdma));
		weft_lock_give(&cm_lock);
		(void)ibv_destroy_qp(rdma->qp);
	}
	rdma->qp = NULL;
	drop_queues(rdma);
}

int rdma_create_srq(struct rdma_cm_id *rdma, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	rdma->pd = pd ? pd : device_pd(rdma->verbs);
	rdma->srq = rdma->pd ? ibv_create_srq(rdma->pd, attr) : NULL;
	return rdma->srq ? 0 : -1;
}

int rdma_create_srq_ex(struct rdma_cm_id *rdma, struct ibv_srq_init_attr_ex *attr)
{
	if (!attr->pd) {
		attr->pd = device_pd(rdma->verbs);
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
	}
	rdma->srq = ibv_create_srq_ex(rdma->verbs, attr);
	return rdma->srq ? 0 : -1;
}

void rdma_destroy_srq(struct rdma_cm_id *rdma)
{
	if (rdma->srq)
		(void)ibv_destroy_srq(rdma->srq);
	rdma->srq = NULL;
}
