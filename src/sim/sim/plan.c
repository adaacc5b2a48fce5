/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plan - how long a window may be, how much of everything there can be, and who owns what.
 *
 * A window is as long as the fastest way of a frame from one node to the next: the shortest cable
 * and the time that the shortest frame takes on it.  It is the same for all cables, so fabrics with
 * one short cable pay for it with more windows, not with wrong results.
 *
 * An endpoint gets what bandwidth and delay of its host demand and no more: at full scale a
 * kilobyte of each is 128 MB.
 */
#include "ranks.h"

#include <weft/network.h>

#include <stdarg.h>
#include <stdio.h>

#define FULL_OVERHEAD 156u /* IP, UDP and MRC headers of a data packet, immediate included */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

bool plan_fail(char *error, size_t error_bytes, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(error, error_bytes, format, args);
	va_end(args);
	return false;
}

uint64_t line_ps(uint64_t bps, uint32_t frame_bytes)
{
	return (frame_bytes + WEFT_FRAME_GAP_BYTES) * ((UINT64_C(8000000000000) << 16) / bps) >> 16;
}

/* DCQCN's marks: 5 KB to 200 KB and up to 1 % at 40 Gb/s, as a line that goes on to 100 %. */
static uint32_t red_min(const struct weft_topo_shape *shape)
{
	uint64_t bytes = shape->core_bps / 8000000; /* 5 KB at 40 Gb/s */

	return (uint32_t)WEFT_MIN(bytes, UINT64_C(1000000));
}

static uint32_t red_max(const struct weft_topo_shape *shape)
{
	uint64_t bytes = red_min(shape) * UINT64_C(3901); /* 1 + 100 x 195 KB / 5 KB */

	return (uint32_t)WEFT_MIN(bytes, (uint64_t)UINT32_MAX / 2);
}

uint32_t plan_payload(const struct weft_topo_shape *shape)
{
	uint32_t payload = 4096;

	while (payload > 256 && payload + FULL_OVERHEAD > shape->mtu_bytes)
		payload /= 2;
	return payload;
}

static uint32_t reply_paths_of(const struct weft_sim_config *config)
{
	const struct weft_topo_shape *s = weft_topo_shape(config->topo);

	return WEFT_MIN(config->reply_paths, s->planes * WEFT_MAX(s->uplinks, 1u));
}

void plan_endpoint(const struct weft_sim_config *config, uint32_t host, uint32_t sends,
	uint32_t receives, struct weft_config *out)
{
	const struct weft_topo_shape *s = weft_topo_shape(config->topo);
	uint32_t payload = plan_payload(s), ends = WEFT_MAX(sends + receives, 1u);
	uint32_t exist = s->planes * WEFT_MAX(s->uplinks, 1u);
	uint32_t paths = WEFT_MIN(config->paths, exist);
	uint32_t reply_paths = reply_paths_of(config);
	/* Congestion control's largest window: 1.5 times bandwidth and delay. */
	uint64_t bdp =
		(uint64_t)((unsigned __int128)(s->host_bps / 8) * s->base_rtt_ns / 1000000000u) *
		s->planes;
	/* What is too much for 32 bits is too much for an engine: plan_endpoints() says so. */
	uint32_t window_pkts =
		(uint32_t)WEFT_MIN(bdp * 3 / 2 / payload + 16, (uint64_t)UINT32_MAX / 4);
	uint32_t psns = WEFT_ALIGN_UP(2 * window_pkts, (uint32_t)WEFT_MPR_UNIT_PSNS);

	weft_config_default(out);
	out->qps = (uint32_t)weft_pow2_up(ends);
	out->pathsets = ends;
	out->cqs = out->regions = 1;
	out->paths_per_set = paths;
	out->paths = WEFT_MAX(sends * paths + receives * reply_paths, 1u);
	out->ports = s->planes;
	out->sq_depth = out->rq_depth = out->wimm_max = out->events = 1;
	out->cq_depth = out->qps;
	out->window_psns = WEFT_MIN(psns, (uint32_t)WEFT_MPR_MAX_PSNS);
	out->inflight_pkts = window_pkts;
	/* Of each sender a few at a time: a NACK for which there is no room costs it a timer. */
	out->answers = (uint32_t)weft_pow2_up(WEFT_MIN(WEFT_MAX(32u, 8 * receives), 4096u));
	/* Once per round trip, as the specification has it: a way back that dies takes all
	 * acknowledgements with it until it is found out.  The engine's default is for live hosts.
	 */
	out->reverse_probe_ns = s->base_rtt_ns;
	out->mtu_bytes = payload;
	out->base_rtt_ns = s->base_rtt_ns;
	out->seed = config->seed * GOLDEN + 100 + host;
}

