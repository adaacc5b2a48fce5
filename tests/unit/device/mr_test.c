/* SPDX-License-Identifier: BSD-2-Clause */
#include "virtual.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <sys/mman.h>

TEST(weft_dev_mr_open__refuses_memory_that_cannot_be_used)
{
	struct side *s = side_open();
	struct weft_dev_mr *mr;
	uint8_t *pages = mmap(NULL, 3 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(pages != MAP_FAILED);
	CHECK_EQ(weft_dev_mr_open(s->pd, pages, 12288, 0, WEFT_DEV_LOCAL_WRITE, &mr), EFAULT);
	CHECK_EQ(weft_dev_mr_open(s->pd, pages, 12288, 0, WEFT_DEV_REMOTE_READ, &mr), 0);
	CHECK_EQ(weft_dev_mr_close(mr), 0);
	munmap(pages + 4096, 4096); /* a hole in the middle */
	CHECK_EQ(weft_dev_mr_open(s->pd, pages, 12288, 0, 0, &mr), EFAULT);
	CHECK_EQ(weft_dev_mr_open(s->pd, (void *)16, 64, 0, 0, &mr), EFAULT);
	CHECK_EQ(weft_dev_mr_open(s->pd, s->memory, 8, 0, WEFT_DEV_REMOTE_WRITE, &mr), EINVAL);
	CHECK_EQ(weft_dev_mr_open(s->pd, s->memory, UINT64_MAX, 0, 0, &mr), EINVAL);
	CHECK_EQ(weft_dev_pd_close(s->pd), EBUSY);
	side_close(s);
}

/* The peer may name all of it with what it is good for, which is nothing. */
TEST(weft_dev_mr_open__of_no_bytes_lets_nobody_in)
{
	static const uint32_t ops[] = { WEFT_DEV_WRITE, WEFT_DEV_READ };
	struct side *s[2];
	struct weft_dev_mr *mr;

	pair_open(s, WEFT_DEV_EXTENDED);
	CHECK_EQ(weft_dev_mr_open(s[1]->pd, NULL, 0, 0, 15, &mr), EINVAL);
	for (uint32_t i = 0; i < 4; i++) {
		struct weft_dev_send send = { .op = ops[i % 2], .flags = WEFT_DEV_SIGNALED,
			.remote_va = i / 2 ? 0 : 0x7000 };
		struct weft_dev_sge sge = { send.remote_va, 1, 0 };

		pair_renew(s, WEFT_DEV_EXTENDED, 15);
		memset(s[1]->memory, 1, 8);
		memset(s[0]->memory, 2, 8);
		CHECK_EQ(weft_dev_mr_open(s[1]->pd, s[1]->memory, 0, send.remote_va, 15, &mr), 0);
		send.rkey = sge.lkey = weft_dev_mr_key(mr);
		CHECK(!mr_memory(s[1]->pd, &sge, 0));
		CHECK_EQ(weft_dev_post_send(s[0]->qp, &send, false), 0); /* of nothing */
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
		CHECK_EQ(side_post(s[0], send, 0, 1), 0);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_REM_ACCESS_ERR);
		CHECK(s[1]->memory[0] == 1 && s[0]->memory[0] == 2);
		/* It may become one with bytes, and none again. */
		CHECK_EQ(weft_dev_mr_move(mr, s[1]->pd, s[1]->memory, 8, 0x7000, 15), 0);
		CHECK_EQ(weft_dev_mr_move(mr, s[1]->pd, s[1]->memory, 0, 0x7000, 15), 0);
		CHECK_EQ(weft_dev_mr_close(mr), 0);
	}
	pair_close(s);
}

TEST(weft_dev_mr_open__draws_other_keys_each_time)
{
	struct side *s = side_open();
	struct weft_dev_mr *mr;
	uint32_t ones = UINT32_MAX, any = 0, both = 0, last = weft_dev_mr_key(s->mr);

	/* All 32 bits change, from one to the next, too: no slot can be told from another. */
	for (unsigned i = 0; i < 64; i++) {
		CHECK_EQ(weft_dev_mr_open(s->pd, s->memory, 64, 0, 0, &mr), 0);
		ones &= weft_dev_mr_key(mr);
		any |= weft_dev_mr_key(mr);
		both |= weft_dev_mr_key(mr) ^ last;
		last = weft_dev_mr_key(mr);
		CHECK_EQ(weft_dev_mr_close(mr), 0);
	}
	CHECK_EQ(ones, 0);
	CHECK_EQ(any, UINT32_MAX);
	CHECK_EQ(both, UINT32_MAX);
	side_close(s);
}

