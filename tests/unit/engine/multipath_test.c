/* SPDX-License-Identifier: BSD-2-Clause */
/* What the network does to single paths, and what spraying makes of it, in virtual time. */
#include "hand.h"

static struct {
	uint64_t from_ns;
	uint32_t ev, permille;
	uint8_t mark;
	uint64_t hits, wrong;
	uint64_t per_port[WORLD_PORTS], spread;
} sky;

static bool is_data(int from, const struct weft_pkt *pkt)
{
	return from == 0 && weft_op_is_write(pkt->op);
}

/* How far apart the planes' shares have ever been. */
static void count_shares(const struct weft_pkt *pkt)
{
	uint64_t low = UINT64_MAX, high = 0;

	sky.per_port[pkt->port]++;
	for (int p = 0; p < WORLD_PORTS; p++) {
		low = WEFT_MIN(low, sky.per_port[p]);
		high = WEFT_MAX(high, sky.per_port[p]);
	}
	sky.spread = WEFT_MAX(sky.spread, high - low);
}

static bool trims(struct world *w, int from, struct weft_pkt *pkt)
{
	if (!is_data(from, pkt) || !weft_rng_chance(&w->rng, sky.permille, 1000))
		return false;
	pkt->mark |= sky.mark;
	pkt->w = (struct weft_pkt_write){ .ts = pkt->w.ts, .msn = pkt->w.msn };
	sky.hits++;
	return false;
}

static bool marks_one_path(struct world *w, int from, struct weft_pkt *pkt)
{
	(void)w;
	if (is_data(from, pkt)) {
		count_shares(pkt);
		if (pkt->ev == sky.ev)
			pkt->mark |= WEFT_MARK_CE;
	}
	return false;
}

static bool kills_one_path(struct world *w, int from, struct weft_pkt *pkt)
{
	if (is_data(from, pkt))
		count_shares(pkt);
	return from == 0 && pkt->ev == sky.ev && w->now >= sky.from_ns;
}

static bool kills_answers_of_one_path(struct world *w, int from, struct weft_pkt *pkt)
{
	bool dies = from == 1 && pkt->ev == sky.ev && w->now >= sky.from_ns;

	sky.hits += dies;
	return dies;
}

static bool kills_answers_of_one_plane(struct world *w, int from, struct weft_pkt *pkt)
{
	return from == 1 && pkt->port == 5 && w->now >= sky.from_ns;
}

static bool watches_denied(struct world *w, int from, struct weft_pkt *pkt)
{
	sky.wrong += is_data(from, pkt) && hand_path(w, 0, pkt->ev)->state == WEFT_PATH_DENIED;
	return false;
}

static void setup(struct world *w, uint32_t paths, uint32_t active, const struct weft_cc_ops *cc)
{
	struct weft_config config;

	memset(&sky, 0, sizeof(sky));
	world_config(&config);
	world_open(w, &config);
	world_connect(w, paths, active, cc);
}

static void transfer(struct world *w, uint64_t id)
{
	struct weft_done done = { 0 };

	memset(w->memory[1], 0, WORLD_MEMORY);
	world_write(w, 0, id, 0, WORLD_MEMORY);
	CHECK_EQ(world_wait(w, 0, 1, 20000000, &done), 1);
	CHECK_EQ(done.status, WEFT_OK);
	CHECK_MEM(w->memory[1], w->memory[0], WORLD_MEMORY);
}

static uint64_t all_marked(const struct world *w)
{
	struct weft_path_info info;
	uint64_t sum = 0;

	for (uint32_t i = 0; !weft_path_info(w->end[0], w->set[0], i, &info); i++)
		sum += info.marked;
	return sum;
}

TEST(trimming__is_resent_at_once_and_blames_only_the_fabric)
{
	for (uint8_t mark = WEFT_MARK_TRIMMED; mark <= WEFT_MARK_TRIMMED_LASTHOP; mark *= 2) {
		struct world w = { .check = true, .fault = trims };

		setup(&w, 256, 128, &weft_cc_nscc);
		sky.permille = 20;
		sky.mark = mark;
		transfer(&w, 1);
		const struct weft_counters *c = weft_stats(w.end[0]);

		CHECK(sky.hits > 50);
		CHECK_EQ(weft_stats(w.end[1])->rx_trimmed, sky.hits);
		CHECK_EQ(c->lost_nack, sky.hits);
		CHECK_EQ(c->tx_rtx_pkts, sky.hits); /* each exactly once */
		CHECK_EQ(c->lost_fifo + c->lost_reorder + c->lost_timer + c->timeouts, 0);
		CHECK_EQ(c->paths_retired, 0);
		CHECK_EQ(all_marked(&w), mark == WEFT_MARK_TRIMMED ? sky.hits : 0);
		CHECK(w.longest_gap_ns < 12000);
		world_close(&w);
	}
}

