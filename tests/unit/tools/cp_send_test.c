/* SPDX-License-Identifier: BSD-2-Clause */
/* The sending end, against the receiving end in another process. */
#define PORT 28521
#define SILENCE_NS UINT64_C(5000000000)
#include "cp_pair.h"

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
