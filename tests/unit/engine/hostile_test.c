/* SPDX-License-Identifier: BSD-2-Clause */
#include "hand.h"

/*
 * Two QPs each carry a write from end 0 to end 1 over the same paths.  In the middle one packet
 * is put in that nobody honest would send.  It must be counted for what it is and answered as the
 * protocol says; the neighbour must not notice, and the victim goes on unless the row says
 * how it ends.
 */
enum { LEN = 1 << 20, NOTHING = -1 };

struct stage {
	struct world w;
	struct weft_qp *other[2]; /* the neighbours; w.qp are the victims */
	uint32_t qpn[2];          /* of the victims */
};

static void open_neighbours(struct stage *s)
{
	struct weft_qp_attr attr[2];

	for (int i = 0; i < 2; i++) {
		attr[i] = (struct weft_qp_attr){
			.cq_tx = 1, .cq_rx = 1, .pd = 3, .cc = &weft_cc_fixed, .peer = 7,
			.pathset = s->w.set[i], .psn_rx = i ? 5000 : 900, .psn_tx = i ? 900 : 5000,
			.mpr_rx_psns = 4096, .mpr_tx_psns = 4096, .timeout_exp = 8,
			.retry_count = 5, .cc_config = { .max_cwnd_bytes = 1 << 19 },
		};
		CHECK_EQ(weft_qp_open(s->w.end[i], &attr[i], &s->other[i]), 0);
		s->qpn[i] = s->w.qp[i]->qpn;
	}
	for (int i = 0; i < 2; i++) {
		attr[i].peer_qpn = s->other[!i]->qpn;
		CHECK_EQ(weft_qp_move(s->other[i], WEFT_QP_RTR, &attr[i], s->w.now), 0);
		CHECK_EQ(weft_qp_move(s->other[i], WEFT_QP_RTS, &attr[i], s->w.now), 0);
	}
}

static void begin(struct stage *s)
{
	memset(s, 0, sizeof(*s));
	s->w.check = true;
	hand_open(&s->w, 32, 16);
	open_neighbours(s);
	world_write(&s->w, 0, 1, 0, LEN);
	struct weft_work work = {
		.id = 2, .remote_va = 0x10000 + LEN, .data = s->w.memory[0] + LEN,
		.len_bytes = LEN, .rkey = s->w.rkey[0],
	};

	CHECK_EQ(weft_post_write(s->other[0], &work), 0);
	world_run_until(&s->w, s->w.now + 18000);
	CHECK(sent_outstanding(s->w.qp[0]) > 30 && s->w.qp[1]->rx_cack != 0xfffeff);
}

/* The victim ends with `status` at end 0 (WEFT_OK: it does not end); the neighbour is well. */
static void go_on(struct stage *s, const char *name, uint8_t status)
{
	struct weft_done done[2] = { 0 };
	struct weft_qp_info info;

	world_run_until(&s->w, s->w.now + 60000000);
	if (weft_poll(s->w.end[0], 0, done, 2) != 1 || done[0].status != status)
		CHECK_FAIL("%s: the victim ends with %s", name, weft_status_name(done[0].status));
	if (weft_poll(s->w.end[0], 1, done, 2) != 1 || done[0].status != WEFT_OK)
		CHECK_FAIL("%s: the neighbour suffers", name);
	CHECK_MEM(s->w.memory[1] + LEN, s->w.memory[0] + LEN, LEN);
	if (status == WEFT_OK) {
		CHECK_MEM(s->w.memory[1], s->w.memory[0], LEN);
		weft_qp_info(s->w.qp[1], &info);
		CHECK_EQ(info.state, WEFT_QP_RTS);
	}
	for (uint32_t i = 2 * LEN; i < 3 * LEN; i += 8)
		if (memcmp(s->w.memory[1] + i, "\0\0\0\0\0\0\0", 8))
			CHECK_FAIL("%s: bytes at %u that nobody sent", name, i);
	weft_check(s->w.end[0]);
	weft_check(s->w.end[1]);
	world_close(&s->w);
}

/* ---- lies to the receiver: data ---- */

/* A fresh PSN of the victim: so far ahead that it has not been sent. */
static struct weft_pkt fresh(struct stage *s)
{
	struct weft_pkt pkt = hand_write(&s->w, 300, 64);

	pkt.w.va = 0x10000 + 2 * LEN; /* where nothing may land */
	return pkt;
}

