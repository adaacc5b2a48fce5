/* SPDX-License-Identifier: BSD-2-Clause */
#include "switchd_local.h"

#include "check.h"

#include <netinet/in.h>

static uint8_t packet[256];
static size_t used;

static void put_ip(uint8_t next)
{
	memset(packet + used, 0, 40);
	packet[used] = 0x60;
	packet[used + 6] = next;
	used += 40;
}

static void put_udp(uint16_t port)
{
	memset(packet + used, 0, 8);
	packet[used + 2] = (uint8_t)(port >> 8);
	packet[used + 3] = (uint8_t)port;
	used += 8;
}

static void put_extension(uint8_t next, uint8_t length)
{
	memset(packet + used, 0, 8u * (length + 1u));
	packet[used] = next;
	packet[used + 1] = length;
	used += 8u * (length + 1u);
}

TEST(packet_udp_port__of_a_plain_packet)
{
	used = 0;
	put_ip(IPPROTO_UDP);
	put_udp(4793);
	CHECK_EQ(packet_udp_port(packet, used), 4793);
	CHECK_EQ(packet_udp_port(packet, used - 1), 0);
	packet[0] = 0x45;
	CHECK_EQ(packet_udp_port(packet, used), 0);
}

TEST(packet_udp_port__of_the_inner_one)
{
	used = 0;
	put_ip(IPPROTO_IPV6);
	put_ip(IPPROTO_UDP);
	put_udp(513);
	CHECK_EQ(packet_udp_port(packet, used), 513);
	packet[40] = 0x40; /* IPv4 inside: not ours */
	CHECK_EQ(packet_udp_port(packet, used), 0);
}

TEST(packet_udp_port__behind_extension_headers)
{
	used = 0;
	put_ip(IPPROTO_HOPOPTS);
	put_extension(IPPROTO_ROUTING, 0);
	put_extension(IPPROTO_DSTOPTS, 2);
	put_extension(IPPROTO_IPV6, 1);
	put_ip(IPPROTO_UDP);
	put_udp(7);
	CHECK_EQ(packet_udp_port(packet, used), 7);
}

TEST(packet_udp_port__of_nothing_else)
{
	static const uint8_t others[] = { IPPROTO_TCP, IPPROTO_ICMPV6, IPPROTO_FRAGMENT,
		IPPROTO_NONE, 255 };

	for (size_t i = 0; i < WEFT_COUNT(others); i++) {
		used = 0;
		put_ip(others[i]);
		put_udp(9);
		CHECK_EQ(packet_udp_port(packet, used), 0);
	}
	used = 0; /* a chain without end */
	put_ip(IPPROTO_HOPOPTS);
	for (unsigned i = 0; i < 10; i++)
		put_extension(IPPROTO_HOPOPTS, 0);
	put_udp(9);
	CHECK_EQ(packet_udp_port(packet, used), 0);
}

/* Every prefix of every chain, with lengths that lie: the sanitizer looks on. */
TEST(packet_udp_port__reads_no_byte_beyond)
{
	static const uint8_t kinds[] = { IPPROTO_UDP, IPPROTO_IPV6, IPPROTO_ROUTING,
		IPPROTO_HOPOPTS };
	struct weft_rng rng;

	weft_rng_seed(&rng, 1);
	for (unsigned round = 0; round < 20000; round++) {
		size_t bytes = weft_rng_below(&rng, 200);
		uint8_t *exact = malloc(bytes ? bytes : 1);

		for (size_t i = 0; i < bytes; i++)
			exact[i] = kinds[weft_rng_below(&rng, 4)];
		for (size_t i = 0; i < bytes; i += 8)
			exact[i] = weft_rng_below(&rng, 2) ? 0x60 : kinds[weft_rng_below(&rng, 4)];
		for (size_t i = 1; i < bytes; i += 8)
			exact[i] = (uint8_t)weft_rng_below(&rng, 4);
		if (bytes)
			exact[0] = 0x60;
		(void)packet_udp_port(exact, bytes);
		free(exact);
	}
}
