/* SPDX-License-Identifier: BSD-2-Clause */
#include "hand.h"

static struct weft_qp_attr good_attr(const struct world *w)
{
	return (struct weft_qp_attr){
		.cc = &weft_cc_fixed, .cc_config = { .fixed_bytes = 1 << 20 },
		.peer = 7, .peer_qpn = 1000, .pathset = w->set[0],
		.mpr_rx_psns = 256, .wimm_rx = 4, .mpr_tx_psns = 256, .wimm_tx = 4,
		.timeout_exp = 8, .dynamic_mpr = true,
	};
}

/* A QP of end 0 that has got as far as `state`. */
static struct weft_qp *qp_in(struct world *w, enum weft_qp_state state)
{
	struct weft_qp_attr attr = good_attr(w);
	struct weft_qp *qp;

	REQUIRE(!weft_qp_open(w->end[0], &attr, &qp));
	if (state == WEFT_QP_RTR || state == WEFT_QP_RTS)
		CHECK_EQ(weft_qp_move(qp, WEFT_QP_RTR, &attr, w->now), 0);
	if (state == WEFT_QP_RTS || state == WEFT_QP_ERROR)
		CHECK_EQ(weft_qp_move(qp, state, &attr, w->now), 0);
	return qp;
}

TEST(weft_qp_move__goes_only_where_the_grid_allows)
{
	static const bool allowed[][5] = {
		/* to RESET  INIT   RTR    RTS    ERROR */
		[WEFT_QP_INIT] = { false, false, true, false, true },
		[WEFT_QP_RTR] = { false, false, false, true, true },
		[WEFT_QP_RTS] = { false, false, false, false, true },
		[WEFT_QP_ERROR] = { false, false, false, false, false },
	};
	struct world w = { 0 };

	hand_open(&w, 16, 16);
	struct weft_qp_attr attr = good_attr(&w);

	for (int from = WEFT_QP_INIT; from <= WEFT_QP_ERROR; from++) {
		for (int to = WEFT_QP_RESET; to <= WEFT_QP_ERROR; to++) {
			struct weft_qp *qp = qp_in(&w, (enum weft_qp_state)from);
			int want = allowed[from][to] ? 0 : WEFT_ESTATE;

			CHECK_EQ(weft_qp_move(qp, (enum weft_qp_state)to, &attr, w.now), want);
			CHECK_EQ(qp->state, want ? from : to);
			weft_check(w.end[0]);
			weft_qp_close(qp);
			weft_check(w.end[0]);
		}
	}
	world_close(&w);
}

static void other_peer(struct weft_qp_attr *a) { a->peer = 8; }
static void no_such_set(struct weft_qp_attr *a) { a->pathset = 3; }
static void set_beyond(struct weft_qp_attr *a) { a->pathset = 77; }
static void endpoint_qpn(struct weft_qp_attr *a) { a->peer_qpn = WEFT_EP_QPN; }
static void wide_qpn(struct weft_qp_attr *a) { a->peer_qpn = 1u << 24; }
static void wide_psn(struct weft_qp_attr *a) { a->psn_rx = 1u << 24; }
static void odd_window(struct weft_qp_attr *a) { a->mpr_rx_psns = 129; }
static void no_window(struct weft_qp_attr *a) { a->mpr_rx_psns = 0; }
static void big_window(struct weft_qp_attr *a) { a->mpr_rx_psns = 1u << 15; }
static void many_wimm(struct weft_qp_attr *a) { a->wimm_rx = 4096; }
static void wide_psn_tx(struct weft_qp_attr *a) { a->psn_tx = 1u << 24; }
static void no_peer_window(struct weft_qp_attr *a) { a->mpr_tx_psns = 127; }
static void no_timeout(struct weft_qp_attr *a) { a->timeout_exp = 0; }
static void long_timeout(struct weft_qp_attr *a) { a->timeout_exp = 25; }
static void long_linear(struct weft_qp_attr *a) { a->linear_count = 8; }
static void many_retries(struct weft_qp_attr *a) { a->retry_count = 26; }

