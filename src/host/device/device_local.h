/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEVICE_LOCAL_H
#define DEVICE_LOCAL_H
/*
 * What the files of device share with each other and with nobody else.
 *
 * One mutex per device guards everything; functions here are called with it held unless they say
 * otherwise.  A QP of the program (weft_dev_qp) keeps its own queues, as deep as the program
 * asked, and feeds the engine's QP, which is opened at RTR and shallower.
 */
#include <weft/base.h>
#include <weft/device.h>
#include <weft/lock.h>
#include <weft/nofault.h>
#include <weft/session.h>

#include <pthread.h>
#include <string.h>

#include "link.h"
#include "progress/progress.h"

#define SLOT_BITS 14u
#define QP_SLOTS (1u << SLOT_BITS)
#define NUMBERS 1024u
#define QPS_MAX 7168u /* UCX keeps 4 for each of 1000 connects to one peer */
#define MRS_MAX 16384u
#define MWS_MAX 8192u
#define KEYS 32768u /* registrations, windows, and those windows' next keys */
#define SGES_MAX 32u
#define INLINE_MAX 1024u
#define DEPTH_MAX 16384u
#define CQES_MAX (1u << 20)
#define SRQS_MAX 64u
#define SRQ_DEPTH_MAX 4096u
#define RD_ATOMIC_MAX 16u
#define MESSAGE_MAX (1u << 30)
#define CQS_MAX 65536u
#define PDS_MAX 65536u
#define AHS_MAX 65536u
#define ZOMBIES_MAX 256u

#include "greetings/greet.h"
#include "datagrams/datagrams.h"

struct sge_list { /* memory in pieces, see struct weft_place */
	uint32_t n;
	struct {
		uint8_t *at;
		uint32_t bytes, lkey;
	} part[];
};

struct work { /* a send of the program, in its ring */
	uint64_t id, remote_va;
	const void *data; /* contiguous */
	void *owned;      /* free it: gathered data, or a list to scatter to */
	void *to;
	uint64_t operand[2];
	struct weft_dev_ah *ah;
	uint32_t len_bytes, rkey, imm, peer_qpn, qkey, srqn;
	uint8_t op, flags;
	uint8_t fault; /* enum weft_dev_wc_status it will end with, without being sent */
	bool scattered;
	bool lent; /* data or to is the program's memory itself, by lkey */
	bool is_group;
	uint32_t lkey;
	uint32_t next_copy;     /* to which member of the group */
	uint32_t access;        /* BIND_MW: with lkey, rkey and: */
	uint64_t window_bytes;  /* from remote_va */
	struct weft_dev_mw *mw; /* or NULL: it is gone */
	bool zero_based;
};

struct recv {
	uint64_t id;
	void *to;
	uint32_t len_bytes;
	bool scattered;
	bool lent;     /* as of struct work */
	uint8_t fault; /* enum weft_dev_wc_status, where the engine says that it failed */
	uint32_t lkey;
};

struct zombie { /* an engine's QP that acknowledges on */
	struct weft_qp *eq;
	uint64_t until_ns;
	uint32_t peer, set;
	bool has_peer, has_set;
	struct courier *courier; /* or NULL */
};

struct event_source {                      /* of an object: what of it is to be told */
	struct event_queue *queue;         /* where it is linked; NULL: there is nothing */
	struct event_source *next, **from; /* from: what points here */
	void *user;
	uint32_t owner, number;
	uint32_t kinds; /* four bits each, the oldest lowest */
};
struct event_queue { /* see event.c */
	int fd[2];
	struct event_source *first, **last;
};
struct plane_events {
	struct event_source plane[WEFT_PORTS_MAX], port;
};

struct paths {                  /* a choice of EVs */
	uint32_t *evs, *states; /* states: enum weft_path_state; EMPTY: not said */
	uint32_t n, active, active_min, users;
};

