/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_SWITCH_H
#define WEFT_SWITCH_H
/*
 * switch - one switch, with static SRv6 tables, that trims instead of dropping.
 *
 *              weft_switch_input*(now)                     weft_switch_take(port, now)
 *   frame --------> look up --------> [data    queue] --\ WDRR   ----------> frame, when it
 *                   shift the         [control queue] --/ line rate          starts and ends
 *                   carrier           mark, trim, drop
 *
 * A frame comes in one of two forms.  As bytes from its IPv6 header on: they are rewritten where
 * they lie.  Or as a struct alone, for simulators: up to four uSIDs, a size, a class, marks.  What
 * is decided is decided on the struct in both cases, by the same code.
 *
 * Time     Picoseconds since an epoch of the caller's choice (a byte at 100 Gb/s lasts 80 of them),
 *          never backwards.  A departure is computed when somebody asks for it; a port has one
 *          next event, weft_switch_port_next(), or none.  Depths are exact if all that
 *          starts before `now` has been taken before something is input at `now`.
 * Memory   One block lent at init.  Frames wait in a pool that the switches of a thread may share.
 * Threads  One at a time per switch and pool.
 * Errors   False, and nothing has changed, when the caller asks for the impossible.  What networks
 *          do wrong is dropped, and counted by reason (switch_drops.def).
 */
#include <weft/proto.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_SWITCH_PORTS_MAX 4096u
#define WEFT_SWITCH_FAULTS_MAX 16u
#define WEFT_SWITCH_ANY UINT32_MAX

/* Why a frame was dropped: see switch_drops.def.  NONE is 0: it was not. */
enum weft_switch_drop {
#define WEFT_SWITCH_DROP(NAME, key, text) WEFT_SWITCH_DROP_##NAME,
#include <weft/switch_drops.def>
#undef WEFT_SWITCH_DROP
	WEFT_SWITCH_DROP_COUNT
};
const char *weft_switch_drop_name(enum weft_switch_drop drop); /* key for counters */
const char *weft_switch_drop_text(enum weft_switch_drop drop); /* a sentence */

/* ---- frames ---- */

#define WEFT_FRAME_ETHER_BYTES                                                                     \
	14                      /* header in front of the IP packet: counted by queues and trims */
#define WEFT_FRAME_GAP_BYTES 24 /* FCS, preamble, gap: take time on the line, and nothing else */

/* Bits of weft_frame.flags. */
enum weft_frame_flag {
	WEFT_FRAME_ECT = 1,       /* ECN-capable: may be marked */
	WEFT_FRAME_TRIMMABLE = 2, /* may be cut */
	WEFT_FRAME_CUT_HERE = 4,  /* the switch that holds it has cut it */
};

/* What a switch sees of a packet. */
struct weft_frame {
	uint64_t handle; /* the caller's: which buffer, which packet */
	uint64_t route;  /* up to four uSIDs to go, the next one in the top 16 bits */
	uint32_t flow;   /* entropy that HASH and FIELD choose by: an EV */
	uint16_t bytes;  /* Ethernet header and IP packet */
	uint16_t in_port;
	uint8_t tclass; /* enum weft_class */
	uint8_t mark;   /* enum weft_mark bits, those set here included */
	uint8_t hop_limit;
	uint8_t flags; /* enum weft_frame_flag bits */
	uint32_t next; /* the switch's, while it holds the frame */
};

/*
 * What switches may do with a packet of this class, for embeddings whose frames have no bytes: mark
 * all but control, cut what carries data.  NO_TRIM is marked and never cut: a probe without its end
 * is no packet at all.  (In bytes the same is said by DSCP and ECN.)
 */
static inline uint8_t weft_frame_flags(enum weft_class tclass)
{
	switch (tclass) {
	case WEFT_CLASS_DATA:
	case WEFT_CLASS_RETX:
		return WEFT_FRAME_ECT | WEFT_FRAME_TRIMMABLE;
	case WEFT_CLASS_NO_TRIM:
		return WEFT_FRAME_ECT;
	default:
		return 0;
	}
}

/*
 * Where frames wait: one place for each that may do so at the same time.  Places are touched only
 * when that many frames really wait, so a pool that is far too large costs addresses, not memory.
 */
