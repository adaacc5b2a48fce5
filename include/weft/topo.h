/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_TOPO_H
#define WEFT_TOPO_H
/*
 * topo - the fabric file: what is cabled to what, and every path's name.
 *
 *   plane 0                          plane 1 ...          A two-tier fabric per plane.  Each
 *      p0.t1-0    p0.t1-1               p1.t1-0           T0 reaches each T1 over one or more
 *       |  \   /  |                      |                links; each host has one NIC with
 *       |    X    |                      |                one port per plane, and hangs on the
 *      p0.t0-0    p0.t0-1               p1.t0-0           T0 of the same number in all planes.
 *       |   |      |   |                 |
 *       h0  h1     h2  h3                h0 ...
 *
 * Nothing is stored per host or link: all of it is arithmetic on a handful of counts, so that
 * a fabric of 131,072 hosts costs what one of four does.  Only links that the file singles out
 * (other speed, not cabled) are remembered one by one.
 *
 * Nodes    0 .. nodes-1: hosts, then T0s plane by plane, then T1s plane by plane.
 * Links    0 .. links-1: host links (host * planes + plane), then T0-T1 links.
 * Ports    of a host: the plane.  Of a T0: downlinks, then uplinks.  Of a T1: downlinks,
 *          T0 * parallel + which.  An uplink's number on its T0 is T1 * parallel + which.
 * EV       32 bits: plane << 16 | uplink of the sender's T0.  Below one T0: plane << 16.
 * Memory   opened objects are the caller's to close; immutable between, so any thread may read.
 * Errors   a bad file is told as "FILE:LINE: FIELD: what is wrong, what is allowed".
 *          Node, link, port, plane out of range is the caller's mistake and aborts.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_TOPO_NONE UINT32_MAX /* no such node, port or link */
#define WEFT_TOPO_NAME_BYTES 32   /* room for any node or link name, NUL included */
#define WEFT_TOPO_PLANES_MAX 16
#define WEFT_TOPO_BPS_MIN UINT64_C(1000000) /* of a link: 1 Mb/s to 10 Tb/s */
#define WEFT_TOPO_BPS_MAX UINT64_C(10000000000000)
/* A link without a limit is emulated as one of this speed, and ports are called so: more than a
 * machine can do.  Congestion control is told what that is. */
#define WEFT_TOPO_FREE_BPS UINT64_C(400000000000)

struct weft_topo;

/*
 * Ways along a link, as bits: away from hosts, to hosts.  What breaks one way or both, and is not
 * told which (loss, corrupt, blackhole, hole), breaks both, in a simulation as in a lab.
 */
enum weft_way { WEFT_WAY_UP = 1, WEFT_WAY_DOWN = 2, WEFT_WAY_BOTH = 3 };
#define WEFT_WAY_UNSAID WEFT_WAY_BOTH
/* "up", "down", "both"; false: none of these, and *way is what it was. */
bool weft_way_parse(const char *text, uint32_t *way);

/* What steers: a uSID per switch, or one per link (RFC 9800's End and End.X with NEXT-C-SID). */
enum weft_usid_behavior { WEFT_USID_UN, WEFT_USID_UA };

/* What a switch of ours does with data that does not fit, and what it marks (switch.h). */
enum weft_topo_full { WEFT_FULL_TRIM, WEFT_FULL_DROP, WEFT_FULL_PAUSE };
enum weft_topo_marks { WEFT_MARKS_UNSAID, WEFT_MARKS_ALL, WEFT_MARKS_CORE };

/* In bytes, or in thousandths of a link's bandwidth x base_rtt; both 0: the file does not say. */
struct weft_topo_depth {
	uint32_t bytes, bdp_permille;
};
/* The file gives this depth. */
static inline bool weft_topo_depth_is_said(const struct weft_topo_depth *depth)
{
	return depth->bytes || depth->bdp_permille;
}

/* Where the file wants other thresholds than a switch's own. */
struct weft_topo_depths {
	uint32_t queue_bytes;                    /* 0: the file does not say */
	struct weft_topo_depth ecn_min, ecn_max; /* both or neither */
	struct weft_topo_depth trim, trim_last_hop;
	uint16_t trim_size_bytes; /* 0: the file does not say */
};

