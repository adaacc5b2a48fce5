/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a hop costs: look-up, rewriting, queue, mark; in and out.  One T0 of the paper's size,
 * 512 ports and a table of 513 uSIDs, frames to ports at random (so that no line is warm by
 * accident), four waiting per port on average.  Headers are 256 frames in turn, as a ring of
 * buffers would be; payload is never touched.
 */
#include "../bench.h"

#include <weft/base.h>
#include <weft/switch.h>

#include <string.h>

enum { PORTS = 512, FRAMES = 1 << 16, RING = 4096, OPS = 65536, OWN = 0x8000, WAITING = 2048 };

static struct weft_frame pool_frames[FRAMES];
static struct weft_frame_pool pool;
static struct weft_port_profile profile;
static struct weft_switch *sw;
static struct weft_frame frames[RING];
static uint8_t ips[RING][64], fresh[RING][64];
static uint64_t now_ps;

static void must(bool good)
{
	if (good)
		return;
	fprintf(stderr, "switch_bench: set-up failed\n");
	exit(1);
}

static uint16_t sid_of(uint32_t port)
{
	return (uint16_t)(port < 256 ? port + 1 : 0x4000 + port - 256);
}

static void open_switch(bool is_lean)
{
	struct weft_switch_config config = { .ports = PORTS,
		.sids = 513,
		.block = 0xfcbbbb00,
		.mtu_bytes = 9000,
		.dscp = WEFT_DSCP_DEFAULT,
		.is_lean = is_lean,
		.profiles = &profile,
		.n_profiles = 1,
		.pool = &pool };
	struct weft_hop hop = { .kind = WEFT_HOP_UN };

	weft_port_profile_fill(&profile, WEFT_DISCIPLINE_TRIM, false, 100000, 0);
	weft_frame_pool_init(&pool, pool_frames, FRAMES);
	must(weft_switch_init(
		&sw, aligned_alloc(64, weft_switch_size(&config)), &config)); /* freed by exit */
	must(weft_switch_sid_add(sw, OWN, &hop));
	for (uint16_t i = 0; i < PORTS; i++) {
		hop = (struct weft_hop){ .kind = WEFT_HOP_PORT, .port = i };
		must(weft_switch_sid_add(sw, sid_of(i), &hop));
		must(weft_switch_port_set(sw, i, UINT64_C(100000000000), 0));
	}
}

static void make_frames(void)
{
	struct weft_rng rng;

	weft_rng_seed(&rng, 1);
	for (unsigned i = 0; i < RING; i++) {
		uint16_t sid = sid_of((uint32_t)weft_rng_below(&rng, PORTS));
		const uint8_t head[8] = { 0x62, 0x20, 0, 0, 4184 >> 8, 4184 & 0xff, 41, 64 };
		const uint8_t usids[12] = { 0x80, 0, (uint8_t)(sid >> 8), (uint8_t)sid, 0, 7 };

		frames[i] = (struct weft_frame){ .route = (uint64_t)OWN << 48 |
							  (uint64_t)sid << 32 | 7u << 16,
			.in_port = (uint16_t)(i % PORTS),
			.bytes = 4238,
			.hop_limit = 64,
			.flags = WEFT_FRAME_ECT | WEFT_FRAME_TRIMMABLE };
		memcpy(fresh[i], head, 8);
		memcpy(fresh[i] + 24, "\xfc\xbb\xbb\0", 4);
		memcpy(fresh[i] + 28, usids, 12);
	}
	memcpy(ips, fresh, sizeof(ips));
}

/* One in by _input*, one out of the port that it went to, once WAITING of them wait. */
static void hop(unsigned i, bool is_bytes)
{
	static uint32_t waiting[WAITING];
	static unsigned turn;
	struct weft_frame frame = frames[i % RING];
	struct weft_departure departure;
	uint32_t port = 0;
	enum weft_switch_drop drop;

	now_ps += 1000; /* 512 ports take one every 666 */
	if (is_bytes) {
		uint8_t *ip = ips[i % RING];

		memcpy(ip + 24, fresh[i % RING] + 24, 16); /* as it came */
		ip[7] = 64;
		drop = weft_switch_input_bytes(sw, &frame, ip, 4224, now_ps, &port);
	} else {
		drop = weft_switch_input(sw, &frame, now_ps, &port);
	}
	WEFT_ASSERT(!drop);
	uint32_t *slot = &waiting[turn++ % WAITING];

	if (*slot)
		weft_switch_take(sw, *slot - 1, UINT64_MAX / 2, &departure);
	*slot = port + 1;
	BENCH_USE(departure);
}

static void run(const char *name, bool is_bytes)
{
	BENCH(name, OPS, hop(i, is_bytes));
}

int main(void)
{
	must(sizeof(ips[0]) == 64);
	make_frames();
	open_switch(false);
	run("a hop, frame as bytes, all counters", true);
	open_switch(false);
	run("a hop, frame as struct, all counters", false);
	open_switch(true);
	run("a hop, frame as struct, lean", false);
	return 0;
}
