/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network_check - every frame is in one place, and every place knows when it is next.
 *
 * For tests and for a live fabric that somebody asks; it walks through everything.
 */
#include "network_local.h"

/* Flights of a list; at_ps never falls if they are on a cable. */
static uint32_t count_flights(const struct weft_network *network, uint32_t index, bool is_ordered)
{
	uint32_t n = 0;

	for (uint64_t at_ps = 0; index != NONE; n++, index = network->flights[index].next) {
		WEFT_ASSERT(n <= network->config.frames);
		WEFT_ASSERT(!is_ordered || network->flights[index].at_ps >= at_ps);
		at_ps = network->flights[index].at_ps;
	}
	return n;
}

static void check_line(const struct weft_network *network, const struct line *line)
{
	bool is_busy = line->head != NONE;

	WEFT_ASSERT(is_busy == !!(line->flags & LINE_ARRIVES));
	WEFT_ASSERT(!is_busy || network->flights[line->head].at_ps >= now_of(network));
	WEFT_ASSERT(!is_busy || network->flights[line->tail].next == NONE);
	WEFT_ASSERT(!is_busy || line->flags & LINE_UP);
	if (is_host(network, line->from))
		return;
	/* Whoever could send knows when. */
	uint64_t next_ps =
		weft_switch_port_next(switch_node(network, line->from)->sw, line->from_port);

	WEFT_ASSERT(next_ps == WEFT_NEVER || line->flags & LINE_DUE ||
		    (is_busy && !network->is_lossless));
}

void weft_network_check(const struct weft_network *network)
{
	uint32_t under_way = 0, arrivals = 0, dues = 0;
	const struct weft_network_stats *s = &network->stats;

	agenda_check(&network->agenda);
	for (uint32_t i = 0; i < 2 * network->shape.links; i++) {
		const struct line *line = &network->lines[i];

		check_line(network, line);
		under_way += count_flights(network, line->head, true);
		arrivals += (line->flags & LINE_ARRIVES) != 0;
		dues += (line->flags & LINE_DUE) != 0;
	}
	for (uint32_t i = 0; i < network->shape.hosts * network->shape.planes; i++)
		under_way += count_flights(network, network->nics[i].held_head, false);
	for (uint32_t node = network->shape.hosts; node < network->shape.nodes; node++)
		weft_switch_check(switch_node(network, node)->sw);

	uint32_t pauses = 2 * network->shape.links;

	for (uint32_t i = network->pauses_free; i != NONE; i = network->pauses[i].next)
		pauses--;
	WEFT_ASSERT(network->agenda.n == arrivals + dues + pauses);
	WEFT_ASSERT(under_way + count_flights(network, network->flights_free, false) ==
		    network->config.frames + 1);
	WEFT_ASSERT(under_way + network->pool.used + network->n_outs == network->n_inside);
	WEFT_ASSERT(s->sent - s->arrived - s->dropped == under_way + network->pool.used);
	uint64_t dropped = 0;

	for (unsigned i = 1; i < WEFT_SWITCH_DROP_COUNT; i++)
		dropped += s->drops[i];
	WEFT_ASSERT(dropped == s->dropped && s->drops[WEFT_SWITCH_DROP_NONE] == s->arrived);
}
