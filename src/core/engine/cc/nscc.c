/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nscc - the congestion control of Ultra Ethernet that MRC takes over unchanged [P 5.1].
 *
 * A window per queue pair [P 8.21], clocked by SACKs and steered by two signals that mean different
 * things when packets are sprayed.  An ECN mark without delay says that one path is busy: the
 * spraying moves away from it, and the window holds.  Delay without a mark says the queue is where
 * the network cannot mark (the last hop, the peer): share it evenly.  Only both together are
 * congestion and cut the window.
 *
 *             delay below target          delay at or above target
 *   no mark   proportional, or fast       fair increase
 *   mark      hold                        multiplicative decrease
 *
 * Quick adapt handles what such small steps cannot, an incast: when a period delivered less than
 * an eighth of MaxWnd and something was trimmed, the window becomes what was delivered.  Trims at
 * the last hop count as well [P 5.6].
 *
 * Everything is whole numbers, so a run is the same on every machine and compiler; the reciprocal
 * of the target and the shift in delay_average() keep divisions away from the common path.
 * What the public sources leave open, and our answer:
 *  - [P 9.1] "delay about zero" is 1 us in htsim; here 1/16 of the base RTT where that is more, or
 *  a slow
 *    software fabric would never see it, and at most a quarter of the target;
 *  - [P 9.2] the average delay is taken over about one window of data, so that it spans one to two
 *  round
 *    trips whatever the number of SACKs in them (htsim: 1/80 per ACK);
 *  - [P 9.3] scaling_b stops at 2, a target of 24 us.  Without an end the window grows by the more
 *  per
 *    round trip the longer that is: at 200 us the queue of two flows swings to twice the target,
 *    and eight lose a quarter of the link (nscc_loop_test);
 *  - [P 9.4] quick adapt never raises the window, though a small window can deliver more than
 *  itself in
 *    its period of more than one round trip;
 *  - [P 9.5] a delay at or above target also ends a fast increase;
 *  - [P 9.7], [P 9.8] a window that the operator set is not rescaled when a shorter base RTT is
 *  measured, and a base
 *    RTT below 1/16 of the configured one is a bad sample: it must not close the window for ever.
 *
 * Sources: UET 1.0 section 3.6.13 and Tables 3-76, 3-82; MRC 1.0 sections 7.5.1 and 8; uet-htsim.
 *
 * Hot: on_ack() runs once per SACK.
 */
#include "cc/scale.h"

#define REFERENCE_BYTES UINT64_C(150000) /* scaling_a is BDP over this: 100 Gb/s * 12 us */
#define REFERENCE_NS UINT32_C(12000)     /* scaling_b is target over this */
#define SCALING_B_MAX 2
#define NEAR_ZERO_NS UINT32_C(1000)
#define PENALTY_SHIFT 7
#define BASE_RTT_SHARE_MIN 16
#define FRACTION_BITS 16
#define RECIPROCAL_BITS 46 /* (target - delay) * reciprocal: at most this */
#define AVERAGE_BITS 8
#define AVERAGE_SHIFT_MAX 22 /* 40 bits of delay in AVERAGE_BITS fixed point times this: 62 */

struct nscc {
	/* moves with every acknowledgement */
	uint64_t increase;  /* bytes * bytes: grows the window by increase / cwnd */
	uint64_t qa_end_ns; /* 0: no period has begun */
	uint64_t adjusted_ns, decreased_ns;
	int64_t avg_qdelay; /* ns, AVERAGE_BITS fixed point */
	uint32_t cwnd_bytes, maxwnd_bytes, base_rtt_ns;
	uint32_t saved_bytes;    /* window before the receiver's penalty; 0: none is on */
	uint32_t received_bytes; /* since the last adjustment; these five saturate */
	uint32_t achieved_bytes; /* in this quick adapt period */
	uint32_t ignored_bytes, ignore_bytes; /* marks mean nothing until so much has come back */
	uint32_t calm_bytes;                  /* in a row with a delay near zero */
	bool fast, trimmed; /* fast increase is on; a trim waits for quick adapt */

	/* set by init */
	bool disable_qa, maxwnd_set;
	uint8_t qa_gate;
	uint32_t mtu_bytes, config_rtt_ns, target_ns, near_zero_ns;
	uint32_t alpha_bytes; /* proportional increase per window at no delay: alpha * target */
	uint32_t fi_bytes, fi_scale_milli, eta_bytes, gamma_milli, max_md_jump_milli;
	uint32_t adjust_bytes, adjust_period_ns, qa_threshold_ns;
	uint64_t target_reciprocal; /* 2^RECIPROCAL_BITS / target, rounded up */
	uint64_t rate_bps;
};

