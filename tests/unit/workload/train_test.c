/* SPDX-License-Identifier: BSD-2-Clause */
#include "few.h"

TEST(training_add__counts_what_each_parallelism_sends)
{
	struct few f = few_open("training,tp=2,pp=2,dp=4,microbatches=3,layers=2,tp_bytes=200000,"
				"pp_bytes=50000,dp_bytes=400000,steps=2");
	/* A rank of the first stage: 2 steps of 3 microbatches, forward and back, 2 layers, in a
	 * ring of 2 that sends half the buffer twice; a hand-over per microbatch; a ring of 4.
	 */
	uint64_t want = 2 * (3 * 2 * 2 * 2 * 100000 + 3 * 50000 + 6 * 100000);

	for (uint32_t host = 0; host < 16; host++)
		CHECK_EQ(few_bytes(&f, host, false), want);
	CHECK_EQ(f.load.jobs[0].n_steps, 2);
	few_close(&f);
}

/* Without bytes: 1F1B takes (microbatches + stages - 1) x (forward + backward). */
TEST(training_add__fills_and_drains_its_pipeline)
{
	struct few f = few_open("training,pp=4,microbatches=8,pp_bytes=1,forward=100us,"
				"backward=200us,hosts=0-3");
	uint64_t took_ps = few_run(&f), bubbles_ps = (8 + 3) * UINT64_C(300000000);

	CHECK_EQ(weft_workload_ideal_ps(&f.load, f.topo) / 1000000000, bubbles_ps / 1000000000);
	CHECK(took_ps > bubbles_ps && took_ps < bubbles_ps + bubbles_ps / 20);
	few_close(&f);
}

TEST(training_add__exchanges_among_experts_and_contexts)
{
	struct few f = few_open("training,cp=2,dp=8,ep=4,ep_bytes=400000,cp_bytes=200000");

	/* Forward and back: two exchanges of 3/4, and half of a ring of 2. */
	for (uint32_t host = 0; host < 16; host++)
		CHECK_EQ(few_bytes(&f, host, false), 2 * (2 * 300000 + 100000));
	few_run(&f);
	few_close(&f);
}

TEST(training_add__straggles_by_its_seed)
{
	struct few f = few_open("training,dp=16,dp_bytes=16000,straggle=50,steps=3");
	uint64_t least = UINT64_MAX, most = 0;

	for (uint32_t i = 0; i < f.load.n; i++) {
		uint64_t ps = f.load.flows[i].delay_ps;

		if (ps < UINT64_C(200000000))
			continue;
		least = WEFT_MIN(least, ps);
		most = WEFT_MAX(most, ps);
	}
	CHECK(least < UINT64_C(220000000) && most > UINT64_C(280000000));
	CHECK(most <= UINT64_C(300000000));
	few_run(&f);
	few_close(&f);
}

TEST(training_add__says_what_does_not_divide)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ "training,tp=4,dp=8",
			"training: tp 4 x cp 1 x pp 1 x dp 8 are 32 ranks, there are 16 hosts" },
		{ "training,dp=8,ep=3", "ep: 3 does not divide cp x dp = 8" },
		{ "training,tp=1048576,cp=1048576,pp=1048576,dp=1048576",
			"training: tp 1048576 x cp 1048576 x pp 1048576 x dp 1048576 are"
			" 1152921504606846976 ranks, there are 16 hosts" },
	};

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++) {
		struct few f = few_make(rows[i].text);

		CHECK(!few_add(&f));
		CHECK_STR(f.error, rows[i].error);
		few_close(&f);
	}
}
