/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the protocol costs: two endpoints back to back in memory, everything switched on.
 *
 * 8 planes, 256 EVs, NSCC, SACKs at their default threshold, counters and events; 300 packets
 * under way in each group, reordered inside groups of eight.  One thread plays sender, receiver
 * and network, so a figure is the sum of both ends and their share of acknowledgements.
 * Payload is not copied: that is the memory system's cost, not the protocol's.
 *
 * `engine_bench N` moves N packets once and says nothing else: for callgrind.
 */
#include "../bench.h"

#include <weft/base.h>
#include <weft/engine.h>

#include <string.h>

enum { BATCH = 32, FLIGHT = 512, DELAY_PKTS = 288, MESSAGE_BYTES = 1 << 20,
       ROUND_PKTS = 32768 };

struct lane { /* what is under way in one direction: a ring, so that it costs nothing */
	struct weft_pkt pkt[FLIGHT];
	size_t head, tail;
};

struct bench {
	struct weft_endpoint *end[2];
	struct weft_qp *qp[2];
	struct lane lane[2];
	uint32_t rkey;
	uint64_t now, delivered;
	uint8_t *memory;
	unsigned burst; /* packets per weft_input() */
};

static void fail(const char *what)
{
	fprintf(stderr, "engine_bench: %s\n", what);
	exit(1);
}

static void must(int error)
{
	if (error)
		fail("set-up failed");
}

static void connect_both(struct bench *b, uint32_t paths)
{
	uint32_t evs[512], set[2];
	uint8_t ports[512];

	for (uint32_t i = 0; i < paths; i++) {
		ports[i] = (uint8_t)(i % 8);
		evs[i] = (i % 8) << 11 | i / 8;
	}
	for (int i = 0; i < 2; i++) {
		struct weft_pathset_attr attr = { .peer = 1, .evs = evs, .ports = ports,
						  .n = paths };
		struct weft_qp_attr qp = { .cc = &weft_cc_nscc,
					   .cc_config = { .rate_bps = 800000000000 } };

		must(weft_pathset_open(b->end[i], &attr, &set[i]));
		must(weft_qp_open(b->end[i], &qp, &b->qp[i]));
	}
	must(weft_region_add(b->end[1], 0, b->memory, MESSAGE_BYTES, 0, WEFT_ACCESS_REMOTE_WRITE,
			     0x5eed5eed, &b->rkey));
	for (int i = 0; i < 2; i++) {
		struct weft_qp_info other;

		weft_qp_info(b->qp[!i], &other);
		struct weft_qp_attr attr = {
			.peer = 1, .peer_qpn = other.qpn, .pathset = set[i],
			.mpr_rx_psns = 1024, .mpr_tx_psns = 1024, .wimm_rx = 32, .wimm_tx = 32,
			.timeout_exp = 8, .linear_count = 7, .retry_count = 25,
		};
		must(weft_qp_move(b->qp[i], WEFT_QP_RTR, &attr, b->now));
		must(weft_qp_move(b->qp[i], WEFT_QP_RTS, &attr, b->now));
	}
}

static void open_bench(struct bench *b)
{
	struct weft_config config;

	weft_config_default(&config);
	config.qps = 16;
	config.pathsets = 16;
	b->now = 1000;
	b->memory = calloc(1, MESSAGE_BYTES);
	for (int i = 0; i < 2; i++) {
		size_t size = weft_endpoint_size(&config);
		void *block = aligned_alloc(64, WEFT_ALIGN_UP(size, (size_t)4096));

		config.seed = 7 + (uint64_t)i;
		must(!block || weft_endpoint_init(&b->end[i], block, &config));
	}
	connect_both(b, 256);
}

/* Room for the next burst, in one piece. */
static size_t room(const struct lane *lane)
{
	size_t free_pkts = FLIGHT - (lane->tail - lane->head);
	size_t to_end = FLIGHT - lane->tail % FLIGHT;

	return WEFT_MIN(WEFT_MIN(free_pkts, to_end), (size_t)BATCH);
}

static size_t emit(struct bench *b, int from)
{
	struct lane *lane = &b->lane[from];
	size_t n = weft_output(b->end[from], &lane->pkt[lane->tail % FLIGHT], room(lane), 0xff,
			       b->now);

	lane->tail += n;
	return n;
}

/* Hands over the oldest once more than `keep` are under way; spraying reorders them. */
static void deliver(struct bench *b, int from, size_t keep)
{
	struct lane *lane = &b->lane[from];
	struct weft_place places[BATCH];

	while (lane->tail - lane->head > keep) {
		struct weft_pkt *pkts = &lane->pkt[lane->head % FLIGHT];
		size_t n = lane->tail - lane->head - keep;

		n = WEFT_MIN(n, FLIGHT - lane->head % FLIGHT);
		n = WEFT_MIN(n, (size_t)b->burst);
		for (size_t i = 0; i + 8 <= n; i += 8) {
			struct weft_pkt swap = pkts[i + 1];

			pkts[i + 1] = pkts[i + 6];
			pkts[i + 6] = swap;
		}
		weft_input(b->end[!from], pkts, n, b->now, places);
		lane->head += n;
		if (!from)
			b->delivered += n;
		if (!from && b->burst < BATCH)
			emit(b, 1); /* small bursts: answers are not merged either */
	}
}

static void post(struct bench *b)
{
	struct weft_done done[16];
	struct weft_work work = { .len_bytes = MESSAGE_BYTES, .rkey = b->rkey, .data = b->memory };

	while (weft_post_write(b->qp[0], &work) == 0)
		;
	while (weft_poll(b->end[0], 0, done, 16))
		;
}

static void run(struct bench *b, uint64_t packets)
{
	uint64_t goal = b->delivered + packets;

	while (b->delivered < goal) {
		post(b);
		size_t n = emit(b, 0);

		b->now += 41 * BATCH;
		deliver(b, 0, n ? DELAY_PKTS : 0);
		emit(b, 1);
		deliver(b, 1, 0);
	}
}

static void measure(struct bench *b, const char *name, unsigned burst)
{
	static double round_ns[BENCH_ROUNDS];
	const struct weft_counters *tx = weft_stats(b->end[0]), *rx = weft_stats(b->end[1]);
	uint64_t pkts = tx->tx_data_pkts, sacks = rx->tx_sack;

	b->burst = burst;
	for (int i = 0; i < BENCH_ROUNDS; i++) {
		double start_ns = bench_now_ns();

		run(b, ROUND_PKTS);
		round_ns[i] = bench_now_ns() - start_ns;
	}
	bench_print(name, round_ns, ROUND_PKTS);
	printf("    %.1f packets per SACK, %lu retransmissions\n",
	       (double)(tx->tx_data_pkts - pkts) / (double)(rx->tx_sack - sacks),
	       (unsigned long)tx->tx_rtx_pkts);
}

int main(int argc, char **argv)
{
	static struct bench b = { .burst = BATCH };

	open_bench(&b);
	run(&b, 100000);
	if (argc > 1) {
		run(&b, strtoull(argv[1], NULL, 10));
		return 0;
	}
	measure(&b, "engine, both ends and acks, bursts of 32", BATCH);
	measure(&b, "the same, bursts of 4: a SACK each 16 KiB", 4);
	return 0;
}
