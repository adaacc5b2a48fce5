/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How close to arithmetic the product comes where much meets: 32 hosts send to one, and everybody
 * to somebody.  The bounds are issue 4's, on fabrics small enough for a test; docs/simulator.md has
 * the large ones.
 */
#include "small.h"

/* 64 hosts below 8 T0s, 8 T1s, one plane of 400 Gb/s, 1 us a link. */
#define FABRIC                                                                                     \
	"name: middle\nplanes: 1\nt0s: 8\nt1s: 8\nhosts: 64\n"                                     \
	"host_links: {speed: 400Gb/s, delay: 1us}\ncore_links: {speed: 400Gb/s, delay: 1us}\n"

static double slowest_over_ideal(const struct small *s)
{
	uint64_t slowest = 0;

	for (uint32_t i = 0; i < s->n; i++)
		slowest = WEFT_MAX(slowest, weft_sim_flow_ps(s->sim, i));
	return (double)slowest / (double)weft_sim_ideal_ps(s->topo, s->flows, s->n);
}

TEST(weft_sim_run__drains_an_incast_of_32_at_line_rate)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct small s = small_make(FABRIC);

		s.config.seed = seed;
		s.n = 32;
		CHECK(weft_sim_incast(s.topo, s.n, 2000000, seed, s.flows));
		small_run(&s);
		CHECK_EQ(s.totals.flows_done, 32);
		CHECK_EQ(s.totals.lost, 0); /* all headers have room */
		CHECK_EQ(s.counters.lost_timer, 0);
		CHECK(s.totals.trimmed > 4000);
		fprintf(stderr, "32:1, seed %u: %.4f x ideal\n", (unsigned)seed,
			slowest_over_ideal(&s));
		CHECK(slowest_over_ideal(&s) < 1.04);
		small_close(&s);
	}
}

TEST(weft_sim_run__gives_a_permutation_its_lines)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct small s = small_make(FABRIC);

		s.config.seed = seed;
		s.n = 64;
		weft_sim_permutation(s.topo, 2000000, seed, s.flows);
		small_run(&s);
		CHECK_EQ(s.totals.flows_done, 64);
		CHECK_EQ(s.totals.lost + s.totals.trimmed, 0);
		fprintf(stderr, "permutation, seed %u: %.4f x ideal\n", (unsigned)seed,
			slowest_over_ideal(&s));
		CHECK(slowest_over_ideal(&s) < 1.05);
		small_close(&s);
	}
}

/* 64 hosts over eight planes, four paths of sixteen in each: some T1s have more to send down to a
 * T0 than they can for long, so that queues are deep, and nothing is broken.
 */
#define EIGHT                                                                                      \
	"name: eight\nplanes: 8\nt0s: 4\nt1s: 16\nhosts: 64\n"                                     \
	"host_links: {speed: 100Gb/s, delay: 100ns}\ncore_links: {speed: 100Gb/s, delay: 500ns}\n"

TEST(weft_sim_run__ends_a_clean_permutation_with_every_path_good)
{
	uint64_t retired = 0;

	for (uint64_t seed = 1; seed <= 3; seed++) {
		uint64_t states[8][WEFT_SIM_PATH_STATES] = { 0 };
		struct small s = small_make(EIGHT);

		s.config.seed = seed;
		s.config.paths = 32;
		small_permute(&s, 2000000);
		small_run(&s);
		CHECK_EQ(s.totals.flows_done, 64);
		CHECK_EQ(s.totals.lost, 0);
		CHECK_EQ(s.counters.timeouts, 0);
		CHECK_EQ(s.counters.planes_suspected, 0);
		/* Late is not lost (docs/decisions/016): few are doubted, all are taken back. */
		CHECK(s.counters.paths_retired < 64 * 32 / 50);
		CHECK_EQ(s.counters.paths_revived, s.counters.paths_retired);
		/* 2,048 less those of pairs below one T0, which have fewer. */
		CHECK(weft_sim_paths(s.sim, states) > 1500);
		for (uint32_t plane = 0; plane < 8; plane++)
			CHECK_EQ(states[plane][WEFT_PATH_ASSUMED_BAD - WEFT_PATH_GOOD], 0);
		retired += s.counters.paths_retired;
		small_close(&s);
	}
	CHECK(retired > 0); /* else this has looked at nothing */
}

/*
 * Probes wait with data and are never cut (WEFT_CLASS_NO_TRIM): a probe without its end is no
 * packet at all.  Three incasts behind each other make hosts probe into full queues; small_judge()
 * sees what came of it.
 */
TEST(nic_depart__has_switches_cut_data_and_no_probes)
{
	static const struct {
		uint32_t fan_in, len_bytes;
	} sizes[] = { { 40, 65536 }, { 62, 65536 }, { 62, 200000 } };

	for (unsigned i = 0; i < WEFT_COUNT(sizes); i++) {
		struct small s = small_make("name: three\nplanes: 2\nt0s: 8\nt1s: 8\nhosts: 64\n"
					    "host_links: {speed: 200Gb/s, delay: 600ns}\n"
					    "core_links: {speed: 200Gb/s, delay: 600ns}\n");
		static struct weft_sim_flow flows[3 * 62];
		static const uint64_t starts_ps[] = { 0, 12000000, 20000000 };
		const uint32_t len_bytes[] = { sizes[i].len_bytes, 20480, 3072 };
		uint32_t n = sizes[i].fan_in;

		s.config.paths = 32;
		for (unsigned k = 0; k < 3 * n; k++)
			flows[k] = (struct weft_sim_flow){ .src = 1 + k % n,
				.dst = 0,
				.len_bytes = len_bytes[k / n],
				.start_ps = starts_ps[k / n],
				.job = (uint16_t)(k / n) };
		REQUIRE(!weft_sim_open(
			&s.sim, &s.config, flows, 3 * n, NULL, 0, s.error, sizeof(s.error)));
		small_run(&s);
		CHECK_EQ(s.totals.flows_done, 3 * n);
		CHECK_EQ(s.totals.lost, 0);
		CHECK(s.totals.trimmed > 1000); /* else nothing has been tried */
		CHECK(s.counters.tx_probe > 0);
		small_close(&s);
	}
}