/* Paths that a pair shares, both ways; queues as deep as connections; the way back asked less often
 * where there are many, since each set asks for itself.
 */
void plan_host(const struct weft_sim_config *config, uint32_t host, const struct host_ends *ends,
	struct weft_config *out)
{
	uint32_t depth = WEFT_MAX(ends->depth, 1u), only = ends->sets - ends->send_sets;

	plan_endpoint(config, host, ends->sends, ends->receives, out);
	if (!ends->sets)
		return;
	out->pathsets = ends->sets;
	out->paths -= (ends->sends - ends->send_sets) * out->paths_per_set;
	out->paths -= (ends->receives - only) * reply_paths_of(config);
	out->sq_depth = depth;
	out->cq_depth = (uint32_t)weft_pow2_up((uint64_t)out->qps * depth);
	if (ends->told)
		out->rq_depth = out->wimm_max = depth;
	out->reverse_probe_ns *= 1 + only / 16;
}

/* Where the file is silent about marks, DCQCN has those of its paper. */
bool plan_profiles(const struct weft_sim_config *config, struct weft_port_profile profiles[2])
{
	const struct weft_topo_shape *s = weft_topo_shape(config->topo);
	bool has_red = config->baseline.dcqcn && !weft_topo_depth_is_said(&s->depths.ecn_max);
	struct weft_network_manner manner = { .discipline = weft_sim_discipline(config),
		.marks = weft_sim_marks(config) };
	bool is_good = true;

	for (unsigned i = 0; i < 2; i++) {
		is_good &= weft_network_profile(config->topo, &manner, i == 1, &profiles[i]);
		if (has_red && profiles[i].ecn_max_bytes) {
			profiles[i].ecn_min_bytes = red_min(s);
			profiles[i].ecn_max_bytes = red_max(s);
		}
	}
	return is_good;
}

void plan_switch(const struct weft_sim_config *config, uint32_t node, struct weft_frame_pool *pool,
	const struct weft_port_profile profiles[2], struct weft_switch_config *out)
{
	const struct weft_topo_shape *s = weft_topo_shape(config->topo);
	uint32_t ports = weft_topo_node(config->topo, node).ports;

	*out = (struct weft_switch_config){ .ports = ports,
		.sids = ports + s->parallel,
		.mtu_bytes = s->mtu_bytes,
		.seed = config->seed * GOLDEN + node,
		.dscp = WEFT_DSCP_DEFAULT,
		.is_lean = true,
		.profiles = profiles,
		.n_profiles = 2,
		.pool = pool };
}

/* ---- time ---- */

struct spread {
	uint64_t shortest_ps, longest_ps; /* of a frame, from one node to the next */
	uint64_t core_ps;                 /* the shortest between a T0 and a T1 */
	uint64_t bps_max;
	uint32_t kinds;
};

static struct spread look_at_links(const struct weft_topo *topo, const uint64_t rates[2])
{
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	uint32_t full = s->mtu_bytes + WEFT_FRAME_ETHER_BYTES;
	struct spread spread = {
		.shortest_ps = UINT64_MAX, .core_ps = UINT64_MAX, .bps_max = rates[1]
	};
	struct weft_link last = { 0 };

	for (uint32_t i = 0; i < s->links; i++) {
		struct weft_link l = weft_topo_link(topo, i);

		if (!l.cabled || (l.bps == last.bps && l.delay_ns == last.delay_ns &&
					 (l.node[0] < s->hosts) == (last.node[0] < s->hosts)))
			continue;
		uint64_t fast = WEFT_MAX(l.bps, rates[1]), slow = WEFT_MIN(l.bps, rates[0]);
		uint64_t delay_ps = (uint64_t)l.delay_ns * 1000;

		uint64_t quick_ps = delay_ps + line_ps(fast, ACK_BYTES);

		spread.shortest_ps = WEFT_MIN(spread.shortest_ps, quick_ps);
		if (l.node[0] >= s->hosts)
			spread.core_ps = WEFT_MIN(spread.core_ps, quick_ps);
		spread.longest_ps = WEFT_MAX(spread.longest_ps, delay_ps + line_ps(slow, full));
		spread.bps_max = WEFT_MAX(spread.bps_max, l.bps);
		spread.kinds++;
		last = l;
	}
	return spread;
}

