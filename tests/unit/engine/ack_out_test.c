/* SPDX-License-Identifier: BSD-2-Clause */
#include "hand.h"

/* What end 1 says now, with transport ACKs left out. */
static uint32_t sacks_out(struct world *w, struct weft_pkt *last)
{
	struct weft_pkt pkt;
	uint32_t n = 0;

	while (hand_out(w, 1, &pkt, 1)) {
		if (pkt.op != WEFT_OP_SACK)
			continue;
		*last = pkt;
		n++;
	}
	return n;
}

/* One data packet comes in, in the middle of a message. */
static void data_in(struct world *w, uint32_t n, uint8_t flags, uint8_t mark)
{
	struct weft_pkt pkt = hand_write(w, n, 4096);

	pkt.op = WEFT_OP_WRITE_MIDDLE;
	pkt.w.msg_bytes = 1u << 20;
	pkt.flags |= flags;
	pkt.mark = mark;
	pkt.w.ts = (uint16_t)(w->now / WEFT_TS_UNIT_NS);
	hand_in(w, 1, &pkt);
}

TEST(ack_out_on_data__answers_on_the_triggers_and_not_otherwise)
{
	static const struct {
		uint8_t flags, mark, answers, m, answer_flags;
	} rows[] = {
		{ 0, 0, 0, 0, 0 },
		{ WEFT_BTH_ACK_REQ, 0, 1, WEFT_M_NONE, 0 },
		{ 0, WEFT_MARK_CE, 1, WEFT_M_SKIP_ONCE, 0 },
		{ WEFT_BTH_RTX, 0, 1, WEFT_M_NONE, WEFT_BTH_RTX },
	};

	for (uint32_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct world w = { 0 };
		struct weft_pkt sack = { 0 };

		hand_open(&w, 16, 16);
		data_in(&w, 0, rows[i].flags, rows[i].mark);
		CHECK_EQ(sacks_out(&w, &sack), rows[i].answers);
		CHECK_EQ(sack.sack.m, rows[i].m);
		CHECK_EQ(sack.flags, rows[i].answer_flags);
		if (!rows[i].answers) { /* its copy is answered: the sender has not heard us */
			data_in(&w, 0, 0, 0);
			CHECK_EQ(sacks_out(&w, &sack), 1);
		}
		CHECK_EQ(sack.sack.cack_psn, 0xffff00);
		CHECK_EQ(sack.sack.psn_offset, 0);
		CHECK_EQ(sack.sack.rcvd_units, WEFT_DIV_UP(weft_nominal_bytes(4096), 256));
		world_close(&w);
	}
}

TEST(ack_out_on_data__enough_data_is_a_trigger)
{
	static const struct {
		uint16_t len_bytes;
		uint32_t pkts; /* 16 KiB, each packet counting for at least 1 KiB */
	} rows[] = { { 4096, 4 }, { 2048, 8 }, { 1024, 16 }, { 1, 16 }, { 0, 16 } };

	for (uint32_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct world w = { 0 };
		struct weft_pkt sack;

		hand_open(&w, 16, 16);
		for (uint32_t n = 0; n < rows[i].pkts; n++) {
			struct weft_pkt pkt = hand_write(&w, n, rows[i].len_bytes);

			CHECK_EQ(sacks_out(&w, &sack), 0);
			hand_in(&w, 1, &pkt);
		}
		CHECK_EQ(sacks_out(&w, &sack), 1);
		CHECK_EQ(sack.sack.cack_psn, weft_psn_add(0xffff00, rows[i].pkts - 1));
		world_close(&w);
	}
}

TEST(ack_out_send__a_burst_costs_one_sack_but_marks_are_all_told)
{
	struct world w = { 0 };
	struct weft_pkt sack;

	hand_open(&w, 16, 16);
	for (uint32_t n = 0; n < 32; n++)
		data_in(&w, n, 0, 0);
	CHECK_EQ(sacks_out(&w, &sack), 1);
	CHECK_EQ(sack.sack.cack_psn, 0xffff1f);
	for (uint32_t n = 32; n < 36; n++)
		data_in(&w, n, 0, WEFT_MARK_CE);
	CHECK_EQ(sacks_out(&w, &sack), 4);
	CHECK_EQ(weft_stats(w.end[1])->rx_ce, 4);
	world_close(&w);
}

