/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

static struct weft_topo *fabric(void)
{
	static const char text[] = "name: f\nplanes: 2\nt0s: 4\nt1s: 4\nhosts: 16\n";
	struct weft_topo *topo = NULL;
	char error[256];

	REQUIRE(!weft_topo_open_text(&topo, text, strlen(text), "f", error, sizeof(error)));
	return topo;
}

#define US UINT64_C(1000000)

static struct weft_scenario_faults expand(
	const struct weft_topo *topo, const char *text, uint64_t stop_ps, uint64_t seed)
{
	struct weft_scenario_faults faults = { 0 };
	char error[256] = "";

	CHECK(weft_scenario_fault_add(&faults, topo, text, stop_ps, seed, error, sizeof(error)));
	CHECK_STR(error, "");
	return faults;
}

TEST(weft_scenario_fault_add__knows_every_kind)
{
	static const struct {
		const char *text;
		uint32_t n;
		enum weft_sim_fault_kind begin, end;
		uint64_t value, after;
	} rows[] = {
		{ "link-down h3.p1 at 5us for 2us", 2, WEFT_SIM_LINK_DOWN, WEFT_SIM_LINK_UP, 0, 0 },
		{ "port-down h3.p1 at 5us for 2us", 2, WEFT_SIM_LINK_DOWN, WEFT_SIM_LINK_UP, 0, 0 },
		{ "nic-down h3 at 5us for 2us", 4, WEFT_SIM_LINK_DOWN, WEFT_SIM_LINK_UP, 0, 0 },
		{ "slow h3.p1 to 1Gb/s at 5us for 2us", 2, WEFT_SIM_LINK_RATE, WEFT_SIM_LINK_RATE,
			1000000000, UINT64_C(100000000000) },
		{ "loss h3.p1 percent 0.5 way up at 5us for 2us", 2, WEFT_SIM_LINK_LOSS,
			WEFT_SIM_LINK_LOSS, 5000 | WEFT_SIM_UP, WEFT_SIM_UP },
		{ "corrupt h3.p1 percent 100 at 5us for 2us", 2, WEFT_SIM_LINK_CORRUPT,
			WEFT_SIM_LINK_CORRUPT, 1000000, 0 },
		/* No way is both, as in a lab. */
		{ "blackhole h3.p1 at 5us for 2us", 2, WEFT_SIM_LINK_LOSS, WEFT_SIM_LINK_LOSS,
			1000000, 0 },
		{ "blackhole h3.p1 way both at 5us for 2us", 2, WEFT_SIM_LINK_LOSS,
			WEFT_SIM_LINK_LOSS, 1000000, 0 },
		{ "blackhole h3.p1 way down at 5us for 2us", 2, WEFT_SIM_LINK_LOSS,
			WEFT_SIM_LINK_LOSS, 1000000 | WEFT_SIM_DOWN, WEFT_SIM_DOWN },
		{ "freeze p1.t1-2 at 5us for 2us", 2, WEFT_SIM_NODE_FREEZE, WEFT_SIM_NODE_THAW, 0,
			0 },
		{ "reboot p1.t1-2 at 5us for 2us", 2, WEFT_SIM_NODE_DOWN, WEFT_SIM_NODE_UP, 0, 0 },
		{ "switch-down p1.t0-2 at 5us for 2us", 2, WEFT_SIM_NODE_DOWN, WEFT_SIM_NODE_UP, 0,
			0 },
		{ "plane-down 1 at 5us for 2us", 8, WEFT_SIM_NODE_DOWN, WEFT_SIM_NODE_UP, 0, 0 },
		{ "plane-freeze p1 at 5us for 2us", 16, WEFT_SIM_NODE_FREEZE, WEFT_SIM_NODE_THAW, 0,
			0 },
		{ "pause h3 at 5us for 2us", 2, WEFT_SIM_HOST_PAUSE, WEFT_SIM_HOST_RESUME, 0, 0 },
	};
	struct weft_topo *topo = fabric();

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_scenario_faults f = expand(topo, rows[i].text, 100 * US, 1);

		CHECK_EQ(f.n, rows[i].n);
		CHECK_EQ(f.list[0].kind, rows[i].begin);
		CHECK_EQ(f.list[0].at_ps, 5 * US);
		CHECK_EQ(f.list[0].value, rows[i].value);
		CHECK_EQ(f.list[f.n - 1].kind, rows[i].end);
		CHECK_EQ(f.list[f.n - 1].at_ps, 7 * US);
		CHECK_EQ(f.list[f.n - 1].value, rows[i].after);
		CHECK_EQ(f.n_events, 1);
		weft_scenario_faults_free(&f);
	}
	weft_topo_close(topo);
}

