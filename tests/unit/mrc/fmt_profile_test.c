/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

static int modify(struct stage *stage, enum mrc_ctl_profile_state state, int mode, int n, int mask)
{
	struct mrc_ctl_ev_fmt_field fields[4] = { { 8 }, { 8 }, { 8 }, { 9 } };
	struct mrc_ctl_ev_fmt_profile_attr attr = { .profile_state = state,
		.cur_profile_state = state,
		.ev_fmt_mode = (enum mrc_ctl_ev_fmt_mode)mode,
		.ev_fmt_op = { MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, fields, n } };

	return mrc_ctl_modify_ev_fmt_profile(&stage->context, 13, &attr, mask);
}

static int state_of(struct stage *stage)
{
	struct mrc_ctl_ev_fmt_profile_attr attr = { .profile_state = 77 };

	CHECK(!mrc_ctl_query_ev_fmt_profile(
		&stage->context, 13, &attr, MRC_CTL_EV_FMT_PROFILE_STATE));
	CHECK_EQ(attr.profile_state, attr.cur_profile_state);
	return attr.profile_state;
}

#define STATE MRC_CTL_EV_FMT_PROFILE_STATE
#define MODE MRC_CTL_EV_FMT_PROFILE_MODE
#define OP MRC_CTL_EV_FMT_PROFILE_OP

TEST(mrc_ctl_modify_ev_fmt_profile__goes_there_and_back)
{
	struct stage stage;

	stage_open(&stage);
	CHECK_EQ(state_of(&stage), MRC_CTL_PROFILE_INIT);
	CHECK_EQ(ERRNO_OF(modify(&stage, MRC_CTL_PROFILE_OFFLINE, 0, 0, STATE)), EINVAL);
	CHECK_EQ(ERRNO_OF(modify(&stage, MRC_CTL_PROFILE_ONLINE, 1, 2, STATE | MODE | OP)), EINVAL);
	CHECK_EQ(ERRNO_OF(modify(&stage, MRC_CTL_PROFILE_OFFLINE, 1, 2, MODE | OP)), EINVAL);
	CHECK_EQ(state_of(&stage), MRC_CTL_PROFILE_INIT);
	CHECK(!modify(&stage, MRC_CTL_PROFILE_OFFLINE, MRC_CTL_EV_FMT_MODE_STEV, 0, STATE | MODE));
	CHECK_EQ(ERRNO_OF(modify(&stage, MRC_CTL_PROFILE_ONLINE, 0, 0, STATE)), EINVAL);
	CHECK_EQ(ERRNO_OF(modify(&stage, 0, 0, 4, OP)), E2BIG);
	CHECK_EQ(ERRNO_OF(modify(&stage, 0, 3, 3, MODE)), EINVAL);
	CHECK(!modify(&stage, 0, 0, 3, OP));
	CHECK(!modify(&stage, MRC_CTL_PROFILE_ONLINE, 0, 0, STATE));
	CHECK_EQ(state_of(&stage), MRC_CTL_PROFILE_ONLINE);
	CHECK_EQ(ERRNO_OF(modify(&stage, 0, 0, 2, OP)), EINVAL);
	CHECK_EQ(ERRNO_OF(modify(&stage, MRC_CTL_PROFILE_INIT, 0, 0, STATE)), EINVAL);
	CHECK(!modify(&stage, MRC_CTL_PROFILE_OFFLINE, 0, 0, STATE));
	CHECK(!modify(&stage, MRC_CTL_PROFILE_INIT, 0, 0, STATE));
	CHECK_EQ(state_of(&stage), MRC_CTL_PROFILE_INIT);
	stage_close(&stage);
}

TEST(mrc_ctl_modify_ev_fmt_profile__is_told_the_state_it_expects)
{
	struct stage stage;
	int cur = MRC_CTL_EV_FMT_PROFILE_CUR_STATE;

	stage_open(&stage);
	stage_format(&stage, 13, MRC_CTL_EV_FMT_MODE_STEV);
	CHECK_EQ(ERRNO_OF(modify(&stage, MRC_CTL_PROFILE_OFFLINE, 0, 0, STATE | cur)), EINVAL);
	CHECK(!modify(&stage, MRC_CTL_PROFILE_ONLINE, 0, 0, STATE | cur));
	stage_close(&stage);
}

