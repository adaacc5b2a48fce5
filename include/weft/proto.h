/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_PROTO_H
#define WEFT_PROTO_H
/*
 * proto - the vocabulary: a decoded MRC packet, PSN arithmetic, code points, limits.
 *
 *     bytes  --wire-->  struct weft_pkt  --engine-->  struct weft_pkt  --wire-->  bytes
 *                              ^
 *                              | the simulator hands these over as they are
 *
 * A packet is one cache line: an envelope (who, which path, how it arrived), the base
 * transport header, and one of six bodies chosen by the opcode.  Addresses do not occur:
 * `peer` is a number that the carrier of packets maps to addresses, `ev` names the path.
 *
 * Sources: MRC 1.0 sections 6.2 and 7.5 as reported by the works listed in
 * docs/protocol.md.  Values the public sources dispute say so where they stand.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_PSN_MASK 0xffffffu
#define WEFT_PSN_HALF 0x800000u
#define WEFT_NEVER UINT64_MAX    /* a time that does not come */
#define WEFT_PORTS_MAX 32        /* bits of ERTH.port_status_mask */
#define WEFT_MTU_MAX 8192        /* bytes of payload in one packet */
#define WEFT_MTU_MIN 64          /* no less for the payload of a full packet */
#define WEFT_MPR_UNIT_PSNS 128   /* SETH.mpr counts in these */
#define WEFT_MPR_MAX_PSNS 32640  /* 255 units: what the 8-bit field can say */
#define WEFT_EP_QPN 2u           /* endpoint operations go to this QPN */
#define WEFT_TS_UNIT_NS 128      /* TSETH resolution; 16 bits wrap after 8.39 ms */
#define WEFT_RCVD_UNIT_BYTES 256 /* CC_STATE.rcvd_bytes counts in these, rounded up */
#define WEFT_NOMINAL_HEADER_BYTES 40 /* nominal packet size = UDP length + this (8.3.1) */

/* BTH.OpCode [P 1.2].  Bits 7:5 = 110 is the MRC group; the low bits equal the RC opcodes. */
enum weft_op {
	WEFT_OP_WRITE_FIRST = 0xC6,
	WEFT_OP_WRITE_MIDDLE = 0xC7,
	WEFT_OP_WRITE_LAST = 0xC8,
	WEFT_OP_WRITE_LAST_IMM = 0xC9,
	WEFT_OP_WRITE_ONLY = 0xCA,
	WEFT_OP_WRITE_ONLY_IMM = 0xCB,
	WEFT_OP_ACK = 0xD1,
	WEFT_OP_EP_REQUEST = 0xD8,
	WEFT_OP_EP_RESPONSE = 0xD9,
	WEFT_OP_SACK = 0xDC,
	WEFT_OP_NACK = 0xDD,
	WEFT_OP_PROBE = 0xDE,
	/*
	 * Ours, not MRC's: the extended profile, 0xE0 | RC opcode (docs/decisions/110).  All of
	 * them are shaped like a write: METH, TSETH, [XRCETH], RETH, [ImmDt], payload.  Sent only
	 * where both ends have agreed; anybody else counts and drops them.
	 */
	WEFT_OP_SEND_FIRST = 0xE0,
	WEFT_OP_SEND_MIDDLE = 0xE1,
	WEFT_OP_SEND_LAST = 0xE2,
	WEFT_OP_SEND_LAST_IMM = 0xE3,
	WEFT_OP_SEND_ONLY = 0xE4,
	WEFT_OP_SEND_ONLY_IMM = 0xE5,
	WEFT_OP_XRC_WRITE_FIRST = 0xE6, /* with WEFT_BTH_XRC only; all others are MRC's */
	WEFT_OP_XRC_WRITE_MIDDLE = 0xE7,
	WEFT_OP_XRC_WRITE_LAST = 0xE8,
	WEFT_OP_XRC_WRITE_LAST_IMM = 0xE9,
	WEFT_OP_XRC_WRITE_ONLY = 0xEA,
	WEFT_OP_XRC_WRITE_ONLY_IMM = 0xEB,
	WEFT_OP_READ_REQUEST = 0xEC,
	WEFT_OP_REPLY_FIRST = 0xED,
	WEFT_OP_REPLY_MIDDLE = 0xEE,
	WEFT_OP_REPLY_LAST = 0xEF,
	WEFT_OP_REPLY_ONLY = 0xF0,
	WEFT_OP_REPLY_REFUSED = 0xF2,
	WEFT_OP_CMP_SWAP = 0xF3,
	WEFT_OP_FETCH_ADD = 0xF4,
	WEFT_OP_DATAGRAM = 0xF8,
	WEFT_OP_DATAGRAM_IMM = 0xF9,
};

