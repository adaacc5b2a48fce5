/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cp_recv - the receiving end of `weft cp`: one sender after the other.
 *
 * The sender's word decides nothing here but the name beneath the served folder and the number of
 * bytes.  A file appears under its name only when every chunk has been announced and the digests
 * agree; whatever ends a transfer before that leaves no trace.  A sender that has ended is noticed
 * at once; one that has not placed a byte for the time of --silence is given up: a receiver has no
 * retransmission timer that would tell.
 *
 * What has been hashed cannot be changed any more: the region that the sender may write to begins
 * behind the chunks that are complete, and a write before it ends the queue pair.  So the digest is
 * that of the file, whatever the sender does.
 */
#include "cp.h"
#include "commands.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TURN_NS 1000000
#define RECEIVES 64u
#define DATA_QP 1u
#define CLIENT_NS UINT64_C(3600000000000)
#define WAIT_EVERY_NS UINT64_C(1000000000) /* far below any --silence */

struct receiver {
	struct weft_live *live;
	const struct cp_options *options;
	struct weft_session session;
	struct weft_mail mail;
	struct cp_file file;
	struct cp_work work;
	struct cp_series series;
	struct cp_events events;
	char path[1024], error[CP_TEXT_BYTES], theirs[2 * CP_HASH_BYTES + 1];
	uint64_t placed_before, cpu_ns, chunks, n_chunks, deadline_ns, told_ns;
	uint32_t rkey, chunk_bytes;
	int failed;
	bool met;  /* the sender was let in */
	bool lost; /* it cannot be told anything */
};

static int fail(struct receiver *r, const char *what)
{
	if (!r->error[0])
		snprintf(r->error, sizeof(r->error), "%s", what);
	return -1;
}

/* A queue pair has ended, unless something else has gone wrong before. */
static int fail_dead(struct receiver *r)
{
	char text[CP_TEXT_BYTES];

	snprintf(text, sizeof(text),
		"the connection ended after %llu of %llu chunks: %s; the sender gave it up, or "
		"wrote where it may not",
		(unsigned long long)r->chunks, (unsigned long long)r->n_chunks,
		weft_status_name(r->failed));
	return fail(r, text);
}

/* ---- set-up ---- */

static int read_request(struct receiver *r, const json_t *app, uint64_t *bytes, unsigned *mode)
{
	const char *tool = json_string_value(json_object_get(app, "tool"));
	const char *name = json_string_value(json_object_get(app, "name"));
	json_int_t size = json_integer_value(json_object_get(app, "bytes"));
	json_int_t chunk = json_integer_value(json_object_get(app, "chunk"));

	if (!tool || strcmp(tool, "cp"))
		return fail(r, "the client is not weft cp");
	if (!name || strlen(name) >= sizeof(r->path) || !weft_text_is_clean(name) || size < 0 ||
		chunk < 4096 || chunk > (1 << 30) || (uint64_t)size / (uint64_t)chunk >= UINT32_MAX)
		return fail(r, "the client's request has a wrong name, size or chunk");
	snprintf(r->path, sizeof(r->path), "%s", name);
	*mode = (unsigned)json_integer_value(json_object_get(app, "mode"));
	*bytes = (uint64_t)size;
	r->chunk_bytes = (uint32_t)chunk;
	r->n_chunks = WEFT_DIV_UP(*bytes, (uint64_t)r->chunk_bytes);
	return 0;
}

static int prepare(struct receiver *r, int root, const json_t *app)
{
	uint64_t bytes = 0;
	unsigned mode = 0;

	if (read_request(r, app, &bytes, &mode) ||
		cp_file_room(root, &r->options->limits, bytes, r->error, sizeof(r->error)) ||
		cp_file_create(&r->file, root, r->path, bytes, mode, r->error, sizeof(r->error)))
		return -1;
	if (weft_mail_open(&r->mail, r->live))
		return fail(r, "no room for mail");
	return 0;
}