static struct weft_pkt unknown_qpn(struct stage *s)
{
	struct weft_pkt pkt = fresh(s);

	pkt.dqpn ^= 0x100;
	return pkt;
}

static struct weft_pkt qpn_beyond(struct stage *s)
{
	struct weft_pkt pkt = fresh(s);

	pkt.dqpn = 0;
	return pkt;
}

static struct weft_pkt wrong_peer(struct stage *s)
{
	struct weft_pkt pkt = fresh(s);

	pkt.peer = 8;
	return pkt;
}

static struct weft_pkt unknown_opcode(struct stage *s)
{
	struct weft_pkt pkt = fresh(s);

	pkt.op = 0xC0;
	return pkt;
}

static struct weft_pkt psn_far_above(struct stage *s)
{
	struct weft_pkt pkt = fresh(s);

	pkt.psn = weft_psn_add(s->w.qp[1]->rx_cack, 4096);
	return pkt;
}

static struct weft_pkt psn_farthest_above(struct stage *s)
{
	struct weft_pkt pkt = fresh(s);

	pkt.psn = weft_psn_add(s->w.qp[1]->rx_cack, WEFT_PSN_HALF - 1);
	return pkt;
}

static struct weft_pkt psn_far_below(struct stage *s)
{
	struct weft_pkt pkt = fresh(s);

	pkt.psn = weft_psn_add(s->w.qp[1]->rx_cack, WEFT_PSN_HALF);
	return pkt;
}

static struct weft_pkt trimmed_far_below(struct stage *s)
{
	struct weft_pkt pkt = psn_far_below(s);

	pkt.mark = WEFT_MARK_TRIMMED;
	return pkt;
}

static struct weft_pkt replayed(struct stage *s)
{
	struct weft_pkt pkt = fresh(s); /* same number, other bytes, another place */

	pkt.psn = s->w.qp[1]->rx_cack;
	return pkt;
}

static struct weft_pkt bad_rkey(struct stage *s)
{
	struct weft_pkt pkt = fresh(s);

	pkt.w.rkey ^= 0x1000;
	return pkt;
}

static struct weft_pkt wrong_domain(struct stage *s)
{
	struct weft_pkt pkt = fresh(s);
	static uint8_t elsewhere[64];
	uint32_t rkey;

	CHECK_EQ(weft_region_add(s->w.end[1], 0x10000, elsewhere, 64, 4, WEFT_ACCESS_REMOTE_WRITE,
				 99, &rkey), 0);
	pkt.w.rkey = rkey;
	return pkt;
}

static struct weft_pkt outside(struct stage *s)
{
	struct weft_pkt pkt = fresh(s);

	pkt.w.va = 0x10000 + WORLD_MEMORY - 63;
	return pkt;
}

static struct weft_pkt wraps_around(struct stage *s)
{
	struct weft_pkt pkt = fresh(s);

	pkt.w.va = UINT64_MAX - 31;
	return pkt;
}

static struct weft_pkt too_long(struct stage *s)
{
	struct weft_pkt pkt = fresh(s);

	pkt.w.len_bytes = pkt.w.msg_bytes = 8192;
	return pkt;
}

static struct weft_pkt too_short(struct stage *s)
{
	struct weft_pkt pkt = fresh(s);

	pkt.op = WEFT_OP_WRITE_MIDDLE;
	pkt.w.msg_bytes = LEN;
	return pkt;
}

static struct weft_pkt wimm_overflow(struct stage *s)
{
	struct weft_pkt pkt = fresh(s);

	pkt.op = WEFT_OP_WRITE_ONLY_IMM;
	pkt.w.rqmsn = s->w.qp[1]->wimm_rx;
	return pkt;
}

/* ---- lies to the sender: answers ---- */

static struct weft_pkt sack_now(struct stage *s)
{
	struct weft_pkt pkt = hand_sack(&s->w, 0, 0);

	pkt.sack.cack_psn = weft_psn_add(s->w.qp[0]->psn_unack, WEFT_PSN_MASK);
	pkt.sack.rcvd_units = s->w.qp[0]->rcvd_units;
	return pkt;
}

static struct weft_pkt sack_cack_unsent(struct stage *s)
{
	struct weft_pkt pkt = sack_now(s);

	pkt.sack.cack_psn = s->w.qp[0]->psn_next;
	return pkt;
}

