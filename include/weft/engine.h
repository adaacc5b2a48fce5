/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_ENGINE_H
#define WEFT_ENGINE_H
/*
 * engine - the MRC protocol as a state machine, and nothing else.
 *
 *        weft_post_*()                     weft_poll()
 *   app -------------> +---------------+ -------------> app
 *                      | weft_endpoint |
 *   net -------------> +---------------+ -------------> net
 *        weft_input(now)                   weft_output(now)
 *
 * Time     "now" is nanoseconds since an epoch of the caller's choice, starts above 0 and
 *          never runs backwards.  The engine reads no clock.
 * Memory   The caller lends one block at init; all state is carved out of it.  Payload is
 *          never copied: output points into the sender's memory, input says where received
 *          bytes belong.
 * Paths    A path is an EV with a port (= plane).  What address, flow label or SID list an
 *          EV stands for is the business of whoever puts packets on the wire.
 * Profiles A QP is STRICT (MRC [P 2.1]: writes, and writes with immediate), EXTENDED (sends,
 *          reads and atomics besides, as verbs programs know them from RC), one end of XRC (the
 *          same, one way, to shared queues of the sender's choice) or DATAGRAM (packets of UD
 *          between two queue pairs of the caller's, both ways).  All but the first are ours
 *          (docs/decisions/110), want config.extended_qps, and speak only to a peer that has
 *          agreed; a strict QP counts such packets and drops them.
 * Threads  One thread at a time per endpoint.  No locks, no globals.
 * Errors   0, or a negative enum weft_error when the *caller* asked for something impossible;
 *          nothing has changed then.  What peers and networks do wrong is counted
 *          (weft_stats) and dropped.  A broken invariant aborts, in every build.
 */
#include <weft/cc.h>
#include <weft/proto.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_endpoint; /* one NIC: its QPs, regions, path sets and timers */
struct weft_qp;       /* one connection; a slot of its endpoint */

/* What functions that return int return when they refuse; 0 when they do not. */
enum weft_error {
	WEFT_EINVAL = -1, /* an argument is out of its range */
	WEFT_EFULL = -2,  /* no free slot, queue full */
	WEFT_ESTATE = -3, /* not in this state */
	WEFT_ENOENT = -4, /* no such object */
};
/* Words for people, "no such object"; 0 is "ok", and "?" none of them.  A static string. */
const char *weft_strerror(int error);

/* As the OCP API has them [P 2.6]. */
enum weft_qp_state { WEFT_QP_RESET, WEFT_QP_INIT, WEFT_QP_RTR, WEFT_QP_RTS, WEFT_QP_ERROR };

enum weft_path_state { /* Figure 5 of the specification; EMPTY is ours: no EV in this slot */
	WEFT_PATH_EMPTY,
	WEFT_PATH_GOOD,
	WEFT_PATH_SKIP,
	WEFT_PATH_ASSUMED_BAD,
	WEFT_PATH_DENIED
};

enum weft_status { /* how a work request or a QP ended; order and meaning of verbs' errors */
	WEFT_OK,
	WEFT_FLUSHED,            /* the QP failed or was closed before this was done */
	WEFT_RETRY_EXCEEDED,     /* the peer did not answer within the retry budget */
	WEFT_REMOTE_ACCESS,      /* peer: key, bounds or access wrong */
	WEFT_REMOTE_INVALID,     /* peer: malformed, or too many immediates */
	WEFT_REMOTE_OPERATION,   /* peer: could not go on (no receive posted, unexpected event) */
	WEFT_LOCAL_NO_RECV,      /* an immediate arrived and no receive was posted */
	WEFT_LOCAL_PROTOCOL,     /* the peer broke an agreement (WIMM limit, access) */
	WEFT_CQ_OVERRUN,         /* a completion found its queue full */
	WEFT_LOCAL_LENGTH,       /* a message was longer than the receive that it met */
	WEFT_RNR_RETRY_EXCEEDED, /* the peer had no receive posted for too long */
	WEFT_LOCAL_MEMORY,       /* memory that a work names is not there any more */
};
/* Words for people, "retry budget exceeded"; "?" for none of them.  A static string. */
const char *weft_status_name(int status);

