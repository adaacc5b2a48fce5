/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crc - the CRC-32 of all ports: ISA-L's, and a broom behind it.
 *
 * With AVX-512 ISA-L (2.30) leaves the upper halves of the vector registers dirty.  Our code, built
 * for every x86-64, uses the older encodings, and each of those then waits for a register's upper
 * half: a 4 KiB packet took 200 ns longer to send and 200 ns longer to receive (decisions/054).
 */
#include "net_local.h"

#include <isa-l/crc.h>

#define WIDE_BYTES 256 /* shorter ones take a path without wide registers */

#ifdef __x86_64__
__attribute__((target("avx"))) static void sweep(void)
{
	__builtin_ia32_vzeroupper();
}

static bool has_wide_registers(void)
{
	return __builtin_cpu_supports("avx");
}
#else
static void sweep(void)
{
}

static bool has_wide_registers(void)
{
	return false;
}
#endif

uint32_t net_crc32(uint32_t crc, const uint8_t *bytes, uint64_t len_bytes)
{
	uint32_t sum = crc32_gzip_refl(crc, bytes, len_bytes);

	if (len_bytes >= WIDE_BYTES && has_wide_registers())
		sweep();
	return sum;
}
