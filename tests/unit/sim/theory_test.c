/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * theory - a fabric against what is known without simulating it.
 *
 * What chance decides is compared within SIGMAS standard errors of the mean: of batches where
 * samples depend on each other (waits in one queue), of independent runs elsewhere.  Seeds are
 * fixed, so a test that passes passes always; the bound is what a new seed would have to keep too.
 * What arithmetic decides is compared exactly.
 */
#include "small.h"

#include <math.h>

#define SIGMAS 3.3 /* one new seed in a thousand is further off */

enum { BATCHES = 30, FULL_BYTES = 4096 + DATA_HEADERS + WEFT_FRAME_GAP_BYTES };
#define FULL_PS (FULL_BYTES * UINT64_C(20)) /* at 400 Gb/s */

/* ---- queues ---- */

/* 32 hosts below one T0 of two, 400 Gb/s, 1 us a link. */
#define WIDE                                                                                       \
	"name: wide\nplanes: 1\nt0s: 2\nt1s: 1\nhosts: 64\n"                                       \
	"host_links: {speed: 400Gb/s, delay: 1us}\ncore_links: {speed: 400Gb/s, delay: 1us}\n"

static double exponential(struct weft_rng *rng)
{
	return -log(1 - (double)(weft_rng_u64(rng) >> 11) * 0x1p-53);
}

struct sample {
	double mean, error; /* of the mean */
};

/* Of batches, since neighbours in a queue wait for the same others. */
static struct sample sample_of(const double values[], uint32_t n)
{
	struct sample s = { 0 };
	double squares = 0;
	uint32_t each = n / BATCHES;

	for (uint32_t b = 0; b < BATCHES; b++) {
		double sum = 0;

		for (uint32_t i = 0; i < each; i++)
			sum += values[b * each + i];
		s.mean += sum / each;
		squares += sum / each * sum / each;
	}
	s.mean /= BATCHES;
	s.error = sqrt((squares / BATCHES - s.mean * s.mean) / (BATCHES - 1));
	return s;
}

/*
 * Thirty-one hosts send single packets to the one beside them, as a Poisson process that is dealt
 * out at random.  A tree of equal servers keeps packets exactly as long as its root alone would
 * (Avi-Itzhak 1965), so what they wait in NICs and at the T0's port together is M/D/1, however few
 * senders there are.
 */
static struct sample wait_in_tree(double rho, uint32_t n)
{
	struct small s = small_make(WIDE);
	struct weft_sim_flow *flows = calloc(n, sizeof(*flows));
	double *waits = calloc(n, sizeof(*waits)), at_ps = 0;
	struct weft_rng rng;

	weft_rng_seed(&rng, 11);
	for (uint32_t i = 0; i < n; i++) {
		at_ps += exponential(&rng) * (double)FULL_PS / rho;
		flows[i] = (struct weft_sim_flow){ .src = 1 + (uint32_t)weft_rng_below(&rng, 31),
			.len_bytes = 4096,
			.start_ps = (uint64_t)at_ps,
			.told = true };
	}
	s.config.baseline.kind =
		WEFT_BASELINE_SPRAY; /* nobody probes: nothing but data goes there */
	s.config.discipline = WEFT_DISCIPLINE_TRIM;
	REQUIRE(!weft_sim_open(&s.sim, &s.config, flows, n, NULL, 0, s.error, sizeof(s.error)));
	small_run(&s);
	CHECK_EQ(s.totals.flows_done, n);
	CHECK_EQ(s.totals.trimmed + s.totals.lost, 0);
	for (uint32_t i = 0; i < n; i++) {
		struct weft_sim_times t;

		weft_sim_flow_times(s.sim, i, &t);
		REQUIRE(t.arrived_ps >= t.started_ps + 2 * (FULL_PS + 1000000));
		waits[i] = (double)(t.arrived_ps - t.started_ps - 2 * (FULL_PS + 1000000)) /
			   (double)FULL_PS;
	}
	struct sample sample = sample_of(waits, n);

	small_close(&s);
	free(waits);
	free(flows);
	return sample;
}

TEST(weft_sim_run__waits_as_m_d_1_does)
{
	static const double loads[] = { 0.3, 0.5, 0.8 };

	for (size_t i = 0; i < WEFT_COUNT(loads); i++) {
		double rho = loads[i], want = rho / (2 * (1 - rho));
		struct sample got = wait_in_tree(rho, 100000);

		fprintf(stderr, "M/D/1, load %.1f: waits %.4f +- %.4f services, theory %.4f\n", rho,
			got.mean, got.error, want);
		CHECK(fabs(got.mean - want) <= SIGMAS * got.error);
		CHECK(got.error < 0.03 * want); /* or nothing is said */
	}
}

/* ---- balls into bins ---- */

enum { BALLS = 8, RUNS = 400 };