static int accept_session(struct receiver *r, struct weft_meeting *meeting)
{
	json_t *app = json_object();

	weft_mail_offer(&r->mail, app);
	int rc = weft_live_answer(meeting, app, &r->session, r->error, sizeof(r->error));

	json_decref(app);
	if (!rc && r->session.n_qps <= DATA_QP)
		rc = fail(r, "the client has too few queue pairs");
	if (!rc)
		rc = weft_mail_start(&r->mail, &r->session, r->error, sizeof(r->error));
	for (uint32_t i = 0; !rc && i < RECEIVES; i++)
		if (weft_post_recv(r->session.qp[DATA_QP], i))
			rc = fail(r, "no room for receives");
	return rc;
}

/* ---- transfer ---- */

static void take_chunk(struct receiver *r, const struct weft_done *done)
{
	struct weft_endpoint *ep = weft_live_endpoint(r->live);
	uint64_t end;

	/* They come in posting order; anything else is a sender that lies. */
	if (done->imm != (uint32_t)r->chunks || r->chunks >= r->n_chunks) {
		(void)fail(r, "the sender announced a chunk out of turn");
		return;
	}
	r->chunks++;
	end = WEFT_MIN(r->chunks * r->chunk_bytes, r->file.bytes);
	if (!r->rkey || weft_region_trim(ep, r->rkey, end)) {
		(void)fail(r, "the sender announced a chunk before it could have written it");
		return;
	}
	atomic_store_explicit(&r->work.ready, end, memory_order_release);
	(void)weft_post_recv(r->session.qp[DATA_QP], done->id);
}

static void take_mail(struct receiver *r, json_t *message)
{
	const char *hex = json_string_value(json_object_get(message, "sha256"));

	if (hex && strlen(hex) == 2 * CP_HASH_BYTES)
		snprintf(r->theirs, sizeof(r->theirs), "%s", hex);
	json_decref(message);
}

static void turn(struct receiver *r)
{
	struct weft_pump *pump = weft_live_pump(r->live);
	const struct weft_pump_stats *stats = weft_pump_stats(pump);
	bool open = r->chunks < r->n_chunks; /* what comes later is mail, and no part of the file */
	struct weft_done done[32];
	size_t n;

	weft_pump_step(pump, TURN_NS);
	n = weft_poll(weft_live_endpoint(r->live), 0, done, WEFT_COUNT(done));
	for (size_t i = 0; i < n; i++) {
		json_t *message;

		if (done[i].status != WEFT_OK && !r->failed)
			r->failed = done[i].status;
		if (weft_mail_take(&r->mail, &done[i], &message))
			take_mail(r, message);
		else if (done[i].status == WEFT_OK)
			take_chunk(r, &done[i]);
	}
	/* What came before the end of the sender has been taken when nothing is left to take. */
	if (!n && !r->theirs[0] && !r->failed && weft_session_gone(r->live, &r->session)) {
		r->lost = true;
		(void)fail(r, "the sender has gone away");
	}
	if (open) {
		cp_series_add(&r->series, stats->placed_bytes - r->placed_before,
			weft_pump_now(pump), stats->late_ns);
		if (stats->placed_at_ns == weft_pump_now(pump))
			r->deadline_ns = weft_pump_now(pump) + r->options->silence_ns;
	}
	if (r->options->json)
		cp_events_take(&r->events, r->live);
}

static void close_file(struct receiver *r)
{
	if (r->rkey)
		(void)weft_region_drop(weft_live_endpoint(r->live), r->rkey);
	r->rkey = 0;
}

/* Until the second thread has gone past a phase; the sender hears that it takes long. */
static void await_work(struct receiver *r, enum cp_phase phase)
{
	while (atomic_load_explicit(&r->work.phase, memory_order_acquire) <= (int)phase &&
		!r->failed && !r->error[0]) {
		turn(r);
		uint64_t now = weft_pump_now(weft_live_pump(r->live));

		if (now < r->told_ns + WAIT_EVERY_NS || !weft_mail_idle(&r->mail))
			continue;
		json_t *wait = json_pack("{s:b}", "wait", 1);

		r->told_ns = now;
		(void)weft_mail_send(&r->mail, wait);
		json_decref(wait);
	}
}

