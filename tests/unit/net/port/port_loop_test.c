/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <weft/loop.h>

/* 100 Gb/s: a full packet of 4096 + 88 + 38 bytes lasts 337.76, hence 338 ns. */
#define FULL_NS 338

static struct weft_loop_config plain(void)
{
	return (struct weft_loop_config){ .nodes = 3,
		.planes = 2,
		.uplinks = 4,
		.seed = 1,
		.rate_bps = UINT64_C(100000000000),
		.delay_ns = 5000 };
}

static struct weft_pkt data(uint32_t to, uint32_t ev, uint32_t psn)
{
	return (struct weft_pkt){ .peer = to,
		.ev = ev,
		.port = (uint8_t)(ev >> 16),
		.op = WEFT_OP_WRITE_MIDDLE,
		.flags = WEFT_BTH_TS,
		.psn = psn,
		.w.len_bytes = 4096 };
}

static void send_one(struct weft_loop *loop, uint32_t from, struct weft_pkt pkt)
{
	struct weft_port *port = weft_loop_port(loop, from);

	port->ops->tx(port, &pkt, 1, WEFT_WAKE_NOW);
}

static size_t receive(struct weft_loop *loop, uint32_t node, struct weft_pkt pkts[], size_t max)
{
	struct weft_port *port = weft_loop_port(loop, node);

	return port->ops->rx(port, pkts, max);
}

TEST(weft_loop_step__takes_rates_and_delay)
{
	struct weft_loop_config config = plain();
	struct weft_loop *loop = weft_loop_open(&config);
	struct weft_pkt got[4];

	send_one(loop, 0, data(1, 0, 7));
	while (weft_loop_step(loop, WEFT_NEVER))
		;
	/* Sent, carried, and sent once more by the last link. */
	CHECK_EQ(weft_loop_now(loop), 1 + 2 * FULL_NS + 5000);
	REQUIRE(receive(loop, 1, got, 4) == 1);
	CHECK_EQ(got[0].psn, 7);
	CHECK_EQ(got[0].peer, 0);
	CHECK_EQ(receive(loop, 2, got, 4), 0);
	weft_loop_close(loop);
}

TEST(weft_loop_step__keeps_a_path_in_order_and_planes_apart)
{
	struct weft_loop_config config = plain();
	struct weft_pkt got[256];
	uint32_t last[2][4] = { 0 }, swaps = 0, before = 0;

	config.spread_ns = 20000;
	struct weft_loop *loop = weft_loop_open(&config);

	for (uint32_t i = 1; i <= 200; i++)
		send_one(loop, 0, data(1, (i & 1) << 16 | (i >> 1) % 4, i));
	while (weft_loop_step(loop, WEFT_NEVER))
		;
	size_t n = receive(loop, 1, got, 256);

	CHECK_EQ(n, 200);
	for (size_t i = 0; i < n; i++) {
		uint32_t *seen = &last[got[i].ev >> 16][got[i].ev & 3];

		CHECK(got[i].psn > *seen);
		*seen = got[i].psn;
		swaps += got[i].psn < before;
		before = got[i].psn;
	}
	CHECK(swaps > 0); /* between paths there is no order */
	weft_loop_close(loop);
}

TEST(room__closes_a_port_that_is_busy)
{
	struct weft_loop_config config = plain();
	struct weft_loop *loop = weft_loop_open(&config);
	struct weft_port *port = weft_loop_port(loop, 0);
	size_t max;

	CHECK_EQ(port->ops->room(port, &max), 3);
	CHECK_EQ(max, 2);
	for (uint32_t i = 0; i < 5; i++)
		send_one(loop, 0, data(1, 1u << 16, i));
	CHECK_EQ(port->ops->room(port, &max), 1);
	CHECK_EQ(max, 1);
	weft_loop_close(loop);
}

