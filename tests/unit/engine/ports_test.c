/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports and planes that go down and come back, in virtual time. */
#include "hand.h"

static struct {
	uint32_t dead_ports;  /* the cable is cut: nothing passes, both ways */
	uint32_t dead_ev;
	uint32_t drop_status; /* so many port announcements still get lost */
	uint64_t data[WORLD_PORTS];
	uint64_t lost, lost_again; /* by dead ports: data, and what had been lost before */
} sky;

static bool cables(struct world *w, int from, struct weft_pkt *pkt)
{
	(void)w;
	if (weft_op_is_write(pkt->op))
		sky.data[pkt->port]++;
	if (pkt->op == WEFT_OP_EP_REQUEST && pkt->ep.op == WEFT_EP_PORT_STATUS && from == 0 &&
	    sky.drop_status && sky.drop_status--)
		return true;
	if (weft_op_is_write(pkt->op) && sky.dead_ports >> pkt->port & 1) {
		sky.lost++;
		sky.lost_again += (pkt->flags & WEFT_BTH_RTX) != 0;
	}
	return (sky.dead_ports >> pkt->port & 1) || pkt->ev == sky.dead_ev;
}

static void setup(struct world *w, uint32_t active)
{
	struct weft_config config;

	memset(&sky, 0, sizeof(sky));
	sky.dead_ev = UINT32_MAX;
	w->check = true;
	w->fault = cables;
	world_config(&config);
	world_open(w, &config);
	world_connect(w, 64, active, &weft_cc_nscc);
}

/* Keeps end 0 sending until then. */
static void busy_until(struct world *w, uint64_t end_ns)
{
	struct weft_done done;

	while (w->now < end_ns) {
		if ((uint16_t)(w->qp[0]->sq_tail - w->qp[0]->sq_head) < 4)
			world_write(w, 0, 1, 0, 1 << 20);
		while (weft_poll(w->end[0], 0, &done, 1))
			CHECK_EQ(done.status, WEFT_OK);
		world_step(w);
	}
}

static uint64_t data_by(struct world *w, uint32_t port, uint64_t for_ns)
{
	uint64_t before = sky.data[port];

	busy_until(w, w->now + for_ns);
	return sky.data[port] - before;
}

TEST(port_down__the_transfer_goes_on_though_announcements_are_lost)
{
	struct world w = { 0 };
	struct weft_set_info info;

	setup(&w, 32);
	busy_until(&w, w.now + 100000);
	w.longest_gap_ns = 0;
	sky.dead_ports = 1u << 3;
	sky.drop_status = 3;
	CHECK_EQ(weft_port_mark(w.end[0], 3, false, w.now), 0);
	busy_until(&w, w.now + 2000000);
	CHECK_EQ(sky.drop_status, 0);
	CHECK_EQ(weft_set_info(w.end[1], w.set[1], &info), 0);
	CHECK_EQ(info.peer_ports & 0xff, 0xf7);
	CHECK(w.longest_gap_ns < 12000);
	CHECK_EQ(weft_stats(w.end[0])->timeouts, 0);
	CHECK_EQ(data_by(&w, 3, 1000000), 0);
	/* Once it has been answered, nobody announces any more. */
	uint64_t told = weft_stats(w.end[0])->tx_ep_request;

	busy_until(&w, w.now + 5000000);
	CHECK_EQ(weft_stats(w.end[0])->tx_ep_request, told);
	world_close(&w);
}

/* One write at a time until then: how long the slowest took. */
static uint64_t slowest_until(struct world *w, uint64_t end_ns)
{
	struct weft_done done;
	uint64_t worst_ns = 0;

	while (w->now < end_ns) {
		uint64_t start_ns = w->now;

		world_write(w, 0, 1, 0, 1 << 16);
		CHECK_EQ(world_wait(w, 0, 1, 10000000, &done), 1);
		CHECK_EQ(done.status, WEFT_OK);
		worst_ns = WEFT_MAX(worst_ns, w->now - start_ns);
	}
	return worst_ns;
}

