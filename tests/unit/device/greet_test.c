/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

#include <arpa/inet.h>
#include <sys/socket.h>

TEST(greet_start__waits_for_a_peer_that_comes_later)
{
	struct side *s[2];

	for (unsigned i = 0; i < 2; i++) {
		s[i] = side_open();
		side_open_qp(s[i], WEFT_DEV_STRICT, NULL);
		side_init(s[i]);
	}
	side_ready(s[0], s[1]);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
	weft_clock_sleep(30000000);
	side_ready(s[1], s[0]);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	pair_close(s);
}

TEST(greet_timers__gives_up_where_nobody_is)
{
	struct side *s = side_open();
	struct weft_dev_qp_attr attr = { .state = WEFT_DEV_RTR,
		.peer_qpn = 1000u << SLOT_BITS | 20,
		.timeout = 10,
		.retry = 1 };

	side_open_qp(s, WEFT_DEV_STRICT, NULL);
	side_init(s);
	weft_dev_gid(s->dev, attr.gid);
	CHECK_EQ(weft_dev_qp_modify(s->qp, &attr,
			 WEFT_DEV_SET_STATE | WEFT_DEV_SET_PEER | WEFT_DEV_SET_PEER_QPN |
				 WEFT_DEV_SET_TIMEOUT | WEFT_DEV_SET_RETRY),
		0);
	attr.state = WEFT_DEV_RTS;
	CHECK_EQ(weft_dev_qp_modify(s->qp, &attr, WEFT_DEV_SET_STATE), 0);
	CHECK_EQ(side_post(s, to_memory(s, WEFT_DEV_WRITE, 0), 0, 8), 0);
	CHECK_EQ(side_wait(s).status, WEFT_DEV_RETRY_EXC_ERR);
	side_close(s);
}

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
	struct greet greet = { .kind = GREET_PAIR, .nonce = 1, .number = s[1]->dev->number,
		.end = s[1]->dev->end,
		.qp = { .qpn = s[1]->qp->number, .peer_qpn = s[0]->qp->number, .eq_number = 99,
			.psn = 1, .mpr_psns = 128 } };

	send_from(fd, s[0], &greet); /* from another port */
	greet.qp.qpn++;
	send_from(s[1]->dev->greet_fd, s[0], &greet); /* another QP of the peer */
	greet.qp.qpn--;
	greet.qp.profile = WEFT_DEV_EXTENDED;
	send_from(s[1]->dev->greet_fd, s[0], &greet); /* another profile */
	greet.qp.profile = WEFT_DEV_STRICT;
	greet.kind = GREET_PAIR_ANSWER;
	greet.echo = 12345;
	send_from(s[1]->dev->greet_fd, s[0], &greet); /* an answer out of the blue */
	weft_clock_sleep(30000000);
	CHECK_EQ(weft_dev_qp_info(s[0]->qp, &(struct weft_qp_info){ 0 }), ENOTCONN);
	side_ready(s[1], s[0]);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	close(fd);
	pair_close(s);
}
