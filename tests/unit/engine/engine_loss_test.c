/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

static uint64_t fault_from_ns;
static uint32_t fault_ev;
static uint32_t fault_permille;

static void setup(struct world *w, uint32_t paths)
{
	struct weft_config config;

	world_config(&config);
	world_open(w, &config);
	world_connect(w, paths, paths / 2, &weft_cc_nscc);
}

static bool one_path_dies(struct world *w, int from, struct weft_pkt *pkt)
{
	return from == 0 && w->now >= fault_from_ns && pkt->ev == fault_ev;
}

static bool one_plane_dies(struct world *w, int from, struct weft_pkt *pkt)
{
	(void)from;
	return w->now >= fault_from_ns && pkt->port == 3;
}

static bool one_path_loses(struct world *w, int from, struct weft_pkt *pkt)
{
	return from == 0 && pkt->ev == fault_ev && weft_rng_chance(&w->rng, 20, 100);
}

static bool everything_loses(struct world *w, int from, struct weft_pkt *pkt)
{
	(void)from;
	(void)pkt;
	return weft_rng_chance(&w->rng, fault_permille, 1000);
}

static struct weft_path_info path_of(struct world *w, int end, uint32_t ev)
{
	struct weft_path_info info = { 0 };

	for (uint32_t i = 0; !weft_path_info(w->end[end], w->set[end], i, &info); i++)
		if (info.ev == ev)
			break;
	return info;
}

/* Returns how long it took, in ns. */
static uint64_t transfer(struct world *w, uint64_t limit_ns)
{
	struct weft_done done = { 0 };
	uint64_t start_ns = w->now;

	world_write(w, 0, 1, 0, WORLD_MEMORY);
	CHECK_EQ(world_wait(w, 0, 1, limit_ns, &done), 1);
	CHECK_EQ(done.status, WEFT_OK);
	CHECK_MEM(w->memory[1], w->memory[0], WORLD_MEMORY);
	return w->now - start_ns;
}

TEST(loss__a_silent_path_is_bypassed_within_3_rtt)
{
	struct world w = { .check = true, .fault = one_path_dies };

	setup(&w, 256);
	fault_from_ns = w.now + 50000;
	fault_ev = 2u << 11 | 5;
	transfer(&w, 10000000);
	struct weft_path_info info = path_of(&w, 0, fault_ev);

	CHECK_EQ(info.state, WEFT_PATH_ASSUMED_BAD);
	CHECK(info.changed_ns - fault_from_ns < 3 * 12000);
	CHECK_EQ(weft_stats(w.end[0])->tx_rtx_pkts, info.lost);
	CHECK_EQ(weft_stats(w.end[0])->timeouts, 0);
	world_close(&w);
}

TEST(loss__a_silent_plane_is_given_up_as_a_whole)
{
	struct world w = { .check = true, .fault = one_plane_dies };

	setup(&w, 256);
	fault_from_ns = w.now + 50000;
	transfer(&w, 10000000);
	CHECK_EQ(weft_stats(w.end[0])->planes_suspected, 1);
	CHECK(weft_stats(w.end[0])->paths_retired < 16);
	CHECK(w.longest_gap_ns < 12000); /* the other planes never stop */
	for (uint32_t uplink = 0; uplink < 32; uplink++)
		CHECK_EQ(path_of(&w, 0, 3u << 11 | uplink).state, WEFT_PATH_ASSUMED_BAD);
	world_close(&w);
}

TEST(loss__a_path_that_loses_20_percent_is_out_within_100_us)
{
	struct world w = { .check = true, .fault = one_path_loses };

	setup(&w, 16);
	fault_ev = 2u << 11;
	uint64_t start_ns = w.now;

	transfer(&w, 10000000);
	struct weft_path_info info = path_of(&w, 0, fault_ev);

	CHECK_EQ(info.state, WEFT_PATH_ASSUMED_BAD);
	CHECK(info.changed_ns - start_ns < 100000);
	CHECK(weft_stats(w.end[0])->lost_fifo > 0);
	world_close(&w);
}

TEST(loss__one_percent_everywhere_costs_little_more_than_one_percent)
{
	struct world w = { .check = true, .fault = everything_loses };

	setup(&w, 256);
	fault_permille = 10;
	transfer(&w, 10000000);
	CHECK(weft_stats(w.end[0])->tx_rtx_pkts <= 41 * 13 / 10);
	CHECK_EQ(weft_stats(w.end[0])->spurious, 0);
	world_close(&w);
}

