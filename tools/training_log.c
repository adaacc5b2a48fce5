/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * training_log - rank 0 prints a line of JSON when it begins, for each step, and at its end.
 */
#include "training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/base.h>

static uint64_t field(const json_t *json, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(json, name));

	return value > 0 ? (uint64_t)value : 0;
}

static void take(struct training_run *run, const json_t *json)
{
	const char *sha256 = json_string_value(json_object_get(json, "sha256"));

	if (sha256) {
		(void)snprintf(run->sha256, sizeof(run->sha256), "%s", sha256);
		run->end_ns = field(json, "at");
		run->done = true;
	} else if (json_object_get(json, "step")) {
		if (run->n < TRAINING_STEPS_MAX)
			run->steps[run->n++] = (struct training_step){ .at_ns = field(json, "at"),
				.ns = field(json, "ns"),
				.loss = json_number_value(json_object_get(json, "loss")) };
	} else {
		run->parameters = field(json, "parameters");
		run->ranks = field(json, "ranks");
		run->began_ns = field(json, "at");
	}
}

bool training_line(struct training_run *run, const char *line)
{
	json_t *json = json_loads(line, 0, NULL);
	bool ours = json_is_object(json) && field(json, "at");

	if (ours)
		take(run, json);
	json_decref(json);
	return ours;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void training_measure(const struct training_run *run, struct training_result *result)
{
	uint64_t sorted[TRAINING_STEPS_MAX];

	memset(result, 0, sizeof(*result));
	/* The first step has set-up in it (connections, code to load), whatever the network. */
	for (unsigned i = 1; i < run->n; i++) {
		sorted[i - 1] = run->steps[i].ns;
		if (run->steps[i].ns > result->longest_ns) {
			result->longest_ns = run->steps[i].ns;
			result->longest = i;
		}
	}
	if (run->n < 2)
		return;
	unsigned n = run->n - 1;

	qsort(sorted, n, sizeof(sorted[0]), by_size);
	result->median_ns = sorted[n / 2];
	result->p99_ns = sorted[WEFT_MIN(n - 1, n * 99 / 100)];
	result->total_ns = run->steps[n].at_ns + run->steps[n].ns - run->steps[0].at_ns;
}

const char *training_name(const struct training_run *run)
{
	if (run->net == TRAINING_TCP)
		return run->is_faulty ? "TCP, faults" : "TCP, nothing broken";
	return run->is_faulty ? "Weft, faults" : "Weft, nothing broken";
}
