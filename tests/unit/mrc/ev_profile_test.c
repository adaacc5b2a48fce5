/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

#define FIELDS MRC_CTL_EV_PROFILE_EV_FIELDS_OP

static int set_fields(struct stage *stage, struct mrc_ctl_ev_field *fields, int n)
{
	struct mrc_ctl_ev_profile_attr attr = {
		.ev_fields_op = { MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, fields, n }
	};

	return mrc_ctl_modify_ev_profile(&stage->context, 1, &attr, FIELDS);
}

TEST(mrc_ctl_modify_ev_profile__generates_in_range_over_all_ports)
{
	struct mrc_ctl_ev_field fields[2] = { { 16, 0x100, 0, 7, 0x7 }, { 16, 0x200, 1, 3, 0x3 } };
	struct mrc_ctl_ev_op_entry entries[24];
	struct stage stage;

	stage_open(&stage);
	stage_format(&stage, 13, MRC_CTL_EV_FMT_MODE_STEV);
	REQUIRE(!stage_evs(&stage, 1, MRC_CTL_EV_MODE_GEN, 13, 24));
	CHECK_EQ(ERRNO_OF(stage_state(&stage, 1, MRC_CTL_PROFILE_ONLINE)), EINVAL); /* no fields */
	CHECK(!set_fields(&stage, fields, 2));
	CHECK(!stage_state(&stage, 1, MRC_CTL_PROFILE_ONLINE));
	CHECK(!stage_op(&stage, 1, MRC_CTL_EV_OP_QUERY_EV_ARRAY, entries, 24));
	for (uint32_t i = 0; i < 24; i++) {
		CHECK_EQ(entries[i].ev.port, i % 4 + 1);
		CHECK_EQ(entries[i].state, MRC_CTL_EV_GOOD);
		CHECK((entries[i].ev.val[0] >> 3 & 3) >= 1); /* the second field's bits */
		for (uint32_t k = 0; k < i; k++)
			CHECK(memcmp(&entries[i].ev, &entries[k].ev, sizeof(entries[i].ev)));
		struct mrc_ctl_ev expanded;

		evs_expanded(stage.station.plant, &stage.station.plant->evs[0], i, &expanded);
		CHECK_EQ(expanded.val[0], 1);
		CHECK_EQ(expanded.val[1], entries[i].ev.val[0] >> 5);
		CHECK_EQ(expanded.val[2], 2);
		CHECK_EQ(expanded.val[3], entries[i].ev.val[0] >> 3 & 3);
	}
	stage_close(&stage);
}

TEST(mrc_ctl_modify_ev_profile__wants_a_full_list_of_an_explicit_one)
{
	struct mrc_ctl_ev_op_entry entry = { .ev = MRC_CTL_EV_UNPOPULATED };
	struct stage stage;

	stage_open(&stage);
	CHECK_EQ(ERRNO_OF(stage_evs(&stage, 1, MRC_CTL_EV_MODE_EXP, 13, 4)), ENOENT); /* format */
	stage_format(&stage, 13, MRC_CTL_EV_FMT_MODE_STEV);
	CHECK_EQ(ERRNO_OF(stage_evs(&stage, 1, MRC_CTL_EV_MODE_EXP, 13, PLANT_EVS + 1)), E2BIG);
	CHECK_EQ(ERRNO_OF(stage_evs(&stage, 1, MRC_CTL_EV_MODE_EXP, 13, 0)), EINVAL);
	CHECK_EQ(ERRNO_OF(stage_evs(&stage, 1, (enum mrc_ctl_ev_mode)3, 13, 1)), EINVAL);
	REQUIRE(!stage_evs(&stage, 1, MRC_CTL_EV_MODE_EXP, 13, 4));
	for (uint32_t i = 0; i < 4; i++) {
		CHECK_EQ(ERRNO_OF(stage_state(&stage, 1, MRC_CTL_PROFILE_ONLINE)), EINVAL);
		entry.ev_new = stage_ev(i << 16, (uint8_t)(i + 1));
		CHECK(!stage_op(&stage, 1, MRC_CTL_EV_OP_REPLACE_EV, &entry, 1));
	}
	CHECK(!stage_state(&stage, 1, MRC_CTL_PROFILE_ONLINE));
	stage_close(&stage);
}

