/* SPDX-License-Identifier: BSD-2-Clause */
/* Order, sizes, numbers that wrap, and windows that move, in virtual time. */
#include "hand.h"

static uint32_t loss_permille;

static bool loses(struct world *w, int from, struct weft_pkt *pkt)
{
	(void)from;
	(void)pkt;
	return weft_rng_chance(&w->rng, loss_permille, 1000);
}

static void setup(struct world *w, const struct weft_config *config)
{
	world_open(w, config);
	world_connect(w, 64, 32, &weft_cc_nscc);
}

static void write_imm(struct world *w, uint64_t id, uint64_t offset, uint32_t len_bytes)
{
	struct weft_work work = {
		.id = id, .remote_va = 0x10000 + offset, .data = w->memory[0] + offset,
		.len_bytes = len_bytes, .rkey = w->rkey[0], .imm = (uint32_t)id * 7,
		.has_imm = true,
	};

	CHECK_EQ(weft_post_write(w->qp[0], &work), 0);
}

TEST(immediates__arrive_in_order_after_everything_before_them)
{
	enum { MESSAGES = 60, LEN = 30000 };
	struct world w = { .check = true, .skew_ns = 2500, .fault = loses };
	struct weft_config config;
	struct weft_done done;
	uint32_t heard = 0, most = 0;

	loss_permille = 20;
	world_config(&config);
	config.wimm_max = 4; /* so that they have to wait for each other */
	setup(&w, &config);
	for (uint32_t i = 0; i < MESSAGES / 3; i++)
		CHECK_EQ(weft_post_recv(w.qp[1], i), 0);
	for (uint32_t i = 0; i < MESSAGES; i++) {
		if (i % 3 == 2)
			write_imm(&w, i, i * LEN, LEN - i);
		else
			world_write(&w, 0, i, i * LEN, LEN);
	}
	while (heard < MESSAGES / 3 && w.now < 50000000) {
		world_step(&w);
		CHECK(w.qp[0]->wimm_inflight <= 4);
		most = WEFT_MAX(most, w.qp[1]->parked_imms);
		while (weft_poll(w.end[1], 0, &done, 1)) {
			uint32_t i = 3 * heard + 2;

			CHECK_EQ(done.id, heard);
			CHECK_EQ(done.imm, i * 7);
			CHECK_EQ(done.len_bytes, LEN - i);
			for (uint32_t m = 0; m < i; m++)
				CHECK_MEM(w.memory[1] + m * LEN, w.memory[0] + m * LEN,
					  m % 3 == 2 ? LEN - m : LEN);
			CHECK_MEM(w.memory[1] + i * LEN, w.memory[0] + i * LEN, LEN - i);
			heard++;
		}
	}
	CHECK_EQ(heard, MESSAGES / 3);
	CHECK(most > 1); /* some did arrive before their turn */
	world_close(&w);
}

TEST(sizes__nothing_at_all_is_a_message)
{
	struct world w = { .check = true };
	struct weft_config config;
	struct weft_done done;

	world_config(&config);
	setup(&w, &config);
	w.rkey[0] ^= 0xffff0; /* of no bytes, no key is asked [P 8.23] */
	CHECK_EQ(weft_post_recv(w.qp[1], 9), 0);
	world_write(&w, 0, 1, 0, 0);
	write_imm(&w, 2, 0, 0);
	CHECK_EQ(world_wait(&w, 0, 2, 1000000, &done), 2);
	CHECK_EQ(done.status, WEFT_OK);
	CHECK_EQ(weft_poll(w.end[1], 0, &done, 1), 1);
	CHECK_EQ(done.imm, 14);
	CHECK_EQ(done.len_bytes, 0);
	CHECK_EQ(weft_stats(w.end[1])->rx_data_pkts, 2);
	CHECK_EQ(weft_stats(w.end[1])->rx_data_bytes, 0);
	world_close(&w);
}

