/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

static bool becomes_known(struct side *s, const uint8_t gid[16], uint32_t number)
{
	uint64_t limit_ns = weft_clock_now(NULL) + LIMIT_S * UINT64_C(1000000000);

	while (weft_clock_now(NULL) < limit_ns) {
		pthread_mutex_lock(&s->dev->lock);
		const struct contact *contact = contact_take(
			s->dev, s->dev->number << SLOT_BITS, gid, number << SLOT_BITS);
		bool known = contact && contact->known;

		pthread_mutex_unlock(&s->dev->lock);
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

	pthread_mutex_lock(&s->dev->lock);
	while (n < 2 * CONTACTS_MAX && contact_take(s->dev, 1, gid, n))
		n++;
	pthread_mutex_unlock(&s->dev->lock);
	CHECK_EQ(n, CONTACTS_MAX);
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
