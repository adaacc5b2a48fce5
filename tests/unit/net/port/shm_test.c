/* SPDX-License-Identifier: BSD-2-Clause */
/* Two ports back to back, and a port whose far end is not one of ours. */
#include "check.h"
#include "port/raw.h"

#include <pthread.h>
#include <unistd.h>
#include <weft/shm.h>
#include <weft/topo.h>

#define MTU 4096u
#define SECOND UINT64_C(1000000000)
#define CARRIER                                                                                    \
	{                                                                                          \
		0xfd, 0, 0, 1, 0x80, 1, 0x40, 1, 0x80, 2, 0, 2, 0, 0, 0, 0                         \
	}

static const uint8_t hosts[2][2][16] = { /* [host][plane] */
	{ { 0xfc, [14] = 0, 1 }, { 0xfc, [14] = 1, 1 } },
	{ { 0xfc, [14] = 0, 2 }, { 0xfc, [14] = 1, 2 } }
};
static char dir[] = "/tmp/weft-shm-XXXXXX", path[64], error[256];
static uint8_t payload[MTU];

static void leave(void)
{
	unlink(path);
	rmdir(dir);
}

static void find_place(void)
{
	if (path[0])
		return;
	REQUIRE(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/ports", dir);
	atexit(leave);
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7 + (i >> 8));
}

static struct weft_shm_port_config config_of(uint32_t host, bool is_far)
{
	struct weft_shm_port_config config = {
		.path = path, .is_far = is_far, .host = "h", .planes = 2, .mtu_bytes = MTU
	};

	find_place();
	memcpy(config.addr, hosts[host], sizeof(hosts[host]));
	return config;
}

static struct weft_port *open_port(const struct weft_shm_port_config *config)
{
	struct weft_port *port = NULL;

