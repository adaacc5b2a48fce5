/* SPDX-License-Identifier: BSD-2-Clause */
#include "demos.h"
#include "play_lab.h"

#include <sys/mman.h>

/* Whole hosts run in play_lab_test.c; here one that finds no fabric, and says so. */
TEST(play_lab_host_run__tells_why_it_cannot_begin)
{
	struct weft_sim_config config;
	struct weft_sim_flow flow = { .src = 0, .dst = 1, .len_bytes = 1 };
	struct weft_scenario_script script = { .config = &config, .flows = &flow, .n_flows = 1 };
	struct play_lab_pair pair = { .src = 0, .dst = 1 };
	struct play_lab_shared *shared = calloc(1, sizeof(*shared) + sizeof(struct play_lab_flow));
	uint32_t pair_of = 0;
	bool told = false;
	uint8_t pattern[1] = { 5 };
	struct play_lab l = { .script = &script,
		.shared = shared,
		.pairs = &pair,
		.n_pairs = 1,
		.hosts = 2,
		.pair_of = &pair_of,
		.told = &told,
		.pattern = pattern,
		.pattern_bytes = 1,
		.slower = 1 };

	REQUIRE(shared);
	weft_sim_config_default(&config);
	unsetenv("WEFT_FABRIC");
	play_lab_host_run(&l, 0);
	CHECK(shared->hosts[0].has_failed);
	CHECK(strstr(shared->hosts[0].error, "h0: no fabric"));
	CHECK_EQ(shared->ended, 1);
	free(shared);
}

TEST(play_lab_ns__is_the_labs_time)
{
	struct play_lab l = { .slower = 2000 };

	CHECK_EQ(play_lab_ns(&l, 5000000), 10000000); /* 5 us are 10 ms */
}
