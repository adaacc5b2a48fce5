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

/* False must mean that asking is in vain; nothing but a post, a packet or a timer changes that. */
TEST(weft_wants_output__is_false_only_where_nothing_would_come)
{
	struct world w = { .check = true };
	struct weft_pkt pkt;
	unsigned asked = 0, wanted = 0;

	setup(&w, 16);
	CHECK(!weft_wants_output(w.end[0]) && !weft_wants_output(w.end[1]));
	world_write(&w, 0, 1, 0, 100 * 4096);
	CHECK(weft_wants_output(w.end[0]));
	for (; w.now < 10000000 && wanted < 50; asked++) {
		for (int end = 0; end < 2; end++) {
			bool wants = weft_wants_output(w.end[end]) ||
				     weft_next_timeout(w.end[end]) <= w.now;

			wanted += wants;
			if (!wants)
				CHECK_EQ(weft_output(w.end[end], &pkt, 1, UINT32_MAX, w.now), 0);
		}
		world_run_until(&w, w.now + 300);
	}
	CHECK(asked > wanted / 2);
	world_close(&w);
}
