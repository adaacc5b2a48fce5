/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trim - a switch has cut a packet: what both ends make of it, case by case.  The rules are Table
 * 7-3's (NACK reasons) and Figure 5's (path states); [P 1.10], [P 3.4], [P 4.8].
 */
#include "hand.h"

enum { PKTS = 8 };

/* One message of PKTS packets, all out. */
static void setup(struct world *w, struct weft_pkt pkts[PKTS])
{
	hand_open(w, 64, 64);
	w->qp[0]->cwnd = PKTS * weft_nominal_bytes(4096);
	world_write(w, 0, 1, 0, PKTS * 4096);
	world_write(w, 0, 2, 0, 64 * 4096); /* what the window holds back */
	REQUIRE(hand_out(w, 0, pkts, PKTS) == PKTS);
	w->now += 12000;
}

static struct weft_pkt cut(const struct weft_pkt *pkt, uint8_t mark)
{
	struct weft_pkt left = *pkt;

	left.mark = mark;
	/* All that a cut leaves; what else stands here nobody may read. */
	memset(&left.w, 0xee, sizeof(left.w));
	left.w.ts = pkt->w.ts;
	left.w.msn = pkt->w.msn;
	left.w.rqmsn = pkt->w.rqmsn;
	left.peer = 7;
	return left;
}

static struct weft_pkt nack_of(const struct world *w, const struct weft_pkt *pkt, uint8_t mark)
{
	return hand_nack(w, pkt,
			 mark == WEFT_MARK_TRIMMED ? WEFT_NACK_TRIMMED :
						     WEFT_NACK_TRIMMED_LASTHOP);
}

TEST(trimmed__is_nacked_before_anything_else_is_sent)
{
	struct world w = { 0 };
	struct weft_pkt pkts[PKTS], out[4];

	setup(&w, pkts);
	world_write(&w, 1, 3, 0, 4096); /* the receiver has data of its own */
	struct weft_pkt left = cut(&pkts[3], WEFT_MARK_TRIMMED_LASTHOP);

	hand_in(&w, 1, &left);
	CHECK(w.end[1]->answer_head != w.end[1]->answer_tail);
	REQUIRE(hand_out(&w, 1, out, 4) == 2);
	CHECK_EQ(out[0].op, WEFT_OP_NACK);
	CHECK_EQ(out[0].tclass, WEFT_CLASS_CONTROL);
	CHECK_EQ(out[0].nack.psn, pkts[3].psn);
	CHECK_EQ(out[0].nack.ev, pkts[3].ev);
	CHECK_EQ(out[1].op, WEFT_OP_WRITE_ONLY);
	world_close(&w);
}

TEST(nacked__goes_out_again_first_and_on_another_path)
{
	for (uint8_t mark = WEFT_MARK_TRIMMED; mark <= WEFT_MARK_TRIMMED_LASTHOP; mark *= 2) {
		struct world w = { 0 };
		struct weft_pkt pkts[PKTS], again[4];

		setup(&w, pkts);
		struct weft_pkt nack = nack_of(&w, &pkts[5], mark);

		CHECK_EQ(hand_out(&w, 0, again, 4), 0); /* the window is full */
		hand_in(&w, 0, &nack);
		REQUIRE(hand_out(&w, 0, again, 4) >= 1); /* before what is new */
		CHECK_EQ(again[0].psn, pkts[5].psn);
		CHECK(again[0].flags & WEFT_BTH_RTX);
		CHECK_EQ(again[0].tclass, WEFT_CLASS_RETX);
		CHECK(again[0].ev != pkts[5].ev);
		CHECK_EQ(again[0].w.va, pkts[5].w.va);
		CHECK_EQ(again[0].w.len_bytes, 4096);
		CHECK_EQ(weft_stats(w.end[0])->lost_nack, 1);
		world_close(&w);
	}
}

