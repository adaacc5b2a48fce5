/* SPDX-License-Identifier: BSD-2-Clause */
#include "port/mute.h"
#include "../netns.h"

#include <netinet/in.h>
#include <sys/socket.h>

static char error[256];

static void describe(struct frames *frames)
{
	static const uint8_t addr[16] = { [15] = 1 }, none[16];

	frames_describe(frames, WEFT_ENCAP_STEV, addr, none, 4791);
}

/* Whether a datagram to ::1 reaches a socket there. */
static bool is_heard(uint16_t udp_port)
{
	struct sockaddr_in6 name = { .sin6_family = AF_INET6, .sin6_port = htons(udp_port) };
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	char word[8];

	name.sin6_addr.s6_addr[15] = 1;
	REQUIRE(!bind(fd, (struct sockaddr *)&name, sizeof(name)));
	(void)!sendto(fd, "x", 1, 0, (struct sockaddr *)&name, sizeof(name));
	bool heard = recv(fd, word, sizeof(word), 0) == 1;

	close(fd);
	return heard;
}

TEST(mute_open__keeps_the_stack_from_seeing_our_port_until_closed)
{
	struct frames frames;

	netns_enter();
	shell("ip link set lo up");
	describe(&frames);
	CHECK(is_heard(4791));
	struct mute *mute = mute_open(4791, 0, &frames, "lo", error, sizeof(error));

	if (!mute && strstr(error, "not supported"))
		SKIP(error);
	if (!mute)
		CHECK_FAIL("%s", error);
	REQUIRE(mute);
	for (unsigned i = 0; i < 500 && is_heard(4791); i++)
		usleep(10000); /* hooks come into force in their own time */
	CHECK(!is_heard(4791));
	CHECK(is_heard(4792));
	mute_close(mute);
	CHECK(is_heard(4791));
}

TEST(mute_open__says_what_is_wrong_in_one_line)
{
	struct frames frames;

	netns_enter();
	describe(&frames);
	struct mute *mute = mute_open(4791, 0, &frames, "lo", error, sizeof(error)), *other;

	if (!mute)
		SKIP(error);
	CHECK(!mute_open(4791, 0, &frames, "lo", error, sizeof(error))); /* it has an owner */
	CHECK(strstr(error, "nftables") && !strchr(error, '\n'));
	other = mute_open(4791, 1, &frames, "lo", error, sizeof(error));
	CHECK(other != NULL);
	mute_close(other);
	mute_close(mute);
}
