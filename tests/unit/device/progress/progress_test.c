/* SPDX-License-Identifier: BSD-2-Clause */
#include "progress/progress_local.h"
#include "unit/device/virtual.h"

/* What is under way is known to the byte, whatever became of it; who is gone is not asked. */
TEST(progress_owe__is_paid_by_every_end_of_a_work)
{
	struct side *s[2];
	struct weft_dev_send send = { .op = WEFT_DEV_SEND, .flags = WEFT_DEV_SIGNALED };

	pair_open(s, WEFT_DEV_EXTENDED);
	struct progress *p = &s[0]->dev->progress;

	CHECK_EQ(side_post(s[0], send, 0, 1000), 0);
	CHECK_EQ(side_post(s[0], send, 0, 500), 0);
	CHECK_EQ(p->owed_bytes, 1500);
	CHECK(p->owing == s[0]->qp);
	CHECK_EQ(side_recv(s[1], 0, 0, 1000), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	CHECK_EQ(p->owed_bytes, 500);
	CHECK_EQ(weft_dev_qp_close(s[0]->qp), 0);
	s[0]->qp = NULL;
	CHECK_EQ(p->owed_bytes, 0);
	CHECK(!p->owing);
	pair_close(s);
}

/* Without a thread nobody is kept waiting, however long he polls in vain. */
TEST(progress_polled__pauses_nobody_where_there_is_no_thread)
{
	struct side *s = side_open();

	for (uint32_t i = 0; i < 1000; i++) {
		weft_lock_take(&s->dev->lock);
		progress_poll(s->dev);
		CHECK(!progress_polled(s->dev, false));
		weft_lock_give(&s->dev->lock);
		ground_sleep(10 * US);
	}
	side_close(s);
}