TEST(nacked__costs_the_path_a_turn_unless_the_last_hop_cut)
{
	for (uint8_t mark = WEFT_MARK_TRIMMED; mark <= WEFT_MARK_TRIMMED_LASTHOP; mark *= 2) {
		struct world w = { 0 };
		struct weft_pkt pkts[PKTS];

		setup(&w, pkts);
		bool is_lasthop = mark == WEFT_MARK_TRIMMED_LASTHOP;
		struct weft_pkt nack = nack_of(&w, &pkts[2], mark);
		const struct path *path = hand_path(&w, 0, pkts[2].ev);
		struct path before = *path;
		const struct pathset *set = &w.end[0]->sets[w.set[0]];

		hand_in(&w, 0, &nack);
		CHECK_EQ(path->state, is_lasthop ? WEFT_PATH_GOOD : WEFT_PATH_SKIP);
		CHECK_EQ(path->marked, before.marked + !is_lasthop);
		CHECK_EQ(set->past[path - set->path].lost, 0);
		CHECK_EQ(path->losses, before.losses);
		CHECK_EQ(path->acked_seq, before.acked_seq); /* it has overtaken its queue */
		/* One that sits out already stays so: the last hop says nothing about it. */
		nack = nack_of(&w, &pkts[4], WEFT_MARK_TRIMMED_LASTHOP);
		path_on_mark(w.end[0], w.set[0], pathset_find(&w.end[0]->sets[w.set[0]],
							      pkts[4].ev), w.now);
		hand_in(&w, 0, &nack);
		CHECK_EQ(hand_path(&w, 0, pkts[4].ev)->state, WEFT_PATH_SKIP);
		world_close(&w);
	}
}

TEST(trimmed__retransmissions_are_nacked_and_go_out_again)
{
	struct world w = { 0 };
	struct weft_pkt pkts[PKTS], last, again, answer;

	setup(&w, pkts);
	last = pkts[1];
	for (uint32_t n = 1; n <= 5; n++) { /* each copy is cut */
		struct weft_pkt left = cut(&last, WEFT_MARK_TRIMMED_LASTHOP);

		hand_in(&w, 1, &left);
		REQUIRE(hand_out(&w, 1, &answer, 1) == 1);
		CHECK_EQ(answer.op, WEFT_OP_NACK);
		answer.peer = 7;
		hand_in(&w, 0, &answer);
		REQUIRE(hand_out(&w, 0, &again, 1) == 1);
		CHECK_EQ(again.psn, pkts[1].psn);
		CHECK(again.ev != last.ev);
		CHECK_EQ(weft_stats(w.end[0])->tx_rtx_pkts, n);
		hand_in(&w, 0, &answer); /* the NACK twice: this copy is on its way */
		CHECK_EQ(hand_drops(&w, 0, WEFT_DROP_ACK_STALE), n);
		CHECK_EQ(w.qp[0]->lost, 0);
		last = again;
	}
	CHECK_EQ(weft_stats(w.end[0])->lost_nack, 5);
	CHECK_EQ(w.qp[0]->timeouts, 0);
	CHECK_EQ(w.qp[0]->nack_row, 0); /* not a peer that is short of something */
	last.peer = 7;
	CHECK_EQ(hand_in(&w, 1, &last).len_bytes, 4096);
	REQUIRE(hand_out(&w, 1, &answer, 1) == 1);
	CHECK_EQ(answer.op, WEFT_OP_SACK); /* to a repeat, at once */
	world_close(&w);
}

/*
 * In an incast no round trip is without queue, so a repeat may come back sooner than any packet
 * before.  That the first copy was alive after all is no explanation where it was cut.
 */
TEST(nacked__and_back_sooner_than_ever_was_not_sent_in_vain)
{
	for (uint32_t cut_it = 0; cut_it < 2; cut_it++) {
		struct world w = { 0 };
		struct weft_pkt pkts[PKTS], again;

		setup(&w, pkts);
		w.qp[0]->rtt_min_ns = w.qp[0]->rtt_ns = 112000;
		loss_learn_reorder(w.qp[0]);
		struct weft_pkt nack = nack_of(&w, &pkts[0], WEFT_MARK_TRIMMED_LASTHOP);

		if (cut_it)
			hand_in(&w, 0, &nack);
		else
			loss_mark(w.qp[0], pkts[0].psn, LOSS_FIFO, w.now);
		qp_make_ready(w.qp[0]); /* loss_mark() leaves that to who called it */
		REQUIRE(hand_out(&w, 0, &again, 1) == 1);
		CHECK_EQ(again.psn, pkts[0].psn);
		uint32_t reorder_ns = w.qp[0]->reorder_ns;

		w.now += 20000;
		struct weft_pkt sack = hand_sack(&w, 1, 0);

		hand_in(&w, 0, &sack);
		CHECK_EQ(weft_stats(w.end[0])->spurious, !cut_it);
		CHECK_EQ(w.qp[0]->spurious_shift, !cut_it);
		CHECK(cut_it ? w.qp[0]->reorder_ns == reorder_ns :
			       w.qp[0]->reorder_ns > reorder_ns);
		world_close(&w);
	}
}

