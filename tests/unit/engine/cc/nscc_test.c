/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every number here follows by hand from the example of [P 5.3]: 800 Gb/s, base
 * RTT 12 us, trimming, MTU 4096; so BDP 1,200,000, MaxWnd 1,800,000, a = 8, b = 0.75.
 */
#include "check.h"

#include <weft/cc.h>

static uint64_t state[WEFT_CC_STATE_MAX / 8];
static uint64_t now;

static const struct weft_cc_config example = { .rate_bps = UINT64_C(800000000000),
	.mtu_bytes = 4096,
	.base_rtt_ns = 12000,
	.trimming = true };

static struct weft_cc_config without_qa(void)
{
	struct weft_cc_config c = example;

	c.disable_qa = true;
	return c;
}

static uint32_t cwnd(void)
{
	return weft_cc_nscc.window_bytes(state);
}

static struct weft_cc_report report(void)
{
	struct weft_cc_report r;

	weft_cc_nscc.report(state, &r);
	return r;
}

static void ack(uint32_t n, uint32_t qdelay_ns, bool marked)
{
	weft_cc_nscc.on_ack(state, &(struct weft_cc_ack){ .now = now,
					   .newly_bytes = n,
					   .inflight_bytes = 500000,
					   .rtt_ns = 12000 + qdelay_ns,
					   .marked = marked });
}

static void lose(enum weft_cc_loss_kind kind, uint32_t n)
{
	weft_cc_nscc.on_loss(state,
		&(struct weft_cc_loss){
			.now = now, .lost_bytes = n, .inflight_bytes = 500000, .kind = kind });
}

/* Ready to be measured: no adjust period due for 12 us, a quick adapt period of 21 us just begun,
 * the average delay zero, this window.
 */
static void start(struct weft_cc_config c, uint32_t cwnd_bytes)
{
	memset(state, 0, sizeof(state));
	weft_cc_nscc.init(state, &c);
	now = 1000000;
	ack(0, 0, true);
	lose(WEFT_CC_LOSS_INFERRED, cwnd() - cwnd_bytes);
	CHECK_EQ(cwnd(), cwnd_bytes);
}

TEST(init__takes_the_worked_example)
{
	struct weft_cc_config c = example;

	memset(state, 0, sizeof(state));
	weft_cc_nscc.init(state, &c);
	CHECK_EQ(cwnd(), 1800000);
	CHECK_EQ(report().base_rtt_ns, 12000);
	CHECK_EQ(report().target_qdelay_ns, 9000);
	CHECK_EQ(report().avg_qdelay_ns, 0);
	c.trimming = false;
	weft_cc_nscc.init(state, &c);
	CHECK_EQ(report().target_qdelay_ns, 12000);
	c.target_qdelay_ns = 5000;
	c.max_cwnd_bytes = 123456;
	weft_cc_nscc.init(state, &c);
	CHECK_EQ(report().target_qdelay_ns, 5000);
	CHECK_EQ(cwnd(), 123456);
	c.max_cwnd_bytes = 1;
	weft_cc_nscc.init(state, &c);
	CHECK_EQ(cwnd(), 4096);
}

TEST(init__survives_a_configuration_of_zeros)
{
	start((struct weft_cc_config){ 0 }, 1);
	ack(1000, 0, false);
	CHECK(cwnd() >= 1);
}

TEST(on_ack__below_target_grows_in_proportion)
{
	start(without_qa(), 400000);
	ack(40000, 4500, false); /* half of alpha * T = 98304 per window, a tenth of a window */
	CHECK_EQ(cwnd(), 400000 + 4915);
	start(without_qa(), 400000);
	ack(40000, 0, false); /* no delay at all, but not for a whole window yet */
	CHECK_EQ(cwnd(), 400000 + 9830);
	start(without_qa(), 400000);
	ack(40000, 8999, false);
	CHECK_EQ(cwnd(), 400000 + 1);
}

TEST(on_ack__at_target_unmarked_grows_fairly)
{
	start(without_qa(), 400000);
	ack(40000, 9000, false); /* fi = 163840 per window */
	CHECK_EQ(cwnd(), 400000 + 16384);
	start(without_qa(), 200000);
	ack(40000, 90000, false); /* the smaller window grows faster: that makes it fair */
	CHECK_EQ(cwnd(), 200000 + 32768);
}

