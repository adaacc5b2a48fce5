/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LOCAL_H
#define LOCAL_H
#include <weft/base.h>
#include <weft/network.h>

#pragma GCC visibility push(hidden)

#define NONE UINT32_MAX

/* ---- network_agenda.c ---- */

/*
 * What happens next; ties in the order in which they were added.  Whoever may have an entry has one
 * place, known by a number.
 */
enum where { WHERE_NOWHERE, WHERE_NEAR, WHERE_FAR };

struct entry {
	uint64_t at_ps;
	uint32_t next;  /* near: in its slice.  Far: how many were before; wraps */
	uint32_t where; /* enum where */
};

struct slice {
	uint32_t head, tail; /* entries, in time and order */
};

struct agenda {
	struct entry *entries;
	uint64_t now_ps; /* no entry is earlier; moved on by the owner */
	uint64_t *busy;  /* slices, as bits */
	uint64_t *busy_words;
	struct slice *slices;
	uint32_t *far; /* a heap */
	uint32_t n, n_far, far_orders, room;
	uint32_t slice_mask, slice_bits; /* a slice lasts 2^slice_bits ps */
};

/* span_ps: how far ahead entries are, as a rule. */
bool agenda_open(struct agenda *agenda, uint32_t room, uint64_t span_ps);
void agenda_close(struct agenda *agenda);
void agenda_add(struct agenda *agenda, uint32_t what, uint64_t at_ps);
void agenda_remove(struct agenda *agenda, uint32_t what);
uint32_t agenda_first(const struct agenda *agenda); /* NONE: empty */
void agenda_check(const struct agenda *agenda);

/* ---- lines ---- */

/* A frame on a cable, from when it starts. */
struct flight {
	struct weft_frame frame;
	uint64_t at_ps; /* when all of it is there */
	uint32_t next;
};

enum line_flag {
	LINE_UP = 1,
	LINE_MARKED_DOWN = 2,
	LINE_ARRIVES = 4, /* the agenda knows when the first of its flights arrives */
	LINE_DUE = 8,     /* the agenda knows when its port may send again */
	LINE_PAUSED = 16, /* of a host: its switch has asked for no data */
	LINE_ASKED = 32,  /* the near end has asked the far end for no data */
};

/* One way of a cable.  Way 0 of link l is line 2 l, from the hosts up; way 1 is line 2 l + 1. */
struct line {
	uint64_t delay_ps, rate_bps;
	uint32_t head, tail; /* flights, in the order in which they arrive */
	uint32_t from, from_port, to, to_port;
	uint32_t loss_ppm, spoil_ppm;
	uint8_t flags; /* enum line_flag bits */
} WEFT_CACHE_ALIGNED;

/* The end of a host's line. */
struct nic {
	uint64_t free_ps, byte_ps_q16;
	uint32_t held_head, held_tail; /* flights that wait for the end of a pause */
};

struct node {
	struct weft_network *network;
	struct weft_switch *sw;
	uint32_t *lines; /* by port: what leaves by it; NONE: no cable */
	uint32_t ports, plane;
	uint32_t n_paths; /* of its faults that are paths' */
	bool is_off;
};

struct pause {
	uint32_t line, next;
	bool is_pause;
};

struct weft_network {
	struct weft_network_config config;
	struct weft_topo_shape shape;
	struct agenda agenda; /* and the time */
	struct line *lines;
	struct nic *nics;   /* by host * planes + plane, the number of the link */
	struct node *nodes; /* switches: by node - hosts */
	uint32_t *port_lines;
	struct flight *flights;
	struct weft_network_out *outs; /* a ring of config.frames */
	struct pause *pauses;
	struct weft_switch_fault (*paths)[WEFT_SWITCH_FAULTS_MAX]; /* by node - hosts */
	uint32_t flights_free, pauses_free, outs_first, n_outs, n_inside;
	bool is_lossless;
	bool is_short_of_pauses; /* a switch has something to tell that found no place */
	struct weft_rng rng;
	struct weft_network_stats stats;
	struct weft_frame_pool pool;
	struct weft_frame *pool_frames;
	struct weft_port_profile profiles[2]; /* between switches, to hosts */
};

enum { PROFILE_CORE, PROFILE_HOST, PROFILES };

static inline bool is_host(const struct weft_network *network, uint32_t node)
{
	return node < network->shape.hosts;
}

static inline struct node *switch_node(const struct weft_network *network, uint32_t node)
{
	WEFT_ASSERT(node >= network->shape.hosts && node < network->shape.nodes);
	return &network->nodes[node - network->shape.hosts];
}

/* 2^-16 ps that a byte lasts: as the switches count. */
static inline uint64_t byte_ps_q16(uint64_t rate_bps)
{
	return (UINT64_C(8000000000000) << 16) / rate_bps;
}

/* ---- network_profile.c ---- */

/* False: a threshold beyond what a switch counts. */
bool profiles_fill(struct weft_network *network);

/* ---- network_table.c ---- */

/* Room that a switch's table needs. */
void table_count(const struct weft_topo *topo, uint32_t node, uint32_t *sids, uint32_t *prefixes);
/* From the fabric file alone. */
void table_fill(const struct weft_topo *topo, uint32_t node, struct weft_switch *sw);

/* ---- network_run.c ---- */

/* Numbers in the agenda: two for each line, then pauses. */
enum what { WHAT_ARRIVAL, WHAT_DUE };

static inline uint32_t what_of(
	const struct weft_network *network, const struct line *line, enum what kind)
{
	return (uint32_t)(line - network->lines) << 1 | (uint32_t)kind;
}

static inline uint32_t what_pauses(const struct weft_network *network) /* the first of them */
{
	return 4 * network->shape.links;
}

static inline uint64_t now_of(const struct weft_network *network)
{
	return network->agenda.now_ps;
}

/* Hands a frame back, by the one that had it last. */
void give_back(struct weft_network *network, const struct weft_frame *frame, uint32_t node,
	uint32_t plane, enum weft_switch_drop drop);
/* What has started by now is on the line. */
void line_settle(struct weft_network *network, struct line *line);
void node_settle(struct weft_network *network, uint32_t node);
void port_settle(void *user, uint32_t port, uint64_t now_ps); /* user: a node */
/* The same; and sees to it that what waits is not forgotten. */
void line_due(struct weft_network *network, struct line *line);
/* Takes a flight; there is one for each frame. */
uint32_t flight_take(struct weft_network *network);
void flight_free(struct weft_network *network, uint32_t index);
/* Puts a flight, whose at_ps is set, on a line. */
void flight_start(struct weft_network *network, struct line *line, uint32_t index);

/* ---- network_nic.c ---- */

/* A host stops sending, or goes on. */
void nic_pause(struct weft_network *network, struct line *line, bool is_pause);
/* Sends the flight when the line is free, or holds it while that is paused. */
void nic_send(struct weft_network *network, struct line *line, uint32_t index, uint64_t at_ps);

/* ---- pause.c ---- */

/* The switch tells its neighbours what it has decided. */
void pauses_send(struct weft_network *network, uint32_t node);
void pause_arrive(struct weft_network *network, uint32_t index);
/* The far end has forgotten that it should stop: the cable was out. */
void pause_again(struct weft_network *network, struct line *line);

#pragma GCC visibility pop
#endif
