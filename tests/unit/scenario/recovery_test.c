/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

enum { ROWS = 20 };

/* Twenty samples of 10 us each with this much goodput, 1e6 bytes are the line; two events. */
struct course {
	struct weft_scenario_result result;
	struct weft_scenario_column columns[2];
	struct weft_scenario_event events[2];
	uint64_t at_ps[ROWS];
	double bytes[ROWS], done[ROWS];
};

static void watch(struct course *c, const double share[ROWS], uint64_t begin_us, uint64_t end_us)
{
	c->columns[0] =
		(struct weft_scenario_column){ "goodput", "bytes", WEFT_SCENARIO_SUM, c->bytes };
	c->columns[1] =
		(struct weft_scenario_column){ "flows done", "flows", WEFT_SCENARIO_LAST, c->done };
	for (unsigned i = 0; i < ROWS; i++) {
		c->at_ps[i] = (i + 1) * UINT64_C(10000000);
		c->bytes[i] = share[i] * 1e6;
		c->done[i] = 0;
	}
	c->events[0] = (struct weft_scenario_event){ begin_us * 1000000,
		end_us ? end_us * 1000000 : WEFT_NEVER, "it" };
	c->result = (struct weft_scenario_result){ .n_flows = 10,
		.columns = c->columns,
		.n_columns = 2,
		.at_ps = c->at_ps,
		.rows = ROWS,
		.events = c->events,
		.n_events = c->result.n_events ? c->result.n_events : 1,
		.totals.now_ps = c->at_ps[ROWS - 1] };
	recoveries_find(&c->result);
	REQUIRE(c->result.n_recoveries + c->result.n_missed == c->result.n_events);
}

static void done(struct course *c)
{
	free(c->result.recoveries);
}

/* It is no longer felt long before it is over, and a while after that not all is as it was. */
TEST(recoveries_find__tells_felt_from_whole)
{
	static const double share[ROWS] = { 1, 1, 1, 1, 1, .1, .3, .5, .5, .5, .5, .5, .5, .5, 1, 1,
		1, 1, 1, 1 };
	struct course c = { 0 };

	watch(&c, share, 50, 90);
	const struct weft_scenario_recovery *v = c.result.recoveries;

	CHECK(!v->why);
	CHECK_EQ(v->felt_ps, 20000000);
	CHECK_EQ(v->whole_ps, 50000000);
	CHECK_NEAR(v->lowest, .1 * v->before, 1.0);
	done(&c);
}

TEST(recoveries_find__says_for_how_long_it_looked)
{
	static const double share[ROWS] = { 1, 1, 1, 1, 1, .5, .5, .5, .5, .5, .5, .5, .5, .5, .5,
		.5, .5, .5, .5, .5 };
	static const double dead[ROWS] = { 1, 1, 1, 1, 1 };
	struct course c = { 0 };

	watch(&c, share, 50, 90); /* half of it is good enough while it lasts, not after */
	CHECK_EQ(c.result.recoveries->felt_ps, 0);
	CHECK(c.result.recoveries->whole_ps == WEFT_NEVER);
	CHECK_EQ(c.result.recoveries->whole_of_ps, 110000000);
	done(&c);
	watch(&c, share, 50, 0); /* it does not end */
	CHECK_EQ(c.result.recoveries->whole_of_ps, 0);
	done(&c);
	watch(&c, dead, 50, 0);
	CHECK(!c.result.recoveries->why);
	CHECK(c.result.recoveries->felt_ps == WEFT_NEVER);
	CHECK_EQ(c.result.recoveries->felt_of_ps, 150000000);
	done(&c);
}

TEST(recoveries_find__does_not_take_the_last_sample_for_a_fall)
{
	static const double share[ROWS] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		.2 };
	struct course c = { 0 };

	watch(&c, share, 50, 90);
	CHECK_EQ(c.result.recoveries->felt_ps, 0);
	CHECK_NEAR(c.result.recoveries->lowest, c.result.recoveries->before, 1.0);
	done(&c);
}

