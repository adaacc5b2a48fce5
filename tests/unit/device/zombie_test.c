/* SPDX-License-Identifier: BSD-2-Clause */
#include "virtual.h"

/* To a peer that does not exist, and back to nothing. */
static void live_and_die(struct side *s)
{
	struct weft_dev_qp_attr attr = { .state = WEFT_DEV_RTR, .gid = { 0xfd, 1 },
		.peer_qpn = 17 };

	side_open_qp(s, WEFT_DEV_EXTENDED, NULL);
	side_init(s);
	CHECK_EQ(weft_dev_qp_modify(s->qp, &attr,
			 WEFT_DEV_SET_STATE | WEFT_DEV_SET_PEER | WEFT_DEV_SET_PEER_QPN),
		0);
	CHECK_EQ(weft_dev_qp_close(s->qp), 0);
	s->qp = NULL;
}

TEST(zombie_reap__ends_them_when_their_time_is_over)
{
	struct side *s[2];
	uint64_t now;

	pair_open(s, WEFT_DEV_EXTENDED);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK); /* both are connected */
	weft_lock_take(&s[0]->dev->lock);
	now = ground_now();
	qp_let_go(s[0]->qp);
	CHECK_EQ(s[0]->dev->n_zombies, 1);
	CHECK(!zombie_reap(s[0]->dev, now, false));
	CHECK_EQ(s[0]->dev->n_zombies, 1);
	CHECK(zombie_reap(s[0]->dev, now + UINT64_C(1000000000), false));
	CHECK_EQ(s[0]->dev->n_zombies, 0);
	CHECK(!zombie_reap(s[0]->dev, now, true)); /* nobody is left */
	weft_lock_give(&s[0]->dev->lock);
	pair_close(s);
}

TEST(zombie_make__keeps_nobody_who_was_never_connected)
{
	struct side *s = side_open();

	live_and_die(s);
	weft_lock_take(&s->dev->lock);
	(void)zombie_reap(s->dev, ground_now(), false);
	CHECK_EQ(s->dev->n_zombies, 0);
	weft_lock_give(&s->dev->lock);
	side_close(s);
}

TEST(zombie_make__lets_the_oldest_make_room)
{
	struct side *s[2];
	const struct weft_qp *first;

	pair_open(s, WEFT_DEV_EXTENDED);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	weft_lock_take(&s[0]->dev->lock);
	qp_let_go(s[0]->qp);
	struct weft_dev *dev = s[0]->dev;
	struct zombie last = dev->zombies[0];

	first = last.eq;
	while (dev->n_zombies < ZOMBIES_MAX) /* the thread is kept out meanwhile */
		dev->zombies[dev->n_zombies++] = (struct zombie){ .until_ns = UINT64_MAX };
	last.has_peer = false;
	zombie_make(dev, &last, true);
	CHECK_EQ(dev->n_zombies, ZOMBIES_MAX);
	CHECK(dev->zombies[0].eq != first && dev->zombies[ZOMBIES_MAX - 1].eq == first);
	dev->n_zombies = 0; /* none of them is real any more */
	weft_lock_give(&dev->lock);
	pair_close(s);
}
