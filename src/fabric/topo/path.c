/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path - the uSID plan, and every path of a pair by number.
 *
 * The chain is T0, T1, T0', host [P 7.2].  A uSID is 16 bits: type (00 host, 01 T1, 10 T0), plane,
 * index. None is 0, which some switches take for the end of the carrier [P 7.4] (host numbers start
 * at 1; the types of T0 and T1 are not 0), and all are below 0xE000, where local SIDs begin.  With
 * 3 plane bits, 11 are left for the
 * index.  That holds 131,072 hosts because a host's uSID is only looked up by the T0 it hangs
 * on: it is the number of the downlink, as in the paper (section 2.3), unique below one T0
 * and reused by the next.  A fabric-wide host number would need 17 bits.
 *
 * Parallel links between a T0 and a T1 are separate paths but not separate switches, and a uN
 * says "switch" only.  So each switch owns one uSID per parallel link, index * parallel + which,
 * and the neighbour routes each over its own link.  The same `which` is used going up and down.
 *
 * The other plan, `behavior: uA`, has a uSID per link instead of one per switch.  It is the number
 * of the port, known to nobody but the switch that has it, from 0xE000 up; whoever was steered over
 * a link stands before the switch that can read the next one, so three uSIDs do here as well.
 *
 * The two slots after the destination carry the EV.  They survive the shifting, so the receiver
 * reads the sender's EV from the destination address of what it gets, whatever middle boxes or
 * the receiver's kernel do to UDP source port and flow label.
 */
#include "topo_local.h"

#include <string.h>

enum usid_type { USID_HOST, USID_T1, USID_T0 };

static uint16_t make_usid(
	const struct weft_topo *topo, enum usid_type type, uint32_t plane, uint32_t index)
{
	const struct weft_topo_shape *s = &topo->shape;
	uint32_t plane_mask = (1u << s->plane_bits) - 1;

	WEFT_ASSERT(index >> s->index_bits == 0);
	return (uint16_t)((uint32_t)type << 14 | (plane & plane_mask) << s->index_bits | index);
}

uint16_t usid_t0(const struct weft_topo *topo, uint32_t plane, uint32_t index)
{
	return make_usid(topo, USID_T0, plane, index);
}

uint16_t usid_t1(const struct weft_topo *topo, uint32_t plane, uint32_t index)
{
	return make_usid(topo, USID_T1, plane, index);
}

uint16_t usid_host(const struct weft_topo *topo, uint32_t plane, uint32_t downlink)
{
	return make_usid(topo, USID_HOST, plane, downlink + 1);
}

/* The top type bit pair, 11, and a third one: 0xE000 and up, RFC 9800's local identifiers. */
uint16_t usid_link(const struct weft_topo *topo, uint32_t plane, uint32_t port)
{
	const struct weft_topo_shape *s = &topo->shape;
	uint32_t bits = s->index_bits - 1u, plane_mask = (1u << s->plane_bits) - 1;

	WEFT_ASSERT(port >> bits == 0);
	return (uint16_t)(0xe000 | (plane & plane_mask) << bits | port);
}

void addr_put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

void addr_put32(uint8_t *at, uint32_t value)
{
	addr_put16(at, value >> 16);
	addr_put16(at + 2, value & 0xffff);
}

static uint32_t host_t0_index(const struct weft_topo *topo, uint32_t host)
{
	WEFT_ASSERT(host < topo->shape.hosts);
	return host / topo->shape.hosts_per_t0;
}

size_t weft_topo_path_links(
	const struct weft_topo *topo, uint32_t src, uint32_t dst, uint32_t ev, uint32_t links[4])
{
	const struct weft_topo_shape *s = &topo->shape;
	uint32_t t0_src = host_t0_index(topo, src), t0_dst = host_t0_index(topo, dst);
	uint32_t plane = weft_ev_plane(ev), uplink = weft_ev_uplink(ev);
	size_t n = 0;

	if (src == dst || plane >= s->planes || uplink >= (t0_src == t0_dst ? 1 : s->uplinks))
		return 0;
	links[n++] = src * s->planes + plane;
	if (t0_src != t0_dst) {
		links[n++] = core_link(topo, plane, t0_src, uplink);
		links[n++] = core_link(topo, plane, t0_dst, uplink);
	}
	links[n++] = dst * s->planes + plane;
	for (size_t i = 0; i < n && topo->n_overrides; i++) {
		if (!link_is_cabled(topo, links[i]))
			return 0;
	}
	return n;
}

