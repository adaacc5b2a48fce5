/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

/* End 1 reads what end 0 has. */
static struct weft_work read_work(struct world *w, uint64_t id, uint32_t offset, uint32_t len_bytes)
{
	return pair_work(w, 1, WEFT_WORK_READ, id, offset, len_bytes);
}

TEST(weft_post__reads_bring_the_peers_memory_whatever_is_lost)
{
	struct world w = { .check = true, .fault = pair_lossy, .skew_ns = 900 };
	static const uint32_t lens[] = { 1, 4096, 0, 65536, 4097, 7, 30000, 8192 };

	pair_start(&w);
	for (uint32_t i = 0; i < 40; i++) { /* more than may be in flight */
		struct weft_work work = read_work(&w, i, i << 16, lens[i % 8]);

		CHECK_EQ(weft_post(w.qp[1], &work), 0);
	}
	for (uint32_t i = 0; i < 40; i++) {
		struct weft_done done;

		REQUIRE(world_wait(&w, 1, 1, PAIR_SECOND, &done) == 1);
		CHECK_EQ(done.id, i);
		CHECK_EQ(done.kind, WEFT_DONE_READ);
		CHECK_EQ(done.status, WEFT_OK);
		CHECK_EQ(done.len_bytes, lens[i % 8]);
		CHECK(!memcmp(w.memory[1] + (i << 16), w.memory[0] + (i << 16), lens[i % 8]));
		if (lens[i % 8] < 1 << 16)
			CHECK_EQ(w.memory[1][(i << 16) + lens[i % 8]], 0);
	}
	pair_end(&w);
}

TEST(weft_post__a_read_sees_the_writes_before_it)
{
	struct world w = { .check = true, .fault = pair_lossy, .skew_ns = 3000 };

	pair_start(&w);
	for (uint32_t i = 0; i < 16; i++) { /* to there and back */
		struct weft_work out = pair_work(&w, 0, WEFT_WORK_WRITE, 2 * i, i << 16, 50000);
		struct weft_work in = pair_work(&w, 0, WEFT_WORK_READ, 2 * i + 1, i << 16, 50000);

		in.to = w.memory[0] + (1 << 22) + (i << 16);
		CHECK_EQ(weft_post(w.qp[0], &out), 0);
		CHECK_EQ(weft_post(w.qp[0], &in), 0);
	}
	for (uint32_t i = 0; i < 16; i++) {
		pair_expect(&w, 0, 2 * i, WEFT_DONE_WRITE, WEFT_OK);
		pair_expect(&w, 0, 2 * i + 1, WEFT_DONE_READ, WEFT_OK);
		CHECK(!memcmp(w.memory[0] + (1 << 22) + (i << 16), w.memory[0] + (i << 16),
			      50000));
	}
	pair_end(&w);
}

TEST(ext_may_begin__a_fence_waits_for_reads)
{
	struct world w = { .check = true };
	struct weft_pkt pkts[32];

	pair_start(&w);
	struct weft_work in = read_work(&w, 1, 0, 100000);
	struct weft_work out = pair_work(&w, 1, WEFT_WORK_WRITE, 2, 200000, 10);
	struct weft_work fenced = pair_work(&w, 1, WEFT_WORK_WRITE, 3, 0, 10);

	fenced.fence = true;
	CHECK_EQ(weft_post(w.qp[1], &in), 0);
	CHECK_EQ(weft_post(w.qp[1], &out), 0);
	CHECK_EQ(weft_post(w.qp[1], &fenced), 0);
	size_t n = weft_output(w.end[1], pkts, 32, UINT32_MAX, w.now);

	CHECK_EQ(n, 2); /* the request, and what is not fenced */
	for (size_t i = 0; i < n; i++)
		world_fly(&w, 0, &pkts[i], w.now + 5000);
	pair_expect(&w, 1, 1, WEFT_DONE_READ, WEFT_OK);
	pair_expect(&w, 1, 2, WEFT_DONE_WRITE, WEFT_OK);
	pair_expect(&w, 1, 3, WEFT_DONE_WRITE, WEFT_OK);
	pair_end(&w);
}

