/* SPDX-License-Identifier: BSD-2-Clause */
#include "twin.h"

TEST(link_meet__refuses_strangers)
{
	struct rsock rs = { .out_bytes = 4096, .in_bytes = 4096 };
	struct hello hello = { .magic = htobe32(0x57525331), .ring_bytes = htobe32(8192) };

	CHECK(link_meet(&rs, &hello));
	CHECK_EQ(rs.flow.peer_bytes, 8192);
	hello.ring_bytes = htobe32(64);
	CHECK(!link_meet(&rs, &hello));
	hello.ring_bytes = htobe32(1u << 30);
	CHECK(!link_meet(&rs, &hello));
	hello = (struct hello){ .ring_bytes = htobe32(8192) };
	CHECK(!link_meet(&rs, &hello));
}

TEST(link_drain__breaks_at_a_note_that_makes_no_sense)
{
	struct pair p = meet();
	struct rsock *rs = table_get(p.client);

	weft_lock_take(&rs->lock);
	link_note(rs, WEFT_RSOCK_BYTES, 12345); /* of a stream that has none */
	weft_lock_give(&rs->lock);
	char byte;
	CHECK_EQ(rrecv(p.server, &byte, 1, 0), -1);
	CHECK_EQ(errno, EPROTO);
	CHECK_EQ(rrecv(p.server, &byte, 1, 0), 0);
	table_put(rs);
	end(&p);
}

/* All that the ring takes is read before the last word of connecting is there: room is owed. */
TEST(link_joined__tells_the_room_that_was_made_before)
{
	static uint8_t bytes[20000];
	struct pair p = meet_with(5000);
	struct rsock *rs = table_get(p.server);

	while (rs->state != JOINED) {
		weft_lock_take(&rs->lock);
		wait_progress(rs);
		rs->cm_is_due = true;
		weft_lock_give(&rs->lock);
	}
	rs->state = JOINING;
	ssize_t n = rsend(p.client, bytes, sizeof(bytes), MSG_DONTWAIT);

	CHECK(n > 0 && n < (ssize_t)sizeof(bytes));
	CHECK_EQ(rrecv(p.server, bytes, (size_t)n, MSG_WAITALL), n);
	CHECK_EQ(rsend(p.client, bytes, 1, MSG_DONTWAIT), -1);
	weft_lock_take(&rs->lock);
	link_joined(rs);
	weft_lock_give(&rs->lock);
	CHECK_EQ(rsend(p.client, bytes, 1, 0), 1);
	table_put(rs);
	end(&p);
}
