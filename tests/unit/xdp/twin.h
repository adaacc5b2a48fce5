/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TWIN_H
#define TWIN_H
/*
 * twin - the tests of the program, which are the same at either hook: it does what
 * src/fabric/switch does, on frames that are right, on frames that are wrong in one place, and on
 * thousands that a seed has made up.  The includer defines TWIN_HOOK, and TWIN_BYTES_MIN and
 * TWIN_BYTES_MAX, what BPF_PROG_TEST_RUN takes there.
 */
#include "pair.h"

static struct pair pair;

static void open_twin_mtu(uint32_t mtu_bytes)
{
	memset(&pair, 0, sizeof(pair));
	pair.hook = TWIN_HOOK;
	pair.mtu_bytes = mtu_bytes;
	pair_open(&pair);
}

static void open_twin(void)
{
	open_twin_mtu(9000);
}

static enum weft_switch_drop feed_usids(const uint16_t usids[6], uint8_t hop_limit)
{
	uint8_t frame[300];

	pair_frame(frame, sizeof(frame), usids, TCLASS_DATA, 17);
	frame[ETHER + 7] = hop_limit;
	return pair_feed(&pair, 0, frame, sizeof(frame));
}

TEST(weft_switch__shifts_and_redirects)
{
	static const struct {
		uint16_t usids[6];
		uint8_t hop_limit;
		enum weft_switch_drop want;
	} rows[] = {
		{ { PAIR_OWN, 3, 0xc02, 7, 8 }, 64, WEFT_SWITCH_DROP_NONE },
		{ { 3, PAIR_OWN, 0xc02 }, 64, WEFT_SWITCH_DROP_NONE }, /* passes through */
		{ { PAIR_OWN, PAIR_OWN + 1, 2, 9 }, 64, WEFT_SWITCH_DROP_NONE },
		{ { 0xe004, 2, 9 }, 64, WEFT_SWITCH_DROP_NONE },
		{ { PAIR_OWN, 0xe004, 2, 9 }, 64, WEFT_SWITCH_DROP_NONE },
		{ { PAIR_OWN, PAIR_OWN, PAIR_OWN, PAIR_OWN, PAIR_OWN, 4 }, 64,
			WEFT_SWITCH_DROP_NONE },
		{ { PAIR_OWN, PAIR_OWN, PAIR_OWN, PAIR_OWN, PAIR_OWN, PAIR_OWN }, 64,
			WEFT_SWITCH_DROP_SID_EXHAUSTED },
		{ { PAIR_OWN, 3, 1 }, 2, WEFT_SWITCH_DROP_NONE },
		{ { PAIR_OWN, 3, 1 }, 1, WEFT_SWITCH_DROP_HOP_LIMIT },
		{ { PAIR_OWN, PAIR_OWN + 1, 3 }, 2, WEFT_SWITCH_DROP_HOP_LIMIT },
		{ { 3, 1 }, 1, WEFT_SWITCH_DROP_HOP_LIMIT },
		{ { 0, 1 }, 64, WEFT_SWITCH_DROP_SID_ZERO },
		{ { PAIR_OWN, 0, 1 }, 64, WEFT_SWITCH_DROP_SID_ZERO },
		{ { PAIR_OWN, 0x7777, 1 }, 64, WEFT_SWITCH_DROP_NO_SID },
		{ { PAIR_OWN, 0x0200, 1 }, 64, WEFT_SWITCH_DROP_FAULT },
		{ { PAIR_OWN, 8, 1 }, 64, WEFT_SWITCH_DROP_PORT_DOWN }, /* never cabled */
		{ { 0xe003 }, 64, WEFT_SWITCH_DROP_SID_EXHAUSTED },
	};

	open_twin();
	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		enum weft_switch_drop why = feed_usids(rows[i].usids, rows[i].hop_limit);

		if (why != rows[i].want)
			CHECK_FAIL("row %zu: %s", i, weft_switch_drop_name(why));
	}
	pair_check_counters(&pair);
	CHECK_EQ(pair.sent, 7);
	pair_close(&pair);
}

