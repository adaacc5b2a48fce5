/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "doctor_local.h"

static const uint8_t lo[16] = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 };

TEST(route_ask__finds_this_host_on_lo)
{
	struct weft_doctor_path path = { .has_gateway = true };

	memcpy(path.from, lo, 16);
	memcpy(path.to, lo, 16);
	path.to[15] = 9;
	route_ask(&path);
	CHECK(path.has_route);
	CHECK(!path.has_gateway);
	CHECK_STR(path.route_iface, "lo");
}

TEST(route_ask__finds_none_from_an_address_of_others)
{
	struct weft_doctor_path path = { .has_route = true };

	memcpy(path.from, lo, 16);
	path.from[12] = 203, path.from[14] = 113; /* RFC 5737: nobody's */
	memcpy(path.to, lo, 16);
	route_ask(&path);
	CHECK(!path.has_route);
}

TEST(neighbour_ask__does_not_know_whom_nobody_asked)
{
	uint8_t to[16];

	memcpy(to, lo, 16);
	to[15] = 77;
	CHECK_EQ(neighbour_ask(to), -1);
}
