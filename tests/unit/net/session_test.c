/* SPDX-License-Identifier: BSD-2-Clause */
/* Two endpoints of one process meet over TCP on loopback and write to each other. */
#include "lines.h"
#include "plain.h"

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define SECOND UINT64_C(1000000000)
#define PORT 28515

static char error[256];
static uint8_t source[1u << 20], sink[1u << 20];

struct server {
	struct weft_live *live;
	struct weft_session session;
	char error[256];
	int rc;
	uint32_t rkey;
	atomic_bool stop;
};

static void *serve(void *arg)
{
	struct server *s = arg;
	struct weft_meeting *meeting;

	s->rc = weft_live_accept(s->live, 5 * SECOND, &meeting, s->error, sizeof(s->error));
	if (s->rc != 1)
		return NULL;
	const char *want = json_string_value(json_object_get(weft_meeting_app(meeting), "want"));

	if (!want || strcmp(want, "sink")) {
		weft_live_refuse(meeting, "no such thing");
		s->rc = -1;
		return NULL;
	}
	json_t *app = json_pack("{s:i}", "rkey", (int)s->rkey);

	s->rc = weft_live_answer(meeting, app, &s->session, s->error, sizeof(s->error));
	json_decref(app);
	while (!s->rc && !atomic_load(&s->stop))
		weft_pump_step(weft_live_pump(s->live), 1000000);
	return NULL;
}

