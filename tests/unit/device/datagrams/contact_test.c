/* SPDX-License-Identifier: BSD-2-Clause */
#include "datagrams/datagrams_local.h"
#include "unit/device/pair.h"

#include <arpa/inet.h>
#include <sys/socket.h>

static bool becomes_known(struct side *s, const uint8_t gid[16], uint32_t number)
{
	uint64_t limit_ns = weft_clock_now(NULL) + LIMIT_S * UINT64_C(1000000000);

	while (weft_clock_now(NULL) < limit_ns) {
		weft_lock_take(&s->dev->lock);
		const struct contact *contact = contact_take(
			s->dev, s->dev->number << SLOT_BITS, gid, number << SLOT_BITS);
		bool known = contact && contact->known;

		weft_lock_give(&s->dev->lock);
		if (known)
			return true;
		weft_clock_sleep(1000000);
	}
	return false;
}

TEST(contact_take__finds_the_process)
{
	struct side *s[2] = { side_open(), side_open() };
	uint8_t gid[16];

	for (unsigned i = 0; i < 2; i++)
		side_open_qp(s[i], WEFT_DEV_DATAGRAM, NULL); /* starts the threads */
	weft_dev_gid(s[1]->dev, gid);
	CHECK(becomes_known(s[0], gid, s[1]->dev->number));
	/* Who has asked is known, too. */
	weft_dev_gid(s[0]->dev, gid);
	CHECK(becomes_known(s[1], gid, s[0]->dev->number));
	pair_close(s);
}

TEST(contact_take__has_a_limit)
{
	struct side *s = side_open();
	uint8_t gid[16] = { 0xfd, 1 };
	uint32_t n = 0;

	weft_lock_take(&s->dev->lock);
	CHECK(!contact_take(s->dev, s->dev->number << SLOT_BITS | 1, gid, 1)); /* no such QP */
	while (n < 2 * CONTACTS_MAX && contact_take(s->dev, s->dev->number << SLOT_BITS, gid, n))
		n++;
	weft_lock_give(&s->dev->lock);
	CHECK_EQ(n, CONTACTS_MAX);
	side_close(s);
}

/* What the test's greeting says to the process, and has proven. */
static struct contact *ask_as(struct weft_dev *dev, const uint8_t addr[16], uint32_t qpn)
{
	struct greet greet = { .number = 3,
		.end = dev->end,
		.qp = { .qpn = 3u << SLOT_BITS | qpn,
			.peer_qpn = dev->number << SLOT_BITS,
			.mpr_psns = WEFT_MPR_UNIT_PSNS } };

	memcpy(greet.end.addr[0], addr, 16);
	greet.end.n_src_ports = 1;
	greet.end.src_port[0] = (uint16_t)(1000 + addr[15]);
	return contact_learn(dev, &greet, 2);
}

/* Who asks for many contacts takes a share of them, and none that is used. */
TEST(contact_learn__lets_no_stranger_take_what_others_use)
{
	struct side *s = side_open();
	struct weft_dev *dev = s->dev;
	uint8_t gid[16] = { 0xfd, 1 }, villain[16] = { 0xfd, 2 };
	uint32_t n = 0;

	weft_lock_take(&dev->lock);
	while (n < CONTACTS_MAX && ask_as(dev, villain, 1 + n))
		n++;
	CHECK_EQ(n, CONTACTS_MAX / 4);
	villain[15] = 1; /* another host gets in */
	CHECK(ask_as(dev, villain, 1) != NULL);
	/* What this process itself wants goes before what strangers have asked for. */
	for (n = 0; n < CONTACTS_MAX; n++)
		CHECK(contact_take(dev, dev->number << SLOT_BITS, gid, 1 + n) != NULL);
	for (uint32_t i = 0; i < CONTACTS_MAX; i++)
		CHECK(dev->datagrams.contacts[i].in_use && !dev->datagrams.contacts[i].is_passive);
	/* And stays, while it is used. */
	villain[15] = 2;
	CHECK(!ask_as(dev, villain, 1));
	dev->datagrams.contacts[7].used_ns = 1; /* long ago */
	CHECK(ask_as(dev, villain, 1) == &dev->datagrams.contacts[7]);
	weft_lock_give(&dev->lock);
	side_close(s);
}

