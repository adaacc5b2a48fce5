/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

static struct rig rig;

enum { MESSAGE = 600, BYTES = 4000 };
static const uint64_t late_ps = UINT64_C(1000000000);

static void open_lossless(void)
{
	rig_open(&rig, rig_fabric, false);
	for (unsigned i = 0; i < PROFILES; i++)
		weft_port_profile_fill(&rig.network->profiles[i], WEFT_DISCIPLINE_LOSSLESS,
			i == PROFILE_HOST, 40000, 12500);
	rig.network->is_lossless = true;
}

/* Everybody below the other T0s to h0, over one plane: 12 into 1. */
static void send_crowd(void)
{
	for (uint32_t i = 0; i < MESSAGE; i++)
		CHECK(rig_send(&rig, 4 + i % 12, 0, weft_ev(0, i / 12 % 4), i, BYTES, 0));
}

static uint64_t total_pauses(void)
{
	uint64_t sum = 0;

	for (uint32_t node = rig.shape.hosts; node < rig.shape.nodes; node++)
		for (uint32_t port = 0; port < weft_topo_node(rig.topo, node).ports; port++)
			sum += weft_switch_port_counters(
				weft_network_switch(rig.network, node), port)
				       ->pfc_sent;
	return sum;
}

TEST(pauses_send__loses_nothing_and_wastes_nothing)
{
	open_lossless();
	send_crowd();
	/* The line of h0 is busy from the first to the last. */
	uint64_t end_ps = (MESSAGE + 3) * rig_line_ps(BYTES) + 1200000;

	CHECK_EQ(rig_run(&rig, end_ps), MESSAGE);
	CHECK_EQ(weft_network_stats(rig.network)->arrived, MESSAGE);
	CHECK_EQ(rig.outs[MESSAGE - 1].at_ps, end_ps);
	CHECK(total_pauses() > 100);
	CHECK_EQ(weft_network_next_ps(rig.network), WEFT_NEVER);
	rig_close(&rig);
}

TEST(pauses_send__stops_hosts_too)
{
	open_lossless();
	send_crowd();
	bool was_paused = false;

	for (uint64_t now_ps = 0; now_ps < late_ps && !was_paused; now_ps += 100000) {
		rig_run(&rig, now_ps);
		was_paused = weft_network_line_free_ps(rig.network, 4, 0) == WEFT_NEVER;
	}
	CHECK(was_paused);
	weft_network_check(rig.network);
	rig_run(&rig, late_ps);
	CHECK(weft_network_line_free_ps(rig.network, 4, 0) != WEFT_NEVER);
	CHECK_EQ(rig.n_outs, MESSAGE);
	rig_close(&rig);
}

/* The first pause that is under way. */
static const struct entry *find_pause(void)
{
	const struct entry *first = &rig.network->agenda.entries[what_pauses(rig.network)];

	for (uint32_t i = 0; i < 2 * rig.shape.links; i++)
		if (first[i].where != WHERE_NOWHERE)
			return &first[i];
	return NULL;
}

TEST(pauses_send__takes_a_small_frame_s_time_and_the_cable_s)
{
	open_lossless();
	for (uint32_t i = 0; i < 100; i++) /* h1 and h2 to h0: nothing goes down to them */
		CHECK(rig_send(&rig, 1 + i % 2, 0, weft_ev(0, 0), i, BYTES, 0));
	while (!find_pause())
		rig_run(&rig, weft_network_next_ps(rig.network));
	CHECK_EQ(find_pause()->at_ps, now_of(rig.network) + 84 * RIG_BYTE_PS + 100000);
	rig_run(&rig, late_ps);
	CHECK_EQ(weft_network_stats(rig.network)->arrived, 100);
	rig_close(&rig);
}