static bool plan_time(const struct weft_sim_config *config, const uint64_t rates[2],
	struct plan *plan, char *error, size_t error_bytes)
{
	const struct weft_topo_shape *s = weft_topo_shape(config->topo);
	struct spread spread = look_at_links(config->topo, rates);

	/* Times inside a window are kept in 32 bits. */
	plan->window_ps = WEFT_MIN(spread.shortest_ps, UINT64_C(1) << 31);
	/* What starts at the very end of a window arrives so many windows later at the latest. */
	uint64_t ahead = 1 + spread.longest_ps / plan->window_ps;

	if (ahead > RING_MAX) {
		return plan_fail(error, error_bytes,
			"%s: links differ too much: a frame takes %u ns over one and %u ns over"
			" another, allowed is a factor of %u",
			s->name, (unsigned)(spread.shortest_ps / 1000),
			(unsigned)(spread.longest_ps / 1000), RING_MAX - 1u);
	}
	uint64_t windows = WEFT_MIN(spread.core_ps / plan->window_ps, (uint64_t)STEP_WINDOWS_MAX);

	/* Without T1s there is nothing to wait for. */
	plan->windows = spread.core_ps == UINT64_MAX ? 1 : (uint32_t)windows;
	while (plan->windows > 1 && (plan->window_ps * plan->windows) >> 31)
		plan->windows--;
	/* A T1 puts down what leaves at the end of a step when that is at its beginning. */
	plan->rings[CLOCK_WINDOW] = (uint32_t)ahead + plan->windows + 1;
	plan->rings[CLOCK_STEP] =
		(uint32_t)(spread.longest_ps / (plan->window_ps * plan->windows)) + 3;
	plan->n_lines = 2 * spread.kinds + 2;
	uint64_t a_port = plan->window_ps * plan->windows / line_ps(spread.bps_max, ACK_BYTES) + 2;
	uint32_t ports = WEFT_MAX(s->hosts_per_t0 + s->uplinks, s->t0s * s->parallel);

	plan->ports_max = WEFT_MAX(ports, s->planes);
	if (a_port * plan->ports_max >> MAIL_NUMBER_BITS)
		return plan_fail(error, error_bytes,
			"%s: %u frames could reach a switch within the delay of its shortest link,"
			" allowed are %u",
			s->name, (unsigned)(a_port * plan->ports_max), 1u << MAIL_NUMBER_BITS);
	plan->mail_frames = (uint32_t)(a_port * plan->ports_max);
	if (weft_sim_discipline(config) == WEFT_DISCIPLINE_LOSSLESS)
		plan->mail_frames *= 2; /* a pause for each frame */
	return true;
}

/* ---- memory ---- */

static bool judge_baseline(const struct weft_sim_config *c, char *error, size_t error_bytes)
{
	const struct weft_baseline_settings *r = &c->baseline;
	struct weft_baseline_config config;
	struct host_ends ends = { .sends = 1, .receives = 1 };

	if (r->qps > WEFT_BASELINE_QPS_MAX)
		return plan_fail(error, error_bytes, "qps: %u, allowed is 1 to %u",
			(unsigned)r->qps, WEFT_BASELINE_QPS_MAX);
	baseline_config(c, 0, &ends, &config);
	if (weft_baseline_size(&config))
		return true;
	if (r->dcqcn)
		return plan_fail(error, error_bytes, "transport: %s has no DCQCN",
			weft_baseline_name(r->kind));
	return plan_fail(error, error_bytes, "window: %u packets are too many for %s",
		(unsigned)r->window_pkts, weft_baseline_name(r->kind));
}

