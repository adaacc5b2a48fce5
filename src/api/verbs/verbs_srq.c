/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_srq - shared receive queues.
 *
 * They do not grow: a program that asks for it is told, and asks for enough the next time.
 */
#include "verbs_local.h"

#include <stdlib.h>
#include <string.h>

/* xrcd and cq: of XRC, else NULL. */
static struct ibv_srq *create(struct ibv_pd *pd, struct ibv_srq_init_attr *init,
	struct ibv_xrcd *xrcd, struct ibv_cq *cq)
{
	const struct context *context = context_of(pd->context);
	struct weft_dev_srq_attr attr = { .depth = WEFT_MAX(init->attr.max_wr, 1u),
		.sges = WEFT_MAX(init->attr.max_sge, 1u),
		.xrcd = xrcd ? xrc_device(xrcd) : NULL,
		.cq = cq ? cq_of(cq)->dev : NULL };

	if (context->strict)
		return refuse(strict_refuses(STRICT_SRQ, "a shared receive queue"));
	struct srq *srq = calloc(1, sizeof(*srq));
	if (!srq)
		return refuse(ENOMEM);
	int error = weft_dev_srq_open(((struct pd *)pd)->dev, &attr, srq, &srq->dev);
	if (error) {
		free(srq);
		return refuse(error);
	}
	weft_dev_srq_query(srq->dev, &attr);
	init->attr.max_wr = attr.depth;
	init->attr.max_sge = attr.sges;
	srq->ibv.context = pd->context;
	srq->ibv.srq_context = init->srq_context;
	srq->ibv.pd = pd;
	pthread_mutex_init(&srq->ibv.mutex, NULL);
	pthread_cond_init(&srq->ibv.cond, NULL);
	return &srq->ibv;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	return create(pd, init, NULL, NULL);
}

struct ibv_srq *srq_create_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq_init_attr plain = { .srq_context = attr->srq_context, .attr = attr->attr };

	(void)context;
	const uint32_t of_xrc = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	bool is_xrc = attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type == IBV_SRQT_XRC;

	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type != IBV_SRQT_BASIC && !is_xrc)
		return refuse(EOPNOTSUPP);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) ||
		(is_xrc && ((attr->comp_mask & of_xrc) != of_xrc || !attr->xrcd || !attr->cq)))
		return refuse(EINVAL);
	struct ibv_srq *srq = create(attr->pd, &plain, is_xrc ? attr->xrcd : NULL,
		is_xrc ? attr->cq : NULL);
	attr->attr = plain.attr;
	return srq;
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	if (mask & ~(IBV_SRQ_LIMIT | IBV_SRQ_MAX_WR))
		return EINVAL;
	if (mask & IBV_SRQ_MAX_WR)
		return EOPNOTSUPP;
	return mask ? weft_dev_srq_limit(((struct srq *)srq)->dev, attr->srq_limit) : 0;
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *out)
{
	struct weft_dev_srq_attr attr;

	weft_dev_srq_query(((struct srq *)srq)->dev, &attr);
	*out = (struct ibv_srq_attr){ attr.depth, attr.sges, attr.limit };
	return 0;
}

int ibv_destroy_srq(struct ibv_srq *ibv)
{
	struct srq *srq = (struct srq *)ibv;
	int error = weft_dev_srq_close(srq->dev);

	if (error)
		return complain(error);
	wait_for_acks(&ibv->mutex, &ibv->cond, &srq->async_events, &ibv->events_completed);
	pthread_mutex_destroy(&ibv->mutex);
	pthread_cond_destroy(&ibv->cond);
	free(srq);
	return 0;
}

int srq_post(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	for (; wr; wr = wr->next) {
		struct weft_dev_recv recv = { .id = wr->wr_id,
			.sges = (const struct weft_dev_sge *)(void *)wr->sg_list,
			.n_sges = (uint32_t)wr->num_sge };
		int error = wr->num_sge < 0 ? EINVAL
					    : weft_dev_srq_post(((struct srq *)srq)->dev, &recv);

		if (error) {
			*bad = wr;
			return error;
		}
	}
	return 0;
}
