/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "net_local.h"

static struct loop_wire *wire;
static uint8_t payload[4096];

static void open_once(void)
{
	if (!wire)
		wire = loop_wire_open();
	REQUIRE(wire);
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7);
}

static struct weft_pkt write_pkt(uint16_t len_bytes)
{
	return (struct weft_pkt){ .peer = 3,
		.ev = 1u << 16 | 2,
		.port = 1,
		.op = WEFT_OP_WRITE_ONLY_IMM,
		.flags = WEFT_BTH_TS | WEFT_BTH_ACK_REQ,
		.dqpn = 0x123456,
		.psn = 0xabcdef,
		.w = { .data = payload,
			.va = 0x1122334455667788,
			.rkey = 9,
			.msg_bytes = len_bytes,
			.imm = 0xdeadbeef,
			.msn = 5,
			.rqmsn = 6,
			.ts = 7,
			.len_bytes = len_bytes } };
}

TEST(loop_wire_pass__gives_back_the_same_write_from_its_own_memory)
{
	open_once();
	for (uint16_t len = 0; len <= 4096; len = (uint16_t)(len < 9 ? len + 1 : len * 2)) {
		struct weft_pkt pkt = write_pkt(len);

		CHECK(loop_wire_pass(wire, len % WEFT_NET_BURST, &pkt));
		CHECK_EQ(pkt.w.len_bytes, len);
		CHECK_EQ(pkt.w.imm, 0xdeadbeef);
		CHECK_EQ(pkt.peer, 3);
		CHECK_EQ(pkt.ev, 1u << 16 | 2);
		if (len) {
			CHECK(pkt.w.data != payload);
			CHECK_MEM(pkt.w.data, payload, len);
		}
	}
}

TEST(loop_wire_pass__gives_back_every_kind_of_answer)
{
	static const uint8_t ops[] = { WEFT_OP_ACK, WEFT_OP_SACK, WEFT_OP_NACK, WEFT_OP_PROBE,
		WEFT_OP_EP_REQUEST, WEFT_OP_EP_RESPONSE };

	open_once();
	for (size_t i = 0; i < WEFT_COUNT(ops); i++) {
		struct weft_pkt pkt = { .op = ops[i], .dqpn = 77, .psn = 5 }, was;

		if (pkt.op == WEFT_OP_EP_REQUEST || pkt.op == WEFT_OP_EP_RESPONSE)
			pkt.dqpn = WEFT_EP_QPN;
		if (pkt.op == WEFT_OP_NACK)
			pkt.nack.reason = WEFT_NACK_TRIMMED;
		if (pkt.op == WEFT_OP_ACK)
			pkt.ack.syndrome = WEFT_AETH_ACK;
		if (pkt.op == WEFT_OP_SACK)
			pkt.sack = (struct weft_pkt_sack){ .bitmap = 0x8000000000000001,
				.ev = 9,
				.cack_psn = 4,
				.sack_offset = -3,
				.psn_offset = -70,
				.rcvd_units = 0xffffff };
		was = pkt;
		CHECK(loop_wire_pass(wire, i, &pkt));
		CHECK_EQ(pkt.op, was.op);
		if (pkt.op == WEFT_OP_SACK) {
			CHECK_EQ(pkt.sack.bitmap, was.sack.bitmap);
			CHECK_EQ(pkt.sack.psn_offset, -70);
			CHECK_EQ(pkt.sack.sack_offset, -3);
		}
	}
}

TEST(loop_wire_pass__aborts_where_the_wire_cannot_say_it)
{
	open_once();
	struct weft_pkt pkt = write_pkt(0);

	pkt.op = 0x11;
	CHECK_PANICS((void)loop_wire_pass(wire, 0, &pkt));
}
