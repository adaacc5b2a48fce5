/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NET_RAW_H
#define NET_RAW_H
/*
 * raw - a packet of the engine as one whole IPv6 packet in a buffer, and back: what ports share
 * that own their frames (shm, afpacket, afxdp).
 *
 *   | IPv6, carrier + EV | UDP | BTH .. | payload | pad, ICRC |                   WEFT_ENCAP_USID
 *   | IPv6, carrier | IPv6, host to host | UDP | BTH .. | payload | pad, ICRC |   WEFT_ENCAP_SRV6
 *   | IPv6, host to host | UDP | BTH .. | payload | pad, ICRC |                   WEFT_ENCAP_STEV
 *
 * Peers and paths are those of weft_udp_peer_add().  With USID `arrive` is what is left of the
 * carrier at the receiver; with the other two it is the address of the inner (or only) header, the
 * peer's on that plane.  Where the source port carries the EV (SRV6, STEV) it cannot tell two
 * endpoints of a host apart: there one address is one peer, and src_port[] is not looked at.
 */
#include "net_local.h"

#include <weft/wire.h>

#define RAW_HEAD_MAX (WEFT_ENCAP_BYTES_MAX + WEFT_WIRE_HEADERS_MAX)
#define RAW_PLANE_ANY UINT32_MAX

struct raw_config {
	enum weft_encap_kind kind; /* USID, SRV6 or STEV */
	bool no_icrc;              /* zeros are sent in its place */
	bool trusts;               /* none is looked at */
	uint32_t planes, mtu_bytes;
	uint16_t udp_port;                /* where we receive: other packets are not for us */
	uint16_t src_port;                /* USID: who we are */
	uint8_t addr[WEFT_PORTS_MAX][16]; /* own, per plane */
};

struct raw;
struct raw *raw_open(const struct raw_config *config); /* NULL: no memory */
void raw_close(struct raw *raw);                       /* NULL is fine */
/* Its own address on a plane, which it did not have when it was opened. */
void raw_move(struct raw *raw, uint32_t plane, const uint8_t addr[16]);
/* For ports that are told their number late: where we receive and, with USID, who we are. */
void raw_name(struct raw *raw, uint16_t udp_port);
int raw_peer_add(struct raw *raw, uint32_t peer, const struct weft_udp_peer *attr);
void raw_peer_drop(struct raw *raw, uint32_t peer);

/* Bytes from the first IP header to the end of UDP. */
uint32_t raw_encap_bytes(const struct raw *raw);
/* Bytes of the largest IP packet that is sent, or taken in. */
uint32_t raw_bytes_max(const struct raw *raw);

/* Writes pkt, payload and all, to ip (room for raw_bytes_max()); returns the bytes of the IP
 * packet, 0 where no path is known for its peer and EV, or its payload is not there any more. */
size_t raw_put(const struct raw *raw, const struct weft_pkt *pkt, uint8_t *ip);

struct raw_parts { /* the same without a copy, for those who hand an iovec to a kernel */
	uint8_t head[RAW_HEAD_MAX];
	uint8_t tail[WEFT_WIRE_TAIL_MAX + 1];
	const void *payload; /* the application's */
	uint32_t head_bytes, payload_bytes, tail_bytes;
};
bool raw_split(const struct raw *raw, const struct weft_pkt *pkt, struct raw_parts *parts);

/*
 * Reads an IP packet that arrived by this plane (RAW_PLANE_ANY: whichever its source names).  The
 * bytes may change meanwhile.  WEFT_DROP_COUNT: *pkt is whole, and w.data points into ip.
 * Otherwise the reason, for the caller to count.
 */
enum weft_drop raw_get(
	struct raw *raw, uint32_t plane, const uint8_t *ip, size_t bytes, struct weft_pkt *pkt);
/* The same, and the ICRC is looked at even if the configuration trusts. */
enum weft_drop raw_get_doubted(
	struct raw *raw, uint32_t plane, const uint8_t *ip, size_t bytes, struct weft_pkt *pkt);

#endif /* NET_RAW_H */
