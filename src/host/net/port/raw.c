/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * raw - whole IP packets made and read in user space, once for all ports that own their frames.
 *
 * The payload is copied before the ICRC is taken, and the ICRC is taken over the copy: it is then
 * in the first-level cache, and an application that changes its memory meanwhile (it may, once
 * another copy has been acknowledged) sends a packet that is right in itself.
 *
 * What arrives may lie in memory that a foul process can write to at any time.  So the headers are
 * copied first, and lengths and fields come from the copy alone; of the bytes outside nothing is
 * believed but the ICRC's word, and a lie there can spoil a payload, not us.
 *
 * Order of checks: form, port, known source, headers, ICRC; cheapest against a flood first.  A
 * trimmed packet has no valid ICRC and is let through with its mark (port/udp_rx.c does the same).
 *
 * A source names a plane (its address) and must come in by that plane.  Destination addresses are
 * not compared: the ICRC covers them, and whoever hands us packets has chosen them by address.
 *
 * Hot: once per packet, both ways.
 */
#include "port/raw.h"

#include <stdlib.h>
#include <string.h>
#include <weft/nofault.h>

#define HOP_LIMIT 64
#define STRIPED_PORT 1u /* stands for "any source port" in the table of sources */
/* Longer headers than these are none of ours; the room behind is for a routing header of any
 * length, which the parser steps over before we can refuse it. */
#define HEAD_BYTES 192u
#define HEAD_ROOM (40u + 8u * 256 + 40 + 8 + WEFT_WIRE_HEADERS_MAX + 8)

struct raw {
	struct raw_config config;
	struct weft_dscp dscp;
	struct peers *peers;
	bool striped; /* the source port is part of the EV */
	uint32_t encap_bytes;
	uint8_t head[HEAD_ROOM]; /* of the packet that is being read */
};

struct raw *raw_open(const struct raw_config *config)
{
	struct raw *raw = calloc(1, sizeof(*raw));

	if (!raw)
		return NULL;
	WEFT_ASSERT(config->kind != WEFT_ENCAP_UDP_PORT && config->planes <= WEFT_PORTS_MAX);
	raw->config = *config;
	raw->dscp = WEFT_DSCP_DEFAULT;
	raw->striped = config->kind != WEFT_ENCAP_USID;
	raw->encap_bytes = config->kind == WEFT_ENCAP_SRV6 ? 40 + 40 + 8 : 40 + 8;
	raw->peers = peers_open();
	if (!raw->peers) {
		free(raw);
		return NULL;
	}
	return raw;
}

void raw_close(struct raw *raw)
{
	if (!raw)
		return;
	peers_close(raw->peers);
	free(raw);
}

void raw_move(struct raw *raw, uint32_t plane, const uint8_t addr[16])
{
	memcpy(raw->config.addr[plane], addr, 16);
}

void raw_name(struct raw *raw, uint16_t udp_port)
{
	raw->config.udp_port = raw->config.src_port = udp_port;
}

int raw_peer_add(struct raw *raw, uint32_t peer, const struct weft_udp_peer *attr)
{
	struct weft_udp_peer one = *attr;

	for (uint32_t i = 0; i < attr->n_paths; i++)
		if (weft_inet_is_mapped(attr->paths[i].arrive))
			return -1; /* no format here has a place for IPv4 */
	if (raw->striped) {
		one.n_src_ports = 1;
		one.src_port[0] = STRIPED_PORT;
	}
	return peers_add(raw->peers, peer, &one);
}

void raw_peer_drop(struct raw *raw, uint32_t peer)
{
	peers_drop(raw->peers, peer);
}

uint32_t raw_encap_bytes(const struct raw *raw)
{
	return raw->encap_bytes;
}

uint32_t raw_bytes_max(const struct raw *raw)
{
	return raw->encap_bytes + WEFT_WIRE_HEADERS_MAX + WEFT_ALIGN_UP(raw->config.mtu_bytes, 4u) +
	       WEFT_WIRE_ICRC_BYTES;
}

/* ---- sending ---- */

static void fill_encap(const struct raw *raw, const struct weft_pkt *pkt,
	const struct peer_path *path, struct weft_encap *encap)
{
	encap->kind = (uint8_t)raw->config.kind;
	encap->hop_limit = HOP_LIMIT;
	encap->has_segment = false;
	memcpy(encap->flow.src, raw->config.addr[pkt->port], 16);
	memcpy(encap->flow.dst, path->arrive, 16);
	encap->flow.src_port = raw->config.src_port;
	encap->flow.dst_port = ntohs(path->to.sin6_port);
	encap->flow.ipv4_id = encap->flow.ipv4_frag = 0;
	memcpy(encap->via_src, raw->config.addr[pkt->port], 16);
	memcpy(encap->via, &path->to.sin6_addr, 16);
}

/* Padding and ICRC; without one, zeros, so that lengths do not depend on the choice. */
static size_t seal(const struct raw *raw, const struct weft_encap *encap, uint32_t ev,
	const uint8_t *headers, size_t header_bytes, const void *payload, size_t payload_bytes,
	uint8_t *tail)
{
	struct weft_flow flow;

	if (raw->config.no_icrc) {
		memset(tail, 0, (-payload_bytes & 3) + WEFT_WIRE_ICRC_BYTES);
		return (-payload_bytes & 3) + WEFT_WIRE_ICRC_BYTES;
	}
	weft_encap_flow(encap, ev, &flow);
	return weft_icrc_seal(
		net_crc32, &flow, headers, header_bytes, payload, payload_bytes, tail);
}