	if (weft_shm_port_open(&port, config, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	return port;
}

static void *dial(void *config)
{
	return open_port(config);
}

/* Dialling waits for the far end, so it happens beside it. */
static struct weft_port *meet(struct weft_port *far, struct weft_shm_port_config *config)
{
	pthread_t thread;
	void *port;
	struct weft_pkt pkt;

	REQUIRE(!pthread_create(&thread, NULL, dial, config));
	while (pthread_tryjoin_np(thread, &port)) {
		far->ops->wait(far, 10000000);
		CHECK_EQ(far->ops->rx(far, &pkt, 1), 0);
	}
	REQUIRE(port);
	return port;
}

static int know(struct weft_port *at, uint32_t number, uint32_t host, const struct weft_port *peer)
{
	struct weft_udp_path paths[8];
	struct weft_udp_peer attr = { .udp_port = weft_shm_port_number(peer),
		.src_port = { weft_shm_port_number(peer) },
		.n_src_ports = 1,
		.addrs = 2,
		.paths = paths,
		.n_paths = 8 };

	memcpy(attr.addr, hosts[host], sizeof(hosts[host]));
	for (uint32_t i = 0; i < 8; i++) {
		paths[i] = (struct weft_udp_path){ .ev = (i & 1) << 16 | i >> 1, .dst = CARRIER };
		REQUIRE(weft_usid_put_ev(paths[i].dst, 4, paths[i].ev));
		weft_usid_shift(paths[i].dst, 3, paths[i].arrive);
	}
	return weft_shm_port_peer_add(at, number, &attr);
}

struct pair {
	struct weft_port *port[2]; /* far, near */
	struct weft_shm_port_config config[2];
};

static void open_pair(struct pair *p)
{
	for (uint32_t i = 0; i < 2; i++) {
		p->config[i] = config_of(i, !i);
		p->config[i].slots = 64;
	}
	p->port[0] = open_port(&p->config[0]);
	REQUIRE(p->port[0]);
	p->port[1] = meet(p->port[0], &p->config[1]);
	CHECK_EQ(know(p->port[0], 5, 1, p->port[1]), 0);
	CHECK_EQ(know(p->port[1], 9, 0, p->port[0]), 0);
	for (uint32_t i = 0; i < 2; i++) /* as every turn of a pump does */
		CHECK_EQ(p->port[i]->ops->carrier(p->port[i]), 3);
}

static void close_pair(struct pair *p)
{
	for (uint32_t i = 0; i < 2; i++)
		if (p->port[i])
			p->port[i]->ops->close(p->port[i]);
}

static struct weft_pkt data(uint32_t peer, uint32_t ev, uint32_t psn)
{
	return (struct weft_pkt){ .peer = peer,
		.ev = ev,
		.port = (uint8_t)(ev >> 16),
		.op = WEFT_OP_WRITE_ONLY,
		.dqpn = 100,
		.psn = psn,
		.w = { .data = payload, .len_bytes = MTU, .msg_bytes = MTU, .rkey = 1 } };
}

/* One turn: sends packets from `from` on while there is room and `until` is not reached. */
static uint32_t send_some(struct weft_port *port, uint32_t peer, uint32_t from, uint32_t until)
{
	struct weft_pkt out[WEFT_NET_BURST];
	size_t max, n = 0;
	uint32_t planes = port->ops->room(port, &max);

	if (planes != 3)
		return from;
	for (; from < until && n < max; n++, from++)
		out[n] = data(peer, weft_ev(from & 1, from >> 1 & 3), from & WEFT_PSN_MASK);
	port->ops->tx(port, out, n);
	return from;
}

TEST(weft_shm_port_open__carries_packets_both_ways_far_longer_than_slots_last)
{
	struct pair p;
	struct weft_pkt in[WEFT_NET_BURST];
	uint32_t sent[2] = { 0 }, got[2] = { 0 }, total = 5000;

	open_pair(&p);
	for (unsigned turns = 0; got[0] + got[1] < 2 * total && turns < 100000; turns++) {
		uint32_t i = turns & 1;

		sent[i] = send_some(p.port[i], i ? 9 : 5, sent[i], total);
		size_t n = p.port[i]->ops->rx(p.port[i], in, WEFT_NET_BURST);

		for (size_t k = 0; k < n; k++) {
			CHECK_EQ(in[k].peer, i ? 9 : 5);
			CHECK_EQ(in[k].ev, weft_ev(in[k].psn & 1, in[k].psn >> 1 & 3));
			CHECK_EQ(in[k].port, in[k].psn & 1);
			CHECK_EQ(in[k].mark, 0);
			REQUIRE(in[k].w.len_bytes == MTU);
			CHECK_MEM(in[k].w.data, payload, MTU);
		}
		got[i] += (uint32_t)n;
	}
	for (uint32_t i = 0; i < 2; i++) {
		CHECK_EQ(got[i], total);
		CHECK_EQ(p.port[i]->stats.tx_pkts, total);
		CHECK_EQ(p.port[i]->stats.tx_refused, 0);
		CHECK_EQ(p.port[i]->stats.rx_bytes, p.port[1 - i]->stats.tx_bytes);
		CHECK_EQ(p.port[i]->stats.rx_bytes, total * (MTU + 12 + 20 + 4));
	}
	close_pair(&p);
}

TEST(room__ends_with_the_slots_and_comes_back_when_they_are_read)
{
	struct pair p;
	struct weft_pkt in[WEFT_NET_BURST];
	size_t max, n = 0;
	uint32_t sent = 0, before;

	open_pair(&p);
	do {
		before = sent;
		sent = send_some(p.port[1], 9, sent, 1000);
	} while (sent != before);
	CHECK_EQ(sent, 64);
	CHECK_EQ(p.port[1]->ops->room(p.port[1], &max), 0);
	while (n < 64)
		n += p.port[0]->ops->rx(p.port[0], in, 16);
	CHECK_EQ(n, 64);
	/* The last burst is still in use, until the next. */
	CHECK_EQ(p.port[1]->ops->room(p.port[1], &max), 3);
	CHECK_EQ(max, 48);
	CHECK_EQ(p.port[0]->ops->rx(p.port[0], in, 16), 0);
	CHECK_EQ(p.port[1]->ops->room(p.port[1], &max), 3);
	CHECK_EQ(max, 64);
	CHECK_EQ(p.port[1]->stats.tx_refused, 0);
	close_pair(&p);
}

TEST(tx__counts_paths_that_it_does_not_know)
{
	struct pair p;
	struct weft_pkt out = data(9, 77, 0), in;
	size_t max;

	open_pair(&p);
	CHECK_EQ(p.port[1]->ops->room(p.port[1], &max), 3);
	p.port[1]->ops->tx(p.port[1], &out, 1);
	CHECK_EQ(p.port[1]->stats.tx_no_path, 1);
	weft_shm_port_peer_drop(p.port[1], 9);
	out.ev = 0;
	p.port[1]->ops->tx(p.port[1], &out, 1);
	CHECK_EQ(p.port[1]->stats.tx_no_path, 2);
	CHECK_EQ(p.port[0]->ops->rx(p.port[0], &in, 1), 0);
	CHECK_EQ(p.port[1]->ops->room(p.port[1], &max), 3);
	CHECK_EQ(max, 64); /* no slot was lost by it */
	close_pair(&p);
}

struct sleeper {
	struct weft_port *port;
	uint64_t slept_ns;
	size_t got;
};

static void *sleep_until_it_comes(void *arg)
{
	struct sleeper *s = arg;
	struct weft_pkt in[4];
	uint64_t from = weft_clock_now(NULL);

	for (unsigned i = 0; i < 100 && !s->got; i++) {
		s->port->ops->wait(s->port, 10 * SECOND);
		s->got = s->port->ops->rx(s->port, in, 4);
	}
	s->slept_ns = weft_clock_now(NULL) - from;
	return NULL;
}

TEST(wait_for__ends_when_time_is_up_or_something_came)
{
	struct pair p;
	pthread_t thread;

	open_pair(&p);
	uint64_t from = weft_clock_now(NULL);

	p.port[1]->ops->wait(p.port[1], 3000000);
	CHECK(weft_clock_now(NULL) - from >= 3000000);
	for (unsigned i = 0; i < 2; i++) {
		struct sleeper s = { .port = p.port[i] };

		REQUIRE(!pthread_create(&thread, NULL, sleep_until_it_comes, &s));
		usleep(20000);
		CHECK_EQ(send_some(p.port[1 - i], i ? 5 : 9, 0, 1), 1);
		pthread_join(thread, NULL);
		CHECK_EQ(s.got, 1);
		CHECK(s.slept_ns < 5 * SECOND);
	}
	close_pair(&p);
}

TEST(wait_for__does_not_sleep_over_what_is_there)
{
	struct pair p;
	struct weft_pkt in[4];

	open_pair(&p);
	CHECK_EQ(send_some(p.port[0], 5, 0, 1), 1);
	uint64_t from = weft_clock_now(NULL);

	p.port[1]->ops->wait(p.port[1], 10 * SECOND);
	CHECK(weft_clock_now(NULL) - from < SECOND);
	CHECK_EQ(p.port[1]->ops->rx(p.port[1], in, 4), 1);
	close_pair(&p);
}

/* Turns until the port's planes are `up`, or five seconds have passed. */
static bool await_carrier(struct weft_port *port, struct weft_port *other, uint32_t up)
{
	uint64_t end = weft_clock_now(NULL) + 5 * SECOND;
	struct weft_pkt in[4];
	size_t max;

	while (port->ops->carrier(port) != up && weft_clock_now(NULL) < end) {
		if (other) {
			(void)other->ops->carrier(other);
			(void)other->ops->rx(other, in, 4);
		}
		(void)port->ops->rx(port, in, 4);
		(void)port->ops->room(port, &max);
	}
	return port->ops->carrier(port) == up;
}

static void *serve(void *arg)
{
	struct weft_port *port = open_port(arg);
	struct weft_pkt in[4];

	for (uint64_t end = weft_clock_now(NULL) + 5 * SECOND;
		port && !port->ops->carrier(port) && weft_clock_now(NULL) < end;) {
		port->ops->wait(port, 10000000);
		(void)port->ops->rx(port, in, 4);
	}
	return port;
}

TEST(carrier__goes_with_the_far_end_and_comes_back_with_another)
{
	struct pair p;
	struct weft_pkt in[WEFT_NET_BURST], out = data(9, 0, 1);
	pthread_t thread;
	void *port;

	open_pair(&p);
	CHECK_EQ(send_some(p.port[0], 5, 0, 10), 10);
	CHECK_EQ(p.port[1]->ops->rx(p.port[1], in, 4), 4);
	p.port[0]->ops->close(p.port[0]);
	p.port[0] = NULL;
	CHECK_MEM(in[3].w.data, payload, MTU); /* ours until the next rx, whoever dies */
	CHECK(await_carrier(p.port[1], NULL, 0));
	p.port[1]->ops->tx(p.port[1], &out, 1);
	CHECK_EQ(p.port[1]->stats.tx_refused, 1);
	uint64_t from = weft_clock_now(NULL);

	p.port[1]->ops->wait(p.port[1], 10 * SECOND); /* not for ever: somebody may listen again */
	CHECK(weft_clock_now(NULL) - from < SECOND);
	REQUIRE(!pthread_create(&thread, NULL, serve, &p.config[0]));
	CHECK(await_carrier(p.port[1], NULL, 3));
	pthread_join(thread, &port);
	p.port[0] = port;
	REQUIRE(port && !know(p.port[0], 5, 1, p.port[1]));
	CHECK_EQ(send_some(p.port[0], 5, 0, 10), 10);
	CHECK_EQ(p.port[1]->ops->rx(p.port[1], in, WEFT_NET_BURST), 10);
	close_pair(&p);
}

TEST(carrier__of_a_far_end_goes_and_comes_with_the_near_one)
{
	struct pair p;
	struct weft_pkt in[WEFT_NET_BURST];
	size_t max;

	open_pair(&p);
	for (unsigned round = 0; round < 5; round++) {
		CHECK_EQ(send_some(p.port[0], 5, 0, 10), 10);
		CHECK_EQ(send_some(p.port[1], 9, 0, 10), 10);
		CHECK_EQ(p.port[0]->ops->rx(p.port[0], in, 4), 4);
		p.port[1]->ops->close(p.port[1]);
		p.port[1] = NULL;
		CHECK(await_carrier(p.port[0], NULL, 0));
		p.port[1] = meet(p.port[0], &p.config[1]);
		CHECK_EQ(know(p.port[1], 9, 0, p.port[0]), 0);
		CHECK(await_carrier(p.port[0], p.port[1], 3));
		CHECK_EQ(p.port[0]->ops->room(p.port[0], &max), 3);
		CHECK_EQ(max, 64); /* all slots are back */
		CHECK_EQ(p.port[1]->ops->rx(p.port[1], in, WEFT_NET_BURST), 0);
	}
	close_pair(&p);
}

/* ---- a far end that is none of ours ---- */

struct switched {
	struct weft_shm_pool pool;
	struct weft_shm_link *link;
	struct weft_port *port;
	struct raw *raw; /* of the host whose packets the switch brings */
	int listener;
};

static void open_switched(struct switched *s, struct weft_shm_port_config *config)
{
	struct raw_config other = { .kind = WEFT_ENCAP_USID,
		.planes = 2,
		.mtu_bytes = MTU,
		.udp_port = 6000,
		.src_port = 6000 };
	struct weft_shm_hello hello;
	pthread_t thread;
	void *port;
	int fd;

	find_place();
	s->listener = weft_shm_listen(path, error, sizeof(error));
	REQUIRE(s->listener >= 0);
	REQUIRE(!weft_shm_pool_open(&s->pool, 64, 4352, error, sizeof(error)));
	REQUIRE(!weft_shm_link_open(&s->link, &s->pool, 2, 64, error, sizeof(error)));
	REQUIRE(!pthread_create(&thread, NULL, dial, config));
	while (weft_shm_accept(s->listener, &hello, &fd) != 1)
		usleep(1000);
	hello.udp_port = 5000;
	REQUIRE(!weft_shm_welcome(fd, &hello, s->link));
	pthread_join(thread, &port);
	REQUIRE(port);
	s->port = port;
	struct weft_udp_path path_there = { .dst = CARRIER };
	struct weft_udp_peer attr = { .udp_port = 6000,
		.src_port = { 6000 },
		.n_src_ports = 1,
		.addrs = 2,
		.paths = &path_there,
		.n_paths = 1 };

	memcpy(attr.addr, hosts[0], sizeof(hosts[0]));
	weft_usid_shift(path_there.dst, 3, path_there.arrive);
	REQUIRE(!weft_shm_port_peer_add(s->port, 3, &attr));
	memcpy(other.addr, hosts[0], sizeof(hosts[0]));
	s->raw = raw_open(&other);
	memcpy(path_there.dst, path_there.arrive, 16);
	attr.udp_port = attr.src_port[0] = 5000;
	memcpy(attr.addr, hosts[1], sizeof(hosts[1]));
	REQUIRE(s->raw && !raw_peer_add(s->raw, 1, &attr));
}

static void close_switched(struct switched *s)
{
	raw_close(s->raw);
	s->port->ops->close(s->port);
	weft_shm_link_close(s->link);
	weft_shm_pool_close(&s->pool);
	close(s->listener);
}

TEST(rx__sees_marks_and_counts_what_is_foul)
{
	struct weft_shm_port_config config = config_of(1, false);
	struct weft_dscp dscp = WEFT_DSCP_DEFAULT;
	struct weft_pkt out = data(1, 0, 42), in[8];
	struct switched s;

	open_switched(&s, &config);
	CHECK_EQ(weft_shm_port_number(s.port), 5000);
	for (uint32_t i = 0; i < 6; i++) {
		uint8_t *ip = weft_shm_packet(&s.pool, i);
		struct weft_shm_desc desc = { .slot = i,
			.bytes = (uint16_t)raw_put(s.raw, &out, ip) };

		if (i == 1)
			ip[1] |= 0x10; /* ECT(0) becomes CE */
		if (i == 2) {
			desc.bytes = 114;
			ip[0] = (uint8_t)(0x60 | dscp.trimmed >> 2);
			ip[1] = (uint8_t)(dscp.trimmed << 6);
		}
		if (i == 3)
			ip[200] ^= 1;
		if (i == 4)
			desc.plane = 1; /* not where its source sends */
		if (i == 5)
			memset(ip, 0x66, desc.bytes);
		CHECK_EQ(weft_shm_put(s.link, WEFT_SHM_RX, &desc, 1), 1);
	}
	CHECK_EQ(s.port->ops->rx(s.port, in, 8), 3);
	CHECK_EQ(in[0].mark, 0);
	CHECK_EQ(in[1].mark, WEFT_MARK_CE);
	CHECK_EQ(in[2].mark, WEFT_MARK_TRIMMED);
	CHECK_EQ(in[2].psn, 42);
	CHECK_EQ(in[2].w.len_bytes, 0);
	CHECK_EQ(s.port->stats.drops[WEFT_DROP_BAD_ICRC], 1);
	CHECK_EQ(s.port->stats.drops[WEFT_DROP_UNKNOWN_PEER], 1);
	CHECK_EQ(s.port->stats.drops[WEFT_DROP_TRUNCATED], 1); /* it says 26214 bytes */
	CHECK_EQ(s.port->ops->rx(s.port, in, 8), 0);
	struct weft_shm_desc back[8];

	CHECK_EQ(weft_shm_take(s.link, WEFT_SHM_DONE, back, 8), 6); /* the foul ones as well */
	close_switched(&s);
}

TEST(room__keeps_a_planes_queue_short)
{
	struct weft_shm_port_config config = config_of(1, false);
	struct weft_shm_desc descs[48];
	struct switched s;
	size_t max;

	config.queue_pkts = 8;
	open_switched(&s, &config);
	CHECK_EQ(s.port->ops->room(s.port, &max), 0); /* no slots yet */
	for (uint32_t i = 0; i < 48; i++)
		descs[i] = (struct weft_shm_desc){ .slot = i };
	CHECK_EQ(weft_shm_put(s.link, WEFT_SHM_FILL, descs, 48), 48);
	CHECK_EQ(s.port->ops->room(s.port, &max), 3);
	CHECK_EQ(max, 8);
	struct weft_pkt out[8];

	for (unsigned i = 0; i < 8; i++)
		out[i] = data(3, 0, i);
	s.port->ops->tx(s.port, out, 8);
	CHECK_EQ(s.port->ops->room(s.port, &max), 2);
	CHECK_EQ(weft_shm_take(s.link, WEFT_SHM_TX, descs, 3), 3);
	uint64_t now = weft_clock_now(NULL);

	CHECK(descs[0].at_ns <= now && descs[0].at_ns + SECOND > now);
	CHECK_EQ(s.port->ops->room(s.port, &max), 3);
	CHECK_EQ(max, 3);
	close_switched(&s);
}

TEST(tx__makes_the_icrc_that_it_was_told_to__and_rx_believes_as_much)
{
	static const struct {
		enum weft_icrc_use use;
		enum weft_drop at_checker; /* of what we send */
		size_t taken;              /* of what came with a wrong one */
	} rows[] = {
		{ WEFT_ICRC_CHECKED, WEFT_DROP_COUNT, 0 },
		{ WEFT_ICRC_MADE, WEFT_DROP_COUNT, 1 },
		{ WEFT_ICRC_NONE, WEFT_DROP_BAD_ICRC, 1 },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_shm_port_config config = config_of(1, false);
		struct weft_pkt out = data(3, 0, 1), in;
		struct weft_shm_desc desc = { .slot = 1 };
		struct switched s;
		size_t max;

		config.icrc = rows[i].use;
		open_switched(&s, &config);
		CHECK_EQ(weft_shm_put(s.link, WEFT_SHM_FILL, &desc, 1), 1);
		CHECK_EQ(s.port->ops->room(s.port, &max), 3);
		s.port->ops->tx(s.port, &out, 1);
		REQUIRE(weft_shm_take(s.link, WEFT_SHM_TX, &desc, 1) == 1);
		uint8_t *ip = weft_shm_packet(&s.pool, desc.slot), dst[16];

		weft_usid_shift(ip + 24, 3, dst);
		memcpy(ip + 24, dst, 16);
		CHECK_EQ(raw_get(s.raw, 0, ip, desc.bytes, &in), rows[i].at_checker);
		out = data(1, 0, 2);
		desc = (struct weft_shm_desc){ .slot = 2 };
		ip = weft_shm_packet(&s.pool, desc.slot);
		desc.bytes = (uint16_t)raw_put(s.raw, &out, ip);
		ip[200] ^= 1;
		CHECK_EQ(weft_shm_put(s.link, WEFT_SHM_RX, &desc, 1), 1);
		CHECK_EQ(s.port->ops->rx(s.port, &in, 1), rows[i].taken);
		CHECK_EQ(s.port->stats.drops[WEFT_DROP_BAD_ICRC], !rows[i].taken);
		close_switched(&s);
	}
}

TEST(carrier__is_what_the_switch_says_and_wakes)
{
	struct weft_shm_port_config config = config_of(1, false);
	struct switched s;

	open_switched(&s, &config);
	CHECK_EQ(s.port->ops->carrier(s.port), 0);
	weft_shm_carrier_set(s.link, 2);
	uint64_t from = weft_clock_now(NULL);

	s.port->ops->wait(s.port, 10 * SECOND);
	CHECK(weft_clock_now(NULL) - from < SECOND);
	CHECK_EQ(s.port->ops->carrier(s.port), 2);
	close_switched(&s);
}

TEST(weft_shm_port_open__says_what_is_wrong)
{
	struct weft_shm_port_config config = config_of(0, false);
	struct weft_port *port;

	unlink(path);
	CHECK_EQ(weft_shm_port_open(&port, &config, error, sizeof(error)), -1);
	CHECK(strstr(error, path) != NULL);
	config.planes = 17;
	CHECK_EQ(weft_shm_port_open(&port, &config, error, sizeof(error)), -1);
	CHECK(strstr(error, "planes") != NULL);
	config = config_of(0, true);
	config.path = "/nowhere/at/all";
	CHECK_EQ(weft_shm_port_open(&port, &config, error, sizeof(error)), -1);
	CHECK(strstr(error, "/nowhere") != NULL);
	config.slots = 5000;
	CHECK_EQ(weft_shm_port_open(&port, &config, error, sizeof(error)), -1);
	CHECK(strstr(error, "slots") != NULL);
}
