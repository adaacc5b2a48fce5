/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_SESSION_H
#define WEFT_SESSION_H
/*
 * session - an endpoint of this host, live, and connections set up out of band.
 *
 *   weft_live_open ---------- fabric file, addresses, port, engine, pump
 *     server: weft_live_listen   weft_live_accept   weft_live_answer ----+--> struct weft_session:
 *     client: weft_live_connect -----------------------------------------+    QPs in RTS, both ways
 *
 * MRC has no connection manager: peers agree beforehand on queue pair numbers, first PSNs,
 * windows and addresses (Table 10-1 of the specification).  Here they do so over one short TCP
 * connection, three lines of JSON: offer, answer, go.  The client tries the peer's addresses on
 * all planes, so a dead plane does not keep two hosts from meeting; afterwards nothing is sent
 * over TCP any more and the queue pairs live as long as any plane does.  (Where all hosts are
 * processes of one machine a unix socket takes the place of TCP.)  The connection stays open
 * for one thing that MRC has no packet for: the kernel hangs up for a program that has ended.
 *
 * Time     Set-up blocks, up to the given limit.  Everything after it is the pump's.
 * Memory   Objects are opened and closed; app trees (jansson) belong to the session.
 * Threads  One per struct weft_live.
 * Errors   -1 and one line of text; what the peer sent wrong is told with the field's name.
 */
#include <weft/net.h>
#include <weft/topo.h>

