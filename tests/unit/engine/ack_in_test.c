/* SPDX-License-Identifier: BSD-2-Clause */
#include "hand.h"

enum { PKTS = 100 };

static void setup(struct world *w, struct weft_pkt pkts[PKTS])
{
	hand_open(w, 16, 16);
	w->qp[0]->cwnd = UINT32_MAX;
	world_write(w, 0, 1, 0, 40 * 4096);
	world_write(w, 0, 2, 0, 4096);
	world_write(w, 0, 3, 0, (PKTS - 41) * 4096);
	REQUIRE(hand_out(w, 0, pkts, PKTS) == PKTS);
	w->now += 12000;
}

static uint32_t inflight_pkts(const struct world *w)
{
	return w->qp[0]->inflight / weft_nominal_bytes(4096);
}

TEST(ack_in_sack__releases_by_cack_bitmap_and_trigger)
{
	struct world w = { 0 };
	struct weft_pkt pkts[PKTS];

	setup(&w, pkts);
	struct weft_pkt sack = hand_sack(&w, 10, 0x5);

	sack.sack.psn_offset = 90; /* PSN number 99: beyond what the bitmap shows */
	sack.sack.ev = pkts[99].ev;
	sack.sack.ts = pkts[99].w.ts;
	hand_in(&w, 0, &sack);
	CHECK_EQ(w.qp[0]->psn_unack, weft_psn_add(0xffff00, 10));
	CHECK_EQ(inflight_pkts(&w), PKTS - 10 - 2 - 1);
	CHECK_NEAR((double)w.qp[0]->rtt_ns, 12000, 256);
	hand_in(&w, 0, &sack); /* the same again: nothing moves */
	CHECK_EQ(inflight_pkts(&w), PKTS - 13);
	CHECK_EQ(weft_stats(w.end[0])->rx_sack, 2);
	world_close(&w);
}

TEST(ack_in_sack__drops_whole_what_names_unsent_psns)
{
	static const struct {
		uint32_t n;
		int16_t psn_offset, sack_offset;
		uint64_t bitmap;
	} rows[] = {
		{ 101, 0, 1, 0 },
		{ 4000, 0, 1, 0 },
		{ 50, 51, 1, 0 },
		{ 50, 32767, 1, 0 },
		{ 50, 0, 1, UINT64_C(1) << 50 },
		{ 50, 0, 200, 1 },
		{ 100, 0, 1, 1 },
		{ 0, 0, 37, UINT64_C(3) << 63 },
	};
	struct world w = { 0 };
	struct weft_pkt pkts[PKTS];

	setup(&w, pkts);
	for (uint32_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_pkt sack = hand_sack(&w, rows[i].n, rows[i].bitmap);
		bool sent = rows[i].n == 0; /* the last row names packet 99 and no more */

		sack.sack.psn_offset = rows[i].psn_offset;
		sack.sack.sack_offset = rows[i].sack_offset;
		hand_in(&w, 0, &sack);
		CHECK_EQ(hand_drops(&w, 0, WEFT_DROP_ACK_UNSENT), i + !sent);
		CHECK_EQ(inflight_pkts(&w), PKTS - sent);
	}
	world_close(&w);
}

TEST(ack_in_sack__advice_about_a_path_reaches_it)
{
	struct world w = { 0 };
	struct weft_pkt pkts[PKTS];

	setup(&w, pkts);
	for (uint8_t m = WEFT_M_NONE; m <= WEFT_M_ALWAYS_SKIP; m++) {
		static const uint8_t want[] = { WEFT_PATH_GOOD, WEFT_PATH_SKIP,
						WEFT_PATH_ASSUMED_BAD };
		struct weft_pkt sack = hand_sack(&w, 0, 0);

		sack.sack.psn_offset = (int16_t)(1 + m);
		sack.sack.ev = pkts[m].ev;
		sack.sack.m = m;
		hand_in(&w, 0, &sack);
		CHECK_EQ(hand_path(&w, 0, pkts[m].ev)->state, want[m]);
	}
	world_close(&w);
}

