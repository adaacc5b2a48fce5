/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes of the path MTU as a known peer sends them, rightly and wrongly. */
#include "udp_villain.h"

enum { PAYLOAD = 1000, OVERHEAD = LINK_OVERHEAD_BYTES - 48, BYTES = PAYLOAD + OVERHEAD };
#define TOKEN 0x5eed1234u

static size_t probe(uint8_t *bytes, uint8_t type, uint32_t payload_bytes, uint32_t token)
{
	bytes[0] = 0xf8;
	bytes[1] = type;
	bytes[2] = (uint8_t)(payload_bytes >> 8);
	bytes[3] = (uint8_t)payload_bytes;
	memcpy(bytes + 4, &token, 4);
	memset(bytes + 8, 0, payload_bytes + OVERHEAD - 8);
	return payload_bytes + OVERHEAD;
}

/* What the port has sent to the villain; 0: nothing. */
static size_t hear(const struct villain *v, uint8_t *bytes, size_t max)
{
	ssize_t n = recv(v->fd, bytes, max, MSG_DONTWAIT);

	return n > 0 ? (size_t)n : 0;
}

TEST(udp_mtu_take__answers_a_probe_with_as_many_bytes)
{
	uint8_t bytes[4096], answer[4096];
	struct villain v;
	struct weft_pkt pkt;

	open_villain(&v);
	size_t n = probe(bytes, 1, PAYLOAD, TOKEN);

	CHECK_EQ(deliver(&v, bytes, n, &pkt), 0);
	CHECK_EQ(hear(&v, answer, sizeof(answer)), n);
	bytes[1] = 2;
	CHECK_MEM(answer, bytes, n);
	for (unsigned i = 0; i < WEFT_DROP_COUNT; i++)
		CHECK_EQ(v.port->stats.drops[i], 0);
	close_villain(&v);
}

TEST(udp_mtu_take__drops_what_is_no_probe)
{
	uint8_t bytes[4096], answer[4096];
	struct villain v;
	struct weft_pkt pkt;
	uint64_t dropped = 0;

	open_villain(&v);
	for (size_t n = 0; n <= BYTES + 1; n += n < 16 ? 1 : 13) { /* cut, and one too long */
		(void)probe(bytes, 1, PAYLOAD, TOKEN);
		CHECK_EQ(deliver(&v, bytes, n == BYTES ? n + 1 : n, &pkt), 0);
		dropped++;
	}
	for (unsigned type = 0; type < 256; type++) {
		size_t n = probe(bytes, (uint8_t)type, PAYLOAD, TOKEN);

		if (type == 1)
			continue;
		CHECK_EQ(deliver(&v, bytes, n, &pkt), 0);
		dropped++;
	}
	CHECK_EQ(deliver(&v, bytes, probe(bytes, 1, 1028, TOKEN), &pkt), 0); /* above its MTU */
	dropped++;
	CHECK_EQ(hear(&v, answer, sizeof(answer)), 0);
	for (unsigned i = 0; i < WEFT_DROP_COUNT; i++)
		dropped -= v.port->stats.drops[i];
	CHECK_EQ(dropped, 0);
	close_villain(&v);
}

TEST(weft_udp_mtu_proved__is_what_came_back_with_the_token)
{
	uint8_t bytes[4096], asked[4096];
	struct villain v;
	struct weft_pkt pkt;

	open_villain(&v);
	weft_udp_mtu_probe(v.port, 1, PAYLOAD, 1, TOKEN);
	size_t n = hear(&v, asked, sizeof(asked));

	CHECK_EQ(n, probe(bytes, 1, PAYLOAD, TOKEN));
	CHECK_MEM(asked, bytes, n);
	CHECK_EQ(deliver(&v, bytes, probe(bytes, 2, PAYLOAD, TOKEN + 1), &pkt), 0);
	CHECK_EQ(weft_udp_mtu_proved(v.port, 1, 1), 0);
	CHECK_EQ(deliver(&v, bytes, probe(bytes, 2, PAYLOAD, TOKEN), &pkt), 0);
	CHECK_EQ(weft_udp_mtu_proved(v.port, 1, PAYLOAD), 1);
	CHECK_EQ(weft_udp_mtu_proved(v.port, 1, PAYLOAD + 1), 0);
	CHECK_EQ(weft_udp_mtu_proved(v.port, 2, 1), 0);
	weft_udp_peer_drop(v.port, 1);
	CHECK_EQ(deliver(&v, bytes, probe(bytes, 1, PAYLOAD, TOKEN), &pkt), 0);
	CHECK_EQ(hear(&v, asked, sizeof(asked)), 0); /* a stranger is told nothing */
	close_villain(&v);
}
