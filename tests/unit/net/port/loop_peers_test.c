/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "net_local.h"

TEST(loop_peers_add__knows_each_node_once)
{
	struct loop_peers *peers = NULL;
	uint32_t it = 4095, nobody = 4096, node = 8, stranger = 0;

	CHECK_EQ(loop_peers_add(&peers, WEFT_NET_PEERS_MAX, 9), -1);
	CHECK_EQ(loop_peers_add(&peers, 1, 0), -1);
	CHECK_EQ(loop_peers_add(&peers, 4095, 9), 0);
	CHECK_EQ(loop_peers_add(&peers, 4094, 9), -1);
	CHECK_EQ(loop_peers_add(&peers, 4095, 10), -1);
	CHECK(loop_peers_to(peers, &it));
	CHECK_EQ(it, 8);
	CHECK(!loop_peers_to(peers, &nobody));
	CHECK(loop_peers_from(peers, &node));
	CHECK_EQ(node, 4095);
	CHECK(!loop_peers_from(peers, &stranger));
	loop_peers_drop(peers, 4095);
	node = 8;
	CHECK(!loop_peers_from(peers, &node));
	CHECK_EQ(loop_peers_add(&peers, 4094, 9), 0);
	free(peers);
}
