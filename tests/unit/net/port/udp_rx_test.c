/* SPDX-License-Identifier: BSD-2-Clause */
/* A known peer that misbehaves: every reason for a drop is counted and nothing gets through. */
#include "udp_villain.h"

static uint8_t payload[1024];

/* A right packet of 1024 bytes as it goes over the wire; returns its bytes. */
static size_t make(const struct villain *v, uint8_t *bytes)
{
	struct weft_pkt pkt = { .op = WEFT_OP_WRITE_ONLY,
		.flags = WEFT_BTH_TS,
		.dqpn = 9,
		.psn = 1,
		.w = { .len_bytes = 1024, .msg_bytes = 1024 } };
	struct weft_flow flow = { .src_port = v->src_port, .dst_port = ntohs(v->to.sin6_port) };
	size_t n = weft_wire_encode(&pkt, bytes);

	memcpy(flow.src, plane, 16);
	memcpy(flow.dst, plane, 16);
	memcpy(bytes + n, payload, 1024);
	return n + 1024 +
	       weft_icrc_seal(net_crc32, &flow, bytes, n, payload, 1024, bytes + n + 1024);
}

TEST(udp_rx_burst__takes_what_is_right)
{
	struct villain v;
	uint8_t bytes[2048];
	struct weft_pkt pkt;

	open_villain(&v);
	CHECK_EQ(deliver(&v, bytes, make(&v, bytes), &pkt), 1);
	CHECK_EQ(pkt.psn, 1);
	CHECK_EQ(pkt.w.len_bytes, 1024);
	close_villain(&v);
}

TEST(udp_rx_burst__drops_every_flipped_bit_of_headers_and_payload)
{
	struct villain v;
	uint8_t bytes[2048];
	struct weft_pkt pkt;
	unsigned dropped = 0;

	open_villain(&v);
	size_t n = make(&v, bytes);

	/* BTH byte 4 may change on the way and is not covered. */
	for (size_t i = 0; i < n; i += i < 48 ? 1 : 97) {
		if (i == 4)
			continue;
		bytes[i] ^= (uint8_t)(1u << i % 8);
		CHECK_EQ(deliver(&v, bytes, n, &pkt), 0);
		bytes[i] ^= (uint8_t)(1u << i % 8);
		dropped++;
	}
	uint64_t counted = 0;

	for (unsigned i = 0; i < WEFT_DROP_COUNT; i++)
		counted += v.port->stats.drops[i];
	CHECK_EQ(counted, dropped);
	CHECK(v.port->stats.drops[WEFT_DROP_BAD_ICRC] > 20);
	close_villain(&v);
}

TEST(udp_rx_burst__drops_what_is_cut_or_too_long)
{
	struct villain v;
	uint8_t bytes[4096] = { 0 };
	struct weft_pkt pkt;

	open_villain(&v);
	size_t n = make(&v, bytes);

	for (size_t cut = 0; cut < n; cut += cut < 60 ? 1 : 101)
		CHECK_EQ(deliver(&v, bytes, cut, &pkt), 0);
	CHECK(v.port->stats.drops[WEFT_DROP_TRUNCATED] > 0);
	CHECK_EQ(deliver(&v, bytes, 3000, &pkt), 0);
	CHECK_EQ(v.port->stats.drops[WEFT_DROP_OVERSIZED], 1);
	bytes[1] |= 1; /* TVer */
	CHECK_EQ(deliver(&v, bytes, n, &pkt), 0);
	CHECK_EQ(v.port->stats.drops[WEFT_DROP_BAD_TVER], 1);
	close_villain(&v);
}

TEST(udp_rx_burst__reads_marks_from_the_traffic_class)
{
	struct weft_dscp dscp = WEFT_DSCP_DEFAULT;
	const struct {
		int tclass;
		uint8_t mark;
	} rows[] = {
		{ dscp.data << 2 | 2, 0 },
		{ dscp.data << 2 | 3, WEFT_MARK_CE },
		{ dscp.trimmed << 2, WEFT_MARK_TRIMMED },
		{ dscp.trimmed_lasthop << 2, WEFT_MARK_TRIMMED_LASTHOP },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct villain v;
		uint8_t bytes[2048];
		struct weft_pkt pkt;

		open_villain(&v);
		size_t n = make(&v, bytes);
		bool trimmed = rows[i].mark && rows[i].mark != WEFT_MARK_CE;

		CHECK(!setsockopt(v.fd, IPPROTO_IPV6, IPV6_TCLASS, &rows[i].tclass, sizeof(int)));
		CHECK_EQ(deliver(&v, bytes, trimmed ? 60 : n, &pkt), 1);
		CHECK_EQ(pkt.mark, rows[i].mark);
		CHECK_EQ(pkt.psn, 1);
		close_villain(&v);
	}
}
