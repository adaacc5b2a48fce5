/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * claim - "victim.goodput from 1ms to 2ms >= 0.95 line": read, and judged.
 *
 *   [LOAD.]MEASURE [from TIME to TIME] == | != | <= | >= | < | > NUMBER[UNIT] [ideal | line]
 *
 * One comparison per claim, because a claim that fails must say by how much.  Units are required
 * where the measure has one, and refused where it has none.
 */
#include "scenario_local.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLAIM_BYTES = 160, CLAIM_WORDS = 9 };

struct suffix {
	const char *text;
	double scale;
};
static const struct suffix times[] = { { "ps", 1 }, { "ns", 1e3 }, { "us", 1e6 }, { "ms", 1e9 },
	{ "s", 1e12 }, { NULL, 0 } };
static const struct suffix rates[] = { { "Mb/s", 1e6 }, { "Gb/s", 1e9 }, { "Tb/s", 1e12 },
	{ NULL, 0 } };
static const struct suffix sizes[] = { { "B", 1 }, { "KB", 1e3 }, { "MB", 1e6 }, { "GB", 1e9 },
	{ "KiB", 1024 }, { "MiB", 1048576 }, { NULL, 0 } };
static const struct suffix counts[] = { { "", 1 }, { NULL, 0 } };
static const struct {
	const struct suffix *suffixes;
	const char *wanted;
} units[] = {
	[MEASURE_COUNT] = { counts, "the number has no unit" },
	[MEASURE_TIME] = { times, "a time is wanted, 20us, or N ideal" },
	[MEASURE_RATE] = { rates, "a speed is wanted, 95Gb/s, or N line" },
	[MEASURE_BYTES] = { sizes, "a size is wanted, 64KB" },
	[MEASURE_RATIO] = { counts, "the number has no unit" },
};

static bool read_number(const char *text, const struct suffix *suffixes, double *value)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || !isfinite(number) || strspn(text, "0123456789.-") == 0)
		return false;
	for (; suffixes->text; suffixes++) {
		if (!strcmp(end, suffixes->text)) {
			*value = number * suffixes->scale;
			return isfinite(*value);
		}
	}
	return false;
}

static const char *read_measure(
	struct claim *claim, char *word, const struct measure **measure, char hint[96])
{
	char *dot = strrchr(word, '.');
	const char *name = word;

	*measure = measure_find(word, hint);
	if (!*measure && dot) {
		*dot = 0;
		name = dot + 1;
		*measure = measure_find(name, hint);
		(void)snprintf(claim->group, sizeof(claim->group), "%s", word);
	}
	if (!*measure)
		return hint;
	(void)snprintf(claim->measure, sizeof(claim->measure), "%s", name);
	return NULL;
}

static const char *read_window(struct claim *claim, char *words[], unsigned n)
{
	uint64_t ns[2];

	if (n < 4 || strcmp(words[2], "to") || !weft_unit_parse(WEFT_UNIT_TIME, words[1], &ns[0]) ||
		!weft_unit_parse(WEFT_UNIT_TIME, words[3], &ns[1]) || ns[0] >= ns[1] ||
		ns[1] > UINT64_C(1000000000000000))
		return "wanted is from TIME to TIME, from 1ms to 2ms";
	claim->from_ps = ns[0] * 1000;
	claim->to_ps = ns[1] * 1000;
	claim->is_windowed = true;
	return NULL;
}

/* What holds of every run says nothing about any. */
static bool can_fail(const struct claim *claim, const struct measure *measure)
{
	bool is_low = *claim->op == '<', is_equal = claim->op[1] == '=';
	bool is_ideal = !strcmp(claim->relative, "ideal"),
	     is_line = !strcmp(claim->relative, "line");
	double value = claim->value;

	if (!strcmp(claim->op, "=="))
		return true;
	if (*claim->op == '!')
		return value >= 0;
	if (is_low) /* nothing comes faster than lines carry it */
		return !is_line || (is_equal ? value < 1 : value <= 1);
	double least = is_ideal && measure_is_of_last(measure) ? 1 : 0;

	return is_equal ? value > least : value >= least;
}

static const char *read_value(
	struct claim *claim, const struct measure *measure, char *words[], unsigned n)
{
	static const char *const ops[] = { "==", "!=", "<=", ">=", "<", ">" };
	unsigned op = 0;

