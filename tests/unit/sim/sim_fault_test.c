/* SPDX-License-Identifier: BSD-2-Clause */
#include "small.h"

static void add(struct small *s, double us, uint8_t kind, uint32_t where, uint64_t value)
{
	s->faults[s->n_faults++] =
		(struct weft_sim_fault){ (uint64_t)(us * 1e6), kind, where, value };
}

TEST(fault_expand__says_what_is_wrong)
{
	static const struct {
		struct weft_sim_fault fault;
		const char *error;
	} rows[] = {
		{ { 0, 99, 0, 0 }, "fault 1: 0: no such kind of fault" },
		{ { 0, WEFT_SIM_LINK_DOWN, 32, 0 }, "fault 1: 32: no such link" },
		{ { 0, WEFT_SIM_LINK_RATE, 3, 5 }, "fault 1: 3: a rate below 1 Mb/s" },
		{ { 0, WEFT_SIM_NODE_DOWN, 24, 0 }, "fault 1: 24: no such node" },
		{ { 0, WEFT_SIM_NODE_FREEZE, 15, 0 },
			"fault 1: 15: a host; only switches freeze and lose power" },
		{ { 0, WEFT_SIM_HOST_PAUSE, 16, 0 }, "fault 1: 16: a switch; only hosts pause" },
		{ { 0, WEFT_SIM_LINK_LOSS, 3, 1000001 }, "fault 1: 3: more than 1000000 ppm" },
	};

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++) {
		struct small s = small_make(SMALL_ONE);

		CHECK_EQ(weft_sim_open(&s.sim, &s.config, NULL, 0, &rows[i].fault, 1, s.error,
				 sizeof(s.error)),
			-1);
		CHECK_STR(s.error, rows[i].error);
		CHECK(!s.sim); /* nothing to close */
		small_close(&s);
	}
}

TEST(fault_expand__cuts_a_switch_into_its_links)
{
	struct small s = small_make(SMALL_ONE);
	uint32_t t1 = weft_topo_t1(s.topo, 0, 1);

	add(&s, 20, WEFT_SIM_NODE_UP, t1, 0);
	add(&s, 10, WEFT_SIM_NODE_DOWN, t1, 0);
	small_open(&s);
	CHECK_EQ(s.sim->n_actions, 2 * (1 + 4 * 2));
	for (uint32_t i = 1; i < s.sim->n_actions; i++)
		CHECK(s.sim->actions[i - 1].at_ps <= s.sim->actions[i].at_ps);
	CHECK_EQ(s.sim->actions[8].kind, FREEZE);
	CHECK_EQ(s.sim->actions[9].kind, THAW);
	small_close(&s);
}

/*
 * A quarter of the fabric dies silently in the middle of a permutation: everybody arrives all the
 * same, by the other three quarters, and what was lost is what was under way there.
 */
TEST(fault_switch__freezes_a_t1_and_nobody_dies_of_it)
{
	struct small s = small_make(SMALL_ONE), clean = small_make(SMALL_ONE);

	small_permute(&s, 2000000);
	small_permute(&clean, 2000000);
	add(&s, 20, WEFT_SIM_NODE_FREEZE, weft_topo_t1(s.topo, 0, 1), 0);
	small_run(&s);
	small_run(&clean);
	CHECK_EQ(s.totals.flows_done, 16);
	CHECK(s.totals.lost > 50);
	CHECK(s.counters.paths_retired >= 4);
	fprintf(stderr, "T1 frozen: slowest %.1f us instead of %.1f, %u lost, %u repeated\n",
		(double)small_last_ps(&s) / 1e6, (double)small_last_ps(&clean) / 1e6,
		(unsigned)s.totals.lost, (unsigned)s.counters.tx_rtx_pkts);
	CHECK(small_last_ps(&s) < 2 * small_last_ps(&clean));
	small_close(&clean);
	small_close(&s);
}

