/* SPDX-License-Identifier: BSD-2-Clause */
#include "twin.h"

TEST(riowrite__puts_data_where_the_peer_has_mapped)
{
	struct pair p = meet();
	char memory[100] = { 0 }, byte;

	CHECK_EQ(riomap(p.server, memory, sizeof(memory), PROT_WRITE, 0, 1000), 1000);
	CHECK_EQ(riomap(p.server, memory, 10, PROT_WRITE, 0, 1050), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(riomap(p.server, memory, 10, PROT_WRITE, 0, -1), 1100);
	CHECK_EQ(rsend(p.server, "m", 1, 0), 1);
	CHECK_EQ(rrecv(p.client, &byte, 1, 0), 1);
	CHECK_EQ(riowrite(p.client, "hello", 5, 1010, 0), 5);
	CHECK_EQ(rsend(p.client, "w", 1, 0), 1);
	CHECK_EQ(rrecv(p.server, &byte, 1, 0), 1);
	CHECK_MEM(memory + 10, "hello", 5);
	CHECK_EQ(riowrite(p.client, "x", 1, 5000, 0), (size_t)-1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(riounmap(p.server, memory, sizeof(memory)), 0);
	CHECK_EQ(riounmap(p.server, memory, sizeof(memory)), -1);
	CHECK_EQ(rsend(p.server, "u", 1, 0), 1);
	CHECK_EQ(rrecv(p.client, &byte, 1, 0), 1);
	CHECK_EQ(riowrite(p.client, "x", 1, 1000, 0), (size_t)-1);
	end(&p);
}

/* Who waits for the last byte may look at all others then, whatever way they went. */
TEST(riowrite__ends_with_a_packet_that_follows_all_others)
{
	struct pair p = meet();
	static char memory[1000], data[1000];
	char byte;

	memset(data, 0x5a, sizeof(data));
	CHECK_EQ(riomap(p.server, memory, sizeof(memory), PROT_WRITE, 0, 0), 0);
	CHECK_EQ(rsend(p.server, "m", 1, 0), 1);
	CHECK_EQ(rrecv(p.client, &byte, 1, 0), 1);
	twin.writes = twin.after_all = 0;
	CHECK_EQ(riowrite(p.client, data, sizeof(data), 0, 0), sizeof(data));
	CHECK_EQ(twin.writes, 2);
	CHECK_EQ(twin.last_bytes, 64);
	CHECK_EQ(riowrite(p.client, data, 10, 0, 0), 10);
	CHECK_EQ(twin.writes, 3);
	CHECK_EQ(twin.after_all, 3);
	CHECK_MEM(memory, data, sizeof(data));
	end(&p);
}
