/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

#include <fcntl.h>

TEST(weft_dev_event_get__skips_what_is_gone)
{
	struct side *s = side_open();
	struct weft_dev_event event;

	(void)fcntl(weft_dev_event_fd(s->dev), F_SETFL, O_NONBLOCK);
	CHECK_EQ(weft_dev_event_get(s->dev, &event), EAGAIN);
	side_open_qp(s, WEFT_DEV_STRICT, NULL);
	pthread_mutex_lock(&s->dev->lock);
	event_put(s->dev, WEFT_DEV_QP_FATAL, s->qp->event_number, s);
	event_put(s->dev, WEFT_DEV_QP_FATAL, 999999, NULL);
	event_put(s->dev, WEFT_DEV_PLANE_DOWN, 3, NULL);
	pthread_mutex_unlock(&s->dev->lock);
	CHECK_EQ(weft_dev_event_get(s->dev, &event), 0);
	CHECK(event.kind == WEFT_DEV_QP_FATAL && event.user == s);
	CHECK_EQ(weft_dev_event_get(s->dev, &event), 0);
	CHECK(event.kind == WEFT_DEV_PLANE_DOWN && event.number == 3);
	CHECK_EQ(weft_dev_event_get(s->dev, &event), EAGAIN);
	side_close(s);
}
