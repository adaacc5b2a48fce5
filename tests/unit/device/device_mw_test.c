/* SPDX-License-Identifier: BSD-2-Clause */
#include "virtual.h"

enum { PART = 4096, BYTES = 1024, ALL = 14 };

/* The second side's memory once more, for windows; the first one is the peer. */
static struct weft_dev_mr *windowed(struct side *s, uint32_t access)
{
	struct weft_dev_mr *mr = NULL;

	CHECK_EQ(weft_dev_mr_open(s->pd, s->memory, SIDE_BYTES, 0x10000, access, &mr), 0);
	return mr;
}

/* Both sides, such memory, and a window of this type; 0: none. */
static struct weft_dev_mr *open_windowed(
	struct side *s[2], unsigned type, struct weft_dev_mw **mw)
{
	pair_open(s, WEFT_DEV_EXTENDED);
	if (type)
		CHECK_EQ(weft_dev_mw_open(s[1]->pd, type, mw), 0);
	return windowed(s[1], WEFT_DEV_LOCAL_WRITE | WEFT_DEV_MW_BIND);
}

static struct weft_dev_bind part_of(struct weft_dev_mw *mw, const struct weft_dev_mr *mr)
{
	return (struct weft_dev_bind){ .mw = mw, .addr = 0x10000 + PART, .len_bytes = BYTES,
		.mr_key = weft_dev_mr_key(mr), .access = ALL };
}

static int post(struct side *s, uint32_t op, const struct weft_dev_bind *bind, uint32_t rkey)
{
	const struct weft_dev_send send = { .id = 7, .op = op, .flags = WEFT_DEV_SIGNALED,
		.bind = bind, .rkey = rkey };

	return weft_dev_post_send(s->qp, &send, false);
}

static uint32_t bind_now(struct side *s, const struct weft_dev_bind *bind, uint32_t rkey)
{
	CHECK_EQ(post(s, WEFT_DEV_BIND_MW, bind, rkey), 0);
	struct weft_dev_wc wc = side_wait(s);

	CHECK_EQ(wc.id, 7);
	if (!wc.status)
		CHECK_EQ(wc.op, WEFT_DEV_DONE_BIND_MW);
	return wc.status;
}

/* The first side writes 64 bytes to where the window is; how that ends. */
static uint32_t try_write(struct side *s[2], uint32_t rkey, uint64_t va)
{
	const struct weft_dev_send send = { .op = WEFT_DEV_WRITE, .flags = WEFT_DEV_SIGNALED,
		.remote_va = va, .rkey = rkey };

	memset(s[1]->memory + PART, 0, BYTES);
	memset(s[0]->memory, 0x77, 64);
	CHECK_EQ(side_post(s[0], send, 0, 64), 0);
	uint32_t status = side_wait(s[0]).status;

	CHECK_EQ(s[1]->memory[PART + 63], status ? 0 : 0x77);
	return status;
}

static uint32_t try(struct side *s[2], uint32_t rkey)
{
	return try_write(s, rkey, 0x10000 + PART);
}

static uint32_t next_key(uint32_t key)
{
	return (key & ~0xffu) | ((key + 1) & 0xff);
}

