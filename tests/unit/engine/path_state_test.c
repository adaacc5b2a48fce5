/* SPDX-License-Identifier: BSD-2-Clause */
#include "hand.h"

enum { E = WEFT_PATH_EMPTY, G = WEFT_PATH_GOOD, S = WEFT_PATH_SKIP, B = WEFT_PATH_ASSUMED_BAD,
       D = WEFT_PATH_DENIED };

TEST(path_step__follows_figure_5)
{
	static const uint8_t want[][PATH_EVENT_COUNT] = {
		/*      SET MARK TURN LOSS PROOF DENY ALLOW */
		[G] = { 0,  S,   G,   B,   G,    D,   G },
		[S] = { 0,  S,   G,   B,   S,    D,   S },
		[B] = { 0,  B,   B,   B,   G,    D,   B },
		[D] = { 0,  D,   D,   D,   D,    D,   G },
	};
	struct world w = { 0 };

	hand_open(&w, 16, 16);
	struct weft_endpoint *ep = w.end[0];
	struct path *path = &ep->sets[w.set[0]].path[3];

	for (uint8_t from = G; from <= D; from++) {
		for (int event = PATH_MARK; event < PATH_EVENT_COUNT; event++) {
			uint64_t events = ep->event_seq;
			bool daily = event == PATH_MARK || event == PATH_TURN;

			path->state = from;
			CHECK_EQ(path_step(ep, w.set[0], 3, (enum path_event)event, w.now),
				 want[from][event] != from);
			CHECK_EQ(path->state, want[from][event]);
			CHECK_EQ(ep->event_seq - events, want[from][event] != from && !daily);
		}
	}
	path->state = G;
	CHECK_PANICS(path_step(ep, w.set[0], 3, PATH_SET, w.now));
	path->state = E;
	CHECK_PANICS(path_step(ep, w.set[0], 3, PATH_LOSS, w.now));
	path->state = G;
	CHECK_PANICS(path_step(ep, w.set[0], 16, PATH_LOSS, w.now));
	world_close(&w);
}

TEST(path_retire__a_backup_of_the_same_plane_takes_over)
{
	struct world w = { 0 };

	hand_open(&w, 32, 16); /* per plane 2 active, 2 backups */
	struct weft_endpoint *ep = w.end[0];
	struct pathset *set = &ep->sets[w.set[0]];

	for (uint32_t n = 0; n < 3; n++) {
		uint32_t index = set->order[set->plane[5].first];

		path_retire(ep, w.set[0], index, false, w.now);
		weft_check(ep);
		CHECK_EQ(set->path[index].state, WEFT_PATH_ASSUMED_BAD);
		CHECK_EQ(set->plane[5].active, n < 2 ? 2 : 1);
	}
	CHECK_EQ(ep->count.paths_retired, 3);
	world_close(&w);
}

TEST(path_retire__stops_at_the_floor_unless_it_is_beyond_doubt)
{
	struct world w = { 0 };

	hand_open(&w, 16, 16); /* floor: 8, one per plane */
	struct weft_endpoint *ep = w.end[0];
	struct pathset *set = &ep->sets[w.set[0]];

	for (uint32_t i = 0; i < 16; i++)
		path_retire(ep, w.set[0], i, false, w.now);
	weft_check(ep);
	CHECK_EQ(set->active, 8);
	for (uint32_t p = 0; p < 8; p++)
		CHECK_EQ(set->plane[p].active, 1);
	for (uint32_t i = 0; i < 16; i++)
		path_retire(ep, w.set[0], i, true, w.now);
	weft_check(ep);
	CHECK_EQ(set->active, 1); /* the last one stays: better than nothing */
	world_close(&w);
}

TEST(path_revive__who_relapses_must_prove_twice_as_much)
{
	struct world w = { 0 };

	hand_open(&w, 16, 16);
	struct weft_endpoint *ep = w.end[0];
	struct path *path = &ep->sets[w.set[0]].path[2];
	static const uint8_t need[] = { 3, 6, 12, 24, 32, 32 };

	for (uint32_t i = 0; i < WEFT_COUNT(need); i++) {
		path_retire(ep, w.set[0], 2, true, w.now);
		CHECK_EQ(ep->sets[w.set[0]].past[2].proof_need, need[i]);
		w.now += 1000000;
		path_revive(ep, w.set[0], 2, w.now);
		CHECK_EQ(path->state, WEFT_PATH_GOOD);
		CHECK_EQ(path->losses, 0);
		weft_check(ep);
		w.now += 500000000;
	}
	w.now += 1000000000; /* it has held for a while */
	path_retire(ep, w.set[0], 2, true, w.now);
	CHECK_EQ(ep->sets[w.set[0]].past[2].proof_need, 3);
	world_close(&w);
}

