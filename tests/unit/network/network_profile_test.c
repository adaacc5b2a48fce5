/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

static struct rig rig;

static const char fabric[] = "name: bdp\nplanes: 1\nt0s: 2\nt1s: 2\nhosts: 4\nbase_rtt: 10us\n"
			     "host_links: {speed: 200Gb/s, delay: 100ns}\n"
			     "core_links: {speed: 400Gb/s, delay: 500ns}\n";

TEST(profiles_fill__counts_in_bandwidth_times_delay_of_each_kind_of_link)
{
	rig_open(&rig, fabric, false);
	const struct weft_port_profile *core = &rig.network->profiles[PROFILE_CORE];
	const struct weft_port_profile *host = &rig.network->profiles[PROFILE_HOST];

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
	weft_network_close(rig.network);
	char error[200];

	rig.config.rate_bps = UINT64_C(40000000000);
	REQUIRE(!weft_network_open(&rig.network, &rig.config, error, sizeof(error)));
	CHECK_EQ(rig.network->profiles[PROFILE_CORE].trim_bytes, 50000);
	CHECK_EQ(rig.network->profiles[PROFILE_HOST].trim_bytes, 75000);
	rig_close(&rig);
}

/* The rest of a fabric whose switches the file describes; BDPs as above. */
static void open_with(const char *sw)
{
	char text[600];

	snprintf(text, sizeof(text), "%sswitch: {%s}\n", fabric, sw);
	rig_open(&rig, text, false);
}

TEST(profiles_fill__takes_what_the_file_says)
{
	open_with("queue: 2MB, marks: core, ecn_min: 10KB, ecn_max: 20KB, trim: 0.5BDP, "
		  "trim_last_hop: 3BDP, trim_size: 256B");
	const struct weft_port_profile *core = &rig.network->profiles[PROFILE_CORE];
	const struct weft_port_profile *host = &rig.network->profiles[PROFILE_HOST];

	CHECK_EQ(core->drop_bytes[WEFT_QUEUE_DATA], 2000000);
	CHECK_EQ(host->drop_bytes[WEFT_QUEUE_DATA], 2000000);
	CHECK_EQ(core->ecn_min_bytes, 10000);
	CHECK_EQ(core->ecn_max_bytes, 20000);
	CHECK_EQ(host->ecn_max_bytes, 0);
	CHECK_EQ(core->trim_bytes, 250000);
	CHECK_EQ(host->trim_bytes, 750000);
	CHECK_EQ(core->trim_to_bytes, 256);
	CHECK_EQ(host->trim_to_bytes, 256);
	rig_close(&rig);
	open_with("ecn_min: 0.1BDP, ecn_max: 1BDP");
	CHECK_EQ(rig.network->profiles[PROFILE_CORE].ecn_min_bytes, 50000); /* each of its own */
	CHECK_EQ(rig.network->profiles[PROFILE_HOST].ecn_max_bytes, 250000);
	rig_close(&rig);
}

TEST(profiles_fill__trims_before_it_drops)
{
	open_with("queue: 10KB");
	CHECK_EQ(rig.network->profiles[PROFILE_CORE].drop_bytes[WEFT_QUEUE_DATA], 500000);
	CHECK_EQ(rig.network->profiles[PROFILE_HOST].drop_bytes[WEFT_QUEUE_DATA], 375000);
	rig_close(&rig);
	open_with("queue: 10KB, full: drop");
	CHECK_EQ(rig.network->profiles[PROFILE_CORE].drop_bytes[WEFT_QUEUE_DATA], 10000);
	CHECK_EQ(rig.network->profiles[PROFILE_CORE].trim_bytes, 0);
	rig_close(&rig);
	open_with("queue: 10KB, full: pause");
	CHECK(rig.network->profiles[PROFILE_CORE].drop_bytes[WEFT_QUEUE_DATA] > 1000000);
	CHECK_EQ(rig.network->profiles[PROFILE_CORE].xoff_bytes, 500000);
	CHECK_EQ(rig.network->profiles[PROFILE_CORE].headroom_bytes, 50000 + 2 * 9216);
	CHECK(rig.network->is_lossless);
	rig_close(&rig);
}

TEST(profiles_fill__counts_a_tiny_fabric_s_shares_as_its_switches_do)
{
	static const char tiny[] = "name: tiny\nplanes: 1\nt0s: 1\nhosts: 2\nbase_rtt: 1us\n"
				   "switch: {trim: 1BDP, trim_last_hop: 1BDP}\n"
				   "host_links: {speed: 1Gb/s, delay: 0ns}\n";

	rig_open(&rig, tiny, false);
	CHECK_EQ(rig.network->profiles[PROFILE_HOST].trim_bytes, 2 * 9216);
	rig_close(&rig);
}
