/* SPDX-License-Identifier: BSD-2-Clause */
#include "hand.h"

static struct pathset *set_of(struct world *w)
{
	return &w->end[0]->sets[w->set[0]];
}

static uint32_t pick(struct world *w, uint32_t ports)
{
	return pathset_pick(w->end[0], set_of(w), ports, PATH_NONE);
}

TEST(pathset_pick__planes_take_turns_and_paths_come_once_per_pass)
{
	struct world w = { 0 };

	hand_open(&w, 64, 48); /* 6 of 8 per plane */
	for (uint32_t pass = 0; pass < 50; pass++) {
		uint8_t seen[64] = { 0 };

		for (uint32_t i = 0; i < 48; i++) {
			uint32_t index = pick(&w, UINT32_MAX);

			CHECK_EQ(set_of(&w)->path[index].plane, (i + 1) % 8);
			seen[index]++;
		}
		for (uint32_t i = 0; i < 64; i++)
			CHECK_EQ(seen[i], pathset_is_active(set_of(&w), i));
	}
	weft_check(w.end[0]);
	world_close(&w);
}

TEST(pathset_pick__a_marked_path_loses_one_turn)
{
	struct world w = { 0 };
	uint32_t count[16] = { 0 };

	hand_open(&w, 16, 16);
	path_on_mark(w.end[0], w.set[0], 5, w.now);
	path_on_mark(w.end[0], w.set[0], 5, w.now); /* a second mark costs nothing more */
	for (uint32_t i = 0; i < 199; i++)
		count[pick(&w, 1u << 5)]++;
	CHECK_EQ(set_of(&w)->path[5].state, WEFT_PATH_GOOD);
	CHECK_EQ(count[5], 99);
	CHECK_EQ(count[5 + 8], 100); /* its neighbour: the plane's share stays what it was */
	world_close(&w);
}

static void mark(struct world *w, uint32_t index, uint32_t times)
{
	while (times--)
		path_on_mark(w->end[0], w->set[0], index, w->now);
}

/* How often a path comes in 1,000 turns of its plane. */
static uint32_t turns_of(struct world *w, uint32_t index)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < 1000; i++) {
		count += pick(w, 1u << set_of(w)->path[index].plane) == index;
		weft_check(w->end[0]);
	}
	return count;
}

/* Fig. 14 of the paper: one of two paths is too full, and there is room on the other. */
TEST(pathset_pick__a_path_that_alone_is_marked_rests)
{
	struct world w = { 0 };

	hand_open(&w, 16, 16); /* 5 and 13 on plane 5 */
	mark(&w, 5, 24);
	CHECK(turns_of(&w, 5) > 490);
	mark(&w, 5, 1);
	uint32_t turns = turns_of(&w, 5);

	CHECK(turns >= 10 && turns <= 20); /* some look whether it is better */
	path_on_clear(set_of(&w), 5);
	CHECK(turns_of(&w, 5) > 490); /* it is */
	world_close(&w);
}

/* There is no room on the other one: its mark ends the rest, and the next one takes more marks. */
TEST(pathset_pick__a_path_goes_on_when_others_are_marked)
{
	struct world w = { 0 };

	hand_open(&w, 16, 16);
	mark(&w, 5, 25);
	mark(&w, 13, 1);
	CHECK(turns_of(&w, 5) > 490);
	mark(&w, 5, 25);
	CHECK(turns_of(&w, 5) > 490);
	mark(&w, 5, 24);
	CHECK(turns_of(&w, 5) < 20);
	for (uint32_t i = 0; i < 20; i++) { /* in turn: nobody rests */
		mark(&w, 5, 1);
		mark(&w, 13, 1);
	}
	CHECK(turns_of(&w, 5) > 490);
	/* What has been doubted is forgotten. */
	for (uint32_t i = 0; i < 2 * 65536; i++)
		path_on_clear(set_of(&w), 13);
	mark(&w, 5, 25);
	CHECK(turns_of(&w, 5) < 20);
	world_close(&w);
}

TEST(pathset_pick__takes_only_free_usable_ports)
{
	struct world w = { 0 };

	hand_open(&w, 16, 16);
	for (uint32_t i = 0; i < 20; i++)
		CHECK_EQ(set_of(&w)->path[pick(&w, 1u << 6)].plane, 6);
	CHECK_EQ(pick(&w, 0), PATH_NONE);
	CHECK_EQ(pick(&w, 1u << 9), PATH_NONE);
	set_of(&w)->peer_ports = ~(1u << 6);
	CHECK_EQ(pick(&w, 1u << 6), PATH_NONE);
	for (uint32_t i = 0; i < 50; i++)
		CHECK(pathset_pick(w.end[0], set_of(&w), 1u << 2, 2) != 2);
	world_close(&w);
}

