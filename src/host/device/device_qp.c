/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_qp - queue pairs: their slots, their states, and their engine's counterpart.
 *
 * A program knows of its peer a GID and a number when it moves to RTR, and of its own first PSN
 * only at RTS, sometimes never (servers of perftest stay in RTR).  So the engine's queue pair is
 * opened at RTR with a first PSN of ours, and goes to RTS as soon as the greeting is through; what
 * the program calls RTS only lets its sends go.
 */
#include "device_local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOT 16u /* QPNs 0 and 1 mean something else in the first process */

/* ---- the engine's side ---- */

void qp_let_go(struct weft_dev_qp *qp)
{
	struct weft_dev *dev = qp->dev;
	struct weft_qp_info info;

	greet_stop(qp);
	mw_forget_qp(qp);
	if (qp->held) {
		link_out(&qp->in_datagrams);
		contact_forget_qp(qp);
		held_release(qp->held);
		qp->held = NULL;
		qp->connected = false;
	}
	if (!qp->eq)
		return;

	/* Whatever it still has to say is of no use to anybody. */
	weft_qp_info(qp->eq, &info);
	if (info.state != WEFT_QP_ERROR)
		(void)weft_qp_move(qp->eq, WEFT_QP_ERROR, NULL, device_now(dev));
	(void)run_once(dev); /* its last completions are taken, and ignored, while qp exists */
	struct zombie zombie = { .eq = qp->eq,
		.peer = qp->peer,
		.set = qp->own_set,
		.has_peer = qp->connected,
		.has_set = qp->has_own_set };

	zombie_make(dev, &zombie, qp->connected);
	qp->eq = NULL;
	qp->connected = qp->has_own_set = false;
}

static int open_engine_qp(struct weft_dev_qp *qp)
{
	struct weft_dev *dev = qp->dev;
	struct weft_qp_attr attr = { .pd = qp->pd->number,
		.deny = mr_denied(qp->attr.access),
		.user = (uintptr_t)qp,
		.kind = qp->init.profile,
		.recvq = qp->init.srq ? qp->init.srq->recvq : WEFT_NO_RECVQ,
		.xrcd = qp->init.xrcd ? qp->init.xrcd->number : 0 };
	struct weft_qp_info info;
	int rc;

	weft_live_qp_defaults(dev->live, dev->end.rate_bps, &attr);
	if (qp->attr.cc[0])
		attr.cc = weft_cc_find(qp->attr.cc);
	if (!attr.cc)
		return EINVAL;
	if (qp->attr.has_cc_config)
		attr.cc_config = qp->attr.cc_config;
	while ((rc = weft_qp_open(dev->ep, &attr, &qp->eq)) == WEFT_EFULL)
		if (!zombie_reap(dev, 0, true))
			return ENOMEM;
	if (rc)
		return EINVAL;
	weft_qp_info(qp->eq, &info);
	qp->eq_number = info.qpn;
	qp->psn_tx = (uint32_t)device_random(dev) & WEFT_PSN_MASK;
	return 0;
}

static int choose_paths(struct weft_dev_qp *qp, uint32_t *set)
{
	struct weft_dev *dev = qp->dev;
	const struct paths *paths = &dev->paths[qp->attr.paths - 1];
	uint8_t ports[512];
	uint32_t evs[512], n = 0, active = paths->active;
	struct weft_path_info info;
	struct weft_pathset_attr attr = {
		.peer = qp->peer, .evs = evs, .ports = ports, .in_order = true
	};

	for (uint32_t i = 0; i < paths->n && n < 512; i++) {
		bool leads = false;

		for (uint32_t k = 0; !leads && !weft_path_info(dev->ep, *set, k, &info); k++)
			leads = info.ev == paths->evs[i];
		if (leads) {
			ports[n] = info.port;
			evs[n++] = paths->evs[i];
		} else if (i < paths->active && active) {
			active--;
		}
	}
	attr.n = n;
	attr.active = active < n ? active : 0; /* 0: all, however they share out among planes */
	attr.active_min = paths->active_min;
	if (!n || weft_pathset_open(dev->ep, &attr, &qp->own_set))
		return -1;
	qp->has_own_set = true;
	*set = qp->own_set;
	for (uint32_t i = 0; i < paths->n; i++)
		if (paths->states[i] != WEFT_PATH_EMPTY)
			(void)weft_path_mark(dev->ep, *set, paths->evs[i],
				(enum weft_path_state)paths->states[i], device_now(dev));
	return 0;
}

