/* SPDX-License-Identifier: BSD-2-Clause */
#include "few.h"

TEST(goal_add__reads_what_schedgen_writes)
{
	struct few f = few_make(NULL);

	REQUIRE(few_read(&f, "x/ping.goal",
		"num_ranks 2\n\nrank 0 {\nl1: calc 1000\nl2: send 4096b to 1 tag 7 cpu 0 nic 0\n"
		"l3: recv 8b from 1 tag 7\nl2 requires l1\nl3 requires l2\n}\n"
		"rank 1 {\nl1: recv 4096b from 0 tag 7\nl2: send 8b to 0 tag 7\nl2 requires "
		"l1\n}\n"));
	CHECK_STR(f.load.jobs[0].name, "ping.goal");
	CHECK_EQ(f.load.n, 5);
	CHECK_EQ(f.load.flows[0].delay_ps, 1000000);
	CHECK_EQ(f.load.flows[1].len_bytes, 4096);
	CHECK_EQ(f.load.edges[f.load.flows[1].after_first].flow, 0);
	CHECK_EQ(f.load.flows[2].src, 0); /* a receive: waits for what it meets, and the send */
	CHECK_EQ(f.load.edges[f.load.flows[2].after_first].flow, 4);
	CHECK_EQ(f.load.edges[f.load.flows[2].after_first + 1].flow, 1);
	uint64_t ideal_ps = weft_workload_ideal_ps(&f.load, f.topo), took_ps = few_run(&f);

	CHECK(took_ps >= ideal_ps && took_ps < ideal_ps + 100000);
	few_close(&f);
}

TEST(goal_add__lets_begin_what_only_wants_others_to_have_begun)
{
	struct few f = few_make(NULL);

	REQUIRE(few_read(&f, "x.goal",
		"num_ranks 2\nrank 0 {\na: calc 100\nb: calc 5000\nc: send 1b to 1\n"
		"b requires a\nc irequires b\n}\nrank 1 {\nrecv 1b from 0\n}\n"));
	/* a, b's beginning, b, c, the receive. */
	CHECK_EQ(f.load.n, 5);
	CHECK_EQ(f.load.edges[f.load.flows[1].after_first].flow, 0);
	CHECK_EQ(f.load.edges[f.load.flows[2].after_first].flow, 1);
	CHECK_EQ(f.load.edges[f.load.flows[3].after_first].flow, 1);
	few_run(&f);
	few_close(&f);
}

TEST(goal_add__knows_many_labels)
{
	struct few f = few_make(NULL);
	char *text = malloc(1 << 20);
	int at = snprintf(text, 1 << 20, "num_ranks 2\nrank 1 {\n");

	for (int i = 0; i < 5000; i++)
		at += snprintf(text + at, (size_t)((1 << 20) - at), "l%d: calc 1\n", i);
	for (int i = 1; i < 5000; i++)
		at += snprintf(text + at, (size_t)((1 << 20) - at), "l%d requires l%d\n", i, i - 1);
	snprintf(text + at, (size_t)((1 << 20) - at), "}\n");
	REQUIRE(few_read(&f, "x.goal", text));
	CHECK_EQ(f.load.n, 5000);
	CHECK_EQ(f.load.edges[4998].flow, 4998);
	CHECK_EQ(weft_workload_ideal_ps(&f.load, f.topo), 5000 * 1000);
	free(text);
	few_close(&f);
}

/* LogGOPSim's lexer has no lines, and wants no blanks around its marks. */
TEST(goal_add__needs_no_blanks_and_no_lines)
{
	static const char *const texts[] = {
		"num_ranks 2\nrank 0{\nl1:send 4096b to 1 tag 7\n}\nrank 1{\nl1:recv 4096b from 0 "
		"tag 7\n}\n",
		"num_ranks 2\nrank 0 {\nl1 : send 4096 b to 1 tag 7\n}\nrank 1 {\nl1 : recv 4096b "
		"from 0 tag 7\n}\n",
		"num_ranks 2 rank 0\n{ l1: send 4096b to 1 tag 7 }\nrank 1 {l1: recv 4096b from 0 "
		"tag "
		"7}",
		"num_ranks 2\nrank 0 {l1: send 4096b to 1 tag 7 l2: calc 5 l2 requires l1 l3: calc "
		"1}\n"
		"rank 1 {\nl1: recv 4096b from 0 tag 7}\n",
	};

	for (unsigned i = 0; i < WEFT_COUNT(texts); i++) {
		struct few f = few_make(NULL);

		CHECK(few_read(&f, "x.goal", texts[i]));
		CHECK_STR(f.error, "");
		CHECK_EQ(f.load.n, i == 3 ? 4 : 2);
		CHECK_EQ(f.load.flows[0].len_bytes, 4096);
		few_run(&f);
		few_close(&f);
	}
}

TEST(goal_add__takes_tags_of_64_bits_and_tells_them_apart)
{
	struct few f = few_make(NULL);

	REQUIRE(few_read(&f, "x.goal",
		"num_ranks 2\nrank 0 {\nsend 10b to 1 tag 10000001100 cpu 0 nic 0\n"
		"send 20b to 1 tag 1410066508\n}\n"
		"rank 1 {\nrecv 20b from 0 tag 1410066508\nrecv 10b from 0 tag 10000001100\n}\n"));
	/* They are the same modulo 2^32. */
	CHECK_EQ(f.load.edges[f.load.flows[2].after_first].flow, 1);
	CHECK_EQ(f.load.edges[f.load.flows[3].after_first].flow, 0);
	few_run(&f);
	few_close(&f);
	few_refuse("x.goal", "num_ranks 2\nrank 0 {\nsend 1b to 1 tag 18446744073709551616\n}\n",
		"x.goal:3: tag: \"18446744073709551616\", wanted is a whole number");
}

