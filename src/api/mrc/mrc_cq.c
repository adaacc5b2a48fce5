/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_cq - completions, and the channels that announce them.
 *
 * A channel announces two kinds of queues: the device's, which has a descriptor of its own for it,
 * and those of EV events, for which there is a pipe.  The descriptor that programs see is an epoll
 * set of both, so they may poll it, put it into a set of theirs and make it non-blocking.
 */
#include "mrc_local.h"

#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define BATCH 16

static void close_channel(struct mrc_comp_channel *channel)
{
	if (channel->fd >= 0)
		close(channel->fd);
	if (channel->bell[0] >= 0)
		close(channel->bell[0]);
	if (channel->bell[1] >= 0)
		close(channel->bell[1]);
	if (channel->inner)
		weft_dev_channel_close(channel->inner);
	free(channel);
}

static int open_fds(struct mrc_comp_channel *channel)
{
	int inner = weft_dev_channel_fd(channel->inner);
	struct epoll_event event = { .events = EPOLLIN };

	if (fcntl(inner, F_SETFL, O_NONBLOCK) || pipe2(channel->bell, O_NONBLOCK | O_CLOEXEC))
		return errno;
	channel->fd = epoll_create1(EPOLL_CLOEXEC);
	if (channel->fd < 0 || epoll_ctl(channel->fd, EPOLL_CTL_ADD, inner, &event) ||
		epoll_ctl(channel->fd, EPOLL_CTL_ADD, channel->bell[0], &event))
		return errno;
	return 0;
}

int mrc_create_comp_channel(struct mrc_context *mrc_ctx, struct mrc_comp_channel **channel)
{
	if (!alive_is(mrc_ctx) || !channel)
		return EINVAL;
	struct mrc_comp_channel *own = calloc(1, sizeof(*own));

	if (!own)
		return ENOMEM;
	own->context = mrc_ctx;
	own->fd = own->bell[0] = own->bell[1] = -1;
	int rc = weft_dev_channel_open(mrc_ctx->station->dev, &own->inner);

	if (!rc)
		rc = open_fds(own);
	if (!rc && !alive_add(own))
		rc = ENOMEM;
	if (rc) {
		close_channel(own);
		return rc;
	}
	atomic_fetch_add(&mrc_ctx->objects, 1);
	*channel = own;
	return 0;
}

int mrc_get_comp_channel_fd(struct mrc_comp_channel *channel, int *fd)
{
	if (!alive_is(channel) || !fd)
		return fail(EINVAL);
	*fd = channel->fd;
	return 0;
}

int mrc_destroy_comp_channel(struct mrc_comp_channel *channel)
{
	if (!alive_is(channel))
		return EINVAL;
	if (atomic_load(&channel->queues))
		return EBUSY;
	alive_drop(channel);
	atomic_fetch_sub(&channel->context->objects, 1);
	close_channel(channel);
	return 0;
}

/* A queue that was destroyed with its event still in the pipe is not told of. */
static bool is_alive(const struct station *station, const struct mrc_cq *cq)
{
	const struct mrc_cq *at = station->ev_queues;

	while (at && at != cq)
		at = at->next;
	return at != NULL;
}

/*
 * The next event's queue, counted as told.  Both in one go under the lock in which queues are
 * closed: who destroys it now waits until it is acknowledged.
 */
static int take(struct mrc_comp_channel *channel, struct mrc_cq **cq)
{
	struct station *station = channel->context->station;
	struct mrc_cq *got;
	void *user;
	int rc = 0;

	weft_lock_take(&station->lock);
	do {
		if (read(channel->bell[0], &got, sizeof(got)) == (ssize_t)sizeof(got))
			continue;
		rc = weft_dev_channel_get(channel->inner, &user);
		got = user;
		break;
	} while (!is_alive(station, got));
	if (!rc) {
		atomic_fetch_add(&got->unacked, 1);
		*cq = got;
	}
	weft_lock_give(&station->lock);
	return rc;
}

bool channel_ring(struct mrc_cq *cq)
{
	return cq->channel && write(cq->channel->bell[1], &cq, sizeof(cq)) == (ssize_t)sizeof(cq);
}

