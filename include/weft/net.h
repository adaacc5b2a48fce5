/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_NET_H
#define WEFT_NET_H
/*
 * net - real ports, real time: what stands between an engine and the world.
 *
 *      weft_post_*, weft_poll                       a port: all planes of one NIC
 *   app ------------------> +----------+  rx burst  +------------------------+
 *                           | endpoint | <--------- |  udp    sockets        | ==> plane 0
 *   clock ---- now -------> |    +     |            |  loop   virtual fabric | ==> plane 1
 *                           |   pump   | ---------> |  (afxdp, shm: same     | ==> ...
 *                           +----------+  tx burst  |   table of functions)  |
 *                                                   +------------------------+
 *
 * Time     The pump takes its clock as a parameter and reads it once per step; net_clock.c is the
 *          only file of this room that asks the operating system.
 * Memory   Opening allocates, closing frees, nothing in between allocates.  A received packet's
 *          payload lies in the port's buffers until the next rx burst; a sent packet's payload
 *          stays in the application's memory and is not copied in user space.
 * Threads  One thread per pump with its port and endpoint.
 * Errors   Opening says what failed in one line of text.  What arrives broken is counted by
 *          reason in the port's statistics and goes no further.
 */
#include <sys/types.h>
#include <weft/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_NET_BURST 128u    /* packets that one rx or tx call may carry */
#define WEFT_NET_EVS_MAX 4096u /* EVs of one peer */

/* ---- clock ---- */

typedef uint64_t weft_clock_fn(void *arg);
uint64_t weft_clock_now(void *arg);  /* monotonic ns, the same for all processes; arg unused */
void weft_clock_sleep(uint64_t ns);  /* about; a signal ends it early */
/* Until then, for poll(): ms, rounded up, an hour at most; 0: it is over. */
int weft_clock_left_ms(uint64_t deadline_ns);
uint64_t weft_clock_cpu_ns(void);    /* CPU time of this process, kernel's share included */
uint64_t weft_clock_thread_ns(void); /* CPU time of this thread */
uint64_t weft_clock_unix_ns(void);   /* for file names and reports */

/* ---- random ---- */

uint64_t weft_random(void); /* that nobody guesses; also where getrandom() is refused */

/* ---- inet: sockets for IPv6, and for IPv4 as ::ffff:a.b.c.d ---- */

/* By bytes, because an address may lie anywhere: ::ffff:0:0/96; ::, that of an interface which has
 * none yet. */
bool weft_inet_is_mapped(const uint8_t addr[16]);
bool weft_inet_is_none(const uint8_t addr[16]);
void weft_inet_map(const void *ipv4, uint8_t addr[16]); /* four bytes of any alignment */
/* What a name of either version says; number in the host's order, NULL: not asked for.  False: it
 * is of another family. */
struct sockaddr;
bool weft_inet_of(const struct sockaddr *name, uint8_t addr[16], uint16_t *number);

/*
 * One socket for both where the kernel has IPv6; where it has none (ipv6.disable=1, a seccomp
 * filter) one for IPv4 alone, which speaks of addresses in the same form.
 */
struct sockaddr_in6;
int weft_inet_socket(int type); /* SOCK_DGRAM or SOCK_STREAM, does not block; -1: errno */
bool weft_inet_is_v4(int fd);
int weft_inet_bind(int fd, const uint8_t addr[16], uint16_t number); /* addr NULL: any */
int weft_inet_connect(int fd, const uint8_t addr[16], uint16_t number);
/* One datagram; from: an address of ours.  As sendto() and recvfrom(). */
ssize_t weft_inet_send(int fd, const uint8_t from[16], const uint8_t to[16], uint16_t number,
	const void *bytes, size_t n);
ssize_t weft_inet_recv(int fd, void *bytes, size_t max, struct sockaddr_in6 *from);

/* ---- port: the contract ---- */

struct weft_port_stats {                      /* all only grow */
	uint64_t rx_pkts, rx_bytes, rx_calls; /* accepted; UDP payload bytes */
	uint64_t tx_pkts, tx_bytes, tx_calls; /* given to the network */
	uint64_t tx_refused;                  /* the network said no; loss recovery repairs it */
	uint64_t tx_no_path;                  /* no address for this (peer, EV) */
	uint64_t tx_waits;                    /* a plane was full and had to be waited for */
	uint64_t drops[WEFT_DROP_COUNT];      /* received, and dropped before the engine */
};