/* The wait for the tail, a probe and its answer, a repeat and its answer: six round trips. */
TEST(plane_dies_silently__nothing_is_lost_there_twice)
{
	struct world w = { 0 };

	setup(&w, 32);
	CHECK(slowest_until(&w, w.now + 1000000) < 15000);
	for (uint32_t i = 0; i < 4; i++) {
		sky.dead_ports = 1u << i;
		CHECK(slowest_until(&w, w.now + 3000000) < 6 * w.config.base_rtt_ns);
		sky.dead_ports = 0;
		slowest_until(&w, w.now + 2 * w.config.probe_ns_max);
	}
	CHECK(sky.lost > 4);
	CHECK_EQ(sky.lost_again, 0);
	CHECK_EQ(weft_stats(w.end[0])->timeouts, 0);
	world_close(&w);
}

TEST(port_up__a_plane_carries_data_only_when_both_ends_and_probes_agree)
{
	struct world w = { 0 };

	setup(&w, 32);
	busy_until(&w, w.now + 100000);
	sky.dead_ports = 1u << 3;
	CHECK_EQ(weft_port_mark(w.end[0], 3, false, w.now), 0);
	CHECK_EQ(weft_port_mark(w.end[1], 3, false, w.now), 0);
	busy_until(&w, w.now + 2000000);
	/* This end is up, the other is not. */
	sky.dead_ports = 0;
	CHECK_EQ(weft_port_mark(w.end[0], 3, true, w.now), 0);
	CHECK_EQ(data_by(&w, 3, 5000000), 0);
	/* Both are, but nothing gets through. */
	sky.dead_ports = 1u << 3;
	CHECK_EQ(weft_port_mark(w.end[1], 3, true, w.now), 0);
	CHECK_EQ(data_by(&w, 3, 20000000), 0);
	CHECK(weft_stats(w.end[0])->drops[WEFT_DROP_CONTROL_FULL] == 0);
	/* All is well: used again after the longest wait for a probe, and three proofs. */
	sky.dead_ports = 0;
	busy_until(&w, w.now + w.config.probe_ns_max + 2000000);
	CHECK(data_by(&w, 3, 1000000) > 100);
	struct weft_set_info info;

	CHECK_EQ(weft_set_info(w.end[0], w.set[0], &info), 0);
	CHECK_EQ(info.suspect_planes, 0);
	busy_until(&w, w.now + 30000000);
	CHECK_EQ(weft_set_info(w.end[0], w.set[0], &info), 0);
	CHECK_EQ(info.active, 32); /* and in full */
	world_close(&w);
}

static uint32_t active_paths(const struct world *w)
{
	struct weft_set_info info;

	CHECK_EQ(weft_set_info(w->end[0], w->set[0], &info), 0);
	return info.active;
}

/*
 * After a short outage no plane has been quiet for long: its paths are asked one per round trip,
 * and nothing but the cable is to blame.  Three proofs, which take 1 ms, if it goes again at once.
 */
TEST(port_up__one_answer_per_path_is_enough_unless_it_flaps)
{
	struct world w = { 0 };

	setup(&w, 32);
	busy_until(&w, w.now + 100000);
	for (int flap = 0; flap < 2; flap++) {
		sky.dead_ports = 1u << 3;
		CHECK_EQ(weft_port_mark(w.end[0], 3, false, w.now), 0);
		busy_until(&w, w.now + 500000);
		CHECK(active_paths(&w) < 32);
		sky.dead_ports = 0;
		CHECK_EQ(weft_port_mark(w.end[0], 3, true, w.now), 0);
		busy_until(&w, w.now + 300000);
		CHECK_EQ(active_paths(&w), flap ? 28 : 32);
	}
	busy_until(&w, w.now + 1700000);
	CHECK_EQ(active_paths(&w), 32);
	world_close(&w);
}

/* The NIC for a moment: what gets through first brings its path back, and one answer the rest. */
TEST(all_ports_down__for_a_moment_costs_no_caution)
{
	struct world w = { 0 };

	setup(&w, 32);
	busy_until(&w, w.now + 100000);
	uint32_t cwnd = w.qp[0]->cwnd;

	sky.dead_ports = 0xff;
	for (uint32_t port = 0; port < 8; port++)
		CHECK_EQ(weft_port_mark(w.end[0], port, false, w.now), 0);
	CHECK_EQ(w.qp[0]->cwnd, cwnd); /* it is no congestion, either */
	CHECK_EQ(active_paths(&w), 0);
	busy_until(&w, w.now + 50000);
	sky.dead_ports = 0;
	for (uint32_t port = 0; port < 8; port++)
		CHECK_EQ(weft_port_mark(w.end[0], port, true, w.now), 0);
	busy_until(&w, w.now + 100000);
	CHECK_EQ(active_paths(&w), 32);
	world_close(&w);
}

