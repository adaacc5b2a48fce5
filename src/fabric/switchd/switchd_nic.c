/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switchd_nic - the programs of hosts, by shared memory.
 *
 * Each host has one NIC, and each program that attaches becomes a part of it: it owns one UDP
 * port, as a queue of a flow table does.  Its slots to send with are lent ahead of need and topped
 * up as it sends (lend.c); few of them, because they go round in a circle and should stay in the
 * cache, but more than a turn can send.
 *
 * A packet waits in its program's ring until the host's line is free: a NIC does not take what it
 * cannot send either, and so the ring's length is felt by the program, not hidden in here.  Where
 * several programs share a line they take turns, a few packets each.
 *
 * Among many programs most are quiet, and each turn would look at the rings of all for those of a
 * few: from MANY on those that have been quiet are not looked at until they ring, by a bell that
 * says whose it is.
 */
#include "switchd_local.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TURN_PACKETS 16u /* that one program sends before the next may */
#define ROUNDS_MAX 64u   /* of a turn: whoever fills his ring without end must not hold us */
#define WAITING_MIN 8u   /* fewer are nobody's limit (net: SNDBUF_PKTS_MIN) */
#define KNOCKS_MAX 8u    /* of a turn */
#define WOKEN_BELOW 32u  /* slots: with so few he may be waiting for more */
#define MANY 64u         /* programs: with fewer, to look at all is quicker than to be told */
#define POLLED_PS UINT64_C(5000000000)
#define FIRST_PORT 32768u
#define LAST_PORT 60999u

static struct process *find(const struct weft_switchd *sw, uint32_t host, uint16_t udp_port)
{
	struct process *p = sw->nic.of_host[host];

	while (p && p->udp_port != udp_port)
		p = p->next;
	return p;
}

bool nic_open(struct weft_switchd *sw, const char *path)
{
	const struct weft_topo_shape *s = sw->shape;
	uint64_t bps = sw->rate_bps ? sw->rate_bps : s->host_bps;
	uint64_t bits =
		8 * ((uint64_t)s->mtu_bytes + WEFT_FRAME_ETHER_BYTES + WEFT_FRAME_GAP_BYTES);

	sw->nic.frame_ps = WEFT_MAX(bits * 1000000000000u / bps, UINT64_C(1));
	sw->nic.of_host = calloc(s->hosts, sizeof(struct process *));
	if (!sw->nic.of_host)
		return fail(sw, "out of memory");
	return !weft_shm_door_open(&sw->nic.door, path, sw->error, sizeof(sw->error)) &&
	       watch_add(sw, weft_shm_door_fd(sw->nic.door), WATCH_PORTS, 0);
}

/* ---- coming and going ---- */

static uint16_t choose_port(const struct weft_switchd *sw, uint32_t host)
{
	for (uint32_t port = FIRST_PORT; port <= LAST_PORT; port++) {
		if (!find(sw, host, (uint16_t)port))
			return (uint16_t)port;
	}
	return 0;
}

/* NULL: he may come in; *host and hello are then as decided. */
static const char *judge(struct weft_switchd *sw, struct weft_shm_hello *hello, uint32_t *host,
	char *why, size_t bytes)
{
	hello->host[sizeof(hello->host) - 1] = 0;
	*host = weft_topo_node_find(sw->topo, hello->host);
	if (*host >= sw->shape->hosts) {
		(void)snprintf(why, bytes, "fabric %s has no host named '%.31s'", sw->shape->name,
			hello->host);
		return why;
	}
	if (sw->nic.n >= sw->nic.max || sw->slots.n_free < LENT_FIRST) {
		(void)snprintf(why, bytes,
			"the switch is full: %u of %u programs have attached, %u of %u slots are "
			"free",
			sw->nic.n, sw->nic.max, sw->slots.n_free, sw->slots.n);
		return why;
	}
	if (hello->udp_port && find(sw, *host, hello->udp_port)) {
		(void)snprintf(why, bytes, "UDP port %u of %s is another program's",
			hello->udp_port, hello->host);
		return why;
	}
	if (!hello->udp_port)
		hello->udp_port = choose_port(sw, *host);
	if (!hello->planes || hello->planes > sw->shape->planes)
		hello->planes = sw->shape->planes;
	return hello->udp_port ? NULL : "no UDP port is left";
}

/* ---- who is polled, and who rings ---- */

static void swap_places(struct nic *nic, uint32_t a, uint32_t b)
{
	struct process *at_a = nic->list[a];

	nic->list[a] = nic->list[b];
	nic->list[b] = at_a;
	nic->list[a]->place = a;
	nic->list[b]->place = b;
}