static_assert(sizeof(struct nscc) <= WEFT_CC_STATE_MAX, "lent by the QP");

static uint32_t or_default(uint32_t set, uint64_t value, uint32_t least, uint32_t most)
{
	uint64_t chosen = set ? set : value;

	return (uint32_t)WEFT_MIN(WEFT_MAX(chosen, least), most);
}

/* Defaults that scale with the pipe.  2^40 bytes of BDP times 15 * 2^16 stays below 2^60. */
static void init_steps(struct nscc *s, const struct weft_cc_config *config)
{
	const uint32_t most = CC_WINDOW_BYTES_MAX;
	uint64_t bdp = scale_bdp(s->rate_bps, s->config_rtt_ns);
	uint64_t mtu_bdp = s->mtu_bytes * bdp;

	s->fi_bytes = or_default(config->fi, 5 * mtu_bdp / REFERENCE_BYTES, 1, most);
	s->fi_scale_milli =
		or_default(config->fi_scale_milli, 250 * bdp / REFERENCE_BYTES, 1, most);
	s->eta_bytes =
		or_default(config->eta_bytes, 15 * mtu_bdp / (100 * REFERENCE_BYTES), 1, most);
	uint32_t b_ns = WEFT_MIN(s->target_ns, SCALING_B_MAX * REFERENCE_NS);
	uint64_t alpha = scale(4 * mtu_bdp, b_ns, REFERENCE_BYTES * REFERENCE_NS);

	s->alpha_bytes = or_default(0, alpha, 1, most);
}

static void init(void *state, const struct weft_cc_config *config)
{
	struct nscc *s = state;
	uint32_t base = WEFT_MIN(WEFT_MAX(config->base_rtt_ns, 1u), CC_RTT_NS_MAX);
	uint64_t idle_ns = config->trimming ? (uint64_t)base * 3 / 4 : base;

	s->rate_bps = WEFT_MIN(config->rate_bps, CC_RATE_BPS_MAX);
	s->mtu_bytes = WEFT_MIN(WEFT_MAX(config->mtu_bytes, 1u), UINT32_C(1) << 16);
	s->base_rtt_ns = s->config_rtt_ns = base;
	s->target_ns = or_default(config->target_qdelay_ns, idle_ns, 1, CC_RTT_NS_MAX);
	/* A trimmed packet tells at once; without trimming a long delay has to. */
	uint64_t qa_ns = config->trimming ? UINT32_MAX : UINT64_C(4) * s->target_ns;

	s->qa_threshold_ns = or_default(config->qa_threshold_ns, qa_ns, 1, UINT32_MAX);
	s->near_zero_ns =
		WEFT_MIN(WEFT_MAX(NEAR_ZERO_NS, base / 16), WEFT_MAX(s->target_ns / 4, 1u));
	s->target_reciprocal = WEFT_DIV_UP(UINT64_C(1) << RECIPROCAL_BITS, s->target_ns);
	init_steps(s, config);
	s->gamma_milli = or_default(config->gamma_milli, 800, 1, 1000);
	s->max_md_jump_milli = or_default(config->max_md_jump_milli, 500, 1, 1000);
	s->adjust_bytes = or_default(
		config->adjust_bytes, UINT64_C(8) * s->mtu_bytes, 1, CC_WINDOW_BYTES_MAX);
	s->adjust_period_ns = or_default(config->adjust_period_ns, base, 1, UINT32_MAX);
	s->qa_gate = (uint8_t)or_default(config->qa_gate, 3, 1, 31);
	s->disable_qa = config->disable_qa;
	s->maxwnd_set = config->max_cwnd_bytes != 0;
	s->maxwnd_bytes = s->maxwnd_set ? or_default(config->max_cwnd_bytes, 0, s->mtu_bytes,
						  CC_WINDOW_BYTES_MAX)
					: scale_maxwnd(s->rate_bps, base, s->mtu_bytes);
	s->cwnd_bytes = s->maxwnd_bytes;
}

static void grow(uint32_t *counter, uint32_t by)
{
	*counter = *counter > UINT32_MAX - by ? UINT32_MAX : *counter + by;
}

