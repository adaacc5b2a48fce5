/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

#define N 4

/* EVs 10, 11, 11, 12 on ports 1, 2, 2, 3. */
static void fill(struct stage *stage)
{
	static const uint32_t value[N] = { 10, 11, 11, 12 };
	struct mrc_ctl_ev_op_entry entries[N];

	stage_open(stage);
	stage_format(stage, 13, MRC_CTL_EV_FMT_MODE_STEV);
	REQUIRE(!stage_evs(stage, 1, MRC_CTL_EV_MODE_EXP, 13, N));
	for (uint32_t i = 0; i < N; i++)
		entries[i] = (struct mrc_ctl_ev_op_entry){ .ev_new = stage_ev(value[i],
								   (uint8_t)(value[i] - 9)) };
	REQUIRE(!stage_op(stage, 1, MRC_CTL_EV_OP_REPLACE_EV, entries, N));
	REQUIRE(!stage_state(stage, 1, MRC_CTL_PROFILE_ONLINE));
}

static int states(struct stage *stage, uint32_t value)
{
	struct mrc_ctl_ev_op_entry entry = { .ev = stage_ev(value, (uint8_t)(value - 9)) };
	int rc = stage_op(stage, 1, MRC_CTL_EV_OP_QUERY_EV_STATE, &entry, 1);

	return rc ? -errno : (int)entry.state;
}

TEST(evs_operate__denies_and_allows_all_that_are_equal)
{
	struct mrc_ctl_ev_op_entry entry = { .ev = stage_ev(11, 2), .state = MRC_CTL_EV_DENIED };
	struct mrc_ctl_ev_op_entry all[N];
	struct stage stage;

	fill(&stage);
	CHECK_EQ(states(&stage, 11), MRC_CTL_EV_GOOD);
	CHECK(!stage_op(&stage, 1, MRC_CTL_EV_OP_MODIFY_EV_STATE, &entry, 1));
	CHECK_EQ(states(&stage, 10), MRC_CTL_EV_GOOD);
	CHECK_EQ(states(&stage, 11), MRC_CTL_EV_DENIED);
	CHECK(!stage_op(&stage, 1, MRC_CTL_EV_OP_QUERY_EV_ARRAY, all, N));
	CHECK_EQ(all[0].state, MRC_CTL_EV_GOOD);
	CHECK_EQ(all[1].state, MRC_CTL_EV_DENIED);
	CHECK_EQ(all[2].state, MRC_CTL_EV_DENIED);
	stage.station.plant->evs[0].ev[1].bad = true;
	stage.station.plant->evs[0].ev[3].bad = true;
	CHECK_EQ(states(&stage, 12), MRC_CTL_EV_ASSUMED_BAD);
	entry.state = MRC_CTL_EV_GOOD;
	CHECK(!stage_op(&stage, 1, MRC_CTL_EV_OP_MODIFY_EV_STATE, &entry, 1));
	CHECK_EQ(states(&stage, 11), MRC_CTL_EV_GOOD);
	stage_close(&stage);
}

TEST(evs_operate__stops_at_the_first_that_fails)
{
	struct mrc_ctl_ev_op_entry entries[3] = {
		{ .ev = stage_ev(10, 1), .state = MRC_CTL_EV_DENIED },
		{ .ev = stage_ev(10, 2), .state = MRC_CTL_EV_DENIED }, /* another port */
		{ .ev = stage_ev(12, 3), .state = MRC_CTL_EV_DENIED },
	};
	struct stage stage;

	fill(&stage);
	CHECK_EQ(ERRNO_OF(stage_op(&stage, 1, MRC_CTL_EV_OP_MODIFY_EV_STATE, entries, 3)), ENOENT);
	CHECK_EQ(states(&stage, 10), MRC_CTL_EV_DENIED);
	CHECK_EQ(states(&stage, 12), MRC_CTL_EV_GOOD);
	entries[0].state = MRC_CTL_EV_ASSUMED_BAD; /* not the controller's to say */
	CHECK_EQ(ERRNO_OF(stage_op(&stage, 1, MRC_CTL_EV_OP_MODIFY_EV_STATE, entries, 1)), EINVAL);
	CHECK_EQ(states(&stage, 13), -ENOENT);
	stage_close(&stage);
}