TEST(sizes__the_largest_message_without_a_byte_of_memory)
{
	struct world w = { 0 };
	struct weft_config config;
	struct weft_done done = { 0 };
	uint32_t rkey;

	world_config(&config);
	config.mtu_bytes = WEFT_MTU_MAX;
	w.rate_bps = 400000000000;
	setup(&w, &config);
	CHECK_EQ(weft_region_add(w.end[1], 0, w.memory[1], UINT64_C(1) << 33, 3,
				 WEFT_ACCESS_REMOTE_WRITE, 5, &rkey), 0);
	struct weft_work work = { .id = 4, .remote_va = 0xffffffff, .len_bytes = UINT32_MAX,
				  .rkey = rkey };

	CHECK_EQ(weft_post_write(w.qp[0], &work), 0);
	CHECK_EQ(world_wait(&w, 0, 1, 100000000, &done), 1);
	CHECK_EQ(done.status, WEFT_OK);
	CHECK_EQ(done.len_bytes, UINT32_MAX);
	CHECK_EQ(weft_stats(w.end[1])->rx_data_bytes, UINT32_MAX);
	CHECK_EQ(weft_stats(w.end[1])->rx_data_pkts, UINT64_C(1) << 19);
	CHECK_EQ(weft_stats(w.end[0])->tx_rtx_pkts, 0);
	weft_check(w.end[0]);
	weft_check(w.end[1]);
	world_close(&w);
}

TEST(numbers__psn_msn_and_rqmsn_start_over)
{
	struct world w = { .skew_ns = 300 };
	struct weft_config config;
	struct weft_done done[64];
	uint32_t posted = 0, sent = 0, heard = 0;

	world_config(&config);
	setup(&w, &config);
	/* 24 bits of messages are too many to send here; 16 bits of them are not. */
	w.qp[0]->msn_done = w.qp[1]->rx_msn = w.qp[1]->rx_msn_told = WEFT_PSN_MASK - 100;
	w.qp[0]->msn_next = (uint16_t)(WEFT_PSN_MASK - 100);
	w.qp[0]->psn_next = w.qp[0]->psn_unack = w.qp[0]->lost_low = 0xffe000;
	w.qp[1]->rx_cack = w.qp[1]->rx_max = 0xffdfff;
	w.qp[1]->rx_sweep = 0xffe000;
	while (heard < 70000 && w.now < 1000000000) {
		while ((uint16_t)(w.qp[0]->sq_tail - w.qp[0]->sq_head) < 32) {
			weft_post_recv(w.qp[1], posted);
			write_imm(&w, posted, 0, posted % 3);
			posted++;
		}
		world_step(&w);
		size_t n = weft_poll(w.end[0], 0, done, 64);

		for (size_t i = 0; i < n; i++, sent++)
			if (done[i].status != WEFT_OK || done[i].id != sent)
				CHECK_FAIL("write %u: %u", sent, done[i].status);
		n = weft_poll(w.end[1], 0, done, 64);
		for (size_t i = 0; i < n; i++, heard++)
			if (done[i].imm != heard * 7 || done[i].len_bytes != heard % 3)
				CHECK_FAIL("immediate %u: %u", heard, done[i].imm);
	}
	CHECK(heard >= 70000);
	CHECK(w.qp[0]->psn_next < 0x20000);
	CHECK_EQ(weft_stats(w.end[0])->tx_rtx_pkts, 0);
	weft_check(w.end[0]);
	weft_check(w.end[1]);
	world_close(&w);
}

static uint64_t digest_of(uint64_t seed)
{
	struct world w = { .skew_ns = 700, .fault = loses };
	struct weft_config config;
	struct weft_done done;

	loss_permille = 30;
	world_config(&config);
	config.seed = seed;
	setup(&w, &config);
	for (uint64_t i = 0; i < 20; i++)
		world_write(&w, (int)(i % 2), i, i * 100000, 100000);
	CHECK_EQ(world_wait(&w, 0, 10, 100000000, &done), 10);
	CHECK_EQ(world_wait(&w, 1, 10, 100000000, &done), 10);
	uint64_t digest = w.digest;

	world_close(&w);
	return digest;
}

TEST(seeds__the_same_one_means_the_same_run)
{
	uint64_t first = digest_of(77);

	CHECK_EQ(digest_of(77), first);
	CHECK(digest_of(78) != first);
}

static void busy_until(struct world *w, uint64_t end_ns)
{
	struct weft_done done;

	while (w->now < end_ns) {
		if ((uint16_t)(w->qp[0]->sq_tail - w->qp[0]->sq_head) < 4)
			world_write(w, 0, 1, 0, 1 << 20);
		while (weft_poll(w->end[0], 0, &done, 1))
			CHECK_EQ(done.status, WEFT_OK);
		world_step(w);
	}
}