TEST(mrc_ctl_modify_ev_profile__lets_auto_go_online_at_once)
{
	struct mrc_ctl_ev_profile_attr attr = { .profile_state = MRC_CTL_PROFILE_OFFLINE,
		.ev_mode = MRC_CTL_EV_MODE_AUTO };
	struct stage stage;

	stage_open(&stage);
	CHECK(!mrc_ctl_modify_ev_profile(
		&stage.context, 1, &attr, MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE));
	CHECK(!stage_state(&stage, 1, MRC_CTL_PROFILE_ONLINE));
	memset(&attr, 0, sizeof(attr));
	CHECK(!mrc_ctl_query_ev_profile(
		&stage.context, 1, &attr, MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE));
	CHECK_EQ(attr.profile_state, MRC_CTL_PROFILE_ONLINE);
	CHECK_EQ(attr.ev_mode, MRC_CTL_EV_MODE_AUTO);
	stage_close(&stage);
}

TEST(mrc_ctl_modify_ev_profile__is_busy_while_qps_use_it)
{
	struct mrc_ctl_ev_op_entry entry = { .ev_new = stage_ev(5, 1) };
	struct stage stage;

	stage_open(&stage);
	struct plant *plant = stage.station.plant;

	stage_format(&stage, 13, MRC_CTL_EV_FMT_MODE_STEV);
	REQUIRE(!stage_evs(&stage, 1, MRC_CTL_EV_MODE_EXP, 13, 1));
	REQUIRE(!stage_op(&stage, 1, MRC_CTL_EV_OP_REPLACE_EV, &entry, 1));
	REQUIRE(!stage_state(&stage, 1, MRC_CTL_PROFILE_ONLINE));
	entry.ev = entry.ev_new;
	entry.ev_new.val[3]++;
	CHECK(!stage_op(&stage, 1, MRC_CTL_EV_OP_REPLACE_EV, &entry, 1)); /* online */
	entry.ev = entry.ev_new;
	entry.ev_new = MRC_CTL_EV_UNPOPULATED;
	CHECK_EQ(ERRNO_OF(stage_op(&stage, 1, MRC_CTL_EV_OP_REPLACE_EV, &entry, 1)), EINVAL);
	plant_use(plant, &plant->evs[0], NULL, 1);
	CHECK_EQ(ERRNO_OF(stage_state(&stage, 1, MRC_CTL_PROFILE_OFFLINE)), EBUSY);
	struct mrc_ctl_ev_profile_attr more = { .ev_count = 2 };

	CHECK_EQ(ERRNO_OF(mrc_ctl_modify_ev_profile(
			 &stage.context, 1, &more, MRC_CTL_EV_PROFILE_COUNT)),
		EBUSY);
	plant_use(plant, &plant->evs[0], NULL, -1);
	CHECK(!stage_state(&stage, 1, MRC_CTL_PROFILE_OFFLINE));
	CHECK(!stage_state(&stage, 1, MRC_CTL_PROFILE_INIT));
	CHECK_EQ(ERRNO_OF(stage_state(&stage, 1, MRC_CTL_PROFILE_INIT)), EINVAL);
	stage_close(&stage);
}

