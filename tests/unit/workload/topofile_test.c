/* SPDX-License-Identifier: BSD-2-Clause */
#include "few.h"

static void refuse(const char *text, const char *want)
{
	char error[300] = "";

	CHECK(!weft_workload_topo_text("x.topo", text, strlen(text), error, sizeof(error)));
	CHECK_STR(error, want);
}

TEST(weft_workload_topo_text__becomes_a_fabric)
{
	static const char text[] =
		"# leaf spine\nNodes 128\nTiers 2\nPodsize 128\nTier 0\nDownlink_speed_Gbps 400\n"
		"Radix_Down 16\nRadix_Up 8\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 500\n"
		"Tier 1\nDownlink_speed_Gbps 800\nRadix_Down 16\nDownlink_Latency_ns 700\n"
		"Switch_Latency_ns 600\nBundle 2\n";
	char error[300] = "";
	char *yaml = weft_workload_topo_text("x.topo", text, strlen(text), error, sizeof(error));
	struct weft_topo *topo;

	CHECK_STR(error, "");
	REQUIRE(yaml);
	if (weft_topo_open_text(&topo, yaml, strlen(yaml), "yaml", error, sizeof(error)))
		fprintf(stderr, "%s\n%s", error, yaml);
	CHECK_STR(error, "");
	const struct weft_topo_shape *s = weft_topo_shape(topo);

	CHECK_EQ(s->hosts, 128);
	CHECK_EQ(s->t0s, 8);
	CHECK_EQ(s->t1s, 4);
	CHECK_EQ(s->parallel, 2);
	CHECK_EQ(s->host_bps, UINT64_C(400000000000));
	CHECK_EQ(s->core_bps, UINT64_C(800000000000));
	CHECK_EQ(s->host_delay_ns, 1500);
	CHECK_EQ(s->core_delay_ns, 1000);
	weft_topo_close(topo);
	free(yaml);
}

TEST(weft_workload_topo_text__says_file_and_line)
{
	refuse("Nodes 8\nTiers 3\n", "x.topo:2: 3 tiers: fabrics here have two");
	refuse("Radix_Up 8\n", "x.topo:1: Radix_Up before Tier");
	refuse("Nodes 8\nDepth 3\n", "x.topo:2: \"Depth\" is not known here");
	refuse("Nodes\n", "x.topo:1: wanted is a word and a number");
	refuse("Nodes 9\nTiers 2\nTier 0\nRadix_Down 4\nDownlink_speed_Gbps 1\nTier 1\n"
	       "Downlink_speed_Gbps 1\n",
		"x.topo:7: 9 nodes below T0s of 4, 4 uplinks in bundles of 1: that does not "
		"divide");
	refuse("Nodes 16\nTiers 2\nTier 0\nRadix_Down 4\nDownlink_speed_Gbps 1\nTier 1\n"
	       "Radix_Down 9\nDownlink_speed_Gbps 1\n",
		"x.topo:7: Tier 1's Radix_Down: 9, and there are 4 T0s below");
	refuse("Nodes 16\nTiers 2\nPodsize 8\nTier 0\nRadix_Down 4\nDownlink_speed_Gbps 1\n"
	       "Tier 1\nRadix_Down 4\nDownlink_speed_Gbps 1\n",
		"x.topo:3: Podsize: 8, which in two tiers is Nodes, 16");
	refuse("Tiers 2\n",
		"x.topo:1: wanted are Nodes, Tier 0's Radix_Down and Radix_Up, and both tiers'"
		" Downlink_speed_Gbps");
}
