/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Here: bounds, refusals and round trips.  That the bytes are the right ones is what the vectors
 * prove (vectors_test.c), written down independently of this code.
 */
#include "check.h"

#include <weft/wire.h>

static const uint8_t all_ops[] = {
	WEFT_OP_WRITE_FIRST,
	WEFT_OP_WRITE_MIDDLE,
	WEFT_OP_WRITE_LAST,
	WEFT_OP_WRITE_LAST_IMM,
	WEFT_OP_WRITE_ONLY,
	WEFT_OP_WRITE_ONLY_IMM,
	WEFT_OP_ACK,
	WEFT_OP_EP_REQUEST,
	WEFT_OP_EP_RESPONSE,
	WEFT_OP_SACK,
	WEFT_OP_NACK,
	WEFT_OP_PROBE,
	WEFT_OP_SEND_FIRST,
	WEFT_OP_SEND_MIDDLE,
	WEFT_OP_SEND_LAST,
	WEFT_OP_SEND_LAST_IMM,
	WEFT_OP_SEND_ONLY,
	WEFT_OP_SEND_ONLY_IMM,
	WEFT_OP_XRC_WRITE_FIRST,
	WEFT_OP_XRC_WRITE_MIDDLE,
	WEFT_OP_XRC_WRITE_LAST,
	WEFT_OP_XRC_WRITE_LAST_IMM,
	WEFT_OP_XRC_WRITE_ONLY,
	WEFT_OP_XRC_WRITE_ONLY_IMM,
	WEFT_OP_READ_REQUEST,
	WEFT_OP_REPLY_FIRST,
	WEFT_OP_REPLY_MIDDLE,
	WEFT_OP_REPLY_LAST,
	WEFT_OP_REPLY_ONLY,
	WEFT_OP_REPLY_REFUSED,
	WEFT_OP_CMP_SWAP,
	WEFT_OP_FETCH_ADD,
	WEFT_OP_DATAGRAM,
	WEFT_OP_DATAGRAM_IMM,
};

static struct weft_pkt write_pkt(uint8_t op, uint16_t len_bytes, uint32_t msg_bytes)
{
	return (struct weft_pkt){
		.op = op,
		.flags = WEFT_BTH_TS | WEFT_BTH_ACK_REQ |
			 (weft_op_is_extended(op) ? WEFT_BTH_XRC : 0),
		.dqpn = 0xabcdef,
		.psn = 0x123456,
		.w = { .va = 0x1122334455667788,
			.rkey = 0x99aabbcc,
			.msg_bytes = msg_bytes,
			.imm = weft_op_has_imm(op) ? 0xdeadbeef : 0,
			.msn = 7,
			.rqmsn = 9,
			.ts = 0x8001,
			.len_bytes = len_bytes,
			.srqn = weft_op_is_extended(op) ? 0x654321 : 0 },
	};
}

/* A valid packet of this kind, with every field set to something. */
static struct weft_pkt any_pkt(uint8_t op)
{
	struct weft_pkt pkt = {
		.op = op, .dqpn = 0x010203, .psn = 0xfffefd, .flags = WEFT_BTH_RTX
	};

