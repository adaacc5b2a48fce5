/* SPDX-License-Identifier: BSD-2-Clause */
#include "virtual.h"

#include <sys/mman.h>

static void fill(uint8_t *at, uint32_t bytes, uint8_t seed)
{
	for (uint32_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)(seed + i * 7 + i / 256);
}

static void write_and_compare(uint8_t profile)
{
	struct side *s[2];
	struct weft_dev_send send;
	struct weft_dev_wc wc;

	pair_open(s, profile);
	fill(s[0]->memory, 20000, 3);
	send = to_memory(s[1], WEFT_DEV_WRITE, 100);
	send.id = 42;
	CHECK_EQ(side_post(s[0], send, 0, 20000), 0);
	wc = side_wait(s[0]);
	CHECK_EQ(wc.status, WEFT_DEV_OK);
	CHECK_EQ(wc.id, 42);
	CHECK_EQ(wc.op, WEFT_DEV_DONE_WRITE);
	CHECK_EQ(wc.qpn, weft_dev_qp_number(s[0]->qp));
	CHECK(!memcmp(s[1]->memory + 100, s[0]->memory, 20000));
	CHECK_EQ(side_recv(s[1], 7, 0, 0), 0);
	send = to_memory(s[1], WEFT_DEV_WRITE_IMM, 0);
	send.imm = 0x1234;
	CHECK_EQ(side_post(s[0], send, 0, 64), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	wc = side_wait(s[1]);
	CHECK_EQ(wc.status, WEFT_DEV_OK);
	CHECK_EQ(wc.op, WEFT_DEV_DONE_RECV_IMM);
	CHECK_EQ(wc.imm, 0x1234);
	CHECK_EQ(wc.id, 7);
	CHECK_EQ(wc.len_bytes, 64);
	pair_close(s);
}

TEST(weft_dev_post_send__writes_in_the_strict_profile)
{
	write_and_compare(WEFT_DEV_STRICT);
}

TEST(weft_dev_post_send__writes_in_the_extended_profile)
{
	write_and_compare(WEFT_DEV_EXTENDED);
}

TEST(weft_dev_post_send__gathers_and_scatters)
{
	struct side *s[2];
	struct weft_dev_sge out[3], in[2];
	struct weft_dev_recv recv = { .id = 5, .sges = in, .n_sges = 2 };
	struct weft_dev_send send = { .op = WEFT_DEV_SEND_IMM,
		.flags = WEFT_DEV_SIGNALED,
		.imm = 9,
		.sges = out,
		.n_sges = 3 };
	struct weft_dev_wc wc;

	pair_open(s, WEFT_DEV_EXTENDED);
	fill(s[0]->memory, 6000, 11);
	out[0] = side_sge(s[0], 0, 1000);
	out[1] = side_sge(s[0], 1000, 3);
	out[2] = side_sge(s[0], 1003, 4997);
	in[0] = side_sge(s[1], 10, 1500);
	in[1] = side_sge(s[1], 4000, 8000);
	CHECK_EQ(weft_dev_post_recv(s[1]->qp, &recv), 0);
	CHECK_EQ(weft_dev_post_send(s[0]->qp, &send, false), 0);
	wc = side_wait(s[1]);
	CHECK_EQ(wc.status, WEFT_DEV_OK);
	CHECK_EQ(wc.op, WEFT_DEV_DONE_RECV);
	CHECK_EQ(wc.len_bytes, 6000);
	CHECK_EQ(wc.imm, 9);
	CHECK_EQ(wc.flags, WEFT_DEV_WC_WITH_IMM);
	CHECK(!memcmp(s[1]->memory + 10, s[0]->memory, 1500));
	CHECK(!memcmp(s[1]->memory + 4000, s[0]->memory + 1500, 4500));
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	pair_close(s);
}

TEST(weft_dev_post_send__reads_and_counts)
{
	struct side *s[2];
	struct weft_dev_sge to[2];
	struct weft_dev_send send;
	uint64_t value = 40;

	pair_open(s, WEFT_DEV_EXTENDED);
	fill(s[1]->memory, 9000, 5);
	to[0] = side_sge(s[0], 0, 100);
	to[1] = side_sge(s[0], 200, 8900);
	send = to_memory(s[1], WEFT_DEV_READ, 0);
	send.sges = to;
	send.n_sges = 2;
	CHECK_EQ(weft_dev_post_send(s[0]->qp, &send, false), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	CHECK(!memcmp(s[0]->memory, s[1]->memory, 100));
	CHECK(!memcmp(s[0]->memory + 200, s[1]->memory + 100, 8900));
	memcpy(s[1]->memory + 16, &value, 8);
	send = to_memory(s[1], WEFT_DEV_FETCH_ADD, 16);
	send.operand[0] = 2;
	CHECK_EQ(side_post(s[0], send, 64, 8), 0);
	CHECK_EQ(side_wait(s[0]).op, WEFT_DEV_DONE_FETCH_ADD);
	CHECK(!memcmp(s[0]->memory + 64, &value, 8));
	send.op = WEFT_DEV_CMP_SWAP;
	send.operand[0] = 42;
	send.operand[1] = 1;
	CHECK_EQ(side_post(s[0], send, 64, 8), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	value = 1;
	CHECK(!memcmp(s[1]->memory + 16, &value, 8));
	pair_close(s);
}

TEST(weft_dev_post_send__copies_inline_data_at_once)
{
	struct side *s[2];
	uint8_t local[32];
	struct weft_dev_sge sge = { (uintptr_t)local, sizeof(local), 0 };
	struct weft_dev_send send;

	pair_open(s, WEFT_DEV_STRICT);
	memset(local, 'x', sizeof(local));
	send = to_memory(s[1], WEFT_DEV_WRITE, 0);
	send.flags |= WEFT_DEV_INLINE;
	send.sges = &sge;
	send.n_sges = 1;
	CHECK_EQ(weft_dev_post_send(s[0]->qp, &send, true), 0);
	memset(local, 'y', sizeof(local));
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	CHECK_EQ(s[1]->memory[31], 'x');
	sge.len_bytes = 65;
	CHECK_EQ(weft_dev_post_send(s[0]->qp, &send, false), EINVAL);
	pair_close(s);
}

/* As with cards: who posts until there is no room never overruns his completion queue. */
TEST(weft_dev_post_send__has_no_room_before_completions_are_polled)
{
	struct side *s[2];
	struct weft_dev_send send;
	struct weft_dev_wc wc;

	pair_open(s, WEFT_DEV_EXTENDED);
	send = to_memory(s[1], WEFT_DEV_WRITE, 0);
	for (uint32_t i = 0; i < 128; i++)
		CHECK_EQ(side_post(s[0], send, 0, 8), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	CHECK_EQ(side_post(s[0], send, 0, 8), 0);
	for (uint32_t open = 1; open;) { /* all are over, and one has been polled */
		weft_lock_take(&s[0]->dev->lock);
		(void)run_once(s[0]->dev);
		open = (uint32_t)(s[0]->qp->sq_tail - s[0]->qp->sq_head);
		weft_lock_give(&s[0]->dev->lock);
		ground_wait(WEFT_NEVER);
	}
	CHECK_EQ(side_post(s[0], send, 0, 8), ENOMEM);
	CHECK_EQ(weft_dev_cq_poll(s[0]->cq, &wc, 1), 1);
	CHECK_EQ(side_post(s[0], send, 0, 8), 0);
	CHECK_EQ(side_post(s[0], send, 0, 8), ENOMEM);
	for (uint32_t i = 0; i < 128; i++)
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	pair_close(s);
}

TEST(weft_dev_post_send__refuses_what_the_profile_has_not)
{
	struct side *s[2];

	pair_open(s, WEFT_DEV_STRICT);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_SEND, 0), 0, 8), EINVAL);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_READ, 0), 0, 8), EINVAL);
	CHECK_EQ(side_post(s[0], to_memory(s[1], 99, 0), 0, 8), EINVAL);
	pair_close(s);
}