static void start_polling(struct nic *nic, struct process *p, uint64_t now_ps)
{
	p->seen_ps = WEFT_MAX(p->seen_ps, now_ps);
	if (WEFT_LIKELY(p->place < nic->n_polled))
		return;
	weft_shm_will_sleep(p->link, false);
	swap_places(nic, p->place, nic->n_polled++);
}

static bool has_sent(const struct process *p)
{
	bool has = weft_shm_waiting(p->link, WEFT_SHM_DONE);

	for (uint32_t plane = 0; plane < p->planes; plane++)
		has |= weft_shm_waiting(p->link, WEFT_SHM_TX + plane);
	return has;
}

/* Who holds something gives it back without ringing, and is looked at until he has. */
static void stop_polling(struct nic *nic, uint64_t now_ps)
{
	for (uint32_t i = nic->n_polled; i-- > 0;) {
		struct process *p = nic->list[i];

		if (p->held || p->seen_ps + POLLED_PS > now_ps)
			continue;
		weft_shm_sleep_deep(p->link);
		if (has_sent(p))
			weft_shm_will_sleep(p->link, false);
		else
			swap_places(nic, i, --nic->n_polled);
	}
}

static uint32_t carrier_of(const struct weft_switchd *sw, const struct process *p)
{
	uint32_t mask = 0;

	for (uint32_t plane = 0; plane < p->planes; plane++) {
		uint32_t link = p->host * sw->shape->planes + plane;

		mask |= (uint32_t)weft_network_link_is_up(sw->network, link) << plane;
	}
	return mask;
}

static void forget(struct weft_switchd *sw, struct process *p)
{
	struct process **at = &sw->nic.of_host[p->host];
	uint32_t slots[BURST];
	size_t n;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	sw->nic.process[p->index] = NULL;
	if (p->place < sw->nic.n_polled)
		swap_places(&sw->nic, p->place, --sw->nic.n_polled);
	swap_places(&sw->nic, p->place, --sw->nic.n);
	sw->nic.bad += weft_shm_bad(p->link);
	lend_stops(sw, p);
	while ((n = weft_shm_reclaim(p->link, slots, BURST)) > 0) {
		for (size_t i = 0; i < n; i++)
			slots_give(&sw->slots, slots[i]);
	}
	weft_shm_link_close(p->link);
	free(p);
}

/* NULL: he may not, or is gone already; why says it to him. */
static struct process *enlist(struct weft_switchd *sw, const struct weft_shm_hello *hello,
	uint32_t host, char *why, size_t bytes)
{
	struct process *p = calloc(1, sizeof(*p));
	uint32_t index = 0;

	if (!p)
		return NULL;
	while (sw->nic.process[index])
		index++;
	p->index = index;
	p->host = host;
	p->planes = hello->planes;
	p->udp_port = hello->udp_port;
	if (weft_shm_link_open(&p->link, &sw->pool, p->planes, RING_ENTRIES, why, bytes)) {
		free(p);
		return NULL;
	}
	sw->nic.process[index] = p;
	p->place = sw->nic.n;
	sw->nic.list[sw->nic.n++] = p;
	start_polling(&sw->nic, p, to_ps(sw, real_now_ns()));
	p->next = sw->nic.of_host[host];
	sw->nic.of_host[host] = p;
	lend(sw, p);
	weft_shm_carrier_set(p->link, carrier_of(sw, p));
	return p;
}

void nic_accept(struct weft_switchd *sw, uint64_t now_ns)
{
	struct weft_shm_hello hello;
	uint32_t host;
	int fd;

	for (unsigned i = 0; i < KNOCKS_MAX; i++) {
		char text[ERROR_BYTES] = "the switch is out of memory";
		int came = weft_shm_knock(sw->nic.door, now_ns, &hello, &fd);
		struct process *p = NULL;

		if (!came)
			return;
		if (came < 0)
			continue;
		const char *why = judge(sw, &hello, &host, text, sizeof(text));

		if (!why)
			p = enlist(sw, &hello, host, text, sizeof(text));
		if (p)
			ears_lend(sw, p->link);
		sw->drops[EDGE_PROGRAM] += !p;
		if (!p)
			weft_shm_refuse(fd, why ? why : text);
		else if (weft_shm_welcome(fd, &hello, p->link) ||
			 !watch_add(sw, weft_shm_wait_fd(p->link), WATCH_PROCESS, p->index))
			forget(sw, p);
	}
}

