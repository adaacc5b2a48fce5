/* SPDX-License-Identifier: BSD-2-Clause */
/* Both ends in one process, the server in a thread of its own. */
#include "perf.h"

#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#define PORT 28525
#define SECOND UINT64_C(1000000000)
#define HALF (UINT32_C(8) << 20)

static char error[256];
static struct perf_test test;

static struct weft_live *open_live(void)
{
	struct weft_live_config config;
	struct weft_live *live = NULL;
	static bool entered;

	if (!entered && (unshare(getuid() ? CLONE_NEWUSER | CLONE_NEWNET : CLONE_NEWNET) ||
				system("ip link set lo up")))
		SKIP("no network namespaces here");
	entered = true;
	weft_live_defaults(&config);
	config.planes = "::1,127.0.0.1";
	REQUIRE(!weft_live_open(&live, &config, error, sizeof(error)));
	return live;
}

static json_t *app_of(const struct perf_end *end)
{
	json_t *app = json_pack("{s:I}", "rkey", (json_int_t)end->rkey);

	weft_mail_offer(&end->mail, app);
	return app;
}

static void take_key(struct perf_end *end)
{
	const json_t *rkey = json_object_get(end->session.app, "rkey");

	end->peer_rkey = (uint32_t)json_integer_value(rkey);
	if (weft_mail_start(&end->mail, &end->session, error, sizeof(error)))
		CHECK_FAIL("%s", error);
}

struct server {
	struct perf_end end;
	struct perf_result result;
	int rc;
	atomic_bool over;
};

static void *serve(void *arg)
{
	struct server *s = arg;
	struct weft_meeting *meeting;

	s->rc = -1;
	if (weft_live_accept(s->end.live, 5 * SECOND, &meeting, error, sizeof(error)) != 1)
		return NULL;
	json_t *app = app_of(&s->end);

	if (weft_live_answer(meeting, app, &s->end.session, error, sizeof(error)))
		return NULL;
	take_key(&s->end);
	json_decref(app);
	s->rc = perf_serve(&s->end, &test, &s->result);
	for (unsigned i = 0; i < 50; i++)
		perf_turn(&s->end, 1000000); /* acknowledges "stop" */
	atomic_store(&s->over, true);
	return NULL;
}

static void run(struct perf_test what, struct perf_result *own, struct perf_result *peer)
{
	static struct server server;
	struct perf_end end;
	pthread_t thread;
	json_t *stop = json_pack("{s:s}", "do", "stop"), *app;
	struct weft_live *live = open_live();

	test = what;
	atomic_store(&server.over, false);
	server.end.live = open_live();
	REQUIRE(!perf_open(&server.end, server.end.live, HALF, error, sizeof(error)));
	REQUIRE(!perf_open(&end, live, HALF, error, sizeof(error)));
	REQUIRE(!weft_live_listen(server.end.live, PORT, error, sizeof(error)));
	REQUIRE(!pthread_create(&thread, NULL, serve, &server));
	app = app_of(&end);
	REQUIRE(!weft_live_connect(live, "127.0.0.1", PORT, 1 + what.qps, app, SECOND, &end.session,
		error, sizeof(error)));
	take_key(&end);
	CHECK_EQ(perf_run(&end, &what, own), 0);
	CHECK_EQ(perf_say(&end, stop), 0);
	while (!atomic_load(&server.over)) /* its last writes want to be acknowledged */
		perf_turn(&end, 1000000);
	pthread_join(thread, NULL);
	if (server.rc)
		CHECK_FAIL("the server ended: %s %s", error, weft_status_name(server.end.why));
	*peer = server.result;
	if (what.mode == PERF_BW && !what.bidirectional)
		CHECK_MEM(server.end.memory + HALF, end.memory, what.bytes);
	struct weft_live *other = server.end.live;

	perf_close(&end);
	perf_close(&server.end);
	weft_live_close(live);
	weft_live_close(other);
	json_decref(stop);
	json_decref(app);
}

TEST(perf_run__counts_writes_and_bytes)
{
	static struct perf_result own, peer;

	run((struct perf_test){ .bytes = 65536, .qps = 3, .depth = 8, .iterations = 100 }, &own,
		&peer);
	CHECK_EQ(own.iterations, 100);
	CHECK_EQ(own.bytes, 6553600);
	CHECK(own.ns > 0 && own.cpu_ns > 0 && peer.cpu_ns > 0);
	CHECK(own.pkts >= 800); /* 8192 bytes each, at most */
	CHECK_EQ(peer.iterations, 0);
}

TEST(perf_run__both_ends_send)
{
	static struct perf_result own, peer;

	run((struct perf_test){ .bytes = 4096,
		    .qps = 1,
		    .depth = 16,
		    .duration_ns = SECOND / 5,
		    .bidirectional = true },
		&own, &peer);
	CHECK(own.iterations > 10 && peer.iterations > 10);
	CHECK(own.ns >= SECOND / 5);
}

TEST(perf_run__plays_ping_pong)
{
	static struct perf_result own, peer;

	run(
		(struct perf_test){
			.mode = PERF_LAT, .bytes = 8, .qps = 1, .depth = 1, .iterations = 600 },
		&own, &peer);
	CHECK_EQ(own.iterations, 600);
	CHECK_EQ(own.half_rtt.n, 600);
	CHECK(own.half_rtt.min > 1000 && own.half_rtt.min < SECOND / 10);
	CHECK_EQ(peer.iterations, 600);
}

TEST(perf_hear__gives_a_peer_up_that_is_never_heard_again)
{
	struct perf_end end;
	struct weft_live *live = open_live();

	REQUIRE(!perf_open(&end, live, HALF, error, sizeof(error)));
	end.silence_ns = SECOND / 20;
	CHECK(!perf_hear(&end, UINT64_MAX / 2));
	CHECK(end.dead);
	CHECK_EQ(end.why, WEFT_RETRY_EXCEEDED);
	perf_close(&end);
	weft_live_close(live);
}