TEST(weft_dev_mw__of_type_1_has_a_whole_new_key_with_each_bind)
{
	struct side *s[2];
	struct weft_dev_mw *mw;
	uint32_t keys[4], changes = 0;

	struct weft_dev_mr *mr = open_windowed(s, 1, &mw);
	struct weft_dev_bind bind = part_of(mw, mr);

	for (uint32_t i = 0; i < 4; i++) {
		uint32_t before = weft_dev_mw_key(mw);

		CHECK_EQ(bind_now(s[1], &bind, 0), WEFT_DEV_OK);
		keys[i] = weft_dev_mw_key(mw);
		changes |= keys[i] ^ before;
		CHECK_EQ(try(s, keys[i]), WEFT_DEV_OK);
	}
	CHECK(changes >> 8 & 0xffff00); /* not a step of the low bits */
	CHECK_EQ(weft_dev_mr_close(mr), EBUSY);
	CHECK_EQ(weft_dev_mr_move(mr, s[1]->pd, s[1]->memory, 64, 0, 0), EBUSY);
	bind.zero_based = true;
	CHECK_EQ(bind_now(s[1], &bind, 0), WEFT_DEV_OK);
	CHECK_EQ(try_write(s, weft_dev_mw_key(mw), 0), WEFT_DEV_OK);
	CHECK_EQ(try(s, keys[3]), WEFT_DEV_REM_ACCESS_ERR); /* void since */
	pair_renew(s, WEFT_DEV_EXTENDED, 15); /* it serves any queue pair of the domain */
	CHECK_EQ(try_write(s, weft_dev_mw_key(mw), 0), WEFT_DEV_OK);
	bind = (struct weft_dev_bind){ .mw = mw };
	uint32_t last = weft_dev_mw_key(mw);

	CHECK_EQ(bind_now(s[1], &bind, 0), WEFT_DEV_OK); /* nothing: taken back */
	CHECK_EQ(weft_dev_mr_close(mr), 0);
	CHECK_EQ(try_write(s, last, 0), WEFT_DEV_REM_ACCESS_ERR);
	CHECK_EQ(weft_dev_pd_close(s[1]->pd), EBUSY);
	CHECK_EQ(weft_dev_mw_close(mw), 0);
	pair_close(s);
}

TEST(weft_dev_mw__of_type_2_is_taken_back_here_and_there)
{
	struct side *s[2];
	struct weft_dev_mw *mw;

	struct weft_dev_mr *mr = open_windowed(s, 2, &mw);
	uint32_t key = next_key(weft_dev_mw_key(mw));
	struct weft_dev_bind bind = part_of(mw, mr);

	CHECK_EQ(bind_now(s[1], &bind, key), WEFT_DEV_OK);
	CHECK_EQ(weft_dev_mw_key(mw), key);
	CHECK_EQ(try(s, key), WEFT_DEV_OK);
	/* By the peer, with a message. */
	CHECK_EQ(side_recv(s[1], 3, 0, 64), 0);
	CHECK_EQ(side_post(s[0], (struct weft_dev_send){ .op = WEFT_DEV_SEND_INV, .rkey = key,
				 .flags = WEFT_DEV_SIGNALED }, 0, 16), 0);
	CHECK_EQ(side_wait(s[0]).op, WEFT_DEV_DONE_SEND);
	struct weft_dev_wc wc = side_wait(s[1]);

	CHECK_EQ(wc.status, WEFT_DEV_OK);
	CHECK_EQ(wc.flags, WEFT_DEV_WC_WITH_INV);
	CHECK_EQ(wc.imm, key);
	CHECK_EQ(wc.len_bytes, 16);
	/* By itself, under the next key, and the one after that. */
	for (unsigned i = 0; i < 300; i++) {
		key = next_key(key);
		CHECK_EQ(bind_now(s[1], &bind, key), WEFT_DEV_OK);
		CHECK_EQ(post(s[1], WEFT_DEV_LOCAL_INV, NULL, key), 0);
		wc = side_wait(s[1]);
		CHECK_EQ(wc.status, WEFT_DEV_OK);
		CHECK_EQ(wc.op, WEFT_DEV_DONE_LOCAL_INV);
	}
	CHECK_EQ(weft_dev_mr_close(mr), 0);
	CHECK_EQ(try(s, key), WEFT_DEV_REM_ACCESS_ERR);
	pair_renew(s, WEFT_DEV_EXTENDED, 15);
	CHECK_EQ(post(s[1], WEFT_DEV_LOCAL_INV, NULL, key), 0); /* twice is once too often */
	CHECK_EQ(side_wait(s[1]).status, WEFT_DEV_LOC_QP_OP_ERR);
	CHECK_EQ(weft_dev_mw_close(mw), 0);
	pair_close(s);
}