TEST(trimming__a_trimmed_copy_of_what_arrived_is_no_loss)
{
	struct world w = { 0 };
	struct weft_pkt answer;

	hand_open(&w, 16, 16);
	for (uint32_t n = 0; n < 4; n += 3) { /* at the cumulative PSN, and above it */
		struct weft_pkt pkt = hand_write(&w, n, 100);

		hand_in(&w, 1, &pkt);
		pkt.mark = WEFT_MARK_TRIMMED;
		pkt.w.len_bytes = 0;
		hand_in(&w, 1, &pkt);
		REQUIRE(hand_out(&w, 1, &answer, 1) == 1);
		CHECK_EQ(answer.op, WEFT_OP_SACK);
		while (hand_out(&w, 1, &answer, 1))
			CHECK(answer.op != WEFT_OP_NACK);
	}
	world_close(&w);
}

TEST(ecn__a_marked_path_carries_less_and_its_plane_as_much)
{
	struct world w = { .check = true, .fault = marks_one_path };

	setup(&w, 64, 64, &weft_cc_fixed);
	w.qp[0]->cwnd = 1 << 19; /* below the rate of the ports: each turn is free */
	sky.ev = 2u << 11 | 1;
	transfer(&w, 1);
	struct path *marked = hand_path(&w, 0, sky.ev);
	uint32_t neighbours = 0;

	for (uint32_t uplink = 0; uplink < 8; uplink++)
		if (uplink != 1)
			neighbours += hand_path(&w, 0, 2u << 11 | uplink)->sent;
	CHECK(marked->sent > 10);
	CHECK(marked->sent < neighbours / 7 * 3 / 4);
	CHECK(marked->state == WEFT_PATH_GOOD || marked->state == WEFT_PATH_SKIP);
	CHECK_EQ(weft_stats(w.end[0])->paths_retired, 0);
	CHECK(sky.spread <= 1);
	world_close(&w);
}

TEST(planes__shares_stay_equal_while_a_backup_replaces_a_path)
{
	struct world w = { .check = true, .fault = kills_one_path };

	setup(&w, 128, 64, &weft_cc_fixed);
	w.qp[0]->cwnd = 1 << 19;
	struct pathset *set = &w.end[0]->sets[w.set[0]];

	sky.from_ns = w.now + 40000;
	sky.ev = set->path[set->order[set->plane[6].first]].ev;
	transfer(&w, 1);
	CHECK_EQ(hand_path(&w, 0, sky.ev)->state, WEFT_PATH_ASSUMED_BAD);
	CHECK(!pathset_is_active(set, pathset_find(set, sky.ev)));
	for (uint32_t p = 0; p < WORLD_PORTS; p++)
		CHECK_EQ(set->plane[p].active, 8);
	CHECK(sky.spread <= 2); /* a repeat takes its turn as well */
	world_close(&w);
}

TEST(paths__a_denied_one_is_never_used)
{
	struct world w = { .check = true, .fault = watches_denied };

	setup(&w, 64, 32, &weft_cc_nscc);
	world_write(&w, 0, 1, 0, WORLD_MEMORY);
	for (uint32_t i = 0; i < 64; i += 3) {
		uint32_t ev = w.end[0]->sets[w.set[0]].path[i].ev;

		world_run_until(&w, w.now + 3000);
		CHECK_EQ(weft_path_mark(w.end[0], w.set[0], ev, WEFT_PATH_DENIED, w.now), 0);
	}
	struct weft_done done;

	CHECK_EQ(world_wait(&w, 0, 1, 20000000, &done), 1);
	CHECK_EQ(sky.wrong, 0);
	CHECK_EQ(weft_stats(w.end[0])->tx_rtx_pkts, 0); /* what was under way is not given up */
	world_run_until(&w, w.now + 50000000);
	for (uint32_t i = 0; i < 64; i += 3) /* nobody probes them back to life */
		CHECK_EQ(w.end[0]->sets[w.set[0]].path[i].state, WEFT_PATH_DENIED);
	world_close(&w);
}

enum { MANY = 32 };

