/* SPDX-License-Identifier: BSD-2-Clause */
#include "hand.h"

/* Answers to the first port announcements that are lost; -1: nothing is. */
static int drop_announcements;
static uint32_t dead_ev;

static bool some_die(struct world *w, int from, struct weft_pkt *pkt)
{
	(void)w;
	if (pkt->op == WEFT_OP_EP_REQUEST && pkt->ep.op == WEFT_EP_PORT_STATUS && from == 0 &&
	    drop_announcements > 0)
		return drop_announcements--;
	return from == 0 && pkt->ev == dead_ev;
}

static uint8_t state_of(struct world *w, uint32_t ev)
{
	return hand_path(w, 0, ev)->state;
}

TEST(probe_on_timer__a_bad_path_returns_after_three_answers)
{
	struct world w = { .check = true };

	hand_open(&w, 16, 16);
	uint32_t ev = 2u << 11;
	uint64_t start = w.now;

	CHECK_EQ(weft_path_mark(w.end[0], w.set[0], ev, WEFT_PATH_ASSUMED_BAD, w.now), 0);
	world_run_until(&w, start + 900000);
	CHECK_EQ(state_of(&w, ev), WEFT_PATH_ASSUMED_BAD);
	world_run_until(&w, start + 2000000);
	CHECK_EQ(state_of(&w, ev), WEFT_PATH_GOOD);
	CHECK_EQ(weft_stats(w.end[0])->tx_ep_request, w.config.proof_answers + 1);
	CHECK_EQ(weft_stats(w.end[1])->rx_ep_request, w.config.proof_answers + 1);
	CHECK_EQ(weft_stats(w.end[0])->paths_revived, 1);
	CHECK_EQ(weft_next_timeout(w.end[0]), WEFT_NEVER); /* idle costs nothing */
	world_close(&w);
}

TEST(probe_on_timer__a_dead_path_is_asked_ever_less_often)
{
	struct world w = { .check = true, .fault = some_die };
	uint64_t asked[3];

	hand_open(&w, 16, 16);
	dead_ev = 2u << 11;
	drop_announcements = -1;
	CHECK_EQ(weft_path_mark(w.end[0], w.set[0], dead_ev, WEFT_PATH_ASSUMED_BAD, w.now), 0);
	for (int i = 0; i < 3; i++) {
		world_run_until(&w, w.now + 100000000);
		asked[i] = weft_stats(w.end[0])->tx_ep_request;
	}
	CHECK_EQ(state_of(&w, dead_ev), WEFT_PATH_ASSUMED_BAD);
	CHECK(asked[0] >= 14 && asked[0] <= 24); /* 50 us doubling to 10 ms */
	CHECK(asked[2] - asked[1] >= 9 && asked[2] - asked[1] <= 11);
	dead_ev = UINT32_MAX;
	world_run_until(&w, w.now + 30000000);
	CHECK_EQ(state_of(&w, 2u << 11), WEFT_PATH_GOOD);
	world_close(&w);
}

static bool last_dies_and_answers_get_lost(struct world *w, int from, struct weft_pkt *pkt)
{
	static uint32_t answers;

	(void)w;
	if (from == 1)
		return pkt->op == WEFT_OP_EP_RESPONSE && answers++ & 1;
	return pkt->ev == dead_ev;
}

/* The peer sends half of its answers by a path that is dead, so that six in a row never come; and
 * the path that was left, because something had to be, is the wrong one. */
TEST(is_proven__one_answer_will_do_where_the_last_path_is_dead)
{
	struct world w = { .check = true, .fault = last_dies_and_answers_get_lost };
	struct weft_config config;
	struct weft_done done;

	world_config(&config);
	config.ports = 1;
	world_open(&w, &config);
	world_connect(&w, 4, 4, &weft_cc_fixed);
	struct weft_endpoint *ep = w.end[0];
	struct pathset *set = &ep->sets[w.set[0]];

	dead_ev = set->path[0].ev;
	for (uint32_t i = 1; i < set->paths; i++) {
		path_retire(ep, w.set[0], i, true, w.now);
		set->past[i].proof_need = 6;
	}
	CHECK_EQ(set->active, 1);
	for (uint64_t id = 0; id < 8; id++)
		world_write(&w, 0, id, id * 64, 64);
	CHECK_EQ(world_wait(&w, 0, 8, 50000000, &done), 8);
	CHECK_EQ(done.status, WEFT_OK);
	CHECK_EQ(set->path[0].state, WEFT_PATH_ASSUMED_BAD);
	world_close(&w);
}

