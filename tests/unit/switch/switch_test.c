/* SPDX-License-Identifier: BSD-2-Clause */
#include "one.h"

static struct one one, other;
static uint8_t ip[16384];

TEST(weft_switch_init__wants_a_line_to_begin_on)
{
	struct weft_switch *sw = NULL;

	one_open(&one, NULL);
	char *block =
		aligned_alloc(64, WEFT_ALIGN_UP(weft_switch_size(&one.config) + 64, (size_t)64));

	CHECK(!weft_switch_init(&sw, block + 8, &one.config));
	CHECK(!sw);
	CHECK(weft_switch_init(&sw, block, &one.config));
	free(block);
	one_close(&one);
}

TEST(weft_switch_size__stays_within_a_simulator_s_means)
{
	struct weft_port_profile profile;
	struct weft_frame_pool pool = { 0 };
	struct weft_switch_config config = { .ports = 512,
		.sids = 513,
		.mtu_bytes = 9000,
		.is_lean = true,
		.profiles = &profile,
		.n_profiles = 1,
		.pool = &pool };

	weft_port_profile_fill(&profile, WEFT_DISCIPLINE_TRIM, false, 100000, 0);
	size_t size = weft_switch_size(&config);

	/* 6,144 of these switch for 131,072 hosts with 8 ports each: 2 kB per host. */
	CHECK(size > 0 && size <= 43 * 1024);
	config.is_lean = false;
	CHECK(weft_switch_size(&config) > size);
}

/* The sentence begins with the field that was changed: "c.FIELD = 0". */
static bool names(const char *fault, const char *change)
{
	const char *field = strchr(change, '.') + 1;

	return fault && !strncmp(fault, field, strcspn(field, " "));
}

