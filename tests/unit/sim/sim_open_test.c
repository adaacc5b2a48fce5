/* SPDX-License-Identifier: BSD-2-Clause */
#include "small.h"

/* Every cable must lead where the fabric file says, in both directions. */
TEST(lay_cables__follows_the_fabric_file)
{
	struct small s = small_make(SMALL_FOUR);

	small_open(&s);
	const struct weft_topo_shape *shape = &s.sim->shape;

	for (uint32_t node = shape->hosts; node < shape->nodes; node++) {
		const struct switch_node *sw = &s.sim->switches[node - shape->hosts];

		CHECK_EQ(sw->ports, weft_topo_node(s.topo, node).ports);
		for (uint32_t port = 0; port < sw->ports; port++) {
			struct weft_link l =
				weft_topo_link(s.topo, weft_topo_port_link(s.topo, node, port));
			unsigned peer = l.node[0] == node;

			CHECK_EQ(sw->cables[port].node, l.node[peer]);
			CHECK_EQ(sw->cables[port].port, l.port[peer]);
			CHECK_EQ(s.sim->lines[sw->cables[port].line].delay_ps,
				(uint64_t)l.delay_ns * 1000);
		}
	}
	CHECK_EQ(s.sim->n_lines, 2);
	small_close(&s);
}

TEST(weft_sim_open__connects_every_flow)
{
	struct small s = small_make(SMALL_ONE);

	small_permute(&s, 100);
	small_open(&s);
	for (uint32_t end = 0; end < 2 * s.n; end++) {
		const struct weft_sim_flow *flow = &s.flows[end >> 1];
		struct weft_qp *qp = weft_qp_find(s.sim->hosts[end & 1 ? flow->dst : flow->src].ep,
			s.sim->wiring.flow_ends[end].qpn);
		struct weft_qp_info info;

		REQUIRE(qp);
		weft_qp_info(qp, &info);
		CHECK_EQ(info.state, WEFT_QP_RTS);
		CHECK_EQ(info.peer_qpn, s.sim->wiring.flow_ends[end ^ 1].qpn);
	}
	weft_sim_check(s.sim);
	small_close(&s);
}

TEST(weft_sim_open__takes_links_that_are_missing_or_different)
{
	struct small s = small_make(SMALL_ONE "overrides:\n"
					      "  - {link: p0.t0-0:t1-1, cabled: false}\n"
					      "  - {link: h3.p0, speed: 100Gb/s, delay: 2us}\n");

	s.flows[s.n++] = (struct weft_sim_flow){ .src = 3, .dst = 15, .len_bytes = 409600 };
	s.flows[s.n++] = (struct weft_sim_flow){ .src = 2, .dst = 14, .len_bytes = 409600 };
	small_run(&s);
	CHECK_EQ(s.totals.flows_done, 2);
	CHECK_EQ(s.totals.lost, 0);
	/* 100 packets at a quarter of the speed. */
	CHECK(weft_sim_flow_ps(s.sim, 0) > weft_sim_flow_ps(s.sim, 1) + 70 * 4262 * 60);
	small_close(&s);
}

/* A host whose only cable is missing: its flows fail at once, the others do not notice. */
TEST(weft_sim_open__lets_flows_fail_that_have_no_path)
{
	struct small s = small_make(SMALL_ONE "overrides:\n  - {link: h3.p0, cabled: false}\n");

	s.flows[s.n++] = (struct weft_sim_flow){ .src = 3, .dst = 15, .len_bytes = 4096 };
	s.flows[s.n++] = (struct weft_sim_flow){
		.src = 15, .dst = 3, .len_bytes = 4096, .start_ps = 1000000
	};
	s.flows[s.n++] = (struct weft_sim_flow){ .src = 2, .dst = 14, .len_bytes = 4096 };
	small_run(&s);
	CHECK_EQ(s.totals.flows_failed, 2);
	CHECK_EQ(s.totals.flows_done, 1);
	CHECK_EQ(weft_sim_flow_ps(s.sim, 0) + weft_sim_flow_ps(s.sim, 1), 0);
	CHECK(weft_sim_flow_ps(s.sim, 2) > 0);
	small_close(&s);
}

