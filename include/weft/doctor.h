/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_DOCTOR_H
#define WEFT_DOCTOR_H
/*
 * doctor - preflight: what of a server, or of the way to another, stands in Weft's way.
 *
 *   gather (kernel, /proc, /sys) --+
 *   ask (a peer's doctor) ---------+--> struct weft_doctor_facts --> judge --> findings
 *
 * Facts are plain; judging reads nothing but them.  So each check is tested with facts made by
 * hand, and the kernel is asked in few places.
 *
 * Time     Gathering takes a tenth of a second (ARP), asking WEFT_DOCTOR_ASK_NS at most, whoever
 *          is dead.
 * Memory   All structs are the caller's; facts are large: not on a stack.
 * Threads  Any; nothing is shared.
 * Errors   A fact that the kernel will not tell is unknown, and nothing is said of it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct json_t; /* jansson */

#define WEFT_DOCTOR_PLANES_MAX 32u
#define WEFT_DOCTOR_IFACES_MAX 64u
#define WEFT_DOCTOR_ADDRS_MAX 256u
#define WEFT_DOCTOR_DROPS_MAX 16u
#define WEFT_DOCTOR_FINDINGS_MAX 256u
#define WEFT_DOCTOR_TCP_PORT 18515u /* as weft perf's: the firewall that lets one in shows */
#define WEFT_DOCTOR_UDP_PORT 4791u  /* MRC's own */
#define WEFT_DOCTOR_ASK_NS UINT64_C(5000000000)

/* ---- findings ---- */

enum weft_doctor_verdict {
	WEFT_DOCTOR_OK,
	WEFT_DOCTOR_NOTE,    /* runs; good to know */
	WEFT_DOCTOR_WARNING, /* runs, slower or only sometimes */
	WEFT_DOCTOR_FAULT,   /* does not run, or a plane is lost */
};

struct weft_doctor_finding {
	enum weft_doctor_verdict verdict;
	char check[24];   /* its name for programs: "carrier" */
	char where[64];   /* "plane 0 (eth1)", "this machine" */
	char cause[224];  /* a sentence */
	char remedy[224]; /* a command to paste, or what to do; "" where there is none */
};

struct weft_doctor_report {
	size_t n; /* what does not fit is left out, the harmless first */
	struct weft_doctor_finding finding[WEFT_DOCTOR_FINDINGS_MAX];
};

/* ---- facts of this machine ---- */

/* What the kernel does not tell is -1. */
struct weft_doctor_iface {
	char name[16];
	uint32_t ifindex, mtu_bytes;
	uint32_t speed_mbps; /* 0: not told */
	bool is_up, has_carrier, is_loopback;
	bool is_device; /* hardware (or a virtual machine's), not made by software */
	bool is_half_duplex, has_no_ipv6, has_mac;
	uint8_t mac[6];
	int tx_checksum, rx_checksum, gso, gro;  /* offloads: 1 on, 0 off */
	int rp_filter, arp_ignore, arp_announce; /* in effect: the larger of "all" and its own */
	uint32_t rx_queues;                      /* 0: not told */
	uint32_t irqs, irq_cpus;     /* its interrupts, and the CPUs that they may go to */
	bool has_rps;                /* software spreads what one queue receives */
	uint64_t crc_errors, missed; /* since it is there */
};

struct weft_doctor_addr {
	uint8_t addr[16];     /* IPv4: ::ffff:a.b.c.d */
	uint32_t iface;       /* position among the interfaces */
	uint32_t prefix_bits; /* of the 128 */
	bool is_link_local, is_tentative, is_duplicate;
};

struct weft_doctor_plane {
	char word[64];    /* as named by a person, or the address */
	uint8_t addr[16]; /* :: where none was found */
	int iface;        /* -1: none has it */
};

/* A place in the firewall where UDP may end. */
struct weft_doctor_drop {
	char table[64], chain[64], hook[16]; /* "inet filter", "input", "input" */
	bool is_policy;                      /* what no rule takes is dropped */
	bool is_certain;                     /* no condition that we do not understand */
	uint16_t port;                       /* of UDP; 0: all */
	uint32_t handle;                     /* the rule\'s, as `nft -a list ruleset` shows it */
};

struct weft_doctor_machine {
	char kernel[64], clock_source[32], governor[32];
	uint32_t cpus; /* that this process may use */
	uint64_t rmem_max_bytes, wmem_max_bytes;
	uint64_t rcvbuf_bytes, sndbuf_bytes; /* what a socket of ours got of 8 MiB */
	uint64_t memlock_bytes, nofile;      /* UINT64_MAX: no limit */
	bool has_real_time, has_ipv6, has_udp_segment, has_udp_gro, has_srv6;
	bool has_shm;
	uint64_t shm_bytes, shm_free_bytes;
	uint64_t cpu_quota_us, cpu_period_us, throttled; /* quota 0: none */
	uint32_t seccomp;                                /* 0 off, 1 strict, 2 filter */
	uint64_t capabilities;
	uint64_t huge_pages, huge_pages_free;
	uint64_t conntrack, conntrack_max; /* max 0: connections are not tracked */
	bool has_legacy_iptables;
	bool is_firewall_known;
	uint32_t drops;
	struct weft_doctor_drop drop[WEFT_DOCTOR_DROPS_MAX];
};

/* ---- facts of the way to a peer ---- */

enum weft_doctor_tcp {
	WEFT_DOCTOR_TCP_UNTRIED,
	WEFT_DOCTOR_TCP_OPEN,
	WEFT_DOCTOR_TCP_REFUSED, /* its host lives, nothing listens */
	WEFT_DOCTOR_TCP_SILENT,
	WEFT_DOCTOR_TCP_UNREACHABLE, /* said by a router, a firewall, or for want of a neighbour */
};

