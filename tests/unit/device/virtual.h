/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEVICE_VIRTUAL_H
#define DEVICE_VIRTUAL_H
/*
 * virtual - two devices in virtual time: packets over `loop`, greetings in memory, a seed for all.
 *
 * No time passes but in world_until() and side_wait(): what a test reads off the clock is exact,
 * and a run is the same each time.
 */
#include "check.h"
#include "device_local.h"
#include <weft/loop.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define VA UINT64_C(0x100000) /* of each side's memory: addresses must not depend on the machine */
#define SIDE_BYTES 65536u
#define PLANES 2u
#define LETTERS_MAX 1024u
#define WCS_MAX 4096u

struct letter { /* a greeting under way */
	uint64_t at_ns;
	uint32_t number, n; /* the sender's; bytes */
	uint8_t from[16], bytes[GREET_BYTES_MAX];
};

struct side {
	struct world *world;
	uint32_t index;
	struct weft_dev *dev;
	struct weft_dev_pd *pd;
	struct weft_dev_cq *cq;
	struct weft_dev_qp *qp;
	struct weft_dev_mr *mr;
	struct letter *letters; /* to it; head <= tail, and they run freely */
	uint32_t head, tail;
	struct weft_dev_wc *wcs; /* all that have been told */
	uint32_t n;
	bool is_dead;
	_Alignas(8) uint8_t memory[SIDE_BYTES]; /* of atomics, too */
};

struct world {
	struct weft_loop *loop;
	struct weft_rng rng;
	uint32_t greeting_loss_ppm;
	uint64_t greetings;
	struct side side[2];
};

/* ---- what a device has under it ---- */

static inline void side_addr(uint32_t side, uint32_t plane, uint8_t addr[16])
{
	memset(addr, 0, 16);
	addr[0] = 0xfd;
	addr[7] = (uint8_t)plane;
	addr[15] = (uint8_t)(side + 1);
}

static inline uint64_t world_now(void *arg)
{
	return weft_loop_now(((struct side *)arg)->world->loop);
}

static inline uint64_t world_random(void *arg)
{
	return weft_rng_u64(&((struct side *)arg)->world->rng);
}

static inline void world_until(struct world *w, uint64_t until_ns)
{
	while (weft_loop_step(w->loop, until_ns))
		;
}

static inline void world_sleep(void *arg, uint64_t ns)
{
	struct world *w = ((struct side *)arg)->world;

	world_until(w, weft_loop_now(w->loop) + ns);
}

static inline void letter_send(void *arg, const uint8_t from[16], const uint8_t to[16],
	uint32_t number, const void *bytes, size_t n)
{
	struct side *s = arg, *peer = &s->world->side[1 - s->index];
	struct letter *letter = &peer->letters[peer->tail % LETTERS_MAX];

	s->world->greetings++;
	if (to[15] != peer->index + 1 || number != peer->index || s->is_dead || peer->is_dead ||
		weft_rng_chance(&s->world->rng, s->world->greeting_loss_ppm, 1000000))
		return;
	WEFT_ASSERT(n <= sizeof(letter->bytes) && peer->tail - peer->head < LETTERS_MAX);
	letter->at_ns = world_now(s) + 20 * US;
	letter->number = s->index;
	letter->n = (uint32_t)n;
	memcpy(letter->from, from, 16);
	memcpy(letter->bytes, bytes, n);
	peer->tail++;
	weft_loop_kick(s->world->loop, peer->index); /* it looks when this one is due */
}

static inline int letter_recv(
	void *arg, void *bytes, size_t max, uint8_t from[16], uint32_t *number)
{
	struct side *s = arg;
	const struct letter *letter = &s->letters[s->head % LETTERS_MAX];

	if (s->head == s->tail || letter->at_ns > world_now(s))
		return -1;
	WEFT_ASSERT(letter->n <= max);
	memcpy(bytes, letter->bytes, letter->n);
	memcpy(from, letter->from, 16);
	*number = letter->number;
	s->head++;
	return (int)letter->n;
}

static inline void side_take(struct side *s)
{
	int n;

	do {
		n = weft_dev_cq_poll(s->cq, &s->wcs[s->n], (int)(WCS_MAX - s->n));
		s->n += n > 0 ? (uint32_t)n : 0;
	} while (n > 0 && s->n < WCS_MAX);
}