/* How quick what is sent has to be; all 0: at once.  Ports that wake nobody take no notice. */
struct weft_wake {
	/* Who must be woken is not, as long as no more than this waits for him; a tx of 0 packets
	 * and hush_bytes 0 wakes him for what does. */
	uint64_t hush_bytes;
	bool is_bulk; /* a stream: he may gather more first, see WEFT_SHM_BULK */
};
#define WEFT_WAKE_NOW ((struct weft_wake){ 0 })

struct weft_port {
	const struct weft_port_ops *ops;
	uint32_t planes; /* bits 0 .. planes - 1 of every mask below */
	bool has_bell;   /* sleep()'s fd becomes readable only once it was asked to, not by rx's */
	uint64_t unwoken_bytes; /* sent, and nobody has been woken for it, see struct weft_wake */
	struct weft_port_stats stats;
};

/*
 * Every member required.  To add one: src/host/net/port/NAME.c with a table of these and a function
 * that opens it from a configuration of its own, as weft_udp_open() does.
 */
struct weft_port_ops {
	const char *name;
	/* Up to max packets with envelope filled; payload valid until the next rx or carrier.
	 * Never waits. */
	size_t (*rx)(struct weft_port *port, struct weft_pkt pkts[], size_t max);
	/* Takes all n, at most WEFT_NET_BURST: what the network does not take now waits inside,
	 * and its plane leaves the mask of room() until it is gone. */
	void (*tx)(struct weft_port *port, const struct weft_pkt pkts[], size_t n,
		struct weft_wake wake);
	/* Planes that can take packets now; *max: how many packets the next tx should carry. */
	uint32_t (*room)(struct weft_port *port, size_t *max);
	/* Planes whose link is up.  Cheap: asked once per step. */
	uint32_t (*carrier)(struct weft_port *port);
	/* Returns when something arrived, a full plane has room again, a link changed, or max_ns
	 * have passed.  May return early. */
	void (*wait)(struct weft_port *port, uint64_t max_ns);
	/* For whoever waits for more than this port.  will: returns an fd that becomes readable
	 * when wait() would return; WEFT_PORT_BUSY: do not wait; WEFT_PORT_BLIND: look again
	 * after a while.  Then not will, which deals with what woke; rx and tx may come between. */
	int (*sleep)(struct weft_port *port, bool will);
	void (*close)(struct weft_port *port);
};

enum { WEFT_PORT_BUSY = -1, WEFT_PORT_BLIND = -2 };

/* ---- port/udp: sockets, no privilege ---- */

enum weft_udp_format {
	/* Destination = the path: block | uSIDs | host | EV.  Switches shift it; what remains at
	 * the receiver still names the EV.  Needs `local BLOCK:HOST::/48` routes (weft lab). */
	WEFT_UDP_USID,
	/* Destination = the peer's address on that plane; the EV's low half picks one of a few
	 * source ports, and a network that balances by them (ECMP) does the rest.  Any network
	 * will do, also a few plain interfaces and IPv4. */
	WEFT_UDP_PLAIN,
};

#define WEFT_UDP_SRC_PORTS_MAX 16u

/*
 * Several endpoints share a host's addresses.  Each has a UDP port where it receives, the same on
 * all planes, and source ports of its own, and tells its peers out of band.  A packet comes from
 * a known (address, source port) or is dropped; it never reaches another process's endpoint.
 */
struct weft_udp_config {
	enum weft_udp_format format;
	uint32_t planes;
	uint8_t addr[WEFT_PORTS_MAX][16]; /* own, per plane; IPv4 as ::ffff:a.b.c.d */
	/* Where addr is ::, the interface that has none yet; the plane is missing until it has. */
	char interface[WEFT_PORTS_MAX][16];
	uint16_t udp_port;                /* where to receive; 0: any free one */
	uint32_t src_ports;               /* PLAIN: how many, 0: 4; USID needs 1 */
	/* PLAIN over IPv6: send without UDP checksums, as USID always does.  The ICRC covers more,
	 * but some firewalls object. */
	bool no_checksum;
	uint32_t mtu_bytes;    /* payload of a full packet: sizes the buffers */
	/* A plane whose interface is too small for packets of so much payload is missing; 0: of
	 * mtu_bytes. */
	uint32_t need_bytes;
	uint32_t sndbuf_bytes; /* of kernel memory per plane; 0: default.  Deep ones add delay */
	uint32_t rcvbuf_bytes; /* of kernel memory, all planes together; 0: default */
};