static struct weft_pkt sack_trigger_unsent(struct stage *s)
{
	struct weft_pkt pkt = sack_now(s);

	pkt.sack.psn_offset = INT16_MAX;
	return pkt;
}

static struct weft_pkt sack_bits_unsent(struct stage *s)
{
	struct weft_pkt pkt = sack_now(s);

	pkt.sack.sack_offset = (int16_t)(sent_outstanding(s->w.qp[0]) - 10);
	pkt.sack.bitmap = UINT64_C(1) << 63;
	return pkt;
}

static struct weft_pkt sack_wrong_peer(struct stage *s)
{
	struct weft_pkt pkt = sack_now(s);

	pkt.peer = 8;
	pkt.sack.bitmap = 0xffff;
	return pkt;
}

static struct weft_pkt sack_of_no_probe(struct stage *s)
{
	struct weft_pkt pkt = sack_now(s);

	pkt.sack.is_probe = true;
	pkt.sack.probe_id = 0x5555;
	return pkt;
}

static struct weft_pkt sack_grows_window(struct stage *s)
{
	struct weft_pkt pkt = sack_now(s); /* nobody has agreed on a dynamic MPR */

	pkt.sack.mpr_units = 1;
	return pkt;
}

static struct weft_pkt nack_unsent(struct stage *s)
{
	struct weft_pkt of = { .psn = s->w.qp[0]->psn_next };

	return hand_nack(&s->w, &of, WEFT_NACK_TRIMMED);
}

static struct weft_pkt nack_fatal_unsent(struct stage *s)
{
	struct weft_pkt of = { .psn = weft_psn_add(s->w.qp[0]->psn_next, 1000) };

	return hand_nack(&s->w, &of, WEFT_NACK_UNEXP_EVENT);
}

static struct weft_pkt nack_settled(struct stage *s)
{
	struct weft_pkt of = { .psn = weft_psn_add(s->w.qp[0]->psn_unack, WEFT_PSN_MASK) };

	return hand_nack(&s->w, &of, WEFT_NACK_NO_RESOURCE);
}

static struct weft_pkt nack_of_another_path(struct stage *s)
{
	struct weft_pkt of = { .psn = s->w.qp[0]->psn_unack, .ev = 0x123456 };

	return hand_nack(&s->w, &of, WEFT_NACK_TRIMMED);
}

static struct weft_pkt ack_unsent(struct stage *s)
{
	return hand_ack(&s->w, 1, WEFT_AETH_ACK); /* the message is not cut to its end */
}

static struct weft_pkt ack_far(struct stage *s)
{
	return hand_ack(&s->w, 0x7fffff, WEFT_AETH_ACK);
}

static struct weft_pkt nak_access(struct stage *s)
{
	return hand_ack(&s->w, 0, WEFT_AETH_NAK_REMOTE_ACCESS);
}

static struct weft_pkt response_to_nothing(struct stage *s)
{
	return (struct weft_pkt){ .peer = 7, .op = WEFT_OP_EP_RESPONSE, .dqpn = WEFT_EP_QPN,
				  .psn = (uint32_t)s->w.now & 0xffff };
}

static struct weft_pkt response_of_stranger(struct stage *s)
{
	CHECK_EQ(weft_post_probe(s->w.end[0], s->w.set[0], 1u << 11, 0, s->w.now), 0);
	uint32_t id = s->w.end[0]->request_tail - 1u;

	return (struct weft_pkt){ .peer = 8, .op = WEFT_OP_EP_RESPONSE, .dqpn = WEFT_EP_QPN,
				  .psn = id & 0xffff };
}

