/* SPDX-License-Identifier: BSD-2-Clause */
/* The other end is a socket of the kernel's here, and says what it likes. */
#include "lo.h"

#include <endian.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

struct where { /* as on the wire: ASK and ANSWER */
	struct head head;
	uint64_t token;
	uint32_t qpn, qkey;
	uint8_t gid[16];
};

/* Of the kernel's, at the place of a socket of datagrams with this port. */
static int peer_at(uint16_t port)
{
	struct sockaddr_in name = loopback(port);
	int fd;

	enter();
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	REQUIRE(fd >= 0 && !bind(fd, (struct sockaddr *)&name, sizeof(name)));
	return fd;
}

/* The next packet of this kind that has come; what else comes before is dropped. */
static ssize_t hear(int peer, uint8_t kind, void *packet, size_t bytes, struct sockaddr_in *from)
{
	struct pollfd ready = { .fd = peer, .events = POLLIN };
	socklen_t from_bytes = sizeof(*from);
	struct head head = { 0 };
	ssize_t n = -1;

	while (head.kind != kind) {
		REQUIRE(poll(&ready, 1, LIMIT_MS) == 1);
		n = recvfrom(peer, packet, bytes, 0, (struct sockaddr *)from, &from_bytes);
		REQUIRE(n >= (ssize_t)sizeof(head));
		memcpy(&head, packet, sizeof(head));
		CHECK_EQ(be32toh(head.magic), DGRAM_MAGIC);
	}
	return n;
}

static void say(int peer, const void *packet, size_t bytes, const struct sockaddr_in *to)
{
	CHECK_EQ(sendto(peer, packet, bytes, 0, (const struct sockaddr *)to, sizeof(*to)),
		(ssize_t)bytes);
}

/* The number of the peer's queue pair as the socket has it, after all that has come was read. */
static uint32_t qpn_at(struct rsock *rs)
{
	weft_lock_take(&rs->lock);
	rs->cm_is_due = true;
	dgram_progress(rs);
	uint32_t qpn = rs->dgram->ways[0].qpn;

	weft_lock_give(&rs->lock);
	return qpn;
}

/* An answer is believed that comes from where the question went to, with its number. */
TEST(way_hear__believes_who_was_asked_and_no_one_else)
{
	int fd = open_at(7101), peer = peer_at(7102), stranger = peer_at(7103);
	struct rsock *rs = table_get(fd);
	struct where asked, answer;
	struct sockaddr_in from;

	REQUIRE(rs);
	CHECK_EQ(send_to(fd, 7102, "x", 1), 1);
	CHECK_EQ(hear(peer, ASK, &asked, sizeof(asked), &from), (ssize_t)sizeof(asked));
	CHECK_EQ(ntohs(from.sin_port), 7101);
	CHECK_EQ(asked.head.port, htons(7101));
	answer = (struct where){ .head = { .magic = htobe32(DGRAM_MAGIC), .kind = ANSWER },
		.token = asked.token,
		.qpn = htobe32(0x1234),
		.qkey = htobe32(7) };
	memcpy(answer.gid, rs->dgram->gid, 16);
	say(stranger, &answer, sizeof(answer), &from);
	CHECK_EQ(qpn_at(rs), 0);
	answer.token ^= 1;
	say(peer, &answer, sizeof(answer), &from);
	CHECK_EQ(qpn_at(rs), 0);
	answer.token ^= 1;
	say(peer, &answer, sizeof(answer) - 1, &from);
	answer.head.magic ^= 1;
	say(peer, &answer, sizeof(answer), &from);
	answer.head.magic ^= 1;
	CHECK_EQ(qpn_at(rs), 0);
	say(peer, &answer, sizeof(answer), &from);
	CHECK_EQ(qpn_at(rs), 0x1234);
	table_put(rs);
	CHECK_EQ(rclose(fd), 0);
	(void)close(peer);
	(void)close(stranger);
}

