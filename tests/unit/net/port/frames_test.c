/* SPDX-License-Identifier: BSD-2-Clause */
/* Filters as the kernel runs them, on a pair of unix sockets; rules as text. */
#include "port/frames.h"
#include "check.h"

#include <sys/socket.h>
#include <unistd.h>

static const uint8_t addr[16] = { 0xfd, [15] = 7 }, usid[16] = { 0xfc, 0, 0, 1, 0x0c, 2 };

static bool passes(const struct frames *frames, const uint8_t *frame, size_t bytes)
{
	struct sock_filter code[FRAMES_FILTER_MAX];
	struct sock_fprog filter = { .filter = code };
	uint8_t got[256];
	int pair[2];

	filter.len = (unsigned short)frames_filter(frames, code);
	REQUIRE(!socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair));
	REQUIRE(!setsockopt(pair[1], SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)));
	(void)!send(pair[0], frame, bytes, 0);
	ssize_t n = recv(pair[1], got, sizeof(got), 0);

	close(pair[0]);
	close(pair[1]);
	return n == (ssize_t)bytes;
}

/* A frame that is ours; returns its bytes. */
static size_t fill(uint8_t *frame, enum weft_encap_kind kind, bool has_segments)
{
	uint8_t *ip = frame + 14;

	memset(frame, 0, 256);
	frame[12] = 0x86;
	frame[13] = 0xdd;
	ip[6] = 17;
	memcpy(ip + 24, kind == WEFT_ENCAP_STEV ? addr : usid, 16);
	if (kind == WEFT_ENCAP_SRV6 && has_segments) {
		ip[6] = 43;
		ip[40] = 41;
		ip[41] = 2;
		ip += 64;
		ip[6] = 17;
	} else if (kind == WEFT_ENCAP_SRV6) {
		ip[6] = 41;
		ip += 40;
		ip[6] = 17;
	}
	ip[42] = 4791 >> 8;
	ip[43] = 4791 & 0xff;
	return (size_t)(ip + 48 - frame);
}

TEST(frames_filter__passes_ours_and_refuses_it_when_any_byte_that_matters_differs)
{
	static const struct {
		enum weft_encap_kind kind;
		bool has_segments;
		unsigned matter; /* bytes */
	} rows[] = {
		{ WEFT_ENCAP_USID, false, 2 + 1 + 6 + 2 },
		{ WEFT_ENCAP_STEV, false, 2 + 1 + 16 + 2 },
		{ WEFT_ENCAP_SRV6, false, 2 + 1 + 6 + 1 + 2 },
		{ WEFT_ENCAP_SRV6, true, 2 + 1 + 6 + 2 + 1 + 2 },
	};

	for (size_t r = 0; r < WEFT_COUNT(rows); r++) {
		struct frames frames;
		uint8_t frame[256];
		size_t n = fill(frame, rows[r].kind, rows[r].has_segments);
		unsigned refused = 0;

		frames_describe(&frames, rows[r].kind, addr, usid, 4791);
		CHECK(passes(&frames, frame, n));
		CHECK(!passes(&frames, frame, n - 5)); /* no destination port */
		for (size_t i = 0; i < n; i++) {
			frame[i] ^= 0x40;
			refused += !passes(&frames, frame, n);
			frame[i] ^= 0x40;
		}
		CHECK_EQ(refused, rows[r].matter);
	}
}

TEST(frames_nft__says_the_same_in_nftables_words)
{
	char text[FRAMES_NFT_MAX];
	struct frames frames;

	frames_describe(&frames, WEFT_ENCAP_USID, addr, usid, 4791);
	CHECK_EQ(frames.n, 1);
	(void)frames_nft(&frames, 0, text, sizeof(text));
	CHECK_STR(text, "meta protocol ip6 @nh,48,8 0x11 @nh,192,32 0xfc000001 @nh,224,16 0xc02 "
			"@nh,336,16 0x12b7");
	frames_describe(&frames, WEFT_ENCAP_SRV6, addr, usid, 4791);
	CHECK_EQ(frames.n, 2);
	(void)frames_nft(&frames, 1, text, sizeof(text));
	CHECK_STR(text, "meta protocol ip6 @nh,48,8 0x2b @nh,192,32 0xfc000001 @nh,224,16 0xc02 "
			"@nh,320,8 0x29 @nh,328,8 0x2 @nh,560,8 0x11 @nh,848,16 0x12b7");
}
