/* SPDX-License-Identifier: BSD-2-Clause */
#include "plain.h"

static struct offer offer_of(uint16_t src_port)
{
	struct offer offer = {
		.host = "x", .planes = 2, .udp_port = 5, .n_src_ports = 1, .src_port = { src_port }
	};

	offer.addr[0][15] = 1;
	offer.addr[1][15] = 2;
	return offer;
}

TEST(live_peer_take__shares_a_peer_until_the_last_gives_it_back)
{
	struct weft_live *live = open_plain();
	struct offer a = offer_of(100), b = offer_of(101);
	uint32_t first, again, other;
	struct weft_set_info info;

	CHECK_EQ(live_peer_take(live, &a, &first, error, sizeof(error)), 0);
	CHECK_EQ(live_peer_take(live, &a, &again, error, sizeof(error)), 0);
	CHECK_EQ(live_peer_take(live, &b, &other, error, sizeof(error)), 0);
	CHECK_EQ(first, again);
	CHECK(first != other);
	CHECK_EQ(weft_set_info(live->ep, live->peers[first].pathset, &info), 0);
	CHECK_EQ(info.paths, 8); /* two planes, four source ports */
	live_peer_give(live, first);
	CHECK_EQ(weft_set_info(live->ep, live->peers[first].pathset, &info), 0);
	live_peer_give(live, first);
	CHECK(weft_set_info(live->ep, live->peers[first].pathset, &info) != 0);
	CHECK_EQ(live_peer_take(live, &a, &again, error, sizeof(error)), 0);
	weft_live_close(live);
}

TEST(live_peer_take__has_a_limit_and_refuses_a_shared_address)
{
	struct weft_live *live = open_plain();
	struct offer a = offer_of(100), thief = offer_of(200);
	uint32_t peer;

	CHECK_EQ(live_peer_take(live, &a, &peer, error, sizeof(error)), 0);
	memset(thief.addr[0], 7, 16); /* plane 0 its own, plane 1 and port another's */
	thief.src_port[0] = 100;
	CHECK_EQ(live_peer_take(live, &thief, &peer, error, sizeof(error)), -1);
	CHECK(strstr(error, "in use") != NULL);
	thief = a; /* as after a restart with the same source port */
	thief.udp_port++;
	CHECK_EQ(live_peer_take(live, &thief, &peer, error, sizeof(error)), -1);
	CHECK(strstr(error, "in use") != NULL);
	unsigned taken = 1;

	for (uint16_t i = 0; i < 100; i++) {
		struct offer more = offer_of((uint16_t)(300 + i));

		taken += !live_peer_take(live, &more, &peer, error, sizeof(error));
	}
	CHECK(taken <= LIVE_PEERS_MAX && taken > 10);
	weft_live_close(live);
}