/* As many as are in use, and each where it is looked for. */
static void check_buckets(struct weft_dev *dev)
{
	uint32_t n_used = 0, n_found = 0;

	for (uint32_t i = 0; i < CONTACTS_MAX; i++)
		n_used += dev->datagrams.contacts[i].in_use;
	for (uint32_t b = 0; b < CONTACT_BUCKETS; b++)
		for (struct contact *c = dev->datagrams.buckets[b]; c; c = c->next) {
			CHECK(c->in_use);
			CHECK(contact_take(dev, c->own_qpn, c->gid, c->qpn) == c);
			n_found++;
		}
	CHECK_EQ(n_found, n_used);
}

TEST(contact_take__finds_each_of_many)
{
	struct side *s = side_open();
	struct weft_dev *dev = s->dev;
	uint8_t gid[16] = { 0xfd, 1 };

	side_open_qp(s, WEFT_DEV_DATAGRAM, NULL);
	side_init(s);
	struct weft_dev_qp_attr attr = { .state = WEFT_DEV_RTR };

	CHECK_EQ(weft_dev_qp_modify(s->qp, &attr, WEFT_DEV_SET_STATE), 0);
	weft_lock_take(&dev->lock);
	uint32_t own[2] = { dev->number << SLOT_BITS, s->qp->number };

	for (uint32_t n = 0; n < CONTACTS_MAX; n++) {
		gid[15] = (uint8_t)(n / 16);
		REQUIRE(contact_take(dev, own[n % 16 == 7], gid, n % 16));
	}
	check_buckets(dev);
	/* The oldest make room, and are not found in the new ones' place. */
	for (uint32_t n = 0; n < 100; n++) {
		gid[15] = (uint8_t)(32 + n);
		dev->datagrams.contacts[n * 5].used_ns = n;
		CHECK(contact_take(dev, own[0], gid, 3) == &dev->datagrams.contacts[n * 5]);
	}
	check_buckets(dev);
	contact_forget_qp(s->qp);
	check_buckets(dev);
	weft_lock_give(&dev->lock);
	side_close(s);
}

/* He is asked again each second, but nobody waits for him twice. */
TEST(contact_is_awaited__until_he_has_been_asked_in_vain)
{
	struct side *s = side_open();
	uint32_t own = s->dev->number << SLOT_BITS;
	uint8_t gid[16] = { 0xfd, 1 };

	weft_lock_take(&s->dev->lock);
	struct contact *contact = contact_take(s->dev, own, gid, 17);
	REQUIRE(contact);
	CHECK(contact_is_awaited(contact));
	contact->tries = CONTACT_TRIES;
	CHECK(!contact_is_awaited(contact));
	contact->ask_at_ns = 0; /* long ago */
	CHECK(contact_take(s->dev, own, gid, 17) == contact);
	CHECK_EQ(contact->tries, 1);
	CHECK(!contact_is_awaited(contact));
	weft_lock_give(&s->dev->lock);
	side_close(s);
}

TEST(weft_dev_ah_close__lets_its_domain_go)
{
	struct side *s = side_open();
	struct weft_dev_pd *pd;
	struct weft_dev_ah *ah;
	uint8_t gid[16] = { 0 };

	CHECK_EQ(weft_dev_pd_open(s->dev, &pd), 0);
	CHECK_EQ(weft_dev_ah_open(pd, gid, &ah), 0);
	CHECK_EQ(weft_dev_pd_close(pd), EBUSY);
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	CHECK_EQ(weft_dev_pd_close(pd), 0);
	side_close(s);
}

