/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "rsocket_local.h"

TEST(flow_can_send__ends_at_each_ring_s_end)
{
	struct flow flow;
	uint32_t out, at;

	flow_init(&flow, 8192, 4096, 4096);
	CHECK_EQ(flow_can_send(&flow, 3000, &out, &at), 3000);
	flow_send(&flow, 3000);
	CHECK_EQ(flow_can_send(&flow, 3000, &out, &at), 1096);
	CHECK_EQ(at, 3000);
	flow_send(&flow, 1096);
	CHECK_EQ(flow_can_send(&flow, 1, &out, &at), 0);
	CHECK(!flow_is_roomy(&flow));
	CHECK(flow_take(&flow, WEFT_RSOCK_BYTES, 4096));
	CHECK_EQ(flow_can_send(&flow, 9999, &out, &at), 4096);
	CHECK_EQ(at, 0);
	CHECK_EQ(out, 4096);
	CHECK(flow_is_roomy(&flow));
}

TEST(flow_can_note__waits_for_the_peer_s_receives)
{
	struct flow flow;

	flow_init(&flow, 8192, 4096, 4096);
	for (int i = 0; i < WEFT_RSOCK_NOTES_AHEAD; i++)
		flow_send(&flow, 1);
	CHECK(!flow_can_note(&flow));
	CHECK(flow_take(&flow, WEFT_RSOCK_NOTES, 64));
	CHECK(flow_can_note(&flow));
}

TEST(flow_take__refuses_what_no_peer_would_say)
{
	struct flow flow;

	flow_init(&flow, 8192, 4096, 4096);
	CHECK(!flow_take(&flow, WEFT_RSOCK_DATA, 0));
	CHECK(!flow_take(&flow, WEFT_RSOCK_DATA, 4097));
	CHECK(!flow_take(&flow, WEFT_RSOCK_BYTES, 1));
	CHECK(!flow_take(&flow, WEFT_RSOCK_NOTES, WEFT_RSOCK_NUMBER));
	CHECK(!flow_take(&flow, WEFT_RSOCK_FIN, 4));
	CHECK(!flow_take(&flow, WEFT_RSOCK_MAP, WEFT_RSOCK_MAPS));
	CHECK(!flow_take(&flow, 0, 0));
	CHECK(!flow_take(&flow, 7, 0));
}

TEST(flow_take__counts_round_the_number_s_end)
{
	struct flow flow;

	flow_init(&flow, 8192, 4096, 4096);
	flow.sent = flow.staged = flow.sent_freed = WEFT_RSOCK_NUMBER;
	flow_send(&flow, 100);
	CHECK(flow_take(&flow, WEFT_RSOCK_BYTES, 99));
	CHECK_EQ(flow.sent_freed, flow.sent);
}

TEST(flow_can_read__follows_the_stream_round_its_ring)
{
	struct flow flow;
	uint32_t at;

	flow_init(&flow, 8192, 4096, 4096);
	flow.received = flow.consumed = 4000;
	CHECK(flow_take(&flow, WEFT_RSOCK_DATA, 200));
	CHECK_EQ(flow_can_read(&flow, 500, 0, &at), 96);
	CHECK_EQ(flow_can_read(&flow, 500, 96, &at), 104);
	CHECK_EQ(at, 0);
	CHECK_EQ(flow_can_read(&flow, 500, 200, &at), 0);
}

TEST(flow_owes__at_a_quarter)
{
	struct flow flow;

	flow_init(&flow, 8192, 4096, 4096);
	flow.consumed = 1023;
	flow.taken = 63;
	CHECK(!flow_owes_bytes(&flow));
	CHECK(!flow_owes_notes(&flow));
	flow.consumed++;
	flow.taken++;
	CHECK(flow_owes_bytes(&flow));
	CHECK(flow_owes_notes(&flow));
}
