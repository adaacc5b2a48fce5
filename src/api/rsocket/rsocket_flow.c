/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rsocket_flow - how much may be sent: rings and receives, as numbers that only grow.
 *
 * Room is told in totals and not in differences, so a lost or doubled note could do no harm, and a
 * nonsensical one is seen.  A reader tells when a quarter of its ring has been read since it last
 * did: a sender that waits has then at least that much, and small reads cost no packets.  Notes for
 * which the peer must have a receive are counted likewise; those that tell about room are not,
 * because each answers at least a quarter of what is, and so a fixed reserve is enough for them.
 */
#include "rsocket_local.h"

void flow_init(struct flow *flow, uint32_t out_bytes, uint32_t in_bytes, uint32_t peer_bytes)
{
	*flow = (struct flow){
		.out_bytes = out_bytes, .in_bytes = in_bytes, .peer_bytes = peer_bytes
	};
}

uint32_t flow_can_stage(const struct flow *flow, uint32_t want, uint32_t *out)
{
	uint32_t room = flow->out_bytes - (uint32_t)(flow->staged - flow->completed);
	uint32_t at = (uint32_t)(flow->staged % flow->out_bytes);

	*out = at;
	if (flow->posted >= WEFT_RSOCK_NOTES_AHEAD)
		return 0;
	return WEFT_MIN(WEFT_MIN(want, (uint32_t)CHUNK_MAX), WEFT_MIN(room, flow->out_bytes - at));
}

bool flow_can_note(const struct flow *flow)
{
	return flow->notes - flow->notes_freed < WEFT_RSOCK_NOTES_AHEAD &&
	       flow->posted < WEFT_RSOCK_NOTES_AHEAD;
}

uint32_t flow_can_send(const struct flow *flow, uint32_t want, uint32_t *out, uint32_t *at)
{
	uint32_t room = flow->peer_bytes - (uint32_t)(flow->sent - flow->sent_freed);

	*at = (uint32_t)(flow->sent % flow->peer_bytes);
	*out = 0;
	if (!flow_can_note(flow))
		return 0;
	return flow_can_stage(flow, WEFT_MIN(want, WEFT_MIN(room, flow->peer_bytes - *at)), out);
}

bool flow_is_roomy(const struct flow *flow)
{
	uint64_t at_peer = flow->peer_bytes - (flow->sent - flow->sent_freed);
	uint64_t here = flow->out_bytes - (flow->staged - flow->completed);

	return flow_can_note(flow) && at_peer >= flow->peer_bytes / 4 &&
	       here >= flow->out_bytes / 4;
}

void flow_send(struct flow *flow, uint32_t bytes)
{
	flow->staged += bytes;
	flow->sent += bytes;
	flow->notes++;
}

uint64_t flow_readable(const struct flow *flow)
{
	return flow->received - flow->consumed;
}

uint32_t flow_can_read(const struct flow *flow, uint32_t want, uint32_t skip, uint32_t *at)
{
	uint64_t there = flow_readable(flow);

	if (skip >= there)
		return 0;
	*at = (uint32_t)((flow->consumed + skip) % flow->in_bytes);
	return WEFT_MIN((uint32_t)WEFT_MIN((uint64_t)want, there - skip), flow->in_bytes - *at);
}

/* The total whose lower bits these are, if it lies between known and most. */
static bool advance(uint64_t *known, uint32_t number, uint64_t most)
{
	uint64_t total = *known + ((number - (uint32_t)*known) & WEFT_RSOCK_NUMBER);

	if (total > most)
		return false;
	*known = total;
	return true;
}

bool flow_take(struct flow *flow, enum weft_rsocket_note type, uint32_t number)
{
	switch (type) {
	case WEFT_RSOCK_DATA:
		if (!number || number > flow->in_bytes - flow_readable(flow))
			return false;
		flow->received += number;
		flow->taken++;
		return true;
	case WEFT_RSOCK_MAP:
		flow->taken++;
		return number < WEFT_RSOCK_MAPS;
	case WEFT_RSOCK_BYTES:
		return advance(&flow->sent_freed, number, flow->sent);
	case WEFT_RSOCK_NOTES:
		return advance(&flow->notes_freed, number, flow->notes);
	case WEFT_RSOCK_FIN:
		return number <= (FIN_WRITE | FIN_READ);
	default:
		return false;
	}
}

bool flow_owes_bytes(const struct flow *flow)
{
	return flow->consumed - flow->told_bytes >= flow->in_bytes / 4;
}

bool flow_owes_notes(const struct flow *flow)
{
	return flow->taken - flow->told_notes >= WEFT_RSOCK_NOTES_AHEAD / 4;
}
