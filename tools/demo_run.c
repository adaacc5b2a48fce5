/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_run - one transport goes through the plan.
 *
 * Time 0 of the plan is when bytes come in at the receiver's ports, by the kernel's counters: the
 * same rule for all.  Each fault is asked for at its time and mended by the lab itself after the
 * hold time, so a parent that is late cannot stretch an outage.
 */
#include "demo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <weft/base.h>
#include <weft/net.h>

#define BEGUN_BYTES UINT64_C(4000000) /* seen at the receiver: it runs */
#define BEGIN_NS UINT64_C(10000000000)
#define END_NS UINT64_C(60000000000) /* after the plan, for what is left of the file */

const char *const demo_names[DEMO_TRANSPORTS] = { "Weft", "MPTCP", "TCP" };

pid_t run_fork(const struct demo *demo, uint32_t host)
{
	char error[DEMO_TEXT_BYTES];
	struct weft_lab *lab;
	pid_t parent = getpid();

	fflush(NULL);
	pid_t child = fork();
	if (child)
		return child;
	(void)signal(SIGINT, SIG_IGN); /* the parent decides */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || weft_lab_open(&lab, demo->lab_name, error, sizeof(error)) ||
		weft_lab_enter(lab, host, error, sizeof(error)))
		_exit(126);
	weft_lab_close(lab);
	return 0;
}

bool run_gone(pid_t *pid, int *status)
{
	int unused;

	if (*pid > 0 && waitpid(*pid, status ? status : &unused, WNOHANG))
		*pid = 0;
	return *pid <= 0;
}

void run_kill(pid_t *pid)
{
	if (*pid <= 0)
		return;
	(void)kill(*pid, SIGKILL);
	while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
		;
	*pid = 0;
}

static int fail(struct demo_run *run, const char *what)
{
	run->failed = true;
	if (!*run->error)
		(void)snprintf(run->error, sizeof(run->error), "%s", what);
	return -1;
}

static void sleep_until(uint64_t ns)
{
	struct timespec at = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR && !demo_stopped)
		;
}

static int look(struct demo *demo, struct demo_run *run)
{
	uint64_t now = weft_clock_now(NULL);

	if (demo_stopped)
		return fail(run, "interrupted");
	if (samples_take(&run->samples, demo->lab, demo->receiver, now))
		return fail(run, "the lab does not tell its counters");
	return 0;
}

static int begin(struct demo *demo, struct demo_run *run, const struct demo_driver *driver)
{
	uint64_t began = weft_clock_now(NULL), at = began;

	while (samples_total(&run->samples) < BEGUN_BYTES) {
		if (driver->ended(demo, run) || look(demo, run))
			return fail(run, "it ended before it began");
		if (at - began > BEGIN_NS)
			return fail(run, "nothing arrived within ten seconds");
		sleep_until(at += DEMO_SAMPLE_NS);
	}
	run->zero_ns = weft_clock_now(NULL);
	return 0;
}

struct cursor { /* the next thing to be broken */
	unsigned fault, time;
	uint64_t at_ns;
};

static void cursor_set(struct cursor *c, const struct demo *demo, const struct demo_run *run)
{
	const struct demo_plan *plan = &demo->plan;

	if (c->fault >= plan->n) {
		c->at_ns = UINT64_MAX;
		return;
	}
	unsigned times = plan->faults[c->fault]->times;

	c->at_ns = run->zero_ns + plan_fault_ns(plan, c->fault) +
		   c->time * 2 * (plan->hold_ns / (2 * times - 1));
}

static int strike(struct demo *demo, struct demo_run *run, struct cursor *c, struct progress *bar)
{
	const struct demo_plan *plan = &demo->plan;
	struct demo_hit *hit = &run->hits[c->fault];
	uint64_t now = weft_clock_now(NULL);

	if (!c->time) {
		hit->from_ns = now;
		hit->to_ns = now + plan->hold_ns;
		hit->end_ns = hit->to_ns + plan->gap_ns;
		run->n_hits = c->fault + 1;
	}
	/* Flaps keep to the T1 that they began with. */
	static uint32_t t1;
	if (!c->time)
		t1 = samples_busy_t1(&run->samples);
	if (plan_strike(plan, c->fault, c->time, demo->lab, t1, hit->text, run->error,
		    sizeof(run->error)))
		return fail(run, "the lab refused a fault");
	if (!c->time && !demo->quiet)
		progress_note(bar, "  %4.1f s  %s%s%s (%s)", (double)(now - run->zero_ns) / 1e9,
			term_on(demo->term, TERM_YELLOW), plan->faults[c->fault]->name,
			term_off(demo->term), hit->text);
	if (++c->time == plan->faults[c->fault]->times) {
		c->time = 0;
		c->fault++;
	}
	cursor_set(c, demo, run);
	return 0;
}

