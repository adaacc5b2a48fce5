/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "sim.h"

static const char fabric[] = "name: f\nplanes: 2\nt0s: 3\nt1s: 2\nhosts: 6\n";

static struct weft_topo *open_fabric(void)
{
	struct weft_topo *topo = NULL;
	char error[256];

	REQUIRE(!weft_topo_open_text(&topo, fabric, strlen(fabric), "f", error, sizeof(error)));
	return topo;
}

TEST(sim_read_time__wants_a_unit)
{
	uint64_t value = 7;

	CHECK(sim_read_time("20us", &value) && value == 20000000);
	CHECK(sim_read_time("1.5ms", &value) && value == UINT64_C(1500000000));
	CHECK(sim_read_time("3ps", &value) && value == 3);
	CHECK(!sim_read_time("20", &value) && !sim_read_time("us", &value));
	CHECK(!sim_read_time("-1us", &value) && !sim_read_time("1 us", &value));
	CHECK(!sim_read_time("nans", &value) && !sim_read_time("", &value));
	CHECK(!sim_read_time("99999999s", &value));
}

TEST(sim_read_bytes__knows_both_kinds_of_mega)
{
	uint64_t value;

	CHECK(sim_read_bytes("4096", &value) && value == 4096);
	CHECK(sim_read_bytes("2MB", &value) && value == 2000000);
	CHECK(sim_read_bytes("2MiB", &value) && value == 2097152);
	CHECK(!sim_read_bytes("2M", &value) && !sim_read_bytes("2mb", &value));
}

TEST(sim_read_rate__counts_bits)
{
	uint64_t value;

	CHECK(sim_read_rate("12.5Gb/s", &value) && value == UINT64_C(12500000000));
	CHECK(!sim_read_rate("12.5GB/s", &value));
}

TEST(sim_fault_read__writes_repetitions_out)
{
	struct weft_topo *topo = open_fabric();
	struct sim_faults faults = { 0 };
	char error[256] = "";

	CHECK(sim_fault_read(&faults, topo, "link-down h3.p1 at 10us for 5us every 20us", 50000000,
		error, sizeof(error)));
	CHECK_STR(error, "");
	CHECK_EQ(faults.n, 6); /* at 10, 30 and 50 us */
	for (uint32_t i = 0; i < faults.n; i++) {
		CHECK_EQ(faults.list[i].where, weft_topo_link_find(topo, "h3.p1"));
		CHECK_EQ(faults.list[i].kind, i % 2 ? WEFT_SIM_LINK_UP : WEFT_SIM_LINK_DOWN);
		CHECK_EQ(faults.list[i].at_ps, 10000000 + i / 2 * 20000000 + i % 2 * 5000000);
	}
	free(faults.list);
	weft_topo_close(topo);
}

TEST(sim_fault_read__knows_each_kind)
{
	struct weft_topo *topo = open_fabric();
	struct sim_faults faults = { 0 };
	uint32_t t1 = weft_topo_node_find(topo, "p1.t1-0");
	char error[256];

	CHECK(sim_fault_read(&faults, topo, "freeze p1.t1-0 at 1us", 0, error, sizeof(error)));
	CHECK(sim_fault_read(
		&faults, topo, "switch-down p1.t1-0 at 2us for 1us", 0, error, sizeof(error)));
	CHECK(sim_fault_read(
		&faults, topo, "slow h0.p0 to 5Gb/s at 3us for 1us", 0, error, sizeof(error)));
	CHECK(sim_fault_read(&faults, topo, "plane-down 1 at 4us", 0, error, sizeof(error)));
	REQUIRE(faults.n == 1 + 2 + 2 + 3);
	CHECK_EQ(faults.list[0].kind, WEFT_SIM_NODE_FREEZE);
	CHECK_EQ(faults.list[0].where, t1);
	CHECK_EQ(faults.list[1].kind, WEFT_SIM_NODE_DOWN);
	CHECK_EQ(faults.list[2].kind, WEFT_SIM_NODE_UP);
	CHECK_EQ(faults.list[3].kind, WEFT_SIM_LINK_RATE);
	CHECK_EQ(faults.list[3].value, UINT64_C(5000000000));
	CHECK_EQ(faults.list[4].value, UINT64_C(100000000000)); /* as it was */
	for (uint32_t i = 5; i < 8; i++) {
		CHECK_EQ(faults.list[i].kind, WEFT_SIM_NODE_DOWN);
		CHECK_EQ(faults.list[i].where, weft_topo_t0(topo, 1, i - 5));
	}
	free(faults.list);
	weft_topo_close(topo);
}

TEST(sim_fault_read__says_what_it_wanted)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ "", "wanted is KIND WHERE at TIME [for TIME] [every TIME] [to RATE]" },
		{ "flood h0.p0 at 1us",
			"wanted is link-down, slow, freeze, switch-down or plane-down" },
		{ "link-down h9.p0 at 1us", "no such link in this fabric" },
		{ "freeze h0 at 1us", "no such switch in this fabric" },
		{ "plane-down 2 at 1us", "no such plane" },
		{ "freeze p0.t1-0 at soon", "at: wanted is a time, 20us" },
		{ "freeze p0.t1-0 for 1us", "it needs \"at TIME\"" },
		{ "freeze p0.t1-0 at 1us for 0us", "for: wanted is a time, 30us" },
		{ "freeze p0.t1-0 at 1us now 0us", "wanted is at, for, every or to" },
		{ "freeze p0.t1-0 at 1us every 5us", "\"every\" needs a shorter \"for\"" },
		{ "freeze p0.t1-0 at 1us to 5Gb/s", "\"to RATE\" belongs to slow, and only there" },
		{ "slow h0.p0 at 1us", "\"to RATE\" belongs to slow, and only there" },
		{ "slow h0.p0 to 5 at 1us", "to: wanted is a speed from 1Mb/s on, 10Gb/s" },
		{ "freeze p0.t1-0 at 0us for 1ps every 2ps",
			"it would come more than 100,000 times" },
	};
	struct weft_topo *topo = open_fabric();

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sim_faults faults = { 0 };
		char error[256], want[256];

		snprintf(want, sizeof(want), "fault \"%s\": %s", rows[i].text, rows[i].error);
		CHECK(!sim_fault_read(
			&faults, topo, rows[i].text, UINT64_C(1000000000), error, sizeof(error)));
		CHECK_STR(error, want);
		CHECK_EQ(faults.n, 0);
		free(faults.list);
	}
	weft_topo_close(topo);
}
