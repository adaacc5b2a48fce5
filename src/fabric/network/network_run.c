/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network_run - frames along cables, from one switch to the next.
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
#include "network_local.h"

#define IPV6_BYTES 40u

uint32_t flight_take(struct weft_network *network)
{
	uint32_t index = network->flights_free;

	WEFT_ASSERT(index != NONE);
	network->flights_free = network->flights[index].next;
	return index;
}

void flight_free(struct weft_network *network, uint32_t index)
{
	network->flights[index].next = network->flights_free;
	network->flights_free = index;
}

void flight_start(struct weft_network *network, struct line *line, uint32_t index)
{
	struct flight *flight = &network->flights[index];

	flight->next = NONE;
	if (line->head == NONE)
		line->head = index;
	else
		network->flights[line->tail].next = index;
	line->tail = index;
	if (line->flags & LINE_ARRIVES)
		return;
	line->flags |= LINE_ARRIVES;
	agenda_add(&network->agenda, what_of(network, line, WHAT_ARRIVAL), flight->at_ps);
}

void give_back(struct weft_network *network, const struct weft_frame *frame, uint32_t node,
	uint32_t plane, enum weft_switch_drop drop)
{
	uint32_t place = network->outs_first + network->n_outs++;

	WEFT_ASSERT(network->n_outs <= network->config.frames);
	place -= place >= network->config.frames ? network->config.frames : 0;
	network->outs[place] = (struct weft_network_out){
		.frame = *frame,
		.at_ps = now_of(network),
		.drop = drop,
		.node = node,
		.plane = plane,
	};
	network->stats.arrived += !drop;
	network->stats.dropped += drop != 0;
	network->stats.drops[drop]++;
}

/* ---- switches ---- */

static void depart(
	struct weft_network *network, struct line *line, const struct weft_departure *departure)
{
	if (WEFT_UNLIKELY(departure->drop)) {
		give_back(network, &departure->frame, line->from,
			switch_node(network, line->from)->plane, departure->drop);
		return;
	}
	uint32_t index = flight_take(network);

	network->flights[index].frame = departure->frame;
	network->flights[index].at_ps = departure->ends_ps + line->delay_ps;
	flight_start(network, line, index);
}

void line_settle(struct weft_network *network, struct line *line)
{
	struct weft_switch *sw = switch_node(network, line->from)->sw;
	struct weft_departure departure;

	while (weft_switch_take(sw, line->from_port, now_of(network), &departure))
		depart(network, line, &departure);
}

void port_settle(void *user, uint32_t port, uint64_t now_ps)
{
	struct node *n = user;

	WEFT_ASSERT(now_ps == now_of(n->network));
	line_settle(n->network, &n->network->lines[n->lines[port]]);
}

void node_settle(struct weft_network *network, uint32_t node)
{
	struct node *n = switch_node(network, node);
	uint32_t port = 0;

	while ((port = weft_switch_busy_port(n->sw, port)) < n->ports)
		line_settle(network, &network->lines[n->lines[port++]]);
}

/* What is on the line will settle the rest when it arrives. */
static bool is_watched(const struct weft_network *network, const struct line *line)
{
	return line->flags & LINE_DUE || (line->flags & LINE_ARRIVES && !network->is_lossless);
}

void line_due(struct weft_network *network, struct line *line)
{
	if (is_watched(network, line))
		return;
	line_settle(network, line);
	if (is_watched(network, line))
		return;
	uint64_t next_ps =
		weft_switch_port_next(switch_node(network, line->from)->sw, line->from_port);

	if (next_ps == WEFT_NEVER)
		return;
	line->flags |= LINE_DUE;
	agenda_add(&network->agenda, what_of(network, line, WHAT_DUE), next_ps);
}

static void enter_switch(struct weft_network *network, struct line *line, struct weft_frame *frame)
{
	struct node *n = switch_node(network, line->to);
	const struct weft_network_config *c = &network->config;
	enum weft_switch_drop drop;
	uint32_t port;

	frame->in_port = (uint16_t)line->to_port;
	network->stats.hops++;
	if (c->memory)
		drop = weft_switch_input_bytes(n->sw, frame,
			c->memory + frame->handle * c->slot_bytes + c->slot_offset,
			(size_t)frame->bytes - WEFT_FRAME_ETHER_BYTES, now_of(network), &port);
	else
		drop = weft_switch_input(n->sw, frame, now_of(network), &port);
	if (WEFT_LIKELY(!drop))
		line_due(network, &network->lines[n->lines[port]]);
	else
		give_back(network, frame, line->to, n->plane, drop);
	if (WEFT_UNLIKELY(network->is_lossless))
		pauses_send(network, line->to);
}

