/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "doctor_print.h"

#include <jansson.h>

static struct weft_doctor_facts facts;
static struct weft_doctor_report report;
static char text[8192];

static void make(void)
{
	memset(&facts, 0, sizeof(facts));
	report.n = 2;
	report.finding[0] = (struct weft_doctor_finding){ .verdict = WEFT_DOCTOR_FAULT,
		.check = "carrier",
		.where = "plane 1 (eth1)",
		.cause = "no carrier",
		.remedy = "ethtool eth1" };
	report.finding[1] = (struct weft_doctor_finding){
		.verdict = WEFT_DOCTOR_NOTE, .check = "rights", .where = "here", .cause = "few"
	};
}

static const char *printed(
	void (*print)(const struct weft_doctor_facts *, const struct weft_doctor_report *, FILE *))
{
	FILE *out = fmemopen(text, sizeof(text), "w");

	REQUIRE(out);
	print(&facts, &report, out);
	fclose(out);
	return text;
}

TEST(doctor_print__has_a_line_for_each_and_one_to_paste)
{
	make();
	CHECK_STR(printed(doctor_print), "fault    plane 1 (eth1)  no carrier\n"
					 "                         -> ethtool eth1\n"
					 "note     here            few\n"
					 "1 fault, 0 warnings, 1 note\n");
	report.n = 0;
	CHECK_STR(printed(doctor_print), "nothing found\n");
}

TEST(doctor_print__has_a_table_of_planes_that_were_measured)
{
	make();
	facts.peer.paths = 1;
	facts.peer.path[0] = (struct weft_doctor_path){ .sent = 200,
		.arrived = 199,
		.echoed = 198,
		.mtu_out_bytes = 9000,
		.mtu_back_bytes = 1500 };
	CHECK(strstr(printed(doctor_print), "200      199   198  1500"));
}

TEST(doctor_print_json__says_the_same)
{
	make();
	facts.peer.state = WEFT_DOCTOR_PEER_ANSWERED;
	facts.peer.paths = 1;
	json_t *root = json_loads(printed(doctor_print_json), 0, NULL);
	const json_t *found = json_object_get(root, "findings");

	CHECK_STR(json_string_value(json_object_get(root, "verdict")), "fault");
	CHECK_EQ(json_array_size(found), 2);
	CHECK_STR(json_string_value(json_object_get(json_array_get(found, 0), "remedy")),
		"ethtool eth1");
	CHECK_EQ(json_array_size(json_object_get(json_object_get(root, "peer"), "paths")), 1);
	json_decref(root);
}
