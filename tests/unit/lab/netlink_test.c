/* SPDX-License-Identifier: BSD-2-Clause */
#include "labs.h"

#include <linux/rtnetlink.h>

static void new_namespace(struct netlink *netlink)
{
	need_root_here();
	REQUIRE(!unshare(CLONE_NEWNET));
	REQUIRE(netlink_open(netlink));
}

TEST(batch_end__applies_all_but_what_fails_and_says_which)
{
	struct weft_lab_end_stats stats;
	struct netlink netlink;
	struct batch batch;

	new_namespace(&netlink);
	batch_begin(&batch, &netlink);
	request_link_state(&batch, 77, true); /* no such link */
	request_link_state(&batch, 1, true);
	request_link_state(&batch, 78, true);
	CHECK(!batch_end(&batch));
	CHECK_EQ(batch.error, ENODEV);
	CHECK(strstr(batch.text, "link up: No such device"));
	CHECK(request_stats(&netlink, 1, &stats));
	CHECK(stats.up);
	batch_begin(&batch, &netlink);
	CHECK(batch_end(&batch)); /* empty, and the failure is forgotten */
	netlink_close(&netlink);
}

TEST(batch_add__sends_more_than_one_buffer_holds)
{
	struct netlink netlink;
	struct batch batch;
	char line[256];
	unsigned found = 0;

	new_namespace(&netlink);
	batch_begin(&batch, &netlink);
	request_link_state(&batch, 1, true);
	for (unsigned i = 0; i < 1000; i++) {
		struct weft_route route = { .prefix = { 0xfc, [4] = i >> 8, i & 255 },
			.prefix_bits = 48 };
		int lo = 1;
		struct route_request request = { ROUTE_LOCAL, &route, NULL, &lo, 1 };

		request_route(&batch, &request);
	}
	CHECK(batch_end(&batch));
	FILE *routes = fopen("/proc/thread-self/net/ipv6_route", "r");
	REQUIRE(routes);
	while (fgets(line, sizeof(line), routes))
		found += !strncmp(line, "fc00", 4);
	fclose(routes);
	CHECK_EQ(found, 1000);
	netlink_close(&netlink);
}
