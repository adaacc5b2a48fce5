/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FAKE_OBJECTS_H
#define FAKE_OBJECTS_H
/*
 * fake_objects - libibverbs that has one device and moves nothing: queue pairs only note the states
 * they were moved through.
 *
 * These definitions stand before the verbs room's when a test is linked.
 */
#include "one_device.h"

struct fake_qp {
	struct ibv_qp ibv;
	struct ibv_qp_attr attr; /* as moved last */
};

#define FAKE_MTU IBV_MTU_2048 /* neither what rdma_cm falls back to nor the most */

static struct {
	int modify_error, qps;
} fake;

/* Who calls this by name has the old structure. */
#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	(void)context, (void)port;
	((struct ibv_port_attr *)(void *)attr)->active_mtu = FAKE_MTU;
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *channel = calloc(1, sizeof(*channel));

	channel->context = context;
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	free(channel);
	return 0;
}

struct ibv_cq *ibv_create_cq(
	struct ibv_context *context, int n, void *user, struct ibv_comp_channel *channel, int v)
{
	struct ibv_cq *cq = calloc(1, sizeof(*cq));

	(void)context, (void)n, (void)user, (void)v;
	cq->channel = channel;
	return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	free(cq);
	return 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq *srq = calloc(1, sizeof(*srq));

	(void)attr;
	srq->pd = pd;
	return srq;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	free(srq);
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct fake_qp *qp = calloc(1, sizeof(*qp));

	qp->ibv.pd = pd;
	qp->ibv.qp_num = (uint32_t)++fake.qps + 100;
	qp->ibv.qp_type = init->qp_type;
	qp->ibv.send_cq = init->send_cq;
	qp->ibv.recv_cq = init->recv_cq;
	return &qp->ibv;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	free(qp);
	return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct ibv_qp_attr *kept = &((struct fake_qp *)qp)->attr;

	if (fake.modify_error && attr->qp_state == IBV_QPS_RTR)
		return fake.modify_error;
	if (mask & IBV_QP_DEST_QPN)
		kept->dest_qp_num = attr->dest_qp_num;
	if (mask & IBV_QP_RQ_PSN)
		kept->rq_psn = attr->rq_psn;
	if (mask & IBV_QP_PATH_MTU)
		kept->path_mtu = attr->path_mtu;
	if (mask & IBV_QP_SQ_PSN)
		kept->sq_psn = attr->sq_psn;
	if (mask & IBV_QP_RETRY_CNT)
		kept->retry_cnt = attr->retry_cnt;
	if (mask & IBV_QP_AV)
		kept->ah_attr = attr->ah_attr;
	qp->state = attr->qp_state;
	return 0;
}

#endif
