/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "baseline_local.h"

/* One window of acknowledgements, `marked` of them marked. */
static void window(struct dctcp *d, uint32_t *una, uint32_t pkts, uint32_t marked)
{
	for (uint32_t i = 0; i < pkts; i++) {
		++*una;
		dctcp_on_ack(d, 1, i < marked, *una, *una + pkts, 100);
	}
}

TEST(dctcp_on_ack__grows_by_one_per_window_without_marks)
{
	struct dctcp d;
	uint32_t una = 0;

	dctcp_init(&d, 50);
	window(&d, &una, 1, 0);
	for (unsigned i = 0; i < 10; i++)
		window(&d, &una, 50, 0);
	CHECK(d.window_q8 >> 8 >= 59 && d.window_q8 >> 8 <= 61);
	for (unsigned i = 0; i < 200; i++)
		window(&d, &una, 50, 0);
	CHECK_EQ(d.window_q8 >> 8, 100); /* its largest */
}

/* SIGCOMM 2010, equation 1: alpha becomes the share of marks; all marked is a halved window. */
TEST(dctcp_on_ack__cuts_by_the_share_of_marks)
{
	struct dctcp d;
	uint32_t una = 0;

	dctcp_init(&d, 100);
	for (unsigned i = 0; i < 200; i++)
		window(&d, &una, 40, 10);
	CHECK(d.alpha > ALPHA_ONE / 5 && d.alpha < ALPHA_ONE / 3);
	d.window_q8 = 100 << 8;
	d.alpha = ALPHA_ONE;
	d.acked = d.marked = 0;
	d.end = una + 40;
	window(&d, &una, 40, 40);
	CHECK(d.window_q8 >> 8 == 50 || d.window_q8 >> 8 == 51);
}

TEST(dctcp_on_timeout__never_closes_the_window)
{
	struct dctcp d;

	dctcp_init(&d, 8);
	for (unsigned i = 0; i < 10; i++)
		dctcp_on_timeout(&d);
	CHECK_EQ(d.window_q8, 256);
}
