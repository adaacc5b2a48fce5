/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switch_table - what the fabric file says about this switch, found in one step.
 *
 * At full scale a switch knows about 513 uSIDs of 65,536, and a simulation has 6,144 switches.  An
 * array indexed by uSID would be the fastest look-up in a benchmark and 512 KiB in life; an
 * open-addressed hash of eight-byte entries, at most three quarters full, is 8 KiB and stays in the
 * cache.  Entries are never removed one by one (tables are static; a reboot clears all), so a probe
 * ends at the first free place.
 *
 * Addresses that are not uSIDs (structured EVs, TCP, the conventional fabric of comparisons) are
 * rare guests: a second hash, asked once for each prefix length in use, longest first.  A trie
 * would serve arbitrary lengths, which the fabric file does not have.
 */
#include "switch_local.h"

static const uint32_t lengths[] = { 48, 64, 128 };

uint32_t table_sid_places(uint32_t sids)
{
	return (uint32_t)weft_pow2_up(sids + sids / 3 + 1);
}

uint32_t table_prefix_places(uint32_t prefixes)
{
	return (uint32_t)weft_pow2_up(prefixes + prefixes / 3 + 1);
}

void table_clear(struct weft_switch *sw)
{
	for (uint32_t i = 0; i <= sw->sid_mask; i++)
		sw->sids[i] = (struct sid_entry){ .sid = 0 };
	for (uint32_t i = 0; i <= sw->prefix_mask; i++)
		sw->prefixes[i] = (struct prefix_entry){ .bits = 0 };
	sw->n_sids = sw->n_prefixes = sw->prefix_lengths = 0;
}

/* The place of a uSID, or the free one where it would go. */
static uint32_t find_place(const struct weft_switch *sw, uint16_t sid)
{
	uint32_t i = table_first_place(sw, sid);

	while (sw->sids[i].sid && sw->sids[i].sid != sid)
		i = (i + 1) & sw->sid_mask;
	return i;
}

bool weft_hop_is_possible(const struct weft_hop *hop, uint32_t ports)
{
	switch ((enum weft_hop_kind)hop->kind) {
	case WEFT_HOP_UN:
		return true;
	case WEFT_HOP_UA:
	case WEFT_HOP_PORT:
		return hop->port < ports;
	case WEFT_HOP_HASH:
	case WEFT_HOP_FIELD:
		return hop->ports && (uint32_t)hop->port + hop->ports <= ports && hop->shift < 32;
	case WEFT_HOP_NONE:
		break;
	}
	return false;
}

bool weft_switch_sid_add(struct weft_switch *sw, uint16_t sid, const struct weft_hop *hop)
{
	if (!sid || sw->n_sids == sw->config.sids || !weft_hop_is_possible(hop, sw->config.ports))
		return false;
	struct sid_entry *entry = &sw->sids[find_place(sw, sid)];

	if (entry->sid)
		return false;
	*entry = (struct sid_entry){ .hop = *hop, .sid = sid };
	sw->n_sids++;
	return true;
}

const struct weft_hop *table_find_sid(struct weft_switch *sw, uint16_t sid)
{
	uint32_t i = find_place(sw, sid);

	if (WEFT_UNLIKELY(!sw->sids[i].sid))
		return NULL;
	if (sw->sid_pkts)
		sw->sid_pkts[i]++;
	return &sw->sids[i].hop;
}

bool weft_switch_sid_hole(struct weft_switch *sw, uint16_t sid, bool is_hole)
{
	struct sid_entry *entry = &sw->sids[find_place(sw, sid)];

	if (!sid || !entry->sid)
		return false;
	entry->hop.kind = (uint8_t)((entry->hop.kind & ~HOP_HOLE) | (is_hole ? HOP_HOLE : 0));
	return true;
}

uint64_t weft_switch_sid_pkts(const struct weft_switch *sw, uint16_t sid)
{
	uint32_t i = find_place(sw, sid);

	return sid && sw->sids[i].sid && sw->sid_pkts ? sw->sid_pkts[i] : 0;
}

/* ---- prefixes ---- */

static uint64_t load64(const uint8_t *p)
{
	uint64_t value;

	__builtin_memcpy(&value, p, sizeof(value));
	return value;
}

static void cut_prefix(const uint8_t addr[16], uint32_t bits, uint8_t prefix[16])
{
	__builtin_memset(prefix, 0, 16);
	__builtin_memcpy(prefix, addr, bits / 8);
}

static uint32_t find_prefix_place(
	const struct weft_switch *sw, const uint8_t prefix[16], uint32_t bits)
{
	uint64_t hash = (load64(prefix) ^ bits) * UINT64_C(0x9e3779b97f4a7c15);

	hash = (hash ^ hash >> 29 ^ load64(prefix + 8)) * UINT64_C(0xbf58476d1ce4e5b9);
	uint32_t i = (uint32_t)(hash >> 32) & sw->prefix_mask;

	while (sw->prefixes[i].bits &&
		(sw->prefixes[i].bits != bits ||
			__builtin_memcmp(sw->prefixes[i].prefix, prefix, 16)))
		i = (i + 1) & sw->prefix_mask;
	return i;
}

bool weft_switch_prefix_add(
	struct weft_switch *sw, const uint8_t prefix[16], uint32_t bits, const struct weft_hop *hop)
{
	uint8_t cut[16];
	uint32_t length = 0;

	while (length < WEFT_COUNT(lengths) && lengths[length] != bits)
		length++;
	if (length == WEFT_COUNT(lengths) || sw->n_prefixes == sw->config.prefixes ||
		!weft_hop_is_possible(hop, sw->config.ports) || hop->kind == WEFT_HOP_UN ||
		hop->kind == WEFT_HOP_UA)
		return false;
	cut_prefix(prefix, bits, cut);
	struct prefix_entry *entry = &sw->prefixes[find_prefix_place(sw, cut, bits)];

	if (entry->bits)
		return false;
	*entry = (struct prefix_entry){ .hop = *hop, .bits = (uint8_t)bits };
	__builtin_memcpy(entry->prefix, cut, 16);
	sw->prefix_lengths |= 1u << length;
	sw->n_prefixes++;
	return true;
}

const struct weft_hop *table_find_prefix(const struct weft_switch *sw, const uint8_t addr[16])
{
	for (uint32_t i = WEFT_COUNT(lengths); i-- > 0;) {
		uint8_t cut[16];

		if (!(sw->prefix_lengths >> i & 1))
			continue;
		cut_prefix(addr, lengths[i], cut);
		const struct prefix_entry *entry =
			&sw->prefixes[find_prefix_place(sw, cut, lengths[i])];

		if (entry->bits)
			return &entry->hop;
	}
	return NULL;
}
