/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TWIN_H
#define TWIN_H
/*
 * twin - one load in two worlds: sim, and the fabric tests' world, which has one event after the
 * other out of a heap and shares nothing with sim but engine, switch and fabric file.
 *
 *   struct twin *t = twin_open(0, 300000, 1);   16 hosts, a permutation; or an incast
 *   twin_fault(t, ...);  t->world->driver = ...;
 *   twin_run(t);  twin_compare(t);  twin_close(t);
 *
 * All cables differ in length or speed, so that no two things happen at the same instant: then
 * there is only one order, and every host must get the same packets at the same picosecond.
 */
#include "../switch/world_open.h"

#include <weft/sim.h>

/* sim's own, not public: both worlds must start their engines alike. */
void plan_endpoint(const struct weft_sim_config *config, uint32_t host, uint32_t sends,
	uint32_t receives, struct weft_config *out);

enum { TWIN_HOSTS = 16, TWIN_TEXT_BYTES = 8192 };

struct twin {
	char text[TWIN_TEXT_BYTES];
	struct world *world;
	struct weft_topo *topo;
	struct weft_sim_config config;
	struct weft_sim_flow flows[TWIN_HOSTS];
	uint32_t n;
	struct weft_sim_fault faults[8]; /* by time */
	uint32_t n_faults, n_struck;
	struct weft_sim *sim;
};

static inline void twin_fabric(char text[TWIN_TEXT_BYTES])
{
	int at = snprintf(text, TWIN_TEXT_BYTES,
		"name: twin\nplanes: 2\nt0s: 4\nt1s: 4\nhosts: %d\n"
		"host_links: {speed: 100Gb/s, delay: 500ns}\n"
		"core_links: {speed: 100Gb/s, delay: 500ns}\nbase_rtt: 7us\noverrides:\n",
		TWIN_HOSTS);
	unsigned odd = 0;

	for (unsigned plane = 0; plane < 2; plane++) {
		for (unsigned host = 0; host < TWIN_HOSTS; host++, odd++)
			at += snprintf(text + at, (size_t)(TWIN_TEXT_BYTES - at),
				"  - {link: h%u.p%u, delay: %uns, speed: %uMb/s}\n", host, plane,
				501 + odd * 7 % 331, 99002 + odd * 571 % 991);
		for (unsigned link = 0; link < 16; link++, odd++)
			at += snprintf(text + at, (size_t)(TWIN_TEXT_BYTES - at),
				"  - {link: \"p%u.t0-%u:t1-%u\", delay: %uns, speed: %uMb/s}\n",
				plane, link / 4, link % 4, 502 + odd * 13 % 317,
				99001 + odd * 617 % 997);
	}
	REQUIRE(at < TWIN_TEXT_BYTES);
}

/* The world's hosts again, with endpoints as sim makes them. */
static inline void twin_hosts(struct twin *t)
{
	uint32_t sends[TWIN_HOSTS] = { 0 }, receives[TWIN_HOSTS] = { 0 }, rkey;

	for (uint32_t i = 0; i < t->n; i++) {
		sends[t->flows[i].src]++;
		receives[t->flows[i].dst]++;
	}
	for (uint32_t host = 0; host < TWIN_HOSTS; host++) {
		struct host *h = &t->world->hosts[host];
		struct weft_config config;

		plan_endpoint(&t->config, host, sends[host], receives[host], &config);
		config.regions = 64;  /* the world adds one for each message */
		config.wimm_max = 16; /* the world promises so many */
		free(h->block);
		h->block =
			aligned_alloc(64, WEFT_ALIGN_UP(weft_endpoint_size(&config), (size_t)64));
		REQUIRE(!weft_endpoint_init(&h->ep, h->block, &config));
		(void)weft_output(h->ep, NULL, 0, 0, WEFT_SIM_START_PS / 1000);
		CHECK_EQ(weft_region_add(h->ep, WORLD_VA, world_memory, WORLD_BYTES, 3,
				 WEFT_ACCESS_REMOTE_WRITE, 99, &rkey),
			0);
	}
	struct weft_config config;

	plan_endpoint(&t->config, 0, 1, 1, &config);
	t->world->qp_window_psns = config.window_psns;
}

