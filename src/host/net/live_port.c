/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_port - by which port an endpoint reaches the fabric: a table by name.
 *
 * Who said so, in this order: the program's --via, $WEFT_VIA, a switch's directory (--switch,
 * $WEFT_SWITCH: shm), and otherwise sockets.  The rest of live knows ports by their contract and
 * by these three functions only.
 *
 * To add a port: its row here, beside what include/weft/net.h asks for.
 */
#include "live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/wire.h>

#define PLAIN_PATHS 4u /* per plane, where the fabric is unknown; as port/udp has source ports */
/* Two machines that must wake up and have other things to do. */
#define SOCKETS_RTT_NS 1000000
/* Two processes and a switch that share a machine: as many wake-ups, but no network stack. */
#define RINGS_RTT_NS 250000

static int open_udp(struct weft_live *live, char *error, size_t error_bytes)
{
	if (weft_udp_open(&live->port, &live->udp, error, error_bytes))
		return -1;
	live->n_src_ports = weft_udp_numbers(live->port, &live->udp_port, live->src_port);
	return 0;
}

static const char *switch_dir(const struct weft_live_config *config)
{
	const char *dir = config->switch_dir ? config->switch_dir : getenv("WEFT_SWITCH");

	return dir && *dir ? dir : NULL;
}

bool live_has_switch(const struct weft_live_config *config)
{
	return switch_dir(config) != NULL;
}

static int open_shm(struct weft_live *live, bool is_far, char *error, size_t error_bytes)
{
	struct weft_shm_port_config config = { .is_far = is_far,
		.host = live->host_name,
		.planes = live->udp.planes,
		.mtu_bytes = live->udp.mtu_bytes,
		.queue_pkts = live->queue_pkts,
		.icrc = live->config.icrc };
	const char *dir = switch_dir(&live->config);
	char path[LIVE_DIR_BYTES + 8];

	if (!live->topo || !dir) {
		snprintf(error, error_bytes, "shm: %s",
			live->topo ? "where is the switch?  Set WEFT_SWITCH, or use --switch DIR"
				   : "needs a fabric file and a host of it");
		return -1;
	}
	if (strlen(dir) >= sizeof(live->line_dir)) {
		snprintf(error, error_bytes, "%s: longer than %u bytes", dir, LIVE_DIR_BYTES - 1);
		return -1;
	}
	snprintf(live->line_dir, sizeof(live->line_dir), "%s", dir);
	snprintf(path, sizeof(path), "%s/ports", dir);
	config.path = path;
	memcpy(config.addr, live->udp.addr, sizeof(config.addr));
	if (weft_shm_port_open(&live->port, &config, error, error_bytes))
		return -1;
	live->udp_port = live->src_port[0] = weft_shm_port_number(live->port);
	live->n_src_ports = 1;
	return 0;
}

static int open_shm_near(struct weft_live *live, char *error, size_t error_bytes)
{
	return open_shm(live, false, error, error_bytes);
}

static int open_shm_far(struct weft_live *live, char *error, size_t error_bytes)
{
	return open_shm(live, true, error, error_bytes);
}

typedef int open_eth_fn(struct weft_port **port, const struct weft_eth_config *config, char *error,
	size_t error_bytes);

/* With a fabric file the packets of port/udp, so that either may be at the other end; between
 * plain addresses not, because there the EV is in the source port and the flow label. */
static int open_eth(
	struct weft_live *live, open_eth_fn *open, uint8_t kind, char *error, size_t error_bytes)
{
	struct weft_eth_config config = { .kind = live->topo ? kind : WEFT_ENCAP_STEV,
		.planes = live->udp.planes,
		.udp_port = live->udp.udp_port,
		.mtu_bytes = live->udp.mtu_bytes,
		.sndbuf_bytes = live->udp.sndbuf_bytes };

	memcpy(config.addr, live->udp.addr, sizeof(config.addr));
	memcpy(config.interface, live->udp.interface, sizeof(config.interface));
	for (uint32_t i = 0; live->topo && i < config.planes; i++)
		weft_topo_host_usid(live->topo, live->host, i, config.usid[i]);
	if (open(&live->port, &config, error, error_bytes))
		return -1;
	live->udp_port = weft_eth_number(live->port);
	live->n_src_ports = live->topo ? 1 : PLAIN_PATHS;
	for (uint32_t i = 0; i < live->n_src_ports; i++)
		live->src_port[i] = live->udp_port;
	return 0;
}

static int open_afpacket(struct weft_live *live, char *error, size_t error_bytes)
{
	return open_eth(live, weft_afpacket_open, WEFT_ENCAP_USID, error, error_bytes);
}

