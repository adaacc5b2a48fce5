/* SPDX-License-Identifier: BSD-2-Clause */
#include "net_local.h"

#include "check.h"

TEST(loop_heap_pop__gives_times_in_order_and_ties_as_they_came)
{
	struct loop_heap heap = { 0 };
	struct weft_rng rng;
	static uint64_t at_ns[20000];
	uint64_t last_ns = 0;
	uint32_t last = 0;

	weft_rng_seed(&rng, 1);
	CHECK(loop_heap_next(&heap) == WEFT_NEVER);
	for (uint32_t i = 0; i < 20000; i++) {
		at_ns[i] = weft_rng_below(&rng, 500);
		loop_heap_push(&heap, at_ns[i], i);
	}
	for (uint32_t i = 0; i < 20000; i++) {
		uint64_t next = loop_heap_next(&heap);
		uint32_t what = loop_heap_pop(&heap);

		CHECK_EQ(at_ns[what], next);
		CHECK(next > last_ns || (next == last_ns && (what > last || !i)));
		last_ns = next;
		last = what;
	}
	CHECK(loop_heap_next(&heap) == WEFT_NEVER);
	CHECK_PANICS((void)loop_heap_pop(&heap));
	loop_heap_close(&heap);
}
