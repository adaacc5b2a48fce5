/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEVICE_SIDES_H
#define DEVICE_SIDES_H
/*
 * sides - two devices of one process, with what programs put on them.
 *
 * The ground that they stand on is pair.h's or virtual.h's: pair_device() opens a device there and
 * ground_close() closes it; ground_now() is its time, which ground_sleep() lets pass, and
 * ground_wait() until something may have happened.
 */
#include "greetings/greet_local.h"

#define SIDE_BYTES 65536u
#define LIMIT_S 30

struct side {
	struct weft_dev *dev;
	struct weft_dev_pd *pd;
	struct weft_dev_cq *cq;
	struct weft_dev_qp *qp;
	struct weft_dev_mr *mr;
	struct weft_dev_channel *channel;
	uint8_t memory[SIDE_BYTES];
};

static inline void side_open_qp(struct side *s, uint8_t profile, struct weft_dev_srq *srq)
{
	struct weft_dev_qp_init init = { .profile = profile,
		.cq_tx = s->cq,
		.cq_rx = s->cq,
		.srq = srq,
		.sq_depth = 128,
		.rq_depth = srq ? 0 : 128,
		.sq_sges = 4,
		.rq_sges = 4,
		.inline_bytes = 64,
		.user = s };

	WEFT_ASSERT(!weft_dev_qp_open(s->pd, &init, &s->qp));
}

static inline struct side *side_open_on(struct weft_dev *dev)
{
	struct side *s = calloc(1, sizeof(*s));

	WEFT_ASSERT(s && dev);
	s->dev = dev;
	WEFT_ASSERT(!weft_dev_pd_open(s->dev, &s->pd));
	WEFT_ASSERT(!weft_dev_channel_open(s->dev, &s->channel));
	WEFT_ASSERT(!weft_dev_cq_open(s->dev, 256, s->channel, s, &s->cq));
	WEFT_ASSERT(
		!weft_dev_mr_open(s->pd, s->memory, SIDE_BYTES, (uintptr_t)s->memory, 15, &s->mr));
	return s;
}

static inline struct side *side_open(void)
{
	return side_open_on(pair_device());
}

static inline void side_close(struct side *s)
{
	if (s->qp)
		CHECK_EQ(weft_dev_qp_close(s->qp), 0);
	CHECK_EQ(weft_dev_mr_close(s->mr), 0);
	CHECK_EQ(weft_dev_cq_close(s->cq), 0);
	CHECK_EQ(weft_dev_channel_close(s->channel), 0);
	CHECK_EQ(weft_dev_pd_close(s->pd), 0);
	ground_close(s->dev);
	free(s);
}

static inline void side_init_for(struct side *s, uint32_t access)
{
	struct weft_dev_qp_attr attr = { .state = WEFT_DEV_INIT, .access = access, .qkey = 77 };

	CHECK_EQ(weft_dev_qp_modify(s->qp, &attr,
			 WEFT_DEV_SET_STATE | WEFT_DEV_SET_ACCESS | WEFT_DEV_SET_QKEY),
		0);
}

static inline void side_init(struct side *s)
{
	side_init_for(s, 15);
}

/* The other one's state RTR, then RTS; as programs do it: without knowing of a greeting. */
static inline void side_ready_for(
	struct side *s, const struct side *peer, uint8_t timeout, uint8_t retry)
{
	struct weft_dev_qp_attr attr = { .state = WEFT_DEV_RTR,
		.peer_qpn = weft_dev_qp_number(peer->qp),
		.timeout = timeout,
		.retry = retry,
		.rnr_retry = 7,
		.rd_tx = 4 };

	weft_dev_gid(peer->dev, attr.gid);
	CHECK_EQ(weft_dev_qp_modify(s->qp, &attr,
			 WEFT_DEV_SET_STATE | WEFT_DEV_SET_PEER | WEFT_DEV_SET_PEER_QPN),
		0);
	attr.state = WEFT_DEV_RTS;
	CHECK_EQ(weft_dev_qp_modify(s->qp, &attr,
			 WEFT_DEV_SET_STATE | WEFT_DEV_SET_TIMEOUT | WEFT_DEV_SET_RETRY |
				 WEFT_DEV_SET_RNR_RETRY | WEFT_DEV_SET_RD_TX),
		0);
}

static inline void side_ready(struct side *s, const struct side *peer)
{
	side_ready_for(s, peer, 20, 3); /* 4.3 s in all: few tests are about that */
}

static inline void pair_open(struct side *sides[2], uint8_t profile)
{
	for (unsigned i = 0; i < 2; i++) {
		sides[i] = side_open();
		side_open_qp(sides[i], profile, NULL);
		side_init(sides[i]);
	}
	side_ready(sides[0], sides[1]);
	side_ready(sides[1], sides[0]);
}

/* Two new queue pairs on the same devices: closing a device waits for last ACKs. */
static inline void pair_renew(struct side *sides[2], uint8_t profile, uint32_t access)
{
	for (unsigned i = 0; i < 2; i++) {
		CHECK_EQ(weft_dev_qp_close(sides[i]->qp), 0);
		side_open_qp(sides[i], profile, NULL);
		side_init_for(sides[i], access);
	}
	side_ready(sides[0], sides[1]);
	side_ready(sides[1], sides[0]);
}