/*
 * Fixed for life.  The first block decides the size of the memory block; counts are powers of
 * two where marked (2^).
 */
struct weft_config {
	uint32_t qps;           /* 2^, 1..65536 */
	uint32_t cqs;           /* 1..65536 */
	uint32_t regions;       /* 2^, 1..65536 */
	uint32_t pathsets;      /* 1..65535 */
	uint32_t paths_per_set; /* active + backup, 1..512 */
	uint32_t paths;         /* of all sets together, ..2^24; 0: pathsets x paths_per_set */
	uint32_t ports;         /* planes, 1..32 */
	uint32_t sq_depth, rq_depth; /* 2^, per QP, <= 32768 */
	uint32_t cq_depth;      /* 2^, per CQ */
	uint32_t window_psns;   /* largest window in either direction: 128..32640 by 128 */
	uint32_t inflight_pkts; /* sent records shared by all QPs: about 1.5 x bandwidth x delay */
	uint32_t wimm_max;      /* 2^, immediates parked per QP */
	uint32_t answers;       /* 2^, queued SACKs, NACKs, ACKs of the endpoint */
	uint32_t events;        /* 2^, records of the event ring */
	uint32_t extended_qps;  /* of all kinds but STRICT, two of `qps` each; 0: none */
	uint32_t rd_atomic_max; /* 2^, 1..128, <= sq_depth: reads and atomics of a QP, each way */
	uint32_t recvqs, recvq_depth; /* shared receive queues, ..65535; 2^, receives in each */

	uint32_t mtu_bytes;        /* payload of the largest packet, multiple of 4, 64..8192 */
	uint32_t sack_bytes;       /* SACK after this much data [P 4.1], [P 8.8] */
	uint32_t base_rtt_ns;      /* longest path, idle; timers start from it */
	uint32_t probe_ns_min;     /* first probe of a bad path: max(4 base_rtt, this) */
	uint32_t probe_ns_max;     /* its back-off ends here */
	uint32_t reverse_probe_ns; /* EV-probe period of a set that only receives; 0: never */
	uint32_t proof_answers;    /* clean answers in a row that bring a path back */
	uint64_t seed;             /* the only source of randomness */
	bool zeroed;               /* the block is all zero: init touches only what it needs */
	/* Whether these may be read, and written, for the few bytes that the engine moves itself:
	 * atomics, and ends of writes.  NULL: always. */
	bool (*reach)(void *at, size_t bytes, bool write);
};
/* Fills all of it, for one 8-plane host. */
void weft_config_default(struct weft_config *config);
/*
 * Why no endpoint can be like that: the field and what it may be, "qps: a power of two, 1 to
 * 65536"; NULL: it can be.  A static string.
 */
const char *weft_config_fault(const struct weft_config *config);

/* Paths to one peer, shared by any number of QPs to it. */
struct weft_pathset_attr {
	uint32_t peer;
	const uint32_t *evs;  /* n of them, distinct; copied */
	const uint8_t *ports; /* the port of each EV, < config.ports */
	uint32_t n;
	uint32_t active;      /* how many to spray over; the rest are backups.  0: all */
	uint32_t active_min;  /* never retire below; 0: max(planes, active / 4) */
	bool in_order;        /* used in the order of evs, a random one already; else shuffled */
};

enum { WEFT_ACCESS_REMOTE_WRITE = 1, WEFT_ACCESS_REMOTE_READ = 2, WEFT_ACCESS_REMOTE_ATOMIC = 4 };

/*
 * An EXTENDED QP is a pair of slots: an even one, which is all that its owner sees, and the odd
 * one behind it, which carries replies (data of reads, results of atomics) so that nothing that
 * holds requests back (a fence, a peer without receives) holds back answers.  Both ends know
 * the other's second number, it is qpn | 1, and both streams start with the same PSN.  The
 * QP answers the peer's reads only in RTS.
 */
