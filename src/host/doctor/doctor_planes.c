/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor_planes - which addresses are planes, and everything of this machine gathered.
 *
 * Named planes are read as a live endpoint reads them.  Where nobody names any, each interface with
 * an address that others can reach (global IPv6 first, else IPv4) counts as one: a guess that is
 * said, since a server's management port is hardly meant.
 */
#include "doctor_local.h"

#include <weft/session.h>

#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int iface_of(const struct weft_doctor_facts *facts, const uint8_t addr[16])
{
	for (uint32_t i = 0; i < facts->addrs; i++)
		if (!memcmp(facts->addr[i].addr, addr, 16))
			return (int)facts->addr[i].iface;
	/* All of 127.0.0.0/8 is this host, though one of it is listed. */
	for (uint32_t i = 0; weft_inet_is_mapped(addr) && addr[12] == 127 && i < facts->ifaces; i++)
		if (facts->iface[i].is_loopback)
			return (int)i;
	return -1;
}

static int iface_named(const struct weft_doctor_facts *facts, const char *name)
{
	for (uint32_t i = 0; i < facts->ifaces; i++)
		if (!strcmp(facts->iface[i].name, name))
			return (int)i;
	return -1;
}

static int pick_named(
	struct weft_doctor_facts *facts, const char *planes, char *error, size_t error_bytes)
{
	for (const char *at = planes; *at;) {
		size_t n = strcspn(at, ",");
		struct weft_doctor_plane *plane = &facts->plane[facts->planes];

		if (facts->planes == WEFT_DOCTOR_PLANES_MAX || !n || n >= sizeof(plane->word)) {
			snprintf(error, error_bytes,
				n && n < sizeof(plane->word) ? "planes: more than %u"
							     : "planes: an empty or too long word "
							       "among %u",
				WEFT_DOCTOR_PLANES_MAX);
			return -1;
		}
		*plane = (struct weft_doctor_plane){ .iface = -1 };
		memcpy(plane->word, at, n);
		bool has_addr = weft_plane_address(plane->word, plane->addr);

		if (!has_addr && !weft_plane_may_come(plane->word)) {
			snprintf(error, error_bytes,
				"planes: \"%s\" is neither an address nor an interface",
				plane->word);
			return -1;
		}
		plane->iface = has_addr ? iface_of(facts, plane->addr) : -1;
		if (plane->iface < 0)
			plane->iface = iface_named(facts, plane->word);
		facts->planes++;
		at += n + (at[n] == ',');
	}
	return 0;
}

static const uint8_t *best_address(const struct weft_doctor_facts *facts, uint32_t iface)
{
	const uint8_t *best = NULL;

	for (uint32_t i = 0; i < facts->addrs; i++) {
		const struct weft_doctor_addr *addr = &facts->addr[i];

		if (addr->iface != iface || addr->is_link_local)
			continue;
		if (!best || (weft_inet_is_mapped(best) && !weft_inet_is_mapped(addr->addr)))
			best = addr->addr;
	}
	return best;
}

static void pick_all(struct weft_doctor_facts *facts)
{
	for (uint32_t i = 0; i < facts->ifaces; i++) {
		const uint8_t *addr = best_address(facts, i);
		struct weft_doctor_plane *plane = &facts->plane[facts->planes];

		if (facts->iface[i].is_loopback || !addr || facts->planes == WEFT_DOCTOR_PLANES_MAX)
			continue;
		*plane = (struct weft_doctor_plane){ .iface = (int)i };
		memcpy(plane->addr, addr, 16);
		memcpy(plane->word, facts->iface[i].name, sizeof(facts->iface[i].name));
		facts->planes++;
	}
}

int planes_pick(
	struct weft_doctor_facts *facts, const char *planes, char *error, size_t error_bytes)
{
	facts->planes = 0;
	facts->are_planes_named = planes && *planes;
	if (facts->are_planes_named)
		return pick_named(facts, planes, error, error_bytes);
	pick_all(facts);
	return 0;
}

int plane_of_iface(const struct weft_doctor_facts *facts, uint32_t iface)
{
	for (uint32_t i = 0; i < facts->planes; i++)
		if (facts->plane[i].iface == (int)iface)
			return (int)i;
	return -1;
}

char *where_plane(const struct weft_doctor_facts *facts, uint32_t plane, char where[WHERE_BYTES])
{
	int iface = plane < facts->planes ? facts->plane[plane].iface : -1;

	snprintf(where, WHERE_BYTES, "plane %u (%.40s)", plane,
		iface >= 0              ? facts->iface[iface].name
		: plane < facts->planes ? facts->plane[plane].word
					: "?");
	return where;
}

char *where_iface(const struct weft_doctor_facts *facts, uint32_t iface, char where[WHERE_BYTES])
{
	int plane = plane_of_iface(facts, iface);

	if (plane >= 0)
		return where_plane(facts, (uint32_t)plane, where);
	snprintf(where, WHERE_BYTES, "%s", facts->iface[iface].name);
	return where;
}

int weft_doctor_gather(
	struct weft_doctor_facts *facts, const char *planes, char *error, size_t error_bytes)
{
	memset(facts, 0, sizeof(*facts));
	machine_read(&facts->machine, "");
	machine_try(&facts->machine);
	firewall_ask(&facts->machine);
	links_read(facts);
	for (uint32_t i = 0; i < facts->ifaces; i++) {
		link_settings(&facts->iface[i], "");
		link_offloads(&facts->iface[i]);
	}
	if (planes_pick(facts, planes, error, error_bytes))
		return -1;
	duplicates_ask(facts);
	return 0;
}
