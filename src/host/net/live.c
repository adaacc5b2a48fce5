/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live - one endpoint of this host, put together: fabric file, port, engine, pump.
 *
 * Everything that depends on the fabric comes from the fabric file, so that two hosts which read
 * the same file agree without talking: planes, addresses, paths, payload per packet, rates, the
 * idle round trip.  Hosts without one list their own addresses, and each source port is a path.
 *
 * Timeouts follow from the round trip [P 8.24] and the retry budget from how long a
 * peer may be silent; both count from the same base, so a slower fabric is a more patient one.
 */
#include "live.h"

#include <weft/yaml.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PLAIN_MTU_BYTES 1024 /* fits 1500 bytes of Ethernet, whatever is around a packet */
#define SACK_BYTES_MIN 16384u
#define SACK_BYTES_MAX 131072u /* one answer per 32 packets */
#define SACKS_PER_RTT 16
#define PLAIN_RTT_NS 200000
#define PLAIN_RATE_BPS UINT64_C(10000000000)
#define TIMEOUT_MS_DEFAULT 4000u
#define TIMEOUT_NS_MIN UINT64_C(8000000) /* a machine may well not run the peer for this long */
#define SNDBUF_NS 2000000                /* how long a packet may wait in its plane's socket */
#define SNDBUF_PKTS_MIN 8u
#define MACHINE_BPS UINT64_C(20000000000) /* what links without a limit carry together */
#define SKB_BYTES 4608u /* half of what the kernel charges for a 4 KiB packet: it doubles */

uint32_t weft_live_random(struct weft_live *live)
{
	(void)live;
	return (uint32_t)weft_random();
}

void weft_live_defaults(struct weft_live_config *config)
{
	*config = (struct weft_live_config){ .icrc = WEFT_ICRC_MADE };
	weft_config_default(&config->engine);
	config->engine.seed = weft_random();
}

static uint32_t payload_for(uint32_t ip_bytes)
{
	uint32_t mtu = WEFT_MTU_MAX / 2;

	while (mtu > 256 && mtu + LINK_OVERHEAD_BYTES > ip_bytes)
		mtu /= 2;
	return mtu;
}

/* As weft_lab_enter() leaves it, or as people write it.  *bps UINT64_MAX: links have no limit. */
static bool read_rate(const char *text, uint64_t *bps)
{
	bool is_plain = *text && !text[strspn(text, "0123456789")];

	errno = 0;
	if (is_plain)
		*bps = strtoull(text, NULL, 10);
	if (is_plain && !errno && *bps == UINT64_MAX)
		return true;
	return (is_plain ? !errno : weft_unit_parse(WEFT_UNIT_SPEED, text, bps)) &&
	       *bps >= WEFT_TOPO_BPS_MIN && *bps <= WEFT_TOPO_BPS_MAX;
}

/* Rates and what follows from them.  A lab may have been built slower than its file says; then a
 * packet takes longer on each of the four links of a path. */
static int take_rate(struct weft_live *live, char *error, size_t bytes)
{
	const char *text = getenv("WEFT_RATE");
	uint64_t file_bps = live->shape->host_bps, bps = file_bps;
	uint64_t pkt_bits = (uint64_t)live->shape->mtu_bytes * 8;

	if (text && *text && !read_rate(text, &bps)) {
		snprintf(error, bytes,
			"WEFT_RATE=%s: wants what each link carries, 1Mb/s to 10Tb/s, like 10Gb/s "
			"or 10000000000",
			text);
		return -1;
	}
	bool is_free = bps == UINT64_MAX;

	if (is_free)
		bps = MACHINE_BPS / live->shape->planes;
	live->rtt_ns = live->shape->base_rtt_ns;
	if (bps < file_bps)
		live->rtt_ns += (uint32_t)(4 * (pkt_bits * 1000000000 / bps -
						       pkt_bits * 1000000000 / file_bps));
	live->rate_bps = bps * live->shape->planes;
	live->line_bps = (is_free ? WEFT_TOPO_FREE_BPS : bps) * live->shape->planes;
	uint64_t pkts = bps / 1000 * SNDBUF_NS / 1000000 / pkt_bits;

	pkts = WEFT_MIN(WEFT_MAX(pkts, SNDBUF_PKTS_MIN), (uint64_t)WEFT_NET_BURST);
	live->queue_pkts = (uint32_t)pkts;
	live->udp.sndbuf_bytes = live->queue_pkts * SKB_BYTES;
	return 0;
}

