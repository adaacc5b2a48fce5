/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switch_show - answers of a switch, for people.
 *
 * A fabric has hundreds of ports and each a dozen counters and queues; what a person wants to know
 * is which of them carry traffic, and where it was marked, trimmed or lost.  So ports that have
 * moved nothing and reasons that have dropped nothing are left out, and the rest is in the JSON.
 */
#include "switch_show.h"

#include <inttypes.h>
#include <jansson.h>
#include <weft/base.h>

static uint64_t number(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key)
{
	const char *found = json_string_value(json_object_get(object, key));

	return found ? found : "-";
}

/* ---- hello ---- */

void switch_show_hello(const json_t *hello, const struct term *term)
{
	char up[HUMAN_MAX], rate[HUMAN_MAX];
	const json_t *one;
	struct table table;
	size_t i;

	fprintf(term->out,
		"switch %s, up for %s: %" PRIu64 " switches, %" PRIu64 " hosts, %" PRIu64
		" planes, %s\n",
		text(hello, "name"), human_ns(up, number(hello, "up_ns")),
		number(hello, "switches"), number(hello, "hosts"), number(hello, "planes"),
		human_rate(rate, number(hello, "rate_bps")));
	fprintf(term->out, "fabric %s, %" PRIu64 " of %" PRIu64 " slots in use\n",
		text(hello, "fabric"), number(hello, "slots") - number(hello, "slots_free"),
		number(hello, "slots"));
	table_begin(&table, "llrrr");
	table_add(&table, "host");
	table_add(&table, "by");
	table_add(&table, "sent");
	table_add(&table, "received");
	table_add(&table, "slots");
	json_array_foreach(json_object_get(hello, "processes"), i, one)
	{
		table_add(&table, "%s", text(one, "host"));
		table_add(&table, "UDP port %" PRIu64, number(one, "udp_port"));
		table_add(&table, "%" PRIu64, number(one, "sent"));
		table_add(&table, "%" PRIu64, number(one, "received"));
		table_add(&table, "%" PRIu64, number(one, "slots"));
	}
	json_array_foreach(json_object_get(hello, "interfaces"), i, one)
	{
		table_add(&table, "%s", text(one, "link"));
		table_add(&table, "%s", text(one, "interface"));
		table_add(&table, "%" PRIu64, number(one, "received"));
		table_add(&table, "%" PRIu64, number(one, "sent"));
		table_add(&table, "-");
	}
	table_print(&table, term);
}

/* ---- counters ---- */

static const struct {
	const char *heading, *counter;
} columns[] = {
	{ "in", "SAI_PORT_STAT_IF_IN_UCAST_PKTS" },
	{ "out", "SAI_PORT_STAT_IF_OUT_UCAST_PKTS" },
	{ "marked", "SAI_PORT_STAT_ECN_MARKED_PACKETS" },
	{ "trimmed", "SAI_PORT_STAT_TRIM_PACKETS" },
	{ "in drops", "SAI_PORT_STAT_IF_IN_DISCARDS" },
	{ "out drops", "SAI_PORT_STAT_IF_OUT_DISCARDS" },
};

static uint64_t waiting(const json_t *port)
{
	const json_t *queue;
	uint64_t bytes = 0;
	size_t i;

	json_array_foreach(json_object_get(port, "queues"), i, queue) bytes +=
		number(queue, "depth_bytes");
	return bytes;
}

static bool is_quiet(const json_t *port)
{
	for (size_t c = 0; c < WEFT_COUNT(columns); c++) {
		if (number(port, columns[c].counter))
			return false;
	}
	return json_is_true(json_object_get(port, "up"));
}

static void add_port(
	struct table *table, const json_t *node, const json_t *port, const struct term *term)
{
	bool up = json_is_true(json_object_get(port, "up"));
	char count[HUMAN_MAX];

	table_add(table, "%s", text(node, "node"));
	table_add(table, "%s", text(port, "link"));
	table_add(table, "%s%s%s", up ? "" : term_on(term, TERM_RED), up ? "up" : "DOWN",
		up ? "" : term_off(term));
	for (size_t c = 0; c < WEFT_COUNT(columns); c++)
		table_add(table, "%s", human_count(count, number(port, columns[c].counter)));
	table_add(table, "%s", human_bytes(count, waiting(port)));
}