/* What a fabric file says, and what follows from it. */
struct weft_topo_shape {
	char name[WEFT_TOPO_NAME_BYTES];
	uint32_t planes;
	uint32_t t0s, t1s; /* per plane */
	uint32_t parallel; /* links between one T0 and one T1 */
	uint32_t uplinks;  /* of a T0: t1s * parallel */
	uint32_t hosts, hosts_per_t0;
	uint32_t nodes, links;
	uint64_t host_bps, core_bps;           /* host-T0 and T0-T1 links, bits per second */
	uint32_t host_delay_ns, core_delay_ns; /* one way */
	uint32_t mtu_bytes;                    /* IP packet, as in ip(8) */
	uint32_t switch_queue_bytes;           /* of one switch egress port; 1 MB if not said */
	struct weft_topo_depths depths;
	uint32_t base_rtt_ns; /* of the longest path, from the file or computed */
	uint16_t udp_port;
	enum weft_topo_full full;
	enum weft_topo_marks marks; /* CORE: ports to hosts mark nothing */
	enum weft_usid_behavior behavior;
	uint8_t plane_bits, index_bits; /* of a uSID; type, plane, index fill 16.  A uA's type has
					 * a bit more and its index, the port, one less */
};

/* 0, or -1 with one line in error.  _text: `name` stands for the file in messages. */
int weft_topo_open(struct weft_topo **topo, const char *path, char *error, size_t error_bytes);
int weft_topo_open_text(struct weft_topo **topo, const char *text, size_t text_bytes,
	const char *name, char *error, size_t error_bytes);
void weft_topo_close(struct weft_topo *topo); /* NULL is fine */
/* For the life of topo. */
const struct weft_topo_shape *weft_topo_shape(const struct weft_topo *topo);

/*
 * Paths.  "src" and "dst" are hosts, different ones.
 */
static inline uint32_t weft_ev(uint32_t plane, uint32_t uplink)
{
	return plane << 16 | uplink;
}

static inline uint32_t weft_ev_plane(uint32_t ev) /* = the NIC port that it leaves by */
{
	return ev >> 16;
}

/* Which of the T0's uplinks it takes. */
static inline uint32_t weft_ev_uplink(uint32_t ev)
{
	return ev & 0xffff;
}

/* How many different paths there are, all planes together; 0: not connected. */
uint32_t weft_topo_paths(const struct weft_topo *topo, uint32_t src, uint32_t dst);

/*
 * Fills evs with up to n EVs, the same number for each plane that connects the pair, and returns
 * how many; planes take turns in the array.  The order, and which they are where a plane has more
 * than its share, follow from the seed, the plane, and the sender's T0 and place below it: with one
 * seed for all, the hosts below a T0 load its uplinks alike and begin at different ones
 * (docs/decisions/120-staggered-uplinks.md).
 */
size_t weft_topo_evs(const struct weft_topo *topo, uint32_t src, uint32_t dst, uint64_t seed,
	uint32_t evs[], size_t n);

/*
 * The uSID carrier: block | T0 | T1 | T0' | dst | EV high | EV low, or block | T0 | dst | EV
 * below one T0.  With uA each switch's link to the next stands in its place; the switch itself is
 * not named.  False (addr untouched): this EV names no path of the pair.
 */
bool weft_topo_usid(
	const struct weft_topo *topo, uint32_t src, uint32_t dst, uint32_t ev, uint8_t addr[16]);

/* From a host to its first switch of a plane and back, for packets between programs of one host. */
void weft_topo_usid_self(
	const struct weft_topo *topo, uint32_t host, uint32_t ev, uint8_t addr[16]);

/* The EV in a destination address as the receiver sees it, block | dst | EV high | EV low. */
static inline uint32_t weft_topo_usid_ev(const uint8_t addr[16])
{
	return (uint32_t)addr[6] << 24 | (uint32_t)addr[7] << 16 | (uint32_t)addr[8] << 8 | addr[9];
}

/* The /48 whose packets a host must take for its own on this plane: block | dst. */
void weft_topo_host_usid(
	const struct weft_topo *topo, uint32_t host, uint32_t plane, uint8_t addr[16]);

/* A host's own address on a plane, unique in the fabric: the source of what it sends there. */
void weft_topo_host_addr(
	const struct weft_topo *topo, uint32_t host, uint32_t plane, uint8_t addr[16]);
/* And back; false: not an address of this fabric's hosts. */
bool weft_topo_host_find(
	const struct weft_topo *topo, const uint8_t addr[16], uint32_t *host, uint32_t *plane);

