/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEVICE_VIRTUAL_H
#define DEVICE_VIRTUAL_H
/*
 * virtual - devices in virtual time: packets over `loop`, greetings in memory, one seed for all.
 *
 * No time passes but in ground_sleep() and ground_wait(): what a test reads off the clock is exact,
 * and a run is the same each time.  Each device is on a host of its own; all of them have gone when
 * the last one is closed, and the next one begins anew.
 */
#include "check.h"
#include "device_local.h"

#include <errno.h>
#include <unistd.h>
#include <weft/loop.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define HOSTS_MAX 64u
#define LETTERS_MAX 1024u

struct letter { /* a greeting under way */
	uint64_t at_ns;
	uint32_t number, n; /* the sender's; bytes */
	uint8_t from[16], bytes[GREET_BYTES_MAX];
};

struct host {
	uint32_t index;
	struct weft_dev *dev;   /* NULL: it is dead */
	struct letter *letters; /* to it; head <= tail, and they run freely */
	uint32_t head, tail;
};

static struct ground {
	struct weft_loop *loop;
	struct weft_rng rng;
	uint64_t seed; /* of the next one; 0: 1 */
	uint32_t loss_ppm;
	uint64_t greetings; /* sent */
	uint32_t n, n_open;
	struct host host[HOSTS_MAX];
} ground;

static inline uint64_t ground_now(void)
{
	return ground.loop ? weft_loop_now(ground.loop) : 1;
}

static inline void ground_kick(void)
{
	for (uint32_t i = 0; i < ground.n; i++)
		weft_loop_kick(ground.loop, i);
}

/* What is due now, and then the next thing that happens. */
static inline void ground_wait(uint64_t until_ns)
{
	ground_kick();
	(void)weft_loop_step(ground.loop, ground_now());
	(void)weft_loop_step(ground.loop, until_ns);
}

static inline void ground_until(uint64_t until_ns)
{
	ground_kick();
	while (weft_loop_step(ground.loop, until_ns))
		;
}

static inline void ground_sleep(uint64_t ns)
{
	ground_until(ground_now() + ns);
}

/* ---- what a device has under it ---- */

static inline uint64_t host_now(void *arg)
{
	(void)arg;
	return ground_now();
}

static inline void host_sleep(void *arg, uint64_t ns)
{
	(void)arg;
	ground_sleep(ns);
}

static inline uint64_t host_random(void *arg)
{
	(void)arg;
	return weft_rng_u64(&ground.rng);
}

/* A host's number is its processes', too: there is one on each. */
static inline void letter_send(void *arg, const uint8_t from[16], const uint8_t to[16],
	uint32_t number, const void *bytes, size_t n)
{
	const struct host *sender = arg;
	struct host *host = &ground.host[number % HOSTS_MAX];
	struct letter *letter;

	ground.greetings++;
	if (number >= ground.n || to[15] != number + 1 || !host->dev || !sender->dev ||
		host->tail - host->head == LETTERS_MAX ||
		weft_rng_chance(&ground.rng, ground.loss_ppm, 1000000))
		return;
	WEFT_ASSERT(n <= sizeof(letter->bytes));
	letter = &host->letters[host->tail++ % LETTERS_MAX];
	letter->at_ns = ground_now() + 20 * US;
	letter->number = sender->index;
	letter->n = (uint32_t)n;
	memcpy(letter->from, from, 16);
	memcpy(letter->bytes, bytes, n);
	weft_loop_kick(ground.loop, number); /* it looks when this one is due */
}

static inline int letter_recv(
	void *arg, void *bytes, size_t max, uint8_t from[16], uint32_t *number)
{
	struct host *host = arg;
	const struct letter *letter = &host->letters[host->head % LETTERS_MAX];

	if (host->head == host->tail || letter->at_ns > ground_now())
		return -1;
	WEFT_ASSERT(letter->n <= max);
	memcpy(bytes, letter->bytes, letter->n);
	memcpy(from, letter->from, 16);
	*number = letter->number;
	host->head++;
	return (int)letter->n;
}

