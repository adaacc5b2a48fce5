/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_run - one transport goes through the plan.
 *
 * While it runs, time 0 of the plan is when bytes come in at the receiver's ports, by the fabric's
 * counters: the same rule for all.  Faults are asked for from a priority above the pumps', and
 * mended by the lab itself after the hold time; one whose moment has passed is left out, since it
 * would run into the next.  What comes out counts by other clocks: the receiver's for bytes, the
 * lab's for faults (demo_judge).
 */
#include "demo.h"
#include "live_args.h"

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

#define BEGUN_BYTES UINT64_C(200000) /* seen at the receiver: more than a set-up takes */
#define BEGIN_NS UINT64_C(10000000000)
#define BEGIN_LOOK_NS UINT64_C(5000000)
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

	do {
		/* As early as it may have been: a look that came late must not put it off. */
		run->zero_ns = weft_clock_now(NULL);
		sleep_until(at = WEFT_MAX(at + BEGIN_LOOK_NS, run->zero_ns));
		if (driver->ended(demo, run) || look(demo, run))
			return fail(run, "it ended before it began");
		if (at - began > BEGIN_NS)
			return fail(run, "nothing arrived within ten seconds");
	} while (samples_total(&run->samples) < BEGUN_BYTES);
	return 0;
}

struct cursor { /* the next thing to be broken */
	unsigned fault, time;
	uint64_t at_ns;
};

static void cursor_set(struct cursor *c, const struct demo *demo, const struct demo_run *run)
{
	if (c->fault < demo->plan.n && c->time == demo->plan.faults[c->fault]->times) {
		c->time = 0;
		c->fault++;
	}
	c->at_ns = c->fault < demo->plan.n
			   ? run->zero_ns + plan_strike_ns(&demo->plan, c->fault, c->time)
			   : UINT64_MAX;
}

static void strike(struct demo *demo, struct demo_run *run, struct cursor *c, struct progress *bar)
{
	const struct demo_plan *plan = &demo->plan;
	struct demo_hit *hit = &run->hits[c->fault];
	struct demo_strike *s = &hit->strikes[c->time];
	uint64_t late_ns = weft_clock_now(NULL) - c->at_ns;
	char *why = hit->judged.why;

	/* Flaps keep to the T1 that they began with. */
	static uint32_t t1;
	if (!c->time)
		t1 = samples_busy_t1(&run->samples);
	if (late_ns > plan_late_ns(plan))
		(void)snprintf(why, DEMO_WHY_BYTES, "its moment was missed by %.3f s",
			(double)late_ns / 1e9);
	else if (plan_strike(plan, c->fault, demo->lab, t1, hit->text, &s->id, why, DEMO_WHY_BYTES))
		s->id = 0;
	if (!c->time && !demo->quiet)
		progress_note(bar, "  %4.1f s  %s%s%s (%s)",
			(double)(c->at_ns + late_ns - run->zero_ns) / 1e9,
			term_on(demo->term, s->id ? TERM_YELLOW : TERM_RED),
			plan->faults[c->fault]->name, term_off(demo->term),
			s->id ? hit->text : why);
	c->time++;
	cursor_set(c, demo, run);
}

/* So far, at the receiver's ports; headers are in it, but no file is more than whole. */
static uint64_t seen_bytes(const struct demo *demo, const struct demo_run *run)
{
	uint64_t bytes = samples_total(&run->samples);

	return run->transport == DEMO_WEFT ? WEFT_MIN(bytes, demo->file_bytes) : bytes;
}

static int go_through(struct demo *demo, struct demo_run *run, const struct demo_driver *driver,
	struct progress *bar)
{
	uint64_t total = plan_total_ns(&demo->plan), at = run->zero_ns;
	bool whole = run->transport == DEMO_WEFT; /* a file is copied to its end */
	struct cursor next = { 0 };
	int result = 0, over = 0;

	progress_begin(
		bar, demo->term, demo_names[run->transport], whole ? demo->file_bytes : 0, at);
	cursor_set(&next, demo, run);
	while (!result && !over) {
		uint64_t now = weft_clock_now(NULL), since = now - run->zero_ns;

		if (now >= next.at_ns)
			strike(demo, run, &next, bar);
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
				progress_update(bar, seen_bytes(demo, run), now);
		}
		sleep_until(WEFT_MIN(next.at_ns, at + DEMO_SAMPLE_NS));
	}
	if (over < 0)
		result = fail(run, "it failed");
	return result;
}

/* What did not happen is said where it would have been. */
static void tell_otherwise(const struct demo *demo, const struct demo_run *run)
{
	const struct term *term = demo->term;

	for (unsigned i = 0; i < demo->plan.n && !demo->quiet; i++) {
		const struct demo_judged *j = &run->hits[i].judged;

		if (j->verdict != DEMO_MADE)
			printf("  %s%s%s  %u %s: %s\n", term_on(term, TERM_RED),
				j->verdict == DEMO_NOT_MADE ? "NOT MADE" : "OTHERWISE",
				term_off(term), i + 1, demo->plan.faults[i]->name, j->why);
	}
	fflush(stdout);
}

