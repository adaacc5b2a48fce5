/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_judge - whether a fault of the plan has happened.
 *
 * What was asked for proves nothing: on a busy machine a program that makes faults is kept off its
 * CPU, a lab refuses, a file is over before its time.  So each fault is held against the record
 * that the lab keeps of it, within the time that the transfer lasted by the receiver's clock.  A
 * fault counts for as long as all of it was in force for certain, which leaves out the moments in
 * which the switches were told.  Nothing is made until the lab has said so.
 */
#include "demo.h"

#include <stdio.h>
#include <weft/base.h>

/* In force for less than this share of its time, a fault was not made; else within so much of it,
 * it was as planned.  Real time gives a few milliseconds; without, ten or twenty of hundreds. */
#define LEAST_SHARE 0.5
#define TOLERANCE 0.25

const char *const demo_verdicts[] = { "not made", "otherwise", "made" };

void judge_ask(
	struct weft_lab *lab, struct demo_strike strikes[], unsigned n, struct demo_judged *out)
{
	for (unsigned i = 0; i < n; i++) {
		struct demo_strike *s = &strikes[i];

		if (s->id && weft_lab_record(lab, s->id, &s->record, out->why, sizeof(out->why)))
			s->record = (struct weft_lab_record){ 0 };
	}
}

bool judge_was_on(const struct weft_lab_record *record, uint64_t from_ns, uint64_t end_ns)
{
	return record->on_ns && record->on_ns < end_ns &&
	       (!record->lift_ns || record->lift_ns > from_ns);
}

struct sum {
	unsigned times;
	uint64_t planned_ns, certain_ns, longest_ns, late_ns;
};

static struct sum add_up(
	const struct demo_strike strikes[], unsigned n, uint64_t end_ns, struct demo_judged *out)
{
	struct sum sum = { 0 };
	uint64_t before_ns = 0; /* the end of the time before: none is counted twice */

	for (unsigned i = 0; i < n; i++) {
		const struct demo_strike *s = &strikes[i];
		const struct weft_lab_record *r = &s->record;

		sum.planned_ns += s->for_ns;
		if (!judge_was_on(r, 0, end_ns))
			continue;
		uint64_t lift_ns = r->lift_ns ? WEFT_MIN(r->lift_ns, end_ns) : end_ns;
		uint64_t off_ns = r->off_ns ? WEFT_MIN(r->off_ns, end_ns) : end_ns;
		uint64_t on_ns = WEFT_MAX(r->on_ns, before_ns);

		if (!sum.times++)
			out->from_ns = r->on_ns;
		out->to_ns = before_ns = WEFT_MAX(lift_ns, before_ns);
		sum.certain_ns += lift_ns > on_ns ? lift_ns - on_ns : 0;
		sum.longest_ns += off_ns > on_ns ? off_ns - on_ns : 0;
		if (r->on_ns > s->due_ns)
			sum.late_ns = WEFT_MAX(sum.late_ns, r->on_ns - s->due_ns);
	}
	return sum;
}

void judge(const struct demo_strike strikes[], unsigned n, uint64_t end_ns, uint64_t late_ns_max,
	struct demo_judged *out)
{
	struct sum sum = add_up(strikes, n, end_ns, out);
	double planned = (double)sum.planned_ns, certain = (double)sum.certain_ns;
	char because[DEMO_WHY_BYTES];

	out->lasted_ns = sum.certain_ns;
	out->verdict = DEMO_OTHERWISE;
	(void)snprintf(because, sizeof(because), "%s%.180s", *out->why ? ": " : "", out->why);
	if (!sum.times) {
		out->verdict = DEMO_NOT_MADE;
		if (!*out->why)
			(void)snprintf(out->why, sizeof(out->why), "all was over by then");
	} else if (certain < LEAST_SHARE * planned) {
		out->verdict = DEMO_NOT_MADE;
		(void)snprintf(out->why, sizeof(out->why), "only %.3f s of %.3f%.182s",
			certain / 1e9, planned / 1e9, because);
	} else if (sum.times < n) {
		(void)snprintf(
			out->why, sizeof(out->why), "%u of %u times%.182s", sum.times, n, because);
	} else if (certain < (1 - TOLERANCE) * planned) {
		(void)snprintf(out->why, sizeof(out->why), "%.3f s instead of %.3f", certain / 1e9,
			planned / 1e9);
	} else if ((double)sum.longest_ns > (1 + TOLERANCE) * planned) {
		(void)snprintf(out->why, sizeof(out->why), "%.3f s instead of %.3f",
			(double)sum.longest_ns / 1e9, planned / 1e9);
	} else if (sum.late_ns > late_ns_max) {
		(void)snprintf(
			out->why, sizeof(out->why), "%.3f s late", (double)sum.late_ns / 1e9);
	} else {
		out->verdict = DEMO_MADE;
		out->why[0] = 0;
	}
}
