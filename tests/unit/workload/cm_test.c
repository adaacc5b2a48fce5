/* SPDX-License-Identifier: BSD-2-Clause */
#include "few.h"

TEST(cm_add__reads_connections_and_starts)
{
	struct few f = few_make("permutation,hosts=8-15,start_unit=ps");

	REQUIRE(few_read(&f, "x.cm",
		"Nodes 4\nConnections 2\n0->3 id 1 start 5000 size 2000000\n"
		"1->2 id 2 start 0 size 7 prio 1\n"));
	CHECK_EQ(f.load.n, 2);
	CHECK_EQ(f.load.flows[0].src, 8);
	CHECK_EQ(f.load.flows[0].dst, 11);
	CHECK_EQ(f.load.flows[0].start_ps, 5000);
	CHECK_EQ(f.load.flows[0].len_bytes, 2000000);
	few_close(&f);
}

/* csg-htsim's examples, and uet-htsim's of messages. */
TEST(cm_add__reads_older_files)
{
	struct few f = few_make("permutation,start_unit=ps,endless=5GB");
	uint64_t sum = 0;

	REQUIRE(few_read(&f, "x.cm",
		"Nodes 4\nConnections 4\n0->3 start 0.000000 size 0\n1->3 start 7.5 size 9\n"
		"0->1 id 1 msg start 0 size 40860\n0->1 id 1 msg 3 start 0 size 4086\n"));
	CHECK_EQ(f.load.flows[0].start_ps, 0);
	for (uint32_t i = 0; i < f.load.n; i++)
		sum += (uint64_t)f.load.flows[i].len_bytes * WEFT_MAX(f.load.flows[i].repeats, 1);
	CHECK_EQ(sum, UINT64_C(5000000000) + 9 + 40860 + 4086);
	few_close(&f);
}

/* A chain as gen_allreduce.py has it: what has come starts what goes on. */
TEST(cm_add__chains_by_triggers)
{
	struct few f = few_make(NULL);

	REQUIRE(few_read(&f, "x.cm",
		"Nodes 4\nConnections 3\nTriggers 2\n"
		"0->1 id 1 start 0 size 4096 recv_done_trigger 1\n"
		"1->2 id 2 trigger 1 size 4096 send_done_trigger 9\n1->3 id 3 trigger 9 size 4096\n"
		"trigger id 1 oneshot\ntrigger id 9 multishot\n"));
	CHECK_EQ(f.load.n, 5); /* two hubs */
	CHECK_EQ(f.load.edges[f.load.flows[1].after_first].flow, 3);
	CHECK_EQ(f.load.edges[f.load.flows[3].after_first].flow, 0);
	uint64_t ideal_ps = weft_workload_ideal_ps(&f.load, f.topo), took_ps = few_run(&f);

	CHECK(took_ps >= ideal_ps && took_ps < ideal_ps + 200000);
	few_close(&f);
}

/* A barrier of two, known at 1 and 3; starts flows at 0 and at 3. */
TEST(cm_add__tells_other_hosts_by_messages)
{
	struct few f = few_make(NULL);

	REQUIRE(few_read(&f, "x.cm",
		"Nodes 4\n0->1 start 0 size 4096 recv_done_trigger 1\n"
		"2->3 start 0 size 4096 recv_done_trigger 1\n0->2 trigger 1 size 4096\n"
		"3->2 trigger 1 size 4096\ntrigger id 1 barrier count 2\n"));
	/* 4 connections, notices 1->0 and 3->0, the hub at 0, a notice 0->3. */
	CHECK_EQ(f.load.n, 8);
	CHECK_EQ(f.load.flows[4].dst, 0);
	CHECK_EQ(f.load.flows[4].len_bytes, 64);
	CHECK_EQ(f.load.flows[6].n_after, 2);
	CHECK_EQ(f.load.flows[7].dst, 3);
	CHECK_EQ(f.load.edges[f.load.flows[3].after_first].flow, 7);
	few_run(&f);
	few_close(&f);
}