TEST(mrc_ctl_modify_ev_fmt_profile__stays_while_evs_need_it)
{
	struct stage stage;

	stage_open(&stage);
	stage_format(&stage, 13, MRC_CTL_EV_FMT_MODE_STEV);
	REQUIRE(!stage_evs(&stage, 1, MRC_CTL_EV_MODE_EXP, 13, 1));
	struct mrc_ctl_ev_op_entry entry = { .ev_new = stage_ev(5, 1) };

	REQUIRE(!stage_op(&stage, 1, MRC_CTL_EV_OP_REPLACE_EV, &entry, 1));
	REQUIRE(!stage_state(&stage, 1, MRC_CTL_PROFILE_ONLINE));
	CHECK_EQ(ERRNO_OF(modify(&stage, MRC_CTL_PROFILE_OFFLINE, 0, 0, STATE)), EBUSY);
	REQUIRE(!stage_state(&stage, 1, MRC_CTL_PROFILE_OFFLINE));
	CHECK(!modify(&stage, MRC_CTL_PROFILE_OFFLINE, 0, 0, STATE));
	stage_close(&stage);
}

TEST(mrc_ctl_query_ev_fmt_profile__says_how_many_fields)
{
	struct mrc_ctl_ev_fmt_field fields[4] = { { 0 } };
	struct mrc_ctl_ev_fmt_profile_attr attr = { .ev_fmt_op = { MRC_CTL_EV_FMT_OP_QUERY_FIELDS,
							    fields, 1 } };
	struct stage stage;

	stage_open(&stage);
	stage_format(&stage, 13, MRC_CTL_EV_FMT_MODE_STEV);
	CHECK_EQ(ERRNO_OF(mrc_ctl_query_ev_fmt_profile(&stage.context, 13, &attr, OP)), E2BIG);
	CHECK_EQ(attr.ev_fmt_op.fmt_field_count, 2);
	CHECK(!mrc_ctl_query_ev_fmt_profile(&stage.context, 13, &attr, OP | MODE));
	CHECK_EQ(attr.ev_fmt_mode, MRC_CTL_EV_FMT_MODE_STEV);
	CHECK_EQ(fields[1].width, 16);
	attr.ev_fmt_op.op = MRC_CTL_EV_FMT_OP_MODIFY_FIELDS;
	CHECK_EQ(ERRNO_OF(mrc_ctl_query_ev_fmt_profile(&stage.context, 13, &attr, OP)), EINVAL);
	CHECK_EQ(
		ERRNO_OF(mrc_ctl_query_ev_fmt_profile(&stage.context, 13, &attr, 1 << 20)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_ctl_query_ev_fmt_profile(NULL, 13, &attr, OP)), EINVAL);
	stage_close(&stage);
}

TEST(mrc_ctl_modify_ev_fmt_profile__keeps_what_a_vendor_says)
{
	struct mrc_ctl_ev_fmt_profile_attr attr = { .vendor_cfg = { 1, 2, 3 } };
	struct stage stage;

	stage_open(&stage);
	stage_format(&stage, 13, MRC_CTL_EV_FMT_MODE_UDP);
	CHECK(!mrc_ctl_modify_ev_fmt_profile(&stage.context, 13, &attr, MRC_CTL_EV_FMT_VENDOR_CFG));
	memset(&attr, 0, sizeof(attr));
	CHECK(!mrc_ctl_query_ev_fmt_profile(&stage.context, 13, &attr, MRC_CTL_EV_FMT_VENDOR_CFG));
	CHECK_EQ(attr.vendor_cfg[2], 3);
	stage_close(&stage);
}

TEST(mrc_ctl_modify_ev_fmt_profile__answers_the_question_for_fields)
{
	struct mrc_ctl_ev_fmt_field got[2] = { 0 };
	struct mrc_ctl_ev_fmt_profile_attr attr = { .ev_fmt_op = { MRC_CTL_EV_FMT_OP_QUERY_FIELDS,
							    got, 1 } };
	struct stage stage;

	stage_open(&stage);
	stage_format(&stage, 13, MRC_CTL_EV_FMT_MODE_STEV); /* and is online */
	CHECK_EQ(ERRNO_OF(mrc_ctl_modify_ev_fmt_profile(&stage.context, 13, &attr, OP)), E2BIG);
	CHECK_EQ(attr.ev_fmt_op.fmt_field_count, 2);
	CHECK(!mrc_ctl_modify_ev_fmt_profile(&stage.context, 13, &attr, OP));
	CHECK_EQ(got[1].width, 16);
	stage_close(&stage);
}
