/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * published - what the papers say of the baselines, against ours: docs/baselines.md has the table.
 */
#include "small.h"

/* 64 hosts below 8 T0s, 8 T1s, as in the papers one plane of 40 Gb/s. */
#define FORTY                                                                                      \
	"name: forty\nplanes: 1\nt0s: 8\nt1s: 8\nhosts: 64\n"                                      \
	"host_links: {speed: 40Gb/s, delay: 1us}\ncore_links: {speed: 40Gb/s, delay: 1us}\n"

static struct small make(const char *fabric, enum weft_baseline_kind kind, enum weft_discipline how)
{
	struct small s = small_make(fabric);

	s.config.baseline.kind = kind;
	s.config.discipline = how;
	return s;
}

/* Mean over flows of what they got of their line. */
static double utilization(const struct small *s)
{
	double ideal_ps = (double)weft_sim_ideal_ps(s->topo, s->flows, s->n), sum = 0;

	for (uint32_t i = 0; i < s->n; i++)
		sum += ideal_ps / (double)weft_sim_flow_ps(s->sim, i);
	return sum / s->n;
}

/*
 * NDP's paper, figure 14: DCTCP and DCQCN have about 40 % of a permutation over three tiers; MRC's
 * has RoCE at about half over two, where hashes collide once less each way.
 */
TEST(roce__has_about_half_of_a_permutation)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct small s = make(FORTY, WEFT_BASELINE_ROCE, WEFT_DISCIPLINE_LOSSLESS);

		s.config.seed = seed;
		s.config.baseline.dcqcn = true;
		small_permute(&s, 2000000);
		small_run(&s);
		double share = utilization(&s);

		fprintf(stderr, "RoCE, DCQCN, PFC: permutation of 64: %.3f of the line\n", share);
		CHECK(share > 0.45 && share < 0.70);
		CHECK_EQ(s.totals.flows_done, 64);
		CHECK_EQ(s.totals.lost, 0);
		small_close(&s);
	}
}

/* Figure 14 again: NDP has 92 %, its slowest flow 90 %; ours pays for longer acknowledgements. */
TEST(ndp__has_nine_tenths_of_a_permutation)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct small s = make(FORTY, WEFT_BASELINE_NDP, WEFT_DISCIPLINE_TRIM);

		s.config.seed = seed;
		small_permute(&s, 2000000);
		small_run(&s);
		double share = utilization(&s),
		       slowest = (double)small_last_ps(&s) /
				 (double)weft_sim_ideal_ps(s.topo, s.flows, s.n);

		fprintf(stderr, "NDP: permutation of 64: %.3f of the line, slowest %.3f x ideal\n",
			share, slowest);
		CHECK(share >= 0.90);
		CHECK(slowest <= 1.15);
		small_close(&s);
	}
}

/*
 * Figure 22: one link of the core at a tenth of its rate, under a permutation.  Who forgets what a
 * path did to the last packet crawls: 15 flows of 128 had 3 of 10 Gb/s there.  A spray whose window
 * halves for the marks of that link is slower still.
 */
TEST(ndp__crawls_where_one_link_is_slow)
{
	static const struct {
		enum weft_baseline_kind kind;
		double least, most;
	} rows[] = { { WEFT_BASELINE_NDP, 0.3, 0.5 }, { WEFT_BASELINE_SPRAY, 0.15, 0.3 } };

	for (uint32_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct small s = make(FORTY, rows[i].kind, WEFT_DISCIPLINE_TRIM);
		uint32_t link = weft_topo_link_find(s.topo, "p0.t0-0:t1-0"), slow = 0;

		s.faults[s.n_faults++] = (struct weft_sim_fault){
			.kind = WEFT_SIM_LINK_RATE, .where = link, .value = 4000000000
		};
		small_permute(&s, 8000000);
		small_run(&s);
		double ideal_ps = (double)weft_sim_ideal_ps(s.topo, s.flows, s.n);
		double share = ideal_ps / (double)small_last_ps(&s);

		for (uint32_t k = 0; k < s.n; k++)
			slow += ideal_ps / (double)weft_sim_flow_ps(s.sim, k) < 0.6;
		fprintf(stderr, "%s, one slow link: slowest %.3f of the line, %u of 64 slow\n",
			weft_baseline_name(rows[i].kind), share, (unsigned)slow);
		CHECK(share > rows[i].least && share < rows[i].most);
		CHECK(slow >= 8 && slow <= 16);
		small_close(&s);
	}
}

/* Figure 20: the last flow of an incast is within 2 % of the best. */
TEST(ndp__is_within_two_percent_of_the_best_incast)
{
	for (uint32_t fan_in = 8; fan_in <= 56; fan_in += 24) {
		struct small s = make(FORTY, WEFT_BASELINE_NDP, WEFT_DISCIPLINE_TRIM);

		CHECK(weft_sim_incast(s.topo, fan_in, 270000, 1, s.flows));
		s.n = fan_in;
		small_run(&s);
		double ratio =
			(double)small_last_ps(&s) / (double)weft_sim_ideal_ps(s.topo, s.flows, s.n);

		fprintf(stderr, "NDP: incast %u:1: %.4f x ideal\n", (unsigned)fan_in, ratio);
		CHECK(ratio <= 1.02);
		CHECK_EQ(s.counters.timeouts, 0);
		small_close(&s);
	}
}

