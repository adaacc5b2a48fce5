/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pathset_open - a set is made, closed, told about by controllers, and looked at.
 *
 * Shares [P 3.1]: every plane gets the same number of active paths, active / planes rounded up, the
 * rest of its paths are backups.  The floor is [P 8.18]: max(planes, active / 4).
 */
#include "engine_local.h"

static bool attr_is_sane(const struct weft_endpoint *ep, const struct weft_pathset_attr *attr)
{
	if (!attr->n || attr->n > ep->config.paths_per_set || attr->active > attr->n)
		return false;
	for (uint32_t i = 0; i < attr->n; i++) {
		if (attr->ports[i] >= ep->config.ports)
			return false;
		for (uint32_t j = 0; j < i; j++)
			if (attr->evs[j] == attr->evs[i])
				return false;
	}
	return true;
}

static void fill_paths(const struct weft_endpoint *ep, struct pathset *set,
	const struct weft_pathset_attr *attr, uint64_t now)
{
	uint16_t at = 0;

	for (uint32_t p = 0; p < ep->config.ports; p++) {
		struct plane *plane = &set->plane[p];

		*plane = (struct plane){ .first = at,
			.reply = { PATH_NONE, PATH_NONE, PATH_NONE, PATH_NONE } };
		for (uint32_t i = 0; i < attr->n; i++) {
			if (attr->ports[i] != p)
				continue;
			set->path[i] = (struct path){ .ev = attr->evs[i], .plane = (uint8_t)p };
			set->past[i] = (struct path_past){ .changed_ns = now };
			set->order[at++] = (uint16_t)i;
			plane->total++;
		}
		if (plane->total)
			set->planes_mask |= 1u << p;
	}
}

/*
 * Where n paths in a row are free.  Sets of full size have a place of their own; where sets share a
 * smaller room, the first gap is taken.  False: there is none.
 */
static bool find_place(const struct weft_endpoint *ep, uint32_t index, uint32_t n, size_t *place)
{
	bool moved = ep->config.paths != 0;

	*place = moved ? 0 : (size_t)index * ep->config.paths_per_set;
	while (moved) {
		moved = false;
		for (uint32_t i = 0; i < ep->config.pathsets; i++) {
			const struct pathset *other = &ep->sets[i];
			size_t first = (size_t)(other->path - ep->paths);

			if (!other->in_use || *place >= first + other->paths || first >= *place + n)
				continue;
			*place = first + other->paths;
			moved = true;
		}
	}
	return !ep->config.paths || *place + n <= ep->config.paths;
}

/*
 * The order in which they are used from now on.  Peers are told their paths in one order by one
 * controller; all that go to one place must not walk through them in step.
 */
static void shuffle(struct weft_endpoint *ep, struct pathset *set, const struct plane *plane)
{
	uint16_t *order = set->order + plane->first;

	for (uint32_t n = plane->active; n > 1; n--) {
		uint32_t other = (uint32_t)weft_rng_below(&ep->rng, n);
		uint16_t path = order[other];

		order[other] = order[n - 1];
		order[n - 1] = path;
	}
}

/*
 * Hash chains of the sets by peer, in the order of their numbers, so that an endpoint operation
 * costs the same however many sets there are: anybody may send one (1,543 ns with 2,048 sets by a
 * scan, 39 so).
 */
static uint32_t *chain_link(struct weft_endpoint *ep, uint32_t peer, uint32_t index)
{
	uint32_t *link = &ep->peer_heads[peer & ep->peer_mask];

	while (*link && *link - 1 < index)
		link = &ep->sets[*link - 1].next_of_peer;
	return link;
}

static void chain_add(struct weft_endpoint *ep, uint32_t index)
{
	uint32_t *link = chain_link(ep, ep->sets[index].peer, index);

	ep->sets[index].next_of_peer = *link;
	*link = index + 1;
}

static void chain_remove(struct weft_endpoint *ep, uint32_t index)
{
	uint32_t *link = chain_link(ep, ep->sets[index].peer, index);

	WEFT_ASSERT(*link == index + 1);
	*link = ep->sets[index].next_of_peer;
}

