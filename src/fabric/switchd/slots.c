/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slots - which slots of the pool are free.
 *
 * A stack, because the slot that was given back last is in the cache.  Whose the others are is
 * known where they are: the rings' room remembers what each process has, the network what is on its
 * way, and the interfaces' edge what it receives into.
 */
#include "switchd_local.h"

#include <stdlib.h>

bool slots_open(struct slots *slots, uint32_t n)
{
	*slots = (struct slots){ .n = n,
		.n_free = n,
		.free = calloc(n, sizeof(*slots->free)),
		.is_from_wire = calloc(n, sizeof(*slots->is_from_wire)) };
	for (uint32_t i = 0; slots->free && i < n; i++)
		slots->free[i] = n - 1 - i;
	return slots->free && slots->is_from_wire;
}

void slots_close(struct slots *slots)
{
	free(slots->free);
	free(slots->is_from_wire);
	*slots = (struct slots){ 0 };
}

uint32_t slots_take(struct slots *slots)
{
	return slots->n_free ? slots->free[--slots->n_free] : SLOT_NONE;
}

void slots_give(struct slots *slots, uint32_t slot)
{
	WEFT_ASSERT(slot < slots->n && slots->n_free < slots->n);
	slots->is_from_wire[slot] = false;
	slots->free[slots->n_free++] = slot;
}
