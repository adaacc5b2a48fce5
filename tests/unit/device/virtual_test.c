/* SPDX-License-Identifier: BSD-2-Clause */
/* What a device promises, by a clock of ours: exactly once, in order, and when. */
#include "virtual.h"

#define VA UINT64_C(0x100000) /* packets name memory so: digests must not depend on this process */
#define TIMEOUT 16u           /* 67 ms a try */
#define RETRY 7u
#define BUDGET_NS ((UINT64_C(1024) << TIMEOUT) * (RETRY + 1))

enum { WORKS = 96, BYTES = 300, PLACE = 512 };

/* ---- what connected queue pairs carry ---- */

/* Each kind in turn, to places of their own; operands and contents follow from the number. */
static void post_nth(struct side *s[2], uint32_t rkey, uint32_t i)
{
	static const uint32_t ops[] = { WEFT_DEV_WRITE, WEFT_DEV_SEND, WEFT_DEV_READ,
		WEFT_DEV_FETCH_ADD, WEFT_DEV_WRITE_IMM };
	uint32_t op = ops[i % WEFT_COUNT(ops)], bytes = op == WEFT_DEV_FETCH_ADD ? 8 : BYTES;
	struct weft_dev_send send = { .id = i,
		.op = op,
		.flags = WEFT_DEV_SIGNALED,
		.remote_va = VA + (op == WEFT_DEV_FETCH_ADD ? SIDE_BYTES - 8 : PLACE * i),
		.rkey = rkey,
		.imm = i,
		.operand = { 1 } };

	if (op == WEFT_DEV_SEND || op == WEFT_DEV_WRITE_IMM)
		CHECK_EQ(side_recv(s[1], i, PLACE * i, BYTES), 0);
	if (op == WEFT_DEV_READ)
		memset(s[1]->memory + PLACE * i, (int)i + 1, bytes);
	else if (op != WEFT_DEV_FETCH_ADD)
		memset(s[0]->memory + PLACE * i, (int)i + 1, bytes);
	CHECK_EQ(side_post(s[0], send, PLACE * i, bytes), 0);
}

static void check_nth(struct side *const s[2], uint32_t i)
{
	const uint8_t *own = s[0]->memory + PLACE * i, *peer = s[1]->memory + PLACE * i;
	uint64_t before;

	if (i % 5 == 3) {
		memcpy(&before, own, 8);
		CHECK_EQ(before, i / 5); /* each addition once, in order */
		return;
	}
	for (uint32_t k = 0; k < BYTES; k++)
		if (own[k] != (uint8_t)(i + 1) || peer[k] != (uint8_t)(i + 1)) {
			CHECK_FAIL("work %u, byte %u: %u %u", i, k, own[k], peer[k]);
			return;
		}
}

/* The completions of so many works, of the first as `ids` says, and no more. */
static void check_completions(struct side *s, uint32_t n, uint32_t (*id)(uint32_t i))
{
	struct weft_dev_wc wc;

	for (uint32_t i = 0; i < n; i++) {
		wc = side_wait(s);
		REQUIRE(wc.status == WEFT_DEV_OK);
		CHECK_EQ(wc.id, id(i));
	}
	CHECK_EQ(weft_dev_cq_poll(s->cq, &wc, 1), 0);
}

static uint32_t each(uint32_t i)
{
	return i;
}

static uint32_t with_receive(uint32_t i)
{
	return i / 2 * 5 + (i % 2 ? 4 : 1);
}

