/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets written by hand: what strangers and broken peers may send. */
#include "pair.h"

static struct weft_pkt send_pkt(const struct world *w, uint32_t n, uint8_t op, uint64_t offset,
				uint16_t len_bytes, uint32_t msg_bytes)
{
	return (struct weft_pkt){
		.peer = 7, .op = op, .flags = WEFT_BTH_TS, .dqpn = w->qp[1]->qpn,
		.psn = weft_psn_add(0xffff00, n),
		.w = { .data = w->memory[0], .va = offset, .msg_bytes = msg_bytes,
		       .len_bytes = len_bytes },
	};
}

static struct weft_place put(struct world *w, const struct weft_pkt *pkt)
{
	struct weft_place place;

	weft_input(w->end[1], pkt, 1, w->now, &place);
	weft_check(w->end[1]);
	return place;
}

static uint64_t drops(const struct world *w, enum weft_drop why)
{
	return weft_stats(w->end[1])->drops[why];
}

TEST(respond_extended__lengths_that_contradict_each_other_end_the_qp)
{
	static const struct {
		uint8_t op;
		uint64_t offset;
		uint16_t len_bytes;
		uint32_t msg_bytes;
	} rows[] = {
		{ WEFT_OP_SEND_ONLY, 0, 10, 11 },
		{ WEFT_OP_SEND_ONLY, 4096, 0, 0 },
		{ WEFT_OP_SEND_FIRST, 0, 4096, 4096 },
		{ WEFT_OP_SEND_FIRST, 0, 4095, 9000 },
		{ WEFT_OP_SEND_MIDDLE, 1, 4096, 90000 },
		{ WEFT_OP_SEND_MIDDLE, UINT64_MAX - 4095, 4096, 9000 },
		{ WEFT_OP_SEND_LAST, 0, 4096, 4096 },
		{ WEFT_OP_SEND_LAST, 4096, 10, 5000 },
		{ WEFT_OP_SEND_LAST_IMM, 8192, 0, 8192 },
		{ WEFT_OP_SEND_LAST, (UINT64_C(1) << 32) + 4096, 4, 4100 },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct world w = { 0 };

		pair_start(&w);
		pair_recv(&w, 1, 1);
		struct weft_pkt pkt = send_pkt(&w, 0, rows[i].op, rows[i].offset,
					       rows[i].len_bytes, rows[i].msg_bytes);

		CHECK_EQ(put(&w, &pkt).len_bytes, 0);
		if (w.qp[1]->status != WEFT_LOCAL_PROTOCOL)
			CHECK_FAIL("row %zu was taken", i);
		CHECK_EQ(drops(&w, WEFT_DROP_BAD_LENGTH), 1);
		pair_end(&w);
	}
}

TEST(respond_extended__strict_qps_count_and_drop)
{
	struct world w = { 0 };
	struct weft_config config;
	uint32_t n = 0;

	pair_config(&config);
	world_open(&w, &config);
	world_connect(&w, 8, 8, &weft_cc_fixed);
	for (unsigned op = WEFT_OP_SEND_FIRST; op <= 0xff; op++) {
		struct weft_pkt pkt = send_pkt(&w, 0, (uint8_t)op, 0, 16, 16);

		CHECK_EQ(put(&w, &pkt).len_bytes, 0);
		n += weft_op_is_extended((uint8_t)op);
		CHECK_EQ(drops(&w, WEFT_DROP_EXTENDED), n);
	}
	CHECK_EQ(n, 22);
	CHECK_EQ(w.qp[1]->rx_cack, 0xfffeff);
	struct weft_pkt nack = { .peer = 7, .op = WEFT_OP_NACK, .dqpn = w.qp[0]->qpn,
				 .nack = { .reason = WEFT_NACK_RNR } };
	struct weft_pkt pkts[4];
	struct weft_place place;

	world_write(&w, 0, 1, 0, 8);
	CHECK_EQ(weft_output(w.end[0], pkts, 4, UINT32_MAX, w.now), 1);
	nack.nack.psn = pkts[0].psn;
	nack.nack.ev = pkts[0].ev;
	weft_input(w.end[0], &nack, 1, w.now, &place);
	CHECK_EQ(weft_stats(w.end[0])->drops[WEFT_DROP_EXTENDED], 1);
	CHECK_EQ(w.qp[0]->lost, 0);
	pair_end(&w);
}

