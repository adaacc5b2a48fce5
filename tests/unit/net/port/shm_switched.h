/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_SWITCHED_H
#define SHM_SWITCHED_H
/* shm_switched - a port at a far end that the test plays: a switch, honest or not. */
#include "shm_place.h"

struct switched {
	struct weft_shm_pool pool;
	struct weft_shm_link *link;
	struct weft_port *port;
	struct raw *raw; /* of the host whose packets the switch brings */
	struct weft_shm_door *door;
};

static inline void open_switched(struct switched *s, struct weft_shm_port_config *config)
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
	REQUIRE(!weft_shm_door_open(&s->door, path, error, sizeof(error)));
	REQUIRE(!weft_shm_pool_open(&s->pool, 64, 4352, error, sizeof(error)));
	REQUIRE(!weft_shm_link_open(&s->link, &s->pool, 2, 64, error, sizeof(error)));
	REQUIRE(!pthread_create(&thread, NULL, dial, config));
	while (weft_shm_knock(s->door, 1, &hello, &fd) != 1)
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

static inline void close_switched(struct switched *s)
{
	raw_close(s->raw);
	s->port->ops->close(s->port);
	weft_shm_link_close(s->link);
	weft_shm_pool_close(&s->pool);
	weft_shm_door_close(s->door);
}

#endif
