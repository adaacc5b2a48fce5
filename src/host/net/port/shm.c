/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shm - all planes of a NIC over rings in shared memory: a switch, or another host, is at the
 * other end.
 *
 * A payload is copied once into a slot by the sender and once out of it by the receiver's pump,
 * which finds it in the cache that the cores share, or in its own.  So few slots are better than
 * many: free ones are kept in a stack, and the one that was used last is used next.
 *
 * A near end (the drawing in port_shm.h) takes packets from one ring and sends into one per plane;
 * a far end does it crosswise.  `rings` below says which is which, and nothing else knows.
 *
 * A pump that wants the lowest latency does not wait (max_wait_ns 0); one that waits sleeps in the
 * kernel until the other end's bell wakes it.  A hang-up rings, too; who never waits looks for it.
 *
 * The other end may die at any time.  Its memory stays mapped until the next rx, because packets
 * that were handed out lie in it; from the hang-up on nothing goes in or out and all planes are
 * down, which is what the engine knows how to live with.
 *
 * Hot: rx and tx, per packet.
 */
#include "port/port_shm.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define SLOTS_DEFAULT 64u /* of one direction: they stay in the second-level cache */
#define SLOTS_HIGH 2048u
#define LOOK_EVERY 1024u        /* turns of a pump that never waits, between looks */
#define DIAL_EVERY_NS 50000000u /* where nobody is at the other end */
#define AHEAD 4u                /* packets whose headers are on their way to the cache */

static uint32_t all_planes(const struct shm *shm)
{
	return (1u << shm->port.planes) - 1;
}

/* ---- meeting and parting ---- */

static void start(struct shm *shm)
{
	shm->gone = false;
	shm->n_held = 0;
	shm->look_age = 0;
	shm->starved = false;
	shm->blocked = 0;
	memset(shm->credit, 0, sizeof(shm->credit));
}

static int dial(struct shm *shm, char *error, size_t error_bytes)
{
	struct weft_shm_hello hello = { .udp_port = shm->config.udp_port,
		.planes = shm->port.planes };

	memcpy(hello.host, shm->host, sizeof(hello.host));
	if (weft_shm_dial(shm->path, &hello, &shm->pool, &shm->link, error, error_bytes))
		return -1;
	uint32_t planes = weft_shm_planes(shm->link);

	shm->free = calloc(shm->pool.slots, sizeof(*shm->free));
	if (planes == shm->port.planes && shm->free &&
		weft_shm_packet_max(&shm->pool) >= raw_bytes_max(shm->raw)) {
		shm->config.udp_port = hello.udp_port;
		shm->direct = hello.is_host;
		start(shm);
		return 0;
	}
	snprintf(error, error_bytes, "%s: %u planes and packets of %u bytes there, %u and %u here",
		shm->path, planes, weft_shm_packet_max(&shm->pool), shm->port.planes,
		raw_bytes_max(shm->raw));
	weft_shm_link_close(shm->link);
	shm->link = NULL;
	weft_shm_pool_close(&shm->pool);
	free(shm->free);
	shm->free = NULL;
	return -1;
}

/* The far end: whoever comes gets as many slots as we keep.  While one who is gone has not been
 * parted from, the next one waits at the door. */
static void welcome(struct shm *shm)
{
	struct weft_shm_hello hello;
	struct weft_shm_link *link;
	char error[256];
	int fd;

	if (shm->gone || weft_shm_knock(shm->door, weft_clock_now(NULL), &hello, &fd) != 1)
		return;
	if (shm->link || (hello.planes && hello.planes != shm->port.planes)) {
		weft_shm_refuse(fd, shm->link ? "somebody is here already" : "other planes");
		return;
	}
	/* Rings that hold all slots that there are never overflow. */
	if (weft_shm_link_open(&link, &shm->pool, shm->port.planes,
		    (uint32_t)weft_pow2_up(shm->pool.slots), error, sizeof(error))) {
		weft_shm_refuse(fd, error);
		return;
	}
	hello.is_host = 1;
	hello.udp_port = hello.udp_port ? hello.udp_port : WEFT_UDP_PORT;
	for (uint32_t i = 0; i < shm->pool.slots / 2; i++) {
		struct weft_shm_desc lent = { .slot = shm->free[--shm->n_free] };

		WEFT_ASSERT(weft_shm_put(link, WEFT_SHM_FILL, &lent, 1) == 1);
	}
	shm->link = link;
	start(shm);
	weft_shm_carrier_set(link, all_planes(shm));
	if (weft_shm_welcome(fd, &hello, link))
		shm->gone = true;
}