	while (op < WEFT_COUNT(ops) && n && strcmp(words[0], ops[op]))
		op++;
	if (!n || op == WEFT_COUNT(ops))
		return "wanted is MEASURE [from TIME to TIME] <= NUMBER [ideal | line]";
	(void)snprintf(claim->op, sizeof(claim->op), "%s", ops[op]);
	if (n == 3) {
		bool fits = (!strcmp(words[2], "ideal") && measure_ideal(measure)) ||
			    (!strcmp(words[2], "line") && measure->unit == MEASURE_RATE);

		(void)snprintf(claim->relative, sizeof(claim->relative), "%s", words[2]);
		if (!fits || !read_number(words[1], counts, &claim->value))
			return "fct, jct and end compare to ideal, speeds to line: "
			       "fct_max <= 1.05 ideal";
	} else if (n != 2 || !read_number(words[1], units[measure->unit].suffixes, &claim->value)) {
		return units[measure->unit].wanted;
	}
	return can_fail(claim, measure) ? NULL : "no run can fail this";
}

const char *claim_parse(struct claim *claim, const char *text, char hint[96])
{
	char copy[CLAIM_BYTES], *words[CLAIM_WORDS], *rest = NULL;
	const struct measure *measure;
	const char *wrong;
	unsigned n = 0, at = 1;

	claim->text = text;
	claim->to_ps = WEFT_NEVER;
	if (strlen(text) >= sizeof(copy))
		return "too long";
	memcpy(copy, text, strlen(text) + 1);
	for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
		if (n == CLAIM_WORDS)
			return "too many words";
		words[n++] = w;
	}
	if (!n)
		return "empty";
	wrong = read_measure(claim, words[0], &measure, hint);
	if (!wrong && n > 1 && !strcmp(words[1], "from")) {
		wrong = measure->is_windowed ? read_window(claim, words + 1, n - 1)
					     : "this measure is of the whole run: no from, no to";
		at = 5;
	}
	return wrong ? wrong : read_value(claim, measure, words + at, n - at);
}

/* Times of flows and the ideal of their load are of one kind only if all of them begin at once. */
static bool is_of_flows(const struct claim *claim, const struct traffic loads[], uint32_t n_loads)
{
	for (uint32_t i = 0; i < n_loads; i++) {
		if (*claim->group && strcmp(claim->group, loads[i].name))
			continue;
		if (!loads[i].is_together ||
			(!*claim->group && loads[i].first_ps != loads[0].first_ps))
			return false;
	}
	return true;
}

bool claim_fits(struct claim *claim, const struct traffic loads[], uint32_t n_loads, char hint[96])
{
	const struct measure *measure = measure_find(claim->measure, hint);
	uint32_t known = !*claim->group;

	for (uint32_t i = 0; i < n_loads; i++)
		known += !strcmp(loads[i].name, claim->group);
	if (!known) {
		(void)snprintf(hint, 96, "no load is called '%s'", claim->group);
		return false;
	}
	if (known > 1) {
		(void)snprintf(hint, 96, "%u loads are called '%s': give each a name",
			(unsigned)known, claim->group);
		return false;
	}
	if (*claim->group && measure_is_of_run(measure)) {
		(void)snprintf(hint, 96, "%s is of the whole run, not of a load", claim->measure);
		return false;
	}
	if (measure_is_of_job(measure) && !*claim->group) {
		(void)snprintf(hint, 96, "of which load? NAME.%s", claim->measure);
		if (n_loads != 1)
			return false;
		(void)snprintf(claim->group, sizeof(claim->group), "%s", loads[0].name);
	}
	(void)snprintf(hint, 96,
		"flows that do not begin together have no ideal in common: jct, slowdown_max");
	return strcmp(claim->relative, "ideal") || measure_ideal(measure) != IDEAL_FLOW ||
	       is_of_flows(claim, loads, n_loads);
}

/* ---- judging ---- */

static bool holds(const char *op, double left, double right)
{
	if (!strcmp(op, "=="))
		return left == right;
	if (!strcmp(op, "!="))
		return left != right;
	if (!strcmp(op, "<="))
		return left <= right;
	if (!strcmp(op, ">="))
		return left >= right;
	return *op == '<' ? left < right : left > right;
}