/* A device, and a program that takes its completions as they come. */
static inline uint64_t side_run(void *arg)
{
	struct side *s = arg;
	uint64_t next = weft_dev_step(s->dev);

	if (s->cq)
		side_take(s);
	next = WEFT_MIN(next, weft_dev_step(s->dev));
	return s->head == s->tail ? next
				  : WEFT_MIN(next, s->letters[s->head % LETTERS_MAX].at_ns);
}

/* ---- two of them ---- */

static inline void side_open(struct world *w, uint32_t index)
{
	struct side *s = &w->side[index];
	struct weft_live_port port = { .port = weft_loop_port(w->loop, index),
		.udp_port = (uint16_t)(1 + index),
		.n_src_ports = 4,
		.peer_add = weft_loop_peer_add,
		.peer_drop = weft_loop_peer_drop };
	struct weft_dev_net net = {
		.arg = s, .port = &port, .number = index, .send = letter_send, .recv = letter_recv
	};
	struct weft_dev_env env = { .arg = s,
		.now = world_now,
		.sleep = world_sleep,
		.random = world_random,
		.net = &net };
	struct weft_dev_name name = { .name = "virtual0" };
	char error[256] = "";

	s->world = w;
	s->index = index;
	s->letters = calloc(LETTERS_MAX, sizeof(*s->letters));
	s->wcs = calloc(WCS_MAX, sizeof(*s->wcs));
	WEFT_ASSERT(s->letters && s->wcs);
	snprintf(name.planes, sizeof(name.planes), "fd00::%u,fd00:0:0:1::%u", index + 1, index + 1);
	if (weft_dev_open_in(&s->dev, &name, &env, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	WEFT_ASSERT(!weft_dev_pd_open(s->dev, &s->pd));
	WEFT_ASSERT(!weft_dev_cq_open(s->dev, 1024, NULL, s, &s->cq));
	WEFT_ASSERT(!weft_dev_mr_open(s->pd, s->memory, SIDE_BYTES, VA, 15, &s->mr));
	weft_loop_attach_run(w->loop, index, side_run, s);
}

/* Both ends of the world, without queue pairs. */
static inline struct world *world_open(uint64_t seed)
{
	struct world *w = calloc(1, sizeof(*w));
	struct weft_loop_config config = { .nodes = 2,
		.planes = PLANES,
		.uplinks = 4,
		.rate_bps = UINT64_C(10000000000),
		.delay_ns = 10 * US,
		.spread_ns = 2 * US,
		.seed = seed };

	WEFT_ASSERT(w);
	w->loop = weft_loop_open(&config);
	WEFT_ASSERT(w->loop);
	weft_rng_seed(&w->rng, seed);
	for (uint32_t i = 0; i < 2; i++)
		side_open(w, i);
	return w;
}

static inline void side_close_qp(struct side *s)
{
	if (s->qp)
		CHECK_EQ(weft_dev_qp_close(s->qp), 0);
	s->qp = NULL;
}

static inline void world_close(struct world *w)
{
	for (unsigned i = 0; i < 2; i++) {
		struct side *s = &w->side[i];

		side_close_qp(s);
		CHECK_EQ(weft_dev_mr_close(s->mr), 0);
		CHECK_EQ(weft_dev_cq_close(s->cq), 0);
		s->cq = NULL;
		CHECK_EQ(weft_dev_pd_close(s->pd), 0);
		CHECK_EQ(weft_dev_close(s->dev), 0);
		weft_loop_attach_run(w->loop, i, NULL, NULL);
		free(s->letters);
		free(s->wcs);
	}
	weft_loop_close(w->loop);
	free(w);
}

static inline void world_loss(struct world *w, uint32_t ppm)
{
	struct weft_loop_fault fault = { .src = WEFT_LOOP_ANY,
		.dst = WEFT_LOOP_ANY,
		.plane = WEFT_LOOP_ANY,
		.uplink = WEFT_LOOP_ANY,
		.until_ns = WEFT_NEVER,
		.loss_ppm = ppm };

	CHECK_EQ(weft_loop_fault(w->loop, &fault), 0);
	w->greeting_loss_ppm = ppm;
}

/* Until this side has been told of so many completions; false: not within the time. */
static inline bool side_wait(struct side *s, uint32_t n, uint64_t within_ns)
{
	struct weft_loop *loop = s->world->loop;
	uint64_t until_ns = weft_loop_now(loop) + within_ns;

	while (s->n < n && weft_loop_step(loop, until_ns))
		;
	return s->n >= n;
}

/* ---- a program ---- */

static inline void side_open_qp(struct side *s, uint8_t profile)
{
	struct weft_dev_qp_init init = { .profile = profile,
		.cq_tx = s->cq,
		.cq_rx = s->cq,
		.sq_depth = 128,
		.rq_depth = 128,
		.sq_sges = 1,
		.rq_sges = 1,
		.user = s };
	struct weft_dev_qp_attr attr = { .state = WEFT_DEV_INIT, .access = 15, .qkey = 77 };

	WEFT_ASSERT(!weft_dev_qp_open(s->pd, &init, &s->qp));
	CHECK_EQ(weft_dev_qp_modify(s->qp, &attr,
			 WEFT_DEV_SET_STATE | WEFT_DEV_SET_ACCESS | WEFT_DEV_SET_QKEY),
		0);
}

static inline void side_move(
	struct side *s, const struct side *peer, uint8_t timeout, uint8_t retry)
{
	struct weft_dev_qp_attr attr = { .state = WEFT_DEV_RTR,
		.peer_qpn = peer->qp ? weft_dev_qp_number(peer->qp) : 0,
		.timeout = timeout,
		.retry = retry,
		.rnr_retry = 7,
		.rd_tx = 4 };

	side_addr(peer->index, 0, attr.gid);
	CHECK_EQ(weft_dev_qp_modify(s->qp, &attr,
			 WEFT_DEV_SET_STATE | WEFT_DEV_SET_PEER | WEFT_DEV_SET_PEER_QPN),
		0);
	attr.state = WEFT_DEV_RTS;
	CHECK_EQ(weft_dev_qp_modify(s->qp, &attr,
			 WEFT_DEV_SET_STATE | WEFT_DEV_SET_TIMEOUT | WEFT_DEV_SET_RETRY |
				 WEFT_DEV_SET_RNR_RETRY | WEFT_DEV_SET_RD_TX),
		0);
	weft_loop_kick(s->world->loop, s->index);
}

#define TIMEOUT 16u /* 67 ms a try */
#define RETRY 7u

static inline void world_connect(struct world *w, uint8_t profile)
{
	for (unsigned i = 0; i < 2; i++)
		side_open_qp(&w->side[i], profile);
	for (unsigned i = 0; i < 2; i++)
		side_move(&w->side[i], &w->side[1 - i], TIMEOUT, RETRY);
}

static inline struct weft_dev_sge side_sge(struct side *s, uint32_t at, uint32_t bytes)
{
	return (struct weft_dev_sge){ VA + at, bytes, weft_dev_mr_key(s->mr) };
}

static inline void side_post(struct side *s, struct weft_dev_send send, uint32_t at, uint32_t bytes)
{
	struct weft_dev_sge sge = side_sge(s, at, bytes);

	send.flags |= WEFT_DEV_SIGNALED;
	send.sges = &sge;
	send.n_sges = 1;
	CHECK_EQ(weft_dev_post_send(s->qp, &send, false), 0);
	weft_loop_kick(s->world->loop, s->index);
}

static inline void side_recv(struct side *s, uint64_t id, uint32_t at, uint32_t bytes)
{
	struct weft_dev_sge sge = side_sge(s, at, bytes);
	struct weft_dev_recv recv = { .id = id, .sges = &sge, .n_sges = 1 };

	CHECK_EQ(weft_dev_post_recv(s->qp, &recv), 0);
	weft_loop_kick(s->world->loop, s->index);
}

/* Of one work to the other side's memory. */
static inline struct weft_dev_send to_memory(
	const struct side *peer, uint64_t id, uint32_t op, uint32_t at)
{
	return (struct weft_dev_send){
		.id = id, .op = op, .remote_va = VA + at, .rkey = weft_dev_mr_key(peer->mr)
	};
}

#endif /* DEVICE_VIRTUAL_H */