int qp_connect(struct weft_dev_qp *qp, const struct weft_live_end *end, const struct greet_qp *peer)
{
	struct weft_dev *dev = qp->dev;
	struct weft_qp_attr attr = { .peer_qpn = peer->eq_number,
		.psn_rx = peer->psn,
		.mpr_rx_psns = qp->attr.mpr_rx_psns,
		.wimm_rx = qp->attr.wimm_rx,
		.dynamic_mpr = qp->attr.dynamic_mpr && peer->dynamic_mpr,
		.trim_nack_rx = qp->attr.trim_nack && peer->trim_nack,
		.psn_tx = qp->psn_tx,
		.mpr_tx_psns = WEFT_MIN(peer->mpr_psns, qp->attr.mpr_tx_psns),
		.wimm_tx = WEFT_MIN(peer->wimm, qp->attr.wimm_tx),
		.rd_atomic_tx = WEFT_MIN(peer->rd_atomic, (uint32_t)qp->attr.rd_tx) };
	uint64_t now = device_now(dev);
	char error[256];

	qp->is_unfit =
		weft_live_peer_open(dev->live, end, &qp->peer, &attr.pathset, error, sizeof(error));
	if (qp->is_unfit) {
		say_unfit(dev, end, error);
		return -1;
	}
	attr.peer = qp->peer;
	qp->peer_set = attr.pathset;
	weft_live_qp_defaults(dev->live, end->rate_bps, &attr);
	weft_live_qp_mtu(&attr, WEFT_MIN(dev->end.mtu_bytes, end->mtu_bytes));
	retry_put(&qp->attr, &attr);
	if (qp->init.profile != WEFT_DEV_EXTENDED && !xrc_is_part(qp->init.profile))
		attr.rd_atomic_rx = attr.rd_atomic_tx = 0;
	else if (!attr.rd_atomic_tx)
		attr.rd_atomic_tx = WEFT_MIN(peer->rd_atomic, 1u);
	if ((qp->attr.paths && choose_paths(qp, &attr.pathset)) ||
		weft_qp_move(qp->eq, WEFT_QP_RTR, &attr, now) ||
		weft_qp_move(qp->eq, WEFT_QP_RTS, &attr, now)) {
		if (qp->has_own_set)
			(void)weft_pathset_close(dev->ep, qp->own_set);
		qp->has_own_set = false;
		weft_live_peer_close(dev->live, qp->peer);
		return -1;
	}
	qp->pathset = attr.pathset;
	qp->peer_eq_number = peer->eq_number;
	qp->peer_rd_atomic = peer->rd_atomic;
	qp->connected = true;
	greet_stop(qp);
	queue_feed(qp);
	return 0;
}

/* ---- the program's side ---- */

static bool is_possible(const struct weft_dev_pd *pd, const struct weft_dev_qp_init *init)
{
	const struct weft_dev *dev = pd->dev;

	return init->profile <= WEFT_DEV_XRC_RECV && init->cq_tx && init->cq_rx &&
	       init->cq_tx->dev == dev && init->cq_rx->dev == dev &&
	       (init->profile == WEFT_DEV_XRC_RECV) == (init->xrcd != NULL) &&
	       (!init->srq || (init->srq->dev == dev && init->profile != WEFT_DEV_STRICT &&
				      !xrc_is_part(init->profile) && !init->srq->srqn)) &&
	       init->sq_depth <= DEPTH_MAX && init->rq_depth <= DEPTH_MAX &&
	       init->sq_sges <= SGES_MAX && init->rq_sges <= SGES_MAX &&
	       init->inline_bytes <= INLINE_MAX;
}

