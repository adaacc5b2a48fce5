/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NET_LOCAL_H
#define NET_LOCAL_H
/* net_local - what the files of net share with each other and with nobody else. */
#include <weft/base.h>
#include <weft/net.h>
#include <weft/session.h>

#include <netinet/in.h>

/* ---- port/loop_wire.c: struct -> bytes -> struct, compared ---- */

struct loop_wire;
struct loop_wire *loop_wire_open(void); /* NULL: no memory */
void loop_wire_close(struct loop_wire *wire);
/* pkt becomes what a receiver would decode; its payload lies in slot `slot` (< WEFT_NET_BURST)
 * until that slot's next use.  Aborts where the round trip changes anything.  False: the packet
 * is one that a decoder must refuse (a trimmed one that lost its headers). */
bool loop_wire_pass(struct loop_wire *wire, size_t slot, struct weft_pkt *pkt);

/* ---- port/loop_heap.c: what happens next ---- */

struct loop_due {
	uint64_t at_ns, order;
	uint32_t what; /* the caller's */
};

struct loop_heap { /* all zero: empty */
	struct loop_due *due;
	size_t n, room;
	uint64_t orders;
};
void loop_heap_push(struct loop_heap *heap, uint64_t at_ns, uint32_t what);
uint32_t loop_heap_pop(struct loop_heap *heap);        /* of those due first the one pushed first */
uint64_t loop_heap_next(const struct loop_heap *heap); /* WEFT_NEVER: empty */
void loop_heap_close(struct loop_heap *heap);

/* ---- inet.c ---- */

/* The name to bind, connect or send to; 0: this kind of socket has none for that address. */
socklen_t inet_name(
	bool is_v4, const uint8_t addr[16], uint16_t number, struct sockaddr_storage *name);
/* A name that a socket of either kind has told. */
void inet_read(const struct sockaddr_storage *name, struct sockaddr_in6 *out);
/* The addresses of a host, by a DNS name or an address, "[fd00::2]" as well; how many. */
uint32_t inet_lookup(const char *host, uint8_t addrs[WEFT_PORTS_MAX][16]);
bool inet_parse(const char *word, uint8_t addr[16]); /* of either version; else addr stays */

/* ---- planes.c ---- */

/* True once it has one: then it is in addr. */
bool plane_find(const char *interface, uint8_t addr[16]);

/* ---- crc.c: a weft_crc32_fn ---- */

uint32_t net_crc32(uint32_t crc, const uint8_t *bytes, uint64_t len_bytes);

/* ---- live_ask.c: planes that nobody has named ---- */

struct weft_live;
bool ask_is_question(const char *line); /* instead of an offer */
void ask_answer(const struct weft_live *live, int fd); /* and hangs up */

/* ---- carrier.c: which links are up ---- */

/* By number the interface that has this address, or, for one on lo, the one that a route sends
 * packets out by which bear it; 0: none. */
unsigned carrier_find(const uint8_t addr[16]);
/* 0, or why nobody can say now which interfaces there are: EMFILE, ENOMEM. */
int carrier_blindness(void);
/* Whether its queueing discipline does more than queue, and what it is called. */
bool carrier_shaper(unsigned ifindex, char name[16]);

struct carrier;
/* error: one line on failure. */
struct carrier *carrier_open(const unsigned ifindex[], uint32_t planes, char *error, size_t bytes);
void carrier_close(struct carrier *carrier);
int carrier_fd(const struct carrier *carrier);
/* Takes in what the kernel has told since; returns the mask of planes that are up. */
uint32_t carrier_read(struct carrier *carrier);

/* An address that others can reach: not on a loopback interface, not link-local. */
struct ifaddrs;
bool carrier_is_ip(const struct ifaddrs *i);
/* Whether the other is in the network of this own address, without a router between. */
bool carrier_has_net(const uint8_t own[16], const uint8_t other[16]);
uint32_t carrier_mtu(unsigned ifindex); /* of its IP packets; 0: nobody knows */
/* What a full packet of this payload needs of it. */
#define LINK_OVERHEAD_BYTES (48u + 44u) /* IPv6, UDP; BTH, METH, TSETH, RETH, ImmDt, ICRC */
/* Whether to look for planes anew: something happened to addresses or to the interfaces of planes
 * since, or one is missing, which may be good by now whatever is told, and a second has passed. */
bool carrier_is_due(struct carrier *carrier, bool is_whole);
/* Planes whose interface has been deleted since: the next one may bear the same number. */
uint32_t carrier_gone(struct carrier *carrier);
/* The mask of all planes of a port. */
static inline uint32_t port_all_planes(const struct weft_port *port)
{
	return (uint32_t)((UINT64_C(1) << port->planes) - 1);
}
/* The plane's interface is another by now; 0: none. */
void carrier_follow(struct carrier *carrier, uint32_t plane, unsigned ifindex);
/* The interface with this address, where another one is in the same network, so that routes do not
 * tell by which of them to send; else 0. */
unsigned carrier_shares_net(const uint8_t addr[16]);

/* ---- hops.c: the Ethernet address of the next hop ---- */

struct hops;
struct hops *hops_open(const unsigned ifindex[], uint32_t planes); /* NULL: no memory, no netlink */
void hops_close(struct hops *hops);                                /* NULL is fine */
/* Packets to this peer by this plane go where the kernel would send dst.  Waits a moment for a
 * neighbour that is not known yet.  -1: no route leads there by the plane's interface. */
