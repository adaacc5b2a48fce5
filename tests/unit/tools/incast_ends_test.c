/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two sides do together is incast_live's test; here, what they do alone. */
#include "check.h"
#include "incast.h"

#include <unistd.h>

static struct incast_shared shared;
static struct incast_plan plan;

static const char *fabric_file(void)
{
	static char path[64];
	char text[INCAST_FABRIC_BYTES];

	incast_plan_fill(&plan, true, true);
	incast_fabric(&plan, INCAST_TRIM, text);
	(void)snprintf(path, sizeof(path), "/tmp/weft-ends-%d.yaml", (int)getpid());
	FILE *out = fopen(path, "w");

	REQUIRE(out);
	fputs(text, out);
	fclose(out);
	return path;
}

TEST(incast_side_run__says_why_it_cannot_begin)
{
	const char *path = fabric_file();

	for (unsigned side = 0; side < INCAST_SIDES; side++) {
		incast_side_run(&plan, side, path, "/tmp/weft-no-switch", &shared);
		CHECK(shared.side[side].has_failed);
		CHECK(!shared.side[side].is_ready);
		CHECK(strstr(shared.side[side].error, "/tmp/weft-no-switch"));
	}
	unlink(path);
}

TEST(incast_side_run__says_what_is_wrong_with_the_fabric)
{
	memset(&shared, 0, sizeof(shared));
	incast_side_run(&plan, INCAST_RECEIVERS, "/nowhere.yaml", "/tmp", &shared);
	CHECK(shared.side[INCAST_RECEIVERS].has_failed);
	CHECK(strstr(shared.side[INCAST_RECEIVERS].error, "/nowhere.yaml"));
	CHECK(!shared.side[INCAST_TRANSMITTERS].has_failed);
}