struct weft_dev {
	struct weft_lock lock;
	struct weft_dev_env env;
	struct weft_dev_net net; /* its port is live's, its number number */
	bool has_net;            /* its opener brought it: there is no thread */
	struct weft_live *live;
	struct weft_endpoint *ep;
	struct weft_pump *pump;
	struct weft_port *port;
	struct weft_dev_name name;
	struct weft_live_end end;
	uint32_t fork_age, number;
	struct event_queue events;
	struct plane_events plane_events;
	struct progress progress;
	struct greetings greetings;
	char unfit[256]; /* why a peer could not be talked to, as last said */
	struct weft_dev_qp *qps[QP_SLOTS];
	uint32_t n_qps, next_slot, n_mrs, n_mws, n_pds, n_cqs, n_srqs, n_ahs, n_channels, next_pd;
	uint32_t planes_up, planes_shut; /* bit masks, as last told; by weft_dev_plane_admin() */
	struct weft_dev_srq *srqs;
	struct weft_dev_listener *listeners;
	struct link *opened;    /* queue pairs: all, for what no failure has to wait for */
	struct link *greeting;  /* those that wait for an answer */
	struct link *draining;  /* those on their way to SQD */
	struct link *backlog;   /* those with work that the engine had no room for */
	struct link *overrun;   /* completion queues whose queue pairs are to fail */
	struct weft_dev_mr **mrs;     /* [mr_slot(key)] */
	struct weft_dev_mw *mws;      /* all of them, linked */
	struct dmabuf *dmabufs;       /* likewise */
	struct zombie *zombies;
	uint32_t n_zombies;
	struct datagrams datagrams;
	struct paths *paths; /* [number - 1] */
	uint32_t n_paths;
	struct weft_dev *next; /* open ones of this process, for device_stats.c */
};

struct weft_dev_pd {
	struct weft_dev *dev;
	uint32_t number, users;
};

struct dmabuf {              /* dmabuf.c */
	struct dmabuf *next; /* of the device */
	int fd;
	void *map;
	size_t map_bytes;
	uint8_t *at;
	uint64_t access;  /* DMA_BUF_SYNC_READ, _WRITE */
	bool is_coherent; /* nobody wants to be told of accesses */
	bool begun;
};

struct weft_dev_mr {
	struct weft_dev_pd *pd;
	uint8_t *base;
	uint64_t iova, len_bytes;
	uint32_t key, access;
	struct dmabuf *dmabuf; /* NULL: the program's own memory */
};

struct weft_dev_mw {
	struct weft_dev_pd *pd;
	struct weft_dev_mw *next;
	const struct weft_dev_mr *mr; /* while it is bound, see mw_is_bound() */
	struct weft_dev_qp *qp;       /* likewise, type 2 */
	uint32_t type, key;           /* key: as the program knows it */
	uint32_t bound;               /* type 1: the key that holds */
};

struct weft_dev_channel {
	struct weft_dev *dev;
	struct event_queue events;
	uint32_t users;
};

struct weft_dev_listener {
	struct weft_dev *dev;
	struct weft_dev_listener *next;
	uint32_t owner;
	struct event_queue events;
	struct plane_events plane_events;
};

struct weft_dev_cq {
	struct weft_dev *dev;
	struct weft_dev_channel *channel;
	struct event_source events;
	struct event_source bell; /* of the channel's; user: this */
	uint32_t rung;            /* how often, without having been told */
	struct link in_overrun;
	struct link *senders, *receivers; /* queue pairs that complete here */
	struct weft_dev_wc *ring;
	uint32_t mask, entries, head, tail, users;
	uint32_t told; /* tail at the last event */
	bool armed, armed_solicited, overrun;
};

struct weft_dev_xrcd {
	struct weft_dev *dev;
	struct weft_dev_pd *pd; /* its queue pairs': without regions */
	struct weft_dev_cq *cq; /* likewise: never used */
	uint32_t number, users; /* users: shared queues */
};

struct weft_dev_srq {
	struct weft_dev *dev;
	struct weft_dev_srq *next;
	struct weft_dev_pd *pd;
	struct weft_dev_srq_attr attr;
	struct event_source events;
	uint32_t recvq, srqn, users, n_free;
	struct recv *slots;
	uint32_t *free;
	uint8_t *lists;
	bool limit_armed;
};

struct weft_dev_ah {
	struct weft_dev_pd *pd;
	uint32_t works; /* that name it */
	bool is_closed; /* and goes with the last of them */
	uint8_t gid[16];
};

struct weft_dev_qp {
	struct weft_dev *dev;
	struct weft_dev_pd *pd;
	struct weft_dev_qp_init init;
	struct weft_dev_qp_attr attr; /* .state is kept true */
	uint32_t number;
	struct event_source events;
	/* engine's, from RTR on */
	struct weft_qp *eq;
	uint32_t eq_number, psn_tx, peer, pathset, own_set;
	uint32_t peer_set; /* all paths there are; pathset is this or own_set */
	bool connected, has_own_set;
	/* greeting */
	uint64_t nonce, greet_at_ns, greet_since_ns, heard_ns, asked_back;
	bool is_unfit; /* the peer has answered: its device and ours do not fit */
	uint32_t tries, peer_eq_number, peer_rd_atomic, n_groups;
	struct link in_opened, in_datagrams, in_greeting, in_backlog, in_draining;
	struct link in_senders, in_receivers; /* of its completion queues */
	/* queues: head <= fed <= tail, all run freely */
	struct work *sq;
	struct recv *rq;
	uint8_t *inlines, *lists;
	struct held *held; /* of datagrams, from RTR on; else NULL */
	uint32_t sq_mask, rq_mask;
	uint32_t untold; /* sends that are over, whose completions have not been polled */
	uint64_t sq_head, sq_fed, sq_tail, rq_head, rq_fed, rq_tail;
};