/* 0, or -1 with one line in error. */
int weft_udp_open(struct weft_port **port, const struct weft_udp_config *config, char *error,
	size_t error_bytes);
/* The ports that came out of it; src_port has room for WEFT_UDP_SRC_PORTS_MAX.  Returns their
 * number. */
uint32_t weft_udp_numbers(const struct weft_port *port, uint16_t *udp_port, uint16_t src_port[]);

struct weft_udp_path {
	uint32_t ev;
	uint8_t dst[16];    /* uSID carrier, or the peer's address on the plane */
	uint8_t arrive[16]; /* what is left of it at the receiver: the ICRC covers this one */
};

struct weft_udp_peer {
	uint16_t udp_port;
	uint16_t src_port[WEFT_UDP_SRC_PORTS_MAX];
	uint32_t n_src_ports;
	uint32_t addrs;  /* one per plane */
	uint32_t absent; /* planes by which nothing comes from it or goes to it, for now */
	uint8_t addr[WEFT_PORTS_MAX][16];
	const struct weft_udp_path *paths; /* copied; every EV that may be used towards it */
	uint32_t n_paths;                  /* <= WEFT_NET_EVS_MAX */
};

/* From now on this peer's packets are accepted, as from `peer`, a number of the caller's choice
 * below WEFT_NET_PEERS_MAX.  -1: number taken, an address known already, or full. */
#define WEFT_NET_PEERS_MAX 4096u
int weft_udp_peer_add(struct weft_port *port, uint32_t peer, const struct weft_udp_peer *attr);
void weft_udp_peer_drop(struct weft_port *port, uint32_t peer);
/*
 * Path MTU discovery (RFC 8899), PLAIN only, with a peer that has been added and whose port is read
 * from, too.  Sends a datagram as long as a full packet with that much payload (up to the port's
 * mtu_bytes) by each of the planes in the mask that has not proved as much; the peer's port answers
 * with as many bytes.  token: 32 random bits that answers must bring back; a new one begins anew.
 */
void weft_udp_mtu_probe(struct weft_port *port, uint32_t peer, uint32_t payload_bytes,
	uint32_t planes, uint32_t token);
/* The planes by which an answer of at least this payload has come. */
uint32_t weft_udp_mtu_proved(const struct weft_port *port, uint32_t peer, uint32_t payload_bytes);

/* ---- port/shm: rings in shared memory, no privilege ---- */

/*
 * Nothing in memory flips bits between a sum and its check, so a port there may leave either out.
 * Made: captures are right, and whoever gets the packet by another way may check it.  None: zeros,
 * which every port that checks will drop.  See docs/decisions/054.
 */
enum weft_icrc_use { WEFT_ICRC_CHECKED, WEFT_ICRC_MADE, WEFT_ICRC_NONE };

/*
 * The near end dials a switch, or another host that listens as the far end; packets are whole IPv6
 * packets either way.  Planes are down while there is nobody at the other end; a near end dials
 * again by itself, a far end takes the next who comes.
 */
struct weft_shm_port_config {
	const char *path; /* of the socket: a switch's DIR/ports, or any between two hosts */
	bool is_far;      /* we listen there, and no switch is between */
	const char *host; /* whose NIC this is part of */
	uint32_t planes;  /* at most WEFT_SHM_PLANES_MAX */
	uint8_t addr[WEFT_PORTS_MAX][16]; /* own, per plane; IPv6 */
	uint32_t mtu_bytes;               /* payload of a full packet */
	uint16_t udp_port;   /* where to receive and whom to send as; 0: the far end chooses */
	uint32_t queue_pkts; /* that may wait per plane in our ring; 0: all that fit */
	uint32_t slots;      /* far end: of one direction; 0: 64 */
	bool is_srv6;        /* IPv6 in IPv6 instead of native uSIDs; one endpoint per host */
	enum weft_icrc_use icrc;
};
/* 0, or -1 with one line in error.  A near end blocks until it has met its far end, 2 s at most. */
int weft_shm_port_open(struct weft_port **port, const struct weft_shm_port_config *config,
	char *error, size_t error_bytes);
uint16_t weft_shm_port_number(const struct weft_port *port); /* UDP port, of both kinds */
/* As weft_udp_peer_add(); addresses are the peers' own, `dst` the carrier. */
int weft_shm_port_peer_add(struct weft_port *port, uint32_t peer, const struct weft_udp_peer *attr);
void weft_shm_port_peer_drop(struct weft_port *port, uint32_t peer);

