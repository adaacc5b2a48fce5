/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The same load through sim and through the fabric tests' world, which has one event after the
 * other out of a heap and shares nothing with sim but engine, switch and fabric file.  All cables
 * differ in length or speed, so that no two things happen at the same instant: then there is only
 * one order, and every host must get the same packets at the same picosecond.
 */
#include "../fabric/world_open.h"

#include <weft/sim.h>

/* sim's own, not public: both worlds must start their engines alike. */
void plan_endpoint(const struct weft_sim_config *config, uint32_t host, uint32_t sends,
	uint32_t receives, struct weft_config *out);

enum { HOSTS = 16, TEXT_BYTES = 8192 };

struct twin {
	char text[TEXT_BYTES];
	struct world *world;
	struct weft_topo *topo;
	struct weft_sim_config config;
	struct weft_sim_flow flows[HOSTS];
	uint32_t n;
	struct weft_sim *sim;
};

static void write_fabric(char text[TEXT_BYTES])
{
	int at = snprintf(text, TEXT_BYTES,
		"name: twin\nplanes: 2\nt0s: 4\nt1s: 4\nhosts: %d\n"
		"host_links: {speed: 100Gb/s, delay: 500ns}\n"
		"core_links: {speed: 100Gb/s, delay: 500ns}\nbase_rtt: 7us\noverrides:\n",
		HOSTS);
	unsigned odd = 0;

	for (unsigned plane = 0; plane < 2; plane++) {
		for (unsigned host = 0; host < HOSTS; host++, odd++)
			at += snprintf(text + at, (size_t)(TEXT_BYTES - at),
				"  - {link: h%u.p%u, delay: %uns, speed: %uMb/s}\n", host, plane,
				501 + odd * 7 % 331, 99002 + odd * 571 % 991);
		for (unsigned link = 0; link < 16; link++, odd++)
			at += snprintf(text + at, (size_t)(TEXT_BYTES - at),
				"  - {link: \"p%u.t0-%u:t1-%u\", delay: %uns, speed: %uMb/s}\n",
				plane, link / 4, link % 4, 502 + odd * 13 % 317,
				99001 + odd * 617 % 997);
	}
	REQUIRE(at < TEXT_BYTES);
}

/* The world's hosts again, with endpoints as sim makes them. */
static void open_hosts(struct twin *t)
{
	uint32_t sends[HOSTS] = { 0 }, receives[HOSTS] = { 0 }, rkey;

	for (uint32_t i = 0; i < t->n; i++) {
		sends[t->flows[i].src]++;
		receives[t->flows[i].dst]++;
	}
	for (uint32_t host = 0; host < HOSTS; host++) {
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

static struct twin *twin_open(uint32_t fan_in, uint32_t len_bytes, uint32_t threads)
{
	struct twin *t = calloc(1, sizeof(*t));
	char error[256];

	REQUIRE(t);
	write_fabric(t->text);
	t->world = world_open(t->text, WEFT_DISCIPLINE_TRIM);
	t->topo = t->world->topo;
	weft_sim_config_default(&t->config);
	t->config.topo = t->topo;
	t->config.threads = threads;
	t->config.seed = 0; /* the world's */
	t->config.paths = t->config.reply_paths = 256;
	t->n = fan_in ? fan_in : HOSTS;
	if (fan_in)
		REQUIRE(weft_sim_incast(t->topo, fan_in, len_bytes, 5, t->flows));
	else
		weft_sim_permutation(t->topo, len_bytes, 5, t->flows);
	open_hosts(t);
	for (uint32_t i = 0; i < t->n; i++)
		world_send(t->world, t->flows[i].src, t->flows[i].dst, len_bytes, 1, true);
	if (weft_sim_open(&t->sim, &t->config, t->flows, t->n, NULL, 0, error, sizeof(error)))
		fprintf(stderr, "%s\n", error);
	REQUIRE(t->sim);
	return t;
}

static void twin_compare(struct twin *t)
{
	struct weft_sim_totals totals;
	uint64_t trimmed = 0, marked = 0;

	weft_sim_run(t->sim, UINT64_C(3000000000), NULL, NULL);
	weft_sim_totals(t->sim, &totals);
	CHECK_EQ(totals.flows_done, t->n);
	while (t->world->n_events && t->world->events[0].at_ps < totals.now_ps + WEFT_SIM_START_PS)
		world_step(t->world);
	for (uint32_t host = 0; host < HOSTS; host++)
		CHECK_EQ(weft_sim_host_digest(t->sim, host), t->world->hosts[host].digest);
	for (uint32_t i = 0; i < t->n; i++)
		CHECK_EQ(weft_sim_flow_ps(t->sim, i),
			t->world->hosts[t->flows[i].src].done_ps - WEFT_SIM_START_PS);
	for (uint32_t i = 0; i < t->world->n_switches; i++) {
		uint32_t ports = weft_topo_node(t->topo, HOSTS + i).ports;

		for (uint32_t port = 0; port < ports; port++) {
			const struct weft_port_counters *c =
				weft_switch_port_counters(t->world->switches[i], port);

			trimmed += c->trimmed;
			marked += c->ecn_marked;
		}
	}
	CHECK_EQ(totals.trimmed, trimmed);
	CHECK_EQ(totals.marked, marked);
	fprintf(stderr, "twin: %u us, %u hops, %u trimmed, %u marked\n",
		(unsigned)(totals.now_ps / 1000000), (unsigned)totals.packet_hops,
		(unsigned)totals.trimmed, (unsigned)totals.marked);
}

static void twin_close(struct twin *t)
{
	weft_sim_close(t->sim);
	world_close(t->world);
	free(t);
}

TEST(weft_sim__agrees_with_the_event_heap_on_a_permutation)
{
	for (uint32_t threads = 1; threads <= 4; threads++) {
		struct twin *t = twin_open(0, 2000000, threads);

		twin_compare(t);
		twin_close(t);
	}
}

TEST(weft_sim__agrees_with_the_event_heap_on_an_incast)
{
	struct twin *t = twin_open(12, 200000, 2);

	twin_compare(t);
	twin_close(t);
}