struct weft_frame_pool {
	struct weft_frame *frames;
	uint32_t n, used, used_max;
	uint32_t free;  /* first of the places given back */
	uint32_t fresh; /* this one and all behind it have never been used */
};
/* Room for n frames, which are lent to the pool for its life. */
void weft_frame_pool_init(struct weft_frame_pool *pool, struct weft_frame frames[], uint32_t n);

/* ---- how a port treats frames ---- */

/* The queues of a port. */
enum weft_queue { WEFT_QUEUE_DATA, WEFT_QUEUE_CONTROL, WEFT_QUEUES };

/* All bytes as queues count them; depth is what waits, without the frame on the line. */
struct weft_port_profile {
	uint32_t ecn_min_bytes, ecn_max_bytes; /* mark none up to min, all from max; 0, 0: never */
	uint32_t trim_bytes;                   /* trim what would exceed this; 0: never */
	uint32_t drop_bytes[WEFT_QUEUES];      /* drop what would exceed this */
	uint32_t quantum_bytes[WEFT_QUEUES];   /* share of the line, 512 .. 65536 each */
	uint32_t xoff_bytes, xon_bytes;        /* PFC, of frames that came in by this port; 0: */
	uint32_t headroom_bytes;               /* none.  What may still come after a pause */
	uint16_t trim_to_bytes;                /* size of a trimmed frame */
	uint8_t trim_mark;                     /* WEFT_MARK_TRIMMED or _TRIMMED_LASTHOP */
};

/* What a switch does with data that does not fit.  UNSAID: in configurations; of no port. */
enum weft_discipline {
	WEFT_DISCIPLINE_UNSAID,
	WEFT_DISCIPLINE_TRIM,
	WEFT_DISCIPLINE_DROP_TAIL,
	WEFT_DISCIPLINE_LOSSLESS
};

/*
 * The thresholds that Ultra Ethernet advises, from one plane's bandwidth x delay in bytes
 * (docs/decisions/050-switch-queues.md).  is_last_hop: of a port to a host; to have none marked
 * there, as OpenAI's fabrics do, set both ecn fields to 0 afterwards.  LOSSLESS: the link to the
 * neighbour is link_bdp_bytes long there and back; ignored otherwise.
 */
void weft_port_profile_fill(struct weft_port_profile *profile, enum weft_discipline discipline,
	bool is_last_hop, uint32_t plane_bdp_bytes, uint32_t link_bdp_bytes);
/* Why no port can be like that: the field and what it may be; NULL: it can.  A static string. */
const char *weft_port_profile_fault(const struct weft_port_profile *profile);

/* ---- a switch ---- */

/* Opaque; lies in the block that its owner has lent. */
struct weft_switch;

/* Fixed for life. */
struct weft_switch_config {
	uint32_t ports; /* 1 .. WEFT_SWITCH_PORTS_MAX; each starts down: see weft_switch_port_set */
	uint32_t sids;  /* room in the table, 1 .. 49152 */
	uint32_t prefixes;     /* room for addresses that are not uSIDs, 0 .. 65536 */
	uint32_t block;        /* the 32 bits that uSID carriers begin with */
	uint32_t mtu_bytes;    /* longest IP packet of those that have bytes, 1280 .. 65521 */
	uint64_t seed;         /* of marking, faults and hashing */
	struct weft_dscp dscp; /* frames as bytes: what code points mean; all 0: none is cut */
	bool is_lean;          /* one set of counters for all ports and no SID's: a simulator's */
	/* Lent for the life of the switch. */
	const struct weft_port_profile *profiles;
	uint32_t n_profiles; /* 1 .. 255 */
	struct weft_frame_pool *pool;
	/*
	 * For a caller that takes late.  Called before a frame is judged by the depth of a port
	 * where others wait: take from it what starts by now_ps.  NULL: taken in time already.
	 */
	void (*settle)(void *user, uint32_t port, uint64_t now_ps);
	void *user;
};

/* Why there is no such switch: the field and what it may be; NULL: there is.  A static string. */
const char *weft_switch_config_fault(const struct weft_switch_config *config);
size_t weft_switch_size(const struct weft_switch_config *config); /* 0: impossible */
/* block: weft_switch_size() bytes, 64-byte aligned. */
bool weft_switch_init(
	struct weft_switch **sw, void *block, const struct weft_switch_config *config);

