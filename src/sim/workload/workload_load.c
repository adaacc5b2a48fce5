/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_load - jobs out of flows.
 *
 * Every load is put together with a few words: send, compute, after, and the tail of a rank, which
 * is what its next step waits for.  Memory that runs out is remembered and told once, at the end of
 * a job, so that loads read like what they are.
 */
#include "workload_local.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_BYTES_MAX UINT32_MAX /* an engine's work has 32 bits for its length */

bool build_fail(struct build *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(b->error, b->error_bytes, format, args);
	va_end(args);
	(void)weft_text_clean(b->error); /* it may quote a file */
	return false;
}

bool build_fits(struct build *b, uint64_t flows)
{
	if (flows + b->load->n <= WEFT_WORKLOAD_FLOWS_MAX)
		return true;
	return build_fail(b, "%llu flows, allowed are %u", (unsigned long long)flows,
		(unsigned)WEFT_WORKLOAD_FLOWS_MAX);
}

static uint32_t add(struct build *b, struct weft_sim_flow flow)
{
	struct weft_workload *load = b->load;

	flow.start_ps = b->spec->start_ps;
	flow.job = (uint16_t)load->n_jobs;
	flow.step = (uint16_t)b->step;
	flow.after_first = load->n_edges;
	if (load->broken || load->n >= WEFT_WORKLOAD_FLOWS_MAX ||
		!array_grow(&load->flows, load->n, &load->n_max, sizeof(flow))) {
		load->broken = true;
		return 0;
	}
	if (b->line && !array_grow(&b->lines, load->n - b->first, &b->n_lines_max, sizeof(b->line)))
		load->broken = true;
	else if (b->line)
		b->lines[load->n - b->first] = b->line;
	load->flows[load->n] = flow;
	return load->n++;
}

uint32_t build_send(struct build *b, uint32_t src, uint32_t dst, uint64_t bytes)
{
	uint64_t parts;

	bytes = WEFT_MAX(bytes, UINT64_C(1)); /* a message of nothing is sent, too */
	parts = WEFT_DIV_UP(bytes, (uint64_t)MESSAGE_BYTES_MAX);
	b->parts = 1;
	if (src == dst) /* two ranks on one host: nothing crosses the fabric */
		return add(b, (struct weft_sim_flow){ .src = src, .dst = src });
	if (parts > UINT32_MAX)
		b->is_too_long = true;
	else
		b->parts = (uint32_t)parts;
	return add(b, (struct weft_sim_flow){ .src = src,
			      .dst = dst,
			      .len_bytes = (uint32_t)WEFT_DIV_UP(bytes, parts),
			      .repeats = b->parts > 1 ? b->parts : 0 });
}

void build_repeat(struct build *b, uint32_t times, uint64_t delay_ps)
{
	uint64_t repeats = (uint64_t)b->parts * times;

	if (repeats > UINT32_MAX)
		b->is_too_long = true;
	else
		build_last(b)->repeats = (uint32_t)repeats;
	build_last(b)->delay_ps = WEFT_DIV_UP(delay_ps, (uint64_t)b->parts);
}

void build_in_step(struct build *b, uint32_t flow, uint32_t times)
{
	uint64_t lag = (uint64_t)b->parts * times;

	if (lag >= WEFT_SIM_WHOLE)
		b->is_too_long = true;
	else
		build_after(b, flow, (uint32_t)lag);
}

uint32_t build_compute(struct build *b, uint32_t host, uint64_t ps)
{
	return add(b, (struct weft_sim_flow){ .src = host, .dst = host, .delay_ps = ps });
}

struct weft_sim_flow *build_last(struct build *b)
{
	static struct weft_sim_flow nowhere; /* what is written there is never read */

	return b->load->broken ? &nowhere : &b->load->flows[b->load->n - 1];
}

void build_after(struct build *b, uint32_t flow, uint32_t lag)
{
	struct weft_workload *load = b->load;

	if (load->broken || !array_grow(&load->edges, load->n_edges, &load->n_edges_max,
				    sizeof(*load->edges))) {
		load->broken = true;
		return;
	}
	load->edges[load->n_edges++] = (struct weft_sim_edge){ flow, lag };
	load->flows[load->n - 1].n_after++;
}

void build_tail(struct build *b, uint32_t rank)
{
	if (b->tails[rank] != NONE)
		build_after(b, b->tails[rank], WEFT_SIM_WHOLE);
}

void build_step(struct build *b, uint32_t rank, uint64_t ps)
{
	uint32_t flow = build_compute(b, b->hosts[rank], ps);

	build_tail(b, rank);
	b->tails[rank] = flow;
}

