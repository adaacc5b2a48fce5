/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "training.h"

static struct training_run run;

static void begin(void)
{
	memset(&run, 0, sizeof(run));
	CHECK(training_line(&run, "{\"ranks\": 4, \"parameters\": 12, \"at\": 1000}"));
}

TEST(training_line__takes_what_rank_0_says)
{
	begin();
	CHECK(training_line(&run, "{\"step\": 0, \"at\": 2000, \"ns\": 500, \"loss\": 4.25}"));
	CHECK(!run.done);
	CHECK(training_line(&run, "{\"sha256\": \"abcd\", \"at\": 9000}"));
	CHECK(run.done);
	CHECK_EQ(run.ranks, 4);
	CHECK_EQ(run.parameters, 12);
	CHECK_EQ(run.began_ns, 1000);
	CHECK_EQ(run.end_ns, 9000);
	CHECK_EQ(run.n, 1);
	CHECK_EQ(run.steps[0].ns, 500);
	CHECK_NEAR(run.steps[0].loss, 4.25, 1e-9);
	CHECK_STR(run.sha256, "abcd");
}

TEST(training_line__leaves_what_others_say)
{
	static const char *const lines[] = { "", "h2: warning", "[1, 2]", "{\"at\": \"x\"}",
		"{\"step\": 1}", "{\"step\": 1, \"at\": -5}", "{" };

	begin();
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		CHECK(!training_line(&run, lines[i]));
	CHECK_EQ(run.n, 0);
}

TEST(training_line__has_a_last_step)
{
	begin();
	for (unsigned i = 0; i < TRAINING_STEPS_MAX + 5; i++)
		CHECK(training_line(&run, "{\"step\": 0, \"at\": 2000, \"ns\": 500, \"loss\": 1}"));
	CHECK_EQ(run.n, TRAINING_STEPS_MAX);
}

TEST(training_measure__leaves_the_first_step_out)
{
	struct training_result r;

	begin();
	training_measure(&run, &r);
	CHECK_EQ(r.longest_ns, 0);
	for (unsigned i = 0; i < 101; i++)
		run.steps[i] = (struct training_step){ .at_ns = i * 1000, .ns = 100 + i };
	run.steps[0].ns = 77777;
	run.steps[40].ns = 999;
	run.n = 101;
	training_measure(&run, &r);
	CHECK_EQ(r.longest, 40);
	CHECK_EQ(r.longest_ns, 999);
	CHECK_EQ(r.median_ns, 152);
	CHECK_EQ(r.p99_ns, 999);
	CHECK_EQ(r.total_ns, 100 * 1000 + 200);
}

TEST(training_name__tells_network_and_faults)
{
	begin();
	CHECK_STR(training_name(&run), "Weft, nothing broken");
	run.is_faulty = true;
	CHECK_STR(training_name(&run), "Weft, faults");
	run.net = TRAINING_TCP;
	CHECK_STR(training_name(&run), "TCP, faults");
}
