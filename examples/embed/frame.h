/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FRAME_H
#define FRAME_H
/*
 * frame - packets as Ethernet frames and back, for the examples that deal in bytes.
 *
 * Host n has the address fd00:PLANE::n+1, and the EV stands in source port and flow label
 * (WEFT_ENCAP_STEV); over SRv6 only `encap` would differ.
 */
#include <weft/wire.h>

#include <string.h>

enum { ETHER_BYTES = 14, FRAME_BYTES = ETHER_BYTES + WEFT_ENCAP_BYTES_MAX + WEFT_WIRE_DATAGRAM_MAX };

/* Bit by bit, so that this needs no library; use zlib's crc32, or ISA-L's, where it matters. */
static inline uint32_t frame_crc32(uint32_t crc, const uint8_t *bytes, uint64_t len_bytes)
{
	crc = ~crc;
	while (len_bytes--) {
		crc ^= *bytes++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

static inline void frame_addr(uint8_t addr[16], uint32_t plane, uint32_t host)
{
	memset(addr, 0, 16);
	addr[0] = 0xfd;
	addr[3] = (uint8_t)plane;
	addr[15] = (uint8_t)(host + 1);
}

/* One packet from host `self` as a frame; returns its bytes. */
static inline size_t frame_put(uint32_t self, const struct weft_pkt *pkt, uint8_t *frame)
{
	struct weft_encap encap = { .kind = WEFT_ENCAP_STEV, .hop_limit = 64 };
	uint8_t headers[WEFT_WIRE_HEADERS_MAX], tail[WEFT_WIRE_TAIL_MAX];
	size_t header_bytes = weft_wire_encode(pkt, headers), at = ETHER_BYTES;
	size_t payload_bytes = weft_wire_payload_bytes(pkt), tail_bytes;
	struct weft_flow flow;

	frame_addr(encap.flow.src, pkt->port, self);
	frame_addr(encap.flow.dst, pkt->port, pkt->peer);
	encap.flow.dst_port = WEFT_UDP_PORT;
	weft_encap_flow(&encap, pkt->ev, &flow);
	tail_bytes = weft_icrc_seal(frame_crc32, &flow, headers, header_bytes,
		payload_bytes ? pkt->w.data : NULL, payload_bytes, tail);
	memset(frame, 0, ETHER_BYTES);
	frame[0] = frame[6] = 2; /* locally administered */
	frame[5] = (uint8_t)pkt->peer;
	frame[11] = (uint8_t)self;
	frame[12] = 0x86; /* IPv6 */
	frame[13] = 0xdd;
	at += weft_encap_put(&encap, &WEFT_DSCP_DEFAULT, pkt->tclass, pkt->ev,
		header_bytes + payload_bytes + tail_bytes, frame + at);
	memcpy(frame + at, headers, header_bytes);
	at += header_bytes;
	if (payload_bytes)
		memcpy(frame + at, pkt->w.data, payload_bytes);
	at += payload_bytes;
	memcpy(frame + at, tail, tail_bytes);
	return at + tail_bytes;
}

/*
 * A frame that came in by a port, as a packet; its payload stays where it lies.  False: it is not
 * MRC, or broken; what a real NIC counts by fault.drop.  The ICRC of what a switch has cut cannot
 * hold, so it is not looked at.
 */
static inline bool frame_get(
	uint32_t port, const uint8_t *frame, size_t bytes, struct weft_pkt *pkt)
{
	struct weft_wire_fault fault;
	struct weft_arrival a;

	if (bytes < ETHER_BYTES || frame[12] != 0x86 || frame[13] != 0xdd)
		return false;
	if (!weft_encap_parse(frame + ETHER_BYTES, bytes - ETHER_BYTES, WEFT_ENCAP_STEV,
		    &WEFT_DSCP_DEFAULT, &a, &fault))
		return false;
	if (!(a.mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP)) &&
		!weft_icrc_check(frame_crc32, &a.flow, a.datagram, a.datagram_bytes))
		return false;
	if (!weft_wire_decode(a.datagram, a.datagram_bytes, a.mark, pkt, &fault))
		return false;
	pkt->peer = a.flow.src[15] - 1u;
	pkt->ev = a.ev;
	pkt->port = (uint8_t)port;
	pkt->tclass = WEFT_CLASS_DATA; /* of what arrives nobody asks */
	return true;
}

#endif
