/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hop - one switch through one window.
 *
 * Arrivals are taken in order of time, whatever their port, since all ports of a switch draw from
 * one source of randomness.  Before a frame is queued, what starts at its port until then is taken
 * out, so that depths are exact; a frame that finds the line free at the same instant leaves
 * before the next one is looked at.  What starts until the end of the window is taken port by port.
 *
 * Hot: all of it.
 */
#include "sim_local.h"

enum { EXPECTED = 16 }; /* frames that are looked up before they are queued */

struct routed {
	struct weft_frame frame;
	uint32_t port; /* NONE: it is lost */
};

/* PFC: what the switch wants its neighbours to know; by a short frame that waits for no other. */
static void tell_pauses(struct lane *lane, struct switch_node *node, uint64_t now_ps)
{
	uint32_t port;
	bool pause;

	while (weft_switch_pause_poll(node->sw, &port, &pause)) {
		const struct cable *cable = &node->cables[port];
		const struct line *line = &lane->sim->lines[cable->line];
		struct weft_frame frame = {
			.in_port = cable->port, .flags = FRAME_PAUSE, .mark = pause
		};

		lane->pauses += pause;
		mail_post(lane, cable->node,
			now_ps + line->delay_ps +
				((ACK_BYTES + WEFT_FRAME_GAP_BYTES) * line->byte_ps_q16 >> 16),
			&frame);
	}
}

/* Takes what starts at until_ps or before, and puts it on the cable. */
static void send(struct lane *lane, struct switch_node *node, uint32_t port, uint64_t until_ps)
{
	struct weft_departure departure;

	while (weft_switch_take(node->sw, port, until_ps, &departure)) {
		const struct cable *cable = &node->cables[port];

		if (WEFT_UNLIKELY(departure.drop)) {
			lane->lost++;
			slab_give(&lane->sim->slab, &lane->cache, (uint32_t)departure.frame.handle);
			continue;
		}
		struct weft_frame *to = mail_room(lane, cable->node,
			departure.ends_ps + lane->sim->lines[cable->line].delay_ps,
			(uint32_t)departure.frame.handle);

		*to = departure.frame;
		to->in_port = cable->port;
		if (WEFT_UNLIKELY(lane->sim->is_lossless))
			tell_pauses(lane, node, departure.starts_ps);
	}
}

/* Notes when it is to be looked at again.  False: nothing waits there that may leave. */
static bool look_ahead(struct switch_node *node, uint32_t port)
{
	uint64_t next_ps = weft_switch_port_next(node->sw, port), bit = UINT64_C(1) << port % 64;

	node->next_ps[port] = next_ps;
	if (next_ps == WEFT_NEVER)
		node->busy[port / 64] &= ~bit;
	else
		node->busy[port / 64] |= bit;
	return next_ps != WEFT_NEVER;
}

static void lose(struct lane *lane, const struct weft_frame *frame)
{
	lane->lost++;
	slab_give(&lane->sim->slab, &lane->cache, (uint32_t)frame->handle);
}

/* All ports, until the end of the window.  True: something still waits that will leave. */
static bool send_all(struct lane *lane, struct switch_node *node, uint64_t until_ps)
{
	uint16_t ports[WEFT_SWITCH_PORTS_MAX];
	uint32_t n = 0;
	bool waits = false;

	for (uint32_t w = 0; w < node->words; w++) {
		for (uint64_t rest = node->busy[w]; rest; rest &= rest - 1) {
			uint32_t port = w * 64 + weft_ctz64(rest);

			/* Most wait for their line: told without touching them. */
			if (node->next_ps[port] > until_ps) {
				waits = true;
				continue;
			}
			weft_switch_fetch_port(node->sw, port);
			__builtin_prefetch(&node->cables[port]);
			ports[n++] = (uint16_t)port;
		}
	}
	for (uint32_t i = 0; i < WEFT_MIN(n, (uint32_t)EXPECTED / 2); i++)
		weft_switch_fetch_queues(node->sw, ports[i]);
	for (uint32_t i = 0; i < n; i++) {
		if (i + EXPECTED / 2 < n)
			weft_switch_fetch_queues(node->sw, ports[i + EXPECTED / 2]);
		send(lane, node, ports[i], until_ps);
		waits |= look_ahead(node, ports[i]);
	}
	return waits;
}

/* In a lossless fabric: depths count for the neighbours too, so all ports are brought up to now.
 * True: it was a pause, and has been heard.
 */
static bool hear_pause(struct lane *lane, struct switch_node *node, const struct weft_frame *frame,
	uint64_t now_ps)
{
	(void)send_all(lane, node, now_ps);
	if (!(frame->flags & FRAME_PAUSE))
		return false;
	weft_switch_pause(node->sw, frame->in_port, frame->mark, now_ps);
	(void)look_ahead(node, frame->in_port);
	return true;
}

/* Where it goes; false: nowhere, it is lost. */
static bool look_up(struct lane *lane, struct switch_node *node, const struct weft_frame *arrived,
	struct routed *routed)
{
	struct weft_frame *frame = &routed->frame;

