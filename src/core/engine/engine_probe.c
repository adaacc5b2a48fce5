/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * engine_probe - endpoint operations [P 3.12]: is this path alive, and which of my ports are up.
 *
 * Bad paths are probed after max(4 base RTT, probe_ns_min), the wait doubling to probe_ns_max
 * with 10 % jitter; at most one per plane and base RTT, and a plane with nothing left in it is
 * only tapped now and then until something answers [P 8.16].  A path comes back
 * after proof_answers clean answers in a row that span at least PROOF_SPAN_NS; one that fails
 * again within a second must show twice as many, up to 32 [P 8.17].  Proofs follow each other
 * quickly, so that even 32 of them take only some 13 ms: a plane that flaps each second is
 * worth using in between.  One answer will do where the path itself is hardly to blame: it went
 * with its plane, or with most of its set (docs/decisions/121-one-answer-after-an-outage.md).
 *
 * A set that only receives learns paths for its answers by probing one path per plane in
 * turn [P 3.9].  Port status ([P 6.3], [P 6.4]) is repeated until answered: four times at once per
 * RTT, then with doubling waits [P 8.19].
 *
 * Requests have one timeout and are kept in the order of sending, so the oldest is the next to
 * expire.  Nothing here runs for a set without QPs: idle costs nothing.
 */
#include "engine_local.h"

enum {
	PROOF_GAP_NS = 400000,
	HURRY = 8, /* so many probes per plane and base RTT while the set is short of paths */
	TELL_QUICK = 4,
	TELL_WAIT_MAX_NS = 1000000000,
	STATUS_LATE_NS = 100000000, /* a copy may be so late; who starts over takes longer */
};

static uint64_t first_wait_ns(const struct weft_endpoint *ep)
{
	return WEFT_MAX(4 * (uint64_t)ep->config.base_rtt_ns, ep->config.probe_ns_min);
}

static uint64_t jittered(struct weft_endpoint *ep, uint64_t wait_ns)
{
	return wait_ns - wait_ns / 20 + weft_rng_below(&ep->rng, wait_ns / 10 + 1);
}

/*
 * With less than half of its paths left a set has lost more than a bad link or two: a T0, its
 * planes, the peer's cables, the peer for a while.  Caution would then squeeze all traffic through
 * the few paths that came back first.
 */
static bool is_short(const struct pathset *set)
{
	uint32_t wanted = 0;

	for (uint32_t rest = set->planes_mask; rest; rest &= rest - 1)
		wanted += set->plane[lowest_bit(rest)].target;
	return 2 * set->active < wanted;
}

static void arm_earlier(struct weft_endpoint *ep, uint32_t set, uint64_t due)
{
	uint32_t timer = timer_of_set(ep, set);

	if (due < ep->due[timer])
		timer_set(ep, timer, due);
}

void probe_retired(struct weft_endpoint *ep, uint32_t set, uint32_t index, uint64_t now)
{
	struct path_past *past = &ep->sets[set].past[index];

	past->probe_exp = 0;
	past->proof_have = 0;
	past->proof_ns = 0;
	ep->sets[set].path[index].probing = false;
	past->probe_ns = now + jittered(ep, is_short(&ep->sets[set]) ? ep->config.base_rtt_ns
								     : first_wait_ns(ep));
	if (ep->sets[set].users)
		arm_earlier(ep, set, past->probe_ns);
}

static uint32_t cabled(const struct weft_endpoint *ep, const struct pathset *set)
{
	return ep->ports_up & set->peer_ports & set->planes_mask;
}

/* Earliest moment for the next probe in this plane. */
static uint64_t plane_ready_ns(
	const struct weft_endpoint *ep, const struct plane *plane, bool hurry)
{
	uint64_t gap = hurry ? ep->config.base_rtt_ns / HURRY : ep->config.base_rtt_ns;
	uint64_t tap = ep->config.probe_ns_max / 4;

	if (!plane->active && plane->probed_ns > plane->alive_ns + tap)
		gap = WEFT_MAX(gap, tap);
	return plane->probed_ns ? plane->probed_ns + gap : 0;
}

static bool wants_probe(const struct path *path)
{
	return path->state == WEFT_PATH_ASSUMED_BAD && !path->probing;
}