static inline void pair_close(struct side *sides[2])
{
	side_close(sides[0]);
	side_close(sides[1]);
}

/*
 * Whoever looks at queue pairs that are not his meets an address that is none: what happens to one
 * of thousands must not cost the others a look.  In the hands of the caller until it is ended.
 */
struct trap {
	struct link *opened;
	struct weft_dev_qp *qps[QP_SLOTS];
};

static inline struct trap *trap_set(struct weft_dev *dev)
{
	struct trap *trap = malloc(sizeof(*trap));

	WEFT_ASSERT(trap);
	weft_lock_take(&dev->lock);
	memcpy(trap->qps, dev->qps, sizeof(trap->qps));
	trap->opened = dev->opened;
	dev->opened = (void *)(uintptr_t)1;
	for (uint32_t i = 0; i < QP_SLOTS; i++)
		dev->qps[i] = (void *)(uintptr_t)1;
	weft_lock_give(&dev->lock);
	return trap;
}

static inline void trap_end(struct weft_dev *dev, struct trap *trap)
{
	weft_lock_take(&dev->lock);
	memcpy(dev->qps, trap->qps, sizeof(trap->qps));
	dev->opened = trap->opened;
	weft_lock_give(&dev->lock);
	free(trap);
}

/* Until the peer's other addresses have answered: its greetings are taken at once from then on. */
static inline void side_learns_planes(struct side *s, struct side *peer)
{
	struct greet greet = { .number = peer->dev->number, .end = peer->dev->end };
	uint64_t limit_ns = ground_now() + LIMIT_S * UINT64_C(1000000000);
	uint32_t absent = UINT32_MAX;

	while (absent && ground_now() < limit_ns) {
		struct weft_dev *both[] = { s->dev, peer->dev, s->dev };

		for (unsigned i = 0; i < 3; i++) {
			weft_lock_take(&both[i]->lock);
			if (!i)
				(void)identity_planes(s->dev, &greet, &absent);
			greet_read(both[i]);
			weft_lock_give(&both[i]->lock);
		}
		ground_wait(limit_ns);
	}
	CHECK_EQ(absent, 0);
}

/* One completion, by polling; status 255: none came in time. */
static inline struct weft_dev_wc side_wait(struct side *s)
{
	struct weft_dev_wc wc = { .status = 255 };
	uint64_t limit_ns = ground_now() + LIMIT_S * UINT64_C(1000000000);

	while (ground_now() < limit_ns) {
		int n = weft_dev_cq_poll(s->cq, &wc, 1);

		if (n)
			break;
		ground_wait(limit_ns);
	}
	return wc;
}

static inline struct weft_dev_sge side_sge(struct side *s, uint32_t at, uint32_t bytes)
{
	return (struct weft_dev_sge){ (uintptr_t)s->memory + at, bytes, weft_dev_mr_key(s->mr) };
}

static inline int side_post(struct side *s, struct weft_dev_send send, uint32_t at, uint32_t bytes)
{
	struct weft_dev_sge sge = side_sge(s, at, bytes);

	send.sges = &sge;
	send.n_sges = 1;
	return weft_dev_post_send(s->qp, &send, false);
}

static inline int side_recv(struct side *s, uint64_t id, uint32_t at, uint32_t bytes)
{
	struct weft_dev_sge sge = side_sge(s, at, bytes);
	struct weft_dev_recv recv = { .id = id, .sges = &sge, .n_sges = 1 };

	return weft_dev_post_recv(s->qp, &recv);
}

static inline struct weft_dev_send to_memory(struct side *peer, uint32_t op, uint32_t at)
{
	return (struct weft_dev_send){ .op = op,
		.flags = WEFT_DEV_SIGNALED,
		.remote_va = (uintptr_t)peer->memory + at,
		.rkey = weft_dev_mr_key(peer->mr) };
}

/* Two queue pairs for datagrams, ready; the first one's way to the second. */
static inline struct weft_dev_ah *pair_datagrams(struct side *s[2])
{
	struct weft_dev_ah *ah = NULL;
	uint8_t gid[16];

	for (unsigned i = 0; i < 2; i++) {
		struct weft_dev_qp_attr attr = { .state = WEFT_DEV_RTR };

		s[i] = side_open();
		side_open_qp(s[i], WEFT_DEV_DATAGRAM, NULL);
		side_init(s[i]);
		CHECK_EQ(weft_dev_qp_modify(s[i]->qp, &attr, WEFT_DEV_SET_STATE), 0);
		attr.state = WEFT_DEV_RTS;
		CHECK_EQ(weft_dev_qp_modify(s[i]->qp, &attr, WEFT_DEV_SET_STATE), 0);
	}
	weft_dev_gid(s[1]->dev, gid);
	CHECK_EQ(weft_dev_ah_open(s[0]->pd, gid, &ah), 0);
	return ah;
}

#endif /* DEVICE_SIDES_H */
