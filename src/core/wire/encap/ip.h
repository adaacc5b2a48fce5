/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_IP_H
#define WIRE_IP_H
/*
 * IP and UDP headers, as far as MRC uses them: no options, no fragments, one optional SRH.
 */
#include "wire_local.h"

enum {
	IPV6_BYTES = 40,
	IPV4_BYTES = 20,
	UDP_BYTES = 8,
	SRH_BYTES = 24, /* with one segment */
	NEXT_UDP = 17,
	NEXT_IPV6 = 41,
	NEXT_ROUTING = 43,
};

struct ip_view { /* one IP header and what it carries, all inside the given bytes */
	uint8_t src[16], dst[16];
	const uint8_t *body;
	size_t body_bytes;
	uint32_t flow_label;
	uint16_t ipv4_id, ipv4_frag;
	uint8_t next, tclass, hop_limit;
};

size_t ipv6_put(uint8_t *p, const uint8_t src[16], const uint8_t dst[16], size_t body_bytes,
	uint8_t next, uint8_t tclass, uint32_t flow_label, uint8_t hop_limit);
size_t ipv4_put(
	uint8_t *p, const struct weft_flow *flow, size_t body_bytes, uint8_t tclass, uint8_t ttl);
/* UDP over whatever flow says, IPv6 or IPv4; returns bytes of both headers. */
size_t ip_udp_put(uint8_t *p, const struct weft_flow *flow, uint8_t tclass, uint32_t flow_label,
	uint8_t hop_limit, size_t datagram_bytes);
/* at: bytes before p, for the fault.  short_ok: the length field may promise more than is there. */
bool ip_get(const uint8_t *p, size_t bytes, size_t at, bool short_ok, struct ip_view *view,
	struct weft_wire_fault *fault);
uint8_t ip_tclass(const uint8_t *p, size_t bytes); /* of a header not checked yet; 0 if too short */

/* The parts of weft_encap_parse() that differ. */
bool srv6_parse(const uint8_t *start, struct ip_view *view, bool short_ok, uint8_t *mark,
	struct weft_arrival *arrival, struct weft_wire_fault *fault);
size_t srv6_put(const struct weft_encap *encap, uint8_t tclass, uint32_t flow_label,
	size_t inner_bytes, uint8_t *p);

#endif
