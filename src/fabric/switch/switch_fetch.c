/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switch_fetch - asks for a switch's memory before it is needed.
 *
 * A simulator has thousands of switches, and a frame touches in each a place of the table, a port,
 * and the frames before and behind it in a queue: none of them is in a cache, and each says where
 * the next one is.  A caller that knows a few frames ahead asks for them stage by stage.  Nothing
 * is changed, and nothing but time depends on it.
 *
 * Hot: all of it.
 */
#include "switch_local.h"

void weft_switch_fetch(const struct weft_switch *sw)
{
	const uint8_t *line = (const uint8_t *)sw;

	for (size_t at = 0; at < sizeof(*sw); at += WEFT_CACHE_LINE_BYTES)
		__builtin_prefetch(line + at, 1);
}

/* Of a carrier's uSIDs the first is often the switch's own, which is in the cache: the second. */
void weft_switch_fetch_route(const struct weft_switch *sw, const struct weft_frame *frame)
{
	__builtin_prefetch(&sw->sids[table_first_place(sw, (uint16_t)(frame->route >> 48))]);
	__builtin_prefetch(&sw->sids[table_first_place(sw, (uint16_t)(frame->route >> 32))]);
}

void weft_switch_fetch_port(const struct weft_switch *sw, uint32_t port)
{
	__builtin_prefetch(&sw->ports[port], 1);
}

void weft_switch_fetch_queues(const struct weft_switch *sw, uint32_t index)
{
	const struct port *port = &sw->ports[index];
	const struct weft_frame *frames = sw->config.pool->frames;

	for (unsigned queue = 0; queue < WEFT_QUEUES; queue++) {
		if (!port->bytes[queue])
			continue;
		__builtin_prefetch(&frames[port->head[queue]], 1);
		__builtin_prefetch(&frames[port->tail[queue]], 1);
	}
}