/* One uSID per switch: itself.  The last one is followed by the host's. */
static uint8_t *put_nodes(const struct weft_topo *topo, uint32_t src, uint32_t dst, uint32_t ev,
	bool is_local, uint8_t *at)
{
	const struct weft_topo_shape *s = &topo->shape;
	uint32_t plane = weft_ev_plane(ev), uplink = weft_ev_uplink(ev);
	uint32_t which = uplink % s->parallel;

	addr_put16(at, usid_t0(topo, plane, host_t0_index(topo, src) * s->parallel));
	if (is_local)
		return at + 2;
	addr_put16(at + 2, usid_t1(topo, plane, uplink));
	addr_put16(at + 4, usid_t0(topo, plane, host_t0_index(topo, dst) * s->parallel + which));
	return at + 6;
}

/* One uSID per switch: the link by which the packet leaves it. */
static uint8_t *put_links(
	const struct weft_topo *topo, uint32_t dst, uint32_t ev, bool is_local, uint8_t *at)
{
	const struct weft_topo_shape *s = &topo->shape;
	uint32_t plane = weft_ev_plane(ev), uplink = weft_ev_uplink(ev);

	if (!is_local) {
		addr_put16(at, usid_link(topo, plane, s->hosts_per_t0 + uplink));
		addr_put16(at + 2,
			usid_link(topo, plane,
				host_t0_index(topo, dst) * s->parallel + uplink % s->parallel));
		at += 4;
	}
	addr_put16(at, usid_link(topo, plane, dst % s->hosts_per_t0));
	return at + 2;
}

bool weft_topo_usid(
	const struct weft_topo *topo, uint32_t src, uint32_t dst, uint32_t ev, uint8_t addr[16])
{
	const struct weft_topo_shape *s = &topo->shape;
	uint32_t plane = weft_ev_plane(ev);
	uint32_t links[4];
	size_t n = weft_topo_path_links(topo, src, dst, ev, links);
	uint8_t *at = addr + 4;

	if (!n)
		return false;
	memset(addr, 0, 16);
	addr_put32(addr, topo->blocks[plane]);
	at = s->behavior == WEFT_USID_UA ? put_links(topo, dst, ev, n == 2, at)
					 : put_nodes(topo, src, dst, ev, n == 2, at);
	addr_put16(at, usid_host(topo, plane, dst % s->hosts_per_t0));
	addr_put32(at + 2, ev);
	return true;
}

void weft_topo_usid_self(const struct weft_topo *topo, uint32_t host, uint32_t ev, uint8_t addr[16])
{
	const struct weft_topo_shape *s = &topo->shape;
	uint32_t plane = weft_ev_plane(ev);
	uint8_t *at = addr + 4;

	WEFT_ASSERT(plane < s->planes);
	memset(addr, 0, 16);
	addr_put32(addr, topo->blocks[plane]);
	at = s->behavior == WEFT_USID_UA ? put_links(topo, host, ev, true, at)
					 : put_nodes(topo, host, host, ev, true, at);
	addr_put16(at, usid_host(topo, plane, host % s->hosts_per_t0));
	addr_put32(at + 2, ev);
}

/* Uplinks that may make a path; 1 (number 0) below one T0. */
static uint32_t uplink_candidates(const struct weft_topo *topo, uint32_t src, uint32_t dst)
{
	return host_t0_index(topo, src) == host_t0_index(topo, dst) ? 1 : topo->shape.uplinks;
}

static uint32_t count_paths(
	const struct weft_topo *topo, uint32_t src, uint32_t dst, uint32_t plane)
{
	uint32_t candidates = uplink_candidates(topo, src, dst), n = 0;
	uint32_t links[4];

	if (!topo->n_overrides)
		return candidates;
	for (uint32_t u = 0; u < candidates; u++)
		n += weft_topo_path_links(topo, src, dst, weft_ev(plane, u), links) > 0;
	return n;
}

