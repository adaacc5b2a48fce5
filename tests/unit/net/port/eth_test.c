/* SPDX-License-Identifier: BSD-2-Clause */
/* The part without sockets that carry; those are in afpacket_test.c and afxdp_test.c. */
#include "port/eth.h"
#include "ether.h"

#include <sys/epoll.h>

static const struct weft_port_ops no_ops = { .name = "none" };

static int open_nothing(struct eth *eth, uint32_t plane, char *error, size_t error_bytes)
{
	(void)eth, (void)plane, (void)error, (void)error_bytes;
	return 0;
}

static void close_nothing(struct eth *eth, uint32_t plane)
{
	(void)eth, (void)plane;
}

static const struct eth_lanes no_lanes = { open_nothing, close_nothing };

static struct eth *open_end(unsigned end, uint8_t kind)
{
	struct weft_eth_config config = ether_config(end, kind);
	struct eth *eth = calloc(1, sizeof(*eth));

	REQUIRE(eth);
	ether_build();
	ether_enter(end);
	if (eth_open(eth, &no_ops, &no_lanes, &config, ether_error, sizeof(ether_error)))
		CHECK_FAIL("%s", ether_error);
	REQUIRE(eth->carrier);
	return eth;
}

static void close_end(struct eth *eth)
{
	eth_close(eth);
	free(eth);
}

TEST(eth_open__holds_a_udp_port_of_its_own)
{
	struct eth *a = open_end(0, WEFT_ENCAP_STEV);
	struct weft_eth_config config = ether_config(0, WEFT_ENCAP_STEV);
	struct eth other = { .hold_fd = -1 };

	CHECK(a->udp_port > 0);
	config.udp_port = a->udp_port;
	CHECK_EQ(eth_open(&other, &no_ops, &no_lanes, &config, ether_error, sizeof(ether_error)),
		-1);
	CHECK(strstr(ether_error, "UDP port") != NULL);
	eth_close(&other);
	close_end(a);
}

TEST(eth_put__writes_a_frame_that_eth_get_reads)
{
	static const uint8_t macs[2][12] = {
		{ 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1 },
		{ 2, 0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 1 },
	};

	for (unsigned k = 0; k < 3; k++) {
		static const uint8_t kinds[] = { WEFT_ENCAP_USID, WEFT_ENCAP_SRV6,
			WEFT_ENCAP_STEV };
		struct eth *a = open_end(0, kinds[k]), *b = open_end(1, kinds[k]);
		static uint8_t frame[8192];
		struct weft_pkt out, in;

		CHECK_EQ(ether_know(&a->port, 0, 3, &b->port, kinds[k]), 0);
		CHECK_EQ(ether_know(&b->port, 1, 4, &a->port, kinds[k]), 0);
		for (uint32_t plane = 0; plane < 2; plane++) {
			out = ether_data(3, plane << 16 | 1, 9);
			size_t n = eth_put(a, &out, frame);

			CHECK(n > 4096 && n <= a->frame_bytes);
			CHECK_MEM(frame, macs[plane], 12);
			CHECK(eth_get(b, plane, frame, n, &in));
			CHECK_EQ(in.peer, 4);
			CHECK_EQ(in.ev, out.ev);
			CHECK_EQ(a->port.stats.tx_bytes, b->port.stats.rx_bytes);
			CHECK(!eth_get(b, !plane, frame, n, &in)); /* not by this cable */
		}
		CHECK_EQ(b->port.stats.drops[WEFT_DROP_UNKNOWN_PEER], 2);
		CHECK(!eth_get(b, 0, frame, 14, &in));
		CHECK_EQ(b->port.stats.drops[WEFT_DROP_TRUNCATED], 1);
		close_end(a);
		close_end(b);
	}
}

TEST(eth_put__counts_what_cannot_go)
{
	struct eth *a = open_end(0, WEFT_ENCAP_USID), *b = open_end(1, WEFT_ENCAP_USID);
	struct weft_pkt out = ether_data(3, 0, 9);
	static uint8_t frame[8192];

	CHECK_EQ(eth_put(a, &out, frame), 0);
	CHECK_EQ(a->port.stats.tx_no_path, 1);
	ether_enter(0);
	shell("ip route del fc00:1:12::/48");
	CHECK_EQ(ether_know(&a->port, 0, 3, &b->port, WEFT_ENCAP_USID), 0);
	CHECK(eth_put(a, &out, frame) > 0);
	out = ether_data(3, 1 << 16, 9); /* the plane whose route is gone */
	CHECK_EQ(eth_put(a, &out, frame), 0);
	CHECK_EQ(a->port.stats.tx_refused, 1);
	shell("ip route add fc00:1:12::/48 via fd00:0:0:1::2 dev p1");
	close_end(a);
	close_end(b);
}

TEST(eth_wait__tells_whose_descriptor_has_something)
{
	struct eth *a = open_end(0, WEFT_ENCAP_USID);
	int ends[2], tag = 0;
	void *data[2] = { NULL, NULL };

	REQUIRE(!pipe(ends));
	CHECK_EQ(eth_watch(a, ends[0], EPOLLIN, &tag), 0);
	uint64_t end = weft_clock_now(NULL) + 1000000000;

	CHECK_EQ(eth_wait(a, 1000000, data, 2), 0);
	CHECK_EQ(write(ends[1], "x", 1), 1);
	while (!data[0] && weft_clock_now(NULL) < end)
		(void)eth_wait(a, 1000000000, data, 2);
	CHECK(data[0] == &tag);
	eth_rewatch(a, ends[0], 0, &tag);
	CHECK_EQ(eth_wait(a, 1000000, data, 2), 0);
	close(ends[0]);
	close(ends[1]);
	close_end(a);
}