/* Reserves the file's space and lets the sender write. */
static int open_file(struct receiver *r)
{
	await_work(r, CP_RESERVING);
	if (r->failed || r->error[0])
		return fail_dead(r);
	if (atomic_load(&r->work.phase) == CP_FINISHED)
		return fail(r, r->work.error);
	if (r->file.bytes &&
		weft_region_add(weft_live_endpoint(r->live), 0, r->file.data, r->file.bytes, 0,
			WEFT_ACCESS_REMOTE_WRITE, weft_live_random(r->live), &r->rkey))
		return fail(r, "no room for another memory region");
	json_t *go = json_pack("{s:I}", "rkey", (json_int_t)r->rkey);
	int rc = weft_mail_send(&r->mail, go);

	json_decref(go);
	return rc ? fail(r, "the sender cannot be told") : 0;
}

static int transfer(struct receiver *r)
{
	r->placed_before = weft_pump_stats(weft_live_pump(r->live))->placed_bytes;
	if (cp_work_start(&r->work, &r->file, true))
		return fail(r, "no second thread");
	if (open_file(r))
		return -1;
	r->deadline_ns = weft_clock_now(NULL) + r->options->silence_ns;
	while (!(r->chunks == r->n_chunks && r->theirs[0]) && !r->failed && !r->error[0]) {
		turn(r);
		if (weft_pump_now(weft_live_pump(r->live)) <= r->deadline_ns)
			continue;
		r->lost = true;
		return fail(r, "the sender has fallen silent");
	}
	return r->failed ? fail_dead(r) : r->error[0] ? -1 : 0;
}

static json_t *short_report(const struct receiver *r)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "stall_ns", (json_int_t)r->series.stall.ns,
		"stall_at_ns", (json_int_t)r->series.stall.at_ns, "ns",
		(json_int_t)(r->series.last_ns - r->series.start_ns), "cpu_ns",
		(json_int_t)(weft_clock_cpu_ns() - r->cpu_ns));
}

static int tell_verdict(struct receiver *r, int rc, const char *sha256)
{
	uint64_t deadline = weft_clock_now(NULL) + r->options->silence_ns;

	if (r->failed || r->lost)
		return fail(r, "the sender cannot be told");
	json_t *verdict = rc ? json_pack("{s:s}", "error", r->error)
			     : json_pack("{s:s, s:o}", "sha256", sha256, "report", short_report(r));

	while (!weft_mail_idle(&r->mail) && !r->failed && weft_clock_now(NULL) < deadline)
		turn(r);
	if (weft_mail_send(&r->mail, verdict))
		rc = fail(r, "the sender cannot be told");
	json_decref(verdict);
	while (!weft_mail_idle(&r->mail) && !r->failed && weft_clock_now(NULL) < deadline)
		turn(r);
	return rc;
}

/* Compares digests, gives the file its name, and tells the sender. */
static int finish(struct receiver *r)
{
	char ours[2 * CP_HASH_BYTES + 1];

	await_work(r, CP_HASHING);
	if (r->failed || r->error[0])
		return fail_dead(r);
	cp_hex(r->work.digest, ours);
	if (strcmp(ours, r->theirs)) {
		(void)fail(
			r, "the bytes that arrived have another digest than those that were sent");
		return tell_verdict(r, -1, NULL);
	}
	cp_work_keep(&r->work);
	await_work(r, CP_KEEPING);
	cp_work_end(&r->work, r->failed || r->error[0]);
	return tell_verdict(r, r->work.error[0] ? fail(r, r->work.error) : 0, ours);
}

/* ---- telling ---- */

