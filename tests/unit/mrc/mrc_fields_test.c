/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

static const struct plant_fmt stev = {
	.mode = MRC_CTL_EV_FMT_MODE_STEV, .n_fields = 2, .field = { { 16 }, { 16 } }
};

TEST(fields_check_fmt__knows_each_modes_width)
{
	static const struct {
		uint32_t mode;
		struct mrc_ctl_ev_fmt_field field[9];
		int n, want;
	} rows[] = {
		{ MRC_CTL_EV_FMT_MODE_STEV, { { 16 }, { 16 } }, 2, 0 },
		{ MRC_CTL_EV_FMT_MODE_STEV, { { 16 }, { 17 } }, 2, E2BIG },
		{ MRC_CTL_EV_FMT_MODE_UDP, { { 16 } }, 1, 0 },
		{ MRC_CTL_EV_FMT_MODE_UDP, { { 16 }, { 1 } }, 2, E2BIG },
		{ MRC_CTL_EV_FMT_MODE_SRV6, { { 32 }, { 16 }, { 16 }, { 16 }, { 16 } }, 5, 0 },
		{ MRC_CTL_EV_FMT_MODE_SRV6,
			{ { 32 }, { 32 }, { 32 }, { 32 }, { 32 }, { 32 }, { 32 }, { 32 } }, 8, 0 },
		{ MRC_CTL_EV_FMT_MODE_SRV6,
			{ { 32 }, { 32 }, { 32 }, { 32 }, { 32 }, { 32 }, { 32 }, { 32 }, { 1 } },
			9, E2BIG },
		{ MRC_CTL_EV_FMT_MODE_STEV, { { 0 } }, 1, EINVAL },
		{ MRC_CTL_EV_FMT_MODE_STEV, { { 33 } }, 1, EINVAL },
		{ MRC_CTL_EV_FMT_MODE_STEV, { { 1 } }, 0, EINVAL },
		{ MRC_CTL_EV_FMT_MODE_STEV, { { 1 } }, -1, EINVAL },
		{ MRC_CTL_EV_FMT_MODE_STEV, { { 1 } }, PLANT_FIELDS + 1, E2BIG },
		{ 0, { { 1 } }, 1, EINVAL },
		{ 3, { { 1 } }, 1, EINVAL },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++)
		CHECK_EQ(fields_check_fmt(rows[i].mode, rows[i].field, rows[i].n), rows[i].want);
}

TEST(fields_check__holds_each_restriction)
{
	static const struct {
		struct mrc_ctl_ev_field field[3]; /* width, init, min, max, mask */
		int n, want;
	} rows[] = {
		{ { { 16, 0, 0, 0xffff, 0xffff }, { 16, 0, 0, 0, 0xffff } }, 2, 0 },
		{ { { 16, 0x1200, 0, 15, 0xf } }, 1, 0 },
		{ { { 8, 1, 0, 0, 0 }, { 8, 2, 0, 0, 0 }, { 8, 3, 0, 0, 0 } }, 3, E2BIG },
		{ { { 17, 0, 0, 0, 0 } }, 1, EINVAL },    /* wider than its format field */
		{ { { 8, 0x100, 0, 0, 0 } }, 1, EINVAL }, /* init_val */
		{ { { 8, 0, 0, 0, 0x180 } }, 1, EINVAL }, /* mask */
		{ { { 16, 0, 0, 16, 0xf } }, 1, EINVAL }, /* max_val */
		{ { { 16, 0, 3, 2, 0xf } }, 1, EINVAL },  /* min_val above max_val */
		{ { { 0, 0, 0, 0, 0 } }, 1, EINVAL },
		{ { { 8, 0, 0, 0, 0 } }, 0, EINVAL },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++)
		CHECK_EQ(fields_check(rows[i].field, rows[i].n, &stev), rows[i].want);
}

