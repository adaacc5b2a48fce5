/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <weft/wire.h>

/* fc00:0:a01:b02:a02:c02:: */
static const uint8_t carrier[16] = { 0xfc, 0, 0, 0, 0x0a, 0x01, 0x0b, 0x02, 0x0a, 0x02, 0x0c,
	0x02 };

TEST(weft_usid_put_ev__arrives_behind_the_destination)
{
	uint8_t sent[16], arrived[16];
	static const uint8_t want[16] = { 0xfc, 0, 0, 0, 0x0c, 0x02, 0x12, 0x34, 0x56, 0x78 };

	memcpy(sent, carrier, 16);
	REQUIRE(weft_usid_put_ev(sent, 4, 0x12345678));
	weft_usid_shift(sent, 3, arrived);
	CHECK_MEM(arrived, want, 16);
	CHECK_EQ(weft_usid_get_ev(arrived), 0x12345678);
}

TEST(weft_usid_put_ev__needs_two_slots)
{
	uint8_t sent[16];

	memcpy(sent, carrier, 16);
	CHECK(!weft_usid_put_ev(sent, 5, 1));
	CHECK(!weft_usid_put_ev(sent, 6, 1));
	CHECK_MEM(sent, carrier, 16);
	CHECK(weft_usid_put_ev(sent, 2, UINT32_MAX)); /* both under one T0 */
	weft_usid_shift(sent, 1, sent);               /* in place, too */
	CHECK_EQ(weft_usid_get_ev(sent), UINT32_MAX);
}

TEST(weft_usid_shift__ends_with_the_bare_block)
{
	uint8_t out[16];
	static const uint8_t block[16] = { 0xfc };

	weft_usid_shift(carrier, 0, out);
	CHECK_MEM(out, carrier, 16);
	weft_usid_shift(carrier, 6, out);
	CHECK_MEM(out, block, 16);
	weft_usid_shift(carrier, 1000000, out);
	CHECK_MEM(out, block, 16);
}
