/* SPDX-License-Identifier: BSD-2-Clause */
#include "demos.h"
#include "lab_guard.h"

/* Labs themselves: demo_lab_test.c, where a killed demo's lab goes. */
TEST(lab_guard_end__returns_also_where_nothing_was_started)
{
	lab_guard_end();
	lab_guard_end();
}

TEST(lab_guard_end__waits_for_the_guard_of_a_lab_that_never_came)
{
	CHECK(lab_guard_start("no-such-lab"));
	lab_guard_end();
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1); /* it has no child left */
}
