/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_page - all pictures of a scenario's runs on one page, claims first.
 *
 * What a person wants to know comes in this order: did it hold, how did it look, by how much.  The
 * script only moves: it shows one seed at a time, and the values under the pointer, which it reads
 * back from the lines themselves.
 */
#include "report_local.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static const char head[] =
	"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
	"<style>\n"
	":root{--bg:#f4f5f8;--card:#fff;--ink:#171b24;--dim:#5d6574;--line:#e6e9ef;--ok:#22845a;"
	"--bad:#c22f40}\n"
	"@media(prefers-color-scheme:dark){:root{--bg:#0d1017;--card:#151922;--ink:#f0f2f6;"
	"--dim:#9aa3b4;--line:#2a3040;--ok:#4cc38a;--bad:#ff6b7a}}\n"
	"body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,sans-serif}\n"
	"main{max-width:1180px;margin:0 auto;padding:28px 20px 60px}\n"
	"h1{font-size:26px;margin:0 0 4px}h2{font-size:17px;margin:28px 0 10px}\n"
	".dim{color:var(--dim)}.tiles{display:grid;gap:12px;"
	"grid-template-columns:repeat(auto-fit,minmax(150px,1fr));margin:18px 0}\n"
	".tile,.card{background:var(--card);border:1px solid var(--line);border-radius:10px;"
	"padding:12px 14px}.tile b{display:block;font-size:22px}\n"
	".grid{display:grid;gap:14px;grid-template-columns:repeat(auto-fit,minmax(min(480px,100%),"
	"1fr))}\n"
	".card{padding:6px;overflow-x:auto}.card:empty{display:none}\n"
	"svg{width:100%;height:auto;display:block}\n"
	"@media(max-width:640px){svg{min-width:600px}}details{margin:0 0 12px}\n"
	".wide{overflow-x:auto;border-radius:10px;overflow-wrap:normal}\n"
	"h1,p,dd,summary{overflow-wrap:anywhere}\n"
	"dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;margin:14px 0}\n"
	"dt{color:var(--dim)}dd{margin:0}pre{overflow-x:auto;font:13px/1.45 monospace;"
	"background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px}\n"
	"summary{cursor:pointer}:focus-visible{outline:2px solid #3b6fd4;outline-offset:2px}\n"
	"table{min-width:max-content;border-collapse:collapse;background:var(--card);border-radius:"
	"10px;width:100%}\n"
	"td,th{padding:6px 12px;text-align:left;border-bottom:1px solid var(--line)}\n"
	"td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\n"
	".passed{color:var(--ok)}.failed{color:var(--bad);font-weight:600}.skipped{color:var(--dim)"
	"}\n"
	"nav button{font:inherit;padding:4px 14px;border:1px solid var(--line);border-radius:99px;"
	"background:var(--card);color:var(--ink);cursor:pointer;margin-right:6px}\n"
	"nav button.on{background:var(--ink);color:var(--bg)}section.run{display:none}\n"
	"section.run.on{display:block}\n"
	"h2.seed{display:none}\n"
	"#tip{position:fixed;pointer-events:none;background:var(--ink);color:var(--bg);padding:4px "
	"9px;border-radius:6px;font-size:13px;display:none;white-space:pre}\n"
	"@media print{:root{--bg:#fff;--card:#fff;--ink:#000;--dim:#444;--line:#ccc;--ok:#22845a;"
	"--bad:#c22f40}body{font-size:11px}main{max-width:none;padding:0}nav{display:none}\n"
	"section.run{display:block;break-before:page}section.run:first-of-type{break-before:auto}"
	"h2.seed{display:block;font-size:15px;margin:0 0 8px}"
	"\n.card,tr,.tile{break-inside:avoid}h2{break-after:avoid}svg,table{min-width:0}\n"
	".card,.wide,pre{overflow:visible}pre{white-space:pre-wrap}.grid{display:block}\n"
	"*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n"
	"</style>\n";