TEST(evs_operate__replaces_one_or_all_copies)
{
	struct mrc_ctl_ev_op_entry entry = { .ev = stage_ev(11, 2), .ev_new = stage_ev(20, 2) };
	struct mrc_ctl_ev_op_entry all[N];
	struct stage stage;

	fill(&stage);
	REQUIRE(!stage_state(&stage, 1, MRC_CTL_PROFILE_OFFLINE));
	stage.station.plant->evs[0].ev[1].bad = true;
	CHECK(!stage_op(&stage, 1, MRC_CTL_EV_OP_REPLACE_EV, &entry, 1));
	CHECK(!stage_op(&stage, 1, MRC_CTL_EV_OP_QUERY_EV_ARRAY, all, N));
	CHECK_EQ(all[1].ev.val[3], 20);
	CHECK_EQ(all[1].state, MRC_CTL_EV_GOOD);
	CHECK_EQ(all[2].ev.val[3], 11);
	entry.ev_new = stage_ev(11, 2);
	entry.ev = stage_ev(20, 2);
	CHECK(!stage_op(&stage, 1, MRC_CTL_EV_OP_REPLACE_EV, &entry, 1));
	entry.ev = stage_ev(11, 2);
	entry.ev_new = stage_ev(30, 4);
	entry.flags = MRC_CTL_EV_OP_F_ALL_COPIES;
	CHECK(!stage_op(&stage, 1, MRC_CTL_EV_OP_REPLACE_EV, &entry, 1));
	CHECK(!stage_op(&stage, 1, MRC_CTL_EV_OP_QUERY_EV_ARRAY, all, N));
	CHECK_EQ(all[1].ev.val[3], 30);
	CHECK_EQ(all[2].ev.val[3], 30);
	CHECK_EQ(ERRNO_OF(stage_op(&stage, 1, MRC_CTL_EV_OP_REPLACE_EV, &entry, 1)), ENOENT);
	stage_close(&stage);
}

TEST(evs_operate__refuses_values_wider_than_the_format)
{
	struct mrc_ctl_ev_op_entry entry = { .ev = stage_ev(10, 1), .ev_new = stage_ev(20, 1) };
	struct stage stage;

	fill(&stage);
	REQUIRE(!stage_state(&stage, 1, MRC_CTL_PROFILE_OFFLINE));
	entry.ev_new.val[4] = 1;
	CHECK_EQ(ERRNO_OF(stage_op(&stage, 1, MRC_CTL_EV_OP_REPLACE_EV, &entry, 1)), EINVAL);
	entry.ev_new = stage_ev(20, 33);
	CHECK_EQ(ERRNO_OF(stage_op(&stage, 1, MRC_CTL_EV_OP_REPLACE_EV, &entry, 1)), EINVAL);
	entry.ev_new.port = 1;
	entry.flags = 2;
	CHECK_EQ(ERRNO_OF(stage_op(&stage, 1, MRC_CTL_EV_OP_REPLACE_EV, &entry, 1)), EINVAL);
	stage_close(&stage);
}

TEST(evs_operate__says_how_many_there_are)
{
	struct mrc_ctl_ev_op_entry entries[N];
	struct mrc_ctl_ev_profile_attr attr = { .ev_op = { MRC_CTL_EV_OP_QUERY_EV_ARRAY, entries,
							N - 1 } };
	struct stage stage;

	fill(&stage);
	CHECK_EQ(ERRNO_OF(mrc_ctl_query_ev_profile(
			 &stage.context, 1, &attr, MRC_CTL_EV_PROFILE_EV_OP)),
		E2BIG);
	CHECK_EQ(attr.ev_op.entry_count, N);
	attr.ev_op.op = MRC_CTL_EV_OP_REPLACE_EV; /* not a question */
	CHECK_EQ(ERRNO_OF(mrc_ctl_query_ev_profile(
			 &stage.context, 1, &attr, MRC_CTL_EV_PROFILE_EV_OP)),
		EINVAL);
	stage_close(&stage);
}
