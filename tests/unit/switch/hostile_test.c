/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A switch fed garbage.  Nothing crashes, loops or leaves by a port outside the table; nothing
 * is written outside the frame (the sanitizers watch: each lies in a block of its exact size);
 * what goes in comes out or is counted.
 */
#include "one.h"

static struct one one;

struct tally {
	uint64_t in, queued, out, dropped, handed_back;
};

static uint64_t total_drops(void)
{
	uint64_t sum = 0;

	for (unsigned i = 1; i < WEFT_SWITCH_DROP_COUNT; i++)
		sum += weft_switch_drops(one.sw, (enum weft_switch_drop)i);
	return sum;
}

static void feed(struct tally *tally, const uint8_t *bytes, size_t n, uint64_t now_ps)
{
	uint8_t *exact = malloc(n ? n : 1);
	struct weft_frame frame = { .in_port = (uint16_t)(tally->in % PORTS) };
	uint32_t port = 99;

	memcpy(exact, bytes, n);
	tally->in++;
	if (weft_switch_input_bytes(one.sw, &frame, exact, n, now_ps, &port)) {
		tally->dropped++;
	} else {
		tally->queued++;
		CHECK(port < PORTS && port != 7); /* 7 is in no table here */
		CHECK(frame.bytes <= n + WEFT_FRAME_ETHER_BYTES);
		CHECK(frame.hop_limit < 255);
	}
	free(exact);
}

static void drain(struct tally *tally, uint64_t now_ps)
{
	for (uint32_t port = 0; port < PORTS; port++) {
		struct weft_departure departure;

		while (weft_switch_take(one.sw, port, now_ps, &departure)) {
			tally->out += departure.drop == 0;
			tally->handed_back += departure.drop != 0;
		}
	}
}

static void open_hostile(void)
{
	struct weft_port_profile profile;
	struct weft_hop own = { .kind = WEFT_HOP_UN }, hop = { .kind = WEFT_HOP_PORT };
	uint8_t prefix[16] = { 0xfd };

	weft_port_profile_fill(&profile, WEFT_DISCIPLINE_TRIM, false, 30000, 0);
	one_open(&one, &profile);
	weft_switch_reboot(one.sw, 0);
	CHECK(weft_switch_sid_add(one.sw, OWN, &own));
	for (uint16_t i = 0; i < 7; i++) {
		hop = (struct weft_hop){ .kind = WEFT_HOP_PORT, .port = i };
		CHECK(weft_switch_sid_add(one.sw, i + 1, &hop));
		hop.kind = WEFT_HOP_UA;
		CHECK(weft_switch_sid_add(one.sw, 0xe001 + i, &hop));
	}
	hop = (struct weft_hop){ .kind = WEFT_HOP_HASH, .port = 0, .ports = 7 };
	CHECK(weft_switch_prefix_add(one.sw, prefix, 48, &hop));
}

static void close_hostile(const struct tally *tally)
{
	CHECK_EQ(tally->in, tally->queued + tally->dropped);
	CHECK_EQ(tally->queued, tally->out + tally->handed_back);
	CHECK_EQ(total_drops(), tally->dropped + tally->handed_back);
	CHECK_EQ(one.pool.used, 0);
	one_close(&one);
}

/* A well-formed frame, then a few bytes of it spoilt: near misses go deeper than noise. */
static size_t near_miss(struct weft_rng *rng, uint8_t *bytes)
{
	static const uint16_t likely[] = { OWN, OWN, 1, 2, 7, 8, 0xe001, 0xe007, 0, 0x7777 };
	static const uint8_t nexts[] = { 17, 41, 43, 43, 59 };
	size_t n = weft_rng_between(rng, 40, 300);
	uint16_t usids[6];

	if (weft_rng_below(rng, 16) == 0)
		n = weft_rng_between(rng, 8900, 9100);
	for (unsigned i = 0; i < 6; i++)
		usids[i] = likely[weft_rng_below(rng, WEFT_COUNT(likely))];
	if (weft_rng_below(rng, 4) == 0) /* at its end: the SRH's turn */
		memset(usids + 1, 0, sizeof(usids) - sizeof(usids[0]));
	one_bytes(bytes, n, usids, (uint8_t)weft_rng_u64(rng),
		nexts[weft_rng_below(rng, WEFT_COUNT(nexts))]);
	bytes[7] = (uint8_t)weft_rng_below(rng, 9);
	if (n >= 48) { /* an SRH, perhaps in an SRH */
		bytes[40] = nexts[weft_rng_below(rng, WEFT_COUNT(nexts))];
		bytes[41] = (uint8_t)weft_rng_below(rng, 40);
		bytes[42] = weft_rng_below(rng, 8) ? 4 : 0;
		bytes[43] = (uint8_t)weft_rng_below(rng, 20);
		bytes[44] = (uint8_t)weft_rng_below(rng, 20);
	}
	for (size_t at = 48; at + 16 <= n; at += 16) { /* segments back to ourselves, and 0 */
		memcpy(bytes + at, bytes + 24, 16);
		bytes[at + 4] = (uint8_t)(weft_rng_below(rng, 2) ? OWN >> 8 : 0);
		bytes[at + 5] = 0;
	}
	for (uint64_t spoilt = weft_rng_below(rng, 4); spoilt; spoilt--)
		bytes[weft_rng_below(rng, WEFT_MIN(n, (size_t)64))] = (uint8_t)weft_rng_u64(rng);
	return n - weft_rng_below(rng, weft_rng_below(rng, 4) ? 1 : n);
}

