/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dcqcn - a rate per queue pair, cut by congestion notifications, raised by time and bytes.
 *
 * Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 3: a
 * queue pair starts at line rate; a CNP cuts by alpha / 2 and remembers the rate it came from;
 * without CNPs for `alpha_ps` alpha decays.  Each expiry of a timer, each `counter_bytes` sent is
 * one step up: five of fast recovery halve the way back to the target, then the target itself moves
 * by `step_bps`, and by `leap_bps` once both have gone past five.
 *
 * At line rate there is nothing to raise: timers stop, and alpha stays as it is until the next CNP.
 * The paper's numbers are for 40 Gb/s; steps are scaled to the line by baseline_open.c, times are
 * not.
 */
#include "baseline_local.h"

enum { GAIN_BITS = 8, FAST_STEPS = 5, SLOWEST_PART = 100 };

void dcqcn_init(struct dcqcn *d, uint64_t line_bps)
{
	*d = (struct dcqcn){ .rate_bps = line_bps,
		.target_bps = line_bps,
		.alpha = ALPHA_ONE,
		.alpha_ps = WEFT_NEVER,
		.timer_ps = WEFT_NEVER };
}

void dcqcn_on_cnp(struct dcqcn *d, const struct weft_baseline_settings *set, uint64_t line_bps,
	uint64_t now_ps)
{
	uint64_t cut = d->rate_bps * d->alpha / (2 * (uint64_t)ALPHA_ONE);

	d->target_bps = d->rate_bps;
	d->rate_bps = WEFT_MAX(d->rate_bps - cut, line_bps / SLOWEST_PART);
	d->alpha += (ALPHA_ONE - d->alpha) >> GAIN_BITS;
	d->alpha_ps = now_ps + set->alpha_ps;
	d->timer_ps = now_ps + set->timer_ps;
	d->by_timer = d->by_bytes = 0;
	d->bytes = 0;
}

static void step(struct dcqcn *d, const struct weft_baseline_settings *set, uint64_t line_bps)
{
	uint32_t most = WEFT_MAX(d->by_timer, d->by_bytes);
	uint32_t least = WEFT_MIN(d->by_timer, d->by_bytes);

	if (least > FAST_STEPS)
		d->target_bps += set->leap_bps;
	else if (most > FAST_STEPS)
		d->target_bps += set->step_bps;
	d->target_bps = WEFT_MIN(d->target_bps, line_bps);
	d->rate_bps = (d->rate_bps + d->target_bps + 1) / 2;
	if (d->rate_bps == line_bps)
		d->alpha_ps = d->timer_ps = WEFT_NEVER;
}

void dcqcn_on_sent(struct dcqcn *d, const struct weft_baseline_settings *set, uint64_t line_bps,
	uint32_t bytes)
{
	if (d->timer_ps == WEFT_NEVER)
		return;
	d->bytes += bytes;
	if (d->bytes < set->counter_bytes)
		return;
	d->bytes = 0;
	d->by_bytes++;
	step(d, set, line_bps);
}

void dcqcn_on_time(struct dcqcn *d, const struct weft_baseline_settings *set, uint64_t line_bps,
	uint64_t now_ps)
{
	if (d->alpha_ps <= now_ps) {
		d->alpha -= d->alpha >> GAIN_BITS;
		d->alpha_ps = now_ps + set->alpha_ps;
	}
	if (d->timer_ps <= now_ps) {
		d->timer_ps = now_ps + set->timer_ps;
		d->by_timer++;
		step(d, set, line_bps);
	}
}