static const char script[] =
	"<div id=\"tip\" aria-hidden=\"true\"></div><script>\n"
	"const "
	"runs=[...document.querySelectorAll('section.run')],nav=document.querySelector('nav');\n"
	"function show(i){runs.forEach((r,k)=>r.classList.toggle('on',k===i));\n"
	" [...nav.children].forEach((b,k)=>{b.classList.toggle('on',k===i);"
	"b.setAttribute('aria-pressed',k===i);});}\n"
	"runs.forEach((r,i)=>{const "
	"b=document.createElement('button');b.textContent=r.dataset.name;\n"
	" b.onclick=()=>show(i);nav.append(b);});if(runs.length<2)nav.style.display='none';show(0);"
	"\n"
	"const tip=document.getElementById('tip');\n"
	"document.addEventListener('mousemove',e=>{\n"
	" const p=e.target.closest&&e.target.closest('path.l,path.s,rect.b');\n"
	" if(!p){tip.style.display='none';return;}\n"
	" tip.textContent=p.querySelector('title').textContent;tip.style.display='block';\n"
	" tip.style.left=e.clientX+14+'px';tip.style.top=e.clientY+10+'px';\n"
	" });\n"
	"</script>\n";

/* The colours of plot.c, with the page's own. */
static const char picture_style[] =
	"<style>svg .bg{fill:var(--card)}svg text{font:12px system-ui,sans-serif;fill:var(--dim)}\n"
	"svg .t{font-size:15px;font-weight:600;fill:var(--ink)}svg .g{stroke:var(--line)}\n"
	"svg .a{stroke:var(--dim);opacity:.6}svg .b{fill:#d03b4b;opacity:.1}\n"
	"svg .bl{stroke:#d03b4b;opacity:.55}svg .r{stroke:var(--ink);stroke-dasharray:5 "
	"4;opacity:.6}\n"
	"svg .h{paint-order:stroke;stroke:var(--card);stroke-width:4px}svg .f{opacity:.5}\n"
	"svg .l{fill:none;stroke-width:1.8;stroke-linejoin:round}svg .l:hover{stroke-width:3.5}\n"
	"</style>\n";

static void tile(FILE *out, const char *what, const char *value)
{
	(void)fputs("<div class=\"tile\"><b>", out);
	put_text(out, value);
	(void)fputs("</b><span class=\"dim\">", out);
	put_text(out, what);
	(void)fputs("</span></div>\n", out);
}

/* A time of recovery as people read it, or for how long it was looked for in vain. */
static const char *recovery_text(
	uint64_t ps, uint64_t of_ps, const char *unit, char *text, size_t bytes)
{
	if (ps == WEFT_NEVER)
		(void)snprintf(text, bytes, "over %.1f%s", (double)of_ps / 1e6, unit);
	else if (!ps)
		return of_ps ? "at once" : "\xe2\x80\x93";
	else
		(void)snprintf(text, bytes, "%.1f%s", (double)ps / 1e6, unit);
	return text;
}

static void put_longest(FILE *out, const struct weft_scenario_result *r)
{
	const struct weft_scenario_recovery *felt = NULL, *whole = NULL;
	char text[64];

	for (uint32_t i = 0; i < r->n_recoveries; i++) {
		const struct weft_scenario_recovery *v = &r->recoveries[i];

		if (v->why)
			continue;
		if (!felt || v->felt_ps > felt->felt_ps)
			felt = v;
		if (v->whole_of_ps && (!whole || v->whole_ps > whole->whole_ps))
			whole = v;
	}
	if (felt)
		tile(out, "a fault was felt for",
			felt->felt_ps ? recovery_text(felt->felt_ps, felt->felt_of_ps, " us", text,
						sizeof(text))
				      : "no time");
	if (whole)
		tile(out, "whole after its end",
			recovery_text(
				whole->whole_ps, whole->whole_of_ps, " us", text, sizeof(text)));
}

