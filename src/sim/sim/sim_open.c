/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_open - a world is made: memory, cables, tables, endpoints, connections.
 *
 * What is agreed out of band in life (numbers of queue pairs, keys, windows) is agreed here by
 * reading it off the other side, in two passes: first every endpoint opens its ends, then every
 * end learns of its peer.  Each lane does its own, so that memory is first touched by the thread
 * that will use it.
 */
#include "ranks.h"

/* ---- memory ---- */

void *take(struct weft_sim *sim, uint64_t n, uint64_t bytes)
{
	void *at = sim->n_areas < AREAS_MAX ? memory_reserve(n * bytes) : NULL;

	if (at)
		sim->areas[sim->n_areas++] = (struct area){ at, n * bytes };
	return at;
}

static bool take_nodes(struct weft_sim *sim, const struct plan *plan)
{
	const struct weft_topo_shape *s = &sim->shape;
	uint64_t ports = (uint64_t)s->hosts * s->planes, t0s = (uint64_t)s->planes * s->t0s;

	sim->hosts = take(sim, s->hosts, sizeof(*sim->hosts));
	sim->free_ps = take(sim, ports, sizeof(*sim->free_ps));
	sim->host_lines = take(sim, ports, sizeof(*sim->host_lines));
	sim->switches = take(sim, s->nodes - s->hosts, sizeof(*sim->switches));
	sim->lines = take(sim, UINT16_MAX + 1, sizeof(*sim->lines));
	sim->t0_sids = take(sim, t0s * s->parallel, sizeof(uint16_t));
	sim->t1_sids = take(sim, (uint64_t)s->planes * s->uplinks, sizeof(uint16_t));
	sim->host_sids = take(sim, (uint64_t)s->planes * s->hosts_per_t0, sizeof(uint16_t));
	sim->block_of = take(sim, s->hosts, sizeof(*sim->block_of));
	sim->blocks = take(sim, 1, plan->memory.endpoints);
	sim->switch_blocks = take(sim, 1,
		t0s * plan->switch_bytes[0] + (uint64_t)s->planes * s->t1s * plan->switch_bytes[1]);
	return sim->hosts && sim->free_ps && sim->host_lines && sim->switches && sim->lines &&
	       sim->t0_sids && sim->t1_sids && sim->host_sids && sim->block_of && sim->blocks &&
	       sim->switch_blocks &&
	       slab_open(&sim->slab, plan->packets, sizeof(struct weft_pkt)) &&
	       slab_open(&sim->mail, plan->mail_chunks, sizeof(struct chunk));
}

static bool take_flows(struct weft_sim *sim, uint32_t n_actions)
{
	uint64_t n = sim->n_flows, edges = sim->config.n_edges;

	sim->flows = take(sim, n, sizeof(*sim->flows));
	sim->flow_states = take(sim, n, sizeof(*sim->flow_states));
	sim->starts = take(sim, n, sizeof(*sim->starts));
	sim->edges = take(sim, edges, sizeof(*sim->edges));
	sim->waits = take(sim, sim->n_waits, sizeof(*sim->waits));
	sim->waits_of = take(sim, n + 1, sizeof(*sim->waits_of));
	sim->rkeys = take(sim, sim->shape.hosts, sizeof(*sim->rkeys));
	sim->actions = take(sim, n_actions, sizeof(*sim->actions));
	sim->grays = take(sim, n_actions, sizeof(*sim->grays));
	return sim->flows && sim->flow_states && sim->starts && sim->edges && sim->waits &&
	       sim->waits_of && sim->rkeys && sim->actions && sim->grays;
}

static bool take_batch(struct weft_sim *sim, struct batch *batch, const struct plan *plan)
{
	batch->keys = take(sim, plan->mail_frames, sizeof(*batch->keys));
	batch->keys_spare = take(sim, plan->mail_frames, sizeof(*batch->keys));
	batch->frames = take(sim, plan->mail_frames, sizeof(*batch->frames));
	return batch->keys && batch->keys_spare && batch->frames;
}

static bool take_mail(struct weft_sim *sim, struct lane *lane, enum clock clock)
{
	uint64_t words = WEFT_DIV_UP(sim->shape.nodes, 64u), ring = sim->rings[clock];
	struct box *boxes = take(sim, ring * sim->shape.nodes, sizeof(*boxes));
	uint64_t *bits = take(sim, ring * words, sizeof(*bits));
	struct post *posts = take(sim, ring, sizeof(*posts));

	if (!boxes || !bits || !posts)
		return false;
	for (uint64_t i = 0; i < ring; i++)
		posts[i] = (struct post){ .chunks = sim->mail.chunks,
			.boxes = boxes + i * sim->shape.nodes,
			.bits = bits + i * words };
	lane->mail_of[clock].posts = posts;
	return true;
}

/* Lanes of all ranks are numbered through. */
static void own_nodes(struct lane *lane)
{
	const struct weft_sim *sim = lane->sim;
	uint32_t first = ranks_own(sim->config.ranks) * sim->n_lanes;
	struct share own = plan_share(&sim->shape, first + lane->index,
		ranks_n(sim->config.ranks) * sim->n_lanes);

	lane->host_first = own.host_first;
	lane->host_end = own.host_end;
	lane->t0_first = own.t0_first;
	lane->t0_end = own.t0_end;
	lane->t1_first = own.t1_first;
	lane->t1_end = own.t1_end;
}

static bool take_lane(struct weft_sim *sim, struct lane *lane, const struct plan *plan)
{
	uint64_t words = WEFT_DIV_UP(sim->shape.nodes, 64u);
	uint64_t *bits = take(sim, 2 * words, sizeof(*bits));
	uint32_t *lists = take(sim, (uint64_t)WHEEL_LEVELS << WHEEL_BITS, sizeof(*lists));
	struct weft_frame *frames = take(sim, plan->packets, sizeof(*frames));

	lane->visits = take(sim, sim->shape.nodes, sizeof(*lane->visits));
	if (!bits || !lists || !frames || !lane->visits ||
		!take_mail(sim, lane, CLOCK_WINDOW) ||
		!take_mail(sim, lane, CLOCK_STEP) || !take_batch(sim, &lane->mail, plan) ||
		!take_batch(sim, &lane->ahead, plan))
		return false;
	lane->due = bits;
	lane->acted = lane->due + words;
	lane->sim = sim;
	lane->frames_max = plan->mail_frames;
	lane->mail.node = lane->ahead.node = NONE;
	lane->cache = lane->chunk_cache = (struct slab_cache){ .free = NONE, .full = NONE };
	lane->spare = slab_take(&sim->slab, &lane->cache);
	weft_frame_pool_init(&lane->pool, frames, plan->packets);
	wheel_init(&lane->wheel, lists);
	weft_hist_init(&lane->messages);
	own_nodes(lane);
	return true;
}

static bool take_lanes(struct weft_sim *sim, const struct plan *plan)
{
	sim->lanes = take(sim, sim->n_lanes, sizeof(*sim->lanes));
	if (!sim->lanes)
		return false;
	for (uint32_t i = 0; i < sim->n_lanes; i++) {
		sim->lanes[i].index = i;
		if (!take_lane(sim, &sim->lanes[i], plan))
			return false;
	}
	return true;
}

/* ---- cables ---- */

uint16_t line_of(struct weft_sim *sim, uint64_t bps, uint32_t delay_ns)
{
	struct line line = { .byte_ps_q16 = (UINT64_C(8000000000000) << 16) / bps,
		.delay_ps = (uint64_t)delay_ns * 1000 };
	uint32_t i = 0;

	while (i < sim->n_lines && (sim->lines[i].byte_ps_q16 != line.byte_ps_q16 ||
					   sim->lines[i].delay_ps != line.delay_ps))
		i++;
	WEFT_ASSERT(i <= UINT16_MAX);
	if (i == sim->n_lines)
		sim->lines[sim->n_lines++] = line;
	return (uint16_t)i;
}

static bool take_switches(struct weft_sim *sim)
{
	const struct weft_topo_shape *s = &sim->shape;
	uint64_t ports = 0, words = 0;

	for (uint32_t node = s->hosts; node < s->nodes; node++) {
		struct switch_node *sw = &sim->switches[node - s->hosts];

		sw->ports = weft_topo_node(sim->config.topo, node).ports;
		sw->words = (uint16_t)WEFT_DIV_UP(sw->ports, 64u);
		ports += sw->ports;
		words += 2u * sw->words;
	}
	struct cable *cables = take(sim, ports, sizeof(*cables));
	uint64_t *bits = take(sim, words, sizeof(*bits));
	uint64_t *next = take(sim, ports, sizeof(*next));

	if (!cables || !bits || !next)
		return false;
	for (uint32_t i = 0; i < s->nodes - s->hosts; i++) {
		sim->switches[i].cables = cables;
		sim->switches[i].busy = bits;
		sim->switches[i].down = bits + sim->switches[i].words;
		sim->switches[i].next_ps = next;
		cables += sim->switches[i].ports;
		next += sim->switches[i].ports;
		bits += 2 * sim->switches[i].words;
	}
	return true;
}

static void lay_cables(struct weft_sim *sim)
{
	const struct weft_topo_shape *s = &sim->shape;

	for (uint32_t i = 0; i < s->links; i++) {
		struct weft_link l = weft_topo_link(sim->config.topo, i);
		uint16_t line = line_of(sim, l.bps, l.delay_ns);

		for (unsigned end = 0; end < 2; end++) {
			uint32_t node = l.node[end], peer = l.node[!end];

			if (node < s->hosts) {
				sim->host_lines[(uint64_t)node * s->planes + l.port[end]] = line;
				continue;
			}
			sim->switches[node - s->hosts].cables[l.port[end]] = (struct cable){
				.node = peer, .port = (uint16_t)l.port[!end], .line = line
			};
		}
	}
}

/* ---- switches ---- */

static uint16_t sid_of(const struct weft_route *route)
{
	return (uint16_t)(route->prefix[4] << 8 | route->prefix[5]);
}

void fill_table(const struct weft_sim *sim, uint32_t node)
{
	struct weft_switch *sw = sim->switches[node - sim->shape.hosts].sw;
	struct weft_route route;

	for (uint32_t i = 0; weft_topo_route(sim->config.topo, node, i, &route); i++) {
		struct weft_hop hop = { .port = (uint16_t)route.port };

		if (route.kind != WEFT_ROUTE_END && route.kind != WEFT_ROUTE_USID)
			continue;
		hop.kind = route.kind == WEFT_ROUTE_END ? WEFT_HOP_UN : WEFT_HOP_PORT;
		WEFT_ASSERT(weft_switch_sid_add(sw, sid_of(&route), &hop));
	}
}

/* Own uSIDs of all switches, and those of hosts, which every T0 of a plane numbers alike. */
static void collect_sids(struct weft_sim *sim)
{
	const struct weft_topo_shape *s = &sim->shape;
	const struct weft_topo *topo = sim->config.topo;
	struct weft_route route;
	uint8_t addr[16];

	for (uint32_t plane = 0; plane < s->planes; plane++) {
		for (uint32_t i = 0; i < s->t0s * s->parallel; i++) {
			weft_topo_route(topo, weft_topo_t0(topo, plane, i / s->parallel),
				i % s->parallel, &route);
			sim->t0_sids[plane * s->t0s * s->parallel + i] = sid_of(&route);
		}
		for (uint32_t i = 0; i < s->uplinks; i++) {
			weft_topo_route(topo, weft_topo_t1(topo, plane, i / s->parallel),
				i % s->parallel, &route);
			sim->t1_sids[plane * s->uplinks + i] = sid_of(&route);
		}
		for (uint32_t i = 0; i < WEFT_MIN(s->hosts_per_t0, s->hosts); i++) {
			weft_topo_host_usid(topo, i, plane, addr);
			sim->host_sids[plane * s->hosts_per_t0 + i] =
				(uint16_t)(addr[4] << 8 | addr[5]);
		}
	}
}

