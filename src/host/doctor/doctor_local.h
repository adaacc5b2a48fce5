/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DOCTOR_LOCAL_H
#define DOCTOR_LOCAL_H
/* doctor_local - what the files of doctor share. */
#include <weft/base.h>
#include <weft/doctor.h>
#include <weft/net.h>

#include <weft/session.h>

#include <jansson.h>
#include <stdarg.h>

/* ---- reading: one line of /proc or /sys below root ("" in life, a test's folder in tests) ---- */

/* The first line without its end; false: no such file, or it is empty. */
bool read_line(char *text, size_t bytes, const char *root, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* A number in digits at the beginning of that line; otherwise what is given. */
int64_t read_number(int64_t otherwise, const char *root, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The number behind "KEY" in a file of lines "KEY 123" or "KEY:\t123"; base 10 or 16. */
bool read_key(uint64_t *value, int base, const char *key, const char *root, const char *path);

/* ---- gathering, a file each ---- */

void machine_read(struct weft_doctor_machine *m, const char *root); /* files only */
void machine_try(struct weft_doctor_machine *m);  /* what only trying tells: sockets, priorities */
void links_read(struct weft_doctor_facts *facts); /* interfaces and addresses, by netlink */
/* Of an interface that has name and ifindex: what lies in files, and what ethtool knows. */
void link_settings(struct weft_doctor_iface *iface, const char *root);
void link_offloads(struct weft_doctor_iface *iface);
int planes_pick(struct weft_doctor_facts *facts, const char *planes, char *error, size_t bytes);
void duplicates_ask(struct weft_doctor_facts *facts); /* of planes of IPv4; a tenth of a second */
#define ARP_BYTES 28u
void arp_encode(uint8_t frame[ARP_BYTES], const uint8_t mac[6], const uint8_t target[4]);
/* The link address of who claims addr in it; NULL: nobody does. */
const uint8_t *arp_claims(const uint8_t *frame, size_t n, const uint8_t addr[4]);
void firewall_ask(struct weft_doctor_machine *m);
/* From nft's JSON; what is not as nft writes it is passed over. */
void firewall_read(struct weft_doctor_machine *m, const json_t *ruleset);

/* The kernel's way from one address to another: route and next hop's state. */
void route_ask(struct weft_doctor_path *path);
int neighbour_ask(const uint8_t to[16]); /* as has_neighbour */

/* ---- datagrams ---- */

#define PROBE_BYTES 24u /* of the smallest; IP and UDP not counted */

enum probe_kind { PROBE_SMALL, PROBE_MRC, PROBE_SIZED, PROBE_EAR, PROBE_KINDS };

struct probe {
	uint32_t nonce; /* of the asking, from the peer's greeting */
	uint8_t kind, is_answer;
	uint8_t from, to; /* planes: the asker's, the peer's */
	uint16_t seq;
	uint16_t
		bytes; /* of UDP's payload: a packet cut on its way does not pass for a whole one */
};
void probe_encode(const struct probe *probe, uint8_t bytes[PROBE_BYTES]);
bool probe_decode(struct probe *probe, const uint8_t *bytes, size_t n);

/* Bytes that IP and UDP take of an MTU. */
uint32_t ip_overhead(const uint8_t addr[16]);

/* A socket of one plane; number 0: any port.  -1: errno. */
int plane_socket(const uint8_t addr[16], uint16_t number, uint32_t ifindex);
uint16_t plane_socket_number(int fd);
struct heard {
	uint8_t bytes[65536];
	size_t n;
	uint32_t ifindex; /* by which it came in; 0: not told */
	uint8_t from[16];
	uint16_t number;
};
bool plane_hear(int fd, struct heard *heard); /* false: nothing more */
/* The next word of ICMP about what was sent, if any; mtu_bytes: that a router told, or 0. */
bool plane_trouble(int fd, enum weft_doctor_udp *what, uint32_t *mtu_bytes);
/* To all on the interface's cable, by IPv6's link-local multicast; -1: errno. */
int ear_socket(uint16_t number);
int ear_send(int fd, uint32_t ifindex, uint16_t number, const void *bytes, size_t n);

/* ---- the line between two doctors ---- */

#define LINE_BYTES 262144u /* a report fits */

/* 0, or -1: errno (ETIMEDOUT, ECONNRESET...). */
int talk_send(int fd, const json_t *message, uint64_t deadline_ns);
/* NULL: errno; EBADMSG: no JSON object came.  The caller's to give back. */
json_t *talk_recv(int fd, uint64_t deadline_ns);
json_t *plane_json(const struct weft_doctor_facts *facts);

/* ---- asking ---- */

struct asking { /* one run of weft_doctor_ask() */
	struct weft_doctor_facts *facts;
	uint64_t deadline_ns;
	int line;
	uint32_t nonce;
	uint16_t udp[WEFT_DOCTOR_PLANES_MAX]; /* the peer's ports, by its planes; 0: none */
	uint16_t mrc[WEFT_DOCTOR_PLANES_MAX];
	uint16_t ear;
	int fd[WEFT_DOCTOR_PLANES_MAX], tcp_fd[WEFT_DOCTOR_PLANES_MAX];
	int ear_fd;
	uint32_t n_cross[WEFT_DOCTOR_PLANES_MAX][WEFT_DOCTOR_PLANES_MAX]; /* answers, [own][peer] */
	uint64_t answered_ns;                          /* when the last answer came */
	uint64_t sent_ns[WEFT_DOCTOR_PLANES_MAX][256]; /* PROBE_SMALL, by sequence */
	struct heard heard;
};
/* Finds the peer and greets it; the state says how far it came. */
void meet(struct asking *a, const char *host, uint16_t tcp_port);
void pair_planes(struct weft_doctor_facts *facts);
void measure(struct asking *a); /* everything by datagrams */
void learn(struct asking *a);   /* what the peer saw */
/* Takes answers until then, or until none has come for quiet_ns. */
void listen_until(struct asking *a, uint64_t until_ns, uint64_t quiet_ns);

/* ---- judging ---- */

struct judge {
	const struct weft_doctor_facts *facts;
	struct weft_doctor_report *report;
	const char *check; /* whose turn it is */
	size_t found;      /* by this check */
	size_t n;          /* findings in all, with those that did not fit */
};
/* Adds a finding of this check; remedy is taken as it is, NULL: there is none. */
void say(struct judge *j, enum weft_doctor_verdict verdict, const char *where, const char *remedy,
	const char *cause, ...) __attribute__((format(printf, 5, 6)));

struct check {
	const char *name, *fine; /* fine: what is so where it finds nothing */
	void (*look)(struct judge *j);
};
extern const struct check machine_checks[], link_checks[], path_checks[]; /* end: name NULL */

/* "plane 1 (eth1)", "plane 1 (10.0.0.1)". */
#define WHERE_BYTES 64u
char *where_plane(const struct weft_doctor_facts *facts, uint32_t plane, char where[WHERE_BYTES]);
char *where_iface(const struct weft_doctor_facts *facts, uint32_t iface, char where[WHERE_BYTES]);
int plane_of_iface(const struct weft_doctor_facts *facts, uint32_t iface); /* -1: none's */

#endif
