/* SPDX-License-Identifier: BSD-2-Clause */
#include "stranger.h"

#include <weft/net.h>

TEST(wire_handle__hangs_up_who_speaks_something_else)
{
	struct pair p = ask(RDMA_PS_TCP, "x", false);
	char noise[sizeof(struct message)];

	memset(noise, 'x', sizeof(noise));
	int fd = call(p.listener);
	CHECK_EQ(send(fd, noise, sizeof(noise), 0), (ssize_t)sizeof(noise));
	(void)hear(fd, GREETING);
	CHECK(recv(fd, noise, sizeof(noise), 0) <= 0); /* it is over */
	close(fd);
	fd = call(p.listener); /* and one that says nothing */
	close(fd);
	CHECK(!rdma_reject(p.passive, NULL, 0)); /* the honest one is still there */
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_REJECTED));
	end(&p);
}

TEST(wire_hang_up__is_seen_by_the_peer)
{
	struct pair p = ask(RDMA_PS_TCP, "x", true);

	CHECK(!rdma_accept(p.passive, NULL));
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_ESTABLISHED));
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_ESTABLISHED));
	weft_lock_take(&cm_lock);
	wire_hang_up(id_of(p.active)); /* as when its process dies */
	weft_lock_give(&cm_lock);
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_DISCONNECTED));
	end(&p);
}

/* Later than what the queue pairs may still have under way. */
TEST(wire_handle__tells_of_a_parting_a_little_later)
{
	struct pair p = ask(RDMA_PS_TCP, "x", true);

	CHECK(!rdma_accept(p.passive, NULL));
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_ESTABLISHED));
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_ESTABLISHED));
	uint64_t began_ns = weft_clock_now(NULL);
	CHECK(!rdma_disconnect(p.active));
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_DISCONNECTED));
	CHECK(weft_clock_now(NULL) - began_ns >= 50000000);
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_DISCONNECTED));
	end(&p);
}

TEST(wire_hang_up__forgets_a_parting_of_an_id_that_goes)
{
	struct pair p = ask(RDMA_PS_TCP, "x", true), q = ask(RDMA_PS_TCP, "x", true);

	CHECK(!rdma_accept(p.passive, NULL));
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_ESTABLISHED));
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_ESTABLISHED));
	CHECK(!rdma_accept(q.passive, NULL));
	rdma_ack_cm_event(want(q.client, RDMA_CM_EVENT_ESTABLISHED));
	rdma_ack_cm_event(want(q.server, RDMA_CM_EVENT_ESTABLISHED));
	CHECK(!rdma_disconnect(p.active));
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_DISCONNECTED));
	end(&p);
	CHECK(!rdma_disconnect(q.active)); /* the others' are told all the same */
	rdma_ack_cm_event(want(q.server, RDMA_CM_EVENT_DISCONNECTED));
	rdma_ack_cm_event(want(q.client, RDMA_CM_EVENT_DISCONNECTED));
	end(&q);
}

/* ---- what is awaited, and does not come ---- */

TEST(wire_due__tells_who_asks_that_the_program_does_not_answer)
{
	struct pair p = ask(RDMA_PS_TCP, "x", true);
	double left_s = hurry(p.active);

	CHECK(left_s > 60 && left_s <= 69); /* as the kernel's CM */
	struct rdma_cm_event *event = want(p.client, RDMA_CM_EVENT_UNREACHABLE);
	CHECK_EQ(event->status, -ETIMEDOUT);
	rdma_ack_cm_event(event);
	end(&p);
}

TEST(wire_due__tells_who_has_answered_that_nobody_is_ready)
{
	struct pair p = ask(RDMA_PS_TCP, "x", true);

	CHECK(!rdma_accept(p.passive, NULL)); /* and the client does not look */
	double left_s = hurry(p.passive);
	CHECK(left_s > 60 && left_s <= 69);
	struct rdma_cm_event *event = want(p.server, RDMA_CM_EVENT_UNREACHABLE);
	CHECK_EQ(event->status, -ETIMEDOUT);
	rdma_ack_cm_event(event);
	end(&p);
}

TEST(wire_due__parts_from_a_peer_who_says_nothing)
{
	struct pair p = ask(RDMA_PS_TCP, "x", true);
	int fd = call(p.listener);

	say(fd, REQUEST);
	struct rdma_cm_event *event = want(p.server, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *id = event->id;
	rdma_ack_cm_event(event);
	CHECK(!rdma_accept(id, NULL));
	say(fd, READY);
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_ESTABLISHED));
	CHECK(!rdma_disconnect(id));
	double left_s = hurry(id);
	CHECK(left_s > 60 && left_s <= 69);
	event = want(p.server, RDMA_CM_EVENT_DISCONNECTED);
	CHECK_EQ(event->status, -ETIMEDOUT);
	rdma_ack_cm_event(event);
	CHECK(!rdma_destroy_id(id));
	close(fd);
	end(&p);
}

TEST(wire_due__ends_time_wait_at_both_ends)
{
	struct pair p = ask(RDMA_PS_TCP, "x", true);

	CHECK(!rdma_accept(p.passive, NULL));
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_ESTABLISHED));
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_ESTABLISHED));
	CHECK(!rdma_disconnect(p.active));
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_DISCONNECTED));
	uint64_t began_ns = weft_clock_now(NULL);
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_DISCONNECTED));
	CHECK(!rdma_disconnect(p.passive)); /* as programs answer */
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_TIMEWAIT_EXIT));
	CHECK(weft_clock_now(NULL) - began_ns >= 450000000);
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_TIMEWAIT_EXIT));
	end(&p);
}

/* Whoever has a connection of his own says nothing about another's. */
TEST(wire_handle__believes_a_peer_about_his_own_connection_alone)
{
	struct pair p = ask(RDMA_PS_TCP, "x", true);
	const enum message_type words[] = { PARTING, PARTED, REJECTION, READY, REPLY, GREETING };

	CHECK(!rdma_accept(p.passive, NULL));
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_ESTABLISHED));
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_ESTABLISHED));
	for (size_t i = 0; i < WEFT_COUNT(words); i++) {
		int fd = call(p.listener);
		struct message m = hear(fd, GREETING);

		m.type = (uint8_t)words[i]; /* with the numbers of the one whom it would hurt */
		m.qpn = htobe32(p.active->qp->qp_num);
		m.space = (uint8_t)RDMA_PS_TCP;
		memcpy(m.gid, id_of(p.active)->local.gid, sizeof(m.gid));
		CHECK_EQ(send(fd, &m, sizeof(m), MSG_NOSIGNAL), (ssize_t)sizeof(m));
		CHECK(is_hung_up(fd, 10000) || words[i] == PARTING); /* which is answered first */
		close(fd);
	}
	CHECK_EQ(ids(TOGETHER), 2);
	CHECK(!rdma_disconnect(p.active));
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_DISCONNECTED));
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_DISCONNECTED));
	end(&p);
}
