/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ip - the two IP headers and UDP, written and read for every outer format alike.
 *
 * Only what a fabric port can meet is understood: IPv4 without options and without fragments, IPv6
 * whose next header the caller knows.  Everything else is refused by name rather than skipped,
 * because what cannot be parsed cannot be covered by an ICRC either.  Both versions come out in one
 * view with IPv4 addresses mapped, so nobody above asks which it was.
 */
#include "encap/ip.h"

#include <weft/base.h>

enum { IPV4_OFFSET_MASK = 0x3fff }; /* more-fragments and the offset */

size_t ipv6_put(uint8_t *p, const uint8_t src[16], const uint8_t dst[16], size_t body_bytes,
	uint8_t next, uint8_t tclass, uint32_t flow_label, uint8_t hop_limit)
{
	put32(p, UINT32_C(6) << 28 | (uint32_t)tclass << 20 | (flow_label & 0xfffff));
	put16(p + 4, (uint32_t)body_bytes);
	p[6] = next;
	p[7] = hop_limit;
	__builtin_memcpy(p + 8, src, 16);
	__builtin_memcpy(p + 24, dst, 16);
	return IPV6_BYTES;
}

size_t ipv4_put(
	uint8_t *p, const struct weft_flow *flow, size_t body_bytes, uint8_t tclass, uint8_t ttl)
{
	uint32_t sum = 0;

	put16(p, 0x4500u | tclass);
	put16(p + 2, (uint32_t)(IPV4_BYTES + body_bytes));
	put16(p + 4, flow->ipv4_id);
	put16(p + 6, flow->ipv4_frag);
	put16(p + 8, (uint32_t)ttl << 8 | NEXT_UDP);
	put16(p + 10, 0);
	__builtin_memcpy(p + 12, flow->src + 12, 4);
	__builtin_memcpy(p + 16, flow->dst + 12, 4);
	for (unsigned i = 0; i < IPV4_BYTES; i += 2)
		sum += get16(p + i);
	sum = (sum & 0xffff) + (sum >> 16);
	put16(p + 10, ~(sum + (sum >> 16)));
	return IPV4_BYTES;
}

size_t ip_udp_put(uint8_t *p, const struct weft_flow *flow, uint8_t tclass, uint32_t flow_label,
	uint8_t hop_limit, size_t datagram_bytes)
{
	size_t udp_bytes = UDP_BYTES + datagram_bytes;
	size_t at = weft_flow_is_ipv4(flow) ? ipv4_put(p, flow, udp_bytes, tclass, hop_limit)
					    : ipv6_put(p, flow->src, flow->dst, udp_bytes, NEXT_UDP,
						      tclass, flow_label, hop_limit);

	put16(p + at, flow->src_port);
	put16(p + at + 2, flow->dst_port);
	put16(p + at + 4, (uint32_t)udp_bytes);
	put16(p + at + 6, 0);
	return at + UDP_BYTES;
}

static bool get_ipv6(const uint8_t *p, size_t bytes, size_t at, struct ip_view *view,
	struct weft_wire_fault *fault)
{
	if (bytes < IPV6_BYTES)
		return fault_at(fault, WEFT_DROP_TRUNCATED, 8 * (at + bytes));
	__builtin_memcpy(view->src, p + 8, 16);
	__builtin_memcpy(view->dst, p + 24, 16);
	/* A mapped source never crosses a wire (RFC 4291), and inside it would pass for IPv4. */
	if (ip_is_mapped(view->src))
		return fault_at(fault, WEFT_DROP_BAD_FIELD, 8 * (at + 8));
	view->flow_label = get32(p) & 0xfffff;
	view->tclass = (uint8_t)(get32(p) >> 20);
	view->next = p[6];
	view->hop_limit = p[7];
	view->ipv4_id = view->ipv4_frag = 0;
	view->body = p + IPV6_BYTES;
	view->body_bytes = get16(p + 4);
	return true;
}

static bool get_ipv4(const uint8_t *p, size_t bytes, size_t at, struct ip_view *view,
	struct weft_wire_fault *fault)
{
	if (bytes < IPV4_BYTES)
		return fault_at(fault, WEFT_DROP_TRUNCATED, 8 * (at + bytes));
	if ((p[0] & 0x0f) != 5)
		return fault_at(fault, WEFT_DROP_BAD_FIELD, 8 * at + 4);
	if (get16(p + 2) < IPV4_BYTES)
		return fault_at(fault, WEFT_DROP_TRUNCATED, 8 * (at + 2));
	if (get16(p + 6) & IPV4_OFFSET_MASK)
		return fault_at(fault, WEFT_DROP_BAD_FIELD, 8 * (at + 6));
	__builtin_memset(view->src, 0, 10);
	view->src[10] = view->src[11] = 0xff;
	__builtin_memcpy(view->dst, view->src, 12);
	__builtin_memcpy(view->src + 12, p + 12, 4);
	__builtin_memcpy(view->dst + 12, p + 16, 4);
	view->flow_label = 0;
	view->tclass = p[1];
	view->next = p[9];
	view->hop_limit = p[8];
	view->ipv4_id = get16(p + 4);
	view->ipv4_frag = get16(p + 6);
	view->body = p + IPV4_BYTES;
	view->body_bytes = (size_t)get16(p + 2) - IPV4_BYTES;
	return true;
}

bool ip_get(const uint8_t *p, size_t bytes, size_t at, bool short_ok, struct ip_view *view,
	struct weft_wire_fault *fault)
{
	if (!bytes)
		return fault_at(fault, WEFT_DROP_TRUNCATED, 8 * at);
	if (p[0] >> 4 == 6) {
		if (!get_ipv6(p, bytes, at, view, fault))
			return false;
	} else if (p[0] >> 4 == 4) {
		if (!get_ipv4(p, bytes, at, view, fault))
			return false;
	} else {
		return fault_at(fault, WEFT_DROP_NOT_MRC, 8 * at);
	}
	size_t left = bytes - (size_t)(view->body - p);

	if (view->body_bytes > left && !short_ok)
		return fault_at(fault, WEFT_DROP_TRUNCATED, 8 * (at + bytes));
	view->body_bytes = WEFT_MIN(view->body_bytes, left);
	return true;
}

uint8_t ip_tclass(const uint8_t *p, size_t bytes)
{
	if (bytes < 2)
		return 0;
	return p[0] >> 4 == 4 ? p[1] : (uint8_t)(get16(p) >> 4);
}
