/* SPDX-License-Identifier: BSD-2-Clause */
#include "few.h"

TEST(weft_workload_add__numbers_jobs)
{
	struct few f = few_open("ring,bytes=1000,hosts=0-3,name=first");

	CHECK(weft_workload_parse(&f.spec, "chain,start=5us", f.error, sizeof(f.error)));
	f.spec.name[0] = 0;
	CHECK(few_add(&f));
	CHECK_EQ(f.load.n_jobs, 2);
	CHECK_STR(f.load.jobs[0].name, "first");
	CHECK_STR(f.load.jobs[1].name, "chain");
	CHECK_EQ(f.load.jobs[1].first, 4);
	CHECK_EQ(f.load.jobs[1].n, 3);
	CHECK_EQ(f.load.flows[4].job, 1);
	CHECK_EQ(f.load.flows[4].start_ps, 5000000);
	CHECK_EQ(f.load.flows[3].job, 0);
	few_run(&f);
	few_close(&f);
}

TEST(weft_workload_add__says_what_cannot_be)
{
	struct few f = few_make("all-to-all,repeats=65535");

	f.load.n = WEFT_WORKLOAD_FLOWS_MAX - 10;
	CHECK(!few_add(&f));
	CHECK_STR(f.error, "16776960 flows, allowed are 67108864");
	f.load.n = 0;
	f.load.n_jobs = WEFT_WORKLOAD_JOBS_MAX;
	CHECK(!few_add(&f));
	CHECK_STR(f.error, "more than 64 jobs");
	f.load.n_jobs = 0;
	f.spec.kind = WEFT_WORKLOAD_FILE;
	snprintf(f.spec.file, sizeof(f.spec.file), "/nonexistent/x.goal");
	CHECK(!few_add(&f));
	CHECK_STR(f.error, "/nonexistent/x.goal: No such file or directory");
	CHECK(!few_read(&f, "x.cm", "Nodes 4\n"));
	CHECK_STR(f.error, "x.cm: it sends nothing");
	few_close(&f);
}
