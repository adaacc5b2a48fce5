/* SPDX-License-Identifier: BSD-2-Clause */
#include "one.h"

static struct one one;

/* 4262 bytes on the line at 100 Gb/s: [P 1.15]'s full packet with its outer header. */
enum { FULL = 4238, FULL_PS = (FULL + 24) * BYTE_PS };

static struct weft_port_profile plain(void)
{
	struct weft_port_profile profile;

	weft_port_profile_fill(&profile, WEFT_DISCIPLINE_TRIM, false, 100000, 0);
	return profile;
}

static void fill(uint32_t port, unsigned frames)
{
	for (unsigned i = 0; i < frames; i++) {
		struct weft_frame frame = one_frame(port, FULL);

		frame.handle = i;
		CHECK_EQ(one_send(&one, frame, 1000), 0);
	}
}

TEST(weft_switch_take__keeps_the_line_rate_to_the_picosecond)
{
	struct weft_departure departure;

	one_open(&one, NULL);
	CHECK_EQ(weft_switch_port_next(one.sw, 3), WEFT_NEVER);
	fill(3, 10);
	for (uint64_t i = 0; i < 10; i++) {
		uint64_t starts_ps = 1000 + i * FULL_PS;

		CHECK_EQ(weft_switch_port_next(one.sw, 3), starts_ps);
		CHECK(!weft_switch_take(one.sw, 3, starts_ps - 1, &departure));
		REQUIRE(weft_switch_take(one.sw, 3, starts_ps, &departure));
		CHECK_EQ(departure.frame.handle, i);
		CHECK_EQ(departure.drop, 0);
		CHECK_EQ(departure.starts_ps, starts_ps);
		CHECK_EQ(departure.ends_ps, starts_ps + FULL_PS);
	}
	CHECK_EQ(weft_switch_port_next(one.sw, 3), WEFT_NEVER);
	/* An idle line starts at once; one that has just ended, when it has ended. */
	CHECK_EQ(one_send(&one, one_frame(3, 100), 1000 + 9 * FULL_PS), 0);
	CHECK_EQ(weft_switch_port_next(one.sw, 3), 1000 + 10 * FULL_PS);
	CHECK_EQ(weft_switch_busy_port(one.sw, 0), 3);
	CHECK_EQ(weft_switch_busy_port(one.sw, 4), PORTS);
	one_close(&one);
}

TEST(weft_switch_take__asked_late_answers_the_same)
{
	struct weft_departure departure;

	one_open(&one, NULL);
	fill(3, 10);
	for (uint64_t i = 0; i < 10; i++) {
		REQUIRE(weft_switch_take(one.sw, 3, UINT64_C(1000000000000), &departure));
		CHECK_EQ(departure.starts_ps, 1000 + i * FULL_PS);
	}
	one_close(&one);
}

static unsigned settled;

static void settle(void *user, uint32_t port, uint64_t now_ps)
{
	struct weft_departure departure;

	CHECK(user == &one);
	CHECK_EQ(port, 3);
	while (weft_switch_take(one.sw, port, now_ps, &departure))
		settled++;
}

/* Twice the line rate for a while; what became of it. */
static struct weft_port_counters overload(bool is_late)
{
	struct weft_port_profile profile = plain();

	one.config.settle = is_late ? settle : NULL;
	one.config.user = &one;
	one_open(&one, &profile);
	settled = 0;
	for (unsigned i = 0; i < 60; i++) {
		uint64_t now_ps = 1000 + i * FULL_PS / 2;

		if (!is_late)
			settle(&one, 3, now_ps);
		CHECK_EQ(one_send(&one, one_frame(3, FULL), now_ps), 0);
	}
	struct weft_port_counters counters = *weft_switch_port_counters(one.sw, 3);

	one_close(&one);
	return counters;
}

TEST(queue_admit__asks_a_late_caller_to_settle_first)
{
	struct weft_port_counters in_time = overload(false);
	unsigned taken = settled;
	struct weft_port_counters late = overload(true);

	CHECK_EQ(settled, taken);
	CHECK(late.trimmed > 0 && late.ecn_marked > 0);
	CHECK_MEM(&late, &in_time, sizeof(late));
}

