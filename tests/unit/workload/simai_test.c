/* SPDX-License-Identifier: BSD-2-Clause */
#include "few.h"

#define HEAD                                                                                       \
	"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 1 "    \
	"all_gpus: 16 checkpoints: 0 checkpoint_initiates: 0\n"

TEST(simai_add__goes_forward_and_back)
{
	struct few f = few_make(NULL);

	REQUIRE(few_read(&f, "workload.txt",
		HEAD "2\nattention -1 1000 ALLREDUCE 200000 2000 NONE 0 500 ALLREDUCE 800000 100\n"
		     "mlp -1 1000 ALLTOALL_EP 400000 2000 REDUCESCATTER 200000 500 ALLGATHER_DP_EP"
		     " 400000 100\n"));
	/* tp 2: all-reduce 200000, reduce-scatter 100000; experts 2: 200000; dp 8: 2 x 7/8 of
	 * 800000; dp of one expert 4: 3/4 of 400000.
	 */
	for (uint32_t host = 0; host < 16; host++)
		CHECK_EQ(few_bytes(&f, host, false),
			200000 + 100000 + 200000 + 14 * 100000 + 3 * 100000);
	uint64_t ideal_ps = weft_workload_ideal_ps(&f.load, f.topo), took_ps = few_run(&f);

	CHECK(ideal_ps > UINT64_C(7200) * 1000); /* it computes so long */
	CHECK(took_ps >= ideal_ps && took_ps < 2 * ideal_ps);
	few_close(&f);
}

/* More than a message can have: nothing is cut off, in whatever collective. */
TEST(simai_add__has_collectives_of_any_size)
{
	static const struct {
		const char *kind;
		uint64_t bytes, sends; /* of the first rank of two */
	} rows[] = {
		{ "REDUCESCATTER", 8000000000, 4000000000 },
		{ "REDUCESCATTER", 8589934590, 4294967295 },
		{ "REDUCESCATTER", 8589934592, 4294967296 },
		{ "REDUCESCATTER", 12935233536, 6467616768 },
		{ "ALLREDUCE", 40000000000, 40000000000 },
		{ "ALLTOALL", 40000000000, 20000000000 },
		{ "BROADCAST", 1000000000000, 1000000000000 },
	};

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++) {
		struct few f = few_make(NULL);
		char text[512];
		uint64_t sent;

		(void)snprintf(text, sizeof(text),
			HEAD "1\ngrads -1 1 NONE 0 1 NONE 0 1 %s_EP %llu 100\n", rows[i].kind,
			(unsigned long long)rows[i].bytes);
		REQUIRE(few_read(&f, "workload.txt", text));
		sent = few_bytes(&f, 0, false);
		/* Parts of one size: less than a byte more for each. */
		CHECK(sent >= rows[i].sends && sent < rows[i].sends + 300 * 16);
		/* A line carries 50 bytes in a nanosecond. */
		CHECK(weft_workload_ideal_ps(&f.load, f.topo) / 1000 > rows[i].sends / 50);
		CHECK(weft_workload_ideal_ps(&f.load, f.topo) / 1000 <
			rows[i].sends / 50 * 11 / 10 + 100000);
		few_close(&f);
	}
}

TEST(simai_add__can_be_cut_and_repeated)
{
	struct few f = few_make("permutation,layers=2,steps=3");

	REQUIRE(few_read(&f, "workload.txt",
		HEAD "3\na -1 1000 NONE 0 2000 NONE 0 500 NONE 0 100\n"
		     "b -1 1000 NONE 0 2000 NONE 0 500 NONE 0 100\n"
		     "c -1 9000 NONE 0 9000 NONE 0 9000 NONE 0 100\n"));
	CHECK_EQ(f.load.jobs[0].n_steps, 3);
	CHECK_EQ(weft_workload_ideal_ps(&f.load, f.topo), 3 * UINT64_C(7200) * 1000);
	few_close(&f);
}

TEST(simai_add__takes_the_layers_that_are_there)
{
	struct few f = few_make("permutation,layers=2");

	REQUIRE(few_read(&f, "workload.txt",
		HEAD "800\na -1 1000 NONE 0 1 NONE 0 1 NONE 0 1\n"
		     "b -1 1000 NONE 0 1 NONE 0 1 NONE 0 1\n"));
	few_close(&f);
}

/* As AICB's micro_test/ has them: one collective of all after the other. */
TEST(simai_add__measures_line_by_line)
{
	struct few f = few_make("permutation,steps=2");

	REQUIRE(few_read(&f, "all_reduce.txt",
		"MICRO\n2\nmicro_test -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 160000 1\n"
		"micro_test -1 1 NONE 0 1 NONE 0 1 ALLTOALL 320000 1\n"));
	CHECK_EQ(f.load.jobs[0].n_steps, 4);
	for (uint32_t host = 0; host < 16; host++)
		CHECK_EQ(few_bytes(&f, host, false), 2 * (30 * 10000 + 15 * 20000));
	few_run(&f);
	few_close(&f);
	few_refuse("w.txt", "MICRO\n1\n", "w.txt:2: 0 layers, the file says 1");
}

TEST(simai_add__broadcasts_along_the_ranks)
{
	struct few f = few_make("permutation,pieces=4");

	REQUIRE(few_read(&f, "w.txt",
		"HYBRID model_parallel_NPU_group: 8 all_gpus: 16\n1\n"
		"norm -1 0 BROADCAST 16384 1 NONE 0 1 NONE 0 1\n"));
	for (uint32_t host = 0; host < 16; host++) {
		CHECK_EQ(few_bytes(&f, host, false), host % 8 < 7 ? 16384 : 0);
		CHECK_EQ(few_bytes(&f, host, true), host % 8 ? 16384 : 0);
	}
	uint64_t ideal_ps = weft_workload_ideal_ps(&f.load, f.topo), took_ps = few_run(&f);

	CHECK(took_ps >= ideal_ps && took_ps < 2 * ideal_ps);
	few_close(&f);
}

TEST(simai_add__says_file_and_line)
{
	few_refuse("w.txt", "", "w.txt:1: an empty file");
	few_refuse("w.txt", "hello\n",
		"w.txt:1: \"hello\", wanted is SimAI's HYBRID_TRANSFORMER_FWD_IN_BCKWD and the "
		"like");
	few_refuse("w.txt", "HYBRID all_gpus: 32\n2\n",
		"w.txt:1: 32 GPUs, and 16 hosts to put them on");
	few_refuse("w.txt", "HYBRID all_gpus: 16 model_parallel_NPU_group: 3\n2\n",
		"w.txt:1: 16 GPUs do not divide into tp 3 x pp 1 x ep 1");
	few_refuse("w.txt", HEAD "2\na -1 1 NONE 0\n", "w.txt:3: 5 words, a layer has 12");
	few_refuse("w.txt", HEAD "2\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
		"w.txt:3: 1 layers, the file says 2");
	few_refuse("w.txt", HEAD "1\na -1 1 ALLSEND 0 1 NONE 0 1 NONE 0 1\n",
		"w.txt:3: \"ALLSEND\", wanted is NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER,"
		" ALLTOALL or BROADCAST, and maybe _EP or _DP_EP");
}
