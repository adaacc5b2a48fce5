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

	pthread_mutex_lock(&rs->lock);
	link_note(rs, WEFT_RSOCK_BYTES, 12345); /* of a stream that has none */
	pthread_mutex_unlock(&rs->lock);
	char byte;
	CHECK_EQ(rrecv(p.server, &byte, 1, 0), -1);
	CHECK_EQ(errno, EPROTO);
	CHECK_EQ(rrecv(p.server, &byte, 1, 0), 0);
	table_put(rs);
	end(&p);
}
