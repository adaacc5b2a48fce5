/* SPDX-License-Identifier: BSD-2-Clause */
#include "patients.h"

#include <sys/socket.h>
#include <unistd.h>

static const uint8_t lo[16] = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 };
static struct asking a;

static enum weft_doctor_peer_state meet_at(const char *host, uint16_t port)
{
	make_healthy();
	memset(&facts.peer, 0, sizeof(facts.peer));
	memset(&a, 0, sizeof(a));
	a.facts = &facts;
	a.line = -1;
	a.deadline_ns = weft_clock_now(NULL) + 300000000;
	meet(&a, host, port);
	if (a.line >= 0)
		close(a.line);
	return facts.peer.state;
}

TEST(meet__tells_an_absent_doctor)
{
	int fd = plane_socket(lo, 0, 0); /* a number that is nobody's TCP port for long */

	CHECK_EQ(meet_at("127.0.0.1", plane_socket_number(fd)), WEFT_DOCTOR_PEER_ABSENT);
	CHECK_EQ(facts.peer.tcp_port, plane_socket_number(fd));
	CHECK_STR(facts.peer.name, "127.0.0.1");
	close(fd);
}

TEST(meet__tells_a_name_that_is_none)
{
	CHECK_EQ(meet_at("nosuch.invalid", 1), WEFT_DOCTOR_PEER_UNKNOWN);
	CHECK(*facts.peer.why);
}

TEST(meet__takes_brackets_off_and_tells_another_program)
{
	int door = weft_inet_socket(SOCK_STREAM);

	REQUIRE(door >= 0 && !weft_inet_bind(door, NULL, 0) && !listen(door, 4));
	CHECK_EQ(meet_at("[::ffff:127.0.0.1]", plane_socket_number(door)), WEFT_DOCTOR_PEER_OTHER);
	CHECK_STR(facts.peer.name, "::ffff:127.0.0.1");
	close(door);
}

TEST(pair_planes__takes_the_peers_order_where_nobody_named_one)
{
	uint8_t first[16];

	make_healthy();
	memcpy(first, facts.peer.plane_addr[0], 16);
	memcpy(facts.peer.plane_addr[0], facts.peer.plane_addr[1], 16);
	memcpy(facts.peer.plane_addr[1], first, 16);
	pair_planes(&facts);
	CHECK_STR(facts.plane[0].word, "eth0"); /* named: as they are */
	facts.are_planes_named = false;
	pair_planes(&facts);
	CHECK_STR(facts.plane[0].word, "eth1");
	CHECK_STR(facts.plane[1].word, "eth0");
	facts.peer.plane_addr[0][13] = 9; /* routed: no subnet is shared */
	pair_planes(&facts);
	CHECK_STR(facts.plane[0].word, "eth1");
}