/* The same file is two experiments: uet-htsim's 11 is 11 us, csg-htsim's is nothing at all. */
TEST(cm_add__guesses_no_unit_of_starts)
{
	static const char text[] = "Nodes 4\n0->1 start 0 size 4\n1->2 start 11 size 4\n"
				   "2->3 start 0.5 size 4\n";
	struct few f = few_make("permutation,start_unit=us");

	REQUIRE(few_read(&f, "x.cm", text));
	CHECK_EQ(f.load.flows[0].start_ps, 0);
	CHECK_EQ(f.load.flows[1].start_ps, 11000000);
	CHECK_EQ(f.load.flows[2].start_ps, 500000);
	few_close(&f);
	f = few_make("permutation,start_unit=ps");
	REQUIRE(few_read(&f, "x.cm", text));
	CHECK_EQ(f.load.flows[1].start_ps, 11);
	CHECK_EQ(f.load.flows[2].start_ps, 0);
	few_close(&f);
	few_refuse("x.cm", text,
		"x.cm:3: start: 11 is microseconds to uet-htsim and picoseconds to csg-htsim: say "
		"start_unit=us or start_unit=ps");
	/* Nobody simulates a second: these are picoseconds. */
	f = few_make(NULL);
	REQUIRE(few_read(
		&f, "x.cm", "Nodes 4\n0->1 start 0 size 4\n1->2 start 21285000000 size 4\n"));
	CHECK_EQ(f.load.flows[1].start_ps, UINT64_C(21285000000));
	few_close(&f);
	f = few_make("permutation,start_unit=us");
	CHECK(!few_read(&f, "x.cm", "Nodes 4\n1->2 start 21285000000000 size 4\n"));
	CHECK_STR(f.error, "x.cm:2: start: 21285000000000, allowed is 0 to 1152921504606");
	few_close(&f);
	f = few_make("permutation,start_unit=us");
	CHECK(!few_add(&f));
	CHECK_STR(f.error, "start_unit belongs to .cm files");
	few_close(&f);
	f = few_make("permutation,endless=4GB");
	CHECK(!few_add(&f));
	CHECK_STR(f.error, "endless belongs to .cm files");
	few_close(&f);
}

TEST(cm_add__says_file_and_line)
{
	few_refuse("x.cm",
		"Nodes 4\n0->1 size 4 trigger 1 send_done_trigger 2\n"
		"0->2 size 4 trigger 2 send_done_trigger 1\ntrigger id 1 oneshot\ntrigger id 2 "
		"oneshot\n",
		"x.cm:2: this waits for what waits for it");
	few_refuse("x.cm", "Nodes 17\n", "x.cm:1: 17 nodes, and 16 hosts to put them on");
	few_refuse("x.cm", "0->1 size 4\n", "x.cm:1: a connection before Nodes");
	few_refuse("x.cm", "Nodes 4\n0->0 size 4\n", "x.cm:2: from node 0 to itself");
	few_refuse("x.cm", "Nodes 4\n0->4 size 4\n", "x.cm:2: destination: 4, allowed is 0 to 3");
	few_refuse("x.cm", "Nodes 4\n0->1\n",
		"x.cm:2: size: wanted is 1 to 1125899906842624, or 0: no end");
	few_refuse("x.cm", "Nodes 4\n0->1 start 0 size 0\n",
		"x.cm:2: size: 0 is a flow without an end, and here each has one: say endless=4GB, "
		"or what the run cannot come to");
	few_refuse("x.cm", "Nodes 4\n0->1 size 4 start 0.x\n",
		"x.cm:2: start: \"0.x\", wanted is a whole number");
	few_refuse("x.cm", "Nodes 4\nConnections 2\n0->1 size 4\n",
		"x.cm:3: 1 connections, the file says 2");
	few_refuse("x.cm", "Nodes 4\n0->1 size 4 trigger 3\n", "x.cm:2: no trigger 3");
	few_refuse("x.cm", "Nodes 4\n0->1 size 4 trigger 3\ntrigger id 3 oneshot\n",
		"x.cm:3: trigger 3: nothing fires it");
	few_refuse("x.cm",
		"Nodes 4\n0->1 size 4 send_done_trigger 3\n0->2 size 4 send_done_trigger 3\n"
		"trigger id 3 oneshot\n",
		"x.cm:4: trigger 3: fired by 2 connections, which only a barrier can be");
	few_refuse("x.cm",
		"Nodes 4\n0->1 size 4 send_done_trigger 3\ntrigger id 3 barrier count 2\n",
		"x.cm:3: trigger 3: counts to 2 and is fired by 1 connections");
	few_refuse("x.cm", "Nodes 4\nFailures 1\n",
		"x.cm:2: failures belong to the fabric: see --fault");
}
