/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

TEST(traffic_read__says_what_is_wrong)
{
	static const struct {
		const char *load, *error;
	} rows[] = {
		{ "- permutaton",
			"s.yaml:4: load: no load 'permutaton', did you mean 'permutation'?" },
		{ "- ring:4", "s.yaml:4: load: 'ring:4': only incast has a number" },
		{ "- incast", "s.yaml:4: incast: it needs fan_in" },
		{ "- incast:13",
			"s.yaml:4: incast.fan_in: 13 hosts are to send to h0, and 12 hang" },
		{ "- ring: {byte: 3B}",
			"s.yaml:4: ring.byte: no such field, did you mean 'bytes'?" },
		{ "- {ring: {}, incast: {}}", "s.yaml:4: load: one kind" },
		{ "- flows: {from: h0}", "s.yaml:4: flows: it needs from and to" },
		{ "- flows: {from: h0, to: h99}", "s.yaml:4: flows.to: 'h99' is no host" },
		{ "- flows: {from: [h0, h1], to: [h2]}",
			"s.yaml:4: flows.to: 1 hosts, but 2 send" },
		{ "- flows: {from: h3, to: h3}",
			"s.yaml:4: flows.to: pair 1 is a host and itself" },
	};
	char text[512];

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++) {
		(void)snprintf(text, sizeof(text), STAGE_BASE "load:\n  %s\n", rows[i].load);
		stage_refuse(text, rows[i].error);
	}
}

TEST(traffic_fill__sends_pair_by_pair_and_back)
{
	struct weft_play *play =
		stage_open(STAGE_BASE "load:\n  - flows: {from: [h0, h5], to: [h9, h2], both: "
				      "true, bytes: 3KB, at: 4us}\n");
	struct weft_sim_flow flows[4];

	REQUIRE(traffic_count(play->topo, &play->loads[0]) == 4);
	CHECK(traffic_fill(play->topo, &play->loads[0], 1, flows));
	CHECK_EQ(flows[1].src, 5);
	CHECK_EQ(flows[1].dst, 2);
	CHECK_EQ(flows[2].src, 9);
	CHECK_EQ(flows[2].dst, 0);
	CHECK_EQ(flows[3].len_bytes, 3000);
	CHECK_EQ(flows[3].start_ps, 4000000);
	weft_play_close(play);
}

/* 4096 of 4262 bytes on the line, two planes of 100 Gb/s, as many receivers as there are. */
TEST(traffic_line_bps__is_what_receivers_can_take)
{
	struct weft_play *play = stage_open(STAGE_BASE "load: [ring, incast:5]\n");
	struct weft_sim_flow flows[16];

	CHECK(traffic_fill(play->topo, &play->loads[0], 1, flows));
	CHECK_NEAR(traffic_line_bps(play->topo, flows, 16), 16 * 200e9 * 4096 / 4262, 1e6);
	CHECK(traffic_fill(play->topo, &play->loads[1], 1, flows));
	CHECK_NEAR(traffic_line_bps(play->topo, flows, 5), 200e9 * 4096 / 4262, 1e6);
	weft_play_close(play);
}
