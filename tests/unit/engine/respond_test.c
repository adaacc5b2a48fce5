/* SPDX-License-Identifier: BSD-2-Clause */
#include "hand.h"

TEST(respond_write__places_in_any_order_at_the_packets_own_address)
{
	struct world w = { 0 };

	hand_open(&w, 16, 16);
	for (uint32_t i = 5; i-- > 0;) {
		struct weft_pkt pkt = hand_write(&w, i, 100);

		pkt.w.va += i * 1000;
		struct weft_place place = hand_in(&w, 1, &pkt);

		CHECK(place.to == w.memory[1] + i * 1000);
		CHECK(place.from == pkt.w.data);
		CHECK_EQ(place.len_bytes, 100);
		CHECK_EQ(w.qp[1]->rx_ooo, i ? 5 - i : 0);
	}
	CHECK_EQ(w.qp[1]->rx_cack, 0xffff04);
	CHECK_EQ(w.qp[1]->rx_msn, 5);
	CHECK_EQ(weft_stats(w.end[1])->rx_data_bytes, 500);
	world_close(&w);
}

TEST(respond_write__the_window_decides_what_is_news)
{
	static const struct {
		uint32_t n; /* PSN, from the first one expected; 2 and 0 have arrived */
		uint32_t len_bytes;
		enum weft_drop drop;
	} rows[] = {
		{ 0, 0, WEFT_DROP_DUPLICATE },
		{ 2, 0, WEFT_DROP_DUPLICATE },
		{ 4095, 100, WEFT_DROP_COUNT }, /* cack + mpr - 1 */
		{ 4096, 0, WEFT_DROP_PSN_ABOVE },
		{ 0x7fffff, 0, WEFT_DROP_PSN_ABOVE },
		{ 0x800001, 0, WEFT_DROP_PSN_BELOW },
		{ WEFT_PSN_MASK - 40000, 0, WEFT_DROP_PSN_BELOW },
		{ WEFT_PSN_MASK - 100, 0, WEFT_DROP_DUPLICATE },
	};
	struct world w = { 0 };

	hand_open(&w, 16, 16);
	struct weft_pkt first = hand_write(&w, 0, 1), third = hand_write(&w, 2, 1);

	hand_in(&w, 1, &first);
	hand_in(&w, 1, &third);
	for (uint32_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_pkt pkt = hand_write(&w, rows[i].n, 100);
		bool dropped = rows[i].drop != WEFT_DROP_COUNT;
		uint64_t before = dropped ? hand_drops(&w, 1, rows[i].drop) : 0;

		CHECK_EQ(hand_in(&w, 1, &pkt).len_bytes, rows[i].len_bytes);
		if (dropped)
			CHECK_EQ(hand_drops(&w, 1, rows[i].drop), before + 1);
	}
	CHECK_EQ(w.qp[1]->state, WEFT_QP_RTS);
	world_close(&w);
}

static void wrong_key(struct world *w, struct weft_pkt *p) { (void)w; p->w.rkey ^= 0x80000000; }
static void before(struct world *w, struct weft_pkt *p) { (void)w; p->w.va -= 1; }
static void beyond(struct world *w, struct weft_pkt *p)
{
	(void)w;
	p->w.va += WORLD_MEMORY - p->w.len_bytes + 1u;
}
static void wraps(struct world *w, struct weft_pkt *p) { (void)w; p->w.va = UINT64_MAX - 3; }
static void other_domain(struct world *w, struct weft_pkt *p) { (void)p; w->qp[1]->pd = 4; }
static void read_only(struct world *w, struct weft_pkt *p)
{
	CHECK_EQ(weft_region_add(w->end[1], p->w.va, w->memory[1], 4096, 3, 0, 99, &p->w.rkey), 0);
}
static void dropped_region(struct world *w, struct weft_pkt *p)
{
	CHECK_EQ(weft_region_drop(w->end[1], p->w.rkey), 0);
}

