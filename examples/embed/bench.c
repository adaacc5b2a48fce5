/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench - the engine as the other end of a NIC's test bench: bytes in, bytes out, virtual time.
 *
 *   device under test --frames--> bench_in(now)            bench_out(now) --frames--> device
 *                                            bench_next_ps()
 *
 * These three are what a simulator of hardware (Verilator, cocotb) calls; the engine behind them
 * answers as an MRC peer does.  Nothing here is a device: a second bench stands in for it, and the
 * wire between them drops every 97th frame and turns a bit in every 53rd, which the ICRC must find.
 * With a file's name all frames are written to it for Wireshark.
 *
 *   cc -O2 bench.c $(pkg-config --cflags --libs weft) -o bench && ./bench bench.pcap
 */
#include <weft/nic.h>
#include <weft/nic_mrc.h>

#include <stdio.h>
#include <stdlib.h>

#include "frame.h"

enum { PLANES = 2, BYTES = 1 << 20, WIRE = 4096 };
#define CHECK(expr) ((expr) ? (void)0 : (printf("line %d: %s\n", __LINE__, #expr), exit(1)))
#define PLANE_BPS UINT64_C(100000000000)
#define CABLE_PS UINT64_C(500000)

struct bench {
	struct weft_endpoint *ep;
	struct weft_nic nic;
	uint64_t free_ps[PLANES];
	struct weft_qp *qp;
	uint32_t self, qpn, rkey, set;
	uint8_t *memory;
	uint32_t refused; /* frames that are not MRC, or broken */
};

/* ---- the bench ---- */

/* A frame that the device has sent, all of it here at now_ps. */
static void bench_in(struct bench *b, uint32_t port, const uint8_t *frame, size_t bytes,
	uint64_t now_ps)
{
	struct weft_place place;
	struct weft_pkt pkt;

	if (!frame_get(port, frame, bytes, &pkt)) {
		b->refused++;
		return;
	}
	weft_nic_input(&b->nic, &pkt, now_ps, &place);
	if (place.len_bytes)
		memcpy(place.to, place.from, place.len_bytes);
}

/* A frame for the device, which begins at now_ps on *port; 0: none, until something changes. */
static size_t bench_out(struct bench *b, uint32_t *port, uint8_t *frame, uint64_t now_ps)
{
	struct weft_pkt pkt;

	if (!weft_nic_output(&b->nic, &pkt, now_ps))
		return 0;
	size_t bytes = frame_put(b->self, &pkt, frame);

	*port = pkt.port;
	b->free_ps[pkt.port] =
		now_ps + (bytes + WEFT_FRAME_GAP_BYTES) * UINT64_C(8000000000000) / PLANE_BPS;
	return bytes;
}

/* When to ask bench_out() again, if nothing comes before; WEFT_NEVER: not at all. */
static uint64_t bench_next_ps(const struct bench *b, uint64_t now_ps)
{
	return weft_nic_next_ps(&b->nic, now_ps);
}

static void bench_open(struct bench *b, uint32_t self, uint64_t now_ps)
{
	uint32_t evs[4] = { 0, 1 << 16, 1, 1 << 16 | 1 }; /* two paths per plane */
	uint8_t ports[4] = { 0, 1, 0, 1 };
	struct weft_pathset_attr set = { .peer = !self, .evs = evs, .ports = ports, .n = 4 };
	struct weft_qp_attr attr = { .pd = 1, .cc = &weft_cc_nscc };
	struct weft_qp_info info;
	struct weft_config config;

	weft_config_default(&config);
	config.ports = PLANES;
	config.base_rtt_ns = 2000;
	config.seed = self + 1;
	void *block = aligned_alloc(64, weft_endpoint_size(&config));

	CHECK(block && !weft_endpoint_init(&b->ep, block, &config));
	(void)weft_output(b->ep, NULL, 0, 0, now_ps / 1000); /* tells it the time */
	b->nic = (struct weft_nic){ &weft_transport_mrc, b->ep, b->free_ps, PLANES, 0 };
	b->self = self;
	b->memory = calloc(1, BYTES);
	CHECK(!weft_region_add(
		b->ep, 0, b->memory, BYTES, 1, WEFT_ACCESS_REMOTE_WRITE, 7 + self, &b->rkey));
	CHECK(!weft_pathset_open(b->ep, &set, &b->set));
	attr.cc_config.rate_bps = PLANES * PLANE_BPS;
	attr.cc_config.mtu_bytes = weft_nominal_bytes(config.mtu_bytes);
	attr.cc_config.base_rtt_ns = config.base_rtt_ns;
	CHECK(!weft_qp_open(b->ep, &attr, &b->qp));
	weft_qp_info(b->qp, &info);
	b->qpn = info.qpn;
}

