/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PAIR_H
#define PAIR_H
/*
 * pair - the program in the kernel and the switch of src/fabric/switch side by side, with the same
 * tables, fed with the same bytes at the same times (BPF_PROG_TEST_RUN; the program's clock is
 * ours).
 *
 *   port 0 .. 6  cabled      7  not      uSID 0x8000, 0x8001      own (uN)
 *   uSID 1 .. 8      port 0 .. 7         uSID 0xe001 .. 0xe008    link (uA) of port 0 .. 7
 *   uSID 0x0100      hash of all         uSID 0x0101              field (shift 3) of 2 .. 7
 *   uSID 0x0200      a hole at port 1
 *   fd00:0:1::/48    hash of all         fd00:0:2:3::/64  port 2  fd00:0:1::5/128  port 3
 */
#include "../net/netns.h"
#include "xdp_local.h"

#include <bpf/bpf.h>
#include <errno.h>

enum {
	PAIR_PORTS = 8,
	PAIR_POOL = 4096,
	PAIR_SIDS = 32,
	PAIR_OWN = 0x8000,
	FRAME_MAX = 16384,
	ETHER = WEFT_FRAME_ETHER_BYTES,
	LO_IFINDEX = 1, /* all ports are the same interface; MACs tell them apart */
};

struct pair {
	enum weft_xdp_hook hook;
	uint32_t mtu_bytes;
	uint64_t rate_bps;
	struct weft_port_profile profile;
	struct weft_xdp *xdp;
	struct weft_switch *sw;
	void *block;
	struct weft_frame_pool pool;
	struct weft_frame frames[PAIR_POOL];
	uint64_t now_ns;
	uint64_t in, sent; /* frames */
};

static inline void pair_add(struct pair *pair, uint16_t sid, struct weft_hop hop)
{
	CHECK(weft_switch_sid_add(pair->sw, sid, &hop));
	CHECK(weft_xdp_sid_add(pair->xdp, sid, &hop));
}

static inline void pair_add_prefix(
	struct pair *pair, const uint8_t prefix[16], uint32_t bits, struct weft_hop hop)
{
	CHECK(weft_switch_prefix_add(pair->sw, prefix, bits, &hop));
	CHECK(weft_xdp_prefix_add(pair->xdp, prefix, bits, &hop));
}

static inline void pair_tables(struct pair *pair)
{
	const uint8_t all[16] = { 0xfd, [5] = 1 }, some[16] = { 0xfd, [5] = 2, [7] = 3 },
		      one[16] = { 0xfd, [5] = 1, [15] = 5 };
	struct weft_hop hash = { .kind = WEFT_HOP_HASH, .ports = PAIR_PORTS };

	pair_add(pair, PAIR_OWN, (struct weft_hop){ .kind = WEFT_HOP_UN });
	pair_add(pair, PAIR_OWN + 1, (struct weft_hop){ .kind = WEFT_HOP_UN });
	for (uint16_t i = 0; i < PAIR_PORTS; i++) {
		pair_add(pair, (uint16_t)(1 + i),
			(struct weft_hop){ .kind = WEFT_HOP_PORT, .port = i });
		pair_add(pair, (uint16_t)(0xe001 + i),
			(struct weft_hop){ .kind = WEFT_HOP_UA, .port = i });
	}
	pair_add(pair, 0x0100, hash);
	pair_add(pair, 0x0101,
		(struct weft_hop){ .kind = WEFT_HOP_FIELD, .shift = 3, .port = 2, .ports = 6 });
	pair_add(pair, 0x0200, (struct weft_hop){ .kind = WEFT_HOP_PORT, .port = 1 });
	CHECK(weft_switch_sid_hole(pair->sw, 0x0200, true));
	CHECK(weft_xdp_sid_hole(pair->xdp, 0x0200, true));
	pair_add_prefix(pair, all, 48, hash);
	pair_add_prefix(pair, some, 64, (struct weft_hop){ .kind = WEFT_HOP_PORT, .port = 2 });
	pair_add_prefix(pair, one, 128, (struct weft_hop){ .kind = WEFT_HOP_PORT, .port = 3 });
}