/* BTH byte 8, as on the wire. */
enum weft_bth_flag {
	WEFT_BTH_ACK_REQ = 0x80, /* A: answer with a SACK at once */
	WEFT_BTH_SOLICITED = 0x40, /* ours, in a bit that MRC reserves: wakes who waits for it */
	WEFT_BTH_RTX = 0x20,     /* a retransmission, or the SACK that one triggered */
	WEFT_BTH_TS = 0x10,      /* TSETH present */
	WEFT_BTH_XRC = 0x08,     /* ours, likewise; extended profile only: XRCETH present */
};

/* What the network did to a packet; read from the outer header by whoever received it. */
enum weft_mark {
	WEFT_MARK_CE = 1,               /* ECN congestion experienced */
	WEFT_MARK_TRIMMED = 2,          /* payload cut by a switch */
	WEFT_MARK_TRIMMED_LASTHOP = 4,  /* cut by the switch that the destination hangs on */
};

/*
 * How the network should treat a packet; becomes a DSCP.  NO_TRIM waits with the data and is never
 * cut: for probes, which would overtake what they ask about.
 */
enum weft_class { WEFT_CLASS_DATA, WEFT_CLASS_RETX, WEFT_CLASS_CONTROL, WEFT_CLASS_NO_TRIM };

/*
 * DSCPs are deployment configuration, in MRC as in UET; these are the UEC-like defaults [P 8.22].
 * A fabric that does not trim sets data and rtx to its ordinary class.
 */
struct weft_dscp {
	uint8_t data, rtx, control;       /* what we send */
	uint8_t trimmed, trimmed_lasthop; /* what switches write when they cut */
	uint8_t no_trim;                  /* what we send: data that is not to be cut */
};
#ifdef __cplusplus
#define WEFT_DSCP_DEFAULT (weft_dscp{ 8, 8, 46, 16, 18, 0 })
#else
#define WEFT_DSCP_DEFAULT ((struct weft_dscp){ 8, 8, 46, 16, 18, 0 })
#endif

/* SETH.M: the receiver's advice about the path of the packet that triggered the SACK. */
enum weft_sack_m { WEFT_M_NONE = 0, WEFT_M_SKIP_ONCE = 1, WEFT_M_ALWAYS_SKIP = 2 };

/* NETH.reason, Table 7-3 [P 1.10]; values equal UET's. */
enum weft_nack_reason {
	WEFT_NACK_TRIMMED = 0x01,
	WEFT_NACK_TRIMMED_LASTHOP = 0x02,
	WEFT_NACK_NO_BITMAP = 0x06,
	WEFT_NACK_NO_PKT_BUFFER = 0x07,
	WEFT_NACK_NO_RESOURCE = 0x0A,
	WEFT_NACK_PSN_OOR_WINDOW = 0x0B,
	WEFT_NACK_UNEXP_EVENT = 0x19,
	WEFT_NACK_RNR = 0xE0, /* ours, extended profile: no receive is posted; see rnr_timer */
};

/* AETH.syndrome: IBTA's, with the credit field always "none" in an ACK [P 1.7]. */
enum weft_syndrome {
	WEFT_AETH_ACK = 0x1f,
	WEFT_AETH_NAK_PSN_SEQUENCE = 0x60,
	WEFT_AETH_NAK_INVALID_REQUEST = 0x61,
	WEFT_AETH_NAK_REMOTE_ACCESS = 0x62,
	WEFT_AETH_NAK_REMOTE_OPERATION = 0x63,
	/* Too many immediates in flight.  One digest says the specification has a code of its
	 * own but gives no value; the other reading, which we follow, is invalid request
	 * [P 8.12]. */
	WEFT_AETH_NAK_WIMM_OVERFLOW = WEFT_AETH_NAK_INVALID_REQUEST,
};

/* EETH.op: what an endpoint operation asks or says. */
enum weft_ep_op { WEFT_EP_PORT_STATUS = 0, WEFT_EP_EV_PROBE = 1 };

/* SETH.cc_type (0: NSCC state follows); NETH.cc_type is 2 in the only published example. */
enum { WEFT_CC_TYPE_NSCC = 0, WEFT_CC_TYPE_NACK = 2 };