TEST(fields_expand__takes_bits_from_the_top)
{
	static const struct {
		struct mrc_ctl_ev_field field[2];
		int n;
		uint8_t ev[4], want[4];
	} rows[] = {
		/* every bit of both fields */
		{ { { 16, 0, 0, 0, 0xffff }, { 16, 0, 0, 0, 0xffff } }, 2,
			{ 0x12, 0x34, 0x56, 0x78 }, { 0x12, 0x34, 0x56, 0x78 } },
		/* four bits each, the rest fixed */
		{ { { 16, 0x100, 1, 15, 0xf }, { 16, 0x200, 1, 15, 0xf } }, 2, { 0xab, 0, 0, 0 },
			{ 0x01, 0x0a, 0x02, 0x0b } },
		/* holes in the mask; bits of init_val below a mask bit are overwritten */
		{ { { 16, 0x1fff, 1, 255, 0x0f0f }, { 16, 0x2000, 1, 255, 0x0f0f } }, 2,
			{ 0x5a, 0xc3, 0, 0 }, { 0x15, 0xfa, 0x2c, 0x03 } },
		/* a field narrower than its format field has zeros in front */
		{ { { 4, 0, 0, 15, 0xf }, { 8, 0xee, 0, 0, 0 } }, 2, { 0x90, 0, 0, 0 },
			{ 0x00, 0x09, 0x00, 0xee } },
		/* no fields: itself */
		{ { { 0 } }, 0, { 1, 2, 3, 4 }, { 1, 2, 3, 4 } },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		mrc_ctl_ev_t ev = { 0 }, expanded, want = { 0 };

		memcpy(ev, rows[i].ev, 4);
		memcpy(want, rows[i].want, 4);
		fields_expand(rows[i].field, rows[i].n, &stev, ev, expanded);
		CHECK_MEM(expanded, want, sizeof(want));
	}
}

TEST(fields_expand__fills_a_whole_segment_list)
{
	struct plant_fmt fmt = { .mode = MRC_CTL_EV_FMT_MODE_SRV6, .n_fields = 8 };
	struct mrc_ctl_ev_field field[8];
	mrc_ctl_ev_t ev, expanded;

	for (int i = 0; i < 8; i++) {
		fmt.field[i].width = 32;
		field[i] = (struct mrc_ctl_ev_field){ 32, 0, 0, UINT32_MAX, UINT32_MAX };
	}
	CHECK_EQ(fields_check(field, 8, &fmt), 0);
	for (size_t i = 0; i < sizeof(ev); i++)
		ev[i] = (uint8_t)(i * 37 + 1);
	fields_expand(field, 8, &fmt, ev, expanded);
	CHECK_MEM(expanded, ev, sizeof(ev));
}

TEST(fields_generate__stays_in_range_and_repeats_nothing)
{
	/* 180 x 16 x 16 combinations, as in a fabric whose T0s have 180 uplinks */
	static const struct mrc_ctl_ev_field field[3] = { { 8, 0, 0, 179, 0xff },
		{ 4, 0, 1, 15, 0xf }, { 4, 0, 0, 15, 0xf } };
	static bool seen[1 << 16];
	bool first[180] = { false };
	unsigned firsts = 0;

	for (uint32_t i = 0; i < 1000; i++) {
		mrc_ctl_ev_t ev;

		fields_generate(field, 3, i, 1000, ev);
		uint32_t value = (uint32_t)ev[0] << 8 | ev[1];

		CHECK(ev[0] < 180 && ev[1] >> 4 >= 1);
		CHECK_EQ(ev[2], 0);
		CHECK(!seen[value]);
		seen[value] = true;
		firsts += !first[ev[0]];
		first[ev[0]] = true;
	}
	CHECK(firsts > 150); /* all first hops are in use, not the first few */
}

TEST(fields_generate__begins_again_where_there_are_too_few)
{
	static const struct mrc_ctl_ev_field field[1] = { { 8, 0, 4, 6, 0x0f } };

	for (uint32_t i = 0; i < 10; i++) {
		mrc_ctl_ev_t ev;

		fields_generate(field, 1, i, 10, ev);
		CHECK_EQ(ev[0], (4 + i % 3) << 4);
	}
}