int mrc_get_cq_event(struct mrc_comp_channel *channel, struct mrc_cq **cq, void **cq_context)
{
	if (!channel || !cq || !cq_context)
		return fail(EINVAL);
	for (;;) {
		struct pollfd door = { .fd = channel->fd, .events = POLLIN };
		int rc = take(channel, cq);

		if (!rc) {
			*cq_context = (*cq)->user;
			return 0;
		}
		if (rc != EAGAIN)
			return fail(rc);
		if (fcntl(channel->fd, F_GETFL) & O_NONBLOCK)
			return fail(EAGAIN);
		if (poll(&door, 1, -1) < 0)
			return -1; /* EINTR */
	}
}

void mrc_ack_cq_events(struct mrc_cq *cq, unsigned int nevents)
{
	if (cq)
		atomic_fetch_sub(&cq->unacked, nevents);
}

/* Destroying is rare and acknowledging near: no condition variable for it. */
void acks_await(const _Atomic uint32_t *unacked)
{
	while (atomic_load(unacked))
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

bool channel_fits(const struct mrc_comp_channel *channel, const struct mrc_context *context)
{
	return !channel || (alive_is(channel) && channel->context == context);
}

struct mrc_cq *mrc_create_cq(struct mrc_context *mrc_ctx, int cqe, void *cq_context,
	struct mrc_comp_channel *channel, int comp_vector)
{
	if (!alive_is(mrc_ctx) || cqe < 1 || comp_vector || !channel_fits(channel, mrc_ctx))
		return fail_null(EINVAL);
	struct mrc_cq *cq = calloc(1, sizeof(*cq));

	if (!cq)
		return fail_null(ENOMEM);
	cq->context = mrc_ctx;
	cq->channel = channel;
	cq->user = cq_context;
	int rc = weft_dev_cq_open(mrc_ctx->station->dev, (uint32_t)cqe,
		channel ? channel->inner : NULL, cq, &cq->inner);

	if (!rc && !alive_add(cq)) {
		(void)weft_dev_cq_close(cq->inner);
		rc = ENOMEM;
	}
	if (rc) {
		free(cq);
		return fail_null(rc);
	}
	weft_dev_cq_set_owner(cq->inner, mrc_ctx->owner);
	atomic_fetch_add(&mrc_ctx->objects, 1);
	if (channel)
		atomic_fetch_add(&channel->queues, 1);
	return cq;
}

int mrc_destroy_cq(struct mrc_cq *cq)
{
	if (!alive_is(cq))
		return EINVAL;
	struct station *station = cq->context->station;

	weft_lock_take(&station->lock); /* nobody is being told of it meanwhile */
	int rc = 0;

	if (cq->inner)
		rc = weft_dev_cq_close(cq->inner);
	else
		ev_queue_close(cq);
	weft_lock_give(&station->lock);
	if (rc)
		return rc;
	alive_drop(cq);
	acks_await(&cq->unacked);
	if (cq->channel)
		atomic_fetch_sub(&cq->channel->queues, 1);
	atomic_fetch_sub(&cq->context->objects, 1);
	free(cq);
	return 0;
}

static void fill(struct ibv_wc *to, const struct weft_dev_wc *from)
{
	memset(to, 0, sizeof(*to));
	to->wr_id = from->id;
	to->status = (enum ibv_wc_status)from->status;
	to->opcode = (enum ibv_wc_opcode)from->op;
	to->vendor_err = from->vendor;
	to->byte_len = from->len_bytes;
	to->imm_data = htobe32(from->imm);
	to->qp_num = from->qpn;
	to->src_qp = from->src_qpn;
	to->wc_flags = from->flags & WEFT_DEV_WC_WITH_IMM;
}

int mrc_poll_cq(struct mrc_cq *cq, int num_entries, struct ibv_wc *wc)
{
	int n = 0;

	if (!cq || num_entries < 0 || (num_entries && !wc) || !cq->inner)
		return fail(EINVAL);
	while (n < num_entries) {
		struct weft_dev_wc own[BATCH];
		int want = WEFT_MIN(num_entries - n, BATCH);
		int got = weft_dev_cq_poll(cq->inner, own, want);

		if (got < 0)
			return n ? n : fail(EIO);
		for (int i = 0; i < got; i++)
			fill(&wc[n++], &own[i]);
		if (got < want)
			break;
	}
	return n;
}

int mrc_req_notify_cq(struct mrc_cq *cq, int solicited_only)
{
	if (!cq)
		return EINVAL;
	return cq->inner ? weft_dev_cq_arm(cq->inner, solicited_only)
			 : ev_queue_arm(cq, solicited_only);
}
