/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the engine says survives the wire: a transfer in both directions, with marks, trims and
 * losses, where each packet is replaced on its way by what `wire` decodes from its bytes.  Whatever
 * the engine may ever send, a peer must be able to read (a value too wide for its field, a length
 * that does not fit its opcode would end here), and the transfer must not notice.
 */
#include "world.h"

#include <weft/wire.h>

#include <isa-l/crc.h>

static const struct weft_flow flow = {
	.src = { 0xfd, 1 }, .dst = { 0xfc, 2 }, .src_port = 50000, .dst_port = WEFT_UDP_PORT
};

static struct {
	uint64_t ops[256], trims;
} seen;

/* To bytes and back; the envelope travels beside. */
static bool cross(struct weft_pkt *pkt, uint8_t mark)
{
	static uint8_t datagram[WEFT_WIRE_DATAGRAM_MAX];
	uint8_t again[WEFT_WIRE_HEADERS_MAX];
	size_t headers = weft_wire_encode(pkt, datagram), payload = weft_wire_payload_bytes(pkt);
	struct weft_wire_fault fault;
	struct weft_pkt got = *pkt;

	memset(&got.w, 0xee, sizeof(got.w));
	if (payload)
		memcpy(datagram + headers, pkt->w.data, payload);
	size_t bytes = headers + payload +
		       weft_icrc_seal(crc32_gzip_refl, &flow, datagram, headers, datagram + headers,
			       payload, datagram + headers + payload);

	CHECK(weft_icrc_check(crc32_gzip_refl, &flow, datagram, bytes));
	if (mark & WEFT_MARK_TRIMMED)
		bytes = 12 + 4 + 4;
	if (!weft_wire_decode(datagram, bytes, mark, &got, &fault)) {
		CHECK_FAIL("%s: %s at bit %u", weft_op_name(pkt->op), weft_drop_name(fault.drop),
			fault.bit);
		return true;
	}
	if (!(mark & WEFT_MARK_TRIMMED)) {
		CHECK_EQ(weft_wire_encode(&got, again), headers);
		CHECK_MEM(again, datagram, headers);
		if (payload)
			got.w.data = pkt->w.data; /* the buffer is used again before it lands */
	}
	CHECK_EQ(got.psn, pkt->psn);
	CHECK_EQ(got.dqpn, pkt->dqpn);
	seen.ops[pkt->op]++;
	*pkt = got;
	return false;
}

static bool on_the_way(struct world *w, int from, struct weft_pkt *pkt)
{
	bool data = weft_op_is_write(pkt->op);
	uint8_t mark = 0;

	(void)from;
	if (weft_rng_chance(&w->rng, 1, 50))
		return true;
	if (data && weft_rng_chance(&w->rng, 1, 20))
		mark |= WEFT_MARK_CE;
	if (data && pkt->flags & WEFT_BTH_TS && weft_rng_chance(&w->rng, 1, 25)) {
		mark |= WEFT_MARK_TRIMMED;
		seen.trims++;
	}
	return cross(pkt, mark);
}

/* Writes of all sizes in both directions, some with immediates; their completions, counted. */
static void transfer(struct world *w, unsigned messages)
{
	struct weft_done done;
	uint64_t offset = 0;

	for (unsigned i = 0; i < messages; i++) {
		uint32_t len = (uint32_t)weft_rng_below(&w->rng, i % 4 ? 40000 : 9);
		int from = i & 1;
		struct weft_work work = { .id = i,
			.remote_va = 0x10000 + offset,
			.data = w->memory[from] + offset,
			.len_bytes = len,
			.rkey = w->rkey[from],
			.imm = i,
			.has_imm = i % 3 == 0 };

		if (work.has_imm)
			CHECK_EQ(weft_post_recv(w->qp[!from], i), 0);
		CHECK_EQ(weft_post_write(w->qp[from], &work), 0);
		unsigned wanted = 1;

		while (wanted && world_wait(w, from, 1, 1000000000, &done) == 1)
			if (done.kind == WEFT_DONE_WRITE)
				wanted--;
		CHECK_EQ(wanted, 0);
		CHECK_EQ(done.status, WEFT_OK);
		CHECK_MEM(w->memory[!from] + offset, w->memory[from] + offset, len);
		offset += len;
	}
}

TEST(engine__speaks_only_what_the_wire_can_carry)
{
	static const uint8_t ops[] = { WEFT_OP_WRITE_FIRST, WEFT_OP_WRITE_MIDDLE,
		WEFT_OP_WRITE_LAST, WEFT_OP_WRITE_LAST_IMM, WEFT_OP_WRITE_ONLY,
		WEFT_OP_WRITE_ONLY_IMM, WEFT_OP_ACK, WEFT_OP_SACK, WEFT_OP_NACK, WEFT_OP_PROBE,
		WEFT_OP_EP_REQUEST, WEFT_OP_EP_RESPONSE };
	struct world w = { .fault = on_the_way };
	struct weft_config config;

	world_config(&config);
	world_open(&w, &config);
	world_connect(&w, 64, 48, &weft_cc_nscc);
	transfer(&w, 150);
	CHECK_EQ(weft_port_mark(w.end[0], 3, false, w.now), 0);
	transfer(&w, 50);
	CHECK_EQ(weft_port_mark(w.end[0], 3, true, w.now), 0);
	world_run_until(&w, w.now + 20000000);
	for (size_t i = 0; i < WEFT_COUNT(ops); i++)
		if (!seen.ops[ops[i]])
			CHECK_FAIL("no %s was ever sent", weft_op_name(ops[i]));
	CHECK(seen.trims > 10);
	world_close(&w);
}