enum weft_qp_kind {
	WEFT_QP_STRICT,
	WEFT_QP_EXTENDED,
	WEFT_QP_DATAGRAM, /* carries WEFT_WORK_DATAGRAM, in order and once, and nothing else */
	WEFT_QP_XRC_SEND, /* as EXTENDED; asks, and takes no requests */
	WEFT_QP_XRC_RECV, /* answers XRC_SEND; receives come from the queue that a packet names */
};
enum { WEFT_NO_RECVQ = 0, WEFT_RNR_FOR_EVER = 7 };

struct weft_qp_attr { /* weft_qp_move reads the part that belongs to the target state */
	/* INIT */
	uint32_t cq_tx, cq_rx;
	uint32_t pd;            /* protection domain: matches its regions'; < 2^31 */
	uint64_t user;          /* handed back in completions */
	const struct weft_cc_ops *cc;
	struct weft_cc_config cc_config;
	uint8_t kind;           /* enum weft_qp_kind */
	uint32_t recvq;         /* from weft_recvq_open(); WEFT_NO_RECVQ: receives of its own */
	uint32_t deny;          /* WEFT_ACCESS_*: not for the peer, whatever regions allow */
	uint32_t xrcd;          /* XRC_RECV: of weft_recvq_share() */
	/* RTR: agreed out of band (Table 10-1) [P 2.5] */
	uint32_t peer, peer_qpn, pathset;
	/* Path MTU: payload of a full packet, both ways, as verbs' path_mtu.  A multiple of 4, 64
	 * up to config.mtu_bytes, which is what 0 means.  Where it is another, congestion control
	 * begins by cc_config anew, unless that tells nothing. */
	uint32_t mtu_bytes;
	uint32_t psn_rx;        /* first PSN the peer will send */
	uint32_t mpr_rx_psns;   /* receive window we promised; multiple of 128 */
	uint32_t wimm_rx;       /* immediates in flight we promised to park */
	bool dynamic_mpr;       /* both ends agreed [P 2.9] */
	bool trim_nack_rx;      /* we answer trimmed packets with NACK */
	uint8_t rnr_timer;      /* EXTENDED: 0..31, IBTA's code; how long a sender is to wait */
	uint32_t rd_atomic_rx;  /* EXTENDED: reads and atomics in flight that we accept */
	/* RTS */
	uint32_t psn_tx;        /* first PSN we send */
	uint32_t mpr_tx_psns;   /* the peer's receive window */
	uint32_t wimm_tx;       /* immediates in flight the peer accepts */
	uint8_t timeout_exp;    /* ACK timeout 1.024 us * 2^this [P 4.5], 1..24 */
	uint8_t linear_count;   /* 0..7 expiries at the base interval, then doubling */
	uint8_t retry_count;    /* 0..25 doubling expiries; 25 = for ever */
	uint8_t timeout_exp_max; /* doubling ends here, ..24; 0: 24 */
	/* Not 0: silence of the peer (three unanswered expiries at least) that fails the QP,
	 * instead of the counts, which are then of refusals only. */
	uint64_t give_up_ns;
	uint8_t rnr_retry;      /* EXTENDED: 0..7; WEFT_RNR_FOR_EVER */
	uint64_t rnr_give_up_ns; /* no sooner after a message's first refusal; 0: by rnr_retry */
	uint32_t rd_atomic_tx;  /* EXTENDED: reads and atomics in flight that the peer accepts */
};

enum weft_work_kind { /* all but WRITE: extended profile */
	WEFT_WORK_WRITE,
	WEFT_WORK_SEND,
	WEFT_WORK_READ,
	WEFT_WORK_FETCH_ADD,
	WEFT_WORK_CMP_SWAP,
	WEFT_WORK_DATAGRAM,
};

