/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jsonl - events as lines of JSON.
 *
 * A line each rather than one document: a dump that is cut off by a crash is still readable, and
 * dumps of several hosts are merged by sort(1).  Keys come from events.def and nowhere else.  No
 * library here: we write seven kinds of characters, and jansson would allocate for each of them.
 */
#include "trace_local.h"

/* RFC 8259: quotes, backslashes and control characters; the rest of UTF-8 stands as it is. */
static void print_string(struct weft_sink *sink, const char *text)
{
	static const char hex[] = "0123456789abcdef";

	sink_text(sink, "\"");
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		char escaped[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };

		if (c == '"' || c == '\\')
			sink_text(sink, "\\");
		if (c < 0x20)
			sink_bytes(sink, escaped, sizeof(escaped));
		else
			sink_bytes(sink, text, 1);
	}
	sink_text(sink, "\"");
}

static void print_field(struct weft_sink *sink, const char *name, uint64_t value)
{
	sink_text(sink, ",\"");
	sink_text(sink, name);
	sink_text(sink, "\":");
	sink_u64(sink, value);
}

static void print_event(struct weft_sink *sink, const char *host, const struct weft_event *event)
{
	const uint64_t values[] = { event->a, event->b, event->c };
	static const char *const plain[] = { "a", "b", "c" };
	bool known = event->kind < WEFT_EV_COUNT;

	sink_text(sink, "{\"at_ns\":");
	sink_u64(sink, event->at_ns);
	sink_text(sink, ",\"event\":\"");
	sink_text(sink, weft_event_name(event->kind));
	sink_text(sink, "\"");
	if (!known) /* written by a newer version: hand over what there is */
		print_field(sink, "kind", event->kind);
	if (host) {
		sink_text(sink, ",\"host\":");
		print_string(sink, host);
	}
	if (event->qpn)
		print_field(sink, "qpn", event->qpn);
	print_field(sink, "set", event->set);
	for (unsigned i = 0; i < WEFT_COUNT(values); i++) {
		const char *name = known ? weft_event_field(event->kind, i) : plain[i];

		if (*name)
			print_field(sink, name, values[i]);
	}
	sink_text(sink, "}\n");
}

int weft_jsonl_events(
	struct weft_sink *sink, const char *host, const struct weft_event events[], size_t n)
{
	for (size_t i = 0; i < n && !sink->error; i++)
		print_event(sink, host, &events[i]);
	return sink->error;
}
