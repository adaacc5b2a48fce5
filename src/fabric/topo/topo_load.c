/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_load - the fabric file to a struct weft_topo, or a reason why not.
 *
 * Counts, not lists: a regular fabric is what a static uSID plan is for, and a file that fits on
 * a screen can be checked by eye.  Irregularity (a slower link, a missing cable) is said by
 * exception in `overrides`.  Everything that the uSID plan or a switch's radix cannot hold is
 * refused here, so that nothing later can meet an impossible fabric.
 */
#include "topo_local.h"

#include <weft/rtt.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTS_MAX 1048576u
#define LINKS_MAX 16777216u
#define SPEED_MIN WEFT_TOPO_BPS_MIN
#define SPEED_MAX WEFT_TOPO_BPS_MAX
#define DELAY_MAX 1000000000u              /* 1 s */

/* Everything the file can say, with the defaults where it says nothing. */
struct raw {
	struct weft_yaml_value name, planes, t0s, t1s, parallel, hosts, hosts_per_t0, mtu, udp_port;
	struct weft_yaml_value base_rtt, host_speed, host_delay, core_speed, core_delay;
	struct weft_yaml_value sw, block, plane_bits, behavior, host_prefix, overrides;
};

static const struct raw defaults = {
	.t1s = { .number = 0 },
	.parallel = { .number = 1 },
	.mtu = { .number = 4252 }, /* 4096 of payload, every header, and room for one tunnel */
	.udp_port = { .number = 4791 },
	.host_speed = { .number = UINT64_C(100000000000) },
	.host_delay = { .number = 500 },
	.core_speed = { .number = UINT64_C(100000000000) },
	.core_delay = { .number = 500 },
	.behavior = { .text = "uN" },
	.host_prefix = { .text = "fd57:6566::/32" },
};

/* clang-format off */
#define AT(member) offsetof(struct raw, member)
static const struct weft_yaml_field host_link_fields[] = {
	{ "speed", WEFT_FIELD_NUMBER, WEFT_UNIT_SPEED, SPEED_MIN, SPEED_MAX, AT(host_speed), NULL },
	{ "delay", WEFT_FIELD_NUMBER, WEFT_UNIT_TIME, 0, DELAY_MAX, AT(host_delay), NULL },
	{ 0 },
};
static const struct weft_yaml_field core_link_fields[] = {
	{ "speed", WEFT_FIELD_NUMBER, WEFT_UNIT_SPEED, SPEED_MIN, SPEED_MAX, AT(core_speed), NULL },
	{ "delay", WEFT_FIELD_NUMBER, WEFT_UNIT_TIME, 0, DELAY_MAX, AT(core_delay), NULL },
	{ 0 },
};
static const struct weft_yaml_field usid_fields[] = {
	{ "block", WEFT_FIELD_NODE, WEFT_UNIT_COUNT, 0, 0, AT(block), NULL },
	{ "plane_bits", WEFT_FIELD_NUMBER, WEFT_UNIT_COUNT, 0, 4, AT(plane_bits), NULL },
	{ "behavior", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, AT(behavior), NULL },
	{ 0 },
};
static const struct weft_yaml_field root_fields[] = {
	{ "name", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, AT(name), NULL },
	{ "planes", WEFT_FIELD_NUMBER, WEFT_UNIT_COUNT, 1, WEFT_TOPO_PLANES_MAX, AT(planes), NULL },
	{ "t0s", WEFT_FIELD_NUMBER, WEFT_UNIT_COUNT, 1, 16384, AT(t0s), NULL },
	{ "t1s", WEFT_FIELD_NUMBER, WEFT_UNIT_COUNT, 0, 16384, AT(t1s), NULL },
	{ "parallel_links", WEFT_FIELD_NUMBER, WEFT_UNIT_COUNT, 1, 16384, AT(parallel), NULL },
	{ "hosts", WEFT_FIELD_NODE, WEFT_UNIT_COUNT, 0, 0, AT(hosts), NULL },
	{ "hosts_per_t0", WEFT_FIELD_NUMBER, WEFT_UNIT_COUNT, 1, 16384, AT(hosts_per_t0), NULL },
	{ "mtu", WEFT_FIELD_NUMBER, WEFT_UNIT_COUNT, 1280, 65535, AT(mtu), NULL },
	{ "udp_port", WEFT_FIELD_NUMBER, WEFT_UNIT_COUNT, 1, 65535, AT(udp_port), NULL },
	{ "base_rtt", WEFT_FIELD_NUMBER, WEFT_UNIT_TIME, WEFT_BASE_RTT_NS_MIN,
		WEFT_BASE_RTT_NS_MAX, AT(base_rtt), NULL },
	{ "host_links", WEFT_FIELD_MAP, WEFT_UNIT_COUNT, 0, 0, 0, host_link_fields },
	{ "core_links", WEFT_FIELD_MAP, WEFT_UNIT_COUNT, 0, 0, 0, core_link_fields },
	{ "switch", WEFT_FIELD_NODE, WEFT_UNIT_COUNT, 0, 0, AT(sw), NULL },
	{ "usid", WEFT_FIELD_MAP, WEFT_UNIT_COUNT, 0, 0, 0, usid_fields },
	{ "host_prefix", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, AT(host_prefix), NULL },
	{ "overrides", WEFT_FIELD_NODE, WEFT_UNIT_COUNT, 0, 0, AT(overrides), NULL },
	{ 0 },
};
#undef AT
/* clang-format on */

