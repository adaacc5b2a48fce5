/* SPDX-License-Identifier: BSD-2-Clause */
#include "few.h"

/* Every rank sends and receives so many bytes; it takes no less than the bound, nor much more. */
static void expect(const char *text, uint32_t flows, uint64_t bytes, double at_most)
{
	struct few f = few_open(text);
	uint64_t ideal_ps = weft_workload_ideal_ps(&f.load, f.topo), took_ps = few_run(&f);

	CHECK_EQ(f.load.n, flows);
	for (uint32_t host = 0; host < 16 && bytes; host++) {
		CHECK_EQ(few_bytes(&f, host, false), bytes);
		CHECK_EQ(few_bytes(&f, host, true), bytes);
	}
	fprintf(stderr, "%s: %.1f us, %.3f x ideal\n", text, (double)took_ps / 1e6,
		(double)took_ps / (double)ideal_ps);
	CHECK(took_ps >= ideal_ps);
	CHECK((double)took_ps <= at_most * (double)ideal_ps);
	few_close(&f);
}

TEST(collective_ring__sends_two_halves_around)
{
	expect("ring-allreduce,bytes=1600000", 32, 30 * 100000, 1.2);
	expect("all-gather,bytes=1600000", 32, 15 * 100000, 1.2);
	expect("reduce-scatter,bytes=1600000,compute=1us", 32, 15 * 100000, 1.2);
}

/* 2 (n - 1) steps, each of a message alone: the textbook's formula. */
TEST(collective_ring__has_the_bound_of_the_formula)
{
	struct few f = few_open("ring-allreduce,bytes=65536,placement=spread,compute=3us");
	uint64_t arrived_ps, done_ps = weft_sim_alone_ps(f.topo, &f.load.flows[0], &arrived_ps);
	uint64_t ideal_ps = 29 * arrived_ps + done_ps + 30 * UINT64_C(3000000);

	CHECK_EQ(weft_workload_ideal_ps(&f.load, f.topo), ideal_ps);
	few_close(&f);
}

TEST(collective_tree__sends_up_and_down_in_pieces)
{
	struct few f = few_open("tree-allreduce,bytes=1600000,pieces=8");

	CHECK_EQ(few_bytes(&f, 0, true), 2 * 1600000);  /* from two children */
	CHECK_EQ(few_bytes(&f, 1, false), 3 * 1600000); /* up, and down twice */
	CHECK_EQ(few_bytes(&f, 15, false), 1600000);
	few_close(&f);
	expect("tree-allreduce,bytes=1600000,pieces=8", 46, 0, 2.0);
}

TEST(collective_doubling__halves_and_doubles)
{
	expect("doubling-allreduce,bytes=1600000", 16 * 16, 2 * 1500000, 1.3);
	struct few f = few_make("doubling-allreduce,hosts=0-11");

	CHECK(!few_add(&f));
	CHECK_STR(f.error, "12 hosts, doubling wants a power of two");
	few_close(&f);
}

TEST(collective_exchange__sends_to_all_within_a_window)
{
	expect("all-to-all,bytes=1600000", 16 * 16, 1500000, 1.3);
	expect("all-to-all,bytes=1600000,window=1", 16 * 16, 1500000, 1.5);
	struct few f = few_open("all-to-all,window=3,hosts=0-7");

	/* Message 5 of rank 0 waits for message 2, that is, until it is done. */
	CHECK_EQ(f.load.flows[5].n_after, 1);
	CHECK_EQ(f.load.edges[f.load.flows[5].after_first].flow, 2);
	CHECK_EQ(f.load.flows[2].n_after, 0);
	few_close(&f);
}

TEST(collective_add__repeats_one_after_the_other)
{
	struct few f = few_open("ring-allreduce,bytes=16000,repeats=3");

	CHECK_EQ(f.load.n, 96);
	CHECK_EQ(f.load.jobs[0].n_steps, 3);
	CHECK_EQ(f.load.flows[32].step, 1);
	CHECK_EQ(f.load.flows[32].n_after, 2);
	CHECK_EQ(f.load.edges[f.load.flows[32].after_first].flow, 16);
	few_run(&f);
	few_close(&f);
}