void probe_arm(struct weft_endpoint *ep, uint32_t index, uint64_t now)
{
	struct pathset *set = &ep->sets[index];
	bool hurry = is_short(set);
	uint64_t due = WEFT_NEVER;

	if (!set->users) {
		timer_set(ep, timer_of_set(ep, index), WEFT_NEVER);
		return;
	}
	for (uint32_t i = 0; i < set->paths; i++) {
		const struct path *path = &set->path[i];

		if (!wants_probe(path) || !(cabled(ep, set) >> path->plane & 1))
			continue;
		uint64_t ready_ns = plane_ready_ns(ep, &set->plane[path->plane], hurry);

		due = WEFT_MIN(due, WEFT_MAX(set->past[i].probe_ns, ready_ns));
	}
	if (set->heard && ep->config.reverse_probe_ns)
		due = WEFT_MIN(due, set->reverse_ns);
	if (set->telling)
		due = WEFT_MIN(due, set->tell_ns);
	timer_set(ep, timer_of_set(ep, index),
		due == WEFT_NEVER ? WEFT_NEVER : WEFT_MAX(due, now + 1));
}

/* NULL: too many are outstanding, or no room for another answer. */
static struct request *request_open(struct weft_endpoint *ep, uint32_t set, uint32_t path,
	uint8_t op, uint32_t mask, uint64_t now)
{
	uint16_t id = ep->request_tail;

	if ((uint16_t)(id - ep->request_head) >= REQUESTS)
		return NULL;
	struct answer *answer = answer_add(ep);

	if (!answer)
		return NULL;
	answer->kind = ANSWER_EP;
	answer->qp = ep->sets[set].peer;
	answer->psn = id;
	answer->set = (uint16_t)set;
	answer->path = (uint16_t)path;
	answer->op = op;
	answer->mask = mask;
	answer->port = ep->sets[set].reply_turn;
	ep->request_tail++;
	struct request *request = &ep->requests[id % REQUESTS];

	*request = (struct request){
		.sent_ns = now, .set = set, .path = path, .id = id, .op = op, .open = true
	};
	timer_set(ep, timer_of_requests(ep),
		ep->requests[ep->request_head % REQUESTS].sent_ns + ep->request_timeout_ns + 1);
	return request;
}

bool probe_send(struct weft_endpoint *ep, uint32_t set, uint32_t index, bool controller,
	uint32_t cookie, uint64_t now)
{
	struct path *path = &ep->sets[set].path[index];
	struct request *request = request_open(ep, set, index, WEFT_EP_EV_PROBE, 0, now);

	if (!request)
		return false;
	request->controller = controller;
	request->cookie = cookie;
	path->probing = true;
	ep->sets[set].plane[path->plane].probed_ns = now;
	return true;
}

static void probe_bad_paths(struct weft_endpoint *ep, uint32_t index, uint64_t now)
{
	struct pathset *set = &ep->sets[index];
	bool hurry = is_short(set);

	for (uint32_t i = 0; i < set->paths; i++) {
		const struct path *path = &set->path[i];

		if (!wants_probe(path) || set->past[i].probe_ns > now ||
			!(cabled(ep, set) >> path->plane & 1) ||
			plane_ready_ns(ep, &set->plane[path->plane], hurry) > now)
			continue;
		if (!probe_send(ep, index, i, false, 0, now))
			set->past[i].probe_ns = now + first_wait_ns(ep);
	}
}

static void probe_reverse(struct weft_endpoint *ep, uint32_t index, uint64_t now)
{
	struct pathset *set = &ep->sets[index];
	uint32_t usable = pathset_usable(ep, set);

	set->reverse_ns = now + ep->config.reverse_probe_ns;
	set->heard = false;
	if (set->asked || !usable) { /* our own data keeps the paths known */
		set->asked = false;
		return;
	}
	uint32_t path = pathset_pick(ep, set, usable, PATH_NONE);

	if (path != PATH_NONE && !set->path[path].probing)
		probe_send(ep, index, path, false, 0, now);
}

void probe_tell_ports(struct weft_endpoint *ep, uint32_t index, uint64_t now)
{
	struct pathset *set = &ep->sets[index];

	set->telling = true;
	set->tell_tries = 0;
	set->tell_ns = now;
	if (set->users)
		arm_earlier(ep, index, now);
}

