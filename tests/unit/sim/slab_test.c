/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "sim_local.h"

enum { N = 8 * SLAB_BATCH };

TEST(memory_reserve__gives_zeroes_and_costs_nothing_untouched)
{
	uint64_t bytes = UINT64_C(1) << 40;
	uint8_t *at = memory_reserve(bytes);

	REQUIRE(at);
	CHECK_EQ(at[0] | at[bytes / 2] | at[bytes - 1], 0);
	at[bytes / 2] = 1;
	memory_release(at, bytes);
	CHECK(memory_available() > 1 << 20);
}

TEST(slab_take__never_hands_a_slot_out_twice)
{
	static bool taken[N];
	struct slab_cache cache = { .free = NONE, .full = NONE };
	struct slab slab;

	REQUIRE(slab_open(&slab, N - 1, sizeof(struct weft_pkt))); /* rounded up to whole batches */
	for (uint32_t i = 0; i < N; i++) {
		uint32_t slot = slab_take(&slab, &cache);

		REQUIRE(slot < N);
		CHECK(!taken[slot]);
		taken[slot] = true;
	}
	CHECK_PANICS(slab_take(&slab, &cache));
	(void)pthread_mutex_unlock(&slab.lock); /* the panic left with it */
	slab_close(&slab);
}

/* One lane only takes, the other only gives: what the second has freed must reach the first. */
TEST(slab_give__lets_slots_change_lanes)
{
	struct slab_cache from = { .free = NONE, .full = NONE }, to = from;
	struct slab slab;

	REQUIRE(slab_open(&slab, N, sizeof(struct weft_pkt)));
	for (uint32_t i = 0; i < 20 * N; i++)
		slab_give(&slab, &to, slab_take(&slab, &from));
	CHECK(slab.fresh <= 4 * SLAB_BATCH);
	CHECK(to.n_free <= SLAB_BATCH);
	slab_close(&slab);
}

/* Whatever n: a list that does not fit beside what is free already goes slot by slot. */
TEST(slab_give_list__gives_back_all_of_it)
{
	struct slab_cache cache = { .free = NONE, .full = NONE };
	struct slab slab;

	REQUIRE(slab_open(&slab, N, 256));
	for (uint32_t k = 0; k < 40; k++) {
		uint32_t n = 1 + k * 199 % (2 * SLAB_BATCH), first = NONE, last = NONE;

		for (uint32_t i = 0; i < n; i++) {
			uint32_t slot = slab_take(&slab, &cache);

			*slab_link(&slab, slot) = first;
			last = i ? last : slot;
			first = slot;
		}
		slab_give_list(&slab, &cache, first, last, n);
		CHECK(cache.n_free <= SLAB_BATCH);
	}
	CHECK(slab.fresh <= 4 * SLAB_BATCH);
	slab_close(&slab);
}
