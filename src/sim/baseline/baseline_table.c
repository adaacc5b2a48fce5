/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * baseline_table - the kinds, as what they do.
 *
 * They differ in eight yes-or-no questions and share the rest, so that a difference in results has
 * a name.  A table of functions, as congestion control has, would hide that ROCE and STRIPE are one
 * transport with another rule for paths.
 *
 * Timeouts: ROCE's is 4.096 us x 2^7 of the InfiniBand specification, a setting for a quick fabric
 * (NCCL's default is 2^20: four seconds); IRN's is its paper's RTO_high (RTO_low, for the last
 * three packets, is baseline_send.c's); the others must not fire while packets queue, and lose
 * nothing but to failures.
 */
#include "baseline_local.h"

static const struct kind kinds[WEFT_BASELINE_KINDS] = {
	[WEFT_BASELINE_NONE] = { .name = "mrc" },
	[WEFT_BASELINE_ROCE] = { .name = "roce",
		.knows_order = true,
		.has_rate = true,
		.rto_us = 524 },
	[WEFT_BASELINE_ROCE_SR] = { .name = "roce-sr",
		.is_selective = true,
		.knows_order = true,
		.has_rate = true,
		.rto_us = 320 },
	[WEFT_BASELINE_STRIPE] = { .name = "stripe",
		.knows_order = true,
		.has_rate = true,
		.is_striped = true,
		.rto_us = 524 },
	[WEFT_BASELINE_SPRAY] = { .name = "spray",
		.is_spray = true,
		.is_selective = true,
		.has_window = true,
		.rto_us = 320 },
	[WEFT_BASELINE_NDP] = { .name = "ndp",
		.is_spray = true,
		.is_selective = true,
		.is_pulled = true,
		.is_dealt = true,
		.rto_us = 320 },
};

const struct kind *kind_of(enum weft_baseline_kind kind)
{
	return &kinds[kind];
}

const char *weft_baseline_name(enum weft_baseline_kind kind)
{
	return (unsigned)kind < WEFT_BASELINE_KINDS ? kinds[kind].name : "?";
}

bool weft_baseline_is_roce(enum weft_baseline_kind kind)
{
	return kinds[kind].has_rate;
}

bool weft_baseline_find(const char *name, enum weft_baseline_kind *kind)
{
	for (unsigned i = 0; i < WEFT_BASELINE_KINDS; i++) {
		const char *a = kinds[i].name, *b = name;

		while (*a && *a == *b) {
			a++;
			b++;
		}
		if (*a == *b) {
			*kind = (enum weft_baseline_kind)i;
			return true;
		}
	}
	return false;
}
