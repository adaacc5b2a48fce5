/* SPDX-License-Identifier: BSD-2-Clause */
#include "twin.h"

TEST(rclose__ends_the_peer_s_reading_behind_all_data)
{
	struct pair p = meet();
	char got[8];

	CHECK_EQ(rsend(p.client, "last", 4, 0), 4);
	CHECK_EQ(rclose(p.client), 0);
	p.client = -1;
	CHECK_EQ(rrecv(p.server, got, sizeof(got), 0), 4);
	CHECK_MEM(got, "last", 4);
	CHECK_EQ(rrecv(p.server, got, sizeof(got), 0), 0);
	CHECK_EQ(rsend(p.server, "x", 1, 0), -1);
	CHECK_EQ(errno, EPIPE);
	CHECK_EQ(rclose(1000), -1);
	CHECK_EQ(errno, EBADF);
	end(&p);
}

TEST(rshutdown__closes_one_way)
{
	struct pair p = meet();
	char got;

	CHECK_EQ(rshutdown(p.client, SHUT_WR), 0);
	CHECK_EQ(rsend(p.client, "x", 1, 0), -1);
	CHECK_EQ(errno, EPIPE);
	CHECK_EQ(rrecv(p.server, &got, 1, 0), 0);
	CHECK_EQ(rsend(p.server, "y", 1, 0), 1);
	CHECK_EQ(rrecv(p.client, &got, 1, 0), 1);
	CHECK_EQ(got, 'y');
	CHECK_EQ(rshutdown(p.listener, SHUT_WR), -1);
	CHECK_EQ(errno, ENOTCONN);
	CHECK_EQ(rshutdown(p.client, 7), -1);
	CHECK_EQ(errno, EINVAL);
	end(&p);
}

TEST(link_break__is_told_when_the_peer_is_lost)
{
	struct pair p = meet();
	struct rsock *rs = table_get(p.client);
	char got;

	weft_lock_take(&rs->lock);
	(void)rdma_disconnect(rs->id); /* without a word by the queue pair */
	weft_lock_give(&rs->lock);
	table_put(rs);
	CHECK_EQ(rrecv(p.server, &got, 1, 0), -1);
	CHECK_EQ(errno, ECONNRESET);
	end(&p);
}
