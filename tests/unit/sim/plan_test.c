/* SPDX-License-Identifier: BSD-2-Clause */
#include "small.h"

#include <stdio.h>

static struct weft_topo *paper(void)
{
	static const char text[] = "name: paper\nplanes: 8\nt0s: 512\nt1s: 256\nhosts: 131072\n"
				   "host_links: {speed: 100Gb/s, delay: 1us}\n"
				   "core_links: {speed: 100Gb/s, delay: 1us}\n";
	struct weft_topo *topo = NULL;
	char error[256];

	REQUIRE(!weft_topo_open_text(&topo, text, sizeof(text) - 1, "paper", error, sizeof(error)));
	return topo;
}

/* The paper's largest fabric must fit this 64 kB for each NIC, all told. */
TEST(weft_sim_estimate__fits_131072_nics_into_64_kb_each)
{
	struct weft_sim_config config;
	struct weft_sim_memory m;
	struct weft_sim_flow *flows = calloc(131072, sizeof(*flows));
	struct weft_topo *topo = paper();
	char error[256] = "";

	REQUIRE(flows);
	weft_sim_config_default(&config);
	config.topo = topo;
	weft_sim_permutation(topo, 2000000, 1, flows);
	CHECK_EQ(weft_sim_estimate(&config, flows, 131072, &m, error, sizeof(error)), 0);
	CHECK_STR(error, "");
	fprintf(stderr,
		"bytes per NIC: endpoints %u, switches %u, packets %u, mail %u, tables %u: %u\n",
		(unsigned)(m.endpoints >> 17), (unsigned)(m.switches >> 17),
		(unsigned)(m.packets >> 17), (unsigned)(m.mail >> 17), (unsigned)(m.tables >> 17),
		(unsigned)(m.total >> 17));
	CHECK_EQ(m.total, m.endpoints + m.switches + m.packets + m.mail + m.tables);
	CHECK(m.total >> 17 <= 64000);
	weft_topo_close(topo);
	free(flows);
}

TEST(plan_make__says_what_is_wrong)
{
	static const struct {
		uint32_t threads, paths, reply_paths;
		enum weft_discipline discipline;
		struct weft_sim_flow flow;
		const char *error;
	} rows[] = {
		{ 0, 16, 16, WEFT_DISCIPLINE_TRIM, { .src = 0, .dst = 1, .len_bytes = 1 },
			"threads: 0, allowed is 1 to 64" },
		{ 65, 16, 16, WEFT_DISCIPLINE_TRIM, { .src = 0, .dst = 1, .len_bytes = 1 },
			"threads: 65, allowed is 1 to 64" },
		{ 1, 3, 3, WEFT_DISCIPLINE_TRIM, { .src = 0, .dst = 1, .len_bytes = 1 },
			"paths: 3, allowed is 4 (planes) to 512" },
		{ 1, 16, 17, WEFT_DISCIPLINE_TRIM, { .src = 0, .dst = 1, .len_bytes = 1 },
			"reply paths: 17, allowed is 4 (planes) to 16 (paths)" },
		{ 1, 16, 16, WEFT_DISCIPLINE_LOSSLESS, { .src = 0, .dst = 1, .len_bytes = 1 },
			"four: switches that pause are for baselines: "
			"MRC's hosts do not honour pauses" },
		{ 1, 16, 16, WEFT_DISCIPLINE_TRIM, { .src = 0, .dst = 16, .len_bytes = 1 },
			"flow 0: from 0 to 16, wanted are two different hosts below 16" },
		{ 1, 16, 16, WEFT_DISCIPLINE_TRIM, { .src = 3, .dst = 3, .len_bytes = 1 },
			"flow 0: from 3 to 3, wanted are two different hosts below 16" },
		{ 1, 16, 16, WEFT_DISCIPLINE_TRIM, { .src = 0, .dst = 1, .len_bytes = 0 },
			"flow 0: 0 bytes" },
	};

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++) {
		struct small s = small_make(SMALL_FOUR);

		s.config.threads = rows[i].threads;
		s.config.paths = rows[i].paths;
		s.config.reply_paths = rows[i].reply_paths;
		s.config.discipline = rows[i].discipline;
		CHECK_EQ(weft_sim_open(&s.sim, &s.config, &rows[i].flow, 1, NULL, 0, s.error,
				 sizeof(s.error)),
			-1);
		CHECK_STR(s.error, rows[i].error);
		CHECK(!s.sim);
		small_close(&s);
	}
}

