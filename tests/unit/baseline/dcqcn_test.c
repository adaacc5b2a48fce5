/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "baseline_local.h"

#define LINE UINT64_C(40000000000)
static const struct weft_baseline_settings set = { .alpha_ps = 55000000,
	.timer_ps = 55000000,
	.counter_bytes = 10000000,
	.step_bps = 40000000,
	.leap_bps = 400000000 };

/* SIGCOMM 2015, figure 6 and 3.2: alpha starts at 1, so the first cut halves the rate. */
TEST(dcqcn_on_cnp__cuts_by_half_of_alpha)
{
	struct dcqcn d;

	dcqcn_init(&d, LINE);
	CHECK_EQ(dcqcn_next_ps(&d), WEFT_NEVER);
	dcqcn_on_cnp(&d, &set, LINE, 0);
	CHECK(d.rate_bps >= LINE / 2 && d.rate_bps < LINE / 2 + 100000);
	CHECK_EQ(d.target_bps, LINE);
	for (unsigned i = 0; i < 100; i++)
		dcqcn_on_cnp(&d, &set, LINE, 0);
	CHECK_EQ(d.rate_bps, LINE / 100); /* never to a stop */
}

/* Five steps of fast recovery, each half of what is left; then the target moves. */
TEST(dcqcn_on_time__recovers_as_the_paper_says)
{
	struct dcqcn d;

	dcqcn_init(&d, LINE);
	d.rate_bps = LINE / 2;
	dcqcn_on_cnp(&d, &set, LINE, 0);
	uint64_t target = d.target_bps, missing = target - d.rate_bps;

	CHECK_EQ(target, LINE / 2);
	for (unsigned i = 1; i <= 5; i++) {
		dcqcn_on_time(&d, &set, LINE, i * set.timer_ps);
		CHECK_EQ(d.target_bps, target);
		CHECK(target - d.rate_bps <= (missing >> i) + 1);
	}
	dcqcn_on_time(&d, &set, LINE, 6 * set.timer_ps);
	CHECK_EQ(d.target_bps, target + set.step_bps); /* additive */
	for (unsigned i = 0; i < 6; i++)
		dcqcn_on_sent(&d, &set, LINE, 10000000);
	CHECK_EQ(d.target_bps, target + 6 * set.step_bps + set.leap_bps); /* hyper, at last */
}

TEST(dcqcn_on_time__lets_alpha_decay_without_marks)
{
	struct dcqcn d;

	dcqcn_init(&d, LINE);
	dcqcn_on_cnp(&d, &set, LINE, 0);
	uint32_t alpha = d.alpha;

	d.alpha_ps = 55000000;
	dcqcn_on_time(&d, &set, LINE, 54999999);
	CHECK_EQ(d.alpha, alpha);
	dcqcn_on_time(&d, &set, LINE, 55000000);
	CHECK_EQ(d.alpha, alpha - alpha / 256);
}

/* Back at line rate there is nothing to do, and nobody is woken for it. */
TEST(dcqcn_on_time__ends)
{
	struct dcqcn d;
	unsigned steps = 0;

	dcqcn_init(&d, LINE);
	dcqcn_on_cnp(&d, &set, LINE, 0);
	while (dcqcn_next_ps(&d) != WEFT_NEVER && steps++ < 1000)
		dcqcn_on_time(&d, &set, LINE, dcqcn_next_ps(&d));
	CHECK(steps < 200);
	CHECK_EQ(d.rate_bps, LINE);
}
