/* SPDX-License-Identifier: BSD-2-Clause */
#include "progress/progress_local.h"
#include "unit/device/pair.h"

#include <fcntl.h>

/* Nobody polls on either side: the threads alone must bring it there and back. */
TEST(run_start__serves_who_only_looks_at_memory)
{
	struct side *s[2];
	volatile uint8_t *last;
	uint64_t limit_ns = weft_clock_now(NULL) + LIMIT_S * UINT64_C(1000000000);

	pair_open(s, WEFT_DEV_STRICT);
	last = s[1]->memory + 9999;
	memset(s[0]->memory, 0x77, 10000);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 10000), 0);
	while (*last != 0x77 && weft_clock_now(NULL) < limit_ns)
		weft_clock_sleep(100000);
	CHECK_EQ(*last, 0x77);
	pair_close(s);
}

/* An idle device sleeps: what it uses of the CPU in a while is little, whatever else runs. */
TEST(run_start__sleeps_while_nothing_happens)
{
	struct side *s[2];
	uint64_t before_ns, used_ns = WEFT_NEVER;

	pair_open(s, WEFT_DEV_STRICT);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	weft_clock_sleep(50000000);
	/* A loop that polls fails each time; a busy machine may disturb one. */
	for (unsigned i = 0; i < 5 && used_ns >= 150000000; i++) {
		before_ns = weft_clock_cpu_ns();
		weft_clock_sleep(300000000);
		used_ns = weft_clock_cpu_ns() - before_ns;
	}
	CHECK(used_ns < 150000000);
	pair_close(s);
}

static int move_to(struct side *s, uint8_t state, bool notify)
{
	struct weft_dev_qp_attr attr = { .state = state, .notify = notify };

	return weft_dev_qp_modify(s->qp, &attr, WEFT_DEV_SET_STATE | WEFT_DEV_SET_NOTIFY);
}

static bool drains(struct side *s)
{
	struct weft_dev_qp_attr attr;

	weft_dev_qp_query(s->qp, &attr, NULL);
	return attr.draining;
}

/* What was under way has no completions of its own, and no receives until the test gives some. */
TEST(run_once__tells_when_a_send_queue_has_drained)
{
	struct side *s[2];
	struct weft_dev_event event = { 0 };
	uint64_t limit_ns = weft_clock_now(NULL) + LIMIT_S * UINT64_C(1000000000);

	pair_open(s, WEFT_DEV_EXTENDED);
	REQUIRE(!fcntl(weft_dev_event_fd(s[0]->dev), F_SETFL, O_NONBLOCK));
	CHECK_EQ(side_recv(s[1], 0, 0, 64), 0);
	for (uint64_t i = 0; i < 3; i++) {
		struct weft_dev_send send = { .op = WEFT_DEV_SEND,
			.flags = i ? 0 : WEFT_DEV_SIGNALED };

		CHECK_EQ(side_post(s[0], send, 0, 64), 0);
		if (!i) /* connected: what follows is given to the engine at once */
			CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	}
	CHECK_EQ(move_to(s[0], WEFT_DEV_SQD, true), 0);
	CHECK(drains(s[0]));
	CHECK_EQ(weft_dev_event_get(s[0]->dev, &event), EAGAIN);
	for (uint64_t i = 1; i < 3; i++)
		CHECK_EQ(side_recv(s[1], i, 0, 64), 0);
	while (weft_dev_event_get(s[0]->dev, &event) && weft_clock_now(NULL) < limit_ns)
		weft_clock_sleep(100000);
	CHECK_EQ(event.kind, WEFT_DEV_SQ_DRAINED);
	CHECK(event.user == s[0]);
	CHECK(!drains(s[0]));
	/* Not asked for, not told; nor when the queue pair has left the state. */
	CHECK_EQ(move_to(s[0], WEFT_DEV_RTS, false), 0);
	CHECK_EQ(move_to(s[0], WEFT_DEV_SQD, false), 0);
	CHECK(!drains(s[0]));
	CHECK_EQ(move_to(s[0], WEFT_DEV_RTS, true), 0);
	CHECK_EQ(side_post(s[0], (struct weft_dev_send){ .op = WEFT_DEV_SEND }, 0, 64), 0);
	CHECK_EQ(move_to(s[0], WEFT_DEV_SQD, true), 0);
	CHECK_EQ(move_to(s[0], WEFT_DEV_ERR, true), 0);
	CHECK(!drains(s[0]));
	CHECK_EQ(weft_dev_event_get(s[0]->dev, &event), EAGAIN);
	pair_close(s);
}

/* The ring of events forgets; a loss alone may note thousands of them. */
TEST(take_failures__misses_none_whatever_else_has_happened)
{
	struct side *s[2];

	pair_open(s, WEFT_DEV_EXTENDED);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	weft_lock_take(&s[1]->dev->lock);
	struct weft_dev *dev = s[1]->dev;
	const struct weft_config *engine = weft_live_engine(dev->live);
	struct weft_path_info path;
	uint64_t now = weft_clock_now(NULL);

	REQUIRE(!weft_path_info(dev->ep, s[1]->qp->pathset, 0, &path));
	CHECK_EQ(weft_qp_move(s[1]->qp->eq, WEFT_QP_ERROR, NULL, now), 0);
	for (uint32_t i = 0; i < 2 * engine->events; i++)
		(void)weft_path_mark(dev->ep, s[1]->qp->pathset, path.ev,
			i & 1 ? WEFT_PATH_GOOD : WEFT_PATH_DENIED, now);
	weft_lock_give(&dev->lock);
	for (unsigned i = 0; i < LIMIT_S * 1000u && s[1]->qp->attr.state != WEFT_DEV_ERR; i++)
		weft_clock_sleep(1000000);
	CHECK_EQ(s[1]->qp->attr.state, WEFT_DEV_ERR);
	pair_close(s);
}