static void put_tiles(FILE *out, const struct weft_scenario_result *r)
{
	uint64_t last_ps = weft_scenario_quantile(r, NULL, 1, 1);
	char text[64];

	(void)fputs("<div class=\"tiles\">\n", out);
	(void)snprintf(text, sizeof(text), "%" PRIu32 " of %" PRIu32, r->n_done, r->n_messages);
	tile(out, "flows done", text);
	if (r->n_done == r->n_messages && last_ps) {
		(void)snprintf(text, sizeof(text), "%.1f us", (double)last_ps / 1e6);
		tile(out, "slowest flow", text);
	}
	if (r->took_ps != WEFT_NEVER) {
		(void)snprintf(text, sizeof(text), "%.3f", weft_scenario_over_ideal(r, NULL));
		tile(out, "times the ideal", text);
	} else if (r->totals.now_ps) {
		double bps = (double)r->counters.rx_data_bytes * 8e12 / (double)r->totals.now_ps;

		tile(out, "goodput, mean", put_number(bps, "b/s", text, sizeof(text)));
		(void)snprintf(text, sizeof(text), "%.3f", r->line_bps > 0 ? bps / r->line_bps : 0);
		tile(out, "of what arithmetic allows", text);
	}
	put_longest(out, r);
	(void)snprintf(text, sizeof(text), "%" PRIu64, r->totals.lost);
	tile(out, "frames lost", text);
	(void)snprintf(text, sizeof(text), "%" PRIu64, r->totals.trimmed);
	tile(out, "frames cut", text);
	(void)snprintf(text, sizeof(text), "%" PRIu64, r->counters.tx_rtx_pkts);
	tile(out, "packets sent again", text);
	(void)fputs("</div>\n", out);
}

static void put_claims(FILE *out, const struct weft_scenario *play,
	const struct weft_scenario_result *r, const char *where)
{
	static const char *const verdicts[] = { "failed", "passed", "skipped" };
	uint32_t n = weft_scenario_head(play)->n_claims;

	if (!n)
		return;
	(void)fputs("<h2>Claims</h2><div class=\"wide\" "
		    "tabindex=\"0\"><table><tr><th>claim<th>measured<th></tr>\n",
		out);
	for (uint32_t i = 0; i < n; i++) {
		struct weft_scenario_judgement j;

		weft_scenario_judge(play, i, r, where, &j);
		(void)fputs("<tr><td>", out);
		put_text(out, j.claim);
		(void)fputs("<td>", out);
		put_text(out, *j.why ? j.why : j.measured);
		(void)fprintf(out, "<td class=\"%s\">%s</tr>\n", verdicts[j.verdict],
			verdicts[j.verdict]);
	}
	(void)fputs("</table></div>\n", out);
}

static const struct {
	const char *name;
	uint64_t num, den;
} ranks[] = { { "fastest", 0, 1 }, { "P50", 1, 2 }, { "P99", 99, 100 }, { "P99.9", 999, 1000 },
	{ "slowest", 1, 1 } };

static void put_rank_heads(FILE *out)
{
	for (unsigned i = 0; i < WEFT_COUNT(ranks); i++)
		(void)fprintf(out, "<th class=\"n\">%s", ranks[i].name);
}

/* Microseconds; what has not ended, and what there is none of, is said. */
static void put_us(FILE *out, uint64_t ps)
{
	if (ps && ps != WEFT_NEVER)
		(void)fprintf(out, "<td class=\"n\">%.2f", (double)ps / 1e6);
	else
		(void)fprintf(out, "<td class=\"n\">%s", ps ? "not done" : "\xe2\x80\x93");
}