TEST(queue_admit__shares_the_line_by_weight)
{
	struct weft_departure departure;
	uint64_t octets[WEFT_QUEUES] = { 0 }, now_ps = 0;

	one_open(&one, NULL);
	for (unsigned i = 0; i < 4000; i++) {
		struct weft_frame control = one_frame(2, 128);

		control.tclass = WEFT_CLASS_CONTROL;
		while (weft_switch_depth_bytes(one.sw, 2, WEFT_QUEUE_DATA) < 5 * FULL)
			CHECK_EQ(one_send(&one, one_frame(2, FULL), now_ps), 0);
		while (weft_switch_depth_bytes(one.sw, 2, WEFT_QUEUE_CONTROL) < 100 * 128)
			CHECK_EQ(one_send(&one, control, now_ps), 0);
		now_ps = weft_switch_port_next(one.sw, 2);
		REQUIRE(weft_switch_take(one.sw, 2, now_ps, &departure));
		octets[departure.frame.tclass == WEFT_CLASS_CONTROL] += departure.frame.bytes + 24;
	}
	double part = (double)octets[1] / (double)(octets[0] + octets[1]);

	CHECK_NEAR(part, 0.5, 0.005); /* not first: a half */
	one_close(&one);
}

TEST(queue_admit__gives_all_to_whoever_is_alone)
{
	struct weft_departure departure;
	struct weft_frame control = one_frame(2, 128);

	one_open(&one, NULL);
	control.tclass = WEFT_CLASS_CONTROL;
	for (unsigned i = 0; i < 100; i++)
		CHECK_EQ(one_send(&one, control, 0), 0);
	for (unsigned i = 0; i < 100; i++)
		REQUIRE(weft_switch_take(one.sw, 2, UINT64_MAX - 1, &departure));
	CHECK_EQ(departure.ends_ps, 100 * (128 + 24) * BYTE_PS);
	one_close(&one);
}

TEST(queue_admit__marks_in_proportion_between_the_thresholds)
{
	struct weft_port_profile profile = plain();
	uint32_t marked[8] = { 0 };

	profile.trim_bytes = 0;
	profile.ecn_min_bytes = 2 * FULL;
	profile.ecn_max_bytes = 6 * FULL;
	one_open(&one, &profile);
	for (unsigned round = 0; round < 4000; round++) {
		struct weft_departure departure;

		for (unsigned depth = 0; depth < 8; depth++) {
			struct weft_frame frame = one_frame(2, FULL);
			uint32_t port;

			CHECK_EQ(weft_switch_input(one.sw, &frame, 0, &port), 0);
			marked[depth] += frame.mark == WEFT_MARK_CE;
		}
		while (weft_switch_take(one.sw, 2, UINT64_MAX - 1, &departure))
			;
	}
	for (unsigned depth = 0; depth < 8; depth++) {
		double want = depth <= 2 ? 0 : depth >= 6 ? 1 : (depth - 2) / 4.0;

		CHECK_NEAR(marked[depth] / 4000.0, want, 0.03);
	}
	CHECK_EQ(weft_switch_port_counters(one.sw, 2)->ecn_marked,
		marked[3] + marked[4] + marked[5] + 8000);
	one_close(&one);
}

TEST(queue_admit__marks_only_those_who_can_be)
{
	struct weft_port_profile profile = plain();
	struct weft_frame frame = one_frame(2, FULL);
	uint32_t port;

	profile.ecn_min_bytes = 0;
	profile.ecn_max_bytes = 1;
	one_open(&one, &profile);
	fill(2, 2);
	frame.flags = WEFT_FRAME_TRIMMABLE;
	CHECK_EQ(weft_switch_input(one.sw, &frame, 0, &port), 0);
	CHECK_EQ(frame.mark, 0); /* Not-ECT */
	frame = one_frame(2, 128);
	frame.mark = WEFT_MARK_TRIMMED;
	CHECK_EQ(weft_switch_input(one.sw, &frame, 0, &port), 0);
	CHECK_EQ(frame.mark, WEFT_MARK_TRIMMED);
	frame = one_frame(2, 128);
	frame.tclass = WEFT_CLASS_CONTROL;
	CHECK_EQ(weft_switch_input(one.sw, &frame, 0, &port), 0);
	CHECK_EQ(frame.mark, 0);
	one_close(&one);
}

