/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run - frames along cables, from one switch to the next.
 *
 * An entry in the agenda per hop: the arrival of what is first on a cable.  A frame that finds its
 * port idle starts in the same moment.  Departures of those that wait are computed late, when the
 * frame before arrives at the far end or another wants to queue behind them: nothing has happened
 * in between that could have changed who goes next and when.  A departure that is due at the moment
 * in which another frame arrives is first.  Where pauses must be told in time (lossless fabrics),
 * each departure has an entry of its own.
 *
 * A frame costs no search and no allocation.  Its bytes are asked for when its host sends it: that
 * is a cable's length before the first switch reads them.
 *
 * Hot: all of it.
 */
#include "local.h"

#define IPV6_BYTES 40u

uint32_t flight_take(struct weft_rack *rack)
{
	uint32_t index = rack->flights_free;

	WEFT_ASSERT(index != NONE);
	rack->flights_free = rack->flights[index].next;
	return index;
}

void flight_free(struct weft_rack *rack, uint32_t index)
{
	rack->flights[index].next = rack->flights_free;
	rack->flights_free = index;
}

void flight_start(struct weft_rack *rack, struct line *line, uint32_t index)
{
	struct flight *flight = &rack->flights[index];

	flight->next = NONE;
	if (line->head == NONE)
		line->head = index;
	else
		rack->flights[line->tail].next = index;
	line->tail = index;
	if (line->flags & LINE_ARRIVES)
		return;
	line->flags |= LINE_ARRIVES;
	agenda_add(&rack->agenda, what_of(rack, line, WHAT_ARRIVAL), flight->at_ps);
}

void give_back(struct weft_rack *rack, const struct weft_frame *frame, uint32_t node,
	uint32_t plane, enum weft_fabric_drop drop)
{
	uint32_t place = rack->outs_first + rack->n_outs++;

	WEFT_ASSERT(rack->n_outs <= rack->config.frames);
	place -= place >= rack->config.frames ? rack->config.frames : 0;
	rack->outs[place] = (struct weft_rack_out){
		.frame = *frame,
		.at_ps = now_of(rack),
		.drop = drop,
		.node = node,
		.plane = plane,
	};
	rack->stats.arrived += !drop;
	rack->stats.dropped += drop != 0;
	rack->stats.drops[drop]++;
}

/* ---- switches ---- */

static void depart(
	struct weft_rack *rack, struct line *line, const struct weft_departure *departure)
{
	if (WEFT_UNLIKELY(departure->drop)) {
		give_back(rack, &departure->frame, line->from, switch_node(rack, line->from)->plane,
			departure->drop);
		return;
	}
	uint32_t index = flight_take(rack);

	rack->flights[index].frame = departure->frame;
	rack->flights[index].at_ps = departure->ends_ps + line->delay_ps;
	flight_start(rack, line, index);
}

void line_settle(struct weft_rack *rack, struct line *line)
{
	struct weft_switch *sw = switch_node(rack, line->from)->sw;
	struct weft_departure departure;

	while (weft_switch_take(sw, line->from_port, now_of(rack), &departure))
		depart(rack, line, &departure);
}

void port_settle(void *user, uint32_t port, uint64_t now_ps)
{
	struct node *n = user;

	WEFT_ASSERT(now_ps == now_of(n->rack));
	line_settle(n->rack, &n->rack->lines[n->lines[port]]);
}

void node_settle(struct weft_rack *rack, uint32_t node)
{
	struct node *n = switch_node(rack, node);
	uint32_t port = 0;

	while ((port = weft_switch_busy_port(n->sw, port)) < n->ports)
		line_settle(rack, &rack->lines[n->lines[port++]]);
}

/* What is on the line will settle the rest when it arrives. */
static bool is_watched(const struct weft_rack *rack, const struct line *line)
{
	return line->flags & LINE_DUE || (line->flags & LINE_ARRIVES && !rack->is_lossless);
}

void line_due(struct weft_rack *rack, struct line *line)
{
	if (is_watched(rack, line))
		return;
	line_settle(rack, line);
	if (is_watched(rack, line))
		return;
	uint64_t next_ps =
		weft_switch_port_next(switch_node(rack, line->from)->sw, line->from_port);

	if (next_ps == WEFT_NEVER)
		return;
	line->flags |= LINE_DUE;
	agenda_add(&rack->agenda, what_of(rack, line, WHAT_DUE), next_ps);
}

static void enter_switch(struct weft_rack *rack, struct line *line, struct weft_frame *frame)
{
	struct node *n = switch_node(rack, line->to);
	const struct weft_rack_config *c = &rack->config;
	enum weft_fabric_drop drop;
	uint32_t port;

	frame->in_port = (uint16_t)line->to_port;
	rack->stats.hops++;
	if (c->memory)
		drop = weft_switch_input_bytes(n->sw, frame,
			c->memory + frame->handle * c->slot_bytes + c->slot_offset,
			(size_t)frame->bytes - WEFT_FRAME_ETHER_BYTES, now_of(rack), &port);
	else
		drop = weft_switch_input(n->sw, frame, now_of(rack), &port);
	if (WEFT_LIKELY(!drop))
		line_due(rack, &rack->lines[n->lines[port]]);
	else
		give_back(rack, frame, line->to, n->plane, drop);
	if (WEFT_UNLIKELY(rack->is_lossless))
		pauses_send(rack, line->to);
}

