/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path_state - Figure 5 of the specification [P 3.4], [P 3.5], [P 3.6], [P 3.7] as a grid, and what
 * follows from a change.
 *
 * The grid is bookkeeping; path_retire() and path_revive() see a change and act: rotation,
 * backup, probing, events [P 6.1].  Floors [P 3.8] are looked at before the grid is asked, because
 * retiring the last good paths would turn one bad link into a dead QP: at the floor a path goes
 * only when several packets in a row died on it with none alive between.
 *
 * A plane that loses several packets in a row while others deliver is given up as a whole.
 * One path at a time would be right as well, but costs a detection time per backup.
 *
 * A packet that was only late (three full queues at full load) is called lost all the same: quick
 * detection is worth that.  When it turns up, its path is taken back at once, without proofs.
 */
#include "engine_local.h"

/* clang-format off */
enum { BUG = 0, E = 1 + WEFT_PATH_EMPTY, G = 1 + WEFT_PATH_GOOD, S = 1 + WEFT_PATH_SKIP,
       B = 1 + WEFT_PATH_ASSUMED_BAD, D = 1 + WEFT_PATH_DENIED };

static const uint8_t next[][PATH_EVENT_COUNT] = {
	/* event:                  SET  MARK TURN LOSS PROOF DENY ALLOW */
	[WEFT_PATH_EMPTY]       = { G,   BUG, BUG, BUG, BUG,  BUG, BUG },
	[WEFT_PATH_GOOD]        = { BUG, S,   G,   B,   G,    D,   G },
	[WEFT_PATH_SKIP]        = { BUG, S,   G,   B,   S,    D,   S },
	[WEFT_PATH_ASSUMED_BAD] = { BUG, B,   B,   B,   G,    D,   B },
	[WEFT_PATH_DENIED]      = { BUG, D,   D,   D,   D,    D,   G }, /* late echoes */
};
/* clang-format on */

enum { RELAPSE_NS = 1000000000, PROOF_NEED_MAX = 32 };
enum { LONE_MARKS = 24, DOUBT_MAX = 3 };
static_assert(LONE_MARKS << DOUBT_MAX <= UINT8_MAX, "lone_marks gets there");

bool path_step(struct weft_endpoint *ep, uint32_t set, uint32_t index, enum path_event event,
	       uint64_t now)
{
	WEFT_ASSERT(set < ep->config.pathsets && index < ep->sets[set].paths);
	WEFT_ASSERT(event < PATH_EVENT_COUNT);
	struct path *path = &ep->sets[set].path[index];
	uint8_t cell = next[path->state][event];

	WEFT_ASSERT(cell != BUG);
	if (path->state == cell - 1)
		return false;
	if (event != PATH_TURN && event != PATH_MARK) { /* those two are daily life */
		event_note(ep, WEFT_EV_PATH_STATE, 0, set, path->ev, path->state, cell - 1u);
		ep->sets[set].past[index].changed_ns = now;
	}
	path->state = (uint8_t)(cell - 1);
	return true;
}

/* A backup of the same plane can step in: then nothing is given up. */
static bool has_backup(const struct pathset *set, const struct plane *plane)
{
	for (uint32_t at = plane->first + plane->active; at < plane->first + plane->total; at++) {
		uint8_t state = set->path[set->order[at]].state;

		if (state == WEFT_PATH_GOOD || state == WEFT_PATH_SKIP)
			return true;
	}
	return false;
}

static bool at_floor(const struct pathset *set, const struct plane *plane)
{
	return (plane->active <= WEFT_MAX(1, plane->target / 4) ||
		set->active <= set->active_min) &&
	       !has_backup(set, plane);
}