static void judge_digest(const struct claim *claim, const struct weft_scenario_result *result,
	struct weft_scenario_judgement *j)
{
	if (claim->seed != UINT64_MAX && claim->seed != result->seed) {
		(void)snprintf(j->why, sizeof(j->why), "only for seed %llu",
			(unsigned long long)claim->seed);
		return;
	}
	(void)snprintf(j->measured, sizeof(j->measured), "%016llx",
		(unsigned long long)result->totals.digest);
	j->verdict = claim->digest == result->totals.digest ? WEFT_SCENARIO_PASSED
							    : WEFT_SCENARIO_FAILED;
}

/* Times of flows are durations; when the run was over is counted from where its flows begin. */
static double since_start(const struct weft_scenario_result *r, const struct measure *measure)
{
	return measure_ideal(measure) == IDEAL_WHOLE && !measure_is_of_job(measure)
		       ? (double)r->begin_ps
		       : 0;
}

/* What the bound is, in the measure's unit; adds to what is told of the value. */
static double bound_of(const struct claim *claim, const struct measure *measure,
	const struct weft_scenario_result *r, double value, struct weft_scenario_judgement *j)
{
	const struct weft_scenario_group *group = group_find(r, claim->group);
	size_t n = strlen(j->measured);

	if (!strcmp(claim->relative, "ideal")) {
		double start = since_start(r, measure);
		double ideal = (double)(group ? group->ideal_ps : r->ideal_ps - r->begin_ps);

		(void)snprintf(j->measured + n, sizeof(j->measured) - n, ", %.3f ideal",
			ideal > 0 ? (value - start) / ideal : 0);
		(void)(vacuous_after(r, measure, value - start, ideal, j->why, sizeof(j->why)));
		return start + claim->value * ideal;
	}
	if (!strcmp(claim->relative, "line")) {
		double line = group ? group->line_bps : r->line_bps;

		(void)snprintf(j->measured + n, sizeof(j->measured) - n, ", %.3f line",
			line > 0 ? value / line : 0);
		return claim->value * line;
	}
	return claim->value;
}

static void judge_value(const struct claim *claim, const struct measure *measure,
	const struct weft_scenario_result *result, struct weft_scenario_judgement *j)
{
	double value = measure_of(result, claim);

	/* A lab counts these, but does not say when. */
	if (result->slower > 0 &&
		(measure_is_sim_only(measure) ||
			(isnan(value) && claim->is_windowed && measure->unit == MEASURE_COUNT))) {
		(void)snprintf(j->why, sizeof(j->why), "not measured in a lab");
		return;
	}
	j->verdict = WEFT_SCENARIO_FAILED;
	measure_text(measure->unit, value, j->measured, sizeof(j->measured));
	if (!vacuous_before(result, claim, measure, j->why, sizeof(j->why)))
		return;
	double bound = bound_of(claim, measure, result, value, j);

	if (isnan(value))
		(void)snprintf(j->why, sizeof(j->why), "nothing to measure");
	else if (!*j->why && holds(claim->op, value, bound))
		j->verdict = WEFT_SCENARIO_PASSED;
}

void weft_scenario_judge(const struct weft_scenario *play, uint32_t index,
	const struct weft_scenario_result *result, const char *where,
	struct weft_scenario_judgement *j)
{
	WEFT_ASSERT(index < play->head.n_claims);
	const struct claim *claim = &play->claims[index];
	char hint[96];

	*j = (struct weft_scenario_judgement){ .claim = claim->text,
		.line = claim->line,
		.held = claim->held,
		.of = claim->of,
		.verdict = WEFT_SCENARIO_SKIPPED };
	if (claim->in && strcmp(claim->in, where)) {
		(void)snprintf(j->why, sizeof(j->why), "only in %s", claim->in);
		return;
	}
	if (claim->is_digest && result->slower > 0) {
		(void)snprintf(j->why, sizeof(j->why), "only virtual time repeats itself");
		return;
	}
	if (claim->is_digest) {
		judge_digest(claim, result, j);
		return;
	}
	const struct measure *measure = measure_find(claim->measure, hint);

	WEFT_ASSERT(measure);
	judge_value(claim, measure, result, j);
}
