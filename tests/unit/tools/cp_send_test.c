/* SPDX-License-Identifier: BSD-2-Clause */
/* The sending end, against the receiving end in another process. */
#define PORT 28521
#define SILENCE_NS UINT64_C(5000000000)
#include "cp_pair.h"

#include <errno.h>
#include <sys/syscall.h>

/* The system's own calls, but late, or after a disk has failed. */
static unsigned late_ms;
static int disk_error;

int fallocate(int fd, int mode, off_t from, off_t bytes)
{
	usleep(late_ms * 1000);
	return (int)syscall(SYS_fallocate, fd, mode, from, bytes);
}

int fsync(int fd)
{
	usleep(late_ms * 1000);
	errno = disk_error;
	return disk_error ? -1 : (int)syscall(SYS_fsync, fd);
}

TEST(cp_send__copies_files_of_any_size)
{
	static const char *const names[] = { "empty", "small", "big" };

	enter();
	for (size_t i = 0; i < WEFT_COUNT(names); i++) {
		pid_t server = serve();
		char in[64], out[64];

		snprintf(in, sizeof(in), "in/%s", names[i]);
		snprintf(out, sizeof(out), "out/%s", names[i]);
		CHECK_EQ(send_file(at(in), names[i]), EXIT_OK);
		CHECK_EQ(status_of(server), EXIT_OK);
		CHECK(same(in, out));
		json_t *sent = report("send.json");

		CHECK_STR(json_string_value(json_object_get(sent, "role")), "sender");
		CHECK(json_is_object(
			json_object_get(json_object_get(sent, "endpoint"), "counters")));
		json_decref(sent);
	}
	CHECK_EQ(files_out(), 3);
}

/* Longer than a line of the set-up may take, and than the sender bears silence. */
TEST(cp_send__waits_as_long_as_the_receivers_disk_works)
{
	enter();
	late_ms = 3000;
	pid_t server = serve();

	late_ms = 0;
	options.silence_ns = UINT64_C(2000000000);
	CHECK_EQ(send_file(at("in/small"), "late"), EXIT_OK);
	options.silence_ns = SILENCE_NS;
	CHECK_EQ(status_of(server), EXIT_OK);
	CHECK(same("in/small", "out/late"));
	remove(at("out/late"));
}

TEST(cp_send__fails_when_the_receivers_disk_does)
{
	enter();
	disk_error = EIO;
	pid_t server = serve();
	unsigned before = files_out();

	disk_error = 0;
	CHECK_EQ(send_file(at("in/small"), "lost"), EXIT_FAILED);
	CHECK_EQ(status_of(server), EXIT_FAILED);
	CHECK_EQ(files_out(), before);
}

TEST(cp_send__tells_what_the_receiver_refuses)
{
	pid_t server = serve();

	CHECK_EQ(send_file(at("in/small"), "../escaped"), EXIT_FAILED);
	CHECK_EQ(send_file(at("in/small"), "no/such/folder"), EXIT_FAILED);
	CHECK_EQ(send_file("/nowhere", "x"), EXIT_FAILED);
	CHECK(access(at("escaped"), F_OK));
	kill(server, SIGKILL);
	status_of(server);
}

TEST(cp_send__ends_with_an_error_when_the_receiver_dies)
{
	char command[300];
	pid_t server = serve();

	/* A large sparse file, so that there is time to die in. */
	snprintf(command, sizeof(command), "truncate -s 2G %s", at("in/huge"));
	REQUIRE(!system(command));
	pid_t sender = start_sending(at("in/huge"), "huge");

	await_transfer(server);
	kill(server, SIGKILL);
	status_of(server);
	CHECK_EQ(status_of(sender), EXIT_FAILED);
	remove(at("in/huge"));
}
