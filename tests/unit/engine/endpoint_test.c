/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

static void setup(struct world *w, uint32_t paths)
{
	struct weft_config config;

	world_config(&config);
	world_open(w, &config);
	world_connect(w, paths, paths / 2, &weft_cc_nscc);
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
	/* 4096 packets of 4262 wire bytes over 800 Gb/s and one round trip: 99 % of the limit. */
	CHECK(w.now - start < 4096ull * 4262 * 8 * 100 / 800 / 99 + 12000);
	CHECK_EQ(weft_stats(w.end[0])->tx_rtx_pkts, 0);
	world_close(&w);
}