static void open_switch(struct lane *lane, uint32_t node)
{
	struct weft_sim *sim = lane->sim;
	const struct weft_topo *topo = sim->config.topo;
	uint64_t i = node - sim->shape.hosts, t0s = (uint64_t)sim->shape.planes * sim->shape.t0s;
	uint8_t *block = sim->switch_blocks + WEFT_MIN(i, t0s) * sim->switch_bytes[0] +
			 (i > t0s ? i - t0s : 0) * sim->switch_bytes[1];
	struct weft_switch_config config;

	plan_switch(&sim->config, node, &lane->pool, sim->profiles, &config);
	WEFT_ASSERT(weft_switch_init(&sim->switches[i].sw, block, &config));
	for (uint32_t port = 0; port < config.ports; port++) {
		uint32_t index = weft_topo_port_link(topo, node, port);

		if (index == WEFT_TOPO_NONE)
			continue;
		struct weft_link link = weft_topo_link(topo, index);

		if (link.cabled)
			WEFT_ASSERT(weft_switch_port_set(sim->switches[i].sw, port, link.bps,
				link.node[0] < sim->shape.hosts ? 1 : 0));
	}
	fill_table(sim, node);
}

/* ---- hosts ---- */

static void open_host(struct lane *lane, uint32_t index)
{
	struct weft_sim *sim = lane->sim;
	struct host *host = &sim->hosts[index];

	host->ports_up = (uint16_t)((UINT64_C(1) << sim->shape.planes) - 1);
	host->wake_ps = host->wheel_window = WEFT_NEVER;
	host->listens = sim->wiring.of_host[index].listens;
	sim->kind->open(lane, index);
}

static void open_own(struct lane *lane)
{
	const struct weft_topo_shape *s = &lane->sim->shape;
	const struct weft_topo *topo = lane->sim->config.topo;

	for (uint32_t plane = 0; plane < s->planes; plane++) {
		for (uint32_t i = lane->t0_first; i < lane->t0_end; i++)
			open_switch(lane, weft_topo_t0(topo, plane, i));
		for (uint32_t i = lane->t1_first; i < lane->t1_end; i++)
			open_switch(lane, weft_topo_t1(topo, plane, i));
	}
	for (uint32_t host = lane->host_first; host < lane->host_end; host++)
		open_host(lane, host);
}

static void connect_own(struct lane *lane)
{
	struct weft_sim *sim = lane->sim;

	for (uint32_t index = lane->host_first; index < lane->host_end; index++) {
		struct host *host = &sim->hosts[index];

		sim->kind->connect(lane, index);
		host->wake_ps = sim->kind->next_ps(host->state);
		host_alarm(lane, index);
	}
}

/* Where each is, own or not; and memory for own ones. */
static void place_hosts(struct weft_sim *sim)
{
	struct share own = plan_rank(&sim->config);
	uint64_t at = 0;

	for (uint32_t host = 0; host < sim->shape.hosts; host++) {
		sim->hosts[host].t0 = (uint16_t)(host / sim->shape.hosts_per_t0);
		sim->hosts[host].downlink = (uint16_t)(host % sim->shape.hosts_per_t0);
		if (host < own.host_first || host >= own.host_end)
			continue;
		sim->block_of[host] = at;
		at += sim->kind->block_bytes(&sim->config, host, &sim->wiring.of_host[host]);
	}
}

static bool take_all(struct weft_sim *sim, const struct plan *plan, uint32_t n_actions)
{
	return take_nodes(sim, plan) && take_flows(sim, n_actions) && take_switches(sim) &&
	       take_lanes(sim, plan) && ranks_open(sim, plan->packets);
}

static void set_times(struct weft_sim *sim, const struct plan *plan)
{
	sim->window_ps = plan->window_ps;
	sim->windows = plan->windows;
	sim->clock_ps[CLOCK_WINDOW] = plan->window_ps;
	sim->clock_ps[CLOCK_STEP] = plan->window_ps * plan->windows;
	sim->rings[CLOCK_WINDOW] = plan->rings[CLOCK_WINDOW];
	sim->rings[CLOCK_STEP] = plan->rings[CLOCK_STEP];
}

static void start_lanes(struct weft_sim *sim)
{
	sim->window = WEFT_SIM_START_PS / sim->window_ps / sim->windows * sim->windows;
	for (uint32_t i = 0; i < sim->n_lanes; i++) {
		struct lane *lane = &sim->lanes[i];

		lane->window = lane->wheel.window = sim->window;
		mail_time(lane, sim->window, true);
		lane->end_ps = lane->step_end_ps = lane->start_ps;
	}
}