TEST(mrc_ctl_modify_ev_profile__refuses_two_operations_and_odd_masks)
{
	struct mrc_ctl_ev_profile_attr attr = { .ev_event_mask = MRC_CTL_EV_DENIED };
	int both = MRC_CTL_EV_PROFILE_EV_OP | FIELDS;
	struct stage stage;

	stage_open(&stage);
	stage_format(&stage, 13, MRC_CTL_EV_FMT_MODE_STEV);
	REQUIRE(!stage_evs(&stage, 1, MRC_CTL_EV_MODE_EXP, 13, 4));
	CHECK_EQ(ERRNO_OF(mrc_ctl_modify_ev_profile(&stage.context, 1, &attr, both)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_ctl_query_ev_profile(&stage.context, 1, &attr, both)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_ctl_modify_ev_profile(&stage.context, 1, &attr, 1 << 20)), EINVAL);
	CHECK_EQ(ERRNO_OF(mrc_ctl_modify_ev_profile(
			 &stage.context, 1, &attr, MRC_CTL_EV_PROFILE_EVENT_MASK)),
		EINVAL);
	attr.ev_min_active = 5;
	CHECK_EQ(ERRNO_OF(mrc_ctl_modify_ev_profile(
			 &stage.context, 1, &attr, MRC_CTL_EV_PROFILE_MIN_ACTIVE)),
		EINVAL);
	stage_close(&stage);
}

/* "To ONLINE: MIN_ACTIVE, EVENT_MASK, REPLACE_EV": what a move needs may come with it. */
TEST(mrc_ctl_modify_ev_profile__takes_what_online_needs_in_the_same_call)
{
	struct mrc_ctl_ev_field fields[2] = { { 16, 1, 0, 7, 7 }, { 16, 2, 0, 0, 0 } };
	struct mrc_ctl_ev_op_entry entries[4] = { 0 }, got[4];
	struct mrc_ctl_ev_profile_attr attr = { .profile_state = MRC_CTL_PROFILE_ONLINE,
		.ev_min_active = 3,
		.ev_op = { MRC_CTL_EV_OP_REPLACE_EV, entries, 3 },
		.ev_fields_op = { MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, fields, 2 } };
	int mask = MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MIN_ACTIVE;
	struct stage s;

	stage_open(&s);
	struct plant_evs *evs = s.station.plant->evs;

	stage_format(&s, 13, MRC_CTL_EV_FMT_MODE_STEV);
	REQUIRE(!stage_evs(&s, 1, MRC_CTL_EV_MODE_EXP, 13, 4));
	for (uint32_t i = 0; i < 4; i++)
		entries[i].ev_new = stage_ev(i, (uint8_t)(i + 1));
	mask |= MRC_CTL_EV_PROFILE_EV_OP;
	CHECK_EQ(ERRNO_OF(mrc_ctl_modify_ev_profile(&s.context, 1, &attr, mask)), EINVAL);
	CHECK_EQ(evs[0].state, MRC_CTL_PROFILE_OFFLINE); /* one was missing; three are there */
	attr.ev_op.entries = &entries[3];
	attr.ev_op.entry_count = 1;
	CHECK(!mrc_ctl_modify_ev_profile(&s.context, 1, &attr, mask));
	CHECK_EQ(evs[0].state, MRC_CTL_PROFILE_ONLINE);
	CHECK_EQ(evs[0].min_active, 3);
	CHECK(!stage_op(&s, 1, MRC_CTL_EV_OP_QUERY_EV_ARRAY, got, 4));
	for (uint32_t i = 0; i < 4; i++)
		CHECK_MEM(&got[i].ev, &entries[i].ev_new, sizeof(got[i].ev));

	REQUIRE(!stage_evs(&s, 2, MRC_CTL_EV_MODE_GEN, 13, 4));
	mask = MRC_CTL_EV_PROFILE_STATE | FIELDS;
	fields[0].max_val = 8;
	CHECK_EQ(ERRNO_OF(mrc_ctl_modify_ev_profile(&s.context, 2, &attr, mask)), EINVAL);
	CHECK_EQ(evs[1].state, MRC_CTL_PROFILE_OFFLINE);
	fields[0].max_val = 7;
	CHECK(!mrc_ctl_modify_ev_profile(&s.context, 2, &attr, mask));
	CHECK_EQ(evs[1].state, MRC_CTL_PROFILE_ONLINE);
	CHECK_EQ(evs[1].ev[3].ev.port, 4);
	stage_close(&s);
}

