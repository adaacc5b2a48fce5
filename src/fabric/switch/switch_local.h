/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LOCAL_H
#define LOCAL_H
#include <weft/base.h>
#include <weft/switch.h>

#pragma GCC visibility push(hidden)

#define FRAME_NONE UINT32_MAX
#define PROFILE_NONE 255u /* this port was never set */

enum port_flag {
	PORT_UP = 1,
	PORT_PAUSED = 2,   /* the neighbour wants no data */
	PORT_STOPPING = 4, /* we told the neighbour to send none */
	PORT_TELL = 8,     /* ... or will, or will tell it to go on */
	PORT_FLUSH = 16,   /* what waits is to be handed back */
};

struct port {                                          /* all that a frame touches, in one line */
	uint64_t start_ps;                             /* when the next frame may start */
	uint64_t byte_ps_q16;                          /* 2^-16 ps that a byte lasts */
	uint32_t head[WEFT_QUEUES], tail[WEFT_QUEUES]; /* in the pool */
	uint32_t bytes[WEFT_QUEUES];
	uint32_t deficit[WEFT_QUEUES]; /* WDRR: what the queue may still send in its turn */
	uint32_t ingress_bytes;        /* data waiting in this switch that came in here */
	uint8_t flags;                 /* enum port_flag bits */
	uint8_t profile;
	uint8_t turn;       /* enum weft_queue */
	uint8_t flush_drop; /* enum weft_switch_drop */
	uint64_t reserved;
};
_Static_assert(sizeof(struct port) == 64, "millions of these in a simulation");
_Static_assert(sizeof(struct weft_frame) == 32, "two to a line");

#define HOP_HOLE 0x80u /* or-ed to a kind */

struct sid_entry {
	struct weft_hop hop;
	uint16_t sid; /* 0: free */
};

struct prefix_entry {
	uint8_t prefix[16];
	struct weft_hop hop;
	uint8_t bits; /* 0: free */
};

struct weft_switch {
	struct weft_switch_config config;
	struct port *ports;
	struct sid_entry *sids; /* open addressing; sid_mask + 1 places */
	uint64_t *sid_pkts;     /* NULL: lean */
	struct prefix_entry *prefixes;
	struct weft_port_counters *counters;
	uint32_t sid_mask, n_sids, prefix_mask, n_prefixes,
		prefix_lengths; /* bit 0, 1, 2: 48, 64, 128 */
	uint32_t n_faults, n_tell;
	bool is_frozen;
	struct weft_rng rng;
	struct weft_switch_fault faults[WEFT_SWITCH_FAULTS_MAX];
	uint64_t drops[WEFT_SWITCH_DROP_COUNT];
};

static inline struct weft_port_counters *counters_of(struct weft_switch *sw, uint32_t port)
{
	return &sw->counters[sw->config.is_lean ? 0 : port];
}

/* ---- switch_table.c ---- */

/* Where the search for a uSID begins, and mostly ends. */
static inline uint32_t table_first_place(const struct weft_switch *sw, uint16_t sid)
{
	return (sid * UINT32_C(0x9e3779b1) >> 12) & sw->sid_mask;
}
void table_clear(struct weft_switch *sw);
/* NULL: not there.  _find counts the packet. */
const struct weft_hop *table_find_sid(struct weft_switch *sw, uint16_t sid);
const struct weft_hop *table_find_prefix(const struct weft_switch *sw, const uint8_t addr[16]);
uint32_t table_sid_places(uint32_t sids);
uint32_t table_prefix_places(uint32_t prefixes);

/* ---- forward.c ---- */

struct carrier { /* six uSIDs, the next one on top of high */
	uint64_t high;
	uint32_t low;
};

/* Follows the carrier to a port, using up uSIDs and hop limit.  SID_EXHAUSTED: our own uSID was the
 * last one; if it was a link's (uA), *port is that, otherwise WEFT_SWITCH_ANY.
 */
enum weft_switch_drop forward_carrier(struct weft_switch *sw, struct carrier *carrier,
	struct weft_frame *frame, const uint8_t *ip, uint32_t *port);
/* The same for an address that is no carrier. */
enum weft_switch_drop forward_prefix(
	struct weft_switch *sw, struct weft_frame *frame, const uint8_t *ip, uint32_t *port);

/* ---- bytes.c ---- */

/* Reads what the struct form would have; sets all fields but handle and in_port. */
enum weft_switch_drop bytes_read(
	const struct weft_switch *sw, const uint8_t *ip, size_t ip_bytes, struct weft_frame *frame);
bool bytes_in_block(const struct weft_switch *sw, const uint8_t *ip);
void bytes_get_carrier(const uint8_t *ip, struct carrier *carrier);
void bytes_put_carrier(uint8_t *ip, const struct carrier *carrier);
/* Takes up the next segment of the SRH behind the IPv6 header; SID_EXHAUSTED: there is none. */
enum weft_switch_drop bytes_next_segment(uint8_t *ip, size_t ip_bytes);
/* Makes the bytes say what frame says: hop limit, ECN, DSCP and length. */
void bytes_write(const struct weft_switch *sw, uint8_t *ip, const struct weft_frame *frame);

/* ---- queue.c ---- */

/* Marks, trims, drops or queues. */
enum weft_switch_drop queue_admit(
	struct weft_switch *sw, uint32_t port, struct weft_frame *frame, uint64_t now_ps);
/* A port that could not send can now; called before what makes it so. */
void queue_wake(struct port *port, uint64_t now_ps);
bool queue_is_ready(const struct weft_switch *sw, const struct port *port);

/* ---- pfc.c ---- */

/* Whether a data frame that came in by in_port still fits; counts it in. */
bool pfc_enter(struct weft_switch *sw, uint32_t in_port, uint32_t bytes);
void pfc_leave(struct weft_switch *sw, uint32_t in_port, uint32_t bytes);

/* ---- switch_fault.c ---- */

bool fault_hits(
	struct weft_switch *sw, const struct weft_frame *frame, uint64_t route, uint32_t out_port);

#pragma GCC visibility pop
#endif
