/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The same load through sim and through a heap of events; tests/unit/net/twin_test.c has it through
 * the pump of net as well, and as bytes.
 */
#include "twin.h"

TEST(weft_sim__agrees_with_the_event_heap_on_a_permutation)
{
	for (uint32_t threads = 1; threads <= 4; threads++) {
		struct twin *t = twin_open(0, 2000000, threads);

		twin_run(t);
		twin_compare(t);
		twin_close(t);
	}
}

TEST(weft_sim__agrees_with_the_event_heap_on_an_incast)
{
	struct twin *t = twin_open(12, 200000, 2);

	twin_run(t);
	twin_compare(t);
	twin_close(t);
}

/* A T1 stops and goes on, and a cable of another one is cut. */
TEST(weft_sim__agrees_with_the_event_heap_on_what_breaks)
{
	struct twin *t = twin_open(0, 600000, 2);

	twin_fault(t, 9000000, WEFT_SIM_NODE_FREEZE, weft_topo_t1(t->topo, 0, 1));
	twin_fault(t, 15000000, WEFT_SIM_LINK_DOWN, weft_topo_link_find(t->topo, "p1.t0-2:t1-3"));
	twin_fault(t, 31000000, WEFT_SIM_NODE_THAW, weft_topo_t1(t->topo, 0, 1));
	twin_run(t);
	CHECK(t->world->lost > 20);
	twin_compare(t);
	twin_close(t);
}
