/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shm_bench - what a reliable byte costs in shared memory, beside a copied one.
 *
 *   two cores:  this process  ==== one shared-memory ring ====  a child on another core
 *   one core:   both ends take turns in this thread
 *
 * Rates: each contender moves a window of bytes from a buffer of so many MiB into another one, 4096
 * per packet, again and again in turn.  "memcpy" is one copy of them; "ring" is a copy into a slot
 * and one out of it, over the rings of the room shm and with nothing else; "weft" is the same with
 * the engine, the headers and the ICRC, as 1 MiB writes.  Ping-pong: 8 bytes, each end polls.
 *
 * Windows are short, a few milliseconds; the best one is the operation, and the median says how
 * much the neighbours took.  On a busy machine: chrt -r 1 shm_bench.
 * Usage: shm_bench [ROUNDS [MIB [WINDOW_MIB [CONTENDER]]]]
 */
#include "shm_bare.h"
#include "stage.h"

#include <weft/session.h>

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGE (1u << 20)
#define DEPTH 4u
#define CHILDREN 5
#define ROUNDS_MAX 200
#define PINGS 1000u
#define PINGING 8 /* added to a child's number: it is to echo */
#define TCP_PORT 18515

static const char fabric[] = "name: bench\nplanes: 1\nt0s: 1\nt1s: 1\nhosts: 2\nmtu: 4252\n"
			     "host_links: {speed: 400Gb/s, delay: 0ns}\n"
			     "core_links: {speed: 400Gb/s, delay: 0ns}\nbase_rtt: 10us\n";
static char dir[] = "/tmp/weft-bench-XXXXXX", file[64], error[256];
static size_t buffer_bytes = 16u << 20, window_bytes = 8u << 20;

static void die(const char *what)
{
	fprintf(stderr, "shm_bench: %s: %s\n", what, error[0] ? error : strerror(errno));
	exit(1);
}

static void *get(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED)
		die("mmap");
	return memory;
}

static void wait_for_file(const char *path)
{
	for (unsigned tries = 0; access(path, F_OK); tries++) {
		if (tries > 5000)
			die(path);
		usleep(1000);
	}
}

/* ---- memcpy ---- */

static uint8_t *source, *sink;

static uint64_t copy_window(void)
{
	static size_t at; /* windows follow each other through the buffer */
	uint64_t from = weft_clock_now(NULL);

	for (size_t left = window_bytes; left; left -= PKT, at = (at + PKT) % buffer_bytes)
		memcpy(sink + at, source + at, PKT);
	return weft_clock_now(NULL) - from;
}

/* ---- bare rings ---- */

static struct bare rings[3], ring_far; /* two cores; pings; both ends here, with the last */

static void bare_child(int self)
{
	struct weft_shm_door *door;

	bare_listen(&rings[0], &door);
	bare_meet(&ring_far, door);
	ring_far.buffer = get(buffer_bytes);
	ring_far.bytes = buffer_bytes;
	for (;;)
		while (on_stage(self))
			for (unsigned i = 0; i < 1000; i++)
				bare_drain(&ring_far);
}

static uint64_t bare_window(struct bare *near, struct bare *far)
{
	uint64_t from = weft_clock_now(NULL);

	for (size_t left = window_bytes / PKT; left;) {
		left -= bare_fill(near, left);
		if (far)
			bare_drain(far);
	}
	while (near->n_slots < RING_SLOTS) {
		if (far)
			bare_drain(far);
		bare_refill(near);
	}
	return weft_clock_now(NULL) - from;
}

static uint64_t ring_two(void)
{
	return bare_window(&rings[0], NULL);
}

static uint64_t ring_one(void)
{
	return bare_window(&rings[2], &ring_far);
}

/* ---- weft ---- */

struct weft { /* a pair of ends; the far one may be in a child */
	struct weft_live *near, *far;
	struct weft_session session, far_session;
	uint8_t *far_memory, *far_out; /* [buffer] written to, [line] sent from */
	uint8_t *near_in;              /* where the far end writes to */
	uint32_t rkey, near_rkey;
	enum weft_icrc_use icrc;
	size_t at;
	char dir[80];
};
static struct weft wefts[4]; /* the last with both ends here */
static const enum weft_icrc_use uses[4] = { WEFT_ICRC_MADE, WEFT_ICRC_CHECKED, WEFT_ICRC_NONE,
	WEFT_ICRC_MADE };

static struct weft_live *open_live(const struct weft *w, const char *host, const char *via)
{
	struct weft_live_config config;
	struct weft_live *live;