size_t raw_put(const struct raw *raw, const struct weft_pkt *pkt, uint8_t *ip)
{
	const struct peer_path *path = peers_path(raw->peers, pkt->peer, pkt->ev);
	uint32_t payload_bytes = weft_wire_payload_bytes(pkt);
	uint8_t *datagram = ip + raw->encap_bytes;
	struct weft_encap encap;

	if (WEFT_UNLIKELY(!path))
		return 0;
	WEFT_ASSERT(payload_bytes <= raw->config.mtu_bytes && pkt->port < raw->config.planes);
	size_t headers = weft_wire_encode(pkt, datagram), at = headers;

	if (payload_bytes && !weft_nofault_copy(datagram + at, pkt->w.data, payload_bytes))
		return 0;
	at += payload_bytes;
	fill_encap(raw, pkt, path, &encap);
	at += seal(raw, &encap, pkt->ev, datagram, headers, datagram + headers, payload_bytes,
		datagram + at);
	return weft_encap_put(&encap, &raw->dscp, pkt->tclass, pkt->ev, at, ip) + at;
}

bool raw_split(const struct raw *raw, const struct weft_pkt *pkt, struct raw_parts *parts)
{
	const struct peer_path *path = peers_path(raw->peers, pkt->peer, pkt->ev);
	uint8_t *datagram = parts->head + raw->encap_bytes;
	struct weft_encap encap;

	if (WEFT_UNLIKELY(!path))
		return false;
	parts->payload_bytes = weft_wire_payload_bytes(pkt);
	parts->payload = parts->payload_bytes ? pkt->w.data : NULL;
	WEFT_ASSERT(parts->payload_bytes <= raw->config.mtu_bytes);
	WEFT_ASSERT(pkt->port < raw->config.planes);
	size_t headers = weft_wire_encode(pkt, datagram);

	fill_encap(raw, pkt, path, &encap);
	parts->tail_bytes = (uint32_t)seal(raw, &encap, pkt->ev, datagram, headers, parts->payload,
		parts->payload_bytes, parts->tail);
	(void)weft_encap_put(&encap, &raw->dscp, pkt->tclass, pkt->ev,
		headers + parts->payload_bytes + parts->tail_bytes, parts->head);
	parts->head_bytes = (uint32_t)(raw->encap_bytes + headers);
	return true;
}

/* ---- receiving ---- */

/* In steps of constant size: the compiler would make a slow string instruction of one copy. */
static void copy_head(uint8_t *head, const uint8_t *ip, size_t bytes)
{
	size_t at = 0;

	bytes = WEFT_MIN(bytes, (size_t)HEAD_BYTES);
	for (; at + 16 <= bytes; at += 16)
		memcpy(head + at, ip + at, 16);
	for (; at + 4 <= bytes; at += 4)
		memcpy(head + at, ip + at, 4);
	for (; at < bytes; at++)
		head[at] = ip[at];
}

static uint32_t find_peer(
	const struct raw *raw, const struct weft_arrival *arrival, uint32_t *plane)
{
	struct sockaddr_in6 from;
	uint32_t ev = 0, peer;

	memcpy(&from.sin6_addr, arrival->flow.src, 16);
	from.sin6_port = htons(raw->striped ? STRIPED_PORT : arrival->flow.src_port);
	peer = peers_find(raw->peers, &from, &ev);
	if (*plane != RAW_PLANE_ANY && *plane != ev >> 16)
		return PEER_NONE;
	*plane = ev >> 16;
	return peer;
}

static enum weft_drop get(struct raw *raw, uint32_t plane, const uint8_t *ip, size_t bytes,
	bool trusts, struct weft_pkt *pkt)
{
	enum weft_encap_kind plain = raw->striped ? WEFT_ENCAP_STEV : WEFT_ENCAP_USID;
	struct weft_wire_fault fault;
	struct weft_arrival arrival;

	copy_head(raw->head, ip, bytes);
	if (!weft_encap_parse(raw->head, bytes, plain, &raw->dscp, &arrival, &fault))
		return fault.drop;
	size_t at = (size_t)(arrival.datagram - raw->head);

	if (arrival.kind != raw->config.kind || arrival.segments_left ||
		at > HEAD_BYTES - WEFT_WIRE_HEADERS_MAX ||
		arrival.flow.dst_port != raw->config.udp_port)
		return WEFT_DROP_NOT_MRC;
	uint32_t peer = find_peer(raw, &arrival, &plane);

	if (peer == PEER_NONE)
		return WEFT_DROP_UNKNOWN_PEER;
	if (!weft_wire_decode(arrival.datagram, arrival.datagram_bytes, arrival.mark, pkt, &fault))
		return fault.drop;
	if (weft_wire_payload_bytes(pkt) > raw->config.mtu_bytes)
		return WEFT_DROP_OVERSIZED;
	if (!(arrival.mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP)) && !trusts &&
		!weft_icrc_check(net_crc32, &arrival.flow, ip + at, arrival.datagram_bytes))
		return WEFT_DROP_BAD_ICRC;
	if (weft_op_is_data(pkt->op) && pkt->w.data)
		pkt->w.data = ip + ((const uint8_t *)pkt->w.data - raw->head);
	pkt->peer = peer;
	pkt->port = (uint8_t)plane;
	pkt->ev = arrival.ev;
	pkt->tclass = 0;
	return WEFT_DROP_COUNT;
}

enum weft_drop raw_get(
	struct raw *raw, uint32_t plane, const uint8_t *ip, size_t bytes, struct weft_pkt *pkt)
{
	return get(raw, plane, ip, bytes, raw->config.trusts, pkt);
}

enum weft_drop raw_get_doubted(
	struct raw *raw, uint32_t plane, const uint8_t *ip, size_t bytes, struct weft_pkt *pkt)
{
	return get(raw, plane, ip, bytes, false, pkt);
}