TEST(settle__atomics_happen_once_whatever_is_lost)
{
	struct world w = { .check = true, .fault = pair_lossy, .skew_ns = 900 };
	uint64_t *there, *results;

	pair_start(&w);
	there = (uint64_t *)(void *)w.memory[1];
	results = (uint64_t *)(void *)(w.memory[0] + (1 << 22));
	*there = 1000;
	for (uint32_t i = 0; i < 60; i++) {
		struct weft_work work = pair_work(&w, 0, WEFT_WORK_FETCH_ADD, i, 0, 8);

		work.to = &results[i];
		work.operand[0] = 3;
		CHECK_EQ(weft_post(w.qp[0], &work), 0);
	}
	for (uint32_t i = 0; i < 60; i++) {
		pair_expect(&w, 0, i, WEFT_DONE_FETCH_ADD, WEFT_OK);
		CHECK_EQ(results[i], 1000 + 3 * i);
	}
	CHECK_EQ(*there, 1180);
	struct weft_work swap = pair_work(&w, 0, WEFT_WORK_CMP_SWAP, 1, 0, 8);

	swap.to = results;
	swap.operand[0] = 1179;
	swap.operand[1] = 7;
	CHECK_EQ(weft_post(w.qp[0], &swap), 0);
	pair_expect(&w, 0, 1, WEFT_DONE_CMP_SWAP, WEFT_OK);
	CHECK_EQ(*there, 1180);
	CHECK_EQ(*results, 1180);
	swap.operand[0] = 1180;
	CHECK_EQ(weft_post(w.qp[0], &swap), 0);
	pair_expect(&w, 0, 1, WEFT_DONE_CMP_SWAP, WEFT_OK);
	CHECK_EQ(*there, 7);
	CHECK_EQ(*results, 1180);
	pair_end(&w);
}

TEST(grant__refuses_in_its_turn)
{
	static const struct {
		uint8_t kind, status;
		uint64_t va;
		uint32_t rkey_change;
		enum weft_drop drop;
	} rows[] = {
		{ WEFT_WORK_READ, WEFT_REMOTE_ACCESS, 0x10000, 0x80000000, WEFT_DROP_BAD_RKEY },
		{ WEFT_WORK_READ, WEFT_REMOTE_ACCESS, 0x10000 + WORLD_MEMORY - 10, 0,
		  WEFT_DROP_OUT_OF_BOUNDS },
		{ WEFT_WORK_READ, WEFT_REMOTE_ACCESS, 0xffff, 0, WEFT_DROP_OUT_OF_BOUNDS },
		{ WEFT_WORK_READ, WEFT_REMOTE_ACCESS, UINT64_MAX - 49, 0,
		  WEFT_DROP_OUT_OF_BOUNDS },
		{ WEFT_WORK_FETCH_ADD, WEFT_REMOTE_ACCESS, 0x10000 + WORLD_MEMORY, 0,
		  WEFT_DROP_OUT_OF_BOUNDS },
		{ WEFT_WORK_FETCH_ADD, WEFT_REMOTE_INVALID, 0x10004, 0, WEFT_DROP_BAD_FIELD },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct world w = { .check = true, .fault = pair_lossy };

		pair_start(&w);
		struct weft_work good = read_work(&w, 1, 0, 100000);
		struct weft_work bad = read_work(&w, 2, 0, 100);

		bad.kind = rows[i].kind;
		bad.remote_va = rows[i].va;
		bad.rkey ^= rows[i].rkey_change;
		CHECK_EQ(weft_post(w.qp[1], &good), 0);
		CHECK_EQ(weft_post(w.qp[1], &bad), 0);
		CHECK_EQ(weft_post(w.qp[1], &good), 0);
		pair_expect(&w, 1, 1, WEFT_DONE_READ, WEFT_OK);
		pair_expect(&w, 1, 2, (uint8_t)(rows[i].kind + 1), rows[i].status);
		pair_expect(&w, 1, 1, WEFT_DONE_READ, WEFT_FLUSHED);
		CHECK(!memcmp(w.memory[1], w.memory[0], 100000));
		/* A guess costs the connection: nothing more is taken or executed. */
		CHECK_EQ(w.qp[0]->state, WEFT_QP_ERROR);
		CHECK_EQ(w.qp[0]->status, WEFT_LOCAL_PROTOCOL);
		CHECK_EQ(weft_stats(w.end[0])->drops[rows[i].drop], 1);
		pair_end(&w);
	}
}

/* What the QP does not do, though the region would allow it. */
TEST(grant__refuses_what_the_qp_is_closed_to)
{
	static const struct {
		uint8_t kind;
		uint32_t deny;
	} rows[] = {
		{ WEFT_WORK_READ, WEFT_ACCESS_REMOTE_READ },
		{ WEFT_WORK_FETCH_ADD, WEFT_ACCESS_REMOTE_ATOMIC },
		{ WEFT_WORK_CMP_SWAP, WEFT_ACCESS_REMOTE_ATOMIC },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows) * 2; i++) {
		struct world w = { .check = true };
		bool denied = i % 2;
		uint8_t kind = rows[i / 2].kind;
		uint64_t before;

		pair_start(&w);
		memcpy(&before, w.memory[0], sizeof(before));
		CHECK_EQ(weft_qp_set_deny(w.qp[0],
				 denied ? rows[i / 2].deny : 7 & ~rows[i / 2].deny), 0);
		struct weft_work work = pair_work(&w, 1, kind, 1, 0, 8);

		work.operand[0] = kind == WEFT_WORK_CMP_SWAP ? before : 1;
		CHECK_EQ(weft_post(w.qp[1], &work), 0);
		pair_expect(&w, 1, 1, (uint8_t)(kind + 1), denied ? WEFT_REMOTE_INVALID : WEFT_OK);
		if (denied)
			CHECK(!memcmp(&before, w.memory[0], sizeof(before)));
		CHECK_EQ(w.qp[0]->state, denied ? WEFT_QP_ERROR : WEFT_QP_RTS);
		pair_end(&w);
	}
}

