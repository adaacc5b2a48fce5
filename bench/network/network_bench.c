/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network_bench - what a hop costs with everything around it: cable, agenda, host, hand-back.
 *
 * Eight planes of 100 Gb/s with four hosts, as in `weft demo`.  Every host fills its eight lines
 * with full frames to one other (permutation: no queues but those of chance), or three hosts fill
 * one's (crowd: its ports trim), and the network is run in strides of 20 us, as a live loop would.
 * Three hops to a frame; the time of send and take is in it.  Slots are used in turn, 4096 of them,
 * so that headers come from the second cache at best; payload is never touched.  Beside it
 * the same switch alone, in and out.  Usage: network_bench [PART-OF-A-NAME]
 */
#include "../bench.h"

#include <weft/base.h>
#include <weft/network.h>

#include <string.h>

enum {
	SLOTS = 4096,
	SLOT = 4608,
	IP_BYTES = 4224,
	STRIDE_PS = 20000000,
	STRIDES = 2,
	ALONE = 8192,
	COLD_TURNS = 8,
	COLD_BYTES = 8 << 20
};

static const char lab8[] = "name: lab8\nplanes: 8\nt0s: 2\nt1s: 2\nhosts: 4\n";
static const char many[] = "name: many\nplanes: 2\nt0s: 16\nt1s: 16\nhosts: 256\n";

static struct weft_topo *topo;
static struct weft_network *network;
static uint8_t *memory;
static uint8_t (*heads)[40]; /* by host, plane, uplink */
static uint32_t slots[SLOTS], n_slots;
static uint64_t now_ps, handles;
static struct weft_network_out outs[256];

static void must(bool good)
{
	if (good)
		return;
	fprintf(stderr, "network_bench: set-up failed\n");
	exit(1);
}

static uint8_t *head_of(uint32_t src, uint32_t plane, uint32_t uplink)
{
	const struct weft_topo_shape *s = weft_topo_shape(topo);

	return heads[(src * s->planes + plane) * s->uplinks + uplink];
}

static uint32_t dst_of(uint32_t src, bool is_crowd)
{
	const struct weft_topo_shape *s = weft_topo_shape(topo);

	return is_crowd ? 0 : (src + s->hosts / 2) % s->hosts;
}

static void make_heads(bool is_crowd)
{
	static const uint8_t start[8] = { 0x62, 0x20, 0, 0, (IP_BYTES - 40) >> 8,
		(IP_BYTES - 40) & 0xff, 59, 64 };
	const struct weft_topo_shape *s = weft_topo_shape(topo);

	heads = calloc(s->hosts * s->planes * s->uplinks, sizeof(*heads));
	must(heads);
	for (uint32_t src = is_crowd; src < s->hosts; src++) {
		uint32_t dst = dst_of(src, is_crowd);
		bool is_local = src / s->hosts_per_t0 == dst / s->hosts_per_t0;

		for (uint32_t plane = 0; plane < s->planes; plane++)
			for (uint32_t uplink = 0; uplink < s->uplinks; uplink++) {
				uint8_t *head = head_of(src, plane, uplink);

				memcpy(head, start, 8);
				must(weft_topo_usid(topo, src, dst,
					weft_ev(plane, is_local ? 0 : uplink), head + 24));
			}
	}
}

/* Both forms of a full frame. */
static void send(uint32_t src, uint32_t plane, const uint8_t *head)
{
	struct weft_frame frame = { .handle = slots[--n_slots],
		.hop_limit = 64,
		.flags = WEFT_FRAME_ECT | WEFT_FRAME_TRIMMABLE };

	if (memory) {
		memcpy(memory + frame.handle * SLOT, head, 40);
	} else {
		for (unsigned i = 28; i < 36; i++)
			frame.route = frame.route << 8 | head[i];
	}
	must(weft_network_send(network, src, plane, &frame, IP_BYTES, now_ps));
}

static void take(void)
{
	size_t n;

	while ((n = weft_network_take(network, outs, WEFT_COUNT(outs))))
		for (size_t i = 0; i < n; i++)
			slots[n_slots++] = (uint32_t)outs[i].frame.handle;
}

static void stride(bool is_crowd)
{
	const struct weft_topo_shape *s = weft_topo_shape(topo);

	for (uint32_t src = is_crowd; src < s->hosts; src++)
		for (uint32_t plane = 0; plane < s->planes; plane++)
			while (weft_network_line_free_ps(network, src, plane) <
					now_ps + STRIDE_PS &&
				n_slots)
				send(src, plane,
					head_of(src, plane,
						(uint32_t)(handles++ * 7 / 3) % s->uplinks));
	now_ps += STRIDE_PS;
	weft_network_run(network, now_ps);
	take();
}

