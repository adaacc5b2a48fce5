/* SPDX-License-Identifier: BSD-2-Clause */
#include "hand.h"

/* Whatever state an endpoint is in: nothing is changed, and no wild pointer is followed. */
TEST(weft_endpoint_fetch__changes_nothing)
{
	struct world w = { 0 };
	struct weft_pkt pkts[8];

	hand_open(&w, 16, 16);
	for (unsigned sent = 0; sent < 2; sent++) {
		size_t bytes = weft_endpoint_size(&w.end[0]->config);
		void *before = malloc(bytes);

		REQUIRE(before);
		memcpy(before, w.end[0], bytes);
		for (unsigned step = 0; step < 4; step++)
			weft_endpoint_fetch(w.end[0], step);
		CHECK_MEM(w.end[0], before, bytes);
		free(before);
		CHECK_EQ(weft_post_write(w.qp[0],
				 &(struct weft_work){ .data = w.memory[0],
					 .remote_va = 0x10000,
					 .rkey = w.rkey[0],
					 .len_bytes = 20000 }),
			0);
		CHECK(hand_out(&w, 0, pkts, 8) > 0);
	}
	world_close(&w);
}

/* Packets of all kinds, those that speak of nothing we sent included. */
TEST(weft_packet_fetch__changes_nothing)
{
	struct world w = { 0 };
	struct weft_pkt pkts[8];

	hand_open(&w, 16, 16);
	size_t bytes = weft_endpoint_size(&w.end[0]->config);
	void *before = malloc(bytes);

	REQUIRE(before);
	CHECK_EQ(weft_post_write(w.qp[0],
			 &(struct weft_work){ .data = w.memory[0],
				 .remote_va = 0x10000,
				 .rkey = w.rkey[0],
				 .len_bytes = 20000 }),
		0);
	size_t n = hand_out(&w, 0, pkts, 8);

	CHECK(n > 1);
	memcpy(before, w.end[0], bytes);
	for (uint32_t psn = 0; psn < 64; psn++) {
		struct weft_pkt pkt = { .op = WEFT_OP_SACK,
			.dqpn = w.qp[0]->qpn,
			.sack = { .cack_psn = weft_psn_add(pkts[0].psn, psn) } };

		for (unsigned step = 0; step < 2; step++) {
			weft_packet_fetch(w.end[0], &pkt, step);
			weft_packet_fetch(w.end[0], &pkts[psn % n], step);
		}
	}
	CHECK_MEM(w.end[0], before, bytes);
	free(before);
	world_close(&w);
}

/* Data that is still to come, by a port that is there or is not. */
TEST(weft_packet_fetch__changes_nothing_where_data_comes)
{
	struct world w = { 0 };
	struct weft_pkt pkts[8];

	hand_open(&w, 16, 16);
	size_t bytes = weft_endpoint_size(&w.end[1]->config);
	void *before = malloc(bytes);

	REQUIRE(before);
	CHECK_EQ(weft_post_write(w.qp[0],
			 &(struct weft_work){ .data = w.memory[0],
				 .remote_va = 0x10000,
				 .rkey = w.rkey[0],
				 .len_bytes = 20000 }),
		0);
	size_t n = hand_out(&w, 0, pkts, 8);

	CHECK(n > 1);
	CHECK_EQ(pkts[0].dqpn, w.qp[1]->qpn);
	memcpy(before, w.end[1], bytes);
	for (size_t i = 0; i < n; i++) {
		for (unsigned port = 0; port < 256; port++) {
			pkts[i].port = (uint8_t)port;
			for (unsigned step = 0; step < 2; step++)
				weft_packet_fetch(w.end[1], &pkts[i], step);
		}
	}
	CHECK_MEM(w.end[1], before, bytes);
	free(before);
	world_close(&w);
}
