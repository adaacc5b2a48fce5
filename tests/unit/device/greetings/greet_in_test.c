/* SPDX-License-Identifier: BSD-2-Clause */
#include "greetings/greet_local.h"
#include "unit/device/pair.h"

#include <arpa/inet.h>
#include <sys/socket.h>

static void send_from(int fd, const struct side *to, const struct greet *greet)
{
	struct sockaddr_in6 name = { .sin6_family = AF_INET6 };
	uint8_t bytes[GREET_BYTES_MAX];

	name.sin6_port = htons((uint16_t)(WEFT_DEV_PORT_BASE + to->dev->number));
	memcpy(&name.sin6_addr, to->dev->name.gid, 16);
	CHECK(sendto(fd, bytes, greet_encode(greet, bytes), 0, (struct sockaddr *)&name,
		      sizeof(name)) > 0);
}

/* A third party that knows all numbers but is not at the peer's greeting port, or whose QP is not
 * the one that the program named, or who answers what was not asked. */
TEST(greet_read__lets_no_stranger_in)
{
	struct side *s[2];
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (unsigned i = 0; i < 2; i++) {
		s[i] = side_open();
		side_open_qp(s[i], WEFT_DEV_STRICT, NULL);
		side_init(s[i]);
	}
	REQUIRE(fd >= 0);
	CHECK_EQ(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){ 0 }, sizeof(int)), 0);
	side_ready(s[0], s[1]);
	struct greet greet = { .kind = GREET_PAIR,
		.nonce = 1,
		.number = s[1]->dev->number,
		.end = s[1]->dev->end,
		.qp = { .qpn = s[1]->qp->number,
			.peer_qpn = s[0]->qp->number,
			.eq_number = 99,
			.psn = 1,
			.mpr_psns = 128 } };

	send_from(fd, s[0], &greet); /* from another port */
	greet.qp.qpn++;
	send_from(s[1]->dev->greetings.fd, s[0], &greet); /* another QP of the peer */
	greet.qp.qpn--;
	greet.qp.profile = WEFT_DEV_EXTENDED;
	send_from(s[1]->dev->greetings.fd, s[0], &greet); /* another profile */
	greet.qp.profile = WEFT_DEV_STRICT;
	greet.kind = GREET_PAIR_ANSWER;
	greet.echo = 12345;
	send_from(s[1]->dev->greetings.fd, s[0], &greet); /* an answer out of the blue */
	weft_clock_sleep(30000000);
	CHECK_EQ(weft_dev_qp_info(s[0]->qp, &(struct weft_qp_info){ 0 }), ENOTCONN);
	side_ready(s[1], s[0]);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	close(fd);
	pair_close(s);
}

/* ---- an answer that is right in all but one thing ---- */

struct forgery {
	struct side *victim, *peer, *third;
	struct greet greet;
	int fd;
	const char *source; /* of the sender's own addresses */
};

static void nothing(struct forgery *f)
{
	(void)f;
}
static void other_nonce(struct forgery *f)
{
	f->greet.echo++;
}
static void other_port(struct forgery *f)
{
	f->fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK_EQ(setsockopt(f->fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){ 0 }, sizeof(int)), 0);
}
static void other_address(struct forgery *f)
{
	f->source = "::ffff:127.0.0.2";
}
static void other_host(struct forgery *f)
{
	f->source = "::ffff:127.0.0.2";
	CHECK_EQ(inet_pton(AF_INET6, f->source, f->greet.end.addr[0]), 1);
}
static void other_qp(struct forgery *f)
{
	f->greet.qp.qpn++;
}
static void for_other_qp(struct forgery *f)
{
	f->greet.qp.peer_qpn++;
}
static void for_other_process(struct forgery *f)
{
	f->greet.qp.peer_qpn ^= 1u << SLOT_BITS;
}
static void other_process(struct forgery *f)
{
	f->fd = f->third->dev->greetings.fd;
	f->greet.number = f->third->dev->number;
}
static void other_profile(struct forgery *f)
{
	f->greet.qp.profile = WEFT_DEV_EXTENDED;
}
static void no_turn(struct forgery *f)
{
	f->victim->dev->greetings.tokens = 0;
	f->victim->dev->greetings.second_ns = UINT64_MAX;
}

static void send_forgery(const struct forgery *f)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6,
		.sin6_port = htons((uint16_t)(WEFT_DEV_PORT_BASE + f->victim->dev->number)) };
	uint8_t bytes[GREET_BYTES_MAX], control[CMSG_SPACE(sizeof(struct in6_pktinfo))] = { 0 };
	struct in6_pktinfo from = { 0 };
	struct iovec data = { bytes, greet_encode(&f->greet, bytes) };
	struct msghdr msg = { .msg_name = &to,
		.msg_namelen = sizeof(to),
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	memcpy(&to.sin6_addr, f->victim->dev->name.gid, 16);
	CHECK_EQ(inet_pton(AF_INET6, f->source, &from.ipi6_addr), 1);
	c->cmsg_level = IPPROTO_IPV6;
	c->cmsg_type = IPV6_PKTINFO;
	c->cmsg_len = CMSG_LEN(sizeof(from));
	memcpy(CMSG_DATA(c), &from, sizeof(from));
	CHECK(sendmsg(f->fd, &msg, 0) > 0);
}

static void prepare(struct forgery *f)
{
	struct side *peer = f->peer;

	f->greet = (struct greet){ .kind = GREET_PAIR_ANSWER,
		.number = peer->dev->number,
		.echo = f->victim->qp->nonce,
		.end = peer->dev->end,
		.qp = { .qpn = peer->qp->number,
			.peer_qpn = f->victim->qp->number,
			.eq_number = 98,
			.psn = 1,
			.mpr_psns = 128,
			.profile = WEFT_DEV_STRICT } };
	f->fd = peer->dev->greetings.fd;
	f->source = "::ffff:127.0.0.1";
}

/* Who knows everything, the random number, too, and is not he whom the program named. */
TEST(greet_read__takes_an_answer_that_is_right_in_everything)
{
	static void (*const rows[])(struct forgery * f) = { other_nonce, other_port, other_address,
		other_host, other_qp, for_other_qp, for_other_process, other_process, other_profile,
		no_turn, nothing };
	struct forgery f;
	struct side *s[3];

	for (unsigned i = 0; i < 3; i++) {
		s[i] = side_open();
		side_open_qp(s[i], WEFT_DEV_STRICT, NULL);
		side_init(s[i]);
	}
	side_ready(s[0], s[1]);
	side_learns_planes(s[0], s[1]);
	f.victim = s[0];
	f.peer = s[1];
	f.third = s[2];
	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		bool right = rows[i] == nothing;

		weft_lock_take(&s[0]->dev->lock);
		prepare(&f);
		rows[i](&f);
		send_forgery(&f);
		greet_read(s[0]->dev); /* by loopback it is there */
		if (s[0]->qp->connected != right)
			CHECK_FAIL("row %zu: %d", i, s[0]->qp->connected);
		s[0]->dev->greetings.second_ns = 0;
		weft_lock_give(&s[0]->dev->lock);
		if (rows[i] == other_port)
			close(f.fd);
	}
	for (unsigned i = 0; i < 3; i++)
		side_close(s[i]);
}
