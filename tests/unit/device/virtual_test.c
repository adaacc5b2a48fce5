/* SPDX-License-Identifier: BSD-2-Clause */
/* What a device promises, by a clock of ours: exactly once, in order, and when. */
#include "virtual.h"

enum { WORKS = 96, GREETING_NS = 60 * US };

/* ---- what connected queue pairs carry ---- */

/* Each kind in turn, to places of their own; operands and contents follow from the number. */
static void post_nth(struct world *w, uint32_t i)
{
	static const uint32_t ops[] = { WEFT_DEV_WRITE, WEFT_DEV_SEND, WEFT_DEV_READ,
		WEFT_DEV_FETCH_ADD, WEFT_DEV_WRITE_IMM };
	struct side *s = &w->side[0], *peer = &w->side[1];
	uint32_t op = ops[i % WEFT_COUNT(ops)], bytes = op == WEFT_DEV_FETCH_ADD ? 8 : 300;
	struct weft_dev_send send = to_memory(peer, i, op, 512 * i);

	if (op == WEFT_DEV_FETCH_ADD) {
		send.remote_va = VA + SIDE_BYTES - 8;
		send.operand[0] = 1;
	}
	send.imm = i;
	if (op == WEFT_DEV_SEND || op == WEFT_DEV_WRITE_IMM)
		side_recv(peer, i, 512 * i, 300);
	if (op == WEFT_DEV_READ)
		memset(peer->memory + 512 * i, (int)i + 1, bytes);
	else if (bytes > 8)
		memset(s->memory + 512 * i, (int)i + 1, bytes);
	side_post(s, send, 512 * i, bytes);
}

static void check_nth(const struct world *w, uint32_t i)
{
	const uint8_t *own = w->side[0].memory + 512 * i, *peer = w->side[1].memory + 512 * i;
	uint64_t before;

	if (i % 5 == 3) {
		memcpy(&before, own, 8);
		CHECK_EQ(before, i / 5); /* each addition once, in order */
		return;
	}
	for (uint32_t k = 0; k < 300; k++)
		if (own[k] != (uint8_t)(i + 1) || peer[k] != (uint8_t)(i + 1)) {
			CHECK_FAIL("work %u, byte %u: %u %u", i, k, own[k], peer[k]);
			return;
		}
}

/* Returns the digest of all packets. */
static uint64_t carry(uint64_t seed, uint32_t loss_ppm)
{
	struct world *w = world_open(seed);
	uint32_t recvs = 0;

	world_loss(w, loss_ppm);
	world_connect(w, WEFT_DEV_EXTENDED);
	for (uint32_t i = 0; i < WORKS; i++) {
		post_nth(w, i);
		world_until(w, weft_loop_now(w->loop) + 5 * US);
		recvs += i % 5 == 1 || i % 5 == 4;
	}
	CHECK(side_wait(&w->side[0], WORKS, 4 * SECOND));
	CHECK(side_wait(&w->side[1], recvs, SECOND));
	world_until(w, weft_loop_now(w->loop) + SECOND); /* nothing comes twice */
	CHECK_EQ(w->side[0].n, WORKS);
	CHECK_EQ(w->side[1].n, recvs);
	for (uint32_t i = 0; i < w->side[0].n; i++) {
		CHECK_EQ(w->side[0].wcs[i].status, WEFT_DEV_OK);
		CHECK_EQ(w->side[0].wcs[i].id, i);
		check_nth(w, i);
	}
	for (uint32_t i = 0; i < w->side[1].n; i++) {
		CHECK_EQ(w->side[1].wcs[i].status, WEFT_DEV_OK);
		CHECK_EQ(w->side[1].wcs[i].id, i / 2 * 5 + (i % 2 ? 4 : 1));
	}
	if (loss_ppm)
		CHECK(weft_loop_stats(w->loop)->lost > 0);
	uint64_t digest = weft_loop_stats(w->loop)->digest;

	world_close(w);
	return digest;
}

TEST(connected__every_work_once_and_in_order_whatever_is_lost)
{
	for (uint64_t seed = 1; seed <= 6; seed++)
		(void)carry(seed, seed % 3 * 40000);
}

TEST(connected__same_seed_same_packets)
{
	uint64_t first = carry(7, 50000);

	CHECK_EQ(carry(7, 50000), first);
	CHECK(carry(8, 50000) != first);
}

/* ---- when ---- */

/* The network takes nothing any more, from now until then. */
static void cut(struct world *w, uint32_t src, uint64_t until_ns)
{
	struct weft_loop_fault fault = { .src = src,
		.dst = WEFT_LOOP_ANY,
		.plane = WEFT_LOOP_ANY,
		.uplink = WEFT_LOOP_ANY,
		.from_ns = weft_loop_now(w->loop),
		.until_ns = until_ns,
		.loss_ppm = 1000000 };

	CHECK_EQ(weft_loop_fault(w->loop, &fault), 0);
}

