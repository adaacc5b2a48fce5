/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_cq - completions: polled, or announced through a channel.
 *
 * Every CQ is made as the extended kind, because programs cast between the two.  Nothing is held
 * between start_poll and end_poll, so a program may post in between (ibv_rc_pingpong -t does).
 */
#include "verbs_local.h"

#include <endian.h>
#include <stdlib.h>

#define BATCH 16
#define EX_FLAGS \
	(IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM | \
		IBV_WC_EX_WITH_SRC_QP | IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL | \
		IBV_WC_EX_WITH_DLID_PATH_BITS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)

/* ---- channels ---- */

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct channel *channel = calloc(1, sizeof(*channel));

	if (!channel)
		return refuse(ENOMEM);
	int error = weft_dev_channel_open(context_of(context)->dev, &channel->dev);
	if (error) {
		free(channel);
		return refuse(error);
	}
	channel->ibv.context = context;
	channel->ibv.fd = weft_dev_channel_fd(channel->dev);
	return &channel->ibv;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
	struct channel *channel = (struct channel *)ibv;
	int error = weft_dev_channel_close(channel->dev);

	if (!error)
		free(channel);
	return complain(error);
}

/* Whoever destroys the queue from now on waits until it is acknowledged. */
static void count_given(void *user)
{
	struct cq *cq = user;

	pthread_mutex_lock(&cq->ibv.mutex);
	cq->comp_events++;
	pthread_mutex_unlock(&cq->ibv.mutex);
}

int ibv_get_cq_event(struct ibv_comp_channel *ibv, struct ibv_cq **out, void **user)
{
	struct cq *cq;
	void *from;
	int error = weft_dev_channel_take(((struct channel *)ibv)->dev, &from, count_given);

	if (error) {
		errno = error;
		return -1;
	}
	cq = from;
	*out = ibv_cq_ex_to_cq(&cq->ibv);
	*user = cq->ibv.cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += n;
	pthread_cond_broadcast(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

/* ---- queues ---- */

struct cq *cq_new(
	struct ibv_context *context, int entries, void *user, struct ibv_comp_channel *channel)
{
	struct cq *cq;

	if (entries < 1 || (uint32_t)entries > context_of(context)->attr.max_cqe)
		return refuse(EINVAL);
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return refuse(ENOMEM);
	int error = weft_dev_cq_open(context_of(context)->dev, (uint32_t)entries,
		channel ? ((struct channel *)channel)->dev : NULL, cq, &cq->dev);
	if (error) {
		free(cq);
		return refuse(error);
	}
	cq->ibv.context = context;
	cq->ibv.channel = channel;
	cq->ibv.cq_context = user;
	cq->ibv.cqe = (int)weft_dev_cq_entries(cq->dev);
	pthread_mutex_init(&cq->ibv.mutex, NULL);
	pthread_cond_init(&cq->ibv.cond, NULL);
	if (channel) {
		pthread_mutex_lock(&context->mutex);
		channel->refcnt++;
		pthread_mutex_unlock(&context->mutex);
	}
	return cq;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *user,
	struct ibv_comp_channel *channel, int vector)
{
	if (vector < 0 || vector >= context->num_comp_vectors)
		return refuse(EINVAL);
	struct cq *cq = cq_new(context, entries, user, channel);

	return cq ? ibv_cq_ex_to_cq(&cq->ibv) : NULL;
}

struct ibv_cq_ex *cq_create_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	/* Flags are about who may call at once; we lock in any case. */
	if (attr->wc_flags & ~(uint64_t)EX_FLAGS)
		return refuse(EOPNOTSUPP);
	if (attr->comp_mask & ~(uint32_t)(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD))
		return refuse(EINVAL);
	if (attr->comp_vector >= (uint32_t)context->num_comp_vectors || attr->cqe > INT32_MAX)
		return refuse(EINVAL);
	struct cq *cq = cq_new(context, (int)attr->cqe, attr->cq_context, attr->channel);
	if (!cq)
		return NULL;
	cq_ex_fill(cq);
	return &cq->ibv;
}

int ibv_resize_cq(struct ibv_cq *ibv, int entries)
{
	struct cq *cq = cq_of(ibv);

	if (entries < 1)
		return EINVAL;
	int error = weft_dev_cq_resize(cq->dev, (uint32_t)entries);
	if (!error)
		ibv->cqe = (int)weft_dev_cq_entries(cq->dev);
	return error;
}

int ibv_destroy_cq(struct ibv_cq *ibv)
{
	struct ibv_comp_channel *channel = ibv->channel;
	struct ibv_context *context = ibv->context;
	struct cq *cq = cq_of(ibv);
	int error = weft_dev_cq_close(cq->dev);

	if (error)
		return complain(error);
	wait_for_acks(&ibv->mutex, &ibv->cond, &cq->comp_events, &ibv->comp_events_completed);
	wait_for_acks(&ibv->mutex, &ibv->cond, &cq->async_events, &ibv->async_events_completed);
	if (channel) {
		pthread_mutex_lock(&context->mutex);
		channel->refcnt--;
		pthread_mutex_unlock(&context->mutex);
	}
	pthread_mutex_destroy(&ibv->mutex);
	pthread_cond_destroy(&ibv->cond);
	free(cq);
	return 0;
}

/* ---- polling ---- */

static void fill(struct ibv_wc *to, const struct weft_dev_wc *from)
{
	*to = (struct ibv_wc){ .wr_id = from->id,
		.status = (enum ibv_wc_status)from->status,
		.opcode = (enum ibv_wc_opcode)from->op,
		.vendor_err = from->vendor,
		.byte_len = from->len_bytes,
		.imm_data = from->flags & WEFT_DEV_WC_WITH_INV ? from->imm : htobe32(from->imm),
		.qp_num = from->qpn,
		.src_qp = from->src_qpn,
		.wc_flags = from->flags };
}

int cq_poll(struct ibv_cq *ibv, int n, struct ibv_wc *wc)
{
	struct weft_dev_wc batch[BATCH];
	int filled = 0, got = BATCH;

	while (filled < n && got == BATCH) {
		got = weft_dev_cq_poll(cq_of(ibv)->dev, batch, WEFT_MIN(BATCH, n - filled));
		for (int i = 0; i < got; i++)
			fill(&wc[filled++], &batch[i]);
	}
	return filled || got >= 0 ? filled : -1;
}

int cq_arm(struct ibv_cq *ibv, int solicited_only)
{
	return weft_dev_cq_arm(cq_of(ibv)->dev, solicited_only);
}
