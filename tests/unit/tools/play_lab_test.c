/* SPDX-License-Identifier: BSD-2-Clause */
#include "demos.h"
#include "play_lab.h"

#define FABRIC "fabric: {planes: 2, hosts: 4, radix: 4, port: 100Gb/s, hop: 1us}\nstop: 20ms\n"

static struct weft_scenario_result *play(
	const char *text, struct weft_scenario **play, char error[512])
{
	*error = 0;
	REQUIRE(!weft_scenario_open_text(play, text, strlen(text), "s.yaml", "", error, 512));
	return play_lab_run(*play, 1, 0, NULL, error, 512);
}

TEST(play_lab_run__refuses_what_no_lab_can_do)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ FABRIC "load: [ring]\nengine: {transport: roce}\n",
			"s.yaml:4: engine.transport: other transports than mrc run in the "
			"simulator only" },
		{ FABRIC "load: [ring]\nfaults:\n  - slow h0.p0 to 1Mb/s at 1us\n",
			"s.yaml:5: faults: slow: less than 1 Mb/s in a lab whose time runs so much "
			"slower; a higher --rate helps" },
		{ FABRIC "load:\n  - ring: {bytes: 65MiB}\n",
			"s.yaml:4: ring: a message of more than 64 MiB" },
		{ "fabric: {hosts: 65, radix: 32}\nstop: 1ms\nload: [incast:2]\n",
			"s.yaml:1: fabric: more than 64 hosts: too many processes for a lab of one "
			"machine" },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_scenario *scenario;
		char error[512];

		CHECK(!play(rows[i].text, &scenario, error));
		CHECK_STR(error, rows[i].error);
		weft_scenario_close(scenario);
	}
}

/*
 * Flows that wait for each other, a step that computes, and a cable that goes and comes back: all
 * of it ends, bytes are right (or there would be no result), and nothing is quicker than arithmetic
 * allows.
 */
TEST(play_lab_run__runs_a_scenario_live)
{
	struct weft_scenario *scenario;
	struct weft_scenario_judgement j;
	char error[512];

	need_namespaces();
	struct weft_scenario_result *r = play(FABRIC
		"load:\n  - ring-allreduce: {bytes: 200KB}\n  - permutation: {bytes: "
		"100KB, at: 40us}\n"
		"faults: [link-down h1.p0 at 5us for 20us, loss h1.p1 percent 20 way up at 0us]\n"
		"expect: [failed == 0, queue_up <= 1KB, completed == 8]\n",
		&scenario, error);

	if (!r)
		fprintf(stderr, "%s\n", error);
	REQUIRE(r);
	CHECK_EQ(r->totals.flows_failed, 0);
	CHECK_EQ(r->totals.flows_done, r->n_flows);
	CHECK(r->slower > 100);
	CHECK(r->totals.lost > 0);
	for (uint32_t g = 0; g < r->n_groups; g++)
		CHECK(weft_scenario_quantile(r, r->groups[g].name, 1, 1) >
			r->groups[g].ideal_ps / 2);
	CHECK(r->totals.now_ps > r->groups[0].ideal_ps);
	weft_scenario_judge(scenario, 0, r, "lab", &j);
	CHECK_EQ(j.verdict, WEFT_SCENARIO_PASSED);
	weft_scenario_judge(scenario, 1, r, "lab", &j);
	CHECK_EQ(j.verdict, WEFT_SCENARIO_SKIPPED);
	CHECK_STR(j.why, "not measured in a lab");
	weft_scenario_judge(scenario, 2, r, "lab", &j);
	CHECK_EQ(j.verdict, WEFT_SCENARIO_PASSED);
	weft_scenario_result_free(r);
	weft_scenario_close(scenario);
}

/* Cables that are slow for a while, and spoil packets: their receivers refuse them, all of them. */
TEST(play_lab_run__slows_and_spoils)
{
	struct weft_scenario *scenario;
	struct weft_scenario_judgement j;
	char error[512];

	need_namespaces();
	struct weft_scenario_result *r = play(FABRIC
		"load:\n  - ring-allreduce: {bytes: 400KB}\n"
		"faults: [slow p0.t0-0:t1-0 to 5Gb/s at 1us for 50us, corrupt h1.p1 percent 20 at "
		"0us]\n"
		"expect: [completed == 4, corrupt >= 1]\n",
		&scenario, error);

	if (!r)
		fprintf(stderr, "%s\n", error);
	REQUIRE(r); /* no byte arrived wrong */
	for (uint32_t i = 0; i < 2; i++) {
		weft_scenario_judge(scenario, i, r, "lab", &j);
		CHECK_EQ(j.verdict, WEFT_SCENARIO_PASSED);
	}
	CHECK(r->totals.lost >= r->totals.corrupt);
	CHECK(r->counters.tx_rtx_pkts > 0);
	weft_scenario_result_free(r);
	weft_scenario_close(scenario);
}
