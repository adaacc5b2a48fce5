/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

static void setup(struct world *w, uint32_t paths)
{
	struct weft_config config;

	world_config(&config);
	world_open(w, &config);
	world_connect(w, paths, paths / 2, &weft_cc_nscc);
}

static void report(const struct world *w)
{
	for (unsigned i = 0; weft_counter_name(i); i++) {
		uint64_t a = weft_counter_value(weft_stats(w->end[0]), i);
		uint64_t b = weft_counter_value(weft_stats(w->end[1]), i);

		if (a || b)
			fprintf(stderr, "  %-20s %10lu %10lu\n", weft_counter_name(i), a, b);
	}
}

TEST(weft_endpoint__moves_16_mib_over_8_planes)
{
	struct world w = { .check = true };
	struct weft_done done;

	setup(&w, 256);
	uint64_t start = w.now;

	world_write(&w, 0, 1, 0, WORLD_MEMORY);
	CHECK_EQ(world_wait(&w, 0, 1, 10000000, &done), 1);
	CHECK_EQ(done.status, WEFT_OK);
	CHECK_MEM(w.memory[1], w.memory[0], WORLD_MEMORY);
	fprintf(stderr, "took %lu ns\n", w.now - start);
	report(&w);
	world_close(&w);
}
