/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile - thresholds of a fabric's ports, out of the fabric file.
 *
 * Two profiles, for ports between switches and for ports to hosts; each in units of the bandwidth
 * x delay of one plane, that is the speed of such a link times the round trip of the longest path.
 * A link that the file makes slower keeps them: a switch does not know how long its cable is.
 */
#include "local.h"

static uint32_t bdp_bytes(uint64_t rate_bps, uint64_t rtt_ns)
{
	uint64_t bytes = rate_bps / 8 * (rtt_ns / 1000) / 1000000 +
			 rate_bps / 8 * (rtt_ns % 1000) / 1000000000;

	return (uint32_t)WEFT_MIN(bytes, (uint64_t)UINT32_MAX / 8);
}

void profiles_fill(struct weft_rack *rack)
{
	const struct weft_topo_shape *s = &rack->shape;
	uint64_t rate_bps = rack->config.rate_bps;
	uint64_t core_bps = rate_bps ? rate_bps : s->core_bps;
	uint64_t host_bps = rate_bps ? rate_bps : s->host_bps;

	weft_port_profile_fill(&rack->profiles[PROFILE_CORE], WEFT_DISCIPLINE_TRIM, false,
		bdp_bytes(core_bps, s->base_rtt_ns), bdp_bytes(core_bps, 2 * s->core_delay_ns));
	weft_port_profile_fill(&rack->profiles[PROFILE_HOST], WEFT_DISCIPLINE_TRIM, true,
		bdp_bytes(host_bps, s->base_rtt_ns), bdp_bytes(host_bps, 2 * s->host_delay_ns));
	rack->is_lossless = false;
}