TEST(respond_write__a_wrong_address_is_the_peers_error)
{
	static const struct {
		void (*spoil)(struct world *w, struct weft_pkt *pkt);
		enum weft_drop drop;
	} rows[] = {
		{ wrong_key, WEFT_DROP_BAD_RKEY },     { dropped_region, WEFT_DROP_BAD_RKEY },
		{ before, WEFT_DROP_OUT_OF_BOUNDS },   { beyond, WEFT_DROP_OUT_OF_BOUNDS },
		{ wraps, WEFT_DROP_OUT_OF_BOUNDS },    { other_domain, WEFT_DROP_BAD_ACCESS },
		{ read_only, WEFT_DROP_BAD_ACCESS },
	};

	for (uint32_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct world w = { 0 };
		struct weft_pkt nak;

		hand_open(&w, 16, 16);
		struct weft_pkt pkt = hand_write(&w, 0, 100);

		rows[i].spoil(&w, &pkt);
		CHECK_EQ(hand_in(&w, 1, &pkt).len_bytes, 0);
		CHECK_EQ(hand_drops(&w, 1, rows[i].drop), 1);
		CHECK_EQ(w.qp[1]->status, WEFT_LOCAL_PROTOCOL);
		REQUIRE(hand_out(&w, 1, &nak, 1) == 1);
		CHECK_EQ(nak.op, WEFT_OP_ACK);
		CHECK_EQ(nak.ack.syndrome, WEFT_AETH_NAK_REMOTE_ACCESS);
		world_close(&w);
	}
}

static void empty(struct weft_pkt *p) { p->w.len_bytes = 0; p->w.msg_bytes = 0; }
static void with_imm(struct weft_pkt *p) { p->op = WEFT_OP_WRITE_ONLY_IMM; }
static void full(struct weft_pkt *p)
{
	p->op = WEFT_OP_WRITE_FIRST;
	p->w.len_bytes = 4096;
	p->w.msg_bytes = 8192;
}
static void usual(struct weft_pkt *p) { (void)p; }

/* Whatever the region allows; and the region's rights are not enough to lift it. */
TEST(respond_write__a_qp_that_takes_no_writes_says_so)
{
	static void (*const rows[])(struct weft_pkt *p) = { usual, empty, with_imm, full };

	for (uint32_t i = 0; i < WEFT_COUNT(rows) * 2; i++) {
		bool denied = i % 2;
		struct world w = { 0 };
		struct weft_pkt nak;

		hand_open(&w, 16, 16);
		CHECK_EQ(weft_qp_set_deny(w.qp[1], 8), WEFT_EINVAL);
		CHECK_EQ(weft_qp_set_deny(w.qp[1], WEFT_ACCESS_REMOTE_WRITE), 0);
		CHECK_EQ(weft_qp_set_deny(w.qp[1], denied ? WEFT_ACCESS_REMOTE_WRITE :
						   WEFT_ACCESS_REMOTE_READ), 0);
		struct weft_pkt pkt = hand_write(&w, 0, 100);

		rows[i / 2](&pkt);
		CHECK_EQ(weft_post_recv(w.qp[1], 1), 0);
		struct weft_place place = hand_in(&w, 1, &pkt);

		CHECK_EQ(place.len_bytes, denied ? 0 : pkt.w.len_bytes);
		CHECK_EQ(hand_drops(&w, 1, WEFT_DROP_BAD_ACCESS), denied);
		CHECK_EQ(w.qp[1]->state, denied ? WEFT_QP_ERROR : WEFT_QP_RTS);
		if (denied) {
			REQUIRE(hand_out(&w, 1, &nak, 1) == 1);
			CHECK_EQ(nak.ack.syndrome, WEFT_AETH_NAK_INVALID_REQUEST);
		}
		world_close(&w);
	}
}