/* The key has been told to others: it leads elsewhere now, and to whom it is open to. */
TEST(weft_dev_mr_move__keeps_the_key)
{
	struct side *s = side_open();
	struct weft_dev_pd *other;
	struct weft_dev_mr *mr, *more[8];

	CHECK_EQ(weft_dev_pd_open(s->dev, &other), 0);
	CHECK_EQ(weft_dev_mr_open(s->pd, s->memory, 100, 5000, WEFT_DEV_REMOTE_READ, &mr), 0);
	for (unsigned i = 0; i < 8; i++) /* others, that might get its slot */
		CHECK_EQ(weft_dev_mr_open(s->pd, s->memory, 8, 0, 0, &more[i]), 0);
	uint32_t key = weft_dev_mr_key(mr);
	struct weft_dev_sge old = { 5000, 100, key }, now = { 7000, 50, key };

	for (unsigned i = 0; i < 20; i++) {
		CHECK_EQ(weft_dev_mr_move(mr, i % 2 ? s->pd : other, s->memory + 200, 50, 7000,
				 WEFT_DEV_LOCAL_WRITE),
			0);
		CHECK_EQ(weft_dev_mr_key(mr), key);
		CHECK(mr_memory(i % 2 ? s->pd : other, &now, WEFT_DEV_LOCAL_WRITE) ==
			s->memory + 200);
		CHECK(!mr_memory(i % 2 ? other : s->pd, &now, 0));
		CHECK(!mr_memory(s->pd, &old, 0) && !mr_memory(other, &old, 0));
	}
	/* What cannot be is refused, and the old one stands. */
	CHECK_EQ(weft_dev_mr_move(mr, s->pd, NULL, 0, 0, 0), EINVAL);
	CHECK_EQ(weft_dev_mr_move(mr, s->pd, s->memory, 64, UINT64_MAX - 8, 0), EINVAL);
	CHECK_EQ(weft_dev_mr_move(mr, s->pd, (void *)16, 64, 0, 0), EFAULT);
	CHECK(mr_memory(s->pd, &now, 0) == s->memory + 200);
	CHECK_EQ(weft_dev_pd_close(other), 0); /* it is in the first one again */
	CHECK_EQ(weft_dev_mr_close(mr), 0);
	for (unsigned i = 0; i < 8; i++)
		CHECK_EQ(weft_dev_mr_close(more[i]), 0);
	side_close(s);
}

TEST(mr_memory__keeps_bounds_domains_and_access)
{
	struct side *s = side_open();
	struct weft_dev_pd *other;
	struct weft_dev_mr *mr;

	CHECK_EQ(weft_dev_mr_open(s->pd, s->memory, 100, 5000, WEFT_DEV_REMOTE_READ, &mr), 0);
	struct weft_dev_sge sge = { 5000, 100, weft_dev_mr_key(mr) };

	CHECK(mr_memory(s->pd, &sge, 0) == s->memory);
	CHECK(mr_memory(s->pd, &sge, WEFT_DEV_LOCAL_WRITE) == NULL);
	sge.addr = 5001;
	CHECK(mr_memory(s->pd, &sge, 0) == NULL);
	sge.len_bytes = 99;
	CHECK(mr_memory(s->pd, &sge, 0) == s->memory + 1);
	sge.addr = 4999;
	CHECK(mr_memory(s->pd, &sge, 0) == NULL);
	CHECK_EQ(weft_dev_pd_open(s->dev, &other), 0);
	sge.addr = 5000;
	CHECK(mr_memory(other, &sge, 0) == NULL);
	CHECK_EQ(weft_dev_pd_close(other), 0);
	CHECK_EQ(weft_dev_mr_close(mr), 0);
	side_close(s);
}