/* A right key, but not on the queue pair for which the window is. */
TEST(weft_dev_mw__of_type_2_serves_its_queue_pair_only)
{
	struct side *s[2];
	struct weft_dev_mw *mw;

	struct weft_dev_mr *mr = open_windowed(s, 2, &mw);
	struct weft_dev_qp *first[2] = { s[0]->qp, s[1]->qp };

	uint32_t key = next_key(weft_dev_mw_key(mw));
	struct weft_dev_bind bind = part_of(mw, mr);

	CHECK_EQ(bind_now(s[1], &bind, key), WEFT_DEV_OK);
	for (unsigned i = 0; i < 2; i++) {
		side_open_qp(s[i], WEFT_DEV_EXTENDED, NULL);
		side_init(s[i]);
	}
	side_ready(s[0], s[1]);
	side_ready(s[1], s[0]);
	CHECK_EQ(post(s[1], WEFT_DEV_LOCAL_INV, NULL, key), 0); /* nor can that one take it back */
	CHECK_EQ(side_wait(s[1]).status, WEFT_DEV_LOC_QP_OP_ERR);
	pair_renew(s, WEFT_DEV_EXTENDED, 15);
	CHECK_EQ(try(s, key), WEFT_DEV_REM_ACCESS_ERR);
	for (unsigned i = 0; i < 2; i++) {
		CHECK_EQ(weft_dev_qp_close(s[i]->qp), 0);
		s[i]->qp = first[i];
	}
	CHECK_EQ(try(s, key), WEFT_DEV_OK);
	/* It ends with its queue pair, for the next one, too. */
	pair_renew(s, WEFT_DEV_EXTENDED, 15);
	CHECK_EQ(weft_dev_mr_close(mr), 0);
	CHECK_EQ(try(s, key), WEFT_DEV_REM_ACCESS_ERR);
	CHECK_EQ(weft_dev_mw_close(mw), 0);
	pair_close(s);
}

TEST(weft_dev_post_send__binds_only_what_may_be_bound)
{
	static const struct {
		uint32_t mr_access, access, type, key_xor;
		int64_t addr, more;
		bool other_domain, no_mr, is_bound;
	} rows[] = {
		{ .mr_access = 1, .type = 1, .access = ALL }, /* not for windows */
		{ .mr_access = 16, .type = 1, .access = 2 },
		{ .mr_access = 16, .type = 2, .access = 8, .key_xor = 1 },
		{ .mr_access = 17, .type = 1, .access = ALL, .addr = -PART - 1 },
		{ .mr_access = 17, .type = 1, .access = ALL, .more = SIDE_BYTES },
		{ .mr_access = 17, .type = 1, .access = ALL, .more = -BYTES - 1 },
		{ .mr_access = 17, .type = 1, .access = ALL,
			.addr = SIDE_BYTES - PART - BYTES + 1 },
		{ .mr_access = 17, .type = 1, .access = 1 },
		{ .mr_access = 17, .type = 1, .access = ALL, .other_domain = true },
		{ .mr_access = 17, .type = 1, .access = ALL, .no_mr = true },
		{ .mr_access = 17, .type = 2, .access = ALL },            /* the old key */
		{ .mr_access = 17, .type = 2, .access = ALL, .key_xor = 256 }, /* not its own */
		{ .mr_access = 17, .type = 2, .access = ALL, .key_xor = 1, .more = -BYTES },
		{ .mr_access = 17, .type = 2, .access = ALL, .key_xor = 3, .is_bound = true },
	};
	struct side *s[2];
	struct weft_dev_pd *other;

	pair_open(s, WEFT_DEV_EXTENDED);
	CHECK_EQ(weft_dev_pd_open(s[1]->dev, &other), 0);
	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_dev_mr *mr;
		struct weft_dev_mw *mw;
		struct weft_dev_pd *pd = rows[i].other_domain ? other : s[1]->pd;

		pair_renew(s, WEFT_DEV_EXTENDED, 15);
		mr = windowed(s[1], rows[i].mr_access);
		CHECK_EQ(weft_dev_mw_open(pd, rows[i].type, &mw), 0);
		uint32_t key = weft_dev_mw_key(mw);
		struct weft_dev_bind bind = part_of(mw, mr);

		if (rows[i].is_bound) {
			CHECK_EQ(bind_now(s[1], &bind, key ^ 1), WEFT_DEV_OK);
			key = weft_dev_mw_key(mw);
		}
		bind.access = rows[i].access;
		bind.addr += (uint64_t)rows[i].addr;
		bind.len_bytes += (uint64_t)rows[i].more;
		bind.mr_key ^= rows[i].no_mr ? 1u << 20 : 0;
		CHECK_EQ(bind_now(s[1], &bind, key ^ rows[i].key_xor), WEFT_DEV_MW_BIND_ERR);
		CHECK_EQ(weft_dev_mw_close(mw), 0);
		CHECK_EQ(weft_dev_mr_close(mr), 0);
	}
	pair_renew(s, WEFT_DEV_STRICT, 15);
	CHECK_EQ(post(s[1], WEFT_DEV_LOCAL_INV, NULL, 1), EINVAL); /* MRC has no windows */
	pair_renew(s, WEFT_DEV_EXTENDED, 15);
	CHECK_EQ(post(s[1], WEFT_DEV_BIND_MW, NULL, 1), EINVAL);
	struct weft_dev_mw *foreign; /* of another device */

	CHECK_EQ(weft_dev_mw_open(s[0]->pd, 1, &foreign), 0);
	CHECK_EQ(post(s[1], WEFT_DEV_BIND_MW, &(struct weft_dev_bind){ .mw = foreign }, 0), EINVAL);
	CHECK_EQ(weft_dev_mw_close(foreign), 0);
	CHECK_EQ(post(s[1], WEFT_DEV_SEND_INV, NULL, 0), EINVAL);
	CHECK_EQ(weft_dev_mw_open(other, 3, &(struct weft_dev_mw *){ NULL }), EINVAL);
	CHECK_EQ(weft_dev_pd_close(other), 0);
	pair_close(s);
}