static void set_cwnd(struct nscc *s, uint64_t bytes)
{
	s->cwnd_bytes = (uint32_t)WEFT_MIN(WEFT_MAX(bytes, s->mtu_bytes), s->maxwnd_bytes);
}

/*
 * Moves the average towards qdelay by the share of a window that n bytes are.  The window is
 * rounded up to a power of two to save the division.
 */
static void delay_average(struct nscc *s, uint32_t qdelay_ns, uint32_t n)
{
	unsigned shift = 64 - weft_clz64(s->cwnd_bytes);

	if (shift > AVERAGE_SHIFT_MAX) {
		n >>= shift - AVERAGE_SHIFT_MAX;
		shift = AVERAGE_SHIFT_MAX;
	}
	int64_t weight = WEFT_MIN(n, UINT32_C(1) << shift);
	int64_t gap = ((int64_t)qdelay_ns << AVERAGE_BITS) - s->avg_qdelay;

	s->avg_qdelay += gap * weight / ((int64_t)1 << shift);
}

/* Whether the signal that called is dealt with: the usual reaction to it must not follow. */
static bool quick_adapt(struct nscc *s, uint64_t now, bool lost, bool marked, uint32_t qdelay_ns,
	uint32_t inflight_bytes)
{
	bool hit = false;

	if (s->disable_qa)
		return false;
	if (marked && s->ignored_bytes < s->ignore_bytes) {
		hit = true; /* marked before the window was cut */
	} else if (now >= s->qa_end_ns) {
		if (s->qa_end_ns && (s->trimmed || lost || qdelay_ns > s->qa_threshold_ns) &&
			s->achieved_bytes < s->maxwnd_bytes >> s->qa_gate) {
			set_cwnd(s, WEFT_MIN(s->achieved_bytes, s->cwnd_bytes));
			s->ignore_bytes = inflight_bytes;
			s->ignored_bytes = 0;
			s->trimmed = false;
			hit = true;
		}
		s->achieved_bytes = 0;
		s->qa_end_ns = now + s->base_rtt_ns + s->target_ns;
	}
	if (hit) {
		s->increase = 0;
		s->received_bytes = 0;
	}
	return hit;
}

/*
 * The receiver asks for a smaller window [P 5.5], [P 9.6]: each acknowledged byte takes penalty/128
 * of itself away.  The window starts from what was in flight before this acknowledgement; what is
 * in flight after it would take those bytes away once more.  Returns whether a penalty is on.
 */
static bool penalise(struct nscc *s, const struct weft_cc_ack *ack)
{
	if (WEFT_LIKELY(!(ack->penalty | s->saved_bytes)))
		return false;
	if (!ack->penalty) {
		if (ack->restore)
			set_cwnd(s, s->saved_bytes);
		s->saved_bytes = 0;
		return false;
	}
	uint64_t inflight = (uint64_t)ack->inflight_bytes + ack->newly_bytes;
	uint64_t cut = (uint64_t)ack->penalty * ack->newly_bytes >> PENALTY_SHIFT;

	if (!s->saved_bytes)
		s->saved_bytes = s->cwnd_bytes;
	uint64_t bytes = WEFT_MIN(s->cwnd_bytes, inflight);

	set_cwnd(s, bytes > cut ? bytes - cut : 0);
	s->increase = 0;
	return true;
}

/* Unmarked and below target: towards the target in proportion to what is missing, or, while the
 * fabric stands idle, by a share of the window.
 */
static void increase_below(struct nscc *s, uint32_t n, uint32_t qdelay_ns)
{
	if (qdelay_ns < s->near_zero_ns) {
		grow(&s->calm_bytes, n);
		if (s->fast || s->calm_bytes > s->cwnd_bytes) {
			s->fast = true;
			set_cwnd(s, s->cwnd_bytes + (uint64_t)n * s->fi_scale_milli / 1000);
			return;
		}
	} else {
		s->calm_bytes = 0;
		s->fast = false;
	}
	uint64_t missing = (s->target_ns - qdelay_ns) * s->target_reciprocal >>
			   (RECIPROCAL_BITS - FRACTION_BITS);

	s->increase += n * (s->alpha_bytes * missing >> FRACTION_BITS);
}

/* Marked and at or above target.  At most once per round trip: the answer takes that long. */
static void decrease(struct nscc *s, uint64_t now)
{
	uint64_t avg = (uint64_t)s->avg_qdelay >> AVERAGE_BITS, cwnd = s->cwnd_bytes;

	s->fast = false;
	s->calm_bytes = 0;
	if (avg <= s->target_ns || now - s->decreased_ns <= s->base_rtt_ns)
		return;
	uint64_t cut = cwnd * (avg - s->target_ns) / avg * s->gamma_milli / 1000;
	uint64_t most = cwnd * (1000 - s->max_md_jump_milli) / 1000;

	set_cwnd(s, cwnd - WEFT_MIN(cut, most));
	s->decreased_ns = now;
}