/* Whoever knows the address but not the key, or the key but not the bounds. */
TEST(weft_dev_mr_open__keeps_strangers_out)
{
	static const struct {
		int64_t va;
		uint32_t key_xor;
	} rows[] = { { 0, 1u << 20 }, { -1, 0 }, { SIDE_BYTES - 63, 0 } };

	struct side *s[2];

	pair_open(s, WEFT_DEV_STRICT);
	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_dev_send send;
		static uint8_t before[SIDE_BYTES];

		pair_renew(s, WEFT_DEV_STRICT, 15);
		memcpy(before, s[1]->memory, SIDE_BYTES);
		memset(s[0]->memory, 0xee, 64);
		send = to_memory(s[1], WEFT_DEV_WRITE, 0);
		send.remote_va += (uint64_t)rows[i].va;
		send.rkey ^= rows[i].key_xor;
		CHECK_EQ(side_post(s[0], send, 0, 64), 0);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_REM_ACCESS_ERR);
		CHECK(!memcmp(before, s[1]->memory, SIDE_BYTES));
	}
	pair_close(s);
}

static const uint8_t secret[8] = "secret!";

static bool got_event(struct side *s, uint32_t kind)
{
	struct weft_dev_event event;

	while (!weft_dev_event_get(s->dev, &event))
		if (event.kind == kind && event.user == s)
			return true;
	return false;
}

/*
 * A peer's write, read or atomic needs the region's right and the queue pair's; for each of them
 * that is missing the peer is told, the target's queue pair ends, and the memory is as it was.
 */
TEST(weft_dev_mr_open__lets_peers_do_what_its_access_says)
{
	static const struct {
		uint32_t op, right;
	} ops[] = {
		{ WEFT_DEV_WRITE, WEFT_DEV_REMOTE_WRITE },
		{ WEFT_DEV_WRITE_IMM, WEFT_DEV_REMOTE_WRITE },
		{ WEFT_DEV_READ, WEFT_DEV_REMOTE_READ },
		{ WEFT_DEV_FETCH_ADD, WEFT_DEV_REMOTE_ATOMIC },
		{ WEFT_DEV_CMP_SWAP, WEFT_DEV_REMOTE_ATOMIC },
	};

	struct side *s[2];

	pair_open(s, WEFT_DEV_EXTENDED);
	for (uint32_t i = 0; i < WEFT_COUNT(ops) * 4; i++) {
		static const uint32_t statuses[] = { WEFT_DEV_OK, WEFT_DEV_REM_ACCESS_ERR,
			WEFT_DEV_REM_INV_REQ_ERR, WEFT_DEV_REM_INV_REQ_ERR };
		uint32_t op = ops[i / 4].op, right = ops[i / 4].right, others = 15 & ~right;
		bool local = op == WEFT_DEV_READ;
		struct weft_dev_qp_attr attr = { .access = others };
		struct weft_dev_mr *mr;

		pair_renew(s, WEFT_DEV_EXTENDED, i % 4 == 2 ? others : 1 | right);
		memcpy(s[1]->memory, secret, 8);
		CHECK_EQ(weft_dev_mr_open(s[1]->pd, s[1]->memory, 8, 0x7000,
				 i % 4 == 1 ? others : (local ? 0u : 1u) | right, &mr),
			0);
		if (i % 4 == 3) /* later */
			CHECK_EQ(weft_dev_qp_modify(s[1]->qp, &attr, WEFT_DEV_SET_ACCESS), 0);
		CHECK_EQ(side_recv(s[1], 1, 64, 8), 0);
		struct weft_dev_send send = { .op = op, .flags = WEFT_DEV_SIGNALED,
			.remote_va = 0x7000, .rkey = weft_dev_mr_key(mr), .operand = { 5, 6 } };

		memset(s[0]->memory, 0xee, 8);
		CHECK_EQ(side_post(s[0], send, 0, 8), 0);
		CHECK_EQ(side_wait(s[0]).status, statuses[i % 4]);
		if (i % 4) {
			CHECK(!memcmp(s[1]->memory, secret, 8));
			CHECK(memcmp(s[0]->memory, secret, 8));
			CHECK(got_event(s[1],
				i % 4 == 1 ? WEFT_DEV_QP_ACCESS : WEFT_DEV_QP_REQUEST));
			CHECK_EQ(side_wait(s[1]).status, WEFT_DEV_WR_FLUSH_ERR);
		}
		CHECK_EQ(weft_dev_mr_close(mr), 0);
	}
	pair_close(s);
}