#define DEVICE_CLOSED UINT32_MAX /* in fork_age: closed while objects were open */
extern uint32_t device_fork_age; /* how often this process is a child of one with devices */
static inline bool device_is_dead(const struct weft_dev *dev)
{
	return dev->fork_age != device_fork_age;
}

/* Nothing in this room asks the machine for either. */
static inline uint64_t device_now(const struct weft_dev *dev)
{
	return dev->env.now(dev->env.arg);
}
static inline uint64_t device_random(const struct weft_dev *dev)
{
	return dev->env.random(dev->env.arg);
}

/* ---- say.c: why it did not work ---- */

void say_lost(const struct weft_dev_qp *qp); /* its peer has been silent for too long */
/* The two devices cannot talk, and why; once per reason.  With the lock. */
void say_unfit(struct weft_dev *dev, const struct weft_live_end *peer, const char *why);
void say_too_long(uint64_t bytes); /* a message */
void say_no_stats(const char *path, const char *why);

/* ---- device.c ---- */

void device_find_planes(struct weft_dev *dev); /* takes in addresses that have come */
/* The process ends: last ACKs.  False: a child's, or somebody is inside for good. */
bool device_leave(struct weft_dev *dev);

/* ---- event.c ---- */

int event_open(struct event_queue *queue); /* an errno value; what waits there is not moved */
void event_close(struct event_queue *queue);
void event_add(struct event_queue *queue, struct event_source *source, uint32_t kind);
/* NULL: there is none. */
struct event_source *event_take(struct event_queue *queue, uint32_t *kind);
/* Until there may be something; errno.  EINTR too: a program whose alarm rings waits no longer,
 * unless it set SA_RESTART.  Without the lock. */
int event_wait(const struct event_queue *queue);
/* To whoever is to hear of it. */
void event_put(struct weft_dev *dev, struct event_source *source, uint32_t kind);
void event_put_plane(struct weft_dev *dev, uint32_t kind, uint32_t plane);
void event_drop(struct event_source *source); /* its object goes */

/* ---- mr.c ---- */

/* WEFT_ACCESS_*: what WEFT_DEV_REMOTE_* in access does not grant. */
uint32_t mr_denied(uint32_t access);
/* All of it is mapped, and its ends may be used. */
bool mr_is_mapped_by_touch(const void *addr, uint64_t bytes, bool write);
/* The memory of an SGE; NULL: no such key there, out of bounds, or access missing. */
uint8_t *mr_memory(const struct weft_dev_pd *pd, const struct weft_dev_sge *sge, uint32_t access);

static inline uint32_t mr_slot(uint32_t key)
{
	return key >> 8 & (KEYS - 1); /* the engine's */
}
uint32_t mr_rights(uint32_t access); /* WEFT_ACCESS_* of WEFT_DEV_REMOTE_* */

/* ---- dmabuf.c: memory of other devices ---- */

/* EBADF; EINVAL: no DMA-BUF, or not as long; EOPNOTSUPP: no CPU may map it; ENOMEM.  Keeps a
 * descriptor of its own.  Without the lock. */
int dmabuf_open(int fd, uint64_t offset, uint64_t bytes, bool write, struct dmabuf **out);
void dmabuf_close(struct dmabuf *buf); /* unmapped; NULL is fine */
/* A CPU's accesses to it lie between these two. */
void dmabuf_begin(struct dmabuf *buf);
void dmabuf_end(struct dmabuf *buf);
void dmabuf_begin_all(struct weft_dev *dev);
void dmabuf_end_all(struct weft_dev *dev);

/* ---- device_mw.c: memory windows ---- */

/* Works that are done here, and not by the engine. */
static inline bool mw_is_work(uint32_t op)
{
	return op == WEFT_DEV_LOCAL_INV || op == WEFT_DEV_BIND_MW;
}
/* A new one, into its queue's place; an errno value. */
int mw_take(struct weft_dev_qp *qp, const struct weft_dev_send *send, struct work *work);
uint32_t mw_do(struct weft_dev_qp *qp, struct work *work); /* enum weft_dev_wc_status */
void mw_undo(struct weft_dev_qp *qp, struct work *work);   /* it will not be done */
void mw_forget_qp(struct weft_dev_qp *qp);                 /* it ends, or all of its works do */
bool mw_uses(const struct weft_dev_mr *mr);

