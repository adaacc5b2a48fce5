/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config - what an endpoint may be asked to be.
 *
 * Everything that decides memory is fixed at init, so that the data path has nothing to
 * allocate and nothing to fail on.  Impossible wishes are refused as a whole (size 0) rather
 * than bent: a silent clamp would show up weeks later as a throughput riddle.
 *
 * Defaults are those of one 8 x 100 Gb/s host with a 12 us round trip (protocol.md 5.3, 12).
 */
#include "local.h"

#include <weft/rtt.h>

void weft_config_default(struct weft_config *config)
{
	*config = (struct weft_config){
		.qps = 64,
		.cqs = 64,
		.regions = 64,
		.pathsets = 64,
		.paths_per_set = 256,
		.ports = 8,
		.sq_depth = 256,
		.rq_depth = 256,
		.cq_depth = 1024,
		.window_psns = 4096,
		.inflight_pkts = 8192,
		.wimm_max = 128,
		.answers = 1024,
		.events = 1024,
		.mtu_bytes = 4096,
		.sack_bytes = 16384,
		.base_rtt_ns = 12000,
		.probe_ns_min = 50000,
		.probe_ns_max = 10000000,
		.reverse_probe_ns = 1000000,
		.proof_answers = 3,
		.seed = 1,
	};
}

static bool in(uint32_t value, uint32_t low, uint32_t high)
{
	return value >= low && value <= high;
}

static bool pow2_in(uint32_t value, uint32_t low, uint32_t high)
{
	return weft_is_pow2(value) && in(value, low, high);
}

static bool extended_is_possible(const struct weft_config *c)
{
	return in(c->extended_qps, 0, c->qps) && in(c->recvqs, 0, 65535) &&
	       (!c->extended_qps || pow2_in(c->rd_atomic_max, 1, WEFT_MIN(128u, c->sq_depth))) &&
	       (!c->recvqs || pow2_in(c->recvq_depth, 1, 65536));
}

bool config_is_possible(const struct weft_config *c)
{
	return pow2_in(c->qps, 1, 65536) && in(c->cqs, 1, 65536) && pow2_in(c->regions, 1, 65536) &&
	       in(c->pathsets, 1, 65535) && in(c->paths_per_set, 1, 512) &&
	       in(c->paths, 0, 1u << 24) && in(c->ports, 1, WEFT_PORTS_MAX) &&
	       pow2_in(c->sq_depth, 1, 32768) && pow2_in(c->rq_depth, 1, 32768) &&
	       pow2_in(c->cq_depth, 1, 1u << 24) && in(c->window_psns, 128, WEFT_MPR_MAX_PSNS) &&
	       c->window_psns % WEFT_MPR_UNIT_PSNS == 0 && in(c->inflight_pkts, 1, 1u << 21) &&
	       pow2_in(c->wimm_max, 1, 4096) && pow2_in(c->answers, 16, 1u << 20) &&
	       pow2_in(c->events, 1, 1u << 24) && in(c->mtu_bytes, 64, WEFT_MTU_MAX) &&
	       c->mtu_bytes % 4 == 0 && c->sack_bytes > 0 &&
	       in(c->base_rtt_ns, WEFT_BASE_RTT_NS_MIN, WEFT_BASE_RTT_NS_MAX) &&
	       c->probe_ns_min > 0 && c->probe_ns_max >= c->probe_ns_min &&
	       in(c->proof_answers, 1, 32) &&
	       c->inflight_pkts / PAGE_PSNS + 2 * c->qps < PAGE_NONE && extended_is_possible(c);
}