static void put_loads(FILE *out, const struct weft_scenario_result *r)
{
	(void)fputs("<h2>Flow times, us</h2><div class=\"wide\" "
		    "tabindex=\"0\"><table><tr><th>load<th class=\"n\">flows<th "
		    "class=\"n\">done",
		out);
	put_rank_heads(out);
	(void)fputs("<th class=\"n\">all<th class=\"n\">ideal<th class=\"n\">x ideal</tr>\n", out);
	for (uint32_t g = 0; g < r->n_groups; g++) {
		const struct weft_scenario_group *group = &r->groups[g];

		(void)fputs("<tr><td>", out);
		put_text(out, group->name);
		(void)fprintf(out, "<td class=\"n\">%" PRIu32 "<td class=\"n\">%" PRIu32,
			group->n_flows, group->n_done);
		for (unsigned i = 0; i < WEFT_COUNT(ranks); i++)
			put_us(out,
				weft_scenario_quantile(r, group->name, ranks[i].num, ranks[i].den));
		put_us(out, group->took_ps);
		put_us(out, group->ideal_ps);
		double over = weft_scenario_over_ideal(r, group);

		if (over > 0)
			(void)fprintf(out, "<td class=\"n\">%.3f</tr>\n", over);
		else
			(void)fputs("<td class=\"n\">\xe2\x80\x93</tr>\n", out);
	}
	(void)fputs("</table></div><p class=\"dim\">All: from the load\xe2\x80\x99s start to the "
		    "end of its "
		    "last flow, which is what the ideal is of. A flow that is not done counts as "
		    "the slowest.</p>\n",
		out);
}

/* What a person who trains waits for. */
static void put_steps(FILE *out, const struct weft_scenario_result *r)
{
	uint32_t jobs = 0;

	for (uint32_t g = 0; g < r->n_groups; g++) {
		const struct weft_scenario_group *group = &r->groups[g];

		if (group->n_steps < 2)
			continue;
		if (!jobs++) {
			(void)fputs("<h2>Steps, us</h2><div class=\"wide\" "
				    "tabindex=\"0\"><table><tr><th>job<th class=\"n\">steps"
				    "<th class=\"n\">over",
				out);
			put_rank_heads(out);
			(void)fputs("</tr>\n", out);
		}
		(void)fputs("<tr><td>", out);
		put_text(out, group->name);
		(void)fprintf(out, "<td class=\"n\">%" PRIu32 "<td class=\"n\">%" PRIu32,
			group->n_steps, group->n_steps_over);
		for (unsigned i = 0; i < WEFT_COUNT(ranks); i++)
			put_us(out, weft_scenario_step_quantile(group, ranks[i].num, ranks[i].den));
		(void)fputs("</tr>\n", out);
	}
	if (jobs)
		(void)fputs("</table></div>\n", out);
}

static void put_events(FILE *out, const struct weft_scenario_result *r)
{
	char text[64];

	if (r->n_missed)
		(void)fprintf(out,
			"<p class=\"dim\">%" PRIu32
			" fault%s would have come after the run was over.</p>\n",
			r->n_missed, r->n_missed == 1 ? "" : "s");
	if (!r->n_recoveries)
		return;
	(void)fputs("<h2>What broke</h2><div class=\"wide\" tabindex=\"0\"><table><tr><th>what"
		    "<th class=\"n\">at us<th class=\"n\">before<th class=\"n\">lowest"
		    "<th class=\"n\">felt for us<th class=\"n\">whole after us</tr>\n",
		out);
	for (uint32_t i = 0; i < r->n_recoveries; i++) {
		const struct weft_scenario_recovery *v = &r->recoveries[i];

		(void)fputs("<tr><td>", out);
		put_text(out, r->events[v->event].text);
		(void)fprintf(
			out, "<td class=\"n\">%.1f", (double)r->events[v->event].begin_ps / 1e6);
		if (v->why) {
			(void)fprintf(out, "<td class=\"dim\" colspan=\"4\">%s</tr>\n", v->why);
			continue;
		}
		(void)fprintf(out, "<td class=\"n\">%s",
			put_number(v->before * 8, "b/s", text, sizeof(text)));
		(void)fprintf(out, "<td class=\"n\">%s",
			put_number(v->lowest * 8, "b/s", text, sizeof(text)));
		(void)fprintf(out, "<td class=\"n\">%s",
			v->felt_ps
				? recovery_text(v->felt_ps, v->felt_of_ps, "", text, sizeof(text))
				: "not felt");
		(void)fprintf(out, "<td class=\"n\">%s</tr>\n",
			recovery_text(v->whole_ps, v->whole_of_ps, "", text, sizeof(text)));
	}
	(void)fputs("</table></div><p class=\"dim\">Felt: until goodput is 95 % of what it was, or "
		    "of what "
		    "it settles at while the fault lasts. Whole: from the fault\xe2\x80\x99s end "
		    "until goodput is 95 % of what it was before it. Over: not within the time "
		    "that could be looked at.</p>\n",
		out);
}

