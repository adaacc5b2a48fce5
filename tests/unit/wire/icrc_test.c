/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Oracles from outside: one frame that a ConnectX-4 Lx put on a wire (published as test data with
 * scapy's RoCE layer), and a bitwise CRC-32 written here.  tests/vectors/decode.py checks every
 * vector's ICRC with a third implementation, zlib's.
 */
#include "check.h"

#include <weft/wire.h>

#include <isa-l/crc.h>

/* A congestion notification, IPv4: id 0x718c, DF, port 0 to 4791, no UDP checksum. */
static const uint8_t connectx[] = {
	0x45,
	0xc2,
	0x00,
	0x3c,
	0x71,
	0x8c,
	0x40,
	0x00,
	0x40,
	0x11,
	0x91,
	0x61,
	0x0a,
	0x00,
	0x11,
	0x01,
	0x0a,
	0x00,
	0x12,
	0x01,
	0x00,
	0x00,
	0x12,
	0xb7,
	0x00,
	0x28,
	0x00,
	0x00,
	0x81,
	0x00,
	0xff,
	0xff,
	0x40,
	0x00,
	0x01,
	0x18,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x82,
	0xfd,
	0x00,
	0x2a,
};

static uint32_t crc_bitwise(uint32_t crc, const uint8_t *bytes, uint64_t len_bytes)
{
	crc = ~crc;
	for (uint64_t i = 0; i < len_bytes; i++) {
		crc ^= bytes[i];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static struct weft_flow flow_v6(void)
{
	struct weft_flow flow = { .src_port = 0x1234, .dst_port = WEFT_UDP_PORT };

	for (unsigned i = 0; i < 16; i++) {
		flow.src[i] = (uint8_t)(0x20 + i);
		flow.dst[i] = (uint8_t)(0xf0 - i);
	}
	return flow;
}

TEST(weft_icrc_check__agrees_with_hardware)
{
	struct weft_arrival arrival;
	struct weft_wire_fault fault;
	uint8_t frame[sizeof(connectx)];

	REQUIRE(weft_encap_parse(connectx, sizeof(connectx), WEFT_ENCAP_UDP_PORT,
		&WEFT_DSCP_DEFAULT, &arrival, &fault));
	CHECK(weft_icrc_check(
		crc32_gzip_refl, &arrival.flow, arrival.datagram, arrival.datagram_bytes));
	CHECK(weft_icrc_check(
		crc_bitwise, &arrival.flow, arrival.datagram, arrival.datagram_bytes));
	/* What routers may change does not matter: type of service, time to live, BTH byte 4. */
	memcpy(frame, connectx, sizeof(frame));
	frame[1] = 0;
	frame[8] = 3;
	frame[32] = 0;
	REQUIRE(weft_encap_parse(
		frame, sizeof(frame), WEFT_ENCAP_UDP_PORT, &WEFT_DSCP_DEFAULT, &arrival, &fault));
	CHECK(weft_icrc_check(
		crc_bitwise, &arrival.flow, arrival.datagram, arrival.datagram_bytes));
}

TEST(weft_icrc_check__starts_from_the_crc_of_eight_ones)
{
	static const uint8_t ones[8] = { 255, 255, 255, 255, 255, 255, 255, 255 };

	CHECK_EQ(crc_bitwise(0, ones, 8), 0x2144df1c);
	CHECK_EQ(crc32_gzip_refl(0, ones, 8), 0x2144df1c);
}

TEST(weft_icrc_seal__is_accepted_for_every_padding)
{
	static uint8_t datagram[WEFT_WIRE_DATAGRAM_MAX];
	struct weft_flow flow = flow_v6();

	for (unsigned payload = 0; payload < 70; payload++) {
		size_t headers = 36;

		for (unsigned i = 0; i < headers + payload; i++)
			datagram[i] = (uint8_t)(i * 7 + payload);
		size_t tail = weft_icrc_seal(crc32_gzip_refl, &flow, datagram, headers,
			datagram + headers, payload, datagram + headers + payload);

		CHECK_EQ(tail, (-payload & 3) + 4);
		CHECK(weft_icrc_check(crc_bitwise, &flow, datagram, headers + payload + tail));
	}
}

TEST(weft_icrc_check__notices_every_flipped_bit_it_covers)
{
	uint8_t datagram[64];
	struct weft_flow flow = flow_v6(), other;

	for (unsigned i = 0; i < sizeof(datagram); i++)
		datagram[i] = (uint8_t)(i * 31);
	size_t bytes = 56 + weft_icrc_seal(crc_bitwise, &flow, datagram, 36, datagram + 36, 20,
				    datagram + 56);

	for (unsigned bit = 0; bit < 8 * bytes; bit++) {
		bool masked = bit / 8 == 4; /* BTH's variant byte */

		datagram[bit / 8] ^= (uint8_t)(1 << bit % 8);
		CHECK_EQ(weft_icrc_check(crc_bitwise, &flow, datagram, bytes), masked);
		datagram[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (unsigned bit = 0; bit < 8 * 16; bit++) {
		other = flow;
		other.src[bit / 8] ^= (uint8_t)(1 << bit % 8);
		CHECK(!weft_icrc_check(crc_bitwise, &other, datagram, bytes));
		other = flow;
		other.dst[bit / 8] ^= (uint8_t)(1 << bit % 8);
		CHECK(!weft_icrc_check(crc_bitwise, &other, datagram, bytes));
	}
	other = flow;
	other.src_port ^= 1;
	CHECK(!weft_icrc_check(crc_bitwise, &other, datagram, bytes));
	CHECK(!weft_icrc_check(crc_bitwise, &flow, datagram, bytes - 4));
}

TEST(weft_icrc_check__refuses_what_is_too_short_to_have_one)
{
	uint8_t datagram[12 + WEFT_WIRE_TAIL_MAX] = { 0 };
	struct weft_flow flow = flow_v6();

	for (size_t bytes = 0; bytes < 16; bytes++)
		CHECK(!weft_icrc_check(crc_bitwise, &flow, datagram, bytes));
	CHECK_EQ(weft_icrc_seal(crc_bitwise, &flow, datagram, 12, NULL, 0, datagram + 12), 4);
	CHECK(weft_icrc_check(crc_bitwise, &flow, datagram, 16));
}

TEST(weft_flow_is_ipv4__wants_both_ends_mapped)
{
	struct weft_flow flow = flow_v6();

	CHECK(!weft_flow_is_ipv4(&flow));
	memset(flow.src, 0, 10);
	flow.src[10] = flow.src[11] = 0xff;
	CHECK(!weft_flow_is_ipv4(&flow));
	memcpy(flow.dst, flow.src, 16);
	CHECK(weft_flow_is_ipv4(&flow));
}
