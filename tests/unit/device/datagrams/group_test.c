/* SPDX-License-Identifier: BSD-2-Clause */
#include "datagrams/datagrams_local.h"
#include "unit/device/pair.h"

#include <netinet/in.h>

static const uint8_t gid_a[16] = { 0xff, 0x12, [15] = 7 };
static const uint8_t gid_b[16] = { [10] = 0xff, [11] = 0xff, [12] = 239, [15] = 1 };

/* Sends one datagram of what stands at the beginning of the memory. */
static void send_to_group(struct side *s, struct weft_dev_ah *ah, uint64_t id)
{
	CHECK_EQ(side_post(s,
			 (struct weft_dev_send){ .id = id, .op = WEFT_DEV_SEND,
				 .flags = WEFT_DEV_SIGNALED, .ah = ah, .peer_qpn = GROUP_QPN,
				 .qkey = 77 },
			 0, 64),
		0);
}

/* The same for a completion of a receive, while sends complete. */
static struct weft_dev_wc wait_recv(struct side *s)
{
	struct weft_dev_wc wc = side_wait(s);

	while (wc.status == WEFT_DEV_OK && wc.op == WEFT_DEV_DONE_SEND)
		wc = side_wait(s);
	return wc;
}

TEST(group_is__knows_groups_by_their_form)
{
	CHECK(group_is(gid_a) && group_is(gid_b));
	CHECK(!group_is((const uint8_t[16]){ 0xfe, 0x80, [15] = 1 }));
	CHECK(!group_is((const uint8_t[16]){ [10] = 0xff, [11] = 0xff, [12] = 10 }));
}

TEST(weft_dev_group_join__lets_what_another_device_sends_in)
{
	struct side *s[2];
	struct weft_dev_ah *unicast = pair_datagrams(s), *ah;
	struct weft_dev_wc wc;

	CHECK_EQ(weft_dev_group_join(s[1]->qp, gid_a), 0);
	CHECK_EQ(weft_dev_group_join(s[1]->qp, gid_a), 0); /* twice is once */
	CHECK_EQ(s[1]->qp->n_groups, 1);
	CHECK_EQ(weft_dev_ah_open(s[0]->pd, gid_a, &ah), 0);
	memset(s[0]->memory, 0x5a, 64);
	CHECK_EQ(side_recv(s[1], 3, 0, 4096), 0);
	send_to_group(s[0], ah, 9);
	wc = side_wait(s[0]);
	CHECK_EQ(wc.status, WEFT_DEV_OK);
	CHECK_EQ(wc.id, 9);
	wc = side_wait(s[1]);
	CHECK_EQ(wc.status, WEFT_DEV_OK);
	CHECK_EQ(wc.id, 3);
	CHECK_EQ(wc.len_bytes, WEFT_GRH_BYTES + 64);
	CHECK_EQ(wc.src_qpn, weft_dev_qp_number(s[0]->qp));
	CHECK_EQ(s[1]->memory[WEFT_GRH_BYTES + 63], 0x5a);
	CHECK(!memcmp(s[1]->memory + 8, s[0]->dev->name.gid, 16)); /* from whom, to which group */
	CHECK(!memcmp(s[1]->memory + 24, gid_a, 16));
	CHECK_EQ(s[0]->dev->datagrams.copies, 1);

	/* Who has left is sent nothing: the sender has heard of it, or asks in vain soon. */
	CHECK_EQ(weft_dev_group_leave(s[1]->qp, gid_a), 0);
	CHECK_EQ(weft_dev_group_leave(s[1]->qp, gid_a), EINVAL);
	for (uint64_t copies = 0, i = 0; i < 3000; i++) {
		copies = s[0]->dev->datagrams.copies;
		send_to_group(s[0], ah, i);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
		if (s[0]->dev->datagrams.copies == copies)
			break;
		CHECK(i < 2999);
		usleep(10000);
	}
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	CHECK_EQ(weft_dev_ah_close(unicast), 0);
	pair_close(s);
}

