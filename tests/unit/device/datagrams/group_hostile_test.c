/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a foul process of some host can do to a sender to a group: it has a right address and a
 * right greeting port, hears the questions, and answers whatever it likes.
 */
#include "datagrams/datagrams_local.h"
#include "unit/device/pair.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#define NUMBER 2u /* the devices of the test are 0 and 1 */

static const uint8_t gid_a[16] = { 0xff, 0x12, [15] = 7 };

struct villain {
	struct side *side[2];
	struct weft_dev_ah *unicast, *ah;
	struct greet asked; /* of the first device's, to be answered */
	int fd;
};

static void say(struct villain *v, const struct greet *greet)
{
	struct sockaddr_in6 name = { .sin6_family = AF_INET6,
		.sin6_port = htons(WEFT_DEV_PORT_BASE) };
	uint8_t bytes[GREET_BYTES_MAX];
	size_t n = greet_encode(greet, bytes);

	memcpy(&name.sin6_addr, v->side[0]->dev->name.gid, 16);
	CHECK_EQ(sendto(v->fd, bytes, n, 0, (struct sockaddr *)&name, sizeof(name)), (ssize_t)n);
}

/* Waits until the first device has asked who is in the group. */
static struct villain villain_open(void)
{
	struct villain v = { 0 };
	struct sockaddr_in6 name = { .sin6_family = AF_INET6,
		.sin6_port = htons(WEFT_DEV_PORT_BASE + NUMBER) };

	v.unicast = pair_datagrams(v.side);
	v.fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0); /* in the test's network */
	REQUIRE(v.fd >= 0);
	CHECK_EQ(setsockopt(v.fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){ 0 }, sizeof(int)), 0);
	memcpy(&name.sin6_addr, v.side[0]->dev->name.gid, 16);
	REQUIRE(!bind(v.fd, (struct sockaddr *)&name, sizeof(name)));
	CHECK_EQ(weft_dev_group_join(v.side[1]->qp, gid_a), 0);
	CHECK_EQ(weft_dev_ah_open(v.side[0]->pd, gid_a, &v.ah), 0);
	do {
		uint8_t bytes[GREET_BYTES_MAX];
		struct pollfd wait = { .fd = v.fd, .events = POLLIN };

		REQUIRE(poll(&wait, 1, LIMIT_S * 1000) == 1);
		ssize_t n = recv(v.fd, bytes, sizeof(bytes), 0);

		REQUIRE(n > 0 && greet_decode(bytes, (size_t)n, &v.asked));
	} while (v.asked.kind != GREET_GROUP || v.asked.number != v.side[0]->dev->number);
	return v;
}

static void villain_close(struct villain *v)
{
	close(v->fd);
	CHECK_EQ(weft_dev_group_leave(v->side[1]->qp, gid_a), 0);
	CHECK_EQ(weft_dev_ah_close(v->ah), 0);
	CHECK_EQ(weft_dev_ah_close(v->unicast), 0);
	pair_close(v->side);
}

/* An answer that would be believed, with n members of his. */
static struct greet answer_of(const struct villain *v, uint32_t first, uint32_t n)
{
	struct greet greet = { .kind = GREET_GROUP_ANSWER,
		.number = NUMBER,
		.nonce = 1,
		.echo = v->asked.nonce,
		.end = v->side[0]->dev->end,
		.qp = { .qpn = NUMBER << SLOT_BITS, .mpr_psns = WEFT_MPR_UNIT_PSNS } };

	memcpy(greet.group.gid, gid_a, 16);
	greet.group.n = n;
	for (uint32_t i = 0; i < n; i++)
		greet.group.qpn[i] = NUMBER << SLOT_BITS | (first + i);
	return greet;
}

/* The counter, when it has become `least`, or what it is after a long time. */
static uint64_t wait_for(struct villain *v, const uint64_t *counter, uint64_t least)
{
	uint64_t limit_ns = weft_clock_now(NULL) + LIMIT_S * UINT64_C(1000000000), is;

	do {
		weft_lock_take(&v->side[0]->dev->lock);
		greet_read(v->side[0]->dev);
		is = *counter;
		weft_lock_give(&v->side[0]->dev->lock);
	} while (is < least && weft_clock_now(NULL) < limit_ns);
	return is;
}

