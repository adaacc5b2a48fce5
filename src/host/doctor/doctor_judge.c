/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor_judge - from facts to findings: the tables' turn, the order, the words for programs.
 *
 * A check is a row: its name, what is so where it finds nothing, and a function of facts alone.
 * The worst comes first; among equals, what is nearer to the cable.
 */
#include "doctor_local.h"

#include <stdio.h>
#include <string.h>

static const char *const verdicts[] = { [WEFT_DOCTOR_OK] = "ok",
	[WEFT_DOCTOR_NOTE] = "note",
	[WEFT_DOCTOR_WARNING] = "warning",
	[WEFT_DOCTOR_FAULT] = "fault" };

const char *weft_doctor_verdict_name(enum weft_doctor_verdict verdict)
{
	return verdicts[verdict];
}

/* Before the first that is less grave; what falls off the end is the least. */
static void insert(struct weft_doctor_report *report, const struct weft_doctor_finding *finding)
{
	size_t at = 0;

	while (at < report->n && report->finding[at].verdict >= finding->verdict)
		at++;
	if (at == WEFT_DOCTOR_FINDINGS_MAX)
		return;
	if (report->n < WEFT_DOCTOR_FINDINGS_MAX)
		report->n++;
	memmove(&report->finding[at + 1], &report->finding[at],
		(report->n - 1 - at) * sizeof(*finding));
	report->finding[at] = *finding;
}

void say(struct judge *j, enum weft_doctor_verdict verdict, const char *where, const char *remedy,
	const char *cause, ...)
{
	struct weft_doctor_finding finding = { .verdict = verdict };
	va_list args;

	snprintf(finding.check, sizeof(finding.check), "%s", j->check);
	snprintf(finding.where, sizeof(finding.where), "%s", where);
	snprintf(finding.remedy, sizeof(finding.remedy), "%s", remedy ? remedy : "");
	va_start(args, cause);
	vsnprintf(finding.cause, sizeof(finding.cause), cause, args);
	va_end(args);
	insert(j->report, &finding);
	j->found++;
}

static void take_turns(struct judge *j, const struct check *checks, const char *where, bool with_ok)
{
	for (const struct check *check = checks; check->name; check++) {
		j->check = check->name;
		j->found = 0;
		check->look(j);
		if (!j->found && with_ok)
			say(j, WEFT_DOCTOR_OK, where, NULL, "%s", check->fine);
	}
}

static void take_peers(struct judge *j, const struct weft_doctor_peer *peer)
{
	for (size_t i = 0; i < peer->report.n; i++) {
		struct weft_doctor_finding finding = peer->report.finding[i];
		char where[sizeof(finding.where)];

		snprintf(where, sizeof(where), "there: %.56s", finding.where);
		memcpy(finding.where, where, sizeof(where));
		insert(j->report, &finding);
	}
}

void weft_doctor_judge(
	const struct weft_doctor_facts *facts, bool with_ok, struct weft_doctor_report *report)
{
	struct judge j = { .facts = facts, .report = report };

	report->n = 0;
	take_turns(&j, link_checks, "interfaces", with_ok);
	if (facts->peer.state != WEFT_DOCTOR_PEER_UNASKED) {
		take_turns(&j, path_checks, "the way there", with_ok);
		take_peers(&j, &facts->peer);
	}
	take_turns(&j, machine_checks, "this machine", with_ok);
}

/* ---- for programs ---- */

json_t *weft_doctor_report_json(const struct weft_doctor_report *report)
{
	json_t *all = json_array();

	for (size_t i = 0; i < report->n; i++) {
		const struct weft_doctor_finding *f = &report->finding[i];

		json_array_append_new(
			all, json_pack("{s:s, s:s, s:s, s:s, s:s}", "verdict", verdicts[f->verdict],
				     "check", f->check, "where", f->where, "cause", f->cause,
				     "remedy", f->remedy));
	}
	return all;
}

static bool get_text(const json_t *from, const char *key, char *text, size_t bytes)
{
	const char *value = json_string_value(json_object_get(from, key));

	if (!value)
		return false;
	snprintf(text, bytes, "%s", value);
	(void)weft_text_clean(text);
	return true;
}

void weft_doctor_report_read(const json_t *json, struct weft_doctor_report *report)
{
	report->n = 0;
	for (size_t i = 0; i < json_array_size(json); i++) {
		const json_t *from = json_array_get(json, i);
		struct weft_doctor_finding f = { 0 };
		char verdict[16];

		if (!get_text(from, "verdict", verdict, sizeof(verdict)) ||
			!get_text(from, "check", f.check, sizeof(f.check)) ||
			!get_text(from, "where", f.where, sizeof(f.where)) ||
			!get_text(from, "cause", f.cause, sizeof(f.cause)) ||
			!get_text(from, "remedy", f.remedy, sizeof(f.remedy)))
			continue;
		for (size_t v = 1; v < WEFT_COUNT(verdicts); v++)
			if (!strcmp(verdict, verdicts[v])) {
				f.verdict = (enum weft_doctor_verdict)v;
				insert(report, &f);
			}
	}
}
