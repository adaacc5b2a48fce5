/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

#include <unistd.h>

TEST(weft_scenario_open_text__reads_all_of_it)
{
	struct weft_scenario *play = stage_open("name: all\ntitle: a title\ntell: a story\n"
					    "picture: goodput\nseeds: 2-4\n" STAGE_BASE
					    "engine: {paths: 8, full: drop}\nload: [ring, {incast: "
					    "{fan_in: 3, name: crowd}}]\nfaults:\n  - freeze "
					    "p0.t1-1 at 5us for 3us\n  - loss: {where: h1.p0, at: "
					    "0us, percent: 2}\nexpect:\n  - completed == 19\n  - "
					    "{claim: crowd.fct_max <= 2 ideal, in: sim}\n  - "
					    "{digest: 0123456789abcdef}\n");
	const struct weft_scenario_head *h = weft_scenario_head(play);

	CHECK_STR(h->name, "all");
	CHECK_STR(h->title, "a title");
	CHECK_STR(h->tell, "a story");
	CHECK_STR(h->picture, "goodput");
	CHECK_EQ(h->seed_first, 2);
	CHECK_EQ(h->seed_last, 4);
	CHECK_EQ(h->stop_ps, UINT64_C(2000000000));
	CHECK_EQ(h->n_loads, 2);
	CHECK_EQ(h->n_faults, 2);
	CHECK_EQ(h->n_claims, 3);
	CHECK_EQ(weft_topo_shape(weft_scenario_topo(play))->hosts, 16);
	CHECK_EQ(play->claims[2].seed, 2); /* a digest is one seed's */
	weft_scenario_close(play);
	play = stage_open(STAGE_BASE STAGE_LOAD "seeds: 7\n");
	CHECK_EQ(weft_scenario_head(play)->seed_first, 7);
	CHECK_EQ(weft_scenario_head(play)->seed_last, 7);
	weft_scenario_close(play);
}

