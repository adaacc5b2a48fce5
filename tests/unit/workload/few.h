/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FEW_H
#define FEW_H
/* few - loads over fabrics of a few hosts, made in one call and looked at. */
#include "check.h"
#include "workload_local.h"

#include <stdlib.h>
#include <string.h>

/* 16 hosts below 4 T0s, 4 T1s, one plane of 400 Gb/s, 1 us a link. */
#define FEW_FABRIC                                                                                 \
	"name: few\nplanes: 1\nt0s: 4\nt1s: 4\nhosts: 16\n"                                        \
	"host_links: {speed: 400Gb/s, delay: 1us}\ncore_links: {speed: 400Gb/s, delay: 1us}\n"

struct few {
	struct weft_topo *topo;
	struct weft_workload_spec spec;
	struct weft_workload load;
	char error[1024];
};

static inline struct few few_make(const char *text)
{
	struct few f = { 0 };

	REQUIRE(!weft_topo_open_text(
		&f.topo, FEW_FABRIC, strlen(FEW_FABRIC), "few", f.error, sizeof(f.error)));
	weft_workload_spec_default(&f.spec);
	if (text && !weft_workload_parse(&f.spec, text, f.error, sizeof(f.error)))
		fprintf(stderr, "%s\n", f.error);
	return f;
}

static inline bool few_add(struct few *f)
{
	return weft_workload_add(&f->load, f->topo, &f->spec, f->error, sizeof(f->error));
}

/* A load that must be possible. */
static inline struct few few_open(const char *text)
{
	struct few f = few_make(text);

	if (!few_add(&f))
		fprintf(stderr, "%s\n", f.error);
	REQUIRE(f.load.n_jobs == 1);
	return f;
}

static inline bool few_read(struct few *f, const char *name, const char *text)
{
	return weft_workload_add_text(
		&f->load, f->topo, &f->spec, name, text, strlen(text), f->error, sizeof(f->error));
}

/* A text that must be refused, and how. */
static inline void few_refuse(const char *name, const char *text, const char *want)
{
	struct few f = few_make(NULL);

	CHECK(!few_read(&f, name, text));
	CHECK_STR(f.error, want);
	weft_workload_close(&f.load);
	weft_topo_close(f.topo);
}

static inline void few_close(struct few *f)
{
	weft_workload_close(&f->load);
	weft_topo_close(f->topo);
}

static inline uint32_t few_times(const struct weft_sim_flow *f)
{
	return f->repeats ? f->repeats : 1;
}

/* Bytes that a host sends, or receives. */
static inline uint64_t few_bytes(const struct few *f, uint32_t host, bool received)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < f->load.n; i++) {
		const struct weft_sim_flow *flow = &f->load.flows[i];

		if (flow->src != flow->dst && (received ? flow->dst : flow->src) == host)
			sum += (uint64_t)flow->len_bytes * few_times(flow);
	}
	return sum;
}

/* Runs it; returns when the last flow was done.  All must be. */
static inline uint64_t few_run(struct few *f)
{
	struct weft_sim_config config;
	struct weft_sim *sim;
	struct weft_sim_totals totals;
	struct weft_sim_times times;
	uint64_t last_ps = 0;

	weft_sim_config_default(&config);
	config.topo = f->topo;
	config.paths = config.reply_paths = 4;
	config.threads = 2;
	config.edges = f->load.edges;
	config.n_edges = f->load.n_edges;
	if (weft_sim_open(
		    &sim, &config, f->load.flows, f->load.n, NULL, 0, f->error, sizeof(f->error)))
		fprintf(stderr, "%s\n", f->error);
	REQUIRE(sim);
	weft_sim_run(sim, UINT64_C(1000000000000), NULL, NULL);
	weft_sim_totals(sim, &totals);
	CHECK_EQ(totals.flows_done, f->load.n);
	for (uint32_t i = 0; i < f->load.n; i++) {
		weft_sim_flow_times(sim, i, &times);
		last_ps = WEFT_MAX(last_ps, times.done_ps);
	}
	weft_sim_close(sim);
	return last_ps;
}

#endif