static bool read_raw(struct weft_yaml *doc, struct raw *raw)
{
	yaml_node_t *node = yaml_document_get_root_node(&doc->yaml);

	if (!node)
		return weft_yaml_fail(doc, 1, "", "the file is empty");
	*raw = defaults;
	if (!weft_yaml_fields(doc, node, "", root_fields, raw))
		return false;
	if (!raw->name.line)
		return weft_yaml_fail(doc, 1, "name", "missing");
	if (!raw->planes.line)
		return weft_yaml_fail(doc, 1, "planes", "missing");
	if (!raw->t0s.line)
		return weft_yaml_fail(doc, 1, "t0s", "missing");
	if (!raw->hosts.line)
		return weft_yaml_fail(doc, 1, "hosts", "missing, a number or a list of names");
	return true;
}

/* Names go into network namespaces, file names and link names, where ':' and '.' mean something. */
static bool is_name(const char *text, size_t bytes_max)
{
	size_t n = strlen(text);

	return n && n <= bytes_max &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
		       n &&
	       *text != '-';
}

/* "h7" may only be host 7, else `h7` and the seventh host would be two things. */
static bool is_foreign_number(const char *name, uint32_t host)
{
	char *end;

	if (name[0] != 'h' || name[1] < '0' || name[1] > '9')
		return false;
	unsigned long number = strtoul(name + 1, &end, 10);
	return !*end && number != host;
}

static bool read_host_names(struct weft_yaml *doc, struct weft_topo *topo, yaml_node_t *list)
{
	yaml_node_item_t *first = list->data.sequence.items.start;
	size_t n = (size_t)(list->data.sequence.items.top - first);

	if (n < 2 || n > 4096)
		return weft_yaml_fail(doc, weft_yaml_line(list), "hosts",
			"%zu names, allowed: 2 to 4096 (more: give a number)", n);
	topo->shape.hosts = (uint32_t)n;
	topo->host_names = calloc(n, sizeof(*topo->host_names));
	if (!topo->host_names)
		return weft_yaml_fail(doc, weft_yaml_line(list), "hosts", "out of memory");
	for (uint32_t i = 0; i < n; i++) {
		yaml_node_t *item = yaml_document_get_node(&doc->yaml, first[i]);
		const char *text;

		if (!weft_yaml_scalar(doc, item, "hosts", &text))
			return false;
		if (!is_name(text, 15))
			return weft_yaml_fail(doc, weft_yaml_line(item), "hosts",
				"'%s' is not a name, allowed: 1 to 15 letters, digits, "
				"'-' and '_', no '-' first",
				text);
		if (is_foreign_number(text, i))
			return weft_yaml_fail(doc, weft_yaml_line(item), "hosts",
				"'%s' is host number %" PRIu32 ": call it h%" PRIu32
				" or something else",
				text, i, i);
		for (uint32_t j = 0; j < i; j++) {
			if (!strcmp(topo->host_names[j], text))
				return weft_yaml_fail(doc, weft_yaml_line(item), "hosts",
					"'%s' given twice", text);
		}
		(void)snprintf(topo->host_names[i], sizeof(topo->host_names[i]), "%s", text);
	}
	return true;
}

