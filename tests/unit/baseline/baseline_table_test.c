/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "baseline_local.h"

TEST(weft_baseline_find__finds_what_weft_baseline_name_says)
{
	enum weft_baseline_kind kind = WEFT_BASELINE_KINDS;

	for (unsigned i = 0; i < WEFT_BASELINE_KINDS; i++) {
		CHECK(weft_baseline_find(weft_baseline_name((enum weft_baseline_kind)i), &kind));
		CHECK_EQ(kind, i);
	}
	CHECK(!weft_baseline_find("roc", &kind) && !weft_baseline_find("roces", &kind));
	CHECK(!weft_baseline_find("", &kind));
	CHECK_STR(weft_baseline_name(WEFT_BASELINE_KINDS), "?");
	CHECK_STR(weft_baseline_name(WEFT_BASELINE_ROCE_SR), "roce-sr");
}

TEST(weft_baseline_is_roce__is_what_dcqcn_may_be_had_with)
{
	static const bool is_roce[] = { [WEFT_BASELINE_ROCE] = true,
		[WEFT_BASELINE_ROCE_SR] = true,
		[WEFT_BASELINE_STRIPE] = true,
		[WEFT_BASELINE_NDP] = false };

	CHECK_EQ(WEFT_COUNT(is_roce), WEFT_BASELINE_KINDS);
	for (unsigned i = 0; i < WEFT_COUNT(is_roce); i++)
		CHECK_EQ(weft_baseline_is_roce((enum weft_baseline_kind)i), is_roce[i]);
}

/* A kind that spreads packets cannot read a gap as a loss, and one that pulls paces itself. */
TEST(kind_of__says_nothing_that_excludes_itself)
{
	for (unsigned i = WEFT_BASELINE_NONE + 1; i < WEFT_BASELINE_KINDS; i++) {
		const struct kind *kind = kind_of((enum weft_baseline_kind)i);

		CHECK(kind->is_spray != kind->knows_order);
		CHECK(!kind->is_spray || kind->is_selective);
		CHECK(kind->is_pulled + kind->has_window + kind->has_rate == 1);
		CHECK(kind->rto_us > 0);
	}
}
