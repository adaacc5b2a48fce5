/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor_print - findings for people: verdict, place and cause in a line, the remedy below it,
 * ready to be copied.  Remedies are no column: they are long, and a table that folds cannot
 * be pasted.
 */
#include "doctor_print.h"
#include "term.h"

#include <weft/base.h>
#include <weft/session.h>

#include <jansson.h>
#include <string.h>

static enum term_style style_of(enum weft_doctor_verdict verdict)
{
	static const enum term_style styles[] = { [WEFT_DOCTOR_OK] = TERM_GREEN,
		[WEFT_DOCTOR_NOTE] = TERM_CYAN,
		[WEFT_DOCTOR_WARNING] = TERM_YELLOW,
		[WEFT_DOCTOR_FAULT] = TERM_RED };

	return styles[verdict];
}

static void print_paths(const struct weft_doctor_facts *facts, const struct term *term)
{
	const struct weft_doctor_peer *peer = &facts->peer;
	struct table table;

	if (!peer->paths)
		return;
	table_begin(&table, "lllrrrrr");
	table_add(&table, "plane");
	table_add(&table, "from");
	table_add(&table, "to");
	table_add(&table, "sent");
	table_add(&table, "arrived");
	table_add(&table, "back");
	table_add(&table, "MTU");
	table_add(&table, "RTT");
	for (uint32_t i = 0; i < peer->paths; i++) {
		const struct weft_doctor_path *path = &peer->path[i];
		char from[WEFT_PLANE_TEXT_BYTES], to[WEFT_PLANE_TEXT_BYTES], rtt[HUMAN_MAX];

		weft_plane_text(facts->plane[i].addr, from);
		weft_plane_text(peer->plane_addr[i], to);
		table_add(&table, "%u", i);
		table_add(&table, "%s", from);
		table_add(&table, "%s", to);
		table_add(&table, "%u", path->sent);
		table_add(&table, "%u", path->arrived);
		table_add(&table, "%u", path->echoed);
		table_add(&table, "%u", WEFT_MIN(path->mtu_out_bytes, path->mtu_back_bytes));
		table_add(&table, "%s", path->rtt_ns ? human_ns(rtt, path->rtt_ns) : "-");
	}
	table_print(&table, term);
	fputc('\n', term->out);
}

static void print_sum(const struct weft_doctor_report *report, const struct term *term)
{
	uint32_t n[4] = { 0 };

	for (size_t i = 0; i < report->n; i++)
		n[report->finding[i].verdict]++;
	if (!n[WEFT_DOCTOR_FAULT] && !n[WEFT_DOCTOR_WARNING] && !n[WEFT_DOCTOR_NOTE])
		fprintf(term->out, "nothing found\n");
	else
		fprintf(term->out, "%u fault%s, %u warning%s, %u note%s\n", n[WEFT_DOCTOR_FAULT],
			n[WEFT_DOCTOR_FAULT] == 1 ? "" : "s", n[WEFT_DOCTOR_WARNING],
			n[WEFT_DOCTOR_WARNING] == 1 ? "" : "s", n[WEFT_DOCTOR_NOTE],
			n[WEFT_DOCTOR_NOTE] == 1 ? "" : "s");
}

void doctor_print(
	const struct weft_doctor_facts *facts, const struct weft_doctor_report *report, FILE *out)
{
	struct term term;
	size_t width = 0;

	term_open(&term, out);
	print_paths(facts, &term);
	for (size_t i = 0; i < report->n; i++)
		width = WEFT_MAX(width, strlen(report->finding[i].where));
	for (size_t i = 0; i < report->n; i++) {
		const struct weft_doctor_finding *f = &report->finding[i];

		fprintf(out, "%s%-7s%s  %-*s  %s\n", term_on(&term, style_of(f->verdict)),
			weft_doctor_verdict_name(f->verdict), term_off(&term), (int)width, f->where,
			f->cause);
		if (*f->remedy)
			fprintf(out, "         %-*s  %s-> %s%s\n", (int)width, "",
				term_on(&term, TERM_DIM), f->remedy, term_off(&term));
	}
	print_sum(report, &term);
}