/* qpn, and the first PSNs, which are 0 here: what the device was told out of band. */
static void bench_connect(struct bench *b, uint32_t peer_qpn, uint64_t now_ps)
{
	struct weft_qp_attr attr = { .peer = !b->self,
		.peer_qpn = peer_qpn,
		.pathset = b->set,
		.mpr_rx_psns = 1024,
		.mpr_tx_psns = 1024,
		.timeout_exp = 6,
		.linear_count = 7,
		.retry_count = 7 };

	CHECK(!weft_qp_move(b->qp, WEFT_QP_RTR, &attr, now_ps / 1000));
	CHECK(!weft_qp_move(b->qp, WEFT_QP_RTS, &attr, now_ps / 1000));
}

/* ---- the wire: every plane and way keeps its order, so the earliest is found by looking ---- */

static struct flight {
	uint64_t at_ps; /* when all of it is there; 0: nothing is here */
	uint32_t to, port;
	size_t bytes;
	uint8_t frame[FRAME_BYTES];
} wire[WIRE];
static uint32_t n_sent, n_dropped, n_spoilt;
static FILE *pcap;

static void record(const struct flight *f, uint64_t now_ps)
{
	uint32_t head[4] = { (uint32_t)(now_ps / 1000000000000), /* s, ns */
		(uint32_t)(now_ps / 1000 % 1000000000), (uint32_t)f->bytes, (uint32_t)f->bytes };

	if (pcap)
		CHECK(fwrite(head, sizeof(head), 1, pcap) && fwrite(f->frame, f->bytes, 1, pcap));
}

static void send_all(struct bench *b, uint64_t now_ps)
{
	struct flight f;

	while ((f.bytes = bench_out(b, &f.port, f.frame, now_ps))) {
		uint32_t i = 0;

		f.to = !b->self;
		f.at_ps = b->free_ps[f.port] + CABLE_PS;
		record(&f, now_ps);
		n_sent++;
		if (n_sent % 97 == 0) {
			n_dropped++;
			continue;
		}
		if (n_sent % 53 == 0) {
			f.frame[f.bytes - 20] ^= 4;
			n_spoilt++;
		}
		while (wire[i].at_ps)
			CHECK(++i < WIRE);
		wire[i] = f;
	}
}

static struct flight *earliest(void)
{
	struct flight *first = NULL;

	for (uint32_t i = 0; i < WIRE; i++) {
		if (wire[i].at_ps && (!first || wire[i].at_ps < first->at_ps))
			first = &wire[i];
	}
	return first;
}

int main(int argc, char **argv)
{
	static const uint32_t head[6] = { 0xa1b23c4d, 4 << 16 | 2, 0, 0, 65535, 1 }; /* in ns */
	static struct bench ends[2]; /* [0]: in the place of the device */
	struct weft_work work = { .len_bytes = BYTES };
	uint64_t now_ps = 1000;
	struct weft_done done;

	if (argc > 1)
		CHECK((pcap = fopen(argv[1], "wb")) && fwrite(head, sizeof(head), 1, pcap));
	for (uint32_t i = 0; i < 2; i++)
		bench_open(&ends[i], i, now_ps);
	for (uint32_t i = 0; i < 2; i++)
		bench_connect(&ends[i], ends[!i].qpn, now_ps);
	for (uint32_t i = 0; i < BYTES; i++)
		ends[0].memory[i] = (uint8_t)(i * 2654435761u >> 13);
	work.data = ends[0].memory;
	work.rkey = ends[1].rkey;
	CHECK(!weft_post_write(ends[0].qp, &work));
	while (!weft_poll(ends[0].ep, 0, &done, 1)) {
		uint64_t next_ps = WEFT_NEVER;

		for (uint32_t i = 0; i < 2; i++) {
			send_all(&ends[i], now_ps);
			uint64_t at_ps = bench_next_ps(&ends[i], now_ps);

			next_ps = at_ps < next_ps ? at_ps : next_ps;
		}
		struct flight *f = earliest();

		now_ps = f && f->at_ps < next_ps ? f->at_ps : next_ps;
		CHECK(now_ps < 1000000000000); /* a second */
		if (f && f->at_ps == now_ps) {
			bench_in(&ends[f->to], f->port, f->frame, f->bytes, now_ps);
			f->at_ps = 0;
		}
	}
	CHECK(done.status == WEFT_OK && !memcmp(ends[0].memory, ends[1].memory, BYTES));
	CHECK(ends[0].refused + ends[1].refused == n_spoilt);
	CHECK(!pcap || !fclose(pcap));
	printf("1 MiB in %.1f us: %u frames, %u dropped, %u spoilt and refused\n",
		(double)now_ps / 1e6, (unsigned)n_sent, (unsigned)n_dropped, (unsigned)n_spoilt);
	return 0;
}