TEST(ack_out_send__holes_are_shown_from_the_newest_to_the_oldest)
{
	struct world w = { 0 };
	struct weft_pkt sack;
	uint8_t shown[400] = { 0 };
	uint32_t arrived = 0;

	hand_open(&w, 16, 16);
	for (uint32_t n = 1; n < 400; n++) { /* 0 and every 16th are missing */
		if (n % 16) {
			data_in(&w, n, 0, 0);
			arrived++;
		}
		if (!sacks_out(&w, &sack))
			continue;
		CHECK_EQ(sack.sack.cack_psn, 0xfffeff);
		CHECK(sack.sack.sack_offset >= 1);
		CHECK_EQ(sack.sack.ooo_pkts, arrived);
		for (uint32_t i = 0; i < 64; i++) {
			uint32_t at = (uint32_t)sack.sack.sack_offset - 1 + i;
			bool has = sack.sack.bitmap >> i & 1;

			if (at < 400) {
				shown[at] |= 1u << has;
				CHECK(!has || at % 16);
			} else {
				CHECK(!has);
			}
		}
	}
	for (uint32_t n = 0; n < 396; n++)
		if (!(shown[n] & (n % 16 ? 2 : 1)))
			CHECK_FAIL("PSN %u was never shown as it is: %u", n, shown[n]);
	world_close(&w);
}

TEST(ack_out_send__stamps_leave_out_the_time_spent_here)
{
	struct world w = { 0 };
	struct weft_pkt sack;

	hand_open(&w, 16, 16);
	w.now = 128000;
	data_in(&w, 0, WEFT_BTH_ACK_REQ, 0);
	w.now += 5 * 128;
	CHECK_EQ(sacks_out(&w, &sack), 1);
	CHECK_EQ(sack.sack.ts, 1005);
	CHECK_EQ(sack.tclass, WEFT_CLASS_CONTROL);
	world_close(&w);
}

TEST(ack_out_on_probe__tells_state_and_repeats_the_transport_ack)
{
	struct world w = { 0 };
	struct weft_pkt pkts[4], data;
	struct weft_pkt probe = { .peer = 7, .op = WEFT_OP_PROBE };

	hand_open(&w, 16, 16);
	data = hand_write(&w, 0, 10);
	hand_in(&w, 1, &data);
	CHECK_EQ(hand_out(&w, 1, pkts, 4), 0);
	probe.dqpn = w.qp[1]->qpn;
	probe.probe.probe_id = 0xbeef;
	for (int i = 0; i < 2; i++) {
		hand_in(&w, 1, &probe);
		CHECK_EQ(hand_out(&w, 1, pkts, 4), 2);
		CHECK_EQ(pkts[0].op, WEFT_OP_SACK);
		CHECK(pkts[0].sack.is_probe);
		CHECK_EQ(pkts[0].sack.probe_id, 0xbeef);
		CHECK_EQ(pkts[0].sack.cack_psn, 0xffff00);
		CHECK_EQ(pkts[1].op, WEFT_OP_ACK);
		CHECK_EQ(pkts[1].ack.msn, 1);
		CHECK_EQ(pkts[1].ack.syndrome, WEFT_AETH_ACK);
	}
	world_close(&w);
}

/*
 * All that was said about 499 packets is lost.  Nothing more arrives, so only probes make us talk,
 * and three of them must bring to light all that is here and all that is not.
 */
TEST(ack_out_on_probe__tells_of_the_whole_window)
{
	struct world w = { 0 };
	struct weft_pkt pkts[8], probe = { .peer = 7, .op = WEFT_OP_PROBE };
	uint8_t shown[512] = { 0 };

	hand_open(&w, 16, 16);
	for (uint32_t n = 1; n < 500; n++) {
		if (n % 4)
			data_in(&w, n, 0, 0);
		while (hand_out(&w, 1, pkts, 8))
			;
	}
	probe.dqpn = w.qp[1]->qpn;
	for (uint16_t id = 1; id <= 3; id++) {
		probe.probe.probe_id = id;
		hand_in(&w, 1, &probe);
		REQUIRE(hand_out(&w, 1, pkts, 8) == 5);
		CHECK_EQ(pkts[4].op, WEFT_OP_ACK);
		for (unsigned i = 0; i < 4; i++) {
			const struct weft_pkt_sack *s = &pkts[i].sack;

			CHECK_EQ(pkts[i].op, WEFT_OP_SACK);
			CHECK_EQ(s->is_probe, i == 0); /* one answer; the others name no packet */
			CHECK_EQ(s->probe_id, i ? 0 : id);
			CHECK_EQ(s->psn_offset, i ? INT16_MIN : 0);
			for (uint32_t bit = 0; bit < 64; bit++) {
				uint32_t at = (uint32_t)s->sack_offset - 1 + bit;
				bool has = s->bitmap >> bit & 1;

				if (at < 500)
					CHECK_EQ(has, at % 4 != 0);
				if (at < 512)
					shown[at]++;
			}
		}
	}
	for (uint32_t n = 0; n < 500; n++)
		if (!shown[n])
			CHECK_FAIL("PSN %u was never shown", n);
	world_close(&w);
}