static bool read_hosts(struct weft_yaml *doc, struct weft_topo *topo, const struct raw *raw)
{
	yaml_node_t *node = raw->hosts.node;
	uint64_t hosts;
	const char *text;

	if (node->type == YAML_SEQUENCE_NODE)
		return read_host_names(doc, topo, node);
	if (!weft_yaml_scalar(doc, node, "hosts", &text))
		return false;
	if (!weft_unit_parse(WEFT_UNIT_COUNT, text, &hosts) || hosts < 2 || hosts > HOSTS_MAX)
		return weft_yaml_fail(doc, raw->hosts.line, "hosts",
			"'%s' is neither a list of names nor a number, allowed: 2 to %u", text,
			HOSTS_MAX);
	topo->shape.hosts = (uint32_t)hosts;
	return true;
}

static bool read_block(
	struct weft_yaml *doc, struct weft_topo *topo, yaml_node_t *node, uint32_t plane)
{
	const char *text;

	if (!weft_yaml_scalar(doc, node, "usid.block", &text))
		return false;
	uint32_t *block = &topo->blocks[plane];

	/* ff: multicast, fe80: link-local, 0: loopback and mapped addresses. */
	if (!unit_prefix(text, block) || *block >> 24 == 0xff || *block >> 16 == 0xfe80 || !*block)
		return weft_yaml_fail(doc, weft_yaml_line(node), "usid.block",
			"'%s' is not a /32 of unicast addresses, like fcbb:bb00::/32", text);
	for (uint32_t i = 0; i < plane; i++) {
		if (topo->blocks[i] == *block)
			return weft_yaml_fail(doc, weft_yaml_line(node), "usid.block",
				"'%s' given twice, planes %" PRIu32 " and %" PRIu32
				" would share their uSIDs",
				text, i, plane);
	}
	return true;
}

/* One block for all planes (the plane is then part of each uSID), or a list, one per plane. */
static bool read_blocks(struct weft_yaml *doc, struct weft_topo *topo, const struct raw *raw)
{
	struct weft_topo_shape *shape = &topo->shape;
	yaml_node_t *node = raw->block.node;
	bool is_list = node && node->type == YAML_SEQUENCE_NODE;

	topo->blocks[0] = 0xfcbbbb00;
	if (is_list) {
		yaml_node_item_t *first = node->data.sequence.items.start;
		size_t n = (size_t)(node->data.sequence.items.top - first);

		if (n != shape->planes)
			return weft_yaml_fail(doc, raw->block.line, "usid.block",
				"%zu blocks for %" PRIu32
				" planes, allowed: one for all, or one each",
				n, shape->planes);
		for (uint32_t i = 0; i < n; i++) {
			if (!read_block(doc, topo, yaml_document_get_node(&doc->yaml, first[i]), i))
				return false;
		}
	} else if (node && !read_block(doc, topo, node, 0)) {
		return false;
	}
	for (uint32_t i = 1; i < shape->planes && !is_list; i++)
		topo->blocks[i] = topo->blocks[0];

	shape->plane_bits = raw->plane_bits.line ? (uint8_t)raw->plane_bits.number
			    : is_list            ? 0
			    : shape->planes > 8  ? 4
						 : 3;
	shape->index_bits = (uint8_t)(14 - shape->plane_bits);
	if (!is_list && shape->planes > 1u << shape->plane_bits)
		return weft_yaml_fail(doc, raw->plane_bits.line, "usid.plane_bits",
			"%u bits cannot tell %" PRIu32 " planes apart in one block",
			shape->plane_bits, shape->planes);
	if (!unit_prefix(raw->host_prefix.text, &topo->host_prefix) ||
		topo->host_prefix >> 24 == 0xff || topo->host_prefix >> 16 == 0xfe80 ||
		!topo->host_prefix)
		return weft_yaml_fail(doc, raw->host_prefix.line, "host_prefix",
			"'%s' is not a /32 of unicast addresses, like fd57:6566::/32",
			raw->host_prefix.text);
	for (uint32_t i = 0; i < shape->planes; i++) {
		if (topo->blocks[i] == topo->host_prefix)
			return weft_yaml_fail(doc, raw->host_prefix.line, "host_prefix",
				"is also a uSID block: '%s'", raw->host_prefix.text);
	}
	return true;
}

