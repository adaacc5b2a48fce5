/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

static void setup(struct world *w)
{
	struct weft_config config;

	world_config(&config);
	config.window_psns = 256;
	world_open(w, &config);
	world_connect(w, 16, 16, &weft_cc_fixed);
}

static void arrive(struct weft_qp *qp, uint32_t psn, bool last)
{
	window_set(qp, psn, last);
	if (weft_psn_diff(psn, qp->rx_max) > 0)
		qp->rx_max = psn;
	qp->rx_ooo++;
}

TEST(window_advance__runs_over_words_and_counts_messages)
{
	struct world w = { 0 };

	setup(&w);
	struct weft_qp *qp = w.qp[0];
	uint32_t first = weft_psn_add(qp->rx_cack, 1);

	for (uint32_t i = 1; i < 200; i++)
		arrive(qp, weft_psn_add(first, i), i % 10 == 0);
	CHECK_EQ(window_advance(qp), 0);
	arrive(qp, first, true);
	CHECK_EQ(window_advance(qp), 200);
	CHECK_EQ(qp->rx_msn, 20);
	CHECK_EQ(qp->rx_cack, weft_psn_add(first, 199));
	for (uint32_t i = 0; i < 256 / 64; i++)
		CHECK_EQ(qp->rx_bits[i] | qp->rx_last[i], 0);
	world_close(&w);
}

TEST(window_advance__survives_the_end_of_the_psn_space)
{
	struct world w = { 0 };

	setup(&w);
	struct weft_qp *qp = w.qp[0];

	qp->rx_cack = qp->rx_max = 0xfffffd;
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t psn = weft_psn_add(0xfffffe, i);

		CHECK(!window_has(qp, psn));
		arrive(qp, psn, false);
		CHECK(window_has(qp, psn));
	}
	CHECK_EQ(window_advance(qp), 100);
	CHECK_EQ(qp->rx_cack, 0x61);
	world_close(&w);
}

TEST(window_bits__shows_64_from_any_base_and_nothing_beyond_the_highest)
{
	struct world w = { 0 };

	setup(&w);
	struct weft_qp *qp = w.qp[0];

	for (uint32_t start = 0; start < 300; start += 17) {
		uint32_t base = weft_psn_add(qp->rx_cack, 2);

		arrive(qp, base, false);
		arrive(qp, weft_psn_add(base, 5), false);
		arrive(qp, weft_psn_add(base, 63), false);
		CHECK_EQ(window_bits(qp, base), 1u | 1u << 5 | UINT64_C(1) << 63);
		CHECK_EQ(window_bits(qp, weft_psn_add(base, 5)), 1u | UINT64_C(1) << 58);
		CHECK_EQ(window_bits(qp, weft_psn_add(base, 64)), 0);
		for (uint32_t i = 0; i < 65; i++)
			arrive(qp, weft_psn_add(qp->rx_cack, 1 + i), false);
		CHECK_EQ(window_advance(qp), 65);
	}
	world_close(&w);
}
