/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dissect - does with a frame what a receiver would, and remembers where it stopped.
 *
 * The parsing is `wire`'s, called as a host calls it, so that the verdict printed here is the one a
 * host would reach; nothing is decoded a second way.  Three things are added because a capture is
 * not a host.  It may be taken in the middle of a path, where a native uSID address has not been
 * used up yet: then the ICRC, which covers the address on arrival, tells how many hops are to go.
 * It may hold only the beginning of each frame: then the rest is taken as zeros, nothing is said
 * that depends on it, and the ICRC is not seen.  And most of what it holds may be somebody else's:
 * a frame is judged only when it is known to be MRC's, by a UDP header with MRC's port and by an
 * opcode that is none of RoCEv2's, which has the same port.
 */
#include <weft/base.h>
#include <weft/decode.h>

#include <stdio.h>
#include <string.h>

enum {
	HEADERS_MAX = 10, /* in front of UDP */
	UDP_BYTES = 8,
	BTH_BYTES = 12,
	OPCODES_OF_MAKERS = 0xc0, /* below: services of IBTA's; MRC's are of the makers' groups */
	NEXT_HOP_BY_HOP = 0,
	NEXT_IPV4 = 4,
	NEXT_UDP = 17,
	NEXT_IPV6 = 41,
	NEXT_ROUTING = 43,
	NEXT_FRAGMENT = 44,
	NEXT_NOTHING = 59,
	NEXT_OPTIONS = 60,
	TRIM_MARKS = WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP,
};

const char *weft_decoded_icrc_name(enum weft_decoded_icrc icrc)
{
	static const char *const names[] = { "ok", "bad", "absent", "not_captured", "unknown" };

	return names[icrc];
}

static bool is_ours(const struct weft_decode_config *config, uint16_t port)
{
	if (config->port)
		return port == config->port;
	return port == WEFT_UDP_PORT || port == WEFT_UDP_PORT_AS_PRINTED;
}

/* The frame as it was on the wire, where the capture has cut it. */
static const uint8_t *complete(
	const struct weft_decode_config *config, const struct weft_capture_frame *frame, size_t *n)
{
	*n = frame->n;
	if (frame->wire_bytes <= frame->n)
		return frame->bytes;
	memcpy(config->scratch, frame->bytes, frame->n);
	memset(config->scratch + frame->n, 0, frame->wire_bytes - frame->n);
	*n = frame->wire_bytes;
	return config->scratch;
}

static bool icrc_matches(
	weft_crc32_fn *crc, const struct weft_arrival *a, const struct weft_flow *flow)
{
	return weft_icrc_check(crc, flow, a->datagram, a->datagram_bytes);
}

/* A native uSID packet that has hops to go carries the ICRC of its arrival. */
static bool find_hops(weft_crc32_fn *crc, struct weft_decoded *d)
{
	struct weft_flow flow = d->outside.flow;

	for (unsigned hops = 1; hops < WEFT_USID_SLOTS; hops++) {
		weft_usid_shift(d->outside.flow.dst, hops, flow.dst);
		if (!icrc_matches(crc, &d->outside, &flow))
			continue;
		d->hops_to_go = hops;
		d->outside.flow = flow;
		d->outside.ev = weft_usid_get_ev(flow.dst);
		return true;
	}
	return false;
}

static void check_icrc(weft_crc32_fn *crc, struct weft_decoded *d, bool cut_by_capture)
{
	if (d->pkt.mark & TRIM_MARKS)
		d->icrc = WEFT_ICRC_IS_ABSENT;
	else if (cut_by_capture)
		d->icrc = WEFT_ICRC_IS_NOT_CAPTURED;
	else if (!d->has_outside || !crc)
		d->icrc = WEFT_ICRC_IS_UNKNOWN;
	else if (icrc_matches(crc, &d->outside, &d->outside.flow) ||
		 (d->outside.kind == WEFT_ENCAP_USID && find_hops(crc, d)))
		d->icrc = WEFT_ICRC_IS_OK;
	else
		d->icrc = WEFT_ICRC_IS_BAD;
}

