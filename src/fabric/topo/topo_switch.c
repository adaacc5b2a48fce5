/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_switch - what the file says of switches: how large they are, and what they do with what does
 * not fit.
 *
 * Defaults are whoever builds switches' (docs/decisions/050-switch-queues.md); only what the file
 * says is passed on.  Depths may be said in bytes, or in bandwidth x delay, which means the same
 * fabric at another speed.  Whatever would be said in vain is refused: a threshold for trimming
 * where nothing is trimmed, or one end of a range whose other end would have to be guessed.
 */
#include "topo_local.h"

#include <inttypes.h>
#include <string.h>

#define QUEUE_MIN 10000u
#define DEPTH_MAX 1000000000u
#define BDP_MAX 1000000u /* permille */

struct raw_switch {
	struct weft_yaml_value queue, radix, full, marks;
	struct weft_yaml_value ecn_min, ecn_max, trim, trim_last_hop, trim_size;
};

/* clang-format off */
#define AT(member) offsetof(struct raw_switch, member)
static const struct weft_yaml_field fields[] = {
	{ "queue", WEFT_FIELD_NUMBER, WEFT_UNIT_BYTES, QUEUE_MIN, DEPTH_MAX, AT(queue), NULL },
	{ "radix", WEFT_FIELD_NUMBER, WEFT_UNIT_COUNT, 2, 65536, AT(radix), NULL },
	{ "full", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, AT(full), NULL },
	{ "marks", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, AT(marks), NULL },
	{ "ecn_min", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, AT(ecn_min), NULL },
	{ "ecn_max", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, AT(ecn_max), NULL },
	{ "trim", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, AT(trim), NULL },
	{ "trim_last_hop", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, AT(trim_last_hop), NULL },
	/* What a NACK needs to know stands in the first 128, behind a tunnel's header too. */
	{ "trim_size", WEFT_FIELD_NUMBER, WEFT_UNIT_BYTES, 128, 1500, AT(trim_size), NULL },
	{ 0 },
};
#undef AT
/* clang-format on */

static const char *const full_words[] = {
	[WEFT_FULL_TRIM] = "trim",
	[WEFT_FULL_DROP] = "drop",
	[WEFT_FULL_PAUSE] = "pause",
};

static bool check_radix(
	struct weft_yaml *doc, const struct weft_topo_shape *s, const struct weft_yaml_value *value)
{
	uint64_t radix = value->number;

	if (!value->line)
		return true;
	if (s->hosts_per_t0 + s->uplinks > radix)
		return weft_yaml_fail(doc, value->line, "switch.radix",
			"a T0 needs %" PRIu32 " ports (%" PRIu32 " hosts, %" PRIu32
			" uplinks), the radix is %" PRIu64,
			s->hosts_per_t0 + s->uplinks, s->hosts_per_t0, s->uplinks, radix);
	if (s->t0s * s->parallel > radix)
		return weft_yaml_fail(doc, value->line, "switch.radix",
			"a T1 needs %" PRIu32 " ports, the radix is %" PRIu64, s->t0s * s->parallel,
			radix);
	return true;
}

static bool read_full(
	struct weft_yaml *doc, struct weft_topo_shape *s, const struct weft_yaml_value *value)
{
	for (size_t i = 0; i < WEFT_COUNT(full_words); i++) {
		if (strcmp(value->text, full_words[i]))
			continue;
		s->full = (enum weft_topo_full)i;
		return true;
	}
	return weft_yaml_fail(doc, value->line, "switch.full",
		"'%s' is none, allowed: trim (cut the payload off), drop and pause (PFC)",
		value->text);
}

static bool read_marks(
	struct weft_yaml *doc, struct weft_topo_shape *s, const struct weft_yaml_value *value)
{
	s->marks = strcmp(value->text, "core") ? WEFT_MARKS_ALL : WEFT_MARKS_CORE;
	if (s->marks == WEFT_MARKS_CORE || !strcmp(value->text, "all"))
		return true;
	return weft_yaml_fail(doc, value->line, "switch.marks",
		"'%s' is none, allowed: all and core (none at ports to hosts)", value->text);
}