static uint32_t ring_size(uint32_t depth)
{
	uint32_t n = 1;

	while (n < depth)
		n *= 2;
	return n;
}

static bool open_rings(struct weft_dev_qp *qp)
{
	uint32_t sends = ring_size(qp->init.sq_depth), recvs = ring_size(qp->init.rq_depth);

	qp->sq_mask = sends - 1;
	qp->rq_mask = recvs - 1;
	qp->sq = calloc(sends, sizeof(*qp->sq));
	qp->rq = calloc(recvs, sizeof(*qp->rq));
	qp->inlines = calloc(sends, WEFT_MAX(qp->init.inline_bytes, 1u));
	qp->lists = calloc(recvs, post_list_bytes(qp->init.rq_sges));
	return qp->sq && qp->rq && qp->inlines && qp->lists;
}

/* Its works are no more; with the lock. */
static void drop_works(struct weft_dev_qp *qp)
{
	progress_forget(qp);
	for (; qp->sq_head != qp->sq_tail; qp->sq_head++)
		post_release(qp, &qp->sq[qp->sq_head & qp->sq_mask]);
}

static void free_qp(struct weft_dev_qp *qp)
{
	free(qp->sq);
	free(qp->rq);
	free(qp->inlines);
	free(qp->lists);
	free(qp);
}

static void set_defaults(struct weft_dev_qp *qp)
{
	const struct weft_config *engine = weft_live_engine(qp->dev->live);

	qp->attr = (struct weft_dev_qp_attr){ .state = WEFT_DEV_RESET,
		.timeout = 16,
		.retry = 7,
		.rnr_retry = 7,
		.rnr_timer = 12,
		.rd_tx = 1,
		.rd_rx = RD_ATOMIC_MAX,
		.mtu = 5,
		.trim_nack = true,
		.wimm_rx = engine->wimm_max,
		.wimm_tx = UINT16_MAX,
		.mpr_rx_psns = engine->window_psns,
		.mpr_tx_psns = engine->window_psns };
}

static int take_slot(struct weft_dev_qp *qp)
{
	struct weft_dev *dev = qp->dev;

	if (dev->n_qps == QPS_MAX)
		return ENOMEM;
	/* In turn, so that a number is not soon another's. */
	while (dev->qps[dev->next_slot])
		dev->next_slot = dev->next_slot + 1 < QP_SLOTS ? dev->next_slot + 1 : FIRST_SLOT;
	dev->qps[dev->next_slot] = qp;
	qp->number = dev->number << SLOT_BITS | dev->next_slot;
	dev->next_slot = dev->next_slot + 1 < QP_SLOTS ? dev->next_slot + 1 : FIRST_SLOT;
	dev->n_qps++;
	link_in(&dev->opened, &qp->in_opened, qp);
	link_in(&qp->init.cq_tx->senders, &qp->in_senders, qp);
	link_in(&qp->init.cq_rx->receivers, &qp->in_receivers, qp);
	qp->pd->users++;
	qp->init.cq_tx->users++;
	qp->init.cq_rx->users++;
	if (qp->init.srq)
		qp->init.srq->users++;
	return 0;
}

int weft_dev_qp_open(
	struct weft_dev_pd *pd, const struct weft_dev_qp_init *init, struct weft_dev_qp **out)
{
	struct weft_dev *dev = pd->dev;
	struct weft_dev_qp *qp;
	int rc;

