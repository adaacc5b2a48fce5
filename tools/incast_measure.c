/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * incast_measure - shares, quantiles and the claims, out of samples and counters.
 *
 * The claims are the issue's: with trimming no timeout fires, retransmissions equal NACKs, the
 * victim keeps its share within 10 %, shares are within 10 % of each other.  "Within 10 % of each
 * other" is taken as the largest being at most 1.1 times the smallest.  What is claimed of counts
 * holds for the whole run, bursts included; what is claimed of shares, for the time that the plan
 * measures.
 */
#include "incast.h"

#include <stdio.h>
#include <stdlib.h>
#include <weft/base.h>

#define TOLERANCE 0.1
#define PLANES 2

struct incast_sample *incast_add(struct incast_run *run, uint64_t at_ns)
{
	if (run->n == run->room) {
		size_t room = run->room ? 2 * run->room : 1024;
		struct incast_sample *samples = realloc(run->samples, room * sizeof(*samples));
		uint64_t *sorted = samples ? realloc(run->sorted, room * sizeof(*sorted)) : NULL;

		run->samples = samples ? samples : run->samples;
		run->sorted = sorted ? sorted : run->sorted;
		if (!sorted) {
			(void)snprintf(run->error, sizeof(run->error), "out of memory");
			return NULL;
		}
		run->room = room;
	}
	run->samples[run->n] = (struct incast_sample){ .at_ns = at_ns };
	return &run->samples[run->n++];
}

void incast_end(struct incast_run *run)
{
	free(run->samples);
	free(run->sorted);
	run->samples = NULL;
	run->n = run->room = 0;
}

double incast_line_bytes(const struct incast_plan *plan)
{
	return (double)plan->rate_bps * PLANES / 8e9 * INCAST_MTU_BYTES / plan->line_bytes;
}

/* Bytes over the line, eight cables there and back, a packet stored and forwarded four times. */
uint64_t incast_ideal_ns(const struct incast_plan *plan)
{
	double packet_ns = plan->line_bytes * 8e9 / (double)plan->rate_bps;
	double bytes = (double)plan->burst_bytes * INCAST_SENDERS;

	return (uint64_t)(bytes / incast_line_bytes(plan) + 3 * packet_ns) + 8 * plan->delay_ns;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* By nearest rank; sorts. */
static uint64_t quantile(uint64_t values[], size_t n, double q)
{
	if (!n)
		return 0;
	qsort(values, n, sizeof(*values), compare);
	return values[WEFT_MIN((size_t)(q * (double)n), n - 1)];
}

/* The last sample taken by then. */
static const struct incast_sample *sample_at(const struct incast_run *run, uint64_t at_ns)
{
	size_t i = 0;

	while (i + 1 < run->n && run->samples[i + 1].at_ns <= at_ns)
		i++;
	return &run->samples[i];
}

static void measure_shares(
	const struct incast_plan *plan, const struct incast_run *run, struct incast_result *result)
{
	const struct incast_sample *from = sample_at(run, incast_steady_ns(plan));
	const struct incast_sample *to = sample_at(run, incast_stop_ns(plan));
	double line = incast_line_bytes(plan) * (double)(to->at_ns - from->at_ns);
	uint64_t *queue = run->sorted;
	size_t n = 0;

	result->least = line > 0 ? 1e9 : 0;
	for (uint32_t f = 0; f < INCAST_FLOWS && line > 0; f++) {
		double bytes = (double)(to->bytes[f] - from->bytes[f]);

		result->share[f] =
			f == INCAST_VICTIM ? bytes / line : bytes * INCAST_SENDERS / line;
		if (f == INCAST_VICTIM)
			continue;
		result->least = WEFT_MIN(result->least, result->share[f]);
		result->most = WEFT_MAX(result->most, result->share[f]);
	}
	for (const struct incast_sample *s = from; s <= to; s++)
		queue[n++] = s->queue_bytes;
	result->queue_p50_bytes = (uint32_t)quantile(queue, n, 0.5);
	for (const struct incast_sample *s = run->samples; s <= to; s++)
		result->queue_max_bytes = WEFT_MAX(result->queue_max_bytes, s->queue_bytes);
	double pkts = line * (1 + 1.0) / INCAST_MTU_BYTES;
	uint64_t lost = to->trimmed + to->dropped - from->trimmed - from->dropped;

	result->again_share = pkts > 0 ? (double)lost / (pkts + (double)lost) : 0;
}

static void measure_bursts(
	const struct incast_plan *plan, const struct incast_run *run, struct incast_result *result)
{
	uint64_t messages[INCAST_BURSTS_MAX * INCAST_SENDERS], bursts[INCAST_BURSTS_MAX];
	size_t n = 0;

	for (uint32_t b = 0; b < plan->bursts; b++) {
		bursts[b] = 0;
		for (uint32_t f = 0; f < INCAST_SENDERS; f++) {
			uint64_t ns = run->burst_ns[b][f];

			result->unfinished += !ns;
			/* One that never ended took at least until now. */
			ns = ns ? ns : incast_total_ns(plan) - incast_burst_ns(plan, b);
			messages[n++] = ns;
			bursts[b] = WEFT_MAX(bursts[b], ns);
		}
	}
	result->message_p50_ns = quantile(messages, n, 0.5);
	result->message_p99_ns = quantile(messages, n, 0.99);
	result->burst_p50_ns = quantile(bursts, plan->bursts, 0.5);
	result->burst_max_ns = quantile(bursts, plan->bursts, 1);
}

void incast_measure(
	const struct incast_plan *plan, const struct incast_run *run, struct incast_result *result)
{
	*result = (struct incast_result){ 0 };
	if (run->n < 2)
		return;
	measure_shares(plan, run, result);
	measure_bursts(plan, run, result);
}

void incast_claims(const struct incast_run *run, const struct incast_result *result,
	struct incast_claim claims[INCAST_CLAIMS])
{
	const struct incast_counts *c = &run->counts;
	double victim = result->share[INCAST_VICTIM];

	/* Of a run that did not come to its end, or that cut nothing, nothing holds. */
	claims[0] = (struct incast_claim){ "no timeout fires",
		run->is_done && c->nacks && !c->timeouts, "" };
	(void)snprintf(
		claims[0].found, sizeof(claims[0].found), "%llu", (unsigned long long)c->timeouts);
	claims[1] =
		(struct incast_claim){ "every NACK is one packet sent again, and nothing else is",
			run->is_done && c->again == c->nacks && c->nacks > 0, "" };
	(void)snprintf(claims[1].found, sizeof(claims[1].found), "%llu NACKs, %llu sent again",
		(unsigned long long)c->nacks, (unsigned long long)c->again);
	claims[2] = (struct incast_claim){ "the victim keeps its share within 10 %",
		run->is_done && victim >= 1 - TOLERANCE && victim <= 1 + TOLERANCE, "" };
	(void)snprintf(claims[2].found, sizeof(claims[2].found), "%.1f %%", 100 * victim);
	claims[3] = (struct incast_claim){ "shares are within 10 % of each other",
		run->is_done && result->least > 0 &&
			result->most <= (1 + TOLERANCE) * result->least,
		"" };
	(void)snprintf(claims[3].found, sizeof(claims[3].found), "%.1f to %.1f %% of the fair one",
		100 * result->least, 100 * result->most);
}
