/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pause - PFC's words between neighbours, in the time that they take.
 *
 * A pause waits for the frame that is on the line, then takes a minimal frame's time and the
 * cable's delay.  It does not delay the data behind it (84 bytes, per pause), because a switch's
 * line is the switch's own, and the headroom of a port is reckoned without.
 *
 * A switch remembers what it wants to tell until it is asked, and takes back what is out of date by
 * then; so where too many are under way, asking later is enough.
 */
#include "network_local.h"

enum { PAUSE_BYTES = 84 }; /* 64 from address to FCS; preamble and gap */

static void send(struct weft_network *network, struct line *line, bool is_pause)
{
	uint64_t at_ps = now_of(network);
	uint32_t index = network->pauses_free;

	if (line->head != NONE) /* departures are never ahead of time: one frame at most */
		at_ps = WEFT_MAX(at_ps, network->flights[line->tail].at_ps - line->delay_ps);
	at_ps += (PAUSE_BYTES * byte_ps_q16(line->rate_bps) >> 16) + line->delay_ps;
	network->pauses_free = network->pauses[index].next;
	network->pauses[index].line = (uint32_t)(line - network->lines);
	network->pauses[index].is_pause = is_pause;
	agenda_add(&network->agenda, what_pauses(network) + index, at_ps);
}

void pauses_send(struct weft_network *network, uint32_t node)
{
	struct node *n = switch_node(network, node);
	bool is_pause;
	uint32_t port;

	for (;;) {
		if (network->pauses_free == NONE) {
			network->is_short_of_pauses = true;
			return;
		}
		if (!weft_switch_pause_poll(n->sw, &port, &is_pause))
			return;
		struct line *line = &network->lines[n->lines[port]];

		line->flags &= (uint8_t)~LINE_ASKED;
		line->flags |= is_pause ? LINE_ASKED : 0;
		if (line->flags & LINE_UP)
			send(network, line, is_pause);
	}
}

void pause_again(struct weft_network *network, struct line *line)
{
	/* No place: the far end will overrun the headroom for once, which is counted. */
	if (network->pauses_free != NONE)
		send(network, line, true);
}

void pause_arrive(struct weft_network *network, uint32_t index)
{
	struct pause pause = network->pauses[index];
	struct line *line = &network->lines[pause.line], *back = &network->lines[pause.line ^ 1];

	network->pauses[index].next = network->pauses_free;
	network->pauses_free = index;
	if (!(line->flags & LINE_UP)) {
		/* Lost with its cable. */
	} else if (is_host(network, line->to)) {
		nic_pause(network, back, pause.is_pause);
	} else {
		weft_switch_pause(switch_node(network, line->to)->sw, line->to_port, pause.is_pause,
			now_of(network));
		line_due(network, back);
	}
	if (!network->is_short_of_pauses)
		return;
	network->is_short_of_pauses = false;
	for (uint32_t node = network->shape.hosts; node < network->shape.nodes; node++)
		pauses_send(network, node);
}
