/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Real engines over a whole network: every host sends to one other, all at once;
 * switches are rebooted, cables cut, paths spoilt under traffic, and nobody's connection fails.
 *
 * At full load everywhere queues of a packet or two form on each of three hops, by chance.  NSCC
 * lets 1.5 x bandwidth x base round trip be under way, so what a flow gets depends on how many
 * packets half of that are: 2 per plane in lab8, 5 in the paper's fabric with cables alone, 10 with
 * a microsecond of NIC at each end.  The last is within 3 % of the line; nothing is lost anywhere.
 */
#include "engines.h"

struct row {
	const char *name, *fabric;
	uint32_t times, step; /* host i sends to i * times + step */
	uint64_t from_ns, to_ns;
	double least; /* share of the line */
};

/* Those of examples/fabrics; of the paper's 4 hosts and 4 uplinks per T0 instead of 256. */
#define PAPER(delay)                                                                               \
	"name: paper\nplanes: 8\nt0s: 8\nt1s: 4\nhosts: 32\nmtu: 4252\n"                           \
	"host_links: {speed: 100Gb/s, delay: " delay "}\n"                                         \
	"core_links: {speed: 100Gb/s, delay: 500ns}\n"
#define LAB8                                                                                       \
	"name: lab8\nplanes: 8\nt0s: 2\nt1s: 2\nhosts: 4\nmtu: 4252\nbase_rtt: 250us\n"            \
	"host_links: {speed: 1Gb/s, delay: 0ns}\ncore_links: {speed: 1Gb/s, delay: 0ns}\n"

static const char rack16[] = "name: faults\nplanes: 2\nt0s: 4\nt1s: 4\nhosts: 16\n"
			     "host_links: {speed: 100Gb/s, delay: 500ns}\n"
			     "core_links: {speed: 100Gb/s, delay: 500ns}\n";

static const struct row rows[] = {
	{ "paper, NICs of 1 us", PAPER("1100ns"), 1, 5, 100000, 200000, 0.97 },
	{ "paper", PAPER("100ns"), 1, 5, 60000, 160000, 0.90 },
	{ "16 hosts, a quarter below one T0", rack16, 5, 6, 150000, 450000, 0.97 },
	{ "lab8", LAB8, 1, 2, 20000000, 60000000, 0.78 },
};

static void permute(const struct row *row)
{
	struct engines *w = engines_open(row->fabric);
	uint64_t before[ENGINES_HOSTS], timeouts = 0;
	double least = 1, sum = 0;
	uint32_t hosts = w->shape.hosts;

	for (uint32_t host = 0; host < hosts; host++)
		engines_send(w, host, (host * row->times + row->step) % hosts, ENGINES_BYTES, 4);
	engines_run(w, row->from_ns);
	for (uint32_t host = 0; host < hosts; host++)
		before[host] = w->ends[host].got_bytes;
	engines_run(w, row->to_ns);
	for (uint32_t host = 0; host < hosts; host++) {
		double rate = (double)(w->ends[host].got_bytes - before[host]) /
			      (double)(row->to_ns - row->from_ns) / engines_line_rate(w);

		least = WEFT_MIN(least, rate);
		sum += rate;
		timeouts += weft_stats(w->ends[host].ep)->timeouts;
	}
	fprintf(stderr, "%s: permutation of %u hosts: least %.4f, mean %.4f of the line\n",
		row->name, (unsigned)hosts, least, sum / hosts);
	CHECK(least >= row->least);
	CHECK_EQ(timeouts, 0);
	CHECK_EQ(weft_network_stats(w->network)->dropped, 0);
	engines_close(w);
}

TEST(weft_network_run__gives_each_flow_of_a_permutation_its_line)
{
	for (size_t i = 0; i < WEFT_COUNT(rows); i++)
		permute(&rows[i]);
}

/* ---- while things break ---- */

enum { PAIRS = 4, PHASE_NS = 1000000 };

/* A quarter of the fabric's load: what is left is enough for all of it. */
static struct engines *open_with_traffic(void)
{
	struct engines *w = engines_open(rack16);

	for (uint32_t i = 0; i < PAIRS; i++)
		engines_send(w, 4 * i, (4 * i + 5) % 16, ENGINES_BYTES / 2, 16);
	return w;
}

/* Runs for a phase; the least of the pairs' shares of the line in it. */
static double least_share(struct engines *w)
{
	uint64_t before[ENGINES_HOSTS];
	double least = 2;

	for (uint32_t host = 0; host < w->shape.hosts; host++)
		before[host] = w->ends[host].got_bytes;
	engines_run(w, w->now_ps / 1000 + PHASE_NS);
	for (uint32_t i = 0; i < PAIRS; i++) {
		uint32_t dst = (4 * i + 5) % 16;
		uint64_t got = w->ends[dst].got_bytes - before[dst];

		least = WEFT_MIN(least, (double)got / (PHASE_NS * engines_line_rate(w)));
	}
	return least;
}

static void close_after_traffic(struct engines *w)
{
	for (uint32_t i = 0; i < PAIRS; i++) {
		struct weft_qp_info info;

		weft_qp_info(w->ends[4 * i].qp, &info);
		CHECK_EQ(info.state, WEFT_QP_RTS);
	}
	engines_close(w);
}

static uint64_t drops(const struct engines *w, enum weft_switch_drop drop)
{
	return weft_network_stats(w->network)->drops[drop];
}

