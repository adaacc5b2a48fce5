/* SPDX-License-Identifier: BSD-2-Clause */
#include "patients.h"

static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 7 }, addr[4] = { 10, 0, 0, 1 };

TEST(arp_encode__asks_without_telling_an_address)
{
	/* RFC 826's fields: Ethernet, IPv4, 6, 4, request; RFC 5227: sender 0.0.0.0. */
	static const uint8_t wanted[ARP_BYTES] = { 0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 7, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1 };
	uint8_t frame[ARP_BYTES];

	arp_encode(frame, mac, addr);
	CHECK_MEM(frame, wanted, ARP_BYTES);
	CHECK(!arp_claims(frame, sizeof(frame), addr)); /* another's probe is no claim */
}

TEST(arp_claims__tells_who_has_an_address)
{
	uint8_t frame[60] = { 0, 1, 8, 0, 6, 4, 0, 2, 2, 0, 0, 0, 0, 9, 10, 0, 0, 1 };

	REQUIRE(arp_claims(frame, sizeof(frame), addr));
	CHECK_EQ(arp_claims(frame, sizeof(frame), addr)[5], 9);
	CHECK(!arp_claims(frame, ARP_BYTES - 1, addr));
	frame[17] = 2;
	CHECK(!arp_claims(frame, sizeof(frame), addr));
	frame[17] = 1, frame[2] = 9;
	CHECK(!arp_claims(frame, sizeof(frame), addr));
}

TEST(duplicates_ask__waits_for_nobody_where_nobody_can_be_asked)
{
	uint64_t began = weft_clock_now(NULL);

	make_healthy(); /* no link addresses */
	duplicates_ask(&facts);
	CHECK(!facts.addr[0].is_duplicate);
	CHECK(weft_clock_now(NULL) - began < 90000000);
}