/* Bytes from BTH on to the payload, as far as its opcode (and the SACK's subtype) tell. */
static size_t header_bytes(const uint8_t *bth)
{
	struct weft_wire_field field;
	size_t bits = 0;

	for (unsigned i = 0; weft_wire_field(bth[0], bth[8], i, &field); i++)
		bits = WEFT_MAX(bits, (size_t)field.bit + field.bits);
	return WEFT_DIV_UP(bits, 8u);
}

/* Whether the capture has too little for this verdict: its place, or what it follows from. */
static bool is_unseen(const struct weft_capture_frame *frame, const struct weft_decoded *d)
{
	if (frame->wire_bytes <= frame->n)
		return false;
	return d->headers_cut || d->fault.bit >= 8 * frame->n;
}

static void read_datagram(const struct weft_decode_config *config,
	const struct weft_capture_frame *frame, const uint8_t *datagram, size_t n, uint8_t mark,
	struct weft_decoded *d)
{
	bool cut = frame->wire_bytes > frame->n, has_bth = frame->n >= d->bth_at + BTH_BYTES;
	bool ok = weft_wire_decode(datagram, n, mark, &d->pkt, &d->fault);

	d->what = WEFT_DECODED_DROP;
	d->fault.bit += (uint32_t)(8 * d->bth_at);
	if (cut)
		d->headers_cut = !has_bth || frame->n < d->bth_at + header_bytes(datagram);
	/* What BTH itself forbids has been seen; lengths there have to do with what has not. */
	bool of_bth = has_bth && d->fault.drop != WEFT_DROP_BAD_LENGTH &&
		      d->fault.bit < 8 * (d->bth_at + BTH_BYTES);

	if (!ok && (of_bth || !is_unseen(frame, d)))
		return;
	d->has_packet = has_bth;
	d->what = WEFT_DECODED_PACKET;
	if (!ok) {
		d->headers_cut = true;
		d->icrc = WEFT_ICRC_IS_NOT_CAPTURED;
		return;
	}
	check_icrc(config->crc, d, cut);
	if (d->icrc != WEFT_ICRC_IS_BAD)
		return;
	d->what = WEFT_DECODED_DROP;
	d->fault.drop = WEFT_DROP_BAD_ICRC;
	d->fault.bit = (uint32_t)(8 * (d->bth_at + n - WEFT_WIRE_ICRC_BYTES));
}

/* ---- whose it is ---- */

enum owner { OWNER_OTHER, OWNER_MRC, OWNER_UNSEEN };

/* One header: where the next begins, and what it is; 0: nothing that leads to UDP. */
static size_t pass_header(const uint8_t *p, size_t left, unsigned *next)
{
	size_t bytes = 8;

	switch (*next) {
	case NEXT_IPV4:
		if (left < 20)
			return left;
		*next = (p[6] & 0x1f) | p[7] ? NEXT_NOTHING : p[9]; /* behind a fragment: data */
		return p[0] >> 4 == 4 ? WEFT_MAX(4u * (p[0] & 15u), 20u) : 0;
	case NEXT_IPV6:
		if (left < 40)
			return left;
		*next = p[6];
		return p[0] >> 4 == 6 ? 40 : 0;
	case NEXT_FRAGMENT:
		if (left < 8)
			return left;
		*next = p[2] | (p[3] & 0xf8) ? NEXT_NOTHING : p[0];
		return bytes;
	case NEXT_HOP_BY_HOP:
	case NEXT_ROUTING:
	case NEXT_OPTIONS:
		if (left < 2)
			return left;
		*next = p[0];
		return bytes * (p[1] + 1u);
	default:
		return 0;
	}
}

/* By the bytes that were captured alone. */
static enum owner find_owner(
	const struct weft_decode_config *config, const struct weft_capture_frame *frame)
{
	enum owner unseen = frame->wire_bytes > frame->n ? OWNER_UNSEEN : OWNER_OTHER;
	size_t at = frame->ip_at;
	unsigned next = frame->bytes[at] >> 4 == 4 ? NEXT_IPV4 : NEXT_IPV6;

	for (unsigned i = 0; i < HEADERS_MAX && next != NEXT_UDP; i++) {
		size_t bytes = pass_header(frame->bytes + at, frame->n - at, &next);

		if (!bytes)
			return OWNER_OTHER;
		at += bytes;
		if (at >= frame->n)
			return unseen;
	}
	if (next != NEXT_UDP)
		return OWNER_OTHER;
	if (frame->n < at + 4)
		return unseen;
	if (!is_ours(config, (uint16_t)(frame->bytes[at + 2] << 8 | frame->bytes[at + 3])))
		return OWNER_OTHER;
	return frame->n < at + UDP_BYTES && unseen == OWNER_UNSEEN ? OWNER_UNSEEN : OWNER_MRC;
}

