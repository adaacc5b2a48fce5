/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host - where a host's packets go, and when it wants to be run next.
 *
 * Hot: both.
 */
#include "sim_local.h"

uint64_t host_route(const struct weft_sim *sim, uint32_t src, uint32_t dst, uint32_t ev)
{
	const struct weft_topo_shape *s = &sim->shape;
	const struct host *from = &sim->hosts[src];
	/* Not read off that host: it lies in no cache. */
	uint32_t to_t0 = dst / s->hosts_per_t0, downlink = dst % s->hosts_per_t0;
	uint32_t plane = weft_ev_plane(ev), uplink = weft_ev_uplink(ev);
	const uint16_t *t0s = &sim->t0_sids[plane * s->t0s * s->parallel];
	uint64_t down = sim->host_sids[plane * s->hosts_per_t0 + downlink];
	uint64_t own = (uint64_t)t0s[from->t0 * s->parallel] << 48;

	if (from->t0 == to_t0)
		return own | down << 32 | ev;
	uint64_t t1 = sim->t1_sids[plane * s->uplinks + uplink];
	uint32_t which = s->parallel == 1 ? 0 : uplink % s->parallel;
	uint64_t t0 = t0s[to_t0 * s->parallel + which];

	return own | t1 << 32 | t0 << 16 | down;
}

void host_alarm(struct lane *lane, uint32_t index)
{
	struct weft_sim *sim = lane->sim;
	struct host *host = &sim->hosts[index];
	uint64_t at_ps = WEFT_MIN(host->wake_ps, flow_next_ps(sim, host));

	if (at_ps == WEFT_NEVER)
		return;
	if (at_ps < WEFT_MAX(lane->step_end_ps, lane->end_ps + sim->window_ps)) {
		node_due(lane, index);
		return;
	}
	uint64_t window = at_ps / sim->window_ps;

	if (window < host->wheel_window)
		wheel_set(&lane->wheel, sim->hosts, index, window);
}