TEST(weft_dev_post_send__fails_in_its_turn_for_a_wrong_local_key)
{
	struct side *s[2];
	struct weft_dev_sge sge;
	struct weft_dev_send send;

	pair_open(s, WEFT_DEV_STRICT);
	sge = side_sge(s[0], 0, 64);
	sge.lkey ^= 1u << 31;
	send = to_memory(s[1], WEFT_DEV_WRITE, 0);
	CHECK_EQ(side_post(s[0], send, 0, 64), 0);
	send.sges = &sge;
	send.n_sges = 1;
	CHECK_EQ(weft_dev_post_send(s[0]->qp, &send, false), 0);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 64), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_LOC_PROT_ERR);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_WR_FLUSH_ERR);
	pair_close(s);
}

TEST(weft_dev_post_recv__is_more_than_the_engine_holds)
{
	struct side *s[2];
	unsigned sent = 0;

	pair_open(s, WEFT_DEV_STRICT);
	for (unsigned i = 0; i < 128; i++)
		CHECK_EQ(side_recv(s[1], i, 0, 0), 0);
	CHECK_EQ(side_recv(s[1], 128, 0, 0), ENOMEM);
	for (unsigned i = 0; i < 128; i++) {
		struct weft_dev_send send = to_memory(s[1], WEFT_DEV_WRITE_IMM, 0);

		send.imm = i;
		sent += !side_post(s[0], send, 0, 8);
	}
	CHECK_EQ(sent, 128);
	for (unsigned i = 0; i < 128; i++) {
		struct weft_dev_wc wc = side_wait(s[1]);

		REQUIRE(wc.status == WEFT_DEV_OK);
		CHECK_EQ(wc.id, i);
		CHECK_EQ(wc.imm, i);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	}
	pair_close(s);
}

