/* SPDX-License-Identifier: BSD-2-Clause */
#include "switches.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static struct place place;
static struct weft_switchd *sw;

static void begin(void)
{
	place_open(&place, SMALL2);
	sw = switch_open(&place, NULL);
}

static void end(void)
{
	weft_switchd_close(sw);
	place_close(&place);
}

static int dial(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", sw->control_path);
	REQUIRE(!connect(fd, (struct sockaddr *)&address, sizeof(address)));
	return fd;
}

/* What has come after some turns; "" when nothing, NULL when he has hung up. */
static const char *hear(int fd)
{
	static char text[65536];
	size_t got = 0;
	ssize_t n;

	for (unsigned i = 0; i < 20; i++) {
		weft_switchd_turn(sw);
		while ((n = recv(fd, text + got, sizeof(text) - 1 - got, MSG_DONTWAIT)) > 0)
			got += (size_t)n;
		if (!n && !got)
			return NULL;
	}
	text[got] = 0;
	return text;
}

static void say(int fd, const char *text)
{
	CHECK_EQ(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

TEST(control_serve__answers_line_by_line)
{
	begin();
	int fd = dial();
	say(fd, "{\"op\":\"st");
	CHECK_STR(hear(fd), "");
	say(fd, "art\"}\n{\"op\":\"link\",\"link\":\"bob.p0\",\"up\":true}\n{}");
	CHECK(!strncmp(
		hear(fd), "{\"error\":\"no operation 'start'; there are: counters freeze", 50));
	say(fd, "\n");
	CHECK_STR(hear(fd), "{\"error\":\"'op' is missing, or no string\",\"ok\":false}\n");
	close(fd);
	end();
}

TEST(control_serve__ends_who_never_ends_his_line)
{
	char text[5000];

	begin();
	int fd = dial();
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	(void)!send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL);
	const char *answer = hear(fd);
	CHECK(answer && strstr(answer, "at most 4095 bytes"));
	CHECK_EQ(sw->clients[0].fd, -1);
	close(fd);
	end();
}

TEST(control_accept__lets_the_oldest_go_for_a_newcomer)
{
	int fds[CLIENTS_MAX + 4];

	begin();
	for (unsigned i = 0; i < WEFT_COUNT(fds); i++) {
		fds[i] = dial();
		turns(sw, 1);
	}
	for (unsigned i = 0; i < 4; i++)
		CHECK(!hear(fds[i]));
	for (unsigned i = 4; i < WEFT_COUNT(fds); i++) {
		say(fds[i], "{\"op\":\"hello\"}\n");
		const char *answer = hear(fds[i]);
		CHECK(answer && strstr(answer, "\"ok\":true"));
	}
	close(fds[4]);
	fds[4] = dial(); /* that place is free again: nobody has to go */
	turns(sw, 2);
	say(fds[5], "{\"op\":\"hello\"}\n");
	CHECK(hear(fds[5]));
	for (unsigned i = 0; i < WEFT_COUNT(fds); i++)
		close(fds[i]);
	end();
}

TEST(control_tidy__ends_who_is_silent_for_ten_seconds)
{
	begin();
	int mute = dial(), slow = dial(), asks = dial();
	turns(sw, 3);
	uint64_t late_ns = real_now_ns() + UINT64_C(10000000000);

	CHECK(control_next_ns(sw) < late_ns);
	usleep(20000);
	say(slow, "{"); /* half a line is as good as none */
	say(asks, "{\"op\":\"hello\"}\n");
	CHECK(hear(asks));
	(void)loop_turn(sw, late_ns);
	CHECK(!hear(mute));
	CHECK(!hear(slow));
	say(asks, "{\"op\":\"hello\"}\n");
	CHECK(hear(asks));
	CHECK(sw->next_late_ns > late_ns && sw->next_late_ns != WEFT_NEVER);
	close(mute);
	close(slow);
	close(asks);
	end();
}

TEST(control_open__is_for_its_user_only)
{
	struct stat st;

	begin();
	REQUIRE(!stat(sw->control_path, &st));
	CHECK_EQ(st.st_mode & 0777, 0600);
	REQUIRE(!stat(sw->ports_path, &st));
	CHECK_EQ(st.st_mode & 0777, 0600);
	end();
}

/* He asks and asks and does not read: he waits, the others do not, and nothing grows. */
TEST(control_serve__does_not_wait_for_who_does_not_read)
{
	static const char ask[] = "{\"op\":\"counters\"}\n";

	begin();
	int slow = dial(), quick = dial();
	for (unsigned i = 0; i < 2000; i++)
		(void)!send(slow, ask, sizeof(ask) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	turns(sw, 50);
	CHECK(sw->clients[0].answer != NULL);
	say(quick, "{\"op\":\"hello\"}\n");
	const char *answer = hear(quick);
	CHECK(answer && strstr(answer, "\"name\":\"small2\""));
	(void)hear(slow); /* reads now: the rest comes */
	answer = hear(slow);
	CHECK(answer && strlen(answer) > 1000);
	close(slow);
	close(quick);
	end();
}

TEST(control_serve__survives_garbage)
{
	struct weft_rng rng;

	begin();
	weft_rng_seed(&rng, 7);
	for (unsigned round = 0; round < 200; round++) {
		uint8_t bytes[600];
		int fd = dial();

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)(weft_rng_below(&rng, 8) ? weft_rng_u64(&rng) : '\n');
		(void)!send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT);
		turns(sw, 1);
		close(fd);
	}
	turns(sw, 5);
	for (unsigned i = 0; i < CLIENTS_MAX; i++)
		CHECK_EQ(sw->clients[i].fd, -1);
	CHECK(!sw->is_stopped);
	end();
}
