/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include "encap/ip.h"

static const struct weft_flow v4 = {
	.src = { [10] = 0xff, 0xff, 192, 168, 0, 1 },
	.dst = { [10] = 0xff, 0xff, 192, 168, 0, 199 },
	.src_port = 1,
	.dst_port = 4791,
	.ipv4_frag = WEFT_IPV4_DF,
};

TEST(ipv4_put__makes_the_checksum_of_the_textbook)
{
	/* The example of RFC 1071's usual companion: 45 00 00 73 .. 192.168.0.1 -> .199, b861. */
	uint8_t header[20];

	CHECK_EQ(ipv4_put(header, &v4, 0x73 - 20, 0, 64), 20);
	CHECK_EQ(get16(header + 10), 0xb861);
}

TEST(ip_get__bounds_every_length)
{
	uint8_t frame[128] = { 0 };
	struct weft_wire_fault fault;
	struct ip_view view;
	size_t bytes = ip_udp_put(frame, &v4, 0x22, 0, 64, 12) + 12;

	for (size_t cut = 0; cut < bytes; cut++) {
		CHECK(!ip_get(frame, cut, 0, false, &view, &fault));
		CHECK_EQ(fault.drop, WEFT_DROP_TRUNCATED);
		/* A trimmed frame may be short, but not in its IP header. */
		CHECK_EQ(ip_get(frame, cut, 0, true, &view, &fault), cut >= 20);
	}
	REQUIRE(ip_get(frame, bytes + 30, 0, false, &view, &fault)); /* Ethernet padding */
	CHECK_EQ(view.body_bytes, 20);
	CHECK_EQ(view.tclass, 0x22);
	CHECK_MEM(view.src, v4.src, 16);
	CHECK_MEM(view.dst, v4.dst, 16);
}

TEST(ip_get__refuses_what_no_fabric_port_sends)
{
	static const struct {
		uint8_t at, value;
		enum weft_drop drop;
		unsigned bit;
	} rows[] = {
		{ 0, 0x4d, WEFT_DROP_BAD_FIELD, 800 + 4 },
		{ 0, 0x46, WEFT_DROP_BAD_FIELD, 800 + 4 }, /* options */
		{ 0, 0x55, WEFT_DROP_NOT_MRC, 800 },       /* version 5 */
		{ 6, 0x20, WEFT_DROP_BAD_FIELD, 848 },     /* a first fragment */
		{ 7, 0x01, WEFT_DROP_BAD_FIELD, 848 },     /* a later one */
		{ 3, 0x13, WEFT_DROP_TRUNCATED, 816 },     /* shorter than its header */
	};
	struct weft_wire_fault fault;
	struct ip_view view;
	uint8_t frame[64] = { 0 };

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		ip_udp_put(frame, &v4, 0, 0, 64, 12);
		frame[rows[i].at] = rows[i].value;
		CHECK(!ip_get(frame, 40, 100, false, &view, &fault));
		CHECK_EQ(fault.drop, rows[i].drop);
		CHECK_EQ(fault.bit, rows[i].bit);
	}
}

TEST(ip_get__takes_a_header_with_nothing_behind_it)
{
	static const uint8_t src[16] = { 0xfd }, dst[16] = { 0xfc };
	struct weft_wire_fault fault;
	struct ip_view view;
	uint8_t frame[40];

	ipv6_put(frame, src, dst, 0, NEXT_UDP, 0, 0, 64);
	REQUIRE(ip_get(frame, 40, 0, false, &view, &fault));
	CHECK_EQ(view.body_bytes, 0);
	ipv4_put(frame, &v4, 0, 0, 64);
	REQUIRE(ip_get(frame, 20, 0, false, &view, &fault));
	CHECK_EQ(view.body_bytes, 0);
}

TEST(ip_get__refuses_ipv4_in_ipv6_clothes)
{
	struct weft_wire_fault fault;
	struct ip_view view;
	uint8_t frame[64] = { 0 };

	ipv6_put(frame, v4.src, v4.dst, 20, NEXT_UDP, 0, 0, 64);
	CHECK(!ip_get(frame, 60, 0, false, &view, &fault));
	CHECK_EQ(fault.drop, WEFT_DROP_BAD_FIELD);
	CHECK_EQ(fault.bit, 64);
}

TEST(ip_tclass__reads_a_header_nobody_has_checked)
{
	uint8_t v6[2] = { 0x6a, 0xb7 }, four[2] = { 0x45, 0xc2 };

	CHECK_EQ(ip_tclass(v6, 2), 0xab);
	CHECK_EQ(ip_tclass(four, 2), 0xc2);
	CHECK_EQ(ip_tclass(four, 1), 0);
	CHECK_EQ(ip_tclass(four, 0), 0);
}