/*
 * Behind the header that switches read, in the second half: there the ICRC is.  What has been cut
 * has no ICRC left, what ends with the header never had one, and what is a struct has no bytes:
 * nobody could tell that they are not as they were, and they are lost instead.
 */
static bool spoil(struct weft_network *network, const struct weft_frame *frame)
{
	const struct weft_network_config *c = &network->config;
	uint32_t ip_bytes = frame->bytes - WEFT_FRAME_ETHER_BYTES;
	uint32_t first = WEFT_MAX(ip_bytes / 2, IPV6_BYTES);

	if (!c->memory || frame->mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP) ||
		ip_bytes <= first)
		return false;
	uint64_t at = first + weft_rng_below(&network->rng, ip_bytes - first);

	c->memory[frame->handle * c->slot_bytes + c->slot_offset + at] ^= 0x10;
	return true;
}

/* False: it does not come out at the far end. */
static bool crosses(
	struct weft_network *network, const struct line *line, const struct weft_frame *frame)
{
	if (line->loss_ppm && weft_rng_chance(&network->rng, line->loss_ppm, 1000000))
		return false;
	return !line->spoil_ppm || !weft_rng_chance(&network->rng, line->spoil_ppm, 1000000) ||
	       spoil(network, frame);
}

static void arrive(struct weft_network *network, struct line *line)
{
	uint32_t index = line->head;
	struct flight *flight = &network->flights[index];

	WEFT_ASSERT(flight->at_ps == now_of(network));
	line->head = flight->next;
	if (line->head != NONE) {
		agenda_add(&network->agenda, what_of(network, line, WHAT_ARRIVAL),
			network->flights[line->head].at_ps);
	} else {
		line->flags &= (uint8_t)~LINE_ARRIVES;
		if (!is_host(network, line->from))
			line_due(network, line);
	}
	if (WEFT_UNLIKELY(line->loss_ppm | line->spoil_ppm) &&
		!crosses(network, line, &flight->frame))
		give_back(network, &flight->frame, line->from,
			weft_topo_link(network->config.topo, (uint32_t)(line - network->lines) / 2)
				.plane,
			WEFT_SWITCH_DROP_FAULT);
	else if (is_host(network, line->to))
		give_back(network, &flight->frame, line->to, line->to_port, WEFT_SWITCH_DROP_NONE);
	else
		enter_switch(network, line, &flight->frame);
	flight_free(network, index);
}

static void step(struct weft_network *network, uint32_t what)
{
	network->agenda.now_ps = network->agenda.entries[what].at_ps;
	agenda_remove(&network->agenda, what);
	if (WEFT_UNLIKELY(what >= what_pauses(network))) {
		pause_arrive(network, what - what_pauses(network));
		return;
	}
	struct line *line = &network->lines[what >> 1];

	if ((what & 1) == WHAT_ARRIVAL) {
		arrive(network, line);
	} else {
		line->flags &= (uint8_t)~LINE_DUE;
		line_due(network, line);
		if (WEFT_UNLIKELY(network->is_lossless))
			pauses_send(network, line->from);
	}
}

void weft_network_run(struct weft_network *network, uint64_t now_ps)
{
	struct agenda *agenda = &network->agenda;
	uint32_t what;

	while ((what = agenda_first(agenda)) != NONE && agenda->entries[what].at_ps <= now_ps)
		step(network, what);
	agenda->now_ps = WEFT_MAX(agenda->now_ps, now_ps);
}

uint64_t weft_network_next_ps(const struct weft_network *network)
{
	uint32_t what = agenda_first(&network->agenda);

	return what == NONE ? WEFT_NEVER : network->agenda.entries[what].at_ps;
}

/* ---- the caller ---- */

size_t weft_network_take(struct weft_network *network, struct weft_network_out out[], size_t n)
{
	size_t taken = 0;

	for (; taken < n && network->n_outs; taken++) {
		out[taken] = network->outs[network->outs_first++];
		network->outs_first *= network->outs_first < network->config.frames;
		network->n_outs--;
		network->n_inside--;
	}
	if (!network->n_outs)
		network->outs_first = 0; /* the lines that are in the cache */
	return taken;
}

const struct weft_network_stats *weft_network_stats(const struct weft_network *network)
{
	return &network->stats;
}

struct weft_switch *weft_network_switch(struct weft_network *network, uint32_t node)
{
	node_settle(network, node);
	return switch_node(network, node)->sw;
}
