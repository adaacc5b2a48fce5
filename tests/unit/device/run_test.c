/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

/* Nobody polls on either side: the threads alone must bring it there and back. */
TEST(run_start__serves_who_only_looks_at_memory)
{
	struct side *s[2];
	volatile uint8_t *last;
	uint64_t limit_ns = weft_clock_now(NULL) + LIMIT_S * UINT64_C(1000000000);

	pair_open(s, WEFT_DEV_STRICT);
	last = s[1]->memory + 9999;
	memset(s[0]->memory, 0x77, 10000);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 10000), 0);
	while (*last != 0x77 && weft_clock_now(NULL) < limit_ns)
		weft_clock_sleep(100000);
	CHECK_EQ(*last, 0x77);
	pair_close(s);
}

/* An idle device sleeps: what it uses of the CPU in a while is little, whatever else runs. */
TEST(run_start__sleeps_while_nothing_happens)
{
	struct side *s[2];
	uint64_t before_ns, used_ns = WEFT_NEVER;

	pair_open(s, WEFT_DEV_STRICT);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	weft_clock_sleep(50000000);
	/* A loop that polls fails each time; a busy machine may disturb one. */
	for (unsigned i = 0; i < 5 && used_ns >= 150000000; i++) {
		before_ns = weft_clock_cpu_ns();
		weft_clock_sleep(300000000);
		used_ns = weft_clock_cpu_ns() - before_ns;
	}
	CHECK(used_ns < 150000000);
	pair_close(s);
}
