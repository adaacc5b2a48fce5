/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_WIRE_H
#define WEFT_WIRE_H
/*
 * wire - bytes to packets and back, nothing else.
 *
 *   [outer IPv6 [SRH]]  IP  UDP | BTH, extension headers | payload | pad | ICRC
 *   `------ weft_encap_* -----' | `--- weft_wire_* ----'           | `--------'
 *                               `------------------ weft_icrc_* -------------'
 *
 * Three layers that do not call each other: who owns a UDP socket never touches weft_encap, the
 * simulator's wire check needs weft_wire only, and the ICRC takes its CRC-32 from the caller
 * because the fastest one is a library (docs/decisions/030-icrc-injected.md).
 *
 * Time     None.
 * Memory   Payload is never copied: encode leaves it to the caller's iovec, decode points into the
 *          caller's buffer.  Nothing is kept between calls.
 * Threads  Pure functions.
 * Errors   Encoding what the engine made cannot fail (asserted).  Decoding strangers' bytes fails
 *          with a weft_wire_fault that names the reason and the first wrong bit; every read is
 *          bounded by the given length.
 * Reserved bits are sent as zero and ignored on arrival, so that a later version may use them.
 */
#include <weft/disputed.h>
#include <weft/proto.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- transport: everything after the UDP header ---- */

#define WEFT_WIRE_HEADERS_MAX 48 /* BTH 12 + EETH or SETH and CC_STATE 36 */
#define WEFT_WIRE_ICRC_BYTES 4
#define WEFT_WIRE_TAIL_MAX 7 /* three bytes of padding and the ICRC */
#define WEFT_WIRE_DATAGRAM_MAX (WEFT_WIRE_HEADERS_MAX + WEFT_MTU_MAX + WEFT_WIRE_ICRC_BYTES)
#define WEFT_WIRE_PKEY 0xffff /* the default partition, full member: the only one in RoCE */

struct weft_wire_fault { /* why bytes were refused, and where */
	enum weft_drop drop;
	uint32_t bit; /* first wrong bit, counted from the start of what was decoded */
};

/* Payload bytes of a packet; 0 for all that is not data. */
static inline uint32_t weft_wire_payload_bytes(const struct weft_pkt *pkt)
{
	return weft_op_is_data(pkt->op) ? pkt->w.len_bytes : 0;
}

/* Bytes of the header behind BTH of a packet without payload; 0: data, or no opcode of ours. */
static inline uint32_t weft_wire_control_bytes(uint8_t op)
{
	switch (op) {
	case WEFT_OP_ACK: /* AETH */
		return 4;
	case WEFT_OP_PROBE: /* PETH */
	case WEFT_OP_EP_REQUEST: /* ERTH */
		return 16;
	case WEFT_OP_NACK: /* NETH */
		return 20;
	case WEFT_OP_SACK: /* SETH and CC_STATE */
	case WEFT_OP_EP_RESPONSE: /* EETH */
		return 36;
	default:
		return 0;
	}
}

/*
 * Bytes of the whole datagram, BTH to ICRC, as weft_wire_encode() and weft_icrc_seal() make it; for
 * whoever moves packets without making them.  Of what a switch has cut: w.len_bytes 0.
 */
static inline uint32_t weft_wire_bytes(const struct weft_pkt *pkt)
{
	enum { BTH = 12, METH = 4, TSETH = 4, XRCETH = 4, RETH = 16, IMMDT = 4 };
	uint32_t bytes = BTH + WEFT_WIRE_ICRC_BYTES;

	if (!weft_op_is_data(pkt->op))
		return bytes + weft_wire_control_bytes(pkt->op);
	bytes += METH + RETH + ((pkt->w.len_bytes + 3u) & ~3u);
	if (pkt->flags & WEFT_BTH_TS)
		bytes += TSETH;
	if (pkt->flags & WEFT_BTH_XRC && weft_op_is_extended(pkt->op))
		bytes += XRCETH;
	return weft_op_has_imm(pkt->op) ? bytes + IMMDT : bytes;
}

