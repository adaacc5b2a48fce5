/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

static void happen(uint32_t kind, uint32_t number, void *user)
{
	fake_dev.event[fake_dev.n_events++] =
		(struct weft_dev_event){ .kind = kind, .number = number, .user = user };
}

TEST(mrc_get_async_event__takes_objects_and_ports)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_cq *cq = mrc_create_cq(context, 8, NULL, NULL, 0);
	struct mrc_qp *qp = fake_qp(context, cq);
	struct mrc_async_event event;

	CHECK_EQ(qp->inner->init.owner, context->owner);
	CHECK_EQ(cq->inner->owner, context->owner);
	fcntl(fake_context.async_fd = open("/dev/null", O_RDONLY), F_SETFL, O_NONBLOCK);
	happen(WEFT_DEV_PORT_DOWN, 0, NULL); /* the NIC as verbs see it */
	happen(WEFT_DEV_QP_FATAL, 0, qp->inner->init.user);
	happen(WEFT_DEV_PLANE_DOWN, 2, NULL);
	happen(WEFT_DEV_CQ_ERROR, 0, cq->inner->user);
	CHECK(!mrc_get_async_event(context, &event));
	CHECK_EQ(event.event_type, IBV_EVENT_QP_FATAL);
	CHECK(event.element.qp == qp);
	CHECK_EQ(qp->unacked, 1);
	mrc_ack_async_event(&event);
	CHECK_EQ(qp->unacked, 0);
	CHECK(!mrc_get_async_event(context, &event));
	CHECK_EQ(event.event_type, IBV_EVENT_PORT_ERR);
	CHECK_EQ(event.element.port_num, 3);
	mrc_ack_async_event(&event);
	CHECK(!mrc_get_async_event(context, &event));
	CHECK_EQ(event.event_type, IBV_EVENT_CQ_ERR);
	CHECK(event.element.cq == cq);
	CHECK_EQ(cq->unacked, 1);
	mrc_ack_async_event(&event);
	CHECK_EQ(cq->unacked, 0);
	CHECK_EQ(ERRNO_OF(mrc_get_async_event(context, &event)), EAGAIN);
	close(fake_context.async_fd);
	CHECK(!mrc_destroy_qp(qp));
	CHECK(!mrc_destroy_cq(cq));
	fake_close(context);
}