TEST(weft_scenario_fault_add__says_what_is_wrong)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ "flood h0.p0 at 1us",
			"fault \"flood h0.p0 at 1us\": wanted is link-down, port-down" },
		{ "link-dowm h0.p0 at 1us",
			"fault \"link-dowm h0.p0 at 1us\": did you mean link-down?" },
		{ "link-down h0.p9 at 1us", "fault \"link-down h0.p9 at 1us\": no such link" },
		{ "nic-down h99 at 1us", "fault \"nic-down h99 at 1us\": no such host" },
		{ "freeze h0 at 1us", "fault \"freeze h0 at 1us\": no such switch" },
		{ "plane-down 2 at 1us", "fault \"plane-down 2 at 1us\": no such plane" },
		{ "plane-down 4294967297 at 1us",
			"fault \"plane-down 4294967297 at 1us\": no such plane" },
		{ "loss h0.p0 percent nan at 1us",
			"fault \"loss h0.p0 percent nan at 1us\": percent:" },
		{ "loss h0.p0 percent 0.00001 at 1us",
			"fault \"loss h0.p0 percent 0.00001 at 1us\": percent:" },
		{ "slow h0.p0 to 11Tb/s at 1us", "fault \"slow h0.p0 to 11Tb/s at 1us\": to:" },
		{ "port-down p0.t0-0:t1-0 at 1us",
			"fault \"port-down p0.t0-0:t1-0 at 1us\": no such link of a host" },
		{ "slow h0.p0 at 1us", "fault \"slow h0.p0 at 1us\": it needs \"to RATE\"" },
		{ "freeze p0.t1-0 to 1Gb/s at 1us",
			"fault \"freeze p0.t1-0 to 1Gb/s at 1us\": \"to RATE\" belongs to slow" },
		{ "loss h0.p0 at 1us", "fault \"loss h0.p0 at 1us\": it needs \"percent\"" },
		{ "freeze p0.t1-0 percent 5 at 1us",
			"fault \"freeze p0.t1-0 percent 5 at 1us\": \"percent\" belongs" },
		{ "freeze p0.t1-0 way up at 1us",
			"fault \"freeze p0.t1-0 way up at 1us\": \"way\"" },
		{ "flap h0.p0 at 1us", "fault \"flap h0.p0 at 1us\": \"up\" and \"down\" belong" },
		{ "reboot p0.t1-0 at 1us",
			"fault \"reboot p0.t1-0 at 1us\": it needs \"for TIME\"" },
		{ "link-down h0.p0 at 1us every 2us",
			"fault \"link-down h0.p0 at 1us every 2us\": \"every\" needs" },
		{ "link-down h0.p0 for 1us", "fault \"link-down h0.p0 for 1us\": it needs \"at" },
		{ "link-down h0.p0 at", "fault \"link-down h0.p0 at\": wanted is KIND WHERE" },
		{ "loss h0.p0 percent 101 at 1us",
			"fault \"loss h0.p0 percent 101 at 1us\": percent:" },
	};
	struct weft_topo *topo = fabric();
	struct weft_scenario_faults faults = { 0 };
	char error[256];

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++) {
		CHECK(!weft_scenario_fault_add(
			&faults, topo, rows[i].text, US, 1, error, sizeof(error)));
		error[strlen(rows[i].error)] = 0;
		CHECK_STR(error, rows[i].error);
	}
	CHECK_EQ(faults.n, 0);
	weft_topo_close(topo);
}

TEST(wish_expand__takes_patterns_in_steps_and_again)
{
	struct weft_topo *topo = fabric();
	struct weft_scenario_faults f =
		expand(topo, "link-down p1.t0-2:* at 5us step 10us for 1us every 50us", 60 * US, 1);

	/* Four uplinks; the first one comes twice until 60 us, the others once. */
	CHECK_EQ(f.n, 2 * 5);
	CHECK_EQ(f.n_events, 5);
	CHECK_EQ(f.list[2].at_ps, 55 * US);
	CHECK_EQ(f.list[4].at_ps, 15 * US);
	CHECK(f.list[0].where != f.list[4].where);
	weft_scenario_faults_free(&f);
	weft_topo_close(topo);
}

TEST(wish_expand__picks_some_by_the_seed)
{
	struct weft_topo *topo = fabric();
	uint32_t picked[2] = { 0 };

	for (uint64_t seed = 1; seed <= 2; seed++) {
		struct weft_scenario_faults f =
			expand(topo, "link-down p*.t0-*:* of 5 at 5us", US, seed);

		REQUIRE(f.n == 5);
		for (uint32_t i = 0; i < f.n; i++) {
			picked[seed - 1] = picked[seed - 1] * 31 + f.list[i].where;
			for (uint32_t k = 0; k < i; k++)
				CHECK(f.list[i].where != f.list[k].where);
		}
		weft_scenario_faults_free(&f);
	}
	CHECK(picked[0] != picked[1]);
	weft_topo_close(topo);
}

/* Up 100 us and down 10 us on the mean: of 32 links over 11 ms some 3200 times. */
TEST(wish_expand__flaps_as_often_as_it_should)
{
	struct weft_topo *topo = fabric();
	struct weft_scenario_faults f =
		expand(topo, "flap p*.t0-*:* up 100us down 10us at 0us", 11000 * US, 3);
	uint64_t down_ps = 0;

	for (uint32_t i = 0; i + 1 < f.n; i += 2) {
		CHECK_EQ(f.list[i].kind, WEFT_SIM_LINK_DOWN);
		CHECK_EQ(f.list[i + 1].kind, WEFT_SIM_LINK_UP);
		CHECK_EQ(f.list[i].where, f.list[i + 1].where);
		CHECK(f.list[i].at_ps < f.list[i + 1].at_ps);
		down_ps += f.list[i + 1].at_ps - f.list[i].at_ps;
	}
	CHECK_NEAR(f.n / 2.0, 3200.0, 250.0);
	CHECK_NEAR((double)down_ps / (f.n / 2.0) / 1e6, 10.0, 1.0);
	CHECK_EQ(f.n_events, 1);
	weft_scenario_faults_free(&f);
	weft_topo_close(topo);
}