/*
 * Writes the headers from BTH up to the payload and returns their bytes.  headers: room for
 * WEFT_WIRE_HEADERS_MAX.  The datagram is then { headers, payload, tail of weft_icrc_seal() }.
 * Envelope fields (peer, ev, port, mark, tclass) do not occur in it.
 */
size_t weft_wire_encode(const struct weft_pkt *pkt, uint8_t *headers);

/*
 * Parses one whole datagram, BTH to ICRC.  True: op, flags, mark and all that follows them in *pkt
 * are set, peer, ev, port and tclass are left to the caller, who knows; w.data points into the
 * datagram.  False: *fault says why, *pkt is in pieces.  The ICRC is not looked at: see
 * weft_icrc_check().
 *
 * mark: enum weft_mark bits from the outer header.  With either TRIMMED bit the datagram may end
 * anywhere after METH and TSETH; then w holds msn, rqmsn and ts, the rest of it is zero.
 */
bool weft_wire_decode(const uint8_t *datagram, size_t bytes, uint8_t mark, struct weft_pkt *pkt,
	struct weft_wire_fault *fault);

/* One header field, for those who show packets to people. */
struct weft_wire_field {
	const char *header, *name; /* "SETH", "cack_psn"; reserved bits are not listed */
	uint16_t bit, bits;        /* first bit counted from the start of BTH; width */
};
/* Field i of a packet with this opcode and these flags, in wire order; false past the last. */
bool weft_wire_field(uint8_t op, uint8_t flags, unsigned i, struct weft_wire_field *field);

/* ---- ICRC: what protects a packet from end to end ---- */

/*
 * CRC-32 as in Ethernet and gzip: reflected 0xEDB88320, inverted before and after, so that
 * f(f(0, a), b) is the CRC of a followed by b.  ISA-L's crc32_gzip_refl and zlib's crc32 are such.
 */
typedef uint32_t weft_crc32_fn(uint32_t crc, const uint8_t *bytes, uint64_t len_bytes);

/* The two ends as the *receiver* sees them: with native uSIDs, dst is what is left on arrival. */
struct weft_flow {
	uint8_t src[16], dst[16]; /* IPv4 as ::ffff:a.b.c.d */
	uint16_t src_port, dst_port;
	uint16_t ipv4_id, ipv4_frag; /* covered by the ICRC; see WEFT_IPV4_DF.  0 with IPv6 */
};
#define WEFT_IPV4_DF 0x4000 /* ipv4_frag of a packet that must not be cut; Linux sends id 0 then */

/* Both addresses are IPv4. */
bool weft_flow_is_ipv4(const struct weft_flow *flow);

/*
 * Makes the tail (padding and ICRC) of a datagram and returns its bytes.  headers: from
 * weft_wire_encode(); payload may be NULL when payload_bytes is 0; tail: room for
 * WEFT_WIRE_TAIL_MAX.  Calls crc two or three times.
 */
size_t weft_icrc_seal(weft_crc32_fn *crc, const struct weft_flow *flow, const uint8_t *headers,
	size_t header_bytes, const void *payload, size_t payload_bytes, uint8_t *tail);

/* Whether a datagram (BTH to ICRC, contiguous) carries the right ICRC; false also if too short. */
bool weft_icrc_check(
	weft_crc32_fn *crc, const struct weft_flow *flow, const uint8_t *datagram, size_t bytes);

/* ---- outer formats: IP and UDP, the EV, and what the network says by marking ---- */

/* Traffic class byte (DSCP and ECN) of an outgoing packet; data is ECN-capable, control is not. */
uint8_t weft_tclass_encode(const struct weft_dscp *dscp, uint8_t tclass);
/* enum weft_mark bits that a received traffic class byte means. */
uint8_t weft_tclass_mark(const struct weft_dscp *dscp, uint8_t byte);

/* uSID carriers, F3216: a 32-bit block and six 16-bit slots (RFC 9800). */
enum { WEFT_USID_BLOCK_BYTES = 4, WEFT_USID_BYTES = 2, WEFT_USID_SLOTS = 6 };