/* ---- port/afpacket, port/afxdp: whole Ethernet frames ---- */

/*
 * Around the kernel's IP: the outer header of SRv6 is ours, so that its marks (ECN, trimming) are
 * seen, and much of port/udp's CPU time is saved.  Both need CAP_NET_RAW and CAP_NET_ADMIN in
 * the network namespace of the interfaces, afxdp also CAP_BPF and CAP_IPC_LOCK.  Whatever is
 * changed there is undone by the kernel when the process ends, also by kill -9.
 *
 * A plane's interface is the one that has its address, or whose routes send with it.  Next hops
 * come from the kernel's routes and neighbours.  IPv6 only, no VLAN tags; an endpoint has one UDP
 * port, which is also its source port with USID.
 */
struct weft_eth_config {
	uint8_t kind; /* enum weft_encap_kind (wire.h): USID, SRV6 or STEV */
	uint32_t planes;
	uint8_t addr[WEFT_PORTS_MAX][16]; /* own, per plane */
	char interface[WEFT_PORTS_MAX][16]; /* as for port/udp */
	uint8_t usid[WEFT_PORTS_MAX][16]; /* USID, SRV6: the /48 where packets for us arrive */
	uint16_t udp_port;                /* where to receive; 0: any free one */
	uint32_t mtu_bytes;               /* payload of a full packet: sizes the buffers */
	uint32_t sndbuf_bytes;            /* afpacket: as for port/udp */
};

/*
 * Packet sockets with memory-mapped rings.  Works on every Ethernet interface, through its queueing
 * discipline (so that `weft lab` can shape it), beside any number of others.
 */
int weft_afpacket_open(struct weft_port **port, const struct weft_eth_config *config, char *error,
	size_t error_bytes);
/*
 * AF_XDP sockets, copy mode, and a program on the interface that passes on what is not ours.  One
 * of them per interface; goes around queueing disciplines, so it refuses interfaces that shape.
 */
int weft_afxdp_open(struct weft_port **port, const struct weft_eth_config *config, char *error,
	size_t error_bytes);

uint16_t weft_eth_number(const struct weft_port *port); /* the UDP port that came out of it */
/* As for port/udp.  src_port[] counts with USID only; one peer per address otherwise. */
int weft_eth_peer_add(struct weft_port *port, uint32_t peer, const struct weft_udp_peer *attr);
void weft_eth_peer_drop(struct weft_port *port, uint32_t peer);

/* ---- pump: one endpoint, one port, one clock ---- */

struct weft_pump;

struct weft_pump_stats {
	uint64_t steps, waits;
	uint64_t placed_bytes; /* moved to where they belong */
	uint64_t placed_at_ns; /* when last */
	/* How much later than it asked for did the last step begin, counted from the end of the
	 * wait before it, or from the beginning of the step before where that did not wait.  A
	 * step's own work takes well under a millisecond; more than that was not ours. */
	uint64_t late_ns;
};

struct weft_pump_config {
	struct weft_endpoint *ep;
	struct weft_port *port; /* stays the caller's to close, after the pump */
	weft_clock_fn *clock;   /* NULL: weft_clock_now */
	void *clock_arg;
	/* Moves the bytes of a scattered receive or read (place->list_at), by weft_nofault_copy();
	 * else never called. */
	void (*scatter)(void *arg, const struct weft_place *place);
	void *scatter_arg;
};

int weft_pump_open(struct weft_pump **pump, const struct weft_pump_config *config);
void weft_pump_close(struct weft_pump *pump); /* NULL is fine */
/*
 * One turn: receive a burst, place it, send what may leave.  Where nothing was to be done, waits
 * for up to max_wait_ns (0: polls, for the lowest latency).  Returns the packets moved.
 */
size_t weft_pump_step(struct weft_pump *pump, uint64_t max_wait_ns);
/* From now on, turns leave acknowledgements that are not older than this unsent where there is
 * nothing else to send, see weft_acks_since(); 0, as in the beginning: they do not. */
void weft_pump_hold(struct weft_pump *pump, uint64_t hold_ns);
/* How quick what turns send from now on has to be; in the beginning: at once.  A pump that waits
 * itself decides is_bulk by what it has moved lately. */
void weft_pump_wake(struct weft_pump *pump, struct weft_wake wake);
uint64_t weft_pump_now(const struct weft_pump *pump); /* "now" of the last step */
const struct weft_pump_stats *weft_pump_stats(const struct weft_pump *pump);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_NET_H */