/* A datagram that waits for its contact names it, and fails; no other queue pair is looked at. */
TEST(weft_dev_ah_close__searches_for_no_work_that_names_it)
{
	struct side *s[2];
	struct weft_dev_ah *ah = pair_datagrams(s), *nowhere[64];
	struct weft_dev_send send = {
		.op = WEFT_DEV_SEND, .flags = WEFT_DEV_SIGNALED, .peer_qpn = 17, .id = 5
	};
	uint8_t gid[16] = { 0xfd, 1 };
	struct weft_dev_wc wc;

	for (unsigned i = 0; i < WEFT_COUNT(nowhere); i++)
		CHECK_EQ(weft_dev_ah_open(s[0]->pd, gid, &nowhere[i]), 0);
	send.ah = nowhere[0];
	CHECK_EQ(side_post(s[0], send, 0, 8), 0);
	CHECK_EQ(weft_dev_cq_poll(s[0]->cq, &wc, 1), 0);
	struct trap *trap = trap_set(s[0]->dev);

	for (unsigned i = 0; i < WEFT_COUNT(nowhere); i++)
		CHECK_EQ(weft_dev_ah_close(nowhere[i]), 0);
	trap_end(s[0]->dev, trap);
	wc = side_wait(s[0]);
	CHECK_EQ(wc.status, WEFT_DEV_LOC_QP_OP_ERR);
	CHECK_EQ(wc.id, 5);
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	pair_close(s);
}

/* Whoever guesses numbers has not been asked; and a queue pair is none of another life. */
TEST(contact_own__and_answers_name_what_was_meant)
{
	struct side *s = side_open();

	side_open_qp(s, WEFT_DEV_DATAGRAM, NULL);
	side_init(s);
	struct weft_dev_qp_attr attr = { .state = WEFT_DEV_RTR };

	CHECK_EQ(weft_dev_qp_modify(s->qp, &attr, WEFT_DEV_SET_STATE), 0);
	CHECK(contact_own(s->dev, s->qp->number));
	CHECK(contact_own(s->dev, s->dev->number << SLOT_BITS)); /* the process */
	CHECK(!contact_own(s->dev, s->qp->number ^ 1u << SLOT_BITS));
	CHECK(!contact_own(s->dev, s->qp->number + 1));
	attr.state = WEFT_DEV_ERR;
	CHECK_EQ(weft_dev_qp_modify(s->qp, &attr, WEFT_DEV_SET_STATE), 0);
	CHECK(!contact_own(s->dev, s->qp->number));
	side_close(s);
}

TEST(take_hello_answer__believes_only_what_was_asked)
{
	struct side *s[2] = { side_open(), side_open() };

	side_learns_planes(s[0], s[1]);
	for (uint64_t wrong = 0; wrong < 2; wrong++) {
		uint32_t qpn = s[1]->dev->number << SLOT_BITS | (uint32_t)wrong;
		uint8_t bytes[GREET_BYTES_MAX];
		struct sockaddr_in6 to = { .sin6_family = AF_INET6,
			.sin6_port = htons((uint16_t)(WEFT_DEV_PORT_BASE + s[0]->dev->number)) };

		weft_lock_take(&s[0]->dev->lock);
		struct contact *contact = contact_take(
			s[0]->dev, s[0]->dev->number << SLOT_BITS, s[1]->dev->name.gid, qpn);
		REQUIRE(contact);
		struct greet greet = { .kind = GREET_HELLO_ANSWER,
			.number = s[1]->dev->number,
			.echo = contact->nonce + wrong,
			.end = s[1]->dev->end,
			.qp = { .qpn = qpn, .mpr_psns = 128 } };

		memcpy(&to.sin6_addr, s[0]->dev->name.gid, 16);
		CHECK(sendto(s[1]->dev->greetings.fd, bytes, greet_encode(&greet, bytes), 0,
			      (struct sockaddr *)&to, sizeof(to)) > 0);
		greet_read(s[0]->dev);
		CHECK_EQ(contact->known, !wrong);
		weft_lock_give(&s[0]->dev->lock);
	}
	pair_close(s);
}
