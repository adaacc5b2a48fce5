/* SPDX-License-Identifier: BSD-2-Clause */
#include "ends.h"

#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <weft/net.h>

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
	struct { /* as hello in nccl_meet.c */
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

/* Where a handle's listener is, as a stranger finds it by scanning ports. */
static int stand_at_the_door(const uint8_t handle[])
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(&a.sin_port, handle + 6, 2);
	memcpy(&a.sin_addr, handle + 8, 4);
	REQUIRE(fd >= 0 && !connect(fd, (struct sockaddr *)&a, sizeof(a)));
	return fd;
}

static uint64_t meet_both(uint8_t handle[], void *listener, uint64_t limit_ns)
{
	void *sender = NULL, *receiver = NULL;
	uint64_t start = weft_clock_now(NULL), took = 0;

	while ((!sender || !receiver) && took < limit_ns) {
		if (!sender)
			REQUIRE(meet_connect(0, handle, &sender) == WEFT_NCCL_SUCCESS);
		if (!receiver)
			REQUIRE(meet_accept(listener, &receiver) == WEFT_NCCL_SUCCESS);
		usleep(100);
		took = weft_clock_now(NULL) - start;
	}
	CHECK(sender && receiver);
	comm_close(sender);
	comm_close(receiver);
	return took;
}

TEST(meet_accept__hears_others_while_some_are_silent)
{
	uint8_t handle[WEFT_NCCL_HANDLE_BYTES];
	void *listener, *receiver;
	int mute[50];

	ends_init();
	REQUIRE(meet_listen(0, handle, &listener) == WEFT_NCCL_SUCCESS);
	for (int n = 0; n < 50; n++) { /* more than there are places, and some in mid-word */
		mute[n] = stand_at_the_door(handle);
		if (n % 3 == 0)
			CHECK_EQ(send(mute[n], handle, 3, MSG_NOSIGNAL), 3);
		if (n == 0 || n == 49)
			CHECK(meet_both(handle, listener, UINT64_C(4000000000)) <
				UINT64_C(4000000000));
		REQUIRE(meet_accept(listener, &receiver) == WEFT_NCCL_SUCCESS && !receiver);
	}
	for (int n = 0; n < 50; n++)
		close(mute[n]);
	CHECK_EQ(meet_close(listener), WEFT_NCCL_SUCCESS);
}

TEST(meet_accept__hangs_up_on_the_silent)
{
	uint8_t handle[WEFT_NCCL_HANDLE_BYTES], c;
	void *listener, *receiver;
	ssize_t n = -1;

	ends_init();
	meet_hello_wait_ns = 50000000;
	REQUIRE(meet_listen(0, handle, &listener) == WEFT_NCCL_SUCCESS);
	int mute = stand_at_the_door(handle);

	for (unsigned i = 0; i < TRIES_MAX && n < 0; i++) {
		REQUIRE(meet_accept(listener, &receiver) == WEFT_NCCL_SUCCESS && !receiver);
		n = recv(mute, &c, 1, MSG_DONTWAIT);
		usleep(100);
	}
	CHECK_EQ(n, 0);
	close(mute);
	meet_hello_wait_ns = UINT64_C(5000000000);
	CHECK_EQ(meet_close(listener), WEFT_NCCL_SUCCESS);
}