static void begin_ports(struct table *table)
{
	table_begin(table, "lllrrrrrrr");
	table_add(table, "switch");
	table_add(table, "link");
	table_add(table, "is");
	for (size_t c = 0; c < WEFT_COUNT(columns); c++)
		table_add(table, "%s", columns[c].heading);
	table_add(table, "waiting");
}

static void add_drops(struct table *table, const char *where, json_t *drops)
{
	const char *key;
	json_t *value;

	json_object_foreach(drops, key, value)
	{
		char count[HUMAN_MAX];

		if (!json_integer_value(value))
			continue;
		table_add(table, "%s", where);
		table_add(table, "%s", key);
		table_add(table, "%s", human_count(count, (uint64_t)json_integer_value(value)));
	}
}

/* What no switch has dropped was lost on a cable to or from a host. */
static json_t *cable_drops(const json_t *counters)
{
	json_t *drops =
		json_deep_copy(json_object_get(json_object_get(counters, "fabric"), "drops"));
	const json_t *node;
	const char *key;
	json_t *value;
	size_t i;

	json_array_foreach(json_object_get(counters, "switches"), i, node)
	{
		json_object_foreach(json_object_get(node, "drops"), key, value)
		{
			json_int_t left = json_integer_value(json_object_get(drops, key)) -
					  json_integer_value(value);

			(void)json_object_set_new(drops, key, json_integer(left > 0 ? left : 0));
		}
	}
	return drops;
}

void switch_show_counters(const json_t *counters, const struct term *term, bool all)
{
	const json_t *switches = json_object_get(counters, "switches"), *node, *port;
	struct table ports, drops;
	size_t i, k;

	begin_ports(&ports);
	table_begin(&drops, "llr");
	table_add(&drops, "dropped by");
	table_add(&drops, "because");
	table_add(&drops, "packets");
	json_array_foreach(switches, i, node)
	{
		json_array_foreach(json_object_get(node, "ports"), k, port)
		{
			if (all || !is_quiet(port))
				add_port(&ports, node, port, term);
		}
		add_drops(&drops, text(node, "node"), json_object_get(node, "drops"));
	}
	table_print(&ports, term);
	if (json_array_size(switches) > 1) {
		json_t *cables = cable_drops(counters);

		add_drops(&drops, "cables", cables);
		json_decref(cables);
		add_drops(&drops, "hosts' side", json_object_get(counters, "hosts"));
	}
	table_print(&drops, term);
}

/* ---- rates ---- */

static void add_rate(struct table *table, const json_t *node, const json_t *old, const json_t *new,
	double seconds)
{
	static const char octets[] = "SAI_PORT_STAT_IF_OUT_OCTETS";
	char rate[HUMAN_MAX], bytes[HUMAN_MAX];
	uint64_t bits = 8 * (number(new, octets) - number(old, octets));

	table_add(table, "%s", text(node, "node"));
	table_add(table, "%s", text(new, "link"));
	table_add(table, "%s", human_rate(rate, (uint64_t)((double)bits / seconds)));
	for (size_t c = 1; c < WEFT_COUNT(columns); c++) {
		uint64_t n = number(new, columns[c].counter) - number(old, columns[c].counter);

		table_add(table, "%.0f", (double)n / seconds);
	}
	table_add(table, "%s", human_bytes(bytes, waiting(new)));
}

