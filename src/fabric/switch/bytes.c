/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bytes - a frame's bytes, as far as a switch may look and write.
 *
 * Reads: the IPv6 header, an SRH directly behind it when the carrier has run out, and the source
 * port of UDP directly behind it (half of a structured EV).  Writes: destination, hop limit,
 * traffic class and payload length of that first header, and SegmentsLeft.  What lies further
 * inside is the hosts' (their ICRC covers it), which is why a trim corrects the IP length and
 * leaves UDP's and an inner header's: Ultra Ethernet 4.1 says so, SAI does so, and receivers
 * know trimmed packets by their DSCP.
 *
 * Ethernet may pad a short frame: what lies behind the IP packet is cut off.  A packet shorter than
 * it says was damaged; a trimmed one is not, since its length was corrected.
 */
#include "switch_local.h"

enum {
	IPV6_BYTES = 40,
	NEXT_UDP = 17,
	NEXT_ROUTING = 43,
	ROUTING_SEGMENTS = 4, /* routing type of the SRH */
	SRH_FIXED_BYTES = 8,
	ECN_MASK = 3,
	ECN_NOT_ECT = 0,
	ECN_CE = 3,
};

static uint32_t get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t get32(const uint8_t *p)
{
	return get16(p) << 16 | get16(p + 2);
}

static void put16(uint8_t *p, uint32_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static void put32(uint8_t *p, uint32_t value)
{
	put16(p, value >> 16);
	put16(p + 2, value);
}

static void classify(const struct weft_dscp *dscp, uint32_t tclass, struct weft_frame *frame)
{
	uint32_t codepoint = tclass >> 2, ecn = tclass & ECN_MASK;

	frame->mark = ecn == ECN_CE ? WEFT_MARK_CE : 0;
	frame->flags = ecn != ECN_NOT_ECT ? WEFT_FRAME_ECT : 0;
	frame->tclass = WEFT_CLASS_DATA;
	if (codepoint == dscp->data) {
		frame->flags |= WEFT_FRAME_TRIMMABLE;
	} else if (codepoint == dscp->rtx) {
		frame->tclass = WEFT_CLASS_RETX;
		frame->flags |= WEFT_FRAME_TRIMMABLE;
	} else if (codepoint == dscp->control) {
		frame->tclass = WEFT_CLASS_CONTROL;
	} else if (codepoint == dscp->trimmed) {
		frame->mark |= WEFT_MARK_TRIMMED;
	} else if (codepoint == dscp->trimmed_lasthop) {
		frame->mark |= WEFT_MARK_TRIMMED_LASTHOP;
	}
}

enum weft_switch_drop bytes_read(
	const struct weft_switch *sw, const uint8_t *ip, size_t ip_bytes, struct weft_frame *frame)
{
	if (ip_bytes < IPV6_BYTES || ip[0] >> 4 != 6)
		return WEFT_SWITCH_DROP_NOT_IPV6;
	uint32_t bytes = IPV6_BYTES + get16(ip + 4);

	if (bytes > ip_bytes)
		return WEFT_SWITCH_DROP_TRUNCATED;
	if (bytes > sw->config.mtu_bytes)
		return WEFT_SWITCH_DROP_TOO_BIG;
	frame->bytes = (uint16_t)(bytes + WEFT_FRAME_ETHER_BYTES);
	frame->hop_limit = ip[7];
	frame->flow = get16(ip + 2);
	if (ip[6] == NEXT_UDP && bytes >= IPV6_BYTES + 2)
		frame->flow |= get16(ip + IPV6_BYTES) << 16;
	frame->route = 0;
	classify(&sw->config.dscp, get16(ip) >> 4 & 0xff, frame);
	return WEFT_SWITCH_DROP_NONE;
}

bool bytes_in_block(const struct weft_switch *sw, const uint8_t *ip)
{
	return get32(ip + 24) == sw->config.block;
}

void bytes_get_carrier(const uint8_t *ip, struct carrier *carrier)
{
	carrier->high = (uint64_t)get32(ip + 28) << 32 | get32(ip + 32);
	carrier->low = get32(ip + 36);
}

void bytes_put_carrier(uint8_t *ip, const struct carrier *carrier)
{
	put32(ip + 28, (uint32_t)(carrier->high >> 32));
	put32(ip + 32, (uint32_t)carrier->high);
	put32(ip + 36, carrier->low);
}

enum weft_switch_drop bytes_next_segment(uint8_t *ip, size_t ip_bytes)
{
	uint8_t *srh = ip + IPV6_BYTES;
	size_t left = ip_bytes - IPV6_BYTES;

	if (ip[6] != NEXT_ROUTING)
		return WEFT_SWITCH_DROP_SID_EXHAUSTED;
	if (left < SRH_FIXED_BYTES || srh[2] != ROUTING_SEGMENTS)
		return WEFT_SWITCH_DROP_BAD_SRH;
	/* RFC 8754 4.3.1.1: lengths in units of eight bytes, a segment takes two. */
	uint32_t units = srh[1], segments_left = srh[3], last_entry = srh[4];

	if (!segments_left)
		return WEFT_SWITCH_DROP_SID_EXHAUSTED;
	if (SRH_FIXED_BYTES + 8u * units > left || 2 * (last_entry + 1) > units ||
		segments_left > last_entry + 1)
		return WEFT_SWITCH_DROP_BAD_SRH;
	srh[3] = (uint8_t)(segments_left - 1);
	__builtin_memcpy(ip + 24, srh + SRH_FIXED_BYTES + 16 * (segments_left - 1), 16);
	return WEFT_SWITCH_DROP_NONE;
}

void bytes_write(const struct weft_switch *sw, uint8_t *ip, const struct weft_frame *frame)
{
	uint32_t tclass = get16(ip) >> 4 & 0xff;

	ip[7] = frame->hop_limit;
	if (frame->mark & WEFT_MARK_CE)
		tclass |= ECN_CE;
	if (frame->flags & WEFT_FRAME_CUT_HERE) {
		uint32_t codepoint = frame->mark & WEFT_MARK_TRIMMED_LASTHOP
					     ? sw->config.dscp.trimmed_lasthop
					     : sw->config.dscp.trimmed;

		tclass = codepoint << 2 | (tclass & ECN_MASK);
		put16(ip + 4, (uint32_t)frame->bytes - WEFT_FRAME_ETHER_BYTES - IPV6_BYTES);
	}
	put16(ip, 0x6000u | tclass << 4 | (ip[1] & 0x0fu));
}