/* What is wrong with a receive's memory. */
enum { KEY, BOUNDS, DOMAIN, ACCESS, FREED, SECOND_PIECE, WRONGS };

struct wrong {
	struct weft_dev_pd *pd;
	struct weft_dev_mr *mr;
	struct weft_dev_sge sges[2];
};

static void make_wrong(struct side *s, unsigned what, struct wrong *w)
{
	uint32_t access = what == ACCESS ? WEFT_DEV_REMOTE_READ : WEFT_DEV_LOCAL_WRITE;

	CHECK_EQ(weft_dev_pd_open(s->dev, &w->pd), 0);
	CHECK_EQ(weft_dev_mr_open(what == DOMAIN ? w->pd : s->pd, s->memory, 64, 0x100, access,
			 &w->mr),
		0);
	w->sges[0] = (struct weft_dev_sge){ 0x100, 64, weft_dev_mr_key(w->mr) };
	w->sges[1] = w->sges[0];
	if (what == KEY)
		w->sges[0].lkey ^= 1u << 30;
	if (what == SECOND_PIECE)
		w->sges[1].lkey ^= 1u << 30;
	if (what == BOUNDS)
		w->sges[0].addr++;
	if (what == FREED) {
		CHECK_EQ(weft_dev_mr_close(w->mr), 0);
		w->mr = NULL;
	}
}

static void unmake_wrong(struct wrong *w)
{
	if (w->mr)
		CHECK_EQ(weft_dev_mr_close(w->mr), 0);
	CHECK_EQ(weft_dev_pd_close(w->pd), 0);
}

/* As cards do: it is taken, what comes before it too, and the message that is to be put there fails
 * both ends.  Not a byte is written. */
