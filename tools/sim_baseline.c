/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_baseline - `weft sim --transport ...`: whose transport hosts have, and how it is set.
 *
 * RoCE's switches drop, or pause with --pfc; --switch says otherwise (weft_sim_discipline()).
 */
#include "live_args.h"
#include "sim_text.h"

#include <errno.h>
#include <stdlib.h>

enum {
	OPTION_TRANSPORT = 512,
	OPTION_QPS,
	OPTION_DCQCN,
	OPTION_PFC,
	OPTION_WINDOW,
	OPTION_RTO,
	OPTION_DETECT,
	OPTION_CONVERGE,
};

/* clang-format off */
static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What MRC is compared with:", 10 },
	{ "transport", OPTION_TRANSPORT, "KIND", 0,
	  "mrc (default), roce, roce-sr, stripe, spray or ndp", 10 },
	{ "qps", OPTION_QPS, "N", 0, "queue pairs per connection, 1 to 16 (default: 1)", 10 },
	{ "dcqcn", OPTION_DCQCN, NULL, 0, "congestion control for roce, roce-sr and stripe", 10 },
	{ "pfc", OPTION_PFC, NULL, 0, "switches pause their neighbours and lose nothing", 10 },
	{ "window", OPTION_WINDOW, "PACKETS", 0, "in flight per queue pair; ndp: unasked", 10 },
	{ "rto", OPTION_RTO, "TIME", 0, "until the oldest packet is sent again", 10 },
	{ "bgp-detect", OPTION_DETECT, "TIME", 0, "until a dead link is seen (default: 1s)", 10 },
	{ "bgp-converge", OPTION_CONVERGE, "TIME", 0, "until everybody knows (default: 1s)", 10 },
	{ 0 },
};
/* clang-format on */

/* Bounds: those of a scenario's engine. */
static error_t take_time(struct argp_state *state, const char *name, const char *text,
	uint64_t min_ps, uint64_t max_s, uint64_t *ps)
{
	if (sim_read_time(text, ps) && *ps >= min_ps && *ps <= max_s * UINT64_C(1000000000000))
		return 0;
	argp_error(state, "%s: \"%s\" is not a time of up to %us, like 500us or 1s", name, text,
		(unsigned)max_s);
	return EINVAL;
}

/* What a transport does not have must not be taken as if it had: people would compare it. */
static error_t judge(struct argp_state *state, const struct weft_sim_config *config)
{
	const struct weft_baseline_settings *r = &config->baseline;
	struct weft_sim_config usual;

	weft_sim_config_default(&usual);
	if (r->kind == WEFT_BASELINE_NONE && (r->qps || r->dcqcn || r->window_pkts || r->rto_ps ||
						  config->discipline == WEFT_DISCIPLINE_LOSSLESS ||
						  config->bgp_detect_ps != usual.bgp_detect_ps ||
						  config->bgp_converge_ps != usual.bgp_converge_ps))
		argp_error(state, "qps, dcqcn, pfc, window, rto and bgp belong to other transports "
				  "than mrc: --transport");
	else if (r->dcqcn && !weft_baseline_is_roce(r->kind))
		argp_error(state, "dcqcn: roce, roce-sr and stripe have it");
	else
		return 0;
	return EINVAL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct weft_sim_config *config = state->input;

	switch (key) {
	case OPTION_TRANSPORT:
		if (!weft_baseline_find(arg, &config->baseline.kind))
			argp_error(state,
				"transport: \"%s\", wanted is mrc, roce, roce-sr, stripe, spray or "
				"ndp",
				arg);
		return 0;
	case OPTION_QPS:
		config->baseline.qps = (uint32_t)arg_number(state, "qps", arg, 1, 16);
		return 0;
	case OPTION_DCQCN:
		config->baseline.dcqcn = true;
		return 0;
	case OPTION_PFC:
		config->discipline = WEFT_DISCIPLINE_LOSSLESS;
		return 0;
	case OPTION_WINDOW:
		config->baseline.window_pkts =
			(uint32_t)arg_number(state, "window", arg, 1, UINT32_MAX);
		return 0;
	case OPTION_RTO:
		return take_time(state, "rto", arg, 1000, 4, &config->baseline.rto_ps);
	case OPTION_DETECT:
		return take_time(state, "bgp-detect", arg, 0, 100, &config->bgp_detect_ps);
	case OPTION_CONVERGE:
		return take_time(state, "bgp-converge", arg, 0, 100, &config->bgp_converge_ps);
	case ARGP_KEY_END:
		return judge(state, config);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp sim_baseline_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };
