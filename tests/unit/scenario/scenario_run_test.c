/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

TEST(weft_scenario_run__is_the_same_for_any_threads_and_sampling)
{
	struct weft_scenario *play = stage_open(
		STAGE_BASE STAGE_LOAD "faults:\n  - flap p*.t0-*:* up 40us down 5us at 0us\n"
				      "  - loss p0.t0-1:t1-* percent 1 at 3us\n");
	struct weft_scenario_options options = { .seed = 3, .threads = 1, .rows_max = 100 };
	char error[256];
	struct weft_scenario_result *a = weft_scenario_run(play, &options, error, sizeof(error));

	options.threads = 2;
	options.rows_max = 16;
	struct weft_scenario_result *b = weft_scenario_run(play, &options, error, sizeof(error));

	REQUIRE(a && b);
	CHECK_EQ(a->totals.flows_done, 16);
	CHECK(a->totals.lost > 0);
	CHECK_EQ(a->totals.digest, b->totals.digest);
	CHECK_EQ(a->totals.lost, b->totals.lost);
	CHECK_EQ(weft_scenario_quantile(a, NULL, 1, 1), weft_scenario_quantile(b, NULL, 1, 1));
	CHECK(a->rows != b->rows);
	weft_scenario_result_free(a);
	weft_scenario_result_free(b);
	weft_scenario_close(play);
}

TEST(weft_scenario_run__knows_its_loads_by_name)
{
	struct weft_scenario *play = stage_open(STAGE_BASE "load: [ring, ring, incast:4]\n");
	struct weft_scenario_result *r = stage_run(play, 1);

	REQUIRE(r->n_groups == 3);
	CHECK_STR(r->groups[0].name, "ring");
	CHECK_STR(r->groups[1].name, "load2");
	CHECK_EQ(r->groups[2].first, 32);
	CHECK_EQ(r->n_flows, 36);
	for (uint32_t g = 0; g < 3; g++) {
		const struct weft_scenario_group *group = &r->groups[g];

		/* Nothing is quicker than arithmetic allows; together they need longer. */
		CHECK(weft_scenario_quantile(r, group->name, 1, 1) > group->ideal_ps);
		CHECK(r->ideal_ps >= group->ideal_ps);
	}
	weft_scenario_result_free(r);
	weft_scenario_close(play);
}

TEST(weft_scenario_estimate__tells_before)
{
	struct weft_scenario *play = stage_open(STAGE_BASE STAGE_LOAD);
	struct weft_sim_memory m = { 0 };
	char error[256];

	CHECK(weft_scenario_estimate(
		play, &(struct weft_scenario_options){ .seed = 1 }, &m, error, sizeof(error)));
	CHECK(m.total > 100000);
	weft_scenario_close(play);
}

static bool give_up(void *arg, const struct weft_sim_totals *so_far)
{
	(void)so_far;
	return ++*(unsigned *)arg < 20;
}

TEST(weft_scenario_run__stops_when_told)
{
	struct weft_scenario *play = stage_open(STAGE_BASE STAGE_LOAD);
	unsigned windows = 0;
	struct weft_scenario_options options = {
		.seed = 1, .watch = give_up, .watch_arg = &windows
	};
	char error[256];
	struct weft_scenario_result *r = weft_scenario_run(play, &options, error, sizeof(error));

	REQUIRE(r);
	CHECK_EQ(r->totals.flows_done, 0);
	weft_scenario_result_free(r);
	weft_scenario_close(play);
}

/* Who only answers cannot tell which plane is dead; his answers go by the one that asks. */
TEST(weft_scenario_run__flows_end_though_one_of_two_planes_dies_silently)
{
	static const char *const faults[] = { "freeze p0.t1-* at 10us",
		"switch-down p1.t1-* at 10us", "plane-freeze p0 at 10us" };
	char text[512];

	for (size_t i = 0; i < WEFT_COUNT(faults); i++) {
		(void)snprintf(text, sizeof(text),
			STAGE_FABRIC "stop: 20ms\nload:\n  - flows: {from: [h0], to: [h12], "
				     "bytes: 4MB}\nfaults:\n  - %s\n",
			faults[i]);
		struct weft_scenario *play = stage_open(text);
		struct weft_scenario_result *r = stage_run(play, 1);

		CHECK_EQ(r->totals.flows_done, 1);
		weft_scenario_result_free(r);
		weft_scenario_close(play);
	}
}

/*
 * A plane falls silent, with SACKs on it, after another one has lost carrier or not: neighbours
 * have one path per plane, so all of them are hit.  Or a host is gone for a while, and with it all
 * of a window and more, most of which no SACK ever shows.  Nobody may wait for a timer.
 */
TEST(weft_scenario_run__nobody_waits_for_a_timer_when_much_is_lost_at_once)
{
	static const struct {
		const char *text;
		double most; /* x ideal */
	} rows[] = {
		{ "fabric: {planes: 4, hosts: 32, radix: 16, port: 200Gb/s, hop: 600ns}\n"
		  "stop: 4ms\nload:\n  - ring: {bytes: 30MB}\n"
		  "faults:\n  - plane-freeze p2 at 70us for 40us\n",
			2 },
		{ "fabric: {planes: 4, hosts: 32, radix: 16, port: 200Gb/s, hop: 600ns}\n"
		  "stop: 4ms\nload:\n  - ring: {bytes: 30MB}\n"
		  "faults:\n  - plane-down p1 at 30us for 40us\n"
		  "  - plane-freeze p2 at 90us for 40us\n",
			2 },
		{ "fabric: {planes: 8, hosts: 32, radix: 16, port: 200Gb/s, hop: 600ns}\n"
		  "stop: 4ms\nengine: {paths: 8}\nload:\n  - permutation: {bytes: 4MB}\n"
		  "faults:\n  - pause h16 at 20us for 40us\n",
			10 },
	};

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_scenario *play = stage_open(rows[i].text);
		struct weft_scenario_result *r = stage_run(play, 1);

		CHECK_EQ(r->n_done, 32);
		CHECK_EQ(r->counters.timeouts, 0);
		CHECK((double)r->took_ps < rows[i].most * (double)r->ideal_ps);
		weft_scenario_result_free(r);
		weft_scenario_close(play);
	}
}