struct weft_work { /* data and to stay untouched until its weft_done */
	uint64_t id, remote_va;
	const void *data; /* WRITE, SEND, DATAGRAM; may be NULL in a simulation */
	uint32_t len_bytes, rkey, imm;
	bool has_imm;
	bool silent;      /* no completion unless it fails */
	/* the rest: extended profile, zero for a plain write */
	uint8_t kind;     /* enum weft_work_kind */
	bool fence;       /* not before all earlier reads and atomics have come back */
	bool solicited;   /* the peer's completion says so */
	bool scattered;   /* READ: `to` is a list of the caller's, see weft_place */
	void *to;         /* READ: len_bytes go there; atomics: 8 bytes, the value before */
	uint64_t operand[2]; /* FETCH_ADD: { add }; CMP_SWAP: { compare, swap } */
	uint32_t qkey, group; /* DATAGRAM: two numbers of the caller's that arrive with it */
	uint32_t srqn;    /* XRC_SEND: the peer's shared queue, whose domain holds rkey, too */
	uint32_t shuts;   /* SEND: a window of the peer's that ends when this arrives; 0: none */
};

struct weft_recv { /* extended profile */
	uint64_t id;
	void *to;
	uint32_t len_bytes;
	bool scattered;     /* `to` is a list of the caller's, see weft_place */
	bool spoilt;        /* see weft_recv_spoil() */
};

/* What is over. */
enum weft_done_kind {
	WEFT_DONE_WRITE,
	WEFT_DONE_RECV_IMM, /* a write with immediate consumed this receive */
	WEFT_DONE_SEND,
	WEFT_DONE_READ,
	WEFT_DONE_FETCH_ADD,
	WEFT_DONE_CMP_SWAP,
	WEFT_DONE_DATAGRAM,
	WEFT_DONE_RECV,     /* a send or a datagram has arrived; or a receive was flushed */
};
/* Bits of weft_done.flags. */
enum weft_done_flag {
	WEFT_DONE_HAS_IMM = 1,
	WEFT_DONE_SOLICITED = 2,
	WEFT_DONE_SHUT = 4, /* the window whose key is imm */
};

/* A completion. */
struct weft_done {
	uint64_t id;      /* of the work, or of the consumed receive */
	uint64_t user;    /* of the QP */
	uint32_t qpn;
	uint32_t len_bytes;
	uint32_t imm;
	uint8_t kind;     /* enum weft_done_kind */
	uint8_t status;   /* enum weft_status */
	uint8_t flags;    /* enum weft_done_flag bits, of receives in the extended profile */
	uint32_t recvq;       /* of a receive: that from which it was taken, or WEFT_NO_RECVQ */
	uint32_t qkey, group; /* of a datagram received: weft_work's */
};

/*
 * Where received bytes belong; len_bytes 0: nothing to move.  list_at 0: to memory at `to`.  Else
 * `to` is what was given for a scattered receive or read, and they belong list_at - 1 bytes into
 * it.
 */
struct weft_place {
	void *to;
	const void *from;
	uint32_t len_bytes, list_at;
};

/* Bytes to lend for this configuration; 0: impossible, weft_config_fault() says why. */
size_t weft_endpoint_size(const struct weft_config *config);
/* block: weft_endpoint_size() bytes, 64-byte aligned, content does not matter. */
int weft_endpoint_init(struct weft_endpoint **ep, void *block, const struct weft_config *config);

/*
 * Bytes of a place could not be moved, for memory is not there that was registered: at once, before
 * the next weft_output() or weft_poll().  The message is refused after all, or the read fails.
 */
void weft_place_lost(struct weft_endpoint *ep, const struct weft_pkt *pkt);
/* Data at `at`, of a packet that weft_output() has given out, could not be read: whoever sends from
 * there fails, with WEFT_LOCAL_MEMORY, and who reads from there is refused. */
void weft_data_lost(struct weft_endpoint *ep, const void *at);