/* Whoever puts packets in says by which port they came; ports that there are not are no numbers. */
TEST(ack_out_on_data__asserts_on_a_port_that_does_not_exist)
{
	struct world w = { 0 };

	hand_open(&w, 64, 64);
	for (uint8_t port = 0; port < 255; port++) {
		struct weft_pkt pkt = hand_write(&w, 0, 4096);

		pkt.flags |= WEFT_BTH_ACK_REQ | WEFT_BTH_RTX;
		pkt.port = port;
		if (port < w.end[1]->config.ports)
			hand_in(&w, 1, &pkt);
		else
			CHECK_PANICS(hand_in(&w, 1, &pkt));
	}
	world_close(&w);
}

TEST(answer_add__a_full_queue_drops_and_counts)
{
	struct world w = { 0 };
	struct weft_pkt pkt;
	uint32_t n = 0;

	hand_open(&w, 16, 16);
	for (uint32_t i = 0; i < w.config.answers + 5; i++)
		data_in(&w, i, 0, WEFT_MARK_CE);
	CHECK_EQ(hand_drops(&w, 1, WEFT_DROP_CONTROL_FULL), 5);
	while (hand_out(&w, 1, &pkt, 1))
		n++;
	CHECK_EQ(n, w.config.answers);
	CHECK_EQ(pkt.sack.cack_psn, weft_psn_add(0xffff00, w.config.answers + 4));
	world_close(&w);
}

/* The short last packet of a message overtakes others: its SACK shows holes, and when the last of
 * them closes its sender must hear of it, or it would wait for a tail probe.
 */
TEST(ack_out_on_data__answers_again_when_an_overtaken_packet_arrives)
{
	struct world w = { 0 };
	struct weft_pkt sack = { 0 };

	hand_open(&w, 16, 16);
	data_in(&w, 0, 0, 0);
	data_in(&w, 3, WEFT_BTH_ACK_REQ, 0);
	CHECK_EQ(sacks_out(&w, &sack), 1);
	CHECK_EQ(sack.sack.cack_psn, 0xffff00);
	data_in(&w, 2, 0, 0);
	CHECK_EQ(sacks_out(&w, &sack), 0); /* there is one more */
	data_in(&w, 1, 0, 0);
	CHECK_EQ(sacks_out(&w, &sack), 1);
	CHECK_EQ(sack.sack.cack_psn, 0xffff03);
	/* Nobody has asked since. */
	data_in(&w, 5, 0, 0);
	data_in(&w, 4, 0, 0);
	CHECK_EQ(sacks_out(&w, &sack), 0);
	/* Where nothing was overtaken one answer is enough. */
	data_in(&w, 6, WEFT_BTH_ACK_REQ, 0);
	CHECK_EQ(sacks_out(&w, &sack), 1);
	data_in(&w, 7, 0, 0);
	CHECK_EQ(sacks_out(&w, &sack), 0);
	world_close(&w);
}

