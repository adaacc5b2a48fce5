/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst - the engine as the datapath of a user-space driver: bursts of frames, one thread, no wait.
 *
 * The loop that programs for DPDK have: take a burst from each receive queue, give it to the
 * engine, move the bytes, ask for what may leave, put it on the transmit queue.  rx_burst() and
 * tx_burst() stand for rte_eth_rx_burst() and rte_eth_tx_burst(): here they are two rings in
 * memory, one per plane and way, and time is the machine's.  Host 0 writes 64 MiB to host 1.
 *
 *   cc -O2 burst.c $(pkg-config --cflags --libs weft) -o burst && ./burst
 */
#include <weft/engine.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "frame.h"

enum { PLANES = 2, BURST = 32, RING = 256, BYTES = 64 << 20, MTU = 4096 };
#define CHECK(expr) ((expr) ? (void)0 : (printf("line %d: %s\n", __LINE__, #expr), exit(1)))

struct mbuf {
	size_t bytes;
	uint8_t frame[FRAME_BYTES];
};

struct queue {
	struct mbuf mbufs[RING];
	uint32_t head, tail; /* free running */
};

struct host {
	struct weft_endpoint *ep;
	struct queue *rx[PLANES], *tx[PLANES];
	struct weft_qp *qp;
	uint8_t *memory;
	uint32_t rkey, set, qpn;
	int done;
};

static struct queue queues[2][PLANES]; /* by the host that receives */
static struct host hosts[2];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint32_t rx_burst(struct queue *q, struct mbuf *mbufs[], uint32_t max)
{
	uint32_t n = 0;

	for (; n < max && q->head + n != q->tail; n++)
		mbufs[n] = &q->mbufs[(q->head + n) % RING];
	return n;
}

static uint32_t tx_room(const struct queue *q)
{
	return RING - (q->tail - q->head);
}

/* Everything that has come, a burst per plane. */
static void receive(uint32_t self)
{
	struct host *h = &hosts[self];

	for (uint32_t port = 0; port < PLANES; port++) {
		struct weft_place places[BURST];
		struct weft_pkt pkts[BURST];
		struct mbuf *mbufs[BURST];
		uint32_t n = rx_burst(h->rx[port], mbufs, BURST), good = 0;

		for (uint32_t i = 0; i < n; i++)
			good += frame_get(port, mbufs[i]->frame, mbufs[i]->bytes, &pkts[good]);
		weft_input(h->ep, pkts, good, now_ns(), places);
		for (uint32_t i = 0; i < good; i++) {
			if (places[i].len_bytes)
				memcpy(places[i].to, places[i].from, places[i].len_bytes);
		}
		h->rx[port]->head += n; /* only now may the mbufs be used again */
	}
}

/* Everything that may leave: by queues that have room for a whole burst. */
static void transmit(uint32_t self)
{
	struct host *h = &hosts[self];
	struct weft_pkt pkts[BURST];
	uint32_t free = 0;

	for (uint32_t port = 0; port < PLANES; port++)
		free |= (uint32_t)(tx_room(h->tx[port]) >= BURST) << port;
	size_t n = weft_output(h->ep, pkts, BURST, free, now_ns());

	for (size_t i = 0; i < n; i++) {
		struct queue *q = h->tx[pkts[i].port];
		struct mbuf *mbuf = &q->mbufs[q->tail++ % RING];

		mbuf->bytes = frame_put(self, &pkts[i], mbuf->frame);
	}
}

static void open_host(uint32_t self)
{
	struct host *h = &hosts[self];
	uint32_t evs[PLANES] = { 0, 1 << 16 }; /* one path per plane */
	uint8_t ports[PLANES] = { 0, 1 };
	struct weft_pathset_attr set = { .peer = !self, .evs = evs, .ports = ports, .n = PLANES };
	struct weft_qp_attr attr = { .pd = 1, .cc = &weft_cc_nscc };
	struct weft_qp_info info;
	struct weft_config config;

	weft_config_default(&config);
	config.ports = PLANES;
	config.base_rtt_ns = 100000; /* what this loop takes */
	config.mtu_bytes = MTU;
	config.seed = self + 1;
	void *block = aligned_alloc(64, weft_endpoint_size(&config));

	CHECK(block && !weft_endpoint_init(&h->ep, block, &config));
	h->memory = calloc(1, BYTES);
	CHECK(!weft_region_add(
		h->ep, 0, h->memory, BYTES, 1, WEFT_ACCESS_REMOTE_WRITE, 7 + self, &h->rkey));
	(void)weft_output(h->ep, NULL, 0, 0, now_ns()); /* tells it the time */
	CHECK(!weft_pathset_open(h->ep, &set, &h->set));
	attr.cc_config.rate_bps = 20000000000;
	attr.cc_config.mtu_bytes = weft_nominal_bytes(MTU);
	attr.cc_config.base_rtt_ns = config.base_rtt_ns;
	CHECK(!weft_qp_open(h->ep, &attr, &h->qp));
	weft_qp_info(h->qp, &info);
	h->qpn = info.qpn;
	for (uint32_t port = 0; port < PLANES; port++) {
		h->rx[port] = &queues[self][port];
		h->tx[port] = &queues[!self][port];
	}
}

static void connect_host(uint32_t self)
{
	struct weft_qp_attr attr = { .peer = !self,
		.peer_qpn = hosts[!self].qpn,
		.pathset = hosts[self].set,
		.mpr_rx_psns = 256,
		.mpr_tx_psns = 256,
		.timeout_exp = 14, /* 16 ms */
		.linear_count = 7,
		.retry_count = 7 };

	CHECK(!weft_qp_move(hosts[self].qp, WEFT_QP_RTR, &attr, now_ns()));
	CHECK(!weft_qp_move(hosts[self].qp, WEFT_QP_RTS, &attr, now_ns()));
}

int main(void)
{
	struct weft_work work = { .len_bytes = BYTES };
	struct weft_done done;

	for (uint32_t i = 0; i < 2; i++)
		open_host(i);
	for (uint32_t i = 0; i < 2; i++)
		connect_host(i);
	for (uint32_t i = 0; i < BYTES; i++)
		hosts[0].memory[i] = (uint8_t)(i * 2654435761u >> 13);
	work.data = hosts[0].memory;
	work.rkey = hosts[1].rkey;
	uint64_t began_ns = now_ns();

	CHECK(!weft_post_write(hosts[0].qp, &work));
	while (!weft_poll(hosts[0].ep, 0, &done, 1)) {
		for (uint32_t i = 0; i < 2; i++) {
			receive(i);
			transmit(i);
		}
		CHECK(now_ns() - began_ns < 60000000000);
	}
	CHECK(done.status == WEFT_OK && !memcmp(hosts[0].memory, hosts[1].memory, BYTES));
	printf("%d MiB in bursts over %d planes, every byte in its place\n", BYTES >> 20, PLANES);
	return 0;
}