TEST(weft_switch__follows_segments)
{
	/* SRH: next, length, type 4, segments left, last entry, flags, tag; then one segment. */
	static const uint8_t srh[24] = { 17, 2, 4, 1, 0, 0, 0, 0, 0xfc, 0xbb, 0xbb, 0, 0x80, 0, 0,
		5, 0x0c, 2 };
	const uint16_t last[6] = { PAIR_OWN }, link[6] = { 0xe003 };
	uint8_t frame[200];

	open_twin();
	pair_frame(frame, sizeof(frame), last, TCLASS_DATA, 43);
	memcpy(frame + ETHER + 40, srh, sizeof(srh));
	CHECK_EQ(pair_feed(&pair, 0, frame, sizeof(frame)), WEFT_SWITCH_DROP_NONE);
	pair_frame(frame, sizeof(frame), link, TCLASS_DATA, 43);
	memcpy(frame + ETHER + 40, srh, sizeof(srh));
	CHECK_EQ(pair_feed(&pair, 1, frame, sizeof(frame)), WEFT_SWITCH_DROP_NONE);
	frame[ETHER + 7] = 1;
	CHECK_EQ(pair_feed(&pair, 1, frame, sizeof(frame)), WEFT_SWITCH_DROP_HOP_LIMIT);
	frame[ETHER + 7] = 64;
	frame[ETHER + 40 + 3] = 2; /* more segments left than there are */
	CHECK_EQ(pair_feed(&pair, 1, frame, sizeof(frame)), WEFT_SWITCH_DROP_BAD_SRH);
	frame[ETHER + 40 + 3] = 0;
	CHECK_EQ(pair_feed(&pair, 1, frame, sizeof(frame)), WEFT_SWITCH_DROP_SID_EXHAUSTED);
	pair_check_counters(&pair);
	pair_close(&pair);
}

TEST(weft_switch__chooses_as_the_fabric_room)
{
	const uint16_t none[6] = { 0 }, hash[6] = { PAIR_OWN, 0x0100, 5 }, field[6] = { 0x0101, 5 };
	unsigned hits[PAIR_PORTS] = { 0 };
	uint8_t frame[200];

	open_twin();
	for (unsigned i = 0; i < 600; i++) {
		pair_frame(frame, sizeof(frame), i % 3 ? i % 3 == 1 ? hash : field : none,
			TCLASS_CONTROL, i % 5 ? 17 : 6);
		frame[ETHER + 3] = (uint8_t)i; /* flow label */
		frame[ETHER + 41] = (uint8_t)(i >> 2);
		if (i % 3 == 0) {
			memset(frame + ETHER + 24, 0, 16);
			frame[ETHER + 24] = 0xfd;
			frame[ETHER + 29] = (uint8_t)(1 + i / 3 % 3); /* 3: no route */
			frame[ETHER + 31] = 3;
			frame[ETHER + 39] = (uint8_t)(i / 9 % 8);
		}
		(void)pair_feed(&pair, 0, frame, sizeof(frame));
	}
	for (uint32_t port = 0; port < PAIR_PORTS; port++) {
		struct weft_port_counters c;

		weft_xdp_port_counters(pair.xdp, port, &c);
		hits[port] = (unsigned)c.out_pkts;
	}
	for (uint32_t port = 2; port < PAIR_PORTS - 1; port++)
		CHECK(hits[port] > 30);
	CHECK_EQ(hits[PAIR_PORTS - 1], 0); /* has no cable, so takes no part */
	pair_check_counters(&pair);
	pair_close(&pair);
}

TEST(weft_switch__cuts_padding_off)
{
	const uint16_t usids[6] = { PAIR_OWN, 2, 5 };
	uint8_t frame[FRAME_MAX];

	open_twin();
	pair_frame(frame, 100, usids, TCLASS_DATA, 17);
	memset(frame + 100, 0xee, 28);
	CHECK_EQ(pair_feed(&pair, 2, frame, 128), WEFT_SWITCH_DROP_NONE);
	CHECK_EQ(pair_feed(&pair, 2, frame, 99), WEFT_SWITCH_DROP_TRUNCATED);
	pair_frame(frame, TWIN_BYTES_MAX, usids, TCLASS_DATA, 17);
	CHECK_EQ(pair_feed(&pair, 2, frame, TWIN_BYTES_MAX), WEFT_SWITCH_DROP_NONE);
	frame[12] = 8; /* another Ethernet type: src/fabric/switch gets to see no such frame */
	size_t bytes = 100;
	CHECK(!pair_run(&pair, 2, frame, frame, &bytes));
	CHECK_EQ(weft_xdp_drops(pair.xdp, WEFT_SWITCH_DROP_NOT_IPV6), 1);
	pair_close(&pair);
}