int run_transport(struct demo *demo, struct demo_run *run)
{
	const struct demo_driver *driver = run->transport == DEMO_WEFT ? &demo_copy : &demo_stream;
	struct demo_watch *watch = watch_start();
	struct progress bar = { 0 };
	char error[DEMO_TEXT_BYTES];

	live_direct(true);
	int result = driver->start(demo, run);
	if (!result)
		result = begin(demo, run, driver);
	if (!result)
		result = go_through(demo, run, driver, &bar);
	live_direct(false);
	if (driver->stop(demo, run))
		result = fail(run, "it failed");
	(void)weft_lab_undo(
		demo->lab, 0, error, sizeof(error)); /* after a failure some may be left */
	for (unsigned i = 0; i < demo->plan.n; i++)
		judge_ask(demo->lab, run->hits[i].strikes, demo->plan.faults[i]->times,
			&run->hits[i].judged);
	run->n_machine = watch_stop(watch, run->machine, DEMO_GAPS_MAX);
	run_measure(demo, run);
	if (bar.term && !demo->quiet)
		progress_end(&bar, run->bytes, bar.start_ns + run->end_ns - run->zero_ns);
	tell_otherwise(demo, run);
	return result;
}

uint64_t run_machine_share(const struct demo_run *run, struct demo_gap stall)
{
	uint64_t own = gaps_cover(run->series.gaps, run->series.n_gaps, stall);
	uint64_t machine = gaps_cover(run->machine, run->n_machine, stall);

	return WEFT_MAX(own, machine);
}

/* What is said of it holds for both. */
static void judge_overlap(const struct demo_judged *before, struct demo_judged *j)
{
	if (!j->from_ns || j->from_ns >= before->to_ns || j->verdict == DEMO_NOT_MADE)
		return;
	j->verdict = DEMO_OTHERWISE;
	(void)snprintf(j->why, sizeof(j->why), "began %.3f s before the last one was mended",
		(double)(before->to_ns - j->from_ns) / 1e9);
}

static void judge_hits(const struct demo *demo, struct demo_run *run)
{
	for (unsigned i = 0; i < demo->plan.n; i++) {
		struct demo_hit *hit = &run->hits[i];

		for (unsigned t = 0; t < demo->plan.faults[i]->times; t++) {
			hit->strikes[t].due_ns = run->zero_ns + plan_strike_ns(&demo->plan, i, t);
			hit->strikes[t].for_ns = plan_for_ns(&demo->plan, i);
		}
		judge(hit->strikes, demo->plan.faults[i]->times, run->end_ns,
			plan_late_ns(&demo->plan), &hit->judged);
		if (i)
			judge_overlap(&run->hits[i - 1].judged, &hit->judged);
	}
}

/* When the next fault begins that was made, in part at least; or the gap after this one is over. */
static uint64_t after_end(const struct demo *demo, const struct demo_run *run, unsigned i)
{
	uint64_t end_ns = WEFT_MIN(run->hits[i].judged.to_ns + demo->plan.gap_ns, run->end_ns);

	for (unsigned k = i + 1; k < demo->plan.n; k++)
		if (run->hits[k].judged.from_ns)
			end_ns = WEFT_MIN(end_ns, run->hits[k].judged.from_ns);
	return WEFT_MAX(end_ns, run->hits[i].judged.to_ns);
}

static void measure_hit(
	const struct demo *demo, struct demo_run *run, unsigned i, uint64_t healthy_since_ns)
{
	struct demo_hit *hit = &run->hits[i];
	uint64_t from_ns = hit->judged.from_ns, to_ns = hit->judged.to_ns;
	uint64_t healthy_ns = (i ? demo->plan.gap_ns : demo->plan.lead_ns) / 2;

	hit->end_ns = after_end(demo, run, i);
	hit->before_bps = series_rate(
		&run->series, WEFT_MAX(healthy_since_ns, from_ns - healthy_ns), from_ns);
	hit->during_bps = series_rate(&run->series, from_ns, to_ns);
	hit->after_bps = series_rate(&run->series, to_ns, hit->end_ns);
	hit->stall = series_stall(&run->series, from_ns, hit->end_ns);
	hit->machine_ns = run_machine_share(run, hit->stall);
}

void run_measure(const struct demo *demo, struct demo_run *run)
{
	const struct demo_series *s = &run->series;
	bool whole = run->transport == DEMO_WEFT;

	if (s->n)
		run->zero_ns = s->start_ns;
	run->end_ns = whole ? WEFT_MAX(s->end_ns, run->zero_ns)
			    : run->zero_ns + plan_total_ns(&demo->plan);
	run->bytes =
		whole && run->done ? demo->file_bytes : (uint64_t)series_bytes_at(s, run->end_ns);
	judge_hits(demo, run);
	uint64_t healthy_since_ns = run->zero_ns;
	for (unsigned i = 0; i < demo->plan.n; i++) {
		if (!run->hits[i].judged.from_ns)
			continue;
		measure_hit(demo, run, i, healthy_since_ns);
		healthy_since_ns = run->hits[i].judged.to_ns;
	}
	run->stall = series_stall(s, s->start_ns, run->end_ns);
	run->stall_machine_ns = run_machine_share(run, run->stall);
}

unsigned run_made(const struct demo *demo, const struct demo_run *run)
{
	unsigned n = 0;

	for (unsigned i = 0; i < demo->plan.n; i++)
		n += run->hits[i].judged.verdict == DEMO_MADE;
	return n;
}

bool runs_all_made(const struct demo *demo, const struct demo_run runs[], unsigned n)
{
	for (unsigned r = 0; r < n; r++)
		if (run_made(demo, &runs[r]) < demo->plan.n)
			return false;
	return n > 0;
}

void run_end(struct demo_run *run)
{
	free(run->series.bins);
	samples_end(&run->samples);
	json_decref(run->sender);
	json_decref(run->receiver);
}