/* All of an incast's packets are repeats for a while: who learns nothing from them stands still. */
TEST(ack_in_sack__a_repeat_gives_a_sample_when_the_echo_is_of_the_repeat)
{
	for (unsigned of_repeat = 0; of_repeat < 2; of_repeat++) {
		struct world w = { 0 };
		struct weft_pkt pkts[PKTS], again;

		setup(&w, pkts);
		struct weft_pkt nack = hand_nack(&w, &pkts[0], WEFT_NACK_TRIMMED);

		w.now += 10000;
		hand_in(&w, 0, &nack);
		REQUIRE(hand_out(&w, 0, &again, 1) == 1);
		CHECK_EQ(again.psn, pkts[0].psn);
		w.now += 5000;
		struct weft_pkt sack = hand_sack(&w, 1, 0);

		sack.sack.psn_offset = 0;
		sack.sack.ev = again.ev;
		sack.sack.ts = of_repeat ? again.w.ts : pkts[0].w.ts;
		hand_in(&w, 0, &sack);
		if (of_repeat)
			CHECK_NEAR((double)hand_path(&w, 0, again.ev)->rtt_ns, 5000.0, 128.0);
		else
			CHECK_EQ(hand_path(&w, 0, again.ev)->rtt_ns, 0);
		world_close(&w);
	}
}

TEST(ack_in_sack__an_overtaken_one_moves_no_window)
{
	struct world w = { 0 };
	struct weft_pkt pkts[PKTS];

	setup(&w, pkts);
	struct weft_pkt late = hand_sack(&w, 5, 0), sack = hand_sack(&w, 9, 0);

	late.sack.rcvd_units = 100;
	sack.sack.rcvd_units = 160;
	hand_in(&w, 0, &sack);
	hand_in(&w, 0, &late);
	CHECK_EQ(w.qp[0]->rcvd_units, 160);
	CHECK_EQ(w.qp[0]->psn_unack, weft_psn_add(0xffff00, 9));
	sack.sack.rcvd_units = 0x800000 + 161; /* more than half the circle: "negative" */
	hand_in(&w, 0, &sack);
	CHECK_EQ(w.qp[0]->rcvd_units, 160);
	world_close(&w);
}

TEST(ack_in_nack__does_what_table_7_3_says)
{
	static const struct {
		uint8_t reason;
		uint8_t path_state;
		bool at_once, qp_lives;
	} rows[] = {
		{ WEFT_NACK_TRIMMED, WEFT_PATH_SKIP, true, true },
		{ WEFT_NACK_TRIMMED_LASTHOP, WEFT_PATH_GOOD, true, true },
		{ WEFT_NACK_NO_BITMAP, WEFT_PATH_GOOD, false, true },
		{ WEFT_NACK_NO_PKT_BUFFER, WEFT_PATH_GOOD, false, true },
		{ WEFT_NACK_NO_RESOURCE, WEFT_PATH_GOOD, false, true },
		{ WEFT_NACK_PSN_OOR_WINDOW, WEFT_PATH_GOOD, false, true },
		{ WEFT_NACK_UNEXP_EVENT, WEFT_PATH_GOOD, false, false },
	};

	for (uint32_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct world w = { 0 };
		struct weft_pkt pkts[PKTS], again[2];

		setup(&w, pkts);
		struct weft_pkt nack = hand_nack(&w, &pkts[3], rows[i].reason);

		hand_in(&w, 0, &nack);
		CHECK_EQ(hand_path(&w, 0, pkts[3].ev)->state, rows[i].path_state);
		CHECK_EQ(w.qp[0]->state, rows[i].qp_lives ? WEFT_QP_RTS : WEFT_QP_ERROR);
		CHECK_EQ(hand_out(&w, 0, again, 1), rows[i].at_once);
		w.qp[0]->probe_wait_ns = 1000000000; /* no tail probe in between */
		w.now += 13000;                      /* the hold is one base RTT */
		CHECK_EQ(hand_out(&w, 0, again, 2) + rows[i].at_once, rows[i].qp_lives);
		if (!rows[i].qp_lives) {
			CHECK_EQ(w.qp[0]->status, WEFT_REMOTE_OPERATION);
		} else {
			CHECK_EQ(again[0].psn, pkts[3].psn);
			CHECK(again[0].ev != pkts[3].ev);
			hand_in(&w, 0, &nack); /* of the first copy: says nothing now */
			CHECK_EQ(hand_drops(&w, 0, WEFT_DROP_ACK_STALE), 1);
		}
		world_close(&w);
	}
}

