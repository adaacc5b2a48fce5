/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run - frames along cables, from one switch to the next.
 *
 * A frame that finds its port idle starts in the same moment, without an entry in the agenda; one
 * that waits costs its port's next departure.  So a hop is one entry in an idle fabric and two in a
 * busy one: the arrival of what is first on a cable, and the departure of what is next.  Departures
 * could be computed later still, when the frame before arrives, because nothing has changed in
 * between; but then a frame would have to be looked up first and queued after its port has been
 * brought up to date, pauses would be told too late, and whoever reads a depth would see old ones.
 *
 * A frame costs no search and no allocation.  Its bytes are asked for when its host sends it: that
 * is a cable's length before the first switch reads them.
 *
 * Hot: all of it.
 */
#include "local.h"

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
	flight->order = rack->agenda.orders++;
	if (line->head == NONE)
		line->head = index;
	else
		rack->flights[line->tail].next = index;
	line->tail = index;
	if (line->flags & LINE_ARRIVES)
		return;
	line->flags |= LINE_ARRIVES;
	agenda_add(&rack->agenda, flight->at_ps, flight->order, what_of(rack, line, WHAT_ARRIVAL));
}

void give_back(struct weft_rack *rack, const struct weft_frame *frame, uint32_t node,
	uint32_t plane, enum weft_fabric_drop drop)
{
	uint32_t place = rack->outs_first + rack->n_outs++;

	WEFT_ASSERT(rack->n_outs <= rack->config.frames);
	place -= place >= rack->config.frames ? rack->config.frames : 0;
	rack->outs[place] = (struct weft_rack_out){
		.frame = *frame,
		.at_ps = rack->now_ps,
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

void line_due(struct weft_rack *rack, struct line *line)
{
	struct weft_switch *sw = switch_node(rack, line->from)->sw;
	struct weft_departure departure;
	uint64_t next_ps;

	if (line->flags & LINE_DUE)
		return;
	while ((next_ps = weft_switch_port_next(sw, line->from_port)) <= rack->now_ps) {
		bool has_taken = weft_switch_take(sw, line->from_port, rack->now_ps, &departure);

		WEFT_ASSERT(has_taken);
		depart(rack, line, &departure);
	}
	if (next_ps == WEFT_NEVER)
		return;
	line->flags |= LINE_DUE;
	agenda_add(&rack->agenda, next_ps, rack->agenda.orders++, what_of(rack, line, WHAT_DUE));
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
			(size_t)frame->bytes - WEFT_FRAME_ETHER_BYTES, rack->now_ps, &port);
	else
		drop = weft_switch_input(n->sw, frame, rack->now_ps, &port);
	if (WEFT_LIKELY(!drop))
		line_due(rack, &rack->lines[n->lines[port]]);
	else
		give_back(rack, frame, line->to, n->plane, drop);
	if (WEFT_UNLIKELY(rack->is_lossless))
		pauses_send(rack, line->to);
}

static void arrive(struct weft_rack *rack, struct line *line)
{
	uint32_t index = line->head;
	struct flight *flight = &rack->flights[index];

	WEFT_ASSERT(flight->at_ps == rack->now_ps);
	line->head = flight->next;
	if (line->head != NONE) {
		const struct flight *next = &rack->flights[line->head];

		agenda_replace_first(
			&rack->agenda, next->at_ps, next->order, what_of(rack, line, WHAT_ARRIVAL));
	} else {
		line->flags &= (uint8_t)~LINE_ARRIVES;
		agenda_take_first(&rack->agenda);
	}
	if (WEFT_UNLIKELY(line->loss_ppm) && weft_rng_chance(&rack->rng, line->loss_ppm, 1000000))
		give_back(rack, &flight->frame, line->from,
			weft_topo_link(rack->config.topo, (uint32_t)(line - rack->lines) / 2).plane,
			WEFT_FABRIC_DROP_FAULT);
	else if (is_host(rack, line->to))
		give_back(rack, &flight->frame, line->to, line->to_port, WEFT_FABRIC_DROP_NONE);
	else
		enter_switch(rack, line, &flight->frame);
	flight_free(rack, index);
}

static void step(struct weft_rack *rack)
{
	uint32_t what = rack->agenda.entries[0].what;
	struct line *line = &rack->lines[what >> 2];

	rack->now_ps = rack->agenda.entries[0].at_ps;
	switch ((enum what)(what & 3)) {
	case WHAT_ARRIVAL:
		arrive(rack, line);
		return;
	case WHAT_DUE:
		agenda_take_first(&rack->agenda);
		line->flags &= (uint8_t)~LINE_DUE;
		line_due(rack, line);
		if (WEFT_UNLIKELY(rack->is_lossless))
			pauses_send(rack, line->from);
		return;
	case WHAT_PAUSE:
		agenda_take_first(&rack->agenda);
		pause_arrive(rack, what >> 2);
		return;
	}
}

void weft_rack_run(struct weft_rack *rack, uint64_t now_ps)
{
	while (agenda_next_ps(&rack->agenda) <= now_ps)
		step(rack);
	rack->now_ps = WEFT_MAX(rack->now_ps, now_ps);
}

uint64_t weft_rack_next_ps(const struct weft_rack *rack)
{
	return agenda_next_ps(&rack->agenda);
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
	return taken;
}

const struct weft_rack_stats *weft_rack_stats(const struct weft_rack *rack)
{
	return &rack->stats;
}

struct weft_switch *weft_rack_switch(struct weft_rack *rack, uint32_t node)
{
	return switch_node(rack, node)->sw;
}
