/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_run - the measuring loops, with the habits of perftest.
 *
 * Bandwidth: a fixed number of writes outstanding per queue pair, time from the first post to the
 * last completion.  Latency: a ping-pong of plain writes; each end watches the last byte of the
 * place that the other writes to, as an RDMA program would, and half a round trip is reported.
 * CPU time is the process's, kernel's share included, because that is what a byte costs.
 */
#include "perf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURN_NS 1000000 /* the longest wait of one turn */
#define SILENCE_NS UINT64_C(30000000000)

int perf_open(struct perf_end *end, struct weft_live *live, size_t half_bytes, char *error,
	size_t error_bytes)
{
	*end = (struct perf_end){ .live = live,
		.half_bytes = half_bytes,
		.silence_ns = SILENCE_NS,
		.heard_ns = weft_clock_now(NULL) };
	end->memory = aligned_alloc(4096, 2 * half_bytes);
	if (!end->memory || weft_mail_open(&end->mail, live) ||
		weft_region_add(weft_live_endpoint(live), 0, end->memory + half_bytes, half_bytes,
			0, WEFT_ACCESS_REMOTE_WRITE, weft_live_random(live), &end->rkey)) {
		snprintf(error, error_bytes, "no memory for %zu bytes of buffers", 2 * half_bytes);
		perf_close(end);
		return -1;
	}
	for (size_t i = 0; i < half_bytes; i++)
		end->memory[i] = (uint8_t)(i >> 12 ^ i);
	memset(end->memory + half_bytes, 0, half_bytes);
	return 0;
}

void perf_close(struct perf_end *end)
{
	weft_session_close(end->live, &end->session);
	weft_mail_close(&end->mail);
	if (end->rkey)
		(void)weft_region_drop(weft_live_endpoint(end->live), end->rkey);
	free(end->memory);
	json_decref(end->message);
	end->memory = NULL;
	end->message = NULL;
}

/* Who only receives has no timer that would tell that the peer was killed. */
static void listen_for_life(struct perf_end *end)
{
	uint64_t pkts = weft_live_port(end->live)->stats.rx_pkts;
	uint64_t now = weft_pump_now(weft_live_pump(end->live));

	if (pkts != end->heard_pkts) {
		end->heard_pkts = pkts;
		end->heard_ns = now;
	} else if (!end->dead && now > end->heard_ns + end->silence_ns) {
		end->dead = true;
		end->why = WEFT_RETRY_EXCEEDED;
	}
}

void perf_turn(struct perf_end *end, uint64_t wait_ns)
{
	struct weft_done done[32];
	size_t n;

	weft_pump_step(weft_live_pump(end->live), wait_ns);
	listen_for_life(end);
	n = weft_poll(weft_live_endpoint(end->live), 0, done, WEFT_COUNT(done));
	for (size_t i = 0; i < n; i++) {
		json_t *message;

		if (done[i].status != WEFT_OK && !end->dead) {
			end->dead = true;
			end->why = done[i].status;
		}
		if (weft_mail_take(&end->mail, &done[i], &message)) {
			if (message) {
				json_decref(end->message);
				end->message = message;
			}
			continue;
		}
		end->outstanding--;
		end->writes_done++;
	}
	/* Not before its last words have been taken. */
	if (!n && !end->message && !end->dead && weft_session_gone(end->live, &end->session))
		end->dead = end->gone = true;
}

json_t *perf_hear(struct perf_end *end, uint64_t limit_ns)
{
	uint64_t deadline = weft_clock_now(NULL) + limit_ns;

	while (!end->message && !end->dead && weft_clock_now(NULL) < deadline)
		perf_turn(end, TURN_NS);
	json_t *message = end->message;

	end->message = NULL;
	return message;
}

int perf_say(struct perf_end *end, const json_t *message)
{
	if (weft_mail_send(&end->mail, message))
		return -1;
	while (!weft_mail_idle(&end->mail) && !end->dead)
		perf_turn(end, TURN_NS);
	return end->dead ? -1 : 0;
}

/* Queue pair 0 is the mail's; data has 1 .. qps. */
static bool post(struct perf_end *end, uint32_t qp, uint32_t bytes, uint64_t n)
{
	size_t slots = bytes ? end->half_bytes / PERF_QPS_MAX / bytes : 1;
	size_t at = (qp - 1) * (end->half_bytes / PERF_QPS_MAX);

	if (slots > 1)
		at += n % slots * bytes;
	struct weft_work work = { .id = n,
		.remote_va = at,
		.data = end->memory + at,
		.len_bytes = bytes,
		.rkey = end->peer_rkey };

	if (at + bytes > end->half_bytes)
		work.remote_va = 0, work.data = end->memory;
	if (weft_post_write(end->session.qp[qp], &work))
		return false;
	end->outstanding++;
	return true;
}