/*
 * A datapath is a loop over these three.  Of a packet that goes in weft_wire_decode() has set all
 * but what only its carrier knows: peer, ev, and port, below config.ports (asserted); tclass is not
 * read.  Move the bytes of places[0..n) before the next
 * weft_output() or weft_poll(): acknowledgements and completions that depend on them are held
 * back until then.  (Of a write on an EXTENDED QP that has overtaken others, the last bytes are
 * stored by the engine itself, by the next weft_output() or weft_poll(): what a program that spins
 * on them has before its eyes is then whole.)
 *
 * weft_output() first fires every timer due at now, then fills pkts with what may leave by the
 * ports in the bit mask ports_free; call it by weft_next_timeout(), when a port frees up, after
 * weft_input() and weft_post_*(), and again while it fills the array.
 */
void weft_input(struct weft_endpoint *ep, const struct weft_pkt pkts[], size_t n, uint64_t now_ns,
		struct weft_place places[]);
size_t weft_output(struct weft_endpoint *ep, struct weft_pkt pkts[], size_t max,
		   uint32_t ports_free, uint64_t now_ns);
uint64_t weft_next_timeout(const struct weft_endpoint *ep); /* WEFT_NEVER: idle */
/*
 * Asks the processor for the memory that the next calls will touch; for callers with more endpoints
 * than a cache holds.  Steps 0, 1, 2, 3 in this order, some other work between, then the calls.
 */
void weft_endpoint_fetch(const struct weft_endpoint *ep, unsigned step);
/* As weft_endpoint_fetch(), for a packet that will be put in: steps 0 and 1, the packet itself in
 * the cache. */
void weft_packet_fetch(const struct weft_endpoint *ep, const struct weft_pkt *pkt, unsigned step);
/* False: weft_output() has nothing to say until something is put in or posted or a timer is due. */
bool weft_wants_output(const struct weft_endpoint *ep);
bool weft_wants_data(const struct weft_endpoint *ep); /* not only for answers */
/*
 * When the oldest of a few plain acknowledgements was asked for, where these are all that there is
 * to answer; else 0.  They may wait a little for company: what else arrives meanwhile they show as
 * well, and a SACK tells how long it was kept, so that round trips are measured without that.
 */
uint64_t weft_acks_since(const struct weft_endpoint *ep);
/*
 * From now on a few plain acknowledgements that are younger than this stay even where data leaves.
 * 0, as at first: they leave before the data.
 */
void weft_keep_acks(struct weft_endpoint *ep, uint64_t keep_ns);

/* Work.  EFULL: the queue is full; ESTATE: the QP does not send or receive. */
int weft_post_write(struct weft_qp *qp, const struct weft_work *work);
int weft_post_recv(struct weft_qp *qp, uint64_t id);
/*
 * Work of any kind.  EINVAL: this QP cannot do that, or a datagram is longer than a packet.  Data
 * is read while it is sent and may be read again until the completion; it is contiguous.
 */
int weft_post(struct weft_qp *qp, const struct weft_work *work);
/* EXTENDED and DATAGRAM.  ESTATE also where a shared queue is attached. */
int weft_post_receive(struct weft_qp *qp, const struct weft_recv *recv);
/*
 * The owner takes memory back.  A work under way that sends data sends it from `data` from now on
 * (NULL: from where it did); a receive points nowhere, and what finds it fails, unless it is
 * empty: WEFT_LOCAL_PROTOCOL here, WEFT_REMOTE_OPERATION there.  ENOENT: none under way has
 * this id.
 */
int weft_work_move(struct weft_qp *qp, uint64_t id, const void *data);
int weft_recv_spoil(struct weft_qp *qp, uint64_t id);
int weft_recvq_spoil(struct weft_endpoint *ep, uint32_t recvq, uint64_t id);
/* Up to max completions of a queue, oldest first; how many there were. */
size_t weft_poll(struct weft_endpoint *ep, uint32_t cq, struct weft_done done[], size_t max);