TEST(weft_qp_move__refuses_what_is_out_of_range_and_changes_nothing)
{
	static const struct {
		void (*spoil)(struct weft_qp_attr *attr);
		enum weft_qp_state to;
	} rows[] = {
		{ other_peer, WEFT_QP_RTR },    { no_such_set, WEFT_QP_RTR },
		{ set_beyond, WEFT_QP_RTR },    { endpoint_qpn, WEFT_QP_RTR },
		{ wide_qpn, WEFT_QP_RTR },      { wide_psn, WEFT_QP_RTR },
		{ odd_window, WEFT_QP_RTR },    { no_window, WEFT_QP_RTR },
		{ big_window, WEFT_QP_RTR },    { many_wimm, WEFT_QP_RTR },
		{ wide_psn_tx, WEFT_QP_RTS },   { no_peer_window, WEFT_QP_RTS },
		{ no_timeout, WEFT_QP_RTS },    { long_timeout, WEFT_QP_RTS },
		{ long_linear, WEFT_QP_RTS },   { many_retries, WEFT_QP_RTS },
	};
	struct world w = { 0 };

	hand_open(&w, 16, 16);
	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		enum weft_qp_state from = rows[i].to == WEFT_QP_RTR ? WEFT_QP_INIT : WEFT_QP_RTR;
		struct weft_qp *qp = qp_in(&w, from);
		struct weft_qp_attr attr = good_attr(&w);

		CHECK(!weft_qp_attr_fault(w.end[0], rows[i].to, &attr));
		rows[i].spoil(&attr);
		CHECK(weft_qp_attr_fault(w.end[0], rows[i].to, &attr));
		if (weft_qp_move(qp, rows[i].to, &attr, w.now) != WEFT_EINVAL)
			CHECK_FAIL("row %zu was accepted", i);
		CHECK_EQ(qp->state, from);
		weft_check(w.end[0]);
		weft_qp_close(qp);
	}
	world_close(&w);
}

TEST(weft_qp_attr_fault__names_the_field)
{
	struct world w = { 0 };

	hand_open(&w, 16, 16);
	struct weft_qp_attr attr = good_attr(&w);

	attr.cc_config = (struct weft_cc_config){ 0 };
	CHECK_STR(weft_qp_attr_fault(w.end[0], WEFT_QP_INIT, &attr),
		"cc_config: rate_bps, max_cwnd_bytes or fixed_bytes, above 0");
	attr.mpr_rx_psns = 129;
	CHECK_STR(weft_qp_attr_fault(w.end[0], WEFT_QP_RTR, &attr),
		"mpr_rx_psns: a multiple of 128, up to the endpoint's window_psns");
	attr.peer++;
	CHECK_STR(weft_qp_attr_fault(w.end[0], WEFT_QP_RTR, &attr),
		"peer: the same as the path set's");
	world_close(&w);
}

TEST(weft_qp_open__a_new_tenant_gets_a_new_number)
{
	struct world w = { 0 };

	hand_open(&w, 16, 16);
	struct weft_qp *old = qp_in(&w, WEFT_QP_RTS);
	uint32_t qpn = old->qpn;

	weft_qp_close(old);
	struct weft_qp *new = qp_in(&w, WEFT_QP_RTS);

	CHECK(new == old);
	CHECK(new->qpn != qpn);
	CHECK(new->qpn > WEFT_EP_QPN && new->qpn <= WEFT_PSN_MASK);
	CHECK(!weft_qp_find(w.end[0], qpn));
	CHECK(weft_qp_find(w.end[0], new->qpn) == new);
	world_close(&w);
}

TEST(weft_qp_open__says_when_all_slots_are_taken)
{
	struct world w = { 0 };

	hand_open(&w, 16, 16);
	struct weft_qp_attr attr = good_attr(&w);
	struct weft_qp *qp;

	for (uint32_t i = 1; i < w.config.qps; i++)
		CHECK_EQ(weft_qp_open(w.end[0], &attr, &qp), 0);
	CHECK_EQ(weft_qp_open(w.end[0], &attr, &qp), WEFT_EFULL);
	attr.cq_rx = w.config.cqs;
	CHECK_EQ(weft_qp_open(w.end[0], &attr, &qp), WEFT_EINVAL);
	world_close(&w);
}

TEST(qp_fail__flushes_works_then_receives_and_lends_the_set_back)
{
	struct world w = { 0 };
	struct weft_done done[8];
	struct weft_pkt pkts[4];

	hand_open(&w, 16, 16);
	world_write(&w, 0, 1, 0, 100000);
	world_write(&w, 0, 2, 0, 10);
	CHECK_EQ(weft_post_recv(w.qp[0], 3), 0);
	CHECK_EQ(hand_out(&w, 0, pkts, 4), 4);
	CHECK_EQ(weft_pathset_close(w.end[0], w.set[0]), WEFT_ESTATE);
	qp_fail(w.qp[0], WEFT_RETRY_EXCEEDED);
	weft_check(w.end[0]);
	CHECK_EQ(weft_poll(w.end[0], 0, done, 8), 3);
	CHECK_EQ(done[0].id, 1);
	CHECK_EQ(done[0].status, WEFT_RETRY_EXCEEDED);
	CHECK_EQ(done[1].id, 2);
	CHECK_EQ(done[1].status, WEFT_FLUSHED);
	CHECK_EQ(done[2].id, 3);
	CHECK_EQ(done[2].kind, WEFT_DONE_RECV_IMM);
	CHECK_EQ(done[2].status, WEFT_FLUSHED);
	CHECK_EQ(w.end[0]->pages_used, 0);
	CHECK_EQ(weft_post_recv(w.qp[0], 3), WEFT_ESTATE);
	CHECK_EQ(weft_pathset_close(w.end[0], w.set[0]), 0);
	CHECK_EQ(hand_out(&w, 0, pkts, 4), 0);
	world_close(&w);
}

