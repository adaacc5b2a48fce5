/* SPDX-License-Identifier: BSD-2-Clause */
/* A second of it, with real processes; how well it goes depends on the machine and is not asked. */
#include "check.h"
#include "demo.h"
#include "incast.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static struct incast_plan plan;
static char folder[64];

static void setup(void)
{
	incast_plan_fill(&plan, true, true);
	plan.lead_ns = 50 * MS;
	plan.settle_ns = 200 * MS;
	plan.steady_ns = 250 * MS;
	plan.bursts = 2;
	plan.rest_ns = 500 * MS;
	(void)snprintf(folder, sizeof(folder), "/tmp/weft-live-%d", (int)getpid());
	(void)mkdir(folder, 0700);
}

static unsigned folders_left(void)
{
	DIR *tmp = opendir("/tmp");
	unsigned n = 0;

	REQUIRE(tmp);
	for (struct dirent *entry; (entry = readdir(tmp));)
		n += !strncmp(entry->d_name, "weft-incast-", 12);
	closedir(tmp);
	return n;
}

TEST(incast_live__trims_nacks_and_leaves_nothing)
{
	struct incast_run run = { .kind = INCAST_TRIM };
	char path[96];

	setup();
	unsigned before = folders_left();

	if (incast_live(&plan, folder, &run))
		CHECK_FAIL("%s", run.error);
	REQUIRE(run.is_done);
	CHECK_EQ(run.n, incast_total_ns(&plan) / plan.step_ns + 1);
	CHECK(run.counts.trimmed > 100);
	CHECK(run.counts.nacks > 100);
	/* One each; a header may still be on its way, or have been overtaken by a repeat. */
	CHECK(run.counts.nacks <= run.counts.trimmed);
	CHECK(run.counts.again >= run.counts.nacks);
	CHECK_EQ(run.counts.pauses, 0);
	CHECK(run.late_ns > 0);
	for (uint32_t f = 0; f < INCAST_FLOWS; f++)
		CHECK(run.samples[run.n - 1].bytes[f] > 2 * plan.burst_bytes);
	for (uint32_t b = 0; b < plan.bursts; b++)
		for (uint32_t f = 0; f < INCAST_SENDERS; f++)
			CHECK(run.burst_ns[b][f] > 8 * plan.delay_ns);
	/* Those of another run of the suite come and go meanwhile. */
	for (unsigned i = 0; i < 1000 && folders_left() > before; i++)
		usleep(10000);
	CHECK(folders_left() <= before);
	incast_end(&run);
	(void)snprintf(path, sizeof(path), "%s/fabric-trim.yaml", folder);
	CHECK(!unlink(path));
	rmdir(folder);
}

TEST(incast_live__tells_why_it_could_not_begin)
{
	struct incast_run run = { .kind = INCAST_TRIM };

	CHECK_EQ(incast_live(&plan, "/nowhere", &run), -1);
	CHECK(strstr(run.error, "/nowhere/fabric-trim.yaml"));
	CHECK(!run.is_done);
}

TEST(incast_live__ends_at_once_when_interrupted)
{
	struct incast_run run = { .kind = INCAST_DROP };

	setup();
	demo_stopped = 1;
	CHECK_EQ(incast_live(&plan, folder, &run), -1);
	CHECK(strlen(run.error) > 0);
	demo_stopped = 0;
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/fabric-drop.yaml", folder);
	unlink(path);
	rmdir(folder);
	incast_end(&run);
}