/*
 * Control.  Slow path: may scan, never blocks.  A QP goes RESET (a free slot) -> INIT (open)
 * -> RTR -> RTS -> ERROR -> close.  Moving to ERROR flushes; RTR starts to accept packets.
 */
int weft_pathset_open(struct weft_endpoint *ep, const struct weft_pathset_attr *attr,
		      uint32_t *set);
int weft_pathset_close(struct weft_endpoint *ep, uint32_t set); /* ESTATE: QPs use it */
/* *qp: until weft_qp_close().  EFULL: no free slot; EINVAL: weft_qp_attr_fault() says why. */
int weft_qp_open(struct weft_endpoint *ep, const struct weft_qp_attr *attr, struct weft_qp **qp);
/*
 * Why these are EINVAL for weft_qp_open() (to: INIT) or for the move to RTR or RTS: the field and
 * what it may be; NULL: they are not, or it is what other kinds than STRICT want besides.  A static
 * string.
 */
const char *weft_qp_attr_fault(const struct weft_endpoint *ep, enum weft_qp_state to,
			       const struct weft_qp_attr *attr);
/* To the next state, or ERROR from any.  ESTATE: not from here; EINVAL: as weft_qp_open(). */
int weft_qp_move(struct weft_qp *qp, enum weft_qp_state to, const struct weft_qp_attr *attr,
		 uint64_t now_ns);
/* Flushes silently: completions not yet polled are gone as well.  The slot is free again. */
void weft_qp_close(struct weft_qp *qp);
struct weft_qp *weft_qp_find(struct weft_endpoint *ep, uint32_t qpn); /* NULL: none */
/* salt: 32 secret random bits, which become the key (all but those for which the table has no
 * free slot); it goes to the peer.  No bytes: it reaches none. */
int weft_region_add(struct weft_endpoint *ep, uint64_t va, void *base, uint64_t len_bytes,
		    uint32_t pd, uint32_t access, uint32_t salt, uint32_t *rkey);
/* Packets that name it are refused from now on.  ENOENT: no region has this key. */
int weft_region_drop(struct weft_endpoint *ep, uint32_t rkey);
/* From now on the region begins at va, within it or at its end: what lies before is reached by
 * nobody any more.  The region has no windows. */
int weft_region_trim(struct weft_endpoint *ep, uint32_t rkey, uint64_t va);
/*
 * Windows: keys to parts of regions, given and taken while peers talk.  One that is open leads
 * nowhere until it is bound.  Binding (ESTATE: it is bound) gives it a key, of which the upper 24
 * bits are those of the old one.  One bound to a QP serves that QP's peer only, which may shut it
 * (weft_work.shuts).  When it is shut its key is void, and replies under way that name it are
 * refused.  Who drops a region shuts the windows in it first.  ENOENT: no window has this key.
 */
#define WEFT_ANY_QP UINT32_MAX
struct weft_memwin {
	uint64_t va;      /* by which peers name the first byte */
	void *base;
	uint64_t len_bytes;
	uint32_t access;  /* enum weft_access bits */
	uint32_t rkey;    /* from now on */
	uint32_t qpn;     /* for packets to this QP only, of the same domain; WEFT_ANY_QP */
};
int weft_memwin_open(struct weft_endpoint *ep, uint32_t pd, uint32_t salt, uint32_t *rkey);
int weft_memwin_bind(struct weft_endpoint *ep, uint32_t rkey, const struct weft_memwin *to);
bool weft_memwin_is_bound(const struct weft_endpoint *ep, uint32_t rkey);
int weft_memwin_shut(struct weft_endpoint *ep, uint32_t rkey); /* ESTATE: it is not bound */
int weft_memwin_close(struct weft_endpoint *ep, uint32_t rkey);
/* The controller's word about a path: GOOD allows, DENIED forbids, ASSUMED_BAD retires. */
int weft_path_mark(struct weft_endpoint *ep, uint32_t set, uint32_t ev, enum weft_path_state to,
		   uint64_t now_ns);
