/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loop_peers - numbers that an endpoint has given its peers, and the nodes which these are.
 *
 * As behind the other ports: a packet from a node that nobody has made a peer is dropped.  A port
 * that was never told of one takes peers for nodes, as tests of the engine do.
 */
#include "net_local.h"

#include <stdlib.h>
#include <weft/loop.h>

struct loop_peers {
	uint16_t port_of[WEFT_NET_PEERS_MAX];       /* by peer: its node's UDP port; 0: none */
	uint16_t peer_of[WEFT_LOOP_NODES_MAX + 1u]; /* by UDP port: 1 + its number; 0: none */
};

int loop_peers_add(struct loop_peers **peers, uint32_t peer, uint16_t udp_port)
{
	struct loop_peers *p = *peers ? *peers : calloc(1, sizeof(*p));

	*peers = p;
	if (!p || peer >= WEFT_NET_PEERS_MAX || !udp_port || udp_port > WEFT_LOOP_NODES_MAX ||
		p->port_of[peer] || p->peer_of[udp_port])
		return -1;
	p->port_of[peer] = udp_port;
	p->peer_of[udp_port] = (uint16_t)(peer + 1);
	return 0;
}

void loop_peers_drop(struct loop_peers *peers, uint32_t peer)
{
	if (!peers || peer >= WEFT_NET_PEERS_MAX)
		return;
	peers->peer_of[peers->port_of[peer]] = 0;
	peers->port_of[peer] = 0;
}

bool loop_peers_to(const struct loop_peers *peers, uint32_t *peer)
{
	uint32_t udp_port = *peer < WEFT_NET_PEERS_MAX ? peers->port_of[*peer] : 0;

	*peer = udp_port - 1;
	return udp_port != 0;
}

bool loop_peers_from(const struct loop_peers *peers, uint32_t *node)
{
	uint32_t peer = peers->peer_of[*node + 1];

	*node = peer - 1;
	return peer != 0;
}