TEST(weft_dev_group_join__serves_neighbours_of_one_device_and_not_the_sender)
{
	struct side *s[2];
	struct weft_dev_ah *unicast = pair_datagrams(s), *ah;
	struct weft_dev_qp *sender = s[0]->qp;

	side_open_qp(s[0], WEFT_DEV_DATAGRAM, NULL); /* a second one */
	side_init(s[0]);
	struct weft_dev_qp_attr attr = { .state = WEFT_DEV_RTR };

	CHECK_EQ(weft_dev_qp_modify(s[0]->qp, &attr, WEFT_DEV_SET_STATE), 0);
	CHECK_EQ(weft_dev_group_join(s[0]->qp, gid_b), 0);
	CHECK_EQ(weft_dev_group_join(sender, gid_b), 0);
	CHECK_EQ(weft_dev_group_join(s[1]->qp, gid_b), 0);
	CHECK_EQ(weft_dev_ah_open(s[0]->pd, gid_b, &ah), 0);
	CHECK_EQ(side_recv(s[0], 5, 1024, 1024), 0);
	CHECK_EQ(side_recv(s[1], 6, 1024, 1024), 0);
	struct weft_dev_qp *neighbour = s[0]->qp;

	s[0]->qp = sender;
	CHECK_EQ(side_recv(s[0], 4, 2048, 1024), 0);
	send_to_group(s[0], ah, 1);
	CHECK_EQ(wait_recv(s[1]).id, 6);
	CHECK_EQ(wait_recv(s[0]).id, 5);
	CHECK_EQ(s[0]->dev->datagrams.copies, 2);
	CHECK_EQ(sender->rq_head, 0); /* its own has not come back */
	CHECK_EQ(weft_dev_qp_close(neighbour), EBUSY); /* as the kernel has it */
	CHECK_EQ(weft_dev_group_leave(neighbour, gid_b), 0);
	CHECK_EQ(weft_dev_qp_close(neighbour), 0);
	CHECK_EQ(weft_dev_group_leave(s[1]->qp, gid_b), 0);
	CHECK_EQ(weft_dev_group_leave(sender, gid_b), 0);
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	CHECK_EQ(weft_dev_ah_close(unicast), 0);
	pair_close(s);
}

/* More copies than the engine takes at once: each goes when there is room. */
TEST(group_give__loses_no_copy_where_the_queue_is_full)
{
	enum { N = 100, MEMBERS = 5 };
	struct side *s[2];
	struct weft_dev_ah *unicast = pair_datagrams(s), *ah;
	struct weft_dev_qp *first = s[1]->qp, *members[MEMBERS];

	for (unsigned m = 0; m < MEMBERS; m++) {
		struct weft_dev_qp_attr attr = { .state = WEFT_DEV_RTR };

		side_open_qp(s[1], WEFT_DEV_DATAGRAM, NULL);
		side_init(s[1]);
		CHECK_EQ(weft_dev_qp_modify(s[1]->qp, &attr, WEFT_DEV_SET_STATE), 0);
		CHECK_EQ(weft_dev_group_join(s[1]->qp, gid_a), 0);
		members[m] = s[1]->qp;
	}
	for (uint32_t i = N + 1; i--;) /* of the last one; others' are dropped there */
		CHECK_EQ(side_recv(s[1], i, 1024, 1024), 0);
	CHECK_EQ(weft_dev_ah_open(s[0]->pd, gid_a, &ah), 0);
	/* Until all are known. */
	for (uint32_t i = 0; !s[0]->dev->datagrams.copies && i < LIMIT_S; i++) {
		send_to_group(s[0], ah, 0);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	}
	CHECK_EQ(s[0]->dev->datagrams.copies, MEMBERS);
	CHECK_EQ(side_wait(s[1]).id, N);
	for (uint32_t i = 0; i < N; i++)
		send_to_group(s[0], ah, i);
	for (uint32_t i = 0; i < N; i++)
		CHECK_EQ(side_wait(s[0]).id, i);
	CHECK_EQ(s[0]->dev->datagrams.copies, MEMBERS * (N + 1));
	for (uint32_t i = 0; i < N; i++)
		CHECK_EQ(side_wait(s[1]).status, WEFT_DEV_OK);
	for (unsigned m = 0; m < MEMBERS; m++) {
		CHECK_EQ(weft_dev_group_leave(members[m], gid_a), 0);
		CHECK_EQ(weft_dev_qp_close(members[m]), 0);
	}
	s[1]->qp = first;
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	CHECK_EQ(weft_dev_ah_close(unicast), 0);
	pair_close(s);
}

TEST(weft_dev_group_join__refuses_what_is_no_group_and_too_many)
{
	struct side *s[2];
	struct weft_dev_ah *unicast = pair_datagrams(s);
	uint8_t gid[16] = { 0xff, 0x12 };

	CHECK_EQ(weft_dev_group_join(s[0]->qp, (const uint8_t[16]){ 0x20, 1 }), EINVAL);
	for (uint32_t i = 0; i < GROUPS_MAX; i++) {
		gid[15] = (uint8_t)i;
		CHECK_EQ(weft_dev_group_join(s[0]->qp, gid), 0);
	}
	CHECK_EQ(weft_dev_group_join(s[0]->qp, gid_b), ENOMEM);
	for (uint32_t i = 0; i < GROUPS_MAX; i++) {
		gid[15] = (uint8_t)i;
		CHECK_EQ(weft_dev_group_leave(s[0]->qp, gid), 0);
	}
	CHECK_EQ(weft_dev_ah_close(unicast), 0);
	CHECK_EQ(weft_dev_qp_close(s[0]->qp), 0);
	side_open_qp(s[0], WEFT_DEV_EXTENDED, NULL);
	CHECK_EQ(weft_dev_group_join(s[0]->qp, gid_a), EINVAL);
	pair_close(s);
}

TEST(weft_dev_post_send__completes_where_nobody_is_in_the_group)
{
	struct side *s[2];
	struct weft_dev_ah *unicast = pair_datagrams(s), *ah;

	CHECK_EQ(weft_dev_ah_open(s[0]->pd, gid_a, &ah), 0);
	send_to_group(s[0], ah, 11);
	CHECK_EQ(side_wait(s[0]).id, 11);
	CHECK_EQ(s[0]->dev->datagrams.copies, 0);
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	CHECK_EQ(weft_dev_ah_close(unicast), 0);
	pair_close(s);
}

