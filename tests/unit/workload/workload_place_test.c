/* SPDX-License-Identifier: BSD-2-Clause */
#include "few.h"

static uint32_t place(const char *hosts, enum weft_workload_placement placement, uint32_t got[64])
{
	struct few f = few_make(NULL);
	struct build b = {
		.topo = f.topo, .spec = &f.spec, .error = f.error, .error_bytes = sizeof(f.error)
	};

	snprintf(f.spec.hosts, sizeof(f.spec.hosts), "%s", hosts);
	f.spec.placement = placement;
	weft_rng_seed(&b.rng, 3);
	bool is_good = place_ranks(&b, 0);

	if (is_good)
		memcpy(got, b.hosts, b.n * sizeof(*got));
	else
		snprintf((char *)got, 64 * sizeof(*got), "%.200s", f.error);
	free(b.hosts);
	few_close(&f);
	return is_good ? b.n : 0;
}

TEST(place_ranks__takes_lists_in_their_order)
{
	uint32_t got[64];

	CHECK_EQ(place("all", WEFT_PLACE_PACKED, got), 16);
	CHECK_EQ(got[15], 15);
	CHECK_EQ(place("9,2-8/3,0-1", WEFT_PLACE_PACKED, got), 6);
	const uint32_t want[] = { 9, 2, 5, 8, 0, 1 };

	CHECK(!memcmp(got, want, sizeof(want)));
}

TEST(place_ranks__spreads_over_t0s_and_shuffles)
{
	uint32_t got[64], seen = 0;

	CHECK_EQ(place("", WEFT_PLACE_SPREAD, got), 16);
	for (unsigned i = 1; i < 16; i++)
		CHECK(got[i] / 4 != got[i - 1] / 4);
	CHECK_EQ(place("", WEFT_PLACE_RANDOM, got), 16);
	for (unsigned i = 0; i < 16; i++)
		seen |= 1u << got[i];
	CHECK_EQ(seen, 0xffff);
	CHECK(got[0] != 0 || got[1] != 1 || got[2] != 2);
}

TEST(place_ranks__says_what_is_wrong)
{
	static const struct {
		const char *hosts, *error;
	} rows[] = {
		{ "3-1", "hosts: \"3-1\", wanted is all, or a list of 5, 0-63, 8-127/8" },
		{ "1-3/0", "hosts: \"1-3/0\", wanted is all, or a list of 5, 0-63, 8-127/8" },
		{ "1,", "hosts: \"1,\", wanted is all, or a list of 5, 0-63, 8-127/8" },
		{ "1 2", "hosts: \"1 2\", wanted is all, or a list of 5, 0-63, 8-127/8" },
		{ "0-16", "hosts: 16, this fabric has 16" },
		{ "99999999999999999999",
			"hosts: \"99999999999999999999\", wanted is all, or a list of 5, 0-63,"
			" 8-127/8" },
		{ "1,0-2", "hosts: 1 is named twice" },
		{ "1", "hosts: 1, wanted are 2 or more" },
	};
	uint32_t got[64];

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++) {
		CHECK_EQ(place(rows[i].hosts, WEFT_PLACE_PACKED, got), 0);
		CHECK_STR((char *)got, rows[i].error);
	}
}
