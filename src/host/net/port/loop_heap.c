/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loop_heap - what happens next, ties in order of creation.
 *
 * A binary heap of 24-byte entries.  The order number makes equal times come out in the order in
 * which they went in, on every machine, which is what a digest of a run rests on.  The simulator
 * has better structures for millions of packets; here there are thousands.
 */
#include "net_local.h"

#include <stdlib.h>

static bool is_before(const struct loop_due *a, const struct loop_due *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

void loop_heap_push(struct loop_heap *heap, uint64_t at_ns, uint32_t what)
{
	if (heap->n == heap->room) {
		heap->room = heap->room ? 2 * heap->room : 1024;
		heap->due = realloc(heap->due, heap->room * sizeof(*heap->due));
		WEFT_ASSERT(heap->due);
	}
	struct loop_due due = { at_ns, heap->orders++, what };
	size_t i = heap->n++;

	while (i && is_before(&due, &heap->due[(i - 1) / 2])) {
		heap->due[i] = heap->due[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap->due[i] = due;
}

uint32_t loop_heap_pop(struct loop_heap *heap)
{
	WEFT_ASSERT(heap->n);
	uint32_t what = heap->due[0].what;
	struct loop_due last = heap->due[--heap->n];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= heap->n)
			break;
		if (child + 1 < heap->n && is_before(&heap->due[child + 1], &heap->due[child]))
			child++;
		if (!is_before(&heap->due[child], &last))
			break;
		heap->due[i] = heap->due[child];
		i = child;
	}
	heap->due[i] = last;
	return what;
}

uint64_t loop_heap_next(const struct loop_heap *heap)
{
	return heap->n ? heap->due[0].at_ns : WEFT_NEVER;
}

void loop_heap_close(struct loop_heap *heap)
{
	free(heap->due);
	*heap = (struct loop_heap){ 0 };
}