/* After this nothing refers to the memory of the one who is gone. */
static void part(struct shm *shm)
{
	size_t n;

	for (uint32_t i = 0; i < shm->n_held && shm->config.is_far; i++)
		shm->free[shm->n_free++] = shm->held[i].slot;
	while (shm->config.is_far && (n = weft_shm_reclaim(shm->link, shm->free + shm->n_free,
					      shm->pool.slots - shm->n_free)) > 0)
		shm->n_free += (uint32_t)n;
	weft_shm_link_close(shm->link);
	shm->link = NULL;
	shm->n_held = 0;
	if (shm->config.is_far)
		return;
	weft_shm_pool_close(&shm->pool);
	free(shm->free);
	shm->free = NULL;
	shm->n_free = 0;
}

/*
 * Between two bursts, now and then or after a bell: who is there?  While another thread waits for
 * the bell it is his: it rings once per sleep, and who took it away would leave him asleep.
 */
static void look(struct shm *shm)
{
	if (shm->link && !shm->gone && !shm->asleep && !weft_shm_bell_clear(shm->link))
		shm->gone = true;
	if (shm->config.is_far)
		welcome(shm);
}

static void meet_again(struct shm *shm)
{
	char error[256];
	uint64_t now = weft_clock_now(NULL);

	if (shm->link)
		part(shm);
	shm->gone = false;
	if (shm->config.is_far) {
		welcome(shm);
	} else if (now >= shm->dial_at_ns) {
		(void)dial(shm, error, sizeof(error));
		shm->dial_at_ns = weft_clock_now(NULL) + DIAL_EVERY_NS;
	}
}

/* ---- the port contract ---- */

static void close_port(struct weft_port *port)
{
	struct shm *shm = (struct shm *)port;

	weft_shm_link_close(shm->link);
	weft_shm_pool_close(&shm->pool);
	if (shm->door) {
		weft_shm_door_close(shm->door);
		unlink(shm->path);
	}
	raw_close(shm->raw);
	free(shm->free);
	free(shm->path);
	free(shm);
}

static void fetch(const struct shm *shm, uint32_t slot)
{
	const uint8_t *ip = weft_shm_packet(&shm->pool, slot);

	__builtin_prefetch(ip);
	__builtin_prefetch(ip + 64);
}

static size_t rx(struct weft_port *port, struct weft_pkt pkts[], size_t max)
{
	struct shm *shm = (struct shm *)port;
	size_t want = WEFT_MIN(max, (size_t)RX_BATCH), taken = 0;

	if (WEFT_UNLIKELY(!shm->link || shm->gone)) {
		meet_again(shm);
		return 0;
	}
	if (shm->n_held && !shm_give_back(shm))
		return 0;
	for (uint32_t i = 0; i < shm->rings.n_rx && shm->n_held < want; i++) {
		uint32_t ring = shm->rings.rx + shm->rx_turn++ % shm->rings.n_rx;

		shm->n_held += (uint32_t)weft_shm_take(
			shm->link, ring, shm->held + shm->n_held, want - shm->n_held);
	}
	for (uint32_t i = 0; i < WEFT_MIN(AHEAD, shm->n_held); i++)
		fetch(shm, shm->held[i].slot);
	for (uint32_t i = 0; i < shm->n_held; i++) {
		const struct weft_shm_desc *desc = &shm->held[i];

		if (i + AHEAD < shm->n_held)
			fetch(shm, shm->held[i + AHEAD].slot);
		const uint8_t *ip = weft_shm_packet(&shm->pool, desc->slot);
		enum weft_drop drop =
			WEFT_UNLIKELY(desc->flags & WEFT_SHM_DOUBTED)
				? raw_get_doubted(
					  shm->raw, desc->plane, ip, desc->bytes, &pkts[taken])
				: raw_get(shm->raw, desc->plane, ip, desc->bytes, &pkts[taken]);

		if (WEFT_UNLIKELY(drop != WEFT_DROP_COUNT)) {
			port->stats.drops[drop]++;
			continue;
		}
		port->stats.rx_bytes += desc->bytes - raw_encap_bytes(shm->raw);
		taken++;
	}
	port->stats.rx_calls++;
	port->stats.rx_pkts += taken;
	return taken;
}