static const struct row {
	const char *name;
	struct weft_pkt (*make)(struct stage *s);
	int to;
	int drop;       /* counter that must move, or NOTHING */
	int answer;     /* opcode that must come back at once, or NOTHING */
	uint8_t detail; /* NACK reason or AETH syndrome of that answer */
	uint8_t status; /* of the victim's write */
} rows[] = {
#define ROW(make, to, drop, ...) { #make, make, to, drop, __VA_ARGS__ }
	ROW(unknown_qpn, 1, WEFT_DROP_UNKNOWN_QPN, NOTHING, 0, WEFT_OK),
	ROW(qpn_beyond, 1, WEFT_DROP_UNKNOWN_QPN, NOTHING, 0, WEFT_OK),
	ROW(wrong_peer, 1, WEFT_DROP_WRONG_PEER, NOTHING, 0, WEFT_OK),
	ROW(unknown_opcode, 1, WEFT_DROP_NOT_MRC, NOTHING, 0, WEFT_OK),
	ROW(psn_far_above, 1, WEFT_DROP_PSN_ABOVE, WEFT_OP_NACK, WEFT_NACK_PSN_OOR_WINDOW, WEFT_OK),
	ROW(psn_farthest_above, 1, WEFT_DROP_PSN_ABOVE, WEFT_OP_NACK, WEFT_NACK_PSN_OOR_WINDOW,
	    WEFT_OK),
	ROW(psn_far_below, 1, WEFT_DROP_PSN_BELOW, NOTHING, 0, WEFT_OK),
	ROW(trimmed_far_below, 1, WEFT_DROP_PSN_BELOW, NOTHING, 0, WEFT_OK),
	ROW(replayed, 1, WEFT_DROP_DUPLICATE, WEFT_OP_SACK, 0, WEFT_OK),
	ROW(bad_rkey, 1, WEFT_DROP_BAD_RKEY, WEFT_OP_ACK, WEFT_AETH_NAK_REMOTE_ACCESS,
	    WEFT_REMOTE_ACCESS),
	ROW(wrong_domain, 1, WEFT_DROP_BAD_ACCESS, WEFT_OP_ACK, WEFT_AETH_NAK_REMOTE_ACCESS,
	    WEFT_REMOTE_ACCESS),
	ROW(outside, 1, WEFT_DROP_OUT_OF_BOUNDS, WEFT_OP_ACK, WEFT_AETH_NAK_REMOTE_ACCESS,
	    WEFT_REMOTE_ACCESS),
	ROW(wraps_around, 1, WEFT_DROP_OUT_OF_BOUNDS, WEFT_OP_ACK, WEFT_AETH_NAK_REMOTE_ACCESS,
	    WEFT_REMOTE_ACCESS),
	ROW(too_long, 1, WEFT_DROP_BAD_LENGTH, WEFT_OP_ACK, WEFT_AETH_NAK_INVALID_REQUEST,
	    WEFT_REMOTE_INVALID),
	ROW(too_short, 1, WEFT_DROP_BAD_LENGTH, WEFT_OP_ACK, WEFT_AETH_NAK_INVALID_REQUEST,
	    WEFT_REMOTE_INVALID),
	ROW(wimm_overflow, 1, WEFT_DROP_WIMM_OVERFLOW, WEFT_OP_ACK, WEFT_AETH_NAK_WIMM_OVERFLOW,
	    WEFT_REMOTE_INVALID),
	ROW(sack_cack_unsent, 0, WEFT_DROP_ACK_UNSENT, NOTHING, 0, WEFT_OK),
	ROW(sack_trigger_unsent, 0, WEFT_DROP_ACK_UNSENT, NOTHING, 0, WEFT_OK),
	ROW(sack_bits_unsent, 0, WEFT_DROP_ACK_UNSENT, NOTHING, 0, WEFT_OK),
	ROW(sack_wrong_peer, 0, WEFT_DROP_WRONG_PEER, NOTHING, 0, WEFT_OK),
	ROW(sack_of_no_probe, 0, WEFT_DROP_UNKNOWN_REQUEST, NOTHING, 0, WEFT_OK),
	ROW(sack_grows_window, 0, NOTHING, NOTHING, 0, WEFT_OK),
	ROW(nack_unsent, 0, WEFT_DROP_ACK_UNSENT, NOTHING, 0, WEFT_OK),
	ROW(nack_fatal_unsent, 0, WEFT_DROP_ACK_UNSENT, NOTHING, 0, WEFT_OK),
	ROW(nack_settled, 0, WEFT_DROP_ACK_STALE, NOTHING, 0, WEFT_OK),
	ROW(nack_of_another_path, 0, WEFT_DROP_ACK_STALE, NOTHING, 0, WEFT_OK),
	ROW(ack_unsent, 0, WEFT_DROP_ACK_UNSENT, NOTHING, 0, WEFT_OK),
	ROW(ack_far, 0, WEFT_DROP_ACK_UNSENT, NOTHING, 0, WEFT_OK),
	ROW(nak_access, 0, NOTHING, NOTHING, 0, WEFT_REMOTE_ACCESS), /* the peer may say so */
	ROW(response_to_nothing, 0, WEFT_DROP_UNKNOWN_REQUEST, NOTHING, 0, WEFT_OK),
	ROW(response_of_stranger, 0, WEFT_DROP_UNKNOWN_REQUEST, NOTHING, 0, WEFT_OK),
#undef ROW
};

