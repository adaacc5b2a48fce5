/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "net_local.h"

#include <arpa/inet.h>

static struct weft_udp_path paths[WEFT_NET_EVS_MAX];

static struct weft_udp_peer make(uint8_t host, uint32_t planes, uint32_t n_paths)
{
	struct weft_udp_peer attr = { .udp_port = 1000, .n_src_ports = 2, .addrs = planes };

	attr.src_port[0] = 2000;
	attr.src_port[1] = 2001;
	for (uint32_t i = 0; i < planes; i++) {
		attr.addr[i][0] = 0xfd;
		attr.addr[i][14] = (uint8_t)i;
		attr.addr[i][15] = host;
	}
	for (uint32_t i = 0; i < n_paths; i++) {
		paths[i].ev = i % planes << 16 | i / planes;
		paths[i].dst[0] = 0xfc;
		paths[i].dst[15] = (uint8_t)i;
		paths[i].arrive[1] = (uint8_t)(i >> 8);
	}
	attr.paths = paths;
	attr.n_paths = n_paths;
	return attr;
}

static struct sockaddr_in6 source(const struct weft_udp_peer *attr, uint32_t plane, uint32_t k)
{
	struct sockaddr_in6 from = { .sin6_family = AF_INET6,
		.sin6_port = htons(attr->src_port[k]) };

	memcpy(&from.sin6_addr, attr->addr[plane], 16);
	return from;
}

TEST(peers_find__tells_peer_and_path_by_source)
{
	struct peers *peers = peers_open();

	for (uint8_t host = 0; host < 100; host++) {
		struct weft_udp_peer attr = make(host, 8, 16);

		CHECK_EQ(peers_add(peers, host, &attr), 0);
	}
	for (uint8_t host = 0; host < 100; host++) {
		for (uint32_t plane = 0; plane < 8; plane++) {
			struct weft_udp_peer attr = make(host, 8, 16);
			struct sockaddr_in6 from = source(&attr, plane, plane & 1);
			uint32_t ev = 0;

			CHECK_EQ(peers_find(peers, &from, &ev), host);
			CHECK_EQ(ev, plane << 16 | (plane & 1));
		}
	}
	peers_close(peers);
}

TEST(peers_find__does_not_know_strangers)
{
	struct peers *peers = peers_open();
	struct weft_udp_peer attr = make(1, 2, 2);
	uint32_t ev;

	CHECK_EQ(peers_add(peers, 7, &attr), 0);
	struct sockaddr_in6 from = source(&attr, 1, 0);

	CHECK_EQ(peers_find(peers, &from, &ev), 7);
	from.sin6_port = htons(2002); /* another process of that host */
	CHECK_EQ(peers_find(peers, &from, &ev), PEER_NONE);
	from = source(&attr, 1, 0);
	from.sin6_addr.s6_addr[15] = 99;
	CHECK_EQ(peers_find(peers, &from, &ev), PEER_NONE);
	peers_close(peers);
}

TEST(peers_path__finds_every_ev_and_no_other)
{
	struct peers *peers = peers_open();
	struct weft_udp_peer attr = make(1, 8, 2048);

	CHECK_EQ(peers_add(peers, 3, &attr), 0);
	for (uint32_t i = 0; i < 2048; i++) {
		const struct peer_path *path = peers_path(peers, 3, paths[i].ev);

		REQUIRE(path);
		CHECK_EQ(path->ev, paths[i].ev);
		CHECK_EQ(path->to.sin6_addr.s6_addr[15], i & 0xff);
		CHECK_EQ(path->arrive[1], i >> 8);
		CHECK_EQ(path->to.sin6_port, htons(1000));
	}
	CHECK(!peers_path(peers, 3, 8u << 16));
	CHECK(!peers_path(peers, 4, 0));
	CHECK(!peers_path(peers, UINT32_MAX, 0));
	peers_close(peers);
}

TEST(peers_add__refuses_what_is_taken_or_wrong)
{
	struct peers *peers = peers_open();
	struct weft_udp_peer attr = make(1, 2, 2), other = make(2, 2, 2);

	CHECK_EQ(peers_add(peers, 0, &attr), 0);
	CHECK_EQ(peers_add(peers, 0, &other), -1); /* the number */
	CHECK_EQ(peers_add(peers, 1, &attr), -1);  /* the address */
	CHECK_EQ(peers_add(peers, WEFT_NET_PEERS_MAX, &other), -1);
	other.src_port[1] = 0;
	CHECK_EQ(peers_add(peers, 1, &other), -1);
	peers_close(peers);
}

TEST(peers_drop__leaves_the_others_findable)
{
	struct peers *peers = peers_open();
	uint32_t ev;

	for (uint8_t host = 0; host < 200; host++) {
		struct weft_udp_peer attr = make(host, 32, 32);

		CHECK_EQ(peers_add(peers, host, &attr), 0);
	}
	for (uint32_t host = 0; host < 200; host += 2)
		peers_drop(peers, host);
	for (uint8_t host = 0; host < 200; host++) {
		struct weft_udp_peer attr = make(host, 32, 32);
		struct sockaddr_in6 from = source(&attr, 31, 1);

		CHECK_EQ(peers_find(peers, &from, &ev), host & 1 ? host : PEER_NONE);
		CHECK_EQ(!!peers_path(peers, host, 0), host & 1);
	}
	peers_close(peers);
}

/* Two ports in 65,536 share a slot: what decides is the port, not where it is looked up. */
TEST(peers_find__knows_no_other_port_of_a_known_address)
{
	struct peers *peers = peers_open();
	struct weft_udp_peer attr = make(1, 1, 1);

	CHECK_EQ(peers_add(peers, 9, &attr), 0);
	for (uint32_t port = 1; port < 65536; port++) {
		struct sockaddr_in6 from = source(&attr, 0, 0);
		uint32_t ev;

		from.sin6_port = htons((uint16_t)port);
		if (port != 2000 && port != 2001)
			CHECK_EQ(peers_find(peers, &from, &ev), PEER_NONE);
	}
	peers_close(peers);
}
