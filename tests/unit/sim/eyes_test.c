/* SPDX-License-Identifier: BSD-2-Clause */
#include "small.h"

/* Fifteen to one: what waits, waits above the receiver, and what is cut is cut there. */
static void crowd(struct small *s)
{
	for (uint32_t i = 1; i < 16; i++)
		s->flows[s->n++] =
			(struct weft_sim_flow){ .src = i, .dst = 0, .len_bytes = 500000 };
	small_open(s);
	weft_sim_run(s->sim, 20000000, NULL, NULL);
}

TEST(weft_sim_queues__shows_where_an_incast_waits)
{
	struct small s = small_make(SMALL_ONE);
	struct weft_sim_tier tiers[WEFT_SIM_TIERS];

	crowd(&s);
	weft_sim_queues(s.sim, 0, tiers);
	CHECK(tiers[2].waiting_max_bytes > 100000);
	CHECK_EQ(tiers[2].waiting_bytes, tiers[2].waiting_max_bytes); /* one port only */
	CHECK(tiers[0].waiting_bytes < tiers[2].waiting_bytes);
	small_close(&s);
}

TEST(weft_sim_plane__adds_up_to_the_totals)
{
	struct small s = small_make(SMALL_ONE);
	struct weft_sim_plane counts;
	struct weft_sim_totals totals;

	crowd(&s);
	weft_sim_plane(s.sim, 0, &counts);
	weft_sim_totals(s.sim, &totals);
	CHECK(totals.trimmed > 0);
	CHECK_EQ(counts.trimmed[0] + counts.trimmed[1], totals.trimmed);
	CHECK_EQ(counts.marked[0] + counts.marked[1], totals.marked);
	small_close(&s);
}

/* Host 0 receives from two jobs, host 2 from one; of baselines it is known to the byte. */
static void see_jobs(enum weft_baseline_kind kind, double tolerance)
{
	struct small s = small_make(SMALL_ONE);
	struct weft_counters sum;
	uint64_t bytes[3];

	s.flows[s.n++] = (struct weft_sim_flow){ .src = 5, .dst = 0, .len_bytes = 400000 };
	s.flows[s.n++] =
		(struct weft_sim_flow){ .src = 9, .dst = 0, .len_bytes = 100000, .job = 1 };
	s.flows[s.n++] =
		(struct weft_sim_flow){ .src = 9, .dst = 2, .len_bytes = 300000, .job = 1 };
	s.config.baseline.kind = kind;
	small_open(&s);
	weft_sim_run(s.sim, UINT64_C(2000000), NULL, NULL);
	weft_sim_jobs(s.sim, bytes, 3);
	weft_sim_counters(s.sim, &sum);
	CHECK(bytes[0] + bytes[1] <= sum.rx_data_bytes &&
		bytes[0] + bytes[1] + 2 > sum.rx_data_bytes);
	small_run(&s);
	weft_sim_jobs(s.sim, bytes, 3);
	CHECK_NEAR((double)bytes[0], 400e3, tolerance);
	CHECK_NEAR((double)bytes[1], 400e3, tolerance);
	CHECK_EQ(bytes[2], 0);
	small_close(&s);
}

TEST(weft_sim_jobs__tells_what_has_come_of_each)
{
	see_jobs(WEFT_BASELINE_NONE, 400);
	see_jobs(WEFT_BASELINE_ROCE, 1);
}

TEST(weft_sim_flow_path__shows_all_paths_of_the_sender)
{
	struct small s = small_make(SMALL_ONE);
	struct weft_path_info info;
	uint32_t sent = 0;

	crowd(&s);
	for (uint32_t i = 0; i < 4; i++) {
		REQUIRE(weft_sim_flow_path(s.sim, 10, i, &info));
		sent += info.sent;
	}
	CHECK(!weft_sim_flow_path(s.sim, 10, 4, &info));
	CHECK_EQ(sent, small_counters(s.sim, 11).tx_data_pkts);
	small_close(&s);
}

/* A plane's cable out at one host: its paths to and from there are not good, all others are. */
TEST(weft_sim_paths__counts_states_by_plane)
{
	struct small s = small_make(SMALL_FOUR);
	uint64_t states[4][WEFT_SIM_PATH_STATES];

	small_permute(&s, 4000000);
	s.faults[s.n_faults++] = (struct weft_sim_fault){ 20000000, WEFT_SIM_LINK_DOWN,
		weft_topo_link_find(s.topo, "h3.p2"), 0 };
	small_open(&s);
	weft_sim_run(s.sim, 15000000, NULL, NULL);
	uint64_t n = weft_sim_paths(s.sim, states);

	CHECK(n > 8 * 16 && n <= 16 * 16); /* pairs below one T0 have one path in each plane */
	for (uint32_t p = 0; p < 4; p++)
		CHECK_EQ(states[p][0] + states[p][1], n / 4); /* good, or marked just now */
	weft_sim_run(s.sim, 40000000, NULL, NULL);
	CHECK_EQ(weft_sim_paths(s.sim, states), n);
	CHECK(states[2][2] + states[2][3] >= 4);
	CHECK(states[2][2] + states[2][3] <= 8 + 8);
	CHECK_EQ(states[0][2] + states[0][3], 0);
	small_close(&s);
}

/* Looking changes nothing, and a run in steps is the same run. */
TEST(weft_sim_run__is_the_same_in_steps)
{
	struct small s = small_make(SMALL_FOUR), steps = small_make(SMALL_FOUR);
	struct weft_sim_tier tiers[WEFT_SIM_TIERS];

	small_permute(&s, 500000);
	small_permute(&steps, 500000);
	small_run(&s);
	small_open(&steps);
	for (uint64_t ps = 0; ps < 200000000; ps += 1500000) {
		weft_sim_run(steps.sim, ps, NULL, NULL);
		weft_sim_queues(steps.sim, 3, tiers);
	}
	small_run(&steps);
	CHECK_EQ(steps.totals.digest, s.totals.digest);
	CHECK_EQ(small_last_ps(&steps), small_last_ps(&s));
	small_close(&steps);
	small_close(&s);
}