static void die(struct world *w, uint32_t index)
{
	cut(w, index, WEFT_NEVER);
	w->side[index].is_dead = true;
	weft_loop_attach_run(w->loop, index, NULL, NULL);
}

/* A peer dies with work under way: it ends when the program said, not sooner and not much later. */
TEST(time_out__ends_when_the_program_said)
{
	static const struct {
		uint8_t timeout, retry;
		uint64_t ns;
	} rows[] = { { 14, 7, 200 * MS }, /* 134 ms: the peer may be waiting for a CPU */
		{ 16, 7, (UINT64_C(1024) << 16) * 8 }, { 17, 2, (UINT64_C(1024) << 17) * 3 },
		{ 20, 3, (UINT64_C(1024) << 20) * 4 } };

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct world *w = world_open(i + 1);
		struct side *s = &w->side[0], *peer = &w->side[1];
		uint64_t began_ns, ns;

		for (unsigned k = 0; k < 2; k++)
			side_open_qp(&w->side[k], WEFT_DEV_EXTENDED);
		for (unsigned k = 0; k < 2; k++)
			side_move(&w->side[k], &w->side[1 - k], rows[i].timeout, rows[i].retry);
		side_post(s, to_memory(peer, 1, WEFT_DEV_WRITE, 0), 0, 64);
		REQUIRE(side_wait(s, 1, SECOND));
		CHECK_EQ(s->wcs[0].status, WEFT_DEV_OK);
		die(w, 1);
		began_ns = weft_loop_now(w->loop);
		for (uint64_t id = 2; id < 5; id++)
			side_post(s, to_memory(peer, id, WEFT_DEV_WRITE, 0), 0, 64);
		CHECK(side_wait(s, 4, 60 * SECOND));
		ns = weft_loop_now(w->loop) - began_ns;
		if (ns < rows[i].ns || ns > rows[i].ns + rows[i].ns / 4)
			CHECK_FAIL("row %zu: %" PRIu64 " ns for %" PRIu64, i, ns, rows[i].ns);
		CHECK_EQ(s->wcs[1].status, WEFT_DEV_RETRY_EXC_ERR);
		CHECK_EQ(s->wcs[1].id, 2);
		CHECK_EQ(s->wcs[2].status, WEFT_DEV_WR_FLUSH_ERR);
		CHECK_EQ(s->wcs[3].status, WEFT_DEV_WR_FLUSH_ERR);
		world_close(w);
	}
}

/* Both directions are silent for less than the time-out: late, and that is all. */
TEST(time_out__outlives_a_shorter_silence)
{
	struct world *w = world_open(3);
	struct side *s = &w->side[0], *peer = &w->side[1];

	world_connect(w, WEFT_DEV_STRICT);
	side_post(s, to_memory(peer, 1, WEFT_DEV_WRITE, 0), 0, 64);
	REQUIRE(side_wait(s, 1, SECOND));
	uint64_t until_ns = weft_loop_now(w->loop) + 400 * MS;

	cut(w, WEFT_LOOP_ANY, until_ns);
	side_post(s, to_memory(peer, 2, WEFT_DEV_WRITE, 0), 0, 64);
	CHECK(side_wait(s, 2, SECOND));
	CHECK(weft_loop_now(w->loop) > until_ns);
	CHECK(weft_loop_now(w->loop) < until_ns + (UINT64_C(1024) << TIMEOUT) + MS);
	CHECK_EQ(s->wcs[1].status, WEFT_DEV_OK);
	world_close(w);
}

/* Nobody is there who could be greeted. */
TEST(greeting__gives_up_when_the_program_said)
{
	struct world *w = world_open(4);
	struct side *s = &w->side[0];
	uint64_t budget_ns = (UINT64_C(1024) << TIMEOUT) * (RETRY + 1);

	for (unsigned i = 0; i < 2; i++)
		side_open_qp(&w->side[i], WEFT_DEV_STRICT);
	die(w, 1);
	side_move(s, &w->side[1], TIMEOUT, RETRY);
	side_post(s, to_memory(&w->side[1], 1, WEFT_DEV_WRITE, 0), 0, 64);
	CHECK(side_wait(s, 1, 60 * SECOND));
	CHECK_EQ(s->wcs[0].status, WEFT_DEV_RETRY_EXC_ERR);
	CHECK(weft_loop_now(w->loop) > budget_ns);
	CHECK(weft_loop_now(w->loop) < budget_ns + 65 * MS); /* two questions are 64 ms apart */
	/* 1, 2, 4, ... 32 ms after the one before, and then 64 each time. */
	CHECK_EQ(w->greetings, 7 + (budget_ns / MS - 63) / 64);
	world_close(w);
}

