/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network_profile - thresholds of a fabric's ports, out of the fabric file.
 *
 * Two profiles, for ports between switches and for ports to hosts; each in units of the bandwidth
 * x delay of one plane, that is the speed of such a link times the round trip of the longest path.
 * A link that the file makes slower keeps them: a switch does not know how long its cable is.
 *
 * The file's `queue` is where data is dropped that may not be trimmed, as in the kernel's switches,
 * which know no other threshold; unless it says so, fabric's advice holds, which is less.  It never
 * takes the place of a trim: a queue shorter than that threshold is as long as it.
 */
#include "network_local.h"

static uint32_t bdp_bytes(uint64_t rate_bps, uint64_t rtt_ns)
{
	uint64_t bytes = rate_bps / 8 * (rtt_ns / 1000) / 1000000 +
			 rate_bps / 8 * (rtt_ns % 1000) / 1000000000;

	return (uint32_t)WEFT_MIN(bytes, (uint64_t)UINT32_MAX / 8);
}

/* share_bytes: one bandwidth x delay. */
static uint32_t depth_bytes(const struct weft_topo_depth *depth, uint32_t share_bytes)
{
	uint64_t bytes = depth->bytes + (uint64_t)share_bytes * depth->bdp_permille / 1000;

	return (uint32_t)WEFT_MIN(bytes, (uint64_t)UINT32_MAX / 2);
}

static enum weft_discipline discipline_of(enum weft_topo_full full)
{
	switch (full) {
	case WEFT_FULL_TRIM:
		break;
	case WEFT_FULL_DROP:
		return WEFT_DISCIPLINE_DROP_TAIL;
	case WEFT_FULL_PAUSE:
		return WEFT_DISCIPLINE_LOSSLESS;
	}
	return WEFT_DISCIPLINE_TRIM;
}

struct weft_network_manner weft_network_manner(const struct weft_topo *topo)
{
	const struct weft_topo_shape *s = weft_topo_shape(topo);

	return (struct weft_network_manner){ .discipline = discipline_of(s->full),
		.marks = s->marks };
}

static void fill(struct weft_port_profile *profile, const struct weft_topo_depths *depths,
	const struct weft_network_manner *manner, bool is_last_hop, uint32_t share_bytes)
{
	const struct weft_topo_depth *trim = is_last_hop ? &depths->trim_last_hop : &depths->trim;

	if (weft_topo_depth_is_said(&depths->ecn_max)) {
		profile->ecn_min_bytes = depth_bytes(&depths->ecn_min, share_bytes);
		profile->ecn_max_bytes = depth_bytes(&depths->ecn_max, share_bytes);
	}
	if (is_last_hop && manner->marks == WEFT_MARKS_CORE)
		profile->ecn_min_bytes = profile->ecn_max_bytes = 0;
	if (weft_topo_depth_is_said(trim) && manner->discipline == WEFT_DISCIPLINE_TRIM)
		profile->trim_bytes = depth_bytes(trim, share_bytes);
	if (depths->trim_size_bytes)
		profile->trim_to_bytes = depths->trim_size_bytes;
	if (depths->queue_bytes && manner->discipline != WEFT_DISCIPLINE_LOSSLESS)
		profile->drop_bytes[WEFT_QUEUE_DATA] =
			WEFT_MAX(depths->queue_bytes, profile->trim_bytes);
}

bool weft_network_profile(const struct weft_topo *topo, const struct weft_network_manner *manner,
	bool is_last_hop, struct weft_port_profile *profile)
{
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	uint64_t bps = is_last_hop ? s->host_bps : s->core_bps;
	uint32_t delay_ns = is_last_hop ? s->host_delay_ns : s->core_delay_ns;

	if (manner->rate_bps)
		bps = manner->rate_bps;
	weft_port_profile_fill(profile, manner->discipline, is_last_hop,
		bdp_bytes(bps, s->base_rtt_ns), bdp_bytes(bps, UINT64_C(2) * delay_ns));
	/* Control may queue up to three; fabric takes more than we gave it where that was tiny. */
	fill(profile, &s->depths, manner, is_last_hop, profile->drop_bytes[WEFT_QUEUE_CONTROL] / 3);
	return !weft_port_profile_fault(profile);
}

bool profiles_fill(struct weft_network *network)
{
	const struct weft_topo *topo = network->config.topo;
	struct weft_network_manner manner = weft_network_manner(topo);

	manner.rate_bps = network->config.rate_bps;
	network->is_lossless = manner.discipline == WEFT_DISCIPLINE_LOSSLESS;
	return weft_network_profile(topo, &manner, false, &network->profiles[PROFILE_CORE]) &&
	       weft_network_profile(topo, &manner, true, &network->profiles[PROFILE_HOST]);
}
