/* SPDX-License-Identifier: BSD-2-Clause */
#include "small.h"

/* A lane of a small fabric, in its first window. */
static struct lane *lane_at_start(struct small *s)
{
	small_open(s);
	struct lane *lane = &s->sim->lanes[0];

	mail_time(lane, lane->window, true);
	mail_time(lane, lane->window, false);
	return lane;
}

static void go_on(struct lane *lane)
{
	uint64_t next = lane->window + 1;
	bool is_step = next % lane->sim->windows == 0;

	if (is_step) {
		mail_clear(lane);
		mail_time(lane, next, true);
	}
	mail_time(lane, next, false);
}

TEST(mail_post__delivers_in_the_window_of_arrival_only)
{
	struct small s = small_make(SMALL_FOUR);
	struct lane *lane = lane_at_start(&s);
	uint64_t window_ps = s.sim->window_ps, start_ps = lane->start_ps;

	for (uint32_t k = 1; k < 9; k++)
		mail_post(
			lane, 5, start_ps + k * window_ps + k, &(struct weft_frame){ .handle = k });
	CHECK_EQ(mail_next(lane), lane->window + s.sim->windows); /* after this step */
	for (uint32_t k = 1; k < 9; k++) {
		go_on(lane);
		CHECK_EQ(mail_bits(lane, CLOCK_WINDOW, 0), 1u << 5);
		mail_collect(lane, 4);
		CHECK_EQ(lane->mail.n, 0);
		mail_collect(lane, 5);
		CHECK_EQ(lane->mail.n, 1);
		CHECK_EQ((uint32_t)mail_frame(lane, 0)->handle, k);
		CHECK_EQ(mail_ps(lane, 0), start_ps + k * window_ps + k);
	}
	go_on(lane);
	CHECK_EQ(mail_bits(lane, CLOCK_WINDOW, 0), 0);
	CHECK(mail_next(lane) == WEFT_NEVER);
	small_close(&s);
}

/* As it was when the last word was written, not as it was when room was asked for. */
TEST(mail_room__keeps_a_frame_until_its_box_is_near)
{
	struct small s = small_make(SMALL_FOUR);
	struct lane *lane = lane_at_start(&s);
	uint64_t hops = lane->packet_hops;

	for (uint32_t k = 0; k < 3 * OUTGOING; k++) {
		struct weft_frame *frame = mail_room(lane, 5, lane->end_ps + k, k);

		frame->in_port = 3;
		frame->bytes = (uint16_t)(1000 + k);
	}
	CHECK_EQ(lane->packet_hops, hops + 3 * OUTGOING);
	mail_flush(lane);
	mail_flush(lane); /* nothing is there any more */
	go_on(lane);
	mail_collect(lane, 5);
	REQUIRE(lane->mail.n == 3 * OUTGOING);
	for (uint32_t k = 0; k < 3 * OUTGOING; k++) {
		CHECK_EQ((uint32_t)mail_frame(lane, k)->handle, k);
		CHECK_EQ(mail_frame(lane, k)->in_port, 3);
		CHECK_EQ(mail_frame(lane, k)->bytes, 1000 + k);
		CHECK_EQ(mail_ps(lane, k), lane->start_ps + k);
	}
	small_close(&s);
}

/* T1s are run once in a step: all that comes in it is theirs then. */
TEST(mail_post__gathers_a_step_for_t1s)
{
	struct small s = small_make(SMALL_FOUR);
	struct lane *lane = lane_at_start(&s);
	uint32_t node = s.sim->first_t1;
	uint64_t step_ps = s.sim->clock_ps[CLOCK_STEP], start_ps = lane->start_ps;

	CHECK_EQ(step_ps, s.sim->windows * s.sim->window_ps);
	for (uint32_t k = 0; k < s.sim->windows; k++)
		mail_post(lane, node, start_ps + step_ps + k * s.sim->window_ps,
			&(struct weft_frame){ .handle = k });
	mail_clear(lane);
	mail_time(lane, lane->window + s.sim->windows, true);
	mail_collect(lane, node);
	REQUIRE(lane->mail.n == s.sim->windows);
	for (uint32_t k = 0; k < s.sim->windows; k++)
		CHECK_EQ((uint32_t)mail_frame(lane, k)->handle, k);
	CHECK(mail_next(lane) == WEFT_NEVER);
	small_close(&s);
}

TEST(mail_post__refuses_what_would_arrive_in_this_window)
{
	struct small s = small_make(SMALL_FOUR);
	struct lane *lane = lane_at_start(&s);

	CHECK_PANICS(mail_post(lane, 5, lane->end_ps - 1, &(struct weft_frame){ 0 }));
	small_close(&s);
}

/* Few and many, with times that are often equal: by time, then by port, whoever came first. */
TEST(mail_collect__sorts_by_time_and_port)
{
	struct small s = small_make(SMALL_ONE);
	struct lane *lane = lane_at_start(&s);
	struct weft_rng rng;

	weft_rng_seed(&rng, 3);
	for (uint32_t n = 1; n < 2700; n = n * 3 + 1) {
		uint64_t before = 0;

		for (uint32_t i = 0; i < n; i++)
			mail_post(lane, 17,
				lane->end_ps + weft_rng_below(&rng, i % 3 ? 40 : s.sim->window_ps),
				&(struct weft_frame){
					.handle = i, .in_port = (uint16_t)(i % 500) });
		go_on(lane);
		mail_collect(lane, 17);
		CHECK_EQ(lane->mail.n, n);
		for (uint32_t i = 0; i < n; i++) {
			uint64_t key = (mail_ps(lane, i) - lane->start_ps) << 12 |
				       mail_frame(lane, i)->in_port;

			CHECK(key >= before);
			before = key;
		}
	}
	small_close(&s);
}

/* As much as all windows of a ring could hold, many times over, in as many chunks as one needs. */
TEST(mail_done__gives_chunks_to_what_is_sent_next)
{
	struct small s = small_make(SMALL_FOUR);
	struct lane *lane = lane_at_start(&s);
	uint32_t n = 40 * CHUNK_FRAMES;

	for (uint32_t window = 0; window < 200; window++) {
		for (uint32_t k = 0; k < n; k++)
			mail_post(lane, 5, lane->end_ps + k, &(struct weft_frame){ .handle = k });
		go_on(lane);
		mail_collect(lane, 5);
		REQUIRE(lane->mail.n == n);
		CHECK_EQ(lane->mail.chunks, 40);
		CHECK_EQ((uint32_t)mail_frame(lane, n - 1)->handle, n - 1);
		mail_done(lane);
		mail_done(lane); /* nothing is left to be given */
	}
	CHECK_EQ(s.sim->mail.fresh, SLAB_BATCH);
	small_close(&s);
}