TEST(weft_loop_fault__kills_loses_delays_as_told)
{
	struct weft_loop_config config = plain();
	struct weft_loop *loop = weft_loop_open(&config);
	struct weft_loop_fault dead = { .src = 0,
		.dst = 1,
		.plane = 1,
		.uplink = 2,
		.from_ns = 0,
		.until_ns = 50000,
		.loss_ppm = 1000000 };
	struct weft_loop_fault half = { .src = WEFT_LOOP_ANY,
		.dst = WEFT_LOOP_ANY,
		.plane = 0,
		.uplink = WEFT_LOOP_ANY,
		.until_ns = WEFT_NEVER,
		.loss_ppm = 500000 };
	struct weft_pkt got[128];

	CHECK_EQ(weft_loop_fault(loop, &dead), 0);
	send_one(loop, 0, data(1, 1u << 16 | 2, 1)); /* dead */
	send_one(loop, 0, data(1, 1u << 16 | 3, 2)); /* another path */
	send_one(loop, 0, data(2, 1u << 16 | 2, 3)); /* another destination */
	while (weft_loop_step(loop, 60000))
		;
	CHECK_EQ(receive(loop, 1, got, 4), 1);
	CHECK_EQ(got[0].psn, 2);
	CHECK_EQ(receive(loop, 2, got, 4), 1);
	CHECK_EQ(weft_loop_now(loop), 60000);
	send_one(loop, 0, data(1, 1u << 16 | 2, 4)); /* healed */
	while (weft_loop_step(loop, 100000))
		;
	CHECK_EQ(receive(loop, 1, got, 4), 1);
	CHECK_EQ(weft_loop_fault(loop, &half), 0);
	for (uint32_t i = 0; i < 128; i++)
		send_one(loop, 0, data(1, i & 3, i));
	while (weft_loop_step(loop, WEFT_NEVER))
		;
	size_t n = receive(loop, 1, got, 128);

	CHECK(n > 40 && n < 88);
	CHECK_EQ(weft_loop_stats(loop)->lost, 1 + 128 - n);
	half.loss_ppm = 1000001;
	CHECK_EQ(weft_loop_fault(loop, &half), WEFT_EINVAL);
	weft_loop_close(loop);
}

TEST(weft_loop_fault__carrier_is_seen_and_stops_both_ways)
{
	struct weft_loop_config config = plain();
	struct weft_loop *loop = weft_loop_open(&config);
	struct weft_loop_fault down = {
		.src = 1, .plane = 1, .from_ns = 10000, .until_ns = 20000, .carrier = true
	};
	struct weft_port *port = weft_loop_port(loop, 1);
	struct weft_pkt got[4];

	CHECK_EQ(weft_loop_fault(loop, &down), 0);
	CHECK_EQ(port->ops->carrier(port), 3);
	CHECK(weft_loop_step(loop, 15000));
	CHECK_EQ(weft_loop_now(loop), 10000);
	CHECK_EQ(port->ops->carrier(port), 1);
	send_one(loop, 0, data(1, 1u << 16, 1));
	send_one(loop, 1, data(0, 1u << 16, 2));
	send_one(loop, 0, data(1, 0, 3));
	while (weft_loop_step(loop, 40000))
		;
	CHECK_EQ(receive(loop, 0, got, 4), 0);
	CHECK_EQ(receive(loop, 1, got, 4), 1);
	CHECK_EQ(got[0].psn, 3);
	CHECK_EQ(port->ops->carrier(port), 3);
	weft_loop_close(loop);
}

TEST(weft_loop_step__the_last_queue_marks_then_trims_or_drops)
{
	for (int trim = 0; trim < 2; trim++) {
		struct weft_loop_config config = plain();
		struct weft_pkt got[256];
		unsigned marked = 0, trimmed = 0;

		config.ecn_min_bytes = 20000;
		config.ecn_max_bytes = 60000;
		config.queue_bytes = 100000;
		config.trim = trim;
		struct weft_loop *loop = weft_loop_open(&config);

		for (uint32_t i = 0; i < 60; i++) { /* two senders, one link */
			send_one(loop, 0, data(1, 0, i));
			send_one(loop, 2, data(1, 0, i));
		}
		while (weft_loop_step(loop, WEFT_NEVER))
			;
		size_t n = receive(loop, 1, got, 256);

		for (size_t i = 0; i < n; i++) {
			marked += got[i].mark & WEFT_MARK_CE ? 1 : 0;
			trimmed += got[i].mark & WEFT_MARK_TRIMMED_LASTHOP ? 1 : 0;
		}
		CHECK(marked > 20);
		CHECK_EQ(weft_loop_stats(loop)->marked, marked);
		CHECK_EQ(weft_loop_stats(loop)->trimmed, trimmed);
		CHECK(trim ? n == 120 && trimmed > 20 : n < 100 && !trimmed);
		CHECK_EQ(weft_loop_stats(loop)->queue_drops, 120 - n);
		weft_loop_close(loop);
	}
}

