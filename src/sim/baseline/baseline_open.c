/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * baseline_open - memory, numbers, and what was left to the papers.
 *
 * Numbers of queue pairs are connection x queue pairs + which, so that neither end has to be told
 * the other's one by one.  Bitmaps span eight windows: repeated packets of the first are not to
 * stop the eighth.
 */
#include "baseline_local.h"

enum { BITS_MIN = 64, BITS_MAX = 16384, NO_LIMIT = 1 << 20 };
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)
#define PS_PER_US UINT64_C(1000000)

static uint32_t qps_of(const struct weft_baseline_config *c)
{
	if (c->settings.qps)
		return c->settings.qps;
	return kind_of(c->settings.kind)->is_striped ? c->planes : 1;
}

static uint32_t window_of(const struct weft_baseline_config *c)
{
	const struct kind *kind = kind_of(c->settings.kind);
	uint64_t frame_ps =
		(c->payload_bytes + c->overhead_bytes) * UINT64_C(8000000000000) / c->port_bps;
	uint64_t bdp = c->rtt_ps / frame_ps + 2; /* one begins, one ends */

	if (c->settings.window_pkts)
		return c->settings.window_pkts;
	if (!kind->is_selective)
		return NO_LIMIT;
	if (kind->is_spray)
		bdp *= c->planes;
	if (kind->is_pulled) /* 23 to 30 packets, in its paper: queues hold some */
		bdp *= 2;
	return (uint32_t)WEFT_MIN(kind->has_window ? bdp * 3 / 2 : bdp, (uint64_t)BITS_MAX / 2);
}

static uint32_t bits_for(const struct weft_baseline_config *c)
{
	uint64_t bits = weft_pow2_up((uint64_t)window_of(c) * 8);

	if (!kind_of(c->settings.kind)->is_selective)
		return BITS_MIN;
	return (uint32_t)WEFT_MAX(WEFT_MIN(bits, (uint64_t)BITS_MAX), (uint64_t)BITS_MIN);
}

static bool is_possible(const struct weft_baseline_config *c)
{
	unsigned kind = c->settings.kind;

	return kind > WEFT_BASELINE_NONE && kind < WEFT_BASELINE_KINDS &&
	       c->settings.qps <= WEFT_BASELINE_QPS_MAX && c->planes >= 1 &&
	       c->planes <= PLANES_MAX && c->payload_bytes >= 1 &&
	       c->payload_bytes <= WEFT_MTU_MAX && c->port_bps >= 1000000 && c->path &&
	       c->sends < 1u << 20 && c->receives < 1u << 20 && c->works < 1u << 30 &&
	       (!c->settings.dcqcn || kind_of(c->settings.kind)->has_rate) &&
	       (!kind_of(c->settings.kind)->is_selective ||
		       c->settings.window_pkts <= BITS_MAX / 2);
}

/* ---- memory ---- */

static void *carve(uint8_t *block, size_t *at, uint64_t n, size_t bytes)
{
	size_t begin = *at;

	*at += WEFT_ALIGN_UP((size_t)n * bytes, (size_t)64);
	return block ? block + begin : NULL;
}

/* Once without a block, to count; once with it. */
static size_t lay_out(struct weft_baseline *r, uint8_t *block, const struct weft_baseline_config *c)
{
	uint64_t qps = qps_of(c), senders = c->sends * qps, receivers = c->receives * qps;
	bool is_selective = kind_of(c->settings.kind)->is_selective;
	uint64_t words = is_selective ? bits_for(c) / 64 : 0;
	size_t at = 0;

	(void)carve(block, &at, 1, sizeof(*r));
	r->sends = carve(block, &at, c->sends, sizeof(*r->sends));
	r->receives = carve(block, &at, c->receives, sizeof(*r->receives));
	r->senders = carve(block, &at, senders, sizeof(*r->senders));
	r->receivers = carve(block, &at, receivers, sizeof(*r->receivers));
	r->messages = carve(block, &at, (uint64_t)c->sends * MESSAGES, sizeof(*r->messages));
	r->ends = carve(block, &at, senders * MESSAGES, sizeof(*r->ends));
	r->got = carve(block, &at, (uint64_t)c->receives * MESSAGES, sizeof(*r->got));
	r->queued = carve(block, &at, c->works, sizeof(*r->queued));
	r->acked = carve(block, &at, senders * words, sizeof(*r->acked));
	r->rtx = carve(block, &at, senders * words, sizeof(*r->rtx));
	r->came = carve(block, &at, receivers * words, sizeof(*r->came));
	r->heap = carve(block, &at, senders, sizeof(*r->heap));
	for (uint32_t i = 0; i < LISTS; i++) {
		bool is_used = kind_of(c->settings.kind)->is_spray ? i == ANY : i < c->planes;

		r->answers[i].ring =
			carve(block, &at, is_used ? ANSWERS : 0, sizeof(*r->answers[i].ring));
	}
	return at;
}

