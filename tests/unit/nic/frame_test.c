/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A frame without bytes is the frame that the codec would make: two switches of one kind are given
 * each packet that there is, one as a struct and one as bytes, and must see and do the same.
 */
#include "check.h"

#include <weft/base.h>
#include <weft/nic.h>

enum { OWN = 0x8000, NEXT = 1, CUT_BYTES = 14 + 64 + 88 };

/* All code points differ, so that each class shows. */
static const struct weft_dscp dscp = { 8, 9, 46, 16, 18, 0 };

struct side {
	struct weft_port_profile profile;
	struct weft_frame_pool pool;
	struct weft_frame frames[64];
	struct weft_switch *sw;
	void *block;
};

static void open_side(struct side *side, bool cuts)
{
	struct weft_switch_config config = { .ports = 2,
		.sids = 8,
		.block = 0xfcbbbb00,
		.mtu_bytes = 9000,
		.dscp = dscp,
		.profiles = &side->profile,
		.n_profiles = 1,
		.pool = &side->pool };
	struct weft_hop own = { .kind = WEFT_HOP_UN }, next = { .kind = WEFT_HOP_PORT, .port = 1 };

	weft_port_profile_fill(&side->profile, WEFT_DISCIPLINE_TRIM, false, 10000000, 0);
	if (cuts) {
		side->profile.trim_bytes = CUT_BYTES;
		side->profile.trim_to_bytes = CUT_BYTES;
		side->profile.ecn_min_bytes = side->profile.ecn_max_bytes = 0;
	}
	weft_frame_pool_init(&side->pool, side->frames, WEFT_COUNT(side->frames));
	side->block = aligned_alloc(64, weft_switch_size(&config));
	REQUIRE(weft_switch_init(&side->sw, side->block, &config));
	for (uint32_t port = 0; port < 2; port++)
		REQUIRE(weft_switch_port_set(side->sw, port, UINT64_C(100000000000), 0));
	REQUIRE(weft_switch_sid_add(side->sw, OWN, &own));
	REQUIRE(weft_switch_sid_add(side->sw, NEXT, &next));
}

static void close_side(struct side *side)
{
	weft_switch_check(side->sw);
	free(side->block);
}

static uint32_t no_crc(uint32_t crc, const uint8_t *bytes, uint64_t len_bytes)
{
	(void)bytes;
	return crc ^ (uint32_t)len_bytes;
}

static const struct weft_encap encap = { .kind = WEFT_ENCAP_SRV6,
	.hop_limit = 64,
	.flow = { .src = { 0xfd, 1 }, .dst = { 0xfd, 2 }, .dst_port = WEFT_UDP_PORT },
	.via_src = { 0xfd, 3 },
	.via = { 0xfc, 0xbb, 0xbb, 0, OWN >> 8, OWN & 0xff, 0, NEXT, 0, 7 } };

/* The IP packet; returns its bytes. */
static size_t build(const struct weft_pkt *pkt, uint8_t *ip)
{
	static const uint8_t payload[4096];
	uint8_t headers[WEFT_WIRE_HEADERS_MAX], tail[WEFT_WIRE_TAIL_MAX];
	size_t n = weft_wire_encode(pkt, headers), payload_bytes = weft_wire_payload_bytes(pkt);
	struct weft_flow flow;

	weft_encap_flow(&encap, pkt->ev, &flow);
	size_t tail_bytes =
		weft_icrc_seal(no_crc, &flow, headers, n, payload, payload_bytes, tail);
	size_t at = weft_encap_put(
		&encap, &dscp, pkt->tclass, pkt->ev, n + payload_bytes + tail_bytes, ip);

	memcpy(ip + at, headers, n);
	memcpy(ip + at + n, payload, payload_bytes);
	memcpy(ip + at + n + payload_bytes, tail, tail_bytes);
	return at + n + payload_bytes + tail_bytes;
}

static struct weft_frame as_struct(const struct weft_pkt *pkt)
{
	struct weft_frame frame = { .route = weft_frame_route(encap.via) };

	weft_frame_of(&frame, pkt, weft_frame_bytes(pkt, WEFT_ENCAP_SRV6_BYTES));
	return frame;
}

static bool is_op(unsigned op)
{
	return weft_op_is_data((uint8_t)op) || weft_wire_control_bytes((uint8_t)op);
}