/* Another length or mode empties the list: what was there cannot count for what is to be. */
TEST(mrc_ctl_modify_ev_profile__does_not_go_online_with_a_list_that_it_empties)
{
	struct mrc_ctl_ev_op_entry entries[4] = { 0 };
	struct mrc_ctl_ev_field fields[1] = { { 16, 0, 0, 7, 7 } };
	struct mrc_ctl_ev_profile_attr attr = { .profile_state = MRC_CTL_PROFILE_ONLINE,
		.ev_count = 3 };
	int mask = MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_COUNT;
	struct stage s;

	stage_open(&s);
	struct plant_evs *evs = s.station.plant->evs;

	stage_format(&s, 13, MRC_CTL_EV_FMT_MODE_STEV);
	REQUIRE(!stage_evs(&s, 1, MRC_CTL_EV_MODE_EXP, 13, 4));
	for (uint32_t i = 0; i < 4; i++)
		entries[i].ev_new = stage_ev(i, 1);
	REQUIRE(!stage_op(&s, 1, MRC_CTL_EV_OP_REPLACE_EV, entries, 4));
	CHECK_EQ(ERRNO_OF(mrc_ctl_modify_ev_profile(&s.context, 1, &attr, mask)), EINVAL);
	CHECK_EQ(evs[0].state, MRC_CTL_PROFILE_OFFLINE);
	CHECK_EQ(evs[0].count, 4);
	CHECK(!stage_state(&s, 1, MRC_CTL_PROFILE_ONLINE)); /* nothing has changed */
	REQUIRE(!stage_evs(&s, 2, MRC_CTL_EV_MODE_GEN, 13, 4));
	REQUIRE(!mrc_ctl_modify_ev_profile(&s.context, 2,
		&(struct mrc_ctl_ev_profile_attr){
			.ev_fields_op = { MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, fields, 1 } },
		FIELDS));
	CHECK(!mrc_ctl_modify_ev_profile(&s.context, 2, &attr, mask)); /* is generated anew */
	CHECK_EQ(evs[1].ev[2].ev.port, 3);
	stage_close(&s);
}

/* Of EV profile 1, which has two fields; the second begins with 2. */
static void ask_for_fields(struct stage *s,
	int (*ask)(struct mrc_context *, uint64_t, struct mrc_ctl_ev_profile_attr *, int))
{
	struct mrc_ctl_ev_field got[2];
	struct mrc_ctl_ev_profile_attr attr = { .ev_fields_op = { MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS,
							got, 1 } };

	CHECK_EQ(ERRNO_OF(ask(&s->context, 1, &attr, FIELDS)), E2BIG);
	CHECK_EQ(attr.ev_fields_op.field_count, 2);
	CHECK(!ask(&s->context, 1, &attr, FIELDS));
	CHECK_EQ(got[1].init_val, 2);
}

/* The published lists of what a modify may do have the questions, too. */
TEST(mrc_ctl_modify_ev_profile__answers_the_questions_of_a_query)
{
	struct mrc_ctl_ev_field fields[2] = { { 16, 1, 0, 7, 7 }, { 16, 2, 0, 0, 0 } }, got[2];
	struct mrc_ctl_ev_op_entry entries[4];
	struct mrc_ctl_ev_profile_attr attr = { .ev_op = { MRC_CTL_EV_OP_QUERY_EV_ARRAY, entries,
							4 },
		.ev_fields_op = { MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS, got, 2 } };
	struct stage s;

	stage_open(&s);
	stage_format(&s, 13, MRC_CTL_EV_FMT_MODE_STEV);
	REQUIRE(!stage_evs(&s, 1, MRC_CTL_EV_MODE_GEN, 13, 4));
	REQUIRE(!set_fields(&s, fields, 2));
	ask_for_fields(&s, mrc_ctl_modify_ev_profile);
	REQUIRE(!stage_state(&s, 1, MRC_CTL_PROFILE_ONLINE));
	CHECK(!mrc_ctl_modify_ev_profile(&s.context, 1, &attr, FIELDS));
	uint32_t changes = s.station.plant->evs[0].changes;

	CHECK(!mrc_ctl_modify_ev_profile(&s.context, 1, &attr, MRC_CTL_EV_PROFILE_EV_OP));
	CHECK_EQ(entries[3].ev.port, 4);
	attr.ev_op.op = MRC_CTL_EV_OP_QUERY_EV_STATE;
	entries[0].state = MRC_CTL_EV_UNKNOWN;
	CHECK(!mrc_ctl_modify_ev_profile(&s.context, 1, &attr, MRC_CTL_EV_PROFILE_EV_OP));
	CHECK_EQ(entries[0].state, MRC_CTL_EV_GOOD);
	CHECK_EQ(s.station.plant->evs[0].changes, changes); /* no QP has anything to hear */
	stage_close(&s);
}

