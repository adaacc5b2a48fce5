/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network_open - switches, ports and cables, all from the fabric file.
 *
 * Everything is allocated here and nothing later, so that a live fabric cannot run out of memory
 * while it forwards.  A frame is in one place at a time (on a cable, in a queue, or handed back and
 * not yet taken), so each of these has room for all of them.
 */
#include "network_local.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define FRAMES_MAX (1u << 24)

static int fail(char *error, size_t error_bytes, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(char *error, size_t error_bytes, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(error, error_bytes, format, args);
	va_end(args);
	return -1;
}

static bool open_switch(struct weft_network *network, uint32_t node)
{
	const struct weft_topo *topo = network->config.topo;
	struct weft_node info = weft_topo_node(topo, node);
	struct weft_switch_config config = {
		.ports = info.ports,
		.mtu_bytes = network->shape.mtu_bytes,
		.seed = network->config.seed ^ node * UINT64_C(0x9e3779b97f4a7c15),
		.dscp = WEFT_DSCP_DEFAULT,
		.is_lean = network->config.is_lean,
		.profiles = network->profiles,
		.n_profiles = PROFILES,
		.pool = &network->pool,
		.settle = port_settle,
		.user = switch_node(network, node),
	};
	struct node *n = switch_node(network, node);
	uint8_t addr[16];

	weft_topo_host_usid(topo, 0, info.plane, addr);
	config.block = (uint32_t)addr[0] << 24 | (uint32_t)addr[1] << 16 | (uint32_t)addr[2] << 8 |
		       addr[3];
	table_count(topo, node, &config.sids, &config.prefixes);
	size_t size = weft_switch_size(&config);

	WEFT_ASSERT(size); /* check_config() has seen to it */
	void *block = aligned_alloc(
		WEFT_CACHE_LINE_BYTES, WEFT_ALIGN_UP(size, (size_t)WEFT_CACHE_LINE_BYTES));

	if (!block || !weft_switch_init(&n->sw, block, &config))
		return false;
	table_fill(topo, node, n->sw);
	n->network = network;
	n->ports = info.ports;
	n->plane = info.plane;
	return true;
}

/* Both ways of a link. */
static void open_link(struct weft_network *network, uint32_t index)
{
	struct weft_link link = weft_topo_link(network->config.topo, index);
	uint64_t rate_bps = network->config.rate_bps ? network->config.rate_bps : link.bps;

	for (unsigned way = 0; way < 2; way++) {
		struct line *line = &network->lines[2 * (size_t)index + way];

		*line = (struct line){
			.delay_ps = link.delay_ns * UINT64_C(1000),
			.rate_bps = rate_bps,
			.head = NONE,
			.from = link.node[way],
			.from_port = link.port[way],
			.to = link.node[!way],
			.to_port = link.port[!way],
			.flags = link.cabled ? LINE_UP : 0,
		};
		if (is_host(network, line->from)) {
			network->nics[index] = (struct nic){ .byte_ps_q16 = byte_ps_q16(rate_bps),
				.held_head = NONE };
			continue;
		}
		struct node *n = switch_node(network, line->from);

		n->lines[line->from_port] = 2 * index + way;
		if (link.cabled)
			WEFT_ASSERT(weft_switch_port_set(n->sw, line->from_port, rate_bps,
				is_host(network, line->to) ? PROFILE_HOST : PROFILE_CORE));
	}
}

/* Twice the time in which a full frame crosses a link of the slower kind. */
static uint64_t span_ps(const struct weft_network *network)
{
	const struct weft_topo_shape *s = &network->shape;
	uint64_t rate_bps = network->config.rate_bps ? network->config.rate_bps
			    : s->t1s              ? WEFT_MIN(s->host_bps, s->core_bps)
						  : s->host_bps;
	uint64_t bytes = s->mtu_bytes + WEFT_FRAME_ETHER_BYTES + WEFT_FRAME_GAP_BYTES;

	return 2 * ((bytes * byte_ps_q16(rate_bps) >> 16) +
			   UINT64_C(1000) * WEFT_MAX(s->host_delay_ns, s->core_delay_ns));
}

/* Arrays whose places are used one after the other, or taken from a list of free ones. */
static bool open_memory(struct weft_network *network)
{
	const struct weft_topo_shape *s = &network->shape;
	size_t frames = network->config.frames, lines = 2 * (size_t)s->links, ports = 0;

	for (uint32_t node = s->hosts; node < s->nodes; node++)
		ports += weft_topo_node(network->config.topo, node).ports;
	network->lines = aligned_alloc(WEFT_CACHE_LINE_BYTES, lines * sizeof(*network->lines));
	network->nics = calloc((size_t)s->hosts * s->planes, sizeof(*network->nics));
	network->nodes = calloc(s->nodes - s->hosts, sizeof(*network->nodes));
	network->paths = calloc(s->nodes - s->hosts, sizeof(*network->paths));
	network->port_lines = malloc(ports * sizeof(*network->port_lines));
	/* One more: a frame starts from a switch before its place on the way there is free. */
	network->flights = malloc((frames + 1) * sizeof(*network->flights));
	network->outs = malloc(frames * sizeof(*network->outs));
	network->pool_frames = aligned_alloc(
		WEFT_CACHE_LINE_BYTES, WEFT_ALIGN_UP(frames, 2u) * sizeof(*network->pool_frames));
	/* An arrival and a departure per line; of pauses under way, as many as there are lines. */
	network->pauses = malloc(lines * sizeof(*network->pauses));
	if (!network->lines || !network->nics || !network->nodes || !network->paths ||
		!network->port_lines || !network->flights || !network->outs ||
		!network->pool_frames || !network->pauses ||
		!agenda_open(&network->agenda, 3 * (uint32_t)lines, span_ps(network)))
		return false;
	ports = 0;
	for (uint32_t node = s->hosts; node < s->nodes; node++) {
		switch_node(network, node)->lines = network->port_lines + ports;
		ports += weft_topo_node(network->config.topo, node).ports;
	}
	for (size_t i = 0; i < ports; i++)
		network->port_lines[i] = NONE;
	for (uint32_t i = 0; i <= frames; i++)
		network->flights[i].next = i < frames ? i + 1 : NONE;
	for (uint32_t i = 0; i < lines; i++)
		network->pauses[i].next = i + 1 < lines ? i + 1 : NONE;
	weft_frame_pool_init(&network->pool, network->pool_frames, (uint32_t)frames);
	return true;
}

static int check_config(const struct weft_network_config *config, char *error, size_t error_bytes)
{
	const struct weft_topo_shape *s = weft_topo_shape(config->topo);
	uint32_t ports = WEFT_MAX(s->hosts_per_t0 + s->uplinks, s->t0s * s->parallel);

	if (ports > WEFT_SWITCH_PORTS_MAX)
		return fail(error, error_bytes, "%s: a switch of %u ports, at most %u", s->name,
			ports, WEFT_SWITCH_PORTS_MAX);
	if (s->mtu_bytes > UINT16_MAX - WEFT_FRAME_ETHER_BYTES)
		return fail(error, error_bytes, "%s: mtu %u, our switches take at most %u", s->name,
			s->mtu_bytes, UINT16_MAX - WEFT_FRAME_ETHER_BYTES);
	if (!config->frames || config->frames > FRAMES_MAX)
		return fail(error, error_bytes, "%s: room for %u frames, allowed: 1 to %u", s->name,
			config->frames, FRAMES_MAX);
	if (config->rate_bps && config->rate_bps < 1000000)
		return fail(error, error_bytes, "%s: links of less than 1 Mb/s", s->name);
	if (config->memory && config->slot_offset + 40 > config->slot_bytes)
		return fail(error, error_bytes, "%s: no room for a packet in a slot", s->name);
	return 0;
}

int weft_network_open(struct weft_network **out, const struct weft_network_config *config,
	char *error, size_t error_bytes)
{
	if (check_config(config, error, error_bytes))
		return -1;
	struct weft_network *network = calloc(1, sizeof(*network));

	if (!network)
		return fail(error, error_bytes, "out of memory");
	network->config = *config;
	network->shape = *weft_topo_shape(config->topo);
	weft_rng_seed(&network->rng, config->seed);
	if (!profiles_fill(network)) {
		weft_network_close(network);
		return fail(error, error_bytes, "%s: thresholds beyond what a switch counts",
			weft_topo_shape(config->topo)->name);
	}
	bool ok = open_memory(network);

	for (uint32_t node = network->shape.hosts; ok && node < network->shape.nodes; node++)
		ok = open_switch(network, node);
	if (!ok) {
		weft_network_close(network);
		return fail(error, error_bytes, "%s: out of memory for %u switches",
			weft_topo_shape(config->topo)->name,
			weft_topo_shape(config->topo)->nodes -
				weft_topo_shape(config->topo)->hosts);
	}
	for (uint32_t link = 0; link < network->shape.links; link++)
		open_link(network, link);
	*out = network;
	return 0;
}

void weft_network_close(struct weft_network *network)
{
	if (!network)
		return;
	for (uint32_t i = 0; network->nodes && i < network->shape.nodes - network->shape.hosts; i++)
		free(network->nodes[i].sw);
	agenda_close(&network->agenda);
	free(network->lines);
	free(network->nics);
	free(network->nodes);
	free(network->port_lines);
	free(network->flights);
	free(network->outs);
	free(network->pauses);
	free(network->paths);
	free(network->pool_frames);
	free(network);
}
