/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check - every frame is in one place, and every place knows when it is next.
 *
 * For tests and for a live fabric that somebody asks; it walks through everything.
 */
#include "local.h"

/* Flights of a list; at_ps never falls if they are on a cable. */
static uint32_t count_flights(const struct weft_rack *rack, uint32_t index, bool is_ordered)
{
	uint32_t n = 0;

	for (uint64_t at_ps = 0; index != NONE; n++, index = rack->flights[index].next) {
		WEFT_ASSERT(n <= rack->config.frames);
		WEFT_ASSERT(!is_ordered || rack->flights[index].at_ps >= at_ps);
		at_ps = rack->flights[index].at_ps;
	}
	return n;
}

static void check_line(const struct weft_rack *rack, const struct line *line)
{
	bool is_busy = line->head != NONE;

	WEFT_ASSERT(is_busy == !!(line->flags & LINE_ARRIVES));
	WEFT_ASSERT(!is_busy || rack->flights[line->head].at_ps >= now_of(rack));
	WEFT_ASSERT(!is_busy || rack->flights[line->tail].next == NONE);
	WEFT_ASSERT(!is_busy || line->flags & LINE_UP);
	if (is_host(rack, line->from))
		return;
	/* Whoever could send knows when. */
	uint64_t next_ps =
		weft_switch_port_next(switch_node(rack, line->from)->sw, line->from_port);

	WEFT_ASSERT(
		next_ps == WEFT_NEVER || line->flags & LINE_DUE || (is_busy && !rack->is_lossless));
}

void weft_rack_check(const struct weft_rack *rack)
{
	uint32_t under_way = 0, arrivals = 0, dues = 0;
	const struct weft_rack_stats *s = &rack->stats;

	agenda_check(&rack->agenda);
	for (uint32_t i = 0; i < 2 * rack->shape.links; i++) {
		const struct line *line = &rack->lines[i];

		check_line(rack, line);
		under_way += count_flights(rack, line->head, true);
		arrivals += (line->flags & LINE_ARRIVES) != 0;
		dues += (line->flags & LINE_DUE) != 0;
	}
	for (uint32_t i = 0; i < rack->shape.hosts * rack->shape.planes; i++)
		under_way += count_flights(rack, rack->nics[i].held_head, false);
	for (uint32_t node = rack->shape.hosts; node < rack->shape.nodes; node++)
		weft_switch_check(switch_node(rack, node)->sw);

	uint32_t pauses = 2 * rack->shape.links;

	for (uint32_t i = rack->pauses_free; i != NONE; i = rack->pauses[i].next)
		pauses--;
	WEFT_ASSERT(rack->agenda.n == arrivals + dues + pauses);
	WEFT_ASSERT(under_way + count_flights(rack, rack->flights_free, false) ==
		    rack->config.frames + 1);
	WEFT_ASSERT(under_way + rack->pool.used + rack->n_outs == rack->n_inside);
	WEFT_ASSERT(s->sent - s->arrived - s->dropped == under_way + rack->pool.used);
	uint64_t dropped = 0;

	for (unsigned i = 1; i < WEFT_FABRIC_DROP_COUNT; i++)
		dropped += s->drops[i];
	WEFT_ASSERT(dropped == s->dropped && s->drops[WEFT_FABRIC_DROP_NONE] == s->arrived);
}
