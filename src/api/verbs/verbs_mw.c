/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_mw - memory windows.
 *
 * A window of type 1 is bound by a call that posts a work, and has a new key when the call returns;
 * one of type 2 by a work of the program's own, which says the key.  The strict profile has none:
 * MRC does not know them.
 */
#include "verbs_local.h"

#include <stdlib.h>

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	if (context_of(pd->context)->strict)
		return refuse(strict_refuses(STRICT_MW, "a memory window"));
	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		return refuse(EINVAL);
	struct mw *mw = calloc(1, sizeof(*mw));
	int error = mw ? weft_dev_mw_open(((struct pd *)pd)->dev, type, &mw->dev) : ENOMEM;

	if (error) {
		free(mw);
		return refuse(error);
	}
	mw->ibv.context = pd->context;
	mw->ibv.pd = pd;
	mw->ibv.type = type;
	mw->ibv.rkey = mw->ibv.handle = weft_dev_mw_key(mw->dev);
	return &mw->ibv;
}

static int dealloc_mw(struct ibv_mw *ibv)
{
	struct mw *mw = (struct mw *)ibv;
	int error = weft_dev_mw_close(mw->dev);

	if (!error)
		free(mw);
	return complain(error);
}

static struct weft_dev_bind words_of(struct ibv_mw *mw, const struct ibv_mw_bind_info *info)
{
	const uint32_t rights =
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

	return (struct weft_dev_bind){ .mw = ((struct mw *)mw)->dev,
		.addr = info->addr,
		.len_bytes = info->length,
		.mr_key = info->mr ? info->mr->lkey : 0,
		.access = info->mw_access_flags & rights,
		.zero_based = info->mw_access_flags & IBV_ACCESS_ZERO_BASED };
}

/* Local rights are the region's, but programs name them, as rdma-core's tests do. */
static bool is_known(unsigned int flags)
{
	return !(flags & ~(unsigned)(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
				     IBV_ACCESS_ZERO_BASED));
}

bool mw_words(const struct ibv_send_wr *wr, struct weft_dev_bind *bind)
{
	const struct ibv_mw_bind_info *info = &wr->bind_mw.bind_info;

	if (!wr->bind_mw.mw || wr->bind_mw.mw->type != IBV_MW_TYPE_2 || !info->mr ||
		!is_known(info->mw_access_flags))
		return false;
	*bind = words_of(wr->bind_mw.mw, info);
	return true;
}

static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *how)
{
	const struct ibv_mw_bind_info *info = &how->bind_info;
	struct weft_dev_bind bind = words_of(mw, info);
	const struct weft_dev_send send = { .id = how->wr_id,
		.op = WEFT_DEV_BIND_MW,
		.flags = how->send_flags & (WEFT_DEV_FENCE | WEFT_DEV_SIGNALED),
		.bind = &bind };

	if (mw->type != IBV_MW_TYPE_1 || !is_known(info->mw_access_flags) ||
		(info->length && !info->mr))
		return EINVAL;
	int error = weft_dev_post_send(qp_of(qp)->dev, &send, false);

	if (!error)
		mw->rkey = weft_dev_mw_key(bind.mw);
	return error;
}

void mw_fill(struct ibv_context_ops *ops)
{
	ops->alloc_mw = alloc_mw;
	ops->bind_mw = bind_mw;
	ops->dealloc_mw = dealloc_mw;
}