TEST(on_ack__marked_below_target_holds)
{
	start(without_qa(), 400000);
	ack(40000, 8999, true);
	CHECK_EQ(cwnd(), 400000);
}

TEST(on_ack__marked_at_target_cuts_by_the_average)
{
	start(without_qa(), 400000);
	ack(1 << 19, 18000, true); /* more than a window: the average is 18 us now */
	CHECK_EQ(report().avg_qdelay_ns, 18000);
	CHECK_EQ(cwnd(), 400000 - 160000); /* gamma 0.8 * (18 - 9) / 18 = 0.4 */
	now += 12000;
	ack(1, 18000, true); /* once per base RTT: it must be more than that */
	CHECK_EQ(cwnd(), 240000 + 4915);
	now += 1;
	ack(1 << 19, 90000, true); /* 0.8 * 0.9 is more than max_md_jump lets go */
	CHECK_EQ(cwnd(), 122458);  /* 244915 / 2, rounded up */
}

TEST(on_ack__marked_at_target_waits_for_the_average)
{
	start(without_qa(), 400000);
	ack(4096, 18000, true);
	CHECK(report().avg_qdelay_ns < 9000);
	CHECK_EQ(cwnd(), 400000);
}

TEST(on_ack__averages_the_delay_over_a_window_of_data)
{
	start(without_qa(), 1 << 19); /* rounds up to 2^20: a tenth of that each */
	for (unsigned i = 0; i < 10; i++)
		ack((1 << 20) / 10, 8000, true);
	CHECK_NEAR((double)report().avg_qdelay_ns, 8000 * (1 - 0.9 * 0.3874), 20.0); /* 0.9^9 */
	start(without_qa(), 1 << 19);
	ack(1 << 18, 8000, true);
	CHECK_EQ(report().avg_qdelay_ns, 2000);
	lose(WEFT_CC_LOSS_TRIM, 1 << 19); /* counts as a delay of the configured base RTT */
	CHECK_EQ(report().avg_qdelay_ns, 7000);
}

TEST(on_ack__an_idle_fabric_is_taken_fast)
{
	start(without_qa(), 400000);
	ack(200000, 999, false);
	ack(200000, 999, false);
	uint32_t before = cwnd();

	CHECK(before < 400000 + 98304);
	ack(200000, 999, false); /* more than a window in a row: fi_scale = 2 */
	CHECK_EQ(cwnd(), before + 400000);
	ack(1000, 0, false);
	CHECK_EQ(cwnd(), before + 402000);
	ack(1000, 1000, false); /* a little delay: over, and counted afresh */
	CHECK_EQ(cwnd(), before + 402000);
	ack(300000, 0, false);
	CHECK(cwnd() < before + 402000 + 98304);
	ack(600000, 0, false);
	ack(600000, 0, false);
	CHECK_EQ(cwnd(), 1800000); /* never beyond MaxWnd */
}

TEST(on_ack__delay_or_congestion_ends_a_fast_increase)
{
	for (unsigned marked = 0; marked < 2; marked++) {
		start(without_qa(), 100000);
		ack(100001, 0, false);
		uint32_t before = cwnd();

		ack(1000, 0, false);
		CHECK_EQ(cwnd(), before + 2000); /* it was on */
		ack(1, 9000, marked);
		before = cwnd();
		ack(1000, 0, false);
		CHECK_EQ(cwnd(), before);
	}
}

TEST(on_ack__adds_eta_once_per_period)
{
	start(without_qa(), 400000);
	now += 11999;
	ack(1, 1000, true);
	CHECK_EQ(cwnd(), 400000);
	now += 1;
	ack(1, 1000, true);
	CHECK_EQ(cwnd(), 400000 + 4915); /* 0.15 * MTU * a */
	ack(1, 1000, true);
	CHECK_EQ(cwnd(), 400000 + 4915);
}

