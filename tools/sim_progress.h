/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_PROGRESS_H
#define SIM_PROGRESS_H
#include "term.h"

#include <weft/sim.h>

/* One line on a terminal, five times a second: simulated time, hops, memory, time left. */
struct sim_progress {
	struct term term;
	const char *what;              /* that goes on; "": nobody has to be told */
	uint64_t (*now_ns)(void *arg); /* monotonic; tests have their own */
	uint64_t start_ns, drawn_ns;
	uint64_t stop_ps; /* it ends then at the latest */
	bool shown;
};
/* screen: where somebody may look; NULL: nowhere. */
void sim_progress_begin(struct sim_progress *p, const char *what, uint64_t stop_ps, FILE *screen);
/* progress: a struct sim_progress.  Always true. */
bool sim_progress_watch(void *progress, const struct weft_sim_totals *so_far);
void sim_progress_end(struct sim_progress *p);

#endif
