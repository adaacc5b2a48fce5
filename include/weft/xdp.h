/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_XDP_H
#define WEFT_XDP_H
/*
 * xdp - the switch of the fabric room as a program in the kernel, at the interfaces of a namespace.
 *
 *   interface --frame--> [ program: look up, shift, mark, cut or drop ] --frame--> interface
 *                              |  ^                      |
 *                  tables, faults  \ virtual queues       counters
 *                              weft_xdp_* in this process
 *
 * Decides as switch.h describes and counts under the same names; what differs is that no frame ever
 * waits (docs/decisions/070-xdp-switch.md).  Tables come from the caller alone: no frame can change
 * them, and none leaves by a port that is not in them or reaches the kernel's own stack.
 *
 * Time     The kernel's, monotonic.
 * Memory   Opening allocates, here and in the kernel; all of it goes with close or the process, and
 *          the interfaces are then what they were.
 * Threads  One per struct weft_xdp.  Frames are forwarded on any CPU meanwhile: a change is seen by
 *          those that come after the call.
 * Errors   Of open and port_set: -1 with one line in error.  False: impossible, nothing changed.
 */
#include <weft/switch.h>
#include <weft/topo.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_XDP_PORTS_MAX 1024u
#define WEFT_XDP_IFINDEX_MAX 65535u
#define WEFT_XDP_FAULTS_MAX 64u

struct weft_xdp;

/*
 * Where the program sits.  Both decide alike; what differs is what it costs and where it works
 * (docs/decisions/070-xdp-switch.md).
 */
enum weft_xdp_hook {
	WEFT_XDP_AT_TC,     /* where the kernel's packets come in: between veths */
	WEFT_XDP_AT_DRIVER, /* XDP in the driver: in front of NICs.  A port's neighbour on a veth
			     * must have NAPI (an XDP program too, or GRO switched on), else the
			     * kernel drops what is sent there, silently */
};

struct weft_xdp_config {
	enum weft_xdp_hook hook;
	uint32_t ports;     /* 1 .. WEFT_XDP_PORTS_MAX; each is down until weft_xdp_port_set */
	uint32_t sids;      /* room in the table, 1 .. 65535 */
	uint32_t prefixes;  /* room for addresses that are not uSIDs, 0 .. 65536 */
	uint32_t block;     /* the 32 bits that uSID carriers begin with */
	uint32_t mtu_bytes; /* longest IP packet, 1280 .. 65521 */
	uint64_t seed;      /* of hashing */
	struct weft_dscp dscp;
	bool has_test_clock; /* time stands still but for weft_xdp_test_clock: for tests */
};

/* Needs CAP_BPF and CAP_NET_ADMIN, or root. */
int weft_xdp_open(struct weft_xdp **xdp, const struct weft_xdp_config *config, char *error,
	size_t error_bytes);
void weft_xdp_close(struct weft_xdp *xdp); /* NULL is fine */

struct weft_xdp_port {
	uint32_t ifindex;            /* in the calling thread's namespace */
	uint8_t mac[6], peer_mac[6]; /* of the interface, and of the neighbour's */
	bool is_peer;                /* AT_TC, a veth: frames appear at its other end as received,
				      * at once; an XDP program or shaper on the way is passed by */
	uint64_t rate_bps;           /* 1 Mb/s and up; 0: the port has no queue: nothing is marked,
				      * cut or dropped for its depth */
	const struct weft_port_profile *profile; /* copied; PFC and quanta's sizes are ignored,
						  * their ratio is not */
};
/*
 * Puts the program in front of the interface; the port is up then.
 */
int weft_xdp_port_set(struct weft_xdp *xdp, uint32_t port, const struct weft_xdp_port *setting,
	char *error, size_t error_bytes);

/* ---- tables: as weft_switch_sid_add and weft_switch_prefix_add; ports must be set before,
 * since choices are among those that are ---- */

bool weft_xdp_sid_add(struct weft_xdp *xdp, uint16_t sid, const struct weft_hop *hop);
bool weft_xdp_prefix_add(
	struct weft_xdp *xdp, const uint8_t prefix[16], uint32_t bits, const struct weft_hop *hop);
/* A black hole: what would follow this entry is dropped (FAULT).  False: no such entry. */
bool weft_xdp_sid_hole(struct weft_xdp *xdp, uint16_t sid, bool is_hole);

/* ---- a switch of a fabric file ---- */

struct weft_xdp_cable {
	uint32_t ifindex; /* 0: none */
	uint8_t mac[6], peer_mac[6];
	uint64_t rate_bps; /* 0: no queue */
};
/*
 * Opens node, a switch, with its tables and thresholds; rate_bps: as in struct weft_network_config;
 * cables: of all its ports.  At tc, ports to switches are peers, and ports to hosts are not, so
 * that hosts may do what they like to their ends.
 */
int weft_xdp_node_open(struct weft_xdp **xdp, enum weft_xdp_hook hook, const struct weft_topo *topo,
	uint32_t node, uint64_t rate_bps, const struct weft_xdp_cable cables[], char *error,
	size_t error_bytes);
/* The tables anew, after weft_xdp_reboot(). */
void weft_xdp_node_fill(struct weft_xdp *xdp, const struct weft_topo *topo, uint32_t node);
/* Makes the uSIDs that lead to this port black holes, or lets them lead there again. */
void weft_xdp_node_hole(struct weft_xdp *xdp, const struct weft_topo *topo, uint32_t node,
	uint32_t port, bool is_hole);

/* ---- what goes wrong ---- */

void weft_xdp_port_mark(struct weft_xdp *xdp, uint32_t port, bool is_up);
void weft_xdp_port_rate(struct weft_xdp *xdp, uint32_t port, uint64_t rate_bps);
void weft_xdp_freeze(struct weft_xdp *xdp, bool is_frozen);
/* Tables, faults and depths are gone; counters and ports stay. */
void weft_xdp_reboot(struct weft_xdp *xdp);
bool weft_xdp_fault_add(struct weft_xdp *xdp, const struct weft_switch_fault *fault);
void weft_xdp_fault_clear(struct weft_xdp *xdp);

/* ---- eyes: counters of all CPUs together ---- */

/* watermark: since the last reboot. */
void weft_xdp_port_counters(
	const struct weft_xdp *xdp, uint32_t port, struct weft_port_counters *counters);
uint64_t weft_xdp_drops(const struct weft_xdp *xdp, enum weft_switch_drop drop);
uint64_t weft_xdp_sid_pkts(const struct weft_xdp *xdp, uint16_t sid);
/* Of a virtual queue, as of the last frame that left by this port. */
uint32_t weft_xdp_depth_bytes(const struct weft_xdp *xdp, uint32_t port, enum weft_queue queue);

/* ---- for tests ---- */

int weft_xdp_program(const struct weft_xdp *xdp); /* its descriptor; stays the owner's */
void weft_xdp_test_clock(struct weft_xdp *xdp, uint64_t now_ns); /* from 1 on */

#ifdef __cplusplus
}
#endif
#endif /* WEFT_XDP_H */
