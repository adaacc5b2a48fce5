/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

TEST(traffic_read__says_what_is_wrong)
{
	static const struct {
		const char *load, *error;
	} rows[] = {
		{ "- permutaton", "s.yaml:4: load: " },
		{ "- incast:16", "s.yaml:4: incast: " },
		{ "- ring: {byte: 3B}", "s.yaml:4: ring.byte: " },
		{ "- ring: {bytes: many}", "s.yaml:4: ring.bytes: " },
		{ "- ring: 3", "s.yaml:4: ring: a mapping" },
		{ "- {ring: {}, incast: {}}", "s.yaml:4: load: one kind" },
		{ "- flows: {from: h0}", "s.yaml:4: flows: it needs from and to" },
		{ "- flows: {from: h0, to: h99}", "s.yaml:4: flows.to: 'h99' is no host" },
		{ "- flows: {from: [h0, h1], to: [h2]}",
			"s.yaml:4: flows.to: 1 hosts, but 2 send" },
		{ "- flows: {from: h3, to: h3}",
			"s.yaml:4: flows.to: pair 1 is a host and itself" },
		{ "- flows: {from: h3, to: h4, both: 1}",
			"s.yaml:4: flows.both: '1' is not a truth" },
	};
	char text[512];

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++) {
		(void)snprintf(text, sizeof(text), STAGE_BASE "load:\n  %s\n", rows[i].load);
		stage_refuse(text, rows[i].error);
	}
}

static struct weft_workload add_all(const struct weft_scenario *play)
{
	struct weft_workload all = { 0 };
	uint64_t ideal_ps;
	char error[256];

	for (uint32_t i = 0; i < play->head.n_loads; i++) {
		CHECK(traffic_add(
			play->topo, &play->loads[i], 1, &all, &ideal_ps, error, sizeof(error)));
		CHECK(ideal_ps > 0);
	}
	return all;
}

TEST(traffic_add__sends_pair_by_pair_and_back)
{
	struct weft_scenario *play =
		stage_open(STAGE_BASE "load:\n  - flows: {from: [h0, h5], to: [h9, h2], both: "
				      "true, bytes: 3KB, at: 4us}\n");
	struct weft_workload all = add_all(play);

	REQUIRE(all.n == 4);
	CHECK_EQ(all.flows[1].src, 5);
	CHECK_EQ(all.flows[1].dst, 2);
	CHECK_EQ(all.flows[2].src, 9);
	CHECK_EQ(all.flows[2].dst, 0);
	CHECK_EQ(all.flows[3].len_bytes, 3000);
	CHECK_EQ(all.flows[3].start_ps, 4000000);
	weft_workload_close(&all);
	weft_scenario_close(play);
}

/* Two collectives one behind the other: what waits, waits for flows of its own. */
TEST(traffic_add__keeps_what_waits_for_what)
{
	struct weft_scenario *play =
		stage_open(STAGE_BASE "load:\n  - ring-allreduce: {bytes: 64KB}\n"
				      "  - tree-allreduce: {bytes: 64KB, name: second}\n");
	struct weft_workload all = add_all(play);

	CHECK(all.n_edges > 16);
	for (uint32_t i = 0; i < all.n; i++) {
		for (uint32_t k = 0; k < all.flows[i].n_after; k++)
			CHECK_EQ(all.flows[all.edges[all.flows[i].after_first + k].flow].job,
				all.flows[i].job);
	}
	weft_workload_close(&all);
	struct weft_scenario_result *r = stage_run(play, 1);

	CHECK_EQ(r->totals.flows_done, r->n_flows);
	CHECK_STR(r->groups[1].name, "second");
	weft_scenario_result_free(r);
	weft_scenario_close(play);
}

/* 4096 of 4262 bytes on the line, two planes of 100 Gb/s, as many receivers as there are. */
TEST(traffic_line_bps__is_what_receivers_can_take)
{
	struct weft_scenario *play = stage_open(STAGE_BASE "load: [ring, incast:5]\n");
	struct weft_workload all = add_all(play);

	CHECK_NEAR(traffic_line_bps(play->topo, all.flows, 16), 16 * 200e9 * 4096 / 4262, 1e6);
	CHECK_NEAR(traffic_line_bps(play->topo, all.flows + 16, 5), 200e9 * 4096 / 4262, 1e6);
	weft_workload_close(&all);
	weft_scenario_close(play);
}
