/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_sim - `weft sim`: a load over a fabric file in virtual time.
 *
 * Says what memory it will need before it takes any, and does not start what cannot fit: a machine
 * that swaps simulates nothing.
 */
#include "live_args.h"
#include "play.h"
#include "sim_text.h"
#include "sim_progress.h"
#include "sim_ranks.h"
#include "commands.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <weft/net.h>

enum { OPTION_SWITCH = 256, OPTION_MARK, OPTION_DRY, OPTION_REPLY, OPTION_RANKS, OPTION_REPORT };

/* clang-format off */
static const struct argp_option options[] = {
	{ "load", 'l', "LOAD", 0,
		"permutation (default), ring, incast:N, ring-allreduce, training,dp=8, x.goal,"
		" x.cm, workload.txt, ... (docs/loads.md); again: one more job",
		0 },
	{ "bytes", 'b', "BYTES", 0, "of a flow, or of a collective's buffer (default: 2MB)", 0 },
	{ "fault", 'f', "FAULT", 0, "\"freeze p0.t1-3 at 20us for 1ms\"; may be repeated", 0 },
	{ "until", 'u', "TIME", 0,
		"stop then at the latest (default: 100ms, or ten times the ideal)", 0 },
	{ "threads", 't', "N", 0, "results do not depend on it (default: 1)", 0 },
	{ "ranks", OPTION_RANKS, "N", 0,
		"under mpirun or srun: so many and no others; 1: alone (default: all of them)", 0 },
	{ "seed", 's', "N", 0, "another one, another run (default: 1)", 0 },
	{ "paths", 'p', "N", 0, "EVs per pair, all planes together (default: 128)", 0 },
	{ "reply-paths", OPTION_REPLY, "N", 0,
		"the same for the way back (default: 16, at most --paths)", 0 },
	{ "switch", OPTION_SWITCH, "KIND", 0,
	  "trim or drop what does not fit (default: as FABRIC says)", 0 },
	{ "no-last-hop-marks", OPTION_MARK, NULL, 0, "no ECN on ports to hosts", 0 },
	{ "dry-run", OPTION_DRY, NULL, 0, "only say how much memory it would need", 0 },
	{ "json", 'j', NULL, 0, "one JSON object instead of a table", 0 },
	{ "report", OPTION_REPORT, "FILE", 0,
		"write a page with pictures (HTML), and print what weft play does", 0 },
	{ 0 },
};
/* clang-format on */