	switch (op) {
	case WEFT_OP_SACK:
		pkt.sqpn_low = 0x5566;
		pkt.sack = (struct weft_pkt_sack){ .bitmap = 0x8000000000000001,
			.ev = 0xcafef00d,
			.cack_psn = 0xfffffe,
			.rcvd_units = 0xabcdef,
			.psn_offset = -5,
			.sack_offset = -32768,
			.ts = 77,
			.ooo_pkts = 0x7fff,
			.m = 2,
			.mpr_units = 255,
			.penalty = 127,
			.cc_type_flags = 0x05,
			.restore_cwnd = true };
		break;
	case WEFT_OP_NACK:
		pkt.sqpn_low = 0x5566;
		pkt.nack = (struct weft_pkt_nack){ .ev = 1,
			.psn = 0xffffff,
			.ts = 9,
			.reason = WEFT_NACK_NO_RESOURCE,
			.cc_type_flags = 0x20 };
		break;
	case WEFT_OP_ACK:
		pkt.ack = (struct weft_pkt_ack){ .msn = 0xfedcba, .syndrome = WEFT_AETH_ACK };
		break;
	case WEFT_OP_PROBE:
		pkt.sqpn_low = 0x5566;
		pkt.probe = (struct weft_pkt_probe){ .probe_id = 0xbeef, .ts = 3 };
		break;
	case WEFT_OP_EP_REQUEST:
		pkt.dqpn = WEFT_EP_QPN;
		pkt.ep = (struct weft_pkt_ep){ .port_mask = 0x80000001, .ts = 5, .op = 1 };
		break;
	case WEFT_OP_EP_RESPONSE:
		pkt.dqpn = WEFT_EP_QPN;
		pkt.ep = (struct weft_pkt_ep){ .ts = 5, .op = 1 };
		break;
	case WEFT_OP_WRITE_ONLY:
	case WEFT_OP_WRITE_ONLY_IMM:
	case WEFT_OP_SEND_ONLY:
	case WEFT_OP_SEND_ONLY_IMM:
	case WEFT_OP_XRC_WRITE_ONLY:
	case WEFT_OP_XRC_WRITE_ONLY_IMM:
	case WEFT_OP_REPLY_ONLY:
	case WEFT_OP_DATAGRAM:
	case WEFT_OP_DATAGRAM_IMM:
		return write_pkt(op, 61, 61);
	case WEFT_OP_READ_REQUEST:
	case WEFT_OP_REPLY_REFUSED:
		return write_pkt(op, 0, 1000);
	case WEFT_OP_CMP_SWAP:
	case WEFT_OP_FETCH_ADD:
		return write_pkt(op, 16, 16);
	default:
		return write_pkt(op, 64, 1000);
	}
	return pkt;
}

static size_t build(const struct weft_pkt *pkt, uint8_t *datagram)
{
	size_t bytes = weft_wire_encode(pkt, datagram);
	size_t rest = weft_wire_payload_bytes(pkt);

	rest += -rest & 3;
	memset(datagram + bytes, 0x5a, rest + WEFT_WIRE_ICRC_BYTES);
	return bytes + rest + WEFT_WIRE_ICRC_BYTES;
}

/* Decodes from a block of exactly that size, so that a sanitizer sees any step beyond. */
static bool decode(const uint8_t *datagram, size_t bytes, uint8_t mark, struct weft_pkt *pkt,
	struct weft_wire_fault *fault)
{
	uint8_t *block = malloc(bytes ? bytes : 1);
	bool ok;

	memcpy(block, datagram, bytes);
	ok = weft_wire_decode(block, bytes, mark, pkt, fault);
	if (ok && weft_op_is_data(pkt->op) && pkt->w.data)
		pkt->w.data = datagram + ((const uint8_t *)pkt->w.data - block);
	free(block);
	return ok;
}

static void check_same(const struct weft_pkt *got, const struct weft_pkt *want)
{
	uint8_t a[WEFT_WIRE_HEADERS_MAX], b[WEFT_WIRE_HEADERS_MAX];
	size_t bytes = weft_wire_encode(want, b);

	CHECK_EQ(weft_wire_encode(got, a), bytes);
	CHECK_MEM(a, b, bytes);
	CHECK_EQ(got->dqpn, want->dqpn);
	CHECK_EQ(got->psn, want->psn);
	CHECK_EQ(got->sqpn_low, want->sqpn_low);
	CHECK_EQ(got->flags, want->flags);
	CHECK_EQ(weft_wire_payload_bytes(got), weft_wire_payload_bytes(want));
}

TEST(weft_wire_encode__comes_back_from_decode)
{
	uint8_t datagram[256];
	struct weft_wire_fault fault;
	struct weft_pkt pkt, got;

	for (size_t i = 0; i < WEFT_COUNT(all_ops); i++) {
		pkt = any_pkt(all_ops[i]);
		size_t bytes = build(&pkt, datagram);

		memset(&got, 0xee, sizeof(got));
		REQUIRE(decode(datagram, bytes, WEFT_MARK_CE, &got, &fault));
		check_same(&got, &pkt);
		CHECK_EQ(got.mark, WEFT_MARK_CE);
	}
	pkt = any_pkt(WEFT_OP_SACK);
	pkt.sack.is_probe = true;
	pkt.sack.psn_offset = 0;
	pkt.sack.probe_id = 0x8765;
	REQUIRE(decode(datagram, build(&pkt, datagram), 0, &got, &fault));
	CHECK_EQ(got.sack.probe_id, 0x8765);
	CHECK_EQ(got.sack.psn_offset, 0);
	CHECK(got.sack.is_probe);
}

