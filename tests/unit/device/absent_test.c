/* SPDX-License-Identifier: BSD-2-Clause */
/* Registered memory that its owner takes away: each way of that, under each kind of work. */
#include "pair.h"

#include <sys/mman.h>

enum { PAGE = 4096, BYTES = 16 * PAGE };
enum how { UNMAPPED, FORBIDDEN, READONLY, CUT, WAYS };
static const char *const words[] = { "unmapped", "forbidden", "read-only", "cut" };

struct gone {
	uint8_t *at;
	struct weft_dev_mr *mr;
};

/* Of a side, registered, and all but its first page gone. */
static struct gone take_away(struct side *s, enum how how)
{
	struct gone gone;
	int fd = memfd_create("gone", 0);

	WEFT_ASSERT(fd >= 0 && !ftruncate(fd, BYTES));
	gone.at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	WEFT_ASSERT(gone.at != MAP_FAILED);
	memset(gone.at, 0x11, BYTES);
	WEFT_ASSERT(!weft_dev_mr_open(s->pd, gone.at, BYTES, (uintptr_t)gone.at, 15, &gone.mr));
	if (how == UNMAPPED)
		WEFT_ASSERT(!munmap(gone.at + PAGE, BYTES - PAGE));
	if (how == FORBIDDEN)
		WEFT_ASSERT(!mprotect(gone.at + PAGE, BYTES - PAGE, PROT_NONE));
	if (how == READONLY)
		WEFT_ASSERT(!mprotect(gone.at + PAGE, BYTES - PAGE, PROT_READ));
	if (how == CUT)
		WEFT_ASSERT(!ftruncate(fd, PAGE));
	close(fd);
	return gone;
}

static void end_with(struct gone gone)
{
	CHECK_EQ(weft_dev_mr_close(gone.mr), 0);
	munmap(gone.at, BYTES);
}

/* By the first side, of or to the second one's memory. */
static uint32_t reach(struct side *s[2], uint32_t op, const struct gone *gone, uint32_t bytes)
{
	struct weft_dev_send send = { .id = 3,
		.op = op,
		.flags = WEFT_DEV_SIGNALED,
		.imm = 5,
		.remote_va = (uintptr_t)gone->at + PAGE,
		.rkey = weft_dev_mr_key(gone->mr),
		.operand = { 1, 1 } };

	CHECK_EQ(side_post(s[0], send, 0, bytes), 0);
	struct weft_dev_wc wc = side_wait(s[0]);

	CHECK_EQ(wc.id, 3);
	return wc.status;
}

/* Both devices go on, by other queue pairs. */
static void go_on(struct side *s[2], uint8_t profile)
{
	pair_renew(s, profile, 15);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
}

/* An event of the second side's says so: it may be one that never calls us. */
static uint32_t event_of(struct side *s)
{
	struct weft_dev_event event = { 0 };

	CHECK_EQ(weft_dev_event_get(s->dev, &event), 0);
	CHECK(event.user == s);
	return event.kind;
}

static void peers_reach(
	struct side *s[2], uint8_t profile, uint32_t op, enum how how, uint32_t bytes)
{
	struct gone gone = take_away(s[1], how);
	bool is_there = how == READONLY && op == WEFT_DEV_READ;

	if (op == WEFT_DEV_WRITE_IMM)
		CHECK_EQ(side_recv(s[1], 8, 0, 0), 0);
	uint32_t status = reach(s, op, &gone, bytes);

	if (status != (is_there ? WEFT_DEV_OK : WEFT_DEV_REM_ACCESS_ERR))
		CHECK_FAIL("op %u of %u bytes, %s: status %u", op, bytes, words[how], status);
	if (!is_there)
		CHECK_EQ(event_of(s[1]), WEFT_DEV_QP_ACCESS);
	if (op == WEFT_DEV_WRITE_IMM)
		CHECK(side_wait(s[1]).status != WEFT_DEV_OK);
	end_with(gone);
	go_on(s, profile);
}

