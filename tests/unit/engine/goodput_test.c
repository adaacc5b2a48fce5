/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a bulk transfer gets out of eight planes, in virtual time: the claims of the README that
 * no machine can disturb.
 */
#include "world.h"

static uint32_t loss_permille;
static uint64_t lost_data;

static bool everything_loses(struct world *w, int from, struct weft_pkt *pkt)
{
	(void)from;
	if (!weft_rng_chance(&w->rng, loss_permille, 1000))
		return false;
	lost_data += weft_op_is_write(pkt->op);
	return true;
}

static bool plane_3_flaps_at_1_hz(struct world *w, int from, struct weft_pkt *pkt)
{
	(void)from;
	return pkt->port == 3 && w->now % 1000000000 > 500000000;
}

struct bulk {
	uint64_t rate_bps, run_ns;
	uint32_t base_rtt_ns, paths;
	bool (*fault)(struct world *w, int from, struct weft_pkt *pkt);
};

static void keep_busy(struct world *w, uint64_t *id)
{
	struct weft_done done;

	while ((uint16_t)(w->qp[0]->sq_tail - w->qp[0]->sq_head) < 16)
		world_write(w, 0, (*id)++, 0, 1 << 20);
	while (weft_poll(w->end[0], 0, &done, 1))
		CHECK_EQ(done.status, WEFT_OK);
}

/* Goodput as a share of the framing limit: 4096 of 4262 wire bytes on each of eight ports. */
static double share_of_limit(struct world *w, const struct bulk *bulk)
{
	struct weft_config config;
	uint64_t id = 0;

	world_config(&config);
	config.base_rtt_ns = bulk->base_rtt_ns;
	w->rate_bps = bulk->rate_bps;
	w->delay_ns = bulk->base_rtt_ns * 11 / 24;
	w->fault = bulk->fault;
	world_open(w, &config);
	world_connect(w, bulk->paths, bulk->paths, &weft_cc_nscc);
	lost_data = 0;
	while (w->now < bulk->run_ns) {
		keep_busy(w, &id);
		world_step(w);
	}
	return (double)w->delivered_bytes * 8e9 / (double)w->now /
	       ((double)bulk->rate_bps * 8 * 4096 / 4262);
}

static const struct bulk fast = {
	.rate_bps = 100000000000, .run_ns = 5000000, .base_rtt_ns = 12000, .paths = 256
};

TEST(goodput__clean_planes_give_the_framing_limit)
{
	struct world w = { 0 };

	CHECK(share_of_limit(&w, &fast) >= 0.99);
	CHECK_EQ(weft_stats(w.end[0])->tx_rtx_pkts, 0);
	world_close(&w);
}

TEST(goodput__one_percent_loss_costs_one_percent)
{
	struct world w = { 0 };
	struct bulk bulk = fast;

	loss_permille = 10;
	bulk.fault = everything_loses;
	double share = share_of_limit(&w, &bulk);

	CHECK(share >= 0.97 * 0.99);
	CHECK(weft_stats(w.end[0])->tx_rtx_pkts <= lost_data * 11 / 10);
	CHECK_EQ(weft_stats(w.end[0])->spurious, 0);
	CHECK_EQ(weft_stats(w.end[0])->timeouts, 0);
	world_close(&w);
}

TEST(goodput__a_flapping_plane_is_used_while_it_is_up)
{
	struct world w = { 0 };
	struct bulk bulk = { .rate_bps = 200000000, .run_ns = UINT64_C(4000000000),
			     .base_rtt_ns = 1000000, .paths = 16,
			     .fault = plane_3_flaps_at_1_hz };

	CHECK(share_of_limit(&w, &bulk) >= 0.95 * 7.5 / 8);
	CHECK(w.longest_gap_ns < 5000000);
	world_close(&w);
}

TEST(goodput__same_seed_same_bytes)
{
	struct world a = { 0 }, b = { 0 };
	struct bulk bulk = fast;

	loss_permille = 20;
	bulk.fault = everything_loses;
	bulk.run_ns = 500000;
	share_of_limit(&a, &bulk);
	share_of_limit(&b, &bulk);
	CHECK_EQ(a.digest, b.digest);
	CHECK_EQ(a.delivered_bytes, b.delivered_bytes);
	world_close(&a);
	world_close(&b);
}

/*
 * The window is cut after the last packet with an A bit has been answered, to less than the
 * peer's SACK threshold: nobody owes an answer, and only a probe gets things going again.
 */
TEST(goodput__a_cut_window_does_not_wait_for_the_tail_timer)
{
	struct world w = { 0 };
	struct weft_config config;
	struct weft_cc_config cut = { .fixed_bytes = 60000, .mtu_bytes = 4184 };
	uint64_t id = 0;

	world_config(&config);
	config.sack_bytes = 131072;
	world_open(&w, &config);
	world_connect(&w, 16, 16, &weft_cc_nscc);
	while (w.now < 1000000) {
		keep_busy(&w, &id);
		world_step(&w);
	}
	w.qp[0]->cc = &weft_cc_fixed;
	weft_cc_fixed.init(w.qp[0]->cc_state, &cut);
	w.qp[0]->cwnd = cut.fixed_bytes;
	w.longest_gap_ns = 0;
	while (w.now < 2000000) {
		keep_busy(&w, &id);
		world_step(&w);
	}
	CHECK(w.longest_gap_ns < 2 * config.base_rtt_ns);
	CHECK_EQ(weft_stats(w.end[0])->timeouts, 0);
	world_close(&w);
}