/* Right key, and yet: another domain's, no longer registered, around the end of all addresses. */
TEST(weft_dev_mr_open__holds_in_its_domain_and_time_and_bounds)
{
	struct side *s[2];

	pair_open(s, WEFT_DEV_EXTENDED);
	for (uint32_t i = 0; i < 8; i++) {
		struct weft_dev_pd *other;
		struct weft_dev_mr *mr;
		struct weft_dev_send send;

		pair_renew(s, WEFT_DEV_EXTENDED, 15);
		memcpy(s[1]->memory, secret, 8);
		CHECK_EQ(weft_dev_pd_open(s[1]->dev, &other), 0);
		CHECK_EQ(weft_dev_mr_open(i / 2 ? s[1]->pd : other, s[1]->memory, 8,
				 i / 2 == 2 ? UINT64_MAX - 7 : 0x7000, 15, &mr),
			0);
		send = (struct weft_dev_send){ .op = i % 2 ? WEFT_DEV_READ : WEFT_DEV_WRITE,
			.flags = WEFT_DEV_SIGNALED, .remote_va = 0x7000,
			.rkey = weft_dev_mr_key(mr) };
		if (i / 2 == 1) {
			CHECK_EQ(weft_dev_mr_close(mr), 0);
			mr = NULL;
		}
		if (i / 2 == 2) /* the last byte there is, and those behind it */
			send.remote_va = UINT64_MAX;
		if (i / 2 == 3)
			send.remote_va += UINT64_MAX - 3;
		memset(s[0]->memory, 0xee, 8);
		CHECK_EQ(side_post(s[0], send, 0, 8), 0);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_REM_ACCESS_ERR);
		CHECK(!memcmp(s[1]->memory, secret, 8));
		CHECK(memcmp(s[0]->memory, secret, 8));
		if (mr)
			CHECK_EQ(weft_dev_mr_close(mr), 0);
		CHECK_EQ(weft_dev_pd_close(other), 0);
	}
	pair_close(s);
}

/* Nothing is moved, so no key is looked at (IBTA vol. 1, 9.7.4.1.3 and 9.7.5.2.4). */
TEST(weft_dev_post_send__of_nothing_needs_no_key)
{
	static const uint32_t ops[] = { WEFT_DEV_WRITE, WEFT_DEV_READ };
	struct side *s[2];

	pair_open(s, WEFT_DEV_EXTENDED);
	for (uint32_t i = 0; i < WEFT_COUNT(ops); i++) {
		struct weft_dev_send send = { .op = ops[i], .flags = WEFT_DEV_SIGNALED,
			.remote_va = 1, .rkey = 2 };

		CHECK_EQ(weft_dev_post_send(s[0]->qp, &send, false), 0);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	}
	pair_close(s);
}

TEST(weft_dev_mr_find__leads_where_a_key_does)
{
	struct side *s = side_open();
	struct weft_dev_sge sge = side_sge(s, 64, 100);

	CHECK(weft_dev_mr_find(s->pd, &sge, WEFT_DEV_LOCAL_WRITE) == s->memory + 64);
	sge.addr = (uintptr_t)s->memory + SIDE_BYTES - 99;
	CHECK(!weft_dev_mr_find(s->pd, &sge, 0));
	sge = side_sge(s, 0, 1);
	sge.lkey ^= 1u << 20;
	CHECK(!weft_dev_mr_find(s->pd, &sge, 0));
	side_close(s);
}

