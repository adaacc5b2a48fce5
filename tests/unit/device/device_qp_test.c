/* SPDX-License-Identifier: BSD-2-Clause */
#include "virtual.h"

static int to_state(struct side *s, uint8_t state)
{
	struct weft_dev_qp_attr attr = { .state = state };

	return weft_dev_qp_modify(s->qp, &attr, WEFT_DEV_SET_STATE);
}

TEST(weft_dev_qp_modify__knows_the_order_of_states)
{
	struct side *s = side_open();
	struct weft_dev_qp_attr attr;

	side_open_qp(s, WEFT_DEV_STRICT, NULL);
	CHECK_EQ(to_state(s, WEFT_DEV_RTS), EINVAL);
	CHECK_EQ(to_state(s, WEFT_DEV_RTR), EINVAL);
	CHECK_EQ(to_state(s, WEFT_DEV_ERR), EINVAL);
	side_init(s);
	CHECK_EQ(to_state(s, WEFT_DEV_RTR), EINVAL); /* to whom? */
	weft_dev_qp_query(s->qp, &attr, NULL);
	CHECK_EQ(attr.state, WEFT_DEV_INIT);
	CHECK_EQ(side_post(s, to_memory(s, WEFT_DEV_WRITE, 0), 0, 8), EINVAL);
	side_ready(s, s);
	CHECK_EQ(to_state(s, WEFT_DEV_SQD), 0);
	CHECK_EQ(to_state(s, WEFT_DEV_RTS), 0);
	CHECK_EQ(to_state(s, WEFT_DEV_INIT), EINVAL);
	CHECK_EQ(to_state(s, WEFT_DEV_RESET), 0);
	CHECK_EQ(side_recv(s, 0, 0, 0), EINVAL);
	attr = (struct weft_dev_qp_attr){ .state = WEFT_DEV_INIT, .rnr_retry = 8 };
	CHECK_EQ(weft_dev_qp_modify(s->qp, &attr, WEFT_DEV_SET_STATE | WEFT_DEV_SET_RNR_RETRY),
		EINVAL);
	side_close(s);
}

/* A queue pair whose peer is itself: everything by the loopback. */
TEST(weft_dev_qp_modify__lets_a_queue_pair_talk_to_itself)
{
	struct side *s = side_open();

	side_open_qp(s, WEFT_DEV_EXTENDED, NULL);
	side_init(s);
	side_ready(s, s);
	memset(s->memory, 0x5a, 64);
	CHECK_EQ(side_post(s, to_memory(s, WEFT_DEV_WRITE, 1024), 0, 64), 0);
	CHECK_EQ(side_wait(s).status, WEFT_DEV_OK);
	CHECK_EQ(s->memory[1024 + 63], 0x5a);
	side_close(s);
}

TEST(weft_dev_qp_modify__flushes_on_error_and_starts_anew)
{
	struct side *s[2];

	pair_open(s, WEFT_DEV_STRICT);
	for (uint64_t i = 0; i < 3; i++)
		CHECK_EQ(side_recv(s[0], i, 0, 0), 0);
	CHECK_EQ(to_state(s[0], WEFT_DEV_ERR), 0);
	for (uint64_t i = 0; i < 3; i++) {
		struct weft_dev_wc wc = side_wait(s[0]);

		CHECK_EQ(wc.id, i);
		CHECK_EQ(wc.status, WEFT_DEV_WR_FLUSH_ERR);
	}
	CHECK_EQ(side_recv(s[0], 9, 0, 0), 0); /* flushed at once */
	CHECK_EQ(side_wait(s[0]).id, 9);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_WR_FLUSH_ERR);
	for (unsigned i = 0; i < 2; i++) {
		CHECK_EQ(to_state(s[i], WEFT_DEV_RESET), 0);
		side_init(s[i]);
	}
	side_ready(s[1], s[0]);
	side_ready(s[0], s[1]);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	pair_close(s);
}

TEST(weft_dev_qp_open__refuses_what_is_beyond_the_limits)
{
	struct side *s = side_open();
	struct weft_dev_attr limits;
	struct weft_dev_qp *qp;
	struct weft_dev_qp_init init = { .cq_tx = s->cq, .cq_rx = s->cq, .sq_depth = 1,
		.rq_depth = 1 };

	weft_dev_query(s->dev, &limits);
	init.sq_depth = limits.max_qp_wr + 1;
	CHECK_EQ(weft_dev_qp_open(s->pd, &init, &qp), EINVAL);
	init.sq_depth = limits.max_qp_wr;
	init.inline_bytes = limits.max_inline_bytes + 1;
	CHECK_EQ(weft_dev_qp_open(s->pd, &init, &qp), EINVAL);
	init.inline_bytes = limits.max_inline_bytes;
	init.sq_sges = limits.max_sge;
	CHECK_EQ(weft_dev_qp_open(s->pd, &init, &qp), 0);
	CHECK_EQ(weft_dev_pd_close(s->pd), EBUSY);
	CHECK_EQ(weft_dev_qp_close(qp), 0);
	side_close(s);
}

/* All that may be there, in RTR, connected to themselves or about to be. */
static uint32_t fill(struct side *s, uint8_t profile, struct weft_dev_qp **qps, uint32_t max)
{
	struct weft_dev_qp_init init = {
		.profile = profile, .cq_tx = s->cq, .cq_rx = s->cq, .sq_depth = 4, .rq_depth = 4
	};
	struct weft_dev_qp_attr attr = { .state = WEFT_DEV_INIT };
	uint32_t n = 0;

	weft_dev_gid(s->dev, attr.gid);
	for (; n < max && !weft_dev_qp_open(s->pd, &init, &qps[n]); n++) {
		attr.state = WEFT_DEV_INIT;
		attr.peer_qpn = weft_dev_qp_number(qps[n]);
		REQUIRE(!weft_dev_qp_modify(qps[n], &attr, WEFT_DEV_SET_STATE));
		attr.state = WEFT_DEV_RTR;
		REQUIRE(!weft_dev_qp_modify(qps[n], &attr,
			WEFT_DEV_SET_STATE | WEFT_DEV_SET_PEER | WEFT_DEV_SET_PEER_QPN));
	}
	return n;
}

/* The limit that is told is one that can be reached, and again as soon as all are closed, while
 * the last of them acknowledge on.  UCX needs it in the thousands: it closes none that its peer
 * has once talked to. */
TEST(weft_dev_qp_open__gives_as_many_as_it_says)
{
	static const uint8_t profiles[] = { WEFT_DEV_EXTENDED, WEFT_DEV_STRICT, WEFT_DEV_EXTENDED };
	struct side *s = side_open();
	struct weft_dev_attr limits;
	struct weft_dev_qp_init init = { .cq_tx = s->cq, .cq_rx = s->cq };
	struct weft_dev_qp **qps;

	weft_dev_query(s->dev, &limits);
	CHECK(limits.max_qp >= 4096);
	qps = calloc(limits.max_qp + 1, sizeof(*qps));
	REQUIRE(qps);
	for (size_t i = 0; i < WEFT_COUNT(profiles); i++) {
		uint32_t n = fill(s, profiles[i], qps, limits.max_qp);

		CHECK_EQ(n, limits.max_qp);
		CHECK_EQ(weft_dev_qp_open(s->pd, &init, &qps[n]), ENOMEM);
		while (n--)
			CHECK_EQ(weft_dev_qp_close(qps[n]), 0);
	}
	free(qps);
	side_close(s);
}