/* ---- JSON ---- */

static json_t *path_json(const struct weft_doctor_facts *facts, uint32_t i)
{
	const struct weft_doctor_path *path = &facts->peer.path[i];
	char from[WEFT_PLANE_TEXT_BYTES], to[WEFT_PLANE_TEXT_BYTES];

	weft_plane_text(facts->plane[i].addr, from);
	weft_plane_text(facts->peer.plane_addr[i], to);
	return json_pack("{s:i, s:s, s:s, s:b, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:I}",
		"plane", (int)i, "from", from, "to", to, "tried", (int)path->is_tried, "sent",
		(int)path->sent, "arrived", (int)path->arrived, "echoed", (int)path->echoed,
		"port_4791_sent", (int)path->mrc_sent, "port_4791_arrived", (int)path->mrc_arrived,
		"mtu_out", (int)path->mtu_out_bytes, "mtu_back", (int)path->mtu_back_bytes,
		"cabled_to", path->cabled_to, "rtt_ns", (json_int_t)path->rtt_ns);
}

static json_t *machine_json(const struct weft_doctor_machine *m)
{
	return json_pack("{s:s, s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:i, s:I, s:I}",
		"kernel", m->kernel, "clock_source", m->clock_source, "governor", m->governor,
		"cpus", (int)m->cpus, "rmem_max", (json_int_t)m->rmem_max_bytes, "rcvbuf",
		(json_int_t)m->rcvbuf_bytes, "sndbuf", (json_int_t)m->sndbuf_bytes, "memlock",
		(json_int_t)m->memlock_bytes, "nofile", (json_int_t)m->nofile, "shm",
		(json_int_t)m->shm_bytes, "real_time", (int)m->has_real_time, "seccomp",
		(int)m->seccomp, "conntrack", (json_int_t)m->conntrack, "conntrack_max",
		(json_int_t)m->conntrack_max);
}

static json_t *plane_json(const struct weft_doctor_facts *facts, uint32_t i)
{
	const struct weft_doctor_plane *plane = &facts->plane[i];
	const struct weft_doctor_iface *iface =
		plane->iface < 0 ? NULL : &facts->iface[plane->iface];
	char addr[WEFT_PLANE_TEXT_BYTES];

	weft_plane_text(plane->addr, addr);
	return json_pack("{s:s, s:s, s:i, s:i, s:b, s:b, s:i}", "addr", addr, "iface",
		iface ? iface->name : "", "mtu", iface ? (int)iface->mtu_bytes : 0, "speed_mbps",
		iface ? (int)iface->speed_mbps : 0, "up", iface && iface->is_up, "carrier",
		iface && iface->has_carrier, "rx_queues", iface ? (int)iface->rx_queues : 0);
}

void doctor_print_json(
	const struct weft_doctor_facts *facts, const struct weft_doctor_report *report, FILE *out)
{
	enum weft_doctor_verdict worst = report->n ? report->finding[0].verdict : WEFT_DOCTOR_OK;
	json_t *planes = json_array(), *paths = json_array();

	for (uint32_t i = 0; i < facts->planes; i++)
		json_array_append_new(planes, plane_json(facts, i));
	for (uint32_t i = 0; i < facts->peer.paths; i++)
		json_array_append_new(paths, path_json(facts, i));
	json_t *root = json_pack("{s:s, s:s, s:o, s:o, s:o}", "tool", "weft doctor", "verdict",
		weft_doctor_verdict_name(worst), "findings", weft_doctor_report_json(report),
		"machine", machine_json(&facts->machine), "planes", planes);

	if (facts->peer.state != WEFT_DOCTOR_PEER_UNASKED)
		json_object_set_new(root, "peer",
			json_pack("{s:s, s:b, s:O}", "name", facts->peer.name, "answered",
				facts->peer.state == WEFT_DOCTOR_PEER_ANSWERED, "paths", paths));
	json_decref(paths);
	json_dumpf(root, out, JSON_INDENT(1));
	fputc('\n', out);
	json_decref(root);
}
