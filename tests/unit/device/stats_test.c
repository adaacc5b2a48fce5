/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

TEST(stats_forget__appends_a_line_of_counters)
{
	char path[] = "/tmp/weft-stats-test-XXXXXX", line[8192];
	int fd = mkstemp(path);
	unsigned lines = 0;

	REQUIRE(fd >= 0);
	close(fd);
	setenv("WEFT_STATS", path, 1);
	for (unsigned i = 0; i < 2; i++) {
		struct side *side = side_open();

		weft_live_port(side->dev->live)->stats.drops[WEFT_DROP_BAD_ICRC] = 17;
		side_close(side);
	}
	unsetenv("WEFT_STATS");
	FILE *file = fopen(path, "r");

	REQUIRE(file);
	while (fgets(line, sizeof(line), file)) {
		lines++;
		CHECK(strstr(line, "\"pid\": ") && strstr(line, "\"tx_data_pkts\": 0"));
		CHECK(strstr(line, "\"port_drop_bad_icrc\": 17"));
		CHECK(!strstr(line, "port_drop_oversized"));
		CHECK(strstr(line, "}\n"));
	}
	fclose(file);
	unlink(path);
	CHECK_EQ(lines, 2);
}