/* A window is the quickest way from node to node: 122 + 24 bytes at 100 Gb/s and 100 ns. */
/* 3 Tb/s and a round trip of a second: no engine holds so many packets, and that is said. */
TEST(plan_make__refuses_a_nic_that_cannot_be)
{
	struct small s = small_make("name: far\nplanes: 1\nt0s: 1\nhosts: 4\nbase_rtt: 1s\n"
				    "host_links: {speed: 3Tb/s, delay: 1us}\n");

	small_permute(&s, 1000);
	CHECK(weft_sim_open(&s.sim, &s.config, s.flows, s.n, NULL, 0, s.error, sizeof(s.error)));
	CHECK(!strncmp(s.error, "far: host 0: no NIC can be so large: ", 37));
	CHECK(!s.sim);
	small_close(&s);
}

TEST(plan_make__takes_the_shortest_link_for_its_window)
{
	struct small s = small_make(SMALL_FOUR);
	struct plan plan;

	CHECK(plan_make(&s.config, NULL, 0, (uint64_t[]){ UINT64_MAX, 0 }, &plan, s.error,
		sizeof(s.error)));
	CHECK_EQ(plan.window_ps, 100000 + 146 * 80);
	/* 512 ns between T0s and T1s are four windows; 842 ns eight, after the end of a step. */
	CHECK_EQ(plan.windows, 4);
	CHECK_EQ(plan.rings[CLOCK_WINDOW], 13);
	CHECK_EQ(plan.rings[CLOCK_STEP], 4);
	wiring_drop(&plan.wiring);
	/* A fault that makes a link ten times as fast makes the window shorter. */
	CHECK(plan_make(&s.config, NULL, 0,
		(uint64_t[]){ UINT64_C(1000000000000), UINT64_C(1000000000000) }, &plan, s.error,
		sizeof(s.error)));
	CHECK_EQ(plan.window_ps, 100000 + 146 * 8);
	wiring_drop(&plan.wiring);
	small_close(&s);
}

TEST(plan_make__refuses_links_that_differ_too_much)
{
	struct small s = small_make(SMALL_FOUR);
	struct plan plan;

	CHECK(!plan_make(&s.config, NULL, 0, (uint64_t[]){ 1000000, 1000000 }, &plan, s.error,
		sizeof(s.error)));
	CHECK_STR(s.error,
		"four: links differ too much: a frame takes 111 ns over one and 34320500 ns over"
		" another, allowed is a factor of 4095");
	small_close(&s);
}

TEST(plan_share__owns_every_node_once)
{
	struct weft_topo_shape shape = {
		.planes = 3, .t0s = 7, .t1s = 5, .hosts = 40, .hosts_per_t0 = 6
	};

	for (uint32_t n = 1; n <= 7; n++) {
		uint32_t host = 0, t0 = 0, t1 = 0;

		for (uint32_t i = 0; i < n; i++) {
			struct share own = plan_share(&shape, i, n);

			CHECK_EQ(own.host_first, host);
			CHECK_EQ(own.t0_first, t0);
			CHECK_EQ(own.t1_first, t1);
			host = own.host_end;
			t0 = own.t0_end;
			t1 = own.t1_end;
		}
		CHECK_EQ(host, 40);
		CHECK_EQ(t0, 7);
		CHECK_EQ(t1, 5);
	}
}

/* Lanes of a rank own together what the rank owns, however many they are. */
TEST(plan_share__cuts_ranks_into_lanes)
{
	struct weft_topo_shape shape = {
		.planes = 1, .t0s = 13, .t1s = 9, .hosts = 52, .hosts_per_t0 = 4
	};

	for (uint32_t ranks = 1; ranks <= 4; ranks++) {
		for (uint32_t lanes = 1; lanes <= 3; lanes++) {
			for (uint32_t rank = 0; rank < ranks; rank++) {
				struct share own = plan_share(&shape, rank, ranks);
				struct share first =
					plan_share(&shape, rank * lanes, ranks * lanes);
				struct share last =
					plan_share(&shape, (rank + 1) * lanes - 1, ranks * lanes);

				CHECK_EQ(first.host_first, own.host_first);
				CHECK_EQ(first.t1_first, own.t1_first);
				CHECK_EQ(last.host_end, own.host_end);
				CHECK_EQ(last.t0_end, own.t0_end);
				CHECK_EQ(last.t1_end, own.t1_end);
			}
		}
	}
}