static void send_one(struct shm *shm, const struct weft_pkt *pkt, uint64_t now)
{
	struct weft_shm_desc desc = { .at_ns = now, .plane = pkt->port, .flags = shm->tx_flags };

	if (WEFT_UNLIKELY(!shm->n_free || !shm->credit[pkt->port])) {
		shm->port.stats.tx_refused++;
		return;
	}
	desc.slot = shm->free[shm->n_free - 1];
	size_t bytes = raw_put(shm->raw, pkt, weft_shm_packet(&shm->pool, desc.slot));

	if (WEFT_UNLIKELY(!bytes)) {
		shm->port.stats.tx_no_path++;
		return;
	}
	desc.bytes = (uint16_t)bytes;
	if (!weft_shm_put(shm->link, shm_tx_ring(shm, pkt->port), &desc, 1)) {
		shm->port.stats.tx_refused++;
		return;
	}
	shm->n_free--;
	shm->credit[pkt->port]--;
	shm->port.stats.tx_pkts++;
	shm->port.stats.tx_bytes += bytes - raw_encap_bytes(shm->raw);
}

static void tx(
	struct weft_port *port, const struct weft_pkt pkts[], size_t n, struct weft_wake wake)
{
	struct shm *shm = (struct shm *)port;

	WEFT_ASSERT(n <= WEFT_NET_BURST);
	if (WEFT_UNLIKELY(!shm->link || shm->gone)) {
		port->stats.tx_refused += n;
		return;
	}
	/* A switch wants to know when; a host does not ask. */
	uint64_t now = shm->direct ? 0 : weft_clock_now(NULL), before = port->stats.tx_bytes;

	shm->tx_flags = wake.is_bulk ? WEFT_SHM_BULK : 0;
	for (size_t i = 0; i < n; i++)
		send_one(shm, &pkts[i], now);
	port->stats.tx_calls++;
	port->unwoken_bytes += port->stats.tx_bytes - before;
	if (port->unwoken_bytes <= wake.hush_bytes)
		return;
	port->unwoken_bytes = 0;
	weft_shm_bell(shm->link);
}

static uint32_t room(struct weft_port *port, size_t *max)
{
	struct shm *shm = (struct shm *)port;
	uint32_t planes = 0;

	*max = WEFT_NET_BURST;
	if (WEFT_UNLIKELY(!shm->link || shm->gone))
		return 0;
	if (shm->n_free < WEFT_NET_BURST)
		shm_refill(shm);
	shm->starved = !shm->n_free;
	if (shm->starved)
		return 0;
	*max = WEFT_MIN(*max, (size_t)shm->n_free);
	for (uint32_t plane = 0; plane < port->planes; plane++) {
		uint32_t credit = shm_credit(shm, plane);

		if (!credit)
			continue;
		planes |= 1u << plane;
		*max = WEFT_MIN(*max, (size_t)credit);
	}
	shm->blocked = all_planes(shm) & ~planes;
	return planes;
}

static uint32_t carrier(struct weft_port *port)
{
	struct shm *shm = (struct shm *)port;

	if (++shm->look_age >= LOOK_EVERY) {
		shm->look_age = 0;
		look(shm);
	}
	if (!shm->link || shm->gone) {
		shm->carrier_told = 0;
		return 0;
	}
	if (!shm->config.is_far && shm_is_asked_back(shm))
		shm_give_unused(shm);
	else if (!shm->config.is_far && weft_shm_keep(shm->link) != WEFT_SHM_KEEP_ALL)
		shm_refill(shm);

	shm->carrier_told = shm->config.is_far ? all_planes(shm) : weft_shm_carrier(shm->link);
	return shm->carrier_told;
}

