/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * baseline - hosts with what MRC is compared with, behind the same cables and switches.
 *
 * They count picoseconds, since a pace in whole nanoseconds would be a percent off at 400 Gb/s; and
 * they honour pauses, which stop data and nothing else.  Their paths are those that switches
 * would choose (routes.c).
 */
#include "visit.h"

#include <weft/nic_baseline.h>

/* In front of each baseline, in its block. */
enum { ASKER_BYTES = 64 };
_Static_assert(sizeof(struct route_asker) <= ASKER_BYTES, "and the baseline begins on a line");

void baseline_config(const struct weft_sim_config *config, uint32_t host,
	const struct host_ends *ends, struct weft_baseline_config *out)
{
	const struct weft_topo_shape *s = weft_topo_shape(config->topo);

	*out = (struct weft_baseline_config){ .settings = config->baseline,
		.host = host,
		.planes = s->planes,
		.sends = ends->sends,
		.receives = ends->receives,
		.works = ends->sends * WEFT_MAX(ends->depth, 1u),
		.payload_bytes = plan_payload(s),
		.overhead_bytes = DATA_HEADERS + WEFT_FRAME_GAP_BYTES,
		.port_bps = s->host_bps,
		.rtt_ps = (uint64_t)s->base_rtt_ns * 1000,
		.seed = config->seed * UINT64_C(0x9e3779b97f4a7c15) + 100 + host,
		.path = routes_path };
}

static size_t block_bytes(
	const struct weft_sim_config *config, uint32_t host, const struct host_ends *ends)
{
	struct weft_baseline_config baseline;

	baseline_config(config, host, ends, &baseline);
	size_t bytes = weft_baseline_size(&baseline);

	return bytes ? ASKER_BYTES + bytes : 0;
}

static struct route_asker *asker_of(const struct weft_sim *sim, uint32_t index)
{
	return (struct route_asker *)(void *)(sim->blocks + sim->block_of[index]);
}

static void open_all(struct lane *lane, uint32_t index)
{
	struct weft_sim *sim = lane->sim;
	struct route_asker *asker = asker_of(sim, index);
	const struct wiring *w = &sim->wiring;
	uint32_t numbers[2] = { 0, 0 };
	struct weft_baseline_config config;

	*asker = (struct route_asker){ .lane = lane, .host = index };
	baseline_config(&sim->config, index, &w->of_host[index], &config);
	config.user = asker;
	WEFT_ASSERT(weft_baseline_init(
		&sim->hosts[index].baseline, (uint8_t *)asker + ASKER_BYTES, &config));
	for (uint32_t i = w->ends_of[index]; i < w->ends_of[index + 1]; i++) {
		struct flow_end *end = &w->flow_ends[w->ends[i]];

		end->qpn = 0;
		end->set = numbers[w->ends[i] & 1]++;
	}
}

static void connect_all(struct lane *lane, uint32_t index)
{
	const struct weft_sim *sim = lane->sim;
	const struct wiring *w = &sim->wiring;

	for (uint32_t i = w->ends_of[index]; i < w->ends_of[index + 1]; i++) {
		uint32_t end = w->ends[i];
		const struct conn *conn = &w->conns[end >> 1];
		uint32_t peer = end & 1 ? conn->src : conn->dst;

		if (weft_topo_paths(sim->config.topo, index, peer))
			weft_baseline_connect(sim->hosts[index].baseline, end & 1,
				w->flow_ends[end].set, peer, w->flow_ends[end ^ 1].set);
	}
}

static bool post(struct lane *lane, uint32_t host, const struct flow_end *end,
	const struct weft_work *work, uint64_t now_ps)
{
	return weft_baseline_post(
		lane->sim->hosts[host].baseline, end->set, work->id, work->len_bytes, now_ps);
}

static void on_received(const struct host *host, const struct weft_done *done)
{
	(void)host;
	(void)done;
}

static uint64_t came(const struct host *host, const struct flow_end *end)
{
	return weft_baseline_received_bytes(host->baseline, end->set);
}

static void run(struct lane *lane, uint32_t index)
{
	struct route_asker *asker = asker_of(lane->sim, index);

	if (asker->epoch != lane->route_epoch) {
		asker->epoch = lane->route_epoch;
		weft_baseline_routes_changed(lane->sim->hosts[index].baseline);
	}
	visit_run(lane, index, &weft_transport_baseline);
}

static void fetch(const struct lane *lane, uint32_t index, unsigned visits)
{
	const struct weft_sim *sim = lane->sim;

	if (visits != FETCH_VISITS)
		return;
	__builtin_prefetch(&sim->hosts[index], 1);
	__builtin_prefetch(asker_of(sim, index));
}

const struct host_kind hosts_baseline = {
	.next_ps = weft_transport_baseline_next_ps,
	.port_mark = weft_transport_baseline_port_mark,
	.counters = weft_transport_baseline_counters,
	.check = weft_transport_baseline_check,
	.has_routes = true,
	.block_bytes = block_bytes,
	.open = open_all,
	.connect = connect_all,
	.post = post,
	.on_received = on_received,
	.came = came,
	.run = run,
	.fetch = fetch,
};