TEST(weft_loop_stats__same_seed_same_digest)
{
	uint64_t digest[3];

	for (unsigned run = 0; run < 3; run++) {
		struct weft_loop_config config = plain();
		struct weft_loop_fault loss = { .src = WEFT_LOOP_ANY,
			.dst = WEFT_LOOP_ANY,
			.plane = WEFT_LOOP_ANY,
			.uplink = WEFT_LOOP_ANY,
			.until_ns = WEFT_NEVER,
			.loss_ppm = 100000 };

		config.spread_ns = 1000;
		config.seed = run == 2 ? 2 : 1;
		struct weft_loop *loop = weft_loop_open(&config);

		CHECK_EQ(weft_loop_fault(loop, &loss), 0);
		for (uint32_t i = 0; i < 500; i++)
			send_one(loop, 0, data(1 + (i & 1), (i & 1) << 16 | (i & 3), i));
		while (weft_loop_step(loop, WEFT_NEVER))
			;
		digest[run] = weft_loop_stats(loop)->digest;
		weft_loop_close(loop);
	}
	CHECK_EQ(digest[0], digest[1]);
	CHECK(digest[0] != digest[2]);
}

TEST(weft_loop_open__refuses_the_impossible)
{
	struct weft_loop_config config = plain();

	config.planes = 33;
	CHECK(!weft_loop_open(&config));
	config = plain();
	config.nodes = 0;
	CHECK(!weft_loop_open(&config));
}

/* As behind other ports: whom one end has not been told of can neither be sent to nor be heard. */
TEST(weft_loop_peer_add__gives_a_node_another_number)
{
	struct weft_loop_config config = plain();
	struct weft_loop *loop = weft_loop_open(&config);
	struct weft_port *port[2] = { weft_loop_port(loop, 0), weft_loop_port(loop, 1) };
	struct weft_udp_peer second = { .udp_port = 2 }, first = { .udp_port = 1 };
	struct weft_pkt got[4];

	CHECK_EQ(weft_loop_peer_add(port[0], 77, &second), 0);
	CHECK_EQ(weft_loop_peer_add(port[0], 78, &second), -1);
	CHECK_EQ(weft_loop_peer_add(port[0], 77, &first), -1);
	CHECK_EQ(weft_loop_peer_add(port[1], 5, &(struct weft_udp_peer){ .udp_port = 3 }), 0);
	send_one(loop, 0, data(1, 0, 1)); /* no peer of that number */
	CHECK_EQ(port[0]->stats.tx_no_path, 1);
	send_one(loop, 0, data(77, 0, 2));
	while (weft_loop_step(loop, WEFT_NEVER))
		;
	CHECK_EQ(receive(loop, 1, got, 4), 0); /* the second does not know the first */
	CHECK_EQ(port[1]->stats.drops[WEFT_DROP_UNKNOWN_PEER], 1);
	CHECK_EQ(weft_loop_peer_add(port[1], 9, &first), 0);
	send_one(loop, 0, data(77, 0, 3));
	while (weft_loop_step(loop, WEFT_NEVER))
		;
	REQUIRE(receive(loop, 1, got, 4) == 1);
	CHECK_EQ(got[0].peer, 9);
	weft_loop_peer_drop(port[0], 77);
	CHECK_EQ(weft_loop_peer_add(port[0], 3, &second), 0);
	weft_loop_close(loop);
}

struct runner {
	const struct weft_loop *loop;
	uint64_t at_ns[8];
	uint32_t n;
};

static uint64_t run_at(void *arg)
{
	struct runner *r = arg;

	r->at_ns[r->n++] = weft_loop_now(r->loop);
	return r->n < 4 ? weft_loop_now(r->loop) + 100 : WEFT_NEVER;
}

TEST(weft_loop_attach_run__calls_when_asked_and_when_something_comes)
{
	struct weft_loop_config config = plain();
	struct weft_loop *loop = weft_loop_open(&config);
	struct runner r = { .loop = loop };

	weft_loop_attach_run(loop, 1, run_at, &r);
	send_one(loop, 0, data(1, 0, 7));
	while (weft_loop_step(loop, WEFT_NEVER))
		;
	CHECK_EQ(r.n, 5);
	CHECK_EQ(r.at_ns[3], 301);
	CHECK_EQ(r.at_ns[4], 1 + 2 * FULL_NS + 5000);
	weft_loop_kick(loop, 1);
	while (weft_loop_step(loop, WEFT_NEVER))
		;
	CHECK_EQ(r.n, 6);
	weft_loop_attach_run(loop, 1, NULL, NULL);
	weft_loop_kick(loop, 1);
	CHECK(!weft_loop_step(loop, WEFT_NEVER));
	weft_loop_close(loop);
}
