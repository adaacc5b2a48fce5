/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cp_send - the sending end of `weft cp`.
 *
 * Each chunk is one RDMA write with an immediate into the mapped destination file; immediates
 * complete in posting order at the receiver, so it always knows how much is there from the start
 * on and can hash behind.  The digest goes last, by mail, and only the receiver's word that its
 * own is the same ends the copy.
 */
#include "cp.h"
#include "commands.h"
#include "live_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CONNECT_NS UINT64_C(5000000000)
#define TURN_NS 1000000
#define DEPTH 16u /* chunks under way; fewer than the receiver has receives for */
#define DATA_QP 1u

struct sender {
	struct weft_live *live;
	const struct cp_options *options;
	struct weft_session session;
	struct weft_mail mail;
	struct cp_file file;
	struct cp_work work;
	struct cp_series series;
	struct cp_events events;
	struct progress progress;
	struct term term;
	uint64_t posted, done; /* bytes */
	uint64_t heard_ns;     /* the receiver's last word */
	uint32_t rkey;
	bool may_write; /* the receiver's file has its space, and rkey leads there */
	bool digested;  /* all of the file is there, and its digest told */
	bool gone;      /* the receiver's program has ended */
	int failed;     /* enum weft_status of the first thing that did */
	json_t *verdict;
	const char *host, *path;
};

static int complain(const struct sender *s, const char *what)
{
	fprintf(stderr, "weft cp: %s: %s\n", s->path, what);
	return EXIT_FAILED;
}

static int complain_dead(const struct sender *s)
{
	char text[CP_TEXT_BYTES];

	snprintf(text, sizeof(text), "the connection to %s ended after %llu of %llu bytes: %s",
		s->host, (unsigned long long)s->done, (unsigned long long)s->file.bytes,
		s->failed ? weft_status_name(s->failed)
		: s->gone ? "its program has ended"
			  : "no answer");
	return complain(s, text);
}

static uint64_t chunk_at(const struct sender *s, uint64_t at)
{
	return WEFT_MIN((uint64_t)s->options->chunk_bytes, s->file.bytes - at);
}

static void post_chunks(struct sender *s)
{
	uint64_t hashed = atomic_load_explicit(&s->work.hashed, memory_order_acquire);

	while (s->posted < s->file.bytes &&
		s->posted - s->done < (uint64_t)DEPTH * s->options->chunk_bytes) {
		uint64_t bytes = chunk_at(s, s->posted);
		struct weft_work work = { .id = bytes,
			.remote_va = s->posted,
			.data = s->file.data + s->posted,
			.len_bytes = (uint32_t)bytes,
			.rkey = s->rkey,
			.imm = (uint32_t)(s->posted / s->options->chunk_bytes),
			.has_imm = true };

		if (s->posted + bytes > hashed || weft_post_write(s->session.qp[DATA_QP], &work))
			return;
		s->posted += bytes;
	}
}

static void take_mail(struct sender *s, json_t *message)
{
	const json_t *rkey = json_object_get(message, "rkey");
	json_int_t value = json_integer_value(rkey);

	s->heard_ns = weft_pump_now(weft_live_pump(s->live));
	if (json_is_integer(rkey) && !s->may_write && value >= !!s->file.bytes &&
		value <= UINT32_MAX) {
		s->may_write = true;
		s->rkey = (uint32_t)value;
	} else if (!json_object_get(message, "wait") && !s->verdict) {
		s->verdict = json_incref(message);
	}
	json_decref(message);
}

static bool is_silent(const struct sender *s)
{
	return weft_clock_now(NULL) > s->heard_ns + s->options->silence_ns;
}

static void turn(struct sender *s)
{
	struct weft_pump *pump = weft_live_pump(s->live);
	struct weft_done done[32];
	size_t n;

	weft_pump_step(pump, TURN_NS);
	n = weft_poll(weft_live_endpoint(s->live), 0, done, WEFT_COUNT(done));
	for (size_t i = 0; i < n; i++) {
		json_t *message;

		if (done[i].status != WEFT_OK && !s->failed)
			s->failed = done[i].status;
		if (weft_mail_take(&s->mail, &done[i], &message)) {
			if (message)
				take_mail(s, message);
		} else if (done[i].status == WEFT_OK) {
			s->done += done[i].id;
		}
	}
	if (!n && !s->verdict && !s->failed && weft_session_gone(s->live, &s->session))
		s->gone = true;
	cp_series_add(&s->series, s->done, weft_pump_now(pump), weft_pump_stats(pump)->late_ns);
	if (s->options->json)
		cp_events_take(&s->events, s->live);
	if (!s->options->quiet)
		progress_update(&s->progress, s->done, weft_pump_now(pump));
}

static int transfer(struct sender *s)
{
	s->heard_ns = weft_clock_now(NULL);
	while (!s->may_write && !s->failed && !s->gone && !s->verdict && !is_silent(s))
		turn(s);
	if (!s->may_write && !s->verdict)
		return complain_dead(s);
	while (s->done < s->file.bytes && !s->failed && !s->gone && !s->verdict) {
		post_chunks(s);
		turn(s);
	}
	if (s->failed || s->gone)
		return complain_dead(s);
	if (s->verdict)
		return EXIT_OK; /* the receiver has spoken before its time: see judge() */
	cp_work_end(&s->work, false);
	char hex[2 * CP_HASH_BYTES + 1];

	cp_hex(s->work.digest, hex);
	s->digested = true;
	json_t *last = json_pack("{s:s}", "sha256", hex);

	if (weft_mail_send(&s->mail, last))
		s->failed = WEFT_FLUSHED;
	json_decref(last);
	s->heard_ns = weft_clock_now(NULL);
	while (!s->verdict && !s->failed && !s->gone && !is_silent(s))
		turn(s);
	return s->verdict ? EXIT_OK : complain_dead(s);
}