static bool judge(const struct weft_sim_config *c, char *error, size_t error_bytes)
{
	const struct weft_topo_shape *s = weft_topo_shape(c->topo);
	struct weft_port_profile profiles[2];

	if (c->threads < 1 || c->threads > WEFT_SIM_THREADS_MAX)
		return plan_fail(error, error_bytes, "threads: %u, allowed is 1 to %u",
			(unsigned)c->threads, WEFT_SIM_THREADS_MAX);
	if (c->ranks && (c->ranks->n > s->t0s || c->ranks->rank >= c->ranks->n))
		return plan_fail(error, error_bytes,
			"ranks: %u, allowed is 1 to %u: each needs a T0 of every plane",
			(unsigned)c->ranks->n, (unsigned)s->t0s);
	if (c->paths < s->planes || c->paths > 512)
		return plan_fail(error, error_bytes, "paths: %u, allowed is %u (planes) to 512",
			(unsigned)c->paths, (unsigned)s->planes);
	if (c->reply_paths < s->planes || c->reply_paths > c->paths)
		return plan_fail(error, error_bytes,
			"reply paths: %u, allowed is %u (planes) to %u (paths)",
			(unsigned)c->reply_paths, (unsigned)s->planes, (unsigned)c->paths);
	if (weft_sim_discipline(c) == WEFT_DISCIPLINE_LOSSLESS && !c->baseline.kind)
		return plan_fail(error, error_bytes,
			"%s: switches that pause are for baselines: MRC's hosts do not honour "
			"pauses",
			s->name);
	if (!plan_profiles(c, profiles))
		return plan_fail(
			error, error_bytes, "%s: thresholds that no switch can have", s->name);
	return !c->baseline.kind || judge_baseline(c, error, error_bytes);
}

/* Always false. */
static bool too_large(const struct weft_sim_config *config, uint32_t host,
	const struct weft_config *c, char *error, size_t error_bytes)
{
	const struct weft_topo_shape *s = weft_topo_shape(config->topo);

	return plan_fail(error, error_bytes,
		"%s: host %u: no NIC can be so large: %u packets in flight (bandwidth x base_rtt "
		"of %u"
		" ns, allowed are 2097152), %u connections (65536), %u paths (16777216)",
		s->name, (unsigned)host, (unsigned)c->inflight_pkts, (unsigned)s->base_rtt_ns,
		(unsigned)c->qps, (unsigned)c->paths);
}

/* What this rank's endpoints take; and what may be in flight: of all, and of this rank. */
static bool plan_endpoints(const struct weft_sim_config *config, struct plan *plan,
	uint64_t in_flight[2], char *error, size_t error_bytes)
{
	uint32_t hosts = weft_topo_shape(config->topo)->hosts;
	struct share own = plan_rank(config);

	for (uint32_t host = 0; host < hosts; host++) {
		struct weft_config endpoint;

		plan_host(config, host, &plan->wiring.of_host[host], &endpoint);
		in_flight[0] += endpoint.inflight_pkts;
		if (host < own.host_first || host >= own.host_end)
			continue;
		in_flight[1] += endpoint.inflight_pkts;
		size_t bytes = hosts_of(config)->block_bytes(
			config, host, &plan->wiring.of_host[host]);

		if (!bytes)
			return too_large(config, host, &endpoint, error, error_bytes);
		plan->memory.endpoints += bytes;
	}
	return true;
}

/* Of one way of one link: what waits for it, and what is on it. */
static uint64_t port_bytes(const struct weft_sim_config *config)
{
	const struct weft_topo_shape *s = weft_topo_shape(config->topo);
	bool is_lossless = weft_sim_discipline(config) == WEFT_DISCIPLINE_LOSSLESS;
	uint64_t host = s->host_bps / 8 * s->host_delay_ns;
	uint64_t core = s->core_bps / 8 * s->core_delay_ns;
	uint64_t waiting = 120000;
	struct weft_port_profile profiles[2];

	(void)plan_profiles(config, profiles);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t control = profiles[i].drop_bytes[WEFT_QUEUE_CONTROL];
		uint64_t data = is_lossless ? control : profiles[i].drop_bytes[WEFT_QUEUE_DATA];

		waiting = WEFT_MAX(waiting, control + data);
	}
	return waiting + 2 * WEFT_MAX(host, core) / 1000000000u;
}

