/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "incast.h"

#define MS UINT64_C(1000000)

static struct incast_run runs[INCAST_KINDS];
static struct incast_plan plan;

static void setup(void)
{
	incast_plan_fill(&plan, true, false);
	plan.lead_ns = 50 * MS;
	plan.settle_ns = 200 * MS;
	plan.steady_ns = 300 * MS;
	plan.bursts = 3;
}

static void run_all(void)
{
	setup();
	for (unsigned kind = 0; kind < INCAST_KINDS; kind++) {
		incast_end(&runs[kind]);
		runs[kind] = (struct incast_run){ .kind = (enum incast_kind)kind };
		CHECK_EQ(incast_virtual(&plan, &runs[kind]), 0);
		CHECK(runs[kind].is_done);
	}
}

TEST(incast_virtual__each_way_does_what_its_name_says)
{
	run_all();
	const struct incast_counts *trim = &runs[INCAST_TRIM].counts;
	const struct incast_counts *drop = &runs[INCAST_DROP].counts;
	const struct incast_counts *pause = &runs[INCAST_PAUSE].counts;

	CHECK(trim->trimmed > 500); /* the start, and three bursts */
	CHECK_EQ(trim->dropped, 0);
	CHECK_EQ(trim->nacks, trim->trimmed);
	CHECK_EQ(trim->again, trim->nacks);
	CHECK_EQ(trim->timeouts, 0);
	CHECK_EQ(trim->pauses, 0);
	CHECK(drop->dropped > 100);
	CHECK_EQ(drop->trimmed + drop->nacks + drop->pauses, 0);
	CHECK(drop->again >= drop->dropped);
	CHECK(pause->pauses > 10);
	CHECK_EQ(pause->trimmed + pause->dropped + pause->nacks, 0);
	for (unsigned kind = 0; kind < INCAST_KINDS; kind++)
		CHECK(runs[kind].counts.marked > 100);
}

TEST(incast_virtual__samples_and_bursts_are_complete)
{
	for (unsigned kind = 0; kind < INCAST_KINDS; kind++) {
		const struct incast_run *run = &runs[kind];
		const struct incast_sample *last = &run->samples[run->n - 1];

		CHECK_EQ(run->n, incast_total_ns(&plan) / plan.step_ns + 1);
		CHECK_EQ(last->at_ns, (run->n - 1) * plan.step_ns);
		for (uint32_t f = 0; f < INCAST_FLOWS; f++)
			CHECK(last->bytes[f] >= 3 * plan.burst_bytes);
		for (uint32_t b = 0; b < plan.bursts; b++)
			for (uint32_t f = 0; f < INCAST_SENDERS; f++)
				CHECK(run->burst_ns[b][f] > 8 * plan.delay_ns);
		/* One line's worth arrives at the one NIC, no more. */
		uint64_t sum = 0;
		double line = incast_line_bytes(&plan) * (double)(last->at_ns);

		for (uint32_t f = 0; f < INCAST_SENDERS; f++)
			sum += last->bytes[f];
		CHECK((double)sum < line);
		CHECK(last->bytes[INCAST_VICTIM] > (uint64_t)(0.8 * line));
	}
}

TEST(incast_virtual__is_the_same_every_time)
{
	struct incast_run again = { .kind = INCAST_TRIM };

	CHECK_EQ(incast_virtual(&plan, &again), 0);
	CHECK_MEM(&again.counts, &runs[0].counts, sizeof(again.counts));
	CHECK_MEM(again.burst_ns, runs[0].burst_ns, sizeof(again.burst_ns));
	REQUIRE(again.n == runs[0].n);
	CHECK_MEM(again.samples, runs[0].samples, again.n * sizeof(*again.samples));
	incast_end(&again);
	for (unsigned kind = 0; kind < INCAST_KINDS; kind++)
		incast_end(&runs[kind]);
}
