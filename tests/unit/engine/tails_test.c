/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

#define SECOND UINT64_C(1000000000)

/* All that end 0 would send, at once. */
static size_t out(struct world *w, struct weft_pkt pkts[], size_t max)
{
	return weft_output(w->end[0], pkts, max, UINT32_MAX, w->now);
}

static void in(struct world *w, const struct weft_pkt *pkt)
{
	struct weft_pkt copy = *pkt;
	struct weft_place place;

	copy.peer = 7;
	weft_input(w->end[1], &copy, 1, w->now, &place);
	weft_check(w->end[1]);
	if (place.len_bytes)
		memcpy(place.to, place.from, place.len_bytes);
}

static void turn(struct world *w)
{
	struct weft_pkt pkts[8];

	weft_output(w->end[1], pkts, 8, UINT32_MAX, w->now);
	weft_check(w->end[1]);
}

static void write_at(struct world *w, uint64_t id, uint32_t offset, uint32_t len_bytes)
{
	struct weft_work work = pair_work(w, 0, WEFT_WORK_WRITE, id, offset, len_bytes);

	CHECK_EQ(weft_post(w->qp[0], &work), 0);
}

TEST(tails_keep__the_end_of_a_write_shows_after_its_beginning)
{
	struct world w = { .check = true };
	struct weft_pkt pkts[8];

	pair_start(&w);
	write_at(&w, 1, 0, 3 * 4096);
	REQUIRE(out(&w, pkts, 8) == 3);
	in(&w, &pkts[2]);
	turn(&w);
	const uint8_t *end = w.memory[1] + 3 * 4096 - 8;

	CHECK_EQ(*(const uint64_t *)(const void *)end, 0);
	CHECK(!memcmp(w.memory[1] + 8192, w.memory[0] + 8192, 4088));
	in(&w, &pkts[0]);
	turn(&w);
	CHECK_EQ(*(const uint64_t *)(const void *)end, 0);
	in(&w, &pkts[1]);
	CHECK_EQ(*(const uint64_t *)(const void *)end, 0); /* others may wait to be moved */
	turn(&w);
	CHECK(!memcmp(w.memory[1], w.memory[0], 3 * 4096));
	CHECK_EQ(w.qp[1]->ext->tails, 0);
	pair_end(&w);
}

TEST(tails_settle__a_flag_behind_data_shows_after_the_data)
{
	struct world w = { .check = true };
	struct weft_pkt pkts[8];

	pair_start(&w);
	write_at(&w, 1, 0, 5000);
	write_at(&w, 2, 8192, 3);
	write_at(&w, 3, 8200, 8);
	REQUIRE(out(&w, pkts, 8) == 4);
	in(&w, &pkts[2]);
	in(&w, &pkts[1]);
	turn(&w);
	CHECK_EQ(w.memory[1][8192], 0);
	in(&w, &pkts[0]);
	in(&w, &pkts[3]); /* in its turn, but the ones before it are still kept */
	CHECK_EQ(w.memory[1][8200], 0);
	turn(&w);
	CHECK(!memcmp(w.memory[1], w.memory[0], 5000));
	CHECK(!memcmp(w.memory[1] + 8192, w.memory[0] + 8192, 3));
	CHECK(!memcmp(w.memory[1] + 8200, w.memory[0] + 8200, 8));
	pair_end(&w);
}

/* A reader that looks after every step: nobody's last byte may come before all the rest. */
TEST(tails_settle__holds_over_a_bad_network)
{
	struct world w = { .check = true, .fault = pair_lossy, .skew_ns = 2000 };
	uint32_t seen = 0;

	pair_start(&w);
	for (uint32_t i = 0; i < 60; i++) {
		w.memory[0][(i + 1) * 6000 - 1] = 1;
		write_at(&w, i, i * 6000, 6000);
	}
	while (seen < 60) {
		world_step(&w);
		REQUIRE(w.now < SECOND);
		for (uint32_t i = seen; i < 60; i++)
			if (w.memory[1][(i + 1) * 6000 - 1])
				CHECK(!memcmp(w.memory[1], w.memory[0], (i + 1) * 6000));
		while (seen < 60 && w.memory[1][(seen + 1) * 6000 - 1])
			seen++;
	}
	pair_end(&w);
}

TEST(tails_forget__nothing_is_stored_in_a_region_that_was_dropped)
{
	struct world w = { .check = true };
	struct weft_pkt pkts[8];

	pair_start(&w);
	write_at(&w, 1, 0, 5000);
	REQUIRE(out(&w, pkts, 8) == 2);
	in(&w, &pkts[1]);
	CHECK_EQ(w.qp[1]->ext->tails, 1);
	CHECK_EQ(weft_region_drop(w.end[1], w.rkey[0]), 0);
	CHECK_EQ(w.qp[1]->ext->tails, 0);
	in(&w, &pkts[0]);
	turn(&w);
	CHECK_EQ(w.memory[1][4999], 0);
	pair_end(&w);
}

/*
 * A send that is refused in its turn ends the QP, but what was posted before it is acknowledged and
 * told: all of it has to be there.  Of what came after it nothing shows.
 */
TEST(tails_settle__a_refused_send_takes_no_earlier_end_with_it)
{
	struct world w = { .check = true };
	struct weft_pkt pkts[8];
	struct weft_recv short_one = { .id = 2 };
	struct weft_done done[4];

	pair_start(&w);
	turn(&w); /* nothing is to be settled any more */
	pair_recv(&w, 1, 1);
	CHECK_EQ(weft_post_receive(w.qp[1], &short_one), 0);
	write_at(&w, 1, 0, 100);
	struct weft_work imm = pair_work(&w, 0, WEFT_WORK_WRITE, 2, 104, 48);

	imm.has_imm = true;
	CHECK_EQ(weft_post(w.qp[0], &imm), 0);
	pair_send(&w, 0, 3, 4096, 16);
	write_at(&w, 4, 160, 8);
	REQUIRE(out(&w, pkts, 8) == 4);
	for (uint32_t i = 4; i--;)
		in(&w, &pkts[i]);
	CHECK_EQ(w.qp[1]->state, WEFT_QP_ERROR);
	REQUIRE(weft_poll(w.end[1], 0, done, 4) == 2);
	CHECK_EQ(done[0].status, WEFT_OK);
	CHECK_EQ(done[1].status, WEFT_LOCAL_LENGTH);
	CHECK(!memcmp(w.memory[1], w.memory[0], 100));
	CHECK(!memcmp(w.memory[1] + 104, w.memory[0] + 104, 48));
	CHECK_EQ(w.memory[1][167], 0);
	pair_end(&w);
}
