/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

enum { BYTES = 1 << 20 };

/* Its memory goes in the middle of it. */
TEST(weft_data_lost__fails_who_sends_from_there)
{
	struct world w = { .check = true };

	pair_start(&w);
	struct weft_work work = pair_work(&w, 0, WEFT_WORK_WRITE, 5, 0, BYTES);

	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	while (w.delivered_bytes < BYTES / 16)
		world_step(&w);
	weft_data_lost(w.end[0], w.memory[0] + BYTES); /* of nobody */
	weft_data_lost(w.end[0], w.memory[0] + BYTES - 1);
	pair_expect(&w, 0, 5, WEFT_DONE_WRITE, WEFT_LOCAL_MEMORY);
	weft_check(w.end[0]);
	pair_end(&w);
}

TEST(weft_data_lost__refuses_who_reads_from_there)
{
	struct world w = { .check = true };

	pair_start(&w);
	struct weft_work work = pair_work(&w, 0, WEFT_WORK_READ, 5, 0, BYTES);

	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	while (w.delivered_bytes < BYTES / 16)
		world_step(&w);
	weft_data_lost(w.end[1], w.memory[1] + BYTES - 1);
	pair_expect(&w, 0, 5, WEFT_DONE_READ, WEFT_REMOTE_ACCESS);
	weft_check(w.end[1]);
	pair_end(&w);
}