uint32_t pathset_of_peer(const struct weft_endpoint *ep, uint32_t peer, uint32_t after)
{
	uint32_t next = after == SET_NONE ? ep->peer_heads[peer & ep->peer_mask]
					  : ep->sets[after].next_of_peer;

	while (next && ep->sets[next - 1].peer != peer)
		next = ep->sets[next - 1].next_of_peer;
	return next ? next - 1 : SET_NONE;
}

int weft_pathset_open(struct weft_endpoint *ep, const struct weft_pathset_attr *attr, uint32_t *out)
{
	uint32_t index = 0;

	if (!attr_is_sane(ep, attr))
		return WEFT_EINVAL;
	while (index < ep->config.pathsets && ep->sets[index].in_use)
		index++;
	size_t place;

	if (index == ep->config.pathsets || !find_place(ep, index, attr->n, &place))
		return WEFT_EFULL;
	struct pathset *set = &ep->sets[index];

	*set = (struct pathset){
		.peer = attr->peer,
		.paths = attr->n,
		.peer_ports = UINT32_MAX,
		.in_use = true,
		.rng = (uint32_t)weft_rng_u64(&ep->rng) | 1,
		.path = ep->paths + place,
		.past = ep->pasts + place,
		.order = ep->orders + place,
		.plane = set->plane,
	};
	chain_add(ep, index);
	fill_paths(ep, set, attr, ep->now);
	uint32_t planes = weft_popcount64(set->planes_mask);
	uint32_t active = attr->active ? attr->active : attr->n;

	set->own_empty = UINT32_MAX; /* until paths are put in; planes without any stay empty */
	for (uint32_t p = 0; p < ep->config.ports; p++) {
		struct plane *plane = &set->plane[p];
		uint32_t share = attr->active ? WEFT_DIV_UP(active, planes) : plane->total;

		plane->target = plane->total ? (uint16_t)share : 0;
	}
	for (uint32_t i = 0; i < set->paths; i++) {
		path_step(ep, index, i, PATH_SET, ep->now);
		pathset_return(set, i);
	}
	for (uint32_t p = 0; p < ep->config.ports && !attr->in_order; p++)
		shuffle(ep, set, &set->plane[p]);
	set->active_min = attr->active_min ? attr->active_min : WEFT_MAX(planes, active / 4);
	set->reverse_ns = ep->now + ep->config.reverse_probe_ns;
	*out = index;
	for (uint32_t p = 0; p < ep->config.ports; p++)
		if (!(ep->ports_up >> p & 1) && set->planes_mask >> p & 1)
			pathset_empty_plane(ep, index, p, ep->now);
	if (set->planes_mask & ~ep->ports_up) /* a peer that is new to us cannot know */
		probe_tell_ports(ep, index, ep->now);
	return 0;
}

static struct pathset *find_set(const struct weft_endpoint *ep, uint32_t set)
{
	if (set >= ep->config.pathsets || !ep->sets[set].in_use)
		return NULL;
	return &ep->sets[set];
}

int weft_pathset_close(struct weft_endpoint *ep, uint32_t index)
{
	struct pathset *set = find_set(ep, index);

	if (!set)
		return WEFT_ENOENT;
	if (set->users)
		return WEFT_ESTATE;
	for (uint16_t id = ep->request_head; id != ep->request_tail; id++)
		if (ep->requests[id % REQUESTS].set == index)
			ep->requests[id % REQUESTS].open = false;
	timer_set(ep, timer_of_set(ep, index), WEFT_NEVER);
	chain_remove(ep, index);
	set->in_use = false;
	return 0;
}

int weft_path_mark(struct weft_endpoint *ep, uint32_t index, uint32_t ev, enum weft_path_state to,
	uint64_t now)
{
	struct pathset *set = find_set(ep, index);
	uint32_t path = set ? pathset_find(set, ev) : PATH_NONE;

	if (path == PATH_NONE)
		return WEFT_ENOENT;
	ep->now = WEFT_MAX(ep->now, now);
	switch (to) {
	case WEFT_PATH_DENIED:
		if (path_step(ep, index, path, PATH_DENY, ep->now))
			pathset_leave(set, path);
		return 0;
	case WEFT_PATH_GOOD:
		if (path_step(ep, index, path, PATH_ALLOW, ep->now))
			path_allowed(ep, index, path, ep->now);
		return 0;
	case WEFT_PATH_ASSUMED_BAD:
		path_retire(ep, index, path, true, ep->now);
		return 0;
	default:
		return WEFT_EINVAL;
	}
}