/* A NAK may be lost, and the peer asks again: it must learn why, not that nobody is there. */
TEST(answer_late__refuses_again_what_was_refused)
{
	struct world w = { 0 };
	struct weft_pkt nak[4];

	hand_open(&w, 16, 16);
	struct weft_pkt pkt = hand_write(&w, 0, 100);

	pkt.w.rkey ^= 1u << 31;
	CHECK_EQ(hand_in(&w, 1, &pkt).len_bytes, 0);
	CHECK_EQ(hand_out(&w, 1, nak, 4), 1);
	CHECK_EQ(hand_in(&w, 1, &pkt).len_bytes, 0); /* not a repeat: what was under way with it */
	CHECK_EQ(hand_out(&w, 1, nak, 4), 0);
	pkt.flags |= WEFT_BTH_RTX;
	CHECK_EQ(hand_in(&w, 1, &pkt).len_bytes, 0);
	CHECK_EQ(hand_out(&w, 1, nak, 4), 1);
	CHECK_EQ(nak[0].ack.syndrome, WEFT_AETH_NAK_REMOTE_ACCESS);
	pkt.peer = 8; /* somebody else's business */
	CHECK_EQ(hand_in(&w, 1, &pkt).len_bytes, 0);
	CHECK_EQ(hand_out(&w, 1, nak, 4), 0);
	world_close(&w);
}

TEST(respond_write__a_length_must_fit_its_place_in_the_message)
{
	static const struct {
		uint8_t op;
		uint16_t len_bytes;
		uint32_t msg_bytes;
		bool fits;
	} rows[] = {
		{ WEFT_OP_WRITE_ONLY, 10, 10, true },
		{ WEFT_OP_WRITE_ONLY, 0, 0, true },
		{ WEFT_OP_WRITE_ONLY, 10, 11, false },
		{ WEFT_OP_WRITE_ONLY, 4097, 4097, false },
		{ WEFT_OP_WRITE_FIRST, 4096, 5000, true },
		{ WEFT_OP_WRITE_FIRST, 4000, 5000, false },
		{ WEFT_OP_WRITE_FIRST, 4096, 4096, false },
		{ WEFT_OP_WRITE_MIDDLE, 4092, 50000, false },
		{ WEFT_OP_WRITE_LAST, 1, 4097, true },
		{ WEFT_OP_WRITE_LAST, 0, 4097, false },
		{ WEFT_OP_WRITE_LAST, 5000, 9096, false },
		{ WEFT_OP_WRITE_LAST, 10, 10, false },
	};

	for (uint32_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct world w = { 0 };

		hand_open(&w, 16, 16);
		struct weft_pkt pkt = hand_write(&w, 0, rows[i].len_bytes);

		pkt.op = rows[i].op;
		pkt.w.msg_bytes = rows[i].msg_bytes;
		hand_in(&w, 1, &pkt);
		if (hand_drops(&w, 1, WEFT_DROP_BAD_LENGTH) != !rows[i].fits)
			CHECK_FAIL("row %u", i);
		world_close(&w);
	}
}

static void deliver(struct world *w, uint32_t n, uint16_t rqmsn)
{
	struct weft_pkt pkt = hand_write(w, n, 10);

	pkt.op = WEFT_OP_WRITE_ONLY_IMM;
	pkt.w.imm = 100 + n;
	pkt.w.rqmsn = rqmsn;
	hand_in(w, 1, &pkt);
}

TEST(respond_write__immediates_come_in_order_and_after_all_before_them)
{
	struct world w = { 0 };
	struct weft_done done[8];

	hand_open(&w, 16, 16);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_EQ(weft_post_recv(w.qp[1], 50 + i), 0);
	deliver(&w, 3, 1);
	deliver(&w, 1, 0);
	CHECK_EQ(weft_poll(w.end[1], 0, done, 8), 0); /* PSN 0 is missing */
	struct weft_pkt plain = hand_write(&w, 0, 10);

	hand_in(&w, 1, &plain);
	CHECK_EQ(weft_poll(w.end[1], 0, done, 8), 1); /* PSN 2 is missing */
	CHECK_EQ(done[0].imm, 101);
	CHECK_EQ(done[0].id, 50);
	deliver(&w, 2, 0xffff & 2);
	CHECK_EQ(weft_poll(w.end[1], 0, done, 8), 2);
	CHECK_EQ(done[0].imm, 103);
	CHECK_EQ(done[1].imm, 102);
	CHECK_EQ(done[1].len_bytes, 10);
	world_close(&w);
}