	if (device_is_dead(dev))
		return ENODEV;
	if (!is_possible(pd, init))
		return EINVAL;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return ENOMEM;
	qp->dev = dev;
	qp->pd = pd;
	qp->init = *init;
	qp->events = (struct event_source){ .user = init->user, .owner = init->owner };
	if (init->srq || xrc_is_part(init->profile))
		qp->init.rq_depth = 0;
	set_defaults(qp);
	if (!open_rings(qp)) {
		free_qp(qp);
		return ENOMEM;
	}
	weft_lock_take(&dev->lock);
	rc = run_start(dev);
	if (!rc)
		rc = take_slot(qp);
	weft_lock_give(&dev->lock);
	if (rc) {
		free_qp(qp);
		return ENOMEM;
	}
	*out = qp;
	return 0;
}

/* Nothing finds it any more. */
static void give_slot(struct weft_dev_qp *qp)
{
	struct weft_dev *dev = qp->dev;

	dev->qps[qp->number & (QP_SLOTS - 1)] = NULL;
	dev->n_qps--;
	event_drop(&qp->events);
	link_out(&qp->in_opened);
	link_out(&qp->in_draining);
	link_out(&qp->in_senders);
	link_out(&qp->in_receivers);
	qp->pd->users--;
	qp->init.cq_tx->users--;
	qp->init.cq_rx->users--;
	if (qp->init.srq)
		qp->init.srq->users--;
}

int weft_dev_qp_close(struct weft_dev_qp *qp)
{
	struct weft_dev *dev = qp->dev;

	if (!device_is_dead(dev)) {
		weft_lock_take(&dev->lock);
		if (qp->n_groups) {
			weft_lock_give(&dev->lock);
			return EBUSY;
		}
		qp->attr.state = WEFT_DEV_ERR;
		qp_let_go(qp);
		link_out(&qp->in_backlog);
		cq_forget_qp(qp->init.cq_tx, qp->number);
		cq_forget_qp(qp->init.cq_rx, qp->number);
		give_slot(qp);
		if (qp->attr.paths)
			dev->paths[qp->attr.paths - 1].users--;
		drop_works(qp);
		weft_lock_give(&dev->lock);
	}
	free_qp(qp);
	return 0;
}

uint32_t weft_dev_qp_number(const struct weft_dev_qp *qp)
{
	return qp->number;
}

/* ---- states ---- */

void pair_to_error(struct weft_dev_qp *qp)
{
	struct weft_dev *dev = qp->dev;
	struct weft_qp_info info;

	qp->attr.state = WEFT_DEV_ERR;
	greet_stop(qp);
	if (qp->eq) {
		weft_qp_info(qp->eq, &info);
		if (info.state != WEFT_QP_ERROR)
			(void)weft_qp_move(qp->eq, WEFT_QP_ERROR, NULL, device_now(dev));
	}
	done_flush(qp);
	if (qp->init.srq)
		event_put(dev, &qp->events, WEFT_DEV_QP_LAST_WQE);
}

static void reset(struct weft_dev_qp *qp)
{
	struct weft_dev_qp_attr old = qp->attr;

	qp->attr.state = WEFT_DEV_ERR; /* while the engine is asked for the last time */
	qp_let_go(qp);
	link_out(&qp->in_backlog);
	cq_forget_qp(qp->init.cq_tx, qp->number);
	cq_forget_qp(qp->init.cq_rx, qp->number);
	drop_works(qp);
	qp->sq_head = qp->sq_fed = qp->sq_tail = qp->untold = 0;
	qp->rq_head = qp->rq_fed = qp->rq_tail = 0;
	set_defaults(qp);
	qp->attr.paths = old.paths;
}

static int become_rtr(struct weft_dev_qp *qp)
{
	if (qp->init.profile == WEFT_DEV_DATAGRAM) {
		qp->held = held_open(qp->dev);
		qp->connected = qp->held != NULL;
		if (!qp->held)
			return ENOMEM;
		link_in(&qp->dev->datagrams.qps, &qp->in_datagrams, qp);
		return 0;
	}
	int rc = open_engine_qp(qp);

	if (!rc)
		greet_start(qp);
	return rc;
}