/* ---- jobs ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);

	return n >= k && !strcmp(text + n - k, end);
}

static bool begin(struct build *b, struct weft_workload *load, const struct weft_topo *topo,
	const struct weft_workload_spec *spec, char *error, size_t error_bytes)
{
	*b = (struct build){
		.load = load, .topo = topo, .spec = spec, .error = error, .error_bytes = error_bytes
	};
	b->first = load->n;
	weft_rng_seed(&b->rng, spec->seed);
	if (load->n_jobs == WEFT_WORKLOAD_JOBS_MAX)
		return build_fail(b, "more than %d jobs", WEFT_WORKLOAD_JOBS_MAX);
	if (!place_ranks(b, 0))
		return false;
	b->tails = malloc((b->n + 1) * sizeof(*b->tails));
	if (!b->tails)
		return build_fail(b, "out of memory");
	for (uint32_t i = 0; i < b->n; i++)
		b->tails[i] = NONE;
	return true;
}

static bool end(struct build *b, uint32_t first, const char *name, bool is_good)
{
	struct weft_workload *load = b->load;
	struct weft_workload_job *job = &load->jobs[load->n_jobs];

	free(b->hosts);
	free(b->tails);
	free(b->lines);
	if (is_good && b->is_too_long)
		is_good = build_fail(b, "%s: more than %u messages from one host to another", name,
			(unsigned)UINT32_MAX);
	if (is_good && load->broken)
		is_good = build_fail(b, "out of memory, or more than %u flows",
			(unsigned)WEFT_WORKLOAD_FLOWS_MAX);
	if (is_good && load->n == first)
		is_good = build_fail(b, "%s: it sends nothing", name);
	if (!is_good)
		return false;
	*job = (struct weft_workload_job){ .first = first, .n = load->n - first };
	(void)snprintf(job->name, sizeof(job->name), "%.*s", (int)sizeof(job->name) - 1,
		b->spec->name[0] ? b->spec->name : name);
	for (uint32_t i = first; i < load->n; i++)
		job->n_steps = WEFT_MAX(job->n_steps, load->flows[i].step + 1u);
	load->n_jobs++;
	return true;
}

/* What a format does not have must not be taken as if it had. */
static bool fits_format(struct build *b, bool is_goal, bool is_cm)
{
	if (b->spec->start_unit != WEFT_START_UNSAID && !is_cm)
		return build_fail(b, "start_unit belongs to .cm files");
	if (b->spec->endless_bytes && !is_cm)
		return build_fail(b, "endless belongs to .cm files");
	return b->spec->recv_bytes == WEFT_RECV_EQUAL || is_goal ||
	       build_fail(b, "recv_bytes belongs to .goal files");
}

/* What waits for itself would end a run without a word, and a run would only know its number. */
static bool can_begin(struct build *b, struct reader *reader)
{
	const struct weft_workload *load = b->load;
	uint32_t circle = load->broken || !b->lines ? NONE
						    : weft_sim_circle(load->flows, load->n,
							      load->edges, load->n_edges);

	if (circle == NONE || circle < b->first)
		return true;
	reader->line = b->lines[circle - b->first];
	return reader_fail(reader, "this waits for what waits for it");
}

bool weft_workload_add_text(struct weft_workload *load, const struct weft_topo *topo,
	const struct weft_workload_spec *spec, const char *name, const char *text,
	size_t text_bytes, char *error, size_t error_bytes)
{
	struct build b;
	struct reader reader;
	uint32_t first = load->n;
	bool is_good = begin(&b, load, topo, spec, error, error_bytes);

	if (is_good) {
		is_good = reader_open(&reader, name, text, text_bytes, error, error_bytes);
		if (is_good) {
			bool is_goal = ends_in(name, ".goal"), is_cm = ends_in(name, ".cm");

			is_good = fits_format(&b, is_goal, is_cm) &&
				  (is_goal        ? goal_add(&b, &reader)
					  : is_cm ? cm_add(&b, &reader)
						  : simai_add(&b, &reader));
			is_good = is_good && can_begin(&b, &reader);
			reader_close(&reader);
		}
	}
	return end(&b, first, base_name(name), is_good);
}

static bool add_file(struct weft_workload *load, const struct weft_topo *topo,
	const struct weft_workload_spec *spec, char *error, size_t error_bytes)
{
	size_t bytes;
	char *text = reader_load(spec->file, &bytes, error, error_bytes);

	if (!text)
		return false;
	bool is_good = weft_workload_add_text(
		load, topo, spec, spec->file, text, bytes, error, error_bytes);

	free(text);
	return is_good;
}

bool weft_workload_add(struct weft_workload *load, const struct weft_topo *topo,
	const struct weft_workload_spec *spec, char *error, size_t error_bytes)
{
	struct build b;
	uint32_t first = load->n;

	if (spec->kind == WEFT_WORKLOAD_FILE)
		return add_file(load, topo, spec, error, error_bytes);
	bool is_good =
		begin(&b, load, topo, spec, error, error_bytes) && fits_format(&b, false, false);

	if (is_good) {
		if (spec->kind == WEFT_WORKLOAD_POISSON)
			is_good = poisson_add(&b);
		else if (spec->kind == WEFT_WORKLOAD_TRAINING)
			is_good = training_add(&b);
		else if (spec->kind >= WEFT_WORKLOAD_ALL_TO_ALL)
			is_good = collective_add(&b);
		else
			is_good = simple_add(&b);
	}
	return end(&b, first, weft_workload_kind_name(spec->kind), is_good);
}

void weft_workload_close(struct weft_workload *load)
{
	free(load->flows);
	free(load->edges);
	*load = (struct weft_workload){ 0 };
}