/* A picture of nothing is none: a line says so. */
static const struct {
	const char *word, *columns[3], *text; /* NULL: another one says it */
} nothings[] = {
	{ "losses", { "lost", "trimmed", "repeated" },
		"Nothing was ever lost, cut or sent again." },
	{ "queues", { "queue up", "queue t1", "queue down" },
		"No sample saw anything wait in a queue." },
	{ "planes", { "queue up", "queue t1", "queue down" }, NULL },
	{ "cuts", { "trimmed" }, NULL },
	{ "drops", { "lost" }, NULL },
};

static bool has_nothing(const char *word, const struct weft_scenario_result *r)
{
	unsigned k = 0, there = 0;

	while (k < WEFT_COUNT(nothings) && strcmp(word, nothings[k].word) != 0)
		k++;
	for (unsigned i = 0; k < WEFT_COUNT(nothings) && i < 3 && nothings[k].columns[i]; i++) {
		const struct weft_scenario_column *c =
			weft_scenario_column(r, nothings[k].columns[i]);

		there += c != NULL;
		for (uint32_t row = 0; c && row < r->rows; row++) {
			if (c->values[row] > 0)
				return false;
		}
	}
	return there > 0;
}

static void put_nothing(FILE *out, const struct weft_scenario_result *r)
{
	for (unsigned k = 0; k < WEFT_COUNT(nothings); k++) {
		if (nothings[k].text && has_nothing(nothings[k].word, r))
			(void)fprintf(out, "<p class=\"dim\">%s</p>\n", nothings[k].text);
	}
}

static void put_run(FILE *out, const struct weft_scenario *play,
	const struct weft_scenario_result *r, const char *where)
{
	/* On a screen buttons say which seed it is; on paper and without scripts this does. */
	(void)fprintf(out,
		"<section class=\"run\" data-name=\"seed %" PRIu64 "\">\n"
		"<h2 class=\"seed\">seed %" PRIu64 "</h2>\n",
		r->seed, r->seed);
	put_tiles(out, r);
	put_claims(out, play, r, where);
	(void)fputs("<h2>How it went</h2><div class=\"grid\">\n", out);
	for (const struct weft_report_kind *k = weft_report_kinds; k->word; k++) {
		(void)fputs("<div class=\"card\">", out); /* hidden if it stays empty */
		if (!has_nothing(k->word, r))
			(void)weft_report_picture(out, k->word, r, false);
		(void)fputs("</div>\n", out);
	}
	(void)fputs("</div>\n", out);
	put_nothing(out, r);
	put_events(out, r);
	put_loads(out, r);
	put_steps(out, r);
	if (r->slower > 0)
		(void)fprintf(out,
			"<p class=\"dim\">live on a lab, time %.0f times slower; the machine stood "
			"still "
			"for %.1f us of the scenario's time at most</p></section>\n",
			r->slower, (double)r->late_ps / 1e6);
	else
		(void)fprintf(out,
			"<p class=\"dim\">digest %016" PRIx64 ", %.2f us simulated, %" PRIu64
			" packet-hops</p></section>\n",
			r->totals.digest, (double)r->totals.now_ps / 1e6, r->totals.packet_hops);
}