/*
 * Behind the header that switches read, in the second half: there the ICRC is.  What has been cut
 * has no ICRC left, what ends with the header never had one, and what is a struct has no bytes:
 * nobody could tell that they are not as they were, and they are lost instead.
 */
static bool spoil(struct weft_rack *rack, const struct weft_frame *frame)
{
	const struct weft_rack_config *c = &rack->config;
	uint32_t ip_bytes = frame->bytes - WEFT_FRAME_ETHER_BYTES;
	uint32_t first = WEFT_MAX(ip_bytes / 2, IPV6_BYTES);

	if (!c->memory || frame->mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP) ||
		ip_bytes <= first)
		return false;
	uint64_t at = first + weft_rng_below(&rack->rng, ip_bytes - first);

	c->memory[frame->handle * c->slot_bytes + c->slot_offset + at] ^= 0x10;
	return true;
}

/* False: it does not come out at the far end. */
static bool crosses(struct weft_rack *rack, const struct line *line, const struct weft_frame *frame)
{
	if (line->loss_ppm && weft_rng_chance(&rack->rng, line->loss_ppm, 1000000))
		return false;
	return !line->spoil_ppm || !weft_rng_chance(&rack->rng, line->spoil_ppm, 1000000) ||
	       spoil(rack, frame);
}

static void arrive(struct weft_rack *rack, struct line *line)
{
	uint32_t index = line->head;
	struct flight *flight = &rack->flights[index];

	WEFT_ASSERT(flight->at_ps == now_of(rack));
	line->head = flight->next;
	if (line->head != NONE) {
		agenda_add(&rack->agenda, what_of(rack, line, WHAT_ARRIVAL),
			rack->flights[line->head].at_ps);
	} else {
		line->flags &= (uint8_t)~LINE_ARRIVES;
		if (!is_host(rack, line->from))
			line_due(rack, line);
	}
	if (WEFT_UNLIKELY(line->loss_ppm | line->spoil_ppm) && !crosses(rack, line, &flight->frame))
		give_back(rack, &flight->frame, line->from,
			weft_topo_link(rack->config.topo, (uint32_t)(line - rack->lines) / 2).plane,
			WEFT_FABRIC_DROP_FAULT);
	else if (is_host(rack, line->to))
		give_back(rack, &flight->frame, line->to, line->to_port, WEFT_FABRIC_DROP_NONE);
	else
		enter_switch(rack, line, &flight->frame);
	flight_free(rack, index);
}

static void step(struct weft_rack *rack, uint32_t what)
{
	rack->agenda.now_ps = rack->agenda.entries[what].at_ps;
	agenda_remove(&rack->agenda, what);
	if (WEFT_UNLIKELY(what >= what_pauses(rack))) {
		pause_arrive(rack, what - what_pauses(rack));
		return;
	}
	struct line *line = &rack->lines[what >> 1];

	if ((what & 1) == WHAT_ARRIVAL) {
		arrive(rack, line);
	} else {
		line->flags &= (uint8_t)~LINE_DUE;
		line_due(rack, line);
		if (WEFT_UNLIKELY(rack->is_lossless))
			pauses_send(rack, line->from);
	}
}

void weft_rack_run(struct weft_rack *rack, uint64_t now_ps)
{
	struct agenda *agenda = &rack->agenda;
	uint32_t what;

	while ((what = agenda_first(agenda)) != NONE && agenda->entries[what].at_ps <= now_ps)
		step(rack, what);
	agenda->now_ps = WEFT_MAX(agenda->now_ps, now_ps);
}

uint64_t weft_rack_next_ps(const struct weft_rack *rack)
{
	uint32_t what = agenda_first(&rack->agenda);

	return what == NONE ? WEFT_NEVER : rack->agenda.entries[what].at_ps;
}

/* ---- the caller ---- */

size_t weft_rack_take(struct weft_rack *rack, struct weft_rack_out out[], size_t n)
{
	size_t taken = 0;

	for (; taken < n && rack->n_outs; taken++) {
		out[taken] = rack->outs[rack->outs_first++];
		rack->outs_first *= rack->outs_first < rack->config.frames;
		rack->n_outs--;
		rack->n_inside--;
	}
	if (!rack->n_outs)
		rack->outs_first = 0; /* the lines that are in the cache */
	return taken;
}

const struct weft_rack_stats *weft_rack_stats(const struct weft_rack *rack)
{
	return &rack->stats;
}

struct weft_switch *weft_rack_switch(struct weft_rack *rack, uint32_t node)
{
	node_settle(rack, node);
	return switch_node(rack, node)->sw;
}
