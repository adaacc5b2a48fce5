/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * icrc - the invariant CRC: what no router on the way may change, checked end to end.
 *
 * RoCEv2's rule (IBTA annex A17), which we take for MRC's, as no public source differs [P 1.13]:
 * CRC-32 over eight bytes of ones (where InfiniBand had its local header), the IP and UDP headers
 * with every field that routers rewrite set to ones, BTH with byte 4 set to ones, and all that
 * follows up to the end of the padding; stored lowest byte first.  With SRv6 the *inner* IP header
 * counts.  With native uSIDs the one IP header has a destination that shrinks at every hop, so the
 * sender computes over the address that will be left on arrival: it knows it, and the receiver
 * sees it.  That address need not be unique in the fabric (a host's uSID is its T0's affair), so
 * whether a packet has come to the right host is for source address and QPN to tell.
 *
 * Since UDP checksums are off (a sender's kernel would sum the first destination), this is the only
 * guard of the payload [M 1.3].  The CRC itself is the caller's: a freestanding room
 * cannot hold one that keeps up ([M 4.1]), see docs/decisions/030.
 *
 * The order of bytes and the masks were checked against a packet captured from ConnectX-4 hardware
 * (tests/unit/wire/icrc_test.c).
 *
 * Hot: one seal per packet sent, one check per packet received.
 */
#include <weft/base.h>

#include "wire_local.h"

enum {
	IPV6_BYTES = 40,
	IPV4_BYTES = 20,
	UDP_BYTES = 8,
	BTH_BYTES = 12,
	BTH_VARIANT = 4,
	SMALL_BYTES = 64, /* of payload: copied, so that one call of the CRC does */
	FRONT_BYTES = IPV6_BYTES + UDP_BYTES + WEFT_WIRE_HEADERS_MAX + SMALL_BYTES,
	/* CRC of the eight ones in front: saves a call; a test recomputes it. */
	CRC_OF_ONES = 0x2144df1c,
};

bool weft_flow_is_ipv4(const struct weft_flow *flow)
{
	return ip_is_mapped(flow->src) && ip_is_mapped(flow->dst);
}

static size_t put_ipv6(const struct weft_flow *flow, size_t udp_bytes, uint8_t *p)
{
	put32(p, 0x6fffffff); /* version; traffic class and flow label change on the way */
	put16(p + 4, (uint32_t)udp_bytes);
	p[6] = 17;
	p[7] = 0xff; /* hop limit */
	__builtin_memcpy(p + 8, flow->src, 16);
	__builtin_memcpy(p + 24, flow->dst, 16);
	return IPV6_BYTES;
}

static size_t put_ipv4(const struct weft_flow *flow, size_t udp_bytes, uint8_t *p)
{
	put16(p, 0x45ff); /* type of service changes on the way */
	put16(p + 2, (uint32_t)(IPV4_BYTES + udp_bytes));
	put16(p + 4, flow->ipv4_id);
	put16(p + 6, flow->ipv4_frag);
	put32(p + 8, 0xff11ffff); /* time to live and header checksum too */
	__builtin_memcpy(p + 12, flow->src + 12, 4);
	__builtin_memcpy(p + 16, flow->dst + 12, 4);
	return IPV4_BYTES;
}

/*
 * IP, UDP and the first bytes of a datagram, variant fields masked; datagram_bytes: BTH to ICRC.
 * Returns the bytes put, all that the first call of the CRC covers.
 */
static size_t put_front(const struct weft_flow *flow, size_t datagram_bytes,
	const uint8_t *datagram, size_t first, uint8_t *p)
{
	size_t udp_bytes = UDP_BYTES + datagram_bytes;
	size_t at = weft_flow_is_ipv4(flow) ? put_ipv4(flow, udp_bytes, p)
					    : put_ipv6(flow, udp_bytes, p);

	put16(p + at, flow->src_port);
	put16(p + at + 2, flow->dst_port);
	put16(p + at + 4, (uint32_t)udp_bytes);
	put16(p + at + 6, 0xffff); /* checksum: may be absent */
	at += UDP_BYTES;
	__builtin_memcpy(p + at, datagram, first);
	p[at + BTH_VARIANT] = 0xff;
	return at + first;
}

size_t weft_icrc_seal(weft_crc32_fn *crc, const struct weft_flow *flow, const uint8_t *headers,
	size_t header_bytes, const void *payload, size_t payload_bytes, uint8_t *tail)
{
	uint8_t front[FRONT_BYTES];
	size_t pad = -payload_bytes & 3;
	size_t bytes = header_bytes + payload_bytes + pad + WEFT_WIRE_ICRC_BYTES;

	WEFT_ASSERT(header_bytes >= BTH_BYTES && header_bytes <= WEFT_WIRE_HEADERS_MAX);
	size_t at = put_front(flow, bytes, headers, header_bytes, front);
	bool is_small = payload_bytes + pad <= SMALL_BYTES;

	if (is_small) {
		if (payload_bytes)
			__builtin_memcpy(front + at, payload, payload_bytes);
		__builtin_memset(front + at + payload_bytes, 0, pad);
		at += payload_bytes + pad;
	}
	uint32_t sum = crc(CRC_OF_ONES, front, at);

	__builtin_memset(tail, 0, WEFT_WIRE_TAIL_MAX - WEFT_WIRE_ICRC_BYTES);
	if (!is_small) {
		sum = crc(sum, payload, payload_bytes);
		if (pad)
			sum = crc(sum, tail, pad);
	}
	put32(tail + pad, __builtin_bswap32(sum));
	return pad + WEFT_WIRE_ICRC_BYTES;
}

bool weft_icrc_check(
	weft_crc32_fn *crc, const struct weft_flow *flow, const uint8_t *datagram, size_t bytes)
{
	uint8_t front[FRONT_BYTES];

	if (bytes < BTH_BYTES + WEFT_WIRE_ICRC_BYTES)
		return false;
	/* A control packet fits in front whole: one call of the CRC, 10 ns less. */
	size_t end = bytes - WEFT_WIRE_ICRC_BYTES;
	size_t first = end <= WEFT_WIRE_HEADERS_MAX ? end : BTH_BYTES;
	uint32_t sum = crc(CRC_OF_ONES, front, put_front(flow, bytes, datagram, first, front));

	if (end > first)
		sum = crc(sum, datagram + first, end - first);
	return sum == __builtin_bswap32(get32(datagram + end));
}
