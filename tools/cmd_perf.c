/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_perf - `weft perf`: bandwidth and latency between two hosts, by message size.
 *
 * One program for both ends, as perftest has it: without a HOST it serves, with one it measures.
 * The client decides everything and tells the server over mail before each size, so a server can
 * stay up for any number of clients.
 */
#include "live_args.h"
#include "perf.h"
#include "term.h"
#include "commands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_NS UINT64_C(10000000000)
#define CONNECT_NS UINT64_C(5000000000)
#define ALL_SIZES_MIN 2u
#define ALL_SIZES_MAX (8u << 20)

struct perf_args {
	struct live_args live; /* first: live_argp's input */
	const char *server;
	struct perf_test test;
	bool all_sizes, json, once, has_size;
};

static const struct argp_option options[] = {
	{ "size", 's', "BYTES", 0, "size of a write (default: 65536; latency: 8)", 0 },
	{ "all", 'a', NULL, 0, "all sizes from 2 B to 8 MiB", 0 },
	{ "iters", 'n', "N", 0, "writes per size (default: by time)", 0 },
	{ "duration", 'D', "SECONDS", 0, "time per size (default: 1)", 0 },
	{ "qp", 'q', "N", 0, "queue pairs (default: 1)", 0 },
	{ "tx-depth", 't', "N", 0, "writes outstanding per queue pair (default: 128, 64 MiB)", 0 },
	{ "bidirectional", 'b', NULL, 0, "both ends send", 0 },
	{ "latency", 'l', NULL, 0, "ping-pong instead of bandwidth", 0 },
	{ "spin", 'S', NULL, 0, "poll instead of waiting", 0 },
	{ "once", '1', NULL, 0, "server: end after one client", 0 },
	{ "json", 'j', NULL, 0, "one JSON object instead of a table", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct perf_args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->live;
		break;
	case 's':
		a->test.bytes = (uint32_t)arg_size(state, "size", arg, 0, PERF_BYTES_MAX);
		a->has_size = true;
		break;
	case 'a':
		a->all_sizes = true;
		break;
	case 'n':
		a->test.iterations = arg_size(state, "iters", arg, 1, UINT32_MAX);
		break;
	case 'D':
		a->test.duration_ns = arg_number(state, "duration", arg, 1, 86400) * 1000000000;
		break;
	case 'q':
		a->test.qps = (uint32_t)arg_number(state, "qp", arg, 1, PERF_QPS_MAX);
		break;
	case 't':
		a->test.depth = (uint32_t)arg_number(state, "tx-depth", arg, 1, 128);
		break;
	case 'b':
		a->test.bidirectional = true;
		break;
	case 'l':
		a->test.mode = PERF_LAT;
		break;
	case 'S':
		a->test.spin = true;
		break;
	case '1':
		a->once = true;
		break;
	case 'j':
		a->json = true;
		break;
	case ARGP_KEY_ARG:
		if (a->server)
			argp_usage(state);
		a->server = arg;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int fail(const char *what)
{
	fprintf(stderr, "weft perf: %s\n", what);
	return EXIT_FAILED;
}

static int fail_dead(const struct perf_end *end)
{
	fprintf(stderr, "weft perf: the connection to %s ended: %s\n", end->session.peer_host,
		end->gone   ? "its program has ended"
		: end->dead ? weft_status_name(end->why)
			    : "no answer");
	return EXIT_FAILED;
}

/* ---- what the ends tell each other ---- */

static json_t *own_app(const struct perf_end *end)
{
	json_t *app = json_pack("{s:s, s:I, s:I}", "tool", "perf", "rkey", (json_int_t)end->rkey,
		"bytes", (json_int_t)end->half_bytes);

	weft_mail_offer(&end->mail, app);
	return app;
}

static int take_app(struct perf_end *end, char *error, size_t bytes)
{
	const json_t *app = end->session.app;
	json_int_t rkey = json_integer_value(json_object_get(app, "rkey"));

	if (rkey <= 0 || rkey > UINT32_MAX ||
		json_integer_value(json_object_get(app, "bytes")) != (json_int_t)end->half_bytes) {
		snprintf(error, bytes,
			"peer's offer: app.rkey, app.bytes: not those of a weft perf");
		return -1;
	}
	end->peer_rkey = (uint32_t)rkey;
	return weft_mail_start(&end->mail, &end->session, error, bytes);
}

static json_t *test_to_json(const struct perf_test *t)
{
	return json_pack("{s:s, s:i, s:i, s:i, s:i, s:I, s:I, s:b, s:b}", "do", "test", "mode",
		(int)t->mode, "bytes", (int)t->bytes, "qps", (int)t->qps, "depth", (int)t->depth,
		"iterations", (json_int_t)t->iterations, "duration_ns", (json_int_t)t->duration_ns,
		"bidirectional", t->bidirectional, "spin", t->spin);
}

static bool test_from_json(const json_t *message, struct perf_test *t)
{
	int mode, bytes, qps, depth, bidirectional, spin;
	json_int_t iterations, duration;
	const char *what;

	if (!message ||
		json_unpack((json_t *)(uintptr_t)message,
			"{s:s, s:i, s:i, s:i, s:i, s:I, s:I, s:b, s:b}", "do", &what, "mode", &mode,
			"bytes", &bytes, "qps", &qps, "depth", &depth, "iterations", &iterations,
			"duration_ns", &duration, "bidirectional", &bidirectional, "spin", &spin))
		return false;
	*t = (struct perf_test){ .mode = mode ? PERF_LAT : PERF_BW,
		.bytes = (uint32_t)bytes,
		.qps = (uint32_t)qps,
		.depth = (uint32_t)depth,
		.iterations = (uint64_t)iterations,
		.duration_ns = (uint64_t)duration,
		.bidirectional = bidirectional,
		.spin = spin };
	return !strcmp(what, "test") && bytes >= 0 && (uint32_t)bytes <= PERF_BYTES_MAX &&
	       qps >= 1 && (uint32_t)qps <= PERF_QPS_MAX && depth >= 1 && depth <= 128 &&
	       iterations >= 0 && duration >= 0 && (t->mode == PERF_BW || bytes > 0);
}

static json_t *result_to_json(const struct perf_result *r)
{
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "do", "result", "iterations",
		(json_int_t)r->iterations, "ns", (json_int_t)r->ns, "cpu_ns", (json_int_t)r->cpu_ns,
		"bytes", (json_int_t)r->bytes, "pkts", (json_int_t)r->pkts, "rtx",
		(json_int_t)r->rtx, "timeouts", (json_int_t)r->timeouts);
}

/* ---- server ---- */

static int serve_session(struct perf_end *end)
{
	json_t *message;

	while ((message = perf_hear(end, UINT64_MAX / 2))) {
		const char *what = json_string_value(json_object_get(message, "do"));
		bool bye = what && !strcmp(what, "bye");
		struct perf_test test;
		struct perf_result result;
		bool is_test = test_from_json(message, &test) && test.qps < end->session.n_qps;

		json_decref(message);
		if (bye)
			return EXIT_OK;
		if (!is_test)
			return fail("the client asks for something strange");
		json_t *ready = json_pack("{s:s}", "do", "ready");
		int rc = perf_say(end, ready) || perf_serve(end, &test, &result);

		json_decref(ready);
		if (rc)
			break;
		json_decref(end->message); /* "stop" */
		end->message = NULL;
		json_t *report = result_to_json(&result);

		rc = perf_say(end, report);
		json_decref(report);
		if (rc)
			break;
	}
	return fail_dead(end);
}

static int serve(const struct perf_args *a, struct weft_live *live)
{
	char error[256] = "";
	int rc = EXIT_OK, got;

	if (weft_live_listen(live, a->live.tcp_port, error, sizeof(error)))
		return fail(error);
	fprintf(stderr, "%s waits for clients\n", weft_live_host(live));
	do {
		struct weft_meeting *meeting;
		struct perf_end end;

		got = weft_live_accept(
			live, UINT64_C(3600000000000), &meeting, error, sizeof(error));
		if (got < 0)
			(void)fail(error); /* of somebody else than the one who is waited for */
		if (got <= 0)
			continue;
		if (perf_open(&end, live, PERF_BYTES_MAX, error, sizeof(error))) {
			weft_live_refuse(meeting, error);
			return fail(error);
		}
		json_t *app = own_app(&end);

		if (weft_live_answer(meeting, app, &end.session, error, sizeof(error)) ||
			take_app(&end, error, sizeof(error)))
			rc = fail(error);
		else
			rc = serve_session(&end);
		json_decref(app);
		perf_close(&end);
	} while (!a->once || got <= 0);
	return rc;
}

/* ---- client ---- */

static int measure(
	struct perf_end *end, const struct perf_test *test, struct perf_result *own, json_t **peer)
{
	json_t *order = test_to_json(test), *ready = NULL, *stop = json_pack("{s:s}", "do", "stop");
	int rc = perf_say(end, order);

	if (!rc)
		ready = perf_hear(end, ANSWER_NS);
	if (!ready)
		rc = -1;
	if (!rc)
		rc = perf_run(end, test, own);
	if (!rc)
		rc = perf_say(end, stop);
	*peer = rc ? NULL : perf_hear(end, ANSWER_NS);
	json_decref(order);
	json_decref(ready);
	json_decref(stop);
	return *peer ? 0 : -1;
}

static double number(const json_t *from, const char *key)
{
	return json_number_value(json_object_get(from, key));
}

/* Both directions count, as in perftest's bidirectional mode. */
static json_t *describe(const struct perf_test *test, const struct perf_result *own, json_t *peer)
{
	double bytes = (double)own->bytes + number(peer, "bytes"), seconds = (double)own->ns / 1e9;
	double gib = bytes / (1u << 30), cpu = ((double)own->cpu_ns + number(peer, "cpu_ns")) / 1e9;
	const struct weft_hist *h = &own->half_rtt;
	json_t *row = json_pack("{s:i, s:I, s:f}", "bytes", (int)test->bytes, "iterations",
		(json_int_t)own->iterations, "seconds", seconds);

	if (test->mode == PERF_LAT) {
		json_object_update_new(
			row, json_pack("{s:f, s:f, s:f, s:f, s:f}", "min_us", (double)h->min / 1e3,
				     "p50_us", (double)weft_hist_quantile(h, 1, 2) / 1e3, "p99_us",
				     (double)weft_hist_quantile(h, 99, 100) / 1e3, "p999_us",
				     (double)weft_hist_quantile(h, 999, 1000) / 1e3, "max_us",
				     (double)h->max / 1e3));
	} else {
		json_object_update_new(row,
			json_pack("{s:f, s:f, s:f, s:f, s:f}", "gbps", bytes * 8 / seconds / 1e9,
				"mpps", ((double)own->pkts + number(peer, "pkts")) / seconds / 1e6,
				"cpu_s_per_gib", gib ? cpu / gib : 0, "cpu_s_per_gib_client",
				gib ? (double)own->cpu_ns / 1e9 / gib : 0, "cpu_s_per_gib_server",
				gib ? number(peer, "cpu_ns") / 1e9 / gib : 0));
	}
	json_object_update_new(
		row, json_pack("{s:I, s:I}", "retransmitted",
			     (json_int_t)((double)own->rtx + number(peer, "rtx")), "timeouts",
			     (json_int_t)((double)own->timeouts + number(peer, "timeouts"))));
	return row;
}

static void print_table(const json_t *rows, enum perf_mode mode)
{
	static const char *const bw[] = { "gbps", "mpps", "cpu_s_per_gib", "retransmitted" };
	static const char *const bw_heads[] = { "Gb/s", "Mpkt/s", "CPU s/GiB", "resent" };
	static const char *const lat[] = { "min_us", "p50_us", "p99_us", "p999_us", "max_us" };
	static const char *const lat_heads[] = { "min us", "p50 us", "p99 us", "p99.9 us",
		"max us" };
	size_t n = mode == PERF_LAT ? WEFT_COUNT(lat) : WEFT_COUNT(bw);
	struct term term;
	struct table table;
	const json_t *row;
	size_t i;

	term_open(&term, stdout);
	table_begin(&table, mode == PERF_LAT ? "rrrrrrr" : "rrrrrr");
	table_add(&table, "bytes");
	table_add(&table, "writes");
	for (size_t c = 0; c < n; c++)
		table_add(&table, "%s", mode == PERF_LAT ? lat_heads[c] : bw_heads[c]);
	json_array_foreach(rows, i, row)
	{
		table_add(&table, "%.0f", number(row, "bytes"));
		table_add(&table, "%.0f", number(row, "iterations"));
		for (size_t c = 0; c < n; c++) {
			const json_t *value =
				json_object_get(row, mode == PERF_LAT ? lat[c] : bw[c]);

			table_add(&table, json_is_integer(value) ? "%.0f" : "%.3f",
				json_number_value(value));
		}
	}
	table_print(&table, &term);
}

static int run_sizes(const struct perf_args *a, struct perf_end *end, json_t *rows)
{
	static struct perf_result own;
	struct perf_test test = a->test;
	uint32_t last = a->all_sizes ? ALL_SIZES_MAX : test.bytes;

	for (test.bytes = a->all_sizes ? ALL_SIZES_MIN : test.bytes;; test.bytes *= 2) {
		json_t *peer;
		uint32_t fit = PERF_BYTES_MAX / WEFT_MAX(test.bytes * test.qps, 1u);

		test.depth = WEFT_MAX(WEFT_MIN(a->test.depth, fit), 1u);
		if (measure(end, &test, &own, &peer))
			return -1;
		json_array_append_new(rows, describe(&test, &own, peer));
		json_decref(peer);
		if (test.bytes >= last)
			return 0;
	}
}

static int client(const struct perf_args *a, struct weft_live *live)
{
	struct perf_end end;
	char error[256] = "";
	json_t *rows = json_array();
	int rc;

	if (perf_open(&end, live, PERF_BYTES_MAX, error, sizeof(error)))
		return fail(error);
	json_t *app = own_app(&end);

	if (weft_live_connect(live, a->server, a->live.tcp_port, 1 + a->test.qps, app, CONNECT_NS,
		    &end.session, error, sizeof(error)) ||
		take_app(&end, error, sizeof(error))) {
		rc = fail(error);
	} else {
		json_t *bye = json_pack("{s:s}", "do", "bye");

		live_say_narrow("perf", &end.session);
		rc = run_sizes(a, &end, rows) ? fail_dead(&end) : EXIT_OK;
		if (!rc)
			(void)perf_say(&end, bye);
		json_decref(bye);
	}
	if (!rc && a->json) {
		json_t *root = json_pack("{s:s, s:s, s:i, s:b, s:O}", "tool", "weft perf", "mode",
			a->test.mode == PERF_LAT ? "latency" : "bandwidth", "qps", (int)a->test.qps,
			"bidirectional", a->test.bidirectional, "sizes", rows);

		json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
		putchar('\n');
		json_decref(root);
	} else if (!rc) {
		print_table(rows, a->test.mode);
	}
	json_decref(rows);
	json_decref(app);
	perf_close(&end);
	return rc;
}

int cmd_perf(int argc, char **argv)
{
	static const struct argp_child children[] = { { &live_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[HOST]",
		.doc = "Measures writes from this host to HOST; without HOST, serves those who do.",
		.children = children,
	};
	struct perf_args a = { .test = { .qps = 1, .depth = 128, .duration_ns = 1000000000 } };
	struct weft_live *live;
	char error[256] = "";
	int rc;

	weft_live_defaults(&a.live.config);
	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return EXIT_USAGE;
	if (!a.has_size)
		a.test.bytes = a.test.mode == PERF_LAT ? 8 : 65536;
	if (!a.test.spin)
		live_hurry(); /* the kernel stops real-time threads that never sleep */
	if (live_find_planes_for(&a.live, "perf", a.server, error, sizeof(error)) ||
		weft_live_open(&live, &a.live.config, error, sizeof(error)))
		return fail(error);
	rc = a.server ? client(&a, live) : serve(&a, live);
	weft_live_close(live);
	return rc;
}
