/* SPDX-License-Identifier: BSD-2-Clause */
#include "ends.h"

#include <arpa/inet.h>
#include <sys/socket.h>

TEST(meet_accept__has_nobody_yet)
{
	uint8_t handle[WEFT_NCCL_HANDLE_BYTES];
	void *listener, *receiver = &handle;

	ends_init();
	REQUIRE(meet_listen(0, handle, &listener) == WEFT_NCCL_SUCCESS);
	CHECK_EQ(meet_accept(listener, &receiver), WEFT_NCCL_SUCCESS);
	CHECK(!receiver);
	CHECK_EQ(meet_close(listener), WEFT_NCCL_SUCCESS);
}

TEST(meet_connect__joins_both_ends)
{
	struct ends e;

	ends_open(&e);
	CHECK(e.sender->is_sender && !e.receiver->is_sender);
	CHECK_EQ(e.receiver->peer_calls, (uint64_t)(uintptr_t)e.sender->calls);
	ends_close(&e);
}

TEST(meet_connect__refuses_what_is_no_handle)
{
	uint8_t handle[WEFT_NCCL_HANDLE_BYTES] = { 1, 2, 3 };
	void *sender = &handle;

	ends_init();
	CHECK_EQ(meet_connect(0, handle, &sender), WEFT_NCCL_INTERNAL_ERROR);
	CHECK(!sender);
}

TEST(meet_connect__says_that_nobody_listens)
{
	uint8_t handle[WEFT_NCCL_HANDLE_BYTES];
	void *listener, *sender = NULL;
	int result = 0;

	ends_init();
	REQUIRE(meet_listen(0, handle, &listener) == WEFT_NCCL_SUCCESS);
	CHECK_EQ(meet_close(listener), WEFT_NCCL_SUCCESS);
	for (unsigned i = 0; i < TRIES_MAX && !result; i++) {
		result = meet_connect(0, handle, &sender);
		usleep(100);
	}
	CHECK_EQ(result, WEFT_NCCL_REMOTE_ERROR);
	CHECK(!sender);
}

static void turn_away(uint8_t *hello, size_t bytes, bool knows_secret)
{
	uint8_t handle[WEFT_NCCL_HANDLE_BYTES];
	struct sockaddr_in a = { .sin_family = AF_INET };
	void *listener, *sender = NULL, *receiver = NULL;

	ends_init();
	REQUIRE(meet_listen(0, handle, &listener) == WEFT_NCCL_SUCCESS);
	memcpy(&a.sin_port, handle + 6, 2);
	memcpy(&a.sin_addr, handle + 8, 4);
	if (knows_secret)
		memcpy(hello + 8, handle + 24, 8);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	REQUIRE(!connect(fd, (struct sockaddr *)&a, sizeof(a)));
	CHECK_EQ(send(fd, hello, bytes, MSG_NOSIGNAL), bytes);
	for (unsigned i = 0; i < 20; i++) { /* alone at the door */
		CHECK_EQ(meet_accept(listener, &receiver), WEFT_NCCL_SUCCESS);
		REQUIRE(!receiver);
		usleep(1000);
	}
	for (unsigned i = 0; i < TRIES_MAX && (!sender || !receiver); i++) {
		if (!sender)
			CHECK_EQ(meet_connect(0, handle, &sender), WEFT_NCCL_SUCCESS);
		if (!receiver)
			CHECK_EQ(meet_accept(listener, &receiver), WEFT_NCCL_SUCCESS);
		usleep(100);
	}
	CHECK(sender && receiver);
	close(fd);
	comm_close(sender);
	comm_close(receiver);
	CHECK_EQ(meet_close(listener), WEFT_NCCL_SUCCESS);
}

/* Strangers with the right port: turned away, and no harm done to who comes after them. */
TEST(meet_accept__lets_no_stranger_in)
{
	static uint8_t junk[256];
	struct { /* as hello in meet.c */
		uint32_t magic, version;
		uint64_t secret;
		struct comm_end end;
	} guess = { .magic = UINT32_C(0x57656674), .version = 2, .secret = 1, .end = { .qpn = 1 } };

	turn_away(junk, sizeof(junk), false);
	/* Speaks our language, and has not the secret; has it, and speaks another version. */
	turn_away((uint8_t *)&guess, sizeof(guess), false);
	guess.version = 1;
	turn_away((uint8_t *)&guess, sizeof(guess), true);
}