TEST(mrc_ctl_query_ev_profile__says_how_many_fields)
{
	struct mrc_ctl_ev_field fields[2] = { { 16, 1, 0, 0, 0 }, { 16, 2, 0, 0, 0 } };
	struct stage stage;

	stage_open(&stage);
	stage_format(&stage, 13, MRC_CTL_EV_FMT_MODE_STEV);
	REQUIRE(!stage_evs(&stage, 1, MRC_CTL_EV_MODE_EXP, 13, 4));
	REQUIRE(!set_fields(&stage, fields, 2));
	ask_for_fields(&stage, mrc_ctl_query_ev_profile);
	stage_close(&stage);
}

/* Fields were right for a format that is another one now: expanded, they would be 284 bits. */
TEST(mrc_ctl_modify_ev_profile__looks_at_its_fields_again_before_it_goes_online)
{
	struct mrc_ctl_ev_fmt_field widths[64];
	struct mrc_ctl_ev_field fields[64];
	struct mrc_ctl_ev_fmt_profile_attr fmt = { .profile_state = MRC_CTL_PROFILE_OFFLINE,
		.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_SRV6,
		.ev_fmt_op = { MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, widths, 64 } };
	struct mrc_ctl_ev_profile_attr evs = { .ev_fields_op = { MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS,
						       fields, 64 } };
	struct stage s;

	stage_open(&s);
	for (int i = 0; i < 64; i++) {
		widths[i].width = 4;
		fields[i] = (struct mrc_ctl_ev_field){ 4, 15, 0, 15, 15 };
	}
	REQUIRE(!mrc_ctl_modify_ev_fmt_profile(&s.context, 1, &fmt,
		MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_MODE |
			MRC_CTL_EV_FMT_PROFILE_OP));
	REQUIRE(!stage_evs(&s, 2, MRC_CTL_EV_MODE_GEN, 1, 8));
	REQUIRE(!mrc_ctl_modify_ev_profile(&s.context, 2, &evs, MRC_CTL_EV_PROFILE_EV_FIELDS_OP));
	widths[0].width = 32;
	fmt.ev_fmt_op.fmt_field_count = 1;
	REQUIRE(!mrc_ctl_modify_ev_fmt_profile(&s.context, 1, &fmt, MRC_CTL_EV_FMT_PROFILE_OP));
	fmt.profile_state = MRC_CTL_PROFILE_ONLINE;
	REQUIRE(!mrc_ctl_modify_ev_fmt_profile(&s.context, 1, &fmt, MRC_CTL_EV_FMT_PROFILE_STATE));
	CHECK_EQ(ERRNO_OF(stage_state(&s, 2, MRC_CTL_PROFILE_ONLINE)), EINVAL);
	evs.ev_fields_op.field_count = 1;
	fields[0].width = 32;
	CHECK(!mrc_ctl_modify_ev_profile(&s.context, 2, &evs, MRC_CTL_EV_PROFILE_EV_FIELDS_OP));
	CHECK(!stage_state(&s, 2, MRC_CTL_PROFILE_ONLINE));
	stage_close(&s);
}