/* A host's cable out for 30 us in one of four planes: carrier is seen, three quarters remain. */
TEST(fault_host__sees_its_cable_go_and_come_back)
{
	struct small s = small_make(SMALL_FOUR);
	uint32_t link = weft_topo_link_find(s.topo, "h3.p2");

	s.flows[s.n++] = (struct weft_sim_flow){ .src = 3, .dst = 12, .len_bytes = 4000000 };
	s.flows[s.n++] = (struct weft_sim_flow){ .src = 13, .dst = 3, .len_bytes = 4000000 };
	add(&s, 20, WEFT_SIM_LINK_DOWN, link, 0);
	add(&s, 50, WEFT_SIM_LINK_UP, link, 0);
	small_run(&s);
	CHECK_EQ(s.totals.flows_done, 2);
	CHECK(s.totals.lost > 0 && s.totals.lost < 200);
	CHECK_EQ(s.sim->hosts[3].ports_up, 15);
	CHECK(s.counters.tx_ep_request > 0);
	small_close(&s);
}

/* A frame that is on the cable when it is cut does not arrive; one a moment earlier does. */
TEST(fault_switch__loses_what_is_on_a_cut_cable)
{
	for (unsigned late = 0; late < 2; late++) {
		struct small s = small_make(SMALL_ONE);
		/* h0 to its T0: sent after one frame, there 1 us later. */
		double arrives_us = (4096 + 166) * 20e-6 + 1;

		s.flows[s.n++] = (struct weft_sim_flow){ .src = 0, .dst = 1, .len_bytes = 4096 };
		add(&s, arrives_us + (late ? 0.0005 : -0.0005), WEFT_SIM_LINK_DOWN,
			weft_topo_link_find(s.topo, "h0.p0"), 0);
		small_open(&s);
		weft_sim_run(s.sim, 5000000, NULL, NULL);
		weft_sim_totals(s.sim, &s.totals);
		/* Late: the answer is what finds the cable out. */
		CHECK_EQ(s.totals.packet_hops > 1, late);
		CHECK(s.totals.lost >= 1);
		small_close(&s);
	}
}

/* The same at the receiver, which takes nothing in by a port that is out. */
TEST(fault_host__loses_what_is_on_a_cut_cable)
{
	for (unsigned late = 0; late < 2; late++) {
		struct small s = small_make(SMALL_ONE);
		double arrives_us = 2 * ((4096 + 166) * 20e-6 + 1); /* by way of the T0 */

		s.flows[s.n++] = (struct weft_sim_flow){ .src = 0, .dst = 1, .len_bytes = 4096 };
		add(&s, arrives_us + (late ? 0.0005 : -0.0005), WEFT_SIM_LINK_DOWN,
			weft_topo_link_find(s.topo, "h1.p0"), 0);
		small_open(&s);
		uint64_t before = weft_sim_host_digest(s.sim, 1);

		weft_sim_run(s.sim, 5000000, NULL, NULL);
		CHECK_EQ(weft_sim_host_digest(s.sim, 1) != before, late);
		small_close(&s);
	}
}

TEST(fault_host__slows_a_link_down)
{
	struct small s = small_make(SMALL_ONE);

	s.flows[s.n++] = (struct weft_sim_flow){
		.src = 0, .dst = 15, .len_bytes = 409600, .start_ps = 1000000
	};
	add(&s, 0.5, WEFT_SIM_LINK_RATE, weft_topo_link_find(s.topo, "h0.p0"),
		UINT64_C(100000000000));
	small_run(&s);
	/* 100 packets, four times as long. */
	CHECK(weft_sim_flow_ps(s.sim, 0) > 100 * 4262 * UINT64_C(80));
	CHECK(weft_sim_flow_ps(s.sim, 0) < 100 * 4262 * UINT64_C(80) + 10000000);
	small_close(&s);
}