/* Eight hosts below each of two T0s, eight T1s: 400 Gb/s, 1 us a link. */
#define BINS                                                                                       \
	"name: bins\nplanes: 1\nt0s: 2\nt1s: 8\nhosts: 16\n"                                       \
	"host_links: {speed: 400Gb/s, delay: 1us}\ncore_links: {speed: 400Gb/s, delay: 1us}\n"

/*
 * share[k]: how likely it is that the fullest of BALLS bins holds k of BALLS balls.  Of the m^n
 * ways to throw n balls, n! [x^n] (sum over j <= k of x^j / j!)^m leave no bin with more than k.
 */
static void fullest_bin(double share[BALLS + 1])
{
	double ways = 1, factorial[BALLS + 1] = { 1 }, before = 0;

	for (unsigned i = 1; i <= BALLS; i++) {
		factorial[i] = factorial[i - 1] * i;
		ways *= BALLS;
	}
	for (unsigned k = 0; k <= BALLS; k++) {
		double poly[BALLS + 1] = { 1 };

		for (unsigned bin = 0; bin < BALLS; bin++) {
			double next[BALLS + 1] = { 0 };

			for (unsigned i = 0; i <= BALLS; i++) {
				for (unsigned j = 0; j <= k && i + j <= BALLS; j++)
					next[i + j] += poly[i] / factorial[j];
			}
			memcpy(poly, next, sizeof(poly));
		}
		double at_most = poly[BALLS] * factorial[BALLS] / ways;

		share[k] = at_most - before;
		before = at_most;
	}
}

/* How many times the ideal the slowest of eight flows takes that hashes deal out to eight T1s. */
static double slowest_of_hashed(uint64_t seed)
{
	struct small s = small_make(BINS);

	s.config.seed = seed;
	s.config.baseline.kind = WEFT_BASELINE_ROCE;
	s.config.discipline = WEFT_DISCIPLINE_LOSSLESS;
	for (uint32_t i = 0; i < BALLS; i++)
		s.flows[s.n++] =
			(struct weft_sim_flow){ .src = i, .dst = 8 + i, .len_bytes = 120 * 4096 };
	small_run(&s);
	CHECK_EQ(s.totals.flows_done, BALLS);
	CHECK_EQ(s.totals.lost, 0);
	/* What is not the line's time: three more links to store on, the way, an answer back. */
	double way_ps = (double)weft_sim_ideal_ps(s.topo, s.flows, s.n) - 120.0 * FULL_PS;
	double times = ((double)small_last_ps(&s) - way_ps) / (120.0 * FULL_PS);

	small_close(&s);
	return times;
}

/*
 * One path per flow, by a hash: the slowest takes as many times the ideal as flows share its uplink
 * with it.  Its distribution is that of the fullest bin, by Pearson's test with four degrees of
 * freedom (2, 3, 4, 5 and more; 1 is one run in 416), 0.1 % critical value.
 */
TEST(roce__collides_as_balls_in_bins_do)
{
	double share[BALLS + 1], chi2 = 0, mean = 0, want_mean = 0;
	unsigned seen[5] = { 0 };

	fullest_bin(share);
	for (unsigned i = 1; i <= RUNS; i++) {
		double times = slowest_of_hashed(i);
		unsigned whole = (unsigned)(times + 0.5);

		CHECK(fabs(times - whole) < 0.06 * whole); /* nothing but sharing */
		REQUIRE(whole >= 1 && whole <= BALLS);
		seen[WEFT_MIN(whole, 5u) - 1]++;
		mean += (double)whole / RUNS;
	}
	for (unsigned k = 1; k <= 5; k++) {
		double want = share[k] * RUNS;

		for (unsigned more = k + 1; k == 5 && more <= BALLS; more++)
			want += share[more] * RUNS;
		chi2 += (seen[k - 1] - want) * (seen[k - 1] - want) / want;
		fprintf(stderr, "fullest uplink has %u: %u of %u runs, theory %.1f\n", k,
			seen[k - 1], (unsigned)RUNS, want);
	}
	for (unsigned k = 1; k <= BALLS; k++)
		want_mean += k * share[k];
	fprintf(stderr, "fullest uplink: mean %.3f, theory %.3f, chi2 %.2f\n", mean, want_mean,
		chi2);
	CHECK(chi2 < 18.47);
}

/* MRC in the same place: no packet's path is a throw of dice that a flow has to live with. */
TEST(weft_sim_run__sprays_where_hashes_collide)
{
	struct small s = small_make(BINS);

	for (uint32_t i = 0; i < BALLS; i++)
		s.flows[s.n++] =
			(struct weft_sim_flow){ .src = i, .dst = 8 + i, .len_bytes = 120 * 4096 };
	small_run(&s);
	double times = (double)small_last_ps(&s) / (double)weft_sim_ideal_ps(s.topo, s.flows, s.n);

	fprintf(stderr, "sprayed: %.3f x ideal\n", times);
	CHECK(times < 1.1);
	small_close(&s);
}