/* Whether a turn would find something to do that the last one did not. */
static bool has_work(struct shm *shm)
{
	for (uint32_t i = 0; i < shm->rings.n_rx; i++)
		if (weft_shm_waiting(shm->link, shm->rings.rx + i))
			return true;
	if (shm->starved && weft_shm_waiting(shm->link, shm->rings.written))
		return true;
	for (uint32_t plane = 0; plane < shm->port.planes; plane++)
		if (shm->blocked >> plane & 1 && shm_credit(shm, plane))
			return true;
	if (shm->config.is_far)
		return false;
	return weft_shm_carrier(shm->link) != shm->carrier_told || shm_is_asked_back(shm) ||
	       (weft_shm_keep(shm->link) != WEFT_SHM_KEEP_ALL &&
		       weft_shm_waiting(shm->link, shm->rings.written));
}

static void wait_for(struct weft_port *port, uint64_t max_ns)
{
	struct shm *shm = (struct shm *)port;
	struct weft_shm_link *link = shm->gone ? NULL : shm->link;
	uint64_t limit_ns = link || shm->door ? max_ns : WEFT_MIN(max_ns, (uint64_t)DIAL_EVERY_NS);
	uint64_t seconds = WEFT_MIN(limit_ns / 1000000000, UINT64_C(3600));
	struct timespec limit = { .tv_sec = (time_t)seconds,
		.tv_nsec = (long)(limit_ns % 1000000000) };
	struct pollfd fds[2] = { { .fd = shm->door ? weft_shm_door_fd(shm->door) : -1,
					 .events = POLLIN },
		{ .fd = link ? weft_shm_wait_fd(link) : -1, .events = POLLIN } };

	if (link) {
		weft_shm_will_sleep(link, true);
		if (has_work(shm)) {
			weft_shm_will_sleep(link, false);
			return;
		}
	}
	int n = ppoll(fds, 2, &limit, NULL);

	if (link)
		weft_shm_will_sleep(link, false);
	if (n > 0)
		look(shm);
}

static int go_to_sleep(struct weft_port *port, bool will)
{
	struct shm *shm = (struct shm *)port;
	struct weft_shm_link *link = shm->gone ? NULL : shm->link;

	shm->asleep = false;
	if (!will) {
		if (link)
			weft_shm_will_sleep(link, false);
		look(shm);
		return WEFT_PORT_BUSY;
	}
	if (!link)
		return WEFT_PORT_BLIND; /* it dials, or listens, when it is looked at */
	weft_shm_will_sleep(link, true);
	shm->asleep = !has_work(shm);
	if (shm->asleep)
		return weft_shm_wait_fd(link);
	weft_shm_will_sleep(link, false);
	return WEFT_PORT_BUSY;
}

static const struct weft_port_ops ops = {
	.name = "shm",
	.rx = rx,
	.tx = tx,
	.room = room,
	.carrier = carrier,
	.wait = wait_for,
	.sleep = go_to_sleep,
	.close = close_port,
};

/* ---- opening ---- */

static const char *refuse(const struct weft_shm_port_config *c)
{
	if (!c->planes || c->planes > WEFT_SHM_PLANES_MAX)
		return "planes must be 1 to 16";
	if (!c->mtu_bytes || c->mtu_bytes > WEFT_MTU_MAX)
		return "mtu_bytes must be 1 to 8192";
	if (!c->path || !c->host || strlen(c->host) >= sizeof(((struct shm *)0)->host))
		return "path and host (at most 31 bytes) must be given";
	if (c->slots > SLOTS_HIGH / 2)
		return "slots must be 1024 at most";
	return NULL;
}