/* ---- over a network that cuts ---- */

static struct {
	uint32_t cut, lose_cut, probes, cut_probes;
	bool done;
	uint8_t op;
} sky;

static void cut_in_flight(struct weft_pkt *pkt)
{
	*pkt = cut(pkt, WEFT_MARK_TRIMMED_LASTHOP);
	sky.cut++;
}

/* The first packet with this opcode is cut, and its rest is lost on the way as well. */
static bool loses_what_was_cut(struct world *w, int from, struct weft_pkt *pkt)
{
	(void)w;
	if (from || sky.done || pkt->op != sky.op)
		return false;
	sky.done = true;
	cut_in_flight(pkt);
	return true;
}

static bool cuts_first(struct world *w, int from, struct weft_pkt *pkt)
{
	(void)w;
	if (from || sky.done || pkt->op != sky.op)
		return false;
	sky.done = true;
	cut_in_flight(pkt);
	return false;
}

static void open_sky(struct world *w, uint8_t op)
{
	struct weft_config config;

	memset(&sky, 0, sizeof(sky));
	sky.op = op;
	world_config(&config);
	world_open(w, &config);
	world_connect(w, 64, 64, &weft_cc_nscc);
}

static void finish(struct world *w, size_t works)
{
	struct weft_done done = { 0 };

	CHECK_EQ(world_wait(w, 0, works, 5000000, &done), works);
	CHECK_EQ(done.status, WEFT_OK);
	CHECK_EQ(weft_stats(w->end[0])->timeouts, 0);
	world_run_until(w, w->now + 100000);
}

TEST(trimmed__and_then_lost_is_found_missing_like_any_other)
{
	struct world w = { .check = true, .fault = loses_what_was_cut };

	open_sky(&w, WEFT_OP_WRITE_MIDDLE);
	world_write(&w, 0, 1, 0, 1 << 20);
	finish(&w, 1);
	const struct weft_counters *c = weft_stats(w.end[0]);

	CHECK_EQ(sky.cut, 1);
	CHECK_EQ(weft_stats(w.end[1])->rx_trimmed, 0);
	CHECK_EQ(c->rx_nack, 0);
	CHECK_EQ(c->tx_rtx_pkts, 1);
	CHECK_EQ(c->lost_fifo + c->lost_reorder, 1);
	CHECK_MEM(w.memory[1], w.memory[0], 1 << 20);
	world_close(&w);
}

/* The A bit dies with the payload: the repeat is answered all the same, and nobody waits. */
TEST(trimmed__with_the_a_bit_leaves_no_question_open)
{
	struct world w = { .check = true, .fault = cuts_first };

	open_sky(&w, WEFT_OP_WRITE_ONLY);
	uint64_t start_ns = w.now;

	world_write(&w, 0, 1, 0, 1000);
	struct weft_done done = { 0 };

	CHECK_EQ(world_wait(&w, 0, 1, 5000000, &done), 1);
	CHECK_EQ(sky.cut, 1);
	CHECK(w.now - start_ns < 4 * w.delay_ns + 2000); /* two round trips, no timer between */
	const struct weft_counters *c = weft_stats(w.end[0]);

	CHECK_EQ(c->tail_probes, 0);
	CHECK_EQ(c->rx_nack, 1);
	CHECK_EQ(c->tx_rtx_pkts, 1);
	CHECK_EQ(weft_stats(w.end[1])->tx_nack, 1);
	world_close(&w);
}