TEST(greeting__comes_through_whatever_is_lost)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct world *w = world_open(seed);

		w->greeting_loss_ppm = 400000;
		for (unsigned i = 0; i < 2; i++)
			side_open_qp(&w->side[i], WEFT_DEV_STRICT);
		for (unsigned i = 0; i < 2; i++)
			side_move(&w->side[i], &w->side[1 - i], TIMEOUT + 2, RETRY);
		side_post(&w->side[0], to_memory(&w->side[1], 1, WEFT_DEV_WRITE, 0), 0, 64);
		CHECK(side_wait(&w->side[0], 1, 2 * SECOND));
		CHECK_EQ(w->side[0].wcs[0].status, WEFT_DEV_OK);
		world_close(w);
	}
}

/* The last ACK is lost and its sender closes: it goes on acknowledging for as long as it promises,
 * so that what has arrived is not told as failed; and then its place is free. */
TEST(time_wait__acknowledges_what_came_before_the_end)
{
	struct world *w = world_open(5);
	struct side *s = &w->side[0], *peer = &w->side[1];

	world_connect(w, WEFT_DEV_EXTENDED);
	side_post(s, to_memory(peer, 1, WEFT_DEV_WRITE, 0), 0, 64);
	REQUIRE(side_wait(s, 1, SECOND));
	cut(w, 1, weft_loop_now(w->loop) + 60 * MS);
	side_recv(peer, 9, 1024, 64);
	side_post(s, to_memory(peer, 2, WEFT_DEV_SEND, 0), 0, 64);
	REQUIRE(side_wait(peer, 1, SECOND));
	uint64_t closed_ns = weft_loop_now(w->loop);

	side_close_qp(peer);
	CHECK_EQ(peer->dev->n_zombies, 1);
	CHECK(side_wait(s, 2, SECOND));
	CHECK_EQ(s->wcs[1].status, WEFT_DEV_OK);
	CHECK(weft_loop_now(w->loop) < closed_ns + 150 * MS);
	world_until(w, closed_ns + 149 * MS);
	CHECK_EQ(peer->dev->n_zombies, 1);
	world_until(w, closed_ns + 172 * MS); /* they are looked for every 20 ms */
	CHECK_EQ(peer->dev->n_zombies, 0);
	/* To nobody: the engine of the other end is told so by nothing but silence. */
	uint64_t began_ns = weft_loop_now(w->loop);

	side_post(s, to_memory(peer, 3, WEFT_DEV_WRITE, 0), 0, 64);
	CHECK(side_wait(s, 3, 60 * SECOND));
	CHECK_EQ(s->wcs[2].status, WEFT_DEV_RETRY_EXC_ERR);
	CHECK(weft_loop_now(w->loop) >= began_ns + (UINT64_C(1024) << TIMEOUT) * (RETRY + 1));
	world_close(w);
}

/* Closing waits for last ACKs, by the device's clock. */
TEST(weft_dev_close__lets_its_own_time_pass)
{
	struct world *w = world_open(6);

	world_connect(w, WEFT_DEV_EXTENDED);
	side_post(&w->side[0], to_memory(&w->side[1], 1, WEFT_DEV_WRITE, 0), 0, 64);
	REQUIRE(side_wait(&w->side[0], 1, SECOND));
	struct weft_loop *loop = w->loop;
	uint64_t before_ns = weft_loop_now(loop);

	side_close_qp(&w->side[0]);
	CHECK_EQ(weft_loop_now(loop), before_ns);
	CHECK_EQ(w->side[0].dev->n_zombies, 1);
	w->side[0].dev->zombies[0].until_ns = before_ns + 5 * MS;
	world_sleep(&w->side[0], 26 * MS);
	CHECK_EQ(w->side[0].dev->n_zombies, 0);
	world_close(w);
}

/* ---- planes ---- */