static int listen_at(struct shm *shm, char *error, size_t error_bytes)
{
	uint32_t slots = 2 * (shm->config.slots ? shm->config.slots : SLOTS_DEFAULT);
	uint32_t bytes = WEFT_ALIGN_UP(WEFT_SHM_HEADROOM + raw_bytes_max(shm->raw), 64u);

	if (weft_shm_pool_open(&shm->pool, slots, bytes, error, error_bytes))
		return -1;
	shm->free = calloc(slots, sizeof(*shm->free));
	if (!shm->free) {
		snprintf(error, error_bytes, "no memory");
		return -1;
	}
	for (uint32_t i = 0; i < slots; i++)
		shm->free[shm->n_free++] = i;
	if (!shm->config.udp_port)
		shm->config.udp_port = WEFT_UDP_PORT;
	shm->direct = true;
	return weft_shm_door_open(&shm->door, shm->path, error, error_bytes);
}

static int open_raw(struct shm *shm)
{
	struct raw_config config = {
		.kind = shm->config.is_srv6 ? WEFT_ENCAP_SRV6 : WEFT_ENCAP_USID,
		.no_icrc = shm->config.icrc == WEFT_ICRC_NONE,
		.trusts = shm->config.icrc != WEFT_ICRC_CHECKED,
		.planes = shm->config.planes,
		.mtu_bytes = shm->config.mtu_bytes,
	};

	memcpy(config.addr, shm->config.addr, sizeof(config.addr));
	shm->raw = raw_open(&config);
	return shm->raw ? 0 : -1;
}

int weft_shm_port_open(struct weft_port **port, const struct weft_shm_port_config *config,
	char *error, size_t error_bytes)
{
	const char *wrong = refuse(config);
	struct shm *shm = wrong ? NULL : calloc(1, sizeof(*shm));

	if (!shm) {
		snprintf(error, error_bytes, "%s", wrong ? wrong : "no memory");
		return -1;
	}
	shm->port = (struct weft_port){ .ops = &ops, .planes = config->planes, .has_bell = true };
	shm->config = *config;
	shm->path = strdup(config->path);
	snprintf(shm->host, sizeof(shm->host), "%s", config->host);
	shm->pool.fd = -1;
	shm->rings = config->is_far ? (struct rings){ .rx = WEFT_SHM_TX,
		.n_rx = config->planes,
		.tx = WEFT_SHM_RX,
		.read = WEFT_SHM_FILL,
		.written = WEFT_SHM_DONE }
				    : (struct rings){ .rx = WEFT_SHM_RX,
					      .n_rx = 1,
					      .tx = WEFT_SHM_TX,
					      .tx_per_plane = true,
					      .read = WEFT_SHM_DONE,
					      .written = WEFT_SHM_FILL };
	if (!shm->path || open_raw(shm)) {
		snprintf(error, error_bytes, "no memory");
		close_port(&shm->port);
		return -1;
	}
	if (config->is_far ? listen_at(shm, error, error_bytes) : dial(shm, error, error_bytes)) {
		close_port(&shm->port);
		return -1;
	}
	raw_name(shm->raw, shm->config.udp_port);
	(void)prctl(PR_SET_TIMERSLACK, 1);
	*port = &shm->port;
	return 0;
}

uint16_t weft_shm_port_number(const struct weft_port *port)
{
	return ((const struct shm *)port)->config.udp_port;
}

int weft_shm_port_peer_add(struct weft_port *port, uint32_t peer, const struct weft_udp_peer *attr)
{
	struct shm *shm = (struct shm *)port;
	struct weft_udp_peer here = *attr;
	struct weft_udp_path *paths;

	if (!shm->direct || shm->config.is_srv6)
		return raw_peer_add(shm->raw, peer, attr);
	/* No switch will shift the carrier: it leaves as it shall arrive. */
	paths = calloc(attr->n_paths ? attr->n_paths : 1, sizeof(*paths));
	if (!paths)
		return -1;
	for (uint32_t i = 0; i < attr->n_paths; i++) {
		paths[i] = attr->paths[i];
		memcpy(paths[i].dst, paths[i].arrive, 16);
	}
	here.paths = paths;
	int rc = raw_peer_add(shm->raw, peer, &here);

	free(paths);
	return rc;
}

void weft_shm_port_peer_drop(struct weft_port *port, uint32_t peer)
{
	raw_peer_drop(((struct shm *)port)->raw, peer);
}