static int move(struct weft_dev_qp *qp, uint8_t to)
{
	uint8_t from = qp->attr.state;
	int rc = 0;

	if (to == WEFT_DEV_RESET) {
		reset(qp);
		return 0;
	}
	if (to == WEFT_DEV_ERR) {
		if (from == WEFT_DEV_RESET)
			return EINVAL;
		if (from != WEFT_DEV_ERR)
			pair_to_error(qp);
		return 0;
	}
	if (to == WEFT_DEV_RTR && from == WEFT_DEV_INIT)
		rc = become_rtr(qp);
	else if (!(to == WEFT_DEV_INIT && from <= WEFT_DEV_INIT) &&
		 !(to == WEFT_DEV_RTS && (from == WEFT_DEV_RTR || from == WEFT_DEV_SQD)) &&
		 !(to == WEFT_DEV_SQD && from == WEFT_DEV_RTS) &&
		 !(to == from && to == WEFT_DEV_RTS))
		return EINVAL;
	if (rc)
		return rc;
	qp->attr.state = to;
	if (to == WEFT_DEV_SQD)
		link_in(&qp->dev->draining, &qp->in_draining, qp);
	queue_feed(qp);
	return 0;
}

/* Copies the fields that count; false: one is out of range. */
static bool take_attr(struct weft_dev_qp_attr *own, const struct weft_dev_qp_attr *attr,
	uint32_t mask, const struct weft_dev *dev)
{
#define TAKE(bit, field)                                                                           \
	if (mask & (bit))                                                                          \
	own->field = attr->field
	TAKE(WEFT_DEV_SET_ACCESS, access);
	TAKE(WEFT_DEV_SET_QKEY, qkey);
	TAKE(WEFT_DEV_SET_PEER_QPN, peer_qpn);
	TAKE(WEFT_DEV_SET_PSN_RX, psn_rx);
	TAKE(WEFT_DEV_SET_PSN_TX, psn_tx);
	TAKE(WEFT_DEV_SET_TIMEOUT, timeout);
	TAKE(WEFT_DEV_SET_RETRY, retry);
	TAKE(WEFT_DEV_SET_RNR_RETRY, rnr_retry);
	TAKE(WEFT_DEV_SET_RNR_TIMER, rnr_timer);
	TAKE(WEFT_DEV_SET_RD_TX, rd_tx);
	TAKE(WEFT_DEV_SET_RD_RX, rd_rx);
	TAKE(WEFT_DEV_SET_MTU, mtu);
	TAKE(WEFT_DEV_SET_NOTIFY, notify);
	TAKE(WEFT_DEV_SET_LINEAR, linear);
	own->doubles |= (mask & WEFT_DEV_SET_LINEAR) != 0;
	TAKE(WEFT_DEV_SET_PATHS, paths);
	TAKE(WEFT_DEV_SET_TRIM_NACK, trim_nack);
	TAKE(WEFT_DEV_SET_DYNAMIC_MPR, dynamic_mpr);
#undef TAKE
	if (mask & WEFT_DEV_SET_PEER)
		memcpy(own->gid, attr->gid, 16);
	if (mask & WEFT_DEV_SET_WIMM) {
		own->wimm_rx = attr->wimm_rx;
		own->wimm_tx = attr->wimm_tx;
	}
	if (mask & WEFT_DEV_SET_MPR) {
		own->mpr_rx_psns = attr->mpr_rx_psns;
		own->mpr_tx_psns = attr->mpr_tx_psns;
	}
	if (mask & WEFT_DEV_SET_CC) {
		memcpy(own->cc, attr->cc, sizeof(own->cc));
		own->cc[sizeof(own->cc) - 1] = 0;
		own->has_cc_config = attr->has_cc_config;
		own->cc_config = attr->cc_config;
	}
	const struct weft_config *engine = weft_live_engine(dev->live);

	return own->rd_tx <= RD_ATOMIC_MAX && own->rd_rx <= RD_ATOMIC_MAX && own->rnr_retry <= 7 &&
	       own->timeout <= 31 && own->linear <= 7 && own->retry <= 25 &&
	       own->peer_qpn <= WEFT_PSN_MASK && own->paths <= dev->n_paths &&
	       (!own->paths || dev->paths[own->paths - 1].n) && own->wimm_rx <= engine->wimm_max &&
	       own->wimm_tx <= UINT16_MAX && own->mpr_rx_psns >= WEFT_MPR_UNIT_PSNS &&
	       !(own->mpr_rx_psns % WEFT_MPR_UNIT_PSNS) &&
	       own->mpr_rx_psns <= engine->window_psns && own->mpr_tx_psns >= WEFT_MPR_UNIT_PSNS &&
	       !(own->mpr_tx_psns % WEFT_MPR_UNIT_PSNS);
}

