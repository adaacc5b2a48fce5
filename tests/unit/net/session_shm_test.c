/* SPDX-License-Identifier: BSD-2-Clause */
/* Two endpoints meet in shared memory: no address, no TCP, no privilege. */
#include "check.h"
#include "live.h"

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
#define PORT 18515

static const char fabric[] = "name: t\nplanes: 2\nt0s: 2\nt1s: 2\nhosts: 4\nmtu: 4252\n"
			     "host_links: {speed: 100Gb/s, delay: 0ns}\n"
			     "core_links: {speed: 100Gb/s, delay: 0ns}\nbase_rtt: 10us\n";
static char dir[] = "/tmp/weft-session-XXXXXX", file[64], error[256];
static uint8_t source[1u << 20], sink[1u << 20];

static void leave(void)
{
	char path[128];

	unlink(file);
	snprintf(path, sizeof(path), "%s/ports", dir);
	unlink(path);
	if (rmdir(dir))
		perror(dir);
}

static void find_place(void)
{
	if (file[0])
		return;
	REQUIRE(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/fabric.yaml", dir);
	atexit(leave);
	FILE *f = fopen(file, "w");

	REQUIRE(f && fputs(fabric, f) >= 0 && !fclose(f));
}

static struct weft_live *open_live(const char *host, const char *via)
{
	struct weft_live_config config;
	struct weft_live *live = NULL;

	find_place();
	weft_live_defaults(&config);
	config.fabric = file;
	config.host = host;
	config.switch_dir = dir;
	config.via = via;
	if (weft_live_open(&live, &config, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	return live;
}

struct server {
	struct weft_live *live;
	struct weft_session session;
	int rc;
	uint32_t rkey;
	atomic_bool stop;
};

static void *serve(void *arg)
{
	struct server *s = arg;
	struct weft_meeting *meeting;
	char why[256];

	s->rc = weft_live_accept(s->live, 5 * SECOND, &meeting, why, sizeof(why));
	if (s->rc != 1)
		return NULL;
	json_t *app = json_pack("{s:i}", "rkey", (int)s->rkey);

	s->rc = weft_live_answer(meeting, app, &s->session, why, sizeof(why));
	json_decref(app);
	while (!s->rc && !atomic_load(&s->stop))
		weft_pump_step(weft_live_pump(s->live), 1000000);
	return NULL;
}

static void start(struct server *s, pthread_t *thread)
{
	*s = (struct server){ .live = open_live("h1", "shm-far") };
	REQUIRE(s->live);
	if (weft_live_listen(s->live, PORT, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	REQUIRE(!weft_region_add(weft_live_endpoint(s->live), 0, sink, sizeof(sink), 0,
		WEFT_ACCESS_REMOTE_WRITE, 5, &s->rkey));
	REQUIRE(!pthread_create(thread, NULL, serve, s));
}

static void finish(struct server *s, pthread_t thread)
{
	atomic_store(&s->stop, true);
	pthread_join(thread, NULL);
	weft_session_close(s->live, &s->session);
	weft_live_close(s->live);
}

static struct weft_live *connect_to(struct weft_session *session)
{
	struct weft_live *live = open_live("h0", NULL); /* the directory is enough */

	REQUIRE(live);
	if (weft_live_connect(live, "h1", PORT, 2, NULL, SECOND, session, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	REQUIRE(session->n_qps == 2);
	return live;
}

TEST(weft_live_connect__writes_a_megabyte_through_rings)
{
	struct weft_session session;
	struct server server;
	pthread_t thread;
	char path[128];
	struct stat st;

	start(&server, &thread);
	struct weft_live *live = connect_to(&session);

	CHECK_STR(session.peer_host, "h1");
	CHECK_STR(weft_live_port(live)->ops->name, "shm");
	snprintf(path, sizeof(path), "%s/h1.%u", dir, PORT);
	CHECK(!stat(path, &st) && S_ISSOCK(st.st_mode) && (st.st_mode & 0777) == 0600);
	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = (uint8_t)(i * i >> 5);
	struct weft_work work = { .data = source, .len_bytes = sizeof(source) };
	struct weft_done done = { 0 };
	uint64_t end = weft_clock_now(NULL) + 5 * SECOND;

	work.rkey = (uint32_t)json_integer_value(json_object_get(session.app, "rkey"));
	REQUIRE(!weft_post_write(session.qp[1], &work));
	while (!weft_poll(weft_live_endpoint(live), 0, &done, 1) && weft_clock_now(NULL) < end)
		weft_pump_step(weft_live_pump(live), 1000000);
	CHECK_EQ(done.status, WEFT_OK);
	CHECK_MEM(sink, source, sizeof(source));
	CHECK_EQ(weft_live_port(live)->stats.tx_refused, 0);
	weft_session_close(live, &session);
	finish(&server, thread);
	weft_live_close(live);
	CHECK(stat(path, &st)); /* swept up */
}

TEST(weft_session_gone__tells_over_a_unix_socket_too)
{
	struct weft_session session;
	struct server server;
	pthread_t thread;
	bool gone = false;

	start(&server, &thread);
	struct weft_live *live = connect_to(&session);
	uint64_t end = weft_clock_now(NULL) + SECOND / 5;

	while (weft_clock_now(NULL) < end) {
		weft_pump_step(weft_live_pump(live), 1000000);
		CHECK(!weft_session_gone(live, &session));
	}
	finish(&server, thread);
	for (end = weft_clock_now(NULL) + SECOND; !gone && weft_clock_now(NULL) < end;) {
		weft_pump_step(weft_live_pump(live), 1000000);
		gone = weft_session_gone(live, &session);
	}
	CHECK(gone);
	weft_session_close(live, &session);
	weft_live_close(live);
}

TEST(weft_live_accept__hears_others_at_a_unix_socket_too)
{
	struct weft_session session;
	struct server server;
	pthread_t thread;
	char path[128];
	int silent[24];

	start(&server, &thread);
	snprintf(path, sizeof(path), "%s/h1.%u", dir, PORT);
	for (size_t i = 0; i < WEFT_COUNT(silent); i++) {
		silent[i] = line_connect_to(path, weft_clock_now(NULL) + SECOND);
		REQUIRE(silent[i] >= 0);
	}
	uint64_t start_ns = weft_clock_now(NULL);
	struct weft_live *live = connect_to(&session);

	CHECK(weft_clock_now(NULL) - start_ns < 3 * SECOND / 2);
	for (size_t i = 0; i < WEFT_COUNT(silent); i++)
		line_close(silent[i]);
	weft_session_close(live, &session);
	finish(&server, thread);
	weft_live_close(live);
}

TEST(weft_live_open__says_what_shared_memory_needs)
{
	static const struct {
		const char *planes, *dir, *text;
	} rows[] = {
		{ "::1", "/tmp", "fabric file" },
		{ NULL, NULL, "WEFT_SWITCH" },
		{ NULL, "/nowhere", "/nowhere/ports" },
		{ NULL, "/a/directory/whose/name/is/much/too/long/for/the/names/of/sockets/in/it",
			"longer than 63" },
	};

	find_place();
	unsetenv("WEFT_SWITCH");
	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_live_config config;
		struct weft_live *live;

		weft_live_defaults(&config);
		config.fabric = file;
		config.host = "h0";
		config.via = "shm";
		config.planes = rows[i].planes;
		config.switch_dir = rows[i].dir;
		CHECK_EQ(weft_live_open(&live, &config, error, sizeof(error)), -1);
		if (!strstr(error, rows[i].text))
			CHECK_FAIL("row %zu: \"%s\" does not say \"%s\"", i, error, rows[i].text);
	}
}

static void *open_near(void *arg)
{
	(void)arg;
	return open_live("h0", NULL);
}

TEST(weft_pump_step__costs_nothing_while_two_ends_have_nothing_to_say)
{
	struct weft_live *live[2] = { open_live("h1", "shm-far"), NULL };
	pthread_t thread;
	void *near;

	REQUIRE(live[0] && !pthread_create(&thread, NULL, open_near, NULL));
	while (pthread_tryjoin_np(thread, &near))
		weft_pump_step(weft_live_pump(live[0]), 1000000);
	live[1] = near;
	REQUIRE(near);
	for (unsigned i = 0; i < 2; i++) {
		struct weft_pump *pump = weft_live_pump(live[i]);
		uint64_t end = weft_clock_now(NULL) + SECOND / 5;
		uint64_t steps = weft_pump_stats(pump)->steps;

		for (uint64_t now = weft_clock_now(NULL); now < end; now = weft_clock_now(NULL))
			weft_pump_step(pump, end - now);
		steps = weft_pump_stats(pump)->steps - steps;
		if (steps > 50)
			CHECK_FAIL("end %u: %u turns in a fifth of a second", i, (unsigned)steps);
	}
	weft_live_close(live[1]);
	weft_live_close(live[0]);
}
