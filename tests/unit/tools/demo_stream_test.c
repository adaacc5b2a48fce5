/* SPDX-License-Identifier: BSD-2-Clause */
#include "demos.h"

static void stream(enum demo_transport transport, struct demo_run *run)
{
	struct term term;
	struct demo demo;

	demo_up(&demo, &term);
	memset(run, 0, sizeof(*run));
	run->transport = transport;
	CHECK_EQ(run_transport(&demo, run), 0);
	CHECK_STR(run->error, "");
	CHECK_EQ(run->wrong_bytes, 0);
	demo_lab_down(&demo);
	leave_folder();
}

static struct demo_run run;

TEST(demo_stream__tcp_has_one_plane)
{
	stream(DEMO_TCP, &run);
	CHECK_EQ(run.paths, 1);
	CHECK(run.series.bytes > 1000000);
	for (uint32_t p = 1; p < run.samples.planes; p++)
		CHECK(run.samples.bytes[(run.samples.n - 1) * run.samples.planes + p] -
				run.samples.bytes[p] <
			100000);
	run_end(&run);
}

TEST(demo_stream__mptcp_has_all_planes)
{
	if (access("/proc/sys/net/mptcp/enabled", F_OK))
		SKIP("this kernel has no MPTCP");
	stream(DEMO_MPTCP, &run);
	CHECK_EQ(run.paths, DEMO_PLANES);
	CHECK(run.series.bytes > 1000000);
	run_end(&run);
}
