/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_OCP_LOCAL_H
#define WEFT_OCP_LOCAL_H
/*
 * mrc_local - what the OCP API's objects are made of.
 *
 *    struct ibv_context --> weft_dev          one station per weft_dev of this process
 *         ^                    ^                 plant: profiles, shared with other processes
 *         |                    |                 list of QPs, for states of paths
 *    mrc_context ----------> station <---------- EV event queues, watcher thread
 *         ^
 *         +--- mrc_comp_channel, mrc_cq, mrc_qp, mrc_qp_hint
 */
#include "fields.h"
#include "plant.h"

#include <errno.h>
#include <stdatomic.h>
#include <weft/base.h>
#include <weft/device.h>
#include <weft/lock.h>
#include <weft/verbs.h>

#define HINTS_MAX 1024u
#define PATHS_MAX 512u /* of one QP */
#define MRC_QP_ALL                                                                                 \
	(MRC_QP_MAX_WIMM | MRC_QP_MAX_WIMM_DEST | MRC_QP_MPR | MRC_QP_MPR_DEST | MRC_QP_TIMEOUT |  \
		MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID | MRC_QP_HINT | MRC_QP_RETRY_CNT |     \
		MRC_QP_CAP | MRC_QP_VENDOR_CFG)
#define VERBS_QP_ALL ((IBV_QP_RATE_LIMIT << 1) - 1) /* the bits of enum ibv_qp_attr_mask */
#define MPR_UNIT 128u

struct station {
	struct station *next;
	struct weft_dev *dev;
	struct plant_file file;
	struct plant *plant; /* the file's */
	uint32_t planes;
	uint32_t contexts;
	pid_t pid; /* whose it is: a child of it has neither the watcher nor a row in the plant */
	_Atomic uint32_t hints;
	struct weft_lock lock; /* of what follows */
	struct mrc_qp *qps;   /* in RTR or later */
	struct mrc_cq *ev_queues;
	uint64_t events_seen; /* plant->events when queues were last rung for */
	uint32_t ports_shut;  /* as the device has heard it; bit n: plane n */
	pthread_t watcher;
	bool is_watched;
	_Atomic bool must_end;
};

struct mrc_context {
	struct station *station;
	struct ibv_context *verbs;
	uint32_t version;
	uint32_t owner; /* of its objects' events */
	struct weft_dev_listener *listener;
	_Atomic uint32_t objects;
};

struct mrc_comp_channel {
	struct mrc_context *context;
	struct weft_dev_channel *inner;
	int fd;      /* epoll: the inner channel's, and bell[0] */
	int bell[2]; /* a pipe of struct mrc_cq *: EV event queues */
	_Atomic uint32_t queues;
};

struct mrc_cq {
	struct mrc_context *context;
	struct mrc_comp_channel *channel;
	struct weft_dev_cq *inner; /* NULL: a queue of EV events */
	void *user;
	_Atomic uint32_t unacked;
	/* EV events; under the station's lock */
	struct mrc_cq *next;
	uint32_t capacity;
	uint64_t at; /* the plant's event that comes next */
	bool armed;
};

struct mrc_qp_hint {
	struct mrc_context *context;
	struct mrc_qp_hint_attr attr;
	_Atomic uint32_t users;
};

struct mrc_qp {
	struct mrc_context *context;
	struct weft_lock lock; /* of `attr` and what follows from it: moves and questions queue */
	struct weft_dev_qp *inner;
	struct mrc_qp_init_attr init;
	struct mrc_qp_attr attr; /* as it was set, with defaults */
	struct ibv_ah_attr ah_attr;
	_Atomic uint32_t unacked;
	/* from RTR on; under the station's lock */
	struct mrc_qp *next;
	struct plant_evs *evs; /* NULL: none in use */
	struct plant_cc *cc;
	uint32_t paths;   /* of the device; 0: all there are */
	uint32_t changes; /* plant_evs.changes that the paths have heard of */
	uint8_t peer[16]; /* GID */
	uint32_t n_evs;
	uint32_t *ev;             /* the device's EV of each of the profile's, or NO_EV */
	uint32_t n_list;          /* places in the group of paths */
	uint32_t list[PATHS_MAX]; /* the device's EV in each */
	bool said[PATHS_MAX];     /* that it is denied */
	uint8_t state[PATHS_MAX]; /* enum weft_path_state of each path, as last seen */
	uint32_t seen[PATHS_MAX]; /* its device's EV then */
};

#define NO_EV UINT32_MAX

static inline int fail(int error) /* the errno convention */
{
	errno = error;
	return -1;
}

static inline void *fail_null(int error)
{
	errno = error;
	return NULL;
}

/* Objects that exist.  False: no memory. */
bool alive_add(const void *object);
bool alive_is(const void *object);
void alive_drop(const void *object);
/* Nobody else is inside meanwhile: around a fork. */
void alive_hold(void);
void alive_let_go(void);

struct station *station_take(struct weft_dev *dev); /* NULL with errno */
void station_give(struct station *station);
/* In a child of the process that made it: nothing but giving back makes sense. */
bool station_is_dead(const struct station *station);

/* Starts the thread that tells states of paths and new events; nothing if it runs.  errno value. */
int watcher_start(struct station *station);
void watcher_stop(struct station *station);
void watcher_look(struct station *station); /* one turn of it */
void watcher_forget(struct mrc_qp *qp); /* under both locks: what it found bad it finds no more */
/* Under the station's lock: ports as the plant has them. */
void watcher_set_ports(struct station *station);

/*
 * value convention.  Looks up the profiles that the QP names and puts them into the attributes for
 * RTR; afterwards they are in use, until released.  gid: the peer's.
 */
int profile_apply(
	struct mrc_qp *qp, const uint8_t gid[16], struct weft_dev_qp_attr *attr, uint32_t *mask);
void profile_release(struct mrc_qp *qp);
bool profile_is_online(struct mrc_qp *qp, const struct mrc_qp_attr *attr, int mask);
/* The engine's form of a CC profile. */
void profile_cc(
	const struct plant_cc *cc, const struct weft_dev_attr *dev, struct weft_dev_qp_attr *attr);
/* The device's EV towards a peer that an expanded EV means, out of n; NO_EV: none. */
uint32_t profile_match(struct weft_dev *dev, const uint8_t gid[16], uint32_t fmt_mode,
	const struct mrc_ctl_ev *ev, const uint32_t evs[], uint32_t n);

/* Under the plant's lock.  Opens the group of paths that the profile means towards qp->peer. */
int ev_use_open(struct mrc_qp *qp, struct plant *plant, const struct plant_evs *evs);
/* What the profile says differently since. */
void ev_use_hear(struct mrc_qp *qp, struct plant *plant);

int evs_operate(struct plant_evs *evs, struct plant *plant, struct mrc_ctl_ev_profile_attr *attr,
	bool is_query);
/* The EV as it goes on the wire. */
void evs_expanded(
	struct plant *plant, const struct plant_evs *evs, uint32_t index, struct mrc_ctl_ev *ev);

void ev_queue_ring(struct station *station); /* under its lock: events for armed queues */
int ev_queue_arm(struct mrc_cq *cq, int solicited_only);
void ev_queue_close(struct mrc_cq *cq); /* under the station's lock */

bool channel_ring(struct mrc_cq *cq);
/* None, or one of that context's. */
bool channel_fits(const struct mrc_comp_channel *channel, const struct mrc_context *context);
void acks_await(const _Atomic uint32_t *unacked);
/* A GID of any of the forms that a device has, as the one by which it is found. */
void gid_find(const union ibv_gid *gid, uint8_t address[16]);

#endif