/*
 * Another path in the place of one, perhaps in another plane; it begins as GOOD whatever the old
 * one was.  What is in flight on the old one is waited for.  EINVAL: ev_new is in the set already,
 * or no such port.
 */
int weft_path_replace(struct weft_endpoint *ep, uint32_t set, uint32_t ev_old, uint32_t ev_new,
		      uint32_t port, uint64_t now_ns);
/* Own port changed (carrier, administrator): paths move at once, peers are told. */
int weft_port_mark(struct weft_endpoint *ep, uint32_t port, bool up, uint64_t now_ns);
/* Change the window we promise from now on (dynamic MPR only); multiple of 128. */
int weft_qp_set_mpr(struct weft_qp *qp, uint32_t mpr_psns);
/* As attr.deny, in any state.  The peer's request fails as one that this QP cannot do. */
int weft_qp_set_deny(struct weft_qp *qp, uint32_t access);
/* From RTR on: takes attr's timeout_exp*, *_count and give_up_ns anew; EXTENDED: also rnr_* and
 * rd_atomic_*. */
int weft_qp_set_retry(struct weft_qp *qp, const struct weft_qp_attr *attr);

/*
 * Receives for several QPs, which take one when a message begins to arrive.  Numbers start at 1.
 * A limit is armed once: when fewer than that are left, limit_hit() is true, once.  Closing
 * (ESTATE: QPs use it) forgets what is posted.  ENOENT: no such queue.
 */
int weft_recvq_open(struct weft_endpoint *ep, uint32_t *recvq);
int weft_recvq_close(struct weft_endpoint *ep, uint32_t recvq);
int weft_recvq_post(struct weft_endpoint *ep, uint32_t recvq, const struct weft_recv *recv);
int weft_recvq_set_limit(struct weft_endpoint *ep, uint32_t recvq, uint32_t limit);
bool weft_recvq_limit_hit(struct weft_endpoint *ep, uint32_t recvq);
uint32_t weft_recvq_count(const struct weft_endpoint *ep, uint32_t recvq);
/* Takes the oldest one out, as a message would; false: there is none. */
bool weft_recvq_take(struct weft_endpoint *ep, uint32_t recvq, struct weft_recv *recv);

/*
 * XRC: the queue may be named by whoever speaks to an XRC_RECV QP of this domain (not 0); its
 * packets reach regions of pd.  *srqn: 24 bits, by which peers name it.  Closing fails QPs
 * with a message half arrived there.
 */
int weft_recvq_share(struct weft_endpoint *ep, uint32_t recvq, uint32_t xrcd, uint32_t pd,
		     uint32_t *srqn);

/* Asks the peer to shrink its window by penalty / 128 [P 5.5]; 0, as at first [P 8.20]: no more. */
int weft_qp_set_penalty(struct weft_qp *qp, uint8_t penalty);

/*
 * Endpoint operations on behalf of a controller, by one path: is it alive, or which ports of ours
 * the peer is to send to (bit n: port n from 0).  The peer believes that until it is told again,
 * which happens when a port of ours changes.  The answer, or its absence, comes out of
 * weft_poll_probe().  ENOENT: no such set or path; EFULL: too many are under way.
 */
struct weft_probe_done {
	uint32_t set, ev, rtt_ns; /* rtt_ns 0: no answer in time */
	uint32_t cookie;
	uint8_t port;             /* where the answer came in */
};
int weft_post_probe(struct weft_endpoint *ep, uint32_t set, uint32_t ev, uint32_t cookie,
		    uint64_t now_ns);
int weft_post_port_status(struct weft_endpoint *ep, uint32_t set, uint32_t ev, uint32_t mask,
			  uint32_t cookie, uint64_t now_ns);
size_t weft_poll_probe(struct weft_endpoint *ep, struct weft_probe_done done[], size_t max);

