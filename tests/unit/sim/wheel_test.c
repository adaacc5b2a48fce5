/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "sim_local.h"

enum { HOSTS = 300 };

struct alarms {
	struct host hosts[HOSTS];
	struct wheel wheel;
	uint32_t lists[WHEEL_LEVELS << WHEEL_BITS];
};

static void start(struct alarms *a, uint64_t window)
{
	wheel_init(&a->wheel, a->lists);
	a->wheel.window = window;
	for (uint32_t i = 0; i < HOSTS; i++)
		a->hosts[i].wheel_window = WEFT_NEVER;
}

/* Far and near, against the plainest thing that could work: look at all of them. */
TEST(wheel_pop__rings_each_alarm_in_its_window)
{
	static struct alarms a;
	uint64_t want[HOSTS], now = 12345, rung = 0;
	struct weft_rng rng;

	start(&a, now);
	weft_rng_seed(&rng, 7);
	for (uint32_t i = 0; i < HOSTS; i++) {
		want[i] = now + (weft_rng_u64(&rng) >> (24 + i % 40) & 0xffffffffff);
		wheel_set(&a.wheel, a.hosts, i, want[i]);
	}
	while (rung < HOSTS) {
		uint64_t next = wheel_next(&a.wheel), least = WEFT_NEVER;
		uint32_t host;

		for (uint32_t i = 0; i < HOSTS; i++)
			least = WEFT_MIN(least, want[i]);
		CHECK(next <= least && next >= now);
		now = next;
		while ((host = wheel_pop(&a.wheel, a.hosts, now)) != NONE) {
			CHECK_EQ(want[host], now);
			want[host] = WEFT_NEVER;
			rung++;
		}
		for (uint32_t i = 0; i < HOSTS; i++)
			CHECK(want[i] > now);
	}
	CHECK(wheel_next(&a.wheel) == WEFT_NEVER);
}

/* A day's computing in a load, of windows of 2 ns: five levels end after half an hour. */
TEST(wheel_set__knows_no_time_that_is_too_far)
{
	static struct alarms a;
	uint64_t far = UINT64_C(1) << 63, end = WEFT_NEVER - 1;

	start(&a, (UINT64_C(1) << 40) - 1);
	wheel_set(&a.wheel, a.hosts, 1, UINT64_C(1) << 40); /* the next one */
	wheel_set(&a.wheel, a.hosts, 2, far);
	wheel_set(&a.wheel, a.hosts, 3, end);
	CHECK_EQ(wheel_pop(&a.wheel, a.hosts, UINT64_C(1) << 40), 1);
	CHECK_EQ(wheel_pop(&a.wheel, a.hosts, far - 1), NONE);
	CHECK_EQ(wheel_pop(&a.wheel, a.hosts, far), 2);
	CHECK_EQ(wheel_pop(&a.wheel, a.hosts, end), 3);
}

TEST(wheel_set__moves_an_alarm)
{
	static struct alarms a;

	start(&a, 0);
	wheel_set(&a.wheel, a.hosts, 3, 100000);
	wheel_set(&a.wheel, a.hosts, 4, 100000);
	wheel_set(&a.wheel, a.hosts, 3, 7);
	CHECK_EQ(wheel_pop(&a.wheel, a.hosts, 6), NONE);
	CHECK_EQ(wheel_pop(&a.wheel, a.hosts, 7), 3);
	CHECK_EQ(wheel_pop(&a.wheel, a.hosts, 99999), NONE);
	wheel_set(&a.wheel, a.hosts, 4, WEFT_NEVER);
	CHECK_EQ(a.wheel.n, 0);
	CHECK_EQ(wheel_pop(&a.wheel, a.hosts, 200000), NONE);
}
