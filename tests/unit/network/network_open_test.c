/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

static struct rig rig;

static void check_refused(struct weft_network_config config, const char *want)
{
	struct weft_network *network = NULL;
	char error[200] = "";

	CHECK_EQ(weft_network_open(&network, &config, error, sizeof(error)), -1);
	CHECK(!network);
	CHECK_STR(error, want);
}

TEST(weft_network_open__says_what_it_cannot_do)
{
	rig_open(&rig, rig_fabric, true);
	struct weft_network_config c = rig.config;

	c.frames = 0;
	check_refused(c, "rig: room for 0 frames, allowed: 1 to 16777216");
	c = rig.config;
	c.rate_bps = 999999;
	check_refused(c, "rig: links of less than 1 Mb/s");
	c = rig.config;
	c.slot_bytes = 100;
	check_refused(c, "rig: no room for a packet in a slot");
	rig_close(&rig);
	char error[200];
	static const char wide[] = "name: wide\nplanes: 1\nt0s: 1\nhosts: 4097\n"
				   "usid: {plane_bits: 0}\n";
	static const char tall[] = "name: tall\nplanes: 1\nt0s: 1\nhosts: 2\nmtu: 65522\n";

	REQUIRE(!weft_topo_open_text(&rig.topo, wide, strlen(wide), "-", error, sizeof(error)));
	c = rig.config;
	c.topo = rig.topo;
	check_refused(c, "wide: a switch of 4097 ports, at most 4096");
	weft_topo_close(rig.topo);
	REQUIRE(!weft_topo_open_text(&rig.topo, tall, strlen(tall), "-", error, sizeof(error)));
	c.topo = rig.topo;
	check_refused(c, "tall: mtu 65522, our switches take at most 65521");
	weft_topo_close(rig.topo);
	static const char deep[] = "name: deep\nplanes: 1\nt0s: 1\nhosts: 2\nbase_rtt: 1s\n"
				   "switch: {ecn_min: 900BDP, ecn_max: 1000BDP}\n";

	REQUIRE(!weft_topo_open_text(&rig.topo, deep, strlen(deep), "-", error, sizeof(error)));
	c.topo = rig.topo;
	check_refused(c, "deep: thresholds beyond what a switch counts");
	weft_topo_close(rig.topo);
}

TEST(weft_network_open__cables_every_port_as_the_file_does)
{
	static const char fabric[] = "name: odd\nplanes: 2\nt0s: 3\nt1s: 2\nhosts: 8\n"
				     "overrides:\n"
				     "- {link: \"p1.t0-1:t1-0\", cabled: false}\n"
				     "- {link: h3.p0, speed: 10Gb/s, delay: 2us}\n";

	rig_open(&rig, fabric, false);
	for (uint32_t i = 0; i < rig.shape.links; i++) {
		struct weft_link link = weft_topo_link(rig.topo, i);

		CHECK_EQ(weft_network_link_is_up(rig.network, i), link.cabled);
		for (unsigned way = 0; way < 2; way++) {
			const struct line *line = &rig.network->lines[2 * i + way];

			CHECK_EQ(line->from, link.node[way]);
			CHECK_EQ(line->to_port, link.port[!way]);
			CHECK_EQ(line->delay_ps, link.delay_ns * UINT64_C(1000));
			if (link.node[way] >= rig.shape.hosts)
				CHECK_EQ(switch_node(rig.network, line->from)
						 ->lines[line->from_port],
					2 * i + way);
		}
	}
	/* h3 is slower and further away than its neighbour: each line in its own time. */
	CHECK(rig_send(&rig, 3, 4, weft_ev(0, 0), 1, 986, 0)); /* 1024 on the line */
	CHECK_EQ(rig_run(&rig, UINT64_C(1000000000)), 1);
	CHECK_EQ(rig.outs[0].at_ps, 1024 * 800 + 2000000 + 1024 * 80 + 500000);
	/* The last T0 has an empty downlink. */
	CHECK_EQ(switch_node(rig.network, weft_topo_t0(rig.topo, 0, 2))->lines[2], NONE);
	rig_close(&rig);
}

TEST(weft_network_open__takes_another_rate_for_all)
{
	char error[200];

	rig_open(&rig, rig_fabric, false);
	weft_network_close(rig.network);
	rig.config.rate_bps = UINT64_C(1000000000);
	REQUIRE(!weft_network_open(&rig.network, &rig.config, error, sizeof(error)));
	CHECK(rig_send(&rig, 0, 4, weft_ev(0, 0), 1, 986, 0));
	CHECK_EQ(rig_run(&rig, UINT64_C(1000000000)), 1);
	CHECK_EQ(rig.outs[0].at_ps, 4 * 1024 * 8000 + 1200000);
	rig_close(&rig);
}
