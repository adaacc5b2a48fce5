/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NET_LIVE_H
#define NET_LIVE_H
/* live - what live.c (the endpoint), peer.c (whom it knows) and session.c (set-up) share. */
#include "local.h"

#define LIVE_PEERS_MAX 64u

struct live_peer {        /* a remote endpoint; sessions with it share its paths */
	uint8_t addr[16]; /* on plane 0, with its source port: who it is */
	uint16_t src_port, udp_port;
	uint32_t users, pathset;
};

struct live_port_kind {
	const char *name;
	/* Fills port, udp_port, src_port, n_src_ports from `udp` (format, planes, addresses). */
	int (*open)(struct weft_live *live, char *error, size_t error_bytes);
	int (*peer_add)(
		struct weft_port *port, uint32_t peer, const struct weft_udp_peer *attr);
	void (*peer_drop)(struct weft_port *port, uint32_t peer);
};

struct weft_live {
	struct weft_live_config config;
	struct weft_udp_config udp; /* where we are, whatever the port */
	const struct live_port_kind *kind;
	struct weft_topo *topo; /* NULL: no fabric file */
	const struct weft_topo_shape *shape;
	const struct weft_cc_ops *cc;
	struct weft_port *port;
	struct weft_endpoint *ep;
	struct weft_pump *pump;
	void *block;
	uint64_t rate_bps;
	uint32_t host, rtt_ns, n_src_ports;
	uint16_t udp_port, src_port[WEFT_UDP_SRC_PORTS_MAX];
	uint8_t timeout_exp, linear_count, retry_count;
	int listener;
	char host_name[32];
	struct live_peer peers[LIVE_PEERS_MAX];
};

/* via: NULL for what the environment says.  NULL: error lists the names. */
const struct live_port_kind *live_port_find(const char *via, char *error, size_t error_bytes);

/* The number of the peer that made this offer, with a path set to it; -1: error says why. */
int live_peer_take(struct weft_live *live, const struct offer *offer, uint32_t *peer, char *error,
	size_t error_bytes);
void live_peer_give(struct weft_live *live, uint32_t peer);

#endif /* NET_LIVE_H */