/*
 * Nodes, ports, links.  Names: "h3", "p2.t0-1", "p2.t1-0"; links "h3.p2", "p2.t0-1:t1-0" and,
 * from the second parallel link on, "p2.t0-1:t1-0/1".
 */
enum weft_node_kind { WEFT_NODE_NONE, WEFT_NODE_HOST, WEFT_NODE_T0, WEFT_NODE_T1 };

/* A host or a switch. */
struct weft_node {
	enum weft_node_kind kind;
	uint32_t plane; /* 0 for hosts, which are in all of them */
	uint32_t index; /* among its kind, per plane */
	uint32_t ports;
};

/* A cable. */
struct weft_link {
	uint32_t node[2], port[2]; /* [0] is the lower end: host, or T0 */
	uint32_t plane;
	uint64_t bps;
	uint32_t delay_ns;
	bool cabled; /* false: the file says that this cable is missing */
};

/* Nodes, by their number: below shape.nodes (asserted). */
struct weft_node weft_topo_node(const struct weft_topo *topo, uint32_t node);
uint32_t weft_topo_t0(const struct weft_topo *topo, uint32_t plane, uint32_t index);     /* node */
uint32_t weft_topo_t1(const struct weft_topo *topo, uint32_t plane, uint32_t index);     /* node */
uint32_t weft_topo_host_t0(const struct weft_topo *topo, uint32_t host, uint32_t plane); /* node */
/* link: below shape.links. */
struct weft_link weft_topo_link(const struct weft_topo *topo, uint32_t link);
/* The link in a port; WEFT_TOPO_NONE: an empty downlink of the last T0. */
uint32_t weft_topo_port_link(const struct weft_topo *topo, uint32_t node, uint32_t port);
/* The links that an EV's packet crosses, in order: 4, or 2 below one T0, or 0 for no path. */
size_t weft_topo_path_links(
	const struct weft_topo *topo, uint32_t src, uint32_t dst, uint32_t ev, uint32_t links[4]);

/* The name, cut to bytes; WEFT_TOPO_NAME_BYTES holds any. */
void weft_topo_node_name(const struct weft_topo *topo, uint32_t node, char *name, size_t bytes);
void weft_topo_link_name(const struct weft_topo *topo, uint32_t link, char *name, size_t bytes);
/* By name: the number; WEFT_TOPO_NONE: there is none. */
uint32_t weft_topo_node_find(const struct weft_topo *topo, const char *name);  /* or NONE */
uint32_t weft_topo_link_find(const struct weft_topo *topo, const char *name);  /* or NONE */
uint32_t weft_topo_plane_find(const struct weft_topo *topo, const char *name); /* "p1" or "1" */

/*
 * Static tables: what a node needs to know, once, for ever.  Entry i of node, in no order that
 * matters; false past the end.
 */
enum weft_route_kind {
	WEFT_ROUTE_NONE,  /* the place of a missing cable's entry: skip it */
	WEFT_ROUTE_END,   /* switch: own uSID (uN); shift the carrier by 16 bits, look up again */
	WEFT_ROUTE_UA,    /* switch: own link's uSID; shift the carrier by 16 bits, leave by port */
	WEFT_ROUTE_LOCAL, /* host: deliver here */
	WEFT_ROUTE_USID,  /* the next uSID's link */
	WEFT_ROUTE_HOST,  /* host addresses, for traffic that is not source routed (TCP) */
};

/* One entry of a static table. */
struct weft_route {
	enum weft_route_kind kind;
	uint8_t prefix[16];
	uint32_t prefix_bits;
	uint32_t port, ports; /* first port, and how many in a row to share between (ECMP); of
			       * those, ports without a cabled link do not count */
};

/*
 * A switch's entries in the words of <weft/switch.h>; its uSIDs all have prefix_bits 48, and the
 * uSID is bytes 4 and 5 of the prefix.  (A host's USID may be shorter, and not of whole bytes.)
 *   END   weft_switch_sid_add     WEFT_HOP_UN
 *   UA    weft_switch_sid_add     WEFT_HOP_UA, port
 *   USID  weft_switch_sid_add     WEFT_HOP_PORT, port
 *   HOST  weft_switch_prefix_add  WEFT_HOP_PORT, port; where ports > 1: WEFT_HOP_HASH
 */
bool weft_topo_route(
	const struct weft_topo *topo, uint32_t node, uint32_t i, struct weft_route *route);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_TOPO_H */