/* Its last bytes are there a round trip before a sender knows: that fall is no fault's. */
TEST(recoveries_find__does_not_take_the_flows_end_or_begin_for_a_fault)
{
	static const double share[ROWS] = { .1, .2, 1, 1, 1, 1, .5, .5, 1, 1, 1, 1, 1, 1, 1, 1, .4,
		.2, 0, 0 };
	struct course c = { 0 };

	watch(&c, share, 60, 0);
	free(c.result.recoveries);
	c.result.n_recoveries = 0;
	c.result.rtt_ps = 20000000;
	c.done[18] = c.done[19] = 10;
	recoveries_find(&c.result);
	const struct weft_scenario_recovery *v = c.result.recoveries;

	CHECK(!v->why);
	CHECK_NEAR(v->before, 1e11, 1.0);
	CHECK_NEAR(v->lowest, .5e11, 1.0);
	CHECK_EQ(v->felt_ps, 20000000);
	done(&c);
}

TEST(recoveries_find__says_why_there_is_no_figure)
{
	static const double share[ROWS] = { 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		1 };
	struct course c = { 0 };

	watch(&c, share, 20, 0);
	CHECK_STR(c.result.recoveries->why, "nothing to compare with: no goodput before");
	done(&c);
	c.result.n_events = 2;
	c.events[1].begin_ps = UINT64_C(104000000);
	watch(&c, share, 101, 0);
	CHECK_STR(c.result.recoveries[0].why, "the next one came before a sample");
	CHECK(!c.result.recoveries[1].why);
	done(&c);
}

/* Goodput is steady up to 124 us: a round trip before the flows that are done at 140 us show it. */
TEST(recoveries_find__tells_a_late_event_from_one_that_another_follows)
{
	static const double share[ROWS] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		1 };
	struct course c = { 0 };

	watch(&c, share, 121, 0);
	done(&c);
	c.result.recoveries = NULL;
	c.result.n_recoveries = 0;
	c.result.rtt_ps = 6000000;
	for (unsigned i = 13; i < ROWS; i++)
		c.done[i] = 9;
	recoveries_find(&c.result);
	CHECK_STR(c.result.recoveries->why, "a tenth of the flows had ended already");
	done(&c);
}

TEST(recoveries_find__counts_what_came_too_late)
{
	static const double share[ROWS] = { 1, 1, 1, 1 };
	struct course c = { 0 };

	watch(&c, share, 300, 0);
	CHECK_EQ(c.result.n_recoveries, 0);
	CHECK_EQ(c.result.n_missed, 1);
	done(&c);
}

TEST(recoveries_find__tells_how_long_a_fault_of_a_run_was_felt)
{
	struct weft_scenario *play = stage_open(STAGE_FABRIC
		"stop: 400us\nsample: 2us\nload:\n  - flows: {from: h0, to: h9, bytes: 50MB}\n"
		"faults:\n  - nic-down h0 at 100us for 50us\n  - port-down h0.p0 at 300us\n");
	struct weft_scenario_result *r = stage_run(play, 1);

	CHECK_EQ(r->n_events, 2);
	REQUIRE(r->n_recoveries == 2);
	/* Back at the full rate after the first, at half of it after the second. */
	CHECK(r->recoveries[0].felt_ps >= UINT64_C(50000000) &&
		r->recoveries[0].felt_ps < UINT64_C(120000000));
	CHECK(r->recoveries[0].whole_ps > 0 && r->recoveries[0].whole_ps < UINT64_C(70000000));
	CHECK_NEAR(r->recoveries[0].lowest, 0.0, 1e6);
	CHECK(r->recoveries[1].felt_ps < UINT64_C(60000000));
	CHECK(r->recoveries[1].lowest < 0.6 * r->recoveries[1].before);
	weft_scenario_result_free(r);
	weft_scenario_close(play);
}
