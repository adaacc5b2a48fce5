/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_mtu - path MTU discovery when a session begins: which size, and which planes carry it.
 *
 * All sizes are tried at once by all planes, and again a few times, for packets get lost.  One is
 * good when at least half of the planes that answer at all carry it; the others are left out, for
 * a plane that takes small packets only would look alive to every probe of its paths and lose all
 * data.  Where nobody answers (filtered, or the peer is not at it) it is what any Ethernet carries.
 * A link that has just come up may take a second until the kernel says so; that is waited for.
 *
 * Queue pairs keep their path MTU for life, as those of verbs do.
 */
#include "live.h"

const uint16_t live_mtus[LIVE_MTUS] = { 8192, 4096, 2048, 1408, 1024, 512 };

#define SAFE_BYTES 1024u /* 1500 bytes of Ethernet, a tunnel between */
#define LINK_NS UINT64_C(1200000000)
#define TURN_NS UINT64_C(500000)
#define TRY_NS UINT64_C(4000000) /* the first wait before probes are sent again; then doubled */

uint32_t live_most_mtu(const struct weft_live *live)
{
	uint32_t most = 0, i = 0;

	if (!live->finds_mtu)
		return live->udp.mtu_bytes;
	for (uint32_t plane = 0; plane < live->udp.planes; plane++)
		most = WEFT_MAX(most, carrier_mtu(carrier_find(live->udp.addr[plane])));
	while (i < LIVE_MTUS - 1 && live_mtus[i] + LINK_OVERHEAD_BYTES > most)
		i++;
	return live_mtus[i];
}

struct search {
	struct weft_live *live;
	uint32_t peer, most_bytes, planes, token;
};

static uint32_t count(uint32_t planes)
{
	return (uint32_t)__builtin_popcount(planes);
}

static uint32_t proved(const struct search *s, uint32_t bytes)
{
	return s->live->kind->mtu_proved(s->live->port, s->peer, bytes);
}

static void probe(const struct search *s, uint32_t bytes)
{
	s->live->kind->mtu_probe(s->live->port, s->peer, bytes, s->planes, s->token);
}

static void probe_all(const struct search *s)
{
	probe(s, s->most_bytes);
	for (uint32_t i = 0; i < LIVE_MTUS; i++)
		if (live_mtus[i] < s->most_bytes)
			probe(s, live_mtus[i]);
}

static bool is_over(const struct search *s)
{
	return s->planes && proved(s, s->most_bytes) == s->planes;
}

static void search(struct search *s, uint64_t limit_ns)
{
	struct weft_pump *pump = s->live->pump;

	(void)weft_pump_step(pump, 0); /* which says what time it is */
	uint64_t now = weft_pump_now(pump), end = now + LINK_NS, again = now, wait_ns = TRY_NS;

	while (now < end && !is_over(s)) {
		bool was_dark = !s->planes;

		s->planes = s->live->port->ops->carrier(s->live->port);
		if (was_dark && s->planes)
			end = now + limit_ns;
		if (s->planes && now >= again) {
			probe_all(s);
			again = now + wait_ns;
			wait_ns *= 2;
		}
		(void)weft_pump_step(pump, TURN_NS);
		now = weft_pump_now(pump);
	}
}

static uint32_t best(const struct search *s)
{
	uint32_t alive = count(proved(s, 1));

	if (alive && 2 * count(proved(s, s->most_bytes)) >= alive)
		return s->most_bytes;
	for (uint32_t i = 0; i < LIVE_MTUS; i++)
		if (alive && live_mtus[i] < s->most_bytes &&
			2 * count(proved(s, live_mtus[i])) >= alive)
			return live_mtus[i];
	return WEFT_MIN(s->most_bytes, SAFE_BYTES);
}

void live_leave_planes(struct weft_live *live, uint32_t peer, uint32_t planes)
{
	uint32_t set = live->peers[peer].pathset;
	uint64_t now = weft_pump_now(live->pump);
	struct weft_path_info path;

	for (uint32_t i = 0; planes && !weft_path_info(live->ep, set, i, &path); i++)
		if (planes >> path.port & 1)
			(void)weft_path_mark(live->ep, set, path.ev, WEFT_PATH_DENIED, now);
}

uint32_t live_find_mtu(struct weft_live *live, uint32_t peer, uint32_t most_bytes,
	uint64_t limit_ns, uint32_t *narrow)
{
	struct search s = { .live = live, .peer = peer, .most_bytes = most_bytes,
		.token = weft_live_random(live) };

	*narrow = 0;
	if (!live->finds_mtu)
		return most_bytes;
	search(&s, limit_ns);
	uint32_t bytes = best(&s);

	*narrow = proved(&s, 1) & ~proved(&s, bytes);
	live_leave_planes(live, peer, *narrow);
	return bytes;
}