/* What of that is the switch: h0's T0 in plane 0, in and out, nobody waits. */
static void alone(void)
{
	static double round_ns[BENCH_ROUNDS];
	struct weft_switch *sw = weft_network_switch(network, weft_topo_t0(topo, 0, 0));
	struct weft_departure departure;
	uint32_t port = 0;

	now_ps += UINT64_C(1000000000); /* until all is quiet */
	weft_network_run(network, now_ps);
	take();
	for (unsigned round = 0; round < BENCH_ROUNDS; round++) {
		double start_ns = bench_now_ns();

		for (unsigned i = 0; i < ALONE; i++) {
			struct weft_frame frame = { .handle = i % SLOTS };
			uint8_t *ip = memory + frame.handle * SLOT;

			memcpy(ip, head_of(0, 0, i & 1), 40);
			now_ps += 1000000;
			must(!weft_switch_input_bytes(sw, &frame, ip, IP_BYTES, now_ps, &port));
			must(weft_switch_take(sw, port, now_ps, &departure));
			BENCH_USE(departure);
		}
		round_ns[round] = bench_now_ns() - start_ns;
	}
	bench_print("a hop, the switch alone, bytes", round_ns, ALONE);
}

/* A dozen frames per turn, and something else in between that takes the second cache. */
static double cold_turn(void)
{
	static uint8_t others[COLD_BYTES];

	for (size_t i = 0; i < sizeof(others); i += 64)
		others[i]++;
	double start_ns = bench_now_ns();

	for (unsigned i = 0; i < 12; i++, handles++)
		send((uint32_t)(handles % 4), (uint32_t)(handles / 4 % 8),
			head_of((uint32_t)(handles % 4), (uint32_t)(handles / 4 % 8),
				(uint32_t)(handles / 32 % 2)));
	now_ps += STRIDE_PS;
	weft_network_run(network, now_ps);
	take();
	return bench_now_ns() - start_ns;
}

static void cold(void)
{
	static double round_ns[BENCH_ROUNDS];

	for (unsigned round = 0; round < BENCH_ROUNDS; round++) {
		round_ns[round] = 0;
		for (unsigned i = 0; i < COLD_TURNS; i++)
			round_ns[round] += cold_turn();
	}
	bench_print("a hop, 12 frames at a time, cold, bytes", round_ns, COLD_TURNS * 36);
}

static void run(const char *name, const char *fabric, bool is_bytes, bool is_crowd)
{
	static double round_ns[BENCH_ROUNDS];
	char error[200];

	must(!weft_topo_open_text(&topo, fabric, strlen(fabric), "bench", error, sizeof(error)));
	memory = is_bytes ? calloc(SLOTS, SLOT) : NULL;
	struct weft_network_config config = {
		.topo = topo, .memory = memory, .slot_bytes = SLOT, .frames = SLOTS
	};

	must(!weft_network_open(&network, &config, error, sizeof(error)));
	make_heads(is_crowd);
	for (n_slots = 0; n_slots < SLOTS; n_slots++)
		slots[n_slots] = SLOTS - 1 - n_slots;
	now_ps = handles = 0;
	for (unsigned round = 0; round < BENCH_ROUNDS; round++) {
		uint64_t hops = weft_network_stats(network)->hops;
		double start_ns = bench_now_ns();

		for (unsigned i = 0; i < STRIDES; i++)
			stride(is_crowd);
		round_ns[round] = (bench_now_ns() - start_ns) /
				  (double)(weft_network_stats(network)->hops - hops);
	}
	bench_print(name, round_ns, 1);
	if (is_bytes && !is_crowd) {
		alone();
		cold();
	}
	weft_network_close(network);
	weft_topo_close(topo);
	free(memory);
	free(heads);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name, *fabric;
		bool is_bytes, is_crowd;
	} rows[] = {
		{ "a hop, permutation, bytes", lab8, true, false },
		{ "a hop, permutation, structs", lab8, false, false },
		{ "a hop, crowd, bytes", lab8, true, true },
		{ "a hop, crowd, structs", lab8, false, true },
		{ "a hop, 256 hosts, structs", many, false, false },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++)
		if (argc < 2 || strstr(rows[i].name, argv[1]))
			run(rows[i].name, rows[i].fabric, rows[i].is_bytes, rows[i].is_crowd);
	return 0;
}
