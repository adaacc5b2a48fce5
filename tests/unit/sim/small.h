/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SMALL_H
#define SMALL_H
/* small - fabrics of a few hosts, and simulations of them that are made and run in one call. */
#include "check.h"
#include "ranks.h"

/* 16 hosts below 4 T0s, 4 T1s, one plane of 400 Gb/s, 1 us a link. */
#define SMALL_ONE                                                                                  \
	"name: one\nplanes: 1\nt0s: 4\nt1s: 4\nhosts: 16\n"                                        \
	"host_links: {speed: 400Gb/s, delay: 1us}\ncore_links: {speed: 400Gb/s, delay: 1us}\n"
/* The same over four planes of 100 Gb/s, with cables of two lengths. */
#define SMALL_FOUR                                                                                 \
	"name: four\nplanes: 4\nt0s: 4\nt1s: 4\nhosts: 16\n"                                       \
	"host_links: {speed: 100Gb/s, delay: 100ns}\ncore_links: {speed: 100Gb/s, delay: 500ns}\n"

struct small {
	struct weft_topo *topo;
	struct weft_sim_config config;
	struct weft_sim_flow flows[64];
	uint32_t n;
	struct weft_sim_fault faults[64];
	uint32_t n_faults;
	struct weft_sim *sim;
	struct weft_sim_totals totals;
	struct weft_counters counters;
	char error[256];
};

static inline struct small small_make(const char *fabric)
{
	struct small s = { 0 };

	REQUIRE(!weft_topo_open_text(
		&s.topo, fabric, strlen(fabric), "small", s.error, sizeof(s.error)));
	weft_sim_config_default(&s.config);
	s.config.topo = s.topo;
	s.config.paths = s.config.reply_paths = 16;
	return s;
}

static inline void small_open(struct small *s)
{
	if (weft_sim_open(&s->sim, &s->config, s->flows, s->n, s->faults, s->n_faults, s->error,
		    sizeof(s->error)))
		fprintf(stderr, "%s\n", s->error);
	REQUIRE(s->sim);
}

/*
 * What holds of every run that has come to its end: hosts send what hosts understand, and of a
 * packet of data, which arrives whole once, no more copies were cut than have been sent again.
 */
static inline void small_judge(const struct small *s)
{
	CHECK_EQ(s->counters.drops[WEFT_DROP_BAD_FIELD], 0);
	if (s->totals.flows_done == s->sim->n_flows)
		CHECK(s->totals.trimmed <= s->counters.tx_rtx_pkts);
}

/* For as long as it takes, up to a tenth of a second. */
static inline void small_run(struct small *s)
{
	if (!s->sim)
		small_open(s);
	weft_sim_run(s->sim, UINT64_C(100000000000), NULL, NULL);
	weft_sim_check(s->sim);
	weft_sim_totals(s->sim, &s->totals);
	weft_sim_counters(s->sim, &s->counters);
	small_judge(s);
}

static inline void small_permute(struct small *s, uint32_t len_bytes)
{
	s->n = weft_topo_shape(s->topo)->hosts;
	weft_sim_permutation(s->topo, len_bytes, s->config.seed, s->flows);
}

static inline uint64_t small_last_ps(const struct small *s)
{
	uint64_t last_ps = 0;

	for (uint32_t i = 0; i < s->n; i++)
		last_ps = WEFT_MAX(last_ps, weft_sim_flow_ps(s->sim, i));
	return last_ps;
}

static inline struct weft_counters small_counters(const struct weft_sim *sim, uint32_t host)
{
	struct weft_counters counters;

	weft_sim_host_counters(sim, host, &counters);
	return counters;
}

static inline void small_close(struct small *s)
{
	weft_sim_close(s->sim);
	weft_topo_close(s->topo);
}

#endif