TEST(weft_pathset_open__tells_a_new_peer_which_ports_are_down)
{
	struct world w = { .check = true, .fault = cables };
	struct weft_config config;
	struct weft_set_info info;

	memset(&sky, 0, sizeof(sky));
	sky.dead_ev = UINT32_MAX;
	sky.dead_ports = 1u << 3;
	sky.drop_status = 2;
	world_config(&config);
	world_open(&w, &config);
	CHECK_EQ(weft_port_mark(w.end[0], 3, false, w.now), 0);
	world_connect(&w, 64, 32, &weft_cc_nscc);
	world_run_until(&w, w.now + 2000000);
	CHECK_EQ(weft_set_info(w.end[1], w.set[1], &info), 0);
	CHECK_EQ(info.peer_ports & 0xff, 0xf7);
	world_write(&w, 1, 1, 0, 1 << 20);
	world_run_until(&w, w.now + 2000000);
	CHECK_EQ(weft_stats(w.end[1])->tx_rtx_pkts, 0); /* nothing went that way */
	world_close(&w);
}

static struct weft_pkt next_status(struct world *w)
{
	struct weft_pkt pkt;

	do
		REQUIRE(hand_out(w, 0, &pkt, 1) == 1);
	while (pkt.op != WEFT_OP_EP_REQUEST || pkt.ep.op != WEFT_EP_PORT_STATUS);
	return pkt;
}

TEST(port_status__a_late_copy_of_an_old_one_does_not_undo_the_new)
{
	struct world w = { .check = true };
	struct weft_pkt down, up;
	struct weft_set_info info;

	setup(&w, 32);
	CHECK_EQ(weft_port_mark(w.end[0], 3, false, w.now), 0);
	down = next_status(&w);
	w.now += 1000;
	CHECK_EQ(weft_port_mark(w.end[0], 3, true, w.now), 0);
	up = next_status(&w);
	down.peer = up.peer = 7;
	CHECK_EQ(down.ep.port_mask & 8, 0);
	CHECK_EQ(up.ep.port_mask & 8, 8);
	hand_in(&w, 1, &up);
	hand_in(&w, 1, &down); /* by another plane, behind a queue */
	CHECK_EQ(weft_set_info(w.end[1], w.set[1], &info), 0);
	CHECK_EQ(info.peer_ports & 8, 8);
	world_close(&w);
}

TEST(resurrection__a_flapping_path_must_prove_ever_more)
{
	struct world w = { 0 };
	uint32_t ev = 2u << 11 | 3;
	uint8_t need[8];

	setup(&w, 64); /* no backups: it is always wanted */
	for (uint32_t i = 0; i < 8; i++) {
		uint64_t deadline_ns = w.now + 60000000;

		sky.dead_ev = ev;
		while (hand_path(&w, 0, ev)->state != WEFT_PATH_ASSUMED_BAD && w.now < deadline_ns)
			busy_until(&w, w.now + 20000);
		const struct pathset *set = &w.end[0]->sets[w.set[0]];

		need[i] = set->past[pathset_find(set, ev)].proof_need;
		sky.dead_ev = UINT32_MAX;
		uint64_t since_ns = w.now;

		while (hand_path(&w, 0, ev)->state != WEFT_PATH_GOOD && w.now < deadline_ns)
			busy_until(&w, w.now + 20000);
		CHECK_EQ(hand_path(&w, 0, ev)->state, WEFT_PATH_GOOD);
		CHECK(w.now - since_ns > (need[i] - 1u) * 390000);
		CHECK(w.now - since_ns < 40000000);
	}
	CHECK_EQ(need[0], 3);
	CHECK_EQ(need[1], 6);
	CHECK_EQ(need[7], 32);
	world_close(&w);
}

static const uint64_t unit_ns = UINT64_C(1024) << 8;

/* When end 0's QP went to ERROR. */
static uint64_t error_ns(const struct world *w)
{
	struct weft_event event;
	uint64_t seq = 0, at_ns = 0;

	while (weft_events(w->end[0], &seq, &event, 1))
		if (event.kind == WEFT_EV_QP_STATE && event.b == WEFT_QP_ERROR)
			at_ns = event.at_ns;
	return at_ns;
}

