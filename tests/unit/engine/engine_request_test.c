/* SPDX-License-Identifier: BSD-2-Clause */
#include "hand.h"

static void post(struct world *w, uint32_t len_bytes, bool has_imm, int want)
{
	struct weft_work work = {
		.id = 5, .remote_va = 0x10000, .data = w->memory[0], .len_bytes = len_bytes,
		.rkey = w->rkey[0], .imm = 0xabcd, .has_imm = has_imm,
	};

	CHECK_EQ(weft_post_write(w->qp[0], &work), want);
}

TEST(request_send__cuts_messages_at_the_mtu)
{
	enum { FIRST = WEFT_OP_WRITE_FIRST, MIDDLE = WEFT_OP_WRITE_MIDDLE,
	       LAST = WEFT_OP_WRITE_LAST, LAST_IMM = WEFT_OP_WRITE_LAST_IMM,
	       ONLY = WEFT_OP_WRITE_ONLY, ONLY_IMM = WEFT_OP_WRITE_ONLY_IMM };
	static const struct {
		uint32_t len_bytes;
		bool has_imm;
		uint8_t pkts, ops[3];
		uint16_t last_bytes;
	} rows[] = {
		{ 0, false, 1, { ONLY }, 0 },
		{ 0, true, 1, { ONLY_IMM }, 0 },
		{ 1, false, 1, { ONLY }, 1 },
		{ 4096, false, 1, { ONLY }, 4096 },
		{ 4096, true, 1, { ONLY_IMM }, 4096 },
		{ 4097, false, 2, { FIRST, LAST }, 1 },
		{ 8192, true, 2, { FIRST, LAST_IMM }, 4096 },
		{ 8193, false, 3, { FIRST, MIDDLE, LAST }, 1 },
		{ 12288, true, 3, { FIRST, MIDDLE, LAST_IMM }, 4096 },
	};
	struct world w = { 0 };
	struct weft_pkt pkts[8];
	uint32_t psn = 0xffff00, rqmsn = 0;

	hand_open(&w, 16, 16);
	for (uint32_t r = 0; r < WEFT_COUNT(rows); r++) {
		post(&w, rows[r].len_bytes, rows[r].has_imm, 0);
		CHECK_EQ(hand_out(&w, 0, pkts, 8), rows[r].pkts);
		for (uint32_t i = 0; i < rows[r].pkts; i++, psn++) {
			bool last = i + 1u == rows[r].pkts;

			CHECK_EQ(pkts[i].op, rows[r].ops[i]);
			CHECK_EQ(pkts[i].psn, psn);
			CHECK_EQ(pkts[i].dqpn, w.qp[1]->qpn);
			CHECK_EQ(pkts[i].tclass, WEFT_CLASS_DATA);
			CHECK_EQ(pkts[i].w.va, 0x10000 + 4096 * i);
			CHECK(pkts[i].w.data == w.memory[0] + 4096 * i);
			CHECK_EQ(pkts[i].w.len_bytes, last ? rows[r].last_bytes : 4096);
			CHECK_EQ(pkts[i].w.msg_bytes, rows[r].len_bytes);
			CHECK_EQ(pkts[i].w.msn, r);
			CHECK_EQ(pkts[i].w.rqmsn, rows[r].has_imm ? rqmsn : 0);
			CHECK_EQ(!!(pkts[i].flags & WEFT_BTH_ACK_REQ), last); /* nothing follows */
		}
		rqmsn += rows[r].has_imm;
	}
	world_close(&w);
}

TEST(weft_post_write__says_no_when_full_or_without_immediates)
{
	struct world w = { 0 };

	hand_open(&w, 16, 16);
	for (uint32_t i = 0; i < w.config.sq_depth; i++)
		post(&w, 1, false, 0);
	post(&w, 1, false, WEFT_EFULL);
	w.qp[0]->wimm_tx = 0;
	w.qp[0]->sq_tail--;
	post(&w, 1, true, WEFT_EINVAL);
	qp_fail(w.qp[0], WEFT_FLUSHED);
	post(&w, 1, false, WEFT_ESTATE);
	world_close(&w);
}

TEST(request_send__stops_at_each_of_the_three_gates)
{
	struct world w = { 0 };
	struct weft_pkt pkts[256];

	hand_open(&w, 16, 16);
	struct weft_qp *qp = w.qp[0];

	qp->cwnd = 5 * weft_nominal_bytes(4096);
	post(&w, 1u << 20, false, 0);
	CHECK_EQ(hand_out(&w, 0, pkts, 256), 5);
	qp->cwnd = UINT32_MAX;
	qp->mpr_tx = 128; /* the last PSN the peer takes is cack + 127 */
	qp_make_ready(qp);
	CHECK_EQ(hand_out(&w, 0, pkts, 256), 127 - 5);
	CHECK_EQ(hand_out(&w, 0, pkts, 256), 0);
	qp->mpr_tx = 4096;
	qp_make_ready(qp);
	CHECK_EQ(hand_out(&w, 0, pkts, 256), 256 - 127);
	qp->wimm_tx = 2;
	for (int i = 0; i < 3; i++)
		post(&w, 9, true, 0);
	post(&w, 9, false, 0);
	CHECK_EQ(hand_out(&w, 0, pkts, 256), 2);
	CHECK(!(pkts[0].flags & WEFT_BTH_ACK_REQ));
	CHECK(pkts[1].flags & WEFT_BTH_ACK_REQ); /* nothing moves before its answer */
	world_close(&w);
}