TEST(respond_write__too_many_immediates_or_no_receive_end_the_qp)
{
	for (int overflow = 0; overflow < 2; overflow++) {
		struct world w = { 0 };
		struct weft_pkt nak;

		hand_open(&w, 16, 16);
		w.qp[1]->wimm_rx = 4;
		deliver(&w, overflow, overflow ? 4 : 0);
		enum weft_drop why = overflow ? WEFT_DROP_WIMM_OVERFLOW : WEFT_DROP_NO_RECV;

		CHECK_EQ(hand_drops(&w, 1, why), 1);
		CHECK_EQ(w.qp[1]->status, overflow ? WEFT_LOCAL_PROTOCOL : WEFT_LOCAL_NO_RECV);
		do
			REQUIRE(hand_out(&w, 1, &nak, 1) == 1);
		while (nak.op != WEFT_OP_ACK || nak.ack.syndrome == WEFT_AETH_ACK);
		CHECK_EQ(nak.ack.syndrome, overflow ? WEFT_AETH_NAK_WIMM_OVERFLOW :
						      WEFT_AETH_NAK_REMOTE_OPERATION);
		world_close(&w);
	}
}

TEST(respond_write__an_immediate_that_cannot_be_told_is_not_acknowledged)
{
	struct world w = { 0 };
	struct weft_config config;
	struct weft_pkt pkt, nak = { 0 };

	world_config(&config);
	config.cq_depth = 1;
	world_open(&w, &config);
	world_connect(&w, 16, 16, &weft_cc_fixed);
	for (uint32_t i = 0; i < 2; i++)
		CHECK_EQ(weft_post_recv(w.qp[1], i), 0);
	for (uint32_t i = 0; i < 3; i++) { /* the middle one finds the queue full */
		pkt = hand_write(&w, 2 - i, 10);
		pkt.op = i ? WEFT_OP_WRITE_ONLY_IMM : WEFT_OP_WRITE_ONLY;
		pkt.w.rqmsn = (uint16_t)(i ? 2 - i : 0);
		hand_in(&w, 1, &pkt);
	}
	CHECK_EQ(w.qp[1]->status, WEFT_CQ_OVERRUN);
	while (hand_out(&w, 1, &pkt, 1))
		if (pkt.op == WEFT_OP_ACK)
			nak = pkt;
	CHECK_EQ(nak.ack.syndrome, WEFT_AETH_NAK_REMOTE_OPERATION);
	CHECK_EQ(nak.ack.msn, 1);
	world_close(&w);
}

TEST(respond_write__a_trimmed_packet_is_refused_and_never_placed)
{
	struct world w = { 0 };
	struct weft_pkt nack;

	hand_open(&w, 16, 16);
	for (uint8_t mark = WEFT_MARK_TRIMMED; mark <= WEFT_MARK_TRIMMED_LASTHOP; mark *= 2) {
		struct weft_pkt pkt = hand_write(&w, 1, 0);

		pkt.mark = mark;
		pkt.w.ts = 77;
		pkt.w.rkey = 0; /* cut away with the rest */
		CHECK_EQ(hand_in(&w, 1, &pkt).len_bytes, 0);
		REQUIRE(hand_out(&w, 1, &nack, 1) == 1);
		CHECK_EQ(nack.op, WEFT_OP_NACK);
		CHECK_EQ(nack.nack.psn, pkt.psn);
		CHECK_EQ(nack.nack.ev, pkt.ev);
		CHECK_EQ(nack.nack.ts, 77);
		CHECK_EQ(nack.nack.reason, mark == WEFT_MARK_TRIMMED ? WEFT_NACK_TRIMMED :
								       WEFT_NACK_TRIMMED_LASTHOP);
	}
	CHECK(!window_has(w.qp[1], 0xffff01));
	w.qp[1]->trim_nack_rx = false;
	struct weft_pkt pkt = hand_write(&w, 1, 0);

	pkt.mark = WEFT_MARK_TRIMMED;
	hand_in(&w, 1, &pkt);
	CHECK_EQ(hand_drops(&w, 1, WEFT_DROP_TRIM_NOT_AGREED), 1);
	CHECK_EQ(hand_out(&w, 1, &nack, 1), 0);
	world_close(&w);
}
