/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config - what an endpoint may be asked to be.
 *
 * Everything that decides memory is fixed at init, so that the data path has nothing to
 * allocate and nothing to fail on.  Impossible wishes are refused as a whole (size 0) rather
 * than bent: a silent clamp would show up weeks later as a throughput riddle.
 *
 * Defaults are those of one 8 x 100 Gb/s host with a 12 us round trip [P 5.3], [P 8.16].
 */
#include "engine_local.h"

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

/* unit: 0: a power of two; else a multiple of that. */
struct rule {
	uint16_t offset;
	uint32_t unit, low, high;
	const char *says;
};
#define RANGE(field, low, high)                                                                    \
	{ offsetof(struct weft_config, field), 1, low, high, #field ": " #low " to " #high }
#define POW2(field, low, high)                                                                     \
	{ offsetof(struct weft_config, field), 0, low, high,                                       \
		#field ": a power of two, " #low " to " #high }
#define UNITS(field, unit, low, high)                                                              \
	{ offsetof(struct weft_config, field), unit, low, high,                                    \
		#field ": a multiple of " #unit ", " #low " to " #high }

static const struct rule rules[] = {
	POW2(qps, 1, 65536),
	RANGE(cqs, 1, 65536),
	POW2(regions, 1, 65536),
	RANGE(pathsets, 1, 65535),
	RANGE(paths_per_set, 1, 512),
	RANGE(paths, 0, 16777216),
	RANGE(ports, 1, 32),
	POW2(sq_depth, 1, 32768),
	POW2(rq_depth, 1, 32768),
	POW2(cq_depth, 1, 16777216),
	UNITS(window_psns, 128, 128, 32640),
	RANGE(inflight_pkts, 1, 2097152),
	POW2(wimm_max, 1, 4096),
	POW2(answers, 16, 1048576),
	POW2(events, 1, 16777216),
	RANGE(recvqs, 0, 65535),
	UNITS(mtu_bytes, 4, 64, 8192),
	RANGE(sack_bytes, 1, 4294967295),
	RANGE(base_rtt_ns, 100, 1000000000),
	RANGE(probe_ns_min, 1, 4294967295),
	RANGE(proof_answers, 1, 32),
};
_Static_assert(WEFT_PORTS_MAX == 32 && WEFT_MTU_MAX == 8192 && WEFT_MPR_UNIT_PSNS == 128 &&
		       WEFT_MPR_MAX_PSNS == 32640 && WEFT_BASE_RTT_NS_MIN == 100 &&
		       WEFT_BASE_RTT_NS_MAX == 1000000000,
	"as the rules say");

static bool is_kept(const struct rule *rule, const struct weft_config *c)
{
	uint32_t value;

	memcpy(&value, (const char *)c + rule->offset, sizeof(value));
	return value >= rule->low && value <= rule->high &&
	       (rule->unit ? value % rule->unit == 0 : weft_is_pow2(value));
}

static bool pow2_up_to(uint32_t value, uint32_t most)
{
	return weft_is_pow2(value) && value <= most;
}

const char *weft_config_fault(const struct weft_config *c)
{
	for (size_t i = 0; i < WEFT_COUNT(rules); i++) {
		if (!is_kept(&rules[i], c))
			return rules[i].says;
	}
	if (c->probe_ns_max < c->probe_ns_min)
		return "probe_ns_max: at least probe_ns_min";
	if (c->inflight_pkts / PAGE_PSNS + 2 * c->qps >= PAGE_NONE)
		return "inflight_pkts, qps: too many together";
	if (c->extended_qps > c->qps)
		return "extended_qps: at most qps";
	if (c->extended_qps && !pow2_up_to(c->rd_atomic_max, WEFT_MIN(128u, c->sq_depth)))
		return "rd_atomic_max: a power of two, at most 128 and sq_depth";
	if (c->recvqs && !pow2_up_to(c->recvq_depth, 65536))
		return "recvq_depth: a power of two, 1 to 65536";
	return NULL;
}
