/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_scenario - what `weft sim` was asked for, in the words of a scenario file.
 *
 * For --report: the page is that of `weft play`, which looks at a run while it goes on; and whoever
 * reads it finds on it what to change and play again (docs/scenarios.md has the words).
 */
#include "sim_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void put_quoted(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static const char *without_folders(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void put_title(FILE *out, const struct sim_args *a)
{
	char title[100];

	(void)snprintf(title, sizeof(title), "%.40s%s over %.40s", without_folders(a->loads[0]),
		a->n_loads > 1 ? " and more" : "", without_folders(a->fabric));
	fprintf(out, "title: ");
	put_quoted(out, title);
	fputc('\n', out);
}

/* The text of htsim's .topo in our words is lines of "key: value". */
static bool put_topo_file(FILE *out, const char *path, char *error, size_t error_bytes)
{
	char *text = weft_workload_topo_file(path, error, error_bytes);

	if (!text)
		return false;
	fprintf(out, "fabric:\n");
	for (char *line = text, *rest; (line = strtok_r(line, "\n", &rest)); line = NULL)
		fprintf(out, "  %s\n", line);
	free(text);
	return true;
}

static bool put_fabric(FILE *out, const char *path, char *error, size_t error_bytes)
{
	size_t n = strlen(path);

	if (n >= 5 && !strcmp(path + n - 5, ".topo"))
		return put_topo_file(out, path, error, error_bytes);
	fprintf(out, "fabric: ");
	put_quoted(out, path);
	fputc('\n', out);
	return true;
}

static void put_time(FILE *out, const char *word, uint64_t ps, uint64_t usual_ps)
{
	if (ps != usual_ps)
		fprintf(out, ", %s: %" PRIu64 "ns", word, ps / 1000);
}

static const char *const switch_words[] = { [WEFT_DISCIPLINE_TRIM] = "full: trim",
	[WEFT_DISCIPLINE_DROP_TAIL] = "full: drop",
	[WEFT_DISCIPLINE_LOSSLESS] = "pfc: true" };

static void put_engine(FILE *out, const struct weft_sim_config *config)
{
	const struct weft_baseline_settings *r = &config->baseline;
	struct weft_sim_config usual;

	weft_sim_config_default(&usual);
	fprintf(out, "engine: {paths: %" PRIu32 ", reply_paths: %" PRIu32, config->paths,
		config->reply_paths);
	if (r->kind != WEFT_BASELINE_NONE)
		fprintf(out, ", transport: %s", weft_baseline_name(r->kind));
	if (r->qps)
		fprintf(out, ", qps: %" PRIu32, r->qps);
	if (r->window_pkts)
		fprintf(out, ", window: %" PRIu32, r->window_pkts);
	if (r->dcqcn)
		fprintf(out, ", dcqcn: true");
	if (config->discipline != WEFT_DISCIPLINE_UNSAID)
		fprintf(out, ", %s", switch_words[config->discipline]);
	if (config->marks != WEFT_MARKS_UNSAID)
		fprintf(out, ", last_hop_marks: %s",
			config->marks == WEFT_MARKS_CORE ? "false" : "true");
	put_time(out, "rto", r->rto_ps, 0);
	put_time(out, "bgp_detect", config->bgp_detect_ps, usual.bgp_detect_ps);
	put_time(out, "bgp_converge", config->bgp_converge_ps, usual.bgp_converge_ps);
	fprintf(out, "}\n");
}

/* --bytes is for the loads that do not say. */
static void put_loads(FILE *out, const struct sim_args *a)
{
	char word[1024];

	fprintf(out, "load:\n");
	for (uint32_t i = 0; i < a->n_loads; i++) {
		bool adds = a->bytes_text && !strstr(a->loads[i], "bytes=");

		(void)snprintf(word, sizeof(word), "%.900s%s%s", a->loads[i], adds ? ",bytes=" : "",
			adds ? a->bytes_text : "");
		fprintf(out, "  - ");
		put_quoted(out, word);
		fputc('\n', out);
	}
}

char *sim_scenario_text(const struct sim_args *a, char *error, size_t error_bytes)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	(void)snprintf(error, error_bytes, "out of memory");
	if (!out)
		return NULL;
	fprintf(out, "name: sim\n");
	put_title(out, a);
	bool good = put_fabric(out, a->fabric, error, error_bytes);

	put_engine(out, &a->config);
	put_loads(out, a);
	if (a->n_faults)
		fprintf(out, "faults:\n");
	for (uint32_t i = 0; i < a->n_faults; i++) {
		fprintf(out, "  - ");
		put_quoted(out, a->faults[i]);
		fputc('\n', out);
	}
	fprintf(out, "stop: %" PRIu64 "ns\nseed: %" PRIu64 "\n", a->until_ps / 1000,
		a->config.seed);
	if (!fclose(out) && good)
		return text;
	free(text);
	return NULL;
}