TEST(way_hear__answers_where_the_question_came_from)
{
	int fd = open_at(7104), peer = peer_at(7105);
	struct sockaddr_in to = loopback(7104), from;
	struct rsock *rs = table_get(fd);
	struct where ask = { .head = { .magic = htobe32(DGRAM_MAGIC),
				     .kind = ASK,
				     .family = AF_INET,
				     .port = htons(9),
				     .address = { 10, 1, 2, 3 } },
		.token = 77 },
		     answer;

	REQUIRE(rs);
	say(peer, &ask, sizeof(ask), &to);
	(void)qpn_at(rs);
	CHECK_EQ(hear(peer, ANSWER, &answer, sizeof(answer), &from), (ssize_t)sizeof(answer));
	CHECK_EQ(answer.token, 77);
	CHECK_EQ(be32toh(answer.qpn), rs->dgram->qp->qp_num);
	CHECK_EQ(be32toh(answer.qkey), rs->dgram->qkey);
	CHECK(!memcmp(answer.gid, rs->dgram->gid, 16));
	table_put(rs);
	CHECK_EQ(rclose(fd), 0);
	(void)close(peer);
}

/* Who was there and is silent now is sent to by the kernel, which knows where. */
TEST(way_find__goes_by_the_kernel_when_nobody_answers_any_more)
{
	int fd = open_at(7106), peer = peer_at(7107);
	struct rsock *rs = table_get(fd);
	struct sockaddr_in from;
	struct where packet;

	REQUIRE(rs);
	CHECK_EQ(send_to(fd, 7107, "x", 1), 1);
	struct way *way = &rs->dgram->ways[0];

	for (unsigned i = 1; i < 4; i++) { /* asked in vain; the first one was by sending */
		way->qpn = 0x1234;
		way->asked_ms = -100000;
		CHECK(way_find(rs, &way->to) == way);
		CHECK_EQ(way->qpn, i < 3 ? 0x1234 : 0);
	}
	CHECK_EQ(send_to(fd, 7107, "by the kernel", 13), 13);
	CHECK_EQ(
		hear(peer, DATA, &packet, sizeof(packet), &from), (ssize_t)sizeof(struct head) + 1);
	CHECK_EQ(hear(peer, DATA, &packet, sizeof(packet), &from),
		(ssize_t)sizeof(struct head) + 13);
	CHECK(!memcmp((char *)&packet + sizeof(struct head), "by the kernel", 13));
	table_put(rs);
	CHECK_EQ(rclose(fd), 0);
	(void)close(peer);
}

/* Of several addresses of a host the receiver sees the one that was bound to, and can answer it. */
TEST(way_find__says_the_address_that_is_bound_to)
{
	struct sockaddr_in name = { .sin_family = AF_INET,
		.sin_port = htons(7110),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 8) };
	int fd = open_at(0), other = open_at(7111);
	struct sockaddr_in from = { 0 };
	socklen_t bytes = sizeof(from);
	char got[8];

	CHECK_EQ(rbind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	CHECK_EQ(send_to(fd, 7111, "x", 1), 1);
	REQUIRE(is_readable(other));
	CHECK_EQ(rrecvfrom(other, got, sizeof(got), 0, (struct sockaddr *)&from, &bytes), 1);
	CHECK_EQ(from.sin_addr.s_addr, name.sin_addr.s_addr);
	CHECK_EQ(from.sin_port, name.sin_port);
	CHECK_EQ(rclose(fd), 0);
	CHECK_EQ(rclose(other), 0);
}

/* There are so many rows; the one that was used the longest time ago is given up. */
TEST(way_find__gives_up_the_one_not_used_for_longest)
{
	int fd = open_at(7108);
	struct rsock *rs = table_get(fd);
	struct sockaddr_storage to = { 0 };
	struct sockaddr_in name;

	REQUIRE(rs);
	for (uint16_t i = 0; i < WAYS; i++) {
		name = loopback((uint16_t)(20000 + i));
		memcpy(&to, &name, sizeof(name));
		struct way *way = way_find(rs, &to);

		REQUIRE(way == &rs->dgram->ways[i]);
		way->used_ms -= i == 5 ? 1000 : 0;
	}
	name = loopback(30000);
	memcpy(&to, &name, sizeof(name));
	CHECK(way_find(rs, &to) == &rs->dgram->ways[5]);
	CHECK(name_is_same(&rs->dgram->ways[5].to, &to));
	table_put(rs);
	CHECK_EQ(rclose(fd), 0);
}
