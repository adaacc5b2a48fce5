/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xdp_table - what the fabric file says about a switch, where the program looks it up.
 *
 * uSIDs index an array of 65,536 eight-byte entries.  src/fabric/switch refuses such an array,
 * because a simulation would need 6,144 of them; a machine has a handful, and here it saves hash
 * and compare per look-up.  Entries that choose between ports list the cabled ones, so that the
 * program need not count them for every frame; that is why ports come before tables.
 *
 * A place among the counters belongs to a uSID for good: a reboot empties tables, not counters.
 */
#include "xdp_local.h"

#include <bpf/bpf.h>
#include <string.h>

_Static_assert((int)XDP_HOP_UN == WEFT_HOP_UN && (int)XDP_HOP_UA == WEFT_HOP_UA &&
		       (int)XDP_HOP_PORT == WEFT_HOP_PORT && (int)XDP_HOP_HASH == WEFT_HOP_HASH &&
		       (int)XDP_HOP_FIELD == WEFT_HOP_FIELD && (int)XDP_HOP_NONE == WEFT_HOP_NONE,
	"the program takes kinds as they are");

static bool is_possible(const struct weft_xdp *xdp, const struct weft_hop *hop)
{
	bool is_group = hop->kind == WEFT_HOP_HASH || hop->kind == WEFT_HOP_FIELD;

	return weft_hop_is_possible(hop, xdp->config.ports) &&
	       (!is_group || xdp->n_group + hop->ports <= XDP_GROUP_PLACES);
}

static void make_entry(struct weft_xdp *xdp, const struct weft_hop *hop, struct xdp_hop *entry)
{
	uint32_t end = (uint32_t)hop->port + hop->ports;

	*entry = (struct xdp_hop){ .kind = hop->kind, .shift = hop->shift, .first = hop->port };
	if (hop->kind != WEFT_HOP_HASH && hop->kind != WEFT_HOP_FIELD)
		return;
	uint32_t first = xdp->n_group;

	for (uint32_t port = hop->port; port < end; port++) {
		if (xdp->is_set[port])
			xdp->state->groups[xdp->n_group++] = (uint16_t)port;
	}
	entry->ports = (uint16_t)(xdp->n_group - first);
	if (entry->ports)
		entry->first = (uint16_t)first;
}

/* The uSID's place among the counters; a new one where it had none; sids: none is left. */
static uint32_t counter_of(struct weft_xdp *xdp, uint16_t sid)
{
	uint32_t i = 0;

	while (i < xdp->n_sids && xdp->sids[i] != sid)
		i++;
	if (i == xdp->n_sids && i < xdp->config.sids)
		xdp->sids[xdp->n_sids++] = sid;
	return i;
}

bool weft_xdp_sid_add(struct weft_xdp *xdp, uint16_t sid, const struct weft_hop *hop)
{
	struct xdp_hop entry;

	if (!sid || xdp->state->sids[sid].kind || !is_possible(xdp, hop))
		return false;
	uint32_t counter = counter_of(xdp, sid);

	if (counter == xdp->config.sids)
		return false;
	make_entry(xdp, hop, &entry);
	entry.counter = (uint16_t)counter;
	__atomic_store(&xdp->state->sids[sid], &entry, __ATOMIC_RELEASE);
	return true;
}

bool weft_xdp_prefix_add(
	struct weft_xdp *xdp, const uint8_t prefix[16], uint32_t bits, const struct weft_hop *hop)
{
	uint32_t length = bits == 48 ? 0 : bits == 64 ? 1 : 2;
	struct xdp_prefix key = { .bits = bits };
	struct xdp_hop entry;

	if ((length == 2 && bits != 128) || xdp->n_prefixes == xdp->config.prefixes ||
		!is_possible(xdp, hop) || hop->kind == WEFT_HOP_UN || hop->kind == WEFT_HOP_UA)
		return false;
	memcpy((uint8_t *)key.addr, prefix, bits / 8);
	uint32_t n_group = xdp->n_group;

	make_entry(xdp, hop, &entry);
	if (bpf_map_update_elem(xdp->prefixes_fd, &key, &entry, BPF_NOEXIST)) {
		xdp->n_group = n_group;
		return false;
	}
	xdp->prefix_keys[xdp->n_prefixes++] = key;
	xdp->state->prefix_lengths |= 1u << length;
	return true;
}

void tables_empty(struct weft_xdp *xdp)
{
	memset(xdp->state->sids, 0, sizeof(xdp->state->sids));
	for (uint32_t i = 0; i < xdp->n_prefixes; i++)
		(void)bpf_map_delete_elem(xdp->prefixes_fd, &xdp->prefix_keys[i]);
	xdp->n_prefixes = xdp->n_group = xdp->state->prefix_lengths = 0;
}

bool weft_xdp_sid_hole(struct weft_xdp *xdp, uint16_t sid, bool is_hole)
{
	uint8_t *kind = &xdp->state->sids[sid].kind;

	if (!*kind)
		return false;
	*kind = (uint8_t)((*kind & ~XDP_HOP_HOLE) | (is_hole ? XDP_HOP_HOLE : 0));
	return true;
}