TEST(paths__what_one_qp_learns_helps_all_that_share_the_set)
{
	struct world w = { .check = true, .fault = kills_one_path };
	struct weft_config config;
	struct weft_qp *qp[2][MANY];
	struct weft_done done;

	memset(&sky, 0, sizeof(sky));
	world_config(&config);
	config.qps = 64;
	world_open(&w, &config);
	world_connect(&w, 64, 32, &weft_cc_nscc);
	for (int q = 0; q < MANY; q++) {
		struct weft_qp_attr attr = {
			.pd = 3, .cc = &weft_cc_nscc, .peer = 7, .mpr_rx_psns = 256,
			.mpr_tx_psns = 256, .timeout_exp = 8, .retry_count = 5,
			.cc_config = { .rate_bps = 800000000000, .base_rtt_ns = 12000 },
		};

		for (int i = 0; i < 2; i++)
			CHECK_EQ(weft_qp_open(w.end[i], &attr, &qp[i][q]), 0);
		for (int i = 0; i < 2; i++) {
			attr.peer_qpn = qp[!i][q]->qpn;
			attr.pathset = w.set[i];
			CHECK_EQ(weft_qp_move(qp[i][q], WEFT_QP_RTR, &attr, w.now), 0);
			CHECK_EQ(weft_qp_move(qp[i][q], WEFT_QP_RTS, &attr, w.now), 0);
		}
		struct weft_work work = {
			.id = (uint64_t)q, .remote_va = 0x10000 + (uint64_t)q * 400000,
			.data = w.memory[0] + q * 400000, .len_bytes = 400000, .rkey = w.rkey[0],
		};

		CHECK_EQ(weft_post_write(qp[0][q], &work), 0);
	}
	sky.from_ns = w.now + 30000;
	sky.ev = w.end[0]->sets[w.set[0]].path[w.end[0]->sets[w.set[0]].order[0]].ev;
	CHECK_EQ(world_wait(&w, 0, MANY, 20000000, &done), MANY);
	CHECK_MEM(w.memory[1], w.memory[0], MANY * 400000);
	CHECK_EQ(weft_stats(w.end[0])->paths_retired, 1);
	CHECK_EQ(hand_path(&w, 0, sky.ev)->state, WEFT_PATH_ASSUMED_BAD);
	CHECK_EQ(weft_stats(w.end[0])->timeouts, 0);
	world_close(&w);
}

TEST(reverse__answers_leave_a_path_that_died_under_them)
{
	struct world w = { .check = true, .fault = kills_answers_of_one_path };

	setup(&w, 64, 32, &weft_cc_nscc);
	struct pathset *set = &w.end[1]->sets[w.set[1]];

	w.end[1]->config.reverse_probe_ns = 100000; /* for a test a tenth as long */
	set->reverse_ns = w.now;
	for (uint64_t id = 1; id < 4; id++)
		transfer(&w, id); /* for a while: probes choose the paths of answers */
	CHECK(weft_stats(w.end[1])->tx_ep_request > 0);
	REQUIRE(set->plane[4].reply[set->plane[4].reply_newest] != PATH_NONE);
	sky.ev = set->path[set->plane[4].reply[set->plane[4].reply_newest]].ev;
	sky.from_ns = w.now;
	uint64_t sacks = weft_stats(w.end[1])->tx_sack, hits_half;

	for (uint64_t id = 1; id < 16; id++)
		transfer(&w, id);
	hits_half = sky.hits;
	for (uint64_t id = 1; id < 6; id++)
		transfer(&w, id);
	sacks = weft_stats(w.end[1])->tx_sack - sacks;
	CHECK(sky.hits > 0 && hits_half < sacks / 8);
	for (unsigned i = 0; i < REPLIES; i++) {
		uint32_t reply = set->plane[4].reply[i];

		CHECK(reply == PATH_NONE || set->path[reply].ev != sky.ev);
	}
	CHECK(sky.hits - hits_half < 5); /* a probe now and then, no more answers */
	CHECK_EQ(weft_stats(w.end[0])->timeouts, 0);
	CHECK_EQ(weft_stats(w.end[0])->spurious, 0);
	world_close(&w);
}

TEST(reverse__a_plane_that_loses_all_answers_costs_no_throughput)
{
	uint64_t took_ns[2];

	for (int dies = 0; dies < 2; dies++) {
		struct world w = { .check = true, .fault = kills_answers_of_one_plane };

		setup(&w, 64, 32, &weft_cc_nscc);
		sky.from_ns = dies ? w.now + 50000 : WEFT_NEVER;
		uint64_t start_ns = w.now;

		for (uint64_t id = 1; id < 5; id++)
			transfer(&w, id);
		took_ns[dies] = w.now - start_ns;
		CHECK_EQ(weft_stats(w.end[0])->timeouts, 0);
		CHECK_EQ(weft_stats(w.end[0])->planes_suspected, 0); /* data still goes by it */
		world_close(&w);
	}
	CHECK(took_ns[1] < took_ns[0] * 11 / 10);
}
