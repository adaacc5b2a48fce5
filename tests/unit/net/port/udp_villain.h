/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TEST_UDP_VILLAIN_H
#define TEST_UDP_VILLAIN_H
/* udp_villain - a UDP port of one plane on lo, and a known peer that is a bare socket. */
#include "../netns.h"
#include "port/udp.h"

static const uint8_t plane[16] = { [15] = 1 };
static char error[256];

struct villain { /* a bare socket whose source address the port knows */
	int fd;
	uint16_t src_port;
	struct sockaddr_in6 to;
	struct weft_port *port;
};

static inline void open_villain(struct villain *v)
{
	struct weft_udp_config config = {
		.format = WEFT_UDP_PLAIN, .planes = 1, .mtu_bytes = 1024, .src_ports = 1
	};
	struct sockaddr_in6 name = { .sin6_family = AF_INET6 };
	socklen_t bytes = sizeof(name);
	uint16_t own;

	netns_enter();
	shell("ip link set lo up");
	memcpy(config.addr[0], plane, 16);
	REQUIRE(!weft_udp_open(&v->port, &config, error, sizeof(error)));
	memcpy(&name.sin6_addr, plane, 16);
	v->fd = socket(AF_INET6, SOCK_DGRAM, 0);
	REQUIRE(!bind(v->fd, (struct sockaddr *)&name, sizeof(name)));
	REQUIRE(!getsockname(v->fd, (struct sockaddr *)&name, &bytes));
	v->src_port = ntohs(name.sin6_port);
	v->to = name;
	weft_udp_numbers(v->port, &own, (uint16_t[WEFT_UDP_SRC_PORTS_MAX]){ 0 });
	v->to.sin6_port = htons(own);
	struct weft_udp_path path = { .dst = { [15] = 1 }, .arrive = { [15] = 1 } };
	struct weft_udp_peer attr = { .udp_port = v->src_port,
		.src_port = { v->src_port },
		.n_src_ports = 1,
		.addrs = 1,
		.paths = &path,
		.n_paths = 1 };

	memcpy(attr.addr[0], plane, 16);
	REQUIRE(!weft_udp_peer_add(v->port, 1, &attr));
}

static inline void close_villain(struct villain *v)
{
	v->port->ops->close(v->port);
	close(v->fd);
}

static inline size_t deliver(
	struct villain *v, const uint8_t *bytes, size_t n, struct weft_pkt *pkt)
{
	REQUIRE(sendto(v->fd, bytes, n, 0, (struct sockaddr *)&v->to, sizeof(v->to)) == (ssize_t)n);
	v->port->ops->wait(v->port, 1000000000);
	return v->port->ops->rx(v->port, pkt, 1);
}

#endif