const char *weft_live_this_host(const struct weft_topo *topo, char name[WEFT_TOPO_NAME_BYTES])
{
	uint32_t hosts = weft_topo_shape(topo)->hosts;

	if (getenv("WEFT_LAB") && !gethostname(name, WEFT_TOPO_NAME_BYTES) &&
		memchr(name, 0, WEFT_TOPO_NAME_BYTES) && weft_topo_node_find(topo, name) < hosts)
		return name;
	return getenv("WEFT_HOST");
}

static int read_fabric(
	struct weft_live *live, const char *path, const char *host, char *error, size_t bytes)
{
	char room[WEFT_TOPO_NAME_BYTES];

	if (!host && !getenv("WEFT_HOST")) {
		snprintf(error, bytes,
			"which host of %s is this?  Set WEFT_HOST, or use "
			"`weft lab run HOST -- ...`",
			path);
		return -1;
	}
	if (weft_topo_open(&live->topo, path, error, bytes))
		return -1;
	live->shape = weft_topo_shape(live->topo);
	host = host ? host : weft_live_this_host(live->topo, room);
	live->host = weft_topo_node_find(live->topo, host);
	if (live->host >= live->shape->hosts) {
		snprintf(error, bytes, "%s: \"%s\" is not a host of this fabric", path, host);
		return -1;
	}
	snprintf(live->host_name, sizeof(live->host_name), "%s", host);
	live->udp.format = WEFT_UDP_USID;
	live->udp.planes = live->shape->planes;
	for (uint32_t i = 0; i < live->shape->planes; i++)
		weft_topo_host_addr(live->topo, live->host, i, live->udp.addr[i]);
	live->udp.mtu_bytes = payload_for(live->shape->mtu_bytes);
	return take_rate(live, error, bytes);
}

static int read_plane(struct weft_live *live, const char *word, char *error, size_t bytes)
{
	uint32_t plane = live->udp.planes++;

	if (weft_plane_address(word, live->udp.addr[plane]))
		return 0;
	if (!weft_plane_may_come(word)) {
		snprintf(error, bytes,
			"planes: \"%s\" is neither an address nor an interface with one", word);
		return -1;
	}
	memset(live->udp.addr[plane], 0, 16);
	snprintf(live->udp.interface[plane], sizeof(live->udp.interface[plane]), "%s", word);
	return 0;
}

static bool has_address(const struct weft_live *live)
{
	uint32_t i = 0;

	while (i < live->udp.planes && weft_inet_is_none(live->udp.addr[i]))
		i++;
	return i < live->udp.planes;
}

void live_find_planes(struct weft_live *live)
{
	for (uint32_t i = 0; i < live->udp.planes; i++)
		(void)plane_find(live->udp.interface[i], live->udp.addr[i]);
}

static int read_planes(struct weft_live *live, const char *planes, char *error, size_t bytes)
{
	char *list = strdup(planes), *rest = list, *word;
	int rc = 0;

	if (!list) {
		snprintf(error, bytes, "no memory");
		return -1;
	}
	live->udp.format = WEFT_UDP_PLAIN;
	live->udp.no_checksum = live->config.no_checksum;
	while (!rc && (word = strsep(&rest, ","))) {
		if (live->udp.planes == WEFT_PORTS_MAX) {
			snprintf(error, bytes, "planes: more than %u addresses", WEFT_PORTS_MAX);
			rc = -1;
		} else {
			rc = read_plane(live, word, error, bytes);
		}
	}
	if (!rc && !has_address(live)) {
		snprintf(error, bytes,
			"planes: \"%s\" is neither an address nor an interface with one",
			live->udp.interface[0]);
		errno = EADDRNOTAVAIL;
		rc = -1;
	}
	free(list);
	snprintf(live->host_name, sizeof(live->host_name), "plain");
	live->udp.mtu_bytes = PLAIN_MTU_BYTES;
	live->rtt_ns = PLAIN_RTT_NS;
	live->rate_bps = live->line_bps = PLAIN_RATE_BPS;
	return rc;
}