TEST(queue_admit__trims_what_does_not_fit)
{
	struct weft_port_profile profile = plain();
	struct weft_frame frame = one_frame(2, FULL);
	struct weft_departure departure;
	uint32_t port, cut = 0;

	profile.trim_bytes = 3 * FULL;
	profile.ecn_max_bytes = profile.ecn_min_bytes = 0;
	profile.drop_bytes[WEFT_QUEUE_CONTROL] = 2 * 128;
	one_open(&one, &profile);
	fill(2, 3);
	CHECK_EQ(weft_switch_input(one.sw, &frame, 1000, &port), 0);
	CHECK_EQ(frame.bytes, 128);
	CHECK_EQ(frame.mark, WEFT_MARK_TRIMMED);
	CHECK_EQ(frame.flags & WEFT_FRAME_CUT_HERE, WEFT_FRAME_CUT_HERE);
	/* As small as a trimmed one: nothing to win. */
	CHECK_EQ(one_send(&one, one_frame(2, 128), 1000), WEFT_SWITCH_DROP_TRIM_TOO_SMALL);
	CHECK_EQ(one_send(&one, one_frame(2, FULL), 1000), 0);
	CHECK_EQ(one_send(&one, one_frame(2, FULL), 1000), WEFT_SWITCH_DROP_TRIM_TAIL);
	/* A stranger's packet is not trimmed; it has the buffer beyond. */
	frame = one_frame(2, FULL);
	frame.flags = 0;
	CHECK_EQ(weft_switch_input(one.sw, &frame, 1000, &port), 0);
	CHECK_EQ(frame.bytes, FULL);
	while (weft_switch_take(one.sw, 2, UINT64_MAX - 1, &departure))
		cut += (departure.frame.flags & WEFT_FRAME_CUT_HERE) != 0;
	CHECK_EQ(cut, 2);
	const struct weft_port_counters *c = weft_switch_port_counters(one.sw, 2);

	CHECK_EQ(c->trimmed, 3);
	CHECK_EQ(c->trim_drops, 1);
	CHECK_EQ(c->trim_sent, 2);
	CHECK_EQ(c->queue[WEFT_QUEUE_DATA].trimmed, 3);
	CHECK_EQ(c->queue[WEFT_QUEUE_CONTROL].trim_drops, 1);
	CHECK_EQ(c->queue[WEFT_QUEUE_CONTROL].trim_sent, 2);
	CHECK_EQ(c->queue[WEFT_QUEUE_DATA].drops, 1);
	CHECK_EQ(c->out_discards, 2);
	one_close(&one);
}

TEST(queue_admit__drops_at_the_tail)
{
	struct weft_port_profile profile = plain();
	struct weft_frame control = one_frame(2, 100);

	profile.trim_bytes = 0;
	profile.drop_bytes[WEFT_QUEUE_DATA] = 2 * FULL;
	profile.drop_bytes[WEFT_QUEUE_CONTROL] = 100;
	one_open(&one, &profile);
	fill(2, 2);
	CHECK_EQ(one_send(&one, one_frame(2, 64), 0), WEFT_SWITCH_DROP_TAIL);
	control.tclass = WEFT_CLASS_CONTROL;
	CHECK_EQ(one_send(&one, control, 0), 0);
	CHECK_EQ(one_send(&one, control, 0), WEFT_SWITCH_DROP_CONTROL_TAIL);
	CHECK_EQ(weft_switch_drops(one.sw, WEFT_SWITCH_DROP_TAIL), 1);
	CHECK_EQ(weft_switch_port_counters(one.sw, 2)->queue[WEFT_QUEUE_DATA].watermark, 2 * FULL);
	one_close(&one);
}

TEST(queue_admit__survives_an_empty_pool)
{
	one_open(&one, NULL);
	for (unsigned i = 0; i < POOL; i++)
		CHECK_EQ(one_send(&one, one_frame(i % PORTS, 64), 0), 0);
	CHECK_EQ(one_send(&one, one_frame(0, 64), 0), WEFT_SWITCH_DROP_NO_BUFFER);
	CHECK_EQ(one.pool.used_max, POOL);
	struct weft_departure departure;

	REQUIRE(weft_switch_take(one.sw, 5, 0, &departure));
	CHECK_EQ(one_send(&one, one_frame(0, 64), 0), 0);
	one_close(&one);
}

/* A pool may be far larger than memory: only places that frames really waited in are touched. */
TEST(weft_frame_pool_init__touches_nothing)
{
	struct weft_departure departure;

	memset(one.frames, 0xa5, sizeof(one.frames));
	one_open(&one, NULL);
	for (unsigned round = 0; round < 10; round++) {
		for (unsigned i = 0; i < 5; i++)
			CHECK_EQ(one_send(&one, one_frame(0, 64), round * 1000000), 0);
		for (unsigned i = 0; i < 5; i++)
			REQUIRE(weft_switch_take(one.sw, 0, (round + 1) * 1000000, &departure));
	}
	CHECK_EQ(one.pool.used_max, 5);
	for (const uint8_t *at = (uint8_t *)&one.frames[5]; at < (uint8_t *)&one.frames[POOL]; at++)
		REQUIRE(*at == 0xa5);
	one_close(&one);
}