static void tell_ports(struct weft_endpoint *ep, uint32_t index, uint64_t now)
{
	struct pathset *set = &ep->sets[index];
	uint64_t wait_ns = first_wait_ns(ep) / 2;

	set->reply_turn = (uint8_t)((set->reply_turn + 1) % WEFT_PORTS_MAX); /* another plane */
	if (request_open(ep, index, PATH_NONE, WEFT_EP_PORT_STATUS, ep->ports_up, now))
		set->told_id = (uint16_t)(ep->request_tail - 1);
	if (set->tell_tries >= TELL_QUICK)
		wait_ns = WEFT_MIN(wait_ns << WEFT_MIN(set->tell_tries - TELL_QUICK + 1, 30),
			(uint64_t)TELL_WAIT_MAX_NS);
	count8(&set->tell_tries);
	set->tell_ns = now + wait_ns;
}

void probe_on_timer(struct weft_endpoint *ep, uint32_t index, uint64_t now)
{
	struct pathset *set = &ep->sets[index];

	if (!set->in_use)
		return;
	if (set->users) {
		probe_bad_paths(ep, index, now);
		if (set->heard && ep->config.reverse_probe_ns && set->reverse_ns <= now)
			probe_reverse(ep, index, now);
		if (set->telling && set->tell_ns <= now)
			tell_ports(ep, index, now);
	}
	probe_arm(ep, index, now);
}

static void report(
	struct weft_endpoint *ep, const struct request *request, uint8_t port, uint32_t rtt_ns)
{
	struct weft_probe_done *slot;

	if (!request->controller)
		return;
	if (request->op == WEFT_EP_PORT_STATUS)
		event_note(ep, WEFT_EV_PORT_STATUS, 0, request->set, request->mask, rtt_ns != 0,
			rtt_ns);
	if (ep->probe_done_tail - ep->probe_done_head == PROBE_DONE)
		ep->probe_done_head++; /* the oldest goes: nobody polls */
	slot = &ep->probe_done[ep->probe_done_tail++ % PROBE_DONE];
	slot->set = request->set;
	slot->ev = ep->sets[request->set].path[request->path].ev;
	slot->rtt_ns = rtt_ns;
	slot->cookie = request->cookie;
	slot->port = port;
}

/* A probe stayed without an answer. */
static void on_lost(struct weft_endpoint *ep, const struct request *request, uint64_t now)
{
	struct path *path = &ep->sets[request->set].path[request->path];
	struct path_past *past = &ep->sets[request->set].past[request->path];

	event_note(ep, WEFT_EV_EV_PROBE, 0, request->set, path->ev, 0, 0);
	report(ep, request, path->plane, 0);
	path->probing = false;
	past->proof_have = 0;
	past->proof_ns = 0;
	if (path->state == WEFT_PATH_ASSUMED_BAD) {
		uint64_t wait_ns = first_wait_ns(ep) << past->probe_exp;

		if (past->probe_exp < 16)
			past->probe_exp++;
		past->probe_ns = now + jittered(ep, WEFT_MIN(wait_ns, ep->config.probe_ns_max));
	} else {
		count8(&path->losses);
		if (path->losses >= 2) /* one may be the answer's fault */
			path_retire(ep, request->set, request->path, false, now);
		pathset_not_alive(&ep->sets[request->set], request->path);
	}
	probe_arm(ep, request->set, now);
}

void probe_requests_timer(struct weft_endpoint *ep, uint64_t now)
{
	while (ep->request_head != ep->request_tail) {
		struct request *request = &ep->requests[ep->request_head % REQUESTS];

		if (request->open && request->sent_ns + ep->request_timeout_ns >= now) {
			timer_set(ep, timer_of_requests(ep),
				WEFT_MAX(request->sent_ns + ep->request_timeout_ns, now) + 1);
			return;
		}
		ep->request_head++;
		if (!request->open)
			continue;
		request->open = false;
		if (request->op == WEFT_EP_EV_PROBE)
			on_lost(ep, request, now);
		else
			report(ep, request, 0, 0);
	}
}

