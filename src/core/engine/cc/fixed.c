/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fixed - a window that never moves.
 *
 * For the NULL algorithm of the OCP API, for measuring everything but congestion control, and as
 * the shortest example of one: copy this file to start another.  Its window is still bounded, by
 * MaxWnd where nothing is configured, because an unbounded sender only measures its own queues.
 */
#include "cc/scale.h"

struct fixed {
	uint32_t window_bytes, base_rtt_ns;
};

static_assert(sizeof(struct fixed) <= WEFT_CC_STATE_MAX, "lent by the QP");

static void init(void *state, const struct weft_cc_config *config)
{
	struct fixed *f = state;
	uint32_t mtu = WEFT_MAX(config->mtu_bytes, 1u), window = config->fixed_bytes;

	if (!window)
		window = config->max_cwnd_bytes;
	if (!window)
		window = scale_maxwnd(config->rate_bps, config->base_rtt_ns, mtu);
	f->window_bytes = WEFT_MIN(WEFT_MAX(window, mtu), CC_WINDOW_BYTES_MAX);
	f->base_rtt_ns = config->base_rtt_ns;
}

static void on_ack(void *state, const struct weft_cc_ack *ack)
{
	struct fixed *f = state;

	if (ack->rtt_ns && ack->rtt_ns < f->base_rtt_ns)
		f->base_rtt_ns = ack->rtt_ns;
}

static void on_loss(void *state, const struct weft_cc_loss *loss)
{
	(void)state;
	(void)loss;
}

static uint32_t window_bytes(const void *state)
{
	return ((const struct fixed *)state)->window_bytes;
}

static void report(const void *state, struct weft_cc_report *report)
{
	const struct fixed *f = state;

	*report = (struct weft_cc_report){ .cwnd_bytes = f->window_bytes,
		.base_rtt_ns = f->base_rtt_ns };
}

const struct weft_cc_ops weft_cc_fixed = {
	.name = "fixed",
	.state_bytes = sizeof(struct fixed),
	.init = init,
	.on_ack = on_ack,
	.on_loss = on_loss,
	.window_bytes = window_bytes,
	.report = report,
};