/* The port has a cable and comes up.  rate_bps: 1 Mb/s and up. */
bool weft_switch_port_set(
	struct weft_switch *sw, uint32_t port, uint64_t rate_bps, uint32_t profile_index);

/* What to do with frames to a uSID or prefix. */
enum weft_hop_kind {
	WEFT_HOP_NONE,
	WEFT_HOP_UN,    /* own node: shift the carrier, look up again (RFC 9800 NEXT-C-SID End) */
	WEFT_HOP_UA,    /* own link: shift the carrier, leave by port (End.X) */
	WEFT_HOP_PORT,  /* leave by port */
	WEFT_HOP_HASH,  /* leave by one of ports in a row from port, chosen by a hash of the flow;
			 * those that are down do not count */
	WEFT_HOP_FIELD, /* the same, chosen by bits `shift` and up of the flow: structured EVs; only
			 * those never set do not count */
};
/* One entry's answer. */
struct weft_hop {
	uint8_t kind, shift;
	uint16_t port, ports; /* ports: at least 1 in HASH and FIELD */
};

/* Whether a switch of so many ports can do this. */
bool weft_hop_is_possible(const struct weft_hop *hop, uint32_t ports);

/* False: full, uSID 0, a second entry for the same, or a port out of range. */
bool weft_switch_sid_add(struct weft_switch *sw, uint16_t sid, const struct weft_hop *hop);
/* bits: 48, 64 or 128; the longest match wins.  UN and UA are impossible. */
bool weft_switch_prefix_add(struct weft_switch *sw, const uint8_t prefix[16], uint32_t bits,
	const struct weft_hop *hop);

/*
 * Takes one frame in.  NONE: it waits at *port until weft_switch_take() hands it out, marked or
 * trimmed as its fields then say.  Otherwise it was dropped, remains the caller's, and *port is not
 * set.  _input uses all fields but next; _input_bytes reads handle and in_port from frame and
 * fills in the rest, and rewrites the bytes (the length to send is frame.bytes less
 * WEFT_FRAME_ETHER_BYTES on departure).
 */
enum weft_switch_drop weft_switch_input(
	struct weft_switch *sw, struct weft_frame *frame, uint64_t now_ps, uint32_t *port);
/*
 * weft_switch_input() in two steps, for callers that take what starts at the port before `now` in
 * between, as exact depths want it.  _route: looks up and shifts; NONE: *port is set.  _queue:
 * arrived is frame.route as it was before.
 */
enum weft_switch_drop weft_switch_route(
	struct weft_switch *sw, struct weft_frame *frame, uint32_t *port);
enum weft_switch_drop weft_switch_queue(struct weft_switch *sw, struct weft_frame *frame,
	uint64_t arrived, uint64_t now_ps, uint32_t port);
enum weft_switch_drop weft_switch_input_bytes(struct weft_switch *sw, struct weft_frame *frame,
	uint8_t *ip, size_t ip_bytes, uint64_t now_ps, uint32_t *port);

/* A frame that leaves its port, or comes back. */
struct weft_departure {
	struct weft_frame frame;
	uint64_t starts_ps, ends_ps; /* of its time on the line, gap included */
	enum weft_switch_drop drop;  /* not NONE: never sent; handed back */
};
/* When weft_switch_take() has something, may be past; WEFT_NEVER: nothing waits, or may leave. */
uint64_t weft_switch_port_next(const struct weft_switch *sw, uint32_t port);
/* The next frame of a port that starts at now or before; false: none. */
bool weft_switch_take(
	struct weft_switch *sw, uint32_t port, uint64_t now_ps, struct weft_departure *departure);
/* The first port from `port` on where something waits; ports: none. */
uint32_t weft_switch_busy_port(const struct weft_switch *sw, uint32_t port);

/*
 * Ask the processor for what the next calls will touch; for callers with more switches than a cache
 * holds.  In this order, some other work between: the switch, what is looked up for a frame, the
 * port that it leaves by, those that wait there.
 */
