/* SPDX-License-Identifier: BSD-2-Clause */
#include "few.h"

TEST(simple_add__permutes_in_one_cycle)
{
	struct few f = few_open("permutation,bytes=1000,repeats=3");
	uint32_t at = 0;

	CHECK_EQ(f.load.n, 16);
	for (unsigned i = 0; i < 16; i++) {
		unsigned k = 0;

		CHECK_EQ(few_bytes(&f, i, false), 3000);
		CHECK_EQ(few_bytes(&f, i, true), 3000);
		while (f.load.flows[k].src != at)
			k++;
		at = f.load.flows[k].dst;
		CHECK_EQ(at == 0, i == 15);
	}
	few_close(&f);
}

TEST(simple_add__overruns_one_and_spares_its_neighbour)
{
	struct few f = few_open("incast:7,bytes=1000,victim=true");

	CHECK_EQ(f.load.n, 8);
	CHECK_EQ(few_bytes(&f, 0, true), 7000);
	CHECK_EQ(few_bytes(&f, 1, true), 1000);
	for (unsigned i = 0; i < 8; i++)
		CHECK(f.load.flows[i].src >= 4);
	few_close(&f);
	f = few_make("incast:16");
	CHECK(!few_add(&f));
	CHECK_STR(f.error, "fan_in: 16, allowed is 1 to 15 on these hosts");
	few_close(&f);
	f = few_open("incast:15"); /* those of its own T0 come last */
	CHECK(f.load.flows[14].src < 4 && f.load.flows[11].src >= 4);
	few_close(&f);
}

TEST(simple_add__sends_pairs_and_rings)
{
	struct few f = few_open("pairs,from=3,to=9,bytes=77");

	CHECK_EQ(f.load.n, 1);
	CHECK_EQ(few_bytes(&f, 9, true), 77);
	few_close(&f);
	f = few_make("pairs,from=3,to=16");
	CHECK(!few_add(&f));
	CHECK_STR(f.error, "from 3 to 16: wanted are two different hosts below 16");
	few_close(&f);
	f = few_open("ring,bytes=5GB,repeats=3"); /* two messages each */
	CHECK_EQ(few_bytes(&f, 0, false), 15000000000);
	CHECK_EQ(f.load.flows[0].repeats, 6);
	few_close(&f);
	f = few_make("chain,bytes=5GB");
	CHECK(!few_add(&f));
	CHECK_STR(f.error, "bytes: 5000000000, allowed is 1 to 4294967295: a chain hands on"
			   " messages as a whole");
	few_close(&f);
	f = few_open("ring,hosts=2-5");
	CHECK_EQ(f.load.flows[3].dst, 2);
	few_close(&f);
}

/* 15 hops of a message that is alone in the fabric. */
TEST(simple_add__hands_on_along_a_chain)
{
	struct few f = few_open("chain,bytes=4096,compute=2us");
	uint64_t arrived, done_ps = 0;

	CHECK_EQ(f.load.n, 15);
	for (unsigned i = 0; i < 15; i++) {
		uint64_t whole = weft_sim_alone_ps(f.topo, &f.load.flows[i], &arrived);

		done_ps += i == 14 ? whole : arrived;
	}
	done_ps += UINT64_C(14) * 2000000;
	CHECK_EQ(weft_workload_ideal_ps(&f.load, f.topo), done_ps);
	uint64_t took_ps = few_run(&f);

	CHECK(took_ps >= done_ps && took_ps < done_ps + done_ps / 50);
	few_close(&f);
}