/* ---- capacity ---- */

/*
 * One flow alone takes what arithmetic says, and what the ideal leaves out: an answer is a SACK,
 * which is longer than the shortest there is; the engine counts nanoseconds; and once per round
 * trip a probe of the way back takes its turn on the line.
 */
TEST(weft_sim_run__takes_for_one_flow_what_arithmetic_says)
{
	enum { SACK_MORE_PS = 6000, PROBE_PS = (ACK_BYTES + WEFT_FRAME_GAP_BYTES) * 20 };

	for (uint32_t pkts = 1; pkts <= 1024; pkts *= 4) {
		struct small s = small_make(SMALL_ONE);

		s.flows[s.n++] =
			(struct weft_sim_flow){ .src = 0, .dst = 15, .len_bytes = pkts * 4096 };
		small_run(&s);
		uint64_t took_ps = small_last_ps(&s), round_trips = took_ps / 8000000;
		uint64_t bound_ps = weft_sim_ideal_ps(s.topo, s.flows, s.n);

		CHECK(took_ps >= bound_ps);
		CHECK(took_ps <= bound_ps + SACK_MORE_PS + round_trips * PROBE_PS);
		small_close(&s);
	}
}

/* Of n lines of a host `out` are cut before it begins: n / (n - out) times as long. */
TEST(weft_sim_run__loses_the_share_of_a_plane_that_is_out)
{
	for (uint32_t out = 0; out < 4; out++) {
		struct small s = small_make(SMALL_FOUR);
		uint64_t line_ps = FULL_BYTES * 80;

		s.flows[s.n++] = (struct weft_sim_flow){
			.src = 0, .dst = 15, .len_bytes = 1200 * 4096, .start_ps = 1000000
		};
		for (uint32_t p = 0; p < out; p++)
			s.faults[s.n_faults++] =
				(struct weft_sim_fault){ 0, WEFT_SIM_LINK_DOWN, p, 0 };
		small_run(&s);
		CHECK_EQ(s.totals.flows_done, 1);
		double times = (double)small_last_ps(&s) / (double)(1200 / (4 - out) * line_ps);

		fprintf(stderr, "%u of 4 lines cut: %.4f of what %u carry\n", out, times, 4 - out);
		CHECK(times > 1 && times < 1.05);
		small_close(&s);
	}
}

/*
 * All hosts below one T0 send through S = 4 T1s of which k have a fraction f of their rate: no
 * transport is done before S / (S - k(1 - f)) times what a whole core takes.  Ours comes no closer
 * than a fifth where paths differ much: a marked path is passed over for a turn, and not left.
 */
TEST(weft_sim_run__keeps_to_the_bound_of_a_slow_core)
{
	static const struct {
		uint32_t slow;
		uint64_t bps;
		double bound;
	} rows[] = { { 0, 0, 1 }, { 1, UINT64_C(200000000000), 4 / 3.5 },
		{ 1, UINT64_C(100000000000), 4 / 3.25 }, { 2, UINT64_C(200000000000), 4 / 3.0 } };

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct small s = small_make(SMALL_ONE);

		for (uint32_t h = 0; h < 4; h++)
			s.flows[s.n++] = (struct weft_sim_flow){
				.src = h, .dst = 12 + h, .len_bytes = 2000 * 4096
			};
		for (uint32_t t1 = 0; t1 < rows[i].slow; t1++) {
			char name[32];

			snprintf(name, sizeof(name), "p0.t0-0:t1-%u", (unsigned)t1);
			s.faults[s.n_faults++] = (struct weft_sim_fault){ 0, WEFT_SIM_LINK_RATE,
				weft_topo_link_find(s.topo, name), rows[i].bps };
		}
		small_run(&s);
		double got = (double)small_last_ps(&s) / (2000.0 * FULL_PS);

		fprintf(stderr, "%u slow T1s of 4: %.4f, bound %.4f\n", (unsigned)rows[i].slow, got,
			rows[i].bound);
		CHECK(got > rows[i].bound);
		CHECK(got < 1.35 * rows[i].bound);
		small_close(&s);
	}
}

/* ---- a cut cable ---- */

/* Four hosts below each of two T0s, and one T1: 400 Gb/s, 1 us a link. */
#define NARROW                                                                                     \
	"name: narrow\nplanes: 1\nt0s: 2\nt1s: 1\nhosts: 8\n"                                      \
	"host_links: {speed: 400Gb/s, delay: 1us}\ncore_links: {speed: 400Gb/s, delay: 1us}\n"

