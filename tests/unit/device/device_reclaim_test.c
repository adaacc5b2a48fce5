/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that is gone as soon as it is deregistered: touching it would end the test. */
#include "virtual.h"

#include <sys/mman.h>

#define BYTES (1u << 20)

struct lent {
	struct weft_dev_mr *mr;
	uint8_t *at;
};

static struct lent lend(struct side *s, uint8_t seed)
{
	struct lent l = { .at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) };

	WEFT_ASSERT(l.at != MAP_FAILED);
	memset(l.at, seed, BYTES);
	WEFT_ASSERT(!weft_dev_mr_open(s->pd, l.at, BYTES, (uintptr_t)l.at, 15, &l.mr));
	return l;
}

static void take_back(struct lent *l)
{
	CHECK_EQ(weft_dev_mr_close(l->mr), 0);
	CHECK_EQ(munmap(l->at, BYTES), 0);
}

static struct weft_dev_sge all_of(const struct lent *l)
{
	return (struct weft_dev_sge){ (uintptr_t)l->at, BYTES, weft_dev_mr_key(l->mr) };
}

TEST(reclaim_memory__sends_go_on_with_what_was_there)
{
	struct side *s[2];
	struct lent to, from[8];

	pair_open(s, WEFT_DEV_EXTENDED);
	to = lend(s[1], 0);
	for (uint8_t i = 0; i < 8; i++) {
		from[i] = lend(s[0], (uint8_t)(i + 1));
		struct weft_dev_sge sge = all_of(&from[i]);
		struct weft_dev_send send = { .id = i, .op = WEFT_DEV_WRITE,
			.flags = WEFT_DEV_SIGNALED, .remote_va = (uintptr_t)to.at,
			.rkey = weft_dev_mr_key(to.mr), .sges = &sge, .n_sges = 1 };

		CHECK_EQ(weft_dev_post_send(s[0]->qp, &send, false), 0);
	}
	for (uint8_t i = 0; i < 8; i++)
		take_back(&from[i]);
	for (uint8_t i = 0; i < 8; i++) {
		struct weft_dev_wc wc = side_wait(s[0]);

		CHECK_EQ(wc.status, WEFT_DEV_OK);
		CHECK_EQ(wc.id, i);
	}
	CHECK_EQ(to.at[0], 8);
	CHECK_EQ(to.at[BYTES - 1], 8);
	take_back(&to);
	pair_close(s);
}

TEST(reclaim_memory__reads_fail_their_queue_pair)
{
	struct side *s[2];
	struct lent to, from;

	pair_open(s, WEFT_DEV_EXTENDED);
	from = lend(s[1], 7);
	to = lend(s[0], 0);
	struct weft_dev_sge sge = all_of(&to);
	struct weft_dev_send send = { .id = 3, .op = WEFT_DEV_READ, .flags = WEFT_DEV_SIGNALED,
		.remote_va = (uintptr_t)from.at, .rkey = weft_dev_mr_key(from.mr), .sges = &sge,
		.n_sges = 1 };
	struct weft_dev_sge halves[2] = { { sge.addr, 100, sge.lkey },
		{ sge.addr + 100, 100, sge.lkey } };

	CHECK_EQ(weft_dev_post_send(s[0]->qp, &send, false), 0);
	send.sges = halves;
	send.n_sges = 2;
	CHECK_EQ(weft_dev_post_send(s[0]->qp, &send, false), 0);
	take_back(&to);
	struct weft_dev_wc wc = side_wait(s[0]);

	/* It may have been done already, on a quick machine: then it is the second that fails. */
	if (wc.status == WEFT_DEV_OK)
		wc = side_wait(s[0]);
	else
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_WR_FLUSH_ERR);
	CHECK(wc.status == WEFT_DEV_LOC_PROT_ERR || wc.status == WEFT_DEV_OK);
	take_back(&from);
	pair_close(s);
}

TEST(reclaim_memory__receives_fail_the_message_that_finds_them)
{
	struct side *s[2];

	pair_open(s, WEFT_DEV_EXTENDED);
	for (unsigned pieces = 1; pieces <= 2; pieces++) {
		struct weft_dev_send send = { .op = WEFT_DEV_SEND, .flags = WEFT_DEV_SIGNALED };
		struct lent gone, other;

		pair_renew(s, WEFT_DEV_EXTENDED, 15);
		gone = lend(s[1], 0);
		other = gone; /* the same bytes twice: only one of the two is taken back */
		CHECK_EQ(weft_dev_mr_open(s[1]->pd, gone.at, BYTES, (uintptr_t)gone.at, 15,
				 &other.mr),
			0);
		struct weft_dev_sge in[2] = { { (uintptr_t)gone.at, 32, weft_dev_mr_key(other.mr) },
			{ (uintptr_t)gone.at + 32, 32, weft_dev_mr_key(other.mr) } };
		struct weft_dev_recv recv = { .id = 1, .sges = in, .n_sges = pieces };

		CHECK_EQ(weft_dev_post_recv(s[1]->qp, &recv), 0);
		in[0].lkey = in[1].lkey = weft_dev_mr_key(gone.mr);
		recv.id = 2;
		CHECK_EQ(weft_dev_post_recv(s[1]->qp, &recv), 0);
		CHECK_EQ(weft_dev_mr_close(gone.mr), 0);
		CHECK_EQ(side_post(s[0], send, 0, 32), 0);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
		CHECK_EQ(side_wait(s[1]).status, WEFT_DEV_OK);
		CHECK_EQ(weft_dev_mr_close(other.mr), 0);
		CHECK_EQ(munmap(gone.at, BYTES), 0);
		CHECK_EQ(side_post(s[0], send, 0, 32), 0);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_REM_OP_ERR);
		struct weft_dev_wc wc = side_wait(s[1]);

		CHECK_EQ(wc.status, WEFT_DEV_LOC_PROT_ERR);
		CHECK_EQ(wc.id, 2);
	}
	pair_close(s);
}

