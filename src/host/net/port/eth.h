/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NET_ETH_H
#define NET_ETH_H
/* eth - what ports share that write and read whole Ethernet frames: afpacket and afxdp. */
#include "net_local.h"
#include "port/frames.h"
#include "port/raw.h"

#include <net/if.h>

#define ETH_HEADER_BYTES 14u

struct eth;

/* What a port does for one plane, whose interface (ifindex, ifname, mac, frames) is known. */
struct eth_lanes {
	int (*open)(struct eth *eth, uint32_t plane, char *error, size_t error_bytes);
	void (*close)(
		struct eth *eth, uint32_t plane); /* also one that is half open, or never was */
};

struct eth {
	struct weft_port port; /* first */
	const struct eth_lanes *lanes;
	struct weft_eth_config config;
	struct raw *raw;
	struct carrier *carrier;
	struct hops *hops;
	int hold_fd, epoll_fd;
	uint16_t udp_port;
	uint32_t frame_bytes; /* of the largest frame that goes or comes */
	uint32_t encap_bytes; /* IP and UDP, for the counters */
	uint32_t full;        /* planes that take nothing now */
	uint32_t open;        /* planes that are there; a packet for another is refused */
	uint32_t carrier_up, carrier_age;
	unsigned ifindex[WEFT_PORTS_MAX]; /* 0: no interface has its address */
	char ifname[WEFT_PORTS_MAX][IF_NAMESIZE];
	uint8_t mac[WEFT_PORTS_MAX][6];
	struct frames frames[WEFT_PORTS_MAX]; /* what is ours, per plane */
};

/* With the planes that are there, at least one.  -1: error says why in one line; eth_close() then
 * cleans up as well. */
int eth_open(struct eth *eth, const struct weft_port_ops *ops, const struct eth_lanes *lanes,
	const struct weft_eth_config *config, char *error, size_t error_bytes);
void eth_close(struct eth *eth); /* lanes and all, but *eth itself */

int eth_watch(struct eth *eth, int fd, uint32_t events, void *data); /* for eth_wait() */
void eth_rewatch(struct eth *eth, int fd, uint32_t events, void *data);
/* Up to n of the data of what has happened; link and neighbour changes are dealt with here. */
size_t eth_wait(struct eth *eth, uint64_t max_ns, void *data[], size_t n);
/* Members of weft_port_ops as they stand. */
uint32_t eth_carrier(struct weft_port *port);
uint32_t eth_room(struct weft_port *port, size_t *max);

/* Writes a whole frame (room: frame_bytes) and returns its bytes; 0: it cannot go, counted. */
size_t eth_put(struct eth *eth, const struct weft_pkt *pkt, uint8_t *frame);
/* Reads a frame; false: dropped, counted. */
bool eth_get(
	struct eth *eth, uint32_t plane, const uint8_t *frame, size_t bytes, struct weft_pkt *pkt);

#endif /* NET_ETH_H */
