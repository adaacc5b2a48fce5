/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What congestion control costs per acknowledgement.  The acknowledgements are drawn beforehand and
 * differ, so that branches are as hard to guess as in life: the first row is a healthy flow, the
 * second one on a congested link, the third has a receiver that asks for less.
 */
#include "../bench.h"

#include <weft/base.h>
#include <weft/cc.h>

enum { ACKS = 4096 };

static struct weft_cc_ack acks[ACKS];
static uint64_t state[WEFT_CC_STATE_MAX / 8];
static uint64_t now = 1;

static void draw(uint32_t qdelay_ns_max, unsigned marked_percent, uint8_t penalty)
{
	const struct weft_cc_config config = { .rate_bps = UINT64_C(800000000000),
		.mtu_bytes = 4184,
		.base_rtt_ns = 12000,
		.trimming = true };
	struct weft_rng rng;

	weft_rng_seed(&rng, 1);
	for (unsigned i = 0; i < ACKS; i++) {
		acks[i] = (struct weft_cc_ack){ .newly_bytes = 16640,
			.inflight_bytes = 900000,
			.rtt_ns = 12000 + (uint32_t)weft_rng_below(&rng, qdelay_ns_max),
			.marked = weft_rng_chance(&rng, marked_percent, 100),
			.penalty = penalty };
	}
	weft_cc_nscc.init(state, &config);
}

static void one(unsigned i)
{
	acks[i].now = now += 166; /* 16 KiB at 800 Gb/s */
	weft_cc_nscc.on_ack(state, &acks[i]);
}

int main(void)
{
	struct weft_cc_loss loss = { .lost_bytes = 4184, .inflight_bytes = 900000 };
	uint32_t window = 0;

	draw(1500, 0, 0);
	BENCH("on_ack, healthy", ACKS, one(i));
	draw(18000, 70, 0);
	BENCH("on_ack, congested", ACKS, one(i));
	draw(18000, 70, 3);
	BENCH("on_ack, penalised", ACKS, one(i));
	BENCH("on_loss, trimmed", ACKS, {
		loss.now = now += 166;
		weft_cc_nscc.on_loss(state, &loss);
	});
	BENCH("window_bytes", ACKS, {
		window += weft_cc_nscc.window_bytes(state);
		BENCH_USE(window);
	});
	return 0;
}
