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

/* A stranger with the right port and not the secret: turned away, and no harm done. */
TEST(meet_accept__lets_no_stranger_in)
{
	uint8_t handle[WEFT_NCCL_HANDLE_BYTES], junk[256] = { 0 };
	struct sockaddr_in a = { .sin_family = AF_INET };
	void *listener, *sender = NULL, *receiver = NULL;

	ends_init();
	REQUIRE(meet_listen(0, handle, &listener) == WEFT_NCCL_SUCCESS);
	memcpy(&a.sin_port, handle + 6, 2);
	memcpy(&a.sin_addr, handle + 8, 4);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	REQUIRE(!connect(fd, (struct sockaddr *)&a, sizeof(a)));
	CHECK_EQ(send(fd, junk, sizeof(junk), MSG_NOSIGNAL), sizeof(junk));
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