static void expect_answer(struct stage *s, const struct row *row)
{
	struct weft_pkt pkt, last = { 0 };

	while (weft_output(s->w.end[row->to], &pkt, 1, UINT32_MAX, s->w.now)) {
		if (pkt.op == row->answer)
			last = pkt;
		if (!weft_op_is_write(pkt.op))
			world_fly(&s->w, !row->to, &pkt, s->w.now + 6000);
	}
	if (last.op != row->answer)
		CHECK_FAIL("%s: no %s in answer", row->name, weft_op_name((uint8_t)row->answer));
	if (row->answer == WEFT_OP_NACK)
		CHECK_EQ(last.nack.reason, row->detail);
	if (row->answer == WEFT_OP_ACK)
		CHECK_EQ(last.ack.syndrome, row->detail);
}

static uint64_t all_drops(const struct world *w, int end)
{
	uint64_t sum = 0;

	for (int i = 0; i < WEFT_DROP_COUNT; i++)
		sum += hand_drops(w, end, (enum weft_drop)i);
	return sum;
}

static void play(const struct row *row)
{
	struct stage s;

	begin(&s);
	uint32_t inflight = s.w.qp[0]->inflight, mpr = s.w.qp[0]->mpr_tx;
	struct weft_pkt pkt = row->make(&s);
	uint64_t before = all_drops(&s.w, row->to);
	uint64_t own = row->drop == NOTHING ? 0 : hand_drops(&s.w, row->to, row->drop);

	if (hand_in(&s.w, row->to, &pkt).len_bytes)
		CHECK_FAIL("%s: bytes were placed", row->name);
	CHECK_EQ(all_drops(&s.w, row->to) - before, row->drop != NOTHING);
	if (row->drop != NOTHING && hand_drops(&s.w, row->to, row->drop) != own + 1)
		CHECK_FAIL("%s: not counted as %s", row->name, weft_drop_name(row->drop));
	if (row->status == WEFT_OK && s.w.qp[0]->inflight != inflight)
		CHECK_FAIL("%s: the sender believed it", row->name);
	if (row->status == WEFT_OK && s.w.qp[0]->mpr_tx != mpr)
		CHECK_FAIL("%s: the window moved", row->name);
	if (row->answer != NOTHING)
		expect_answer(&s, row);
	go_on(&s, row->name, row->status);
}

TEST(weft_input__hostile_packets_are_counted_answered_and_harm_nobody_else)
{
	for (size_t i = 0; i < WEFT_COUNT(rows); i++)
		play(&rows[i]);
}

/* ---- a capture of the wire, played back ---- */

static struct flight captured[4096];
static uint32_t n_captured;

static bool capture(struct world *w, int from, struct weft_pkt *pkt)
{
	(void)w;
	if (n_captured < WEFT_COUNT(captured))
		captured[n_captured++] = (struct flight){ .pkt = *pkt, .to = (uint8_t)!from };
	return false;
}

TEST(weft_input__a_whole_transfer_played_back_changes_nothing)
{
	struct stage s;
	struct weft_done done;

	n_captured = 0;
	begin(&s);
	s.w.fault = capture;
	world_run_until(&s.w, s.w.now + 1000000);
	CHECK_EQ(weft_poll(s.w.end[0], 0, &done, 1), 1);
	CHECK_EQ(weft_poll(s.w.end[0], 1, &done, 1), 1);
	CHECK(n_captured > 100);
	s.w.fault = NULL;
	memset(s.w.memory[1], 0xee, 2 * LEN);
	for (uint32_t i = 0; i < n_captured; i++) {
		captured[i].pkt.peer = 7;
		CHECK_EQ(hand_in(&s.w, captured[i].to, &captured[i].pkt).len_bytes, 0);
	}
	for (uint32_t i = 0; i < 2 * LEN; i++)
		if (s.w.memory[1][i] != 0xee)
			CHECK_FAIL("byte %u was written again", i);
	world_run_until(&s.w, s.w.now + 1000000);
	CHECK_EQ(weft_poll(s.w.end[0], 0, &done, 1), 0);
	CHECK_EQ(weft_poll(s.w.end[0], 1, &done, 1), 0);
	world_write(&s.w, 0, 3, 0, LEN);
	CHECK_EQ(world_wait(&s.w, 0, 1, 10000000, &done), 1);
	CHECK_EQ(done.status, WEFT_OK);
	CHECK_MEM(s.w.memory[1], s.w.memory[0], LEN);
	world_close(&s.w);
}