/* A host's name, and the plane and the uplink that its EV means, by the fabric file. */
static void find_place(const struct weft_topo *topo, struct weft_decoded *d)
{
	uint32_t host, plane;

	if (!topo || !weft_topo_host_find(topo, d->outside.flow.src, &host, &plane))
		return;
	d->has_place = true;
	d->plane = weft_ev_plane(d->outside.ev);
	d->uplink = weft_ev_uplink(d->outside.ev);
	weft_topo_node_name(topo, host, d->from, sizeof(d->from));
}

/* RoCEv2 shares port 4791: the upper three bits of a BTH opcode name its transport service. */
static bool is_roce(const struct weft_decoded *d)
{
	return d->fault.drop == WEFT_DROP_NOT_MRC && d->outside.datagram_bytes >= BTH_BYTES &&
	       d->outside.datagram[0] < OPCODES_OF_MAKERS;
}

static void dissect_ip(const struct weft_decode_config *config,
	const struct weft_capture_frame *frame, struct weft_decoded *d)
{
	size_t n;
	const uint8_t *bytes = complete(config, frame, &n), *ip = bytes + frame->ip_at;
	enum weft_encap_kind plain = ip[0] >> 4 == 4 ? WEFT_ENCAP_UDP_PORT : config->plain;

	d->what = WEFT_DECODED_DROP;
	if (!weft_encap_parse(ip, n - frame->ip_at, plain, &config->dscp, &d->outside, &d->fault)) {
		d->fault.bit += (uint32_t)(8 * frame->ip_at);
		if (d->fault.drop == WEFT_DROP_NOT_MRC)
			d->what = WEFT_DECODED_OTHER;
		else if (is_unseen(frame, d))
			d->what = WEFT_DECODED_CUT;
		return;
	}
	d->has_outside = true;
	d->bth_at = (size_t)(d->outside.datagram - bytes);
	if (frame->wire_bytes > frame->n && frame->n <= d->bth_at) {
		d->what = WEFT_DECODED_CUT; /* MRC's or RoCEv2's: the opcode would tell */
		return;
	}
	read_datagram(
		config, frame, d->outside.datagram, d->outside.datagram_bytes, d->outside.mark, d);
	find_place(config->topo, d);
	if (!frame->is_asked && is_roce(d)) {
		d->what = WEFT_DECODED_OTHER;
	} else if (!is_ours(config, d->outside.flow.dst_port)) {
		d->what = WEFT_DECODED_OTHER;
		d->fault.drop = WEFT_DROP_NOT_MRC;
		d->fault.bit = (uint32_t)(8 * d->bth_at) - 48; /* UDP's destination port */
	}
}

void weft_decode_frame(const struct weft_decode_config *config,
	const struct weft_capture_frame *frame, struct weft_decoded *d)
{
	memset(d, 0, sizeof(*d));
	d->bth_at = frame->ip_at;
	d->fault.drop = WEFT_DROP_NOT_MRC;
	if (WEFT_MAX(frame->wire_bytes, frame->n) > WEFT_DECODE_FRAME_MAX ||
		(!frame->is_ip && !frame->is_datagram))
		return;
	bool cut = frame->wire_bytes > frame->n;

	if (frame->ip_at >= frame->n || (cut && !config->scratch)) {
		d->what = cut ? WEFT_DECODED_CUT : WEFT_DECODED_OTHER;
		return;
	}
	if (frame->is_datagram) {
		size_t n;
		const uint8_t *bytes = complete(config, frame, &n);

		read_datagram(config, frame, bytes, n, 0, d);
		return;
	}
	enum owner owner = frame->is_asked ? OWNER_MRC : find_owner(config, frame);

	if (owner == OWNER_UNSEEN) {
		d->what = WEFT_DECODED_CUT;
		return;
	}
	dissect_ip(config, frame, d);
	if (owner == OWNER_MRC)
		return;
	d->what = WEFT_DECODED_OTHER;
	d->fault.drop = WEFT_DROP_NOT_MRC;
}

