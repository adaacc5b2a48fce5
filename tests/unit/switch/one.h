/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ONE_H
#define ONE_H
/*
 * one - one switch for the tests of its parts: 8 ports of 100 Gb/s, block fcbb:bb00.
 *
 *   uSID 0x8000  own (uN)           ports 0, 1   profile 0
 *   uSID 0x0001 .. 0x0008           port 0 .. 7
 *   uSID 0xe001 .. 0xe008           links (uA) of port 0 .. 7
 */
#include "check.h"
#include "switch_local.h"

enum { PORTS = 8, POOL = 4096, OWN = 0x8000, BYTE_PS = 80 };

struct one {
	struct weft_switch_config config;
	struct weft_port_profile profile;
	struct weft_frame_pool pool;
	struct weft_frame frames[POOL];
	struct weft_switch *sw;
	void *block;
};

static inline void one_routes(struct one *one)
{
	struct weft_hop own = { .kind = WEFT_HOP_UN };

	CHECK(weft_switch_sid_add(one->sw, OWN, &own));
	for (uint16_t i = 0; i < PORTS; i++) {
		struct weft_hop next = { .kind = WEFT_HOP_PORT, .port = i };
		struct weft_hop link = { .kind = WEFT_HOP_UA, .port = i };

		CHECK(weft_switch_sid_add(one->sw, (uint16_t)(i + 1), &next));
		CHECK(weft_switch_sid_add(one->sw, (uint16_t)(0xe001 + i), &link));
	}
}

/* profile: NULL: thresholds far away.  What stands in one->config already is kept. */
static inline void one_open(struct one *one, const struct weft_port_profile *profile)
{
	weft_port_profile_fill(&one->profile, WEFT_DISCIPLINE_TRIM, false, 10000000, 0);
	if (profile)
		one->profile = *profile;
	weft_frame_pool_init(&one->pool, one->frames, POOL);
	one->config.ports = PORTS;
	one->config.sids = 32;
	one->config.prefixes = 8;
	one->config.block = 0xfcbbbb00;
	one->config.mtu_bytes = 9000;
	one->config.dscp = WEFT_DSCP_DEFAULT;
	one->config.profiles = &one->profile;
	one->config.n_profiles = 1;
	one->config.pool = &one->pool;
	size_t size = weft_switch_size(&one->config);

	REQUIRE(size);
	one->block = aligned_alloc(64, size);
	REQUIRE(weft_switch_init(&one->sw, one->block, &one->config));
	for (uint32_t i = 0; i < PORTS; i++)
		CHECK(weft_switch_port_set(one->sw, i, UINT64_C(100000000000), 0));
	one_routes(one);
}

static inline void one_close(struct one *one)
{
	weft_switch_check(one->sw);
	free(one->block);
	memset(one, 0, sizeof(*one));
}

/* A trimmable data frame from port 0 to port `out`. */
static inline struct weft_frame one_frame(uint32_t out, uint16_t bytes)
{
	return (struct weft_frame){ .route = (uint64_t)OWN << 48 | (uint64_t)(out + 1) << 32 |
					     7u << 16,
		.bytes = bytes,
		.hop_limit = 64,
		.flags = WEFT_FRAME_ECT | WEFT_FRAME_TRIMMABLE };
}

static inline enum weft_switch_drop one_send(
	struct one *one, struct weft_frame frame, uint64_t now_ps)
{
	uint32_t port;

	return weft_switch_input(one->sw, &frame, now_ps, &port);
}

/* ---- frames as bytes ---- */

/* IPv6 from fd00::1 to fcbb:bb00:[uSIDs], hop limit 64, `bytes` in all, next header `next`. */
static inline void one_bytes(
	uint8_t *ip, size_t bytes, const uint16_t usids[6], uint8_t tclass, uint8_t next)
{
	for (size_t i = 40; i < bytes; i++)
		ip[i] = (uint8_t)i;
	memset(ip, 0, 40);
	ip[0] = (uint8_t)(0x60 | tclass >> 4);
	ip[1] = (uint8_t)(tclass << 4);
	ip[4] = (uint8_t)((bytes - 40) >> 8);
	ip[5] = (uint8_t)(bytes - 40);
	ip[6] = next;
	ip[7] = 64;
	ip[8] = 0xfd;
	ip[23] = 1;
	ip[24] = 0xfc;
	ip[25] = ip[26] = 0xbb;
	for (unsigned i = 0; i < 6; i++) {
		ip[28 + 2 * i] = (uint8_t)(usids[i] >> 8);
		ip[29 + 2 * i] = (uint8_t)usids[i];
	}
}

enum { TCLASS_DATA = 8 << 2 | 2, TCLASS_CONTROL = 46 << 2 };

#endif
