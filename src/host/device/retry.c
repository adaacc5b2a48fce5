/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retry - for how long a queue pair tries before it tells the program that its peer is gone.
 *
 * Two ways to say it.  Verbs' is a time per try and a number of tries: the budget is their product,
 * and within it the engine asks sooner and more often, from what the fabric needs upwards and never
 * less often than the program said.  MRC's is a base interval, a number of expiries at it, and a
 * number of doubling ones [P 4.5]; the engine counts those.  A peer in software may wait
 * for a CPU, which no program for hardware reckons with, so neither ends before GIVE_UP_NS_MIN.
 *
 * Nor does want of a receive: fio posts as many receives as its peer sends ahead, and asks for no
 * try at all.  On a card the receiver's CPU posts anew what a completion gave back while the next
 * send is still crossing the network; here it may just have lost that CPU to the sender's.
 */
#include "device_local.h"

#define GIVE_UP_NS_MIN UINT64_C(200000000)
#define EXP_MAX 24u
#define FOR_EVER 25u
#define DOUBLINGS_MAX 24u

/* Until the last of them, with `doubling` expiries behind the linear ones. */
static uint64_t sum_ns(uint32_t exp, uint32_t linear, uint32_t doubling)
{
	uint64_t ns = (UINT64_C(1024) << exp) * (linear + 1);

	for (uint32_t i = 1; i <= doubling; i++)
		ns += UINT64_C(1024) << WEFT_MIN(exp + i, EXP_MAX);
	return ns;
}

uint64_t retry_budget_ns(const struct weft_dev_qp_attr *own)
{
	uint64_t ns = (UINT64_C(1024) << WEFT_MIN(own->timeout, 31u)) * (own->retry + 1u);

	if (!own->timeout || (own->doubles && own->retry == FOR_EVER))
		return 0;
	if (own->doubles)
		ns = sum_ns(WEFT_MIN(own->timeout, EXP_MAX), own->linear, own->retry);
	return WEFT_MAX(ns, GIVE_UP_NS_MIN);
}

void retry_put(const struct weft_dev_qp_attr *own, struct weft_qp_attr *attr)
{
	uint32_t floor = attr->timeout_exp;

	attr->rnr_timer = own->rnr_timer & 31;
	attr->rnr_retry = own->rnr_retry;
	attr->rnr_give_up_ns = GIVE_UP_NS_MIN;
	attr->rd_atomic_rx = RD_ATOMIC_MAX;
	attr->give_up_ns = 0;
	attr->timeout_exp_max = 0;
	if (!own->timeout) {
		attr->retry_count = FOR_EVER;
		return;
	}
	if (own->doubles) {
		attr->timeout_exp = (uint8_t)WEFT_MIN(WEFT_MAX(own->timeout, floor), EXP_MAX);
		attr->linear_count = own->linear;
		attr->retry_count = own->retry;
		while (attr->retry_count < DOUBLINGS_MAX &&
			sum_ns(attr->timeout_exp, own->linear, attr->retry_count) < GIVE_UP_NS_MIN)
			attr->retry_count++;
		return;
	}
	attr->timeout_exp_max = (uint8_t)WEFT_MIN(WEFT_MAX(own->timeout, floor), EXP_MAX);
	attr->linear_count = 1;
	attr->retry_count = DOUBLINGS_MAX; /* of refusals in a row, not of silence */
	attr->give_up_ns = retry_budget_ns(own);
}
