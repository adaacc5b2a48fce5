/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "net_local.h"

/* Bit by bit, from the polynomial. */
static uint32_t slow(uint32_t crc, const uint8_t *bytes, size_t n)
{
	crc = ~crc;
	for (size_t i = 0; i < n; i++) {
		crc ^= bytes[i];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

TEST(net_crc32__is_that_of_ethernet_at_every_length_and_place)
{
	uint8_t bytes[1200];

	CHECK_EQ(net_crc32(0, (const uint8_t *)"123456789", 9), 0xcbf43926);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 31 + (i >> 7));
	for (size_t n = 0; n + 7 < sizeof(bytes); n += n < 300 ? 1 : 89)
		CHECK_EQ(net_crc32(n, bytes + n % 7, n), slow((uint32_t)n, bytes + n % 7, n));
}

TEST(net_crc32__chains)
{
	uint8_t bytes[600] = { 1, 2, 3 };
	uint32_t whole = net_crc32(0, bytes, 600);

	for (size_t n = 0; n <= 600; n += 50)
		CHECK_EQ(net_crc32(net_crc32(0, bytes, n), bytes + n, 600 - n), whole);
}