TEST(ack_in_nack__refusals_without_end_end_the_qp)
{
	struct world w = { 0 };
	struct weft_pkt pkts[PKTS], again = { 0 };

	setup(&w, pkts);
	w.qp[0]->linear_count = 1;
	w.qp[0]->retry_count = 2;
	w.qp[0]->probe_wait_ns = 1000000000; /* no tail probe in between */
	again = pkts[0];
	for (uint32_t i = 0; i < 4; i++) {
		struct weft_pkt nack = hand_nack(&w, &again, WEFT_NACK_NO_RESOURCE);

		CHECK_EQ(w.qp[0]->state, WEFT_QP_RTS);
		hand_in(&w, 0, &nack);
		w.now += (13000u << i);
		CHECK_EQ(hand_out(&w, 0, &again, 1), i < 3);
	}
	CHECK_EQ(w.qp[0]->status, WEFT_RETRY_EXCEEDED);
	world_close(&w);
}

TEST(ack_in_ack__completes_in_order_and_only_what_was_sent)
{
	struct world w = { 0 };
	struct weft_pkt pkts[PKTS];
	struct weft_done done[4];

	setup(&w, pkts);
	struct weft_pkt ack = hand_ack(&w, 4, WEFT_AETH_ACK);

	hand_in(&w, 0, &ack);
	CHECK_EQ(hand_drops(&w, 0, WEFT_DROP_ACK_UNSENT), 1);
	ack.ack.msn = 2;
	hand_in(&w, 0, &ack);
	CHECK_EQ(weft_poll(w.end[0], 0, done, 4), 2);
	CHECK_EQ(done[0].id, 1);
	CHECK_EQ(done[1].id, 2);
	CHECK_EQ(inflight_pkts(&w), PKTS - 41); /* the ACK says it all, SACK or not */
	ack.ack.msn = 1;
	hand_in(&w, 0, &ack);
	CHECK_EQ(weft_poll(w.end[0], 0, done, 4), 0);
	world_close(&w);
}

TEST(ack_in_ack__a_nak_ends_the_qp_with_its_reason)
{
	static const struct {
		uint8_t syndrome, status;
	} rows[] = {
		{ WEFT_AETH_NAK_REMOTE_ACCESS, WEFT_REMOTE_ACCESS },
		{ WEFT_AETH_NAK_INVALID_REQUEST, WEFT_REMOTE_INVALID },
		{ WEFT_AETH_NAK_REMOTE_OPERATION, WEFT_REMOTE_OPERATION },
	};

	for (uint32_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct world w = { 0 };
		struct weft_pkt pkts[PKTS];
		struct weft_done done[4];

		setup(&w, pkts);
		struct weft_pkt nak = hand_ack(&w, 1, rows[i].syndrome);

		hand_in(&w, 0, &nak);
		CHECK_EQ(weft_poll(w.end[0], 0, done, 4), 3);
		CHECK_EQ(done[0].status, WEFT_OK); /* the NAK's MSN counts, too */
		CHECK_EQ(done[1].status, rows[i].status);
		CHECK_EQ(done[2].status, WEFT_FLUSHED);
		world_close(&w);
	}
}