static void start(struct server *s, pthread_t *thread)
{
	*s = (struct server){ .live = open_plain() };
	REQUIRE(!weft_live_listen(s->live, PORT, error, sizeof(error)));
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

TEST(weft_live_connect__leaves_queue_pairs_that_carry_a_megabyte)
{
	struct server server;
	pthread_t thread;
	struct weft_session session;

	start(&server, &thread);
	struct weft_live *live = open_plain();
	json_t *app = json_pack("{s:s}", "want", "sink");

	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = (uint8_t)(i * i >> 5);
	if (weft_live_connect(
		    live, "127.0.0.1", PORT, 3, app, SECOND, &session, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	REQUIRE(session.n_qps == 3);
	CHECK_STR(session.peer_host, "plain");
	struct weft_work work = { .data = source, .len_bytes = sizeof(source) / 4 };
	struct weft_done done;
	uint64_t end = weft_clock_now(NULL) + 5 * SECOND;
	unsigned n = 0;

	work.rkey = (uint32_t)json_integer_value(json_object_get(session.app, "rkey"));
	for (unsigned i = 0; i < 4; i++) {
		work.id = i;
		work.remote_va = i * work.len_bytes;
		work.data = source + work.remote_va;
		REQUIRE(!weft_post_write(session.qp[i % 3], &work));
	}
	while (n < 4 && weft_clock_now(NULL) < end) {
		weft_pump_step(weft_live_pump(live), 1000000);
		while (weft_poll(weft_live_endpoint(live), 0, &done, 1)) {
			CHECK_EQ(done.status, WEFT_OK);
			n++;
		}
	}
	CHECK_EQ(n, 4);
	CHECK_MEM(sink, source, sizeof(source));
	/* Both ends have agreed that what arrives trimmed is NACKed. */
	struct weft_pkt cut = { .peer = session.peer,
		.op = WEFT_OP_WRITE_ONLY,
		.mark = WEFT_MARK_TRIMMED_LASTHOP,
		.dqpn = session.qpn[1] };
	struct weft_place place;
	struct weft_qp_info info;

	weft_qp_info(session.qp[1], &info);
	cut.psn = weft_psn_add(info.psn_cack, 1);
	weft_input(weft_live_endpoint(live), &cut, 1, weft_pump_now(weft_live_pump(live)), &place);
	CHECK_EQ(weft_stats(weft_live_endpoint(live))->rx_trimmed, 1);
	CHECK_EQ(weft_stats(weft_live_endpoint(live))->drops[WEFT_DROP_TRIM_NOT_AGREED], 0);
	json_decref(app);
	weft_session_close(live, &session);
	finish(&server, thread);
	weft_live_close(live);
}

TEST(weft_live_connect__leaves_a_connection_that_costs_nothing_while_idle)
{
	struct server server;
	pthread_t thread;
	struct weft_session session;

	start(&server, &thread);
	struct weft_live *live = open_plain();
	json_t *app = json_pack("{s:s}", "want", "sink");

	REQUIRE(!weft_live_connect(
		live, "127.0.0.1", PORT, 1, app, SECOND, &session, error, sizeof(error)));
	uint64_t cpu = weft_clock_thread_ns(), end = weft_clock_now(NULL) + SECOND / 2;
	uint64_t steps = weft_pump_stats(weft_live_pump(live))->steps;

	for (uint64_t now = weft_clock_now(NULL); now < end; now = weft_clock_now(NULL))
		weft_pump_step(weft_live_pump(live), end - now);
	cpu = weft_clock_thread_ns() - cpu;
	steps = weft_pump_stats(weft_live_pump(live))->steps - steps;
	if (cpu > 5000000 || steps > 50)
		CHECK_FAIL("half a second cost %.3f ms of CPU and %u turns", (double)cpu / 1e6,
			(unsigned)steps);
	json_decref(app);
	weft_session_close(live, &session);
	finish(&server, thread);
	weft_live_close(live);
}

TEST(weft_session_gone__tells_that_the_other_end_has_closed)
{
	struct server server;
	pthread_t thread;
	struct weft_session session;

	start(&server, &thread);
	struct weft_live *live = open_plain();
	json_t *app = json_pack("{s:s}", "want", "sink");
	uint64_t end = weft_clock_now(NULL) + SECOND / 5;

	REQUIRE(!weft_live_connect(
		live, "127.0.0.1", PORT, 1, app, SECOND, &session, error, sizeof(error)));
	while (weft_clock_now(NULL) < end) {
		weft_pump_step(weft_live_pump(live), 1000000);
		CHECK(!weft_session_gone(live, &session));
	}
	finish(&server, thread);
	bool gone = false;

	for (end = weft_clock_now(NULL) + SECOND; !gone && weft_clock_now(NULL) < end;) {
		weft_pump_step(weft_live_pump(live), 1000000);
		gone = weft_session_gone(live, &session);
	}
	CHECK(gone);
	json_decref(app);
	weft_session_close(live, &session);
	weft_live_close(live);
}

TEST(weft_live_connect__tells_why_it_was_refused)
{
	struct server server;
	pthread_t thread;
	struct weft_session session;

	start(&server, &thread);
	struct weft_live *live = open_plain();

	CHECK_EQ(weft_live_connect(
			 live, "127.0.0.1", PORT, 1, NULL, SECOND, &session, error, sizeof(error)),
		-1);
	CHECK_STR(error, "peer: no such thing");
	finish(&server, thread);
	weft_live_close(live);
}

TEST(weft_live_accept__refuses_a_peer_that_does_not_fit)
{
	struct server server;
	pthread_t thread;
	struct weft_session session;

	start(&server, &thread);
	struct weft_live *live = open_plain();

	live->udp.planes = 1;
	CHECK_EQ(weft_live_connect(
			 live, "127.0.0.1", PORT, 1, NULL, SECOND, &session, error, sizeof(error)),
		-1);
	CHECK(strstr(error, "peer has 1 planes") != NULL);
	finish(&server, thread);
	CHECK_EQ(server.rc, -1);
	weft_live_close(live);
}

TEST(weft_live_accept__survives_clients_that_hang_up_or_talk_nonsense)
{
	static const char *const lines[] = { "", "GET / HTTP/1.0\r\n", "{}\n", "[1]\n" };
	const uint8_t addr[1][16] = { { [10] = 0xff, 0xff, 127, 0, 0, 1 } };
	struct weft_live *live = open_plain();
	struct weft_meeting *meeting;

	REQUIRE(!weft_live_listen(live, PORT, error, sizeof(error)));
	for (size_t i = 0; i < WEFT_COUNT(lines); i++) {
		int fd = line_connect(addr, 1, PORT, weft_clock_now(NULL) + SECOND);

		REQUIRE(fd >= 0);
		CHECK_EQ(line_send(fd, lines[i], weft_clock_now(NULL) + SECOND), 0);
		shutdown(fd, SHUT_WR);
		int rc = weft_live_accept(live, SECOND / 10, &meeting, error, sizeof(error));

		CHECK_EQ(rc, i ? -1 : 0);
		line_close(fd);
	}
	weft_live_close(live);
}

/* Port scanners, clients that were stopped; one says a byte, one never ends his line. */
TEST(weft_live_accept__hears_others_while_some_are_silent)
{
	const uint8_t addr[1][16] = { { [10] = 0xff, 0xff, 127, 0, 0, 1 } };
	struct server server;
	pthread_t thread;
	struct weft_session session;
	int silent[24];

	start(&server, &thread);
	struct weft_live *live = open_plain();
	json_t *app = json_pack("{s:s}", "want", "sink");

	for (size_t i = 0; i < WEFT_COUNT(silent); i++) {
		silent[i] = line_connect(addr, 1, PORT, weft_clock_now(NULL) + SECOND);
		REQUIRE(silent[i] >= 0);
		CHECK_EQ(line_send(silent[i], i == 3   ? "{"
					      : i == 7 ? "{\"app\": null"
						       : "",
				 weft_clock_now(NULL) + SECOND),
			0);
	}
	uint64_t took_ns = weft_clock_now(NULL);

	if (weft_live_connect(live, "127.0.0.1", PORT, 1, app, SECOND, &session, error,
		    sizeof(error)))
		CHECK_FAIL("%s", error);
	took_ns = weft_clock_now(NULL) - took_ns;
	if (took_ns > 3 * SECOND / 2)
		CHECK_FAIL("%u ms beside the silent", (unsigned)(took_ns / 1000000));
	for (size_t i = 0; i < WEFT_COUNT(silent); i++)
		line_close(silent[i]);
	json_decref(app);
	weft_session_close(live, &session);
	finish(&server, thread);
	CHECK_EQ(server.rc, 0);
	weft_live_close(live);
}

TEST(weft_live_connect__tells_want_of_its_own_from_nobody_there)
{
	struct weft_live *live = open_plain();
	struct weft_session session;
	struct rlimit old, none;

	REQUIRE(!getrlimit(RLIMIT_NOFILE, &old));
	none = (struct rlimit){ .rlim_cur = 3, .rlim_max = old.rlim_max };
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &none));
	CHECK_EQ(weft_live_connect(live, "127.0.0.1", PORT + 1, 1, NULL, SECOND, &session, error,
			 sizeof(error)),
		-1);
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &old));
	CHECK_STR(error, "127.0.0.1: cannot ask on TCP port 28516: Too many open files");
	weft_live_close(live);
}