TEST(all_ports_down__ends_a_qp_within_its_retry_budget)
{
	for (int late = 0; late < 2; late++) {
		struct world w = { 0 };
		struct weft_done done = { 0 };

		setup(&w, 32);
		if (!late)
			world_write(&w, 0, 1, 0, 1 << 22);
		world_run_until(&w, w.now + 20000);
		sky.dead_ports = 0xff;
		for (uint32_t port = 0; port < 8; port++)
			CHECK_EQ(weft_port_mark(w.end[0], port, false, w.now), 0);
		uint64_t start_ns = w.now;

		if (late) /* posted into the dark: ends as well */
			world_write(&w, 0, 1, 0, 1 << 20);
		CHECK_EQ(world_wait(&w, 0, 1, 300 * unit_ns, &done), 1);
		CHECK_EQ(done.status, WEFT_RETRY_EXCEEDED);
		/* The first wait, two linear ones, five that double: 1 + 1 + 1 + 2 + .. + 32. */
		CHECK(error_ns(&w) - start_ns >= 65 * unit_ns);
		CHECK(error_ns(&w) - start_ns <= 66 * unit_ns);
		world_close(&w);
	}
}

TEST(all_ports_down__is_forgiven_when_one_comes_back_in_time)
{
	for (int late = 0; late < 2; late++) {
		struct world w = { 0 };
		struct weft_done done = { 0 };

		setup(&w, 32);
		if (!late)
			world_write(&w, 0, 1, 0, 1 << 20);
		world_run_until(&w, w.now + 20000);
		sky.dead_ports = 0xff;
		for (uint32_t port = 0; port < 8; port++)
			CHECK_EQ(weft_port_mark(w.end[0], port, false, w.now), 0);
		if (late)
			world_write(&w, 0, 1, 0, 1 << 20);
		world_run_until(&w, w.now + 10 * unit_ns);
		sky.dead_ports = 0xdf;
		CHECK_EQ(weft_port_mark(w.end[0], 5, true, w.now), 0);
		CHECK_EQ(world_wait(&w, 0, 1, 20 * unit_ns, &done), 1);
		CHECK_EQ(done.status, WEFT_OK);
		CHECK_MEM(w.memory[1], w.memory[0], 1 << 20);
		world_close(&w);
	}
}

TEST(port_down__probes_that_cannot_leave_crowd_out_nobody)
{
	struct world w = { 0 };
	struct weft_probe_done probe;

	setup(&w, 32);
	sky.dead_ports = 1u << 3;
	CHECK_EQ(weft_port_mark(w.end[0], 3, false, w.now), 0);
	for (uint32_t i = 0; i < 40; i++) {
		for (uint32_t n = 0; n < REQUESTS; n++)
			weft_post_probe(w.end[0], w.set[0], 3u << 11, n, w.now);
		busy_until(&w, w.now + 100000);
		while (weft_poll_probe(w.end[0], &probe, 1))
			CHECK_EQ(probe.rtt_ns, 0);
	}
	CHECK(w.end[0]->answer_tail - w.end[0]->answer_head <= 2 * REQUESTS);
	CHECK_EQ(hand_drops(&w, 0, WEFT_DROP_CONTROL_FULL), 0);
	world_close(&w);
}

TEST(path_mark__allowing_a_path_does_not_raise_a_dead_plane)
{
	struct world w = { 0 };
	uint32_t ev = 3u << 11 | 1;

	setup(&w, 32);
	CHECK_EQ(weft_path_mark(w.end[0], w.set[0], ev, WEFT_PATH_DENIED, w.now), 0);
	sky.dead_ports = 1u << 3;
	CHECK_EQ(weft_port_mark(w.end[0], 3, false, w.now), 0);
	busy_until(&w, w.now + 1000000);
	CHECK_EQ(weft_path_mark(w.end[0], w.set[0], ev, WEFT_PATH_GOOD, w.now), 0);
	/* Its cable is said to be in again, but nothing has come through yet. */
	CHECK_EQ(weft_port_mark(w.end[0], 3, true, w.now), 0);
	CHECK_EQ(data_by(&w, 3, 5000000), 0);
	sky.dead_ports = 0;
	busy_until(&w, w.now + w.config.probe_ns_max + 2000000);
	CHECK(data_by(&w, 3, 1000000) > 100);
	world_close(&w);
}