void probe_forget(struct weft_endpoint *ep, uint32_t set, uint32_t path)
{
	for (uint16_t id = ep->request_head; id != ep->request_tail; id++) {
		struct request *request = &ep->requests[id % REQUESTS];

		if (!request->open || request->set != set || request->path != path)
			continue;
		request->open = false;
		report(ep, request, 0, 0);
	}
}

/* First sign of life in a plane that had none: look at its other paths at once. */
static void stir(struct weft_endpoint *ep, uint32_t index, uint32_t plane, uint64_t now)
{
	struct pathset *set = &ep->sets[index];
	bool was_quiet = now - set->plane[plane].alive_ns > ep->config.probe_ns_max / 4;

	set->plane[plane].alive_ns = now;
	if (!was_quiet || set->plane[plane].active)
		return;
	for (uint32_t i = 0; i < set->paths; i++) {
		const struct path *path = &set->path[i];

		if (path->plane != plane || !wants_probe(path))
			continue;
		set->past[i].probe_exp = 0;
		set->past[i].probe_ns = now;
	}
}

static uint32_t round_trip_ns(const struct request *request, uint64_t now)
{
	uint64_t rtt_ns = WEFT_MAX(now - request->sent_ns, (uint64_t)1);

	return (uint32_t)WEFT_MIN(rtt_ns, (uint64_t)UINT32_MAX);
}

/* Nothing gets through any more, as far as one can tell. */
static bool is_dead(const struct pathset *set, uint32_t index)
{
	const struct path *path = &set->path[index];

	return path->losses >= PATH_DEAD_LOSSES ||
	       (set->silent_path == index + 1 && set->silent_seq == path->acked_seq);
}

/* The last path is kept whatever it loses; where that is all, one answer is more than it has. */
static bool last_is_dead(const struct pathset *set)
{
	if (set->active != 1)
		return false;
	for (uint32_t rest = set->planes_mask; rest; rest &= rest - 1) {
		const struct plane *plane = &set->plane[lowest_bit(rest)];

		if (plane->active)
			return is_dead(set, set->order[plane->first]);
	}
	return false;
}

static bool is_proven(const struct weft_endpoint *ep, const struct pathset *set,
	const struct path_past *past, uint64_t now)
{
	if (past->proof_need <= 1 || last_is_dead(set) ||
		(past->proof_need <= ep->config.proof_answers && is_short(set)))
		return true;
	return past->proof_have >= past->proof_need && now - past->proof_ns >= PROOF_SPAN_NS;
}

static void on_answer(
	struct weft_endpoint *ep, const struct request *request, uint8_t port, uint64_t now)
{
	struct pathset *set = &ep->sets[request->set];
	struct path *path = &set->path[request->path];
	struct path_past *past = &set->past[request->path];

	path->rtt_ns = round_trip_ns(request, now);
	path->probing = false;
	event_note(ep, WEFT_EV_EV_PROBE, 0, request->set, path->ev, 1, path->rtt_ns);
	report(ep, request, port, path->rtt_ns);
	stir(ep, request->set, path->plane, now);
	if (path->state == WEFT_PATH_GOOD || path->state == WEFT_PATH_SKIP) {
		path->losses = 0;
		pathset_alive(set, request->path);
	} else if (path->state == WEFT_PATH_ASSUMED_BAD) {
		if (!past->proof_have)
			past->proof_ns = now;
		count8(&past->proof_have);
		past->probe_exp = 0;
		past->probe_ns = now + WEFT_MAX((uint64_t)PROOF_GAP_NS, ep->config.base_rtt_ns);
		if (is_proven(ep, set, past, now))
			path_revive(ep, request->set, request->path, now);
	}
	probe_arm(ep, request->set, now);
}

void probe_on_response(struct weft_endpoint *ep, const struct weft_pkt *pkt, uint64_t now)
{
	struct request *request = &ep->requests[pkt->psn % REQUESTS];

	ep->count.rx_ep_response++;
	if (!request->open || request->id != pkt->psn || ep->sets[request->set].peer != pkt->peer) {
		drop_count(ep, WEFT_DROP_UNKNOWN_REQUEST);
		return;
	}
	request->open = false;
	if (request->op == WEFT_EP_EV_PROBE)
		on_answer(ep, request, pkt->port, now);
	else if (request->controller)
		report(ep, request, pkt->port, round_trip_ns(request, now));
	else if (ep->sets[request->set].told_id == request->id)
		ep->sets[request->set].telling = false;
}

