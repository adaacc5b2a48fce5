/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

static const enum weft_baseline_kind kinds[] = { WEFT_BASELINE_ROCE, WEFT_BASELINE_ROCE_SR,
	WEFT_BASELINE_STRIPE, WEFT_BASELINE_SPRAY, WEFT_BASELINE_NDP };

/* All sizes, more messages than may be under way, one and many queue pairs and planes. */
TEST(weft_baseline_post__brings_every_message_across_once)
{
	static const uint32_t sizes[] = { 1, 4095, 4096, 4097, 100000, 12288, 40 };

	for (unsigned k = 0; k < WEFT_COUNT(kinds) * 3; k++) {
		struct pair *p = pair_make(kinds[k / 3]);
		uint64_t sum = 0;

		p->config.settings.qps = (uint32_t[]){ 1, 3, 16 }[k % 3];
		p->config.planes = (uint32_t[]){ 1, 4, 3 }[k % 3];
		pair_open(p);
		for (uint32_t i = 0; i < 40; i++) {
			pair_post(p, i, sizes[i % WEFT_COUNT(sizes)]);
			sum += sizes[i % WEFT_COUNT(sizes)];
		}
		pair_run(p, WEFT_NEVER);
		for (uint32_t i = 0; i < 40; i++)
			CHECK(p->arrived[i] && p->done[i] > p->arrived[i]);
		CHECK_EQ(weft_baseline_stats(p->end[1])->rx_data_bytes, sum);
		CHECK_EQ(weft_baseline_stats(p->end[0])->tx_rtx_pkts, 0);
		CHECK_EQ(weft_baseline_stats(p->end[0])->timeouts, 0);
		CHECK_EQ(weft_baseline_stats(p->end[0])->drops, 0);
		CHECK_EQ(weft_baseline_stats(p->end[1])->drops, 0);
		pair_close(p);
	}
}

/* The longest there is: it begins, and is not over for a while. */
TEST(weft_baseline_post__takes_four_gibibytes)
{
	for (unsigned k = 0; k < WEFT_COUNT(kinds); k++) {
		struct pair *p = pair_make(kinds[k]);

		pair_open(p);
		pair_post(p, 0, UINT32_MAX);
		pair_run(p, UINT64_C(100000000));
		CHECK(weft_baseline_stats(p->end[1])->rx_data_bytes > 1000000);
		CHECK(!p->done[0]);
		pair_close(p);
	}
}

TEST(weft_baseline_post__refuses_what_it_has_no_room_for)
{
	struct pair *p = pair_make(WEFT_BASELINE_ROCE);

	p->config.works = 20;
	pair_open(p);
	CHECK(!weft_baseline_post(p->end[0], 0, 1, 0, 0));
	for (uint32_t i = 0; i < 20 + MESSAGES; i++)
		pair_post(p, i, 1);
	CHECK(!weft_baseline_post(p->end[0], 0, 63, 1, 0));
	pair_run(p, WEFT_NEVER);
	CHECK(weft_baseline_post(p->end[0], 0, 63, 1, p->now_ps));
	pair_close(p);
}

/* Each queue pair has its share of a long message; short ones go round. */
TEST(post_feed__deals_messages_out)
{
	struct pair *p = pair_make(WEFT_BASELINE_ROCE);
	struct weft_baseline_sender s;

	p->config.settings.qps = 4;
	pair_open(p);
	pair_post(p, 0, 10 * 4096 - 1);
	for (uint32_t i = 0; i < 4; i++) {
		weft_baseline_look(p->end[0], 0, i, &s);
		CHECK_EQ(s.end, i < 2 ? 3 : 2);
	}
	for (uint32_t i = 0; i < 4; i++)
		pair_post(p, 1 + i, 100);
	for (uint32_t i = 0; i < 4; i++) {
		weft_baseline_look(p->end[0], 0, i, &s);
		CHECK_EQ(s.end, i < 2 ? 4 : 3);
	}
	pair_close(p);
}

TEST(post_cut__makes_only_the_last_packet_short)
{
	struct pair *p = pair_make(WEFT_BASELINE_ROCE);
	struct weft_pkt pkt = { 0 };

	p->config.settings.qps = 2;
	pair_open(p);
	pair_post(p, 7, 3 * 4096 + 5);
	post_cut(p->end[0], &p->end[0]->senders[0], 1, &pkt);
	CHECK_EQ(pkt.op, WEFT_OP_WRITE_LAST);
	CHECK_EQ(pkt.w.len_bytes, 4096);
	CHECK_EQ(pkt.w.msg_bytes, 3 * 4096 + 5);
	CHECK_EQ(pkt.w.imm, 7);
	post_cut(p->end[0], &p->end[0]->senders[1], 0, &pkt);
	CHECK_EQ(pkt.op, WEFT_OP_WRITE_MIDDLE);
	post_cut(p->end[0], &p->end[0]->senders[1], 1, &pkt);
	CHECK_EQ(pkt.w.len_bytes, 5);
	pair_close(p);
}
