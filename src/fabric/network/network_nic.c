/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network_nic - a host's end of its cables: one line per plane, at the rate of the link.
 *
 * Hosts hold no queue here: what a host sends starts when its line is free, and weft_network_send()
 * computes that at once instead of waiting for it.  Only a pause undoes such a promise: what would
 * have started after it is held, and starts over when it ends.  A paused host sends nothing at all,
 * control neither; MRC's own fabrics never pause, and a NIC that a comparison needs is as simple as
 * that.
 */
#include "network_local.h"

/* From the start to the end of a frame on the line. */
static uint64_t duration_ps(const struct nic *nic, const struct weft_frame *frame)
{
	return ((uint64_t)frame->bytes + WEFT_FRAME_GAP_BYTES) * nic->byte_ps_q16 >> 16;
}

static struct nic *nic_of(const struct weft_network *network, const struct line *line)
{
	WEFT_ASSERT(is_host(network, line->from));
	return &network->nics[(line - network->lines) / 2];
}

void nic_send(struct weft_network *network, struct line *line, uint32_t index, uint64_t at_ps)
{
	struct nic *nic = nic_of(network, line);
	struct flight *flight = &network->flights[index];

	if (WEFT_UNLIKELY(line->flags & LINE_PAUSED)) {
		flight->at_ps = at_ps;
		flight->next = NONE;
		if (nic->held_head == NONE)
			nic->held_head = index;
		else
			network->flights[nic->held_tail].next = index;
		nic->held_tail = index;
		return;
	}
	at_ps = WEFT_MAX(at_ps, now_of(network));
	at_ps = WEFT_MAX(at_ps, nic->free_ps);
	nic->free_ps = at_ps + duration_ps(nic, &flight->frame);
	flight->at_ps = nic->free_ps + line->delay_ps;
	flight_start(network, line, index);
}

bool weft_network_send(struct weft_network *network, uint32_t host, uint32_t plane,
	const struct weft_frame *frame, uint32_t ip_bytes, uint64_t at_ps)
{
	const struct weft_network_config *c = &network->config;

	WEFT_ASSERT(host < network->shape.hosts && plane < network->shape.planes);
	WEFT_ASSERT(ip_bytes <= UINT16_MAX - WEFT_FRAME_ETHER_BYTES);
	WEFT_ASSERT(!c->memory || ip_bytes <= c->slot_bytes - c->slot_offset);
	if (network->n_inside == c->frames)
		return false;
	struct line *line = &network->lines[2 * ((size_t)host * network->shape.planes + plane)];

	network->n_inside++;
	network->stats.sent++;
	if (WEFT_UNLIKELY(!(line->flags & LINE_UP))) {
		struct weft_frame lost = *frame;

		lost.bytes = (uint16_t)(ip_bytes + WEFT_FRAME_ETHER_BYTES);
		give_back(network, &lost, host, plane, WEFT_SWITCH_DROP_PORT_DOWN);
		return true;
	}
	uint32_t index = flight_take(network);
	struct weft_frame *f = &network->flights[index].frame;

	*f = *frame;
	f->bytes = (uint16_t)(ip_bytes + WEFT_FRAME_ETHER_BYTES);
	if (c->memory)
		__builtin_prefetch(c->memory + f->handle * c->slot_bytes + c->slot_offset, 1);
	nic_send(network, line, index, at_ps);
	return true;
}

uint64_t weft_network_line_free_ps(
	const struct weft_network *network, uint32_t host, uint32_t plane)
{
	WEFT_ASSERT(host < network->shape.hosts && plane < network->shape.planes);
	size_t link = (size_t)host * network->shape.planes + plane;

	return network->lines[2 * link].flags & LINE_PAUSED ? WEFT_NEVER
							    : network->nics[link].free_ps;
}

/* When the flight began; the rate may have changed since. */
static uint64_t start_ps(
	const struct nic *nic, const struct line *line, const struct flight *flight)
{
	uint64_t took_ps = line->delay_ps + duration_ps(nic, &flight->frame);

	return flight->at_ps > took_ps ? flight->at_ps - took_ps : 0;
}

/* Takes back what has not begun. */
static void hold(struct weft_network *network, struct line *line, struct nic *nic)
{
	uint32_t *at = &line->head, last = NONE;

	nic->free_ps = WEFT_MIN(nic->free_ps, now_of(network));
	while (*at != NONE) {
		struct flight *flight = &network->flights[*at];

		if (start_ps(nic, line, flight) > now_of(network))
			break;
		nic->free_ps = WEFT_MAX(nic->free_ps, flight->at_ps - line->delay_ps);
		last = *at;
		at = &flight->next;
	}
	nic->held_head = *at;
	nic->held_tail = line->tail;
	*at = NONE;
	line->tail = last;
	for (uint32_t i = nic->held_head; i != NONE; i = network->flights[i].next)
		network->flights[i].at_ps = start_ps(nic, line, &network->flights[i]);
	if (line->head == NONE && line->flags & LINE_ARRIVES) {
		agenda_remove(&network->agenda, what_of(network, line, WHAT_ARRIVAL));
		line->flags &= (uint8_t)~LINE_ARRIVES;
	}
}

void nic_pause(struct weft_network *network, struct line *line, bool is_pause)
{
	struct nic *nic = nic_of(network, line);

	if (is_pause == !!(line->flags & LINE_PAUSED))
		return;
	line->flags ^= LINE_PAUSED;
	if (is_pause) {
		hold(network, line, nic);
		return;
	}
	uint32_t index = nic->held_head;

	nic->held_head = NONE;
	while (index != NONE) {
		uint32_t next = network->flights[index].next;

		nic_send(network, line, index, network->flights[index].at_ps);
		index = next;
	}
}