TEST(dynamic_mpr__shrinks_and_grows_what_is_under_way)
{
	static const uint32_t windows[] = { 4096, 128, 256, 128, 4096 };
	struct world w = { .check = true };
	struct weft_config config;

	world_config(&config);
	setup(&w, &config);
	w.qp[0]->dynamic_mpr = w.qp[1]->dynamic_mpr = true;
	for (uint32_t i = 0; i < WEFT_COUNT(windows); i++) {
		uint32_t most = 0;

		CHECK_EQ(weft_qp_set_mpr(w.qp[1], windows[i]), 0);
		busy_until(&w, w.now + 40000); /* it has to be heard of first */
		for (uint64_t end_ns = w.now + 100000; w.now < end_ns;) {
			busy_until(&w, w.now + 100);
			most = WEFT_MAX(most, sent_outstanding(w.qp[0]));
		}
		CHECK_EQ(w.qp[0]->mpr_tx, windows[i]);
		CHECK(most < windows[i]);
		CHECK(most > WEFT_MIN(windows[i] - 3, 200u));
	}
	CHECK_EQ(weft_stats(w.end[1])->drops[WEFT_DROP_PSN_ABOVE], 0);
	CHECK_EQ(weft_stats(w.end[0])->tx_rtx_pkts, 0);
	world_close(&w);
}

TEST(penalty__of_the_receiver_shrinks_the_window_until_it_is_lifted)
{
	struct world w = { .check = true };
	struct weft_config config;
	struct weft_qp_info before, during, after;

	world_config(&config);
	setup(&w, &config);
	busy_until(&w, w.now + 200000);
	weft_qp_info(w.qp[0], &before);
	CHECK_EQ(weft_qp_set_penalty(w.qp[1], 64), 0);
	busy_until(&w, w.now + 100000);
	weft_qp_info(w.qp[0], &during);
	CHECK_EQ(weft_qp_set_penalty(w.qp[1], 0), 0);
	CHECK_EQ(weft_qp_set_penalty(w.qp[1], 0), 0); /* said twice, meant once */
	busy_until(&w, w.now + 100000);
	weft_qp_info(w.qp[0], &after);
	CHECK(during.cc.cwnd_bytes < before.cc.cwnd_bytes * 3 / 4);
	CHECK(after.cc.cwnd_bytes > before.cc.cwnd_bytes * 3 / 4);
	world_close(&w);
}

TEST(time__a_long_silence_is_no_reason_to_doubt_anything)
{
	/* Records hold 32 bits of 16 ns: the circle is 68 s, its far half begins at 34 s. */
	static const uint64_t silence_s[] = { 1, 33, 36, 50, 67, 69, 100, 1000000 };

	for (uint32_t i = 0; i < WEFT_COUNT(silence_s); i++) {
		struct world w = { .check = true, .skew_ns = 900 };
		struct weft_config config;

		world_config(&config);
		setup(&w, &config);
		busy_until(&w, w.now + 50000);
		world_run_until(&w, w.now + silence_s[i] * 1000000000);
		busy_until(&w, w.now + 200000);
		const struct weft_counters *c = weft_stats(w.end[0]);

		if (c->tx_rtx_pkts || c->paths_retired)
			CHECK_FAIL("after %" PRIu64 " s: %" PRIu64 " repeats, %" PRIu64
				   " paths retired",
				   silence_s[i], c->tx_rtx_pkts, c->paths_retired);
		CHECK_EQ(c->timeouts, 0);
		world_close(&w);
	}
}

static bool plane_3_is_dead(struct world *w, int from, struct weft_pkt *pkt)
{
	(void)w;
	(void)from;
	return pkt->port == 3;
}

TEST(time__a_plane_that_died_in_a_long_silence_is_given_up_at_once)
{
	struct world w = { .check = true };
	struct weft_config config;

	world_config(&config);
	setup(&w, &config);
	busy_until(&w, w.now + 50000);
	world_run_until(&w, w.now + UINT64_C(50000000000));
	w.fault = plane_3_is_dead;
	busy_until(&w, w.now + 100000);
	CHECK_EQ(weft_stats(w.end[0])->planes_suspected, 1);
	CHECK_EQ(w.end[0]->sets[w.set[0]].plane[3].active, 0);
	world_close(&w);
}
