/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The paper's figures 11 and 12, in virtual time: a T1 that stops forwarding while its links look
 * healthy, then reboots and gets its table from the fabric file alone; a path that drops a fifth;
 * a cable that goes.  Nobody's QP fails, and traffic comes back to all of the fabric.
 */
#include "world_open.h"

static const char fabric[] = "name: faults\nplanes: 2\nt0s: 4\nt1s: 4\nhosts: 16\n"
			     "host_links: {speed: 100Gb/s, delay: 500ns}\n"
			     "core_links: {speed: 100Gb/s, delay: 500ns}\n";

enum { PAIRS = 4, PHASE_NS = 1000000 };

static struct world *open_with_traffic(void)
{
	struct world *w = world_open(fabric, WEFT_DISCIPLINE_TRIM);

	/* A quarter of the fabric's load: what is left is enough for all of it. */
	for (uint32_t i = 0; i < PAIRS; i++)
		world_send(w, 4 * i, (4 * i + 5) % 16, WORLD_BYTES / 2, 4, true);
	return w;
}

/* Runs for a phase; the least of the pairs' shares of the line in it. */
static double least_share(struct world *w)
{
	uint64_t before[WORLD_HOSTS], until_ns = w->now_ps / 1000 + PHASE_NS;
	double least = 2;

	for (uint32_t host = 0; host < w->shape.hosts; host++)
		before[host] = w->hosts[host].got_bytes;
	world_run(w, until_ns);
	for (uint32_t i = 0; i < PAIRS; i++) {
		uint32_t dst = (4 * i + 5) % 16;
		uint64_t got = w->hosts[dst].got_bytes - before[dst];

		least = WEFT_MIN(least, (double)got / (PHASE_NS * world_line_rate(w)));
	}
	return least;
}

static void close_after_traffic(struct world *w)
{
	for (uint32_t i = 0; i < PAIRS; i++) {
		struct weft_qp_info info;

		weft_qp_info(w->hosts[4 * i].qp, &info);
		CHECK_EQ(info.state, WEFT_QP_RTS);
	}
	world_close(w);
}

static uint64_t frozen_drops(const struct weft_switch *sw)
{
	return weft_switch_drops(sw, WEFT_FABRIC_DROP_FROZEN);
}

TEST(weft_switch_reboot__costs_paths_and_not_connections)
{
	struct world *w = open_with_traffic();
	uint32_t node = weft_topo_t1(w->topo, 0, 2);
	struct weft_switch *sw = w->switches[node - w->shape.hosts];
	double healthy = least_share(w), dead, back;

	weft_switch_freeze(sw, true, w->now_ps);
	dead = least_share(w);
	uint64_t swallowed = frozen_drops(sw);

	CHECK(swallowed > 0);
	/* Avoided within a few round trips: what was under way, and probes since. */
	CHECK(swallowed < 400);
	weft_switch_reboot(sw, w->now_ps);
	world_fill_table(w, node);
	for (unsigned i = 0; i < 8; i++)
		back = least_share(w);
	uint64_t before = weft_switch_port_counters(sw, 0)->out_pkts;

	back = least_share(w);
	fprintf(stderr, "T1 frozen: %.3f, %.3f, back %.3f of the line; %u frames swallowed\n",
		healthy, dead, back, (unsigned)swallowed);
	CHECK(healthy > 0.97);
	CHECK(dead > 0.95);
	CHECK(back > 0.97);
	CHECK(weft_switch_port_counters(sw, 0)->out_pkts > before + 100); /* in use again */
	close_after_traffic(w);
}

TEST(weft_switch_port_mark__costs_one_path_of_a_cut_cable)
{
	struct world *w = open_with_traffic();
	uint32_t t0 = weft_topo_t0(w->topo, 1, 0) - w->shape.hosts;
	uint32_t uplink = w->shape.hosts_per_t0 + 1;

	least_share(w);
	weft_switch_port_mark(w->switches[t0], uplink, false, w->now_ps);
	world_due(w, t0 + w->shape.hosts, uplink); /* what waited comes back */
	CHECK(least_share(w) > 0.95);
	CHECK(w->lost > 0 && w->lost < 400);
	CHECK_EQ(w->lost, weft_switch_drops(w->switches[t0], WEFT_FABRIC_DROP_PORT_DOWN));
	weft_switch_port_mark(w->switches[t0], uplink, true, w->now_ps);
	CHECK(least_share(w) > 0.95);
	close_after_traffic(w);
}

TEST(weft_switch_fault_add__makes_senders_leave_a_path_that_drops_a_fifth)
{
	struct world *w = open_with_traffic();
	uint32_t t0 = weft_topo_t0(w->topo, 0, 0) - w->shape.hosts;
	struct weft_switch_fault fault = {
		.in_port = 0, .out_port = w->shape.hosts_per_t0 + 3, .loss_ppm = 200000
	};

	least_share(w);
	CHECK(weft_switch_fault_add(w->switches[t0], &fault));
	CHECK(least_share(w) > 0.95);
	uint64_t first = w->lost;

	CHECK(least_share(w) > 0.97);
	CHECK(first > 0 && w->lost - first < 50);
	CHECK_EQ(w->lost, weft_switch_drops(w->switches[t0], WEFT_FABRIC_DROP_FAULT));
	close_after_traffic(w);
}