/* Returns the digest of all packets. */
static uint64_t carry(uint64_t seed, uint32_t loss_ppm)
{
	struct side *s[2];
	struct weft_dev_mr *mr;
	uint32_t recvs = 0;

	ground.seed = seed;
	pair_open(s, WEFT_DEV_EXTENDED);
	CHECK_EQ(weft_dev_mr_open(s[1]->pd, s[1]->memory, SIDE_BYTES, VA, 15, &mr), 0);
	ground_lose(WEFT_LOOP_ANY, loss_ppm, WEFT_NEVER);
	ground.loss_ppm = loss_ppm;
	for (uint32_t i = 0; i < WORKS; i++) {
		post_nth(s, weft_dev_mr_key(mr), i);
		ground_sleep(5 * US);
		recvs += i % 5 == 1 || i % 5 == 4;
	}
	ground_sleep(SECOND); /* nothing comes twice */
	check_completions(s[0], WORKS, each);
	check_completions(s[1], recvs, with_receive);
	for (uint32_t i = 0; i < WORKS; i++)
		check_nth(s, i);
	CHECK_EQ(weft_loop_stats(ground.loop)->lost > 0, loss_ppm > 0);
	uint64_t digest = weft_loop_stats(ground.loop)->digest;

	CHECK_EQ(weft_dev_mr_close(mr), 0);
	pair_close(s);
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

static int write_to(struct side *s, struct side *peer, uint64_t id)
{
	struct weft_dev_send send = to_memory(peer, WEFT_DEV_WRITE, 0);

	send.id = id;
	return side_post(s, send, 0, 64);
}

static void open_for(struct side *s[2], uint8_t timeout, uint8_t retry)
{
	for (unsigned i = 0; i < 2; i++) {
		s[i] = side_open();
		side_open_qp(s[i], WEFT_DEV_EXTENDED, NULL);
		side_init(s[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		side_ready_for(s[i], s[1 - i], timeout, retry);
}

/* Both know of each other. */
static void open_connected(struct side *s[2], uint8_t timeout, uint8_t retry)
{
	open_for(s, timeout, retry);
	CHECK_EQ(write_to(s[0], s[1], 1), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
}

/* A peer dies with work under way: it ends when the program said, not sooner and not much later. */
TEST(time_out__ends_when_the_program_said)
{
	static const struct {
		uint8_t timeout, retry;
		uint64_t ns;
	} rows[] = { { 14, 7, 200 * MS }, /* 134 ms: the peer may be waiting for a CPU */
		{ TIMEOUT, RETRY, BUDGET_NS }, { 17, 2, (UINT64_C(1024) << 17) * 3 },
		{ 20, 3, (UINT64_C(1024) << 20) * 4 } };

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct side *s[2];

		open_connected(s, rows[i].timeout, rows[i].retry);
		ground_die(s[1]->dev);
		uint64_t ns, began_ns = ground_now();

		for (uint64_t id = 2; id < 5; id++)
			CHECK_EQ(write_to(s[0], s[1], id), 0);
		struct weft_dev_wc wc = side_wait(s[0]);

		CHECK_EQ(wc.status, WEFT_DEV_RETRY_EXC_ERR);
		CHECK_EQ(wc.id, 2);
		ns = ground_now() - began_ns;
		if (ns < rows[i].ns || ns > rows[i].ns + rows[i].ns / 4)
			CHECK_FAIL("row %zu: %" PRIu64 " ns for %" PRIu64, i, ns, rows[i].ns);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_WR_FLUSH_ERR);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_WR_FLUSH_ERR);
		pair_close(s);
	}
}

/* Both directions are silent for less than the time-out: late, and that is all. */
TEST(time_out__outlives_a_shorter_silence)
{
	struct side *s[2];

	open_connected(s, TIMEOUT, RETRY);
	uint64_t until_ns = ground_now() + 400 * MS;

	ground_lose(WEFT_LOOP_ANY, 1000000, until_ns);
	CHECK_EQ(write_to(s[0], s[1], 2), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	CHECK(ground_now() > until_ns);
	CHECK(ground_now() < until_ns + (UINT64_C(1024) << TIMEOUT) + MS);
	pair_close(s);
}

/* Nobody is there who could be greeted: asked after 1, 2, 4, ... 32 ms, and then every 64. */
TEST(greeting__gives_up_when_the_program_said)
{
	struct side *s[2];

	for (unsigned i = 0; i < 2; i++) {
		s[i] = side_open();
		side_open_qp(s[i], WEFT_DEV_STRICT, NULL);
		side_init(s[i]);
	}
	ground_die(s[1]->dev);
	uint64_t began_ns = ground_now();

	side_ready_for(s[0], s[1], TIMEOUT, RETRY);
	CHECK_EQ(write_to(s[0], s[1], 1), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_RETRY_EXC_ERR);
	CHECK(ground_now() > began_ns + BUDGET_NS);
	CHECK(ground_now() < began_ns + BUDGET_NS + 65 * MS);
	CHECK_EQ(ground.greetings, 7 + (BUDGET_NS / MS - 63) / 64);
	pair_close(s);
}

TEST(greeting__comes_through_whatever_is_lost)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct side *s[2];

		ground.seed = seed;
		ground.loss_ppm = 400000;
		open_for(s, TIMEOUT + 2, RETRY);
		CHECK_EQ(write_to(s[0], s[1], 1), 0);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
		pair_close(s);
	}
}

/* Its last ACKs are lost, and who sent them closes: he goes on acknowledging for as long as he
 * promises, so that what has arrived is not told as failed; and then his place is free. */
TEST(time_wait__acknowledges_what_came_before_the_end)
{
	struct side *s[2];

	open_connected(s, TIMEOUT, RETRY);
	ground_lose(s[1]->dev->number, 1000000, ground_now() + 60 * MS);
	CHECK_EQ(side_recv(s[1], 9, 1024, 64), 0);
	struct weft_dev_send send = { .op = WEFT_DEV_SEND, .flags = WEFT_DEV_SIGNALED };

	CHECK_EQ(side_post(s[0], send, 0, 64), 0);
	CHECK_EQ(side_wait(s[1]).id, 9);
	uint64_t closed_ns = ground_now();

	CHECK_EQ(weft_dev_qp_close(s[1]->qp), 0);
	s[1]->qp = NULL;
	CHECK_EQ(s[1]->dev->n_zombies, 1);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	CHECK(ground_now() > closed_ns + 50 * MS && ground_now() < closed_ns + 150 * MS);
	ground_until(closed_ns + 149 * MS);
	CHECK_EQ(s[1]->dev->n_zombies, 1);
	ground_until(closed_ns + 172 * MS); /* they are looked for every 20 ms */
	CHECK_EQ(s[1]->dev->n_zombies, 0);
	/* To nobody: nothing tells the other end so but silence. */
	uint64_t began_ns = ground_now();

	CHECK_EQ(write_to(s[0], s[1], 3), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_RETRY_EXC_ERR);
	CHECK(ground_now() >= began_ns + BUDGET_NS);
	pair_close(s);
}

/* Closing waits for last ACKs, by the device's clock. */
TEST(weft_dev_close__lets_its_own_time_pass)
{
	struct side *s[2];

	open_connected(s, TIMEOUT, RETRY);
	struct weft_dev *dev = s[0]->dev;
	uint64_t closed_ns = ground_now();

	CHECK_EQ(weft_dev_qp_close(s[0]->qp), 0);
	s[0]->qp = NULL;
	CHECK_EQ(ground_now(), closed_ns);
	CHECK_EQ(dev->n_zombies, 1);
	side_close(s[0]);
	CHECK(ground_now() >= closed_ns + 150 * MS && ground_now() < closed_ns + 151 * MS);
	side_close(s[1]);
}

/* ---- planes ---- */

TEST(plane__one_that_dies_is_told_and_costs_no_work)
{
	struct side *s[2];
	struct weft_dev_event event = { 0 };

	open_connected(s, TIMEOUT, RETRY);
	struct weft_loop_fault fault = { .src = s[0]->dev->number,
		.plane = 1,
		.from_ns = ground_now() + 10 * MS,
		.until_ns = ground_now() + 30 * MS,
		.carrier = true };

	CHECK_EQ(weft_loop_fault(ground.loop, &fault), 0);
	for (uint32_t i = 0; i < 40; i++) {
		CHECK_EQ(write_to(s[0], s[1], i), 0);
		ground_sleep(MS);
		CHECK_EQ(s[0]->dev->planes_up, i >= 9 && i < 29 ? 1 : 3);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	}
	for (uint32_t i = 0; i < 2; i++) {
		CHECK_EQ(weft_dev_event_get(s[0]->dev, &event), 0);
		CHECK_EQ(event.number, 1);
		CHECK_EQ(event.kind, i ? WEFT_DEV_PLANE_UP : WEFT_DEV_PLANE_DOWN);
	}
	pair_close(s);
}

/* ---- datagrams ---- */

static int send_datagram(struct side *s[2], struct weft_dev_ah *ah, uint32_t i)
{
	struct weft_dev_send send = { .id = i,
		.op = WEFT_DEV_SEND_IMM,
		.flags = WEFT_DEV_SIGNALED,
		.qkey = 77,
		.imm = i,
		.ah = ah,
		.peer_qpn = weft_dev_qp_number(s[1]->qp) };

	memset(s[0]->memory + 64 * i, (int)i, 64);
	return side_post(s[0], send, 64 * i, 64);
}

static uint64_t talk(uint64_t seed)
{
	struct side *s[2];

	ground.seed = seed;
	struct weft_dev_ah *ah = pair_datagrams(s);

	ground_lose(WEFT_LOOP_ANY, 100000, WEFT_NEVER);
	for (uint32_t i = 0; i < 100; i++) {
		CHECK_EQ(side_recv(s[1], i, 256 * i, 256), 0);
		CHECK_EQ(send_datagram(s, ah, i), 0);
	}
	ground_sleep(SECOND);
	check_completions(s[0], 100, each);
	check_completions(s[1], 100, each);
	for (uint32_t i = 0; i < 100; i++) {
		CHECK_EQ(s[1]->memory[256 * i + WEFT_GRH_BYTES], (uint8_t)i);
		CHECK_EQ(s[1]->memory[256 * i + WEFT_GRH_BYTES + 63], (uint8_t)i);
	}
	uint64_t digest = weft_loop_stats(ground.loop)->digest;

	CHECK_EQ(weft_dev_ah_close(ah), 0);
	pair_close(s);
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
	struct side *s[2];
	struct weft_dev_ah *ah = pair_datagrams(s);
	uint64_t began_ns = ground_now(), asked_ns;

	ground_die(s[1]->dev);
	CHECK_EQ(send_datagram(s, ah, 0), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	asked_ns = ground_now() - began_ns;
	CHECK(asked_ns >= 895 * MS && asked_ns < 896 * MS); /* 63 ms, and 13 times 64 */
	CHECK_EQ(ground.greetings, CONTACT_TRIES);
	CHECK_EQ(send_datagram(s, ah, 1), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	CHECK_EQ(ground_now() - began_ns, asked_ns);
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	pair_close(s);
}
