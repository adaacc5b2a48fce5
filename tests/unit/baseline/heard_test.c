/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

static bool lose_tenth(struct pair *p, struct weft_pkt *pkt, uint32_t from)
{
	(void)p;
	return from || pkt->psn != 10 || pkt->flags & WEFT_BTH_RTX;
}

/* Go-back-N: all that followed the lost packet goes again, a round trip of it. */
TEST(on_ack__goes_back)
{
	struct pair *p = pair_make(WEFT_BASELINE_ROCE);

	p->pass = lose_tenth;
	pair_open(p);
	pair_post(p, 0, 60 * 4096);
	pair_run(p, WEFT_NEVER);
	const struct weft_baseline_counters *c = weft_baseline_stats(p->end[0]);

	CHECK(p->done[0] > 0);
	CHECK_EQ(c->timeouts, 0);
	CHECK_EQ(c->rx_naks, 1);
	CHECK(c->tx_rtx_pkts >= 12 && c->tx_rtx_pkts <= 15); /* 4 us and two frames */
	CHECK_EQ(weft_baseline_stats(p->end[1])->rx_out_of_order, c->tx_rtx_pkts - 1);
	pair_close(p);
}

/* IRN: that packet goes again, and no other. */
TEST(on_sack__repeats_what_is_missing)
{
	struct pair *p = pair_make(WEFT_BASELINE_ROCE_SR);

	p->pass = lose_tenth;
	pair_open(p);
	pair_post(p, 0, 60 * 4096);
	pair_run(p, WEFT_NEVER);
	CHECK(p->done[0] > 0);
	CHECK_EQ(weft_baseline_stats(p->end[0])->timeouts, 0);
	CHECK_EQ(weft_baseline_stats(p->end[0])->tx_rtx_pkts, 1);
	pair_close(p);
}

static bool trim_some(struct pair *p, struct weft_pkt *pkt, uint32_t from)
{
	(void)p;
	if (!from && pkt->psn % 5 == 0 && !(pkt->flags & WEFT_BTH_RTX))
		pkt->mark |= WEFT_MARK_TRIMMED;
	return true;
}

TEST(on_nack__repeats_what_was_cut)
{
	for (unsigned i = 0; i < 2; i++) {
		struct pair *p = pair_make(i ? WEFT_BASELINE_NDP : WEFT_BASELINE_SPRAY);

		p->pass = trim_some;
		pair_open(p);
		pair_post(p, 0, 50 * 4096);
		pair_run(p, WEFT_NEVER);
		CHECK(p->done[0] > 0);
		CHECK_EQ(weft_baseline_stats(p->end[0])->timeouts, 0);
		CHECK_EQ(weft_baseline_stats(p->end[0])->tx_rtx_pkts, 10);
		pair_close(p);
	}
}

static bool lose_two(struct pair *p, struct weft_pkt *pkt, uint32_t from)
{
	(void)p;
	return from || (pkt->psn != 10 && (pkt->psn != 13 || pkt->flags & WEFT_BTH_RTX));
}

/* Two gaps, of which one does not close: the timer comes to it again and again. */
TEST(on_sack__survives_the_loss_of_a_repeat)
{
	struct pair *p = pair_make(WEFT_BASELINE_ROCE_SR);

	p->pass = lose_two;
	pair_open(p);
	pair_post(p, 0, 60 * 4096);
	pair_run(p, 150000000);
	CHECK_EQ(p->done[0], 0);
	p->pass = NULL;
	pair_run(p, WEFT_NEVER);
	CHECK(p->done[0] > 0);
	CHECK(weft_baseline_stats(p->end[0])->timeouts >= 1);
	pair_close(p);
}

/* What acknowledges the future, or speaks of other transports, is dropped. */
TEST(heard__drops_what_cannot_be)
{
	struct pair *p = pair_make(WEFT_BASELINE_ROCE);
	struct weft_pkt pkt = { .peer = 1, .op = WEFT_OP_ACK, .psn = 40 };

	pair_open(p);
	pair_post(p, 0, 10 * 4096);
	weft_baseline_input(p->end[0], &pkt, 0);
	CHECK_EQ(weft_baseline_stats(p->end[0])->drops, 1);
	pkt = (struct weft_pkt){ .peer = 1, .op = WEFT_OP_SACK };
	weft_baseline_input(p->end[0], &pkt, 0);
	pkt = (struct weft_pkt){ .peer = 1, .op = WEFT_OP_ACK, .dqpn = 1 };
	weft_baseline_input(p->end[0], &pkt, 0);
	pkt = (struct weft_pkt){ .peer = 0, .op = WEFT_OP_ACK };
	weft_baseline_input(p->end[0], &pkt, 0);
	CHECK_EQ(weft_baseline_stats(p->end[0])->drops, 4);
	pair_run(p, WEFT_NEVER);
	CHECK(p->done[0] > 0);
	pair_close(p);
}
