/* SPDX-License-Identifier: BSD-2-Clause */
/* What was planned, what the lab has noted, and what may be said of it. */
#include "demos.h"

#define MS UINT64_C(1000000)
#define DUE (UINT64_C(5000) * MS)
#define END (DUE + 1000 * MS)
#define LATE_MAX (100 * MS)

/* A strike of 400 ms that the lab had in force from and until then; 0: never, still. */
static struct demo_strike strike(uint64_t on_ns, uint64_t lift_ns)
{
	return (struct demo_strike){ .due_ns = DUE,
		.for_ns = 400 * MS,
		.id = 7,
		.record = { .on_ns = on_ns,
			.lift_ns = lift_ns,
			.off_ns = lift_ns ? lift_ns + MS : 0,
			.id = 7 } };
}

static struct demo_judged judge_one(uint64_t on_ns, uint64_t lift_ns)
{
	const struct demo_strike s = strike(on_ns, lift_ns);
	struct demo_judged j = { 0 };

	judge(&s, 1, END, LATE_MAX, &j);
	return j;
}

TEST(judge_was_on__looks_at_both_ends)
{
	const struct weft_lab_record r = { .on_ns = 100, .lift_ns = 200 }, never = { 0 },
				     still = { .on_ns = 100 };

	CHECK(judge_was_on(&r, 0, 101));
	CHECK(!judge_was_on(&r, 0, 100));
	CHECK(judge_was_on(&r, 199, 300));
	CHECK(!judge_was_on(&r, 200, 300));
	CHECK(judge_was_on(&still, 1000, 1001));
	CHECK(!judge_was_on(&never, 0, 1000));
}

TEST(judge__calls_made_what_the_lab_confirms)
{
	struct demo_judged j = judge_one(DUE + 3 * MS, DUE + 402 * MS);

	CHECK_EQ(j.verdict, DEMO_MADE);
	CHECK_STR(j.why, "");
	CHECK_EQ(j.from_ns, DUE + 3 * MS);
	CHECK_EQ(j.to_ns, DUE + 402 * MS);
	CHECK_EQ(j.lasted_ns, 399 * MS);
	/* Just within what is let pass. */
	CHECK_EQ(judge_one(DUE + 100 * MS, DUE + 400 * MS).verdict, DEMO_MADE);
}

TEST(judge__says_not_made_where_nothing_or_little_was)
{
	struct demo_judged j = judge_one(0, 0);

	CHECK_EQ(j.verdict, DEMO_NOT_MADE);
	CHECK_EQ(j.from_ns, 0);
	CHECK_STR(j.why, "all was over by then");
	/* Struck when the transfer had ended: it cannot have been survived. */
	j = judge_one(END, END + 400 * MS);
	CHECK_EQ(j.verdict, DEMO_NOT_MADE);
	CHECK_EQ(j.from_ns, 0);
	/* For too short a time, its end or the transfer's. */
	j = judge_one(DUE, DUE + 199 * MS);
	CHECK_EQ(j.verdict, DEMO_NOT_MADE);
	CHECK_STR(j.why, "only 0.199 s of 0.400");
	j = judge_one(END - 10 * MS, END + 390 * MS);
	CHECK_EQ(j.verdict, DEMO_NOT_MADE);
	CHECK_EQ(j.lasted_ns, 10 * MS);
	/* Of no length at all. */
	CHECK_EQ(judge_one(DUE, DUE).verdict, DEMO_NOT_MADE);
}

TEST(judge__keeps_why_it_was_not_asked_for)
{
	struct demo_strike s = { .due_ns = DUE, .for_ns = 400 * MS };
	struct demo_judged j = { .why = "its moment was missed by 1.200 s" };

	judge(&s, 1, END, LATE_MAX, &j);
	CHECK_EQ(j.verdict, DEMO_NOT_MADE);
	CHECK_STR(j.why, "its moment was missed by 1.200 s");
}

TEST(judge__says_otherwise_where_length_or_moment_differs)
{
	struct demo_judged j = judge_one(DUE, DUE + 299 * MS);

	CHECK_EQ(j.verdict, DEMO_OTHERWISE);
	CHECK_STR(j.why, "0.299 s instead of 0.400");
	j = judge_one(DUE, DUE + 510 * MS);
	CHECK_EQ(j.verdict, DEMO_OTHERWISE);
	CHECK_STR(j.why, "0.511 s instead of 0.400");
	/* Nobody has lifted it. */
	j = judge_one(DUE, 0);
	CHECK_EQ(j.verdict, DEMO_OTHERWISE);
	CHECK_EQ(j.to_ns, END);
	j = judge_one(DUE + 150 * MS, DUE + 550 * MS);
	CHECK_EQ(j.verdict, DEMO_OTHERWISE);
	CHECK_STR(j.why, "0.150 s late");
}

TEST(judge__counts_flaps_one_by_one)
{
	struct demo_strike s[3];
	struct demo_judged j = { 0 };

	for (unsigned i = 0; i < 3; i++) {
		s[i] = strike(DUE + i * 160 * MS, DUE + (i * 160 + 80) * MS);
		s[i].due_ns = DUE + i * 160 * MS;
		s[i].for_ns = 80 * MS;
	}
	judge(s, 3, END, LATE_MAX, &j);
	CHECK_EQ(j.verdict, DEMO_MADE);
	CHECK_EQ(j.lasted_ns, 240 * MS);
	CHECK_EQ(j.to_ns, DUE + 400 * MS);
	/* One was refused. */
	s[1].record = (struct weft_lab_record){ 0 };
	j = (struct demo_judged){ .why = "refused" };
	judge(s, 3, END, LATE_MAX, &j);
	CHECK_EQ(j.verdict, DEMO_OTHERWISE);
	CHECK_STR(j.why, "2 of 3 times: refused");
	/* Overlapping ones are one outage, shorter than three. */
	s[1] = s[2] = s[0];
	j = (struct demo_judged){ 0 };
	judge(s, 3, END, LATE_MAX, &j);
	CHECK_EQ(j.lasted_ns, 80 * MS);
	CHECK_EQ(j.verdict, DEMO_NOT_MADE);
}

TEST(judge_ask__takes_the_labs_word)
{
	struct demo_strike s[2] = { 0 };
	struct demo_judged j = { 0 };
	char error[DEMO_TEXT_BYTES] = "";
	struct weft_lab_fault fault;
	struct term term;
	struct demo demo;

	demo_up(&demo, &term);
	CHECK(!weft_lab_fault_parse(
		weft_lab_topo(demo.lab), "plane-down", "0", &fault, error, sizeof(error)));
	fault.for_ns = 50 * MS;
	CHECK(!weft_lab_fault(demo.lab, &fault, &s[0].id, error, sizeof(error)));
	usleep(200000);
	judge_ask(demo.lab, s, 2, &j);
	CHECK_STR(j.why, "");
	CHECK(s[0].record.on_ns && s[0].record.lift_ns >= s[0].record.on_ns + 20 * MS);
	CHECK(!s[1].record.on_ns);
	s[1].id = 4711;
	judge_ask(demo.lab, s, 2, &j);
	CHECK_STR(j.why, "fault number 4711: not noted, or too long ago");
	CHECK(!s[1].record.id);
	demo_lab_down(&demo);
	leave_folder();
}