/* fan_in 0: a permutation. */
static inline struct twin *twin_open(uint32_t fan_in, uint32_t len_bytes, uint32_t threads)
{
	struct twin *t = calloc(1, sizeof(*t));

	REQUIRE(t);
	twin_fabric(t->text);
	t->world = world_open(t->text, WEFT_DISCIPLINE_TRIM);
	t->topo = t->world->topo;
	t->world->down = calloc(t->world->n_switches, sizeof(uint64_t));
	REQUIRE(t->world->down);
	weft_sim_config_default(&t->config);
	t->config.topo = t->topo;
	t->config.threads = threads;
	t->config.seed = 0; /* the world's */
	t->config.paths = t->config.reply_paths = 256;
	t->n = fan_in ? fan_in : TWIN_HOSTS;
	if (fan_in)
		REQUIRE(weft_sim_incast(t->topo, fan_in, len_bytes, 5, t->flows));
	else
		weft_sim_permutation(t->topo, len_bytes, 5, t->flows);
	twin_hosts(t);
	for (uint32_t i = 0; i < t->n; i++)
		world_send(t->world, t->flows[i].src, t->flows[i].dst, len_bytes, 1, true);
	return t;
}

/* kind: NODE_FREEZE and _THAW; LINK_DOWN of a link between switches.  In the order of time. */
static inline void twin_fault(
	struct twin *t, uint64_t at_ps, enum weft_sim_fault_kind kind, uint32_t where)
{
	REQUIRE(t->n_faults < WEFT_COUNT(t->faults));
	t->faults[t->n_faults++] =
		(struct weft_sim_fault){ .at_ps = at_ps, .kind = (uint8_t)kind, .where = where };
}

static inline void twin_strike(struct twin *t, const struct weft_sim_fault *fault)
{
	struct world *w = t->world;
	uint64_t now_ps = fault->at_ps + WEFT_SIM_START_PS;

	w->now_ps = now_ps;
	if (fault->kind == WEFT_SIM_LINK_DOWN) {
		struct weft_link link = weft_topo_link(w->topo, fault->where);

		for (unsigned end = 0; end < 2; end++) {
			uint32_t index = link.node[end] - TWIN_HOSTS;

			w->down[index] |= UINT64_C(1) << link.port[end];
			weft_switch_port_mark(w->switches[index], link.port[end], false, now_ps);
			world_due(w, link.node[end], link.port[end]);
		}
		return;
	}
	weft_switch_freeze(w->switches[fault->where - TWIN_HOSTS],
		fault->kind == WEFT_SIM_NODE_FREEZE, now_ps);
	for (uint32_t port = 0; port < weft_topo_node(w->topo, fault->where).ports; port++)
		world_due(w, fault->where, port);
}

/* Both, until all flows are done; sim says when that is. */
static inline void twin_run(struct twin *t)
{
	struct weft_sim_totals totals;
	char error[256];

	if (weft_sim_open(&t->sim, &t->config, t->flows, t->n, t->faults, t->n_faults, error,
		    sizeof(error)))
		fprintf(stderr, "%s\n", error);
	REQUIRE(t->sim);
	weft_sim_run(t->sim, UINT64_C(3000000000), NULL, NULL);
	weft_sim_totals(t->sim, &totals);
	CHECK_EQ(totals.flows_done, t->n);
	while (t->world->n_events &&
		t->world->events[0].at_ps < totals.now_ps + WEFT_SIM_START_PS) {
		const struct weft_sim_fault *next = &t->faults[t->n_struck];

		if (t->n_struck < t->n_faults &&
			next->at_ps + WEFT_SIM_START_PS <= t->world->events[0].at_ps) {
			t->n_struck++;
			twin_strike(t, next);
		} else {
			world_step(t->world);
		}
	}
}

static inline void twin_compare(struct twin *t)
{
	struct weft_sim_totals totals;
	uint64_t trimmed = 0, marked = 0;

	weft_sim_totals(t->sim, &totals);
	for (uint32_t host = 0; host < TWIN_HOSTS; host++)
		CHECK_EQ(weft_sim_host_digest(t->sim, host), t->world->hosts[host].digest);
	for (uint32_t i = 0; i < t->n; i++)
		CHECK_EQ(weft_sim_flow_ps(t->sim, i),
			t->world->hosts[t->flows[i].src].done_ps - WEFT_SIM_START_PS);
	for (uint32_t i = 0; i < t->world->n_switches; i++) {
		uint32_t ports = weft_topo_node(t->topo, TWIN_HOSTS + i).ports;

		for (uint32_t port = 0; port < ports; port++) {
			const struct weft_port_counters *c =
				weft_switch_port_counters(t->world->switches[i], port);

			trimmed += c->trimmed;
			marked += c->ecn_marked;
		}
	}
	CHECK_EQ(totals.trimmed, trimmed);
	CHECK_EQ(totals.marked, marked);
	CHECK_EQ(totals.lost, t->world->lost);
	fprintf(stderr, "twin: %u us, %u hops, %u trimmed, %u marked, %u lost\n",
		(unsigned)(totals.now_ps / 1000000), (unsigned)totals.packet_hops,
		(unsigned)totals.trimmed, (unsigned)totals.marked, (unsigned)totals.lost);
}

static inline void twin_close(struct twin *t)
{
	weft_sim_close(t->sim);
	world_close(t->world);
	free(t);
}

#endif
