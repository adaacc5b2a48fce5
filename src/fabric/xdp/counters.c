/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters - every CPU's, added up.
 *
 * The program counts what leaves per queue only; what leaves per port is their sum.
 */
#include "xdp_local.h"

#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>

/* Adds up n words per CPU of an entry; zero if the kernel will not say. */
static void add_up(const struct weft_xdp *xdp, int map_fd, uint32_t key, uint64_t *sums, size_t n)
{
	uint64_t *words = calloc(xdp->cpus, n * sizeof(*words));

	memset(sums, 0, n * sizeof(*sums));
	if (words && !bpf_map_lookup_elem(map_fd, &key, words)) {
		for (size_t i = 0; i < xdp->cpus * n; i++)
			sums[i % n] += words[i];
	}
	free(words);
}

/* Bytes on the line, which is what the program can tell. */
static uint64_t depth_bytes(const struct xdp_port *port, uint64_t depth_q16)
{
	return port->byte_ns_q16 ? depth_q16 / port->byte_ns_q16 : 0;
}

void weft_xdp_port_counters(
	const struct weft_xdp *xdp, uint32_t index, struct weft_port_counters *c)
{
	const struct xdp_port *port = &xdp->state->ports[index];

	WEFT_ASSERT(index < xdp->config.ports);
	_Static_assert(sizeof(*c) % sizeof(uint64_t) == 0, "an array of words");
	add_up(xdp, xdp->counters_fd, index, (uint64_t *)c, sizeof(*c) / sizeof(uint64_t));
	for (unsigned queue = 0; queue < WEFT_QUEUES; queue++) {
		c->out_pkts += c->queue[queue].pkts;
		c->out_octets += c->queue[queue].octets;
		c->queue[queue].watermark = depth_bytes(port, port->watermark_q16[queue]);
	}
}

uint64_t weft_xdp_drops(const struct weft_xdp *xdp, enum weft_switch_drop drop)
{
	uint64_t sum;

	WEFT_ASSERT((unsigned)drop < WEFT_SWITCH_DROP_COUNT);
	add_up(xdp, xdp->drops_fd, drop, &sum, 1);
	return sum;
}

uint64_t weft_xdp_sid_pkts(const struct weft_xdp *xdp, uint16_t sid)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < xdp->n_sids; i++) {
		if (xdp->sids[i] == sid)
			add_up(xdp, xdp->sid_pkts_fd, i, &sum, 1);
	}
	return sum;
}

uint32_t weft_xdp_depth_bytes(const struct weft_xdp *xdp, uint32_t index, enum weft_queue queue)
{
	const struct xdp_port *port = &xdp->state->ports[index];

	WEFT_ASSERT(index < xdp->config.ports && queue < WEFT_QUEUES);
	return (uint32_t)depth_bytes(port, port->depth_q16[queue]);
}