/* Whoever moves packets without making them takes them for as long as they are. */
TEST(weft_wire_bytes__is_what_the_codec_makes_of_every_opcode_flag_and_length)
{
	for (size_t i = 0; i < WEFT_COUNT(all_ops); i++) {
		for (unsigned flags = 0; flags < 256; flags++) {
			struct weft_pkt pkt = any_pkt(all_ops[i]);
			uint8_t datagram[256];

			pkt.flags = (uint8_t)flags;
			for (uint16_t len = 0; len < 9; len++) {
				if (weft_op_is_data(pkt.op))
					pkt.w.len_bytes = len;
				CHECK_EQ(weft_wire_bytes(&pkt), build(&pkt, datagram));
			}
		}
	}
}

/* With IPv6 and UDP in front, as public analyses of the format add it up. */
TEST(weft_wire_bytes__adds_up_as_others_do)
{
	static const struct {
		uint8_t op;
		uint32_t bytes;
	} rows[] = { { WEFT_OP_WRITE_MIDDLE, 4184 }, { WEFT_OP_WRITE_LAST_IMM, 4188 },
		{ WEFT_OP_SACK, 100 }, { WEFT_OP_NACK, 84 }, { WEFT_OP_ACK, 68 },
		{ WEFT_OP_PROBE, 80 } };

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_pkt pkt = { .op = rows[i].op, .flags = WEFT_BTH_TS };

		if (weft_op_is_data(pkt.op))
			pkt.w.len_bytes = 4096;
		CHECK_EQ(WEFT_ENCAP_PLAIN_BYTES + weft_wire_bytes(&pkt), rows[i].bytes);
	}
}

TEST(weft_wire_encode__keeps_wide_values_inside_their_fields)
{
	struct weft_pkt pkt = any_pkt(WEFT_OP_SACK), got;
	struct weft_wire_fault fault;
	uint8_t datagram[64];

	pkt.psn = 0xff000001;
	pkt.sack.penalty = 0xff;
	pkt.sack.restore_cwnd = false;
	pkt.sack.ooo_pkts = 0xffff;
	pkt.sack.cack_psn = 0xff000002;
	REQUIRE(decode(datagram, build(&pkt, datagram), 0, &got, &fault));
	CHECK_EQ(got.psn, 1);
	CHECK_EQ(got.dqpn, pkt.dqpn);
	CHECK_EQ(got.sack.penalty, 127);
	CHECK(!got.sack.restore_cwnd);
	CHECK_EQ(got.sack.ooo_pkts, 0x7fff);
	CHECK_EQ(got.sack.cack_psn, 2);
}

TEST(weft_wire_encode__asserts_on_an_unknown_opcode)
{
	uint8_t headers[WEFT_WIRE_HEADERS_MAX];
	struct weft_pkt pkt = { .op = 0xff };

	CHECK_PANICS(weft_wire_encode(&pkt, headers));
}

TEST(weft_wire_decode__points_into_the_buffer_and_takes_padding_off)
{
	uint8_t datagram[256];
	struct weft_wire_fault fault;

	for (uint16_t len = 0; len < 9; len++) {
		struct weft_pkt pkt = write_pkt(WEFT_OP_WRITE_ONLY, len, len), got;
		size_t bytes = build(&pkt, datagram);

		CHECK_EQ(bytes, 36 + WEFT_ALIGN_UP(len, 4) + 4);
		REQUIRE(decode(datagram, bytes, 0, &got, &fault));
		CHECK_EQ(got.w.len_bytes, len);
		CHECK(got.w.data == datagram + 36);
	}
}