/* What a carrier looks like after this many hops have each consumed one uSID. */
void weft_usid_shift(const uint8_t carrier[16], unsigned hops, uint8_t out[16]);
/*
 * Native uSID only: the EV travels in the two slots behind the last of `usids` uSIDs, the
 * destination's own included, and arrives right behind it.  False: fewer than two slots are free.
 */
bool weft_usid_put_ev(uint8_t carrier[16], unsigned usids, uint32_t ev);
uint32_t weft_usid_get_ev(const uint8_t arrived[16]); /* of the address a host was reached by */

/*
 * Where a packet says which path it takes.
 *   SRV6      outer IPv6 to a uSID carrier, next header 41 (or an SRH with one segment, RFC 8754),
 *             inner IPv6; EV in the inner source port and flow label
 *   USID      no outer header: the destination address is the carrier; EV in its last slots
 *   STEV      plain IPv6; EV in source port and flow label
 *   UDP_PORT  plain IPv6 or IPv4; 16 bits of EV in the source port
 */
enum weft_encap_kind {
	WEFT_ENCAP_SRV6,
	WEFT_ENCAP_USID,
	WEFT_ENCAP_STEV,
	WEFT_ENCAP_UDP_PORT,
	WEFT_ENCAP_KINDS
};
const char *weft_encap_name(uint8_t kind); /* "srv6", "usid", "stev", "udp_port" */

#define WEFT_ENCAP_BYTES_MAX (40 + 24 + 40 + 8)
/* What weft_encap_put() writes over IPv6 and without an SRH. */
#define WEFT_ENCAP_SRV6_BYTES (40 + 40 + 8)
#define WEFT_ENCAP_PLAIN_BYTES (40 + 8) /* USID, STEV, UDP_PORT */

struct weft_encap {            /* all that stays the same for the packets of one path */
	struct weft_flow flow; /* src_port matters to USID only: the others put the EV there */
	uint8_t kind;          /* enum weft_encap_kind */
	uint8_t hop_limit;
	bool has_segment;    /* SRV6: an SRH with `segment`, where via goes on when used up */
	uint8_t via_src[16]; /* SRV6: source of the outer header */
	uint8_t via[16];     /* SRV6, USID: the carrier, as it leaves this host */
	uint8_t segment[16];
};

/* The flow that a packet with this EV has on arrival: what weft_icrc_seal() wants. */
void weft_encap_flow(const struct weft_encap *encap, uint32_t ev, struct weft_flow *flow);

/*
 * Writes all headers from the first IP header to the end of UDP and returns their bytes, at most
 * WEFT_ENCAP_BYTES_MAX.  datagram_bytes: BTH to ICRC.  tclass: enum weft_class.  UDP's checksum is
 * zero: the ICRC covers the same and more (RFC 6935 allows it), and with native uSIDs a sum over
 * the first destination would be wrong on arrival.
 */
size_t weft_encap_put(const struct weft_encap *encap, const struct weft_dscp *dscp, uint8_t tclass,
	uint32_t ev, size_t datagram_bytes, uint8_t *bytes);

struct weft_arrival {            /* what the outside of a frame told */
	struct weft_flow flow;   /* of the inner (or only) headers */
	const uint8_t *datagram; /* BTH .. ICRC inside the frame */
	size_t datagram_bytes;
	uint32_t ev;
	uint8_t kind;          /* enum weft_encap_kind */
	uint8_t mark;          /* enum weft_mark bits */
	uint8_t hop_limit;     /* of the first header */
	uint8_t segments_left; /* of the SRH; not 0: still on its way */
	uint8_t via[16];       /* destination of the first header, as seen here */
};

/*
 * Parses a frame from its first IP header.  plain: how to read a frame that has no outer header,
 * USID, STEV or UDP_PORT (bytes cannot tell).  A frame longer than its IP packet is cut (Ethernet
 * pads); lengths that a trimming switch left stale are forgiven to frames marked trimmed.  False:
 * *fault, whose bit counts from the first byte of the frame; NOT_MRC: not UDP at all.
 */
bool weft_encap_parse(const uint8_t *ip, size_t bytes, enum weft_encap_kind plain,
	const struct weft_dscp *dscp, struct weft_arrival *arrival, struct weft_wire_fault *fault);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_WIRE_H */