TEST(weft_scenario_open_text__names_file_line_field)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ "", "s.yaml:1: the file is empty" },
		{ "a: [", "s.yaml:2: not YAML: " },
		{ STAGE_STOP STAGE_LOAD, "s.yaml:1: fabric: missing" },
		{ STAGE_FABRIC STAGE_LOAD, "s.yaml:1: stop: missing" },
		{ STAGE_BASE, "s.yaml:1: load: missing" },
		{ STAGE_BASE "load: 3\n", "s.yaml:3: load: a list is wanted" },
		{ STAGE_BASE "laod: [ring]\n",
			"s.yaml:3: laod: no such field, did you mean 'load'?" },
		{ STAGE_BASE STAGE_LOAD "seeds: 3-1\n", "s.yaml:5: seeds: '3-1', wanted is" },
		{ STAGE_BASE "load:\n  - ring: {bytes: 3MX}\n",
			"s.yaml:4: ring.bytes: \"3MX\", wanted is bytes" },
		{ STAGE_BASE "load:\n  - ring: {at: soon}\n",
			"s.yaml:4: ring.at: \"soon\", wanted is" },
		{ STAGE_BASE STAGE_LOAD "seeds: 3-\n", "s.yaml:5: seeds: '3-', wanted is" },
		{ STAGE_BASE STAGE_LOAD "seeds: 3-4x\n", "s.yaml:5: seeds: '3-4x', wanted is" },
		{ STAGE_BASE STAGE_LOAD "faults:\n  - freze p0.t1-1 at 5us\n",
			"s.yaml:6: faults: freze: did you mean freeze?" },
		{ STAGE_BASE STAGE_LOAD "faults:\n  - freeze: {where: p0.t1-1}\n",
			"s.yaml:6: faults: p0.t1-1: it needs \"at TIME\"" },
		{ STAGE_BASE STAGE_LOAD "faults:\n  - freeze: {where: p0.t1-1, at: 5}\n",
			"s.yaml:6: freeze: at: '5': wanted is a time" },
		{ STAGE_BASE STAGE_LOAD "faults:\n  - {a: 1, b: 2}\n",
			"s.yaml:6: faults: one kind" },
		{ STAGE_BASE STAGE_LOAD "expect:\n  - done == 16\n",
			"s.yaml:6: expect: 'done == 16': no measure 'done'" },
		{ STAGE_BASE STAGE_LOAD "expect:\n  - crowd.flows == 16\n",
			"s.yaml:6: expect: 'crowd.flows == 16': no load is called 'crowd'" },
		{ STAGE_BASE
			"load:\n  - all-gather: {bytes: 1MB}\nexpect:\n  - fct_max <= 2 ideal\n",
			"s.yaml:6: expect: 'fct_max <= 2 ideal': flows that do not begin together "
			"have no ideal in common" },
		{ STAGE_BASE "load:\n  - ring\n  - permutation: {at: 5us}\nexpect:\n"
			     "  - fct_max <= 2 ideal\n",
			"s.yaml:7: expect: 'fct_max <= 2 ideal': flows that do not begin" },
		{ STAGE_BASE "load: [ring, permutation]\nexpect:\n  - jct <= 2 ideal\n",
			"s.yaml:5: expect: 'jct <= 2 ideal': of which load? NAME.jct" },
		{ STAGE_BASE STAGE_LOAD "expect:\n  - recovery_max <= 2 ideal\n",
			"s.yaml:6: expect: 'recovery_max <= 2 ideal': fct, jct and end compare" },
		{ STAGE_BASE STAGE_LOAD "---\nstop: 3ms\n", "s.yaml:6: a second document" },
		{ STAGE_BASE STAGE_LOAD "faults:\n  - freeze: {where: p0.t1-*, of: 5, at: 1us}\n",
			"s.yaml:6: faults: p0.t1-*: \"of\" asks for more" },
		{ STAGE_BASE STAGE_LOAD "expect:\n  - {claim: lost == 0, seeds: 11 of 10}\n",
			"s.yaml:6: expect.seeds: '11 of 10', wanted is K of N" },
		{ STAGE_BASE STAGE_LOAD "expect:\n  - permutation.lost == 0\n",
			"s.yaml:6: expect: 'permutation.lost == 0': lost is of the whole run" },
		{ STAGE_BASE "load: [ring, ring]\nexpect:\n  - ring.completed == 16\n",
			"s.yaml:5: expect: 'ring.completed == 16': 2 loads are called 'ring'" },
		{ STAGE_BASE STAGE_LOAD "expect:\n  - goodput from 1ms to 2001us >= 0.5 line\n",
			"s.yaml:6: expect: 'goodput from 1ms to 2001us >= 0.5 line': the run "
			"ends" },
		{ STAGE_BASE "load:\n  - ring: {at: 2ms}\n",
			"s.yaml:4: ring: it begins at 2000000 ns, and the run ends at 2000000" },
		{ STAGE_BASE STAGE_LOAD "faults:\n  - freeze p0.t1-1 at 2ms\n",
			"s.yaml:6: faults: p0.t1-1: it comes at 2000000 ns, and the run ends" },
		{ STAGE_BASE STAGE_LOAD "expect:\n  - {digest: 12}\n",
			"s.yaml:6: expect.digest: '12'" },
		{ STAGE_BASE STAGE_LOAD "expect:\n  - {in: sim}\n", "s.yaml:6: expect: either" },
		{ STAGE_BASE STAGE_LOAD "expect:\n  - {claim: lost == 0, in: moon}\n",
			"s.yaml:6: expect.in: 'moon', allowed: sim, lab" },
	};

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++)
		stage_refuse(rows[i].text, rows[i].error);
}

TEST(weft_scenario_open__looks_for_fabrics_beside_the_scenario)
{
	char folder[] = "/tmp/weft-play-XXXXXX", path[64], error[512] = "";
	struct weft_scenario *play = NULL;

	REQUIRE(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/f.yaml", folder);
	FILE *fabric = fopen(path, "w");

	REQUIRE(fabric);
	(void)fputs("name: f\nplanes: 1\nt0s: 1\nhosts: 2\n", fabric);
	(void)fclose(fabric);
	CHECK(!weft_scenario_is_scenario(path));
	(void)snprintf(path, sizeof(path), "%s/s.yaml", folder);
	FILE *scenario = fopen(path, "w");

	REQUIRE(scenario);
	(void)fputs("fabric: f.yaml\nstop: 1ms\nload: [ring]\n", scenario);
	(void)fclose(scenario);
	CHECK(weft_scenario_is_scenario(path));
	CHECK_EQ(weft_scenario_open(&play, path, error, sizeof(error)), 0);
	CHECK_STR(error, "");
	weft_scenario_close(play);
	play = NULL;
	(void)unlink(path);
	CHECK_EQ(weft_scenario_open(&play, path, error, sizeof(error)), -1);
	CHECK(strstr(error, "s.yaml: No such file"));
	(void)snprintf(path, sizeof(path), "%s/f.yaml", folder);
	(void)unlink(path);
	(void)rmdir(folder);
}
