/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOPO_LOCAL_H
#define TOPO_LOCAL_H
/* What the files of topo share.  graph.c, path.c, topo_table.c see only struct weft_topo. */
#include <weft/base.h>
#include <weft/topo.h>
#include <weft/yaml.h>

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

/* units.c */
bool unit_prefix(const char *text, uint32_t *prefix); /* "fcbb:bb00::/32" */

/*
 * topo_switch.c: the section `switch`, NULL where the file has none; the counts of shape are known.
 */
bool switch_read(struct weft_yaml *doc, struct weft_topo_shape *shape, yaml_node_t *node);

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