	weft_live_defaults(&config);
	config.fabric = file;
	config.host = host;
	config.switch_dir = w->dir;
	config.via = via;
	config.icrc = w->icrc;
	if (weft_live_open(&live, &config, error, sizeof(error)))
		die(via);
	return live;
}

static void far_open(struct weft *w)
{
	w->far = open_live(w, "h1", "shm-far");
	w->far_memory = get(buffer_bytes);
	w->far_out = get(4096);
	if (weft_live_listen(w->far, TCP_PORT, error, sizeof(error)) ||
		weft_region_add(weft_live_endpoint(w->far), 0, w->far_memory, buffer_bytes, 0,
			WEFT_ACCESS_REMOTE_WRITE, 5, &w->rkey))
		die("far end");
}

static void *far_accept(void *arg)
{
	struct weft *w = arg;
	struct weft_meeting *meeting;
	json_t *app = json_pack("{s:i}", "rkey", (int)w->rkey);

	if (weft_live_accept(w->far, 10000000000u, &meeting, error, sizeof(error)) != 1)
		die("accept");
	w->near_rkey =
		(uint32_t)json_integer_value(json_object_get(weft_meeting_app(meeting), "rkey"));
	if (weft_live_answer(meeting, app, &w->far_session, error, sizeof(error)))
		die("answer");
	return NULL;
}

static void near_connect(struct weft *w)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/h1.%u", w->dir, TCP_PORT);
	wait_for_file(path);
	w->near = open_live(w, "h0", "shm");
	w->near_in = get(4096);
	if (weft_region_add(weft_live_endpoint(w->near), 0, w->near_in, 4096, 0,
		    WEFT_ACCESS_REMOTE_WRITE, 5, &w->near_rkey))
		die("region");
	json_t *app = json_pack("{s:i}", "rkey", (int)w->near_rkey);

	if (weft_live_connect(w->near, "h1", TCP_PORT, 1, app, 5000000000u, &w->session, error,
		    sizeof(error)))
		die("connect");
	w->rkey = (uint32_t)json_integer_value(json_object_get(w->session.app, "rkey"));
}

static void far_turn(struct weft *w)
{
	struct weft_done done[8];

	weft_pump_step(weft_live_pump(w->far), 0);
	(void)weft_poll(weft_live_endpoint(w->far), 0, done, 8);
}

static void post(struct weft_qp *qp, const void *data, size_t bytes, uint64_t va, uint32_t rkey)
{
	struct weft_work work = {
		.data = data, .len_bytes = (uint32_t)bytes, .remote_va = va, .rkey = rkey
	};

	if (weft_post_write(qp, &work))
		die("post");
}

/* Far end of a ping-pong: whatever byte comes goes back. */
static void echo(struct weft *w, uint8_t *last)
{
	volatile uint8_t *arrived = w->far_memory + 7;

	far_turn(w);
	if (*arrived == *last)
		return;
	*last = *arrived;
	w->far_out[7] = *last;
	post(w->far_session.qp[0], w->far_out, 8, 0, w->near_rkey);
	far_turn(w);
}

static void weft_child(int self)
{
	struct weft *w = &wefts[self];
	uint8_t last = 0;

	far_open(w);
	far_accept(w);
	for (;;) {
		bool busy = false;

		while (on_stage(self) || on_stage(self + PINGING)) {
			bool pings = atomic_load(&stage->active) == self + PINGING;

			busy = true;
			for (unsigned i = 0; i < 1000; i++)
				pings ? echo(w, &last) : far_turn(w);
		}
		/* Late answers, so that nobody times out while others are on stage. */
		for (unsigned i = 0; busy && i < 1000; i++)
			far_turn(w);
	}
}

static size_t near_turn(struct weft *w)
{
	struct weft_done done[DEPTH];

	weft_pump_step(weft_live_pump(w->near), 0);
	size_t n = weft_poll(weft_live_endpoint(w->near), 0, done, DEPTH);

	for (size_t i = 0; i < n; i++)
		if (done[i].status != WEFT_OK)
			die("a write failed");
	return n;
}

static uint64_t weft_window(struct weft *w)
{
	uint64_t from = weft_clock_now(NULL);
	size_t posted = 0, done = 0, n = window_bytes / MESSAGE;

	while (done < n) {
		for (; posted < n && posted - done < DEPTH; posted++) {
			post(w->session.qp[0], source + w->at, MESSAGE, w->at, w->rkey);
			w->at = (w->at + MESSAGE) % buffer_bytes;
		}
		done += near_turn(w);
		if (w->far)
			far_turn(w);
	}
	return weft_clock_now(NULL) - from;
}

static uint64_t weft_made(void)
{
	return weft_window(&wefts[0]);
}