TEST(weft_switch__obeys_faults)
{
	const uint16_t usids[6] = { PAIR_OWN, 2, 5, 6 }, other[6] = { PAIR_OWN, 2, 5, 7 };
	struct weft_switch_fault fault = {
		.in_port = 3, .out_port = WEFT_SWITCH_ANY, .loss_ppm = 1000000
	};
	uint8_t frame[200];

	open_twin();
	fault.route = (uint64_t)PAIR_OWN << 48 | UINT64_C(0x000200050006);
	fault.route_mask = UINT64_MAX;
	CHECK(weft_switch_fault_add(pair.sw, &fault) && weft_xdp_fault_add(pair.xdp, &fault));
	pair_frame(frame, sizeof(frame), usids, TCLASS_DATA, 17);
	CHECK_EQ(pair_feed(&pair, 3, frame, sizeof(frame)), WEFT_SWITCH_DROP_FAULT);
	CHECK_EQ(pair_feed(&pair, 4, frame, sizeof(frame)), WEFT_SWITCH_DROP_NONE);
	pair_frame(frame, sizeof(frame), other, TCLASS_DATA, 17);
	CHECK_EQ(pair_feed(&pair, 3, frame, sizeof(frame)), WEFT_SWITCH_DROP_NONE);
	weft_switch_freeze(pair.sw, true, pair.now_ns * 1000);
	weft_xdp_freeze(pair.xdp, true);
	CHECK_EQ(pair_feed(&pair, 3, frame, sizeof(frame)), WEFT_SWITCH_DROP_FROZEN);
	weft_switch_reboot(pair.sw, pair.now_ns * 1000);
	weft_xdp_reboot(pair.xdp);
	CHECK_EQ(pair_feed(&pair, 3, frame, sizeof(frame)), WEFT_SWITCH_DROP_NO_SID);
	pair_tables(&pair);
	pair_frame(frame, sizeof(frame), usids, TCLASS_DATA, 17);
	CHECK_EQ(pair_feed(&pair, 3, frame, sizeof(frame)), WEFT_SWITCH_DROP_NONE);
	weft_switch_port_mark(pair.sw, 1, false, pair.now_ns * 1000);
	weft_xdp_port_mark(pair.xdp, 1, false);
	CHECK_EQ(pair_feed(&pair, 3, frame, sizeof(frame)), WEFT_SWITCH_DROP_PORT_DOWN);
	pair_check_counters(&pair);
	pair_close(&pair);
}

/* ---- made up ---- */

static struct weft_rng rng;

static uint64_t below(uint64_t n)
{
	return weft_rng_below(&rng, n);
}

static uint16_t any_usid(void)
{
	static const uint16_t special[] = { PAIR_OWN, PAIR_OWN, PAIR_OWN + 1, 0, 0x0100, 0x0101,
		0x0200, 0x7777 };

	switch (below(3)) {
	case 0:
		return (uint16_t)(1 + below(PAIR_PORTS));
	case 1:
		return (uint16_t)(0xe001 + below(PAIR_PORTS));
	default:
		return special[below(WEFT_COUNT(special))];
	}
}

static void put_addr(uint8_t addr[16])
{
	memset(addr, 0, 16);
	if (!below(6)) {
		addr[0] = 0xfd;
		addr[5] = (uint8_t)below(4);
		addr[7] = (uint8_t)(below(2) * 3);
		addr[15] = (uint8_t)below(8);
		return;
	}
	addr[0] = 0xfc;
	addr[1] = addr[2] = 0xbb;
	for (unsigned i = 0, n = (unsigned)below(7); i < n; i++) {
		uint16_t usid = any_usid();

		addr[4 + 2 * i] = (uint8_t)(usid >> 8);
		addr[5 + 2 * i] = (uint8_t)usid;
	}
}

static void put_srh(uint8_t *srh, size_t left)
{
	unsigned segments = (unsigned)below(5);

	if (left < 8 + 16 * segments)
		return;
	srh[0] = 17;
	srh[1] = (uint8_t)(2 * segments);
	srh[2] = below(10) ? 4 : (uint8_t)below(8);
	srh[3] = (uint8_t)below(segments + 2);
	srh[4] = (uint8_t)(segments - (below(10) ? 1 : 0));
	for (unsigned i = 0; i < segments; i++)
		put_addr(srh + 8 + 16 * i);
}