static inline uint64_t host_run(void *arg)
{
	const struct host *host = arg;
	uint64_t next, letter_ns;

	if (!host->dev)
		return WEFT_NEVER;
	do { /* it reads so many at a time */
		next = weft_dev_step(host->dev);
		letter_ns = host->head == host->tail
				    ? WEFT_NEVER
				    : host->letters[host->head % LETTERS_MAX].at_ns;
	} while (letter_ns <= ground_now());
	return WEFT_MIN(next, letter_ns);
}

/* ---- devices ---- */

static inline void ground_open(void)
{
	uint64_t seed = ground.seed ? ground.seed : 1;
	struct weft_loop_config config = { .nodes = HOSTS_MAX,
		.planes = 2,
		.uplinks = 4,
		.rate_bps = UINT64_C(10000000000),
		.delay_ns = 10 * US,
		.spread_ns = 2 * US,
		.seed = seed };

	ground.loop = weft_loop_open(&config);
	WEFT_ASSERT(ground.loop);
	weft_rng_seed(&ground.rng, seed);
}

static inline struct weft_dev *pair_device(void)
{
	if (!ground.loop)
		ground_open();
	WEFT_ASSERT(ground.n < HOSTS_MAX);
	struct host *host = &ground.host[ground.n];
	struct weft_live_port port = { .port = weft_loop_port(ground.loop, ground.n),
		.udp_port = (uint16_t)(1 + ground.n),
		.n_src_ports = 4,
		.peer_add = weft_loop_peer_add,
		.peer_drop = weft_loop_peer_drop };
	struct weft_dev_net net = { .arg = host,
		.port = &port,
		.number = ground.n,
		.send = letter_send,
		.recv = letter_recv };
	struct weft_dev_env env = { .arg = host,
		.now = host_now,
		.sleep = host_sleep,
		.random = host_random,
		.net = &net };
	struct weft_dev_name name = { .name = "test0" };
	char error[256] = "";

	*host = (struct host){ .index = ground.n,
		.letters = calloc(LETTERS_MAX, sizeof(*host->letters)) };
	WEFT_ASSERT(host->letters);
	snprintf(name.planes, sizeof(name.planes), "fd00::%x,fd00:0:0:1::%x", ground.n + 1,
		ground.n + 1);
	if (weft_dev_open_in(&host->dev, &name, &env, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	weft_loop_attach_run(ground.loop, ground.n++, host_run, host);
	ground.n_open++;
	return host->dev;
}

/* From now on, of the packets that this host sends, or WEFT_LOOP_ANY. */
static inline void ground_lose(uint32_t host, uint32_t loss_ppm, uint64_t until_ns)
{
	struct weft_loop_fault fault = { .src = host,
		.dst = WEFT_LOOP_ANY,
		.plane = WEFT_LOOP_ANY,
		.uplink = WEFT_LOOP_ANY,
		.from_ns = ground_now(),
		.until_ns = until_ns,
		.loss_ppm = loss_ppm };

	CHECK_EQ(weft_loop_fault(ground.loop, &fault), 0);
}

/* Its host is there no more: nothing comes from it, and nothing is done.  It can be closed. */
static inline void ground_die(const struct weft_dev *dev)
{
	ground_lose(dev->number, 1000000, WEFT_NEVER);
	ground.host[dev->number].dev = NULL;
}

static inline void ground_close(struct weft_dev *dev)
{
	uint32_t number = dev->number;

	CHECK_EQ(weft_dev_close(dev), 0);
	ground.host[number].dev = NULL;
	if (--ground.n_open)
		return;
	for (uint32_t i = 0; i < ground.n; i++)
		free(ground.host[i].letters);
	weft_loop_close(ground.loop);
	ground = (struct ground){ 0 };
}

#include "sides.h"

#endif /* DEVICE_VIRTUAL_H */
