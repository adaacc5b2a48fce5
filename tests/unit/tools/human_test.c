/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "human.h"

static char buf[HUMAN_MAX];

TEST(human_bytes__has_three_digits)
{
	static const struct {
		uint64_t n;
		const char *text;
	} rows[] = {
		{ 0, "0 B" },
		{ 1, "1 B" },
		{ 1023, "1023 B" },
		{ 1024, "1 KiB" },
		{ 1025, "1 KiB" },
		{ 1153, "1.13 KiB" },
		{ 1280, "1.25 KiB" },
		{ 10 * 1024 + 512, "10.5 KiB" },
		{ 100 * 1024 + 512, "100 KiB" },
		{ 1023 * 1024, "1023 KiB" },
		{ 1024 * 1024 - 513, "1023 KiB" },
		{ 1024 * 1024 - 512, "1 MiB" },
		{ UINT64_C(5) << 28, "1.25 GiB" },
		{ UINT64_MAX, "16 EiB" },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++)
		CHECK_STR(human_bytes(buf, rows[i].n), rows[i].text);
}

TEST(human_rate__counts_in_thousands)
{
	CHECK_STR(human_rate(buf, 0), "0 b/s");
	CHECK_STR(human_rate(buf, 999), "999 b/s");
	CHECK_STR(human_rate(buf, 7400000000), "7.4 Gb/s");
	CHECK_STR(human_rate(buf, 800000000000), "800 Gb/s");
	CHECK_STR(human_rate(buf, 1600000000000), "1.6 Tb/s");
	CHECK_STR(human_rate(buf, 999499999), "999 Mb/s");
	CHECK_STR(human_rate(buf, 999500000), "1 Gb/s");
	CHECK_STR(human_rate(buf, 9999999), "10 Mb/s");
	CHECK_STR(human_rate(buf, UINT64_MAX), "18447 Pb/s");
}

TEST(human_ns__changes_unit_and_then_form)
{
	CHECK_STR(human_ns(buf, 850), "850 ns");
	CHECK_STR(human_ns(buf, 3200000), "3.2 ms");
	CHECK_STR(human_ns(buf, 12000), "12 us");
	CHECK_STR(human_ns(buf, 1500000000), "1.5 s");
	CHECK_STR(human_ns(buf, UINT64_C(59499999999)), "59.5 s");
	CHECK_STR(human_ns(buf, UINT64_C(59500000000)), "1 min 00 s");
	CHECK_STR(human_ns(buf, UINT64_C(125000000000)), "2 min 05 s");
	CHECK_STR(human_ns(buf, UINT64_C(3725000000000)), "1 h 02 min");
}

TEST(human_count__groups_by_three)
{
	CHECK_STR(human_count(buf, 0), "0");
	CHECK_STR(human_count(buf, 999), "999");
	CHECK_STR(human_count(buf, 1000), "1,000");
	CHECK_STR(human_count(buf, 12345678), "12,345,678");
	CHECK_STR(human_count(buf, UINT64_MAX), "18,446,744,073,709,551,615");
	CHECK(strlen(buf) < HUMAN_MAX);
}

TEST(human_read_rate__reads_what_people_write)
{
	uint64_t bps = 7;

	CHECK(human_read_rate("1.5Gb/s", &bps));
	CHECK_EQ(bps, 1500000000);
	CHECK(human_read_rate("200Mb/s", &bps));
	CHECK_EQ(bps, 200000000);
	CHECK(!human_read_rate("200", &bps));
	CHECK(!human_read_rate("Gb/s", &bps));
	CHECK(!human_read_rate("0Gb/s", &bps));
	CHECK(!human_read_rate("-1Gb/s", &bps));
	CHECK(!human_read_rate("nanGb/s", &bps));
	CHECK(!human_read_rate("1e30Gb/s", &bps));
	CHECK(!human_read_rate("1Gb/s ", &bps));
	CHECK(!human_read_rate("0x10Gb/s", &bps));
	CHECK(!human_read_rate("1.5b/s", &bps));
	CHECK_EQ(bps, 200000000);
}

TEST(human_read_ns__reads_what_people_write)
{
	uint64_t ns;

	CHECK(human_read_ns("2s", &ns));
	CHECK_EQ(ns, 2000000000);
	CHECK(human_read_ns("1.5ms", &ns));
	CHECK_EQ(ns, 1500000);
	CHECK(human_read_ns("20us", &ns));
	CHECK_EQ(ns, 20000);
	CHECK(human_read_ns("3ns", &ns));
	CHECK_EQ(ns, 3);
	CHECK(!human_read_ns("0.1ns", &ns));
	CHECK(!human_read_ns("2", &ns));
	CHECK(!human_read_ns("infs", &ns));
	CHECK(!human_read_ns("1e30s", &ns));
	CHECK(!human_read_ns("9223372037s", &ns)); /* it is added to the time of day */
	CHECK_EQ(ns, 3);
}

TEST(human_read_percent__reads_what_people_write)
{
	static const char *const bad[] = { "", "nan", "inf", "-1", "101", "100.0001", "0.00005",
		"%", "5%%", "0x5" };
	uint32_t ppm;

	CHECK(human_read_percent("20.5", &ppm) && ppm == 205000);
	CHECK(human_read_percent("0.0001%", &ppm) && ppm == 1);
	CHECK(human_read_percent("0", &ppm) && ppm == 0);
	CHECK(human_read_percent("100", &ppm) && ppm == 1000000);
	for (size_t i = 0; i < WEFT_COUNT(bad); i++)
		CHECK(!human_read_percent(bad[i], &ppm));
	CHECK_EQ(ppm, 1000000);
}