/* Behind works that say nothing, and such as fail, each is told in its turn. */
TEST(queue_feed__binds_in_turn)
{
	struct side *s[2];
	struct weft_dev_mw *mw;

	struct weft_dev_mr *mr = open_windowed(s, 1, &mw);
	struct weft_dev_bind bind = part_of(mw, mr);
	struct weft_dev_send silent = to_memory(s[0], WEFT_DEV_WRITE, 0);

	silent.flags = 0;
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < 5; i++)
			CHECK_EQ(side_post(s[1], silent, 0, 60000), 0);
		CHECK_EQ(bind_now(s[1], &bind, 0), WEFT_DEV_OK);
		CHECK_EQ(try(s, weft_dev_mw_key(mw)), WEFT_DEV_OK);
	}
	/* A bad lkey behind silent works: nothing but it will ever be told. */
	CHECK_EQ(side_post(s[1], silent, 0, 60000), 0);
	struct weft_dev_sge sge = { 1, 1, 1 };
	struct weft_dev_send bad = { .id = 8, .op = WEFT_DEV_SEND, .sges = &sge, .n_sges = 1 };

	CHECK_EQ(weft_dev_post_send(s[1]->qp, &bad, false), 0);
	struct weft_dev_wc wc = side_wait(s[1]);

	CHECK_EQ(wc.id, 8);
	CHECK_EQ(wc.status, WEFT_DEV_LOC_PROT_ERR);
	/* What is flushed gives its next key back: there are not so many. */
	for (unsigned i = 0; i < 3 * KEYS; i++) {
		CHECK_EQ(post(s[1], WEFT_DEV_BIND_MW, &bind, 0), 0);
		if (weft_dev_cq_poll(s[1]->cq, &wc, 1) != 1 || wc.status != WEFT_DEV_WR_FLUSH_ERR)
			CHECK_FAIL("not flushed");
	}
	CHECK_EQ(weft_dev_mw_close(mw), 0);
	CHECK_EQ(weft_dev_mr_close(mr), 0);
	pair_close(s);
}

