/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "topo_local.h"

TEST(unit_parse__reads_every_unit)
{
	static const struct {
		enum weft_unit unit;
		const char *text;
		uint64_t want;
	} rows[] = {
		{ WEFT_UNIT_COUNT, "0", 0 },
		{ WEFT_UNIT_COUNT, "131072", 131072 },
		{ WEFT_UNIT_SPEED, "1Gb/s", 1000000000 },
		{ WEFT_UNIT_SPEED, "1.5Gb/s", 1500000000 },
		{ WEFT_UNIT_SPEED, "100 Gb/s", 100000000000 },
		{ WEFT_UNIT_SPEED, "64kb/s", 64000 },
		{ WEFT_UNIT_SPEED, "1Tb/s", 1000000000000 },
		{ WEFT_UNIT_TIME, "600ns", 600 },
		{ WEFT_UNIT_TIME, "1.25us", 1250 },
		{ WEFT_UNIT_TIME, "2s", 2000000000 },
		{ WEFT_UNIT_BYTES, "512KB", 512000 },
		{ WEFT_UNIT_BYTES, "1MiB", 1048576 },
		{ WEFT_UNIT_BYTES, "9000B", 9000 },
		{ WEFT_UNIT_PERCENT, "0.5", 5000 },
		{ WEFT_UNIT_PERCENT, "20%", 200000 },
		{ WEFT_UNIT_PS, "0.3ns", 300 },
		{ WEFT_UNIT_SIZE, "9000", 9000 },
		{ WEFT_UNIT_SIZE, "1.5KiB", 1536 },
		{ WEFT_UNIT_TIME, "9223372036s", UINT64_C(9223372036000000000) },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		uint64_t got = 1;

		CHECK(weft_unit_parse(rows[i].unit, rows[i].text, &got));
		CHECK_EQ(got, rows[i].want);
	}
}

TEST(unit_parse__refuses_what_is_not_exact)
{
	static const struct {
		enum weft_unit unit;
		const char *text;
	} rows[] = {
		{ WEFT_UNIT_COUNT, "" },
		{ WEFT_UNIT_COUNT, "-1" },
		{ WEFT_UNIT_COUNT, "1.5" },
		{ WEFT_UNIT_COUNT, "12x" },
		{ WEFT_UNIT_COUNT, "0x10" },
		{ WEFT_UNIT_SPEED, "100" },
		{ WEFT_UNIT_SPEED, "1GB/s" },
		{ WEFT_UNIT_SPEED, "1.Gb/s" },
		{ WEFT_UNIT_SPEED, ".Gb/s" },
		{ WEFT_UNIT_SPEED, "1gb/s" },
		{ WEFT_UNIT_TIME, "1.5ns" },
		{ WEFT_UNIT_TIME, "5" },
		{ WEFT_UNIT_TIME, "1..5us" },
		{ WEFT_UNIT_BYTES, "10kb" },
		{ WEFT_UNIT_BYTES, "10" },
		{ WEFT_UNIT_PERCENT, "nan" },
		{ WEFT_UNIT_PERCENT, "0.00001" },
		{ WEFT_UNIT_PS, "0.5ps" },
		{ WEFT_UNIT_SIZE, "1.5" },
		{ WEFT_UNIT_TIME, "infs" },
		{ WEFT_UNIT_TIME, "9223372037s" },
		{ WEFT_UNIT_COUNT, "99999999999999999999999" },
		{ WEFT_UNIT_SPEED, "99999999999999999Tb/s" },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		uint64_t got;

		if (weft_unit_parse(rows[i].unit, rows[i].text, &got))
			CHECK_FAIL("'%s' was taken for %" PRIu64, rows[i].text, got);
	}
}

TEST(unit_form__names_an_example)
{
	CHECK(strstr(weft_unit_form(WEFT_UNIT_SPEED), "Gb/s"));
	CHECK(strstr(weft_unit_form(WEFT_UNIT_TIME), "us"));
	CHECK(strstr(weft_unit_form(WEFT_UNIT_BYTES), "KB"));
}

TEST(weft_way_parse__knows_both_ways_and_each)
{
	uint32_t way = 7;

	CHECK(!weft_way_parse("sideways", &way));
	CHECK(!weft_way_parse("", &way));
	CHECK_EQ(way, 7);
	CHECK(weft_way_parse("up", &way));
	CHECK_EQ(way, WEFT_WAY_UP);
	CHECK(weft_way_parse("down", &way));
	CHECK_EQ(way, WEFT_WAY_DOWN);
	CHECK(weft_way_parse("both", &way));
	CHECK_EQ(way, WEFT_WAY_UP | WEFT_WAY_DOWN);
}

TEST(unit_prefix__reads_a_32)
{
	uint32_t prefix;

	CHECK(unit_prefix("fcbb:bb00::/32", &prefix));
	CHECK_EQ(prefix, 0xfcbbbb00u);
	CHECK(unit_prefix("FC00:0::/32", &prefix));
	CHECK_EQ(prefix, 0xfc000000u);
}

TEST(unit_prefix__refuses_others)
{
	static const char *const rows[] = { "", "fcbb::/32", "fcbb:bb00::/48", "fcbb:bb00:1::/32",
		"fcbb:bb00::", "fcbbb:1::/32", "fcbb:g::/32", "10.0.0.0/32", "fcbb:bb00::/320" };
	uint32_t prefix;

	for (size_t i = 0; i < WEFT_COUNT(rows); i++)
		CHECK(!unit_prefix(rows[i], &prefix));
}