TEST(loss__thirty_percent_everywhere_is_survived)
{
	struct world w = { .check = true, .fault = everything_loses };
	struct weft_qp_info info;

	setup(&w, 16);
	fault_permille = 300;
	transfer(&w, 1000000000);
	weft_qp_info(w.qp[0], &info);
	CHECK_EQ(info.state, WEFT_QP_RTS);
	CHECK(weft_stats(w.end[0])->lost_reorder + weft_stats(w.end[0])->lost_fifo > 0);
	world_close(&w);
}

static bool first_packet_is_lost(struct world *w, int from, struct weft_pkt *pkt)
{
	(void)w;
	return from == 0 && weft_op_is_write(pkt->op) && fault_permille && fault_permille--;
}

/*
 * False alarms have taught to wait for sixteen times as long until something overtakes.  Nothing
 * newer is sent, so only a late question would: age tells at the answer to an early one.
 */
TEST(loss__age_tells_of_a_hole_that_holds_up_everything)
{
	struct world w = { .check = true, .fault = first_packet_is_lost };
	struct weft_done done = { 0 };

	setup(&w, 64);
	fault_permille = 1;
	w.qp[0]->spurious_shift = 4;
	w.qp[0]->spurious_ns = w.now;
	uint64_t start_ns = w.now;

	world_write(&w, 0, 1, 0, 8 * 4096);
	CHECK_EQ(world_wait(&w, 0, 1, 10000000, &done), 1);
	CHECK_EQ(done.status, WEFT_OK);
	CHECK_EQ(weft_stats(w.end[0])->tx_rtx_pkts, 1);
	CHECK_EQ(weft_stats(w.end[0])->lost_reorder, 1);
	CHECK_EQ(weft_stats(w.end[0])->timeouts, 0);
	CHECK(w.now - start_ns < 8 * w.config.base_rtt_ns); /* 21 without */
	world_close(&w);
}

/* The peer answers each question: it is not silent, so that the next need not wait for longer. */
TEST(loss__repeats_that_are_lost_cost_a_few_round_trips_each)
{
	struct world w = { .check = true, .fault = first_packet_is_lost };
	struct weft_done done = { 0 };

	setup(&w, 64);
	world_write(&w, 0, 1, 0, 64 * 4096); /* lets it learn the round trip */
	CHECK_EQ(world_wait(&w, 0, 1, 10000000, &done), 1);
	fault_permille = 6;
	uint64_t start_ns = w.now;

	world_write(&w, 0, 2, 0, 4096);
	CHECK_EQ(world_wait(&w, 0, 1, 10000000, &done), 1);
	CHECK_EQ(done.status, WEFT_OK);
	CHECK_EQ(fault_permille, 0);
	CHECK_EQ(weft_stats(w.end[0])->timeouts, 0);
	CHECK(w.now - start_ns < 22 * w.config.base_rtt_ns); /* 56 where each wait doubled */
	world_close(&w);
}

TEST(loss__silence_of_everybody_is_not_blamed_on_paths)
{
	struct world w = { .check = true, .fault = everything_loses };

	setup(&w, 16);
	fault_permille = 1000;
	world_write(&w, 0, 1, 0, 1 << 20);
	world_run_until(&w, w.now + 600000);
	CHECK(weft_stats(w.end[0])->timeouts > 0);
	CHECK_EQ(weft_stats(w.end[0])->paths_retired, 0);
	fault_permille = 0;
	struct weft_done done = { 0 };

	CHECK_EQ(world_wait(&w, 0, 1, 10000000, &done), 1);
	CHECK_EQ(done.status, WEFT_OK);
	world_close(&w);
}

TEST(loss_find_dark__blames_nobody_for_what_all_planes_lost)
{
	struct world w = { .check = true, .fault = everything_loses };
	struct weft_done done = { 0 };

	setup(&w, 16);
	fault_permille = 0;
	world_write(&w, 0, 1, 0, 16 << 20);
	world_run_until(&w, w.now + 50000);
	uint32_t cwnd = w.qp[0]->cwnd;

	fault_permille = 1000;
	world_run_until(&w, w.now + 60000);
	fault_permille = 0;
	CHECK_EQ(weft_stats(w.end[0])->lost_port, 0);
	while (!weft_stats(w.end[0])->lost_port && w.now < 1000000)
		world_step(&w);
	CHECK(weft_stats(w.end[0])->lost_port >= 16);
	CHECK_EQ(weft_stats(w.end[0])->timeouts, 0);
	CHECK(w.qp[0]->cwnd >= cwnd - 4 * 4096); /* no congestion */
	CHECK_EQ(world_wait(&w, 0, 1, 10000000, &done), 1);
	CHECK_EQ(done.status, WEFT_OK);
	CHECK_EQ(weft_stats(w.end[0])->paths_retired, 0);
	CHECK_EQ(weft_stats(w.end[0])->planes_suspected, 0);
	world_close(&w);
}