/* Increases are collected and applied now and then, to save the division and to be smooth. */
static void adjust(struct nscc *s, uint64_t now, bool penalised)
{
	bool period = now - s->adjusted_ns >= s->adjust_period_ns;
	uint64_t cwnd = s->cwnd_bytes;

	if (!period && s->received_bytes <= s->adjust_bytes)
		return;
	uint64_t bytes = cwnd + s->increase / cwnd;

	s->increase %= cwnd; /* the fraction of a byte, lest small steps round away to none */
	s->received_bytes = 0;
	if (period) {
		bytes += penalised ? 0 : s->eta_bytes;
		s->adjusted_ns = now;
	}
	set_cwnd(s, bytes);
}

static void refine_base(struct nscc *s, uint32_t rtt_ns)
{
	s->base_rtt_ns = WEFT_MAX(rtt_ns, s->config_rtt_ns / BASE_RTT_SHARE_MIN);
	if (!s->maxwnd_set)
		s->maxwnd_bytes = scale_maxwnd(s->rate_bps, s->base_rtt_ns, s->mtu_bytes);
	set_cwnd(s, s->cwnd_bytes);
}

static void on_ack(void *state, const struct weft_cc_ack *ack)
{
	struct nscc *s = state;
	uint32_t n = WEFT_MIN(ack->newly_bytes, CC_WINDOW_BYTES_MAX);

	grow(&s->ignored_bytes, n);
	grow(&s->received_bytes, n);
	grow(&s->achieved_bytes, n);
	bool penalised = penalise(s, ack);

	if (!ack->rtt_ns)
		return;
	if (WEFT_UNLIKELY(ack->rtt_ns < s->base_rtt_ns))
		refine_base(s, ack->rtt_ns);
	uint32_t qdelay_ns = ack->rtt_ns > s->base_rtt_ns ? ack->rtt_ns - s->base_rtt_ns : 0;

	delay_average(s, qdelay_ns, n);
	if (quick_adapt(s, ack->now, false, ack->marked, qdelay_ns, ack->inflight_bytes))
		return;
	if (qdelay_ns >= s->target_ns) {
		if (ack->marked) {
			decrease(s, ack->now);
		} else if (!penalised) {
			s->fast = false;
			s->calm_bytes = 0;
			s->increase += (uint64_t)n * s->fi_bytes;
		}
	} else if (!ack->marked && !penalised) {
		increase_below(s, n, qdelay_ns);
	}
	adjust(s, ack->now, penalised);
}

static void on_loss(void *state, const struct weft_cc_loss *loss)
{
	struct nscc *s = state;
	uint32_t lost = loss->lost_bytes;

	/* No room, wrong PSN and the like are the receiver's trouble, not the network's. */
	if (loss->kind == WEFT_CC_LOSS_NACK)
		return;
	grow(&s->ignored_bytes, lost);
	if (loss->kind == WEFT_CC_LOSS_TRIM) {
		delay_average(s, s->config_rtt_ns, lost); /* it would have waited about so long */
		s->trimmed = true;
		if (quick_adapt(s, loss->now, true, true, 0, loss->inflight_bytes))
			return;
	}
	set_cwnd(s, s->cwnd_bytes > lost ? s->cwnd_bytes - lost : 0);
}

static uint32_t window_bytes(const void *state)
{
	return ((const struct nscc *)state)->cwnd_bytes;
}

static void report(const void *state, struct weft_cc_report *report)
{
	const struct nscc *s = state;

	*report = (struct weft_cc_report){
		.cwnd_bytes = s->cwnd_bytes,
		.base_rtt_ns = s->base_rtt_ns,
		.target_qdelay_ns = s->target_ns,
		.avg_qdelay_ns = (uint32_t)(s->avg_qdelay >> AVERAGE_BITS),
	};
}

const struct weft_cc_ops weft_cc_nscc = {
	.name = "uet-1.0-nscc",
	.state_bytes = sizeof(struct nscc),
	.init = init,
	.on_ack = on_ack,
	.on_loss = on_loss,
	.window_bytes = window_bytes,
	.report = report,
};
