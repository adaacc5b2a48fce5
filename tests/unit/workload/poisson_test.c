/* SPDX-License-Identifier: BSD-2-Clause */
#include "few.h"

/* 16 lines of 50 GB/s, half of it, for 10 ms: 4 GB of the distribution's mean. */
static void expect(const char *text, double mean)
{
	struct few f = few_open(text);
	double want = 16 * 50e9 * 0.5 * 10e-3, sum = 0;

	for (uint32_t i = 0; i < f.load.n; i++) {
		CHECK(f.load.flows[i].src != f.load.flows[i].dst);
		CHECK(f.load.flows[i].start_ps < UINT64_C(10000000000));
		sum += f.load.flows[i].len_bytes;
	}
	fprintf(stderr, "%s: %u flows of %.0f\n", text, (unsigned)f.load.n, sum / (double)f.load.n);
	CHECK(sum > 0.8 * want && sum < 1.2 * want);
	CHECK(sum / (double)f.load.n > 0.8 * mean && sum / (double)f.load.n < 1.2 * mean);
	few_close(&f);
}

TEST(poisson_add__offers_the_load_that_was_wanted)
{
	expect("poisson,load=0.5,for=10ms,bytes=100KB", 100e3);
	expect("poisson,load=0.5,for=10ms,sizes=websearch", 1.71e6);
	expect("poisson,load=0.5,for=10ms,sizes=hadoop", 124e3);
}

/* Times between exponential flows: as wide as their mean, and e^-2 of them beyond twice it. */
TEST(poisson_add__has_exponential_gaps)
{
	struct few f = few_open("poisson,load=0.5,for=10ms,bytes=100KB");
	double mean = 10e9 / f.load.n, beyond = 0;

	for (uint32_t i = 1; i < f.load.n; i++)
		beyond += (double)(f.load.flows[i].start_ps - f.load.flows[i - 1].start_ps) >
			  2 * mean;
	CHECK(beyond / f.load.n > 0.12 && beyond / f.load.n < 0.15);
	few_close(&f);
}
