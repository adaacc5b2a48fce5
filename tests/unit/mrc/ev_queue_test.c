/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

static void tell(struct mrc_context *context, uint32_t n)
{
	plant_lock(context->station->plant);
	for (uint32_t i = 0; i < n; i++) {
		struct mrc_ctl_ev ev = stage_ev(i, 1);

		plant_tell(context->station->plant, 3, &ev, MRC_CTL_EV_ASSUMED_BAD);
	}
	plant_unlock(context->station->plant);
}

TEST(mrc_ctl_poll_ev_event__counts_what_found_no_room)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_ctl_ev_event event[8];
	struct mrc_cq *cq;

	tell(context, 3);
	cq = mrc_ctl_create_ev_event_cq(context, 4, NULL, NULL, 0);
	REQUIRE(cq);
	CHECK_EQ(mrc_ctl_poll_ev_event(cq, 8, event), 0); /* from now on, not before */
	tell(context, 10);
	CHECK_EQ(mrc_ctl_poll_ev_event(cq, 3, event), 3);
	CHECK_EQ(event[0].drop_count, 6);
	CHECK_EQ(event[0].ev.val[3], 6);
	CHECK_EQ(event[1].drop_count, 0);
	CHECK_EQ(mrc_ctl_poll_ev_event(cq, 8, event), 1);
	CHECK_EQ(event[0].ev.val[3], 9);
	tell(context, PLANT_EVENTS + 100);
	CHECK_EQ(mrc_ctl_poll_ev_event(cq, 0, NULL), 0); /* tells nobody of them */
	CHECK_EQ(mrc_ctl_poll_ev_event(cq, 1, event), 1);
	CHECK_EQ(event[0].drop_count, PLANT_EVENTS + 96);
	CHECK_EQ(mrc_ctl_poll_ev_event(cq, -1, event), -EINVAL);
	CHECK_EQ(mrc_ctl_poll_ev_event(NULL, 1, event), -EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_poll_cq(cq, 1, NULL)), EINVAL);
	CHECK(!mrc_destroy_cq(cq));
	fake_close(context);
}

TEST(mrc_ctl_poll_ev_event__gives_old_programs_the_short_struct)
{
	struct mrc_context *context = fake_open(MRC_API_VER(1, 0, 0));
	struct mrc_cq *cq = mrc_ctl_create_ev_event_cq(context, 8, NULL, NULL, 0);
	uint8_t raw[3 * 48];
	uint64_t id[2];

	REQUIRE(cq);
	memset(raw, 0xee, sizeof(raw));
	tell(context, 2);
	CHECK_EQ(mrc_ctl_poll_ev_event(cq, 2, (struct mrc_ctl_ev_event *)(void *)raw), 2);
	memcpy(&id[0], raw, 8);
	memcpy(&id[1], raw + 48, 8);
	CHECK_EQ(id[0], 3);
	CHECK_EQ(id[1], 3);
	CHECK_EQ(raw[48 + 8 + 3], 1); /* the second one's EV */
	CHECK_EQ(raw[96], 0xee);
	CHECK(!mrc_destroy_cq(cq));
	fake_close(context);
}

TEST(mrc_ctl_create_ev_event_cq__needs_a_channel_to_be_armed)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_cq *cq = mrc_ctl_create_ev_event_cq(context, 8, NULL, NULL, 0);

	REQUIRE(cq);
	CHECK_EQ(mrc_req_notify_cq(cq, 0), EINVAL);
	CHECK(!mrc_ctl_create_ev_event_cq(context, 0, NULL, NULL, 0));
	CHECK(!mrc_destroy_cq(cq));
	fake_close(context);
}
