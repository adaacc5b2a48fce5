/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NET_UDP_H
#define NET_UDP_H
/* udp - what the three files of the UDP port share: udp.c opens and waits, udp_tx.c, udp_rx.c. */
#include "net_local.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <weft/wire.h>

#define UDP_RX_BATCH 32u
#define UDP_LANES_MAX (WEFT_PORTS_MAX * WEFT_UDP_SRC_PORTS_MAX)

struct udp_out {                    /* one message that waits for room in its lane's socket */
	const struct weft_pkt *pkt; /* while being sorted; NULL afterwards */
	struct sockaddr_in6 to;
	struct iovec iov[3];
	uint8_t headers[WEFT_WIRE_HEADERS_MAX];
	uint8_t tail[WEFT_WIRE_TAIL_MAX + 1];
	uint8_t n_iov, tclass;
};

struct udp_lane { /* one sending socket: a plane and a source port */
	int fd;
	bool armed; /* epoll tells when there is room again */
	uint16_t src_port;
	uint32_t plane, n_waiting, first_waiting;
	struct udp_out *waiting; /* WEFT_NET_BURST of them */
};

struct udp_rx;

struct udp {
	struct weft_port port; /* first */
	struct weft_udp_config config;
	struct weft_dscp dscp;
	struct carrier *carrier;
	struct peers *peers;
	struct udp_rx *rx;
	int rx_fd, epoll_fd;
	bool is_v4;                       /* the kernel has no IPv6: names are those of IPv4 */
	unsigned ifindex[WEFT_PORTS_MAX]; /* of the planes' addresses; 0: nobody has it */
	uint32_t planes_open;             /* those whose address could be bound */
	uint16_t udp_port;
	uint32_t n_lanes, src_ports;
	uint32_t full; /* planes of which a lane has messages waiting */
	uint32_t carrier_up, carrier_age;
	bool drained; /* the receive queue was empty a moment ago */
	/* Of the probes under way, and the largest payload of a full packet that came back. */
	uint32_t mtu_token;
	uint16_t (*mtu_proved)[WEFT_PORTS_MAX]; /* of each peer by each plane */
	struct udp_lane lanes[UDP_LANES_MAX];
	/* one burst, sorted by lane */
	struct mmsghdr msgs[WEFT_NET_BURST];
	struct udp_out outs[WEFT_NET_BURST];
	uint8_t tclass_cmsg[WEFT_CLASS_NO_TRIM + 1][CMSG_SPACE(sizeof(int))]
		__attribute__((aligned(8)));
};

int udp_watch(struct udp *udp, int fd, uint32_t events, void *data);

/* ---- udp_lanes.c: sending sockets ---- */

int udp_set(int fd, int level, int name, int value);
void udp_set_buffer(int fd, int force, int plain, uint32_t bytes);
int udp_socket(struct udp *udp);
int udp_bind(const struct udp *udp, int fd, const uint8_t addr[16], uint16_t *number);
int udp_lanes_open(struct udp *udp, char *error, size_t error_bytes); /* of one plane at least */
void udp_lanes_look(struct udp *udp); /* where planes are, and whether more of them are there */
void udp_lanes_close(struct udp *udp);

struct udp_rx *udp_rx_open(uint32_t mtu_bytes);
void udp_rx_close(struct udp_rx *rx);
size_t udp_rx_burst(struct udp *udp, struct weft_pkt pkts[], size_t max);

/* ---- udp_mtu.c: path MTU discovery ---- */

bool udp_mtu_is_probe(const uint8_t *datagram, size_t bytes);
/* False: no probe of this peer's by this plane, nor an answer to one of ours. */
bool udp_mtu_take(struct udp *udp, uint32_t peer, uint32_t plane, const uint8_t *datagram,
	size_t bytes);
void udp_mtu_forget(struct udp *udp, uint32_t peer);

void udp_tx_init(struct udp *udp); /* after the sockets are there */
void udp_tx_burst(struct udp *udp, const struct weft_pkt pkts[], size_t n);
void udp_tx_flush(struct udp *udp, struct udp_lane *lane); /* tries what waits there again */

#endif /* NET_UDP_H */