/* Everything but endpoints and switches: what this process can do without the others. */
static bool lay_out(struct weft_sim *sim, const struct plan *plan,
	const struct weft_sim_flow flows[], const struct weft_sim_fault faults[], uint32_t n_faults,
	char *error, size_t error_bytes)
{
	const struct weft_sim_config *config = &sim->config;

	sim->n_lanes = plan_lanes(config);
	for (uint32_t i = 0; i < sim->n_flows; i++)
		sim->n_waits += flows[i].n_after;
	set_times(sim, plan);
	sim->first_t1 = sim->shape.hosts + sim->shape.planes * sim->shape.t0s;
	sim->ports_max = plan->ports_max;
	sim->switch_bytes[0] = plan->switch_bytes[0];
	sim->switch_bytes[1] = plan->switch_bytes[1];
	if (!take_all(sim, plan, fault_count(config->topo, faults, n_faults)))
		return plan_fail(error, error_bytes, "out of address space");
	if (sim->n_flows)
		memcpy(sim->flows, flows, sim->n_flows * sizeof(*flows));
	if (config->n_edges)
		memcpy(sim->edges, config->edges, config->n_edges * sizeof(*config->edges));
	sim->config.edges = sim->edges;
	sim->is_lossless = weft_sim_discipline(config) == WEFT_DISCIPLINE_LOSSLESS;
	WEFT_ASSERT(plan_profiles(config, sim->profiles)); /* judged when it was planned */
	lay_cables(sim);
	if (!fault_expand(sim, faults, n_faults, error, error_bytes) ||
		(sim->kind->has_routes && !routes_make(sim, error, error_bytes)))
		return false;
	collect_sids(sim);
	place_hosts(sim);
	flow_sort(sim);
	start_lanes(sim);
	return true;
}

static bool prepare(struct weft_sim **out, const struct weft_sim_config *config,
	const struct weft_sim_flow flows[], uint32_t n, const struct weft_sim_fault faults[],
	uint32_t n_faults, char *error, size_t error_bytes)
{
	uint64_t rates[2] = { UINT64_MAX, 0 };
	struct plan plan;

	for (uint32_t i = 0; i < n_faults; i++) {
		if (faults[i].kind != WEFT_SIM_LINK_RATE || faults[i].value < 1000000)
			continue;
		rates[0] = WEFT_MIN(rates[0], faults[i].value);
		rates[1] = WEFT_MAX(rates[1], faults[i].value);
	}
	if (!plan_make(config, flows, n, rates, &plan, error, error_bytes))
		return false;
	struct weft_sim *sim = memory_reserve(sizeof(*sim));

	if (!sim) {
		wiring_drop(&plan.wiring);
		return plan_fail(error, error_bytes, "out of memory");
	}
	*out = sim;
	sim->config = *config;
	sim->kind = hosts_of(config);
	sim->wiring = plan.wiring;
	sim->shape = *weft_topo_shape(config->topo);
	sim->n_flows = n;
	sim->hops_ideal = ideal_hops(&sim->shape, flows, n);
	return lay_out(sim, &plan, flows, faults, n_faults, error, error_bytes);
}

int weft_sim_open(struct weft_sim **out, const struct weft_sim_config *config,
	const struct weft_sim_flow flows[], uint32_t n, const struct weft_sim_fault faults[],
	uint32_t n_faults, char *error, size_t error_bytes)
{
	struct weft_sim *sim = NULL;
	bool is_good =
		prepare(&sim, config, flows, n, faults, n_faults, error, error_bytes);

	if (!ranks_agree(config->ranks, is_good, error, error_bytes)) {
		weft_sim_close(sim);
		return -1;
	}
	lanes_run(sim, open_own);
	is_good = ranks_meet(sim, error, error_bytes);
	if (!ranks_agree(config->ranks, is_good, error, error_bytes)) {
		weft_sim_close(sim);
		return -1;
	}
	lanes_run(sim, connect_own);
	*out = sim;
	return 0;
}

void weft_sim_close(struct weft_sim *sim)
{
	if (!sim)
		return;
	slab_close(&sim->slab);
	slab_close(&sim->mail);
	wiring_drop(&sim->wiring);
	for (uint32_t i = 0; i < sim->n_areas; i++)
		memory_release(sim->areas[i].at, sim->areas[i].bytes);
	memory_release(sim, sizeof(*sim));
}