static inline struct weft_xdp_port pair_port(const struct pair *pair, uint32_t port)
{
	return (struct weft_xdp_port){ .ifindex = LO_IFINDEX,
		.mac = { 2, 0x51, 0, 0, 0, (uint8_t)port },
		.peer_mac = { 2, 0x57, 0, 0, 0, (uint8_t)port },
		.rate_bps = pair->rate_bps,
		.profile = &pair->profile };
}

/* mtu_bytes 0: 9000; rate_bps 0: 100 Gb/s; profile all 0: thresholds far away. */
static inline void pair_open(struct pair *pair)
{
	char error[200] = "";

	netns_enter();
	pair->mtu_bytes = pair->mtu_bytes ? pair->mtu_bytes : 9000;
	pair->rate_bps = pair->rate_bps ? pair->rate_bps : UINT64_C(100000000000);
	if (!pair->profile.trim_to_bytes)
		weft_port_profile_fill(&pair->profile, WEFT_DISCIPLINE_TRIM, false, 10000000, 0);
	pair->now_ns = 1000000;
	weft_frame_pool_init(&pair->pool, pair->frames, PAIR_POOL);
	struct weft_switch_config config = { .ports = PAIR_PORTS,
		.sids = PAIR_SIDS,
		.prefixes = 8,
		.block = 0xfcbbbb00,
		.mtu_bytes = pair->mtu_bytes,
		.seed = 7,
		.dscp = WEFT_DSCP_DEFAULT,
		.profiles = &pair->profile,
		.n_profiles = 1,
		.pool = &pair->pool };
	struct weft_xdp_config xdp_config = { .hook = pair->hook,
		.ports = PAIR_PORTS,
		.sids = PAIR_SIDS,
		.prefixes = 8,
		.block = config.block,
		.mtu_bytes = config.mtu_bytes,
		.seed = config.seed,
		.dscp = config.dscp,
		.has_test_clock = true };
	size_t size = weft_switch_size(&config);

	REQUIRE(size);
	pair->block = aligned_alloc(64, WEFT_ALIGN_UP(size, (size_t)64));
	REQUIRE(weft_switch_init(&pair->sw, pair->block, &config));
	if (weft_xdp_open(&pair->xdp, &xdp_config, error, sizeof(error)))
		SKIP(error);
	for (uint32_t i = 0; i < PAIR_PORTS - 1; i++) {
		struct weft_xdp_port port = pair_port(pair, i);

		CHECK(weft_switch_port_set(pair->sw, i, pair->rate_bps, 0));
		CHECK_EQ(weft_xdp_port_set(pair->xdp, i, &port, error, sizeof(error)), 0);
	}
	pair_tables(pair);
}

static inline void pair_close(struct pair *pair)
{
	weft_xdp_close(pair->xdp);
	free(pair->block);
	memset(pair, 0, sizeof(*pair));
}

/* What the program does with a frame; REDIRECT is told by true, and *bytes is the new length. */
static inline bool pair_run(
	struct pair *pair, uint32_t in_port, const uint8_t *frame, uint8_t *out, size_t *bytes)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = (uint32_t)*bytes,
		.data_out = out, .data_size_out = FRAME_MAX, .repeat = 1);
	bool is_driver = pair->hook == WEFT_XDP_AT_DRIVER;

	pair->xdp->state->in_ports[LO_IFINDEX] = (uint16_t)in_port;
	weft_xdp_test_clock(pair->xdp, pair->now_ns);
	int code = bpf_prog_test_run_opts(weft_xdp_program(pair->xdp), &opts);

	CHECK_EQ(code, 0);
	*bytes = opts.data_size_out;
	CHECK_EQ(opts.retval & ~5u, is_driver ? 0 : 2); /* 1 DROP, 4 REDIRECT; 2 SHOT, 7 REDIRECT */
	return opts.retval == (is_driver ? 4 : 7);
}

static inline void pair_drain(struct pair *pair)
{
	for (uint32_t port = 0; port < PAIR_PORTS; port++) {
		struct weft_departure departure;

		while (weft_switch_take(pair->sw, port, pair->now_ns * 1000, &departure))
			continue;
	}
}

/* One frame (from its Ethernet header on) through both: same fate, same port, same bytes. */
static inline enum weft_switch_drop pair_feed(
	struct pair *pair, uint32_t in_port, const uint8_t *frame, size_t n)
{
	static uint8_t soft[FRAME_MAX], out[FRAME_MAX];
	struct weft_frame f = { .in_port = (uint16_t)in_port };
	uint32_t port = 99;
	size_t bytes = n;