static int open_afpacket_srv6(struct weft_live *live, char *error, size_t error_bytes)
{
	return open_eth(live, weft_afpacket_open, WEFT_ENCAP_SRV6, error, error_bytes);
}

static int open_afxdp(struct weft_live *live, char *error, size_t error_bytes)
{
	return open_eth(live, weft_afxdp_open, WEFT_ENCAP_USID, error, error_bytes);
}

static int open_afxdp_srv6(struct weft_live *live, char *error, size_t error_bytes)
{
	return open_eth(live, weft_afxdp_open, WEFT_ENCAP_SRV6, error, error_bytes);
}

/* Behind an outer header the destination is the peer's own address, not what a carrier leaves. */
static int add_srv6_peer(struct weft_port *port, uint32_t peer, const struct weft_udp_peer *attr)
{
	struct weft_udp_path *paths = calloc(attr->n_paths, sizeof(*paths));
	struct weft_udp_peer one = *attr;

	if (!paths)
		return -1;
	one.paths = paths;
	for (uint32_t i = 0; i < attr->n_paths; i++) {
		uint32_t plane = weft_ev_plane(attr->paths[i].ev);

		WEFT_ASSERT(plane < attr->addrs);
		paths[i] = attr->paths[i];
		memcpy(paths[i].arrive, attr->addr[plane], 16);
	}
	int rc = weft_eth_peer_add(port, peer, &one);

	free(paths);
	return rc;
}

static const struct live_port_kind kinds[] = {
	{ "udp", SOCKETS_RTT_NS, true, false, open_udp, weft_udp_peer_add, weft_udp_peer_drop,
		weft_udp_mtu_probe, weft_udp_mtu_proved },
	{ "afpacket", SOCKETS_RTT_NS, false, false, open_afpacket, weft_eth_peer_add,
		weft_eth_peer_drop, NULL, NULL },
	{ "afpacket-srv6", SOCKETS_RTT_NS, false, false, open_afpacket_srv6, add_srv6_peer,
		weft_eth_peer_drop, NULL, NULL },
	{ "afxdp", SOCKETS_RTT_NS, false, false, open_afxdp, weft_eth_peer_add,
		weft_eth_peer_drop, NULL, NULL },
	{ "afxdp-srv6", SOCKETS_RTT_NS, false, false, open_afxdp_srv6, add_srv6_peer,
		weft_eth_peer_drop, NULL, NULL },
	{ "shm", RINGS_RTT_NS, false, false, open_shm_near, weft_shm_port_peer_add,
		weft_shm_port_peer_drop, NULL, NULL },
	{ "shm-far", RINGS_RTT_NS, false, true, open_shm_far, weft_shm_port_peer_add,
		weft_shm_port_peer_drop, NULL, NULL },
};

static int open_given(struct weft_live *live, char *error, size_t error_bytes)
{
	if (live->port->planes == live->udp.planes)
		return 0;
	snprintf(error, error_bytes, "the port has %u planes, and there are %u addresses",
		live->port->planes, live->udp.planes);
	return -1;
}

const struct live_port_kind *live_port_given(struct weft_live *live)
{
	const struct weft_live_port *given = live->config.port;

	WEFT_ASSERT(given->n_src_ports && given->n_src_ports <= WEFT_UDP_SRC_PORTS_MAX);
	live->given = (struct live_port_kind){ .name = given->port->ops->name,
		.open = open_given,
		.peer_add = given->peer_add,
		.peer_drop = given->peer_drop };
	live->port = given->port;
	live->udp_port = given->udp_port;
	live->n_src_ports = given->n_src_ports;
	for (uint32_t i = 0; i < live->n_src_ports; i++)
		live->src_port[i] = given->udp_port;
	live->config.port = NULL; /* it was lent */
	return &live->given;
}

const struct live_port_kind *live_port_find(
	const struct weft_live_config *config, char *error, size_t error_bytes)
{
	const char *via = config->via;
	char names[128] = "";
	size_t at = 0;

	if (!via)
		via = getenv("WEFT_VIA");
	if (!via || !*via)
		via = switch_dir(config) && !config->planes ? "shm" : "udp";
	for (size_t i = 0; i < WEFT_COUNT(kinds); i++) {
		if (!strcmp(kinds[i].name, via))
			return &kinds[i];
		at += (size_t)snprintf(
			names + at, sizeof(names) - at, "%s%s", i ? ", " : "", kinds[i].name);
	}
	snprintf(error, error_bytes, "no port is called \"%s\"; there are %s", via, names);
	return NULL;
}