TEST(weft_place_lost__refuses_peers_who_reach_for_memory_that_is_gone)
{
	static const struct {
		uint32_t op, bytes;
	} tries[] = { { WEFT_DEV_WRITE, 8 }, { WEFT_DEV_WRITE, 5 * PAGE }, { WEFT_DEV_READ, 8 },
		{ WEFT_DEV_READ, 5 * PAGE }, { WEFT_DEV_WRITE_IMM, 64 }, { WEFT_DEV_FETCH_ADD, 8 },
		{ WEFT_DEV_CMP_SWAP, 8 } };
	struct side *s[2];

	pair_open(s, WEFT_DEV_EXTENDED);
	for (unsigned i = 0; i < WEFT_COUNT(tries); i++)
		for (unsigned how = 0; how < WAYS; how++)
			peers_reach(s, WEFT_DEV_EXTENDED, tries[i].op, how, tries[i].bytes);
	for (unsigned how = 0; how < WAYS; how++) {
		pair_renew(s, WEFT_DEV_STRICT, 15);
		peers_reach(s, WEFT_DEV_STRICT, WEFT_DEV_WRITE, how, 5 * PAGE);
	}
	pair_close(s);
}

/* One's own: what is to be sent, or to be filled by a read or a receive. */
static uint32_t use(struct side *s[2], uint32_t op, const struct gone *gone, unsigned pieces)
{
	struct weft_dev_sge sge[2] = { { (uintptr_t)gone->at + PAGE, 3 * PAGE,
					       weft_dev_mr_key(gone->mr) },
		{ (uintptr_t)gone->at, 64, weft_dev_mr_key(gone->mr) } };
	struct weft_dev_send send = to_memory(s[1], op, 0);

	send.sges = sge;
	send.n_sges = pieces;
	CHECK_EQ(weft_dev_post_send(s[0]->qp, &send, false), 0);
	return side_wait(s[0]).status;
}

TEST(weft_data_lost__fails_works_whose_memory_is_gone)
{
	static const uint32_t ops[] = { WEFT_DEV_WRITE, WEFT_DEV_READ, WEFT_DEV_SEND };
	struct side *s[2];

	pair_open(s, WEFT_DEV_EXTENDED);
	for (unsigned i = 0; i < WEFT_COUNT(ops) * WAYS * 2; i++) {
		uint32_t op = ops[i / WAYS / 2];
		enum how how = i % WAYS;
		struct gone gone = take_away(s[0], how);
		bool is_there = how == READONLY && op != WEFT_DEV_READ;

		CHECK_EQ(side_recv(s[1], 8, 0, 4 * PAGE), 0);
		uint32_t status = use(s, op, &gone, 1 + i / WAYS % 2);

		if (status != (is_there ? WEFT_DEV_OK : WEFT_DEV_LOC_PROT_ERR))
			CHECK_FAIL("op %u, %s: status %u", op, words[how], status);
		end_with(gone);
		go_on(s, WEFT_DEV_EXTENDED);
	}
	pair_close(s);
}

TEST(weft_place_lost__fails_the_receive_whose_memory_is_gone)
{
	struct side *s[2];

	pair_open(s, WEFT_DEV_EXTENDED);
	for (unsigned i = 0; i < 2 * WAYS; i++) {
		struct gone gone = take_away(s[1], i % WAYS);
		struct weft_dev_sge sge[2] = { { (uintptr_t)gone.at + PAGE, 3 * PAGE,
						       weft_dev_mr_key(gone.mr) },
			{ (uintptr_t)gone.at, 64, weft_dev_mr_key(gone.mr) } };
		struct weft_dev_recv recv = { .id = 8, .sges = sge, .n_sges = 1 + i / WAYS };
		struct weft_dev_send send = { .op = WEFT_DEV_SEND, .flags = WEFT_DEV_SIGNALED };

		CHECK_EQ(weft_dev_post_recv(s[1]->qp, &recv), 0);
		CHECK_EQ(side_post(s[0], send, 0, i % 2 ? 64 : 3 * PAGE), 0);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_REM_OP_ERR);
		struct weft_dev_wc wc = side_wait(s[1]);

		CHECK_EQ(wc.id, 8);
		CHECK_EQ(wc.status, WEFT_DEV_LOC_PROT_ERR);
		CHECK_EQ(event_of(s[1]), WEFT_DEV_QP_ACCESS);
		end_with(gone);
		go_on(s, WEFT_DEV_EXTENDED);
	}
	pair_close(s);
}