	REQUIRE(n <= FRAME_MAX && n >= ETHER);
	memcpy(soft, frame, n);
	enum weft_switch_drop why = weft_switch_input_bytes(
		pair->sw, &f, soft + ETHER, n - ETHER, pair->now_ns * 1000, &port);
	uint64_t dropped = why ? weft_xdp_drops(pair->xdp, why) : 0;
	bool is_sent = pair_run(pair, in_port, frame, out, &bytes);

	pair->in++;
	pair->sent += is_sent;
	CHECK_EQ(is_sent, why == WEFT_SWITCH_DROP_NONE);
	if (why)
		CHECK_EQ(weft_xdp_drops(pair->xdp, why), dropped + 1);
	if (is_sent && !why) {
		CHECK_EQ(bytes, f.bytes);
		CHECK_EQ(out[0], 2);
		CHECK_EQ(out[1], 0x57);
		CHECK_EQ(out[5], port);
		CHECK_EQ(out[7], 0x51);
		CHECK_EQ(out[11], port);
		CHECK_MEM(out + 12, soft + 12, WEFT_MIN(bytes, (size_t)f.bytes) - 12);
	}
	pair->now_ns += 1000000; /* nothing waits then */
	pair_drain(pair);
	return why;
}

/* All that both count; depths are different by nature. */
static inline void pair_check_counters(struct pair *pair)
{
	for (uint32_t port = 0; port < PAIR_PORTS; port++) {
		const struct weft_port_counters *want = weft_switch_port_counters(pair->sw, port);
		struct weft_port_counters got;

		weft_xdp_port_counters(pair->xdp, port, &got);
		for (unsigned i = 0; weft_port_counter_name(i); i++)
			CHECK_EQ(
				weft_port_counter_value(&got, i), weft_port_counter_value(want, i));
		for (unsigned q = 0; q < WEFT_QUEUES; q++) {
			got.queue[q].watermark = want->queue[q].watermark;
			for (unsigned i = 0; weft_queue_counter_name(i); i++)
				CHECK_EQ(weft_queue_counter_value(&got.queue[q], i),
					weft_queue_counter_value(&want->queue[q], i));
		}
	}
	for (unsigned i = 0; i < WEFT_SWITCH_DROP_COUNT; i++)
		CHECK_EQ(weft_xdp_drops(pair->xdp, (enum weft_switch_drop)i),
			weft_switch_drops(pair->sw, (enum weft_switch_drop)i));
	for (uint32_t sid = 1; sid < 65536; sid++)
		CHECK_EQ(weft_xdp_sid_pkts(pair->xdp, (uint16_t)sid),
			weft_switch_sid_pkts(pair->sw, (uint16_t)sid));
}

/* ---- frames ---- */

enum { TCLASS_DATA = 8 << 2 | 2, TCLASS_CONTROL = 46 << 2 };

/* IPv6 in Ethernet to fcbb:bb00:[usids], hop limit 64, `bytes` in all; payload 40, 41, ... */
static inline void pair_frame(
	uint8_t *frame, size_t bytes, const uint16_t usids[6], uint8_t tclass, uint8_t next)
{
	uint8_t *ip = frame + ETHER;

	for (size_t i = 0; i < bytes; i++)
		frame[i] = (uint8_t)(i - ETHER);
	memset(frame, 0x11, 12);
	frame[12] = 0x86;
	frame[13] = 0xdd;
	memset(ip, 0, 40);
	ip[0] = (uint8_t)(0x60 | tclass >> 4);
	ip[1] = (uint8_t)(tclass << 4);
	ip[4] = (uint8_t)((bytes - ETHER - 40) >> 8);
	ip[5] = (uint8_t)(bytes - ETHER - 40);
	ip[6] = next;
	ip[7] = 64;
	ip[8] = 0xfd;
	ip[23] = 1;
	ip[24] = 0xfc;
	ip[25] = ip[26] = 0xbb;
	for (unsigned i = 0; i < 6; i++) {
		ip[28 + 2 * i] = (uint8_t)(usids[i] >> 8);
		ip[29 + 2 * i] = (uint8_t)usids[i];
	}
}

#endif
