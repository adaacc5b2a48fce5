/* SPDX-License-Identifier: BSD-2-Clause */
/* The program as the kernel runs it (BPF_PROG_TEST_RUN), with a socket in its map. */
#include "net_local.h"
#include "port/afxdp_rule.h"
#include "../netns.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <sys/socket.h>

extern const unsigned char afxdp_bpf_o[];
extern const unsigned afxdp_bpf_o_bytes;

static const struct afxdp_rule rule = {
	.addr = { 0xfd, [15] = 7 }, .usid = { 0xfc, 0, 0, 1, 0x0c, 2 }, .udp_port = 0xb712
}; /* 4791 from a little-endian machine */
static const struct afxdp_rule rule_v4 = { .addr = { [10] = 0xff, 0xff, 10, 0, 0, 7 },
	.udp_port = 0xb712 };

static struct bpf_object *load(const struct afxdp_rule *with)
{
	size_t bytes = 0;

	netns_enter();
	libbpf_set_print(NULL);
	struct bpf_object *object = bpf_object__open_mem(afxdp_bpf_o, afxdp_bpf_o_bytes, NULL);
	REQUIRE(object);
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata");
	REQUIRE(map);
	struct afxdp_rule *at = (struct afxdp_rule *)bpf_map__initial_value(map, &bytes);
	REQUIRE(at && bytes == sizeof(*at));
	*at = *with;
	if (bpf_object__load(object))
		SKIP("no BPF here");
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	uint32_t queue = 0;
	if (fd < 0)
		SKIP("no AF_XDP here");
	REQUIRE(!bpf_map__update_elem(bpf_object__find_map_by_name(object, "sockets"), &queue,
		sizeof(queue), &fd, sizeof(fd), 0));
	return object;
}

static uint32_t verdict(struct bpf_object *object, const uint8_t *frame, size_t bytes)
{
	struct bpf_program *program = bpf_object__next_program(object, NULL);
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = (uint32_t)bytes,
		.repeat = 1);

	CHECK_EQ(bpf_prog_test_run_opts(bpf_program__fd(program), &opts), 0);
	return opts.retval;
}

static size_t put_eth(uint8_t *frame, uint16_t type)
{
	memset(frame, 2, 12);
	frame[12] = (uint8_t)(type >> 8);
	frame[13] = (uint8_t)type;
	return 14;
}

static size_t put_ip6(uint8_t *at, uint8_t next, const uint8_t dst[16])
{
	memset(at, 0, 40);
	at[0] = 0x60;
	at[6] = next;
	at[7] = 64;
	memcpy(at + 24, dst, 16);
	return 40;
}

static size_t put_udp(uint8_t *at, uint16_t port)
{
	memset(at, 0, 8 + 32);
	at[2] = (uint8_t)(port >> 8);
	at[3] = (uint8_t)port;
	return 8 + 32;
}

static const uint8_t ours[16] = { 0xfd, [15] = 7 }, other[16] = { 0xfd, [15] = 8 };
static const uint8_t usid[16] = { 0xfc, 0, 0, 1, 0x0c, 2, 0, 1, 0, 3 };
static const uint8_t other_usid[16] = { 0xfc, 0, 0, 1, 0x0c, 3, 0, 1, 0, 3 };

TEST(weft_afxdp__takes_our_port_at_our_addresses)
{
	const struct {
		const uint8_t *dst;
		uint8_t next;
		uint16_t port;
		uint32_t want;
	} rows[] = {
		{ ours, 17, 4791, XDP_REDIRECT },
		{ usid, 17, 4791, XDP_REDIRECT },
		{ ours, 17, 4792, XDP_PASS },
		{ ours, 6, 4791, XDP_PASS },
		{ other, 17, 4791, XDP_PASS },
		{ other_usid, 17, 4791, XDP_PASS },
	};
	struct bpf_object *object = load(&rule);
	uint8_t frame[256];

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		size_t n = put_eth(frame, 0x86dd);

		n += put_ip6(frame + n, rows[i].next, rows[i].dst);
		n += put_udp(frame + n, rows[i].port);
		if (verdict(object, frame, n) != rows[i].want)
			CHECK_FAIL("row %zu", i);
	}
	bpf_object__close(object);
}

TEST(weft_afxdp__looks_behind_the_outer_header_and_its_segments)
{
	struct bpf_object *object = load(&rule);

	for (uint8_t words = 0; words <= 4; words++) { /* of a routing header; 0: none */
		uint8_t frame[256];
		size_t n = put_eth(frame, 0x86dd);

		n += put_ip6(frame + n, words ? 43 : 41, usid);
		if (words) {
			memset(frame + n, 0, 8u + 8u * words);
			frame[n] = 41;
			frame[n + 1] = words;
			n += 8u + 8u * words;
		}
		n += put_ip6(frame + n, 17, other); /* whatever: it is for us */
		n += put_udp(frame + n, 4791);
		CHECK_EQ(verdict(object, frame, n), words <= 2 ? XDP_REDIRECT : XDP_PASS);
		frame[n - 40 + 3]++; /* another port */
		CHECK_EQ(verdict(object, frame, n), XDP_PASS);
	}
	bpf_object__close(object);
}

TEST(weft_afxdp__takes_whole_ipv4_packets)
{
	struct bpf_object *object = load(&rule_v4);
	uint8_t frame[256], *ip = frame + 14;
	size_t n = put_eth(frame, 0x0800);

	memset(ip, 0, 20);
	ip[0] = 0x45;
	ip[6] = 0x40; /* must not be cut */
	ip[9] = 17;
	memcpy(ip + 16, (uint8_t[]){ 10, 0, 0, 7 }, 4);
	n += 20;
	n += put_udp(frame + n, 4791);
	CHECK_EQ(verdict(object, frame, n), XDP_REDIRECT);
	ip[6] = 0x20; /* the first piece of something */
	CHECK_EQ(verdict(object, frame, n), XDP_PASS);
	ip[6] = 0x40;
	ip[0] = 0x46; /* with options */
	CHECK_EQ(verdict(object, frame, n), XDP_PASS);
	ip[0] = 0x45;
	ip[19] = 8; /* somebody else's */
	CHECK_EQ(verdict(object, frame, n), XDP_PASS);
	bpf_object__close(object);
}

TEST(weft_afxdp__passes_what_is_cut_short)
{
	struct bpf_object *object = load(&rule);
	uint8_t frame[256];
	size_t n = put_eth(frame, 0x86dd), whole;

	n += put_ip6(frame + n, 41, usid);
	n += put_ip6(frame + n, 17, ours);
	whole = n + 8;
	n += put_udp(frame + n, 4791);
	for (size_t bytes = 14; bytes < n; bytes++)
		CHECK_EQ(verdict(object, frame, bytes), bytes < whole ? XDP_PASS : XDP_REDIRECT);
	bpf_object__close(object);
}