TEST(weft_wire_decode__refuses_every_truncation)
{
	uint8_t datagram[256];
	struct weft_wire_fault fault;
	struct weft_pkt got;

	for (size_t i = 0; i < WEFT_COUNT(all_ops); i++) {
		struct weft_pkt pkt = any_pkt(all_ops[i]);
		size_t bytes = build(&pkt, datagram), headers = bytes - WEFT_WIRE_ICRC_BYTES;

		headers -= WEFT_ALIGN_UP(weft_wire_payload_bytes(&pkt), 4u);
		for (size_t cut = 0; cut < bytes; cut++) {
			bool ok = decode(datagram, cut, 0, &got, &fault);

			/* Cut inside its payload a middle packet may pass: only the ICRC tells. */
			if (cut < headers + WEFT_WIRE_ICRC_BYTES) {
				CHECK(!ok);
				CHECK_EQ(fault.drop, WEFT_DROP_TRUNCATED);
				CHECK_EQ(fault.bit, 8 * cut);
			} else if (ok) {
				CHECK(pkt.w.msg_bytes == 1000 && cut % 4 == 0);
			}
		}
	}
}

TEST(weft_wire_decode__refuses_what_is_too_long)
{
	static uint8_t datagram[WEFT_WIRE_DATAGRAM_MAX + 8];
	struct weft_wire_fault fault;
	struct weft_pkt got, pkt;

	for (size_t i = 0; i < WEFT_COUNT(all_ops); i++) {
		if (weft_op_is_data(all_ops[i]))
			continue;
		pkt = any_pkt(all_ops[i]);
		size_t bytes = build(&pkt, datagram);

		CHECK(!decode(datagram, bytes + 1, 0, &got, &fault));
		CHECK_EQ(fault.drop, WEFT_DROP_OVERSIZED);
		CHECK_EQ(fault.bit, 8 * bytes);
	}
	pkt = write_pkt(WEFT_OP_WRITE_MIDDLE, WEFT_MTU_MAX, UINT32_MAX);
	size_t bytes = build(&pkt, datagram);

	REQUIRE(decode(datagram, bytes, 0, &got, &fault));
	CHECK_EQ(got.w.len_bytes, WEFT_MTU_MAX);
	CHECK(!decode(datagram, bytes + 4, 0, &got, &fault));
	CHECK_EQ(fault.drop, WEFT_DROP_OVERSIZED);
}

TEST(weft_wire_decode__refuses_foreign_opcodes)
{
	uint8_t datagram[64] = { 0 };
	struct weft_wire_fault fault;
	struct weft_pkt got;
	unsigned known = 0;

	for (unsigned op = 0; op < 256; op++) {
		datagram[0] = (uint8_t)op;
		CHECK(!weft_wire_decode(datagram, sizeof(datagram), 0, &got, &fault));
		known += fault.drop != WEFT_DROP_NOT_MRC;
		if (fault.drop == WEFT_DROP_NOT_MRC)
			CHECK_EQ(fault.bit, 0);
	}
	CHECK_EQ(known, WEFT_COUNT(all_ops));
}

/* One byte of a good packet is replaced; what comes of it. */
TEST(weft_wire_decode__points_at_the_bad_field)
{
	static const struct {
		uint8_t op, at, value;
		enum weft_drop drop;
		unsigned bit;
	} rows[] = {
		{ WEFT_OP_WRITE_ONLY, 1, 0x31, WEFT_DROP_BAD_TVER, 12 },
		{ WEFT_OP_SACK, 1, 0x0f, WEFT_DROP_BAD_TVER, 12 },
		{ WEFT_OP_SACK, 1, 0x08, WEFT_DROP_BAD_TVER, 12 },
		{ WEFT_OP_SACK, 1, 0x20, WEFT_DROP_BAD_FIELD, 10 },
		{ WEFT_OP_PROBE, 27, 0x09, WEFT_DROP_BAD_FIELD, 8 * 27 + 4 },
		{ WEFT_OP_SACK, 2, 0x7e, WEFT_DROP_BAD_FIELD, 16 }, /* P_Key */
		{ WEFT_OP_SACK, 1, 0x10, WEFT_DROP_BAD_FIELD, 10 }, /* PadCnt, no payload */
		{ WEFT_OP_SACK, 13, 0x60, WEFT_DROP_BAD_FIELD, 8 * 13 + 1 },  /* M = 3 */
		{ WEFT_OP_NACK, 14, 0x03, WEFT_DROP_BAD_FIELD, 8 * 14 },      /* reason */
		{ WEFT_OP_ACK, 12, 0x20, WEFT_DROP_BAD_FIELD, 8 * 12 },       /* syndrome: RNR */
		{ WEFT_OP_PROBE, 27, 0x02, WEFT_DROP_BAD_FIELD, 8 * 27 + 4 }, /* ftype */
		{ WEFT_OP_EP_REQUEST, 13, 2, WEFT_DROP_BAD_FIELD, 8 * 13 + 6 },
		{ WEFT_OP_EP_REQUEST, 27, 0, WEFT_DROP_BAD_FIELD, 8 * 27 + 4 },
		{ WEFT_OP_EP_REQUEST, 7, 3, WEFT_DROP_BAD_FIELD, 40 }, /* not QPN 2 */
		{ WEFT_OP_EP_RESPONSE, 5, 1, WEFT_DROP_BAD_FIELD, 40 },
		{ WEFT_OP_WRITE_LAST, 19, 0x00, WEFT_DROP_BAD_FIELD, 8 * 19 + 4 }, /* ftype */
		{ WEFT_OP_WRITE_ONLY, 35, 60, WEFT_DROP_BAD_LENGTH, 8 * 32 },      /* DMALen */
		{ WEFT_OP_WRITE_ONLY, 1, 0x20, WEFT_DROP_BAD_LENGTH, 8 * 32 },
		{ WEFT_OP_WRITE_FIRST, 1, 0x10, WEFT_DROP_BAD_LENGTH, 8 * 32 },
	};
	uint8_t datagram[256];
	struct weft_wire_fault fault;
	struct weft_pkt got;

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_pkt pkt = any_pkt(rows[i].op);
		size_t bytes = build(&pkt, datagram);

		datagram[rows[i].at] = rows[i].value;
		CHECK(!decode(datagram, bytes, 0, &got, &fault));
		if (fault.drop != rows[i].drop || fault.bit != rows[i].bit)
			CHECK_FAIL(
				"row %zu: %s at bit %u", i, weft_drop_name(fault.drop), fault.bit);
	}
}

