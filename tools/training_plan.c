/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * training_plan - what breaks during the training, and after which step.
 *
 * By steps and not by seconds, so that each network is at the same place of the same job when it is
 * hit, however slow it is.  How long a fault lasts is time: an outage does not wait for anybody.
 */
#include "training.h"

#include <stdio.h>
#include <weft/base.h>

static const struct training_fault faults[] = {
	{ "plane flaps", "every link of plane 0 loses carrier, three times in three seconds",
		WEFT_LAB_PLANE_DOWN, "0", 500000000, 3 },
	{ "T1 dies silently", "a spine switch stops forwarding for two seconds; its links stay up",
		WEFT_LAB_FREEZE, "p1.t1-0", 2000000000, 1 },
	{ "NIC port lost", "one of eight ports of a host is down for two seconds",
		WEFT_LAB_PORT_DOWN, "h2.p2", 2000000000, 1 },
	{ "plane dies silently", "all switches of plane 3 stop forwarding for a second",
		WEFT_LAB_PLANE_FREEZE, "3", 1000000000, 1 },
};
static_assert(WEFT_COUNT(faults) <= TRAINING_FAULTS_MAX, "the arrays for them are of this size");

void training_plan_fill(struct training_plan *plan, unsigned steps)
{
	plan->steps = steps;
	plan->faults = faults;
	plan->n = WEFT_COUNT(faults);
	for (unsigned i = 0; i < plan->n; i++)
		plan->at[i] = (i + 1) * steps / (plan->n + 1);
}

static int strike(const struct training_fault *f, struct weft_lab *lab, struct training_run *run,
	struct training_hit *hit)
{
	struct demo_strike *s = &hit->strikes[hit->times++];
	struct weft_lab_fault fault;

	WEFT_ASSERT(hit->times <= DEMO_TIMES_MAX);

	if (weft_lab_fault_parse(weft_lab_topo(lab), weft_lab_fault_name(f->kind), f->where, &fault,
		    run->error, sizeof(run->error)))
		return -1;
	fault.for_ns = f->hold_ns;
	weft_lab_fault_text(weft_lab_topo(lab), &fault, hit->text, DEMO_TEXT_BYTES);
	if (weft_lab_fault(lab, &fault, &s->id, hit->judged.why, sizeof(hit->judged.why)))
		s->id = 0; /* training_judge says so; the job goes on */
	return 0;
}

int training_strike(const struct training_plan *plan, struct weft_lab *lab,
	struct training_run *run, unsigned steps_done, uint64_t now)
{
	unsigned i = run->n_hits;
	struct training_hit *hit = &run->hits[i];

	if (!run->is_faulty || i == plan->n || steps_done < plan->at[i] ||
		(i && now < run->hits[i - 1].to_ns)) /* one at a time */
		return 0;
	hit->asked_ns = now;
	hit->to_ns = now + plan->faults[i].hold_ns * (2 * plan->faults[i].times - 1);
	hit->step = steps_done;
	run->n_hits++;
	return strike(&plan->faults[i], lab, run, hit);
}

int training_flap(const struct training_plan *plan, struct weft_lab *lab, struct training_run *run,
	uint64_t now)
{
	if (!run->n_hits)
		return 0;
	const struct training_fault *f = &plan->faults[run->n_hits - 1];
	struct training_hit *hit = &run->hits[run->n_hits - 1];

	if (hit->times >= f->times || now < hit->asked_ns + 2 * hit->times * f->hold_ns)
		return 0;
	return strike(f, lab, run, hit);
}

void training_judge(
	const struct training_plan *plan, struct weft_lab *lab, struct training_run *run)
{
	const struct training_step *last = run->n ? &run->steps[run->n - 1] : NULL;
	uint64_t end_ns = run->end_ns ? run->end_ns : last ? last->at_ns + last->ns : 0;

	for (unsigned i = 0; i < plan->n && run->is_faulty; i++) {
		struct training_hit *hit = &run->hits[i];

		judge_ask(lab, hit->strikes, plan->faults[i].times, &hit->judged);
		for (unsigned t = 0; t < plan->faults[i].times; t++)
			hit->strikes[t].for_ns = plan->faults[i].hold_ns;
		/* It is due when its step is done, and never late. */
		judge(hit->strikes, plan->faults[i].times, end_ns, UINT64_MAX, &hit->judged);
	}
}

bool training_as_planned(const struct training_plan *plan, const struct training_run *run)
{
	for (unsigned i = 0; i < plan->n && run->is_faulty; i++)
		if (run->hits[i].judged.verdict != DEMO_MADE)
			return false;
	return true;
}
