/* SPDX-License-Identifier: BSD-2-Clause */
/* A queue against what is known about queues. */
#include "one.h"

#include <math.h>

static struct one one;

enum { BYTES = 1226, SERVICE_PS = (BYTES + WEFT_FRAME_GAP_BYTES) * BYTE_PS }; /* 100 ns */

/* Mean wait in service times of Poisson arrivals at load rho. */
static double mean_wait(double rho, unsigned arrivals)
{
	struct weft_departure departure;
	struct weft_rng rng;
	double at_ps = 0, sum_ps = 0;
	unsigned left = 0;

	weft_rng_seed(&rng, 5);
	one_open(&one, NULL);
	for (unsigned i = 0; i < arrivals; i++) {
		double u = (double)(weft_rng_u64(&rng) >> 11) / 9007199254740992.0;
		struct weft_frame frame = one_frame(4, BYTES);

		at_ps -= log(1 - u) * SERVICE_PS / rho;
		while (weft_switch_take(one.sw, 4, (uint64_t)at_ps, &departure)) {
			sum_ps += (double)(departure.starts_ps - departure.frame.handle);
			left++;
		}
		frame.handle = (uint64_t)at_ps;
		CHECK_EQ(one_send(&one, frame, (uint64_t)at_ps), 0);
	}
	while (weft_switch_take(one.sw, 4, UINT64_MAX / 2, &departure))
		;
	one_close(&one);
	return sum_ps / left / SERVICE_PS;
}

TEST(weft_switch_take__waits_as_m_d_1_does)
{
	static const double loads[] = { 0.3, 0.5, 0.8 };

	for (size_t i = 0; i < WEFT_COUNT(loads); i++) {
		double rho = loads[i], want = rho / (2 * (1 - rho)), got = mean_wait(rho, 600000);

		CHECK_NEAR(got / want, 1.0, 0.02);
	}
}

/*
 * N inputs, each with a frame for a random output in a slot with probability p: Karol, Hluchyj and
 * Morgan (1987), (N - 1) / N * p / (2 (1 - p)) slots.  Queues at inputs are full from 0.586 on.
 * Within 3.3 standard errors, of batches, since what waits together is not independent.
 */
struct karol {
	double mean, error;
};

static struct karol karol_waits(uint64_t ppm, unsigned slots)
{
	enum { BATCHES = 30 };
	struct weft_departure departure;
	struct karol k = { 0 };
	struct weft_rng rng;
	double squares = 0;

	weft_rng_seed(&rng, 7);
	one_open(&one, NULL);
	for (unsigned batch = 0, slot = 0; batch < BATCHES; batch++) {
		double sum_ps = 0;
		unsigned left = 0;

		for (unsigned end = slot + slots / BATCHES; slot < end; slot++) {
			uint64_t now_ps = (uint64_t)slot * SERVICE_PS;

			for (uint32_t out = 0; out < PORTS; out++) {
				while (weft_switch_take(one.sw, out, now_ps, &departure)) {
					sum_ps += (double)(departure.starts_ps -
							   departure.frame.handle);
					left++;
				}
			}
			for (uint32_t in = 0; in < PORTS; in++) {
				struct weft_frame frame =
					one_frame((uint32_t)weft_rng_below(&rng, PORTS), BYTES);

				frame.in_port = (uint16_t)in;
				frame.handle = now_ps;
				if (weft_rng_chance(&rng, ppm, 1000000))
					CHECK_EQ(one_send(&one, frame, now_ps), 0);
			}
		}
		double mean = sum_ps / left / SERVICE_PS;

		k.mean += mean / BATCHES;
		squares += mean * mean / BATCHES;
	}
	for (uint32_t out = 0; out < PORTS; out++) {
		while (weft_switch_take(one.sw, out, UINT64_MAX / 2, &departure))
			;
	}
	one_close(&one);
	k.error = sqrt((squares - k.mean * k.mean) / (BATCHES - 1));
	return k;
}

TEST(weft_switch_take__waits_as_outputs_of_a_slotted_switch_do)
{
	static const uint64_t loads_ppm[] = { 300000, 586000, 800000, 900000 };

	for (size_t i = 0; i < WEFT_COUNT(loads_ppm); i++) {
		double p = (double)loads_ppm[i] / 1e6;
		double want = (PORTS - 1.0) / PORTS * p / (2 * (1 - p));
		struct karol got = karol_waits(loads_ppm[i], 30000);

		fprintf(stderr, "Karol, load %.3f: waits %.4f +- %.4f slots, theory %.4f\n", p,
			got.mean, got.error, want);
		CHECK(fabs(got.mean - want) <= 3.3 * got.error);
		CHECK(got.error < 0.03 * want); /* or nothing is said */
	}
}

TEST(weft_switch_take__drains_an_incast_in_exactly_its_bytes)
{
	struct weft_departure departure;
	struct weft_rng rng;
	uint64_t total = 0;

	weft_rng_seed(&rng, 6);
	one_open(&one, NULL);
	for (unsigned i = 0; i < 700; i++) {
		struct weft_frame frame = one_frame(4, (uint16_t)weft_rng_between(&rng, 60, 9014));

		frame.in_port = (uint16_t)(i % 7);
		total += frame.bytes + 24u;
		CHECK_EQ(one_send(&one, frame, 12345), 0);
	}
	for (unsigned i = 0; i < 700; i++)
		REQUIRE(weft_switch_take(one.sw, 4, UINT64_MAX / 2, &departure));
	CHECK_EQ(departure.ends_ps, 12345 + total * BYTE_PS);
	one_close(&one);
}
