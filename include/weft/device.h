/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_DEVICE_H
#define WEFT_DEVICE_H
/*
 * device - one software NIC as an object for programs, under whatever interface they speak.
 *
 *   program thread(s)                     one weft_dev, one lock              other hosts' devices
 *   post_send, post_recv --> [SQ RQ SRQ] --> +--------+ --> plane 0..n-1 ==>  the same
 *   cq_poll  <-- [CQ] <---- completions ---- | engine |                       greeting: datagrams
 *   channel fd <-- "CQ armed, not empty"     | port   | <-- plane 0..n-1 <==  port 18600 + number
 *   event fd   <-- plane, QP, CQ events      +--------+
 *                        ^ whoever polls runs it; a thread sleeps on the port's fd otherwise
 *
 * A QP is addressed as programs do it: by the peer device's GID and a 24-bit QPN.  A QPN is the
 * process's number on its host (10 bits) and a slot of that process (14 bits), so processes of one
 * host never collide and GID + QPN finds the process.  What MRC needs beyond GID, QPN and PSN
 * (windows, immediates in flight, profile, trimming, start PSNs) the two devices agree on in a
 * greeting when both QPs have been moved to RTR; work posted before it is through waits.
 *
 * Time     timeouts are the program's (1.024 us * 2^timeout); clock: struct weft_dev_env's.
 * Memory   Opening reserves address space and touches little; queues are allocated per object.
 *          Registered memory must stay mapped until weft_dev_mr_close().
 * Threads  Every function may be called from any thread at any time; no lock is held between
 *          calls.  Closing an object while another thread uses it is the program's error.
 * Fork     A child's devices are dead: every call answers ENODEV, closing frees; the parent's
 *          traffic is untouched.
 * Errors   0, or a positive errno value, with nothing changed.  EBUSY: something still uses it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/engine.h> /* enum weft_status, weft_path_state; struct weft_path_info, weft_cc_* */