/* Pushed out by others before it had its answer: the sender calls again, and says the same. */
TEST(meet_connect__calls_again_when_it_was_hung_up_on)
{
	uint8_t handle[WEFT_NCCL_HANDLE_BYTES], said[2][32];
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t bytes = sizeof(a);
	void *listener, *sender;
	int door = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	ends_init();
	REQUIRE(meet_listen(0, handle, &listener) == WEFT_NCCL_SUCCESS);
	inet_pton(AF_INET, "127.0.0.1", &a.sin_addr);
	REQUIRE(!bind(door, (struct sockaddr *)&a, bytes) && !listen(door, 4));
	REQUIRE(!getsockname(door, (struct sockaddr *)&a, &bytes));
	memcpy(handle + 6, &a.sin_port, 2);
	for (int time = 0; time < 2; time++) {
		int fd = -1;

		for (unsigned i = 0; i < TRIES_MAX && fd < 0; i++) {
			REQUIRE(meet_connect(0, handle, &sender) == WEFT_NCCL_SUCCESS && !sender);
			fd = accept4(door, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
			usleep(100);
		}
		for (unsigned i = 0; i < TRIES_MAX && recv(fd, said[time], 32, 0) < 0; i++) {
			REQUIRE(meet_connect(0, handle, &sender) == WEFT_NCCL_SUCCESS && !sender);
			usleep(100);
		}
		close(fd);
	}
	CHECK_MEM(said[1], said[0], 32);
	close(door); /* now there is nobody any more */
	int result = WEFT_NCCL_SUCCESS;

	for (unsigned i = 0; i < TRIES_MAX && !result; i++) {
		result = meet_connect(0, handle, &sender);
		usleep(100);
	}
	CHECK_EQ(result, WEFT_NCCL_REMOTE_ERROR);
	CHECK(strstr(ends_said, "refused") != NULL);
	CHECK_EQ(meet_close(listener), WEFT_NCCL_SUCCESS);
}

TEST(meet_connect__gives_up_on_one_who_is_silent)
{
	uint8_t handle[WEFT_NCCL_HANDLE_BYTES];
	void *listener, *sender = NULL;
	int result = WEFT_NCCL_SUCCESS;

	ends_init();
	REQUIRE(meet_listen(0, handle, &listener) == WEFT_NCCL_SUCCESS);
	meet_answer_wait_ns = 100000000;
	for (unsigned i = 0; i < TRIES_MAX && !result; i++) { /* TCP's kernel has accepted it */
		result = meet_connect(0, handle, &sender);
		usleep(100);
	}
	meet_answer_wait_ns = UINT64_C(120000000000);
	CHECK_EQ(result, WEFT_NCCL_REMOTE_ERROR);
	CHECK(strstr(ends_said, "127.0.0.1") && strstr(ends_said, "no answer in time"));
	CHECK_EQ(meet_close(listener), WEFT_NCCL_SUCCESS);
}

/* Out of descriptors: who is silent gives his back, and it goes on. */
TEST(meet_accept__takes_descriptors_from_the_silent)
{
	uint8_t handle[WEFT_NCCL_HANDLE_BYTES];
	void *listener, *receiver;
	struct rlimit old, few;
	int mute[4], last;

	ends_init();
	REQUIRE(meet_listen(0, handle, &listener) == WEFT_NCCL_SUCCESS);
	for (int n = 0; n < 4; n++)
		mute[n] = stand_at_the_door(handle);
	REQUIRE(meet_accept(listener, &receiver) == WEFT_NCCL_SUCCESS && !receiver);
	int late = stand_at_the_door(handle);

	REQUIRE(!getrlimit(RLIMIT_NOFILE, &old) && (last = dup(0)) >= 0);
	close(last);
	few = (struct rlimit){ (rlim_t)last, old.rlim_max };
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &few));
	REQUIRE(meet_accept(listener, &receiver) == WEFT_NCCL_SUCCESS && !receiver);
	CHECK(strstr(ends_said, "cannot accept") != NULL);
	*ends_said = 0;
	REQUIRE(meet_accept(listener, &receiver) == WEFT_NCCL_SUCCESS && !receiver);
	CHECK_STR(ends_said, ""); /* there was one to spare */
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &old));
	meet_both(handle, listener, UINT64_C(20000000000));
	for (int n = 0; n < 4; n++)
		close(mute[n]);
	close(late);
	CHECK_EQ(meet_close(listener), WEFT_NCCL_SUCCESS);
}
