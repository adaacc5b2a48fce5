/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

static struct rig rig;

static const char fabric[] = "name: bdp\nplanes: 1\nt0s: 2\nt1s: 2\nhosts: 4\nbase_rtt: 10us\n"
			     "host_links: {speed: 200Gb/s, delay: 100ns}\n"
			     "core_links: {speed: 400Gb/s, delay: 500ns}\n";

TEST(profiles_fill__counts_in_bandwidth_times_delay_of_each_kind_of_link)
{
	rig_open(&rig, fabric, false);
	const struct weft_port_profile *core = &rig.rack->profiles[PROFILE_CORE];
	const struct weft_port_profile *host = &rig.rack->profiles[PROFILE_HOST];

	CHECK_EQ(core->ecn_min_bytes, 100000); /* a fifth of 400 Gb/s x 10 us */
	CHECK_EQ(core->ecn_max_bytes, 400000);
	CHECK_EQ(core->trim_bytes, 500000);
	CHECK_EQ(core->trim_mark, WEFT_MARK_TRIMMED);
	CHECK_EQ(host->ecn_max_bytes, 200000);
	CHECK_EQ(host->trim_bytes, 375000);
	CHECK_EQ(host->trim_mark, WEFT_MARK_TRIMMED_LASTHOP);
	rig_close(&rig);
}

TEST(profiles_fill__follows_a_rate_that_is_not_the_file_s)
{
	rig_open(&rig, fabric, false);
	weft_rack_close(rig.rack);
	char error[200];

	rig.config.rate_bps = UINT64_C(40000000000);
	REQUIRE(!weft_rack_open(&rig.rack, &rig.config, error, sizeof(error)));
	CHECK_EQ(rig.rack->profiles[PROFILE_CORE].trim_bytes, 50000);
	CHECK_EQ(rig.rack->profiles[PROFILE_HOST].trim_bytes, 75000);
	rig_close(&rig);
}
