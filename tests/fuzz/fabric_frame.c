/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fabric_frame - any bytes at all, as frames that come into a switch.
 *
 * The input is a row of frames, each behind two bytes that say how long it is and where it comes
 * in. What must hold: nothing outside a frame is touched; what leaves does so by a port that the
 * table names, with a lower hop limit, no longer than it came, and says in its bytes what the
 * struct says; every frame is queued or counted as dropped, and comes out again.
 */
#include <weft/base.h>
#include <weft/switch.h>

#include <stdlib.h>
#include <string.h>

enum { PORTS = 6, POOL = 256, OWN = 0x8000, BLOCK_BYTES = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static struct weft_frame frames[POOL];
static struct weft_frame_pool pool;
static struct weft_port_profile profiles[2];
static _Alignas(64) uint8_t block[BLOCK_BYTES];

static struct weft_switch *open_switch(void)
{
	struct weft_switch_config config = { .ports = PORTS,
		.sids = 32,
		.prefixes = 4,
		.block = 0xfcbbbb00,
		.mtu_bytes = 4252,
		.seed = 1,
		.dscp = WEFT_DSCP_DEFAULT,
		.profiles = profiles,
		.n_profiles = 2,
		.pool = &pool };
	struct weft_hop hop = { .kind = WEFT_HOP_UN };
	uint8_t prefix[16] = { 0xfd };
	struct weft_switch *sw;

	weft_frame_pool_init(&pool, frames, POOL);
	weft_port_profile_fill(&profiles[0], WEFT_DISCIPLINE_TRIM, false, 0, 0);
	weft_port_profile_fill(&profiles[1], WEFT_DISCIPLINE_TRIM, true, 0, 0);
	profiles[1].trim_bytes = 600;
	WEFT_ASSERT(weft_switch_size(&config) <= BLOCK_BYTES);
	WEFT_ASSERT(weft_switch_init(&sw, block, &config));
	WEFT_ASSERT(weft_switch_sid_add(sw, OWN, &hop));
	for (uint16_t i = 0; i < PORTS - 1; i++) { /* the last port is in no entry */
		WEFT_ASSERT(weft_switch_port_set(sw, i, UINT64_C(100000000000), i % 2));
		hop = (struct weft_hop){ .kind = WEFT_HOP_PORT, .port = i };
		WEFT_ASSERT(weft_switch_sid_add(sw, i + 1, &hop));
		hop.kind = WEFT_HOP_UA;
		WEFT_ASSERT(weft_switch_sid_add(sw, 0xe001 + i, &hop));
	}
	hop = (struct weft_hop){ .kind = WEFT_HOP_HASH, .ports = PORTS - 1 };
	WEFT_ASSERT(weft_switch_prefix_add(sw, prefix, 48, &hop));
	hop.kind = WEFT_HOP_FIELD;
	prefix[5] = 1;
	WEFT_ASSERT(weft_switch_prefix_add(sw, prefix, 48, &hop));
	return sw;
}

/* Whether it was queued; its bytes lie in a block of their exact size. */
static bool feed(struct weft_switch *sw, const uint8_t *bytes, size_t n, uint8_t in_port)
{
	uint8_t *ip = malloc(n ? n : 1);
	struct weft_frame frame = { .in_port = in_port % PORTS };
	uint32_t port = PORTS;

	WEFT_ASSERT(ip);
	memcpy(ip, bytes, n);
	enum weft_switch_drop drop = weft_switch_input_bytes(sw, &frame, ip, n, 0, &port);

	WEFT_ASSERT(drop < WEFT_SWITCH_DROP_COUNT);
	if (!drop) {
		size_t left = (size_t)frame.bytes - WEFT_FRAME_ETHER_BYTES;

		WEFT_ASSERT(port < PORTS - 1);
		WEFT_ASSERT(left >= 40 && left <= n && ip[0] >> 4 == 6);
		WEFT_ASSERT(40u + ((size_t)ip[4] << 8 | ip[5]) == left);
		WEFT_ASSERT(ip[7] == frame.hop_limit && ip[7] < bytes[7]);
		WEFT_ASSERT(!(frame.flags & WEFT_FRAME_CUT_HERE) || left == 114);
	}
	free(ip);
	return drop == WEFT_SWITCH_DROP_NONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct weft_switch *sw = open_switch();
	uint64_t in = 0, queued = 0, out = 0, drops = 0;
	struct weft_departure departure;

	for (size_t at = 0; at + 2 <= len_bytes && in < POOL;) {
		size_t n = (size_t)(data[at] & 0x3f) << 8 | data[at + 1];

		n = WEFT_MIN(n, len_bytes - at - 2);
		in++;
		queued += feed(sw, data + at + 2, n, data[at] >> 6);
		at += 2 + n;
	}
	weft_switch_check(sw);
	for (uint32_t port = 0; port < PORTS; port++) {
		while (weft_switch_take(sw, port, WEFT_NEVER - 1, &departure))
			out++;
	}
	for (unsigned i = 1; i < WEFT_SWITCH_DROP_COUNT; i++)
		drops += weft_switch_drops(sw, (enum weft_switch_drop)i);
	WEFT_ASSERT(in == queued + drops && queued == out && pool.used == 0);
	return 0;
}