/* Eyes.  All counters only grow. */
struct weft_counters {
	uint64_t tx_data_pkts, tx_data_bytes, tx_rtx_pkts, rx_data_pkts, rx_data_bytes;
	uint64_t tx_sack, rx_sack, tx_nack, rx_nack, tx_ack, rx_ack, tx_probe, rx_probe;
	uint64_t tx_ep_request, rx_ep_request, tx_ep_response, rx_ep_response;
	uint64_t lost_fifo, lost_reorder, lost_timer, lost_nack; /* by what told us */
	uint64_t lost_port; /* a port or a plane was gone, or the peer away for a while */
	uint64_t timeouts, tail_probes, spurious, rx_ce, rx_trimmed, rx_duplicate;
	uint64_t paths_retired, paths_revived, planes_suspected;
	uint64_t no_records; /* sending paused: inflight_pkts too small */
	uint64_t tx_rnr, rx_rnr; /* refusals for want of a receive, among the NACKs */
	uint64_t tx_reply, rx_reply; /* packets, among the data */
	uint64_t drops[WEFT_DROP_COUNT];
};
/* For the life of the endpoint, and always current. */
const struct weft_counters *weft_stats(const struct weft_endpoint *ep);
/* Generic view of the counters for exporters: name of field i, NULL past the end. */
const char *weft_counter_name(unsigned i);
/* The value of field i, which has a name. */
uint64_t weft_counter_value(const struct weft_counters *c, unsigned i);

/* A QP as it is now, for people and exporters. */
struct weft_qp_info {
	uint32_t qpn, peer, peer_qpn, pathset;
	enum weft_qp_state state;
	enum weft_status status;  /* why ERROR */
	uint8_t refused;          /* ERROR: for which syndrome we refused the peer; or 0 */
	uint32_t mtu_bytes;       /* path MTU: weft_qp_attr's */
	uint32_t psn_next, psn_unacked, psn_cack; /* to send; oldest unacked; received up to */
	uint32_t inflight_bytes, mpr_tx_psns, sq_used, rq_used;
	uint32_t rtt_ns, rtt_min_ns, reorder_ns, timeouts_in_row;
	uint64_t rx_nominal_bytes; /* each packet once, with its headers as CC counts them */
	struct weft_cc_report cc;
};
void weft_qp_info(const struct weft_qp *qp, struct weft_qp_info *info);

/* A path as it is now. */
struct weft_path_info {
	uint32_t ev, rtt_ns;
	uint8_t port;
	uint8_t state;    /* enum weft_path_state */
	bool active;      /* in the rotation; else a backup */
	uint8_t losses_in_row;
	uint32_t sent, acked, marked, lost; /* packets, modulo 2^32 */
	uint64_t changed_ns;
};
/* index: 0 .. paths of the set - 1; ENOENT past the end. */
int weft_path_info(const struct weft_endpoint *ep, uint32_t set, uint32_t index,
		   struct weft_path_info *info);
/* A path set as it is now.  weft_set_info(): ENOENT: no such set. */
struct weft_set_info {
	uint32_t peer, paths, active;
	uint32_t own_ports, peer_ports, suspect_planes; /* bit masks, bit n = port n from 0 */
};
int weft_set_info(const struct weft_endpoint *ep, uint32_t set, struct weft_set_info *info);

/*
 * Queue pairs that have failed since they were asked for, each once, in any order; false: no more.
 * However many do so at once, and whatever became of the events that tell of it as well.
 */
struct weft_qp_failure {
	uint64_t user; /* weft_qp_attr's */
	uint32_t qpn;
	enum weft_status status;
	uint8_t refused; /* see weft_qp_info */
};
bool weft_qp_failed(struct weft_endpoint *ep, struct weft_qp_failure *failure);

/* Copies events numbered *seq or later, oldest first; *seq moves on.  Lost ones are skipped. */
size_t weft_events(const struct weft_endpoint *ep, uint64_t *seq, struct weft_event events[],
		   size_t max);
void weft_check(const struct weft_endpoint *ep); /* walks every invariant; aborts on a broken one */

#ifdef __cplusplus
}
#endif
#endif /* WEFT_ENGINE_H */