TEST(weft_qp_set_mpr__needs_the_agreement_and_whole_units)
{
	struct world w = { 0 };

	hand_open(&w, 16, 16);
	struct weft_qp *qp = qp_in(&w, WEFT_QP_RTR);

	CHECK_EQ(weft_qp_set_mpr(w.qp[0], 128), WEFT_ESTATE); /* not agreed */
	CHECK_EQ(weft_qp_set_mpr(qp, 100), WEFT_EINVAL);
	CHECK_EQ(weft_qp_set_mpr(qp, 0), WEFT_EINVAL);
	CHECK_EQ(weft_qp_set_mpr(qp, w.config.window_psns + 128), WEFT_EINVAL);
	CHECK_EQ(weft_qp_set_mpr(qp, 128), 0);
	CHECK_EQ(qp->rx_mpr, 256); /* what was promised stays accepted */
	CHECK_EQ(weft_qp_set_mpr(qp, 512), 0);
	CHECK_EQ(qp->rx_mpr, 512);
	CHECK_EQ(weft_qp_set_penalty(qp, 128), WEFT_EINVAL);
	CHECK_EQ(weft_qp_set_penalty(qp, 127), 0);
	CHECK_EQ(weft_qp_set_penalty(qp, 0), 0);
	CHECK_EQ(weft_qp_set_penalty(qp, 0), 0); /* said twice: still to be told */
	CHECK(qp->restore_out);
	world_close(&w);
}

/* Whoever looks for some of them passes by thousands that nobody has opened. */
TEST(qp_next_used__finds_those_that_are_open)
{
	struct world w = { 0 };
	struct weft_config config;
	struct weft_qp *qps[130];

	world_config(&config);
	config.qps = 256;
	world_open(&w, &config);
	const struct weft_endpoint *ep = w.end[0];
	struct weft_qp_attr attr = good_attr(&w);

	CHECK_EQ(qp_next_used(ep, 0), 256);
	for (uint32_t i = 0; i < WEFT_COUNT(qps); i++)
		REQUIRE(!weft_qp_open(w.end[0], &attr, &qps[i]));
	for (uint32_t i = 0; i < WEFT_COUNT(qps); i++) {
		if (i != 3 && i != 127)
			weft_qp_close(qps[i]);
	}
	CHECK_EQ(qp_next_used(ep, 0), 3);
	CHECK_EQ(qp_next_used(ep, 3), 3);
	CHECK_EQ(qp_next_used(ep, 4), 127);
	CHECK_EQ(qp_next_used(ep, 128), 256);
	CHECK_EQ(qp_next_used(ep, 256), 256);
	weft_check(ep);
	world_close(&w);
}

/* More than the ring of events keeps, in one go. */
TEST(weft_qp_failed__tells_of_each_once)
{
	struct world w = { 0 };
	struct weft_qp_failure failure;
	struct weft_qp *qps[3];

	hand_open(&w, 16, 16);
	for (unsigned i = 0; i < 3; i++)
		qps[i] = qp_in(&w, WEFT_QP_RTS);
	CHECK(!weft_qp_failed(w.end[0], &failure));
	for (unsigned i = 0; i < 3; i++)
		CHECK_EQ(weft_qp_move(qps[i], WEFT_QP_ERROR, NULL, w.now), 0);
	for (uint32_t i = 0; i < 2 * w.config.events; i++)
		event_note(w.end[0], WEFT_EV_MPR, 5, 0, i, 0, 0);
	weft_qp_close(qps[1]); /* nobody is left to hear of it */
	uint64_t seen = 0;

	while (weft_qp_failed(w.end[0], &failure)) {
		CHECK_EQ(failure.status, WEFT_FLUSHED);
		seen += failure.qpn;
	}
	CHECK_EQ(seen, (uint64_t)qps[0]->qpn + qps[2]->qpn);
	CHECK_EQ(weft_qp_move(qps[0], WEFT_QP_ERROR, NULL, w.now), WEFT_ESTATE);
	CHECK(!weft_qp_failed(w.end[0], &failure));
	weft_check(w.end[0]);
	weft_qp_close(qps[0]);
	weft_qp_close(qps[2]);
	world_close(&w);
}
