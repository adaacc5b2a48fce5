/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

enum { VA = 0x7000, PART = 1 << 20, BYTES = 32768 };

/* A window of end 1 onto 32 KiB of its memory; returns its key. */
static uint32_t bind(struct world *w, uint32_t access, uint32_t qpn)
{
	uint32_t rkey;

	CHECK_EQ(weft_memwin_open(w->end[1], 3, (uint32_t)weft_rng_u64(&w->rng), &rkey), 0);
	CHECK(!weft_memwin_is_bound(w->end[1], rkey));
	const struct weft_memwin to = { .va = VA, .base = w->memory[1] + PART, .len_bytes = BYTES,
		.access = access, .rkey = rkey ^ 0x5a, .qpn = qpn };

	CHECK_EQ(weft_memwin_bind(w->end[1], rkey, &to), 0);
	CHECK(weft_memwin_is_bound(w->end[1], to.rkey));
	CHECK(!weft_memwin_is_bound(w->end[1], rkey)); /* the old key is no key */
	return to.rkey;
}

static struct weft_work through(const struct world *w, uint8_t kind, uint64_t id, uint32_t rkey)
{
	uint32_t bytes = kind == WEFT_WORK_FETCH_ADD ? 8 : BYTES;
	struct weft_work work = pair_work(w, 0, kind, id, 0, bytes);

	work.remote_va = VA;
	work.rkey = rkey;
	return work;
}

/* One work, and how it ends. */
static uint8_t try(struct world *w, const struct weft_work *work)
{
	struct weft_done done = { 0 };

	CHECK_EQ(weft_post(w->qp[0], work), 0);
	CHECK_EQ(world_wait(w, 0, 1, PAIR_SECOND, &done), 1);
	return done.status;
}

TEST(weft_memwin_bind__lets_peers_write_read_and_add_through_it)
{
	for (int only = 0; only < 2; only++) {
		struct world w = { .check = true, .fault = pair_lossy, .skew_ns = 900 };
		struct weft_work work;

		pair_start(&w);
		uint32_t rkey = bind(&w, 7, only ? w.qp[1]->qpn : WEFT_ANY_QP);

		work = through(&w, WEFT_WORK_WRITE, 1, rkey);
		CHECK_EQ(try(&w, &work), WEFT_OK);
		CHECK(!memcmp(w.memory[1] + PART, w.memory[0], BYTES));
		w.memory[1][PART + BYTES - 1] ^= 1;
		work = through(&w, WEFT_WORK_READ, 2, rkey);
		CHECK_EQ(try(&w, &work), WEFT_OK);
		CHECK(!memcmp(w.memory[1] + PART, w.memory[0], BYTES));
		uint8_t before = w.memory[1][PART];

		work = through(&w, WEFT_WORK_FETCH_ADD, 3, rkey);
		work.operand[0] = 1;
		CHECK_EQ(try(&w, &work), WEFT_OK);
		CHECK_EQ(w.memory[1][PART], (uint8_t)(before + 1));
		pair_end(&w);
	}
}