static bool reach(const struct world *w, uint32_t rkey, uint32_t pd, uint64_t va, uint32_t access)
{
	const struct reach asked = { rkey, pd, 0, 4096, access, va };

	return region_reach(w->end[0], &asked);
}

TEST(region_reach__each_kind_of_access_is_its_own)
{
	struct world w = { .check = true };
	uint32_t rkey;

	pair_start(&w);
	CHECK_EQ(weft_region_add(w.end[0], 0x900000, w.memory[0], 4096, 3,
				 WEFT_ACCESS_REMOTE_READ, 0x12345678, &rkey), 0);
	CHECK(reach(&w, rkey, 3, 0x900000, WEFT_ACCESS_REMOTE_READ));
	CHECK(!reach(&w, rkey, 3, 0x900000, WEFT_ACCESS_REMOTE_ATOMIC));
	CHECK(!reach(&w, rkey, 2, 0x900000, WEFT_ACCESS_REMOTE_READ));
	CHECK(!reach(&w, rkey, 3, 0x900001, WEFT_ACCESS_REMOTE_READ));
	CHECK(!region_place(w.end[0], rkey, 3, 0x900000, 8));
	pair_end(&w);
}

TEST(reads_forget_region__nothing_is_read_from_it_any_more)
{
	struct world w = { .check = true };

	pair_start(&w);
	struct weft_work work = read_work(&w, 1, 0, 4000000);

	CHECK_EQ(weft_post(w.qp[1], &work), 0);
	while (w.delivered_bytes < 400000)
		world_step(&w);
	CHECK_EQ(weft_region_drop(w.end[0], w.rkey[1]), 0);
	uint64_t before = w.delivered_bytes;

	world_run_until(&w, w.now + 50000);
	memset(w.memory[0], 0xee, 4000000); /* it is the application's again */
	pair_expect(&w, 1, 1, WEFT_DONE_READ, WEFT_REMOTE_ACCESS);
	CHECK(w.delivered_bytes - before < 3000000);
	pair_end(&w);
}

TEST(weft_qp_set_retry__lets_reads_begin_that_were_not_agreed_at_first)
{
	struct world w = { .check = true };
	struct weft_config config;

	pair_config(&config);
	world_open(&w, &config);
	struct weft_qp_attr attr = pair_attr(&w);

	attr.rd_atomic_tx = attr.rd_atomic_rx = 0;
	pair_open(&w, &attr);
	pair_join(&w, &attr);
	struct weft_work work = read_work(&w, 1, 0, 5000);

	CHECK_EQ(weft_post(w.qp[1], &work), WEFT_EINVAL);
	attr.rd_atomic_tx = attr.rd_atomic_rx = 2;
	CHECK_EQ(weft_qp_set_retry(w.qp[0], &attr), 0);
	CHECK_EQ(weft_qp_set_retry(w.qp[1], &attr), 0);
	CHECK_EQ(weft_post(w.qp[1], &work), 0);
	pair_expect(&w, 1, 1, WEFT_DONE_READ, WEFT_OK);
	attr.rd_atomic_rx = 17;
	CHECK_EQ(weft_qp_set_retry(w.qp[0], &attr), WEFT_EINVAL);
	pair_end(&w);
}

static bool no_replies(struct world *w, int from, struct weft_pkt *pkt)
{
	(void)w;
	return from == 0 && pkt->op >= WEFT_OP_REPLY_FIRST && pkt->op <= WEFT_OP_REPLY_REFUSED;
}

TEST(ack_in_ack__a_read_that_is_acknowledged_but_never_answered_ends)
{
	struct world w = { .check = true, .fault = no_replies };

	pair_start(&w);
	struct weft_work work = read_work(&w, 1, 0, 5000);

	CHECK_EQ(weft_post(w.qp[1], &work), 0);
	pair_expect(&w, 1, 1, WEFT_DONE_READ, WEFT_RETRY_EXCEEDED);
	CHECK_EQ(w.qp[0]->state, WEFT_QP_ERROR); /* its replies were not acknowledged */
	pair_end(&w);
}