/* Its loss retires the path; then the packet turns up, or its header as a NACK tells. */
/* What left after the path had gone, because nothing better was left, has got through. */
TEST(path_on_delivery__brings_back_who_carried_data_while_bad)
{
	struct world w = { 0 };

	hand_open(&w, 16, 16);
	struct weft_endpoint *ep = w.end[0];
	struct path *path = &ep->sets[w.set[0]].path[3];
	uint64_t now = w.now + 1000000;
	struct sent_rec early = { .path = 3, .sent16 = time16(now - 64) };
	struct sent_rec late = { .path = 3, .sent16 = time16(now + 64) };

	path_retire(ep, w.set[0], 3, true, now);
	path_on_delivery(w.qp[0], &early, now + 1000);
	CHECK_EQ(path->state, B);
	path_on_delivery(w.qp[0], &late, now + 1000);
	CHECK_EQ(path->state, G);
	weft_check(ep);
	path_on_delivery(w.qp[0], &late, now + 1000);
	CHECK_EQ(ep->count.paths_revived, 1);
	world_close(&w);
}

TEST(path_forgive__takes_a_path_back_whose_packet_was_only_late)
{
	for (unsigned how = 0; how < 4; how++) {
		struct world w = { 0 };
		struct weft_pkt pkts[8];

		hand_open(&w, 16, 16);
		struct weft_endpoint *ep = w.end[0];

		world_write(&w, 0, 1, 0, 20000);
		CHECK_EQ(hand_out(&w, 0, pkts, 8), 5);
		uint32_t index = sent_find(w.qp[0], pkts[0].psn)->path;
		struct path *path = &ep->sets[w.set[0]].path[index];
		struct weft_pkt sack = hand_sack(&w, 5, 0);
		struct weft_pkt nack = hand_nack(&w, &pkts[0], WEFT_NACK_TRIMMED);

		w.now += 10000;
		loss_mark(w.qp[0], pkts[0].psn, LOSS_REORDER, w.now);
		CHECK_EQ(path->state, WEFT_PATH_ASSUMED_BAD);
		CHECK_EQ(ep->sets[w.set[0]].past[index].proof_need, ep->config.proof_answers);
		if (how == 2) { /* another one: it was no accident */
			path_on_loss(ep, w.set[0], index, time16(w.now), w.now);
			path_blame(w.qp[0], index, pkts[1].psn);
		}
		if (how == 3) /* of a full receiver, which says nothing of the path */
			nack.nack.reason = WEFT_NACK_PSN_OOR_WINDOW;
		hand_in(&w, 0, how == 1 || how == 3 ? &nack : &sack);
		bool forgiven = how < 2;

		CHECK_EQ(path->state, forgiven ? WEFT_PATH_GOOD : WEFT_PATH_ASSUMED_BAD);
		CHECK_EQ(weft_stats(ep)->paths_revived, forgiven);
		CHECK_EQ(ep->sets[w.set[0]].past[index].proof_need,
			forgiven ? 0 : ep->config.proof_answers);
		world_close(&w);
	}
}

TEST(path_on_loss__a_plane_is_given_up_only_while_others_deliver)
{
	for (int others = 0; others < 2; others++) {
		struct world w = { 0 };

		hand_open(&w, 64, 64);
		struct weft_endpoint *ep = w.end[0];
		struct pathset *set = &ep->sets[w.set[0]];
		const struct plane *plane = &set->plane[3];

		set->path[1].acked_seq = (uint32_t)others; /* of plane 1 */
		set->path[1].acked16 = 1000;
		for (uint32_t i = 0; i < PLANE_DEAD_LOSSES; i++) {
			CHECK(plane->active > 0);
			path_on_loss(ep, w.set[0], set->order[plane->first], 900 + i, w.now);
			weft_check(ep);
		}
		CHECK_EQ(plane->active == 0, others);
		CHECK_EQ(ep->count.planes_suspected, others);
		CHECK_EQ(set->own_empty & set->planes_mask, others ? 1u << 3 : 0);
		world_close(&w);
	}
}
