/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <weft/wire.h>

/* Turns on every bit of a packet that an encoder can turn on. */
static struct weft_pkt full_pkt(uint8_t op)
{
	struct weft_pkt pkt = {
		.op = op, .flags = 0xff, .sqpn_low = 0xffff, .dqpn = UINT32_MAX, .psn = UINT32_MAX
	};

	if (weft_op_is_data(op))
		pkt.w = (struct weft_pkt_write){ .va = UINT64_MAX,
			.rkey = UINT32_MAX,
			.msg_bytes = UINT32_MAX,
			.imm = UINT32_MAX,
			.msn = 0xffff,
			.rqmsn = 0xffff,
			.ts = 0xffff,
			.len_bytes = 1,
			.srqn = UINT32_MAX };
	else if (op == WEFT_OP_SACK)
		pkt.sack = (struct weft_pkt_sack){ .bitmap = UINT64_MAX,
			.ev = UINT32_MAX,
			.cack_psn = UINT32_MAX,
			.rcvd_units = UINT32_MAX,
			.sack_offset = -1,
			.probe_id = 0xffff,
			.ts = 0xffff,
			.ooo_pkts = 0xffff,
			.m = 3,
			.mpr_units = 0xff,
			.penalty = 0xff,
			.cc_type_flags = 0xff,
			.is_probe = true,
			.restore_cwnd = true };
	else if (op == WEFT_OP_NACK)
		pkt.nack = (struct weft_pkt_nack){ UINT32_MAX, UINT32_MAX, 0xffff, 0xff, 0xff,
			0xff };
	else if (op == WEFT_OP_ACK)
		pkt.ack = (struct weft_pkt_ack){ UINT32_MAX, 0xff };
	else if (op == WEFT_OP_PROBE)
		pkt.probe = (struct weft_pkt_probe){ 0xffff, 0xffff };
	else
		pkt.ep = (struct weft_pkt_ep){ UINT32_MAX, 0xffff, 3 };
	return pkt;
}

/* Fields that we never send anything but zero in: the disputed bits, nxt, vendor's own, TVer. */
static bool is_never_sent(uint8_t op, const struct weft_wire_field *field)
{
	bool in_bth = !strcmp(field->header, "BTH");
	if (in_bth && (!strcmp(field->name, "ts") || !strcmp(field->name, "solicited")))
		return !weft_op_is_data(op);
	if (in_bth && !strcmp(field->name, "xrc"))
		return !weft_op_is_extended(op);
	if (in_bth)
		return field->bit >= 8 && field->bit < 16 && strcmp(field->name, "padcnt");
	return !strcmp(field->name, "nxt") || !strcmp(field->name, "tsr") ||
	       (!strcmp(field->name, "vendor_info") && op != WEFT_OP_NACK);
}

static void check_layout(uint8_t op)
{
	uint8_t headers[WEFT_WIRE_HEADERS_MAX], listed[WEFT_WIRE_HEADERS_MAX] = { 0 };
	struct weft_pkt pkt = full_pkt(op);
	size_t bytes = weft_wire_encode(&pkt, headers);
	struct weft_wire_field field;
	unsigned end = 0;

	for (unsigned i = 0; weft_wire_field(op, pkt.flags, i, &field); i++) {
		CHECK(field.bit >= end); /* in order, without overlap */
		end = field.bit + field.bits;
		REQUIRE(end <= 8 * bytes);
		if (is_never_sent(op, &field))
			continue;
		for (unsigned bit = field.bit; bit < end; bit++)
			listed[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	}
	/* Values that are not all ones on purpose. */
	headers[0] = 0xff;
	headers[1] |= 0x30;
	for (size_t i = 0; i < bytes; i++) {
		bool ftype = (weft_op_is_data(op) && i == 19) ||
			     ((op == WEFT_OP_PROBE || op == WEFT_OP_EP_REQUEST) && i == 27);

		if (ftype && headers[i] == 1)
			headers[i] = 0x0f;
		if (headers[i] != listed[i])
			CHECK_FAIL("%s, byte %zu: %02x sent, %02x listed", weft_op_name(op), i,
				headers[i], listed[i]);
	}
}

TEST(weft_wire_field__lists_exactly_the_bits_that_encode_writes)
{
	for (unsigned op = 0; op < 256; op++)
		if (strcmp(weft_op_name((uint8_t)op), "?"))
			check_layout((uint8_t)op);
}

TEST(weft_wire_field__names_the_base_header_of_anything)
{
	struct weft_wire_field field;
	unsigned n = 0;

	while (weft_wire_field(0x0a, 0, n, &field))
		n++;
	CHECK_EQ(n, 13);
	REQUIRE(weft_wire_field(0x0a, 0, 12, &field));
	CHECK_STR(field.header, "BTH");
	CHECK_STR(field.name, "psn");
	CHECK_EQ(field.bit, 72);
}

TEST(weft_wire_field__follows_the_timestamp_flag)
{
	struct weft_wire_field with, without;

	REQUIRE(weft_wire_field(WEFT_OP_WRITE_ONLY, WEFT_BTH_TS, 18, &with));
	REQUIRE(weft_wire_field(WEFT_OP_WRITE_ONLY, 0, 15, &without));
	CHECK_STR(with.name, "va");
	CHECK_STR(without.name, "va");
	CHECK_EQ(with.bit, 8 * 20);
	CHECK_EQ(without.bit, 8 * 16);
}
