/* SPDX-License-Identifier: BSD-2-Clause */
#include "hand.h"

static size_t send_some(struct world *w, struct weft_pkt pkts[8])
{
	world_write(w, 0, 0, 0, 20000);
	return hand_out(w, 0, pkts, 8);
}

static void *copy_of(const struct weft_endpoint *ep)
{
	size_t bytes = weft_endpoint_size(&ep->config);
	void *copy = malloc(bytes);

	REQUIRE(copy);
	return memcpy(copy, ep, bytes);
}

static void check_unchanged(const struct weft_endpoint *ep, void *before)
{
	CHECK_MEM(ep, before, weft_endpoint_size(&ep->config));
	free(before);
}

/* Whatever state an endpoint is in: nothing is changed, and no wild pointer is followed. */
TEST(weft_endpoint_fetch__changes_nothing)
{
	struct world w = { 0 };
	struct weft_pkt pkts[8];

	hand_open(&w, 16, 16);
	for (unsigned sent = 0; sent < 2; sent++) {
		void *before = copy_of(w.end[0]);

		for (unsigned step = 0; step < 4; step++)
			weft_endpoint_fetch(w.end[0], step);
		check_unchanged(w.end[0], before);
		CHECK(send_some(&w, pkts) > 0);
	}
	world_close(&w);
}

/* Packets of all kinds, those that speak of nothing we sent included. */
TEST(weft_packet_fetch__changes_nothing)
{
	struct world w = { 0 };
	struct weft_pkt pkts[8];

	hand_open(&w, 16, 16);
	size_t n = send_some(&w, pkts);

	CHECK(n > 1);
	void *before = copy_of(w.end[0]);

	for (uint32_t psn = 0; psn < 64; psn++) {
		struct weft_pkt pkt = { .op = WEFT_OP_SACK,
			.dqpn = w.qp[0]->qpn,
			.sack = { .cack_psn = weft_psn_add(pkts[0].psn, psn) } };

		for (unsigned step = 0; step < 2; step++) {
			weft_packet_fetch(w.end[0], &pkt, step);
			weft_packet_fetch(w.end[0], &pkts[psn % n], step);
		}
	}
	check_unchanged(w.end[0], before);
	world_close(&w);
}

/* Data that is still to come, by a port that is there or is not. */
TEST(weft_packet_fetch__changes_nothing_where_data_comes)
{
	struct world w = { 0 };
	struct weft_pkt pkts[8];

	hand_open(&w, 16, 16);
	size_t n = send_some(&w, pkts);

	CHECK(n > 1);
	CHECK_EQ(pkts[0].dqpn, w.qp[1]->qpn);
	void *before = copy_of(w.end[1]);

	for (size_t i = 0; i < n; i++) {
		for (unsigned port = 0; port < 256; port++) {
			pkts[i].port = (uint8_t)port;
			for (unsigned step = 0; step < 2; step++)
				weft_packet_fetch(w.end[1], &pkts[i], step);
		}
	}
	check_unchanged(w.end[1], before);
	world_close(&w);
}
