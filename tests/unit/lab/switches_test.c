/* SPDX-License-Identifier: BSD-2-Clause */
#include "labs.h"

TEST(name__is_found_again)
{
	enum weft_lab_switches found = WEFT_LAB_SWITCHES_DEFAULT;

	for (unsigned i = 1; i < WEFT_LAB_SWITCHES_COUNT; i++) {
		CHECK(weft_lab_switches_find(
			weft_lab_switches_name((enum weft_lab_switches)i), &found));
		CHECK_EQ(found, i);
	}
	CHECK(!strcmp(weft_lab_switches_name(WEFT_LAB_SWITCHES_XDP), "xdp"));
	CHECK(!strcmp(weft_lab_switches_name(WEFT_LAB_SWITCHES_COUNT), "?"));
}

TEST(find__refuses_what_is_no_kind)
{
	enum weft_lab_switches found = WEFT_LAB_SWITCHES_SOFT;

	CHECK(!weft_lab_switches_find("default", &found));
	CHECK(!weft_lab_switches_find("", &found));
	CHECK(!weft_lab_switches_find("Kernel", &found));
	CHECK_EQ(found, WEFT_LAB_SWITCHES_SOFT);
}

TEST(choose__takes_what_was_asked_for)
{
	struct weft_lab_options options = { .switches = WEFT_LAB_SWITCHES_XDP };

	CHECK_EQ(switches_choose(&options), WEFT_LAB_SWITCHES_XDP);
	options.switches = WEFT_LAB_SWITCHES_DEFAULT;
	CHECK_EQ(switches_choose(&options), WEFT_LAB_SWITCHES_SOFT);
	options.offloads = true; /* which soft switches cannot do */
	CHECK_EQ(switches_choose(&options), WEFT_LAB_SWITCHES_KERNEL);
}
