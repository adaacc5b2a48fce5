/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pathset - which path the next packet takes.
 *
 * Translation of terms: the OCP API's "EV profile" is our path set, its entries are our paths.
 *
 * Planes, which are ports [P 3.10], take turns, so that each carries the same share whatever its
 * paths are doing ([P 3.2]: otherwise a receiver sees incast that nobody meant).  Within a plane
 * the active paths go round in an order that was drawn when the set was opened.  A new order for
 * each pass (UEC's rule; MRC leaves it open, 9.3.1) lets what two passes put on one link meet, and
 * at full load queues never get rid of it: docs/decisions/014-one-order-per-set.md has the figures.
 * A marked path (SKIP) loses exactly one turn [P 8.15]; at most one is forgiven per packet
 * (11.2.2). One that is marked again and again while no other is loses many: path_on_mark() has the
 * reason.
 *
 * order[] holds each plane's paths, active ones first.  Where a path stands in it is looked up
 * when it leaves or returns, which is rare; keeping the way back up to date would cost two more
 * cache lines per packet.
 *
 * Hot: pathset_pick_many() runs per packet.
 */
#include "engine_local.h"

enum { REST_TURNS = 64 };

/* Planes that may carry data: cable in at both ends, and a path left in the rotation. */
uint32_t pathset_usable(const struct weft_endpoint *ep, const struct pathset *set)
{
	return ep->ports_up & set->peer_ports & ~set->own_empty;
}

/* Marsaglia's xorshift32: short, and good enough to shuffle with. */
static inline uint32_t next_random(uint32_t r)
{
	r ^= r << 13;
	r ^= r >> 17;
	return r ^ r << 5;
}

static inline uint32_t scale(uint32_t random, uint32_t n)
{
	return (uint32_t)(((uint64_t)random * n) >> 32);
}

static void swap_places(struct pathset *set, uint32_t a, uint32_t b)
{
	uint16_t path = set->order[a];

	set->order[a] = set->order[b];
	set->order[b] = path;
}

static uint32_t place_of(const struct pathset *set, uint32_t index)
{
	uint32_t at = set->plane[set->path[index].plane].first;

	while (set->order[at] != index)
		at++;
	return at;
}

bool pathset_is_active(const struct pathset *set, uint32_t index)
{
	const struct plane *plane = &set->plane[set->path[index].plane];

	return place_of(set, index) < (uint32_t)plane->first + plane->active;
}

static inline uint32_t next_plane(uint32_t mask, uint32_t turn)
{
	uint32_t above = mask & (~1u << turn);

	return lowest_bit(above ? above : mask);
}

/* The next path of this pass. */
static inline uint32_t draw(const struct pathset *set, struct plane *plane)
{
	uint32_t left = plane->left;
	uint16_t path = set->order[plane->first + plane->active - left];

	plane->left = left > 1 ? (uint16_t)(left - 1) : plane->active;
	return path;
}

/* A path that rests has a turn now and then, in which one packet goes there and looks. */
static bool looks(struct plane *plane)
{
	if (plane->rest) {
		plane->rest--;
		return false;
	}
	plane->rest = REST_TURNS;
	return true;
}

/* The first draw was marked or is to be avoided: it loses its turn, the next good one has it. */
static uint32_t pick_other(struct weft_endpoint *ep, struct pathset *set, struct plane *plane,
			   uint32_t first, uint32_t avoid)
{
	uint32_t index = first, choice = first;
	bool forgiven = false;

	for (uint32_t tries = 2u * plane->active; tries; tries--) {
		const struct path *path = &set->path[index];

		if (path->state == WEFT_PATH_GOOD && index != avoid)
			return index;
		if (path->state == WEFT_PATH_SKIP && path_rests(plane, index)) {
			if (looks(plane))
				return index;
		} else if (path->state == WEFT_PATH_SKIP && !forgiven) {
			path_step(ep, (uint32_t)(set - ep->sets), index, PATH_TURN, ep->now);
			forgiven = true;
		}
		choice = index;
		index = draw(set, plane);
	}
	return choice;
}

/* Nothing good is left: something bad may still get through, and the retry counter decides. */
static uint32_t pick_desperate(struct weft_endpoint *ep, struct pathset *set, uint32_t ports)
{
	uint32_t cabled = ep->ports_up & set->planes_mask;
	uint32_t mask = (cabled & set->peer_ports ? cabled & set->peer_ports : cabled) & ports;

	while (mask) {
		uint32_t p = next_plane(mask, set->turn);
		const struct plane *plane = &set->plane[p];
		uint32_t start = scale(set->rng = next_random(set->rng), plane->total);

		set->turn = (uint8_t)p;

		for (uint32_t i = 0; i < plane->total; i++) {
			uint32_t index = set->order[plane->first + (start + i) % plane->total];

			if (set->path[index].state != WEFT_PATH_DENIED)
				return index;
		}
		mask &= ~(1u << p);
	}
	return PATH_NONE;
}

/* False: pathset_pick() would find nothing at the moment. */
bool pathset_has_port(const struct weft_endpoint *ep, const struct pathset *set, uint32_t ports)
{
	uint32_t usable = pathset_usable(ep, set);

	return usable ? usable & ports : ep->ports_up & set->planes_mask & ports;
}

uint32_t pathset_pick(struct weft_endpoint *ep, struct pathset *set, uint32_t ports,
		      uint32_t avoid)
{
	uint32_t usable = pathset_usable(ep, set);
	uint32_t open = usable & ports;

	if (WEFT_UNLIKELY(!open))
		return usable ? PATH_NONE : pick_desperate(ep, set, ports);
	set->turn = (uint8_t)next_plane(open, set->turn);
	struct plane *plane = &set->plane[set->turn];
	uint32_t index = draw(set, plane);

	if (WEFT_LIKELY(set->path[index].state == WEFT_PATH_GOOD && index != avoid))
		return index;
	return pick_other(ep, set, plane, index, avoid);
}

/*
 * For what must not be lost again where it was lost before: by another plane than this path's, if
 * one is free.  Until a plane that has died is given up it takes its turns like any other, and a
 * repeat that takes one costs a second detection.
 */
uint32_t pathset_pick_away(struct weft_endpoint *ep, struct pathset *set, uint32_t ports,
			   uint32_t avoid)
{
	uint32_t others = avoid == PATH_NONE ? 0 : ports & ~(1u << set->path[avoid].plane);

	return pathset_pick(ep, set, pathset_usable(ep, set) & others ? others : ports, avoid);
}

uint32_t pathset_pick_many(struct weft_endpoint *ep, struct pathset *set, uint32_t ports,
			   uint16_t picks[], uint32_t n)
{
	uint32_t open = pathset_usable(ep, set) & ports;
	uint32_t turn = set->turn, i = 0;

	for (; open && i < n; i++) {
		turn = next_plane(open, turn);
		struct plane *plane = &set->plane[turn];
		uint32_t index = draw(set, plane);

		if (WEFT_UNLIKELY(set->path[index].state != WEFT_PATH_GOOD))
			index = pick_other(ep, set, plane, index, PATH_NONE);
		picks[i] = (uint16_t)index;
	}
	set->turn = (uint8_t)turn;
	for (; i < n; i++) {
		uint32_t index = pathset_pick(ep, set, ports, PATH_NONE);

		if (index == PATH_NONE)
			return i;
		picks[i] = (uint16_t)index;
	}
	return n;
}

static bool is_up(const struct path *path)
{
	return path->state == WEFT_PATH_GOOD || path->state == WEFT_PATH_SKIP;
}

/* Something has come back that went out by this path.  The oldest of its plane's replies goes. */
void pathset_alive(struct pathset *set, uint32_t index)
{
	struct plane *plane = &set->plane[set->path[index].plane];

	if (plane->reply[plane->reply_newest] == index)
		return;
	plane->reply_newest = (uint8_t)((plane->reply_newest + 1) % REPLIES);
	plane->reply[plane->reply_newest] = (uint16_t)index;
}

/* Answers must not go there any more. */
void pathset_not_alive(struct pathset *set, uint32_t index)
{
	struct plane *plane = &set->plane[set->path[index].plane];

	for (uint32_t i = 0; i < REPLIES; i++)
		if (plane->reply[i] == index)
			plane->reply[i] = PATH_NONE;
}

/*
 * A path for an answer, in the plane that the question came by if that has one to offer: two of
 * those that were last known to be alive, then two of all in turn.  One alone would carry all
 * answers of a connection: on links at full load such streams meet by chance and stay, and when it
 * dies all of them are lost until somebody finds out (docs/decisions/015-answers-by-many-paths.md).
 */
uint32_t pathset_reply(struct weft_endpoint *ep, struct pathset *set, uint32_t port,
		       uint32_t ports)
{
	uint32_t usable = pathset_usable(ep, set);

	if (!usable)
		return pick_desperate(ep, set, ports);
	usable &= ports;
	if (!usable)
		return PATH_NONE;
	uint32_t p = port;

	if (!(usable >> port & 1))
		p = set->reply_turn = (uint8_t)next_plane(usable, set->reply_turn);
	struct plane *plane = &set->plane[p];
	uint32_t turn = plane->reply_turn++;
	uint32_t any = set->order[plane->first + (turn / 4 * 2 + turn % 2) % plane->active];
	const struct path *path = &set->path[any];

	if (turn & 2 && path->state == WEFT_PATH_GOOD && !path->losses)
		return any;
	for (uint32_t i = 0; i < REPLIES; i++) {
		uint32_t index = plane->reply[(turn + i) % REPLIES];

		if (index != PATH_NONE && is_up(&set->path[index]))
			return index;
	}
	return any;
}

/* ---- membership ---- */

static void count_active(struct pathset *set, struct plane *plane, int by)
{
	uint32_t bit = 1u << (plane - set->plane);

	plane->active = (uint16_t)(plane->active + by);
	set->active += (uint32_t)by;
	plane->left = plane->active; /* a new pass */
	if (plane->active)
		set->own_empty &= ~bit;
	else
		set->own_empty |= bit;
}

void pathset_return(struct pathset *set, uint32_t index)
{
	struct path *path = &set->path[index];
	struct plane *plane = &set->plane[path->plane];

	if (plane->active >= plane->target)
		return; /* waits as a backup */
	swap_places(set, place_of(set, index), plane->first + plane->active);
	count_active(set, plane, 1);
}

/* In the plane of a path that is not in the rotation, a backup takes over where there is room. */
void pathset_back_up(struct pathset *set, uint32_t index)
{
	const struct plane *plane = &set->plane[set->path[index].plane];

	for (uint32_t at = plane->first + plane->active; at < plane->first + plane->total; at++) {
		uint32_t backup = set->order[at];

		if (backup != index && is_up(&set->path[backup])) {
			pathset_return(set, backup);
			return;
		}
	}
}

void pathset_leave(struct pathset *set, uint32_t index)
{
	struct path *path = &set->path[index];
	struct plane *plane = &set->plane[path->plane];

	pathset_not_alive(set, index);
	if (!pathset_is_active(set, index))
		return; /* was a backup */
	swap_places(set, place_of(set, index), plane->first + plane->active - 1u);
	count_active(set, plane, -1);
	pathset_back_up(set, index);
}

/*
 * To another plane, where it is not in the rotation at first.  It takes its share along: one path
 * less is wanted here, one more there.
 */
void pathset_rehome(struct pathset *set, uint32_t index, uint32_t to)
{
	uint32_t from = set->path[index].plane;
	struct plane *old = &set->plane[from], *home = &set->plane[to];
	bool spare = pathset_is_active(set, index) || old->active < old->target;

	if (spare && (old->target > 1 || old->total == 1))
		old->target--;
	pathset_leave(set, index);
	uint32_t last = old->first + old->total - 1u;

	swap_places(set, place_of(set, index), last);
	old->total--;
	for (uint32_t at = last; from < to && at + 1 < (uint32_t)home->first + home->total; at++)
		swap_places(set, at, at + 1);
	for (uint32_t at = last; from > to && at > (uint32_t)home->first + home->total; at--)
		swap_places(set, at, at - 1);
	for (uint32_t p = from + 1; p <= to; p++)
		set->plane[p].first--;
	for (uint32_t p = to + 1; p <= from; p++)
		set->plane[p].first++;
	home->total++;
	home->target++;
	set->path[index].plane = (uint8_t)to;
	set->planes_mask |= 1u << to;
	if (!old->total)
		set->planes_mask &= ~(1u << from);
}

/*
 * With its plane, for no fault of its own: one answer is enough to come back.  Unless it had only
 * just done so: a plane that flaps quicker than proofs take is left alone.
 */
static void leave_with_plane(struct weft_endpoint *ep, uint32_t set, uint32_t index, uint64_t now)
{
	struct path_past *past = &ep->sets[set].past[index];
	bool flaps = past->proof_need && now - past->changed_ns < PROOF_SPAN_NS;

	path_step(ep, set, index, PATH_LOSS, now);
	past->proof_need = flaps ? (uint8_t)ep->config.proof_answers : 1;
	probe_retired(ep, set, index, now);
}

/* The plane is given up as a whole: all its paths have to prove themselves again. */
void pathset_empty_plane(struct weft_endpoint *ep, uint32_t set_index, uint32_t p, uint64_t now)
{
	struct pathset *set = &ep->sets[set_index];
	struct plane *plane = &set->plane[p];

	for (uint32_t i = 0; i < plane->total; i++) {
		uint32_t index = set->order[plane->first + i];

		if (!is_up(&set->path[index]))
			continue;
		leave_with_plane(ep, set_index, index, now);
	}
	for (uint32_t i = 0; i < REPLIES; i++)
		plane->reply[i] = PATH_NONE;
	count_active(set, plane, -(int)plane->active);
}

/* Both ends have the cable in again: probe at once instead of after the back-off. */
void pathset_wake_plane(struct weft_endpoint *ep, uint32_t set_index, uint32_t p, uint64_t now)
{
	struct pathset *set = &ep->sets[set_index];

	for (uint32_t i = 0; i < set->paths; i++) {
		const struct path *path = &set->path[i];

		if (path->plane != p || path->state != WEFT_PATH_ASSUMED_BAD)
			continue;
		set->past[i].probe_exp = 0;
		set->past[i].probe_ns = now;
		set->past[i].proof_have = 0;
	}
	probe_arm(ep, set_index, now);
}

uint32_t pathset_find(const struct pathset *set, uint32_t ev)
{
	for (uint32_t i = 0; i < set->paths; i++)
		if (set->path[i].ev == ev)
			return i;
	return PATH_NONE;
}
