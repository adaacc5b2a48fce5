/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SWITCHES_H
#define SWITCHES_H
/*
 * switches - for tests of switchd: a switch of small2 in a folder of its own, and programs of hosts
 * that attach to it, all in this process.  The switch turns when the test says so.
 */
#include "switchd_local.h"

#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define SMALL2                                                                                     \
	"name: small2\nplanes: 2\nt0s: 2\nt1s: 2\nhosts: [alice, bob]\n"                           \
	"host_links: {speed: 1Gb/s, delay: 0ns}\ncore_links: {speed: 1Gb/s, delay: 0ns}\n"         \
	"switch: {queue: 500KB}\nbase_rtt: 250us\n"
enum { ALICE, BOB };

struct place {
	char dir[64], fabric[80];
};

static inline void place_open(struct place *place, const char *text)
{
	snprintf(place->dir, sizeof(place->dir), "/tmp/switchd-XXXXXX");
	REQUIRE(mkdtemp(place->dir));
	snprintf(place->fabric, sizeof(place->fabric), "%s/f.yaml", place->dir);
	FILE *f = fopen(place->fabric, "w");
	REQUIRE(f);
	fputs(text, f);
	fclose(f);
}

static inline void place_close(const struct place *place)
{
	static const char *const names[] = { "f.yaml", "lock", "ports", "control" };
	char path[128];

	for (size_t i = 0; i < WEFT_COUNT(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", place->dir, names[i]);
		unlink(path);
	}
	CHECK_EQ(rmdir(place->dir), 0);
}

static inline struct weft_switchd *switch_open(const struct place *place, const char *ifnames)
{
	struct weft_switchd_config config = {
		.fabric = place->fabric, .dir = place->dir, .ifname_format = ifnames
	};
	struct weft_switchd *sw = NULL;
	char error[256] = "";

	if (weft_switchd_open(&sw, &config, error, sizeof(error)))
		CHECK_FAIL("open: %s", error);
	REQUIRE(sw);
	return sw;
}

/* A program of a host. */
struct program {
	struct weft_shm_pool pool;
	struct weft_shm_link *link;
	struct weft_shm_hello hello;
	char error[256], path[128];
	int result;
	_Atomic bool is_done;
	uint32_t free[512], n_free; /* slots that it may send with */
	uint64_t at_ns; /* when it says it sends; 0: when it does, however long that takes */
	uint8_t flags;  /* of what it sends */
};

static inline void *program_dial(void *arg)
{
	struct program *p = (struct program *)arg;

	p->result =
		weft_shm_dial(p->path, &p->hello, &p->pool, &p->link, p->error, sizeof(p->error));
	p->is_done = true;
	return NULL;
}

static inline int program_attach(
	struct program *p, struct weft_switchd *sw, const char *host, uint16_t udp_port)
{
	pthread_t thread;

	memset(p, 0, sizeof(*p));
	p->hello.udp_port = udp_port;
	snprintf(p->hello.host, sizeof(p->hello.host), "%s", host);
	snprintf(p->path, sizeof(p->path), "%s", sw->ports_path);
	REQUIRE(!pthread_create(&thread, NULL, program_dial, p));
	while (!p->is_done) {
		weft_switchd_turn(sw);
		usleep(100);
	}
	pthread_join(thread, NULL);
	return p->result;
}

/* One that has sent already: it has as many slots as it may have. */
static inline int program_open(
	struct program *p, struct weft_switchd *sw, const char *host, uint16_t udp_port)
{
	int result = program_attach(p, sw, host, udp_port);

	if (!result) {
		lend_sends(sw, sw->nic.list[sw->nic.n - 1], sw->ran_ps);
		lend(sw, sw->nic.list[sw->nic.n - 1]);
	}
	return result;
}

static inline void program_close(struct program *p)
{
	weft_shm_link_close(p->link);
	weft_shm_pool_close(&p->pool);
}

static inline uint32_t program_slot(struct program *p)
{
	struct weft_shm_desc d[64];
	size_t n;

	if (!p->n_free) {
		n = weft_shm_take(p->link, WEFT_SHM_FILL, d, 64);
		for (size_t i = 0; i < n; i++)
			p->free[p->n_free++] = d[i].slot;
	}
	return p->n_free ? p->free[--p->n_free] : SLOT_NONE;
}

/* An IPv6 packet with UDP to a host by one path; bytes of all of it. */
static inline void packet_make(const struct weft_topo *topo, uint32_t src, uint32_t dst,
	uint32_t ev, uint16_t udp_port, uint8_t *ip, uint32_t bytes)
{
	memset(ip, 0, bytes);
	ip[0] = 0x60;
	ip[4] = (uint8_t)((bytes - 40) >> 8);
	ip[5] = (uint8_t)(bytes - 40);
	ip[6] = 17;
	ip[7] = 64;
	weft_topo_host_addr(topo, src, weft_ev_plane(ev), ip + 8);
	REQUIRE(weft_topo_usid(topo, src, dst, ev, ip + 24));
	ip[42] = (uint8_t)(udp_port >> 8);
	ip[43] = (uint8_t)udp_port;
	ip[44] = (uint8_t)((bytes - 40) >> 8);
	ip[45] = (uint8_t)(bytes - 40);
	for (uint32_t i = 48; i < bytes; i++)
		ip[i] = (uint8_t)i;
}

/* False: no slot, or no room in the ring. */
static inline bool program_send(struct program *p, const struct weft_topo *topo, uint32_t src,
	uint32_t dst, uint32_t ev, uint16_t udp_port, uint32_t bytes)
{
	uint32_t slot = program_slot(p);

	if (slot == SLOT_NONE)
		return false;
	packet_make(topo, src, dst, ev, udp_port, weft_shm_packet(&p->pool, slot), bytes);
	struct weft_shm_desc d = { .slot = slot, .bytes = (uint16_t)bytes, .flags = p->flags };

	d.at_ns = p->at_ns ? p->at_ns : real_now_ns();
	if (weft_shm_put(p->link, WEFT_SHM_TX + weft_ev_plane(ev), &d, 1))
		return true;
	p->free[p->n_free++] = slot;
	return false;
}

/* Turns until the program has received n or, at the worst, many seconds have passed.  How many. */
static inline size_t program_receive(
	struct program *p, struct weft_switchd *sw, struct weft_shm_desc d[], size_t n)
{
	size_t got = 0;

	for (unsigned i = 0; i < 100000 && got < n; i++) {
		weft_switchd_turn(sw);
		got += weft_shm_take(p->link, WEFT_SHM_RX, d + got, n - got);
		if (got < n)
			usleep(100);
	}
	return got;
}

static inline void program_done(struct program *p, const struct weft_shm_desc d[], size_t n)
{
	CHECK_EQ(weft_shm_put(p->link, WEFT_SHM_DONE, d, n), n);
}

/* Lets the switch turn for a while. */
static inline void turns(struct weft_switchd *sw, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		weft_switchd_turn(sw);
		usleep(100);
	}
}

static inline uint32_t find_link(struct weft_switchd *sw, const char *name)
{
	uint32_t link = weft_topo_link_find(sw->topo, name);

	REQUIRE(link != WEFT_TOPO_NONE);
	return link;
}

#endif