TEST(greet_read__drops_foul_greetings_of_groups_and_says_why)
{
	struct villain v = villain_open();
	struct weft_dev *dev = v.side[0]->dev;
	uint64_t *refused = dev->greetings.refused;
	struct greet greet = answer_of(&v, 20, 1);

	greet.group.qpn[0] = 0; /* no queue pair has this number */
	say(&v, &greet);
	greet.group.qpn[0] = GROUP_QPN;
	say(&v, &greet);
	greet = answer_of(&v, 20, 1);
	greet.group.gid[0] = 0x20; /* no group */
	say(&v, &greet);
	CHECK_EQ(wait_for(&v, &refused[GREET_MALFORMED], 3), 3);
	greet = answer_of(&v, 20, 1);
	greet.number = 1; /* another process's */
	say(&v, &greet);
	greet = answer_of(&v, 20, 1);
	greet.end.addr[0][15]++; /* another host's */
	say(&v, &greet);
	CHECK_EQ(wait_for(&v, &refused[GREET_FORGED], 2), 2);
	greet = answer_of(&v, 20, 1);
	greet.echo++; /* nobody has asked so */
	say(&v, &greet);
	greet = answer_of(&v, 20, 2);
	greet.group.qpn[1] = 1u << SLOT_BITS | 20; /* he speaks for another process */
	say(&v, &greet);
	greet = answer_of(&v, 20, 1);
	greet.group.gid[15]++; /* of a group that nobody has heard of */
	say(&v, &greet);
	CHECK_EQ(wait_for(&v, &refused[GREET_UNASKED], 3), 3);
	CHECK_EQ(dev->datagrams.members_refused, 0);
	for (uint32_t i = 0; i < CONTACTS_MAX; i++) { /* and none of those has been talked to */
		const struct contact *contact = &dev->datagrams.contacts[i];

		CHECK(!contact->in_use || contact->qpn >> SLOT_BITS != NUMBER);
	}
	villain_close(&v);
}

TEST(greet_read__answers_so_many_a_second_and_drops_the_rest_of_a_flood)
{
	struct villain v = villain_open();
	struct weft_dev *dev = v.side[0]->dev;
	struct greet greet = answer_of(&v, 20, 1);

	greet.kind = GREET_GROUP;
	weft_lock_take(&dev->lock);
	dev->greetings.second_ns = weft_clock_now(NULL) + LIMIT_S * UINT64_C(1000000000);
	dev->greetings.tokens = 4; /* of this second, which is a long one */
	for (unsigned i = 0; i < 64; i++)
		say(&v, &greet);
	weft_lock_give(&dev->lock);
	CHECK_EQ(wait_for(&v, &dev->greetings.refused[GREET_FLOOD], 60) >= 60, 1);
	weft_lock_take(&dev->lock);
	CHECK_EQ(dev->greetings.tokens, 0);
	dev->greetings.second_ns = 0;
	weft_lock_give(&dev->lock);
	villain_close(&v);
}