TEST(plane__one_that_dies_is_told_and_costs_no_work)
{
	struct world *w = world_open(9);
	struct side *s = &w->side[0];
	struct weft_loop_fault fault = { .src = 0,
		.plane = 1,
		.from_ns = 10 * MS,
		.until_ns = 30 * MS,
		.carrier = true };
	struct weft_dev_event event = { 0 };

	CHECK_EQ(weft_loop_fault(w->loop, &fault), 0);
	world_connect(w, WEFT_DEV_EXTENDED);
	for (uint32_t i = 0; i < 40; i++) {
		side_post(s, to_memory(&w->side[1], i, WEFT_DEV_WRITE, 1024 * i), 1024 * i, 1000);
		world_until(w, (i + 1) * MS);
		if (i == 9)
			CHECK_EQ(s->dev->planes_up, 1);
	}
	CHECK(side_wait(s, 40, SECOND));
	for (uint32_t i = 0; i < s->n; i++)
		CHECK_EQ(s->wcs[i].status, WEFT_DEV_OK);
	for (uint32_t i = 0; i < 1; i++) {
		CHECK_EQ(weft_dev_event_get(s->dev, &event), 0);
		CHECK_EQ(event.number, 1);
		CHECK_EQ(event.kind, WEFT_DEV_PLANE_DOWN);
	}
	CHECK_EQ(weft_dev_event_get(s->dev, &event), 0);
	CHECK_EQ(event.kind, WEFT_DEV_PLANE_UP);
	CHECK_EQ(s->dev->planes_up, 3);
	world_close(w);
}

/* ---- datagrams ---- */

static struct weft_dev_ah *open_datagrams(struct world *w)
{
	struct weft_dev_ah *ah = NULL;
	uint8_t gid[16];

	for (unsigned i = 0; i < 2; i++) {
		struct weft_dev_qp_attr attr = { .state = WEFT_DEV_RTR };

		side_open_qp(&w->side[i], WEFT_DEV_DATAGRAM);
		CHECK_EQ(weft_dev_qp_modify(w->side[i].qp, &attr, WEFT_DEV_SET_STATE), 0);
		attr.state = WEFT_DEV_RTS;
		CHECK_EQ(weft_dev_qp_modify(w->side[i].qp, &attr, WEFT_DEV_SET_STATE), 0);
	}
	side_addr(1, 0, gid);
	CHECK_EQ(weft_dev_ah_open(w->side[0].pd, gid, &ah), 0);
	return ah;
}

static void send_datagram(struct world *w, struct weft_dev_ah *ah, uint32_t i)
{
	struct weft_dev_send send = { .id = i,
		.op = WEFT_DEV_SEND_IMM,
		.qkey = 77,
		.imm = i,
		.ah = ah,
		.peer_qpn = weft_dev_qp_number(w->side[1].qp) };

	memset(w->side[0].memory + 64 * i, (int)i, 64);
	side_post(&w->side[0], send, 64 * i, 64);
}

static uint64_t talk(uint64_t seed)
{
	struct world *w = world_open(seed);
	struct weft_dev_ah *ah;

	world_loss(w, 100000);
	ah = open_datagrams(w);
	for (uint32_t i = 0; i < 100; i++) {
		side_recv(&w->side[1], i, 256 * i, 256);
		send_datagram(w, ah, i);
	}
	CHECK(side_wait(&w->side[0], 100, SECOND));
	CHECK(side_wait(&w->side[1], 100, SECOND));
	for (uint32_t i = 0; i < w->side[1].n; i++) {
		const struct weft_dev_wc *wc = &w->side[1].wcs[i];

		CHECK_EQ(w->side[0].wcs[i].id, i);
		CHECK_EQ(wc->status, WEFT_DEV_OK);
		CHECK_EQ(wc->imm, i);
		CHECK_EQ(wc->len_bytes, WEFT_GRH_BYTES + 64);
		CHECK_EQ(w->side[1].memory[256 * wc->id + WEFT_GRH_BYTES], (uint8_t)i);
		CHECK_EQ(w->side[1].memory[256 * wc->id + WEFT_GRH_BYTES + 63], (uint8_t)i);
	}
	uint64_t digest = weft_loop_stats(w->loop)->digest;

	CHECK_EQ(weft_dev_ah_close(ah), 0);
	world_close(w);
	return digest;
}

TEST(datagrams__each_arrives_once_and_in_order)
{
	uint64_t first = talk(1);

	CHECK_EQ(talk(1), first);
	CHECK(talk(2) != first);
}

/* To nobody: it has left, as far as one knows, with the last of 20 questions; others at once. */
TEST(datagrams__wait_once_for_a_peer_that_does_not_answer)
{
	struct world *w = world_open(3);
	struct weft_dev_ah *ah = open_datagrams(w);

	die(w, 1);
	send_datagram(w, ah, 0);
	CHECK(!side_wait(&w->side[0], 1, 894 * MS)); /* 63 ms, and 13 times 64 */
	CHECK(side_wait(&w->side[0], 1, 2 * MS));
	CHECK_EQ(w->side[0].wcs[0].status, WEFT_DEV_OK);
	CHECK_EQ(w->greetings, CONTACT_TRIES);
	send_datagram(w, ah, 1);
	CHECK(side_wait(&w->side[0], 2, MS));
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	world_close(w);
}