int weft_dev_qp_modify(struct weft_dev_qp *qp, const struct weft_dev_qp_attr *attr, uint32_t mask)
{
	struct weft_dev *dev = qp->dev;
	struct weft_dev_qp_attr next;
	bool to_rtr = mask & WEFT_DEV_SET_STATE && attr->state == WEFT_DEV_RTR;
	int rc = 0;

	if (device_is_dead(dev))
		return ENODEV;
	weft_lock_take(&dev->lock);
	next = qp->attr;
	if (!take_attr(&next, attr, mask, dev) ||
		(to_rtr && qp->init.profile != WEFT_DEV_DATAGRAM &&
			(mask & (WEFT_DEV_SET_PEER | WEFT_DEV_SET_PEER_QPN)) !=
				(WEFT_DEV_SET_PEER | WEFT_DEV_SET_PEER_QPN)))
		rc = EINVAL;
	struct weft_dev_qp_attr before = qp->attr;

	if (!rc) {
		qp->attr = next;
		if (mask & WEFT_DEV_SET_STATE)
			rc = move(qp, attr->state);
		if (rc)
			qp->attr = before;
	}
	if (!rc && qp->attr.paths != before.paths) {
		if (before.paths)
			dev->paths[before.paths - 1].users--;
		if (qp->attr.paths)
			dev->paths[qp->attr.paths - 1].users++;
	}
	if (!rc && mask & WEFT_DEV_SET_ACCESS && qp->eq)
		(void)weft_qp_set_deny(qp->eq, mr_denied(qp->attr.access));
	if (!rc && qp->connected && qp->eq && qp->attr.state >= WEFT_DEV_RTR &&
		qp->attr.state <= WEFT_DEV_SQD) {
		struct weft_qp_attr retry = { 0 };

		weft_live_qp_defaults(dev->live, dev->end.rate_bps, &retry);
		retry_put(&qp->attr, &retry);
		retry.rd_atomic_tx = WEFT_MIN(qp->peer_rd_atomic, WEFT_MAX(qp->attr.rd_tx, 1u));
		(void)weft_qp_set_retry(qp->eq, &retry);
	}
	(void)run_once(dev);
	run_wake(dev);
	weft_lock_give(&dev->lock);
	return rc;
}

void weft_dev_qp_query(
	struct weft_dev_qp *qp, struct weft_dev_qp_attr *attr, struct weft_dev_qp_init *init)
{
	bool is_dead = device_is_dead(qp->dev);

	if (!is_dead)
		weft_lock_take(&qp->dev->lock);
	if (attr) {
		*attr = qp->attr;
		attr->draining = link_is_in(&qp->in_draining) && qp->attr.state == WEFT_DEV_SQD;
	}
	if (init)
		*init = qp->init;
	if (!is_dead)
		weft_lock_give(&qp->dev->lock);
}

int weft_dev_qp_info(struct weft_dev_qp *qp, struct weft_qp_info *info)
{
	int rc = 0;

	if (device_is_dead(qp->dev))
		return ENODEV;
	weft_lock_take(&qp->dev->lock);
	if (qp->eq && qp->connected)
		weft_qp_info(qp->eq, info);
	else
		rc = ENOTCONN;
	weft_lock_give(&qp->dev->lock);
	return rc;
}