void weft_switch_fetch(const struct weft_switch *sw);
void weft_switch_fetch_route(const struct weft_switch *sw, const struct weft_frame *frame);
void weft_switch_fetch_port(const struct weft_switch *sw, uint32_t port);
void weft_switch_fetch_queues(const struct weft_switch *sw, uint32_t port);

/*
 * PFC.  _pause_poll: tells the neighbour on *port to stop sending data, or to go on; false: nobody
 * is to be told.  Ask after each input and take.  _pause: the neighbour on port told us.
 */
bool weft_switch_pause_poll(struct weft_switch *sw, uint32_t *port, bool *pause);
void weft_switch_pause(struct weft_switch *sw, uint32_t port, bool pause, uint64_t now_ps);

/* ---- what goes wrong ---- */

/* Down: what waits comes back as PORT_DOWN.  Up needs weft_switch_port_set() before, once. */
void weft_switch_port_mark(struct weft_switch *sw, uint32_t port, bool is_up, uint64_t now_ps);
/* From the next frame on.  rate_bps: 1 Mb/s and up. */
void weft_switch_port_rate(struct weft_switch *sw, uint32_t port, uint64_t rate_bps);
/* Frozen: links stay up, what waits stays, what comes is dropped. */
void weft_switch_freeze(struct weft_switch *sw, bool is_frozen, uint64_t now_ps);
/* What waits comes back as REBOOT; tables, faults and pauses are gone; counters and ports stay. */
void weft_switch_reboot(struct weft_switch *sw, uint64_t now_ps);

/* Drops a share of what matches, before it is queued. */
struct weft_switch_fault {
	uint32_t in_port, out_port; /* or WEFT_SWITCH_ANY */
	uint64_t route, route_mask; /* uSIDs on arrival: a path; mask 0: any */
	uint32_t loss_ppm;          /* 0 .. 1000000 */
};
/* False: there are WEFT_SWITCH_FAULTS_MAX of them, or a field is out of its range. */
bool weft_switch_fault_add(struct weft_switch *sw, const struct weft_switch_fault *fault);
void weft_switch_fault_clear(struct weft_switch *sw); /* of all faults */
/* A black hole: what would follow this entry is dropped (FAULT).  False: no such entry. */
bool weft_switch_sid_hole(struct weft_switch *sw, uint16_t sid, bool is_hole);

/* ---- eyes: all counters only grow ---- */

/* Of one queue; the fields are in switch_counters.def. */
struct weft_queue_counters {
#define WEFT_PORT_COUNTER(field, name, text)
#define WEFT_QUEUE_COUNTER(field, name, text) uint64_t field;
#include <weft/switch_counters.def>
#undef WEFT_PORT_COUNTER
#undef WEFT_QUEUE_COUNTER
};
/* Of one port; the fields are in switch_counters.def. */
struct weft_port_counters {
#define WEFT_PORT_COUNTER(field, name, text) uint64_t field;
#define WEFT_QUEUE_COUNTER(field, name, text)
#include <weft/switch_counters.def>
#undef WEFT_PORT_COUNTER
#undef WEFT_QUEUE_COUNTER
	struct weft_queue_counters queue[WEFT_QUEUES];
};
/* A lean switch has the same for every port. */
const struct weft_port_counters *weft_switch_port_counters(
	const struct weft_switch *sw, uint32_t port);
/* SAI's name and the value of counter i of a port or of a queue; NULL past the last. */
const char *weft_port_counter_name(unsigned i);
uint64_t weft_port_counter_value(const struct weft_port_counters *counters, unsigned i);
const char *weft_queue_counter_name(unsigned i);
uint64_t weft_queue_counter_value(const struct weft_queue_counters *counters, unsigned i);

/* Frames dropped for this reason, all ports together. */
uint64_t weft_switch_drops(const struct weft_switch *sw, enum weft_switch_drop drop);
uint64_t weft_switch_sid_pkts(const struct weft_switch *sw, uint16_t sid); /* 0 if lean */
/* What waits, without the frame on the line; exact as said at the top. */
uint32_t weft_switch_depth_bytes(
	const struct weft_switch *sw, uint32_t port, enum weft_queue queue);
/* Recounts what is kept twice; aborts where it differs. */
void weft_switch_check(const struct weft_switch *sw);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_SWITCH_H */