TEST(group_answered__believes_only_answers_to_its_own_question)
{
	struct side *s[2];
	struct weft_dev_ah *unicast = pair_datagrams(s);
	struct weft_dev *dev = s[0]->dev;
	struct greet asked = { .kind = GREET_GROUP }, said = { 0 },
		     forged = { .kind = GREET_GROUP_ANSWER, .number = 9,
			     .group = { .n = 1, .qpn = { 9u << SLOT_BITS | 1 } } };

	CHECK_EQ(weft_dev_group_join(s[0]->qp, gid_a), 0);
	memcpy(asked.group.gid, gid_a, 16);
	memcpy(forged.group.gid, gid_a, 16);
	weft_lock_take(&dev->lock);
	group_asked(dev, &asked, &said);
	CHECK_EQ(said.group.n, 1);
	CHECK_EQ(said.group.qpn[0], weft_dev_qp_number(s[0]->qp));
	CHECK(said.group.numbers[dev->number / 8] >> dev->number % 8 & 1);
	for (uint64_t echo = 0; echo < 100; echo++) {
		forged.echo = echo;
		CHECK(!group_answered(dev, &forged));
	}
	weft_lock_give(&dev->lock);
	CHECK_EQ(weft_dev_group_leave(s[0]->qp, gid_a), 0);
	CHECK_EQ(weft_dev_ah_close(unicast), 0);
	pair_close(s);
}

/* Beyond the first eight, processes are found by these only. */
TEST(group_asked__tells_of_processes_without_ipv6_too)
{
	const unsigned number = 20;
	struct sockaddr_in name = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)(WEFT_DEV_PORT_BASE + number)) };
	struct side *s[2];
	struct weft_dev_ah *unicast = pair_datagrams(s);
	struct weft_dev *dev = s[0]->dev;
	struct greet asked = { .kind = GREET_GROUP }, said = { 0 };
	int other = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	REQUIRE(other >= 0 && !bind(other, (struct sockaddr *)&name, sizeof(name)));
	CHECK_EQ(weft_dev_group_join(s[0]->qp, gid_a), 0);
	memcpy(asked.group.gid, gid_a, 16);
	weft_lock_take(&dev->lock);
	dev->datagrams.numbers_ns = 0; /* looked at a moment ago */
	group_asked(dev, &asked, &said);
	weft_lock_give(&dev->lock);
	CHECK(said.group.numbers[dev->number / 8] >> dev->number % 8 & 1);
	CHECK(said.group.numbers[number / 8] >> number % 8 & 1);
	CHECK(!(said.group.numbers[(number + 1) / 8] >> (number + 1) % 8 & 1));
	close(other);
	CHECK_EQ(weft_dev_group_leave(s[0]->qp, gid_a), 0);
	CHECK_EQ(weft_dev_ah_close(unicast), 0);
	pair_close(s);
}

/* A copy that was on its way when its receiver left, and one that a liar has labelled. */
TEST(group_of__keeps_copies_from_who_is_not_in_the_group)
{
	struct side *s[2];
	struct weft_dev_ah *unicast = pair_datagrams(s), *ah;

	CHECK_EQ(weft_dev_group_join(s[1]->qp, gid_a), 0);
	CHECK_EQ(weft_dev_ah_open(s[0]->pd, gid_a, &ah), 0);
	CHECK_EQ(side_recv(s[1], 1, 0, 4096), 0);
	CHECK_EQ(side_recv(s[1], 2, 0, 4096), 0);
	send_to_group(s[0], ah, 1);
	CHECK_EQ(wait_recv(s[1]).id, 1);
	weft_lock_take(&s[1]->dev->lock);
	s[1]->qp->n_groups = 0; /* so much for what the receiver knows */
	CHECK(!group_of(s[1]->qp, group_tag(gid_a)));
	weft_lock_give(&s[1]->dev->lock);
	send_to_group(s[0], ah, 2);
	while (!__atomic_load_n(&s[1]->dev->datagrams.copies_refused, __ATOMIC_RELAXED))
		(void)weft_dev_cq_poll(s[1]->cq, &(struct weft_dev_wc){ 0 }, 1);
	weft_lock_take(&s[1]->dev->lock);
	s[1]->qp->n_groups = 1;
	CHECK(!memcmp(group_of(s[1]->qp, group_tag(gid_a)), gid_a, 16));
	CHECK(!group_of(s[1]->qp, group_tag(gid_b)));
	weft_lock_give(&s[1]->dev->lock);
	send_to_group(s[0], ah, 3);
	CHECK_EQ(wait_recv(s[1]).id, 2); /* the second receive is still there for the third */
	CHECK_EQ(weft_dev_group_leave(s[1]->qp, gid_a), 0);
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	CHECK_EQ(weft_dev_ah_close(unicast), 0);
	pair_close(s);
}