/* Most are right in most places; the rest is noise. */
static size_t make_up(uint8_t *frame)
{
	static const uint8_t dscps[] = { 8, 46, 16, 18, 0, 63 };
	static const uint8_t nexts[] = { 17, 43, 43, 6, 41, 0 };
	size_t bytes = ETHER + 40 + below(below(20) ? 200 : TWIN_BYTES_MAX - ETHER - 40);
	const uint16_t none[6] = { 0 };

	pair_frame(frame, bytes, none, (uint8_t)(dscps[below(6)] << 2 | below(4)), nexts[below(6)]);
	frame[ETHER + 7] = (uint8_t)(below(3) ? 64 : below(6));
	frame[ETHER + 2] = (uint8_t)below(256);
	frame[ETHER + 3] = (uint8_t)below(256);
	put_addr(frame + ETHER + 24);
	if (frame[ETHER + 6] == 43)
		put_srh(frame + ETHER + 40, bytes - ETHER - 40);
	for (unsigned i = 0; i < 3 && !below(8); i++)
		frame[ETHER + below(bytes - ETHER)] = (uint8_t)below(256);
	if (!below(10))
		return TWIN_BYTES_MIN + below(bytes - TWIN_BYTES_MIN + 1);
	if (!below(10))
		return bytes + below(FRAME_MAX < bytes + 60 ? 1 : 40);
	return bytes;
}

TEST(weft_switch__is_the_twin_of_the_fabric_room)
{
	static uint8_t frame[FRAME_MAX];
	unsigned kinds = 0;

	open_twin_mtu(TWIN_BYTES_MAX - 400); /* some are longer */
	weft_rng_seed(&rng, 20261122);
	for (unsigned i = 0; i < 30000 && !check_failures; i++) {
		size_t bytes = WEFT_MIN(make_up(frame), (size_t)TWIN_BYTES_MAX);

		(void)pair_feed(&pair, (uint32_t)below(PAIR_PORTS - 1), frame, bytes);
		if (check_failures)
			fprintf(stderr, "frame %u of the seed\n", i);
	}
	for (unsigned i = 1; i < WEFT_SWITCH_DROP_COUNT; i++)
		kinds += weft_switch_drops(pair.sw, (enum weft_switch_drop)i) != 0;
	CHECK_EQ(kinds, 11); /* the seed reaches what can be reached without queues */
	CHECK(pair.sent > 5000);
	pair_check_counters(&pair);
	pair_close(&pair);
}

TEST(weft_switch__survives_noise)
{
	static uint8_t frame[FRAME_MAX];

	open_twin();
	weft_rng_seed(&rng, 4);
	for (unsigned i = 0; i < 5000; i++) {
		size_t bytes = TWIN_BYTES_MIN + below(300);

		for (size_t k = 0; k < bytes; k++)
			frame[k] = (uint8_t)below(256);
		frame[12] = 0x86;
		frame[13] = 0xdd;
		if (below(4))
			frame[ETHER] = (uint8_t)(0x60 | below(16));
		(void)pair_feed(&pair, (uint32_t)below(PAIR_PORTS - 1), frame, bytes);
	}
	pair_check_counters(&pair);
	pair_close(&pair);
}

/* ---- queues ---- */

enum arrivals { CONSTANT, POISSON, BURSTS };
enum { LOAD_FRAMES = 4000, LOAD_BYTES = 2062, BURST = 64 };

static uint64_t gap_ns(enum arrivals arrivals, unsigned i, uint64_t mean_ns)
{
	switch (arrivals) {
	case CONSTANT:
		return mean_ns;
	case BURSTS:
		return i % BURST ? 100 : mean_ns * BURST - 100 * (BURST - 1);
	default:
		break;
	}
	/* Exponential enough without a logarithm: geometric, in steps of a sixteenth. */
	uint64_t steps = 0;

	while (!weft_rng_chance(&rng, 1, 16))
		steps++;
	return steps * mean_ns / 15;
}

struct outcome {
	double full, cut, marked, dropped;
};

static struct outcome outcome_of(const struct weft_port_counters *c)
{
	const double percent = 100.0 / LOAD_FRAMES;

	return (struct outcome){ .full = percent * (double)c->queue[WEFT_QUEUE_DATA].pkts,
		.cut = percent * (double)c->trim_sent,
		.marked = percent * (double)c->ecn_marked,
		.dropped = percent * (double)c->out_discards };
}

static void open_loaded(void)
{
	memset(&pair, 0, sizeof(pair));
	pair.hook = TWIN_HOOK;
	pair.mtu_bytes = LOAD_BYTES - ETHER;
	pair.rate_bps = 1000000000;
	weft_port_profile_fill(&pair.profile, WEFT_DISCIPLINE_TRIM, false, 100000, 0);
	pair_open(&pair);
}