TEST(respond_extended__each_stream_takes_only_its_own)
{
	struct world w = { 0 };
	struct weft_pkt pkt;

	pair_start(&w);
	pair_recv(&w, 1, 1);
	pkt = send_pkt(&w, 0, WEFT_OP_REPLY_ONLY, 0, 8, 8);
	CHECK_EQ(put(&w, &pkt).len_bytes, 0);
	pkt = send_pkt(&w, 0, WEFT_OP_SEND_ONLY, 0, 8, 8);
	pkt.dqpn |= 1;
	CHECK_EQ(put(&w, &pkt).len_bytes, 0);
	pkt = send_pkt(&w, 0, WEFT_OP_DATAGRAM, 0, 8, 8);
	CHECK_EQ(put(&w, &pkt).len_bytes, 0);
	CHECK_EQ(drops(&w, WEFT_DROP_EXTENDED), 3);
	pkt = send_pkt(&w, 0, WEFT_OP_REPLY_ONLY, 0, 8, 8);
	pkt.dqpn |= 1;
	CHECK_EQ(put(&w, &pkt).len_bytes, 0);
	CHECK_EQ(drops(&w, WEFT_DROP_UNKNOWN_READ), 1); /* nobody has asked for it */
	CHECK_EQ(w.qp[1]->state, WEFT_QP_RTS);
	pkt.peer = 8;
	put(&w, &pkt);
	CHECK_EQ(drops(&w, WEFT_DROP_WRONG_PEER), 1);
	pair_end(&w);
}

TEST(respond_extended__more_than_was_agreed_ends_the_qp)
{
	for (int i = 0; i < 3; i++) {
		struct world w = { 0 };
		struct weft_pkt pkt;

		pair_start(&w);
		pair_recv(&w, 1, 1);
		pkt = send_pkt(&w, 0, i ? WEFT_OP_READ_REQUEST : WEFT_OP_SEND_ONLY, 0, 0, 0);
		pkt.w.rqmsn = i == 2 ? 0 : 32; /* wimm_rx is 32, rd_atomic_rx 16 */
		put(&w, &pkt);
		CHECK_EQ(w.qp[1]->state, i == 2 ? WEFT_QP_RTS : WEFT_QP_ERROR);
		pkt.psn = weft_psn_add(pkt.psn, 1); /* the same number twice */
		put(&w, &pkt);
		CHECK_EQ(w.qp[1]->status, WEFT_LOCAL_PROTOCOL);
		pair_end(&w);
	}
}

TEST(respond_extended__duplicates_and_trimmed_ones_are_answered_not_placed)
{
	struct world w = { 0 };
	struct weft_pkt pkt, out[4];

	pair_start(&w);
	pair_recv(&w, 1, 1);
	pkt = send_pkt(&w, 0, WEFT_OP_SEND_FIRST, 0, 4096, 5000);
	pkt.mark = WEFT_MARK_TRIMMED;
	CHECK_EQ(put(&w, &pkt).len_bytes, 0);
	CHECK_EQ(weft_output(w.end[1], out, 4, UINT32_MAX, w.now), 1);
	CHECK_EQ(out[0].op, WEFT_OP_NACK);
	pkt.mark = 0;
	CHECK_EQ(put(&w, &pkt).len_bytes, 4096);
	CHECK_EQ(put(&w, &pkt).len_bytes, 0);
	CHECK_EQ(drops(&w, WEFT_DROP_DUPLICATE), 1);
	CHECK(weft_output(w.end[1], out, 4, UINT32_MAX, w.now) >= 1);
	CHECK_EQ(out[0].op, WEFT_OP_SACK);
	pair_end(&w);
}