static void hear_ports(struct weft_endpoint *ep, uint32_t index, uint32_t mask, uint64_t now)
{
	struct pathset *set = &ep->sets[index];
	uint32_t changed = (set->peer_ports ^ mask) & set->planes_mask;

	set->peer_ports = mask;
	if (changed)
		event_note(ep, WEFT_EV_PEER_PORTS, 0, index, set->peer, mask, 0);
	for (; changed; changed &= changed - 1) {
		uint32_t plane = lowest_bit(changed);

		if (!(mask >> plane & 1)) {
			pathset_empty_plane(ep, index, plane, now);
			loss_plane(ep, index, plane, LOSS_PORT, now);
		} else if (ep->ports_up >> plane & 1) {
			pathset_wake_plane(ep, index, plane, now);
		}
	}
}

/* Repeats go by different planes, so that an old one may come after a newer one. */
static void hear_status(
	struct weft_endpoint *ep, uint32_t index, const struct weft_pkt *pkt, uint64_t now)
{
	struct pathset *set = &ep->sets[index];
	bool older = (int16_t)(uint16_t)(pkt->psn - set->status_id) < 0;

	if (older && set->status_ns && now - set->status_ns < STATUS_LATE_NS)
		return;
	set->status_id = (uint16_t)pkt->psn;
	set->status_ns = now;
	hear_ports(ep, index, pkt->ep.port_mask, now);
}

void probe_on_request(struct weft_endpoint *ep, const struct weft_pkt *pkt, uint64_t now)
{
	uint32_t known = SET_NONE;

	ep->count.rx_ep_request++;
	for (uint32_t i = SET_NONE; (i = pathset_of_peer(ep, pkt->peer, i)) != SET_NONE;) {
		known = i;
		if (pkt->ep.op == WEFT_EP_PORT_STATUS)
			hear_status(ep, i, pkt, now);
	}
	struct answer *answer = answer_add(ep);

	if (!answer)
		return;
	answer->kind = ANSWER_EP;
	answer->is_response = true;
	answer->qp = pkt->peer;
	answer->psn = pkt->psn & 0xffff;
	answer->ev = pkt->ev;
	answer->port = port_kept(ep, pkt->port);
	answer->ts = pkt->ep.ts;
	answer->op = pkt->ep.op;
	answer->set = (uint16_t)known;
}

int weft_post_probe(
	struct weft_endpoint *ep, uint32_t set, uint32_t ev, uint32_t cookie, uint64_t now)
{
	if (set >= ep->config.pathsets || !ep->sets[set].in_use)
		return WEFT_ENOENT;
	uint32_t path = pathset_find(&ep->sets[set], ev);

	if (path == PATH_NONE)
		return WEFT_ENOENT;
	ep->now = WEFT_MAX(ep->now, now);
	return probe_send(ep, set, path, true, cookie, ep->now) ? 0 : WEFT_EFULL;
}

int weft_post_port_status(struct weft_endpoint *ep, uint32_t set, uint32_t ev, uint32_t mask,
	uint32_t cookie, uint64_t now)
{
	if (set >= ep->config.pathsets || !ep->sets[set].in_use)
		return WEFT_ENOENT;
	uint32_t path = pathset_find(&ep->sets[set], ev);

	if (path == PATH_NONE)
		return WEFT_ENOENT;
	ep->now = WEFT_MAX(ep->now, now);
	struct request *request = request_open(ep, set, path, WEFT_EP_PORT_STATUS, mask, ep->now);

	if (!request)
		return WEFT_EFULL;
	request->controller = true;
	request->cookie = cookie;
	request->mask = mask;
	return 0;
}

size_t weft_poll_probe(struct weft_endpoint *ep, struct weft_probe_done done[], size_t max)
{
	size_t n = WEFT_MIN(max, (size_t)(ep->probe_done_tail - ep->probe_done_head));

	for (size_t i = 0; i < n; i++)
		done[i] = ep->probe_done[ep->probe_done_head++ % PROBE_DONE];
	return n;
}
