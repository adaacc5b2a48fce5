/* SPDX-License-Identifier: BSD-2-Clause */
/* The receiving end: what it keeps, what it refuses, when it gives up. */
#define PORT 28522
#define SILENCE_NS UINT64_C(2000000000)
#include "cp_pair.h"

#include <fcntl.h>

TEST(cp_serve__reports_bytes_over_time)
{
	pid_t server = serve();

	CHECK_EQ(send_file(at("in/big"), "big"), EXIT_OK);
	CHECK_EQ(status_of(server), EXIT_OK);
	CHECK(same("in/big", "out/big"));
	json_t *root = report("recv.json"), *placed = json_object_get(root, "placed");
	json_t *bins = json_object_get(placed, "cumulative_bytes");

	CHECK(json_is_null(json_object_get(root, "error")));
	CHECK_EQ(json_integer_value(json_object_get(root, "bytes")), 3000001);
	CHECK(json_array_size(bins) > 0);
	CHECK_EQ(json_integer_value(json_array_get(bins, json_array_size(bins) - 1)), 3000001);
	CHECK(json_is_object(json_object_get(placed, "longest_stall")));
	json_decref(root);
}

/* What had arrived is gone with it. */
static void lose_sender(int how)
{
	pid_t server = serve();
	unsigned before = files_out();
	char command[300];

	snprintf(command, sizeof(command), "truncate -s 40M %s", at("in/huge"));
	REQUIRE(!system(command));
	rate_bps = 200000000; /* 1.6 s: the alarm is faster */
	pid_t sender = start_sending(at("in/huge"), "huge");

	await_transfer(server);
	kill(sender, how);
	int rc = status_of(server);

	kill(sender, SIGKILL);
	status_of(sender);

	CHECK_EQ(rc, EXIT_FAILED);
	CHECK_EQ(files_out(), before);
	remove(at("in/huge"));
	remove(at("out/huge"));
}

/* A number that goes up between being hashed and being sent: only the digest can tell. */
TEST(cp_serve__keeps_nothing_whose_digest_is_another)
{
	pid_t server = serve();
	unsigned before = files_out();
	char command[300];

	snprintf(command, sizeof(command), "truncate -s 20M %s", at("in/moving"));
	REQUIRE(!system(command));
	rate_bps = 200000000;
	pid_t sender = start_sending(at("in/moving"), "moving");
	int fd = open(at("in/moving"), O_WRONLY), rc = 0;

	REQUIRE(fd >= 0);
	for (uint64_t turn = 1; !waitpid(sender, &rc, WNOHANG); turn++) {
		CHECK_EQ(pwrite(fd, &turn, sizeof(turn), 15 << 20), sizeof(turn));
		usleep(200);
	}
	close(fd);
	CHECK(WIFEXITED(rc) && WEXITSTATUS(rc) == EXIT_FAILED);
	CHECK_EQ(status_of(server), EXIT_FAILED);
	CHECK_EQ(files_out(), before);
	remove(at("in/moving"));
}

TEST(cp_serve__gives_a_silent_sender_up)
{
	lose_sender(SIGSTOP);
}

TEST(cp_serve__notices_that_the_sender_has_ended)
{
	uint64_t before = weft_clock_now(NULL);

	options.silence_ns = UINT64_C(3600000000000);
	lose_sender(SIGKILL);
	options.silence_ns = SILENCE_NS;
	CHECK(weft_clock_now(NULL) - before < UINT64_C(5000000000));
}

TEST(cp_serve__has_time_for_the_next_when_one_was_killed)
{
	pid_t server = serve_some(false);
	unsigned before = files_out();
	char command[300];

	snprintf(command, sizeof(command), "truncate -s 40M %s", at("in/huge"));
	REQUIRE(!system(command));
	rate_bps = 200000000;
	for (unsigned i = 0; i < 2; i++) {
		pid_t sender = start_sending(at("in/huge"), "huge");

		await_transfer(server);
		kill(sender, SIGKILL);
		status_of(sender);
	}
	/* It may find the server still waiting for the one before. */
	int rc = EXIT_FAILED;

	for (unsigned i = 0; i < 5 && rc; i++)
		rc = send_file(at("in/big"), "next");
	CHECK_EQ(rc, EXIT_OK);
	CHECK(same("in/big", "out/next"));
	CHECK_EQ(files_out(), before + 1);
	kill(server, SIGKILL);
	status_of(server);
	remove(at("in/huge"));
	remove(at("out/next"));
}

TEST(cp_serve__refuses_a_folder_that_is_not_there)
{
	enter();
	struct weft_live *live = open_live();

	CHECK_EQ(cp_serve(live, &options, 28523, "/nowhere/at/all"), EXIT_FAILED);
	weft_live_close(live);
}