TEST(weft_switch_size__refuses_the_impossible)
{
	struct weft_switch_config good, c;
	struct weft_switch *sw;

	one_open(&one, NULL);
	good = one.config;
#define BAD(change)                                                                                \
	do {                                                                                       \
		c = good;                                                                          \
		change;                                                                            \
		CHECK_EQ(weft_switch_size(&c), 0);                                                 \
		CHECK(!weft_switch_init(&sw, NULL, &c));                                           \
		CHECK(names(weft_switch_config_fault(&c), #change));                               \
	} while (0)
	BAD(c.ports = 0);
	BAD(c.ports = WEFT_SWITCH_PORTS_MAX + 1);
	BAD(c.sids = 0);
	BAD(c.sids = 49153);
	BAD(c.prefixes = 65537);
	BAD(c.mtu_bytes = 1279);
	BAD(c.mtu_bytes = 65522);
	BAD(c.n_profiles = 0);
	BAD(c.n_profiles = 256);
	BAD(c.profiles = NULL);
	BAD(c.pool = NULL);
#undef BAD
	one.profile.quantum_bytes[0] = 0;
	CHECK_EQ(weft_switch_size(&good), 0);
	one.profile.quantum_bytes[0] = 512;
	CHECK(!weft_switch_port_set(one.sw, PORTS, 1000000, 0));
	CHECK(!weft_switch_port_set(one.sw, 0, 999999, 0));
	CHECK(!weft_switch_port_set(one.sw, 0, 1000000, 1));
	one_close(&one);
}

TEST(weft_switch_input__drops_at_a_port_without_a_cable)
{
	struct weft_switch *sw;

	one_open(&one, NULL);
	void *block = aligned_alloc(64, weft_switch_size(&one.config));

	REQUIRE(weft_switch_init(&sw, block, &one.config));
	struct weft_hop hop = { .kind = WEFT_HOP_PORT, .port = 1 };
	struct weft_frame frame = { .route = UINT64_C(2) << 48, .bytes = 100, .hop_limit = 9 };
	uint32_t port;

	CHECK(weft_switch_sid_add(sw, 2, &hop));
	CHECK_EQ(weft_switch_input(sw, &frame, 0, &port), WEFT_SWITCH_DROP_PORT_DOWN);
	free(block);
	one_close(&one);
}

static enum weft_switch_drop send_bytes(struct one *to, const uint16_t usids[6], size_t bytes,
	uint8_t tclass, uint8_t next, struct weft_frame *frame)
{
	uint32_t port;

	one_bytes(ip, bytes, usids, tclass, next);
	*frame = (struct weft_frame){ .in_port = 1, .handle = 5 };
	return weft_switch_input_bytes(to->sw, frame, ip, bytes, 0, &port);
}

TEST(weft_switch_input_bytes__rewrites_the_carrier)
{
	uint16_t usids[6] = { OWN, 3, 9, 0xffff, 0x0102, 0x0304 };
	uint8_t want[16] = { 0xfc, 0xbb, 0xbb, 0, 0, 3, 0, 9, 0xff, 0xff, 1, 2, 3, 4, 0, 0 };
	struct weft_departure departure;
	struct weft_frame frame;

	one_open(&one, NULL);
	CHECK_EQ(send_bytes(&one, usids, 4224, TCLASS_DATA, 41, &frame), 0);
	CHECK_MEM(ip + 24, want, 16);
	CHECK_EQ(ip[7], 63);
	CHECK_EQ(ip[0] << 8 | ip[1], 0x6000 | TCLASS_DATA << 4);
	REQUIRE(weft_switch_take(one.sw, 2, 0, &departure));
	CHECK_EQ(departure.frame.handle, 5);
	CHECK_EQ(departure.frame.bytes, 4238);
	CHECK_EQ(departure.frame.in_port, 1);
	CHECK_EQ(departure.frame.route >> 48, 3);
	CHECK_EQ(weft_switch_sid_pkts(one.sw, OWN), 1);
	CHECK_EQ(weft_switch_sid_pkts(one.sw, 3), 1);
	CHECK_EQ(weft_switch_sid_pkts(one.sw, 4), 0);
	one_close(&one);
}

TEST(weft_switch_input_bytes__leaves_dropped_frames_alone)
{
	uint16_t usids[6] = { OWN, 0x7777, 9 };
	struct weft_frame frame;
	uint8_t want[200];

	one_open(&one, NULL);
	one_bytes(want, sizeof(want), usids, TCLASS_DATA, 41);
	CHECK_EQ(send_bytes(&one, usids, 200, TCLASS_DATA, 41, &frame), WEFT_SWITCH_DROP_NO_SID);
	CHECK_MEM(ip, want, 200);
	usids[1] = 3;
	weft_switch_port_mark(one.sw, 2, false, 0);
	one_bytes(want, sizeof(want), usids, TCLASS_DATA, 41);
	CHECK_EQ(send_bytes(&one, usids, 200, TCLASS_DATA, 41, &frame), WEFT_SWITCH_DROP_PORT_DOWN);
	CHECK_MEM(ip, want, 200);
	CHECK_EQ(weft_switch_port_counters(one.sw, 1)->in_discards, 1);
	CHECK_EQ(weft_switch_port_counters(one.sw, 1)->in_pkts, 2);
	one_close(&one);
}

/* An SRH of one segment, behind a carrier whose last uSID is ours. */
static enum weft_switch_drop send_srh(
	uint16_t last, const uint16_t segment[6], uint8_t left, uint32_t *port)
{
	uint16_t usids[6] = { last };
	struct weft_frame frame = { 0 };

	one_bytes(ip, 400, usids, TCLASS_DATA, 43);
	memset(ip + 40, 0, 24);
	ip[40] = 41;
	ip[41] = 2;
	ip[42] = 4;
	ip[43] = left;
	memcpy(ip + 48, ip + 24, 4);
	for (unsigned i = 0; i < 6; i++) {
		ip[52 + 2 * i] = (uint8_t)(segment[i] >> 8);
		ip[53 + 2 * i] = (uint8_t)segment[i];
	}
	return weft_switch_input_bytes(one.sw, &frame, ip, 400, 0, port);
}

TEST(weft_switch_input_bytes__goes_on_with_the_srh)
{
	uint16_t next[6] = { 6, 7 }, again[6] = { OWN, 5, 1 }, end[6] = { OWN };
	uint32_t port;

	one_open(&one, NULL);
	CHECK_EQ(send_srh(OWN, next, 1, &port), 0);
	CHECK_EQ(port, 5);
	CHECK_EQ(ip[43], 0);
	CHECK_EQ(ip[29], 6);
	CHECK_EQ(ip[7], 62); /* the segment, and passing through */
	CHECK_EQ(send_srh(OWN, again, 1, &port), 0);
	CHECK_EQ(port, 4);
	CHECK_EQ(ip[29], 5);
	/* uA: the link was chosen, wherever the next segment leads. */
	CHECK_EQ(send_srh(0xe002, next, 1, &port), 0);
	CHECK_EQ(port, 1);
	CHECK_EQ(ip[29], 6);
	CHECK_EQ(send_srh(OWN, next, 0, &port), WEFT_SWITCH_DROP_SID_EXHAUSTED);
	CHECK_EQ(send_srh(OWN, end, 1, &port), WEFT_SWITCH_DROP_SID_EXHAUSTED);
	CHECK_EQ(send_srh(OWN, next, 2, &port), WEFT_SWITCH_DROP_BAD_SRH);
	/* Somebody else's uSID: the SRH is none of our business. */
	CHECK_EQ(send_srh(0, next, 1, &port), WEFT_SWITCH_DROP_SID_ZERO);
	one_close(&one);
}

TEST(weft_switch_input_bytes__routes_other_addresses_by_prefix)
{
	struct weft_hop hop = { .kind = WEFT_HOP_HASH, .port = 4, .ports = 4 };
	uint16_t usids[6] = { 1, 2, 3, 4, 5, 6 };
	struct weft_frame frame = { 0 };
	uint32_t port = 0, seen = 0;

	one_open(&one, NULL);
	one_bytes(ip, 200, usids, TCLASS_DATA, 17);
	ip[24] = 0xfd;
	CHECK_EQ(weft_switch_input_bytes(one.sw, &frame, ip, 200, 0, &port),
		WEFT_SWITCH_DROP_NO_ROUTE);
	CHECK(weft_switch_prefix_add(one.sw, ip + 24, 64, &hop));
	for (unsigned i = 0; i < 64; i++) {
		one_bytes(ip, 200, usids, TCLASS_DATA, 17);
		ip[24] = 0xfd;
		ip[3] = (uint8_t)i; /* flow label: half of an EV */
		frame = (struct weft_frame){ 0 };
		CHECK_EQ(weft_switch_input_bytes(one.sw, &frame, ip, 200, 0, &port), 0);
		CHECK_EQ(ip[7], 63);
		seen |= 1u << port;
	}
	CHECK_EQ(seen, 0xf0);
	one_close(&one);
}

/* The same traffic in both forms: same fate, same port, same size, same time. */
TEST(weft_switch_input__decides_alike_in_both_forms)
{
	struct weft_port_profile profile;
	struct weft_rng rng;
	uint64_t now_ps = 0;
	uint32_t fates[WEFT_SWITCH_DROP_COUNT] = { 0 }, cut = 0, marked = 0;

	weft_port_profile_fill(&profile, WEFT_DISCIPLINE_TRIM, false, 20000, 0);
	one_open(&one, &profile);
	one_open(&other, &profile);
	weft_rng_seed(&rng, 3);
	for (unsigned i = 0; i < 20000; i++) {
		static const uint8_t tclasses[] = { TCLASS_DATA, TCLASS_DATA, TCLASS_CONTROL, 0 };
		unsigned kind = (unsigned)weft_rng_below(&rng, 4);
		uint16_t bytes = (uint16_t)weft_rng_between(&rng, 60, 6000);
		uint16_t usids[6] = { OWN, (uint16_t)weft_rng_between(&rng, 0, 9), 3 };
		struct weft_frame frame = one_frame(usids[1] - 1u, bytes), as_bytes;
		struct weft_departure a, b;
		uint32_t port = 99, port_bytes = 99;

		frame.route = (uint64_t)OWN << 48 | (uint64_t)usids[1] << 32 | 3u << 16;
		frame.flags = kind < 2 ? WEFT_FRAME_ECT | WEFT_FRAME_TRIMMABLE : 0;
		frame.tclass = kind == 2 ? WEFT_CLASS_CONTROL : WEFT_CLASS_DATA;
		as_bytes = (struct weft_frame){ .handle = 0 };
		one_bytes(ip, bytes - 14u, usids, tclasses[kind], 59);
		now_ps += weft_rng_below(&rng, 60000);
		enum weft_switch_drop fate = weft_switch_input(one.sw, &frame, now_ps, &port);

		CHECK_EQ(weft_switch_input_bytes(
				 other.sw, &as_bytes, ip, bytes - 14u, now_ps, &port_bytes),
			fate);
		fates[fate]++;
		CHECK_EQ(port, port_bytes);
		CHECK_EQ(frame.bytes, as_bytes.bytes);
		CHECK_EQ(frame.mark, as_bytes.mark);
		cut += fate == 0 && frame.mark & WEFT_MARK_TRIMMED;
		marked += fate == 0 && frame.mark == WEFT_MARK_CE;
		for (port = 0; fate == 0 && port < PORTS; port++) {
			while (weft_switch_take(one.sw, port, now_ps, &a)) {
				REQUIRE(weft_switch_take(other.sw, port, now_ps, &b));
				CHECK_EQ(a.starts_ps, b.starts_ps);
				CHECK_EQ(a.ends_ps, b.ends_ps);
				CHECK_EQ(a.frame.bytes, b.frame.bytes);
			}
			CHECK(!weft_switch_take(other.sw, port, now_ps, &b));
		}
	}
	CHECK(fates[0] && fates[WEFT_SWITCH_DROP_NO_SID] && fates[WEFT_SWITCH_DROP_SID_ZERO]);
	CHECK(cut > 100 && marked > 100);
	one_close(&one);
	one_close(&other);
}

/* In two steps the same comes out as in one; a fault sees the route that the frame came with. */
TEST(weft_switch_route__and_queue_are_input_in_two_steps)
{
	one_open(&one, NULL);
	for (unsigned faulty = 0; faulty < 2; faulty++) {
		struct weft_frame whole = one_frame(3, 500), parts = one_frame(3, 500);
		uint64_t arrived = parts.route;
		uint32_t port = 99;

		if (faulty)
			REQUIRE(weft_switch_fault_add(one.sw,
				&(struct weft_switch_fault){ .in_port = WEFT_SWITCH_ANY,
					.out_port = 3,
					.route = arrived,
					.route_mask = ~UINT64_C(0),
					.loss_ppm = 1000000 }));
		enum weft_switch_drop want = weft_switch_input(one.sw, &whole, 7, &port);

		CHECK_EQ(weft_switch_route(one.sw, &parts, &port), 0);
		CHECK_EQ(port, 3);
		CHECK_EQ(weft_switch_queue(one.sw, &parts, arrived, 7, port), want);
		CHECK_EQ(want, faulty ? WEFT_SWITCH_DROP_FAULT : WEFT_SWITCH_DROP_NONE);
		CHECK_EQ(parts.route, whole.route);
		CHECK_EQ(parts.hop_limit, whole.hop_limit);
	}
	CHECK_EQ(one.pool.used, 2);
	weft_switch_fault_clear(one.sw);
	one_close(&one);
}
