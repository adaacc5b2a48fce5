/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * incast_plan - the paper's figure 18, five hundred times slower: fabric, roles, times.
 *
 * The numbers are those of examples/fabrics/incast.yaml, which says why.  First the long incast:
 * equal shares take NSCC some eight hundred round trips, so what is measured begins then.  Then
 * bursts, one message from each sender at the same moment, because a burst's end is what trimming
 * is best at: nothing comes after it that would show a loss.
 */
#include "incast.h"

#include <stdio.h>
#include <weft/base.h>

#define MS UINT64_C(1000000)
#define LINK_BPS UINT64_C(200000000)
#define DELAY_NS (UINT64_C(250) * 1000)
#define FIRST_SENDER 4u
#define VICTIM_HOST 15u

const char *const incast_words[INCAST_KINDS] = { "trim", "drop", "pause" };

void incast_plan_fill(struct incast_plan *plan, bool is_quick, bool is_live)
{
	*plan = (struct incast_plan){
		.rate_bps = LINK_BPS,
		.delay_ns = DELAY_NS,
		.lead_ns = 300 * MS,
		.settle_ns = (is_quick ? 1700 : 2700) * MS,
		.steady_ns = (is_quick ? 4000 : 20000) * MS,
		.rest_ns = 300 * MS,
		.burst_gap_ns = 120 * MS,
		.bursts = is_quick ? 8 : 20,
		.burst_bytes = 131072,
		.step_ns = 20 * MS,
		/* Live there is no outer header; the rings carry native uSID packets. */
		.line_bytes = (is_live ? 40u : 80u) + 8 + 12 + 24 + INCAST_MTU_BYTES + 4 + 14 + 24,
	};
}

uint64_t incast_steady_ns(const struct incast_plan *plan)
{
	return plan->lead_ns + plan->settle_ns;
}

uint64_t incast_stop_ns(const struct incast_plan *plan)
{
	return incast_steady_ns(plan) + plan->steady_ns;
}

uint64_t incast_burst_ns(const struct incast_plan *plan, uint32_t burst)
{
	return incast_stop_ns(plan) + plan->rest_ns + burst * plan->burst_gap_ns;
}

uint64_t incast_total_ns(const struct incast_plan *plan)
{
	return incast_burst_ns(plan, plan->bursts) + plan->rest_ns;
}

void incast_ends(uint32_t flow, uint32_t *src, uint32_t *dst)
{
	WEFT_ASSERT(flow < INCAST_FLOWS);
	*src = flow == INCAST_VICTIM ? VICTIM_HOST : FIRST_SENDER + flow;
	*dst = flow == INCAST_VICTIM ? 1 : 0;
}

void incast_fabric(
	const struct incast_plan *plan, enum incast_kind kind, char text[INCAST_FABRIC_BYTES])
{
	(void)snprintf(text, INCAST_FABRIC_BYTES,
		"# Written by weft demo incast: examples/fabrics/incast.yaml says why these "
		"numbers.\n"
		"name: incast\nplanes: 2\nt0s: 4\nt1s: 4\nhosts: 16\n"
		"host_links: {speed: %uMb/s, delay: %uus}\n"
		"core_links: {speed: %uMb/s, delay: %uus}\n"
		"switch: {full: %s, marks: %s}\n",
		(unsigned)(plan->rate_bps / 1000000), (unsigned)(plan->delay_ns / 1000),
		(unsigned)(plan->rate_bps / 1000000), (unsigned)(plan->delay_ns / 1000),
		incast_words[kind], plan->marks_core_only ? "core" : "all");
}