TEST(weft_wire_decode__wants_lengths_that_fit_the_place_in_the_message)
{
	static const struct {
		uint8_t op;
		uint16_t len_bytes;
		uint32_t msg_bytes;
		bool ok;
	} rows[] = {
		{ WEFT_OP_WRITE_ONLY, 0, 0, true },
		{ WEFT_OP_WRITE_ONLY_IMM, 0, 0, true },
		{ WEFT_OP_WRITE_ONLY, 4, 0, false },
		{ WEFT_OP_WRITE_ONLY, 0, 4, false },
		{ WEFT_OP_WRITE_ONLY, 9, 9, true },
		{ WEFT_OP_WRITE_FIRST, 64, 65, true },
		{ WEFT_OP_WRITE_FIRST, 64, 64, false },
		{ WEFT_OP_WRITE_FIRST, 63, 100, false },
		{ WEFT_OP_WRITE_FIRST, 0, 100, false },
		{ WEFT_OP_WRITE_MIDDLE, 64, 200, true },
		{ WEFT_OP_WRITE_MIDDLE, 64, 10, false },
		{ WEFT_OP_WRITE_LAST, 1, 2, true },
		{ WEFT_OP_WRITE_LAST, 0, 100, false },
		{ WEFT_OP_WRITE_LAST, 5, 5, false },
		{ WEFT_OP_WRITE_LAST_IMM, 3, 100, true },
		{ WEFT_OP_WRITE_LAST_IMM, 0, 0, false },
	};
	uint8_t datagram[256];
	struct weft_wire_fault fault;
	struct weft_pkt got;

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_pkt pkt = write_pkt(rows[i].op, rows[i].len_bytes, rows[i].msg_bytes);

		if (decode(datagram, build(&pkt, datagram), 0, &got, &fault) != rows[i].ok)
			CHECK_FAIL("row %zu", i);
		else if (!rows[i].ok)
			CHECK_EQ(fault.drop, WEFT_DROP_BAD_LENGTH);
	}
	/* Not a multiple of four on the wire, and more padding than payload. */
	struct weft_pkt pkt = write_pkt(WEFT_OP_WRITE_MIDDLE, 64, 1000);
	size_t bytes = build(&pkt, datagram);

	CHECK(!decode(datagram, bytes - 1, 0, &got, &fault));
	CHECK_EQ(fault.drop, WEFT_DROP_BAD_LENGTH);
	pkt = write_pkt(WEFT_OP_WRITE_ONLY, 0, 0);
	bytes = build(&pkt, datagram);
	datagram[1] = 0x30;
	CHECK(!decode(datagram, bytes, 0, &got, &fault));
	CHECK_EQ(fault.drop, WEFT_DROP_BAD_LENGTH);
	CHECK_EQ(fault.bit, 10);
}