static uint64_t switch_bytes(const struct weft_sim_config *config, uint32_t node)
{
	struct weft_port_profile profiles[2];
	struct weft_frame_pool pool;
	struct weft_switch_config c;

	(void)plan_profiles(config, profiles);
	plan_switch(config, node, &pool, profiles, &c);
	return weft_switch_size(&c);
}

static void plan_memory(const struct weft_sim_config *config, uint32_t n,
	const uint64_t in_flight[2], struct plan *plan)
{
	const struct weft_topo_shape *s = weft_topo_shape(config->topo);
	uint64_t t0s = (uint64_t)s->planes * s->t0s, t1s = (uint64_t)s->planes * s->t1s;
	uint64_t ports = t0s * (s->hosts_per_t0 + s->uplinks) + t1s * s->t0s * s->parallel;
	struct weft_sim_memory *m = &plan->memory;
	/* Beyond what may be in flight come repeats, answers and probes. */
	uint64_t packets = 4 * in_flight[0] + (uint64_t)s->hosts * 256 + SLAB_BATCH * 64;

	/* No window bounds what RoCE has under way: queues and cables do. */
	if (config->baseline.kind)
		packets += (2 * ports + (uint64_t)s->hosts * s->planes) * port_bytes(config) /
			   ACK_BYTES;
	plan->packets = (uint32_t)WEFT_MIN(packets, UINT64_C(0xfffff000));
	/* Of each box one may not be full; a pause is a frame without a packet. */
	uint64_t frames = (uint64_t)plan->packets *
			  (weft_sim_discipline(config) == WEFT_DISCIPLINE_LOSSLESS ? 2 : 1);
	uint64_t boxes = (uint64_t)s->nodes * plan_lanes(config) *
			 (plan->rings[CLOCK_WINDOW] + plan->rings[CLOCK_STEP]);

	plan->mail_chunks = (uint32_t)WEFT_MIN(
		frames / CHUNK_FRAMES + boxes + 2 * SLAB_BATCH * (uint64_t)plan_lanes(config) +
			SLAB_BATCH,
		UINT64_C(0x1ffff000));
	plan->switch_bytes[0] = switch_bytes(config, s->hosts);
	plan->switch_bytes[1] = t1s ? switch_bytes(config, s->hosts + (uint32_t)t0s) : 0;
	struct share own = plan_rank(config);

	m->rank = ranks_own(config->ranks);
	m->switches = (uint64_t)s->planes * (own.t0_end - own.t0_first) * plan->switch_bytes[0] +
		      (uint64_t)s->planes * (own.t1_end - own.t1_first) * plan->switch_bytes[1] +
		      ports * (sizeof(struct cable) + sizeof(uint64_t) + 1) +
		      (t0s + t1s) * sizeof(struct switch_node);
	m->tables =
		(uint64_t)s->hosts * (sizeof(struct host) + s->planes * 10 + 12) +
		(uint64_t)n * (sizeof(struct weft_sim_flow) + sizeof(struct flow_state) + 16) +
		(uint64_t)config->n_edges * (sizeof(struct weft_sim_edge) + sizeof(struct waits)) +
		(uint64_t)plan->wiring.n_conns *
			(sizeof(struct conn) + 2 * (sizeof(struct flow_end) + 4)) +
		(uint64_t)plan_lanes(config) * plan->rings[CLOCK_WINDOW] * s->nodes *
			(sizeof(struct box) + 1);
	/* What usually exists at a time: bandwidth x delay, where congestion control allows half as
	 * much again; a chunk in two is half empty.
	 */
	uint64_t usual = in_flight[1] * 2 / 3;

	m->packets = usual * (sizeof(struct weft_pkt) + sizeof(struct weft_frame) / 4);
	m->mail = usual * sizeof(struct chunk) / CHUNK_FRAMES +
		  2 * (uint64_t)s->nodes / ranks_n(config->ranks) * sizeof(struct chunk) / 2;
	m->total = m->endpoints + m->switches + m->packets + m->mail + m->tables;
}