TEST(weft_dev_post_recv__of_wrong_memory_fails_who_finds_it)
{
	struct weft_dev_send send = { .op = WEFT_DEV_SEND, .flags = WEFT_DEV_SIGNALED };
	struct side *s[2];

	pair_open(s, WEFT_DEV_EXTENDED);
	for (unsigned what = 0; what < WRONGS; what++) {
		struct wrong w;
		struct weft_dev_recv recv = { .id = 2, .sges = w.sges,
			.n_sges = what == SECOND_PIECE ? 2 : 1 };
		static uint8_t before[SIDE_BYTES];

		pair_renew(s, WEFT_DEV_EXTENDED, 15);
		make_wrong(s[1], what, &w);
		memset(s[0]->memory, 7, 64);
		CHECK_EQ(side_recv(s[1], 1, 1000, 64), 0);
		CHECK_EQ(weft_dev_post_recv(s[1]->qp, &recv), 0);
		CHECK_EQ(side_recv(s[1], 3, 2000, 64), 0);
		CHECK_EQ(side_post(s[0], send, 0, 64), 0);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
		CHECK_EQ(side_wait(s[1]).status, WEFT_DEV_OK);
		memcpy(before, s[1]->memory, SIDE_BYTES);
		memset(s[0]->memory, 8, 64);
		CHECK_EQ(side_post(s[0], send, 0, 64), 0);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_REM_OP_ERR);
		struct weft_dev_wc wc = side_wait(s[1]);

		CHECK_EQ(wc.status, WEFT_DEV_LOC_PROT_ERR);
		CHECK_EQ(wc.id, 2);
		wc = side_wait(s[1]);
		CHECK_EQ(wc.status, WEFT_DEV_WR_FLUSH_ERR);
		CHECK_EQ(wc.id, 3);
		CHECK(!memcmp(before, s[1]->memory, SIDE_BYTES));
		unmake_wrong(&w);
	}
	pair_close(s);
}

/* Nothing is put there: an empty message, one with an immediate, and what a write brings. */
TEST(weft_dev_post_recv__of_wrong_memory_is_as_good_where_none_is_needed)
{
	static const uint32_t ops[] = { WEFT_DEV_SEND, WEFT_DEV_SEND_IMM, WEFT_DEV_WRITE_IMM };
	struct side *s[2];

	pair_open(s, WEFT_DEV_EXTENDED);
	for (size_t i = 0; i < WEFT_COUNT(ops); i++) {
		struct weft_dev_sge sge = side_sge(s[1], 0, 64);
		struct weft_dev_recv recv = { .id = i, .sges = &sge, .n_sges = 1 };
		uint32_t bytes = ops[i] == WEFT_DEV_WRITE_IMM ? 64 : 0;

		sge.lkey ^= 1u << 30;
		CHECK_EQ(weft_dev_post_recv(s[1]->qp, &recv), 0);
		CHECK_EQ(side_post(s[0], to_memory(s[1], ops[i], 100), 0, bytes), 0);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
		struct weft_dev_wc wc = side_wait(s[1]);

		CHECK_EQ(wc.status, WEFT_DEV_OK);
		CHECK_EQ(wc.id, i);
		CHECK_EQ(wc.len_bytes, bytes);
	}
	pair_close(s);
}

