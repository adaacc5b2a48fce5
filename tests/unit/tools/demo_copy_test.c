/* SPDX-License-Identifier: BSD-2-Clause */
#include "demos.h"

/* Here /proc/self/exe is this test, which has no verb "cp" and so leaves no report; that the real
 * program does is what the live test of the demo is about.
 */
TEST(demo_copy__does_not_call_it_done_without_a_report)
{
	static struct demo_run run;
	struct term term;
	struct demo demo;

	demo_up(&demo, &term);
	run.transport = DEMO_WEFT;
	CHECK_EQ(run_transport(&demo, &run), -1);
	CHECK(!run.done);
	CHECK(*run.error);
	run_end(&run);
	demo_lab_down(&demo);
	leave_folder();
}