/* ---- device_cq.c ---- */

void cq_put(struct weft_dev_cq *cq, const struct weft_dev_wc *wc, bool solicited);
void cq_forget_qp(struct weft_dev_cq *cq, uint32_t qpn);

/* ---- device_qp.c ---- */

/* Everything not done ends as flushed; first: status of the oldest send, or OK for flushed. */
void pair_to_error(struct weft_dev_qp *qp);
/* The greeting is through: both ends know what they need. */
struct greet_qp;
int qp_connect(
	struct weft_dev_qp *qp, const struct weft_live_end *end, const struct greet_qp *peer);
void qp_let_go(struct weft_dev_qp *qp);                       /* the engine's QPs become zombies */
static inline bool pair_is_open(const struct weft_dev_qp *qp) /* RTR has been reached */
{
	return qp->eq || qp->held;
}

/* ---- device_reclaim.c ---- */

void reclaim_memory(const struct weft_dev_mr *mr); /* no work names it any more */

/* ---- retry.c ---- */

/* What the program wants becomes what the engine does; attr: with the fabric's defaults. */
void retry_put(const struct weft_dev_qp_attr *own, struct weft_qp_attr *attr);
uint64_t retry_budget_ns(const struct weft_dev_qp_attr *own); /* of silence; 0: for ever */

/* ---- device_post.c, done.c ---- */

void queue_feed(struct weft_dev_qp *qp);    /* as much as the engine takes */
void queue_backlog(struct weft_dev_qp *qp); /* and what it does not, later */
/* A work is over, or will not be: what it has is given back. */
void post_release(struct weft_dev_qp *qp, struct work *work);
/* A receive; false: it is too long.  One whose keys, bounds or access are wrong has
 * no memory: whatever needs some fails there. */
bool post_list(uint8_t *room, const struct weft_dev_pd *pd, const struct weft_dev_recv *recv,
	struct recv *out);
size_t post_list_bytes(uint32_t sges);
void post_scatter(void *to, uint32_t at, const void *from, uint32_t len_bytes);
void post_place(void *arg, const struct weft_place *place); /* the pump's */
void done_take(struct weft_dev *dev, const struct weft_done *done);
void done_flush(struct weft_dev_qp *qp);
void done_fail_front(struct weft_dev_qp *qp, uint32_t status); /* the oldest send ends so */
bool done_is_idle(const struct weft_dev_qp *qp);               /* what was fed has been done */
void done_until(struct weft_dev_qp *qp, uint64_t end);  /* all sends before that one ended well */
int srq_again(struct weft_dev_srq *srq, uint32_t slot); /* to the engine; ENOMEM */

/* A receive is over, and its completion ready but for the queue pair's part. */
void done_recv(struct weft_dev_qp *qp, struct weft_dev_wc *wc, bool solicited);

/* ---- device_xrc.c ---- */

int xrc_share(struct weft_dev_srq *srq); /* a new one; an errno value */
void xrc_unshare(struct weft_dev_srq *srq);
/* The shared queue of which the engine took this receive. */
struct weft_dev_srq *xrc_find(const struct weft_dev *dev, uint32_t recvq);
void xrc_done(const struct weft_dev_qp *qp, const struct weft_dev_srq *srq, struct weft_dev_wc *wc,
	bool solicited);
/* Which kind of queue pair one of this profile talks to. */
static inline uint8_t xrc_peer(uint8_t profile)
{
	return profile == WEFT_DEV_XRC_SEND   ? WEFT_DEV_XRC_RECV
	       : profile == WEFT_DEV_XRC_RECV ? WEFT_DEV_XRC_SEND
					      : profile;
}
static inline bool xrc_is_part(uint8_t profile)
{
	return profile == WEFT_DEV_XRC_SEND || profile == WEFT_DEV_XRC_RECV;
}

/* ---- zombie.c ---- */

/* Not connected: nobody waits for its answers. */
void zombie_make(struct weft_dev *dev, const struct zombie *zombie, bool connected);
/* Ends those whose time is over; oldest: one at least.  False: there was none. */
bool zombie_reap(struct weft_dev *dev, uint64_t now, bool oldest);

/* ---- device_stats.c ---- */

void stats_register(struct weft_dev *dev);
void stats_forget(struct weft_dev *dev); /* writes them, too */
void stats_keep(struct weft_dev *dev);   /* closed, but somebody may hold it */
void stats_in_child(void);

#endif /* DEVICE_LOCAL_H */
