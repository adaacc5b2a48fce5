/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forward - which port, by what the sender wrote into the packet.
 *
 * uN and uA are RFC 9800's End and End.X with NEXT-C-SID, block of 32 and uSIDs of 16 bits
 * (F3216), as MRC's fabrics have it [P 7.1].  A uSID of ours is shifted out and what follows is
 * looked up at once, as RFC 9800 section 4.1 has it ("submit to the egress look-up"), so [uN, uA,
 * ...] and even [uN, uN, ...]
 * work.  That cannot loop: each turn uses up one of six uSIDs and one of the hop limit.  Hop
 * limit goes down by one for each uSID used up, or by one where a packet only passes through.
 * No ICMP: error messages would quote a shifted address that the sender does not know
 * (docs/lab.md sees that of the kernel).
 *
 * A carrier that ends here is dropped unless an SRH goes on: a switch is no host.  Zero ends a
 * carrier only if nothing follows; a zero in front of others is a mistake and told apart.
 *
 * A hash takes in a seed per switch, since two stages that hash alike would use a fraction of the
 * links (polarisation).  A port that is down takes no part in it, as switches everywhere have it:
 * what is hashed is traffic that did not choose its path and cannot avoid one (TCP, the set-up of a
 * connection).  A structured EV is a choice; nothing reroutes it, so only ports that were never
 * cabled are left out of its count.
 *
 * Hot: once per packet.
 */
#include "switch_local.h"

enum { USIDS = 6 };

static uint64_t load64(const uint8_t *p)
{
	uint64_t value;

	__builtin_memcpy(&value, p, sizeof(value));
	return value;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* ip: NULL in the struct form, where flow is all there is. */
static uint32_t hash_flow(const struct weft_switch *sw, uint32_t flow, const uint8_t *ip)
{
	uint64_t hash = mix(sw->config.seed ^ flow);

	for (unsigned at = 8; ip && at < 40; at += 8)
		hash = mix(hash ^ load64(ip + at));
	return (uint32_t)(hash >> 32);
}

static bool takes_part(const struct weft_switch *sw, uint32_t port, bool is_up_wanted)
{
	return sw->ports[port].profile != PROFILE_NONE &&
	       (!is_up_wanted || (sw->ports[port].flags & PORT_UP));
}

/* Number `which` modulo those among the ports of the hop that take part. */
static uint32_t choose_part(
	const struct weft_switch *sw, const struct weft_hop *hop, uint32_t which, bool is_up_wanted)
{
	uint32_t parts = 0, end = (uint32_t)hop->port + hop->ports;

	for (uint32_t port = hop->port; port < end; port++)
		parts += takes_part(sw, port, is_up_wanted);
	if (!parts)
		return hop->port; /* found down by whoever queues there */
	which %= parts;
	for (uint32_t port = hop->port;; port++) {
		WEFT_ASSERT(port < end);
		if (takes_part(sw, port, is_up_wanted) && !which--)
			return port;
	}
}

static uint32_t choose_port(
	const struct weft_switch *sw, const struct weft_hop *hop, uint32_t flow, const uint8_t *ip)
{
	switch (hop->kind) {
	case WEFT_HOP_HASH:
		return choose_part(sw, hop, hash_flow(sw, flow, ip), true);
	case WEFT_HOP_FIELD:
		return choose_part(sw, hop, flow >> hop->shift, false);
	default:
		return hop->port;
	}
}

static bool use_hop_limit(struct weft_frame *frame)
{
	if (frame->hop_limit <= 1)
		return false;
	frame->hop_limit--;
	return true;
}

static void shift(struct carrier *carrier)
{
	carrier->high = carrier->high << 16 | carrier->low >> 16;
	carrier->low <<= 16;
}

enum weft_switch_drop forward_carrier(struct weft_switch *sw, struct carrier *carrier,
	struct weft_frame *frame, const uint8_t *ip, uint32_t *port)
{
	bool has_used = false;

	for (unsigned i = 0;; i++) {
		WEFT_ASSERT(i <= USIDS);
		uint16_t sid = (uint16_t)(carrier->high >> 48);

		if (!sid)
			return WEFT_SWITCH_DROP_SID_ZERO;
		const struct weft_hop *hop = table_find_sid(sw, sid);

		if (!hop)
			return WEFT_SWITCH_DROP_NO_SID;
		if (hop->kind != WEFT_HOP_UN && hop->kind != WEFT_HOP_UA) {
			if (WEFT_UNLIKELY(hop->kind & HOP_HOLE))
				return WEFT_SWITCH_DROP_FAULT;
			if (!has_used && !use_hop_limit(frame))
				return WEFT_SWITCH_DROP_HOP_LIMIT;
			*port = choose_port(sw, hop, frame->flow, ip);
			return WEFT_SWITCH_DROP_NONE;
		}
		if (!(carrier->high << 16) && !carrier->low) {
			*port = hop->kind == WEFT_HOP_UA ? hop->port : WEFT_SWITCH_ANY;
			return WEFT_SWITCH_DROP_SID_EXHAUSTED;
		}
		if (!use_hop_limit(frame))
			return WEFT_SWITCH_DROP_HOP_LIMIT;
		has_used = true;
		shift(carrier);
		if (hop->kind == WEFT_HOP_UA) {
			*port = hop->port;
			return WEFT_SWITCH_DROP_NONE;
		}
	}
}

enum weft_switch_drop forward_prefix(
	struct weft_switch *sw, struct weft_frame *frame, const uint8_t *ip, uint32_t *port)
{
	const struct weft_hop *hop = table_find_prefix(sw, ip + 24);

	if (!hop)
		return WEFT_SWITCH_DROP_NO_ROUTE;
	if (!use_hop_limit(frame))
		return WEFT_SWITCH_DROP_HOP_LIMIT;
	*port = choose_port(sw, hop, frame->flow, ip);
	return WEFT_SWITCH_DROP_NONE;
}