TEST(weft_network_power__costs_paths_and_not_connections)
{
	struct engines *w = open_with_traffic();
	uint32_t node = weft_topo_t1(w->topo, 0, 2);
	double healthy = least_share(w), off, back = 0;

	weft_network_power(w->network, node, false, w->now_ps);
	uint64_t at_once = weft_network_stats(w->network)->dropped;

	off = least_share(w);
	uint64_t lost = weft_network_stats(w->network)->dropped;

	weft_network_power(w->network, node, true, w->now_ps);
	for (unsigned i = 0; i < 8; i++)
		back = least_share(w);
	uint64_t before =
		weft_switch_port_counters(weft_network_switch(w->network, node), 0)->out_pkts;

	back = least_share(w);
	fprintf(stderr, "T1 off: %.3f, %.3f, back %.3f of the line; %u frames lost, %u at once\n",
		healthy, off, back, (unsigned)lost, (unsigned)at_once);
	CHECK(healthy > 0.97);
	CHECK(off > 0.93);
	CHECK(back > 0.97);
	CHECK(at_once > 0);
	CHECK(lost < at_once + 1200); /* data, and answers that try all paths: see freeze */
	/* Its table came from the file alone, and it is in use again. */
	CHECK(weft_switch_port_counters(weft_network_switch(w->network, node), 0)->out_pkts >
		before + 100);
	close_after_traffic(w);
}

TEST(weft_network_freeze__costs_paths_and_not_connections)
{
	struct engines *w = open_with_traffic();
	uint32_t node = weft_topo_t1(w->topo, 0, 2);

	least_share(w);
	weft_network_freeze(w->network, node, true, w->now_ps);
	CHECK(least_share(w) > 0.95);
	uint64_t swallowed = drops(w, WEFT_SWITCH_DROP_FROZEN);

	/*
	 * Data avoids it within a few round trips.  Of answers every other one tries the next
	 * path of all until probes have found the dead one: the next one says it again.
	 */
	CHECK(swallowed > 0 && swallowed < 1200);
	weft_network_freeze(w->network, node, false, w->now_ps);
	for (unsigned i = 0; i < 4; i++)
		least_share(w);
	CHECK(least_share(w) > 0.97);
	close_after_traffic(w);
}

TEST(weft_network_link_mark__costs_one_path_of_a_cut_cable)
{
	struct engines *w = open_with_traffic();
	uint32_t link = weft_topo_link_find(w->topo, "p1.t0-0:t1-1");

	least_share(w);
	weft_network_link_mark(w->network, link, false, w->now_ps);
	CHECK(least_share(w) > 0.95);
	uint64_t lost = drops(w, WEFT_SWITCH_DROP_PORT_DOWN);

	CHECK(lost > 0 && lost < 1200);
	weft_network_link_mark(w->network, link, true, w->now_ps);
	for (unsigned i = 0; i < 4; i++)
		least_share(w);
	CHECK(least_share(w) > 0.97);
	close_after_traffic(w);
}

/* Data packets that a host has sent over a path. */
static uint32_t sent_by(const struct engines *w, uint32_t host, uint32_t ev)
{
	struct weft_path_info info;

	for (uint32_t i = 0; !weft_path_info(w->ends[host].ep, 0, i, &info); i++) {
		if (info.ev == ev)
			return info.sent;
	}
	CHECK_FAIL("host %u has no such path", (unsigned)host);
	return 0;
}

TEST(weft_network_link_loss__makes_senders_leave_a_cable_that_drops_a_fifth)
{
	struct engines *w = open_with_traffic();
	uint32_t link = weft_topo_link_find(w->topo, "p0.t0-0:t1-3");

	least_share(w);
	weft_network_link_loss(w->network, link, 1, 200000);
	CHECK(least_share(w) > 0.95);
	uint32_t before = sent_by(w, 0, weft_ev(0, 3));

	CHECK(drops(w, WEFT_SWITCH_DROP_FAULT) > 0);
	CHECK(least_share(w) > 0.97);
	/* Data leaves it.  Answers may go on by it: each says again what the one before it said. */
	CHECK(sent_by(w, 0, weft_ev(0, 3)) - before < 50);
	CHECK(sent_by(w, 0, weft_ev(0, 2)) > 10 * 50);
	close_after_traffic(w);
}

TEST(weft_network_path_loss__makes_one_sender_leave_one_path)
{
	struct engines *w = open_with_traffic();

	least_share(w);
	CHECK(weft_network_path_loss(w->network, 0, 5, weft_ev(0, 1), 200000));
	CHECK(least_share(w) > 0.95);
	uint64_t first = drops(w, WEFT_SWITCH_DROP_FAULT);

	CHECK(least_share(w) > 0.97);
	CHECK(first > 0 && drops(w, WEFT_SWITCH_DROP_FAULT) - first < 50);
	close_after_traffic(w);
}

TEST(weft_network_run__loses_nothing_where_it_may_stop_others)
{
	static char text[sizeof(rack16) + 40];

	snprintf(text, sizeof(text), "%sswitch: {full: pause}\n", rack16);
	struct engines *w = engines_open(text);

	for (uint32_t i = 0; i < 7; i++)
		engines_send(w, 4 + i, 0, 1 << 22, 1);
	engines_run(w, 2000000);
	for (uint32_t i = 0; i < 7; i++)
		CHECK_EQ(w->ends[4 + i].done, 1);
	CHECK_EQ(weft_network_stats(w->network)->dropped, 0);
	engines_close(w);
}