TEST(weft_input__an_immediate_without_a_receive_ends_its_qp_at_both_ends)
{
	struct stage s;
	struct weft_done done;
	struct weft_work imm = { .id = 3, .rkey = 0, .has_imm = true };

	begin(&s);
	CHECK_EQ(weft_post_write(s.w.qp[0], &imm), 0);
	CHECK_EQ(world_wait(&s.w, 0, 2, 10000000, &done), 2); /* the one before it is well */
	CHECK_EQ(done.id, 3);
	CHECK_EQ(done.status, WEFT_REMOTE_OPERATION);
	CHECK_EQ(hand_drops(&s.w, 1, WEFT_DROP_NO_RECV), 1);
	CHECK_EQ(s.w.qp[1]->status, WEFT_LOCAL_NO_RECV);
	CHECK_MEM(s.w.memory[1], s.w.memory[0], LEN);
	world_run_until(&s.w, s.w.now + 1000000);
	CHECK_EQ(weft_poll(s.w.end[0], 1, &done, 1), 1);
	CHECK_EQ(done.status, WEFT_OK);
	world_close(&s.w);
}

/* A former tenant's packets, and packets for one that is not ready, find nobody. */
TEST(weft_input__a_qp_hears_only_what_its_state_allows)
{
	struct world w = { .check = true };
	struct weft_qp *qp;

	hand_open(&w, 16, 16);
	struct weft_qp_attr attr = { .cc = &weft_cc_fixed, .cc_config = { .fixed_bytes = 1 << 20 },
				     .peer = 7, .peer_qpn = 1000,
				     .pathset = w.set[0], .mpr_rx_psns = 256, .wimm_rx = 4 };

	CHECK_EQ(weft_qp_open(w.end[0], &attr, &qp), 0);
	struct weft_pkt data = hand_write(&w, 0, 10), sack = hand_sack(&w, 0, 0);

	data.dqpn = sack.dqpn = qp->qpn;
	hand_in(&w, 0, &data);
	CHECK_EQ(hand_drops(&w, 0, WEFT_DROP_QP_STATE), 1);
	CHECK_EQ(weft_qp_move(qp, WEFT_QP_RTR, &attr, w.now), 0);
	hand_in(&w, 0, &sack); /* it has sent nothing yet */
	CHECK_EQ(hand_drops(&w, 0, WEFT_DROP_QP_STATE), 2);
	CHECK_EQ(weft_qp_move(qp, WEFT_QP_ERROR, NULL, w.now), 0);
	data.psn = 0; /* one that it had not taken before */
	hand_in(&w, 0, &data);
	CHECK_EQ(hand_drops(&w, 0, WEFT_DROP_QP_STATE), 3);
	weft_qp_close(qp);
	hand_in(&w, 0, &data);
	CHECK_EQ(hand_drops(&w, 0, WEFT_DROP_UNKNOWN_QPN), 1);
	world_close(&w);
}

/* One stranger asks for more answers than there is room for: others still get theirs. */
TEST(weft_input__a_flood_of_requests_does_not_stop_a_transfer)
{
	struct stage s;
	struct weft_pkt flood = { .peer = 99, .op = WEFT_OP_EP_REQUEST, .dqpn = WEFT_EP_QPN,
				  .port = 3, .ep = { .op = WEFT_EP_EV_PROBE } };
	struct weft_place place;

	begin(&s);
	CHECK_EQ(weft_port_mark(s.w.end[1], 3, false, s.w.now), 0); /* no way back to it */
	for (uint32_t i = 0; i < 3000; i++) {
		flood.psn = i;
		weft_input(s.w.end[1], &flood, 1, s.w.now, &place);
	}
	CHECK(hand_drops(&s.w, 1, WEFT_DROP_CONTROL_FULL) > 0);
	go_on(&s, "flood", WEFT_OK);
}