TEST(on_ack__applies_increases_after_eight_packets)
{
	start(without_qa(), 400000);
	ack(32768, 9000, false);
	CHECK_EQ(cwnd(), 400000);
	ack(1, 9000, false);
	CHECK_EQ(cwnd(), 400000 + 13422); /* 32769 * 163840 / 400000 */
}

TEST(on_ack__keeps_fractions_of_a_byte)
{
	struct weft_cc_config c = without_qa();

	c.fi = 1; /* a byte per window, in steps of 1/10000 */
	start(c, 100000);
	c.adjust_bytes = 1;
	start(c, 100000);
	for (unsigned i = 0; i < 10001; i++)
		ack(10, 9000, false);
	CHECK_EQ(cwnd(), 100001);
}

TEST(on_ack__without_a_round_trip_only_counts)
{
	struct weft_cc_ack a = { .newly_bytes = 40000, .inflight_bytes = 1, .marked = true };

	start(without_qa(), 400000);
	a.now = now + 100000;
	weft_cc_nscc.on_ack(state, &a);
	CHECK_EQ(cwnd(), 400000);
	CHECK_EQ(report().base_rtt_ns, 12000);
}

TEST(on_ack__a_shorter_base_shrinks_maxwnd)
{
	struct weft_cc_config c = example;
	struct weft_cc_ack a = { .now = 1000000, .newly_bytes = 4096, .rtt_ns = 6000 };

	start(example, 1800000);
	weft_cc_nscc.on_ack(state, &a);
	CHECK_EQ(report().base_rtt_ns, 6000);
	CHECK_EQ(report().target_qdelay_ns, 9000);
	CHECK_EQ(cwnd(), 900000);
	a.rtt_ns = 1; /* cannot be: the window must survive it */
	weft_cc_nscc.on_ack(state, &a);
	CHECK_EQ(report().base_rtt_ns, 750);
	CHECK_EQ(cwnd(), 112500);
	c.max_cwnd_bytes = 1000000; /* what the operator said stays */
	start(c, 1000000);
	weft_cc_nscc.on_ack(state, &a);
	CHECK_EQ(cwnd(), 1000000);
}

TEST(quick_adapt__step_by_step)
{
	start(example, 1700000); /* a period of base RTT + target = 21 us begins */
	now += 1000;
	lose(WEFT_CC_LOSS_TRIM, 4096); /* the period is not over: only the packet itself counts */
	CHECK_EQ(cwnd(), 1700000 - 4096);
	now += 19999;
	ack(200000, 8000, true); /* marked, below target: hold, and eta */
	CHECK_EQ(cwnd(), 1700000 - 4096 + 4915);
	now += 1;
	ack(24999, 30000, true); /* it is over, and 224999 < MaxWnd / 8 arrived */
	CHECK_EQ(cwnd(), 224999);
	now += 12000;
	ack(250000, 90000, true); /* 250000 of the 500000 in flight then: marks are old news */
	CHECK_EQ(cwnd(), 224999);
	lose(WEFT_CC_LOSS_TRIM, 4096);
	CHECK_EQ(cwnd(), 224999);
	ack(40000, 9000, false); /* no mark: as ever, 40000 * 163840 / 224999, and eta */
	CHECK_EQ(cwnd(), 224999 + 29127 + 4915);
	now += 9000;             /* the second period is over, and it delivered enough */
	ack(205904, 1000, true); /* the last of the 500000: the mark counts again, and holds */
	CHECK_EQ(cwnd(), 224999 + 29127 + 4915);
	now += 21000;
	ack(4096, 1000, true); /* the third did not, and a trim is still on the books */
	CHECK_EQ(cwnd(), 4096);
}

TEST(quick_adapt__needs_little_delivered)
{
	for (unsigned more = 0; more < 2; more++) {
		start(example, 1000000);
		lose(WEFT_CC_LOSS_TRIM, 0);
		now += 21000;
		ack(224999 + more, 1000, true);
		CHECK_EQ(cwnd(), more ? 1000000 + 4915 : 224999);
	}
}