#ifdef __cplusplus
extern "C" {
#endif

struct json_t; /* jansson */
struct weft_live;
struct weft_meeting; /* a client's offer that waits for an answer */

#define WEFT_SESSION_QPS_MAX 256u
#define WEFT_SESSION_TCP_PORT 18515

/* A port that the caller has opened, in place of one by name. */
struct weft_live_port {
	struct weft_port *port; /* closed with the endpoint, or where that cannot be opened */
	/* How peers reach it, as they are told: number, and as many source ports, which are paths
	 * where there is no fabric file; all of them this number. */
	uint16_t udp_port;
	uint32_t n_src_ports; /* 1 to WEFT_UDP_SRC_PORTS_MAX */
	int (*peer_add)(struct weft_port *port, uint32_t peer, const struct weft_udp_peer *attr);
	void (*peer_drop)(struct weft_port *port, uint32_t peer);
};

struct weft_live_config {
	/* Which fabric and host we are; NULL: $WEFT_FABRIC and $WEFT_HOST (weft lab run sets them).
	 * Without a fabric file, planes lists own addresses, or the interfaces that have them, one
	 * per plane: "10.0.0.1,eth1". */
	const char *fabric, *host, *planes;
	/* Where a switch lives (weft switch); NULL: $WEFT_SWITCH.  Set-up lines go there, too. */
	const char *switch_dir;
	/* Port by name: "udp"; "shm", to the switch there; "shm-far", in its place for one host
	 * that dials in by "shm".  NULL: $WEFT_VIA, else "shm" where there is a switch, else
	 * "udp". */
	const char *via;
	const struct weft_live_port *port; /* lent for the call; NULL: by via */
	struct weft_config
		engine;      /* weft_live_defaults() fills it; ports and mtu follow the fabric */
	const char *cc;      /* congestion control by name; NULL: NSCC */
	uint32_t rtt_ns;     /* idle round trip of the longest path; 0: the fabric file's */
	uint32_t paths;      /* EVs per connection; 0: all there are, at most 256 */
	uint32_t timeout_ms; /* a peer silent for about this long ends a QP; 0: 4000 */
	uint64_t rate_bps;   /* all planes together; 0: the fabric file's */
	/* Payload of a full packet.  0: what fits the fabric file's links; without a file what each
	 * path proves to carry, or 1024 where ports cannot probe or no_path_mtu says so. */
	uint32_t mtu_bytes;
	bool no_path_mtu;    /* no probes: the smaller of what two endpoints have */
	weft_clock_fn *clock; /* the pump's; NULL: weft_clock_now */
	void *clock_arg;
	/* See struct weft_pump_config; no argument. */
	void (*scatter)(void *arg, const struct weft_place *place);
	bool no_checksum;        /* with planes: see struct weft_udp_config */
	enum weft_icrc_use icrc; /* shm only; weft_live_defaults(): made, not checked */
};

/*
 * Which of topo's hosts we are: in a lab, the one that the namespace is called after, for launchers
 * of jobs (MPICH's, Slurm's) take WEFT_HOST along to other hosts; else WEFT_HOST.  NULL: not set.
 */
const char *weft_live_this_host(const struct weft_topo *topo, char name[WEFT_TOPO_NAME_BYTES]);
void weft_live_defaults(struct weft_live_config *config);
/* -1: error says why; errno is ENOMEM, EMFILE, ENFILE or EAGAIN where that was lacking, and
 * EADDRNOTAVAIL where no plane is there (so far). */
int weft_live_open(struct weft_live **live, const struct weft_live_config *config, char *error,
	size_t error_bytes);
void weft_live_close(struct weft_live *live);
struct weft_endpoint *weft_live_endpoint(struct weft_live *live);
struct weft_port *weft_live_port(struct weft_live *live);
struct weft_pump *weft_live_pump(struct weft_live *live);
const struct weft_config *weft_live_engine(const struct weft_live *live);
const char *weft_live_host(const struct weft_live *live);
uint64_t weft_live_line_bps(const struct weft_live *live); /* of all planes' links together */
uint32_t weft_live_random(struct weft_live *live);         /* for keys: from the operating system */

/* An own address for a plane, by address or by the interface that has it; IPv4 becomes
 * ::ffff:a.b.c.d.  False: it is neither. */
bool weft_plane_address(const char *word, uint8_t addr[16]);
/* Whether it may be the name of an interface that is not there yet, or has no address. */
bool weft_plane_may_come(const char *word);
#define WEFT_PLANE_TEXT_BYTES 46u
void weft_plane_text(const uint8_t addr[16], char text[WEFT_PLANE_TEXT_BYTES]);

/*
 * For planes where nobody names any: this host's interfaces that are up, not loopback and not a
 * tunnel, one address each, IPv4 before IPv6; and the client's, plane by plane to a server that
 * listens at host, of which it asks (tcp_port as below).  "::" is a plane that this end has not.
 * -1: error says why.
 */
#define WEFT_PLANES_TEXT_BYTES (WEFT_PORTS_MAX * WEFT_PLANE_TEXT_BYTES)
int weft_planes_here(char planes[WEFT_PLANES_TEXT_BYTES], char *error, size_t error_bytes);
int weft_planes_towards(const char *host, uint16_t tcp_port, uint64_t limit_ns,
	char planes[WEFT_PLANES_TEXT_BYTES], char *error, size_t error_bytes);

struct weft_session {
	uint32_t peer, pathset, n_qps;
	int line; /* the TCP connection; valid while there are queue pairs */
	uint32_t mtu_bytes; /* path MTU of its queue pairs */
	uint32_t narrow;    /* planes left out, for they carry less */
	uint64_t gone_at_ns;
	struct weft_qp *qp[WEFT_SESSION_QPS_MAX];
	uint32_t qpn[WEFT_SESSION_QPS_MAX];
	char peer_host[32];
	struct json_t *app; /* what the peer's application said */
};

/* Completion queue 0 takes everything.  tcp_port 0: WEFT_SESSION_TCP_PORT. */
int weft_live_listen(struct weft_live *live, uint16_t tcp_port, char *error, size_t error_bytes);
/* 1: a client came; 0: none within limit_ns; -1: one came and was refused (error says why). */
int weft_live_accept(struct weft_live *live, uint64_t limit_ns, struct weft_meeting **meeting,
	char *error, size_t error_bytes);
const struct json_t *weft_meeting_app(const struct weft_meeting *meeting);
/* Either of these ends the meeting.  app is not taken over. */
int weft_live_answer(struct weft_meeting *meeting, struct json_t *app, struct weft_session *session,
	char *error, size_t error_bytes);
void weft_live_refuse(struct weft_meeting *meeting, const char *why);
/* host: a name in the fabric file; without one an address or DNS name.  tcp_port as above. */
int weft_live_connect(struct weft_live *live, const char *host, uint16_t tcp_port, uint32_t n_qps,
	struct json_t *app, uint64_t limit_ns, struct weft_session *session, char *error,
	size_t error_bytes);
/* True: the peer's program has closed the session or has ended, however it did.  Cheap: asks the
 * kernel every 50 ms.  False says nothing: the peer's host or every plane may be dead. */
bool weft_session_gone(struct weft_live *live, struct weft_session *session);
/* Closes the queue pairs at once: whoever wants an orderly end polls for it first. */
void weft_session_close(struct weft_live *live, struct weft_session *session);

/*
 * Without a session: for whoever lets two ends know of each other by other means (device).  What
 * one must know of the other; addr: own, per plane.
 */
struct weft_live_end {
	char host[32], fabric[32];
	uint32_t format, planes, mtu_bytes, n_src_ports; /* format: enum weft_udp_format */
	uint16_t udp_port, src_port[WEFT_UDP_SRC_PORTS_MAX];
	uint64_t rate_bps;
	bool trim_nack;
	uint32_t absent; /* planes that nobody has heard from: nothing goes there, nor comes */
	uint32_t home;   /* the plane by whose address it is known */
	uint8_t addr[WEFT_PORTS_MAX][16];
};
void weft_live_end(struct weft_live *live, struct weft_live_end *end);
/* From now on its packets are accepted, and pathset leads to it.  The other end may be one of this
 * host, or this one.  -1: it does not fit this one, or the fabric file knows better. */
int weft_live_peer_open(struct weft_live *live, const struct weft_live_end *end, uint32_t *peer,
	uint32_t *pathset, char *error, size_t error_bytes);
void weft_live_peer_close(struct weft_live *live, uint32_t peer); /* as often as opened */
/* Where it is: the address by which it is known, the plane of that, and the port that data go to.
 * False: no such peer. */
bool weft_live_peer_at(const struct weft_live *live, uint32_t peer, uint8_t addr[16],
	uint32_t *plane, uint16_t *udp_port);
/* Where one like this is open, its absent planes are these from now on; false: none is. */
bool weft_live_peer_planes(struct weft_live *live, const struct weft_live_end *end);
bool weft_live_peer_is_open(const struct weft_live *live, const struct weft_live_end *end);
/* Congestion control and timeouts as this fabric wants them; all else is left alone. */
void weft_live_qp_defaults(
	const struct weft_live *live, uint64_t rate_bps, struct weft_qp_attr *attr);
/* The path MTU that both ends have agreed on, and what follows from it, for the move to RTR. */
void weft_live_qp_mtu(struct weft_qp_attr *attr, uint32_t mtu_bytes);
const struct weft_topo *weft_live_topo(const struct weft_live *live); /* NULL: no fabric file */

/*
 * mail - short messages between the two ends of a session, over its queue pair 0, so that they
 * arrive as long as any plane lives.  Each is a JSON tree, written into a slot of the other end's
 * memory and announced by an immediate.  At most WEFT_MAIL_SLOTS / 2 may be on their way: question
 * and answer, not a stream.  Whoever uses mail leaves queue pair 0 to it.
 */
#define WEFT_MAIL_SLOTS 8u
#define WEFT_MAIL_BYTES 16384u /* of one message */
#define WEFT_MAIL_ID                                                                               \
	(UINT64_C(0x4d61) << 48) /* work and receive ids of mail begin with these bits */

struct weft_mail {
	struct weft_live *live;
	struct weft_session *session;
	uint8_t *memory; /* slots received into, then slots sent from */
	uint64_t peer_va;
	uint32_t rkey, peer_rkey, sent, unacked;
};

int weft_mail_open(struct weft_mail *mail, struct weft_live *live); /* -1: no room */
/* Puts what the other end must know into the tree that goes to connect or answer. */
void weft_mail_offer(const struct weft_mail *mail, struct json_t *app);
/* -1: the peer's offer has no mail, or a wrong one. */
int weft_mail_start(
	struct weft_mail *mail, struct weft_session *session, char *error, size_t error_bytes);
/* -1: too long, too many under way, or the queue pair is dead. */
int weft_mail_send(struct weft_mail *mail, const struct json_t *message);
/* Whether this completion was mail's.  *message: what came with it, the caller's to give back, or
 * NULL. */
bool weft_mail_take(struct weft_mail *mail, const struct weft_done *done, struct json_t **message);
bool weft_mail_idle(const struct weft_mail *mail); /* all that was sent has been acknowledged */
void weft_mail_close(struct weft_mail *mail);      /* after the session */

#ifdef __cplusplus
}
#endif
#endif /* WEFT_SESSION_H */