void path_retire(struct weft_endpoint *ep, uint32_t set_index, uint32_t index, bool hard,
		 uint64_t now)
{
	struct pathset *set = &ep->sets[set_index];
	struct path *path = &set->path[index];
	bool was_up = path->state == WEFT_PATH_GOOD || path->state == WEFT_PATH_SKIP;
	struct path_past *past = &set->past[index];
	uint64_t up_ns = now - past->changed_ns;

	if (was_up && set->active <= 1 && !has_backup(set, &set->plane[path->plane]))
		return; /* the last one: better than nothing */
	if (was_up && !hard && at_floor(set, &set->plane[path->plane]))
		return;
	if (!path_step(ep, set_index, index, PATH_LOSS, now))
		return;
	bool relapse = past->proof_need && up_ns < RELAPSE_NS;
	uint32_t need = relapse ? 2u * past->proof_need : ep->config.proof_answers;

	past->proof_need = (uint8_t)WEFT_MIN(need, (uint32_t)PROOF_NEED_MAX);
	ep->count.paths_retired++;
	pathset_leave(set, index);
	probe_retired(ep, set_index, index, now);
}

void path_revive(struct weft_endpoint *ep, uint32_t set_index, uint32_t index, uint64_t now)
{
	struct pathset *set = &ep->sets[set_index];

	if (!path_step(ep, set_index, index, PATH_PROOF, now))
		return;
	set->path[index].losses = 0;
	set->plane[set->path[index].plane].losses = 0;
	ep->count.paths_revived++;
	pathset_return(set, index);
}

/*
 * Only where nothing good is left is a bad path given data.  What has got through then is worth
 * more than a probe's answer, and waiting for the rest of the proofs would mean to go on by the
 * same paths without an order and without heeding marks (half the speed, measured).
 */
void path_on_delivery(struct weft_qp *qp, const struct sent_rec *rec, uint64_t now)
{
	const struct pathset *set = &qp->ep->sets[qp->set];

	if (WEFT_LIKELY(set->path[rec->path].state != WEFT_PATH_ASSUMED_BAD))
		return;
	if (later16(now, rec->sent16, time16(set->past[rec->path].changed_ns)))
		path_revive(qp->ep, qp->set, rec->path, now);
}

/* Nobody is to blame; but should this be the last path, it has nothing to show (engine_probe.c). */
void path_on_silence(struct pathset *set, uint32_t index)
{
	set->silent_path = (uint16_t)(index + 1);
	set->silent_seq = set->path[index].acked_seq;
}

static uint64_t blame_of(const struct weft_qp *qp, uint32_t psn)
{
	return (uint64_t)(qp->index + 1) << 32 | psn; /* not 0, and no time */
}

/* This packet's loss has retired the path, which is forgiven if it turns up after all. */
void path_blame(struct weft_qp *qp, uint32_t index, uint32_t psn)
{
	struct pathset *set = &qp->ep->sets[qp->set];
	struct path_past *past = &set->past[index];

	if (set->path[index].state == WEFT_PATH_ASSUMED_BAD && !past->proof_have)
		past->proof_ns = set->path[index].losses == 1 ? blame_of(qp, psn) : 0;
}

void path_forgive(struct weft_qp *qp, uint32_t psn, uint64_t now)
{
	struct weft_endpoint *ep = qp->ep;
	struct pathset *set = &ep->sets[qp->set];

	for (uint32_t i = 0; i < set->paths; i++) {
		struct path_past *past = &set->past[i];

		if (set->path[i].state != WEFT_PATH_ASSUMED_BAD || past->proof_have ||
		    past->proof_ns != blame_of(qp, psn))
			continue;
		/* As if it had never been: the next time is no relapse. */
		past->proof_need = past->proof_need > ep->config.proof_answers ?
					   past->proof_need / 2 :
					   0;
		path_revive(ep, qp->set, i, now);
	}
}

