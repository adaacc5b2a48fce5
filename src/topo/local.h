/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOPO_LOCAL_H
#define TOPO_LOCAL_H
/* What the files of topo share.  graph.c, path.c, table.c see only struct weft_topo. */
#include <weft/base.h>
#include <weft/topo.h>

#include <yaml.h>

/* A link that the file singles out; sorted by link. */
struct link_override {
	uint32_t link;
	uint32_t delay_ns;
	uint64_t bps;
	bool cabled;
};

struct weft_topo {
	struct weft_topo_shape shape;
	uint32_t blocks[WEFT_TOPO_PLANES_MAX];    /* uSID block of each plane: first 32 bits */
	uint32_t host_prefix;                     /* first 32 bits of host addresses */
	char (*host_names)[WEFT_TOPO_NAME_BYTES]; /* NULL: h0, h1, ... */
	struct link_override *overrides;
	uint32_t n_overrides;
};

/* units.c: text to number.  False: not of that form, or it does not fit. */
enum unit { UNIT_COUNT, UNIT_SPEED, UNIT_TIME, UNIT_BYTES, UNIT_BDP /* thousandths */ };
bool unit_parse(enum unit unit, const char *text, uint64_t *value);
const char *unit_form(enum unit unit); /* how it is written, for messages: "10Gb/s, ..." */
bool unit_prefix(const char *text, uint32_t *prefix); /* "fcbb:bb00::/32" */

/* yaml.c: one open document and the errors found in it. */
struct document {
	const char *name;
	yaml_document_t yaml;
	char *error;
	size_t error_bytes;
};

enum field_kind { FIELD_NUMBER, FIELD_BOOL, FIELD_TEXT, FIELD_NODE, FIELD_MAP };

/* What the file said about one field; line 0: nothing. */
struct field_value {
	uint64_t number;
	const char *text; /* as long as the document */
	yaml_node_t *node;
	uint32_t line;
};

struct field {
	const char *key;
	enum field_kind kind;
	enum unit unit;
	uint64_t min, max;
	size_t at;                  /* offset of its struct field_value in what is filled */
	const struct field *fields; /* of FIELD_MAP, ended by a NULL key */
};

/* The line of a NULL node is 1.  Always returns false, so that callers can return it. */
bool document_fail(struct document *doc, uint32_t line, const char *field, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
uint32_t node_line(const yaml_node_t *node);
/* Fills a struct of field values from a mapping; where names it in errors ("" for the root). */
bool document_fields(struct document *doc, yaml_node_t *map, const char *where,
	const struct field *fields, void *values);
bool document_scalar(struct document *doc, yaml_node_t *node, const char *field, const char **text);

/* switch.c: the section `switch`, NULL where the file has none; the counts of shape are known. */
bool switch_read(struct document *doc, struct weft_topo_shape *shape, yaml_node_t *node);

/* graph.c */
const struct link_override *override_find(const struct weft_topo *topo, uint32_t link);
uint32_t core_link(const struct weft_topo *topo, uint32_t plane, uint32_t t0, uint32_t uplink);
bool link_is_cabled(const struct weft_topo *topo, uint32_t link);
uint32_t downlinks(const struct weft_topo *topo, uint32_t t0); /* hosts below, of this plane */

/* path.c: 16-bit uSIDs; never 0. */
uint16_t usid_t0(const struct weft_topo *topo, uint32_t plane, uint32_t index);
uint16_t usid_t1(const struct weft_topo *topo, uint32_t plane, uint32_t index);
uint16_t usid_host(const struct weft_topo *topo, uint32_t plane, uint32_t downlink);
#define USID_LINK_BITS 3u /* that say "link" and no more, in front of the plane */
uint16_t usid_link(const struct weft_topo *topo, uint32_t plane, uint32_t port); /* port's uA */
void addr_put32(uint8_t *at, uint32_t value);
void addr_put16(uint8_t *at, uint32_t value);

#endif