/* Each of these is refused, and nothing is touched: all that is wrong is in the row. */
TEST(memwin__guards_key_bounds_access_domain_and_queue_pair)
{
	static const struct {
		uint32_t access, key_xor, len_more;
		uint8_t kind;
		int64_t va;
		bool other_qp, is_shut, other_domain;
	} rows[] = {
		{ .access = 7, .kind = WEFT_WORK_WRITE, .key_xor = 0x5a }, /* before binding */
		{ .access = 7, .kind = WEFT_WORK_WRITE, .key_xor = 1u << 31 },
		{ .access = 7, .kind = WEFT_WORK_WRITE, .va = -1 },
		{ .access = 7, .kind = WEFT_WORK_READ, .va = 1 },
		{ .access = 7, .kind = WEFT_WORK_WRITE, .len_more = 1 },
		{ .access = 6, .kind = WEFT_WORK_WRITE },
		{ .access = 5, .kind = WEFT_WORK_READ },
		{ .access = 3, .kind = WEFT_WORK_FETCH_ADD },
		{ .access = 7, .kind = WEFT_WORK_WRITE, .other_qp = true },
		{ .access = 7, .kind = WEFT_WORK_READ, .other_qp = true },
		{ .access = 7, .kind = WEFT_WORK_WRITE, .is_shut = true },
		{ .access = 7, .kind = WEFT_WORK_READ, .is_shut = true },
		{ .access = 7, .kind = WEFT_WORK_WRITE, .other_domain = true },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows) * 2; i++) {
		bool only = i % 2; /* its QP's */
		struct world w = { .check = true };
		uint32_t rkey;

		if (rows[i / 2].other_qp && !only)
			continue;
		pair_start(&w);
		uint32_t qpn = w.qp[1]->qpn + (rows[i / 2].other_qp ? 2 : 0);

		if (rows[i / 2].other_domain) {
			struct weft_memwin to = { .va = VA, .base = w.memory[1] + PART,
				.len_bytes = BYTES, .access = 7,
				.qpn = only ? qpn : WEFT_ANY_QP };

			CHECK_EQ(weft_memwin_open(w.end[1], 4, 0x12345678, &to.rkey), 0);
			CHECK_EQ(weft_memwin_bind(w.end[1], to.rkey, &to), 0);
			rkey = to.rkey;
		} else {
			rkey = bind(&w, rows[i / 2].access, only ? qpn : WEFT_ANY_QP);
		}
		if (rows[i / 2].is_shut) {
			CHECK_EQ(weft_memwin_shut(w.end[1], rkey), 0);
			CHECK_EQ(weft_memwin_shut(w.end[1], rkey), WEFT_ESTATE);
		}
		rkey ^= rows[i / 2].key_xor;
		struct weft_work work = through(&w, rows[i / 2].kind, 1, rkey);

		work.remote_va += (uint64_t)rows[i / 2].va;
		work.len_bytes += rows[i / 2].len_more;
		CHECK_EQ(try(&w, &work), WEFT_REMOTE_ACCESS);
		/* Packets are checked one by one: those inside have been written. */
		for (uint32_t k = 0; k < 8 && !rows[i / 2].len_more; k++)
			CHECK_EQ(w.memory[1][PART + k], 0);
		CHECK_EQ(w.memory[1][PART - 1], 0);
		CHECK_EQ(w.memory[1][PART + BYTES], 0);
		pair_end(&w);
	}
}

TEST(memwin_shut_by__ends_a_window_in_the_turn_of_its_message)
{
	struct world w = { .check = true, .fault = pair_lossy, .skew_ns = 900 };
	struct weft_done done;

	pair_start(&w);
	uint32_t rkey = bind(&w, 7, w.qp[1]->qpn);
	struct weft_work work = through(&w, WEFT_WORK_WRITE, 1, rkey);

	pair_recv(&w, 1, 1);
	pair_recv(&w, 1, 2);
	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	work = through(&w, WEFT_WORK_READ, 2, rkey);
	work.to = w.memory[0] + PART;
	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	work = pair_work(&w, 0, WEFT_WORK_SEND, 3, 0, 5000);
	work.shuts = rkey;
	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	for (uint64_t id = 1; id <= 3; id++) { /* what was posted before it has gone through */
		CHECK_EQ(world_wait(&w, 0, 1, PAIR_SECOND, &done), 1);
		CHECK_EQ(done.id, id);
		CHECK_EQ(done.status, WEFT_OK);
	}
	CHECK(!memcmp(w.memory[1] + PART, w.memory[0], BYTES));
	CHECK(!memcmp(w.memory[0] + PART, w.memory[0], BYTES));
	CHECK_EQ(world_wait(&w, 1, 1, PAIR_SECOND, &done), 1);
	CHECK_EQ(done.flags, WEFT_DONE_SHUT);
	CHECK_EQ(done.imm, rkey);
	CHECK(!weft_memwin_is_bound(w.end[1], rkey));
	pair_send(&w, 0, 4, 0, 10); /* one that shuts nothing says nothing of it */
	CHECK_EQ(world_wait(&w, 1, 1, PAIR_SECOND, &done), 1);
	CHECK_EQ(done.flags, 0);
	work = through(&w, WEFT_WORK_WRITE, 5, rkey);
	CHECK_EQ(weft_post(w.qp[0], &work), 0);
	CHECK_EQ(world_wait(&w, 0, 2, PAIR_SECOND, &done), 2);
	CHECK_EQ(done.status, WEFT_REMOTE_ACCESS);
	pair_end(&w);
}