static int go_through(struct demo *demo, struct demo_run *run, const struct demo_driver *driver)
{
	uint64_t total = plan_total_ns(&demo->plan), at = weft_clock_now(NULL);
	bool whole = run->transport == DEMO_WEFT; /* a file is copied to its end */
	struct progress bar;
	struct cursor next = { 0 };
	int result = 0, over = 0;

	progress_begin(
		&bar, demo->term, demo_names[run->transport], whole ? demo->file_bytes : 0, at);
	cursor_set(&next, demo, run);
	while (!result && !over) {
		uint64_t now = weft_clock_now(NULL), since = now - run->zero_ns;

		if (now >= next.at_ns)
			result = strike(demo, run, &next, &bar);
		else if (!whole && since >= total)
			break;
		else if (since > total + END_NS)
			result = fail(run, "it did not come to its end");
		if (!result)
			over = driver->ended(demo, run);
		if (now >= at + DEMO_SAMPLE_NS) {
			result = result ? result : look(demo, run);
			at = now;
			if (!demo->quiet)
				progress_update(&bar, samples_total(&run->samples), now);
		}
		sleep_until(WEFT_MIN(next.at_ns, at + DEMO_SAMPLE_NS));
	}
	if (over < 0)
		result = fail(run, "it failed");
	if (!demo->quiet)
		progress_end(&bar, samples_total(&run->samples), weft_clock_now(NULL));
	return result;
}

int run_transport(struct demo *demo, struct demo_run *run)
{
	const struct demo_driver *driver = run->transport == DEMO_WEFT ? &demo_copy : &demo_stream;
	struct demo_watch *watch = watch_start();
	char error[DEMO_TEXT_BYTES];

	int result = driver->start(demo, run);
	if (!result)
		result = begin(demo, run, driver);
	if (!result)
		result = go_through(demo, run, driver);
	if (driver->stop(demo, run))
		result = fail(run, "it failed");
	(void)weft_lab_undo(
		demo->lab, 0, error, sizeof(error)); /* after a failure some may be left */
	run->n_machine = watch_stop(watch, run->machine, DEMO_GAPS_MAX);
	run_measure(demo, run);
	return result;
}

uint64_t run_machine_share(const struct demo_run *run, struct demo_gap stall)
{
	uint64_t own = gaps_cover(run->series.gaps, run->series.n_gaps, stall);
	uint64_t machine = gaps_cover(run->machine, run->n_machine, stall);

	return WEFT_MAX(own, machine);
}

void run_measure(const struct demo *demo, struct demo_run *run)
{
	const struct demo_series *s = &run->series;
	uint64_t plan_end = run->zero_ns + plan_total_ns(&demo->plan);

	run->end_ns = run->transport == DEMO_WEFT ? s->end_ns : plan_end;
	for (unsigned i = 0; i < run->n_hits; i++) {
		struct demo_hit *hit = &run->hits[i];
		uint64_t healthy_ns = (i ? demo->plan.gap_ns : demo->plan.lead_ns) / 2;
		/* What the file no longer lasted for is not held against anyone. */
		uint64_t end = WEFT_MIN(hit->end_ns, WEFT_MAX(run->end_ns, hit->from_ns));

		hit->end_ns = end;
		hit->to_ns = WEFT_MIN(hit->to_ns, end);
		hit->before_bps = series_rate(s, hit->from_ns - healthy_ns, hit->from_ns);
		hit->during_bps = series_rate(s, hit->from_ns, hit->to_ns);
		hit->after_bps = series_rate(s, hit->to_ns, end);
		hit->stall = series_stall(s, hit->from_ns, end);
		hit->machine_ns = run_machine_share(run, hit->stall);
	}
	run->stall = series_stall(s, s->start_ns, run->end_ns);
	run->stall_machine_ns = run_machine_share(run, run->stall);
}

void run_end(struct demo_run *run)
{
	free(run->series.bins);
	samples_end(&run->samples);
	json_decref(run->sender);
	json_decref(run->receiver);
}