static void report(struct receiver *r, int rc)
{
	uint64_t ns = r->series.last_ns - r->series.start_ns;
	char bytes[HUMAN_MAX], rate[HUMAN_MAX], time[HUMAN_MAX], hex[2 * CP_HASH_BYTES + 1];

	cp_hex(r->work.digest, hex);
	if (rc)
		fprintf(stderr, "weft cp: %s: %s\n", r->path, r->error);
	else if (!r->options->quiet && !ns) /* one arrival has no duration */
		fprintf(stderr, "%s: %s from %s, sha256 %s\n", r->path,
			human_bytes(bytes, r->file.bytes), r->session.peer_host, hex);
	else if (!r->options->quiet)
		fprintf(stderr, "%s: %s from %s in %s, %s, longest stall %.1f ms, sha256 %s\n",
			r->path, human_bytes(bytes, r->file.bytes), r->session.peer_host,
			human_ns(time, ns),
			human_rate(rate, (uint64_t)((double)r->file.bytes * 8e9 / (double)ns)),
			(double)r->series.stall.ns / 1e6, hex);
	if (!r->options->json)
		return;
	json_t *root = json_pack("{s:s, s:s, s:s?, s:s?, s:I, s:I, s:o, s:o}", "role", "receiver",
		"file", r->path, "error", rc ? r->error : NULL, "sha256", rc ? NULL : hex, "bytes",
		(json_int_t)r->file.bytes, "cpu_ns", (json_int_t)(weft_clock_cpu_ns() - r->cpu_ns),
		"placed", cp_series_json(&r->series), "endpoint",
		cp_state_json(r->live, r->session.pathset, &r->events));

	json_dumpf(root, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(root);
}

static int receive_one(struct receiver *r, int root, struct weft_meeting *meeting)
{
	int rc = prepare(r, root, weft_meeting_app(meeting));

	if (rc)
		weft_live_refuse(meeting, r->error);
	else
		rc = accept_session(r, meeting);
	r->met = !rc;
	if (!rc) {
		rc = transfer(r);
		rc = rc ? tell_verdict(r, rc, NULL) : finish(r);
		cp_work_end(&r->work, true);
	}
	report(r, rc);
	weft_session_close(r->live, &r->session);
	close_file(r);
	weft_mail_close(&r->mail);
	cp_file_close(&r->file);
	cp_series_end(&r->series);
	json_decref(r->events.list);
	return rc ? EXIT_FAILED : EXIT_OK;
}

/* Waits for one client; whether it was let in, the exit status of its transfer then in *rc. */
static bool serve_one(struct weft_live *live, const struct cp_options *options, int root, int *rc)
{
	char error[CP_TEXT_BYTES] = "";
	struct weft_meeting *meeting;
	int got = weft_live_accept(live, CLIENT_NS, &meeting, error, sizeof(error));

	if (got < 0)
		fprintf(stderr, "weft cp: %s\n", error);
	if (got <= 0)
		return false;
	struct receiver *r = calloc(1, sizeof(*r));

	if (!r) {
		fprintf(stderr, "weft cp: out of memory: a client is refused\n");
		weft_live_refuse(meeting, "the server is out of memory");
		return false;
	}
	*r = (struct receiver){ .live = live, .options = options, .cpu_ns = weft_clock_cpu_ns() };
	r->file.fd = r->file.dir = -1;
	cp_series_begin(&r->series, options->bin_ns);
	*rc = receive_one(r, root, meeting);
	bool met = r->met;

	free(r);
	return met;
}

int cp_serve(struct weft_live *live, const struct cp_options *options, uint16_t tcp_port,
	const char *folder)
{
	int root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = EXIT_OK;
	char error[CP_TEXT_BYTES] = "";

	/* Beyond the limit of file sizes (RLIMIT_FSIZE) there is EFBIG, too. */
	(void)signal(SIGXFSZ, SIG_IGN);
	if (root >= 0 && cp_file_probe(root, error, sizeof(error))) {
		fprintf(stderr, "weft cp: %s: %s\n", folder, error);
		close(root);
		return EXIT_FAILED;
	}
	if (root < 0 || weft_live_listen(live, tcp_port, error, sizeof(error))) {
		fprintf(stderr, "weft cp: %s: %s\n", folder, root < 0 ? strerror(errno) : error);
		return EXIT_FAILED;
	}
	if (!options->quiet)
		fprintf(stderr, "%s receives into %s\n", weft_live_host(live), folder);
	while (!serve_one(live, options, root, &rc) || !options->once)
		;
	close(root);
	return rc;
}
