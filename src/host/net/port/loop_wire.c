/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loop_wire - the twin run: a packet becomes bytes, is sealed, checked, decoded, and compared.
 *
 * In the loop packets are structs and nobody needs bytes.  With this switched on a run must give
 * the same digest, which is what keeps "what was simulated is what goes over the wire" true.
 * The comparison is field by field through the encoder (decode, encode again, same bytes) because
 * structs have padding, and fields that the wire does not carry are the caller's to put back.
 */
#include "net_local.h"

#include <stdlib.h>
#include <string.h>
#include <weft/wire.h>

struct loop_wire {
	uint8_t datagrams[WEFT_NET_BURST][WEFT_ALIGN_UP(WEFT_WIRE_DATAGRAM_MAX, 64)];
};

struct loop_wire *loop_wire_open(void)
{
	return malloc(sizeof(struct loop_wire));
}

void loop_wire_close(struct loop_wire *wire)
{
	free(wire);
}

/* Slow and plain on purpose: an implementation that shares nothing with the fast one. */
static uint32_t crc32_bitwise(uint32_t crc, const uint8_t *bytes, uint64_t len_bytes)
{
	crc = ~crc;
	for (uint64_t i = 0; i < len_bytes; i++) {
		crc ^= bytes[i];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1)));
	}
	return ~crc;
}

static bool is_trimmed(const struct weft_pkt *pkt)
{
	return pkt->mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP);
}

bool loop_wire_pass(struct loop_wire *wire, size_t slot, struct weft_pkt *pkt)
{
	static const struct weft_flow flow = { .src = { 0xfc }, .dst = { 0xfd }, .dst_port = 4791 };
	uint8_t *bytes = wire->datagrams[slot], again[WEFT_WIRE_HEADERS_MAX];
	uint32_t payload_bytes = is_trimmed(pkt) ? 0 : weft_wire_payload_bytes(pkt);
	size_t at = weft_wire_encode(pkt, bytes);
	struct weft_pkt back = *pkt;
	struct weft_wire_fault fault;

	WEFT_ASSERT(slot < WEFT_NET_BURST && at <= WEFT_WIRE_HEADERS_MAX);
	if (payload_bytes && pkt->w.data)
		memcpy(bytes + at, pkt->w.data, payload_bytes);
	else
		memset(bytes + at, 0, payload_bytes);
	if (!is_trimmed(pkt)) {
		size_t headers = at;

		at += payload_bytes;
		at += weft_icrc_seal(crc32_bitwise, &flow, bytes, headers, bytes + headers,
			payload_bytes, bytes + at);
		WEFT_ASSERT(weft_icrc_check(crc32_bitwise, &flow, bytes, at));
	}
	if (!weft_wire_decode(bytes, at, pkt->mark, &back, &fault)) {
		WEFT_ASSERT(is_trimmed(pkt));
		return false;
	}
	if (!is_trimmed(pkt)) {
		size_t n = weft_wire_encode(&back, again);

		WEFT_ASSERT(!memcmp(again, bytes, n));
		if (weft_op_is_data(pkt->op) && !pkt->w.data)
			back.w.data = NULL;
	}
	*pkt = back;
	return true;
}