TEST(probe_tell_ports__repeats_until_answered)
{
	struct world w = { .check = true, .fault = some_die };
	struct weft_set_info info;

	hand_open(&w, 16, 16);
	dead_ev = UINT32_MAX;
	drop_announcements = 6;
	CHECK_EQ(weft_port_mark(w.end[0], 5, false, w.now), 0);
	world_run_until(&w, w.now + 10000000);
	CHECK_EQ(drop_announcements, 0);
	CHECK_EQ(weft_stats(w.end[0])->tx_ep_request, 7);
	CHECK_EQ(weft_set_info(w.end[1], w.set[1], &info), 0);
	CHECK_EQ(info.peer_ports & 0xff, 0xdf);
	CHECK_EQ(info.suspect_planes, 1u << 5);
	CHECK_EQ(weft_next_timeout(w.end[0]), WEFT_NEVER);
	world_close(&w);
}

TEST(probe_on_request__answers_strangers_and_tells_them_nothing)
{
	struct world w = { 0 };
	struct weft_pkt answer, request = {
		.op = WEFT_OP_EP_REQUEST, .peer = 99, .dqpn = WEFT_EP_QPN, .psn = 0x1234,
		.ev = 0x777, .port = 2, .ep = { .op = WEFT_EP_PORT_STATUS, .ts = 55 },
	};
	struct weft_place place;
	struct weft_set_info info;

	hand_open(&w, 16, 16);
	weft_input(w.end[0], &request, 1, w.now, &place);
	CHECK_EQ(hand_out(&w, 0, &answer, 1), 1);
	CHECK_EQ(answer.op, WEFT_OP_EP_RESPONSE);
	CHECK_EQ(answer.peer, 99);
	CHECK_EQ(answer.psn, 0x1234);
	CHECK_EQ(answer.ev, 0x777);
	CHECK_EQ(answer.port, 2);
	CHECK_EQ(answer.ep.ts, 55);
	CHECK_EQ(weft_set_info(w.end[0], w.set[0], &info), 0);
	CHECK_EQ(info.peer_ports, UINT32_MAX); /* not its peer: its ports mean nothing */
	world_close(&w);
}

TEST(probe_on_response__takes_only_the_peers_answer_to_an_open_request)
{
	struct world w = { 0 };
	struct weft_probe_done done;
	struct weft_pkt request;

	hand_open(&w, 16, 16);
	CHECK_EQ(weft_post_probe(w.end[0], w.set[0], 1u << 11, 77, w.now), 0);
	CHECK_EQ(weft_post_probe(w.end[0], w.set[0], 12345, 77, w.now), WEFT_ENOENT);
	CHECK_EQ(weft_post_probe(w.end[0], 9, 1u << 11, 77, w.now), WEFT_ENOENT);
	REQUIRE(hand_out(&w, 0, &request, 1) == 1);
	w.now += 13000;
	struct weft_pkt answer = request;
	struct weft_place place;

	answer.op = WEFT_OP_EP_RESPONSE;
	answer.psn = request.psn + 64; /* the same slot, another request */
	answer.peer = 7;
	weft_input(w.end[0], &answer, 1, w.now, &place);
	answer.psn = request.psn;
	answer.peer = 8;
	weft_input(w.end[0], &answer, 1, w.now, &place);
	CHECK_EQ(weft_poll_probe(w.end[0], &done, 1), 0);
	CHECK_EQ(hand_drops(&w, 0, WEFT_DROP_UNKNOWN_REQUEST), 2);
	answer.peer = 7;
	weft_input(w.end[0], &answer, 1, w.now, &place);
	CHECK_EQ(weft_poll_probe(w.end[0], &done, 1), 1);
	CHECK_EQ(done.rtt_ns, 13000);
	CHECK_EQ(done.cookie, 77);
	CHECK_EQ(done.ev, 1u << 11);
	weft_input(w.end[0], &answer, 1, w.now, &place);
	CHECK_EQ(hand_drops(&w, 0, WEFT_DROP_UNKNOWN_REQUEST), 3);
	world_close(&w);
}

TEST(probe_requests_timer__silence_is_reported_as_no_answer)
{
	struct world w = { 0 };
	struct weft_probe_done done;
	struct weft_pkt pkt;

	hand_open(&w, 16, 16);
	CHECK_EQ(weft_post_probe(w.end[0], w.set[0], 1u << 11, 5, w.now), 0);
	CHECK_EQ(hand_out(&w, 0, &pkt, 1), 1);
	w.now = weft_next_timeout(w.end[0]);
	CHECK_EQ(hand_out(&w, 0, &pkt, 1), 0);
	CHECK_EQ(weft_poll_probe(w.end[0], &done, 1), 1);
	CHECK_EQ(done.cookie, 5);
	CHECK_EQ(done.rtt_ns, 0);
	world_close(&w);
}

