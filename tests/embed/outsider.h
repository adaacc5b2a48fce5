/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OUTSIDER_H
#define OUTSIDER_H
/* outsider - dice, memory and a CRC-32 of its own. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct dice {
	uint64_t s;
};
static uint64_t roll(struct dice *d)
{
	uint64_t z = d->s += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static _Noreturn void die(const char *what, long code)
{
	fprintf(stderr, "outsider: %s (%ld)\n", what, code);
	exit(1);
}

static void *block64(size_t n)
{
	void *p = aligned_alloc(64, (n + 63) / 64 * 64);

	if (!p)
		die("out of memory", (long)n);
	return p;
}

static uint32_t crc_table[256];
static void crc_init(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;
		for (int k = 0; k < 8; k++)
			c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
		crc_table[i] = c;
	}
}
static uint32_t crc32_of(uint32_t crc, const uint8_t *bytes, uint64_t n)
{
	crc = ~crc;
	while (n--)
		crc = crc_table[(crc ^ *bytes++) & 255] ^ crc >> 8;
	return ~crc;
}

#endif