static uint64_t weft_checked(void)
{
	return weft_window(&wefts[1]);
}

static uint64_t weft_none(void)
{
	return weft_window(&wefts[2]);
}

static uint64_t weft_one(void)
{
	return weft_window(&wefts[3]);
}

/* ---- ping-pong ---- */

static uint64_t rtt[PINGS];

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t weft_pings(struct weft *w)
{
	static uint8_t tag;
	volatile uint8_t *arrived = w->near_in + 7;

	for (unsigned i = 0; i < PINGS; i++) {
		uint64_t from = weft_clock_now(NULL);

		source[7] = ++tag;
		post(w->session.qp[0], source, 8, 0, w->rkey);
		while (*arrived != tag)
			(void)near_turn(w);
		rtt[i] = weft_clock_now(NULL) - from;
	}
	qsort(rtt, PINGS, sizeof(rtt[0]), by_value);
	return rtt[PINGS / 2];
}

static uint64_t made_pings(void)
{
	return weft_pings(&wefts[0]);
}

static uint64_t none_pings(void)
{
	return weft_pings(&wefts[2]);
}

/* Eight bytes in a slot there and back, through the same rings. */
static void bare_echo(int self)
{
	struct weft_shm_desc desc;
	struct bare *far = &ring_far;
	struct weft_shm_door *door;

	bare_listen(&rings[1], &door);
	bare_meet(far, door);
	/* A slot that comes by TX goes back by RX. */
	for (;;)
		while (on_stage(self))
			for (unsigned i = 0; i < 1000; i++)
				if (weft_shm_take(far->link, WEFT_SHM_TX, &desc, 1))
					weft_shm_put(far->link, WEFT_SHM_RX, &desc, 1);
}

static uint64_t bare_pings(void)
{
	struct bare *near = &rings[1];
	struct weft_shm_desc desc = { .bytes = 8 };

	if (!near->n_slots)
		bare_refill(near);
	desc.slot = near->slots[0];
	for (uint64_t i = 0; i < PINGS; i++) {
		uint64_t from = weft_clock_now(NULL), got = 0;

		memcpy(weft_shm_packet(&near->pool, desc.slot), &i, sizeof(i));
		weft_shm_put(near->link, WEFT_SHM_TX, &desc, 1);
		while (!weft_shm_take(near->link, WEFT_SHM_RX, &desc, 1))
			;
		memcpy(&got, weft_shm_packet(&near->pool, desc.slot), sizeof(got));
		if (got != i)
			die("echo");
		rtt[i] = weft_clock_now(NULL) - from;
	}
	qsort(rtt, PINGS, sizeof(rtt[0]), by_value);
	return rtt[PINGS / 2];
}

/* ---- the table ---- */

static const struct contender {
	const char *name;
	uint64_t (*window)(void);
	int child; /* whose turn it is beside us; -1: nobody's */
	bool pings;
} contenders[] = {
	{ "memcpy", copy_window, -1, false },
	{ "ring, two cores", ring_two, 3, false },
	{ "weft, two cores", weft_made, 0, false },
	{ "weft, two cores, checked", weft_checked, 1, false },
	{ "weft, two cores, no ICRC", weft_none, 2, false },
	{ "ring, one core", ring_one, -1, false },
	{ "weft, one core", weft_one, -1, false },
	{ "ring, 8 bytes", bare_pings, 4, true },
	{ "weft, 8 bytes", made_pings, PINGING, true },
	{ "weft, 8 bytes, no ICRC", none_pings, PINGING + 2, true },
};

static void *dial_here(void *arg)
{
	struct bare *near = arg;
	struct weft_shm_hello hello = { .host = "bench" };

	if (weft_shm_dial(near->path, &hello, &near->pool, &near->link, error, sizeof(error)))
		die("dial");
	return NULL;
}

/* Both ends of a ring in this process. */
static void open_ring_here(struct bare *near, struct bare *far)
{
	pthread_t thread;
	struct weft_shm_door *door;

	bare_listen(near, &door);
	pthread_create(&thread, NULL, dial_here, near);
	bare_meet(far, door);
	pthread_join(thread, NULL);
	far->buffer = sink;
	far->bytes = buffer_bytes;
}

static void open_weft_here(struct weft *w)
{
	pthread_t thread;

	far_open(w);
	pthread_create(&thread, NULL, far_accept, w);
	near_connect(w);
	pthread_join(thread, NULL);
}

