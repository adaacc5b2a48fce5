/* SPDX-License-Identifier: BSD-2-Clause */
#include "patients.h"

TEST(weft_doctor_judge__puts_the_worst_first)
{
	make_healthy();
	facts.machine.has_real_time = false;
	facts.machine.nofile = 1;
	facts.machine.memlock_bytes = 0;
	facts.iface[0].has_carrier = false;
	weft_doctor_judge(&facts, false, &report);
	REQUIRE(report.n == 4);
	CHECK_STR(report.finding[0].check, "carrier");
	CHECK_STR(report.finding[1].check, "open-files");
	CHECK_STR(report.finding[2].check, "memlock");
	CHECK_STR(report.finding[3].check, "real-time");
}

TEST(weft_doctor_judge__says_what_is_in_order_when_asked)
{
	size_t with_peer;

	make_healthy();
	weft_doctor_judge(&facts, true, &report);
	with_peer = report.n;
	CHECK(with_peer > 20);
	for (size_t i = 0; i < report.n; i++)
		CHECK_EQ(report.finding[i].verdict, WEFT_DOCTOR_OK);
	facts.peer.state = WEFT_DOCTOR_PEER_UNASKED;
	weft_doctor_judge(&facts, true, &report);
	CHECK(report.n < with_peer);
}

TEST(weft_doctor_judge__keeps_the_worst_where_there_is_no_room)
{
	make_healthy();
	facts.addrs = WEFT_DOCTOR_ADDRS_MAX;
	for (uint32_t i = 0; i < facts.addrs; i++) {
		facts.addr[i] = (struct weft_doctor_addr){ .is_tentative = true, .iface = 0 };
		facts.addr[i].addr[15] = (uint8_t)i;
	}
	facts.machine.nofile = 1;
	weft_doctor_judge(&facts, true, &report);
	CHECK_EQ(report.n, WEFT_DOCTOR_FINDINGS_MAX);
	CHECK_STR(report.finding[0].check, "open-files");
	CHECK_EQ(report.finding[report.n - 1].verdict, WEFT_DOCTOR_NOTE);
}

TEST(weft_doctor_judge__tells_what_the_peer_found)
{
	make_healthy();
	facts.peer.report.n = 1;
	facts.peer.report.finding[0] =
		(struct weft_doctor_finding){ .verdict = WEFT_DOCTOR_WARNING, .where = "eth7" };
	weft_doctor_judge(&facts, false, &report);
	REQUIRE(report.n == 1);
	CHECK_STR(report.finding[0].where, "there: eth7");
}

TEST(weft_doctor_report_json__comes_back_as_it_was)
{
	static struct weft_doctor_report back;
	json_t *json;

	make_healthy();
	facts.machine.nofile = 1;
	weft_doctor_judge(&facts, false, &report);
	json = weft_doctor_report_json(&report);
	weft_doctor_report_read(json, &back);
	json_decref(json);
	REQUIRE(back.n == 1);
	CHECK_EQ(back.finding[0].verdict, WEFT_DOCTOR_FAULT);
	CHECK_STR(back.finding[0].cause, report.finding[0].cause);
	CHECK_STR(back.finding[0].remedy, report.finding[0].remedy);
}

TEST(weft_doctor_report_read__takes_nothing_dirty)
{
	json_t *json = json_pack("[{s:s,s:s,s:s,s:s,s:s},{s:s},{s:s,s:s,s:s,s:s,s:s}]", "verdict",
		"fault", "check", "x", "where", "w", "cause", "\x1b[2Jhello", "remedy", "",
		"verdict", "fault", "verdict", "terrible", "check", "x", "where", "w", "cause", "c",
		"remedy", "");

	weft_doctor_report_read(json, &report);
	json_decref(json);
	REQUIRE(report.n == 1);
	CHECK(!strchr(report.finding[0].cause, '\x1b'));
	weft_doctor_report_read(NULL, &report);
	CHECK_EQ(report.n, 0);
}