TEST(weft_live_connect__nobody_there)
{
	struct weft_live *live = open_plain();
	struct weft_session session;

	CHECK_EQ(weft_live_connect(live, "127.0.0.1", PORT + 1, 1, NULL, SECOND, &session, error,
			 sizeof(error)),
		-1);
	CHECK(strstr(error, "28516") != NULL);
	weft_live_close(live);
}

/* Sends every client its own offer back and hangs up at once, before the client can say "go". */
static void *mock(void *arg)
{
	const struct linger at_once = { .l_onoff = 1 };
	int listener = *(int *)arg, fd;
	char line[4096];

	while ((fd = line_accept(listener, weft_clock_now(NULL) + SECOND / 2)) >= 0) {
		uint64_t limit_ns = weft_clock_now(NULL) + SECOND;

		if (!line_recv(fd, line, sizeof(line), limit_ns)) {
			(void)line_send(fd, line, limit_ns);
			(void)line_send(fd, "\n", limit_ns);
		}
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		line_close(fd);
	}
	return NULL;
}

TEST(weft_live_connect__leaves_nothing_of_a_server_that_hangs_up)
{
	struct weft_live *live = open_plain();
	json_t *app = json_pack("{s:s}", "want", "sink");
	int listener = line_listen(PORT, error, sizeof(error));
	unsigned failed = 0;
	pthread_t thread;

	REQUIRE(listener >= 0);
	REQUIRE(!pthread_create(&thread, NULL, mock, &listener));
	for (unsigned i = 0; i < 200 && !failed; i++) {
		struct weft_session session;

		if (!weft_live_connect(live, "::1", PORT, 1, app, SECOND, &session, error,
			    sizeof(error))) {
			weft_session_close(live, &session); /* "go" was faster */
			continue;
		}
		failed++;
		CHECK(!session.app);
		CHECK_EQ(session.n_qps, 0);
	}
	CHECK_EQ(failed, 1);
	CHECK_EQ(live->peers[0].users, 0);
	pthread_join(thread, NULL);
	line_close(listener);
	json_decref(app);
	weft_live_close(live);
}
