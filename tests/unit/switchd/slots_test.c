/* SPDX-License-Identifier: BSD-2-Clause */
#include "switchd_local.h"

#include "check.h"

TEST(slots_take__gives_each_once_and_the_last_back_first)
{
	struct slots slots;
	bool seen[8] = { false };

	REQUIRE(slots_open(&slots, 8));
	for (unsigned i = 0; i < 8; i++) {
		uint32_t slot = slots_take(&slots);

		REQUIRE(slot < 8);
		CHECK(!seen[slot]);
		seen[slot] = true;
	}
	CHECK_EQ(slots_take(&slots), SLOT_NONE);
	slots_give(&slots, 3);
	slots_give(&slots, 5);
	CHECK_EQ(slots_take(&slots), 5);
	CHECK_EQ(slots_take(&slots), 3);
	CHECK_EQ(slots.n_free, 0);
	slots_close(&slots);
}

TEST(slots_give__knows_what_cannot_be)
{
	struct slots slots;

	REQUIRE(slots_open(&slots, 2));
	CHECK_PANICS(slots_give(&slots, 0)); /* all are free */
	(void)slots_take(&slots);
	CHECK_PANICS(slots_give(&slots, 2)); /* no such slot */
	slots_close(&slots);
}
