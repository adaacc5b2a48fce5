/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

static struct weft_pkt data(uint32_t psn, uint8_t mark)
{
	return (struct weft_pkt){ .peer = 0,
		.op = WEFT_OP_WRITE_MIDDLE,
		.psn = psn,
		.mark = mark,
		.w = { .msg_bytes = 1 << 20, .len_bytes = 4096 } };
}

static uint32_t answers(struct weft_baseline *r, struct weft_pkt *last)
{
	uint32_t n = 0;

	while (weft_baseline_output(r, last, 1, 0, r->now_ps))
		n++;
	return n;
}

/* One NAK per loss, whatever follows; acknowledgements for every fourth packet. */
TEST(take_in_order__asks_once)
{
	struct pair *p = pair_make(WEFT_BASELINE_ROCE);
	struct weft_pkt pkt;

	pair_open(p);
	for (uint32_t psn = 0; psn < 8; psn++) {
		pkt = data(psn, 0);
		weft_baseline_input(p->end[1], &pkt, 0);
		CHECK_EQ(answers(p->end[1], &pkt), psn % 4 == 3);
	}
	for (uint32_t psn = 9; psn < 20; psn++) {
		pkt = data(psn, 0);
		weft_baseline_input(p->end[1], &pkt, 0);
		CHECK_EQ(answers(p->end[1], &pkt), psn == 9);
		if (psn == 9)
			CHECK(pkt.psn == 7 && pkt.ack.syndrome == WEFT_AETH_NAK_PSN_SEQUENCE);
	}
	pkt = data(3, 0);
	weft_baseline_input(p->end[1], &pkt, 0);
	CHECK_EQ(answers(p->end[1], &pkt), 1);
	CHECK(pkt.psn == 7 && pkt.ack.syndrome == WEFT_AETH_ACK);
	CHECK_EQ(weft_baseline_stats(p->end[1])->rx_duplicate, 1);
	CHECK_EQ(weft_baseline_stats(p->end[1])->rx_out_of_order, 11);
	pair_close(p);
}

TEST(take_any__keeps_what_comes_out_of_order)
{
	struct pair *p = pair_make(WEFT_BASELINE_ROCE_SR);
	struct weft_pkt pkt;

	pair_open(p);
	for (uint32_t i = 0; i < 3; i++) {
		pkt = data((uint32_t[]){ 2, 1, 2 }[i], 0);
		weft_baseline_input(p->end[1], &pkt, 0);
	}
	CHECK_EQ(answers(p->end[1], &pkt), 3);
	CHECK_EQ(pkt.sack.cack_psn, WEFT_PSN_MASK); /* before 0 */
	CHECK_EQ(pkt.sack.bitmap, 6);
	CHECK_EQ(weft_baseline_stats(p->end[1])->rx_data_pkts, 2);
	CHECK_EQ(weft_baseline_stats(p->end[1])->rx_duplicate, 1);
	pkt = data(p->end[1]->bits, 0); /* outside of the bitmap */
	weft_baseline_input(p->end[1], &pkt, 0);
	CHECK_EQ(weft_baseline_stats(p->end[1])->drops, 1);
	pkt = data(0, 0);
	weft_baseline_input(p->end[1], &pkt, 0);
	CHECK_EQ(answers(p->end[1], &pkt), 1);
	CHECK_EQ(pkt.sack.cack_psn, 2);
	pair_close(p);
}

/* DCQCN 3.1: a notification for a queue pair in 50 us, and only if marks came. */
TEST(notify__tells_of_marks_once_in_a_while)
{
	struct pair *p = pair_make(WEFT_BASELINE_ROCE);
	struct weft_pkt pkt;

	p->config.settings.dcqcn = true;
	pair_open(p);
	for (uint32_t psn = 0; psn < 100; psn++) {
		pkt = data(psn, psn ? WEFT_MARK_CE : 0);
		weft_baseline_input(p->end[1], &pkt, 1 + psn * 1000000);
		(void)answers(p->end[1], &pkt);
		CHECK_EQ(
			weft_baseline_stats(p->end[1])->tx_cnps, psn == 0 ? 0 : (psn - 1) / 50 + 1);
	}
	pair_close(p);
}

/* To RoCE a header without its payload is nothing. */
TEST(receive__does_not_take_what_was_cut)
{
	struct pair *p = pair_make(WEFT_BASELINE_ROCE);
	struct weft_pkt pkt = data(0, WEFT_MARK_TRIMMED);

	pair_open(p);
	weft_baseline_input(p->end[1], &pkt, 0);
	CHECK_EQ(answers(p->end[1], &pkt), 0);
	CHECK_EQ(weft_baseline_stats(p->end[1])->rx_trimmed, 1);
	CHECK_EQ(p->end[1]->receivers[0].expected, 0);
	pair_close(p);
}
