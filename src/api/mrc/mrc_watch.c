/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_watch - carries news between the QPs of this process and the profiles that all processes see.
 *
 * Every ten milliseconds: which paths of our QPs have been given up or come back (told as EV
 * events, and kept as the EV's state), what a controller has said since (EVs denied, allowed,
 * replaced: ev_use.c; ports shut or opened), and whether there are events for queues of ours.  A
 * path that goes and comes back between two looks is not seen; the engine's own trace has it.  The
 * thread exists from the first RTR or the first queue of events on.
 */
#include "mrc_local.h"

#include <signal.h>
#include <string.h>
#include <time.h>

#define LOOK_NS 10000000

/* The engine's word for a path in the profile's: SKIP lasts one turn and is nobody's business. */
static bool is_bad(uint8_t state)
{
	return state == WEFT_PATH_ASSUMED_BAD;
}

/* An EV is as bad as the worst of the QPs here finds it. */
static bool others_find_bad(const struct mrc_qp *qp, uint32_t dev_ev)
{
	for (const struct mrc_qp *at = qp->context->station->qps; at; at = at->next) {
		if (at == qp || at->evs != qp->evs)
			continue;
		for (uint32_t i = 0; i < WEFT_COUNT(at->state); i++) {
			if (is_bad(at->state[i]) && at->seen[i] == dev_ev)
				return true;
		}
	}
	return false;
}

/* Under both locks. */
static void tell(struct plant *plant, const struct mrc_qp *qp, uint32_t dev_ev, bool bad)
{
	if (!bad && others_find_bad(qp, dev_ev))
		return;
	enum mrc_ctl_ev_state state = bad ? MRC_CTL_EV_ASSUMED_BAD : MRC_CTL_EV_GOOD;
	struct plant_evs *evs = qp->evs;
	bool is_wanted = evs->event_mask & (int)state;

	if (evs->mode == MRC_CTL_EV_MODE_AUTO) {
		struct mrc_ctl_ev ev = { .val = { (uint8_t)(dev_ev >> 24),
						 (uint8_t)(dev_ev >> 16), (uint8_t)(dev_ev >> 8),
						 (uint8_t)dev_ev },
			.port = (uint8_t)((dev_ev >> 16) + 1) };

		if (is_wanted)
			plant_tell(plant, evs->id, &ev, state);
		return;
	}
	for (uint32_t i = 0; i < qp->n_evs && i < evs->count; i++) {
		if (qp->ev[i] != dev_ev || evs->ev[i].bad == bad)
			continue;
		evs->ev[i].bad = bad;
		if (is_wanted && !evs->ev[i].denied)
			plant_tell(plant, evs->id, &evs->ev[i].ev, state);
	}
}

static void look_at_paths(struct plant *plant, struct mrc_qp *qp)
{
	struct weft_path_info info;

	for (uint32_t i = 0; i < WEFT_COUNT(qp->state); i++) {
		if (weft_dev_path_info(qp->inner, i, &info))
			return; /* no more, or not connected yet */
		bool was_bad = is_bad(qp->state[i]);

		if (is_bad(info.state) != was_bad && info.state != WEFT_PATH_DENIED)
			tell(plant, qp, info.ev, is_bad(info.state));
		qp->state[i] = info.state;
		qp->seen[i] = info.ev;
	}
}

void watcher_forget(struct mrc_qp *qp)
{
	for (uint32_t i = 0; i < WEFT_COUNT(qp->state); i++) {
		if (!is_bad(qp->state[i]))
			continue;
		qp->state[i] = WEFT_PATH_EMPTY;
		tell(qp->context->station->plant, qp, qp->seen[i], false);
	}
}

void watcher_set_ports(struct station *station)
{
	uint32_t shut, changed;

	plant_lock(station->plant);
	shut = station->plant->ports_shut;
	plant_unlock(station->plant);
	changed = shut ^ station->ports_shut;
	for (uint32_t i = 0; i < station->planes; i++) {
		if (changed >> i & 1)
			(void)weft_dev_plane_admin(station->dev, i, !(shut >> i & 1));
	}
	station->ports_shut = shut;
}

void watcher_look(struct station *station)
{
	weft_lock_take(&station->lock);
	watcher_set_ports(station);
	plant_lock(station->plant);
	for (struct mrc_qp *qp = station->qps; qp; qp = qp->next) {
		if (!qp->evs)
			continue;
		if (qp->ev)
			ev_use_hear(qp, station->plant);
		look_at_paths(station->plant, qp);
	}
	bool is_news = station->plant->events != station->events_seen;

	station->events_seen = station->plant->events;
	plant_unlock(station->plant);
	if (is_news)
		ev_queue_ring(station);
	weft_lock_give(&station->lock);
}

static void *run(void *arg)
{
	struct station *station = arg;

	while (!atomic_load(&station->must_end)) {
		watcher_look(station);
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
	}
	return NULL;
}

int watcher_start(struct station *station)
{
	sigset_t all, old;
	int rc = 0;

	weft_lock_take(&station->lock);
	if (!station->is_watched) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are the program's */
		rc = pthread_create(&station->watcher, NULL, run, station);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		station->is_watched = !rc;
	}
	weft_lock_give(&station->lock);
	return rc;
}

void watcher_stop(struct station *station)
{
	if (!station->is_watched)
		return;
	atomic_store(&station->must_end, true);
	pthread_join(station->watcher, NULL);
	station->is_watched = false;
}