/* The plan gives 2^index_bits numbers to each kind and plane; host numbers start at 1. */
static bool check_plan(struct weft_yaml *doc, const struct weft_topo *topo, const struct raw *raw)
{
	const struct weft_topo_shape *s = &topo->shape;
	uint32_t numbers = 1u << s->index_bits;

	if (s->t0s * s->parallel > numbers)
		return weft_yaml_fail(doc, raw->t0s.line, "t0s",
			"%" PRIu32 " x %" PRIu32
			" parallel links need more uSIDs than %u index bits give, "
			"allowed: %" PRIu32,
			s->t0s, s->parallel, s->index_bits, numbers / s->parallel);
	if (s->uplinks > numbers)
		return weft_yaml_fail(doc, raw->t1s.line, "t1s",
			"%" PRIu32 " x %" PRIu32
			" parallel links need more uSIDs than %u index bits give, "
			"allowed: %" PRIu32,
			s->t1s, s->parallel, s->index_bits, numbers / s->parallel);
	if (s->hosts_per_t0 >= numbers)
		return weft_yaml_fail(doc, raw->hosts_per_t0.line, "hosts_per_t0",
			"%" PRIu32 " need more uSIDs than %u index bits give, "
			"allowed: %" PRIu32,
			s->hosts_per_t0, s->index_bits, numbers - 1);
	return true;
}

/* Links are numbered by the ports of their switch, with one bit less. */
static bool check_link_plan(
	struct weft_yaml *doc, const struct weft_topo *topo, const struct raw *raw)
{
	const struct weft_topo_shape *s = &topo->shape;
	uint32_t numbers = 1u << (s->index_bits - 1);
	uint32_t t0_ports = s->hosts_per_t0 + s->uplinks, t1_ports = s->t0s * s->parallel;

	if (s->behavior != WEFT_USID_UA || (t0_ports <= numbers && t1_ports <= numbers))
		return true;
	return weft_yaml_fail(doc, raw->behavior.line, "usid.behavior",
		"uA gives each of a T%d's %" PRIu32
		" ports a uSID, %u index bits are enough for %" PRIu32,
		t0_ports <= numbers, t0_ports <= numbers ? t1_ports : t0_ports, s->index_bits - 1u,
		numbers);
}

static bool check_counts(struct weft_yaml *doc, struct weft_topo *topo, const struct raw *raw)
{
	struct weft_topo_shape *s = &topo->shape;

	s->hosts_per_t0 = raw->hosts_per_t0.line ? (uint32_t)raw->hosts_per_t0.number
						 : WEFT_DIV_UP(s->hosts, s->t0s);
	if ((uint64_t)s->hosts_per_t0 * s->t0s < s->hosts)
		return weft_yaml_fail(doc, raw->hosts_per_t0.line, "hosts_per_t0",
			"%" PRIu32 " T0s x %" PRIu32 " have no room for %" PRIu32 " hosts", s->t0s,
			s->hosts_per_t0, s->hosts);
	if (!s->t1s && s->t0s > 1)
		return weft_yaml_fail(doc, raw->t1s.line, "t1s",
			"several T0s need T1s between them, allowed: 1 or more");
	s->nodes = s->hosts + s->planes * (s->t0s + s->t1s);
	uint64_t links = (uint64_t)s->planes * (s->hosts + (uint64_t)s->t0s * s->uplinks);
	if (links > LINKS_MAX)
		return weft_yaml_fail(
			doc, 1, "", "%" PRIu64 " links, allowed: up to %u", links, LINKS_MAX);
	s->links = (uint32_t)links;
	return check_plan(doc, topo, raw) && check_link_plan(doc, topo, raw) &&
	       switch_read(doc, s, raw->sw.node);
}

/* Propagation there and back, one full packet stored and forwarded there, a small one back. */
static uint64_t longest_rtt_ns(
	const struct weft_topo_shape *s, uint64_t host_delay, uint64_t core_delay)
{
	uint64_t bits = (s->mtu_bytes + 128) * UINT64_C(8) * 1000000000;
	bool is_two_tier = s->t0s > 1;

	return 4 * host_delay + (is_two_tier ? 4 * core_delay : 0) + 2 * bits / s->host_bps +
	       (is_two_tier ? 2 * bits / s->core_bps : 0);
}