static void check_seen(struct side sides[2], const struct weft_pkt *pkt)
{
	struct weft_frame a = as_struct(pkt), b = { 0 };
	uint32_t ports[2] = { 9, 9 };
	uint8_t ip[8192];
	size_t bytes = build(pkt, ip);

	CHECK_EQ(a.bytes, bytes + WEFT_FRAME_ETHER_BYTES);
	CHECK_EQ(weft_switch_input(sides[0].sw, &a, 1, &ports[0]), WEFT_SWITCH_DROP_NONE);
	CHECK_EQ(weft_switch_input_bytes(sides[1].sw, &b, ip, bytes, 1, &ports[1]),
		WEFT_SWITCH_DROP_NONE);
	CHECK_EQ(ports[0], 1);
	CHECK_EQ(ports[1], 1);
	for (int i = 0; i < 2; i++) {
		struct weft_departure d;

		REQUIRE(weft_switch_take(
			sides[i].sw, 1, weft_switch_port_next(sides[i].sw, 1), &d));
		*(i ? &b : &a) = d.frame;
	}
	CHECK_EQ(a.bytes, b.bytes);
	CHECK_EQ(a.flags, b.flags);
	CHECK_EQ(a.mark, b.mark);
	CHECK_EQ(a.hop_limit, b.hop_limit);
	/* Bytes have no code for it but that of strangers: neither cut nor first. */
	CHECK_EQ(pkt->tclass == WEFT_CLASS_NO_TRIM ? WEFT_CLASS_DATA : a.tclass, b.tclass);
}

TEST(weft_frame_of__is_what_the_codec_makes_of_every_opcode_flag_and_class)
{
	static struct side sides[2];

	open_side(&sides[0], false);
	open_side(&sides[1], false);
	for (unsigned op = 0; op < 256; op++) {
		for (unsigned flags = 0; flags < 256 && is_op(op); flags++) {
			for (uint8_t tclass = 0; tclass <= WEFT_CLASS_NO_TRIM; tclass++) {
				struct weft_pkt pkt = { .op = (uint8_t)op,
					.flags = (uint8_t)flags,
					.tclass = tclass,
					.ev = 0x00030007 };

				if (weft_op_is_data(pkt.op))
					pkt.w.len_bytes = (uint16_t)(flags % 9 + 4 * tclass);
				check_seen(sides, &pkt);
			}
		}
	}
	close_side(&sides[0]);
	close_side(&sides[1]);
}

/* Two of them: the second finds the queue full and leaves cut, if it may be. */
static struct weft_frame second(struct side *side, const struct weft_pkt *pkt, uint8_t *ip)
{
	uint64_t now_ps = 1;
	struct weft_departure d = { .ends_ps = 1 };
	uint32_t port;

	for (int i = 0; i < 2; i++) {
		struct weft_frame frame = as_struct(pkt);
		enum weft_switch_drop drop;
		size_t bytes = ip ? build(pkt, ip) : 0;

		drop = ip ? weft_switch_input_bytes(side->sw, &frame, ip, bytes, now_ps, &port)
			  : weft_switch_input(side->sw, &frame, now_ps, &port);
		CHECK_EQ(drop, WEFT_SWITCH_DROP_NONE);
	}
	while (weft_switch_port_next(side->sw, 1) != WEFT_NEVER)
		REQUIRE(weft_switch_take(side->sw, 1, weft_switch_port_next(side->sw, 1), &d));
	return d.frame;
}

TEST(weft_frame_of__is_cut_as_the_codec_reads_it)
{
	for (unsigned op = 0; op < 256; op++) {
		struct side *sides = calloc(2, sizeof(*sides));
		struct weft_pkt a = { .op = (uint8_t)op, .flags = WEFT_BTH_TS, .tclass = 0 }, b;
		struct weft_wire_fault fault;
		struct weft_arrival arrival;
		uint8_t ip[8192];

		if (weft_op_is_data(a.op)) {
			a.w = (struct weft_pkt_write){ .va = 1,
				.rkey = 2,
				.msg_bytes = 9000,
				.imm = 3,
				.msn = 4,
				.rqmsn = 5,
				.ts = 6,
				.len_bytes = 4096,
				.srqn = 7 };
			open_side(&sides[0], true);
			open_side(&sides[1], true);
			struct weft_frame frame = second(&sides[0], &a, NULL);
			struct weft_frame same = second(&sides[1], &a, ip);

			CHECK(frame.mark & WEFT_MARK_TRIMMED);
			CHECK_EQ(frame.bytes, same.bytes);
			weft_frame_arrive(&frame, 3, &a);
			REQUIRE(weft_encap_parse(ip, same.bytes - WEFT_FRAME_ETHER_BYTES,
				WEFT_ENCAP_USID, &dscp, &arrival, &fault));
			REQUIRE(weft_wire_decode(arrival.datagram, arrival.datagram_bytes,
				arrival.mark, &b, &fault));
			CHECK_EQ(a.port, 3);
			CHECK_EQ(a.mark & ~WEFT_MARK_CE, b.mark & ~WEFT_MARK_CE);
			CHECK_EQ(a.w.msn, b.w.msn);
			CHECK_EQ(a.w.rqmsn, b.w.rqmsn);
			CHECK_EQ(a.w.ts, b.w.ts);
			close_side(&sides[0]);
			close_side(&sides[1]);
		}
		free(sides);
	}
}
