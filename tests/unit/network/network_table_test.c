/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

static struct rig rig;

TEST(table_count__counts_what_a_switch_must_know)
{
	uint32_t sids, prefixes;

	rig_open(&rig, rig_fabric, false);
	table_count(rig.topo, weft_topo_t0(rig.topo, 1, 3), &sids, &prefixes);
	CHECK_EQ(sids, 2 + 4 + 4); /* two of its own, uplinks, hosts */
	CHECK_EQ(prefixes, 4 + 1); /* its hosts, and everybody */
	table_count(rig.topo, weft_topo_t1(rig.topo, 0, 1), &sids, &prefixes);
	CHECK_EQ(sids, 2 + 8);
	CHECK_EQ(prefixes, 4);
	rig_close(&rig);
}

/* Where a frame to one uSID, or the one behind it, leaves a switch; WEFT_SWITCH_ANY: nowhere. */
static uint32_t port_of(struct weft_switch *sw, uint64_t route)
{
	struct weft_frame frame = { .route = route, .bytes = 100, .hop_limit = 9 };
	struct weft_departure departure;
	uint32_t port;

	if (weft_switch_input(sw, &frame, 0, &port))
		return WEFT_SWITCH_ANY;
	CHECK(weft_switch_take(sw, port, UINT64_MAX / 2, &departure));
	return port;
}

TEST(table_fill__says_what_the_file_says)
{
	rig_open(&rig, rig_fabric, false);
	for (uint32_t node = rig.shape.hosts; node < rig.shape.nodes; node++) {
		struct weft_switch *sw = weft_network_switch(rig.network, node);
		struct weft_route route;
		uint64_t own = 0;

		for (uint32_t i = 0; weft_topo_route(rig.topo, node, i, &route); i++) {
			uint64_t sid = (uint64_t)(route.prefix[4] << 8 | route.prefix[5]) << 48;

			if (route.kind == WEFT_ROUTE_END)
				own = sid;
			if (route.kind != WEFT_ROUTE_USID)
				continue;
			CHECK_EQ(port_of(sw, sid), route.port);
			CHECK_EQ(port_of(sw, own | sid >> 16), route.port);
		}
		CHECK_EQ(port_of(sw, UINT64_C(0x3fff) << 48), WEFT_SWITCH_ANY);
	}
	rig_close(&rig);
}

TEST(table_fill__leaves_out_what_is_not_cabled)
{
	static const char fabric[] = "name: holes\nplanes: 1\nt0s: 2\nt1s: 2\nhosts: 4\n"
				     "overrides: [{link: \"p0.t0-0:t1-1\", cabled: false}]\n";
	struct weft_route route;
	uint64_t sid;

	rig_open(&rig, fabric, false);
	uint32_t node = weft_topo_t1(rig.topo, 0, 0), far = weft_topo_t0(rig.topo, 0, 1);

	REQUIRE(weft_topo_route(rig.topo, far, 2, &route)); /* the second T1, from the other T0 */
	sid = (uint64_t)(route.prefix[4] << 8 | route.prefix[5]) << 48;
	CHECK_EQ(port_of(weft_network_switch(rig.network, far), sid), 3);
	CHECK_EQ(port_of(weft_network_switch(rig.network, weft_topo_t0(rig.topo, 0, 0)), sid),
		WEFT_SWITCH_ANY);
	CHECK(weft_network_switch(rig.network, node) != NULL);
	rig_close(&rig);
}