static bool read_behavior(struct weft_yaml *doc, struct weft_topo *topo, const struct raw *raw)
{
	bool is_ua = !strcmp(raw->behavior.text, "uA");

	if (!is_ua && strcmp(raw->behavior.text, "uN"))
		return weft_yaml_fail(doc, raw->behavior.line, "usid.behavior",
			"'%s' is none, allowed: uN (a uSID per switch) and uA (one per link)",
			raw->behavior.text);
	topo->shape.behavior = is_ua ? WEFT_USID_UA : WEFT_USID_UN;
	return true;
}

static bool fill_shape(struct weft_yaml *doc, struct weft_topo *topo, const struct raw *raw)
{
	struct weft_topo_shape *s = &topo->shape;

	if (!is_name(raw->name.text, 24))
		return weft_yaml_fail(doc, raw->name.line, "name",
			"'%s' is not a name, allowed: 1 to 24 letters, digits, '-' "
			"and '_', no '-' first",
			raw->name.text);
	(void)snprintf(s->name, sizeof(s->name), "%s", raw->name.text);
	s->planes = (uint32_t)raw->planes.number;
	s->t0s = (uint32_t)raw->t0s.number;
	s->t1s = (uint32_t)raw->t1s.number;
	s->parallel = (uint32_t)raw->parallel.number;
	s->uplinks = s->t1s * s->parallel;
	s->mtu_bytes = (uint32_t)raw->mtu.number;
	s->udp_port = (uint16_t)raw->udp_port.number;
	s->host_bps = raw->host_speed.number;
	s->core_bps = raw->core_speed.number;
	s->host_delay_ns = (uint32_t)raw->host_delay.number;
	s->core_delay_ns = (uint32_t)raw->core_delay.number;
	uint64_t rtt_ns = raw->base_rtt.line
				  ? raw->base_rtt.number
				  : longest_rtt_ns(s, s->host_delay_ns, s->core_delay_ns);
	if (rtt_ns < WEFT_BASE_RTT_NS_MIN || rtt_ns > WEFT_BASE_RTT_NS_MAX)
		return weft_yaml_fail(doc,
			raw->host_delay.line   ? raw->host_delay.line
			: raw->host_speed.line ? raw->host_speed.line
					       : 1,
			"base_rtt",
			"delays, speeds and MTU come to a round trip of %" PRIu64
			" ns, allowed: %u to %u; or say base_rtt",
			rtt_ns, WEFT_BASE_RTT_NS_MIN, WEFT_BASE_RTT_NS_MAX);
	s->base_rtt_ns = (uint32_t)rtt_ns;
	return read_hosts(doc, topo, raw) && read_blocks(doc, topo, raw) &&
	       read_behavior(doc, topo, raw) && check_counts(doc, topo, raw);
}

struct raw_override {
	struct weft_yaml_value link, speed, delay, cabled;
};

/* clang-format off */
#define AT(member) offsetof(struct raw_override, member)
static const struct weft_yaml_field override_fields[] = {
	{ "link", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, AT(link), NULL },
	{ "speed", WEFT_FIELD_NUMBER, WEFT_UNIT_SPEED, SPEED_MIN, SPEED_MAX, AT(speed), NULL },
	{ "delay", WEFT_FIELD_NUMBER, WEFT_UNIT_TIME, 0, DELAY_MAX, AT(delay), NULL },
	{ "cabled", WEFT_FIELD_BOOL, WEFT_UNIT_COUNT, 0, 0, AT(cabled), NULL },
	{ 0 },
};
#undef AT
/* clang-format on */

static int compare_overrides(const void *a, const void *b)
{
	uint32_t la = ((const struct link_override *)a)->link;
	uint32_t lb = ((const struct link_override *)b)->link;

	return la < lb ? -1 : la > lb;
}