TEST(weft_post_port_status__the_peer_believes_it_until_told_again)
{
	struct world w = { .check = true };
	struct weft_probe_done done;
	struct weft_set_info info;
	struct weft_event events[16];
	uint64_t seq = 0;

	hand_open(&w, 16, 16);
	CHECK_EQ(weft_post_port_status(w.end[0], w.set[0], 12345, 1, 5, w.now), WEFT_ENOENT);
	CHECK_EQ(weft_post_port_status(w.end[0], 9, 1u << 11, 1, 5, w.now), WEFT_ENOENT);
	CHECK_EQ(weft_post_port_status(w.end[0], w.set[0], 4u << 11, 0xf3, 5, w.now), 0);
	world_run_until(&w, w.now + 1000000);
	CHECK_EQ(weft_poll_probe(w.end[0], &done, 1), 1);
	CHECK_EQ(done.cookie, 5);
	CHECK_EQ(done.ev, 4u << 11);
	CHECK_EQ(done.port, 4);
	CHECK(done.rtt_ns > 0);
	CHECK_EQ(weft_set_info(w.end[1], w.set[1], &info), 0);
	CHECK_EQ(info.peer_ports, 0xf3);
	CHECK_EQ(info.suspect_planes, 3u << 2);
	CHECK_EQ(weft_set_info(w.end[0], w.set[0], &info), 0);
	CHECK_EQ(info.suspect_planes, 0); /* ours carry on */
	size_t n = 0;

	for (size_t more = 1; more; n = more ? more : n)
		more = weft_events(w.end[0], &seq, events, WEFT_COUNT(events));
	REQUIRE(n > 0);
	CHECK_EQ(events[n - 1].kind, WEFT_EV_PORT_STATUS);
	CHECK_EQ(events[n - 1].a, 0xf3);
	CHECK_EQ(events[n - 1].b, 1);
	/* A port of ours that changes is told by the engine itself, and that counts then. */
	CHECK_EQ(weft_port_mark(w.end[0], 7, false, w.now), 0);
	world_run_until(&w, w.now + 5000000);
	CHECK_EQ(weft_set_info(w.end[1], w.set[1], &info), 0);
	CHECK_EQ(info.peer_ports, 0x7f);
	CHECK_EQ(info.suspect_planes, 1u << 7);
	world_close(&w);
}

TEST(weft_post_port_status__silence_is_reported_and_harms_no_path)
{
	struct world w = { .check = true, .fault = some_die };
	struct weft_probe_done done;

	hand_open(&w, 16, 16);
	dead_ev = 3u << 11;
	for (uint32_t i = 0; i < 5; i++) {
		CHECK_EQ(weft_post_port_status(w.end[0], w.set[0], dead_ev, 0xff, i, w.now), 0);
		world_run_until(&w, w.now + 100000000);
		REQUIRE(weft_poll_probe(w.end[0], &done, 1) == 1);
		CHECK_EQ(done.cookie, i);
		CHECK_EQ(done.rtt_ns, 0);
	}
	CHECK_EQ(state_of(&w, dead_ev), WEFT_PATH_GOOD);
	dead_ev = UINT32_MAX;
	world_close(&w);
}

TEST(weft_post_port_status__refuses_more_than_can_be_under_way)
{
	struct world w = { 0 };
	uint32_t n = 0;

	hand_open(&w, 16, 16);
	while (!weft_post_port_status(w.end[0], w.set[0], 1u << 11, 1, n, w.now) && n < 1000)
		n++;
	CHECK_EQ(n, REQUESTS);
	CHECK_EQ(weft_post_port_status(w.end[0], w.set[0], 1u << 11, 1, n, w.now), WEFT_EFULL);
	weft_check(w.end[0]);
	world_close(&w);
}

TEST(probe_forget__tells_the_controller_that_nobody_answered)
{
	struct world w = { 0 };
	struct weft_probe_done done;
	struct weft_pkt pkt;

	hand_open(&w, 16, 16);
	CHECK_EQ(weft_post_probe(w.end[0], w.set[0], 1u << 11, 5, w.now), 0);
	CHECK_EQ(weft_post_probe(w.end[0], w.set[0], 2u << 11, 6, w.now), 0);
	probe_forget(w.end[0], w.set[0], pathset_find(&w.end[0]->sets[w.set[0]], 1u << 11));
	CHECK_EQ(weft_poll_probe(w.end[0], &done, 1), 1);
	CHECK_EQ(done.cookie, 5);
	CHECK_EQ(done.rtt_ns, 0);
	CHECK_EQ(hand_out(&w, 0, &pkt, 1), 1); /* the other one only */
	CHECK_EQ(pkt.ev, 2u << 11);
	CHECK_EQ(hand_out(&w, 0, &pkt, 1), 0);
	world_close(&w);
}