/* More members than there is room for leave room for our own, and end when they are silent. */
TEST(group_answered__keeps_room_for_its_own_and_forgets_who_is_silent)
{
	struct villain v = villain_open();
	struct weft_dev *dev = v.side[0]->dev;

	weft_lock_take(&dev->lock);
	for (uint32_t number = 3; number < 8; number++) { /* five processes of 64 each */
		struct greet greet = answer_of(&v, 100, GREET_MEMBERS_MAX);

		greet.number = number;
		for (uint32_t i = 0; i < GREET_MEMBERS_MAX; i++)
			greet.group.qpn[i] = number << SLOT_BITS | (100 + i);
		CHECK(group_answered(dev, &greet));
	}
	uint64_t refused = dev->datagrams.members_refused;

	/* The second device's queue pair may be among them already. */
	CHECK(refused >= 5 * GREET_MEMBERS_MAX - GROUP_OTHERS_MAX);
	CHECK(refused <= 5 * GREET_MEMBERS_MAX - GROUP_OTHERS_MAX + 1);
	weft_lock_give(&dev->lock);
	CHECK_EQ(weft_dev_group_join(v.side[0]->qp, gid_a), 0);
	CHECK_EQ(weft_dev_group_leave(v.side[0]->qp, gid_a), 0);
	weft_lock_take(&dev->lock);
	uint64_t now = weft_clock_now(NULL);

	group_timers(dev, now + UINT64_C(4000000000)); /* three rounds and one */
	struct greet greet = answer_of(&v, 300, GREET_MEMBERS_MAX);

	refused = dev->datagrams.members_refused;
	CHECK(group_answered(dev, &greet)); /* there is room again */
	CHECK_EQ(dev->datagrams.members_refused, refused);
	weft_lock_give(&dev->lock);
	villain_close(&v);
}

/* He says again that he is a member, and is about to say where, for as long as it takes. */
static void linger(struct villain *v, const struct greet *greet)
{
	struct side *sender = v->side[0];

	weft_lock_take(&sender->dev->lock);
	CHECK(group_answered(sender->dev, greet));
	struct contact *contact = contact_take(
		sender->dev, sender->qp->number, sender->dev->name.gid, greet->group.qpn[0]);

	REQUIRE(contact && !contact->known);
	contact->tries = 1;
	contact->ask_at_ns = WEFT_NEVER;
	weft_lock_give(&sender->dev->lock);
}

static struct weft_dev_wc wait_lingering(
	struct villain *v, struct side *s, const struct greet *greet)
{
	uint64_t limit_ns = weft_clock_now(NULL) + LIMIT_S * UINT64_C(1000000000);
	struct weft_dev_wc wc = { .status = 255 };

	while (!weft_dev_cq_poll(s->cq, &wc, 1) && weft_clock_now(NULL) < limit_ns)
		linger(v, greet);
	return wc;
}

/* A datagram to the group, and how that ends. */
static struct weft_dev_wc send_to_group(struct villain *v, uint64_t id, const struct greet *greet)
{
	CHECK_EQ(side_post(v->side[0],
			 (struct weft_dev_send){ .id = id,
				 .op = WEFT_DEV_SEND,
				 .flags = WEFT_DEV_SIGNALED,
				 .ah = v->ah,
				 .peer_qpn = GROUP_QPN,
				 .qkey = 77 },
			 0, 64),
		0);
	return greet ? wait_lingering(v, v->side[0], greet) : side_wait(v->side[0]);
}

/*
 * One who is a member, never says where, and never falls silent: the others get theirs, and a
 * send is over when all of its copies are, of which those before his are so long before.
 */
TEST(group_give__waits_for_no_member_that_does_not_answer)
{
	struct villain v = villain_open();
	struct side *sender = v.side[0], *receiver = v.side[1];
	struct greet greet = answer_of(&v, 20, 1);

	CHECK_EQ(side_recv(receiver, 1, 0, 4096), 0);
	for (unsigned i = 0; !sender->dev->datagrams.copies && i < LIMIT_S; i++)
		CHECK_EQ(send_to_group(&v, 1, NULL).id, 1); /* until the receiver is known */
	CHECK_EQ(side_wait(receiver).id, 1);
	for (uint64_t i = 2; i <= 4; i++) {
		CHECK_EQ(side_recv(receiver, i, 0, 4096), 0);
		linger(&v, &greet); /* behind the receiver in the list */
		struct weft_dev_wc wc = send_to_group(&v, i, &greet);

		CHECK_EQ(wc.status, WEFT_DEV_OK);
		CHECK_EQ(wc.id, i);
		weft_lock_take(&sender->dev->lock);
		CHECK_EQ(sender->dev->datagrams.copies, i); /* counted when all of them are given */
		weft_lock_give(&sender->dev->lock);
		CHECK_EQ(side_wait(receiver).id, i);
	}
	villain_close(&v);
}