int hops_add(struct hops *hops, uint32_t peer, uint32_t plane, const uint8_t dst[16]);
void hops_drop(struct hops *hops, uint32_t peer);
/* The plane's interface is another by now (0: none): all that was known of the plane is void. */
void hops_follow(struct hops *hops, uint32_t plane, unsigned ifindex);
/* NULL: nobody has answered for it yet, or there is no route; asks again now and then. */
const uint8_t *hops_mac(struct hops *hops, uint32_t peer, uint32_t plane);
int hops_fd(const struct hops *hops);
void hops_read(struct hops *hops); /* takes in what the kernel has told since */

/* ---- port/loop_digest.c ---- */

void loop_digest(uint64_t *digest, uint64_t now_ns, uint32_t src, uint32_t dst,
	const struct weft_pkt *pkt); /* which has been delivered */

/* ---- port/loop_peers.c: whom an endpoint calls what ---- */

struct loop_peers;
int loop_peers_add(struct loop_peers **peers, uint32_t peer, uint16_t udp_port); /* as ports do */
void loop_peers_drop(struct loop_peers *peers, uint32_t peer);
bool loop_peers_to(const struct loop_peers *peers, uint32_t *peer);   /* becomes its node */
bool loop_peers_from(const struct loop_peers *peers, uint32_t *node); /* becomes its peer */

/* ---- peers.c: whom an address belongs to, where a path leads ---- */

#define PEER_NONE UINT32_MAX

struct peer_path {
	struct sockaddr_in6 to; /* family 0: empty slot */
	uint32_t ev;
	uint8_t arrive[16]; /* what is left of the destination at the receiver */
	uint8_t reserved[16];
};
static_assert(sizeof(struct peer_path) == 64, "one path, one cache line");

struct peers;
struct peers *peers_open(void);
void peers_close(struct peers *peers);
int peers_add(struct peers *peers, uint32_t peer, const struct weft_udp_peer *attr);
void peers_drop(struct peers *peers, uint32_t peer);
/* The peer that sends from here, or PEER_NONE; *ev = plane << 16 | index of its source port. */
uint32_t peers_find(const struct peers *peers, const struct sockaddr_in6 *from, uint32_t *ev);
/* NULL: no such path. */
const struct peer_path *peers_path(const struct peers *peers, uint32_t peer, uint32_t ev);

/* ---- offer.c: what two ends tell each other before they talk, as a line of JSON ---- */

#define OFFER_VERSION 2
#define OFFER_TEXT_MAX 65536u /* bytes of one line */

struct offer {
	char host[32], fabric[32];
	struct json_t *app; /* the application's own; a reference */
	enum weft_udp_format format;
	uint32_t planes, mtu_bytes, mpr_psns, wimm, n_qps, n_src_ports;
	uint64_t rate_bps;
	uint16_t udp_port, src_port[WEFT_UDP_SRC_PORTS_MAX];
	uint32_t absent;  /* not of the line: of struct weft_live_end; */
	uint32_t home;    /* so this */
	bool may_be_self; /* not of the line: the other end may be one of this host */
	bool trim_nack;   /* answers what arrives trimmed (TRIM_NACK of Table 10-1) */
	uint8_t addr[WEFT_PORTS_MAX][16];
	struct {
		uint32_t qpn, psn;
	} qp[WEFT_SESSION_QPS_MAX];
};
/* The line, its newline included, for free(); NULL: no memory. */
char *offer_encode(const struct offer *offer);
/* -1: error names the field.  A line {"error": "..."} is an error with that text. */
int offer_decode(const char *line, struct offer *offer, char *error, size_t error_bytes);
void offer_close(struct offer *offer); /* gives the reference back */

/* ---- rendezvous.c: a connection that carries lines, with a deadline for everything ---- */

int line_listen(uint16_t tcp_port, char *error, size_t error_bytes); /* a socket, or -1 */
/* The same as a unix socket with this name, one that a dead process left behind replaced. */
int line_listen_at(const char *path, char *error, size_t error_bytes);
int line_connect_to(const char *path, uint64_t deadline_ns); /* -1: nobody listens there */
/* The first of n addresses that answers; -1: none did. */
int line_connect(const uint8_t addrs[][16], uint32_t n, uint16_t tcp_port, uint64_t deadline_ns);
void line_close(int fd);
int line_send(int fd, const char *text, uint64_t deadline_ns);
/* Reads up to the newline, which is cut; -1: closed, too long, too late (errno ETIMEDOUT). */
int line_recv(int fd, char *text, size_t bytes, uint64_t deadline_ns);
/* The same of what is there, at *at, which it moves; EAGAIN: more will come. */
int line_read(int fd, char *text, size_t bytes, size_t *at);

/* ---- callers.c: who stands at a server's door and has not said what he wants ---- */

struct callers;
/* listener does not block and becomes its own; NULL: no memory, and it does not. */
struct callers *callers_open(int listener);
void callers_close(struct callers *callers); /* NULL is fine */
/* The connection of somebody who has said a line, and the line, until the next call; -1: nobody
 * has.  Does not wait. */
int callers_hear(struct callers *callers, uint64_t now_ns, const char **line);
/* Until somebody calls or says something, or it is time for callers_hear() anyway. */
void callers_wait(struct callers *callers, uint64_t until_ns);

#endif /* NET_LOCAL_H */