/*
 * Files tell what links are meant to carry, interfaces what they do.  A plane that carries less
 * than the others is missing; where none carries a full packet, packets are smaller.
 */
static int fit_links(struct weft_live *live, char *error, size_t bytes)
{
	uint32_t most = 0;

	if (!live->kind->is_kernel)
		return 0;
	for (uint32_t i = 0; i < live->udp.planes; i++)
		most = WEFT_MAX(most, carrier_mtu(carrier_find(live->udp.addr[i])));
	if (!most || live->udp.mtu_bytes + LINK_OVERHEAD_BYTES <= most)
		return 0;
	if (live->config.mtu_bytes || payload_for(most) + LINK_OVERHEAD_BYTES > most) {
		snprintf(error, bytes,
			"MTU: packets of %u bytes need interfaces of %u, and the best of the "
			"planes' has %u: raise it, or say --mtu %u",
			live->udp.mtu_bytes, live->udp.mtu_bytes + LINK_OVERHEAD_BYTES, most,
			payload_for(most));
		return -1;
	}
	live->udp.mtu_bytes = payload_for(most);
	return 0;
}

/* ACK timeout 1.024 us * 2^exp of at least four times round trip and queue. */
static void choose_timeouts(struct weft_live *live)
{
	uint64_t want_ns = WEFT_MAX(UINT64_C(4) * 2 * live->rtt_ns, TIMEOUT_NS_MIN), budget_ns;
	uint32_t limit_ms = live->config.timeout_ms ? live->config.timeout_ms : TIMEOUT_MS_DEFAULT;

	live->timeout_exp = 1;
	while (live->timeout_exp < 24 && (UINT64_C(1024) << live->timeout_exp) < want_ns)
		live->timeout_exp++;
	live->linear_count = 7;
	live->retry_count = 0;
	budget_ns = (UINT64_C(1024) << live->timeout_exp) * live->linear_count;
	while (live->retry_count < 24 && budget_ns < (uint64_t)limit_ms * 1000000) {
		live->retry_count++;
		budget_ns += UINT64_C(1024) << (live->timeout_exp + live->retry_count);
	}
}

/*
 * An answer costs as much as a packet here, so a fast network gets few; but a round trip must
 * have several, or a single lost one leaves the sender with a full window and no news.
 */
static uint32_t choose_sack_bytes(const struct weft_live *live)
{
	uint64_t pipe_bytes = live->rate_bps / 8 * (live->rtt_ns / 1000) / 1000000;
	uint64_t share = pipe_bytes / SACKS_PER_RTT;

	return (uint32_t)WEFT_MAX(SACK_BYTES_MIN, WEFT_MIN(SACK_BYTES_MAX, share));
}