TEST(weft_dev_post_recv__of_wrong_memory_fails_datagrams_and_is_flushed)
{
	struct side *s[2];
	struct weft_dev_ah *ah = pair_datagrams(s);
	struct weft_dev_sge sge = side_sge(s[1], 0, 512);
	struct weft_dev_recv recv = { .id = 4, .sges = &sge, .n_sges = 1 };
	struct weft_dev_send send = { .op = WEFT_DEV_SEND, .flags = WEFT_DEV_SIGNALED,
		.qkey = 77, .ah = ah, .peer_qpn = weft_dev_qp_number(s[1]->qp) };

	sge.lkey ^= 1u << 30;
	for (unsigned i = 0; i < 2; i++)
		CHECK_EQ(weft_dev_post_recv(s[1]->qp, &recv), 0);
	CHECK_EQ(side_post(s[0], send, 0, 0), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	CHECK_EQ(side_wait(s[1]).status, WEFT_DEV_LOC_PROT_ERR);
	CHECK_EQ(side_wait(s[1]).status, WEFT_DEV_WR_FLUSH_ERR);
	CHECK_EQ(weft_dev_post_recv(s[1]->qp, &recv), 0); /* in error */
	CHECK_EQ(side_wait(s[1]).status, WEFT_DEV_WR_FLUSH_ERR);
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	pair_close(s);
}

/* Memory that may only be read takes no results. */
TEST(take_list__asks_for_the_right_to_write)
{
	struct side *s[2];
	struct weft_dev_mr *mr;

	pair_open(s, WEFT_DEV_EXTENDED);
	CHECK_EQ(weft_dev_mr_open(s[0]->pd, s[0]->memory, 64, 0x100, WEFT_DEV_REMOTE_READ, &mr),
		0);
	struct weft_dev_sge sge = { 0x100, 8, weft_dev_mr_key(mr) };
	struct weft_dev_send send = to_memory(s[1], WEFT_DEV_WRITE, 0);

	send.sges = &sge;
	send.n_sges = 1;
	CHECK_EQ(weft_dev_post_send(s[0]->qp, &send, false), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	send.op = WEFT_DEV_READ;
	CHECK_EQ(weft_dev_post_send(s[0]->qp, &send, false), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_LOC_PROT_ERR);
	CHECK_EQ(weft_dev_mr_close(mr), 0);
	pair_close(s);
}

TEST(take_list__sums_to_no_more_than_a_message_may_have)
{
	const uint64_t bytes = 300u << 20;
	uint8_t *much = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		-1, 0);
	struct weft_dev_sge sges[4];
	struct weft_dev_mr *mr;
	struct side *s[2];

	REQUIRE(much != MAP_FAILED);
	pair_open(s, WEFT_DEV_EXTENDED);
	CHECK_EQ(weft_dev_mr_open(s[0]->pd, much, bytes, (uintptr_t)much, 0, &mr), 0);
	for (unsigned i = 0; i < 4; i++)
		sges[i] = (struct weft_dev_sge){ (uintptr_t)much, (uint32_t)bytes,
			weft_dev_mr_key(mr) };
	struct weft_dev_send send = to_memory(s[1], WEFT_DEV_WRITE, 0);

	send.sges = sges;
	send.n_sges = 4;
	CHECK_EQ(weft_dev_post_send(s[0]->qp, &send, false), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_LOC_LEN_ERR);
	CHECK_EQ(weft_dev_mr_close(mr), 0);
	pair_close(s);
	munmap(much, bytes);
}

/* Two of 127 places are taken, and the last but one of the batch cannot be. */
TEST(weft_dev_post_sends__posts_all_or_none)
{
	struct side *s[2];
	struct weft_dev_send sends[128];
	struct weft_dev_sge sge, huge;

	pair_open(s, WEFT_DEV_EXTENDED);
	memset(s[0]->memory, 0x22, 256);
	sge = side_sge(s[0], 0, 8);
	huge = side_sge(s[0], 0, 65);
	for (unsigned i = 0; i < 128; i++) {
		sends[i] = to_memory(s[1], WEFT_DEV_WRITE, 64 * i);
		sends[i].id = i;
		sends[i].sges = &sge;
		sends[i].n_sges = 1;
	}
	sends[3].sges = &huge;
	sends[3].flags |= WEFT_DEV_INLINE; /* of which there is room for 64 bytes */
	CHECK_EQ(weft_dev_post_sends(s[0]->qp, sends, 5, false), EINVAL);
	sends[3] = sends[4];
	sends[3].op = WEFT_DEV_SEND_INV + 1;
	CHECK_EQ(weft_dev_post_sends(s[0]->qp, sends, 5, false), EINVAL);
	sends[3] = sends[4];
	sends[3].id = 3;
	CHECK_EQ(weft_dev_post_sends(s[0]->qp, sends, 2, false), 0);
	CHECK_EQ(weft_dev_post_sends(s[0]->qp, sends, 127, false), ENOMEM);
	CHECK_EQ(s[0]->dev->progress.owed_bytes / 17, 0); /* no more than of those two */
	for (unsigned i = 0; i < 2; i++) {
		struct weft_dev_wc wc = side_wait(s[0]);

		CHECK_EQ(wc.status, WEFT_DEV_OK);
		CHECK_EQ(wc.id, i);
	}
	ground_sleep(20000000);
	CHECK_EQ(s[1]->memory[64], 0x22);
	CHECK_EQ(s[1]->memory[128], 0);
	CHECK_EQ(weft_dev_post_sends(s[0]->qp, sends, 128, false), 0);
	for (unsigned i = 0; i < 128; i++)
		CHECK_EQ(side_wait(s[0]).id, i);
	pair_close(s);
}