TEST(pauses_send__waits_for_the_frame_on_the_line)
{
	open_lossless();
	for (uint32_t i = 0; i < 100; i++)
		CHECK(rig_send(&rig, 1 + i % 2, 0, weft_ev(0, 0), i, BYTES, 0));
	for (uint32_t i = 100; i < 1100; i += 2) { /* and all the way down to h1 and h2 */
		CHECK(rig_send(&rig, 3, 1, weft_ev(0, 0), i, 900, 0));
		CHECK(rig_send(&rig, 4, 2, weft_ev(0, 0), i + 1, 900, 0));
	}
	while (!find_pause())
		rig_run(&rig, weft_network_next_ps(rig.network));
	uint32_t index =
		(uint32_t)(find_pause() - rig.network->agenda.entries) - what_pauses(rig.network);
	const struct line *line = &rig.network->lines[rig.network->pauses[index].line];
	uint64_t end_ps = rig.network->flights[line->tail].at_ps - 100000;

	REQUIRE(line->head != NONE && end_ps > now_of(rig.network));
	CHECK_EQ(find_pause()->at_ps, end_ps + 84 * RIG_BYTE_PS + 100000);
	rig_run(&rig, 2 * late_ps);
	CHECK_EQ(weft_network_stats(rig.network)->arrived, 1100);
	rig_close(&rig);
}

/* With room for one pause at a time many come late, and some frames find no headroom; but every
 * neighbour that was told to stop is told to go on.
 */
TEST(pause_arrive__lets_those_talk_who_had_to_wait)
{
	open_lossless();
	struct weft_network *network = rig.network;
	uint32_t rest = network->pauses[network->pauses_free].next, only = network->pauses_free;

	network->pauses[only].next = NONE;
	send_crowd();
	bool was_short = false;

	for (uint64_t now_ps = 0; now_ps < late_ps; now_ps += 50000) {
		rig_run(&rig, now_ps);
		was_short |= network->is_short_of_pauses;
	}
	CHECK(was_short);
	CHECK_EQ(rig.n_outs, MESSAGE);
	CHECK_EQ(network->pauses_free, only);
	network->pauses[only].next = rest;
	rig_close(&rig);
}

/* The last words of a switch that has nothing else to do. */
TEST(pause_arrive__lets_those_talk_whom_nothing_else_would_wake)
{
	open_lossless();
	struct weft_network *network = rig.network;
	uint32_t rest = network->pauses[network->pauses_free].next, only = network->pauses_free;

	for (unsigned i = 0; i < PROFILES; i++)
		network->profiles[i].xon_bytes =
			0; /* go on when all of a host's frames have left */
	network->pauses[only].next = NONE;
	/* 8 ns each, and a pause takes 107; when it comes, both have hardly anything left. */
	for (uint32_t i = 0; i < 2060; i++)
		CHECK(rig_send(&rig, 1 + i % 2, 0, weft_ev(0, 0), i, 64, 0));
	rig_run(&rig, late_ps);
	CHECK_EQ(rig.n_outs, 2060);
	CHECK(total_pauses() >= 4);
	CHECK(weft_network_line_free_ps(network, 1, 0) != WEFT_NEVER);
	CHECK(weft_network_line_free_ps(network, 2, 0) != WEFT_NEVER);
	network->pauses[only].next = rest;
	rig_close(&rig);
}

TEST(pause_again__reminds_who_was_unplugged)
{
	open_lossless();
	struct weft_network *network = rig.network;
	uint32_t link = weft_topo_link_find(rig.topo, "h1.p0");

	for (uint32_t i = 0; i < 200; i++)
		CHECK(rig_send(&rig, 1 + i % 2, 0, weft_ev(0, 0), i, BYTES, 0));
	while (weft_network_line_free_ps(network, 1, 0) != WEFT_NEVER)
		rig_run(&rig, weft_network_next_ps(network));
	weft_network_link_mark(network, link, false, now_of(network));
	CHECK(weft_network_line_free_ps(network, 1, 0) != WEFT_NEVER); /* nothing is plugged in */
	weft_network_link_mark(network, link, true, now_of(network));
	uint64_t told_ps = now_of(network) + 84 * RIG_BYTE_PS + 100000;

	rig_run(&rig, told_ps - 1);
	CHECK(weft_network_line_free_ps(network, 1, 0) != WEFT_NEVER);
	rig_run(&rig, told_ps);
	CHECK_EQ(weft_network_line_free_ps(network, 1, 0), WEFT_NEVER);
	rig_run(&rig, late_ps);
	CHECK(weft_network_line_free_ps(network, 1, 0) != WEFT_NEVER);
	/* Who has been told to go on is not reminded of the pause before. */
	weft_network_link_mark(network, link, false, late_ps);
	weft_network_link_mark(network, link, true, late_ps);
	rig_run(&rig, 2 * late_ps);
	CHECK(weft_network_line_free_ps(network, 1, 0) != WEFT_NEVER);
	CHECK_EQ(rig.n_outs, 200);
	rig_close(&rig);
}