static bool read_depth(struct weft_yaml *doc, const char *name, const struct weft_yaml_value *value,
	struct weft_topo_depth *depth)
{
	uint64_t number;

	if (!value->line)
		return true;
	if (weft_unit_parse(WEFT_UNIT_BDP, value->text, &number) && number && number <= BDP_MAX)
		depth->bdp_permille = (uint32_t)number;
	else if (weft_unit_parse(WEFT_UNIT_BYTES, value->text, &number) && number &&
		 number <= DEPTH_MAX)
		depth->bytes = (uint32_t)number;
	else
		return weft_yaml_fail(doc, value->line, name,
			"'%s' is no depth, like 20KB or 0.8BDP (of bandwidth x delay), allowed: "
			"up to %u B or %u BDP",
			value->text, DEPTH_MAX, BDP_MAX / 1000);
	return true;
}

static bool check_ecn(
	struct weft_yaml *doc, const struct weft_topo_depths *depths, const struct raw_switch *raw)
{
	const struct weft_topo_depth *min = &depths->ecn_min, *max = &depths->ecn_max;

	if (!raw->ecn_min.line != !raw->ecn_max.line)
		return weft_yaml_fail(doc,
			raw->ecn_min.line ? raw->ecn_min.line : raw->ecn_max.line,
			raw->ecn_min.line ? "switch.ecn_min" : "switch.ecn_max",
			"ecn_min and ecn_max are wanted together");
	if (!raw->ecn_min.line)
		return true;
	if (!min->bytes != !max->bytes)
		return weft_yaml_fail(doc, raw->ecn_max.line, "switch.ecn_max",
			"'%s' and ecn_min '%s' must both be sizes or both be in BDP",
			raw->ecn_max.text, raw->ecn_min.text);
	if (max->bytes <= min->bytes && max->bdp_permille <= min->bdp_permille)
		return weft_yaml_fail(doc, raw->ecn_max.line, "switch.ecn_max",
			"'%s' must be more than ecn_min, '%s'", raw->ecn_max.text,
			raw->ecn_min.text);
	return true;
}

/* Fields of trimming where nothing is trimmed. */
static bool check_trim(
	struct weft_yaml *doc, enum weft_topo_full full, const struct raw_switch *raw)
{
	const struct weft_yaml_value *first = raw->trim.line            ? &raw->trim
					      : raw->trim_last_hop.line ? &raw->trim_last_hop
									: &raw->trim_size;

	if (full == WEFT_FULL_TRIM || !first->line)
		return true;
	return weft_yaml_fail(doc, first->line,
		first == &raw->trim        ? "switch.trim"
		: first == &raw->trim_size ? "switch.trim_size"
					   : "switch.trim_last_hop",
		"nothing is trimmed where full is %s", full_words[full]);
}

bool switch_read(struct weft_yaml *doc, struct weft_topo_shape *shape, yaml_node_t *node)
{
	struct weft_topo_depths *depths = &shape->depths;
	struct raw_switch raw = { .full = { .text = "trim" }, .marks = { .text = "all" } };

	if (node && !weft_yaml_fields(doc, node, "switch", fields, &raw))
		return false;
	shape->switch_queue_bytes = raw.queue.line ? (uint32_t)raw.queue.number : 1000000;
	depths->queue_bytes = (uint32_t)raw.queue.number;
	depths->trim_size_bytes = (uint16_t)raw.trim_size.number;
	return check_radix(doc, shape, &raw.radix) && read_full(doc, shape, &raw.full) &&
	       read_marks(doc, shape, &raw.marks) &&
	       read_depth(doc, "switch.ecn_min", &raw.ecn_min, &depths->ecn_min) &&
	       read_depth(doc, "switch.ecn_max", &raw.ecn_max, &depths->ecn_max) &&
	       read_depth(doc, "switch.trim", &raw.trim, &depths->trim) &&
	       read_depth(
		       doc, "switch.trim_last_hop", &raw.trim_last_hop, &depths->trim_last_hop) &&
	       check_ecn(doc, depths, &raw) && check_trim(doc, shape->full, &raw);
}
