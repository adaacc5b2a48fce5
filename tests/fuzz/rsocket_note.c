/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rsocket_note - what a stream's peer says: his hello, then notes, in between reads and writes
 * here.
 *
 * Whatever he says, no number leads out of a ring, and room that was never given is not believed.
 * The first bytes are the hello; then five each: a byte for what happens, four for how much.
 */
#include "rsocket_local.h"

#include <endian.h>

static void check(const struct flow *flow)
{
	uint32_t out = 0, at = 0, n;

	WEFT_ASSERT(flow->received - flow->consumed <= flow->in_bytes);
	WEFT_ASSERT(flow->sent_freed <= flow->sent && flow->notes_freed <= flow->notes);
	WEFT_ASSERT(flow->sent - flow->sent_freed <= flow->peer_bytes);
	n = flow_can_send(flow, UINT32_MAX, &out, &at);
	WEFT_ASSERT(n <= flow->out_bytes - out);
	WEFT_ASSERT(at < flow->peer_bytes && n <= flow->peer_bytes - at);
	n = flow_can_read(flow, UINT32_MAX, 0, &at);
	WEFT_ASSERT(!n || (at < flow->in_bytes && n <= flow->in_bytes - at));
}

static bool step(struct flow *flow, uint8_t what, uint32_t number)
{
	uint32_t out, at, n;

	switch (what % 4) {
	case 0: /* a program that writes */
		n = flow_can_send(flow, number, &out, &at);
		if (!n)
			return true;
		flow_send(flow, n);
		flow->posted++;
		return true;
	case 1: /* all that was under way has arrived */
		flow->completed = flow->staged;
		flow->posted = 0;
		return true;
	case 2: /* a program that reads */
		flow->consumed += flow_can_read(flow, number, 0, &at);
		if (flow_owes_bytes(flow))
			flow->told_bytes = flow->consumed;
		if (flow_owes_notes(flow))
			flow->told_notes = flow->taken;
		return true;
	default: /* the peer */
		return flow_take(
			flow, number >> WEFT_RSOCK_NUMBER_BITS, number & WEFT_RSOCK_NUMBER);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rsock rs;
	struct hello hello;

	if (size < sizeof(hello))
		return 0;
	memcpy(&hello, data, sizeof(hello));
	rs = (struct rsock){ .out_bytes = 8192, .in_bytes = 4096 };
	if (!link_meet(&rs, &hello))
		return 0;
	for (size_t at = sizeof(hello); at + 5 <= size; at += 5) {
		uint32_t number;

		memcpy(&number, data + at + 1, sizeof(number));
		if (!step(&rs.flow, data[at], number))
			break; /* the connection ends here */
		check(&rs.flow);
	}
	return 0;
}
