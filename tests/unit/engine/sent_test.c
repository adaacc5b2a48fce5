/* SPDX-License-Identifier: BSD-2-Clause */
#include "hand.h"

enum { PKTS = 200 };

/* End 0 has sent PKTS packets from PSN 0xffff80 on: over the end of the PSN space. */
static void setup(struct world *w, struct weft_pkt pkts[PKTS])
{
	hand_open(w, 16, 16);
	struct weft_qp *qp = w->qp[0];

	qp->psn_next = qp->psn_unack = qp->lost_low = 0xffff80;
	qp->cwnd = UINT32_MAX;
	world_write(w, 0, 1, 0, PKTS * 4096);
	REQUIRE(hand_out(w, 0, pkts, PKTS) == PKTS);
}

TEST(sent_reserve__lends_a_page_per_64_psns)
{
	struct world w = { 0 };
	struct weft_pkt pkts[PKTS];

	setup(&w, pkts);
	CHECK_EQ(w.end[0]->pages_used, WEFT_DIV_UP(PKTS, PAGE_PSNS));
	CHECK_EQ(w.qp[0]->inflight, PKTS * weft_nominal_bytes(4096));
	CHECK_EQ(w.qp[0]->psn_next, 0x48);
	for (uint32_t i = 0; i < PKTS; i++)
		CHECK_EQ(w.end[0]->sets[w.set[0]].path[sent_find(w.qp[0], pkts[i].psn)->path].ev,
			 pkts[i].ev);
	world_close(&w);
}

TEST(sent_release__gives_pages_back_and_takes_bytes_out)
{
	static const uint32_t steps[] = { 1, 63, 64, 65, 127, 128, 129, 200 };
	struct world w = { 0 };
	struct weft_pkt pkts[PKTS];

	setup(&w, pkts);
	for (uint32_t i = 0; i < WEFT_COUNT(steps); i++) {
		sent_release(w.qp[0], weft_psn_add(0xffff80, steps[i]));
		CHECK_EQ(w.qp[0]->inflight, (PKTS - steps[i]) * weft_nominal_bytes(4096));
		CHECK_EQ(w.end[0]->pages_used, WEFT_DIV_UP(PKTS, PAGE_PSNS) - steps[i] / PAGE_PSNS);
		weft_check(w.end[0]);
	}
	CHECK_PANICS(sent_release(w.qp[0], 0x49)); /* never sent */
	world_close(&w);
}

TEST(sent_ack_bits__counts_each_packet_once)
{
	struct world w = { 0 };
	struct weft_pkt pkts[PKTS];

	setup(&w, pkts);
	struct weft_qp *qp = w.qp[0];
	uint32_t full = qp->inflight, one = weft_nominal_bytes(4096);

	sent_ack_bits(qp, 0xffffa0, 0x8000000000000003); /* over a page */
	CHECK_EQ(qp->inflight, full - 3 * one);
	sent_ack_bits(qp, 0xffffa0, 0x8000000000000007); /* one of them is new */
	CHECK_EQ(qp->inflight, full - 4 * one);
	CHECK(qp->progressed);
	loss_mark(qp, 0xfffffe, LOSS_NACK, w.now);
	CHECK_EQ(qp->inflight, full - 5 * one);
	CHECK_EQ(qp->lost, 1);
	sent_ack_bits(qp, 0xffffc0, UINT64_C(1) << 62); /* it was alive */
	CHECK_EQ(qp->lost, 0);
	CHECK_EQ(qp->inflight, full - 5 * one);
	CHECK_EQ(weft_stats(w.end[0])->spurious, 1);
	weft_check(w.end[0]);
	sent_ack_bits(qp, 0xffff40, ~UINT64_C(0)); /* all released long ago */
	sent_ack_bits(qp, 0x48, ~UINT64_C(0)); /* not sent yet */
	CHECK_EQ(qp->inflight, full - 5 * one);
	weft_check(w.end[0]);
	world_close(&w);
}

TEST(sent_ack_bits__a_path_learns_only_from_packets_sent_once)
{
	struct world w = { 0 };
	struct weft_pkt pkts[PKTS], again;

	setup(&w, pkts);
	struct path *path = hand_path(&w, 0, pkts[5].ev);

	path->losses = 2;
	loss_mark(w.qp[0], pkts[4].psn, LOSS_NACK, w.now);
	w.now += 20000;
	CHECK_EQ(hand_out(&w, 0, &again, 1), 1);
	struct path *second = hand_path(&w, 0, again.ev);
	uint32_t seq = second->acked_seq;

	w.end[0]->now = w.now += 20000;
	sent_ack_bits(w.qp[0], again.psn, 1);
	CHECK_EQ(second->acked_seq, seq);
	sent_ack_bits(w.qp[0], pkts[5].psn, 1);
	CHECK_EQ(path->losses, 0);
	CHECK_EQ(path->acked_seq, sent_find(w.qp[0], pkts[5].psn)->path_seq);
	world_close(&w);
}

TEST(sent_drop_all__leaves_nothing_in_flight)
{
	struct world w = { 0 };
	struct weft_pkt pkts[PKTS];

	setup(&w, pkts);
	loss_mark(w.qp[0], pkts[7].psn, LOSS_NACK, w.now);
	sent_drop_all(w.qp[0]);
	CHECK_EQ(w.end[0]->pages_used, 0);
	CHECK_EQ(w.qp[0]->inflight, 0);
	CHECK_EQ(w.qp[0]->lost, 0);
	CHECK_EQ(sent_outstanding(w.qp[0]), 0);
	world_close(&w);
}

/*
 * A port goes out; what was under way there is sent again at once, and some of it had arrived.
 * That says nothing about order: reordering is not given more time because of it.
 */
TEST(sent_ack_bits__a_plane_given_up_teaches_no_caution)
{
	static const enum loss_cause causes[] = { LOSS_PORT, LOSS_REORDER };

	for (unsigned i = 0; i < WEFT_COUNT(causes); i++) {
		struct world w = { 0 };
		struct weft_pkt pkts[PKTS], again;

		setup(&w, pkts);
		loss_mark(w.qp[0], pkts[0].psn, causes[i], w.now);
		qp_make_ready(w.qp[0]);
		REQUIRE(hand_out(&w, 0, &again, 1) == 1);
		CHECK_EQ(again.psn, pkts[0].psn);
		sent_ack_bits(w.qp[0], pkts[0].psn, 1);
		CHECK_EQ(weft_stats(w.end[0])->spurious, 1);
		CHECK_EQ(w.qp[0]->spurious_shift, causes[i] == LOSS_REORDER);
		world_close(&w);
	}
}
