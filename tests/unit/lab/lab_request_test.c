/* SPDX-License-Identifier: BSD-2-Clause */
/* Single requests, one switch by hand; what they add up to is world's test. */
#include "labs.h"

static struct netlink netlink;
static struct batch batch;

static void make_pair(void)
{
	need_root_here();
	REQUIRE(!unshare(CLONE_NEWNET));
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	const struct veth_end ends[2] = { { fd, 20, "left", { 2, 0, 0, 0, 0, 1 } },
		{ fd, 31, "right", { 2, 0, 0, 0, 0, 2 } } };

	REQUIRE(fd >= 0 && netlink_open(&netlink));
	batch_begin(&batch, &netlink);
	request_veth(&batch, ends, 4252);
	REQUIRE(batch_end(&batch));
	close(fd);
}

TEST(request_veth__makes_two_ends_that_tell_each_other)
{
	struct weft_lab_end_stats left, right;

	make_pair();
	CHECK(request_stats(&netlink, 20, &left) && request_stats(&netlink, 31, &right));
	CHECK(left.up && !left.carrier && !right.up);
	batch_begin(&batch, &netlink);
	request_link_state(&batch, 31, true);
	CHECK(batch_end(&batch));
	CHECK(request_stats(&netlink, 20, &left) && request_stats(&netlink, 31, &right));
	CHECK(left.carrier && right.carrier);
	batch_begin(&batch, &netlink);
	request_link_state(&batch, 20, false);
	CHECK(batch_end(&batch));
	CHECK(request_stats(&netlink, 31, &right));
	CHECK(right.up && !right.carrier);
	netlink_close(&netlink);
}

TEST(request_stats__fails_where_there_is_nothing)
{
	struct weft_lab_end_stats stats;

	make_pair();
	CHECK(!request_stats(&netlink, 99, &stats));
	CHECK(!stats.up && !stats.tx_packets);
	netlink_close(&netlink);
}

TEST(request_route__replaces_and_removes)
{
	struct weft_route route = { .prefix = { 0xfc, 0xbb }, .prefix_bits = 48 };
	int ports[2] = { 20, 31 }, one = 20;
	struct route_request via = { ROUTE_GATEWAY, &route, NULL, &one, 1 };
	struct route_request shared = { ROUTE_GATEWAY, &route, NULL, ports, 2 };
	struct route_request end = { ROUTE_END, &route, NULL, &one, 1 };
	struct route_request end_x = { ROUTE_END_X, &route, NULL, &one, 1 };
	struct route_request hole = { ROUTE_BLACKHOLE, &route, NULL, NULL, 0 };
	const struct route_request *order[] = { &via, &hole, &via, &shared, &via, &end, &end_x,
		&hole, &end_x, &shared };

	make_pair();
	batch_begin(&batch, &netlink);
	request_link_state(&batch, 31, true);
	for (size_t i = 0; i < WEFT_COUNT(order); i++)
		request_route(&batch, order[i]);
	request_route_gone(&batch, &route);
	if (!batch_end(&batch))
		CHECK_FAIL("%s", batch.text);
	batch_begin(&batch, &netlink);
	request_route_gone(&batch, &route); /* one of the replacements must not be left */
	CHECK(!batch_end(&batch));
	CHECK_EQ(batch.error, ESRCH);
	netlink_close(&netlink);
}

TEST(request_shaper__is_taken_for_every_rate)
{
	static const uint64_t rates[] = { 1000000, 1000000000, UINT64_C(40000000000) };

	make_pair();
	for (size_t i = 0; i < WEFT_COUNT(rates); i++) {
		const struct shaper shaper = { rates[i], 4266, 500000, 24 };

		batch_begin(&batch, &netlink);
		request_shaper(&batch, 20, &shaper);
		if (!batch_end(&batch))
			CHECK_FAIL("%s", batch.text);
	}
	netlink_close(&netlink);
}

TEST(request_queue_stats__counts_what_had_no_room)
{
	struct weft_lab_end_stats stats = { 0 };
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = htons(9) };
	uint8_t own[16] = { 0xfd, 1, [15] = 9 };
	static char data[1400];
	int port = 20;
	struct weft_route route = { .prefix = { 0xfc, 0xbb }, .prefix_bits = 48 };
	struct route_request via = { ROUTE_GATEWAY, &route, own, &port, 1 };
	uint8_t mac[6] = { 2, 0, 0, 0, 0, 2 };
	const struct shaper shaper = { 1000000, 4266, 20000, 0 }; /* 11 ms a packet, room for 13 */

	make_pair();
	(void)request_queue_stats(&netlink, 20, &stats);
	CHECK(!stats.queue_dropped && !stats.queue_bytes);
	batch_begin(&batch, &netlink);
	request_link_state(&batch, 1, true);
	request_link_state(&batch, 31, true);
	request_address(&batch, 1, own);
	request_neighbour(&batch, 20, mac);
	request_route(&batch, &via);
	request_shaper(&batch, 20, &shaper);
	if (!batch_end(&batch))
		CHECK_FAIL("%s", batch.text);
	struct weft_lab_end_stats link;
	for (int i = 0; i < 100 && request_stats(&netlink, 20, &link) && !link.carrier; i++)
		poll(NULL, 0, 10);
	poll(NULL, 0, 50); /* until then the interface drops without a queue */
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);
	memcpy(&to.sin6_addr, route.prefix, 16);
	for (int i = 0; i < 60; i++)
		(void)sendto(fd, data, sizeof(data), 0, (struct sockaddr *)&to, sizeof(to));
	CHECK(request_queue_stats(&netlink, 20, &stats));
	CHECK(stats.queue_dropped >= 20 && stats.queue_dropped < 60);
	CHECK(stats.queue_bytes > 1000 && stats.queue_bytes <= 20000);
	close(fd);
	netlink_close(&netlink);
}

TEST(request_address__can_be_bound_at_once)
{
	struct sockaddr_in6 own = { .sin6_family = AF_INET6 };
	uint8_t address[16] = { 0xfd, 1, [15] = 9 };

	make_pair();
	batch_begin(&batch, &netlink);
	request_link_state(&batch, 1, true);
	request_address(&batch, 1, address);
	request_neighbour(&batch, 20, address);
	CHECK(batch_end(&batch));
	memcpy(&own.sin6_addr, address, 16);
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);
	CHECK(!bind(fd, (struct sockaddr *)&own, sizeof(own)));
	close(fd);
	netlink_close(&netlink);
}