/*
 * METH, TSETH, RETH, ImmDt and the payload.  What the fields mean in the extended profile:
 *
 *              va                 rkey        msg_bytes         rqmsn         payload
 *   SEND_*     offset in message  0           of the message    which receive  bytes
 *   READ_REQ.  remote address     remote key  wanted            read number    none
 *   atomics    remote address     remote key  16                read number    two operands, LE
 *   REPLY_*    offset in message  0           of the message    read number    bytes
 *   REPLY_REF. 0                  AETH NAK    0                 read number    none
 *   DATAGRAM*  multicast group    Q_Key       of the message    which receive  bytes
 *   XRC_WRITE* as a write's
 */
struct weft_pkt_write {
	const void *data;   /* len_bytes of payload; the simulator may leave it NULL */
	uint64_t va;        /* where these bytes go: message base + n * MTU */
	uint32_t rkey;
	uint32_t msg_bytes; /* of the whole message, the same in each of its packets */
	uint32_t imm;
	uint16_t msn, rqmsn;
	uint16_t ts;        /* send time in WEFT_TS_UNIT_NS */
	uint16_t len_bytes; /* payload of this packet, padding not counted */
	uint32_t srqn;      /* WEFT_BTH_XRC: 24 bits, the peer's shared receive queue */
};

struct weft_pkt_sack {    /* SETH and CC_STATE */
	uint64_t bitmap;      /* bit i: PSN cack + sack_offset + i has arrived */
	uint32_t ev;          /* of the packet that triggered this SACK */
	uint32_t cack_psn;    /* this one and all before it have arrived */
	uint32_t rcvd_units;  /* 24 bits, WEFT_RCVD_UNIT_BYTES each */
	int16_t psn_offset;   /* triggering PSN - cack_psn; not valid when is_probe */
	int16_t sack_offset;
	uint16_t probe_id;    /* valid when is_probe */
	uint16_t ts;          /* echo, already corrected by service time */
	uint16_t ooo_pkts;    /* 15 bits */
	uint8_t m;            /* enum weft_sack_m */
	uint8_t mpr_units;    /* 0: window as negotiated */
	uint8_t penalty;      /* 0..127 of 128: shrink the window by this share */
	uint8_t cc_type_flags;
	bool is_probe, restore_cwnd;
};

struct weft_pkt_nack { /* NETH */
	uint32_t ev, psn;
	uint16_t ts;
	uint8_t reason, cc_type_flags;
	uint8_t vendor_info; /* WEFT_NACK_RNR: rnr_timer, 5 bits, IBTA's code; else 0 */
};

struct weft_pkt_ack { /* AETH */
	uint32_t msn;     /* 24 bits: messages completed, cumulative */
	uint8_t syndrome;
};

struct weft_pkt_probe { /* PETH */
	uint16_t probe_id, ts;
};

struct weft_pkt_ep { /* ERTH and EETH; the request id travels in PSN[15:0] */
	uint32_t port_mask; /* bit (port - 1) [P 8.25] = port usable, ports counted from 1 */
	uint16_t ts;
	uint8_t op;         /* enum weft_ep_op */
};

/* A packet, decoded; which body it has follows from op. */
struct weft_pkt {
	/* envelope */
	uint32_t peer;      /* whom to / from: the carrier's number for an address */
	uint32_t ev;        /* entropy value: the path this packet takes or took */
	uint8_t port;       /* local port (plane) it leaves by or came in by */
	uint8_t mark;       /* enum weft_mark bits */
	uint8_t tclass;     /* enum weft_class */
	/* BTH */
	uint8_t op;         /* enum weft_op */
	uint8_t flags;      /* enum weft_bth_flag bits */
	uint8_t reserved;
	uint16_t sqpn_low;  /* low 16 bits of the sender's QPN: spdcid of control packets */
	uint32_t dqpn, psn; /* 24 bits each */
	union {
		struct weft_pkt_write w;
		struct weft_pkt_sack sack;
		struct weft_pkt_nack nack;
		struct weft_pkt_ack ack;
		struct weft_pkt_probe probe;
		struct weft_pkt_ep ep;
	};
};

#ifdef __cplusplus
static_assert(sizeof(struct weft_pkt) == 64, "one packet, one cache line");
#else
_Static_assert(sizeof(struct weft_pkt) == 64, "one packet, one cache line");
#endif

/* The PSN that is n after this one; n may be the two's complement of a step back. */
static inline uint32_t weft_psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & WEFT_PSN_MASK;
}

/* a - b in 24-bit serial arithmetic: -2^23 .. 2^23 - 1, negative when a is older. */
static inline int32_t weft_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

/* A packet of a write, MRC's own. */
static inline bool weft_op_is_write(uint8_t op)
{
	return op >= WEFT_OP_WRITE_FIRST && op <= WEFT_OP_WRITE_ONLY_IMM;
}