#ifdef __cplusplus
extern "C" {
#endif

struct weft_dev;
struct weft_dev_pd;
struct weft_dev_mr;
struct weft_dev_mw;
struct weft_dev_channel;
struct weft_dev_listener;
struct weft_dev_cq;
struct weft_dev_srq;
struct weft_dev_xrcd;
struct weft_dev_ah;
struct weft_dev_qp;

/* ---- finding and opening ---- */

#define WEFT_DEV_MAX 16u          /* devices of one host */
#define WEFT_DEV_PORT_BASE 18600u /* UDP: + process number, 0 .. 1023; greetings */

struct weft_dev_name {
	char name[32];     /* "mrc0", or as the configuration says; unique on this host */
	uint64_t guid;     /* from host and name: the same in every process */
	/* The host's address on plane 0; without a fabric file, of an open device, on the first
	 * plane that was up when it was opened.  IPv4 as ::ffff:a.b.c.d. */
	uint8_t gid[16];
	char planes[1600]; /* own addresses, comma separated; empty: the fabric file's */
};
/*
 * Devices of this host, in this order: those of the file $WEFT_CONFIG (one line each:
 * "NAME ADDRESS,ADDRESS,...": own addresses or interface names, one per plane; # comments);
 * else $WEFT_PLANES (one device); else $WEFT_FABRIC with $WEFT_HOST (weft lab run sets them).
 * Returns how many, 0 if none of these is set; -1: error says what is wrong, file and line.
 */
int weft_dev_list(struct weft_dev_name list[WEFT_DEV_MAX], char *error, size_t error_bytes);
/* A line on stderr, behind "weft: ", for what an API has no words for; nothing where $WEFT_LOG is
 * "quiet", or where nobody empties stderr. */
void weft_dev_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Also: ENODEV: not as it is configured; ENOMEM, EMFILE, ENFILE, EAGAIN; EMFILE: 1024 processes use
 * this host's devices; EADDRNOTAVAIL: no plane of it is there (so far).  error: one line. */
int weft_dev_open(
	struct weft_dev **dev, const struct weft_dev_name *name, char *error, size_t error_bytes);
/*
 * A network that is not this machine's; weft_dev_name.planes has the addresses there.  A thread
 * cannot sleep on it, so the device has none: it goes while it is called, and by weft_dev_step().
 */
struct weft_live_port; /* session.h */
struct weft_dev_net {
	void *arg;
	const struct weft_live_port *port; /* lent for the call; see there whose what it holds is */
	uint32_t number; /* 0 .. 1023: the process's on its host; no other has it */
	/* Greetings, 1200 bytes at most: from this address of ours to that process of that host.
	 * They may be lost, come late or twice. */
	void (*send)(void *arg, const uint8_t from[16], const uint8_t to[16], uint32_t number,
		const void *bytes, size_t n);
	/* The next that has come, its bytes; -1: none has.  *number: UINT32_MAX: no process's. */
	int (*recv)(void *arg, void *bytes, size_t max, uint8_t from[16], uint32_t *number);
};
/*
 * Environment of a device: where its time, its randomness and its packets come from.  All is called
 * under the device's lock and must not call it, but for sleep; and must do until it is closed.
 */
struct weft_dev_env {
	void *arg;
	uint64_t (*now)(void *arg);            /* ns, never backwards */
	void (*sleep)(void *arg, uint64_t ns); /* weft_dev_close() waits by it; without the lock */
	uint64_t (*random)(void *arg); /* 64 bits: keys and nonces, so that no peer guesses them */
	const struct weft_dev_net *net; /* copied; NULL: this machine's, and now its clock */
};
/* env: copied, but for what its net's port points to; NULL: this machine, as by weft_dev_open(). */
int weft_dev_open_in(struct weft_dev **dev, const struct weft_dev_name *name,
	const struct weft_dev_env *env, char *error, size_t error_bytes);
/* Whether the next try may not meet what weft_dev_open() told. */
static inline bool weft_dev_may_pass(int error)
{
	return error == ENOMEM || error == EMFILE || error == ENFILE || error == EAGAIN ||
	       error == EADDRNOTAVAIL;
}
/* With a net of its own: does what is due and takes in what has come.  Returns when it is to be
 * called again at the latest, in ns of its clock, and later than now; sooner when something comes.
 * Without one: what its thread would do next; WEFT_NEVER. */
uint64_t weft_dev_step(struct weft_dev *dev);
/* What is still open on it is dead then, and can only be closed.  Waits up to ~0.2 s for last
 * ACKs. */
int weft_dev_close(struct weft_dev *dev);

struct weft_dev_attr { /* limits are what is granted, not more */
	char name[32], host[32], version[16];
	uint64_t guid, rate_bps;    /* rate: all planes together, as far as the machine can */
	uint64_t line_bps;          /* of the links alone: what ports are called */
	uint32_t planes, mtu_bytes; /* payload of one packet */
	uint32_t max_qp, max_qp_wr, max_sge, max_inline_bytes;
	uint32_t max_cq, max_cqe, max_mr, max_mw, max_pd, max_ah;
	uint32_t max_srq, max_srq_wr, max_srq_sge;
	uint32_t max_rd_atomic; /* per QP, either direction; 0: no extended profile */
	uint32_t max_msg_bytes, max_datagram_bytes; /* datagram: its 40 bytes not counted */
	uint64_t max_mr_bytes;
	uint32_t max_wimm, max_mpr_psns; /* strict profile: what we promise to a peer */
	uint64_t page_size_cap;
	bool extended; /* Send, Read, atomics, SRQ, UD are there */
};
void weft_dev_query(const struct weft_dev *dev, struct weft_dev_attr *attr);
void weft_dev_gid(const struct weft_dev *dev, uint8_t gid[16]);

struct weft_dev_plane {
	uint8_t addr[16];
	bool link, admin; /* carrier; not shut by weft_dev_plane_admin() */
	uint64_t rate_bps;
	char interface[16]; /* may be empty (shared memory) */
};
int weft_dev_plane_query(struct weft_dev *dev, uint32_t plane, struct weft_dev_plane *info);
int weft_dev_plane_admin(struct weft_dev *dev, uint32_t plane, bool up);

/* ---- asynchronous events: a pipe's read end; blocking unless O_NONBLOCK ---- */

enum weft_dev_event_kind {
	WEFT_DEV_PLANE_UP = 1, /* number: the plane */
	WEFT_DEV_PLANE_DOWN,
	WEFT_DEV_PORT_ACTIVE, /* first plane up: the device can talk again */
	WEFT_DEV_PORT_DOWN,   /* last plane down */
	WEFT_DEV_QP_FATAL,    /* user: the QP's.  Retry budget spent, CQ gone */
	WEFT_DEV_QP_ACCESS,   /* user: the QP's.  Peer broke key or bounds */
	WEFT_DEV_QP_REQUEST,  /* user: the QP's.  Peer asked for what cannot be */
	WEFT_DEV_SQ_DRAINED,  /* user: the QP's.  In SQD, and nothing is under way any more */
	WEFT_DEV_QP_LAST_WQE, /* user: the QP's.  On an SRQ, in error, takes no more receives */
	WEFT_DEV_CQ_ERROR,    /* user: the CQ's.  Overrun */
	WEFT_DEV_SRQ_LIMIT,   /* user: the SRQ's */
};
struct weft_dev_event {
	uint32_t kind, number;
	uint32_t owner; /* of the object; 0: nobody in particular */
	void *user;
};
int weft_dev_event_fd(const struct weft_dev *dev);
/* EAGAIN where the fd does not block, EINTR as read() has it.  Skips events of closed objects.
 * None is lost for want of room; one that comes again before it has been got is got once. */
int weft_dev_event_get(struct weft_dev *dev, struct weft_dev_event *event);
/* The same; got() sees it while its object cannot be closed yet, so that whoever closes it can know
 * of it.  It must not call the device. */
int weft_dev_event_take(struct weft_dev *dev, struct weft_dev_event *event,
	void (*got)(const struct weft_dev_event *event));
/*
 * Several interfaces of one program must not find each other's events: those of objects that have
 * an owner other than 0 come out of that owner's listener, and nowhere else, from when it is
 * opened on; those of planes and the port come out of all.  Its descriptor does not block.  EBUSY:
 * that owner has one.
 */
int weft_dev_listener_open(
	struct weft_dev *dev, uint32_t owner, struct weft_dev_listener **listener);
void weft_dev_listener_close(struct weft_dev_listener *listener);
int weft_dev_listener_fd(const struct weft_dev_listener *listener);
int weft_dev_listener_get(struct weft_dev_listener *listener, struct weft_dev_event *event);

/* ---- protection domains, memory ---- */

int weft_dev_pd_open(struct weft_dev *dev, struct weft_dev_pd **pd);
int weft_dev_pd_close(struct weft_dev_pd *pd);

enum { /* bit values of verbs */
	WEFT_DEV_LOCAL_WRITE = 1,
	WEFT_DEV_REMOTE_WRITE = 2,
	WEFT_DEV_REMOTE_READ = 4,
	WEFT_DEV_REMOTE_ATOMIC = 8,
	WEFT_DEV_MW_BIND = 16, /* windows may be bound to it */
};
struct weft_dev_sge;
/* iova: the address by which peers and SGEs name the first byte.  EFAULT: some of it is not
 * mapped, cannot be read, or (with LOCAL_WRITE) not written.  EINVAL: remote write or atomic
 * without local write.  No bytes: a key that leads nowhere. */
int weft_dev_mr_open(struct weft_dev_pd *pd, void *addr, uint64_t len_bytes, uint64_t iova,
	uint32_t access, struct weft_dev_mr **mr);
/* Memory of another device, by the DMA-BUF that stands for it, whose byte `offset` is the first;
 * mapped until it is closed, and fd may be closed before that.  EBADF, or EINVAL: fd is no DMA-BUF
 * (nor a memfd sealed against shrinking), has not as many bytes, or there are to be none.
 * EOPNOTSUPP: its exporter lets no CPU at it.  EACCES is EOPNOTSUPP, too: open for reading only. */
int weft_dev_mr_open_dmabuf(struct weft_dev_pd *pd, int fd, uint64_t offset, uint64_t len_bytes,
	uint64_t iova, uint32_t access, struct weft_dev_mr **mr);
int weft_dev_mr_close(struct weft_dev_mr *mr); /* EBUSY: a window is bound to it */
/* Another memory, domain or access by the same key; works that name it fail.  Errors of both. */
int weft_dev_mr_move(struct weft_dev_mr *mr, struct weft_dev_pd *pd, void *addr, uint64_t len_bytes,
	uint64_t iova, uint32_t access);
/* Where an SGE leads.  NULL: no such key in the domain, out of bounds, or access missing. */
void *weft_dev_mr_find(struct weft_dev_pd *pd, const struct weft_dev_sge *sge, uint32_t access);
uint32_t weft_dev_mr_key(const struct weft_dev_mr *mr); /* lkey and rkey */

/*
 * Memory windows: keys to a part of a registration, with rights of their own, given by a work
 * (BIND_MW) and taken back by another (LOCAL_INV), by the peer's SEND_INV, or by binding anew.
 *
 *   type 1  any QP of the domain; each BIND_MW that is posted draws a whole new key, which holds
 *           from when that work is done; the one before is void then.  No bytes: void, no new one
 *   type 2  (2B) the QP on which it was bound, and the domain; the program gives the key, of which
 *           it may change the lowest 8 bits and must; bound anew only after it has been taken back
 *
 * These works are done when all before them are, and those behind them wait.  What a bind lacks
 * (the registration's MW_BIND, LOCAL_WRITE under remote writes and atomics, bounds, domain) makes
 * it complete as MW_BIND_ERR.  Closing or resetting the QP takes back its windows of type 2.
 */
int weft_dev_mw_open(struct weft_dev_pd *pd, unsigned type, struct weft_dev_mw **mw);
int weft_dev_mw_close(struct weft_dev_mw *mw);          /* bound or not */
uint32_t weft_dev_mw_key(const struct weft_dev_mw *mw); /* type 1: as of the last one posted */
struct weft_dev_bind {
	struct weft_dev_mw *mw;
	uint64_t addr, len_bytes; /* as registered: iova */
	uint32_t mr_key, access;  /* WEFT_DEV_REMOTE_* */
	bool zero_based;          /* peers count from 0 */
};

/* ---- completions ---- */

/* fd: a pipe's read end, readable while there are events; blocking unless O_NONBLOCK. */
int weft_dev_channel_open(struct weft_dev *dev, struct weft_dev_channel **channel);
int weft_dev_channel_close(struct weft_dev_channel *channel); /* EBUSY: CQs use it */
int weft_dev_channel_fd(const struct weft_dev_channel *channel);
/* *user: of the CQ that was armed and got a completion.  EAGAIN, EINTR as for events. */
int weft_dev_channel_get(struct weft_dev_channel *channel, void **user);
int weft_dev_channel_take(
	struct weft_dev_channel *channel, void **user, void (*got)(void *user)); /* likewise */

enum weft_dev_op { /* of a completion; values of verbs */
	WEFT_DEV_DONE_SEND = 0,
	WEFT_DEV_DONE_WRITE = 1,
	WEFT_DEV_DONE_READ = 2,
	WEFT_DEV_DONE_CMP_SWAP = 3,
	WEFT_DEV_DONE_FETCH_ADD = 4,
	WEFT_DEV_DONE_BIND_MW = 5,
	WEFT_DEV_DONE_LOCAL_INV = 6,
	WEFT_DEV_DONE_RECV = 128,
	WEFT_DEV_DONE_RECV_IMM = 129, /* a write with immediate consumed it */
};
enum weft_dev_wc_status { /* values of verbs */
	WEFT_DEV_OK = 0,
	WEFT_DEV_LOC_LEN_ERR = 1,
	WEFT_DEV_LOC_QP_OP_ERR = 2,
	WEFT_DEV_LOC_PROT_ERR = 4,
	WEFT_DEV_WR_FLUSH_ERR = 5,
	WEFT_DEV_MW_BIND_ERR = 6,
	WEFT_DEV_LOC_ACCESS_ERR = 8,
	WEFT_DEV_REM_INV_REQ_ERR = 9,
	WEFT_DEV_REM_ACCESS_ERR = 10,
	WEFT_DEV_REM_OP_ERR = 11,
	WEFT_DEV_RETRY_EXC_ERR = 12,
	WEFT_DEV_RNR_RETRY_EXC_ERR = 13,
	WEFT_DEV_FATAL_ERR = 18,
	WEFT_DEV_GENERAL_ERR = 21,
};
enum { /* values of verbs */
	WEFT_DEV_WC_GRH = 1,
	WEFT_DEV_WC_WITH_IMM = 2,
	WEFT_DEV_WC_WITH_INV = 8, /* a window of type 2 has ended; imm is its key */
	WEFT_GRH_BYTES = 40,      /* in front of each datagram received */
};
struct weft_dev_wc {
	uint64_t id;
	uint32_t status, op, vendor; /* vendor: enum weft_status */
	uint32_t len_bytes, imm;     /* imm: a number in host order */
	uint32_t qpn, src_qpn, flags;
	uint64_t at_ns; /* by the device's clock, when it came about */
};
/* channel may be NULL. */
int weft_dev_cq_open(struct weft_dev *dev, uint32_t entries, struct weft_dev_channel *channel,
	void *user, struct weft_dev_cq **cq);
int weft_dev_cq_close(struct weft_dev_cq *cq); /* EBUSY: QPs use it */
/* While others poll.  EINVAL: it would have no room for what is in it and for sends under way. */
int weft_dev_cq_resize(struct weft_dev_cq *cq, uint32_t entries);
void weft_dev_cq_set_owner(struct weft_dev_cq *cq, uint32_t owner); /* of its events */
uint32_t weft_dev_cq_entries(const struct weft_dev_cq *cq);
/* How many were filled in; -1: the CQ has overrun and gives no more.  Runs the device when the
 * queue is empty. */
int weft_dev_cq_poll(struct weft_dev_cq *cq, struct weft_dev_wc wc[], int max);
/* One event at the next completion (solicited_only: solicited or failed); at once if there are
 * completions already of which no event has told, so that no wake-up is lost. */
int weft_dev_cq_arm(struct weft_dev_cq *cq, bool solicited_only);

/* ---- addresses of datagram peers ---- */

/* Starts to find the peer's device; datagrams posted before that is through wait up to 1 s. */
int weft_dev_ah_open(struct weft_dev_pd *pd, const uint8_t gid[16], struct weft_dev_ah **ah);
int weft_dev_ah_close(struct weft_dev_ah *ah);

/*
 * Multicast: a DATAGRAM QP in a group (a GID that begins with ff, or ::ffff:224.0.0.0/4) receives
 * what others send to that GID and QPN ffffff, its own device's QPs included and itself not.  The
 * sender makes the copies; it learns members by asking the hosts of the fabric file (without one:
 * its own and those it has exchanged datagrams with), for up to 1 s before its first datagram.
 * EINVAL: no group, not DATAGRAM, or (leave) not a member.  ENOMEM: WEFT_DEV_GROUPS_MAX groups in
 * use, or WEFT_DEV_GROUP_QPS_MAX QPs of this device in one.  Joining twice is joining once.  A QP
 * that is in a group cannot be closed: EBUSY, as with the kernel's (uverbs_free_qp()).
 */
#define WEFT_DEV_GROUPS_MAX 64u
#define WEFT_DEV_GROUP_QPS_MAX 64u
int weft_dev_group_join(struct weft_dev_qp *qp, const uint8_t gid[16]);
int weft_dev_group_leave(struct weft_dev_qp *qp, const uint8_t gid[16]);

/* ---- shared receive queues ---- */

struct weft_dev_sge {
	uint64_t addr; /* as registered: iova */
	uint32_t len_bytes, lkey;
};
struct weft_dev_recv {
	uint64_t id;
	const struct weft_dev_sge *sges;
	uint32_t n_sges;
};
struct weft_dev_srq_attr {
	uint32_t depth, sges, limit;
	struct weft_dev_xrcd *xrcd; /* or NULL; for XRC, with: */
	struct weft_dev_cq *cq;     /* its receives complete there */
};
int weft_dev_srq_open(struct weft_dev_pd *pd, const struct weft_dev_srq_attr *attr, void *user,
	struct weft_dev_srq **srq);
int weft_dev_srq_close(struct weft_dev_srq *srq);
int weft_dev_srq_limit(struct weft_dev_srq *srq, uint32_t limit);
void weft_dev_srq_query(const struct weft_dev_srq *srq, struct weft_dev_srq_attr *attr);
int weft_dev_srq_post(struct weft_dev_srq *srq, const struct weft_dev_recv *recv);

/* ---- XRC: queue pairs of one way each, whose messages name a shared queue ---- */

/* Queue pairs and shared queues of one domain may meet.  Of this process: no other can open it. */
int weft_dev_xrcd_open(struct weft_dev *dev, struct weft_dev_xrcd **xrcd);
int weft_dev_xrcd_close(struct weft_dev_xrcd *xrcd);
uint32_t weft_dev_srq_number(const struct weft_dev_srq *srq); /* SRQN, 24 bits; 0: not of XRC */

/* ---- queue pairs ---- */

enum weft_dev_profile {
	WEFT_DEV_STRICT,   /* MRC as specified: Write and Write-with-immediate */
	WEFT_DEV_EXTENDED, /* plus Send, Read, atomics, SRQ, RNR; both ends must have it */
	WEFT_DEV_DATAGRAM, /* verbs' UD */
	WEFT_DEV_XRC_SEND, /* as EXTENDED, one way: to a queue pair of the next kind */
	WEFT_DEV_XRC_RECV, /* has no queues, and no domain but xrcd */
};
struct weft_dev_qp_init {
	uint8_t profile;
	bool signal_all; /* every send completes, whatever its flags */
	struct weft_dev_cq *cq_tx, *cq_rx;
	struct weft_dev_srq *srq;   /* or NULL; EXTENDED and DATAGRAM only, and not of XRC */
	struct weft_dev_xrcd *xrcd; /* XRC_RECV, by weft_dev_xrc_recv_open() only */
	uint32_t sq_depth, rq_depth, sq_sges, rq_sges, inline_bytes;
	uint32_t owner; /* of events, see weft_dev_listener_open(); 0: nobody in particular */
	void *user;     /* of events */
};
/* Depths, SGEs and inline are granted as asked, or EINVAL. */
int weft_dev_qp_open(
	struct weft_dev_pd *pd, const struct weft_dev_qp_init *init, struct weft_dev_qp **qp);
/* Of init only owner and user count.  Any requests that it serves reach what the shared queue's
 * protection domain holds. */
int weft_dev_xrc_recv_open(
	struct weft_dev_xrcd *xrcd, const struct weft_dev_qp_init *init, struct weft_dev_qp **qp);
void weft_dev_qp_set_user(struct weft_dev_qp *qp, void *user);
/* Work in flight is dropped without completions; what was received is acknowledged on for a
 * while, so that a peer whose last message has completed here does not fail.  EBUSY: it is in a
 * group. */
int weft_dev_qp_close(struct weft_dev_qp *qp);
uint32_t weft_dev_qp_number(const struct weft_dev_qp *qp);

enum weft_dev_qp_state { /* values of verbs */
	WEFT_DEV_RESET,
	WEFT_DEV_INIT,
	WEFT_DEV_RTR,
	WEFT_DEV_RTS,
	WEFT_DEV_SQD,
	WEFT_DEV_SQE,
	WEFT_DEV_ERR,
};
enum weft_dev_qp_mask { /* which fields of the attributes count */
	WEFT_DEV_SET_STATE = 1 << 0,
	WEFT_DEV_SET_ACCESS = 1 << 1,
	WEFT_DEV_SET_QKEY = 1 << 2,
	WEFT_DEV_SET_PEER = 1 << 3,     /* gid, for RTR */
	WEFT_DEV_SET_PEER_QPN = 1 << 4, /* RTR */
	WEFT_DEV_SET_PSN_RX = 1 << 5,   /* RTR; reported, and checked in the greeting */
	WEFT_DEV_SET_PSN_TX = 1 << 6,   /* RTS; likewise */
	WEFT_DEV_SET_TIMEOUT = 1 << 7,
	WEFT_DEV_SET_RETRY = 1 << 8,
	WEFT_DEV_SET_RNR_RETRY = 1 << 9,
	WEFT_DEV_SET_RNR_TIMER = 1 << 10,
	WEFT_DEV_SET_RD_TX = 1 << 11,
	WEFT_DEV_SET_RD_RX = 1 << 12,
	WEFT_DEV_SET_NOTIFY = 1 << 14,
	WEFT_DEV_SET_MTU = 1 << 13, /* kept and reported; packets are the fabric's size */
	/* MRC's own; all have defaults */
	WEFT_DEV_SET_LINEAR = 1 << 16,
	WEFT_DEV_SET_WIMM = 1 << 17,
	WEFT_DEV_SET_MPR = 1 << 18,
	WEFT_DEV_SET_PATHS = 1 << 19, /* before RTR */
	WEFT_DEV_SET_CC = 1 << 20,    /* before RTR */
	WEFT_DEV_SET_TRIM_NACK = 1 << 21,
	WEFT_DEV_SET_DYNAMIC_MPR = 1 << 22,
};
struct weft_dev_qp_attr {
	uint8_t state; /* enum weft_dev_qp_state */
	/* Silence of the peer that ends the QP: (retry + 1) times 1.024 us * 2^timeout, 0.2 s at
	 * least; timeout 0: no silence does.  With SET_LINEAR as MRC has it: timeout 1..24 is the
	 * base interval, then come `retry` doubling ones, 25: for ever. */
	uint8_t timeout;      /* 0..31; verbs' own unit is four times ours */
	uint8_t retry;        /* 0..25 */
	uint8_t rnr_retry;    /* 0..7; 7: for ever */
	uint8_t rnr_timer;    /* 0..31, verbs' code */
	uint8_t rd_tx, rd_rx; /* reads and atomics in flight, <= max_rd_atomic */
	uint8_t mtu;          /* verbs' code */
	bool notify;          /* SQ_DRAINED is to be told, from the next move to SQD on */
	bool draining;        /* reported: SQD, and something is under way */
	uint32_t access, qkey, peer_qpn, psn_rx, psn_tx;
	uint8_t gid[16];
	/* MRC */
	uint8_t linear; /* tries at the base interval, then doubling; 0..7 */
	bool doubles;   /* reported: linear has been set */
	bool trim_nack, dynamic_mpr;
	uint32_t wimm_rx, wimm_tx;         /* promised to the peer; asked of it.  The less holds */
	uint32_t mpr_rx_psns, mpr_tx_psns; /* multiples of 128; likewise */
	uint32_t paths;                    /* number from weft_dev_paths_open(), 0: all there are */
	char cc[16];                       /* by name: "nscc", "fixed"; empty: nscc */
	bool has_cc_config;                /* cc_config instead of what follows from the fabric */
	struct weft_cc_config cc_config;
};
/* RESET -> INIT -> RTR -> RTS; any -> ERR, RESET; RTS <-> SQD.  EINVAL: not a transition, a
 * value out of range, or one missing that it needs (RTR: peer, peer_qpn). */
int weft_dev_qp_modify(struct weft_dev_qp *qp, const struct weft_dev_qp_attr *attr, uint32_t mask);
void weft_dev_qp_query(
	struct weft_dev_qp *qp, struct weft_dev_qp_attr *attr, struct weft_dev_qp_init *init);
/* The engine's view; ENOTCONN: the greeting is not through. */
int weft_dev_qp_info(struct weft_dev_qp *qp, struct weft_qp_info *info);

enum weft_dev_send_op { /* values of verbs */
	WEFT_DEV_WRITE = 0,
	WEFT_DEV_WRITE_IMM = 1,
	WEFT_DEV_SEND = 2,
	WEFT_DEV_SEND_IMM = 3,
	WEFT_DEV_READ = 4,
	WEFT_DEV_CMP_SWAP = 5,
	WEFT_DEV_FETCH_ADD = 6,
	WEFT_DEV_LOCAL_INV = 7, /* rkey: a window of type 2, bound on this QP */
	WEFT_DEV_BIND_MW = 8,
	WEFT_DEV_SEND_INV = 9, /* rkey: of the peer's, likewise; fenced */
};
enum { /* flags; values of verbs */
	WEFT_DEV_FENCE = 1,
	WEFT_DEV_SIGNALED = 2,
	WEFT_DEV_SOLICITED = 4,
	WEFT_DEV_INLINE = 8,
};
struct weft_dev_send {
	uint64_t id;
	const struct weft_dev_sge *sges; /* INLINE: addr are plain addresses, copied now */
	uint32_t n_sges, op, flags, imm;
	uint64_t remote_va;
	uint32_t rkey;
	uint64_t operand[2];    /* FETCH_ADD: {add}; CMP_SWAP: {compare, swap} */
	struct weft_dev_ah *ah; /* DATAGRAM */
	uint32_t peer_qpn, qkey;
	uint32_t srqn;                    /* XRC_SEND: the peer's shared queue */
	const struct weft_dev_bind *bind; /* BIND_MW; rkey: type 2's new key */
};
/* ENOMEM: the queue is full; EINVAL: the QP cannot do this.  A wrong lkey becomes a completion
 * LOC_PROT_ERR, as verbs do: a receive's (a shared queue's, too) when a message comes that is to be
 * put there, whose sender is told REM_OP_ERR.  more: another follows at once, do not send yet. */
int weft_dev_post_send(struct weft_dev_qp *qp, const struct weft_dev_send *send, bool more);
/* The same for n of them, all or none: where one cannot be, nothing has been posted. */
int weft_dev_post_sends(
	struct weft_dev_qp *qp, const struct weft_dev_send sends[], uint32_t n, bool more);
int weft_dev_post_recv(struct weft_dev_qp *qp, const struct weft_dev_recv *recv);

/* ---- paths and controllers (OCP's EV profiles, probes, port status) ---- */

/* EVs (plane << 16 | uplink) that lead to the device with this GID, in the order in which planes
 * take turns; returns how many there are.  -1: unknown (no fabric file and no greeting yet). */
int weft_dev_evs(struct weft_dev *dev, const uint8_t gid[16], uint32_t evs[], size_t max);
/* A choice of EVs for QPs: those of them that lead to the QP's peer; rest: backups.  active == n:
 * each one is used, however unequally they share out among planes. */
int weft_dev_paths_open(struct weft_dev *dev, const uint32_t evs[], uint32_t n, uint32_t active,
	uint32_t active_min, uint32_t *paths);
/* For every QP of the group, also those that connect later. */
int weft_dev_paths_mark(struct weft_dev *dev, uint32_t paths, uint32_t ev, enum weft_path_state to);
/* Another EV in the place of one, for those QPs, while they send; it begins as GOOD.  ENOENT: ev is
 * not in the group; EINVAL: ev_new is.  QPs to whose peer ev_new does not lead lose one path. */
int weft_dev_paths_replace(struct weft_dev *dev, uint32_t paths, uint32_t ev, uint32_t ev_new);
int weft_dev_paths_close(struct weft_dev *dev, uint32_t paths); /* EBUSY: QPs use it */
/* State of path `index` of a connected QP; ENOENT past the end; ENOTCONN before. */
int weft_dev_path_info(struct weft_dev_qp *qp, uint32_t index, struct weft_path_info *info);
/* The destination of packets with this EV to that device.  ENOENT: no such path. */
int weft_dev_ev_address(struct weft_dev *dev, const uint8_t gid[16], uint32_t ev, uint8_t addr[16]);
/* Probes one path to the device with this GID; the answer, or none, comes from poll with this
 * cookie.  EAGAIN: it has not been found yet, call again; EHOSTUNREACH: there is none. */
int weft_dev_probe(struct weft_dev *dev, const uint8_t gid[16], uint32_t ev, uint32_t cookie);
/* The same question, and a word: which planes of ours (bit n: plane n) that device is to send to.
 * All its QPs to this process's device believe it until a plane of ours changes. */
int weft_dev_port_status(
	struct weft_dev *dev, const uint8_t gid[16], uint32_t ev, uint32_t planes, uint32_t cookie);
int weft_dev_probe_poll(struct weft_dev *dev, struct weft_probe_done done[], size_t max);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_DEVICE_H */
