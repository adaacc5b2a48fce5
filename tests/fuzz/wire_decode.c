/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire_decode - any bytes at all, as a frame of any outer format or as a bare datagram.
 *
 * The first byte chooses: 0..2 a frame (plain headers read as USID, STEV, UDP_PORT), 3 a datagram
 * with the marks of bits 2..4.  What must hold: nothing outside the input is touched; a refusal
 * points inside the input; what is accepted survives encoding and a second decoding unchanged; an
 * ICRC that was made is accepted.  The seeds are the vectors: decode.py --seeds.
 */
#include <weft/base.h>
#include <weft/wire.h>

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

/* Not a CRC, but it reads every byte, under the sanitizer's eyes (ISA-L's assembler is not). */
static uint32_t sum_bytes(uint32_t sum, const uint8_t *bytes, uint64_t len_bytes)
{
	for (uint64_t i = 0; i < len_bytes; i++)
		sum = sum * 31 + bytes[i];
	return sum;
}

/* Builds the datagram of a decoded packet and decodes that. */
static void check_again(const struct weft_pkt *pkt, const struct weft_flow *flow)
{
	static uint8_t again[WEFT_WIRE_DATAGRAM_MAX];
	uint8_t headers[WEFT_WIRE_HEADERS_MAX];
	size_t at = weft_wire_encode(pkt, again), payload = weft_wire_payload_bytes(pkt);
	struct weft_wire_fault fault;
	struct weft_pkt back = *pkt; /* the envelope is not on the wire */

	WEFT_ASSERT(at <= WEFT_WIRE_HEADERS_MAX && payload <= WEFT_MTU_MAX);
	if (payload)
		memcpy(again + at, pkt->w.data, payload);
	size_t bytes = at + payload;

	bytes += weft_icrc_seal(sum_bytes, flow, again, at, again + at, payload, again + bytes);
	WEFT_ASSERT(weft_icrc_check(sum_bytes, flow, again, bytes));
	WEFT_ASSERT(weft_wire_decode(again, bytes, pkt->mark, &back, &fault));
	WEFT_ASSERT(back.dqpn == pkt->dqpn && back.psn == pkt->psn && back.op == pkt->op);
	WEFT_ASSERT(back.flags == pkt->flags && back.sqpn_low == pkt->sqpn_low);
	WEFT_ASSERT(weft_wire_payload_bytes(&back) == payload);
	WEFT_ASSERT(!payload || !memcmp(back.w.data, pkt->w.data, payload));
	WEFT_ASSERT(weft_wire_encode(&back, headers) == at && !memcmp(headers, again, at));
}

static void run_datagram(const uint8_t *bytes, size_t n, uint8_t mark, const struct weft_flow *flow)
{
	struct weft_wire_fault fault = { WEFT_DROP_COUNT, 0 };
	struct weft_wire_field field;
	struct weft_pkt pkt = { 0 };

	weft_icrc_check(sum_bytes, flow, bytes, n);
	for (unsigned i = 0; n >= 9 && weft_wire_field(bytes[0], bytes[8], i, &field); i++)
		WEFT_ASSERT(field.bit + field.bits <= 8 * WEFT_WIRE_HEADERS_MAX);
	if (!weft_wire_decode(bytes, n, mark, &pkt, &fault)) {
		WEFT_ASSERT(fault.drop < WEFT_DROP_COUNT && fault.bit <= 8 * n);
		return;
	}
	WEFT_ASSERT(pkt.mark == mark);
	if (weft_op_is_write(pkt.op) && pkt.w.len_bytes) {
		const uint8_t *payload = pkt.w.data;

		WEFT_ASSERT(payload > bytes && payload + pkt.w.len_bytes <= bytes + n);
	}
	/* A trimmed packet cannot be built: nobody sends one. */
	if (!(mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP)))
		check_again(&pkt, flow);
}

static void check_outside_again(const struct weft_arrival *arrival)
{
	static uint8_t again[WEFT_ENCAP_BYTES_MAX + WEFT_WIRE_DATAGRAM_MAX];
	struct weft_encap encap = { .kind = arrival->kind, .flow = arrival->flow };
	struct weft_wire_fault fault;
	struct weft_arrival back;

	/* IPv4 has nowhere to put a flow label or a carrier; who reads it so gets nonsense. */
	if (weft_flow_is_ipv4(&arrival->flow) && arrival->kind != WEFT_ENCAP_UDP_PORT)
		return;
	if (arrival->datagram_bytes > WEFT_WIRE_DATAGRAM_MAX)
		return;
	memcpy(encap.via, arrival->kind == WEFT_ENCAP_USID ? arrival->flow.dst : arrival->via, 16);
	size_t at = weft_encap_put(&encap, &WEFT_DSCP_DEFAULT, WEFT_CLASS_DATA, arrival->ev,
		arrival->datagram_bytes, again);

	WEFT_ASSERT(weft_encap_parse(again, at + arrival->datagram_bytes,
		(enum weft_encap_kind)arrival->kind, &WEFT_DSCP_DEFAULT, &back, &fault));
	WEFT_ASSERT(back.ev == arrival->ev && back.kind == arrival->kind);
	WEFT_ASSERT(!memcmp(&back.flow, &arrival->flow, sizeof(back.flow)));
	WEFT_ASSERT(back.datagram_bytes == arrival->datagram_bytes);
}

static void run_frame(const uint8_t *bytes, size_t n, enum weft_encap_kind plain)
{
	struct weft_wire_fault fault = { WEFT_DROP_COUNT, 0 };
	struct weft_arrival arrival;

	if (!weft_encap_parse(bytes, n, plain, &WEFT_DSCP_DEFAULT, &arrival, &fault)) {
		WEFT_ASSERT(fault.drop < WEFT_DROP_COUNT && fault.bit <= 8 * n);
		return;
	}
	WEFT_ASSERT(arrival.datagram > bytes);
	WEFT_ASSERT(arrival.datagram + arrival.datagram_bytes <= bytes + n);
	check_outside_again(&arrival);
	run_datagram(arrival.datagram, arrival.datagram_bytes, arrival.mark, &arrival.flow);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static const enum weft_encap_kind plains[] = { WEFT_ENCAP_USID, WEFT_ENCAP_STEV,
		WEFT_ENCAP_UDP_PORT };
	static const struct weft_flow flow = { .dst_port = WEFT_UDP_PORT };

	if (!len_bytes)
		return 0;
	if ((data[0] & 3) == 3)
		run_datagram(data + 1, len_bytes - 1, data[0] >> 2 & 7, &flow);
	else
		run_frame(data + 1, len_bytes - 1, plains[data[0] & 3]);
	return 0;
}