TEST(weft_switch_input_bytes__counts_all_garbage)
{
	static uint8_t bytes[16384];
	struct tally tally = { 0 };
	struct weft_rng rng;

	weft_rng_seed(&rng, 11);
	open_hostile();
	for (unsigned i = 0; i < 60000; i++) {
		size_t n;

		if (i % 4) {
			n = near_miss(&rng, bytes);
		} else {
			n = weft_rng_below(&rng, 120);
			for (size_t k = 0; k < n; k++)
				bytes[k] = (uint8_t)weft_rng_u64(&rng);
		}
		feed(&tally, bytes, n, i * UINT64_C(100000));
		if (i % 64 == 0)
			drain(&tally, i * UINT64_C(100000));
		if (i % 5000 == 4999) { /* while things break */
			uint32_t port = (uint32_t)weft_rng_below(&rng, PORTS);

			weft_switch_check(one.sw);
			weft_switch_port_mark(one.sw, port, false, 0);
			drain(&tally, 0);
			weft_switch_port_mark(one.sw, port, true, 0);
		}
	}
	drain(&tally, UINT64_MAX / 2);
	CHECK(tally.out > 1000 && tally.dropped > 1000);
	for (unsigned i = WEFT_SWITCH_DROP_NOT_IPV6; i <= WEFT_SWITCH_DROP_BAD_SRH; i++)
		if (!weft_switch_drops(one.sw, (enum weft_switch_drop)i))
			CHECK_FAIL("no frame met %s", weft_switch_drop_name(i));
	close_hostile(&tally);
}

TEST(weft_switch_input_bytes__takes_every_length)
{
	static uint8_t bytes[65536];
	uint16_t usids[6] = { OWN, 1, 2 };
	struct tally tally = { 0 };

	open_hostile();
	for (size_t n = 40; n < 9100; n += n < 300 ? 1 : 97) {
		one_bytes(bytes, n, usids, TCLASS_DATA, 59);
		feed(&tally, bytes, n, 0);
		feed(&tally, bytes, n - 1, 0);
	}
	one_bytes(bytes, 65535, usids, TCLASS_DATA, 59);
	feed(&tally, bytes, 65535, 0);
	CHECK(weft_switch_drops(one.sw, WEFT_SWITCH_DROP_TOO_BIG) > 0);
	drain(&tally, UINT64_MAX / 2);
	close_hostile(&tally);
}

TEST(weft_switch_input_bytes__ends_loops)
{
	uint8_t bytes[40 + 8 + 127 * 16];
	uint16_t usids[6] = { OWN, OWN, OWN, OWN, OWN, OWN };
	struct tally tally = { 0 };

	open_hostile();
	one_bytes(bytes, sizeof(bytes), usids, TCLASS_DATA, 43);
	bytes[41] = 254;
	bytes[42] = 4;
	bytes[43] = 127;
	bytes[44] = 126;
	for (size_t at = 48; at < sizeof(bytes); at += 16)
		memcpy(bytes + at, bytes + 24, 16);
	bytes[7] = 255;
	feed(&tally, bytes, sizeof(bytes), 0); /* 128 times six uSIDs, all our own */
	CHECK_EQ(weft_switch_drops(one.sw, WEFT_SWITCH_DROP_HOP_LIMIT), 1);
	memset(bytes + 28, 0, 12);
	feed(&tally, bytes, sizeof(bytes), 0);
	CHECK_EQ(weft_switch_drops(one.sw, WEFT_SWITCH_DROP_SID_ZERO), 1);
	close_hostile(&tally);
}