/* One flow over one cable: of n packets that go up it loses as many as the dice say. */
TEST(fault_gray__loses_one_way_only)
{
	for (uint64_t way = WEFT_SIM_UP; way <= WEFT_SIM_DOWN; way <<= 1) {
		struct small s = small_make(SMALL_ONE);
		uint32_t link = weft_topo_link_find(s.topo, "h0.p0");

		s.flows[s.n++] =
			(struct weft_sim_flow){ .src = 0, .dst = 15, .len_bytes = 4096000 };
		add(&s, 0, WEFT_SIM_LINK_LOSS, link, 20000 | way);
		small_run(&s);
		CHECK_EQ(s.totals.flows_done, 1);
		/* 1000 packets up, some 250 answers down. */
		CHECK(s.totals.lost >= (way == WEFT_SIM_UP ? 5 : 1));
		CHECK(s.totals.lost < 60);
		CHECK((s.counters.tx_rtx_pkts > 4) == (way == WEFT_SIM_UP));
		CHECK_EQ(s.totals.corrupt, 0);
		small_close(&s);
	}
}

TEST(fault_gray__is_the_same_for_two_threads)
{
	uint64_t digests[2];

	for (uint32_t threads = 1; threads <= 2; threads++) {
		struct small s = small_make(SMALL_ONE);

		s.config.threads = threads;
		small_permute(&s, 400000);
		add(&s, 3, WEFT_SIM_LINK_LOSS, weft_topo_link_find(s.topo, "p0.t0-1:t1-2"), 100000);
		add(&s, 9, WEFT_SIM_LINK_CORRUPT, weft_topo_link_find(s.topo, "p0.t0-2:t1-1"),
			50000);
		small_run(&s);
		CHECK_EQ(s.totals.flows_done, 16);
		CHECK(s.totals.corrupt > 0 && s.totals.corrupt < s.totals.lost);
		digests[threads - 1] = s.totals.digest;
		small_close(&s);
	}
	CHECK_EQ(digests[0], digests[1]);
}

/* All that a core cable spoils is refused by receivers, not by the switches on the way. */
TEST(fault_gray__spoils_what_only_receivers_see)
{
	struct small s = small_make(SMALL_ONE);

	small_permute(&s, 400000);
	add(&s, 0, WEFT_SIM_LINK_CORRUPT, weft_topo_link_find(s.topo, "p0.t0-1:t1-2"), 200000);
	small_run(&s);
	CHECK_EQ(s.totals.flows_done, 16);
	CHECK(s.totals.corrupt > 10);
	CHECK_EQ(s.totals.corrupt, s.totals.lost);
	small_close(&s);
}

TEST(fault_host__pauses_and_goes_on)
{
	struct small s = small_make(SMALL_ONE);

	s.flows[s.n++] = (struct weft_sim_flow){ .src = 0, .dst = 15, .len_bytes = 1000000 };
	s.flows[s.n++] = (struct weft_sim_flow){
		.src = 0, .dst = 14, .len_bytes = 4096, .start_ps = 20000000
	};
	add(&s, 10, WEFT_SIM_HOST_PAUSE, 0, 0);
	add(&s, 60, WEFT_SIM_HOST_RESUME, 0, 0);
	small_run(&s);
	CHECK_EQ(s.totals.flows_done, 2);
	CHECK(s.totals.lost > 0);                     /* answers */
	CHECK(weft_sim_flow_ps(s.sim, 0) > 60000000); /* 30 us without */
	CHECK(weft_sim_flow_ps(s.sim, 1) > 40000000); /* posted when it goes on */
	small_close(&s);
}

/*
 * Most paths of its peers have lost several packets in a row by then, and go.  Three proofs of
 * each, which take 1 ms, would leave the rest of it to the few that came back first.
 */
TEST(fault_host__pauses_and_is_soon_as_quick_as_before)
{
	struct small s = small_make(SMALL_FOUR);

	small_permute(&s, 8000000);
	add(&s, 10, WEFT_SIM_HOST_PAUSE, 5, 0);
	add(&s, 60, WEFT_SIM_HOST_RESUME, 5, 0);
	small_run(&s);
	CHECK_EQ(s.totals.flows_done, 16);
	CHECK(small_last_ps(&s) < 500000000); /* 710 us without, 162 had it not paused */
	small_close(&s);
}
