/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cp_state - what an endpoint has been through, as JSON: counters, paths, the events it told.
 *
 * The event ring of the engine forgets; whoever wants the story of a transfer takes events along
 * the way.  Names come from the engine's own lists, so a new counter or event needs no line here.
 */
#include "cp.h"

#include <stdio.h>

#define EVENTS_MAX 20000u /* a transfer through hell tells more than anybody reads */

void cp_events_take(struct cp_events *events, struct weft_live *live)
{
	struct weft_event batch[32];
	size_t n;

	if (!events->list)
		events->list = json_array();
	while ((n = weft_events(weft_live_endpoint(live), &events->seq, batch, 32))) {
		for (size_t i = 0; i < n && json_array_size(events->list) < EVENTS_MAX; i++) {
			const struct weft_event *e = &batch[i];
			json_t *one = json_pack("{s:I, s:s}", "at_ns", (json_int_t)e->at_ns,
				"event", weft_event_name(e->kind));
			const uint64_t value[3] = { e->a, e->b, e->c };

			for (unsigned f = 0; f < 3; f++) {
				const char *name = weft_event_field(e->kind, f);

				if (name && *name)
					json_object_set_new(
						one, name, json_integer((json_int_t)value[f]));
			}
			json_array_append_new(events->list, one);
		}
	}
}

static json_t *paths(struct weft_endpoint *ep, uint32_t set)
{
	static const char *const states[] = { "EMPTY", "GOOD", "SKIP", "ASSUMED_BAD", "DENIED" };
	json_t *list = json_array();
	struct weft_path_info path;

	for (uint32_t i = 0; !weft_path_info(ep, set, i, &path); i++)
		json_array_append_new(list,
			json_pack("{s:I, s:i, s:s, s:I, s:I, s:I, s:I, s:I}", "ev",
				(json_int_t)path.ev, "plane", (int)path.port, "state",
				path.state < WEFT_COUNT(states) ? states[path.state] : "?", "sent",
				(json_int_t)path.sent, "acked", (json_int_t)path.acked, "marked",
				(json_int_t)path.marked, "lost", (json_int_t)path.lost, "rtt_ns",
				(json_int_t)path.rtt_ns));
	return list;
}

json_t *cp_state_json(struct weft_live *live, uint32_t set, const struct cp_events *events)
{
	const struct weft_counters *c = weft_stats(weft_live_endpoint(live));
	const struct weft_port_stats *p = &weft_live_port(live)->stats;
	json_t *counters = json_object(), *drops = json_object();
	const char *name;

	for (unsigned i = 0; (name = weft_counter_name(i)); i++)
		if (weft_counter_value(c, i))
			json_object_set_new(
				counters, name, json_integer((json_int_t)weft_counter_value(c, i)));
	for (unsigned i = 0; i < WEFT_DROP_COUNT; i++)
		if (p->drops[i])
			json_object_set_new(drops, weft_drop_name((enum weft_drop)i),
				json_integer((json_int_t)p->drops[i]));
	return json_pack("{s:s, s:o, s:{s:I, s:I, s:I, s:I, s:I, s:I, s:o}, s:o, s:O*}", "host",
		weft_live_host(live), "counters", counters, "port", "rx_pkts",
		(json_int_t)p->rx_pkts, "tx_pkts", (json_int_t)p->tx_pkts, "rx_calls",
		(json_int_t)p->rx_calls, "tx_calls", (json_int_t)p->tx_calls, "tx_refused",
		(json_int_t)p->tx_refused, "tx_waits", (json_int_t)p->tx_waits, "drops", drops,
		"paths", paths(weft_live_endpoint(live), set), "events", events->list);
}