TEST(quick_adapt__needs_a_trim_or_a_long_delay)
{
	struct weft_cc_config c = example;

	start(c, 1000000); /* trimming: no delay is long enough */
	now += 21000;
	ack(4096, 1000000, false);
	CHECK(cwnd() >= 1000000);
	c.trimming = false; /* 4 * 12 us */
	for (unsigned more = 0; more < 2; more++) {
		start(c, 1000000);
		now += 24000;
		ack(4096, 48000 + more, false);
		CHECK_EQ(cwnd(), more ? 4096 : 1000000 + 4915 + 671); /* 4096 * fi / cwnd */
	}
	c.qa_threshold_ns = 100000;
	start(c, 1000000);
	now += 24000;
	ack(4096, 100000, false);
	CHECK(cwnd() >= 1000000);
}

TEST(quick_adapt__never_raises_the_window_and_leaves_a_packet)
{
	start(example, 50000);
	lose(WEFT_CC_LOSS_TRIM, 0);
	now += 21000;
	ack(100000, 1000, true);
	CHECK_EQ(cwnd(), 50000);
	start(example, 50000);
	now += 21000;
	lose(WEFT_CC_LOSS_TRIM, 4096); /* nothing delivered at all */
	CHECK_EQ(cwnd(), 4096);
}

TEST(quick_adapt__can_be_disabled)
{
	start(without_qa(), 1000000);
	now += 21000;
	lose(WEFT_CC_LOSS_TRIM, 4096);
	CHECK_EQ(cwnd(), 1000000 - 4096);
}

TEST(on_loss__cuts_by_what_was_lost)
{
	start(example, 400000);
	lose(WEFT_CC_LOSS_INFERRED, 4096);
	CHECK_EQ(cwnd(), 400000 - 4096);
	lose(WEFT_CC_LOSS_NACK, 4096); /* no room at the receiver: not congestion */
	CHECK_EQ(cwnd(), 400000 - 4096);
	lose(WEFT_CC_LOSS_INFERRED, 400000);
	CHECK_EQ(cwnd(), 4096);
}

/* One round trip of SACKs with a penalty, the sender filling the window behind each of them. */
static void penalise(uint8_t penalty, uint32_t window)
{
	uint32_t inflight = window;

	for (uint32_t acked = 0; acked < window; acked += 1000) {
		inflight -= WEFT_MIN(inflight, 1000u);
		weft_cc_nscc.on_ack(state, &(struct weft_cc_ack){ .now = now,
						   .newly_bytes = 1000,
						   .inflight_bytes = inflight,
						   .rtt_ns = 12000,
						   .penalty = penalty });
		inflight = WEFT_MAX(inflight, cwnd());
	}
}

static void end_penalty(bool restore)
{
	weft_cc_nscc.on_ack(state, &(struct weft_cc_ack){ .now = now,
					   .newly_bytes = 1,
					   .inflight_bytes = 1,
					   .rtt_ns = 12000,
					   .restore = restore });
}

TEST(penalise__of_64_halves_the_window_in_a_round_trip)
{
	start(example, 1000000);
	penalise(64, 1000000);
	CHECK_EQ(cwnd(), 500000);
	penalise(64, 500000);
	CHECK_EQ(cwnd(), 250000);
	end_penalty(true); /* what it was before the first */
	CHECK_EQ(cwnd(), 1000000);
	end_penalty(true); /* said twice */
	CHECK_EQ(cwnd(), 1000000);
}

TEST(penalise__of_127_leaves_a_packet_or_two)
{
	start(example, 400000);
	penalise(127, 400000);
	CHECK(cwnd() >= 4096 && cwnd() < 2 * 4096);
	end_penalty(false); /* over, but start again from here */
	CHECK(cwnd() < 2 * 4096);
	end_penalty(true); /* too late */
	CHECK(cwnd() < 2 * 4096);
}

TEST(penalise__starts_from_what_is_in_flight)
{
	start(example, 1000000);
	weft_cc_nscc.on_ack(state, &(struct weft_cc_ack){ .now = now,
					   .newly_bytes = 12800,
					   .inflight_bytes = 87200,
					   .rtt_ns = 12000,
					   .penalty = 10 });
	CHECK_EQ(cwnd(), 99000);
}