/* What one flow of 24 MB gets of its line where a share of packets is lost. */
static double with_loss(enum weft_baseline_kind kind, uint32_t ppm)
{
	struct small s = make(SMALL_ONE, kind, WEFT_DISCIPLINE_DROP_TAIL);

	s.flows[s.n++] = (struct weft_sim_flow){ .src = 0, .dst = 15, .len_bytes = 24000000 };
	s.faults[s.n_faults++] = (struct weft_sim_fault){ .kind = WEFT_SIM_LINK_LOSS,
		.where = weft_topo_link_find(s.topo, "h0.p0"),
		.value = ppm | WEFT_SIM_UP };
	small_run(&s);
	double share = utilization(&s);

	small_close(&s);
	return share;
}

/*
 * IRN, SIGCOMM 2018: go-back-N needs a lossless network; MRC's paper finds RoCE unusable at 1 %.
 * By arithmetic each loss costs what was sent in a round trip, N packets: 1 / (1 + pN) of the line.
 */
TEST(roce__collapses_under_loss)
{
	double none = with_loss(WEFT_BASELINE_ROCE, 0), some = with_loss(WEFT_BASELINE_ROCE, 1000);
	double much = with_loss(WEFT_BASELINE_ROCE, 10000);
	double irn = with_loss(WEFT_BASELINE_ROCE_SR, 10000);

	fprintf(stderr,
		"RoCE at 0, 0.1, 1 %% loss: %.3f %.3f %.3f of the line; IRN at 1 %%: %.3f\n", none,
		some, much, irn);
	CHECK(none > 0.97);
	/* 8 us at 400 Gb/s are 94 frames. */
	CHECK(some > 0.85 && some < 0.99);
	CHECK_NEAR(much, 1 / (1 + 0.01 * 94), 0.12);
	CHECK(irn > much * 1.25);
}

/* DCQCN's paper, section 6: flows that share a bottleneck converge to equal shares, and fill it. */
TEST(dcqcn__shares_fairly)
{
	struct small s = make(FORTY, WEFT_BASELINE_ROCE, WEFT_DISCIPLINE_LOSSLESS);
	uint64_t before[4], n = 4;
	double sum = 0, squares = 0;

	s.config.baseline.dcqcn = true;
	for (uint32_t i = 0; i < n; i++)
		s.flows[s.n++] = (struct weft_sim_flow){ .src = 8 + 8 * i,
			.dst = 0,
			.len_bytes = 400000000,
			.start_ps = i * 1000000000 };
	small_open(&s);
	weft_sim_run(s.sim, UINT64_C(20000000000), NULL, NULL);
	for (uint32_t i = 0; i < n; i++)
		before[i] = small_counters(s.sim, s.flows[i].src).tx_data_bytes;
	weft_sim_run(s.sim, UINT64_C(40000000000), NULL, NULL);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t bytes =
			small_counters(s.sim, s.flows[i].src).tx_data_bytes - before[i];
		double gbps = (double)bytes * 8 / 20e6;

		sum += gbps;
		squares += gbps * gbps;
	}
	double jain = sum * sum / ((double)n * squares);

	fprintf(stderr, "DCQCN: 4:1, 20 ms: %.2f Gb/s of payload, Jain's index %.4f\n", sum, jain);
	CHECK(sum > 0.85 * 38.4); /* of 40, less headers */
	CHECK(jain > 0.95);
	small_close(&s);
}

/*
 * DCQCN's paper, section 2, and MRC's 7:1 incast: pauses spread from a full port to flows that do
 * not go there.  Fourteen hosts send to h0, and one below the same T0s to h1, whose line is idle.
 */
static double victim(enum weft_baseline_kind kind, enum weft_discipline how)
{
	struct small s = make(FORTY, kind, how);

	for (uint32_t i = 0; i < 14; i++)
		s.flows[s.n++] = (struct weft_sim_flow){
			.src = 8 + 4 * i % 56, .dst = 0, .len_bytes = 1500000
		};
	s.flows[s.n++] = (struct weft_sim_flow){ .src = 9, .dst = 1, .len_bytes = 1500000 };
	small_run(&s);
	CHECK_EQ(s.totals.flows_done, 15);
	uint64_t alone_ps = weft_sim_ideal_ps(s.topo, &s.flows[14], 1);
	double share = (double)alone_ps / (double)weft_sim_flow_ps(s.sim, 14);

	small_close(&s);
	return share;
}

TEST(pfc__has_victims)
{
	double pfc = victim(WEFT_BASELINE_ROCE, WEFT_DISCIPLINE_LOSSLESS);
	double ndp = victim(WEFT_BASELINE_NDP, WEFT_DISCIPLINE_TRIM);

	fprintf(stderr, "victim of 14:1: %.3f of its line with PFC, %.3f with NDP\n", pfc, ndp);
	CHECK(pfc < 0.6);
	CHECK(ndp > 0.85);
}
