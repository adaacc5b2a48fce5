/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every host sends to one other, all at once, through a two-tier fabric with as much capacity above
 * as below.  With one path per flow some links carry three flows and others none; spraying must
 * give all of them the whole line.
 */
#include "world_open.h"

static const char fabric[] = "name: perm\nplanes: 2\nt0s: 4\nt1s: 4\nhosts: 16\n"
			     "host_links: {speed: 100Gb/s, delay: 500ns}\n"
			     "core_links: {speed: 100Gb/s, delay: 500ns}\n";

TEST(weft_switch__gives_each_flow_of_a_permutation_its_line)
{
	struct world *w = world_open(fabric, WEFT_DISCIPLINE_TRIM);
	uint64_t before[16], timeouts = 0;
	double least = 1, sum = 0;

	for (uint32_t host = 0; host < 16; host++)
		world_send(w, host, (5 * host + 6) % 16, 1 << 24, 1, true);
	world_run(w, 150000);
	for (uint32_t host = 0; host < 16; host++)
		before[host] = w->hosts[host].got_bytes;
	world_run(w, 450000);
	for (uint32_t host = 0; host < 16; host++) {
		double rate = (double)(w->hosts[host].got_bytes - before[host]) / 300e3;

		least = WEFT_MIN(least, rate / world_line_rate(w));
		sum += rate / world_line_rate(w);
		timeouts += weft_stats(w->hosts[host].ep)->timeouts;
	}
	fprintf(stderr, "permutation: least %.4f, mean %.4f of the line, %u lost\n", least,
		sum / 16, (unsigned)w->lost);
	CHECK(least >= 0.97);
	CHECK_EQ(timeouts, 0);
	world_close(w);
}