struct meter {
	uint64_t ns, cpu_ns;
	struct weft_counters counters;
};

static void meter_start(struct meter *m, struct perf_end *end)
{
	m->counters = *weft_stats(weft_live_endpoint(end->live));
	m->cpu_ns = weft_clock_cpu_ns();
	m->ns = weft_clock_now(NULL);
}

static void meter_stop(const struct meter *m, struct perf_end *end, struct perf_result *result)
{
	const struct weft_counters *c = weft_stats(weft_live_endpoint(end->live));

	result->ns = weft_clock_now(NULL) - m->ns;
	result->cpu_ns = weft_clock_cpu_ns() - m->cpu_ns;
	result->pkts = c->tx_data_pkts - m->counters.tx_data_pkts;
	result->rtx = c->tx_rtx_pkts - m->counters.tx_rtx_pkts;
	result->timeouts = c->timeouts - m->counters.timeouts;
}

/* Keeps depth writes outstanding per queue pair until iterations or time are used up, or the peer
 * says something (only where `until_told`). */
static void stream(struct perf_end *end, const struct perf_test *test, bool until_told,
	struct perf_result *result)
{
	uint64_t limit = test->iterations && !until_told ? test->iterations : UINT64_MAX;
	uint64_t deadline = until_told ? UINT64_MAX : weft_clock_now(NULL) + test->duration_ns;
	uint64_t posted = 0, window = (uint64_t)test->qps * test->depth;
	bool timed = !until_told && !test->iterations;

	end->writes_done = 0;
	while (!end->dead) {
		bool over = posted >= limit || (timed && weft_clock_now(NULL) >= deadline) ||
			    (until_told && end->message);

		while (!over && posted < limit && end->outstanding < window &&
			post(end, 1 + (uint32_t)(posted % test->qps), test->bytes, posted))
			posted++;
		if (over && !end->outstanding)
			break;
		perf_turn(end, test->spin ? 0 : TURN_NS);
	}
	result->iterations = end->writes_done;
	result->bytes = end->writes_done * test->bytes;
}

/* The byte that tells that message n has come; 0 is what the memory starts with. */
static uint8_t tag_of(uint64_t n)
{
	return (uint8_t)(1 + n % 255);
}

static void ping_pong(
	struct perf_end *end, const struct perf_test *test, bool first, struct perf_result *result)
{
	volatile uint8_t *arrived = end->memory + end->half_bytes + test->bytes - 1;
	uint8_t *leaving = end->memory + test->bytes - 1;
	uint64_t deadline = weft_clock_now(NULL) + test->duration_ns, n = 0;

	weft_hist_init(&result->half_rtt);
	for (;; n++) {
		uint64_t from = weft_clock_now(NULL);
		bool over = test->iterations ? n >= test->iterations : from >= deadline;

		if (first) {
			if (over || end->dead)
				break;
			/* The write before is acknowledged: its answer has come. */
			*leaving = tag_of(n);
			while (!post(end, 1, test->bytes, 0) && !end->dead)
				perf_turn(end, 0);
		}
		while (*arrived != tag_of(n) && !end->dead && (first || !end->message))
			perf_turn(end, test->spin ? 0 : TURN_NS);
		if (end->dead || (!first && *arrived != tag_of(n)))
			break;
		if (first) {
			weft_hist_add(&result->half_rtt, (weft_clock_now(NULL) - from) / 2);
			continue;
		}
		*leaving = tag_of(n);
		while (!post(end, 1, test->bytes, 0) && !end->dead)
			perf_turn(end, 0);
	}
	while (end->outstanding && !end->dead)
		perf_turn(end, TURN_NS);
	*arrived = 0;
	result->iterations = n;
	result->bytes = n * test->bytes;
}

int perf_run(struct perf_end *end, const struct perf_test *test, struct perf_result *result)
{
	struct meter meter;

	*result = (struct perf_result){ 0 };
	meter_start(&meter, end);
	if (test->mode == PERF_LAT)
		ping_pong(end, test, true, result);
	else
		stream(end, test, false, result);
	meter_stop(&meter, end, result);
	return end->dead ? -1 : 0;
}

int perf_serve(struct perf_end *end, const struct perf_test *test, struct perf_result *result)
{
	struct meter meter;

	*result = (struct perf_result){ 0 };
	meter_start(&meter, end);
	if (test->mode == PERF_LAT)
		ping_pong(end, test, false, result);
	else if (test->bidirectional)
		stream(end, test, true, result);
	while (!end->message && !end->dead)
		perf_turn(end, test->spin ? 0 : TURN_NS);
	meter_stop(&meter, end, result);
	return end->dead ? -1 : 0;
}