	*frame = *arrived;
	if (WEFT_UNLIKELY(node->any_down) &&
		node->down[frame->in_port / 64] >> frame->in_port % 64 & 1)
		return false;
	if (WEFT_UNLIKELY(node->any_gray) &&
		!fault_gray(lane, (uint32_t)(node - lane->sim->switches) + lane->sim->shape.hosts,
			frame->in_port, frame))
		return false;
	return !weft_switch_route(node->sw, frame, &routed->port);
}

/* The first step for a frame that comes soon: its port is known, and asked for. */
static void expect(struct lane *lane, struct switch_node *node, const struct weft_frame *arrived,
	struct routed *routed)
{
	if (WEFT_UNLIKELY(!look_up(lane, node, arrived, routed))) {
		routed->port = NONE;
		lose(lane, arrived);
		return;
	}
	weft_switch_fetch_port(node->sw, routed->port);
	__builtin_prefetch(&node->next_ps[routed->port], 1);
	__builtin_prefetch(&node->cables[routed->port]);
}

static void queue(struct lane *lane, struct switch_node *node, const struct weft_frame *arrived,
	struct routed *routed, uint64_t now_ps)
{
	uint32_t port = routed->port;

	if (WEFT_UNLIKELY(port == NONE))
		return;
	bool busy = node->busy[port / 64] >> port % 64 & 1;

	if (busy && node->next_ps[port] <= now_ps) {
		send(lane, node, port, now_ps);
		busy = false;
	}
	if (WEFT_UNLIKELY(
		    weft_switch_queue(node->sw, &routed->frame, arrived->route, now_ps, port)))
		lose(lane, arrived);
	if (!busy)
		(void)look_ahead(node, port);
}

/* One at a time: each may be a pause for those behind it. */
static void arrive_lossless(struct lane *lane, struct switch_node *node, uint32_t i, uint32_t end)
{
	for (; i < end; i++) {
		const struct weft_frame *arrived = mail_frame(lane, i);
		struct routed routed;

		if (hear_pause(lane, node, arrived, mail_ps(lane, i)))
			continue;
		expect(lane, node, arrived, &routed);
		queue(lane, node, arrived, &routed, mail_ps(lane, i));
		if (routed.port != NONE)
			tell_pauses(lane, node, mail_ps(lane, i));
	}
}

/*
 * Those of the mail from i on, in three steps, some frames apart: look up, ask for who waits at
 * that port, queue.  Nothing that a look-up reads is changed by queueing.
 */
static void arrive(struct lane *lane, struct switch_node *node, uint32_t i, uint32_t end)
{
	struct routed routed[EXPECTED];
	uint32_t found = i, asked = i;

	for (uint32_t k = i; k < WEFT_MIN(end, i + 2 * EXPECTED); k++)
		weft_switch_fetch_route(node->sw, mail_frame(lane, k));
	for (; i < end; i++) {
		for (; found < end && found < i + EXPECTED; found++) {
			if (found + 2 * EXPECTED < end)
				__builtin_prefetch(mail_frame(lane, found + 2 * EXPECTED));
			if (found + EXPECTED < end)
				weft_switch_fetch_route(
					node->sw, mail_frame(lane, found + EXPECTED));
			expect(lane, node, mail_frame(lane, found), &routed[found % EXPECTED]);
		}
		for (; asked < end && asked < i + EXPECTED / 2; asked++) {
			if (WEFT_LIKELY(routed[asked % EXPECTED].port != NONE))
				weft_switch_fetch_queues(node->sw, routed[asked % EXPECTED].port);
		}
		queue(lane, node, mail_frame(lane, i), &routed[i % EXPECTED], mail_ps(lane, i));
	}
}

void hop_fetch(const struct lane *lane, uint32_t index, unsigned visits)
{
	const struct switch_node *node = &lane->sim->switches[index - lane->sim->shape.hosts];

	if (visits == FETCH_VISITS) {
		__builtin_prefetch(node);
	} else if (visits == 2) {
		__builtin_prefetch(node->busy, 1);
		for (uint32_t port = 0; port < node->ports; port += 8)
			__builtin_prefetch(&node->next_ps[port], 1);
		weft_switch_fetch(node->sw);
	}
}

void hop_run(struct lane *lane, uint32_t index)
{
	struct switch_node *node = &lane->sim->switches[index - lane->sim->shape.hosts];
	uint32_t at = lane->action, i = 0;

	mail_collect(lane, index);
	for (;;) {
		const struct action *action = fault_next(lane, index, &at);
		uint64_t until_ps = action ? action->at_ps : lane->end_ps;

		uint32_t end = i;

		while (end < lane->mail.n && mail_ps(lane, end) < until_ps)
			end++;
		if (WEFT_UNLIKELY(lane->sim->is_lossless))
			arrive_lossless(lane, node, i, end);
		else
			arrive(lane, node, i, end);
		i = end;
		if (!action)
			break;
		if (until_ps > lane->start_ps)
			(void)send_all(lane, node, until_ps - 1);
		fault_switch(lane, index, action);
	}
	if (send_all(lane, node, lane->end_ps - 1))
		node_due(lane, index);
}