/* ---- names of the bits in front of BTH ---- */

struct outer_field {
	uint16_t bit, bits;
	const char *name;
};

static const struct outer_field ipv6_fields[] = { { 0, 4, "IPv6.version" },
	{ 4, 8, "IPv6.traffic_class" }, { 12, 20, "IPv6.flow_label" },
	{ 32, 16, "IPv6.payload_length" }, { 48, 8, "IPv6.next_header" },
	{ 56, 8, "IPv6.hop_limit" }, { 64, 128, "IPv6.source" }, { 192, 128, "IPv6.destination" } };
static const struct outer_field ipv4_fields[] = { { 0, 4, "IPv4.version" },
	{ 4, 4, "IPv4.header_length" }, { 8, 8, "IPv4.tos" }, { 16, 16, "IPv4.total_length" },
	{ 32, 16, "IPv4.id" }, { 48, 16, "IPv4.fragment" }, { 64, 8, "IPv4.ttl" },
	{ 72, 8, "IPv4.protocol" }, { 80, 16, "IPv4.checksum" }, { 96, 32, "IPv4.source" },
	{ 128, 32, "IPv4.destination" } };
static const struct outer_field udp_fields[] = { { 0, 16, "UDP.source_port" },
	{ 16, 16, "UDP.destination_port" }, { 32, 16, "UDP.length" }, { 48, 16, "UDP.checksum" } };
static const struct outer_field srh_fields[] = { { 0, 8, "SRH.next_header" },
	{ 8, 8, "SRH.length" }, { 16, 8, "SRH.type" }, { 24, 8, "SRH.segments_left" },
	{ 32, 32, "SRH.flags" }, { 64, 128, "SRH.segment" } };

static const char *find_outer(const struct outer_field *fields, size_t n, size_t bit)
{
	for (size_t i = 0; i < n; i++)
		if (bit >= fields[i].bit && bit < (size_t)fields[i].bit + fields[i].bits)
			return fields[i].name;
	return "";
}

#define FIND(fields, at) find_outer(fields, WEFT_COUNT(fields), bit - 8 * (at))

/* Walks the headers in front of BTH, each told by the one before it. */
static const char *name_outer(const struct weft_capture_frame *frame, size_t bit)
{
	size_t at = frame->ip_at;
	unsigned next = 0;

	for (unsigned header = 0; header < 4 && at < frame->n; header++) {
		const uint8_t *p = frame->bytes + at;
		bool ipv4 = header == 0 && p[0] >> 4 == 4;
		size_t bytes = next == 17                        ? 8
			       : next == 43 && at + 1 < frame->n ? 8u * (p[1] + 1u)
			       : ipv4                            ? 20
								 : 40;

		if (bit < 8 * (at + bytes))
			return next == 17   ? FIND(udp_fields, at)
			       : next == 43 ? FIND(srh_fields, at)
			       : ipv4       ? FIND(ipv4_fields, at)
					    : FIND(ipv6_fields, at);
		if (next == 17 || at + 9 >= frame->n)
			return "";
		next = next == 43 ? p[0] : ipv4 ? p[9] : p[6];
		at += bytes;
	}
	return "";
}

const char *weft_decode_field(const struct weft_capture_frame *frame, const struct weft_decoded *d,
	size_t bit, char name[64])
{
	const uint8_t *bth = frame->bytes + d->bth_at;
	struct weft_wire_field field;

	if (bit < 8 * d->bth_at || (!d->has_outside && !frame->is_datagram))
		return bit < 8 * frame->ip_at ? "" : name_outer(frame, bit);
	bit -= 8 * d->bth_at;
	if (frame->n >= d->bth_at + 9) {
		for (unsigned i = 0; weft_wire_field(bth[0], bth[8], i, &field); i++) {
			if (bit < field.bit || bit >= (size_t)field.bit + field.bits)
				continue;
			snprintf(name, 64, "%s.%s", field.header, field.name);
			return name;
		}
	}
	if (d->fault.drop == WEFT_DROP_BAD_ICRC && d->what == WEFT_DECODED_DROP)
		return "ICRC";
	return "";
}
