/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * srv6 - IPv6 in IPv6, the outer destination being a uSID carrier: what MRC's paper has [P 1.1].
 *
 *   | IPv6: via_src -> via, next 41 or 43 | [SRH, one segment] | IPv6: src -> dst | UDP ...
 *
 * A path of up to six uSIDs needs no SRH; a longer one puts its second carrier into an SRH of one
 * segment, which the node where the first runs out takes up (RFC 8754).  Encapsulation copies the
 * traffic class outwards, ECN included ("normal mode" of RFC 6040), and the flow label too, so that
 * a router which does hash sees the EV.
 *
 * Decapsulation: switches act on the outer header only, so marks and trims are read there [P 7.3].
 * An inner CE counts as well (the mark was made before a tunnel).  Outer CE over an inner packet
 * that never said it was ECN-capable is an error of some router, and RFC 6040 section 4.2 has it
 * dropped.  The kernel's own End.DT6 forgets the outer mark, which is why a host that wants ECN
 * takes frames, not sockets, in this format [M 1.7].
 */
#include <weft/base.h>

#include "encap/ip.h"

enum { SRH_TYPE = 4, ECN_CE = 3, ECN_MASK = 3 };

size_t srv6_put(const struct weft_encap *encap, uint8_t tclass, uint32_t flow_label,
	size_t inner_bytes, uint8_t *p)
{
	if (!encap->has_segment)
		return ipv6_put(p, encap->via_src, encap->via, inner_bytes, NEXT_IPV6, tclass,
			flow_label, encap->hop_limit);
	size_t at = ipv6_put(p, encap->via_src, encap->via, SRH_BYTES + inner_bytes, NEXT_ROUTING,
		tclass, flow_label, encap->hop_limit);
	uint8_t *srh = p + at;

	srh[0] = NEXT_IPV6;
	srh[1] = SRH_BYTES / 8 - 1;
	srh[2] = SRH_TYPE;
	srh[3] = 1;        /* segments left: the list below has not been started on */
	put32(srh + 4, 0); /* last entry 0, no flags, no tag */
	__builtin_memcpy(srh + 8, encap->segment, 16);
	return at + SRH_BYTES;
}

/* Steps over an SRH at the start of view->body. */
static bool skip_srh(const uint8_t *start, struct ip_view *view, struct weft_arrival *arrival,
	struct weft_wire_fault *fault)
{
	const uint8_t *srh = view->body;
	size_t at = (size_t)(srh - start);
	size_t bytes = view->body_bytes >= 8 ? 8 * ((size_t)srh[1] + 1) : 8;

	if (view->body_bytes < bytes)
		return fault_at(fault, WEFT_DROP_TRUNCATED, 8 * (at + view->body_bytes));
	if (srh[2] != SRH_TYPE)
		return fault_at(fault, WEFT_DROP_NOT_MRC, 8 * (at + 2));
	/* A segment takes two units of eight bytes. */
	if (2u * srh[3] > srh[1])
		return fault_at(fault, WEFT_DROP_BAD_FIELD, 8 * (at + 3));
	if (srh[0] != NEXT_IPV6)
		return fault_at(fault, WEFT_DROP_NOT_MRC, 8 * at);
	arrival->segments_left = srh[3];
	view->body += bytes;
	view->body_bytes -= bytes;
	return true;
}

/* view: of the outer header on entry, of the inner one on return. */
bool srv6_parse(const uint8_t *start, struct ip_view *view, bool short_ok, uint8_t *mark,
	struct weft_arrival *arrival, struct weft_wire_fault *fault)
{
	bool outer_ce = (view->tclass & ECN_MASK) == ECN_CE;

	if (view->next == NEXT_ROUTING && !skip_srh(start, view, arrival, fault))
		return false;
	const uint8_t *inner = view->body;
	size_t at = (size_t)(inner - start);

	if (view->body_bytes && inner[0] >> 4 != 6)
		return fault_at(fault, WEFT_DROP_NOT_MRC, 8 * at);
	if (!ip_get(inner, view->body_bytes, at, short_ok, view, fault))
		return false;
	uint8_t inner_ecn = view->tclass & ECN_MASK;

	if (outer_ce && inner_ecn == 0)
		return fault_at(fault, WEFT_DROP_BAD_FIELD, 8 * at + 10);
	if (inner_ecn == ECN_CE)
		*mark |= WEFT_MARK_CE;
	return true;
}