TEST(penalise__allows_no_increase)
{
	start(without_qa(), 100000);
	ack(32768, 9000, false); /* waits to be applied */
	now += 12000;
	weft_cc_nscc.on_ack(state, &(struct weft_cc_ack){ .now = now,
					   .newly_bytes = 128,
					   .inflight_bytes = 1000000,
					   .rtt_ns = 21000,
					   .penalty = 1 });
	CHECK_EQ(cwnd(), 99999);
	weft_cc_nscc.on_ack(state, &(struct weft_cc_ack){ .now = now,
					   .newly_bytes = 128000,
					   .inflight_bytes = 1000000,
					   .rtt_ns = 12000,
					   .penalty = 1 });
	CHECK_EQ(cwnd(), 98999);
}

/* A long walk of anything.  Returns a digest of the windows it went through. */
static uint64_t walk(
	struct weft_cc_config c, uint64_t seed, unsigned steps, uint32_t least, uint32_t most)
{
	uint64_t digest = 0;
	struct weft_rng rng;

	weft_rng_seed(&rng, seed);
	memset(state, 0, sizeof(state));
	weft_cc_nscc.init(state, &c);
	now = 1;
	for (unsigned i = 0; i < steps; i++) {
		bool wild = weft_rng_chance(&rng, 1, 100);
		uint64_t n = wild ? weft_rng_u64(&rng) >> 32 : weft_rng_below(&rng, 20000);
		uint64_t rtt =
			wild ? weft_rng_u64(&rng) >> 32
			     : c.base_rtt_ns + weft_rng_below(&rng, 3 * (uint64_t)c.base_rtt_ns);

		now += weft_rng_below(&rng, wild ? UINT64_C(1) << 40 : c.base_rtt_ns / 8 + 2);
		if (weft_rng_chance(&rng, 1, 10))
			weft_cc_nscc.on_loss(state,
				&(struct weft_cc_loss){ .now = now,
					.lost_bytes = (uint32_t)n,
					.inflight_bytes = (uint32_t)(n ^ rtt),
					.kind = (enum weft_cc_loss_kind)weft_rng_below(&rng, 3) });
		else
			weft_cc_nscc.on_ack(state,
				&(struct weft_cc_ack){ .now = now,
					.newly_bytes = (uint32_t)n,
					.inflight_bytes = (uint32_t)(n ^ rtt),
					.rtt_ns = (uint32_t)rtt,
					.marked = weft_rng_chance(&rng, 1, 3),
					.restore = weft_rng_chance(&rng, 1, 2),
					.penalty = weft_rng_chance(&rng, 1, 20)
							   ? (uint8_t)weft_rng_below(&rng, 128)
							   : 0 });
		digest = digest * UINT64_C(6364136223846793005) + cwnd() + report().avg_qdelay_ns;
		REQUIRE(cwnd() >= least && cwnd() <= most);
	}
	return digest;
}

TEST(any_rate_and_length__stays_within_bounds)
{
	for (uint64_t rate = 1000000; rate <= UINT64_C(1600000000000); rate *= 10)
		for (uint64_t base = 1000; base <= 1000000000; base *= 10)
			for (unsigned trimming = 0; trimming < 2; trimming++) {
				struct weft_cc_config c = { .rate_bps = rate,
					.mtu_bytes = 8280,
					.base_rtt_ns = (uint32_t)base,
					.trimming = trimming };
				/* 1.5 BDP, no less than a packet, no more than 2^30. */
				uint64_t most = rate * (base / 1000) / 8000000 * 3 / 2 + 8280;

				walk(c, rate + base, 5000, 8280, WEFT_MIN(most, 1u << 30));
			}
	walk((struct weft_cc_config){ UINT64_MAX, UINT32_MAX, UINT32_MAX, false, false, UINT32_MAX,
		     UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
		     UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX },
		1, 50000, 65536, 1u << 30);
}

/* A seed must mean the same on every machine, compiler and setting of the optimiser. */
TEST(any_walk__is_the_same_everywhere)
{
	CHECK_EQ(walk(example, 7, 100000, 4096, 1800000), UINT64_C(0xc75a5e2da378478c));
}
