/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_OCP_LOCAL_H
#define WEFT_OCP_LOCAL_H
/*
 * local - what the OCP API's objects are made of.
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
#include <weft/engine.h>

#define HINTS_MAX 1024u
#define QP_OWNER  0x6d7263u /* in events of the device: the QP is one of ours */

struct weft_dev;
struct weft_dev_channel;
struct weft_dev_cq;
struct weft_dev_qp;

struct station {
	struct station *next;
	struct weft_dev *dev;
	struct plant *plant;
	uint32_t planes;
	uint32_t contexts;
	_Atomic uint32_t hints;
	pthread_mutex_t lock;    /* of what follows */
	struct mrc_qp *qps;      /* that have an EV profile */
	struct mrc_cq *ev_queues;
	uint64_t trace_seq;
	uint64_t told;           /* plant->events that channels have been told of */
	pthread_t watcher;
	bool is_watched, must_end;
};

struct mrc_context {
	struct station *station;
	struct ibv_context *verbs;
	uint32_t version;
	_Atomic uint32_t objects;
};

struct mrc_comp_channel {
	struct mrc_context *context;
	struct weft_dev_channel *inner;
	int fd;      /* epoll: the inner channel's, and bell */
	int bell[2]; /* a pipe of struct mrc_cq *: EV event queues */
	_Atomic uint32_t queues;
};

struct mrc_cq {
	struct mrc_context *context;
	struct mrc_comp_channel *channel;
	struct weft_dev_cq *inner; /* NULL: a queue of EV events */
	void *user;
	_Atomic uint32_t unacked;
	/* EV events */
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
	struct weft_dev_qp *inner;
	struct mrc_qp_init_attr init;
	struct mrc_qp_attr attr; /* as it was set, with defaults */
	struct mrc_qp_hint *hint;
	_Atomic uint32_t unacked;
	/* profiles; under the station's lock */
	struct mrc_qp *next;
	uint64_t evs_id, cc_id;
	bool uses_evs, uses_cc;
	uint32_t paths;      /* of the device, 0: none */
	uint32_t changes;    /* plant_evs.changes that paths have heard of */
	uint32_t pathset;    /* the engine's, once connected */
	uint32_t *ev;        /* the engine's EV of each of the profile's, UINT32_MAX: none */
	uint32_t n_evs;
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

struct station *station_take(struct ibv_context *verbs); /* NULL with errno */
void station_give(struct station *station);
/* Starts the thread that tells states of paths and new events; nothing if it runs. */
int station_watch(struct station *station);
void station_look(struct station *station); /* one turn of it */

struct weft_dev_qp_attr;
/* value convention.  Looks the QP's profiles up and puts them into the device's attributes. */
int profile_apply(struct mrc_qp *qp, const uint8_t gid[16], struct weft_dev_qp_attr *attr,
	uint32_t *mask);
void profile_release(struct mrc_qp *qp);
/* The device's EVs towards a peer that the entries of a list mean. */
int profile_map(struct weft_dev *dev, const uint8_t gid[16], uint32_t mode,
	const struct mrc_ctl_ev expanded[], uint32_t n, uint32_t evs[]);

int evs_operate(struct plant_evs *evs, struct plant *plant, struct mrc_ctl_ev_profile_attr *attr,
	bool is_query);
/* The EV as it goes on the wire. */
void evs_expanded(struct plant *plant, const struct plant_evs *evs, uint32_t index,
	struct mrc_ctl_ev *ev);

void ev_queue_ring(struct station *station); /* under its lock: events for armed queues */
int ev_queue_arm(struct mrc_cq *cq);
int ev_queue_destroy(struct mrc_cq *cq);
void channel_ring(struct mrc_cq *cq);

#endif