/* Of the extended profile.  The codes in between are nobody's. */
static inline bool weft_op_is_extended(uint8_t op)
{
	return op >= WEFT_OP_SEND_FIRST && op <= WEFT_OP_DATAGRAM_IMM &&
	       0x31dffffu >> (op - WEFT_OP_SEND_FIRST) & 1;
}

/* One packet, in the order of a connection, that serves two queue pairs of datagrams (UD). */
static inline bool weft_op_is_datagram(uint8_t op)
{
	return op == WEFT_OP_DATAGRAM || op == WEFT_OP_DATAGRAM_IMM;
}

/* A packet of a write to an XRC queue pair. */
static inline bool weft_op_is_xrc_write(uint8_t op)
{
	return op >= WEFT_OP_XRC_WRITE_FIRST && op <= WEFT_OP_XRC_WRITE_ONLY_IMM;
}

/* Carries payload or takes a PSN of its own: has the body `w`. */
static inline bool weft_op_is_data(uint8_t op)
{
	return weft_op_is_write(op) || weft_op_is_extended(op);
}

/* An immediate stands behind its headers. */
static inline bool weft_op_has_imm(uint8_t op)
{
	return op == WEFT_OP_WRITE_LAST_IMM || op == WEFT_OP_WRITE_ONLY_IMM ||
	       op == WEFT_OP_SEND_LAST_IMM || op == WEFT_OP_SEND_ONLY_IMM ||
	       op == WEFT_OP_XRC_WRITE_LAST_IMM || op == WEFT_OP_XRC_WRITE_ONLY_IMM ||
	       op == WEFT_OP_DATAGRAM_IMM;
}

/* The last packet of its message, or the only one. */
static inline bool weft_op_ends_message(uint8_t op)
{
	return (op >= WEFT_OP_WRITE_LAST && op <= WEFT_OP_WRITE_ONLY_IMM) ||
	       (op >= WEFT_OP_SEND_LAST && op <= WEFT_OP_DATAGRAM_IMM &&
		op != WEFT_OP_XRC_WRITE_FIRST && op != WEFT_OP_XRC_WRITE_MIDDLE &&
		op != WEFT_OP_REPLY_FIRST && op != WEFT_OP_REPLY_MIDDLE);
}

/*
 * Nominal size in bytes that congestion control counts for a data packet [P 5.2]: UDP length + 40,
 * the same at both ends (8.3.1).  The UDP length here is 8 + BTH 12 + METH 4 + TSETH 4 +
 * RETH 16 + payload + ICRC 4; immediates and padding are left out so that both ends agree
 * without looking at them.
 */
static inline uint32_t weft_nominal_bytes(uint32_t payload_bytes)
{
	return payload_bytes + 48 + WEFT_NOMINAL_HEADER_BYTES;
}

/* Words for people; "?" for a code this version does not know.  Static strings. */
const char *weft_op_name(uint8_t op);
const char *weft_nack_reason_name(uint8_t reason);
const char *weft_syndrome_name(uint8_t syndrome);

/* Why a packet was dropped: see drops.def.  Counted per endpoint, never an error code. */
enum weft_drop {
#define WEFT_DROP(NAME, text) WEFT_DROP_##NAME,
#include <weft/drops.def>
#undef WEFT_DROP
	WEFT_DROP_COUNT
};
const char *weft_drop_name(enum weft_drop drop); /* key for counters: "bad_rkey" */
const char *weft_drop_text(enum weft_drop drop); /* a sentence */

/* What happened: see events.def.  One fixed 32-byte record each, in a ring that is always on. */
enum weft_event_kind {
#define WEFT_EVENT(NAME, a, b, c, text) WEFT_EV_##NAME,
#include <weft/events.def>
#undef WEFT_EVENT
	WEFT_EV_COUNT
};

/* One record of the ring. */
struct weft_event {
	uint64_t at_ns;
	uint32_t qpn;    /* 0: not about one QP */
	uint16_t kind;   /* enum weft_event_kind */
	uint16_t set;    /* path set, where it is about one */
	uint64_t a;      /* meaning per kind, see events.def */
	uint32_t b, c;
};
/* A word and a sentence for people; "?" for a kind this version does not know.  Static strings. */
const char *weft_event_name(uint16_t kind);
const char *weft_event_text(uint16_t kind);
/* Names of the fields a, b, c of a kind; "" where unused.  which: 0..2. */
const char *weft_event_field(uint16_t kind, unsigned which);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_PROTO_H */