int weft_path_replace(struct weft_endpoint *ep, uint32_t index, uint32_t ev_old, uint32_t ev_new,
	uint32_t port, uint64_t now)
{
	struct pathset *set = find_set(ep, index);
	uint32_t n = set ? pathset_find(set, ev_old) : PATH_NONE;

	if (n == PATH_NONE)
		return WEFT_ENOENT;
	if (port >= ep->config.ports ||
		(ev_new != ev_old && pathset_find(set, ev_new) != PATH_NONE))
		return WEFT_EINVAL;
	struct path *path = &set->path[n];

	ep->now = WEFT_MAX(ep->now, now);
	probe_forget(ep, index, n);
	if (path->plane != port)
		pathset_rehome(set, n, port);
	pathset_not_alive(set, n);
	/* What counts transmissions goes on: packets are in flight that are known by it. */
	path->ev = ev_new;
	path->rtt_ns = 0;
	path->losses = 0;
	path->probing = false;
	path->state = WEFT_PATH_EMPTY;
	set->past[n] = (struct path_past){ .changed_ns = ep->now };
	path_step(ep, index, n, PATH_SET, ep->now);
	if (!pathset_is_active(set, n))
		path_allowed(ep, index, n, ep->now);
	/* It has brought its share along, and cannot take it where its port is down. */
	if (!pathset_is_active(set, n))
		pathset_back_up(set, n);
	probe_arm(ep, index, ep->now);
	return 0;
}

int weft_port_mark(struct weft_endpoint *ep, uint32_t port, bool up, uint64_t now)
{
	uint32_t bit = 1u << (port % WEFT_PORTS_MAX);

	if (port >= ep->config.ports)
		return WEFT_EINVAL;
	ep->now = WEFT_MAX(ep->now, now);
	if (!!(ep->ports_up & bit) == up)
		return 0;
	ep->ports_up ^= bit;
	event_note(ep, WEFT_EV_PORT, 0, 0, port, up, 0);
	for (uint32_t i = 0; i < ep->config.pathsets; i++) {
		if (!ep->sets[i].in_use)
			continue;
		if (!up) {
			pathset_empty_plane(ep, i, port, ep->now);
			loss_plane(ep, i, port, LOSS_PORT, ep->now);
		} else if (ep->sets[i].peer_ports & bit) {
			pathset_wake_plane(ep, i, port, ep->now);
		}
		probe_tell_ports(ep, i, ep->now);
	}
	for (uint32_t i = qp_next_used(ep, 0); i < ep->config.qps; i = qp_next_used(ep, i + 1))
		if (ep->qps[i].state == WEFT_QP_RTS)
			loss_arm(&ep->qps[i], ep->now);
	return 0;
}

int weft_path_info(
	const struct weft_endpoint *ep, uint32_t index, uint32_t n, struct weft_path_info *info)
{
	const struct pathset *set = find_set(ep, index);

	if (!set || n >= set->paths)
		return WEFT_ENOENT;
	const struct path *path = &set->path[n];

	*info = (struct weft_path_info){
		.ev = path->ev,
		.rtt_ns = path->rtt_ns,
		.port = path->plane,
		.state = path->state,
		.active = pathset_is_active(set, n),
		.losses_in_row = path->losses,
		.sent = path->sent,
		.acked = path->acked,
		.marked = path->marked,
		.lost = set->past[n].lost,
		.changed_ns = set->past[n].changed_ns,
	};
	return 0;
}

int weft_set_info(const struct weft_endpoint *ep, uint32_t index, struct weft_set_info *info)
{
	const struct pathset *set = find_set(ep, index);

	if (!set)
		return WEFT_ENOENT;
	*info = (struct weft_set_info){
		.peer = set->peer,
		.paths = set->paths,
		.active = set->active,
		.own_ports = ep->ports_up,
		.peer_ports = set->peer_ports,
		.suspect_planes = set->own_empty & set->planes_mask,
	};
	return 0;
}
