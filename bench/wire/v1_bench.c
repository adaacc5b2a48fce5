/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The wire's share of a packet's life: headers in, headers out, CRC over everything.  256 packets
 * in turn, so that no branch is learnt by heart; a 4 KiB payload each, hot in cache.
 */
#include "../bench.h"

#include <weft/base.h>
#include <weft/wire.h>

#include <isa-l/crc.h>

enum { PKTS = 256, PAYLOAD = 4096, OPS = 65536 };

static struct weft_pkt writes[PKTS], sacks[PKTS], got;
static uint8_t payload[PAYLOAD], datagrams[PKTS][WEFT_WIRE_DATAGRAM_MAX], answers[PKTS][64];
static uint8_t frames[PKTS][WEFT_ENCAP_BYTES_MAX + 64];
static size_t datagram_bytes[PKTS], answer_bytes[PKTS], frame_bytes[PKTS];
static struct weft_flow flow = {
	.src = { 0xfd, 1 }, .dst = { 0xfc, 2 }, .dst_port = WEFT_UDP_PORT
};
static struct weft_encap encap = { .kind = WEFT_ENCAP_SRV6, .hop_limit = 64, .via = { 0xfc } };

static void prepare(void)
{
	struct weft_rng rng;

	weft_rng_seed(&rng, 1);
	for (unsigned i = 0; i < PKTS; i++) {
		bool last = i % 16 == 15;

		writes[i] = (struct weft_pkt){
			.op = last ? WEFT_OP_WRITE_LAST_IMM : WEFT_OP_WRITE_MIDDLE,
			.flags = WEFT_BTH_TS,
			.dqpn = (uint32_t)weft_rng_below(&rng, 1 << 24),
			.psn = i,
			.ev = (uint32_t)weft_rng_u64(&rng),
			.w = { .data = payload,
				.va = weft_rng_u64(&rng),
				.msg_bytes = 1 << 20,
				.len_bytes = PAYLOAD,
				.ts = (uint16_t)i },
		};
		sacks[i] = (struct weft_pkt){ .op = WEFT_OP_SACK,
			.dqpn = i,
			.psn = i,
			.sack = { .bitmap = weft_rng_u64(&rng), .cack_psn = i, .m = i & 1 } };
		size_t at = weft_wire_encode(&writes[i], datagrams[i]);

		__builtin_memcpy(datagrams[i] + at, payload, PAYLOAD);
		datagram_bytes[i] = at + PAYLOAD +
				    weft_icrc_seal(crc32_gzip_refl, &flow, datagrams[i], at,
					    payload, PAYLOAD, datagrams[i] + at + PAYLOAD);
		at = weft_wire_encode(&sacks[i], answers[i]);
		answer_bytes[i] = at + weft_icrc_seal(crc32_gzip_refl, &flow, answers[i], at, NULL,
					       0, answers[i] + at);
		frame_bytes[i] = 64 + weft_encap_put(&encap, &WEFT_DSCP_DEFAULT, WEFT_CLASS_DATA,
					      writes[i].ev, 64, frames[i]);
	}
}

int main(void)
{
	struct weft_wire_fault fault;
	struct weft_arrival arrival;
	uint8_t headers[WEFT_WIRE_HEADERS_MAX], tail[WEFT_WIRE_TAIL_MAX];
	uint8_t frame[WEFT_ENCAP_BYTES_MAX];

	for (unsigned i = 0; i < PAYLOAD; i++)
		payload[i] = (uint8_t)(i * 131);
	prepare();
	BENCH("encode a write", OPS, weft_wire_encode(&writes[i % PKTS], headers);
		BENCH_USE(headers));
	BENCH("decode a write", OPS,
		WEFT_ASSERT(weft_wire_decode(
			datagrams[i % PKTS], datagram_bytes[i % PKTS], 0, &got, &fault));
		BENCH_USE(got));
	BENCH("encode a SACK", OPS, weft_wire_encode(&sacks[i % PKTS], headers);
		BENCH_USE(headers));
	BENCH("decode a SACK", OPS,
		WEFT_ASSERT(weft_wire_decode(
			answers[i % PKTS], answer_bytes[i % PKTS], 0, &got, &fault));
		BENCH_USE(got));
	BENCH("ICRC of a write of 4 KiB, made", OPS / 16,
		weft_icrc_seal(
			crc32_gzip_refl, &flow, datagrams[i % PKTS], 36, payload, PAYLOAD, tail);
		BENCH_USE(tail));
	BENCH("ICRC of a write of 4 KiB, checked", OPS / 16,
		WEFT_ASSERT(weft_icrc_check(
			crc32_gzip_refl, &flow, datagrams[i % 4], datagram_bytes[i % 4])));
	BENCH("ICRC of a SACK, made", OPS,
		weft_icrc_seal(crc32_gzip_refl, &flow, answers[i % PKTS], 48, NULL, 0, tail);
		BENCH_USE(tail));
	BENCH("ICRC of a SACK, checked", OPS,
		WEFT_ASSERT(weft_icrc_check(
			crc32_gzip_refl, &flow, answers[i % PKTS], answer_bytes[i % PKTS])));
	BENCH("SRv6 outer headers, made", OPS,
		weft_encap_put(&encap, &WEFT_DSCP_DEFAULT, WEFT_CLASS_DATA, i, 4136, frame);
		BENCH_USE(frame));
	BENCH("SRv6 outer headers, read", OPS,
		WEFT_ASSERT(weft_encap_parse(frames[i % PKTS], frame_bytes[i % PKTS],
			WEFT_ENCAP_SRV6, &WEFT_DSCP_DEFAULT, &arrival, &fault));
		BENCH_USE(arrival));
	return 0;
}