/* A bind that waits for its turn, when its window, or its queue pair, goes. */
TEST(weft_dev_mw_close__while_a_bind_waits)
{
	struct side *s[2];
	struct weft_dev_mw *mw[2];

	struct weft_dev_mr *mr = open_windowed(s, 0, NULL);

	for (unsigned i = 0; i < 2; i++)
		CHECK_EQ(weft_dev_mw_open(s[1]->pd, i + 1, &mw[i]), 0);
	CHECK_EQ(side_post(s[1], (struct weft_dev_send){ .op = WEFT_DEV_SEND }, 0, 8), 0); /* RNR */
	for (unsigned i = 0; i < 2; i++) {
		struct weft_dev_bind bind = part_of(mw[i], mr);

		CHECK_EQ(post(s[1], WEFT_DEV_BIND_MW, &bind, weft_dev_mw_key(mw[i]) ^ 1), 0);
	}
	CHECK_EQ(weft_dev_mw_close(mw[0]), 0);
	CHECK_EQ(side_recv(s[0], 1, 0, 64), 0);
	struct weft_dev_wc wc = side_wait(s[1]);

	CHECK_EQ(wc.status, WEFT_DEV_MW_BIND_ERR);
	CHECK_EQ(side_wait(s[1]).status, WEFT_DEV_WR_FLUSH_ERR);
	pair_renew(s, WEFT_DEV_EXTENDED, 15);
	CHECK_EQ(side_post(s[1], (struct weft_dev_send){ .op = WEFT_DEV_SEND }, 0, 8), 0);
	struct weft_dev_bind bind = part_of(mw[1], mr);

	CHECK_EQ(post(s[1], WEFT_DEV_BIND_MW, &bind, weft_dev_mw_key(mw[1]) ^ 1), 0);
	pair_renew(s, WEFT_DEV_EXTENDED, 15); /* closes the one before */
	CHECK_EQ(weft_dev_mw_close(mw[1]), 0);
	CHECK_EQ(weft_dev_mr_close(mr), 0);
	pair_close(s);
}

/* Places in the engine for keys of windows. */
static uint32_t places_left(struct weft_dev *dev)
{
	static uint32_t keys[KEYS];
	uint32_t n = 0;

	weft_lock_take(&dev->lock);
	while (n < KEYS && !weft_memwin_open(dev->ep, 0, n, &keys[n]))
		n++;
	for (uint32_t i = 0; i < n; i++)
		(void)weft_memwin_close(dev->ep, keys[i]);
	weft_lock_give(&dev->lock);
	return n;
}

/* A bind of type 1 has its next key from the post on; nobody will ever use that one. */
TEST(weft_dev_mw__gives_the_next_key_back_with_what_has_it)
{
	struct side *s[2];
	struct weft_dev_mw *mw;

	struct weft_dev_mr *mr = open_windowed(s, 0, NULL);
	uint32_t left = places_left(s[1]->dev);

	for (unsigned is_window = 0; is_window < 2; is_window++) {
		CHECK_EQ(weft_dev_mw_open(s[1]->pd, 1, &mw), 0);
		struct weft_dev_bind bind = part_of(mw, mr);

		CHECK_EQ(side_post(s[1], (struct weft_dev_send){ .op = WEFT_DEV_SEND }, 0, 8), 0);
		CHECK_EQ(post(s[1], WEFT_DEV_BIND_MW, &bind, 0), 0); /* behind it, RNR */
		CHECK_EQ(places_left(s[1]->dev), left - 2);
		if (is_window)
			CHECK_EQ(weft_dev_mw_close(mw), 0);
		pair_renew(s, WEFT_DEV_EXTENDED, 15); /* closes the one before */
		if (!is_window)
			CHECK_EQ(weft_dev_mw_close(mw), 0);
		CHECK_EQ(places_left(s[1]->dev), left);
	}
	CHECK_EQ(weft_dev_mr_close(mr), 0);
	pair_close(s);
}

/* Cards take the low eight bits of the key that a program names, and the window's for the rest. */
TEST(bind_type_2__takes_the_low_eight_bits_of_the_key)
{
	struct side *s[2];
	struct weft_dev_mw *mw;
	struct weft_dev_mr *mr = open_windowed(s, 2, &mw);
	struct weft_dev_bind bind = part_of(mw, mr);
	uint32_t first = weft_dev_mw_key(mw), low = (first + 1) & 0xff;

	CHECK_EQ(bind_now(s[1], &bind, 0x400 | low), WEFT_DEV_OK);
	uint32_t key = weft_dev_mw_key(mw);

	CHECK_EQ(key, (first & ~0xffu) | low);
	CHECK_EQ(try(s, key), WEFT_DEV_OK);
	CHECK_EQ(weft_dev_mw_close(mw), 0);
	CHECK_EQ(weft_dev_mr_close(mr), 0);
	pair_close(s);
}