static uint64_t cpu_ns(void)
{
	struct rusage usage;

	WEFT_ASSERT(!getrusage(RUSAGE_THREAD, &usage));
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

/* Of one registration, on average. */
static uint64_t cost_ns(struct side *s)
{
	enum { TIMES = 200 };
	uint64_t began = cpu_ns();

	for (unsigned i = 0; i < TIMES; i++) {
		struct weft_dev_mr *mr;

		CHECK_EQ(weft_dev_mr_open(s->pd, s->memory, 4096, 0, 15, &mr), 0);
		CHECK_EQ(weft_dev_mr_close(mr), 0);
	}
	return (cpu_ns() - began) / TIMES;
}

/* It was 16 ms with 30,000. */
TEST(weft_dev_mr_open__costs_the_same_whatever_else_is_mapped)
{
	enum { MAPPINGS = 20000 };
	static void *at[MAPPINGS];
	struct side *s = side_open();
	uint64_t few_ns = cost_ns(s);

	for (unsigned i = 0; i < MAPPINGS; i++)
		at[i] = mmap(NULL, 4096, i & 1 ? PROT_READ : PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t many_ns = cost_ns(s);

	if (many_ns > 10 * few_ns + 100000)
		CHECK_FAIL("%lu ns, and %lu ns with %u mappings more", (unsigned long)few_ns,
			(unsigned long)many_ns, MAPPINGS);
	for (unsigned i = 0; i < MAPPINGS; i++)
		if (at[i] != MAP_FAILED)
			munmap(at[i], 4096);
	side_close(s);
}

/* What a kernel that does not answer for a mapping leaves. */
TEST(mr_is_mapped_by_touch__finds_holes_and_rights_at_the_ends)
{
	uint8_t *at =
		mmap(NULL, 8 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(at != MAP_FAILED);
	weft_nofault_watch();
	memset(at, 7, 8 * 4096);
	CHECK(mr_is_mapped_by_touch(at + 5, 8 * 4096 - 9, true));
	CHECK(!mprotect(at, 4096, PROT_READ));
	CHECK(!mr_is_mapped_by_touch(at + 5, 8 * 4096 - 9, true));
	CHECK(mr_is_mapped_by_touch(at + 5, 8 * 4096 - 9, false));
	CHECK(!mprotect(at + 7 * 4096, 4096, PROT_NONE));
	CHECK(!mr_is_mapped_by_touch(at, 8 * 4096, false));
	CHECK(mr_is_mapped_by_touch(at, 7 * 4096, false));
	CHECK(!munmap(at + 3 * 4096, 4096));
	CHECK(!mr_is_mapped_by_touch(at, 7 * 4096, false));
	CHECK_EQ(at[5], 7);
	munmap(at, 8 * 4096);
}

TEST(weft_dev_pd_open__and_others_hold_the_limits_that_are_told)
{
	struct side *s = side_open();
	struct weft_dev_srq *srqs[SRQS_MAX + 1];
	struct weft_dev_srq_attr attr = { .depth = 4, .sges = 1 };
	struct weft_dev_pd *pd;
	struct weft_dev_cq *cq;
	struct weft_dev_ah *ah;
	uint8_t gid[16] = { [10] = 0xff, 0xff, 127, 0, 0, 1 };

	for (unsigned i = 0; i < SRQS_MAX; i++)
		REQUIRE(!weft_dev_srq_open(s->pd, &attr, NULL, &srqs[i]));
	CHECK_EQ(weft_dev_srq_open(s->pd, &attr, NULL, &srqs[SRQS_MAX]), ENOMEM);
	for (unsigned i = 0; i < SRQS_MAX; i++)
		CHECK_EQ(weft_dev_srq_close(srqs[i]), 0);
	/* The others by their counts: to make 65,536 of each takes a while. */
	s->dev->n_pds += PDS_MAX - 1;
	s->dev->n_cqs += CQS_MAX - 1;
	s->dev->n_ahs += AHS_MAX;
	CHECK_EQ(weft_dev_pd_open(s->dev, &pd), ENOMEM);
	CHECK_EQ(weft_dev_cq_open(s->dev, 4, NULL, NULL, &cq), ENOMEM);
	CHECK_EQ(weft_dev_ah_open(s->pd, gid, &ah), ENOMEM);
	s->dev->n_pds -= PDS_MAX - 1;
	s->dev->n_cqs -= CQS_MAX - 1;
	s->dev->n_ahs -= AHS_MAX;
	side_close(s);
}