/* A peer may end what was lent to him and nothing else: regions, windows of all, of others. */
TEST(memwin_shut_by__is_for_windows_of_that_queue_pair)
{
	for (int row = 0; row < 4; row++) {
		struct world w = { .check = true };
		struct weft_done done;

		pair_start(&w);
		uint32_t keys[4] = { w.rkey[0], bind(&w, 7, WEFT_ANY_QP),
			bind(&w, 7, w.qp[1]->qpn + 2), bind(&w, 7, w.qp[1]->qpn) ^ 0x5a };
		struct weft_work work = pair_work(&w, 0, WEFT_WORK_SEND, 1, 0, 100);

		pair_recv(&w, 1, 1);
		work.shuts = keys[row];
		CHECK_EQ(try(&w, &work), WEFT_REMOTE_ACCESS);
		CHECK_EQ(world_wait(&w, 1, 1, PAIR_SECOND, &done), 1);
		CHECK_EQ(done.status, WEFT_LOCAL_PROTOCOL);
		CHECK(weft_memwin_is_bound(w.end[1], keys[1]));
		CHECK(weft_memwin_is_bound(w.end[1], keys[2]));
		CHECK(weft_memwin_is_bound(w.end[1], keys[3] ^ 0x5a));
		CHECK_EQ(weft_stats(w.end[1])->drops[WEFT_DROP_BAD_RKEY], 1);
		pair_end(&w);
	}
}

TEST(weft_memwin__wrong_calls_change_nothing)
{
	struct world w = { .check = true };
	uint32_t rkey;

	pair_start(&w);
	struct weft_endpoint *ep = w.end[1];
	uint8_t *base = w.memory[1];

	CHECK_EQ(weft_memwin_open(ep, 1u << 31, 1, &rkey), WEFT_EINVAL);
	CHECK_EQ(weft_memwin_open(ep, 3, 0, &rkey), 0);
	CHECK(rkey); /* 0 names none */
	const struct weft_memwin rows[] = {
		{ 0, NULL, 8, 7, rkey, WEFT_ANY_QP },
		{ 0, base, 0, 7, rkey, WEFT_ANY_QP },
		{ UINT64_MAX, base, 2, 7, rkey, WEFT_ANY_QP },
		{ 0, base, 8, 8, rkey, WEFT_ANY_QP },
		{ 0, base, 8, 7, rkey ^ 0x100, WEFT_ANY_QP },
		{ 0, base, 8, 7, rkey, 1u << 24 },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++)
		CHECK_EQ(weft_memwin_bind(ep, rkey, &rows[i]), WEFT_EINVAL);
	const struct weft_memwin right = { 0, base, 8, 7, rkey, WEFT_ANY_QP };

	CHECK_EQ(weft_memwin_shut(ep, rkey), WEFT_ESTATE);
	CHECK_EQ(weft_memwin_bind(ep, rkey ^ 1, &right), WEFT_ENOENT);
	CHECK_EQ(weft_memwin_bind(ep, w.rkey[0], &right), WEFT_ENOENT); /* a region's */
	CHECK_EQ(weft_memwin_bind(ep, rkey, &right), 0);
	CHECK_EQ(weft_memwin_bind(ep, rkey, &right), WEFT_ESTATE);
	CHECK_EQ(weft_memwin_close(ep, rkey ^ 1), WEFT_ENOENT);
	CHECK_EQ(weft_region_drop(ep, rkey), WEFT_ENOENT);
	CHECK_EQ(weft_memwin_close(ep, rkey), 0);
	CHECK_EQ(weft_memwin_shut(ep, rkey), WEFT_ENOENT);
	CHECK_EQ(weft_memwin_close(ep, rkey), WEFT_ENOENT);
	struct weft_work work = pair_work(&w, 0, WEFT_WORK_WRITE, 1, 0, 8);

	work.shuts = 5; /* only sends do */
	CHECK_EQ(weft_post(w.qp[0], &work), WEFT_EINVAL);
	work.kind = WEFT_WORK_SEND;
	work.has_imm = true;
	CHECK_EQ(weft_post(w.qp[0], &work), WEFT_EINVAL);
	pair_end(&w);
}