/*
 * Two hosts send across the T1 as fast as they can, so that half of what comes waits at their T0,
 * and nothing has been answered yet.  A run that is stopped says what stands where at that moment;
 * another run, the same until then, loses a cable.
 */
struct moment { /* frames */
	uint64_t at_ps;
	uint64_t sent_first, sent;     /* by h0; by both hosts */
	uint64_t in, queued, out, far; /* into the T0, there, out of it; into the T1 */
	uint64_t lost, at_port;        /* all; of these counted by the T0 as PORT_DOWN */
};

static struct moment look_at(const struct small *s)
{
	struct weft_sim_totals totals;
	const struct weft_switch *t0 =
		s->sim->switches[weft_topo_t0(s->topo, 0, 0) - s->sim->shape.hosts].sw;
	const struct weft_switch *t1 =
		s->sim->switches[weft_topo_t1(s->topo, 0, 0) - s->sim->shape.hosts].sw;
	uint32_t frame_bytes = FULL_BYTES - WEFT_FRAME_GAP_BYTES;
	uint32_t queued_bytes = weft_switch_depth_bytes(t0, 4, WEFT_QUEUE_DATA);
	struct moment m = { .sent_first = small_counters(s->sim, 0).tx_data_pkts,
		.in = weft_switch_port_counters(t0, 0)->in_pkts,
		.queued = queued_bytes / frame_bytes,
		.out = weft_switch_port_counters(t0, 0)->out_pkts,
		.far = weft_switch_port_counters(t1, 0)->in_pkts,
		.at_port = weft_switch_drops(t0, WEFT_SWITCH_DROP_PORT_DOWN) };

	m.sent = m.sent_first + small_counters(s->sim, 1).tx_data_pkts;
	CHECK_EQ(queued_bytes % frame_bytes, 0); /* nothing has been cut */
	weft_sim_totals(s->sim, &totals);
	m.at_ps = totals.now_ps;
	m.lost = totals.lost;
	return m;
}

/* cable NULL: none is cut. */
static struct moment run_until(uint64_t until_ps, const char *cable, uint64_t cut_ps)
{
	struct small s = small_make(NARROW);

	s.config.paths = s.config.reply_paths = 1;
	s.config.cc = weft_cc_find("fixed");
	REQUIRE(s.config.cc);
	for (uint32_t i = 0; i < 2; i++)
		s.flows[s.n++] =
			(struct weft_sim_flow){ .src = i, .dst = 4 + i, .len_bytes = 8000000 };
	if (cable)
		s.faults[s.n_faults++] = (struct weft_sim_fault){ cut_ps, WEFT_SIM_LINK_DOWN,
			weft_topo_link_find(s.topo, cable), 0 };
	small_open(&s);
	weft_sim_run(s.sim, until_ps, NULL, NULL);
	struct moment m = look_at(&s);

	small_close(&s);
	return m;
}

/* Answers come through the T1 from 6.3 us on: all is over before. */
enum { FIRST_PS = 1500000, LAST_PS = 3500000, EACH_PS = 500000, AFTER_PS = 1900000 };

TEST(fault_switch__loses_what_waits_and_what_is_on_the_cable)
{
	for (uint64_t at_ps = FIRST_PS; at_ps <= LAST_PS; at_ps += EACH_PS) {
		struct moment before = run_until(at_ps, NULL, 0);
		struct moment after =
			run_until(before.at_ps + AFTER_PS, "p0.t0-0:t1-0", before.at_ps);
		uint64_t on_cable = before.out - before.far;

		CHECK_EQ(before.lost, 0);
		/* The cable holds a microsecond of frames at most, and the one that starts. */
		CHECK(on_cable > 0 && on_cable <= 1000000 / FULL_PS + 2);
		CHECK(before.queued > 0);
		CHECK(after.in > before.in + 10);
		/* What waited, and all that came after; what was on the cable, by nobody's port. */
		CHECK_EQ(after.at_port, before.queued + (after.in - before.in));
		CHECK_EQ(after.lost, after.at_port + on_cable);
		CHECK_EQ(after.far, before.far);
	}
}

/* A host sees its own cable go: it loses what is on it, and sends nothing more. */
TEST(fault_host__loses_no_more_than_what_is_on_its_cable)
{
	for (uint64_t at_ps = FIRST_PS; at_ps <= LAST_PS; at_ps += EACH_PS) {
		struct moment before = run_until(at_ps, NULL, 0);
		struct moment after = run_until(before.at_ps + AFTER_PS, "h0.p0", before.at_ps);

		/* Both hosts have done the same until then. */
		CHECK_EQ(before.sent % 2 + before.in % 2, 0);
		CHECK_EQ(after.sent_first, before.sent / 2);
		CHECK_EQ(after.lost, (before.sent - before.in) / 2);
		CHECK_EQ(after.at_port, 0);
	}
}
