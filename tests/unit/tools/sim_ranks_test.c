/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "sim_ranks.h"

#include <argp.h>
#include <stdlib.h>

static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE",
	"PMI_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID" };

/* As a starter leaves it: what is not in text is not there. */
static void started_with(const char *text)
{
	char copy[256], *word, *rest = NULL;

	for (unsigned i = 0; i < WEFT_COUNT(names); i++)
		REQUIRE(!unsetenv(names[i]));
	(void)snprintf(copy, sizeof(copy), "%s", text);
	for (word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		char *value = strchr(word, '=');

		*value++ = 0;
		REQUIRE(!setenv(word, value, 1));
	}
}

TEST(sim_ranks_started__knows_mpirun_and_srun)
{
	static const struct {
		const char *text;
		uint32_t n, rank;
	} rows[] = {
		{ "", 1, 0 }, { "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=3", 4, 3 },
		{ "OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0", 1, 0 },
		{ "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=2", 1, 0 },
		{ "OMPI_COMM_WORLD_SIZE=2x OMPI_COMM_WORLD_RANK=1", 1, 0 },
		{ "PMI_SIZE=8 PMI_RANK=0", 8, 0 },
		{ "SLURM_STEP_NUM_TASKS=16 SLURM_PROCID=9", 16, 9 },
		{ "SLURM_PROCID=0", 1, 0 }, /* a batch script, not a step */
	};

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++) {
		uint32_t rank = 77;

		started_with(rows[i].text);
		CHECK_EQ(sim_ranks_started(&rank), rows[i].n);
		CHECK_EQ(rank, rows[i].rank);
		CHECK_EQ(sim_ranks_argp_flags(), rows[i].rank ? ARGP_SILENT : 0);
	}
}

TEST(sim_ranks_join__stays_alone_where_nobody_else_was_started)
{
	struct sim_ranks ranks;
	char error[512] = "";

	started_with("");
	CHECK(sim_ranks_join(&ranks, 0, error, sizeof(error)));
	CHECK(!ranks.to && !ranks.is_silent && sim_ranks_screen(&ranks) == stderr);
	CHECK(sim_ranks_leave(&ranks, error, sizeof(error)));
	started_with("OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1");
	CHECK(sim_ranks_join(&ranks, 1, error, sizeof(error)));
	CHECK(!ranks.to && !ranks.is_silent);
	CHECK(sim_ranks_leave(&ranks, error, sizeof(error)));
}

TEST(sim_ranks_join__refuses_another_number_than_was_started)
{
	struct sim_ranks ranks;
	char error[512] = "";

	started_with("");
	CHECK(!sim_ranks_join(&ranks, 4, error, sizeof(error)));
	CHECK_STR(error, "ranks: 4 are wanted, and 1 started: mpirun -n 4 weft ..., or srun -n 4");
	CHECK(!sim_ranks_leave(&ranks, error, sizeof(error)));
	started_with("PMI_SIZE=2 PMI_RANK=1");
	CHECK(!sim_ranks_join(&ranks, 4, error, sizeof(error)));
	CHECK(ranks.is_silent); /* rank 0 says the same */
	CHECK(!sim_ranks_leave(&ranks, error, sizeof(error)));
}
