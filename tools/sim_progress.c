/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_progress - how far a simulation has got, and how long it will take.
 *
 * Neither simulated time nor flows that are done say that: most runs end long before they must, and
 * all flows of a permutation are done at the same moment.  What there is to do is packets to be
 * carried over links, and how many that will be at least is arithmetic.  Where packets are lost it
 * takes more: the last hundredth lasts until all is over.
 */
#include "sim_progress.h"

#include "human.h"

#include <sys/resource.h>
#include <weft/base.h>
#include <weft/net.h>

#define DRAW_NS UINT64_C(200000000)
#define NOT_OVER 0.99

void sim_progress_begin(struct sim_progress *p, const char *what, uint64_t stop_ps, FILE *screen)
{
	*p = (struct sim_progress){ .what = what,
		.stop_ps = stop_ps,
		.now_ns = weft_clock_now,
		.start_ns = weft_clock_now(NULL) };
	if (screen)
		term_open(&p->term, screen);
}

static double share_of(const struct sim_progress *p, const struct weft_sim_totals *so_far)
{
	double time = p->stop_ps ? (double)so_far->now_ps / (double)p->stop_ps : 0;
	double work =
		so_far->hops_ideal ? (double)so_far->packet_hops / (double)so_far->hops_ideal : 0;

	return WEFT_MIN(WEFT_MAX(time, WEFT_MIN(work, NOT_OVER)), 1.0);
}

bool sim_progress_watch(void *progress, const struct weft_sim_totals *so_far)
{
	struct sim_progress *p = progress;
	uint64_t now = p->now_ns(NULL), took = now - p->start_ns;
	double share = share_of(p, so_far);
	char bar[TERM_PICTURE_BYTES(20)], left[HUMAN_MAX], memory[HUMAN_MAX];
	struct rusage usage;

	if (!p->term.tty || now - p->drawn_ns < DRAW_NS)
		return true;
	(void)getrusage(RUSAGE_SELF, &usage);
	snprintf(left, sizeof(left), "?");
	if (share > 0.01)
		human_ns(left, (uint64_t)((double)took * (1 - share) / share));
	p->drawn_ns = now;
	p->shown = true;
	fprintf(p->term.out,
		"\r\033[K%s%s%s%s%s %3.0f %%  %.1f us simulated, %.1f M hops/s, %s, %s left",
		p->what, *p->what ? " " : "", term_on(&p->term, TERM_CYAN),
		term_bar(&p->term, bar, share, 20), term_off(&p->term), share * 100,
		(double)so_far->now_ps / 1e6,
		(double)so_far->packet_hops * 1e3 / (double)(took + 1),
		human_bytes(memory, (uint64_t)usage.ru_maxrss * 1024), left);
	(void)fflush(p->term.out);
	return true;
}

void sim_progress_end(struct sim_progress *p)
{
	if (p->shown) {
		fprintf(p->term.out, "\r\033[K");
		(void)fflush(p->term.out);
	}
	p->shown = false;
}