enum weft_doctor_udp {
	WEFT_DOCTOR_UDP_SILENT,
	WEFT_DOCTOR_UDP_REFUSED,     /* ICMP port unreachable: UDP comes through, nothing listens */
	WEFT_DOCTOR_UDP_PROHIBITED,  /* ICMP: a firewall that says so */
	WEFT_DOCTOR_UDP_UNREACHABLE, /* ICMP host or network, or for want of a neighbour */
	WEFT_DOCTOR_UDP_NOT_SENT,    /* our own firewall */
};

/* Plane i of ours to plane i of the peer. */
struct weft_doctor_path {
	uint8_t from[16], to[16];
	bool is_tried;        /* both ends have an address, of one version */
	bool has_route;       /* by any interface */
	char route_iface[16]; /* the one that the kernel would take */
	bool has_gateway;     /* not in one subnet */
	int has_neighbour;    /* next hop's link address: 1 there, 0 nobody answers, -1 unknown */
	enum weft_doctor_tcp tcp;                   /* to its control port */
	enum weft_doctor_udp udp;                   /* what ICMP said */
	uint32_t sent, arrived, echoed;             /* small packets, any port */
	uint32_t mrc_sent, mrc_arrived;             /* the same to port 4791; 0 sent: untried */
	uint32_t own_mtu_bytes, peer_mtu_bytes;     /* of the interfaces; 0: unknown */
	uint32_t mtu_out_bytes, mtu_back_bytes;     /* largest that came through; 0: untried */
	uint32_t mtu_told_bytes;                    /* ICMP said so; 0: nobody did */
	uint32_t peer_iface_wrong, own_iface_wrong; /* packets that came in by another interface */
	char peer_iface[16], arrived_iface[16];     /* the plane's, and the last wrong one */
	char echoed_iface[16];                      /* own: the last wrong one */
	int answers_as;  /* plane of the peer that our plane i reaches instead of i; -1: none */
	int cabled_to;   /* plane whose interface heard our plane's multicast; -1: none did */
	uint64_t rtt_ns; /* shortest */
};

enum weft_doctor_peer_state {
	WEFT_DOCTOR_PEER_UNASKED,
	WEFT_DOCTOR_PEER_UNKNOWN,  /* its name has no address */
	WEFT_DOCTOR_PEER_DEAD,     /* nothing at all came back */
	WEFT_DOCTOR_PEER_ABSENT,   /* its host lives, its doctor does not */
	WEFT_DOCTOR_PEER_FILTERED, /* its host lives, TCP is dropped */
	WEFT_DOCTOR_PEER_OTHER,    /* something else listens there (weft perf, say) */
	WEFT_DOCTOR_PEER_ANSWERED,
	WEFT_DOCTOR_PEER_LOST, /* ended in the middle */
};

struct weft_doctor_peer {
	enum weft_doctor_peer_state state;
	char name[64], why[128];
	uint16_t tcp_port;
	uint32_t planes; /* the peer's */
	uint8_t plane_addr[WEFT_DOCTOR_PLANES_MAX][16];
	uint32_t paths;
	struct weft_doctor_path path[WEFT_DOCTOR_PLANES_MAX];
	enum weft_doctor_udp udp;         /* ICMP's answer where no doctor does */
	int has_neighbour;                /* as a path's, where no doctor answers */
	struct weft_doctor_report report; /* the peer's own findings */
};

struct weft_doctor_facts {
	struct weft_doctor_machine machine;
	uint32_t ifaces, addrs, planes;
	bool are_planes_named; /* by a person; else each interface with an address is one */
	struct weft_doctor_iface iface[WEFT_DOCTOR_IFACES_MAX];
	struct weft_doctor_addr addr[WEFT_DOCTOR_ADDRS_MAX];
	struct weft_doctor_plane plane[WEFT_DOCTOR_PLANES_MAX];
	struct weft_doctor_peer peer;
};

/*
 * Fills all but the peer.  planes: "10.0.0.1,eth1", as a live endpoint has them; NULL: every
 * interface with an address that others can reach.  -1: they cannot be read; error says why.
 */
int weft_doctor_gather(
	struct weft_doctor_facts *facts, const char *planes, char *error, size_t error_bytes);

/* Fills facts->peer: all that can be found out about host in WEFT_DOCTOR_ASK_NS. */
void weft_doctor_ask(struct weft_doctor_facts *facts, const char *host, uint16_t tcp_port);

/* All checks, worst first, as many as there is room for.  with_ok: what is in order, too. */
void weft_doctor_judge(
	const struct weft_doctor_facts *facts, bool with_ok, struct weft_doctor_report *report);

/* The other end.  Opened once, it answers those who ask; each time with facts gathered anew. */
struct weft_doctor_ear;
/* planes: as to gather; -1: error says why. */
int weft_doctor_listen(struct weft_doctor_ear **ear, const char *planes, uint16_t tcp_port,
	char *error, size_t error_bytes);
/* Waits for up to max_ms and answers what came; the number of peers that have left so far. */
uint32_t weft_doctor_hear(struct weft_doctor_ear *ear, int max_ms);
void weft_doctor_deafen(struct weft_doctor_ear *ear); /* NULL is fine */

/* For programs: {"verdict", "check", "where", "cause", "remedy"} each.  The caller's to give back;
 * NULL: no memory.  Read back, what is not such a thing is left out and texts are made clean. */
struct json_t *weft_doctor_report_json(const struct weft_doctor_report *report);
void weft_doctor_report_read(const struct json_t *json, struct weft_doctor_report *report);
const char *weft_doctor_verdict_name(enum weft_doctor_verdict verdict);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_DOCTOR_H */
