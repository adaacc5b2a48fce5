/* SPDX-License-Identifier: BSD-2-Clause */
/* Two ports back to back. */
#include "shm_place.h"

#include <poll.h>

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

/* One turn: sends packets from `from` on while there is room and `until` is not reached. */
static uint32_t send_so(struct weft_port *port, uint32_t peer, uint32_t from, uint32_t until,
	struct weft_wake wake)
{
	struct weft_pkt out[WEFT_NET_BURST];
	size_t max, n = 0;
	uint32_t planes = port->ops->room(port, &max);

	if (planes != 3)
		return from;
	for (; from < until && n < max; n++, from++)
		out[n] = data(peer, weft_ev(from & 1, from >> 1 & 3), from & WEFT_PSN_MASK);
	port->ops->tx(port, out, n, wake);
	return from;
}

static uint32_t send_some(struct weft_port *port, uint32_t peer, uint32_t from, uint32_t until)
{
	return send_so(port, peer, from, until, WEFT_WAKE_NOW);
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
	p.port[1]->ops->tx(p.port[1], &out, 1, WEFT_WAKE_NOW);
	CHECK_EQ(p.port[1]->stats.tx_no_path, 1);
	weft_shm_port_peer_drop(p.port[1], 9);
	out.ev = 0;
	p.port[1]->ops->tx(p.port[1], &out, 1, WEFT_WAKE_NOW);
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

TEST(go_to_sleep__keeps_the_bell_for_who_sleeps)
{
	struct pair p;
	struct weft_pkt in[4];

	open_pair(&p);
	for (unsigned i = 0; i < 2; i++) {
		struct pollfd bell = { .fd = p.port[i]->ops->sleep(p.port[i], true),
			.events = POLLIN };

		REQUIRE(bell.fd >= 0);
		CHECK_EQ(send_some(p.port[1 - i], i ? 5 : 9, 0, 1), 1);
		/* Meanwhile another thread takes turns, and what has come. */
		for (unsigned turn = 0; turn < 10000; turn++)
			(void)p.port[i]->ops->carrier(p.port[i]);
		CHECK_EQ(p.port[i]->ops->rx(p.port[i], in, 4), 1);
		CHECK_EQ(poll(&bell, 1, 0), 1);
		CHECK_EQ(p.port[i]->ops->sleep(p.port[i], false), WEFT_PORT_BUSY);
		CHECK_EQ(poll(&bell, 1, 0), 0);
	}
	close_pair(&p);
}

/* Few packets wake nobody where their sender says so; he tells when, or there are too many. */
TEST(tx__leaves_asleep_who_need_not_look_yet)
{
	struct pair p;
	struct weft_pkt in[4];
	struct weft_wake few = { .hush_bytes = 2 * MTU + 500 };

	open_pair(&p);
	struct pollfd bell = { .fd = p.port[0]->ops->sleep(p.port[0], true), .events = POLLIN };

	CHECK_EQ(send_so(p.port[1], 9, 0, 1, few), 1);
	CHECK_EQ(send_so(p.port[1], 9, 1, 2, few), 2);
	CHECK_EQ(poll(&bell, 1, 0), 0);
	CHECK(p.port[1]->unwoken_bytes > 2 * MTU);
	CHECK_EQ(send_so(p.port[1], 9, 2, 3, few), 3);
	CHECK_EQ(poll(&bell, 1, 0), 1);
	CHECK_EQ(p.port[1]->unwoken_bytes, 0);
	(void)p.port[0]->ops->sleep(p.port[0], false);
	CHECK_EQ(p.port[0]->ops->rx(p.port[0], in, 4), 3);
	bell.fd = p.port[0]->ops->sleep(p.port[0], true);
	CHECK_EQ(send_so(p.port[1], 9, 3, 4, few), 4);
	CHECK_EQ(poll(&bell, 1, 0), 0);
	p.port[1]->ops->tx(p.port[1], NULL, 0, WEFT_WAKE_NOW);
	CHECK_EQ(poll(&bell, 1, 0), 1);
	CHECK_EQ(p.port[1]->unwoken_bytes, 0);
	(void)p.port[0]->ops->sleep(p.port[0], false);
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
	p.port[1]->ops->tx(p.port[1], &out, 1, WEFT_WAKE_NOW);
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