void switch_show_rates(const json_t *before, const json_t *after, const struct term *term)
{
	const json_t *old_all = json_object_get(before, "switches"), *node, *port;
	uint64_t ns = number(after, "at_ns") - number(before, "at_ns");
	double seconds = ns ? (double)ns / 1e9 : 1;
	bool any = false;
	struct table table;
	size_t i, k;

	table_begin(&table, "llrrrrrrr");
	table_add(&table, "switch");
	table_add(&table, "link");
	table_add(&table, "out");
	table_add(&table, "packets/s");
	for (size_t c = 2; c < WEFT_COUNT(columns); c++)
		table_add(&table, "%s", columns[c].heading);
	table_add(&table, "waiting");
	json_array_foreach(json_object_get(after, "switches"), i, node)
	{
		const json_t *old = json_object_get(json_array_get(old_all, i), "ports");

		json_array_foreach(json_object_get(node, "ports"), k, port)
		{
			bool moved = false;

			for (size_t c = 1; c < WEFT_COUNT(columns); c++)
				moved |= number(port, columns[c].counter) !=
					 number(json_array_get(old, k), columns[c].counter);
			if (moved)
				add_rate(&table, node, json_array_get(old, k), port, seconds);
			any |= moved;
		}
	}
	table_print(&table, term);
	if (!any)
		fprintf(term->out, "no port has carried anything for %.3g s\n", seconds);
}

/* ---- tables and links ---- */

void switch_show_table(const json_t *answer, const struct term *term)
{
	const json_t *entry;
	struct table table;
	size_t i;

	table_begin(&table, "lllr");
	table_add(&table, "prefix");
	table_add(&table, "kind");
	table_add(&table, "link");
	table_add(&table, "packets");
	json_array_foreach(json_object_get(answer, "entries"), i, entry)
	{
		uint64_t links = number(entry, "links");

		table_add(&table, "%s", text(entry, "prefix"));
		table_add(&table, "%s", text(entry, "kind"));
		if (links > 1)
			table_add(
				&table, "%s and %" PRIu64 " more", text(entry, "link"), links - 1);
		else
			table_add(&table, "%s", text(entry, "link"));
		if (json_object_get(entry, "packets"))
			table_add(&table, "%" PRIu64, number(entry, "packets"));
		else
			table_add(&table, "-");
	}
	table_print(&table, term);
	if (!json_is_true(json_object_get(answer, "power")))
		fprintf(term->out, "%s is switched off\n", text(answer, "node"));
}

void switch_show_sids(const json_t *answer, const struct term *term)
{
	const json_t *entry;
	struct table table;
	size_t i;

	table_begin(&table, "lllr");
	table_add(&table, "SID");
	table_add(&table, "kind");
	table_add(&table, "link");
	table_add(&table, "packets");
	json_array_foreach(json_object_get(answer, "entries"), i, entry)
	{
		if (!json_object_get(entry, "sid"))
			continue;
		table_add(&table, "%s", text(entry, "sid"));
		table_add(&table, "%s", text(entry, "kind"));
		table_add(&table, "%s", text(entry, "link"));
		table_add(&table, "%" PRIu64, number(entry, "packets"));
	}
	table_print(&table, term);
}

static void add_percent(struct table *table, uint64_t ppm)
{
	if (ppm)
		table_add(table, "%.6g %%", (double)ppm / 1e4);
	else
		table_add(table, "-");
}

void switch_show_links(const json_t *answer, const struct term *term)
{
	static const char *const holes[] = { "-", "up", "down", "both ways" };
	const json_t *link;
	struct table table;
	size_t i;

	table_begin(&table, "llrrrrrl");
	table_add(&table, "link");
	table_add(&table, "is");
	table_add(&table, "rate");
	table_add(&table, "loss up");
	table_add(&table, "loss down");
	table_add(&table, "spoilt up");
	table_add(&table, "spoilt down");
	table_add(&table, "hole");
	json_array_foreach(json_object_get(answer, "links"), i, link)
	{
		bool up = json_is_true(json_object_get(link, "up"));
		char rate[HUMAN_MAX];

		table_add(&table, "%s", text(link, "link"));
		table_add(&table, "%s%s%s", up ? "" : term_on(term, TERM_RED), up ? "up" : "DOWN",
			up ? "" : term_off(term));
		table_add(&table, "%s", human_rate(rate, number(link, "bps")));
		add_percent(&table, number(link, "loss_up_ppm"));
		add_percent(&table, number(link, "loss_down_ppm"));
		add_percent(&table, number(link, "spoil_up_ppm"));
		add_percent(&table, number(link, "spoil_down_ppm"));
		table_add(&table, "%s", holes[number(link, "hole") & 3]);
	}
	table_print(&table, term);
}
