/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_NETWORK_H
#define WEFT_NETWORK_H
/*
 * network - all switches of a fabric file with their cables, in one thread, without I/O.
 *
 *   weft_network_send() --line rate, cable--> [T0] ==> [T1] ==> [T0] --cable--> weft_network_take()
 *                         weft_network_run(now) moves everything that is due
 *
 * Exact: each frame leaves and arrives at its picosecond, however late weft_network_run() is
 * called, so a live caller that wakes every 50 us still gets the queues that the file describes.
 * Such a caller sends what its hosts have ready for as long as their lines would have been free
 * until now, and then runs up to now.
 *
 * Time     Picoseconds (switch.h); never backwards: an earlier now_ps counts as the latest seen.
 * Memory   Opening allocates.  Frames as bytes lie in slots that the caller lends: frame.handle is
 *          a slot's number, and its IP packet begins at memory + handle * slot_bytes + slot_offset.
 *          memory NULL: frames are structs alone, and handle is the caller's.
 *          Every frame sent comes back exactly once through weft_network_take(): arrived, or
 *          dropped.
 * Threads  One.
 * Errors   A fabric that no switch can be built for is told in one line.  Numbers of hosts, planes,
 *          nodes and links out of range are the caller's mistake and abort.
 */
#include <weft/switch.h>
#include <weft/topo.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_network;

/* Fixed for life. */
struct weft_network_config {
	const struct weft_topo *topo; /* outlives the network */
	uint8_t *memory;              /* slots of frames as bytes; NULL: structs */
	uint32_t slot_bytes, slot_offset;
	uint32_t frames;   /* that may be in the fabric at once, those not yet taken included */
	uint64_t rate_bps; /* of every link; 0: as the file says */
	uint64_t seed;     /* of marks, hashes and losses */
	bool is_lean;      /* switches count less: struct weft_switch_config */
};
/* 0, or -1 with one line in error. */
int weft_network_open(struct weft_network **network, const struct weft_network_config *config,
	char *error, size_t error_bytes);
void weft_network_close(struct weft_network *network); /* NULL is fine */

/* What all switches of a run do, where a run may overrule the fabric file. */
struct weft_network_manner {
	enum weft_discipline discipline; /* with data that does not fit */
	enum weft_topo_marks marks;      /* CORE: ports to hosts mark nothing */
	uint64_t rate_bps;               /* as in the configuration */
};
struct weft_network_manner weft_network_manner(const struct weft_topo *topo); /* as the file says */
/*
 * The thresholds of a switch's port, out of the fabric file, as far as they go with that manner;
 * is_last_hop: to a host.  False: the file asks for what no switch can do.
 */
bool weft_network_profile(const struct weft_topo *topo, const struct weft_network_manner *manner,
	bool is_last_hop, struct weft_port_profile *profile);

/*
 * When a host's line is free; may be past.  A live caller leaves frames in the host's ring until
 * about then.  WEFT_NEVER: the switch has asked the host to pause (lossless fabrics).
 */
uint64_t weft_network_line_free_ps(
	const struct weft_network *network, uint32_t host, uint32_t plane);
/*
 * The host begins to send at at_ps, or now (of the latest run), or when its line is free, whichever
 * is last.  Of frame, bytes is set from ip_bytes and in_port need not be; as bytes, handle is all
 * that is read.  False: as many frames are in the fabric as it was opened for.
 */
bool weft_network_send(struct weft_network *network, uint32_t host, uint32_t plane,
	const struct weft_frame *frame, uint32_t ip_bytes, uint64_t at_ps);
/* All that happens up to now. */
void weft_network_run(struct weft_network *network, uint64_t now_ps);
/* When weft_network_run() will have something to do; WEFT_NEVER: never. */
uint64_t weft_network_next_ps(const struct weft_network *network);

/* A frame that has left the network. */
struct weft_network_out {
	struct weft_frame frame; /* .bytes: less WEFT_FRAME_ETHER_BYTES the IP packet's length */
	uint64_t at_ps;
	enum weft_switch_drop drop; /* NONE: arrived.  Otherwise dropped, at or by node */
	uint32_t node;              /* the host where it arrived; the one that had it last */
	uint32_t plane;
};
/* Up to n frames, in the order in which they arrived or were dropped. */
size_t weft_network_take(struct weft_network *network, struct weft_network_out out[], size_t n);

/* ---- faults: by node and link of the fabric file; now_ps as in run, which they do first ---- */

/* Down: what is on the cable and waits for it is dropped (PORT_DOWN), and what comes later. */
void weft_network_link_mark(
	struct weft_network *network, uint32_t link, bool is_up, uint64_t now_ps);
/* Marked up, cabled, and both ends have power. */
bool weft_network_link_is_up(const struct weft_network *network, uint32_t link);
/* From the latest run's time on.  1 Mb/s and up; 0: as built.  Thresholds stay. */
void weft_network_link_rate(struct weft_network *network, uint32_t link, uint64_t rate_bps);
/* Share of what crosses a link that is lost (FAULT).  way: bit 0 from the hosts up, bit 1 down. */
void weft_network_link_loss(
	struct weft_network *network, uint32_t link, unsigned way, uint32_t loss_ppm);
/*
 * The same, of which a bit is wrong in the second half afterwards: the receiver's ICRC refuses it,
 * if he looks.  Frames as structs, and trimmed ones, are lost (FAULT).
 */
void weft_network_link_spoil(
	struct weft_network *network, uint32_t link, unsigned way, uint32_t spoil_ppm);
/*
 * The switch that would send over this link that way drops frames whose next uSID is that link's
 * (FAULT).  Not possible, and nothing happens, for the way up of a host's link: no switch sends.
 */
void weft_network_link_hole(
	struct weft_network *network, uint32_t link, unsigned way, bool is_hole);
/* Switches only: links stay up, what waits stays, what comes is dropped (FROZEN). */
void weft_network_freeze(
	struct weft_network *network, uint32_t node, bool is_frozen, uint64_t now_ps);
/*
 * Switches only.  Off: queues (REBOOT), tables and what was told about paths and holes are gone,
 * its links are down.  On: tables from the fabric file alone.  Counters stay.
 */
void weft_network_power(struct weft_network *network, uint32_t node, bool is_on, uint64_t now_ps);
/*
 * Loss (FAULT) of one path, at the sender's T0: src, dst and EV as in topo.  0 ppm ends it.
 * False: no such path, or that T0 has WEFT_SWITCH_FAULTS_MAX of them.
 */
bool weft_network_path_loss(
	struct weft_network *network, uint32_t src, uint32_t dst, uint32_t ev, uint32_t loss_ppm);

/* ---- eyes ---- */

/*
 * Of a switch, to read; what it holds and does is the network's.  Depths and what has left are up
 * to date from this call on until the next run: ask again after it.
 */
struct weft_switch *weft_network_switch(struct weft_network *network, uint32_t node);

/* All of them only grow; the pointer is good for the network's life. */
struct weft_network_stats {
	uint64_t sent, arrived, dropped; /* frames; what is missing is in the fabric */
	uint64_t hops;                   /* frames that switches took in */
	uint64_t drops[WEFT_SWITCH_DROP_COUNT];
};
const struct weft_network_stats *weft_network_stats(const struct weft_network *network);
/* Recounts what is kept twice; aborts where it differs. */
void weft_network_check(const struct weft_network *network);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_NETWORK_H */