static void read_switch(struct argp_state *state, const char *text, struct weft_sim_config *config)
{
	if (strcmp(text, "trim") && strcmp(text, "drop"))
		argp_error(state, "switch: \"%s\", wanted is trim or drop", text);
	config->discipline =
		strcmp(text, "trim") ? WEFT_DISCIPLINE_DROP_TAIL : WEFT_DISCIPLINE_TRIM;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct sim_args *a = state->input;

	switch (key) {
	case 'l':
		if (a->n_loads == WEFT_WORKLOAD_JOBS_MAX)
			argp_error(state, "load: more than %d", WEFT_WORKLOAD_JOBS_MAX);
		a->loads[a->n_loads++] = arg;
		return 0;
	case 'b':
		if (!sim_read_bytes(arg, &a->bytes) || !a->bytes)
			argp_error(state, "bytes: \"%s\", wanted is 1 or more, 2MB, 64KiB", arg);
		a->bytes_text = arg;
		return 0;
	case 'f':
		if (a->n_faults == SIM_FAULT_TEXTS_MAX)
			argp_error(state, "fault: more than %d", SIM_FAULT_TEXTS_MAX);
		a->faults[a->n_faults++] = arg;
		return 0;
	case 'u':
		if (!sim_read_time(arg, &a->until_ps) || !a->until_ps)
			argp_error(state, "until: \"%s\", wanted is a time, 500us, 100ms", arg);
		return 0;
	case 't':
		a->config.threads =
			(uint32_t)arg_number(state, "threads", arg, 1, WEFT_SIM_THREADS_MAX);
		return 0;
	case OPTION_RANKS:
		a->ranks = (uint32_t)arg_number(state, "ranks", arg, 1, WEFT_SIM_RANKS_MAX);
		return 0;
	case 's':
		a->config.seed = arg_number(state, "seed", arg, 0, UINT64_MAX);
		return 0;
	case 'p':
		a->config.paths = (uint32_t)arg_number(state, "paths", arg, 1, 512);
		return 0;
	case OPTION_REPLY:
		a->config.reply_paths = (uint32_t)arg_number(state, "reply-paths", arg, 1, 512);
		a->has_reply_paths = true;
		return 0;
	case OPTION_SWITCH:
		read_switch(state, arg, &a->config);
		return 0;
	case OPTION_MARK:
		a->config.marks = WEFT_MARKS_CORE;
		return 0;
	case OPTION_DRY:
		a->dry_run = true;
		return 0;
	case 'j':
		a->json = true;
		return 0;
	case OPTION_REPORT:
		a->report = arg;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->config;
		return 0;
	case ARGP_KEY_ARG:
		if (a->fabric)
			argp_usage(state);
		a->fabric = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->fabric)
			argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- real time ---- */

static double cpu_s(struct rusage *usage)
{
	(void)getrusage(RUSAGE_SELF, usage);
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

/* ---- the run ---- */

/* Where --until is not said: what goes well is over by then, and what hangs does end. */
#define UNTIL_PS UINT64_C(100000000000)
#define UNTIL_IDEALS 10

struct job {
	struct weft_topo *topo;
	struct weft_workload load;
	struct sim_job *jobs;
	struct weft_scenario_faults faults;
	struct weft_sim *sim;
	struct sim_report report;
	struct sim_ranks ranks;
	char error[1024]; /* "": nothing is wrong */
	bool is_in_file;  /* and names it */
};

static bool add_jobs(struct job *job, const struct sim_args *a)
{
	size_t bytes = sizeof(job->error);

	for (uint32_t i = 0; i < a->n_loads; i++) {
		struct weft_workload_spec spec;
		char error[sizeof(job->error) - 300];

		weft_workload_spec_default(&spec);
		spec.seed = a->config.seed;
		if (!weft_workload_parse(&spec, a->loads[i], error, sizeof(error)) ||
			(a->bytes_text && !strstr(a->loads[i], "bytes=") &&
				!weft_workload_set(
					&spec, "bytes", a->bytes_text, error, sizeof(error))) ||
			!weft_workload_add(&job->load, job->topo, &spec, error, sizeof(error))) {
			bool is_named = *spec.file && !strncmp(error, spec.file, strlen(spec.file));

			snprintf(job->error, bytes, "load: %.100s%s%s", is_named ? "" : a->loads[i],
				is_named ? "" : ": ", error);
			return false;
		}
		if (spec.kind == WEFT_WORKLOAD_FILE)
			job->report.bytes = 0; /* each flow has its own */
	}
	return true;
}

static bool make_load(struct job *job, struct sim_args *a)
{
	struct sim_report *r = &job->report;

	if (!add_jobs(job, a))
		return false;
	r->n_flows = job->load.n;
	r->begin_ps = r->n_flows ? UINT64_MAX : 0;
	for (uint32_t i = 0; i < r->n_flows; i++)
		r->begin_ps = WEFT_MIN(r->begin_ps, job->load.flows[i].start_ps);
	if (!a->dry_run)
		r->ideal_ps = weft_workload_ideal_ps(&job->load, job->topo) - r->begin_ps;
	if (!a->until_ps)
		a->until_ps = WEFT_MAX(UNTIL_PS, r->begin_ps + UNTIL_IDEALS * r->ideal_ps);
	r->sorted_ps = calloc(r->n_flows, sizeof(*r->sorted_ps));
	if (!sim_jobs_are_plain(&job->load)) {
		job->jobs = calloc(job->load.n_jobs, sizeof(*job->jobs));
		r->jobs = job->jobs;
		r->n_jobs = job->load.n_jobs;
	}
	if (!r->sorted_ps || (r->n_jobs && !job->jobs)) {
		snprintf(job->error, sizeof(job->error), "out of memory");
		return false;
	}
	for (uint32_t i = 0; i < a->n_faults; i++) {
		if (!weft_scenario_fault_add(&job->faults, job->topo, a->faults[i], a->until_ps,
			    a->config.seed, job->error, sizeof(job->error)))
			return false;
	}
	r->n_faults = job->faults.n;
	return true;
}

/* A fabric file, or htsim's .topo. */
static bool open_fabric(struct job *job, const char *path)
{
	size_t n = strlen(path), bytes = sizeof(job->error);

	if (n < 5 || strcmp(path + n - 5, ".topo"))
		return !weft_topo_open(&job->topo, path, job->error, bytes);
	char *text = weft_workload_topo_file(path, job->error, bytes);

	if (!text)
		return false;
	bool is_good =
		!weft_topo_open_text(&job->topo, text, strlen(text), path, job->error, bytes);

	free(text);
	return is_good;
}

/* False: it does not fit, or only the estimate was asked for. */
static bool fits(struct job *job, const struct sim_args *a)
{
	const struct weft_sim_memory *m = &job->report.memory;
	uint64_t have = m->available;
	char n[6][HUMAN_MAX];

	if (a->dry_run)
		printf("%s%s: endpoints %s, switches %s, packets %s, under way %s, tables %s\n",
			job->ranks.to ? "each rank " : "", human_bytes(n[0], m->total),
			human_bytes(n[1], m->endpoints), human_bytes(n[2], m->switches),
			human_bytes(n[3], m->packets), human_bytes(n[4], m->mail),
			human_bytes(n[5], m->tables));
	if (m->total <= have)
		return !a->dry_run;
	if (job->ranks.to)
		snprintf(job->error, sizeof(job->error),
			"rank %" PRIu32 " needs %s of memory, and its share of what is free is %s:"
			" use more machines, fewer paths or hosts",
			m->rank, human_bytes(n[0], m->total), human_bytes(n[1], have));
	else
		snprintf(job->error, sizeof(job->error),
			"this needs %s of memory, and %s are free: use fewer paths or hosts",
			human_bytes(n[0], m->total), human_bytes(n[1], have));
	return false;
}

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void run(struct job *job, const struct sim_args *a)
{
	struct sim_report *r = &job->report;
	struct sim_progress progress;
	struct rusage usage;
	double cpu = cpu_s(&usage);

	sim_progress_begin(&progress, "", a->until_ps, sim_ranks_screen(&job->ranks));
	weft_sim_run(job->sim, a->until_ps, sim_progress_watch, &progress);
	sim_progress_end(&progress);
	r->run_s = (double)(weft_clock_now(NULL) - progress.start_ns) / 1e9;
	uint64_t cost[] = { (uint64_t)((cpu_s(&usage) - cpu) * 1e6), (uint64_t)usage.ru_maxrss };

	weft_sim_sum(job->sim, cost, WEFT_COUNT(cost));
	r->cpu_s = (double)cost[0] / 1e6;
	r->rss_bytes = cost[1] * 1024;
	weft_sim_gather(job->sim);
	weft_sim_totals(job->sim, &r->totals);
	weft_sim_counters(job->sim, &r->counters);
	for (uint32_t i = 0; i < r->n_flows; i++) {
		uint64_t ps = weft_sim_flow_ps(job->sim, i);

		if (job->load.flows[i].len_bytes)
			r->sorted_ps[r->n++] = ps ? ps : WEFT_NEVER;
	}
	qsort(r->sorted_ps, r->n, sizeof(*r->sorted_ps), compare);
	for (uint32_t i = 0; i < job->faults.n_events; i++)
		r->n_missed += job->faults.events[i].begin_ps >= r->totals.now_ps;
	weft_sim_messages(job->sim, &r->messages);
	if (job->jobs && !sim_jobs_measure(&job->load, job->sim, job->jobs))
		r->jobs = NULL;
}

static int print(const struct sim_report *r, bool json)
{
	struct term term;

	term_open(&term, stdout);
	if (json) {
		json_t *object = sim_report_json(r);

		json_dumpf(object, stdout, JSON_REAL_PRECISION(9));
		printf("\n");
		json_decref(object);
	} else {
		sim_report_print(r, &term);
	}
	return r->totals.flows_done == r->n_flows ? EXIT_OK : EXIT_FAILED;
}

/* EXIT_FAILED and no error: flows were left over. */
static int work(struct job *job, struct sim_args *a)
{
	struct sim_report *r = &job->report;
	size_t bytes = sizeof(job->error);

	if (!sim_ranks_join(&job->ranks, a->ranks, job->error, bytes))
		return EXIT_FAILED;
	if (!open_fabric(job, a->fabric)) {
		job->is_in_file = true;
		return EXIT_FAILED;
	}
	a->config.topo = job->topo;
	a->config.ranks = job->ranks.to;
	*r = (struct sim_report){ .load = a->n_loads == 1 ? a->loads[0] : "several jobs",
		.transport = weft_baseline_name(a->config.baseline.kind),
		.bytes = a->bytes,
		.seed = a->config.seed,
		.threads = a->config.threads,
		.ranks = job->ranks.to ? job->ranks.to->n : 1,
		.shape = weft_topo_shape(job->topo) };
	if (!make_load(job, a))
		return EXIT_FAILED;
	a->config.edges = job->load.edges;
	a->config.n_edges = job->load.n_edges;
	if (weft_sim_estimate(
		    &a->config, job->load.flows, r->n_flows, &r->memory, job->error, bytes))
		return EXIT_FAILED;
	if (!fits(job, a))
		return *job->error ? EXIT_FAILED : EXIT_OK;
	uint64_t start = weft_clock_now(NULL);

	if (weft_sim_open(&job->sim, &a->config, job->load.flows, r->n_flows, job->faults.list,
		    job->faults.n, job->error, bytes))
		return EXIT_FAILED;
	r->open_s = (double)(weft_clock_now(NULL) - start) / 1e9;
	run(job, a);
	return print(r, a->json);
}

static void drop(struct job *job)
{
	weft_sim_close(job->sim);
	weft_topo_close(job->topo);
	weft_workload_close(&job->load);
	free(job->jobs);
	weft_scenario_faults_free(&job->faults);
	free(job->report.sorted_ps);
}

/* With a page: the same as a scenario, which is looked at while it runs. */
static int work_for_page(struct sim_args *a)
{
	struct job trial = { 0 }; /* says what is wrong, and when the run ends if nobody has */
	bool is_good = open_fabric(&trial, a->fabric) && make_load(&trial, a);
	char *text = is_good ? sim_scenario_text(a, trial.error, sizeof(trial.error)) : NULL;

	if (!text)
		fprintf(stderr, "weft sim: %s\n", trial.error);
	drop(&trial);
	if (!text)
		return EXIT_FAILED;
	int rc = play_text(text, a);

	free(text);
	return rc;
}

/* Two results beside each other: --compare A B; n files have been named. */
static int compare_files(int n, char *files[])
{
	struct term term;
	char error[512];

	if (n != 2) {
		fprintf(stderr, "weft sim: --compare wants two files, and nothing else: what "
				"--json of weft play or weft sim has written\n");
		return EXIT_USAGE;
	}
	term_open(&term, stdout);
	if (play_compare(files[0], files[1], &term, error, sizeof(error)))
		return EXIT_OK;
	fprintf(stderr, "weft sim: %s\n", error);
	return EXIT_FAILED;
}

/* The last word is where the page goes; an older page there has a scenario's words on it. */
static bool is_page(int argc, char **argv)
{
	return argc > 2 && !strncmp(argv[argc - 2], "--rep", 5) && !strchr(argv[argc - 2], '=');
}

int cmd_sim(int argc, char **argv)
{
	static const struct argp_child children[] = { { &sim_baseline_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = { options, parse,
		"FABRIC|FILE.topo\nSCENARIO\n--compare A B",
		"Simulate a load over the fabric of a fabric file, with the engine at every host "
		"and our switch at every switch.  SCENARIO: as weft play.  --compare: the JSON "
		"lines of two of its runs beside each other.",
		children, NULL, NULL };
	struct sim_args a = {
		.bytes = 2000000,
	};
	struct job job = { 0 };

	if (argc > 1 && !strcmp(argv[1], "--compare"))
		return compare_files(argc - 2, argv + 2);
	if (argc > 1 && *argv[argc - 1] != '-' && !is_page(argc, argv) &&
		weft_scenario_is_scenario(argv[argc - 1]))
		return cmd_play(argc, argv);
	weft_sim_config_default(&a.config);
	unsigned flags = sim_ranks_argp_flags();

	if (argp_parse(&argp, argc, argv, flags, NULL, &a))
		return flags ? EXIT_OK : EXIT_USAGE; /* rank 0 explains it */
	if (!a.n_loads)
		a.loads[a.n_loads++] = "permutation";
	if (!a.has_reply_paths) /* the default is no more than what was asked for */
		a.config.reply_paths = WEFT_MIN(a.config.reply_paths, a.config.paths);
	if (a.report)
		return work_for_page(&a);
	int rc = work(&job, &a);

	if (!sim_ranks_leave(&job.ranks, job.error, sizeof(job.error))) {
		if (!job.ranks.is_silent)
			fprintf(stderr, "%s%s\n", job.is_in_file ? "" : "weft sim: ", job.error);
		rc = EXIT_FAILED;
	}
	if (job.ranks.is_silent)
		rc = EXIT_OK;
	drop(&job);
	return rc;
}
