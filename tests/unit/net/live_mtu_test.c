/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions over planes that lose what is too long for them, silently, as links in the middle do. */
#include "plain.h"

#include <pthread.h>
#include <stdatomic.h>

#define SECOND UINT64_C(1000000000)
#define PORT 28516

static uint32_t limit_bytes[2]; /* of each plane, for the probes of both ends */
static uint8_t source[200000], sink[200000];

static void narrow_probe(
	struct weft_port *port, uint32_t peer, uint32_t bytes, uint32_t planes, uint32_t token)
{
	for (uint32_t i = 0; i < 2; i++)
		if (bytes > limit_bytes[i])
			planes &= ~(1u << i);
	if (planes)
		weft_udp_mtu_probe(port, peer, bytes, planes, token);
}

static struct live_port_kind narrow_kind;

static void open_narrow(struct weft_live **live)
{
	*live = open_plain();
	narrow_kind = *(*live)->kind;
	narrow_kind.mtu_probe = narrow_probe;
	(*live)->kind = &narrow_kind;
}

struct server {
	struct weft_live *live;
	struct weft_session session, second;
	uint32_t rkey;
	bool has_two;
	atomic_bool stop;
	pthread_t thread;
};

static void take_one(struct server *s, struct weft_session *session)
{
	struct weft_meeting *meeting;
	char why[256] = "";

	if (weft_live_accept(s->live, 5 * SECOND, &meeting, why, sizeof(why)) != 1 ||
		weft_live_answer(meeting, NULL, session, why, sizeof(why)))
		CHECK_FAIL("%s", why);
}

static void *serve(void *arg)
{
	struct server *s = arg;

	take_one(s, &s->session);
	if (s->has_two)
		take_one(s, &s->second);
	while (!atomic_load(&s->stop))
		weft_pump_step(weft_live_pump(s->live), 1000000);
	return NULL;
}

static void write_all(struct weft_live *live, struct weft_session *session, uint32_t rkey)
{
	struct weft_work work = { .data = source, .len_bytes = sizeof(source), .rkey = rkey };
	uint64_t end = weft_clock_now(NULL) + 5 * SECOND;
	struct weft_done done = { .status = WEFT_FLUSHED };

	CHECK_EQ(weft_post_write(session->qp[0], &work), 0);
	while (!weft_poll(weft_live_endpoint(live), 0, &done, 1) && weft_clock_now(NULL) < end)
		weft_pump_step(weft_live_pump(live), 1000000);
	CHECK_EQ(done.status, WEFT_OK);
	CHECK_MEM(sink, source, sizeof(source));
}

static uint32_t denied_planes(const struct weft_live *live, uint32_t pathset)
{
	struct weft_path_info path;
	uint32_t denied = 0;

	for (uint32_t i = 0; !weft_path_info(live->ep, pathset, i, &path); i++)
		denied |= (path.state == WEFT_PATH_DENIED ? 1u : 0) << path.port;
	return denied;
}

static void begin(struct server *server, struct weft_live **live)
{
	open_narrow(&server->live);
	open_narrow(live);
	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = (uint8_t)(i * i >> 3);
	memset(sink, 0, sizeof(sink));
	REQUIRE(!weft_live_listen(server->live, PORT, error, sizeof(error)));
	REQUIRE(!weft_region_add(weft_live_endpoint(server->live), 0, sink, sizeof(sink), 0,
		WEFT_ACCESS_REMOTE_WRITE, 5, &server->rkey));
	REQUIRE(!pthread_create(&server->thread, NULL, serve, server));
}

static uint32_t join(struct weft_live *live, struct weft_session *session)
{
	if (weft_live_connect(
		    live, "127.0.0.1", PORT, 1, NULL, SECOND, session, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	REQUIRE(session->n_qps == 1);
	return session->mtu_bytes;
}

/* Returns the path MTU that both ends have, and writes by it. */
static uint32_t meet(uint32_t limit0, uint32_t limit1, uint32_t offer_bytes, uint32_t *denied)
{
	struct server server = { 0 };
	struct weft_session session;
	struct weft_qp_info info, other;
	struct weft_live *live;

	limit_bytes[0] = limit0;
	limit_bytes[1] = limit1;
	begin(&server, &live);
	live->udp.mtu_bytes = offer_bytes ? offer_bytes : live->udp.mtu_bytes;
	live->finds_mtu = !offer_bytes; /* as --mtu has it */
	(void)join(live, &session);
	weft_qp_info(session.qp[0], &info);
	write_all(live, &session, server.rkey);
	*denied = denied_planes(live, session.pathset);
	atomic_store(&server.stop, true);
	pthread_join(server.thread, NULL);
	weft_qp_info(server.session.qp[0], &other);
	CHECK_EQ(other.mtu_bytes, info.mtu_bytes);
	weft_session_close(live, &session);
	weft_session_close(server.live, &server.session);
	weft_live_close(live);
	weft_live_close(server.live);
	return info.mtu_bytes;
}

TEST(live_find_mtu__takes_what_interfaces_carry_where_it_comes_through)
{
	uint32_t denied;

	CHECK_EQ(meet(9000, 9000, 0, &denied), 8192);
	CHECK_EQ(denied, 0);
}

TEST(live_find_mtu__finds_the_largest_that_every_plane_carries)
{
	uint32_t denied;

	CHECK_EQ(meet(5000, 5000, 0, &denied), 4096);
	CHECK_EQ(denied, 0);
	CHECK_EQ(meet(1500, 1500, 0, &denied), 1408);
	CHECK_EQ(denied, 0);
}

TEST(live_find_mtu__leaves_a_plane_that_carries_less_than_the_other)
{
	uint32_t denied;

	CHECK_EQ(meet(9000, 1500, 0, &denied), 8192);
	CHECK_EQ(denied, 2);
}

TEST(live_find_mtu__is_any_ethernets_where_nobody_answers)
{
	uint32_t denied;

	CHECK_EQ(meet(0, 0, 0, &denied), 1024);
	CHECK_EQ(denied, 0);
}

TEST(live_find_mtu__is_the_smaller_of_what_two_ends_may_use)
{
	uint32_t denied;

	CHECK_EQ(meet(9000, 9000, 3000, &denied), 3000);
	CHECK_EQ(meet(9000, 9000, 512, &denied), 512);
}

/* Sessions with one peer share its paths; what the first has found may be so no more. */
TEST(live_find_mtu__asks_again_for_each_session)
{
	struct server server = { .has_two = true };
	struct weft_session first, second;
	struct weft_live *live;

	limit_bytes[0] = 9000;
	limit_bytes[1] = 1500;
	begin(&server, &live);
	CHECK_EQ(join(live, &first), 8192);
	CHECK_EQ(denied_planes(live, first.pathset), 2);
	limit_bytes[0] = 2500;
	limit_bytes[1] = 2500;
	CHECK_EQ(join(live, &second), 2048);
	CHECK_EQ(second.pathset, first.pathset);
	CHECK_EQ(denied_planes(live, second.pathset), 2); /* the first's packets are long yet */
	write_all(live, &second, server.rkey);
	atomic_store(&server.stop, true);
	pthread_join(server.thread, NULL);
	CHECK_EQ(denied_planes(server.live, server.second.pathset), 2);
	weft_session_close(live, &first);
	weft_session_close(live, &second);
	weft_session_close(server.live, &server.session);
	weft_session_close(server.live, &server.second);
	weft_live_close(live);
	weft_live_close(server.live);
}
