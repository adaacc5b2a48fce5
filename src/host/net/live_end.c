/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_end - an endpoint as others must know it, and others as they tell.
 *
 * Sessions do this by lines of JSON, devices by datagrams of their own; what is believed of either
 * is checked by the same functions.
 */
#include "live.h"

#include <stdio.h>
#include <string.h>

int live_check(const struct weft_live *live, const struct offer *peer, char *error, size_t bytes)
{
	const char *fabric = live->topo ? live->shape->name : "";

	if (strcmp(peer->fabric, fabric))
		snprintf(error, bytes, "peer is on fabric \"%s\", this host on \"%s\"",
			peer->fabric, fabric);
	else if (peer->format != live->udp.format)
		snprintf(error, bytes,
			"peer sends by %s, this host by %s: both want a fabric file, or neither",
			peer->format == WEFT_UDP_PLAIN ? "plain addresses" : "uSIDs",
			live->udp.format == WEFT_UDP_PLAIN ? "plain addresses" : "uSIDs");
	else if (peer->planes != live->udp.planes)
		snprintf(error, bytes, "peer has %u planes, this host %u: --planes wants as many",
			peer->planes, live->udp.planes);
	else
		return 0;
	return -1;
}

/* 1.5 x rate x round trip (UET Table 3-76), and never less than what keeps all planes busy. */
static uint32_t max_cwnd_bytes(uint64_t rate_bps, uint32_t rtt_ns)
{
	/* In this order 100 Tb/s and a second still fit. */
	uint64_t bytes = rate_bps / 8000 * rtt_ns / 1000000 * 3 / 2;

	return (uint32_t)WEFT_MIN(WEFT_MAX(bytes, (uint64_t)65536), (uint64_t)1 << 30);
}

void weft_live_qp_defaults(
	const struct weft_live *live, uint64_t rate_bps, struct weft_qp_attr *attr)
{
	rate_bps = WEFT_MIN(rate_bps, live->rate_bps);
	attr->cc = live->cc;
	attr->cc_config = (struct weft_cc_config){
		.rate_bps = rate_bps,
		.mtu_bytes = weft_nominal_bytes(live->udp.mtu_bytes),
		.base_rtt_ns = live->rtt_ns,
		.trimming = live->trims,
		/* Left to itself NSCC scales this by the shortest round trip it sees, which on a
		 * host that polls is no measure of the path under load. */
		.max_cwnd_bytes = max_cwnd_bytes(rate_bps, live->rtt_ns),
	};
	attr->timeout_exp = live->timeout_exp;
	attr->linear_count = live->linear_count;
	attr->retry_count = live->retry_count;
}

void weft_live_qp_mtu(struct weft_qp_attr *attr, uint32_t mtu_bytes)
{
	attr->mtu_bytes = mtu_bytes;
	attr->cc_config.mtu_bytes = weft_nominal_bytes(mtu_bytes);
}

void weft_live_end(struct weft_live *live, struct weft_live_end *end)
{
	live_find_planes(live);
	*end = (struct weft_live_end){
		.format = live->udp.format,
		.planes = live->udp.planes,
		.mtu_bytes = live->udp.mtu_bytes,
		.n_src_ports = live->n_src_ports,
		.udp_port = live->udp_port,
		.rate_bps = live->rate_bps,
		.trim_nack = true,
	};
	snprintf(end->host, sizeof(end->host), "%s", live->host_name);
	snprintf(end->fabric, sizeof(end->fabric), "%s", live->topo ? live->shape->name : "");
	memcpy(end->src_port, live->src_port, sizeof(end->src_port));
	memcpy(end->addr, live->udp.addr, sizeof(end->addr));
}

static void offer_of(const struct weft_live_end *end, struct offer *offer)
{
	*offer = (struct offer){
		.format = (enum weft_udp_format)end->format,
		.planes = end->planes,
		.mtu_bytes = end->mtu_bytes,
		.n_src_ports = end->n_src_ports,
		.udp_port = end->udp_port,
		.absent = end->absent,
		.home = end->home,
		.may_be_self = true,
	};
	WEFT_ASSERT(end->n_src_ports <= WEFT_UDP_SRC_PORTS_MAX && end->planes <= WEFT_PORTS_MAX &&
		    end->home < end->planes);
	memcpy(offer->host, end->host, sizeof(offer->host));
	memcpy(offer->fabric, end->fabric, sizeof(offer->fabric));
	memcpy(offer->src_port, end->src_port, sizeof(offer->src_port));
	memcpy(offer->addr, end->addr, sizeof(offer->addr));
}

int weft_live_peer_open(struct weft_live *live, const struct weft_live_end *end, uint32_t *peer,
	uint32_t *pathset, char *error, size_t error_bytes)
{
	struct offer offer;

	offer_of(end, &offer);
	if (live_check(live, &offer, error, error_bytes) ||
		live_peer_take(live, &offer, peer, error, error_bytes))
		return -1;
	*pathset = live->peers[*peer].pathset;
	return 0;
}

void weft_live_peer_close(struct weft_live *live, uint32_t peer)
{
	live_peer_give(live, peer);
}

bool weft_live_peer_planes(struct weft_live *live, const struct weft_live_end *end)
{
	struct offer offer;

	offer_of(end, &offer);
	return live_peer_again(live, &offer);
}

bool weft_live_peer_is_open(const struct weft_live *live, const struct weft_live_end *end)
{
	struct offer offer;

	offer_of(end, &offer);
	return live_peer_find(live, &offer) < LIVE_PEERS_MAX;
}

uint64_t weft_live_line_bps(const struct weft_live *live)
{
	return live->line_bps;
}

const struct weft_topo *weft_live_topo(const struct weft_live *live)
{
	return live->topo;
}
