/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * encap - whole frames: from the first IP header to the end of UDP, in any of the outer formats.
 *
 * For ports that own their frames (AF_PACKET, AF_XDP), for captures, and for switches; a UDP socket
 * leaves all of this to its kernel.  One parser serves all formats: an outer header announces
 * itself, and what stays undecidable from bytes (is this plain IPv6 destination a used-up carrier?)
 * is the caller's `plain`, which a host knows from its configuration.
 *
 * A trimming switch cuts the frame and may not correct the lengths inside it [P 4.10], so for
 * frames marked trimmed every length is a bound and not a promise.  For all others the UDP length
 * must agree with the IP length: bytes between the two would be covered by no ICRC.
 */
#include <weft/base.h>

#include "encap/ip.h"

const char *weft_encap_name(uint8_t kind)
{
	static const char *const names[WEFT_ENCAP_KINDS] = { "srv6", "usid", "stev", "udp_port" };

	return kind < WEFT_ENCAP_KINDS ? names[kind] : "?";
}

void weft_encap_flow(const struct weft_encap *encap, uint32_t ev, struct weft_flow *flow)
{
	*flow = encap->flow;
	switch (encap->kind) {
	case WEFT_ENCAP_SRV6:
	case WEFT_ENCAP_STEV:
		flow->src_port = WEFT_EV_SRC_PORT(ev);
		break;
	case WEFT_ENCAP_UDP_PORT:
		flow->src_port = (uint16_t)ev;
		break;
	default: /* USID: the EV is in the address */
		break;
	}
}

size_t weft_encap_put(const struct weft_encap *encap, const struct weft_dscp *dscp, uint8_t tclass,
	uint32_t ev, size_t datagram_bytes, uint8_t *bytes)
{
	bool striped = encap->kind == WEFT_ENCAP_SRV6 || encap->kind == WEFT_ENCAP_STEV;
	uint32_t label = striped ? WEFT_EV_FLOW_LABEL(ev) : 0;
	uint8_t byte = weft_tclass_encode(dscp, tclass);
	struct weft_flow flow;
	size_t at = 0;

	WEFT_ASSERT(datagram_bytes <= WEFT_WIRE_DATAGRAM_MAX);
	WEFT_ASSERT(encap->kind == WEFT_ENCAP_UDP_PORT || !weft_flow_is_ipv4(&encap->flow));
	weft_encap_flow(encap, ev, &flow);
	if (encap->kind == WEFT_ENCAP_SRV6)
		at = srv6_put(encap, byte, label, IPV6_BYTES + UDP_BYTES + datagram_bytes, bytes);
	if (encap->kind == WEFT_ENCAP_USID)
		__builtin_memcpy(flow.dst, encap->via, 16);
	return at + ip_udp_put(bytes + at, &flow, byte, label, encap->hop_limit, datagram_bytes);
}

static uint32_t read_ev(const struct weft_arrival *arrival, uint32_t flow_label)
{
	switch (arrival->kind) {
	case WEFT_ENCAP_USID:
		return weft_usid_get_ev(arrival->flow.dst);
	case WEFT_ENCAP_UDP_PORT:
		return arrival->flow.src_port;
	default:
		return WEFT_EV_JOIN(arrival->flow.src_port, flow_label);
	}
}

static bool parse_udp(const uint8_t *start, const struct ip_view *view, bool short_ok,
	struct weft_arrival *arrival, struct weft_wire_fault *fault)
{
	const uint8_t *udp = view->body;
	size_t at = (size_t)(udp - start);

	if (view->next != NEXT_UDP)
		return fault_at(fault, WEFT_DROP_NOT_MRC, 8 * at);
	if (view->body_bytes < UDP_BYTES)
		return fault_at(fault, WEFT_DROP_TRUNCATED, 8 * (at + view->body_bytes));
	size_t udp_bytes = get16(udp + 4);

	if (udp_bytes != view->body_bytes && !short_ok)
		return fault_at(fault,
			udp_bytes > view->body_bytes ? WEFT_DROP_TRUNCATED : WEFT_DROP_BAD_LENGTH,
			8 * (at + 4));
	__builtin_memcpy(arrival->flow.src, view->src, 16);
	__builtin_memcpy(arrival->flow.dst, view->dst, 16);
	arrival->flow.src_port = get16(udp);
	arrival->flow.dst_port = get16(udp + 2);
	arrival->flow.ipv4_id = view->ipv4_id;
	arrival->flow.ipv4_frag = view->ipv4_frag;
	arrival->datagram = udp + UDP_BYTES;
	arrival->datagram_bytes = view->body_bytes - UDP_BYTES;
	return true;
}

bool weft_encap_parse(const uint8_t *ip, size_t bytes, enum weft_encap_kind plain,
	const struct weft_dscp *dscp, struct weft_arrival *arrival, struct weft_wire_fault *fault)
{
	uint8_t mark = weft_tclass_mark(dscp, ip_tclass(ip, bytes));
	bool short_ok = mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP);
	struct ip_view view;

	if (!ip_get(ip, bytes, 0, short_ok, &view, fault))
		return false;
	arrival->kind = (uint8_t)plain;
	arrival->segments_left = 0;
	arrival->hop_limit = view.hop_limit;
	__builtin_memcpy(arrival->via, view.dst, 16);
	if (ip[0] >> 4 == 6 && (view.next == NEXT_IPV6 || view.next == NEXT_ROUTING)) {
		arrival->kind = WEFT_ENCAP_SRV6;
		if (!srv6_parse(ip, &view, short_ok, &mark, arrival, fault))
			return false;
	}
	if (!parse_udp(ip, &view, short_ok, arrival, fault))
		return false;
	arrival->mark = mark;
	arrival->ev = read_ev(arrival, view.flow_label);
	return true;
}
