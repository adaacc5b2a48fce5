/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NET_LIVE_H
#define NET_LIVE_H
/* live - what live.c (the endpoint), live_peer.c (whom it knows) and session.c (set-up) share. */
#include "net_local.h"

#define LIVE_PEERS_MAX 1024u
#define LIVE_DIR_BYTES 64u /* of a directory with sockets, whose names hold 107 */

struct live_peer {        /* a remote endpoint; sessions with it share its paths */
	uint8_t addr[16]; /* on plane `home`, with its source port: who it is */
	uint16_t src_port, udp_port;
	uint32_t users, pathset, home;
};

struct live_port_kind {
	const char *name;
	uint32_t host_rtt_ns; /* what the two machines add to the fabric's idle round trip */
	bool is_kernel;       /* packets are the kernel's IP's */
	bool is_far;          /* peers come through the port before they can come to the line */
	/* Fills port, udp_port, src_port, n_src_ports from `udp` (format, planes, addresses);
	 * line_dir where hosts have no addresses that the kernel knows. */
	int (*open)(struct weft_live *live, char *error, size_t error_bytes);
	int (*peer_add)(struct weft_port *port, uint32_t peer, const struct weft_udp_peer *attr);
	void (*peer_drop)(struct weft_port *port, uint32_t peer);
	/* weft_udp_mtu_*(); NULL: this port cannot ask what paths carry. */
	void (*mtu_probe)(struct weft_port *port, uint32_t peer, uint32_t payload_bytes,
		uint32_t planes, uint32_t token);
	uint32_t (*mtu_proved)(
		const struct weft_port *port, uint32_t peer, uint32_t payload_bytes);
};

/* Payloads of a full packet that are tried, largest first: jumbo frames, 1500 bytes of Ethernet,
 * what tunnels leave of them. */
#define LIVE_MTUS 6u
extern const uint16_t live_mtus[LIVE_MTUS];

struct weft_live {
	struct weft_live_config config;
	struct weft_udp_config udp; /* where we are, whatever the port */
	const struct live_port_kind *kind;
	struct live_port_kind given; /* what kind is where the caller brought the port */
	struct weft_topo *topo; /* NULL: no fabric file */
	const struct weft_topo_shape *shape;
	const struct weft_cc_ops *cc;
	struct weft_port *port;
	struct weft_endpoint *ep;
	struct weft_pump *pump;
	void *block;
	size_t block_bytes;
	uint64_t rate_bps; /* what arrives at best: all planes, and what this machine can do */
	uint64_t line_bps; /* of all planes' links together, as ports tell */
	uint32_t host, rtt_ns, n_src_ports;
	uint32_t queue_pkts; /* that may wait in a plane's socket or ring */
	uint16_t udp_port, src_port[WEFT_UDP_SRC_PORTS_MAX];
	uint8_t timeout_exp, linear_count, retry_count;
	bool trims;                    /* the fabric's switches cut what does not fit */
	bool finds_mtu;                /* path MTU is what probes prove; else udp.mtu_bytes */
	struct callers *callers;       /* NULL: not a server */
	char line_dir[LIVE_DIR_BYTES]; /* where set-up lines are unix sockets; empty: over TCP */
	char line_path[LIVE_DIR_BYTES + 48]; /* of the one that we listen at */
	char host_name[32];
	struct live_peer peers[LIVE_PEERS_MAX];
};

/* Interfaces that had no address may have one by now. */
void live_find_planes(struct weft_live *live);

/* By config and environment.  NULL: error lists the names. */
const struct live_port_kind *live_port_find(
	const struct weft_live_config *config, char *error, size_t error_bytes);

/* The port that config brings. */
const struct live_port_kind *live_port_given(struct weft_live *live);

/* Whether a switch of ours forwards, whatever the port: only those trim. */
bool live_has_switch(const struct weft_live_config *config);

/* The number of the peer that made this offer, with a path set to it; -1: error says why. */
int live_peer_take(struct weft_live *live, const struct offer *offer, uint32_t *peer, char *error,
	size_t error_bytes);
uint32_t live_peer_find(const struct weft_live *live, const struct offer *offer); /* or _MAX */
/* Its addresses as they are in this offer; false: nobody of that name. */
bool live_peer_again(struct weft_live *live, const struct offer *offer);
/* Whether two ends can work together at all; the rest is negotiated. */
int live_check(
	const struct weft_live *live, const struct offer *peer, char *error, size_t error_bytes);
void live_peer_give(struct weft_live *live, uint32_t peer);

/* Of live_mtus the one that the largest of the planes' interfaces carries now; udp.mtu_bytes where
 * path MTU is not found. */
uint32_t live_most_mtu(const struct weft_live *live);
/*
 * Path MTU to a peer that has been taken, up to most_bytes, by probes; the pump is turned meanwhile
 * for limit_ns at most.  *narrow: planes that carry less, whose paths are denied from now on, and
 * should be at the peer.  most_bytes itself where probes are not to be.
 */
uint32_t live_find_mtu(struct weft_live *live, uint32_t peer, uint32_t most_bytes,
	uint64_t limit_ns, uint32_t *narrow);
void live_leave_planes(struct weft_live *live, uint32_t peer, uint32_t planes);

#endif /* NET_LIVE_H */
