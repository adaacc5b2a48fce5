/* SPDX-License-Identifier: BSD-2-Clause */
#include "patients.h"

static char error[256];

TEST(planes_pick__takes_addresses_and_names_that_may_come)
{
	make_healthy();
	REQUIRE(!planes_pick(&facts, "10.0.1.1,nosuchif7,10.9.9.9", error, sizeof(error)));
	CHECK_EQ(facts.planes, 3);
	CHECK(facts.are_planes_named);
	CHECK_EQ(facts.plane[0].iface, 1);
	CHECK_EQ(facts.plane[1].iface, -1);
	CHECK(weft_inet_is_none(facts.plane[1].addr));
	CHECK_EQ(facts.plane[2].iface, -1);
	CHECK(!weft_inet_is_none(facts.plane[2].addr));
}

TEST(planes_pick__refuses_what_is_neither)
{
	char many[256] = "10.0.0.1";

	make_healthy();
	CHECK(planes_pick(&facts, "10.0.0.300", error, sizeof(error)));
	CHECK_STR(error, "planes: \"10.0.0.300\" is neither an address nor an interface");
	CHECK(planes_pick(&facts, "10.0.0.1,,10.0.1.1", error, sizeof(error)));
	for (int i = 0; i < 32; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), ",eth%d", i);
	CHECK(planes_pick(&facts, many, error, sizeof(error)));
	CHECK_STR(error, "planes: more than 32");
}

TEST(planes_pick__takes_each_interface_with_a_global_address_where_none_is_named)
{
	make_healthy();
	facts.addrs = 4;
	facts.ifaces = 4;
	facts.iface[2].is_loopback = true;
	facts.addr[2] = facts.addr[0];
	facts.addr[2].iface = 2;
	facts.addr[3] = (struct weft_doctor_addr){
		.addr = { 0xfe, 0x80, [15] = 1 }, .iface = 3, .is_link_local = true
	};
	REQUIRE(!planes_pick(&facts, NULL, error, sizeof(error)));
	CHECK(!facts.are_planes_named);
	REQUIRE(facts.planes == 2);
	CHECK_STR(facts.plane[1].word, "eth1");
	/* IPv6 first, as a live endpoint has it. */
	facts.addr[3] = (struct weft_doctor_addr){ .addr = { 0xfd, [15] = 1 }, .iface = 1 };
	REQUIRE(!planes_pick(&facts, "", error, sizeof(error)));
	CHECK_EQ(facts.plane[1].addr[0], 0xfd);
}

TEST(where_iface__says_plane_and_interface)
{
	char where[WHERE_BYTES];

	make_healthy();
	CHECK_STR(where_iface(&facts, 1, where), "plane 1 (eth1)");
	facts.plane[1].iface = -1;
	CHECK_STR(where_iface(&facts, 1, where), "eth1");
	snprintf(facts.plane[1].word, sizeof(facts.plane[1].word), "10.9.9.9");
	CHECK_STR(where_plane(&facts, 1, where), "plane 1 (10.9.9.9)");
}

TEST(weft_doctor_gather__fills_everything)
{
	REQUIRE(!weft_doctor_gather(&facts, "127.0.0.1,127.0.0.9", error, sizeof(error)));
	CHECK(*facts.machine.kernel);
	CHECK_EQ(facts.planes, 2);
	CHECK(facts.plane[0].iface >= 0);
	CHECK_EQ(facts.plane[1].iface, facts.plane[0].iface);
	CHECK_EQ(facts.peer.state, WEFT_DOCTOR_PEER_UNASKED);
}