void nic_wake(struct weft_switchd *sw, uint32_t index)
{
	struct process *p = sw->nic.process[index];

	if (p && !weft_shm_bell_clear(p->link))
		forget(sw, p);
	else if (p)
		start_polling(&sw->nic, p, sw->ran_ps);
}

void nic_close(struct weft_switchd *sw)
{
	while (sw->nic.n)
		forget(sw, sw->nic.list[0]);
	weft_shm_door_close(sw->nic.door);
	free(sw->nic.of_host);
	sw->nic.of_host = NULL;
}

/* ---- from programs ---- */

/* A slot has come back; usually of the kind that this way is for. */
static void count_back(uint32_t *usual, uint32_t *other)
{
	if (*usual)
		(*usual)--;
	else
		(*other)--;
}

static void take_done(struct weft_switchd *sw, struct process *p)
{
	struct weft_shm_desc d[BURST];
	size_t n;

	for (unsigned i = 0; i < RING_ENTRIES / BURST; i++) {
		n = weft_shm_take(p->link, WEFT_SHM_DONE, d, BURST);
		for (size_t k = 0; k < n; k++) {
			if (d[k].flags & WEFT_SHM_UNUSED)
				count_back(&p->lent, &p->held);
			else
				count_back(&p->held, &p->lent);
			slots_give(&sw->slots, d[k].slot);
		}
		if (n < BURST)
			return;
	}
}

static size_t take_some(
	struct weft_switchd *sw, struct process *p, uint32_t plane, size_t fit, uint64_t now_ps)
{
	struct weft_shm_desc d[TURN_PACKETS];
	size_t n = weft_shm_take(p->link, WEFT_SHM_TX + plane, d, WEFT_MIN(fit, TURN_PACKETS));

	for (size_t i = 0; i < n; i++) {
		struct weft_frame frame = { .handle = d[i].slot };
		uint64_t at_ps = WEFT_MIN(to_ps(sw, d[i].at_ns), now_ps);

		count_back(&p->lent, &p->held);
		if (WEFT_UNLIKELY(!d[i].bytes)) { /* a slot, but no packet in it */
			sw->nic.bad++;
			slots_give(&sw->slots, d[i].slot);
			continue;
		}
		sw->newest_ps = WEFT_MAX(sw->newest_ps, at_ps);
		if (d[i].flags & WEFT_SHM_BULK)
			sw->bulk_ps = now_ps;
		if (!weft_network_send(sw->network, p->host, plane, &frame, d[i].bytes, at_ps)) {
			sw->drops[EDGE_NO_SLOT]++;
			slots_give(&sw->slots, d[i].slot);
		}
	}
	p->sent += n;
	if (n) {
		lend_sends(sw, p, now_ps);
		start_polling(&sw->nic, p, now_ps);
	}
	return n;
}

/* What one program may have begun to send on one plane by now, a turn's worth of it. */
static size_t take_line(struct weft_switchd *sw, struct process *p, uint32_t plane, uint64_t now_ps)
{
	uint64_t free_ps = weft_network_line_free_ps(sw->network, p->host, plane);
	size_t n = 0;

	if (free_ps > now_ps)
		return 0;
	/* Of a line that was idle, the first packet says since when it is not. */
	if (free_ps <= sw->ran_ps) {
		n = take_some(sw, p, plane, 1, now_ps);
		free_ps = weft_network_line_free_ps(sw->network, p->host, plane);
		if (!n || free_ps > now_ps)
			return n;
	}
	return n + take_some(sw, p, plane, (now_ps - free_ps) / sw->nic.frame_ps + 1, now_ps);
}

/* True: there is more on a line that he has just used, and may use again. */
static bool take_from(struct weft_switchd *sw, struct process *p, uint64_t now_ps, size_t *taken)
{
	bool has_more = false;

	for (uint32_t plane = 0; plane < p->planes; plane++) {
		if (WEFT_LIKELY(!weft_shm_waiting(p->link, WEFT_SHM_TX + plane)))
			continue;
		size_t n = take_line(sw, p, plane, now_ps);

		has_more |= n && weft_shm_waiting(p->link, WEFT_SHM_TX + plane);
		*taken += n;
	}
	return has_more;
}

/*
 * New slots for what he has sent.  He may sleep because he has none left, or because he lets only
 * so many packets wait in his ring: then he is to know that it went on.
 */
