/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

static void setup(struct world *w, uint32_t cq_depth)
{
	struct weft_config config;

	world_config(&config);
	config.cq_depth = cq_depth;
	world_open(w, &config);
	world_connect(w, 16, 16, &weft_cc_nscc);
}

TEST(weft_poll__completions_come_in_posting_order)
{
	struct world w = { .check = true, .skew_ns = 900 };
	struct weft_done done[32];

	setup(&w, 64);
	for (uint32_t i = 0; i < 32; i++)
		world_write(&w, 0, i, i * 100000, i % 3 ? 70000 : i);
	world_run_until(&w, w.now + 1000000);
	CHECK_EQ(weft_poll(w.end[0], 0, done, 32), 32);
	for (uint32_t i = 0; i < 32; i++) {
		CHECK_EQ(done[i].id, i);
		CHECK_EQ(done[i].status, WEFT_OK);
		CHECK_EQ(done[i].user, 42);
		CHECK_EQ(done[i].kind, WEFT_DONE_WRITE);
	}
	world_close(&w);
}

TEST(cq_push__overrun_ends_the_qp_not_the_others)
{
	struct world w = { .check = true };
	struct weft_done done[8];
	struct weft_qp_info info;

	setup(&w, 4);
	for (uint32_t i = 0; i < 8; i++)
		world_write(&w, 0, i, 0, 10);
	world_run_until(&w, w.now + 1000000);
	CHECK_EQ(weft_poll(w.end[0], 0, done, 8), 4);
	weft_qp_info(w.qp[0], &info);
	CHECK_EQ(info.state, WEFT_QP_ERROR);
	CHECK_EQ(info.status, WEFT_CQ_OVERRUN);
	weft_qp_info(w.qp[1], &info);
	CHECK_EQ(info.state, WEFT_QP_RTS);
	world_close(&w);
}

TEST(cq_finish_work__silent_works_leave_no_completion)
{
	struct world w = { .check = true };
	struct weft_done done[8];

	setup(&w, 64);
	struct weft_work work = { .remote_va = 0x10000, .data = w.memory[0], .len_bytes = 5000,
				  .rkey = w.rkey[0], .silent = true };

	CHECK_EQ(weft_post_write(w.qp[0], &work), 0);
	world_write(&w, 0, 9, 0, 1);
	world_run_until(&w, w.now + 1000000);
	CHECK_EQ(weft_poll(w.end[0], 0, done, 8), 1);
	CHECK_EQ(done[0].id, 9);
	world_close(&w);
}

static struct weft_qp *open_failed(struct weft_endpoint *ep, uint64_t user)
{
	struct weft_qp_attr attr = { .user = user,
				     .cc = &weft_cc_fixed,
				     .cc_config = { .fixed_bytes = 1000000 } };
	struct weft_qp *qp;

	REQUIRE(!weft_qp_open(ep, &attr, &qp));
	for (uint64_t id = 0; id < 3; id++)
		CHECK_EQ(weft_post_recv(qp, user + id), 0);
	CHECK_EQ(weft_qp_move(qp, WEFT_QP_ERROR, NULL, 1), 0);
	return qp;
}

TEST(weft_qp_close__takes_its_own_completions_along)
{
	struct world w = { .check = true };
	struct weft_done done[8];

	setup(&w, 8);
	struct weft_qp *first = open_failed(w.end[0], 100);

	CHECK_EQ(weft_poll(w.end[0], 0, done, 2), 2); /* the ring no longer starts at 0 */
	struct weft_qp *second = open_failed(w.end[0], 200), *third = open_failed(w.end[0], 300);

	weft_qp_close(second);
	CHECK_EQ(weft_poll(w.end[0], 0, done, 8), 4);
	CHECK_EQ(done[0].id, 102);
	for (unsigned i = 0; i < 3; i++)
		CHECK_EQ(done[1 + i].id, 300 + i);
	weft_qp_close(first);
	weft_qp_close(third);
	CHECK_EQ(weft_poll(w.end[0], 0, done, 8), 0);
	world_close(&w);
}