TEST(trimmed__immediates_are_delivered_once_and_in_order)
{
	static const uint8_t ops[] = { WEFT_OP_WRITE_ONLY_IMM, WEFT_OP_WRITE_LAST_IMM };

	for (size_t k = 0; k < WEFT_COUNT(ops); k++) {
		struct world w = { .check = true, .fault = cuts_first };
		uint32_t len_bytes = k ? 3 * 4096 : 64;

		open_sky(&w, ops[k]);
		for (uint32_t i = 0; i < 4; i++) {
			struct weft_work work = { .id = i,
				.remote_va = 0x10000 + i * 16384,
				.data = w.memory[0] + i * 16384,
				.len_bytes = len_bytes,
				.rkey = w.rkey[0],
				.imm = 100 + i,
				.has_imm = true };

			CHECK_EQ(weft_post_recv(w.qp[1], i), 0);
			CHECK_EQ(weft_post_write(w.qp[0], &work), 0);
		}
		finish(&w, 4);
		CHECK_EQ(sky.cut, 1);
		CHECK_EQ(weft_stats(w.end[0])->tx_rtx_pkts, 1);
		for (uint32_t i = 0; i < 5; i++) {
			struct weft_done done = { 0 };

			CHECK_EQ(weft_poll(w.end[1], 0, &done, 1), i < 4);
			if (i == 4)
				break;
			CHECK_EQ(done.kind, WEFT_DONE_RECV_IMM);
			CHECK_EQ(done.imm, 100 + i); /* the one that was cut came first */
			CHECK_EQ(done.len_bytes, len_bytes);
		}
		CHECK_MEM(w.memory[1], w.memory[0], len_bytes);
		world_close(&w);
	}
}

static bool loses_tail_and_watches_probes(struct world *w, int from, struct weft_pkt *pkt)
{
	(void)w;
	if (from)
		return false;
	if (pkt->op == WEFT_OP_PROBE) {
		sky.probes++;
		CHECK_EQ(pkt->tclass, WEFT_CLASS_NO_TRIM);
		if (sky.cut_probes < 1) { /* by a switch that cuts what it must not */
			sky.cut_probes++;
			pkt->mark = WEFT_MARK_TRIMMED_LASTHOP;
		}
		return false;
	}
	if (pkt->op != WEFT_OP_WRITE_ONLY || sky.done)
		return false;
	sky.done = true;
	return true;
}

TEST(trimmed__probes_are_not_sent_and_not_answered)
{
	struct world w = { .check = true, .fault = loses_tail_and_watches_probes };

	open_sky(&w, 0);
	world_write(&w, 0, 1, 0, 1000);
	finish(&w, 1);
	CHECK_EQ(sky.cut_probes, 1);
	CHECK(sky.probes >= 2); /* the first was not heard; the next found out */
	CHECK_EQ(weft_stats(w.end[1])->rx_probe, sky.probes - 1);
	CHECK_EQ(hand_drops(&w, 1, WEFT_DROP_BAD_FIELD), 1);
	CHECK_EQ(weft_stats(w.end[0])->tx_rtx_pkts, 1);
	world_close(&w);
}

TEST(trimmed__endpoint_operations_and_answers_are_dropped)
{
	static const uint8_t ops[] = { WEFT_OP_SACK, WEFT_OP_NACK, WEFT_OP_ACK,
				       WEFT_OP_EP_REQUEST, WEFT_OP_EP_RESPONSE };
	struct world w = { 0 };
	struct weft_pkt pkts[PKTS], out;

	setup(&w, pkts);
	for (uint32_t i = 0; i < WEFT_COUNT(ops); i++) {
		struct weft_pkt pkt = { .peer = 7, .op = ops[i], .mark = WEFT_MARK_TRIMMED };

		pkt.dqpn = i < 3 ? w.qp[0]->qpn : WEFT_EP_QPN;
		hand_in(&w, 0, &pkt);
		CHECK_EQ(hand_drops(&w, 0, WEFT_DROP_BAD_FIELD), i + 1);
		CHECK_EQ(hand_out(&w, 0, &out, 1), 0);
	}
	CHECK_EQ(sent_outstanding(w.qp[0]), PKTS);
	world_close(&w);
}