static void resupply(struct weft_switchd *sw, struct process *p)
{
	uint64_t sent = p->sent - p->sent_before;
	uint32_t before = p->lent;

	lend(sw, p);
	bool rings = sent >= WAITING_MIN || (before < WOKEN_BELOW && p->lent > before);

	for (uint32_t plane = 0; sent && plane < p->planes && !rings; plane++)
		rings = weft_shm_waiting(p->link, WEFT_SHM_TX + plane);
	if (rings)
		weft_shm_bell(p->link);
}

size_t nic_take(struct weft_switchd *sw, uint64_t now_ps)
{
	struct nic *nic = &sw->nic;
	bool has_more = true;
	size_t n = 0;

	for (uint32_t i = 0; i < nic->n_polled; i++) {
		take_done(sw, nic->list[i]);
		nic->list[i]->sent_before = nic->list[i]->sent;
	}
	nic->turn++;
	for (unsigned round = 0; round < ROUNDS_MAX && has_more; round++) {
		has_more = false;
		for (uint32_t i = 0; i < nic->n_polled; i++)
			has_more |= take_from(
				sw, nic->list[(nic->turn + i) % nic->n_polled], now_ps, &n);
	}
	lend_recall(sw, now_ps);
	/* In turns, where there is not enough for all. */
	for (uint32_t i = 0; i < nic->n_polled; i++)
		resupply(sw, nic->list[(nic->turn + i) % nic->n_polled]);
	if (WEFT_UNLIKELY(nic->n > MANY))
		stop_polling(nic, now_ps);
	return n;
}

uint64_t nic_bad(const struct weft_switchd *sw)
{
	uint64_t bad = sw->nic.bad;

	for (uint32_t i = 0; i < sw->nic.n; i++)
		bad += weft_shm_bad(sw->nic.list[i]->link);
	return bad;
}

/* ---- to programs ---- */

static void flush(struct weft_switchd *sw, struct process *p)
{
	size_t put = weft_shm_put(p->link, WEFT_SHM_RX, p->out, p->n_out);

	for (size_t i = put; i < p->n_out; i++) {
		sw->drops[EDGE_RX_FULL]++;
		slots_give(&sw->slots, p->out[i].slot);
		p->held--;
	}
	p->received += put;
	p->n_out = 0;
	weft_shm_bell(p->link);
}

bool nic_deliver(struct weft_switchd *sw, const struct weft_network_out *out)
{
	uint32_t slot = (uint32_t)out->frame.handle;
	size_t bytes = out->frame.bytes - WEFT_FRAME_ETHER_BYTES;

	if (!sw->nic.of_host[out->node])
		return false;
	uint16_t port = packet_udp_port(weft_shm_packet(&sw->pool, slot), bytes);
	struct process *p = port ? find(sw, out->node, port) : NULL;

	if (!p || out->plane >= p->planes)
		return false;
	if (!lend_may_hold(sw, p)) {
		sw->drops[EDGE_RX_FULL]++;
		slots_give(&sw->slots, slot);
		return true;
	}
	start_polling(&sw->nic, p, sw->ran_ps);
	p->held++;
	p->out[p->n_out++] = (struct weft_shm_desc){ .at_ns = to_ns(sw, out->at_ps),
		.slot = slot,
		.bytes = (uint16_t)bytes,
		.plane = (uint8_t)out->plane,
		.flags = sw->slots.is_from_wire[slot] || sw->spoils ? WEFT_SHM_DOUBTED : 0 };
	if (p->n_out == BURST)
		flush(sw, p);
	return true;
}

void nic_flush(struct weft_switchd *sw)
{
	for (uint32_t i = 0; i < sw->nic.n_polled; i++) {
		if (sw->nic.list[i]->n_out)
			flush(sw, sw->nic.list[i]);
	}
}

void nic_carrier(struct weft_switchd *sw)
{
	for (uint32_t i = 0; i < sw->nic.n; i++) {
		struct process *p = sw->nic.list[i];
		uint32_t mask = carrier_of(sw, p);

		if (mask != weft_shm_carrier(p->link))
			weft_shm_carrier_set(p->link, mask);
	}
}

/* A line that is busy is no reason to stay awake: what waits for it starts at its time anyway. */
bool nic_will_sleep(struct weft_switchd *sw, bool will)
{
	bool is_quiet = true;

	for (uint32_t i = 0; i < sw->nic.n_polled; i++) {
		struct process *p = sw->nic.list[i];

		weft_shm_will_sleep(p->link, will);
		for (uint32_t plane = 0; will && plane < p->planes; plane++)
			is_quiet &=
				!weft_shm_waiting(p->link, WEFT_SHM_TX + plane) ||
				weft_network_line_free_ps(sw->network, p->host, plane) > sw->ran_ps;
	}
	return is_quiet;
}