/* Where the cable is out at either end, leave to carry data is not enough: it must prove itself. */
void path_allowed(struct weft_endpoint *ep, uint32_t set_index, uint32_t index, uint64_t now)
{
	struct pathset *set = &ep->sets[set_index];
	struct path *path = &set->path[index];

	if (ep->ports_up & set->peer_ports & 1u << path->plane) {
		pathset_return(set, index);
		return;
	}
	path_step(ep, set_index, index, PATH_LOSS, now);
	set->past[index].proof_need = (uint8_t)ep->config.proof_answers;
	probe_retired(ep, set_index, index, now);
}

bool path_rests(const struct plane *plane, uint32_t index)
{
	return plane->lone == index && plane->lone_marks >= LONE_MARKS << plane->doubt;
}

/*
 * A path that is marked again and again, with no other of its plane marked between, rests: there is
 * room on the others.  If others are marked then, there was none; it goes on at once, and takes
 * twice as many marks to rest again.  Marks of many paths in turn, as at full load, rest nobody.
 */
void path_on_mark(struct weft_endpoint *ep, uint32_t set_index, uint32_t index, uint64_t now)
{
	struct pathset *set = &ep->sets[set_index];
	struct plane *plane = &set->plane[set->path[index].plane];

	set->path[index].marked++;
	if (plane->lone == index) {
		count8(&plane->lone_marks);
	} else {
		if (path_rests(plane, plane->lone) && plane->doubt < DOUBT_MAX)
			plane->doubt++;
		plane->lone = (uint16_t)index;
		plane->lone_marks = 0;
		plane->rest = 0;
	}
	path_step(ep, set_index, index, PATH_MARK, now);
}

void path_on_clear(struct pathset *set, uint32_t index)
{
	struct plane *plane = &set->plane[set->path[index].plane];

	if (plane->lone == index && plane->lone_marks)
		plane->lone_marks--;
	if (!++plane->calm && plane->doubt)
		plane->doubt--;
}

/* Something that was sent on this plane later than that has arrived. */
static bool plane_delivers(const struct pathset *set, uint32_t p, uint32_t sent16, uint64_t now)
{
	const struct plane *plane = &set->plane[p];

	for (uint32_t at = plane->first; at < (uint32_t)plane->first + plane->total; at++) {
		const struct path *path = &set->path[set->order[at]];

		if (path->acked_seq && later16(now, path->acked16, sent16))
			return true;
	}
	return false;
}

/* If no plane delivers, it is the peer, or us; not a plane. */
static bool others_deliver(const struct pathset *set, uint32_t p, uint32_t sent16, uint64_t now)
{
	for (uint32_t rest = set->planes_mask & ~(1u << p); rest; rest &= rest - 1)
		if (plane_delivers(set, lowest_bit(rest), sent16, now))
			return true;
	return false;
}

static void count_plane_loss(struct pathset *set, uint32_t p, uint32_t sent16, uint64_t now)
{
	struct plane *plane = &set->plane[p];

	if (plane->losses && plane_delivers(set, p, plane->loss16, now))
		plane->losses = 0;
	if (plane_delivers(set, p, sent16, now))
		return;
	if (plane->losses < UINT16_MAX)
		plane->losses++;
	plane->loss16 = sent16;
}

void path_on_loss(struct weft_endpoint *ep, uint32_t set_index, uint32_t index, uint32_t sent16,
		  uint64_t now)
{
	struct pathset *set = &ep->sets[set_index];
	struct path *path = &set->path[index];
	struct plane *plane = &set->plane[path->plane];

	set->past[index].lost++;
	count8(&path->losses);
	count_plane_loss(set, path->plane, sent16, now);
	path_retire(ep, set_index, index, path->losses >= PATH_DEAD_LOSSES, now);
	if (plane->losses < PLANE_DEAD_LOSSES || !plane->active ||
	    !others_deliver(set, path->plane, sent16, now))
		return;
	event_note(ep, WEFT_EV_PLANE_SUSPECT, 0, set_index, path->plane, plane->active, 0);
	ep->count.planes_suspected++;
	pathset_empty_plane(ep, set_index, path->plane, now);
	loss_plane(ep, set_index, path->plane, LOSS_PORT, now);
}
