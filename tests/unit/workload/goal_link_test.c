/* SPDX-License-Identifier: BSD-2-Clause */
#include "few.h"

/* The n-th with a tag meets the n-th, whatever stands between. */
TEST(goal_link__matches_in_order_by_tag)
{
	struct few f = few_make(NULL);

	REQUIRE(few_read(&f, "x.goal",
		"num_ranks 2\nrank 0 {\nsend 10b to 1 tag 1\nsend 20b to 1 tag 2\n"
		"send 30b to 1 tag 1\n}\nrank 1 {\nrecv 20b from 0 tag 2\nrecv 10b from 0 tag 1\n"
		"recv 30b from 0 tag 1\n}\n"));
	CHECK_EQ(f.load.n, 6);
	CHECK_EQ(f.load.edges[f.load.flows[3].after_first].flow, 1);
	CHECK_EQ(f.load.edges[f.load.flows[4].after_first].flow, 0);
	CHECK_EQ(f.load.edges[f.load.flows[5].after_first].flow, 2);
	few_run(&f);
	few_close(&f);
}

TEST(goal_link__names_what_meets_nothing)
{
	few_refuse("x.goal", "num_ranks 2\nrank 0 {\nsend 10b to 1 tag 1\n}\n",
		"x.goal:3: this send from rank 0 to 1 with tag 1 has no receive");
	few_refuse("x.goal",
		"num_ranks 2\nrank 0 {\nsend 10b to 1 tag 2\nrecv 5b from 1 tag 3\n}\n"
		"rank 1 {\nrecv 10b from 0 tag 2\n}\n",
		"x.goal:4: this receive from rank 1 to 0 with tag 3 has no send");
}