TEST(pathset_pick_away__takes_another_plane_unless_none_is_free)
{
	struct world w = { 0 };
	const struct path *path;

	hand_open(&w, 16, 16);
	path = set_of(&w)->path;
	uint32_t avoid = pick(&w, 1u << 3);

	for (uint32_t i = 0; i < 32; i++) {
		uint32_t got = pathset_pick_away(w.end[0], set_of(&w), UINT32_MAX, avoid);

		CHECK(path[got].plane != 3);
		got = pathset_pick_away(w.end[0], set_of(&w), 1u << 3, avoid);
		CHECK_EQ(path[got].plane, 3);
		CHECK(got != avoid);
	}
	for (uint32_t p = 0; p < 8; p++)
		if (p != 3)
			pathset_empty_plane(w.end[0], w.set[0], p, w.now);
	uint32_t last = pathset_pick_away(w.end[0], set_of(&w), UINT32_MAX, avoid);

	CHECK_EQ(path[last].plane, 3);
	CHECK(pathset_pick_away(w.end[0], set_of(&w), UINT32_MAX, PATH_NONE) != PATH_NONE);
	world_close(&w);
}

TEST(pathset_pick__something_bad_is_better_than_nothing_but_denied_is_not)
{
	struct world w = { 0 };

	hand_open(&w, 16, 16);
	for (uint32_t p = 0; p < 8; p++)
		pathset_empty_plane(w.end[0], w.set[0], p, w.now);
	weft_check(w.end[0]);
	CHECK(pick(&w, UINT32_MAX) != PATH_NONE);
	for (uint32_t i = 0; i < 16; i++)
		if (i != 11)
			CHECK_EQ(weft_path_mark(w.end[0], w.set[0], set_of(&w)->path[i].ev,
						WEFT_PATH_DENIED, w.now), 0);
	for (uint32_t i = 0; i < 20; i++)
		CHECK_EQ(pick(&w, UINT32_MAX), 11);
	CHECK_EQ(weft_path_mark(w.end[0], w.set[0], set_of(&w)->path[11].ev, WEFT_PATH_DENIED,
				w.now), 0);
	CHECK_EQ(pick(&w, UINT32_MAX), PATH_NONE);
	world_close(&w);
}

TEST(pathset_reply__goes_back_by_the_plane_of_the_question)
{
	struct world w = { 0 };

	hand_open(&w, 16, 16);
	for (uint32_t port = 0; port < 8; port++) {
		uint32_t index = pathset_reply(w.end[0], set_of(&w), port, UINT32_MAX);

		CHECK_EQ(set_of(&w)->path[index].plane, port);
		path_retire(w.end[0], w.set[0], index, true, w.now);
		uint32_t next = pathset_reply(w.end[0], set_of(&w), port, UINT32_MAX);

		CHECK(next != index); /* a retired one answers no longer */
		CHECK_EQ(set_of(&w)->path[next].plane, port);
	}
	pathset_empty_plane(w.end[0], w.set[0], 4, w.now);
	CHECK(set_of(&w)->path[pathset_reply(w.end[0], set_of(&w), 4, UINT32_MAX)].plane != 4);
	CHECK_EQ(pathset_reply(w.end[0], set_of(&w), 4, 1u << 4), PATH_NONE);
	world_close(&w);
}

TEST(pathset_pick__goes_round_in_one_order_that_no_other_set_has)
{
	struct world w = { 0 };
	uint32_t first[16], differ = 0;

	hand_open(&w, 128, 128);
	for (uint32_t i = 0; i < 16; i++)
		first[i] = pick(&w, 1u << 3);
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t other = pathset_pick(
			w.end[1], &w.end[1]->sets[w.set[1]], 1u << 3, PATH_NONE);

		CHECK_EQ(pick(&w, 1u << 3), first[i]);
		differ += other != first[i];
	}
	CHECK(differ > 8);
	world_close(&w);
}

TEST(pathset_reply__spreads_over_what_is_alive_and_what_may_be)
{
	struct world w = { 0 };
	uint32_t count[128] = { 0 };

	hand_open(&w, 128, 128);
	struct pathset *set = set_of(&w);

	for (uint32_t i = 3; i < 128; i += 8)
		set->path[i].losses = i != 3 && i != 11; /* two that nothing is known against */
	pathset_alive(set, 19);
	pathset_alive(set, 27);
	pathset_alive(set, 27);
	pathset_not_alive(set, 19);
	for (uint32_t i = 0; i < 64; i++)
		count[pathset_reply(w.end[0], set, 3, UINT32_MAX)]++;
	CHECK(count[3] > 0 && count[11] > 0 && count[27] >= 32);
	CHECK_EQ(count[3] + count[11] + count[27], 64);
	world_close(&w);
}

TEST(pathset_find__knows_every_ev_of_the_set)
{
	struct world w = { 0 };

	hand_open(&w, 16, 16);
	for (uint32_t i = 0; i < 16; i++)
		CHECK_EQ(pathset_find(set_of(&w), set_of(&w)->path[i].ev), i);
	CHECK_EQ(pathset_find(set_of(&w), 0xdeadbeef), PATH_NONE);
	world_close(&w);
}

TEST(pathset_rehome__keeps_each_planes_stretch)
{
	struct world w = { 0 };

	hand_open(&w, 64, 48); /* 6 of 8 per plane */
	struct pathset *set = set_of(&w);

	for (uint32_t i = 0; i < 200; i++) {
		uint32_t index = i * 37 % 64, to = i * 5 % 8;

		if (set->path[index].plane == to)
			continue;
		pathset_rehome(set, index, to);
		CHECK_EQ(set->path[index].plane, to);
		CHECK(!pathset_is_active(set, index));
		pathset_return(set, index);
		weft_check(w.end[0]);
	}
	CHECK_EQ(set->active, 48);
	world_close(&w);
}