TEST(weft_wire_decode__takes_a_trimmed_packet_that_ends_behind_its_timestamp)
{
	static const uint8_t marks[] = { WEFT_MARK_TRIMMED, WEFT_MARK_TRIMMED_LASTHOP,
		WEFT_MARK_TRIMMED | WEFT_MARK_CE };
	struct weft_pkt pkt = write_pkt(WEFT_OP_WRITE_MIDDLE, 64, 1000), got;
	struct weft_wire_fault fault;
	uint8_t datagram[256];
	size_t bytes = build(&pkt, datagram);

	for (size_t i = 0; i < WEFT_COUNT(marks); i++) {
		for (size_t cut = 0; cut <= bytes; cut++) {
			memset(&got, 0xee, sizeof(got));
			if (!decode(datagram, cut, marks[i], &got, &fault)) {
				CHECK(cut < 20);
				CHECK_EQ(fault.drop, WEFT_DROP_TRUNCATED);
				continue;
			}
			CHECK(cut >= 20);
			CHECK_EQ(got.psn, 0x123456);
			CHECK_EQ(got.w.msn, 7);
			CHECK_EQ(got.w.ts, 0x8001);
			CHECK_EQ(got.mark, marks[i]);
			/* Never a payload, never an address. */
			CHECK(!got.w.data && !got.w.len_bytes && !got.w.va && !got.w.rkey);
		}
	}
	pkt.flags = 0;
	build(&pkt, datagram);
	CHECK(decode(datagram, 16, WEFT_MARK_TRIMMED, &got, &fault));
	CHECK_EQ(got.w.ts, 0);
}

TEST(weft_wire_decode__refuses_a_trimmed_control_packet)
{
	uint8_t datagram[64];
	struct weft_wire_fault fault;
	struct weft_pkt pkt = any_pkt(WEFT_OP_SACK), got;

	CHECK(!decode(datagram, build(&pkt, datagram), WEFT_MARK_TRIMMED, &got, &fault));
	CHECK_EQ(fault.drop, WEFT_DROP_BAD_FIELD);
}

TEST(weft_wire_decode__ignores_reserved_bits)
{
	static const struct {
		uint8_t op, at, bits;
	} rows[] = {
		{ WEFT_OP_WRITE_ONLY, 1, 0xc0 }, { WEFT_OP_WRITE_ONLY, 4, 0xff },
		{ WEFT_OP_WRITE_ONLY, 8, 0x0f }, { WEFT_OP_WRITE_ONLY, 18, 0xff },
		{ WEFT_OP_WRITE_ONLY, 19, 0xf0 }, { WEFT_OP_SACK, 12, 0xff },
		{ WEFT_OP_SACK, 13, 0x9d }, { WEFT_OP_SACK, 8, 0x10 }, { WEFT_OP_SACK, 24, 0xff },
		{ WEFT_OP_NACK, 29, 0xff }, { WEFT_OP_EP_REQUEST, 13, 0xfc },
		{ WEFT_OP_EP_RESPONSE, 47, 0xff },
		{ WEFT_OP_WRITE_ONLY, 2, 0x80 }, /* a limited member of our partition */
	};
	uint8_t datagram[256];
	struct weft_wire_fault fault;
	struct weft_pkt got;

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_pkt pkt = any_pkt(rows[i].op);
		size_t bytes = build(&pkt, datagram);

		datagram[rows[i].at] ^= rows[i].bits;
		REQUIRE(decode(datagram, bytes, 0, &got, &fault));
		check_same(&got, &pkt);
	}
}

TEST(weft_wire_decode__reads_the_endpoint_operation_in_both_disputed_places)
{
	struct weft_pkt pkt = any_pkt(WEFT_OP_EP_RESPONSE), got;
	struct weft_wire_fault fault;
	uint8_t datagram[64];
	size_t bytes = build(&pkt, datagram);

	CHECK_EQ(datagram[13], 0x10);
	datagram[13] = 0x04;
	REQUIRE(decode(datagram, bytes, 0, &got, &fault));
	CHECK_EQ(got.ep.op, WEFT_EP_EV_PROBE);
}
