/* SPDX-License-Identifier: BSD-2-Clause */
#include "patients.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];

static void begin(void)
{
	REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends));
}

static void end(void)
{
	close(ends[0]);
	close(ends[1]);
}

static uint64_t soon(void)
{
	return weft_clock_now(NULL) + 50000000;
}

TEST(talk_recv__takes_a_line_and_no_more)
{
	json_t *said = json_pack("{s:i}", "doctor", 1), *heard;

	begin();
	REQUIRE(!talk_send(ends[0], said, soon()));
	heard = talk_recv(ends[1], soon());
	CHECK(json_equal(said, heard));
	json_decref(said);
	json_decref(heard);
	end();
}

TEST(talk_recv__has_a_deadline)
{
	uint64_t began = weft_clock_now(NULL);

	begin();
	REQUIRE(write(ends[0], "{\"doctor\":", 10) == 10);
	CHECK(!talk_recv(ends[1], soon()));
	CHECK_EQ(errno, ETIMEDOUT);
	CHECK(weft_clock_now(NULL) - began >= 40000000);
	end();
}

TEST(talk_recv__refuses_what_is_no_object)
{
	static const char *const lines[] = { "[1]\n", "hello\n", "\n", "{\"a\":1,\"a\":2}\n" };

	for (size_t i = 0; i < WEFT_COUNT(lines); i++) {
		begin();
		REQUIRE(write(ends[0], lines[i], strlen(lines[i])) > 0);
		CHECK(!talk_recv(ends[1], soon()));
		CHECK_EQ(errno, EBADMSG);
		end();
	}
	begin();
	close(ends[0]);
	CHECK(!talk_recv(ends[1], soon()));
	CHECK_EQ(errno, ECONNRESET);
	close(ends[1]);
}

TEST(plane_json__tells_address_name_and_mtu)
{
	make_healthy();
	json_t *planes = plane_json(&facts);
	char *text = json_dumps(planes, JSON_COMPACT);

	CHECK_STR(text, "[{\"addr\":\"10.0.0.1\",\"name\":\"eth0\",\"mtu\":9000},"
			"{\"addr\":\"10.0.1.1\",\"name\":\"eth1\",\"mtu\":9000}]");
	free(text);
	json_decref(planes);
}