TEST(goal_add__receives_from_any_what_no_other_receive_takes)
{
	struct few f = few_make(NULL);

	REQUIRE(few_read(&f, "x.goal",
		"num_ranks 3\nrank 0 {\nrecv 4096b from -1 tag 7\nrecv 4096b from -1 tag 7\n"
		"recv 4096b from 2 tag 7\n}\nrank 1 {\nsend 4096b to 0 tag 7\n}\n"
		"rank 2 {\nsend 4096b to 0 tag 7\nsend 4096b to 0 tag 7\n}\n"));
	CHECK_EQ(f.load.edges[f.load.flows[0].after_first].flow, 3); /* rank 1's */
	CHECK_EQ(f.load.edges[f.load.flows[1].after_first].flow, 5);
	CHECK_EQ(f.load.edges[f.load.flows[2].after_first].flow, 4); /* named: the first of 2 */
	few_run(&f);
	few_close(&f);
	few_refuse("x.goal",
		"num_ranks 3\nrank 0 {\nrecv 1b from -1 tag 7\nrecv 1b from -1 tag 7\n}\n"
		"rank 1 {\nsend 1b to 0 tag 7\n}\n",
		"x.goal:4: this receive from rank any to 0 with tag 7 has no send");
	few_refuse("x.goal",
		"num_ranks 3\nrank 0 {\nrecv 1b from -1 tag 8\n}\nrank 1 {\nsend 1b to 0 tag "
		"7\n}\n",
		"x.goal:6: this send from rank 1 to 0 with tag 7 has no receive");
	few_refuse("x.goal", "num_ranks 2\nrank 0 {\nsend 1b to -1\n}\n",
		"x.goal:3: send: \"-1\", wanted is a whole number");
}

TEST(goal_add__refuses_a_receive_of_other_bytes_than_are_sent)
{
	static const char text[] = "num_ranks 2\nrank 0 {\nsend 10b to 1 tag 7\n}\nrank 1 {\n"
				   "recv 99b from 0 tag 7\n}\n";
	struct few f = few_make("permutation,recv_bytes=any");

	few_refuse("x.goal", text,
		"x.goal:6: this receive of 99 bytes meets the send of line 3, of 10: if receives "
		"say "
		"what fits, recv_bytes=any");
	CHECK(few_read(&f, "x.goal", text));
	CHECK_EQ(f.load.flows[0].len_bytes, 10);
	CHECK(!few_read(&f, "x.goal",
		"num_ranks 2\nrank 0 {\nsend 10b to 1\n}\nrank 1 {\nrecv 9b from 0\n}\n"));
	CHECK_STR(f.error, "x.goal:6: this receive of 9 bytes meets the send of line 3, of 10");
	few_close(&f);
}

TEST(goal_add__says_where_operations_wait_for_each_other)
{
	/* Line 3 waits for what is in the circle, lines 4 and 5 are it. */
	few_refuse("x.goal",
		"num_ranks 2\nrank 0 {\na: calc 1\nb: calc 1\nc: calc 1\na requires b\n"
		"b requires c\nc requires b\n}\n",
		"x.goal:4: this waits for what waits for it");
	/* Each receives before it sends. */
	few_refuse("x.goal",
		"num_ranks 2\nrank 0 {\nr: recv 1b from 1\ns: send 1b to 1\ns requires r\n}\n"
		"rank 1 {\nr: recv 1b from 0\ns: send 1b to 0\ns requires r\n}\n",
		"x.goal:3: this waits for what waits for it");
}

TEST(goal_add__says_file_and_line)
{
	few_refuse("x.goal", "num_ranks 17\n", "x.goal:1: 17 ranks, and 16 hosts to put them on");
	few_refuse("x.goal", "num_ranks 2\nrank 0 {\nsend 1b to 2\n}\n",
		"x.goal:3: send: 2, allowed is 0 to 1");
	few_refuse("x.goal", "num_ranks 2\nrank 0 {\nl1: sned 1b to 1\n}\n",
		"x.goal:3: \"sned\", wanted is send, recv or calc");
	few_refuse("x.goal", "num_ranks 2\nrank 0 {\nl1: send 1b from 1\n}\n",
		"x.goal:3: send: wanted is \"to RANK\"");
	few_refuse("x.goal", "num_ranks 2\nrank 0 {\nl1: calc 1\nl1: calc 1\n}\n",
		"x.goal:4: label l1 is there already");
	few_refuse("x.goal", "num_ranks 2\nrank 0 {\nl1: calc 1\nl1 requires l2\n}\n",
		"x.goal:4: no label l2 in this rank");
	few_refuse("x.goal", "num_ranks 2\nrank 0 {\nl1 requires l2\n}\n",
		"x.goal:3: no label l1, nor l2, in this rank");
	few_refuse("x.goal", "num_ranks 2\nrank 0 {\nl1: calc 1\n",
		"x.goal:3: rank 0 is not closed by }");
	few_refuse("x.goal", "num_ranks 2\ncalc 5\n", "x.goal:2: calc outside of a rank");
	few_refuse("x.goal", "rank 0 {\n", "x.goal:1: rank before num_ranks");
	few_refuse("x.goal", "num_ranks 2\nrank 0 {\ncalc 1 tag\n}\n", "x.goal:3: tag: no number");
}