/* What the receiver said about what it got. */
static int judge(struct sender *s)
{
	const char *error = json_string_value(json_object_get(s->verdict, "error"));
	const char *theirs = json_string_value(json_object_get(s->verdict, "sha256"));
	char hex[2 * CP_HASH_BYTES + 1], text[CP_TEXT_BYTES];

	if (error) {
		snprintf(text, sizeof(text), "the receiver says: %s", error);
		return complain(s, weft_text_clean(text));
	}
	if (!s->digested)
		return complain(s, "the receiver had an answer before it had the file");
	cp_hex(s->work.digest, hex);
	if (!theirs || strcmp(theirs, hex))
		return complain(s, "the receiver's bytes differ: the digests do not agree");
	return EXIT_OK;
}

static void report(struct sender *s)
{
	json_t *root = json_pack("{s:s, s:s, s:I, s:o, s:o, s:O?}", "role", "sender", "file",
		s->path, "bytes", (json_int_t)s->file.bytes, "acknowledged",
		cp_series_json(&s->series), "endpoint",
		cp_state_json(s->live, s->session.pathset, &s->events), "receiver",
		json_object_get(s->verdict, "report"));

	json_dumpf(root, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(root);
}

static void summary(const struct sender *s)
{
	const struct weft_counters *c = weft_stats(weft_live_endpoint(s->live));
	double stall_ms = json_number_value(json_object_get(
				  json_object_get(s->verdict, "report"), "stall_ns")) /
			  1e6;
	char hex[2 * CP_HASH_BYTES + 1];

	cp_hex(s->work.digest, hex);
	fprintf(stderr,
		"sha256 %s at both ends; %llu packets sent again, %llu timeouts, %llu paths "
		"retired, "
		"%llu revived; longest stall %.1f ms\n",
		hex, (unsigned long long)c->tx_rtx_pkts, (unsigned long long)c->timeouts,
		(unsigned long long)c->paths_retired, (unsigned long long)c->paths_revived,
		stall_ms);
}

static int connect_to(struct sender *s, uint16_t tcp_port, const char *name)
{
	struct stat st;
	char error[CP_TEXT_BYTES] = "";

	if (fstat(s->file.fd, &st))
		return complain(s, "cannot be looked at");
	json_t *app = json_pack("{s:s, s:s, s:I, s:i, s:i}", "tool", "cp", "name", name, "bytes",
		(json_int_t)s->file.bytes, "mode", (int)(st.st_mode & 0777), "chunk",
		(int)s->options->chunk_bytes);

	if (!app)
		return complain(s, "the name at the other end is not valid UTF-8");
	weft_mail_offer(&s->mail, app);
	int rc = weft_live_connect(s->live, s->host, tcp_port, DATA_QP + 1, app, CONNECT_NS,
		&s->session, error, sizeof(error));

	json_decref(app);
	if (!rc)
		live_say_narrow("cp", &s->session);
	if (!rc)
		rc = weft_mail_start(&s->mail, &s->session, error, sizeof(error));
	return rc ? complain(s, error) : EXIT_OK;
}

static int run(struct sender *s)
{
	if (cp_work_start(&s->work, &s->file, false))
		return complain(s, "no second thread");
	if (!s->options->quiet)
		progress_begin(
			&s->progress, &s->term, s->path, s->file.bytes, weft_clock_now(NULL));
	int rc = transfer(s);

	if (!s->options->quiet)
		progress_end(&s->progress, s->done, weft_clock_now(NULL));
	cp_work_end(&s->work, true);
	if (!rc)
		rc = judge(s);
	if (!rc && !s->options->quiet)
		summary(s);
	if (s->options->json)
		report(s);
	/* The receiver's last word is acknowledged before we go. */
	for (unsigned i = 0; i < 20; i++)
		turn(s);
	return rc;
}

int cp_send(struct weft_live *live, const struct cp_options *options, uint16_t tcp_port,
	const char *path, const char *host, const char *name)
{
	struct sender *s = calloc(1, sizeof(*s));
	char error[CP_TEXT_BYTES];
	int rc = EXIT_FAILED;

	if (!s) {
		fprintf(stderr, "weft cp: %s: out of memory\n", path);
		return EXIT_FAILED;
	}
	*s = (struct sender){ .live = live, .options = options, .host = host, .path = path };
	s->file.fd = s->file.dir = -1;
	term_open(&s->term, stderr);
	cp_series_begin(&s->series, options->bin_ns);
	if (cp_file_open(&s->file, path, error, sizeof(error)))
		fprintf(stderr, "weft cp: %s\n", error);
	else if (weft_mail_open(&s->mail, live))
		rc = complain(s, "no room for mail");
	else if (!connect_to(s, tcp_port, name))
		rc = run(s);
	weft_session_close(live, &s->session);
	weft_mail_close(&s->mail);
	cp_file_close(&s->file);
	cp_series_end(&s->series);
	json_decref(s->events.list);
	json_decref(s->verdict);
	free(s);
	return rc;
}