size_t weft_baseline_size(const struct weft_baseline_config *config)
{
	struct weft_baseline scratch;

	return is_possible(config) ? lay_out(&scratch, NULL, config) : 0;
}

/* ---- values ---- */

static void fill_settings(struct weft_baseline *r)
{
	struct weft_baseline_settings *s = &r->config.settings;
	uint64_t line_bps = r->config.port_bps;

	s->rto_ps = s->rto_ps ? s->rto_ps : r->kind->rto_us * PS_PER_US;
	s->cnp_ps = s->cnp_ps ? s->cnp_ps : 50 * PS_PER_US;
	s->alpha_ps = s->alpha_ps ? s->alpha_ps : 55 * PS_PER_US;
	s->timer_ps = s->timer_ps ? s->timer_ps : 55 * PS_PER_US;
	s->counter_bytes = s->counter_bytes ? s->counter_bytes : 10000000;
	s->step_bps = s->step_bps ? s->step_bps : line_bps / 1000;
	s->leap_bps = s->leap_bps ? s->leap_bps : line_bps / 100;
}

static uint32_t hash_of(const struct weft_baseline *r, bool is_receiver, uint32_t qp)
{
	struct weft_rng rng;

	weft_rng_seed(&rng, r->config.seed + GOLDEN * ((uint64_t)qp * 2 + is_receiver + 1));
	return (uint32_t)weft_rng_u64(&rng);
}

static void fill_queue_pairs(struct weft_baseline *r)
{
	for (uint32_t i = 0; i < r->n_senders; i++) {
		struct sender *s = &r->senders[i];

		*s = (struct sender){ .conn = i / r->qps,
			.heap_at = NONE,
			.list = LISTS,
			.list_next = NONE,
			.list_prev = NONE,
			.hash = hash_of(r, false, i),
			.epoch = r->epoch - 1,
			.rto_ps = WEFT_NEVER,
			.wake_ps = WEFT_NEVER };
		dcqcn_init(&s->rate, r->config.port_bps);
		dctcp_init(&s->window, r->window_pkts);
	}
	for (uint32_t i = 0; i < r->n_receivers; i++)
		r->receivers[i] = (struct receiver){
			.conn = i / r->qps, .hash = hash_of(r, true, i), .list_next = NONE
		};
}

bool weft_baseline_init(
	struct weft_baseline **out, void *block, const struct weft_baseline_config *config)
{
	size_t bytes = weft_baseline_size(config);
	struct weft_baseline *r = block;

	if (!bytes)
		return false;
	memset(block, 0, bytes);
	(void)lay_out(r, block, config);
	r->config = *config;
	r->kind = kind_of(config->settings.kind);
	r->qps = qps_of(config);
	r->window_pkts = window_of(config);
	r->bits = bits_for(config);
	r->n_senders = config->sends * r->qps;
	r->n_receivers = config->receives * r->qps;
	r->pull_every_ps = (config->payload_bytes + config->overhead_bytes) *
			   UINT64_C(8000000000000) / config->port_bps / config->planes;
	r->pull_first = r->pull_last = NONE;
	for (uint32_t i = 0; i < LISTS; i++)
		r->ready_first[i] = r->ready_last[i] = NONE;
	for (uint32_t i = 0; i < config->sends; i++)
		r->sends[i].peer = r->sends[i].first_queued = NONE;
	for (uint32_t i = 0; i < config->receives; i++)
		r->receives[i].peer = NONE;
	for (uint32_t i = 0; i < config->works; i++)
		r->queued[i].next = i + 1 < config->works ? i + 1 : NONE;
	r->free_queued = config->works ? 0 : NONE;
	weft_rng_seed(&r->rng, config->seed);
	fill_settings(r);
	fill_queue_pairs(r);
	*out = r;
	return true;
}

void weft_baseline_connect(struct weft_baseline *r, bool is_receiver, uint32_t number,
	uint32_t peer, uint32_t peer_number)
{
	WEFT_ASSERT(number < (is_receiver ? r->config.receives : r->config.sends));
	struct conn *conn = is_receiver ? &r->receives[number] : &r->sends[number];

	conn->peer = peer;
	conn->peer_number = peer_number;
}

const struct weft_baseline_counters *weft_baseline_stats(const struct weft_baseline *r)
{
	return &r->counters;
}