static void put_fact(FILE *out, const char *what, const char *text)
{
	(void)fprintf(out, "<dt>%s<dd>", what);
	put_text(out, text);
	(void)fputc('\n', out);
}

/* What has been run, so that somebody else can run it again. */
static void put_facts(FILE *out, const struct weft_scenario *play,
	struct weft_scenario_result *const results[], unsigned n, const char *where)
{
	const struct weft_scenario_head *h = weft_scenario_head(play);
	const struct weft_topo_shape *s = weft_topo_shape(weft_scenario_topo(play));
	const struct weft_scenario_result *r = results[0];
	char text[512], seeds[64];

	(void)snprintf(seeds, sizeof(seeds), "%" PRIu64, r->seed);
	if (n > 1)
		(void)snprintf(seeds, sizeof(seeds), "%" PRIu64 "-%" PRIu64, r->seed,
			results[n - 1]->seed);
	(void)fputs("<dl>\n", out);
	(void)snprintf(text, sizeof(text),
		"%s: %" PRIu32 " hosts, %" PRIu32 " plane%s of %g Gb/s, %" PRIu32
		" T0s and %" PRIu32 " T1s in each",
		r->fabric, s->hosts, s->planes, s->planes == 1 ? "" : "s",
		(double)s->host_bps / 1e9, s->t0s, s->t1s);
	put_fact(out, "fabric", text);
	(void)snprintf(text, sizeof(text), "%s, %" PRIu32 " path%s per pair", r->transport,
		r->paths, r->paths == 1 ? "" : "s");
	put_fact(out, "transport", r->paths ? text : r->transport);
	put_fact(out, n > 1 ? "seeds" : "seed", seeds);
	(void)snprintf(text, sizeof(text), "%g us at most", (double)h->stop_ps / 1e6);
	put_fact(out, "time", text);
	(void)snprintf(text, sizeof(text), "weft play %s --seeds %s%s%s", h->file, seeds,
		strcmp(where, "sim") != 0 ? " --on " : "", strcmp(where, "sim") != 0 ? where : "");
	if (!access(h->file, F_OK)) /* weft sim plays what is in no file */
		put_fact(out, "command", text);
	put_fact(out, "version", "weft " WEFT_VERSION);
	(void)fputs("</dl>\n<details><summary>The scenario: loads, engine, faults, claims"
		    "</summary><pre tabindex=\"0\">",
		out);
	put_text(out, h->text);
	(void)fputs("</pre></details>\n", out);
}

bool weft_report_page(FILE *out, const struct weft_scenario *play,
	struct weft_scenario_result *const results[], unsigned n, const char *where)
{
	const struct weft_scenario_head *h = weft_scenario_head(play);

	(void)fputs(head, out);
	(void)fputs(picture_style, out);
	(void)fputs("<title>", out);
	put_text(out, *h->name ? h->name : h->file);
	(void)fputs("</title></head><body><main>\n<h1>", out);
	put_text(out, *h->title ? h->title : *h->name ? h->name : h->file);
	(void)fputs("</h1>\n<p class=\"dim\">", out);
	put_text(out, h->tell);
	(void)fputs("</p>\n", out);
	if (n)
		put_facts(out, play, results, n, where);
	(void)fputs("<nav aria-label=\"seeds\"></nav>\n"
		    "<noscript><style>section.run,h2.seed{display:block}</style></noscript>\n",
		out);
	for (unsigned i = 0; i < n; i++)
		put_run(out, play, results[i], where);
	(void)fputs(script, out);
	(void)fputs("</main></body></html>\n", out);
	return n && !ferror(out);
}
