/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "incast.h"

TEST(incast_plan_fill__has_times_in_order)
{
	for (unsigned quick = 0; quick < 2; quick++) {
		struct incast_plan p;

		incast_plan_fill(&p, quick, false);
		CHECK(p.lead_ns < incast_steady_ns(&p));
		CHECK(incast_steady_ns(&p) < incast_stop_ns(&p));
		CHECK(incast_stop_ns(&p) < incast_burst_ns(&p, 0));
		CHECK_EQ(incast_burst_ns(&p, 1) - incast_burst_ns(&p, 0), p.burst_gap_ns);
		CHECK(incast_burst_ns(&p, p.bursts - 1) < incast_total_ns(&p));
		CHECK(p.bursts <= INCAST_BURSTS_MAX && p.burst_bytes <= INCAST_MEMORY);
		/* A burst must be over before the next even where it takes three times as long. */
		CHECK(p.burst_gap_ns > 3 * incast_ideal_ns(&p));
	}
}

TEST(incast_ends__seven_to_one_and_one_beside)
{
	uint32_t src, dst, seen = 0;

	for (uint32_t flow = 0; flow < INCAST_FLOWS; flow++) {
		incast_ends(flow, &src, &dst);
		CHECK_EQ(dst, flow == INCAST_VICTIM);
		CHECK(src > 3 && !(seen >> src & 1)); /* below another T0 */
		seen |= 1u << src;
	}
}

TEST(incast_fabric__is_the_example_but_for_what_is_asked)
{
	struct weft_topo *ours, *example;
	char text[INCAST_FABRIC_BYTES], error[256], path[512];
	struct incast_plan plan;

	incast_plan_fill(&plan, false, false);
	/* The build names sources by their whole path. */
	(void)snprintf(path, sizeof(path), "%.*sexamples/fabrics/incast.yaml",
		(int)(strstr(__FILE__, "tests/") - __FILE__), __FILE__);
	REQUIRE(!weft_topo_open(&example, path, error, sizeof(error)));
	for (unsigned kind = 0; kind < INCAST_KINDS; kind++) {
		plan.marks_core_only = kind == INCAST_DROP;
		incast_fabric(&plan, (enum incast_kind)kind, text);
		REQUIRE(!weft_topo_open_text(
			&ours, text, strlen(text), "ours", error, sizeof(error)));
		struct weft_topo_shape want = *weft_topo_shape(example);

		want.full = (enum weft_topo_full)kind;
		want.marks = plan.marks_core_only ? WEFT_MARKS_CORE : WEFT_MARKS_ALL;
		CHECK_MEM(weft_topo_shape(ours), &want, sizeof(want));
		weft_topo_close(ours);
	}
	weft_topo_close(example);
}