/* An incast with marks on ports to hosts, and without. */
TEST(plan_profiles__leaves_the_last_hop_unmarked_where_that_is_wished)
{
	uint64_t marks[2];

	for (unsigned unmarked = 0; unmarked < 2; unmarked++) {
		struct small s = small_make(SMALL_ONE);

		s.config.marks = unmarked ? WEFT_MARKS_CORE : WEFT_MARKS_ALL;
		CHECK(weft_sim_incast(s.topo, 12, 300000, 1, s.flows));
		s.n = 12;
		small_run(&s);
		CHECK_EQ(s.totals.flows_done, 12);
		CHECK_EQ(s.sim->profiles[1].ecn_max_bytes == 0, unmarked);
		marks[unmarked] = s.totals.marked;
		small_close(&s);
	}
	CHECK(marks[1] < marks[0]); /* other links mark, too */
}

/* One plane of 400 Gb/s: a BDP is 50 bytes a nanosecond of base_rtt. */
#define ONE_WITH(sw) SMALL_ONE "base_rtt: 10us\nswitch: {" sw "}\n"

TEST(weft_sim_open__has_the_switches_of_the_file)
{
	struct small s = small_make(ONE_WITH("ecn_min: 0.1BDP, ecn_max: 0.5BDP, trim: 2BDP, "
					     "trim_last_hop: 3BDP, trim_size: 256B, queue: 4MB, "
					     "marks: core"));

	small_open(&s);
	CHECK_EQ(s.sim->profiles[0].ecn_min_bytes, 50000);
	CHECK_EQ(s.sim->profiles[0].ecn_max_bytes, 250000);
	CHECK_EQ(s.sim->profiles[0].trim_bytes, 1000000);
	CHECK_EQ(s.sim->profiles[0].trim_to_bytes, 256);
	CHECK_EQ(s.sim->profiles[0].drop_bytes[WEFT_QUEUE_DATA], 4000000);
	CHECK_EQ(s.sim->profiles[1].trim_bytes, 1500000);
	CHECK_EQ(s.sim->profiles[1].ecn_max_bytes, 0);
	small_close(&s);
}

TEST(weft_sim_open__drops_where_the_file_says_drop)
{
	for (unsigned says = 0; says < 2; says++) {
		struct small s = small_make(ONE_WITH("full: drop, queue: 100KB"));

		s.config.discipline = says ? WEFT_DISCIPLINE_TRIM : WEFT_DISCIPLINE_UNSAID;
		CHECK(weft_sim_incast(s.topo, 12, 300000, 1, s.flows));
		s.n = 12;
		small_run(&s);
		CHECK_EQ(s.totals.flows_done, 12);
		CHECK_EQ(s.totals.trimmed != 0, says);
		small_close(&s);
	}
}

/* The same file with baselines: RoCE keeps the queue, DCQCN the marks, a trim is none any more. */
TEST(weft_sim_open__gives_baselines_what_the_file_says)
{
	struct small s =
		small_make(ONE_WITH("ecn_min: 0.1BDP, ecn_max: 0.5BDP, trim: 2BDP, queue: 4MB"));

	s.config.baseline.kind = WEFT_BASELINE_ROCE;
	s.config.baseline.dcqcn = true;
	small_open(&s);
	CHECK_EQ(s.sim->profiles[0].ecn_max_bytes, 250000);
	CHECK_EQ(s.sim->profiles[0].trim_bytes, 0);
	CHECK_EQ(s.sim->profiles[0].drop_bytes[WEFT_QUEUE_DATA], 4000000);
	small_close(&s);

	s = small_make(ONE_WITH("full: pause"));
	s.config.baseline.kind = WEFT_BASELINE_ROCE;
	s.config.baseline.dcqcn = true;
	small_open(&s);
	CHECK(s.sim->is_lossless);
	CHECK(s.sim->profiles[0].xoff_bytes);
	CHECK_EQ(s.sim->profiles[0].ecn_min_bytes, 50000); /* of DCQCN's paper */
	small_close(&s);
}
