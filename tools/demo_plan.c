/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_plan - the faults, and when they strike.
 *
 * One plan for every transport, all in plane 0, which is the plane that the single TCP connection
 * uses.  Where a T1 is hit it is the one of the two through which more bytes went just before:
 * a rule, not a choice, so that a TCP connection that ECMP put on the other T1 does not get away
 * by luck; Weft uses both.  Links are hit on the far side of the T1, so that the sender's own T0
 * cannot route around what it sees; a fabric that is source routed has no protocol that would.
 */
#include "demo.h"

#include <stdio.h>
#include <string.h>
#include <weft/base.h>

static const struct demo_fault faults[] = {
	{ "link flaps", "a T1-T0 cable loses carrier three times in a row", WEFT_LAB_LINK_DOWN,
		"p0.t0-1:t1-%u", 0, 3, false },
	{ "20 % loss on a path", "a T0-T1 cable drops every fifth packet; everything looks up",
		WEFT_LAB_LOSS, "p0.t0-0:t1-%u", 200000, 1, false },
	{ "T1 dies silently", "a spine switch stops forwarding; its links stay up", WEFT_LAB_FREEZE,
		"p0.t1-%u", 0, 1, true },
	{ "T1 reboots", "a spine switch loses carrier on all ports, and its tables",
		WEFT_LAB_REBOOT, "p0.t1-%u", 0, 1, true },
	{ "plane down", "every link of plane 0 loses carrier", WEFT_LAB_PLANE_DOWN, "0", 0, 1,
		true },
	{ "plane dies silently", "all switches of plane 0 stop forwarding; links stay up",
		WEFT_LAB_PLANE_FREEZE, "0", 0, 1, true },
	{ "sender's port down", "the sender's NIC loses its port in plane 0, and gets it back",
		WEFT_LAB_PORT_DOWN, "h0.p0", 0, 1, true },
	{ "receiver's port down", "the same at the receiver, where the sender cannot see it",
		WEFT_LAB_PORT_DOWN, "h2.p0", 0, 1, true },
};
static_assert(WEFT_COUNT(faults) <= DEMO_FAULTS_MAX, "the arrays for them are of this size");

void plan_all(struct demo_plan *plan, bool deaths_only)
{
	plan->n = 0;
	for (size_t i = 0; i < WEFT_COUNT(faults); i++) {
		if (faults[i].is_death || !deaths_only)
			plan->faults[plan->n++] = &faults[i];
	}
}

uint64_t plan_fault_ns(const struct demo_plan *plan, unsigned i)
{
	return plan->lead_ns + i * (plan->hold_ns + plan->gap_ns);
}

uint64_t plan_for_ns(const struct demo_plan *plan, unsigned i)
{
	WEFT_ASSERT(plan->faults[i]->times <= DEMO_TIMES_MAX);
	return plan->hold_ns / (2 * plan->faults[i]->times - 1);
}

uint64_t plan_strike_ns(const struct demo_plan *plan, unsigned i, unsigned time)
{
	return plan_fault_ns(plan, i) + 2 * time * plan_for_ns(plan, i);
}

/* Half a gap: with the fault that follows a late one it has nothing to do yet. */
uint64_t plan_late_ns(const struct demo_plan *plan)
{
	return plan->gap_ns / 2;
}

uint64_t plan_total_ns(const struct demo_plan *plan)
{
	return plan_fault_ns(plan, plan->n);
}

int plan_strike(const struct demo_plan *plan, unsigned i, struct weft_lab *lab, uint32_t t1,
	char text[DEMO_TEXT_BYTES], uint32_t *id, char *error, size_t error_bytes)
{
	const struct demo_fault *f = plan->faults[i];
	char where[WEFT_TOPO_NAME_BYTES + 16];
	const char *split = strstr(f->where, "%u");
	struct weft_lab_fault fault;

	if (split)
		(void)snprintf(
			where, sizeof(where), "%.*s%u", (int)(split - f->where), f->where, t1);
	else
		(void)snprintf(where, sizeof(where), "%s", f->where);
	if (weft_lab_fault_parse(weft_lab_topo(lab), weft_lab_fault_name(f->kind), where, &fault,
		    error, error_bytes))
		return -1;
	fault.loss_ppm = f->loss_ppm;
	fault.way = WEFT_LAB_UP; /* one way, as the published figures have it */
	fault.for_ns = plan_for_ns(plan, i);
	weft_lab_fault_text(weft_lab_topo(lab), &fault, text, DEMO_TEXT_BYTES);
	return weft_lab_fault(lab, &fault, id, error, error_bytes);
}