TEST(reclaim_memory__shared_receives_too)
{
	struct side *s[2] = { side_open(), side_open() };
	struct weft_dev_srq_attr attr = { .depth = 4, .sges = 1 };
	struct weft_dev_send send = { .op = WEFT_DEV_SEND, .flags = WEFT_DEV_SIGNALED };
	struct weft_dev_srq *srq;
	struct lent gone;

	CHECK_EQ(weft_dev_srq_open(s[1]->pd, &attr, NULL, &srq), 0);
	for (unsigned i = 0; i < 2; i++) {
		side_open_qp(s[i], WEFT_DEV_EXTENDED, i ? srq : NULL);
		side_init(s[i]);
	}
	side_ready(s[0], s[1]);
	side_ready(s[1], s[0]);
	gone = lend(s[1], 0);
	struct weft_dev_sge sge = all_of(&gone);
	struct weft_dev_recv recv = { .id = 9, .sges = &sge, .n_sges = 1 };

	CHECK_EQ(weft_dev_srq_post(srq, &recv), 0);
	take_back(&gone);
	CHECK_EQ(side_post(s[0], send, 0, 32), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_REM_OP_ERR);
	struct weft_dev_wc wc = side_wait(s[1]);

	CHECK_EQ(wc.status, WEFT_DEV_LOC_PROT_ERR);
	CHECK_EQ(wc.id, 9);
	for (unsigned i = 0; i < 2; i++)
		CHECK_EQ(weft_dev_qp_close(s[i]->qp), 0);
	s[0]->qp = s[1]->qp = NULL;
	CHECK_EQ(weft_dev_srq_close(srq), 0);
	pair_close(s);
}

/* Of datagrams, from a queue of their own and a shared one: nobody else would tell the program. */
TEST(reclaim_memory__receives_of_datagrams_too)
{
	for (unsigned shared = 0; shared < 2; shared++) {
		struct weft_dev_qp_attr attr = { .state = WEFT_DEV_RTR };
		struct weft_dev_srq_attr srq_attr = { .depth = 4, .sges = 1 };
		struct weft_dev_srq *srq;
		struct side *s[2];
		struct weft_dev_ah *ah = pair_datagrams(s);
		struct lent gone = lend(s[1], 0);
		struct weft_dev_sge sge = all_of(&gone);
		struct weft_dev_recv recv = { .id = 9, .sges = &sge, .n_sges = 1 };

		CHECK_EQ(weft_dev_srq_open(s[1]->pd, &srq_attr, NULL, &srq), 0);
		if (shared) {
			CHECK_EQ(weft_dev_qp_close(s[1]->qp), 0);
			side_open_qp(s[1], WEFT_DEV_DATAGRAM, srq);
			side_init(s[1]);
			CHECK_EQ(weft_dev_qp_modify(s[1]->qp, &attr, WEFT_DEV_SET_STATE), 0);
		}
		CHECK_EQ(shared ? weft_dev_srq_post(srq, &recv)
				: weft_dev_post_recv(s[1]->qp, &recv),
			0);
		take_back(&gone);
		struct weft_dev_send send = { .op = WEFT_DEV_SEND,
			.flags = WEFT_DEV_SIGNALED, .qkey = 77, .ah = ah,
			.peer_qpn = weft_dev_qp_number(s[1]->qp) };

		CHECK_EQ(side_post(s[0], send, 0, 32), 0);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
		struct weft_dev_wc wc = side_wait(s[1]);

		CHECK_EQ(wc.status, WEFT_DEV_LOC_PROT_ERR);
		CHECK_EQ(wc.id, 9);
		weft_dev_qp_query(s[1]->qp, &attr, NULL);
		CHECK_EQ(attr.state, WEFT_DEV_ERR);
		CHECK_EQ(weft_dev_qp_close(s[1]->qp), 0);
		s[1]->qp = NULL;
		CHECK_EQ(weft_dev_srq_close(srq), 0);
		CHECK_EQ(weft_dev_ah_close(ah), 0);
		pair_close(s);
	}
}