/* One load on port 2 of 1 Gb/s, in both; a quarter of it control, if mixed. */
static void run_load(enum arrivals arrivals, double load, bool is_mixed)
{
	const uint16_t usids[6] = { PAIR_OWN, 3, 5 };
	uint64_t mean_ns = (uint64_t)((LOAD_BYTES + WEFT_FRAME_GAP_BYTES) * 8 / load);
	static uint8_t data[LOAD_BYTES], control[200], soft[LOAD_BYTES], out[FRAME_MAX];

	pair_frame(data, sizeof(data), usids, TCLASS_DATA, 17);
	pair_frame(control, sizeof(control), usids, TCLASS_CONTROL, 17);
	for (unsigned i = 0; i < LOAD_FRAMES; i++) {
		const uint8_t *frame = is_mixed && i % 4 == 3 ? control : data;
		size_t bytes = frame == control ? sizeof(control) : sizeof(data);
		struct weft_frame f = { .in_port = 0 };
		uint32_t port;

		memcpy(soft, frame, bytes);
		pair_drain(&pair);
		(void)weft_switch_input_bytes(
			pair.sw, &f, soft + ETHER, bytes - ETHER, pair.now_ns * 1000, &port);
		(void)pair_run(&pair, 0, frame, out, &bytes);
		pair.now_ns += gap_ns(arrivals, i, mean_ns);
	}
	pair.now_ns += 1000000000;
	pair_drain(&pair);
}

static struct outcome since(const struct outcome *now, const struct outcome *before)
{
	return (struct outcome){ now->full - before->full, now->cut - before->cut,
		now->marked - before->marked, now->dropped - before->dropped };
}

/* Who is not ECN-capable, or has a mark already, is not marked, however deep the queue. */
TEST(weft_switch__marks_the_capable_only)
{
	const uint16_t usids[6] = { PAIR_OWN, 3, 5 };
	uint8_t frame[LOAD_BYTES], out[FRAME_MAX];
	struct weft_port_counters c;

	open_loaded();
	for (unsigned i = 0; i < 160; i++) {
		uint8_t ecn = i < 80 ? 2 : (uint8_t)(i % 2 * 3);
		size_t bytes = sizeof(frame);

		/* DSCP 0 may not be cut, so the queue fills beyond where all are marked. */
		pair_frame(frame, sizeof(frame), usids, ecn, 17);
		bool is_sent = pair_run(&pair, 0, frame, out, &bytes);
		unsigned got = out[ETHER + 1] >> 4 & 3;

		CHECK(is_sent == (i < 145)); /* 3 BDP of 100,000 bytes */
		if (i >= 80 && is_sent)
			CHECK_EQ(got, ecn);
		if (i >= 40 && i < 80)
			CHECK_EQ(got, 3);
	}
	weft_xdp_port_counters(pair.xdp, 2, &c);
	CHECK(c.ecn_marked >= 40 && c.ecn_marked <= 70);
	pair_close(&pair);
}

/* docs/decisions/070-xdp-switch.md quotes this: the virtual queue against the real one. */
TEST(weft_switch__queues_much_as_the_fabric_room)
{
	static const double loads[] = { 0.5, 0.9, 1.1, 1.5, 2, 3, 25 };
	struct outcome want_before = { 0 }, got_before = { 0 };
	double cut = 0, marked = 0, dropped = 0;

	open_loaded();
	weft_rng_seed(&rng, 9);
	for (unsigned i = 0; i < 6 * WEFT_COUNT(loads); i++) {
		struct weft_port_counters c;

		run_load((enum arrivals)(i % 3), loads[i / 6], i / 3 % 2);
		struct outcome want_now = outcome_of(weft_switch_port_counters(pair.sw, 2));
		weft_xdp_port_counters(pair.xdp, 2, &c);
		struct outcome got_now = outcome_of(&c), want = since(&want_now, &want_before),
			       got = since(&got_now, &got_before);

		CHECK_NEAR(got.full, want.full, 0.3); /* percent of the frames */
		CHECK_NEAR(got.cut, want.cut, loads[i / 6] > 3 ? 2.5 : 0.3);
		CHECK_NEAR(got.marked, want.marked, 4); /* both throw dice: five deviations */
		CHECK_NEAR(got.dropped, want.dropped, loads[i / 6] > 3 ? 2.5 : 0);
		want_before = want_now;
		got_before = got_now;
		cut += want.cut;
		marked += want.marked;
		dropped += want.dropped;
	}
	CHECK(cut > 100 && marked > 100 && dropped > 10); /* it was about something */
	pair_close(&pair);
}

#endif