static int open_engine(struct weft_live *live, char *error, size_t bytes)
{
	struct weft_config *c = &live->config.engine;

	c->ports = live->udp.planes;
	c->mtu_bytes = live->udp.mtu_bytes;
	c->base_rtt_ns = live->rtt_ns;
	c->sack_bytes = choose_sack_bytes(live);
	c->zeroed = true;
	live->block_bytes = weft_endpoint_size(c);
	/* Much of it may never be used; what is not touched is not there. */
	if (live->block_bytes)
		live->block = mmap(NULL, live->block_bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (live->block == MAP_FAILED)
		live->block = NULL;
	if (!live->block || weft_endpoint_init(&live->ep, live->block, c)) {
		const char *fault = weft_config_fault(c);

		if (fault)
			snprintf(error, bytes, "engine: %s", fault);
		else
			snprintf(error, bytes, "no memory for %zu bytes of engine",
				live->block_bytes);
		return -1;
	}
	struct weft_pump_config pump = { .ep = live->ep,
		.port = live->port,
		.clock = live->config.clock,
		.clock_arg = live->config.clock_arg,
		.scatter = live->config.scatter };

	if (weft_pump_open(&live->pump, &pump)) {
		snprintf(error, bytes, "no memory");
		return -1;
	}
	return 0;
}

int weft_live_open(struct weft_live **out, const struct weft_live_config *config, char *error,
	size_t error_bytes)
{
	struct weft_live *live = calloc(1, sizeof(*live));
	const char *fabric = config->fabric ? config->fabric : getenv("WEFT_FABRIC");
	int rc;

	if (!live) {
		snprintf(error, error_bytes, "no memory");
		return -1;
	}
	errno = 0;
	live->config = *config;
	if (config->planes) {
		rc = read_planes(live, config->planes, error, error_bytes);
	} else if (fabric) {
		rc = read_fabric(live, fabric, config->host, error, error_bytes);
	} else {
		snprintf(error, error_bytes,
			"no fabric: set WEFT_FABRIC, use `weft lab run HOST -- "
			"...`, or name own addresses with --planes");
		rc = -1;
	}
	if (config->rate_bps)
		live->rate_bps = live->line_bps = config->rate_bps;
	if (config->mtu_bytes)
		live->udp.mtu_bytes = config->mtu_bytes;
	live->cc = config->cc ? weft_cc_find(config->cc) : &weft_cc_nscc;
	if (!rc && !live->cc) {
		snprintf(error, error_bytes, "no congestion control is called \"%s\"", config->cc);
		rc = -1;
	}
	if (config->port)
		live->kind = live_port_given(live);
	else
		live->kind = rc ? NULL : live_port_find(config, error, error_bytes);
	if (live->kind)
		live->rtt_ns =
			config->rtt_ns ? config->rtt_ns : live->rtt_ns + live->kind->host_rtt_ns;
	else
		rc = -1;
	live->finds_mtu = !rc && live->kind->mtu_probe && !live->topo && !config->mtu_bytes &&
			  !config->no_path_mtu;
	if (live->finds_mtu) {
		live->udp.mtu_bytes = WEFT_MTU_MAX; /* for links may be raised any time */
		live->udp.need_bytes = live_mtus[LIVE_MTUS - 1];
	} else if (!rc) {
		rc = fit_links(live, error, error_bytes);
	}
	choose_timeouts(live);
	live->trims = live->topo && live->shape->full == WEFT_FULL_TRIM && live_has_switch(config);
	if (!rc)
		rc = live->kind->open(live, error, error_bytes);
	if (!rc)
		rc = open_engine(live, error, error_bytes);
	if (rc) {
		int why = errno;

		weft_live_close(live);
		errno = why;
		return -1;
	}
	*out = live;
	return 0;
}

void weft_live_close(struct weft_live *live)
{
	if (!live)
		return;
	weft_pump_close(live->pump);
	if (live->port)
		live->port->ops->close(live->port);
	callers_close(live->callers);
	if (live->line_path[0])
		unlink(live->line_path);
	weft_topo_close(live->topo);
	if (live->block)
		munmap(live->block, live->block_bytes);
	free(live);
}

struct weft_endpoint *weft_live_endpoint(struct weft_live *live)
{
	return live->ep;
}

struct weft_port *weft_live_port(struct weft_live *live)
{
	return live->port;
}

struct weft_pump *weft_live_pump(struct weft_live *live)
{
	return live->pump;
}

const struct weft_config *weft_live_engine(const struct weft_live *live)
{
	return &live->config.engine;
}

const char *weft_live_host(const struct weft_live *live)
{
	return live->host_name;
}