TEST(request_send__asks_eight_times_in_a_small_window)
{
	struct world w = { 0 };
	struct weft_pkt pkt;
	uint32_t nominal = weft_nominal_bytes(4096);

	hand_open(&w, 16, 16);
	post(&w, 1u << 20, false, 0);
	w.qp[0]->cwnd = 16 * nominal;
	for (int i = 1; i <= 16; i++) {
		CHECK_EQ(hand_out(&w, 0, &pkt, 1), 1);
		CHECK_EQ(!!(pkt.flags & WEFT_BTH_ACK_REQ), i % 2 == 0);
	}
	CHECK_EQ(hand_out(&w, 0, &pkt, 1), 0);
	w.qp[0]->cwnd = 64 * nominal; /* there the receiver's threshold does, four packets */
	qp_make_ready(w.qp[0]);
	for (int i = 17; i <= 64; i++) {
		CHECK_EQ(hand_out(&w, 0, &pkt, 1), 1);
		CHECK(!(pkt.flags & WEFT_BTH_ACK_REQ));
	}
	world_close(&w);
}

TEST(request_send__what_is_lost_goes_first_on_another_path)
{
	struct world w = { 0 };
	struct weft_pkt pkts[8], again[8];

	hand_open(&w, 16, 16);
	post(&w, 1u << 20, false, 0);
	CHECK_EQ(hand_out(&w, 0, pkts, 8), 8);
	loss_mark(w.qp[0], pkts[6].psn, LOSS_NACK, w.now);
	loss_mark(w.qp[0], pkts[2].psn, LOSS_NACK, w.now);
	w.now += 1000;
	CHECK_EQ(hand_out(&w, 0, again, 4), 4);
	for (int i = 0; i < 2; i++) {
		const struct weft_pkt *first = &pkts[i ? 6 : 2];

		CHECK_EQ(again[i].psn, first->psn);
		CHECK_EQ(again[i].w.va, first->w.va);
		CHECK(again[i].ev != first->ev);
		CHECK(again[i].flags & WEFT_BTH_RTX);
		CHECK_EQ(again[i].tclass, WEFT_CLASS_RETX);
	}
	CHECK_EQ(again[2].psn, weft_psn_add(pkts[7].psn, 1));
	CHECK(!(again[2].flags & WEFT_BTH_RTX));
	CHECK_EQ(weft_stats(w.end[0])->tx_rtx_pkts, 2);
	world_close(&w);
}

TEST(request_send__a_work_that_finds_no_path_has_not_begun)
{
	struct world w = { 0 };
	struct weft_pkt pkt;

	hand_open(&w, 2, 2);
	const struct path *path = w.end[0]->sets[w.set[0]].path;
	const uint32_t evs[] = { path[0].ev, path[1].ev };

	for (int i = 0; i < 2; i++)
		CHECK_EQ(weft_path_mark(w.end[0], w.set[0], evs[i], WEFT_PATH_DENIED, w.now), 0);
	post(&w, 9, true, 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(hand_out(&w, 0, &pkt, 1), 0);
	CHECK_EQ(w.qp[0]->wimm_inflight, 0);
	CHECK_EQ(weft_path_mark(w.end[0], w.set[0], evs[1], WEFT_PATH_GOOD, w.now), 0);
	REQUIRE(hand_out(&w, 0, &pkt, 1) == 1);
	CHECK_EQ(pkt.ev, evs[1]);
	CHECK_EQ(pkt.w.msn, 0);
	CHECK_EQ(pkt.w.rqmsn, 0);
	CHECK_EQ(w.qp[0]->wimm_inflight, 1);
	world_close(&w);
}

TEST(request_send__qps_take_turns_of_a_burst)
{
	struct world w = { 0 };
	struct weft_pkt pkts[64];
	struct weft_qp *other;

	hand_open(&w, 16, 16);
	struct weft_qp_attr attr = {
		.cc = &weft_cc_fixed, .peer = 7, .peer_qpn = 1000, .pathset = w.set[0],
		.mpr_rx_psns = 256, .mpr_tx_psns = 256, .timeout_exp = 8,
		.cc_config = { .max_cwnd_bytes = 1u << 20 },
	};
	CHECK_EQ(weft_qp_open(w.end[0], &attr, &other), 0);
	CHECK_EQ(weft_qp_move(other, WEFT_QP_RTR, &attr, w.now), 0);
	CHECK_EQ(weft_qp_move(other, WEFT_QP_RTS, &attr, w.now), 0);
	struct weft_work work = { .len_bytes = 1u << 20 };

	CHECK_EQ(weft_post_write(other, &work), 0);
	post(&w, 1u << 20, false, 0);
	CHECK_EQ(hand_out(&w, 0, pkts, 64), 64);
	for (uint32_t i = 0; i < 64; i++)
		CHECK_EQ(pkts[i].dqpn, i / SEND_BURST % 2 ? w.qp[1]->qpn : 1000);
	world_close(&w);
}
