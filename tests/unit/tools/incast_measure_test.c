/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "incast.h"

static struct incast_plan plan;
static struct incast_run run;

/* Flow f gets share[f] of the fair one from the start; the queue is what sample it is. */
static void setup(const double share[INCAST_FLOWS])
{
	incast_plan_fill(&plan, true, false);
	plan.bursts = 2;
	incast_end(&run);
	run = (struct incast_run){ .kind = INCAST_TRIM, .is_done = true };
	double line = incast_line_bytes(&plan);

	for (uint64_t at = 0; at <= incast_total_ns(&plan); at += plan.step_ns) {
		struct incast_sample *s = incast_add(&run, at);

		for (uint32_t f = 0; f < INCAST_FLOWS; f++)
			s->bytes[f] = (uint64_t)(share[f] * line * (double)at /
						 (f == INCAST_VICTIM ? 1 : INCAST_SENDERS));
		s->queue_bytes = (uint32_t)(at / plan.step_ns);
	}
	for (uint32_t f = 0; f < INCAST_SENDERS; f++) {
		run.burst_ns[0][f] = 10 + f;
		run.burst_ns[1][f] = 20 + f;
	}
	run.counts = (struct incast_counts){ .again = 5, .nacks = 5 };
}

static const double fair[INCAST_FLOWS] = { 1, 1, 1, 1, 1, 1, 1, 1 };

TEST(incast_line_bytes__is_what_full_packets_leave)
{
	incast_plan_fill(&plan, false, false);
	/* 2 x 200 Mb/s, 4096 of 4262 bytes. */
	CHECK_NEAR(incast_line_bytes(&plan), 0.05 * 4096 / 4262, 1e-9);
	/* 917,504 bytes at that, 8 x 250 us, and three more packets of 170.48 us. */
	CHECK_NEAR((double)incast_ideal_ns(&plan), 917504 / 0.048053 + 2e6 + 3 * 170480, 3000);
}

TEST(incast_measure__finds_shares_queues_and_times)
{
	struct incast_result r;
	const double uneven[INCAST_FLOWS] = { 0.9, 1, 1, 1, 1, 1.05, 1, 0.95 };

	setup(uneven);
	incast_measure(&plan, &run, &r);
	CHECK_NEAR(r.least, 0.9, 1e-3);
	CHECK_NEAR(r.most, 1.05, 1e-3);
	CHECK_NEAR(r.share[INCAST_VICTIM], 0.95, 1e-3);
	uint64_t from = incast_steady_ns(&plan) / plan.step_ns;
	uint64_t to = incast_stop_ns(&plan) / plan.step_ns;

	CHECK_NEAR((double)r.queue_p50_bytes, (double)(from + to) / 2, 1);
	CHECK_EQ(r.queue_max_bytes, to); /* bursts have queues of their own */
	CHECK_EQ(r.message_p50_ns, 20);
	CHECK_EQ(r.message_p99_ns, 26);
	CHECK_EQ(r.burst_max_ns, 26);
	CHECK_EQ(r.unfinished, 0);
}

TEST(incast_measure__what_never_ended_took_until_the_end)
{
	struct incast_result r;

	setup(fair);
	run.burst_ns[1][3] = 0;
	incast_measure(&plan, &run, &r);
	CHECK_EQ(r.unfinished, 1);
	CHECK_EQ(r.burst_max_ns, incast_total_ns(&plan) - incast_burst_ns(&plan, 1));
	CHECK_EQ(r.message_p99_ns, r.burst_max_ns);
}

TEST(incast_measure__survives_a_run_that_never_began)
{
	struct incast_result r;
	struct incast_run empty = { 0 };

	incast_plan_fill(&plan, true, false);
	incast_measure(&plan, &empty, &r);
	CHECK_EQ(r.message_p50_ns, 0);
}

static unsigned claims_held(void)
{
	struct incast_claim claims[INCAST_CLAIMS];
	struct incast_result r;
	unsigned held = 0;

	incast_measure(&plan, &run, &r);
	incast_claims(&run, &r, claims);
	for (unsigned i = 0; i < INCAST_CLAIMS; i++)
		held |= (unsigned)claims[i].holds << i;
	return held;
}

TEST(incast_claims__each_fails_alone)
{
	const double poor_victim[INCAST_FLOWS] = { 1, 1, 1, 1, 1, 1, 1, 0.89 };
	const double one_behind[INCAST_FLOWS] = { 1.05, 1, 1, 0.95, 1, 1, 1, 1 };

	setup(fair);
	CHECK_EQ(claims_held(), 15);
	run.counts.timeouts = 1;
	CHECK_EQ(claims_held(), 14);
	setup(fair);
	run.counts.again++;
	CHECK_EQ(claims_held(), 13);
	run.counts.again = run.counts.nacks = 0; /* nothing was trimmed: nothing was shown */
	CHECK_EQ(claims_held(), 12);
	setup(poor_victim);
	CHECK_EQ(claims_held(), 11);
	setup(one_behind);
	CHECK_EQ(claims_held(), 7);
	/* All is as good as it can be, but it did not come to its end. */
	setup(fair);
	run.is_done = false;
	CHECK_EQ(claims_held(), 0);
	incast_end(&run);
}

TEST(incast_claims__nothing_holds_where_nothing_happened)
{
	incast_plan_fill(&plan, true, false);
	run = (struct incast_run){ .is_done = true };
	CHECK_EQ(claims_held(), 0);
	run.is_done = false;
	CHECK_EQ(claims_held(), 0);
}