TEST(loss__the_retry_budget_ends_a_qp_that_nobody_answers)
{
	struct world w = { .check = true, .fault = everything_loses };
	struct weft_done done = { 0 };
	uint64_t start_ns;

	setup(&w, 16);
	fault_permille = 1000;
	start_ns = w.now;
	world_write(&w, 0, 1, 0, 1 << 20);
	CHECK_EQ(world_wait(&w, 0, 1, UINT64_C(60000000000), &done), 1);
	CHECK_EQ(done.status, WEFT_RETRY_EXCEEDED);
	/* 262 us three times (two linear, then 2^0), then doubled five times. */
	CHECK(w.now - start_ns > UINT64_C(262144) * (3 + 2 + 4 + 8 + 16));
	CHECK(w.now - start_ns < UINT64_C(262144) * (3 + 2 + 4 + 8 + 16 + 32) * 3 / 2);
	world_close(&w);
}

/* What left a moment later is older than the doubled interval before that is over. */
TEST(time_out__a_doubled_interval_is_waited_for)
{
	struct world w = { .check = true, .fault = everything_loses };
	struct weft_qp_attr attr = { .timeout_exp = 8, .linear_count = 0, .retry_count = 1 };
	struct weft_done done = { 0 };
	uint64_t start_ns;

	setup(&w, 16);
	CHECK_EQ(weft_qp_set_retry(w.qp[0], &attr), 0);
	fault_permille = 1000;
	start_ns = w.now;
	world_write(&w, 0, 1, 0, 4096);
	world_run_until(&w, w.now + 100000);
	world_write(&w, 0, 2, 0, 4096);
	CHECK_EQ(world_wait(&w, 0, 1, UINT64_C(1000000000), &done), 1);
	CHECK_EQ(done.status, WEFT_RETRY_EXCEEDED);
	CHECK(w.now - start_ns >= UINT64_C(262144) * (1 + 2));
	CHECK(w.now - start_ns < UINT64_C(262144) * (1 + 2) + 300000);
	world_close(&w);
}

/* By the clock, for programs that say how long, and not how often. */
TEST(loss__the_time_to_give_up_is_kept)
{
	static const uint64_t give_up_ns[] = { 3000000, 20000000, 537000000 };

	for (size_t i = 0; i < WEFT_COUNT(give_up_ns); i++) {
		struct world w = { .check = true, .fault = everything_loses };
		struct weft_done done = { 0 };
		struct weft_qp_attr attr = { .timeout_exp = 8, .timeout_exp_max = 12,
			.linear_count = 1, .retry_count = 24, .give_up_ns = give_up_ns[i] };
		uint64_t start_ns;

		setup(&w, 16);
		CHECK_EQ(weft_qp_set_retry(w.qp[0], &attr), 0);
		fault_permille = 0;
		world_write(&w, 0, 1, 0, 1 << 20);
		CHECK_EQ(world_wait(&w, 0, 1, UINT64_C(60000000000), &done), 1);
		CHECK_EQ(done.status, WEFT_OK);
		fault_permille = 1000;
		start_ns = w.now;
		world_write(&w, 0, 2, 0, 1 << 20);
		CHECK_EQ(world_wait(&w, 0, 1, UINT64_C(60000000000), &done), 1);
		CHECK_EQ(done.status, WEFT_RETRY_EXCEEDED);
		CHECK(w.now - start_ns >= give_up_ns[i]);
		CHECK(w.now - start_ns < give_up_ns[i] + 1000000);
		world_close(&w);
	}
}

/* Our own pause is nobody's silence: who did not run has asked nobody. */
TEST(is_spent__wants_three_questions_whatever_the_clock_says)
{
	struct world w = { .check = true, .fault = everything_loses };
	struct weft_qp_attr attr = { .timeout_exp = 8, .timeout_exp_max = 12, .linear_count = 1,
		.retry_count = 24, .give_up_ns = 5000000 };
	struct weft_done done = { 0 };

	setup(&w, 16);
	CHECK_EQ(weft_qp_set_retry(w.qp[0], &attr), 0);
	fault_permille = 1000;
	world_write(&w, 0, 1, 0, 4096);
	world_run_until(&w, w.now + 100000);
	w.now += 10000000; /* nobody ran */
	fault_permille = 0;
	CHECK_EQ(world_wait(&w, 0, 1, UINT64_C(1000000000), &done), 1);
	CHECK_EQ(done.status, WEFT_OK);
	world_close(&w);
}