bool plan_make(const struct weft_sim_config *config, const struct weft_sim_flow flows[], uint32_t n,
	const uint64_t rates[2], struct plan *plan, char *error, size_t error_bytes)
{
	uint64_t in_flight[2] = { 0 };

	*plan = (struct plan){ 0 };
	if (!judge(config, error, error_bytes) ||
		!judge_flows(config, flows, n, error, error_bytes) ||
		!plan_time(config, rates, plan, error, error_bytes))
		return false;
	if (!wiring_make(
		    &plan->wiring, flows, n, config->edges, weft_topo_shape(config->topo)->hosts))
		return plan_fail(error, error_bytes, "out of memory");
	if (!plan_endpoints(config, plan, in_flight, error, error_bytes)) {
		wiring_drop(&plan->wiring);
		return false;
	}
	plan_memory(config, n, in_flight, plan);
	return true;
}

/* Hosts go with the T0s above them, in all planes; T1s are dealt out evenly. */
struct share plan_share(const struct weft_topo_shape *s, uint32_t index, uint32_t n)
{
	uint64_t i = index;
	struct share share = { .t0_first = (uint32_t)(i * s->t0s / n),
		.t0_end = (uint32_t)((i + 1) * s->t0s / n),
		.t1_first = (uint32_t)(i * s->t1s / n),
		.t1_end = (uint32_t)((i + 1) * s->t1s / n) };

	share.host_first = WEFT_MIN(share.t0_first * s->hosts_per_t0, s->hosts);
	share.host_end = WEFT_MIN(share.t0_end * s->hosts_per_t0, s->hosts);
	if (index + 1 == n)
		share.host_end = s->hosts;
	return share;
}

struct share plan_rank(const struct weft_sim_config *config)
{
	return plan_share(
		weft_topo_shape(config->topo), ranks_own(config->ranks), ranks_n(config->ranks));
}

uint32_t plan_lanes(const struct weft_sim_config *config)
{
	return WEFT_MIN(
		config->threads, weft_topo_shape(config->topo)->t0s / ranks_n(config->ranks));
}

void weft_sim_config_default(struct weft_sim_config *config)
{
	*config = (struct weft_sim_config){ .threads = 1,
		.seed = 1,
		.paths = 128,
		.reply_paths = 16,
		.cc = &weft_cc_nscc,
		.bgp_detect_ps = UINT64_C(1000000000000),
		.bgp_converge_ps = UINT64_C(1000000000000) };
}

enum weft_discipline weft_sim_discipline(const struct weft_sim_config *config)
{
	enum weft_discipline filed = weft_network_manner(config->topo).discipline;

	if (config->discipline != WEFT_DISCIPLINE_UNSAID)
		return config->discipline;
	return filed == WEFT_DISCIPLINE_TRIM && weft_baseline_is_roce(config->baseline.kind)
		       ? WEFT_DISCIPLINE_DROP_TAIL
		       : filed;
}

enum weft_topo_marks weft_sim_marks(const struct weft_sim_config *config)
{
	return config->marks != WEFT_MARKS_UNSAID ? config->marks
						  : weft_network_manner(config->topo).marks;
}

static double left_bytes(const struct weft_sim_memory *m)
{
	return (double)m->available - (double)m->total;
}

int weft_sim_estimate(const struct weft_sim_config *config, const struct weft_sim_flow flows[],
	uint32_t n, struct weft_sim_memory *memory, char *error, size_t error_bytes)
{
	struct weft_sim_letter in[WEFT_SIM_RANKS_MAX];
	struct plan plan;
	bool is_good = plan_make(
		config, flows, n, (uint64_t[]){ UINT64_MAX, 0 }, &plan, error, error_bytes);

	wiring_drop(&plan.wiring);
	if (!ranks_agree(config->ranks, is_good, error, error_bytes))
		return -1;
	*memory = plan.memory;
	memory->available = memory_available();
	if (config->ranks && memory->available != UINT64_MAX)
		memory->available /= WEFT_MAX(config->ranks->here, 1u);
	struct weft_sim_memory own = *memory;

	ranks_tell(config->ranks, &own, sizeof(own), in);
	for (uint32_t i = 0; i < ranks_n(config->ranks); i++) {
		const struct weft_sim_memory *m = in[i].at;

		if (in[i].bytes == sizeof(own) && (!i || left_bytes(m) < left_bytes(memory)))
			*memory = *m;
	}
	return 0;
}
