/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

#define REST "stop: 1ms\nload: [ring]\n"

TEST(place_read__makes_a_clos_of_equal_switches)
{
	struct weft_scenario *play = stage_open(
		"fabric: {planes: 2, hosts: 30, radix: 8, port: 25Gb/s, hop: 700ns}\n" REST);
	const struct weft_topo_shape *s = weft_topo_shape(weft_scenario_topo(play));

	CHECK_EQ(s->planes, 2);
	CHECK_EQ(s->hosts, 30);
	CHECK_EQ(s->t0s, 8);
	CHECK_EQ(s->t1s, 4);
	CHECK_EQ(s->hosts_per_t0, 4);
	CHECK_EQ(s->host_bps, UINT64_C(25000000000));
	CHECK_EQ(s->core_bps, UINT64_C(25000000000));
	CHECK_EQ(s->core_delay_ns, 700);
	weft_scenario_close(play);
}

TEST(place_read__takes_the_words_of_a_fabric_file)
{
	struct weft_scenario *play =
		stage_open("stop: 1ms\nfabric:\n  name: own\n  planes: 1\n  t0s: 2\n"
			   "  t1s: 1\n  hosts: 4\nload: [ring]\n");

	CHECK_STR(weft_topo_shape(weft_scenario_topo(play))->name, "own");
	weft_scenario_close(play);
	play = stage_open("fabric: {name: flow, planes: 1, t0s: 1, hosts: 4}\n" REST);
	CHECK_STR(weft_topo_shape(weft_scenario_topo(play))->name, "flow");
	weft_scenario_close(play);
}

TEST(place_read__says_what_is_wrong_and_where)
{
	stage_refuse("stop: 1ms\nfabric:\n  name: own\n  planes: 1\n  t0s: 2\n  hsots: 4\n",
		"s.yaml:6: hsots: no such field, did you mean 'hosts'?");
	stage_refuse("fabric: {hosts: 8, radix: 3}\n" REST, "s.yaml:1: fabric.radix: 3 is odd");
	stage_refuse("fabric: {hosts: 64, radix: 4}\n" REST,
		"s.yaml:1: fabric.hosts: 64 hosts need 32 T0s, and a T1 has 4 ports");
	stage_refuse("fabric: {radix: 4}\n" REST, "s.yaml:1: fabric: it needs hosts");
	stage_refuse(
		"fabric: {radix: 4, hosts: 4, port: 5}\n" REST, "s.yaml:1: fabric.port: '5' is");
	stage_refuse("fabric: no/such.yaml\n" REST, "s.yaml:1: fabric: no/such.yaml: No such");
	stage_refuse("fabric: [1]\n" REST, "s.yaml:1: fabric: a single value");
}