static void set_up(pid_t children[CHILDREN])
{
	if (!mkdtemp(dir))
		die(dir);
	snprintf(file, sizeof(file), "%s/fabric.yaml", dir);
	FILE *f = fopen(file, "w");

	if (!f || fputs(fabric, f) < 0 || fclose(f))
		die(file);
	source = get(buffer_bytes);
	sink = get(buffer_bytes);
	if (!stage_open())
		die("mmap");
	for (unsigned i = 0; i < 4; i++) {
		wefts[i].icrc = uses[i];
		snprintf(wefts[i].dir, sizeof(wefts[i].dir), "%s/%u", dir, i);
		if (mkdir(wefts[i].dir, 0700))
			die(wefts[i].dir);
	}
	for (unsigned i = 0; i < 3; i++) {
		snprintf(rings[i].path, sizeof(rings[i].path), "%s/ring%u", dir, i);
		rings[i].buffer = source;
		rings[i].bytes = buffer_bytes;
	}
	for (int i = 0; i < 3; i++)
		children[i] = spawn(weft_child, i);
	children[3] = spawn(bare_child, 3);
	children[4] = spawn(bare_echo, 4);
	be_on(0);
	wait_for_file(rings[0].path);
	dial_here(&rings[0]);
	wait_for_file(rings[1].path);
	dial_here(&rings[1]);
	open_ring_here(&rings[2], &ring_far);
	for (unsigned i = 0; i < 3; i++)
		near_connect(&wefts[i]);
	open_weft_here(&wefts[3]);
}

static void clean_up(const pid_t children[CHILDREN])
{
	char command[128];

	for (unsigned i = 0; i < CHILDREN; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	snprintf(command, sizeof(command), "rm -r %s", dir);
	if (system(command))
		die(dir);
}

static const char *only; /* part of a contender's name */

static bool is_wanted(size_t i)
{
	return !i || !only || strstr(contenders[i].name, only);
}

static void run_rounds(uint64_t ns[][ROUNDS_MAX], int rounds)
{
	for (int r = -1; r < rounds; r++) { /* the first one warms up */
		for (size_t i = 0; i < WEFT_COUNT(contenders); i++) {
			if (!is_wanted(i))
				continue;
			call(contenders[i].child);
			uint64_t took = contenders[i].window();

			if (r >= 0)
				ns[i][r] = took;
		}
		call(-1);
	}
	for (size_t i = 0; i < WEFT_COUNT(contenders); i++)
		qsort(ns[i], (size_t)rounds, sizeof(ns[i][0]), by_value);
}

static void print(uint64_t ns[][ROUNDS_MAX], int rounds)
{
	double pkts = (double)(window_bytes / PKT);

	printf("%zu MiB buffers, windows of %zu MiB, %d rounds\n", buffer_bytes >> 20,
		window_bytes >> 20, rounds);
	printf("%-26s %9s %9s %9s %9s %9s\n", "", "best Gb/s", "ns/4 KiB", "x memcpy", "median",
		"x memcpy");
	for (size_t i = 0; i < WEFT_COUNT(contenders); i++) {
		double best = (double)ns[i][0], middle = (double)ns[i][rounds / 2];

		if (contenders[i].pings || !is_wanted(i))
			continue;
		printf("%-26s %9.1f %9.0f %9.3f %9.1f %9.3f\n", contenders[i].name,
			(double)window_bytes * 8 / best, best / pkts, (double)ns[0][0] / best,
			(double)window_bytes * 8 / middle, (double)ns[0][rounds / 2] / middle);
	}
	printf("%-26s %18s %18s\n", "p50 of 1000 ping-pongs", "best window, ns",
		"median window, ns");
	printf("%-26s %9s %8s %9s %8s\n", "", "there+back", "half", "there+back", "half");
	for (size_t i = 0; i < WEFT_COUNT(contenders); i++) {
		double best = (double)ns[i][0], middle = (double)ns[i][rounds / 2];

		if (contenders[i].pings && is_wanted(i))
			printf("%-26s %10.0f %8.0f %9.0f %8.0f\n", contenders[i].name, best,
				best / 2, middle, middle / 2);
	}
}

int main(int argc, char **argv)
{
	static uint64_t ns[WEFT_COUNT(contenders)][ROUNDS_MAX];
	int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 30;
	pid_t children[CHILDREN];

	if (argc > 2)
		buffer_bytes = (size_t)strtoull(argv[2], NULL, 10) << 20;
	if (argc > 3)
		window_bytes = (size_t)strtoull(argv[3], NULL, 10) << 20;
	only = argc > 4 ? argv[4] : NULL;
	rounds = WEFT_MIN(WEFT_MAX(rounds, 1), ROUNDS_MAX);
	set_up(children);
	run_rounds(ns, rounds);
	print(ns, rounds);
	clean_up(children);
	return 0;
}