static bool read_override(struct weft_yaml *doc, struct weft_topo *topo, yaml_node_t *node)
{
	struct raw_override raw = { .cabled = { .number = 1 } };

	if (!weft_yaml_fields(doc, node, "overrides", override_fields, &raw))
		return false;
	if (!raw.link.line)
		return weft_yaml_fail(doc, weft_yaml_line(node), "overrides.link", "missing");
	uint32_t number = weft_topo_link_find(topo, raw.link.text);
	if (number == WEFT_TOPO_NONE)
		return weft_yaml_fail(doc, raw.link.line, "overrides.link",
			"no link '%s' here, they are called like h0.p0 or "
			"p0.t0-0:t1-0",
			raw.link.text);
	for (uint32_t i = 0; i < topo->n_overrides; i++) {
		if (topo->overrides[i].link == number)
			return weft_yaml_fail(doc, raw.link.line, "overrides.link",
				"'%s' given twice", raw.link.text);
	}
	struct weft_link plain = weft_topo_link(topo, number);
	topo->overrides[topo->n_overrides++] = (struct link_override){
		.link = number,
		.bps = raw.speed.line ? raw.speed.number : plain.bps,
		.delay_ns = raw.delay.line ? (uint32_t)raw.delay.number : plain.delay_ns,
		.cabled = raw.cabled.number,
	};
	return true;
}

static bool read_overrides(struct weft_yaml *doc, struct weft_topo *topo, const struct raw *raw)
{
	yaml_node_t *list = raw->overrides.node;

	if (!list)
		return true;
	if (list->type != YAML_SEQUENCE_NODE)
		return weft_yaml_fail(doc, raw->overrides.line, "overrides",
			"a list of {link: NAME, ...} is wanted");
	yaml_node_item_t *first = list->data.sequence.items.start;
	size_t n = (size_t)(list->data.sequence.items.top - first);
	struct link_override *overrides = calloc(n ? n : 1, sizeof(*overrides));

	if (!overrides)
		return weft_yaml_fail(doc, raw->overrides.line, "overrides", "out of memory");
	/* Unsorted while it grows: link look-ups in between must see the plain values. */
	struct weft_topo plain = *topo;

	plain.overrides = overrides;
	for (size_t i = 0; i < n; i++) {
		if (!read_override(doc, &plain, yaml_document_get_node(&doc->yaml, first[i]))) {
			free(overrides);
			return false;
		}
	}
	qsort(overrides, n, sizeof(*overrides), compare_overrides);
	topo->overrides = overrides;
	topo->n_overrides = (uint32_t)n;
	return true;
}

static int load(struct weft_topo **out, yaml_parser_t *parser, const char *name, char *error,
	size_t error_bytes)
{
	struct weft_yaml doc = { .name = name, .error = error, .error_bytes = error_bytes };
	struct weft_topo *topo = NULL;
	struct raw raw;

	if (!yaml_parser_load(parser, &doc.yaml)) {
		weft_yaml_fail(&doc, (uint32_t)parser->problem_mark.line + 1, "", "not YAML: %s",
			parser->problem ? parser->problem : "unreadable");
		return -1;
	}
	topo = calloc(1, sizeof(*topo));
	bool ok = topo ? weft_yaml_is_last(&doc, parser) && read_raw(&doc, &raw) &&
				  fill_shape(&doc, topo, &raw) && read_overrides(&doc, topo, &raw)
		       : weft_yaml_fail(&doc, 1, "", "out of memory");
	yaml_document_delete(&doc.yaml);
	if (!ok) {
		weft_topo_close(topo);
		return -1;
	}
	*out = topo;
	return 0;
}

int weft_topo_open(struct weft_topo **topo, const char *path, char *error, size_t error_bytes)
{
	FILE *file = fopen(path, "rb");
	yaml_parser_t parser;

	if (!file) {
		(void)snprintf(error, error_bytes, "%s: %s", path, strerror(errno));
		return -1;
	}
	if (!yaml_parser_initialize(&parser)) {
		(void)snprintf(error, error_bytes, "%s: out of memory", path);
		(void)fclose(file);
		return -1;
	}
	yaml_parser_set_input_file(&parser, file);
	int result = load(topo, &parser, path, error, error_bytes);
	yaml_parser_delete(&parser);
	(void)fclose(file);
	return result;
}

int weft_topo_open_text(struct weft_topo **topo, const char *text, size_t text_bytes,
	const char *name, char *error, size_t error_bytes)
{
	yaml_parser_t parser;

	if (!yaml_parser_initialize(&parser)) {
		(void)snprintf(error, error_bytes, "%s: out of memory", name);
		return -1;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, text_bytes);
	int result = load(topo, &parser, name, error, error_bytes);
	yaml_parser_delete(&parser);
	return result;
}

void weft_topo_close(struct weft_topo *topo)
{
	if (!topo)
		return;
	free(topo->host_names);
	free(topo->overrides);
	free(topo);
}