/* By another plane only if the line of this one stays busy for a round trip. */
TEST(ack_out_send__waits_for_the_line_of_the_plane_that_probed)
{
	const uint32_t asked = 3, others = ~(1u << asked);
	struct world w = { 0 };
	struct weft_pkt pkt, answer;

	hand_open(&w, 16, 16);
	pkt = hand_write(&w, 0, 100);
	pkt.flags |= WEFT_BTH_ACK_REQ;
	hand_in(&w, 1, &pkt);
	while (hand_out(&w, 1, &answer, 1)) /* and all of it is lost */
		CHECK(answer.op == WEFT_OP_SACK || answer.op == WEFT_OP_ACK);
	pkt.op = WEFT_OP_PROBE;
	pkt.flags = 0;
	pkt.port = asked;
	pkt.probe = (struct weft_pkt_probe){ .probe_id = 1 };
	hand_in(&w, 1, &pkt);
	CHECK_EQ(weft_output(w.end[1], &answer, 1, others, w.now), 0);
	for (uint32_t i = 0; i < 2; i++) { /* the state, and the ACK again behind it */
		CHECK_EQ(weft_output(w.end[1], &answer, 1, 1u << asked, w.now), 1);
		CHECK_EQ(answer.op, i ? WEFT_OP_ACK : WEFT_OP_SACK);
		CHECK_EQ(answer.port, asked);
		CHECK_EQ(weft_output(w.end[1], &answer, 1, others, w.now), 0);
	}
	pkt.probe.probe_id = 2;
	hand_in(&w, 1, &pkt);
	w.now += w.config.base_rtt_ns;
	CHECK_EQ(weft_output(w.end[1], &answer, 1, others, w.now), 1);
	CHECK(answer.port != asked);
	world_close(&w);
}

/* What its sender acts upon is not kept back; nor is anything where there is more to say. */
TEST(weft_acks_since__knows_what_may_wait)
{
	static const struct {
		uint8_t flags, mark;
		bool waits;
	} rows[] = {
		{ 0, 0, false },
		{ WEFT_BTH_ACK_REQ, 0, true },
		{ WEFT_BTH_ACK_REQ, WEFT_MARK_CE, false },
		{ WEFT_BTH_ACK_REQ | WEFT_BTH_RTX, 0, false },
	};

	for (uint32_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct world w = { 0 };
		struct weft_pkt pkt;

		hand_open(&w, 16, 16);
		CHECK_EQ(weft_acks_since(w.end[1]), 0);
		data_in(&w, 0, rows[i].flags, rows[i].mark);
		uint64_t came = w.now;

		w.now += 5000;
		data_in(&w, 1, rows[i].flags, 0); /* in the same answer */
		CHECK_EQ(weft_acks_since(w.end[1]), rows[i].waits ? came : 0);
		while (hand_out(&w, 1, &pkt, 1))
			;
		CHECK_EQ(weft_acks_since(w.end[1]), 0);
		world_close(&w);
	}
}

/* Data leaves, they stay; until they are old, or there is one that may not wait. */
TEST(weft_keep_acks__lets_data_go_first)
{
	struct world w = { 0 };
	struct weft_pkt pkt, sack;
	struct weft_work work = { .id = 1, .remote_va = 0x10000, .len_bytes = 8 };

	hand_open(&w, 16, 16);
	work.data = w.memory[1];
	work.rkey = w.rkey[1];
	weft_keep_acks(w.end[1], 40000);
	data_in(&w, 0, WEFT_BTH_ACK_REQ, 0);
	uint64_t came = w.now;

	CHECK(!weft_wants_data(w.end[1]));
	CHECK(weft_wants_output(w.end[1]));
	w.now += 10000;
	REQUIRE(!weft_post_write(w.qp[1], &work));
	CHECK(weft_wants_data(w.end[1]));
	CHECK_EQ(weft_acks_since(w.end[1]), came);
	REQUIRE(hand_out(&w, 1, &pkt, 1) == 1);
	CHECK(pkt.op != WEFT_OP_SACK && pkt.op != WEFT_OP_ACK);
	CHECK_EQ(hand_out(&w, 1, &pkt, 1), 0);
	CHECK_EQ(weft_acks_since(w.end[1]), came);
	w.now = came + 40000;
	CHECK_EQ(sacks_out(&w, &sack), 1);
	data_in(&w, 1, WEFT_BTH_ACK_REQ, WEFT_MARK_CE); /* its sender is to slow down */
	CHECK_EQ(sacks_out(&w, &sack), 1);
	data_in(&w, 2, WEFT_BTH_ACK_REQ, 0);
	CHECK_EQ(sacks_out(&w, &sack), 0);
	weft_keep_acks(w.end[1], 0);
	CHECK_EQ(sacks_out(&w, &sack), 1);
	world_close(&w);
}
