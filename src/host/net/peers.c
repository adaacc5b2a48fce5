/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peers - whom a source address belongs to, and which address a path leads to.
 *
 * Both questions are asked once per packet, so both are answered by one probe into an open-
 * addressed table in nearly every case: (address, UDP port) -> peer, and per peer EV -> a socket
 * address that is ready to be sent to.  Nothing a stranger sends can make a table grow; a lookup
 * of an unknown address ends at the first empty slot, and the tables are at most half full.
 */
#include "net_local.h"

#include <stdlib.h>
#include <string.h>

#define SOURCES (1u << 15) /* slots; at most half are used */

struct source {
	uint8_t addr[16];
	uint16_t udp_port; /* as on the wire; 0: empty */
	uint32_t ev, peer;
};

struct peer {
	struct peer_path *paths;
	uint32_t mask; /* slots - 1 */
};

struct peers {
	struct peer peers[WEFT_NET_PEERS_MAX];
	uint32_t n_sources;
	struct source sources[SOURCES];
};

static uint32_t mix(uint64_t a, uint64_t b)
{
	a = (a ^ (b * 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
	return (uint32_t)((a ^ a >> 29) >> 16);
}

static uint32_t slot_of(const uint8_t addr[16], uint16_t udp_port)
{
	uint64_t halves[2];

	memcpy(halves, addr, 16);
	return mix(halves[0] ^ udp_port, halves[1]) & (SOURCES - 1);
}

struct peers *peers_open(void)
{
	return calloc(1, sizeof(struct peers));
}

void peers_close(struct peers *peers)
{
	if (!peers)
		return;
	for (uint32_t i = 0; i < WEFT_NET_PEERS_MAX; i++)
		free(peers->peers[i].paths);
	free(peers);
}

static const struct source *find(
	const struct peers *peers, const uint8_t addr[16], uint16_t udp_port)
{
	uint32_t slot = slot_of(addr, udp_port);

	while (peers->sources[slot].udp_port) {
		const struct source *source = &peers->sources[slot];

		if (source->udp_port == udp_port && !memcmp(source->addr, addr, 16))
			return source;
		slot = (slot + 1) & (SOURCES - 1);
	}
	return NULL;
}

static void add_source(struct peers *peers, const struct source *source)
{
	uint32_t slot = slot_of(source->addr, source->udp_port);

	while (peers->sources[slot].udp_port)
		slot = (slot + 1) & (SOURCES - 1);
	peers->sources[slot] = *source;
	peers->n_sources++;
}

/* The slots behind a freed one may have come to lie there because of it: put them in again. */
static void drop_source(struct peers *peers, uint32_t slot)
{
	peers->sources[slot].udp_port = 0;
	peers->n_sources--;
	for (uint32_t i = (slot + 1) & (SOURCES - 1); peers->sources[i].udp_port;
		i = (i + 1) & (SOURCES - 1)) {
		struct source moved = peers->sources[i];

		peers->sources[i].udp_port = 0;
		peers->n_sources--;
		add_source(peers, &moved);
	}
}

static bool is_absent(const struct weft_udp_peer *attr, uint32_t plane)
{
	return plane < WEFT_PORTS_MAX && attr->absent >> plane & 1;
}

static bool fill_paths(struct peer *peer, const struct weft_udp_peer *attr)
{
	uint32_t slots = (uint32_t)weft_pow2_up(WEFT_MAX(2 * attr->n_paths, 4u));

	peer->paths = aligned_alloc(64, slots * sizeof(*peer->paths));
	if (!peer->paths)
		return false;
	memset(peer->paths, 0, slots * sizeof(*peer->paths));
	peer->mask = slots - 1;
	for (uint32_t i = 0; i < attr->n_paths; i++) {
		uint32_t slot = mix(attr->paths[i].ev, 1) & peer->mask;

		if (is_absent(attr, attr->paths[i].ev >> 16))
			continue;
		while (peer->paths[slot].to.sin6_family)
			slot = (slot + 1) & peer->mask;
		peer->paths[slot].ev = attr->paths[i].ev;
		peer->paths[slot].to.sin6_family = AF_INET6;
		peer->paths[slot].to.sin6_port = htons(attr->udp_port);
		memcpy(&peer->paths[slot].to.sin6_addr, attr->paths[i].dst, 16);
		memcpy(peer->paths[slot].arrive, attr->paths[i].arrive, 16);
	}
	return true;
}

int peers_add(struct peers *peers, uint32_t peer, const struct weft_udp_peer *attr)
{
	uint32_t sources = attr->addrs * attr->n_src_ports;

	if (peer >= WEFT_NET_PEERS_MAX || peers->peers[peer].paths || !attr->udp_port ||
		attr->n_paths > WEFT_NET_EVS_MAX || attr->addrs > WEFT_PORTS_MAX ||
		attr->n_src_ports > WEFT_UDP_SRC_PORTS_MAX ||
		peers->n_sources + sources > SOURCES / 2)
		return -1;
	for (uint32_t i = 0; i < sources; i++) {
		uint16_t src_port = attr->src_port[i / attr->addrs];

		if (!src_port || (!is_absent(attr, i % attr->addrs) &&
					 find(peers, attr->addr[i % attr->addrs], htons(src_port))))
			return -1;
	}
	if (!fill_paths(&peers->peers[peer], attr))
		return -1;
	for (uint32_t i = 0; i < sources; i++) {
		struct source source = { .peer = peer,
			.udp_port = htons(attr->src_port[i / attr->addrs]),
			.ev = (i % attr->addrs) << 16 | i / attr->addrs };

		if (is_absent(attr, i % attr->addrs))
			continue;
		memcpy(source.addr, attr->addr[i % attr->addrs], 16);
		add_source(peers, &source);
	}
	return 0;
}

void peers_drop(struct peers *peers, uint32_t peer)
{
	WEFT_ASSERT(peer < WEFT_NET_PEERS_MAX);
	free(peers->peers[peer].paths);
	peers->peers[peer] = (struct peer){ 0 };
	for (uint32_t slot = 0; slot < SOURCES; slot++)
		while (peers->sources[slot].udp_port && peers->sources[slot].peer == peer)
			drop_source(peers, slot);
}

uint32_t peers_find(const struct peers *peers, const struct sockaddr_in6 *from, uint32_t *ev)
{
	const struct source *source = find(peers, from->sin6_addr.s6_addr, from->sin6_port);

	if (WEFT_UNLIKELY(!source))
		return PEER_NONE;
	*ev = source->ev;
	return source->peer;
}

const struct peer_path *peers_path(const struct peers *peers, uint32_t peer, uint32_t ev)
{
	if (WEFT_UNLIKELY(peer >= WEFT_NET_PEERS_MAX))
		return NULL;
	const struct peer *p = &peers->peers[peer];

	if (WEFT_UNLIKELY(!p->paths))
		return NULL;
	for (uint32_t slot = mix(ev, 1) & p->mask; p->paths[slot].to.sin6_family;
		slot = (slot + 1) & p->mask)
		if (p->paths[slot].ev == ev)
			return &p->paths[slot];
	return NULL;
}