uint32_t weft_topo_paths(const struct weft_topo *topo, uint32_t src, uint32_t dst)
{
	uint32_t n = 0;

	if (src == dst)
		return 0;
	for (uint32_t plane = 0; plane < topo->shape.planes; plane++)
		n += count_paths(topo, src, dst, plane);
	return n;
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/*
 * The order in which the hosts of a T0 go round its uplinks in one plane, each a step ahead of the
 * one before it:
 *
 *   host 0:  first, first + stride, first + 2 stride, ...
 *   host 1:         first + stride, first + 2 stride, ...
 *
 * Hosts that begin together thus never meet at an uplink, and subsets of equal size load all of
 * them alike.  The stride has no divisor in common with n, so that the walk visits all; T0s and
 * planes differ, so that those who are in step at one T0 are not at the T1s.  Uplinks that a pair
 * cannot use keep their place in the walk and are passed over: a destination with fewer paths does
 * not put its senders out of step.
 */
struct walk {
	uint64_t first, stride;
};
static struct walk walk_of(
	const struct weft_topo *topo, uint32_t src, uint32_t plane, uint64_t seed, uint32_t n)
{
	uint64_t t0 = host_t0_index(topo, src);
	struct weft_rng rng;

	weft_rng_seed(&rng, seed ^ (t0 << 8 | plane) * UINT64_C(0x9e3779b97f4a7c15));
	uint32_t first = (uint32_t)weft_rng_below(&rng, n);
	uint32_t stride = 1 + (uint32_t)weft_rng_below(&rng, n);

	while (common_divisor(stride, n) != 1)
		stride = stride % n + 1;
	return (struct walk){ first, stride };
}

size_t weft_topo_evs(const struct weft_topo *topo, uint32_t src, uint32_t dst, uint64_t seed,
	uint32_t evs[], size_t n)
{
	const struct weft_topo_shape *s = &topo->shape;
	uint32_t planes[WEFT_TOPO_PLANES_MAX], n_planes = 0, least = UINT32_MAX;
	uint32_t links[4];

	if (src == dst)
		return 0;
	for (uint32_t plane = 0; plane < s->planes; plane++) {
		uint32_t paths = count_paths(topo, src, dst, plane);

		if (!paths)
			continue;
		planes[n_planes++] = plane;
		least = WEFT_MIN(least, paths);
	}
	if (!n_planes || n < n_planes)
		return 0;
	size_t share = WEFT_MIN(n / n_planes, (size_t)least);
	uint32_t candidates = uplink_candidates(topo, src, dst);

	for (uint32_t i = 0; i < n_planes; i++) {
		struct walk walk = walk_of(topo, src, planes[i], seed, candidates);
		uint64_t step = src % s->hosts_per_t0;

		/* One round at most: share <= least, and a round meets every uplink. */
		for (size_t k = 0; k < share; step++) {
			uint64_t at = (walk.first + walk.stride * step) % candidates;
			uint32_t ev = weft_ev(planes[i], (uint32_t)at);

			if (!topo->n_overrides || weft_topo_path_links(topo, src, dst, ev, links))
				evs[k++ * n_planes + i] = ev;
		}
	}
	return share * n_planes;
}

void weft_topo_host_usid(
	const struct weft_topo *topo, uint32_t host, uint32_t plane, uint8_t addr[16])
{
	const struct weft_topo_shape *s = &topo->shape;

	WEFT_ASSERT(host < s->hosts && plane < s->planes);
	memset(addr, 0, 16);
	addr_put32(addr, topo->blocks[plane]);
	addr_put16(addr + 4, usid_host(topo, plane, host % s->hosts_per_t0));
}

/* host prefix | plane | T0 | 0 | 0 | 0 | downlink + 1: a /48 per plane, a /64 per T0. */
void weft_topo_host_addr(
	const struct weft_topo *topo, uint32_t host, uint32_t plane, uint8_t addr[16])
{
	const struct weft_topo_shape *s = &topo->shape;

	WEFT_ASSERT(host < s->hosts && plane < s->planes);
	memset(addr, 0, 16);
	addr_put32(addr, topo->host_prefix);
	addr_put16(addr + 4, plane);
	addr_put16(addr + 6, host / s->hosts_per_t0);
	addr_put16(addr + 14, host % s->hosts_per_t0 + 1);
}

bool weft_topo_host_find(
	const struct weft_topo *topo, const uint8_t addr[16], uint32_t *host, uint32_t *plane)
{
	const struct weft_topo_shape *s = &topo->shape;
	uint32_t p = (uint32_t)addr[4] << 8 | addr[5];
	uint32_t t0 = (uint32_t)addr[6] << 8 | addr[7];
	uint32_t number = (uint32_t)addr[14] << 8 | addr[15];
	uint8_t back[16];

	if (p >= s->planes || t0 >= s->t0s || !number || number > downlinks(topo, t0))
		return false;
	weft_topo_host_addr(topo, t0 * s->hosts_per_t0 + number - 1, p, back);
	if (memcmp(addr, back, 16))
		return false;
	*host = t0 * s->hosts_per_t0 + number - 1;
	*plane = p;
	return true;
}
