/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_LOCAL_H
#define WIRE_LOCAL_H
/*
 * Big-endian access.  Wire structs consist of byte arrays only, so they have no padding and no
 * alignment, and a pointer to one may point anywhere into a buffer.  __builtin_memcpy rather than
 * memcpy: the room is also compiled with -fno-builtin, where memcpy would be a call.
 */
#include <weft/wire.h>

static inline uint16_t get16(const uint8_t *p)
{
	uint16_t v;

	__builtin_memcpy(&v, p, 2);
	return __builtin_bswap16(v);
}

static inline uint32_t get24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static inline uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	__builtin_memcpy(&v, p, 4);
	return __builtin_bswap32(v);
}

static inline uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	__builtin_memcpy(&v, p, 8);
	return __builtin_bswap64(v);
}

static inline void put16(uint8_t *p, uint32_t v)
{
	uint16_t be = __builtin_bswap16((uint16_t)v);

	__builtin_memcpy(p, &be, 2);
}

static inline void put24(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 16);
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)v;
}

static inline void put32(uint8_t *p, uint32_t v)
{
	v = __builtin_bswap32(v);
	__builtin_memcpy(p, &v, 4);
}

static inline void put64(uint8_t *p, uint64_t v)
{
	v = __builtin_bswap64(v);
	__builtin_memcpy(p, &v, 8);
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "get and put swap unconditionally");

/* IPv4 in IPv6's clothes: ::ffff:a.b.c.d */
static inline bool ip_is_mapped(const uint8_t address[16])
{
	return get64(address) == 0 && get32(address + 8) == 0xffff;
}

/* Refuses: fills *fault and is false, so that a check ends in `return fault_at(...)`. */
static inline bool fault_at(struct weft_wire_fault *fault, enum weft_drop drop, size_t bit)
{
	fault->drop = drop;
	fault->bit = (uint32_t)bit;
	return false;
}

struct xrceth { /* IBTA's; only in our extended profile */
	uint8_t res;
	uint8_t srqn[3];
};
_Static_assert(sizeof(struct xrceth) == 4, "IBTA's");

/* Its flag, where it is one; in MRC's own packets the bit is reserved, and means nothing. */
static inline uint8_t flag_xrc(uint8_t op)
{
	return weft_op_is_extended(op) ? WEFT_BTH_XRC : 0;
}

#endif
