/* SPDX-License-Identifier: BSD-2-Clause */
#include "lines.h"
#include "netns.h"

#include <errno.h>

#define PORT 29615
#define SECOND UINT64_C(1000000000)
enum { CROWD = 150 };

static const uint8_t home[1][16] = { { [10] = 0xff, 0xff, 127, 0, 0, 1 } };
static char error[200];

static struct callers *open_door(void)
{
	netns_enter(); /* where the port is nobody else's */
	(void)shell("ip link set lo up");
	int fd = line_listen(PORT, error, sizeof(error));
	struct callers *callers = fd < 0 ? NULL : callers_open(fd);

	if (!callers)
		CHECK_FAIL("%s", error);
	REQUIRE(callers);
	return callers;
}

static int call(const char *words)
{
	int fd = line_connect(home, 1, PORT, weft_clock_now(NULL) + SECOND);

	REQUIRE(fd >= 0);
	CHECK_EQ(line_send(fd, words, weft_clock_now(NULL) + SECOND), 0);
	return fd;
}

/* What is heard within so long. */
static int hear(struct callers *callers, uint64_t limit_ns, const char **line)
{
	uint64_t now = weft_clock_now(NULL), end = now + limit_ns;
	int fd;

	while ((fd = callers_hear(callers, now, line)) < 0 && now < end) {
		callers_wait(callers, end);
		now = weft_clock_now(NULL);
	}
	return fd;
}

static bool is_hung_up_on(int fd)
{
	char text[2];

	return line_recv(fd, text, sizeof(text), weft_clock_now(NULL) + SECOND / 10) &&
	       errno == ECONNRESET;
}

TEST(callers_hear__takes_the_first_whole_line)
{
	struct callers *callers = open_door();
	int silent = call(""), half = call("half"), whole = call("whole\n"), next = call("next\n");
	const char *line = "";
	int fd = hear(callers, SECOND, &line);

	CHECK_STR(line, "whole");
	CHECK_EQ(line_send(fd, "yes\n", weft_clock_now(NULL) + SECOND), 0);
	line_close(fd);
	fd = hear(callers, SECOND, &line);
	CHECK_STR(line, "next");
	line_close(fd);
	CHECK_EQ(line_send(half, " a line\nand more", weft_clock_now(NULL) + SECOND), 0);
	fd = hear(callers, SECOND, &line);
	CHECK_STR(line, "half a line");
	line_close(fd);
	CHECK_EQ(hear(callers, SECOND / 20, &line), -1);
	line_close(silent);
	line_close(half);
	line_close(whole);
	line_close(next);
	callers_close(callers);
}

TEST(callers_hear__hangs_up_on_who_says_too_little_or_too_much)
{
	static char much[OFFER_TEXT_MAX + 1];
	struct callers *callers = open_door();
	int silent = call(""), wordy;
	uint64_t start = weft_clock_now(NULL);
	const char *line;

	memset(much, 'x', sizeof(much) - 1);
	wordy = call(much);
	CHECK_EQ(hear(callers, SECOND / 10, &line), -1);
	CHECK(is_hung_up_on(wordy));
	CHECK_EQ(callers_hear(callers, start + 3 * SECOND, &line), -1);
	CHECK(is_hung_up_on(silent));
	line_close(silent);
	line_close(wordy);
	callers_close(callers);
}

/* Late is who has said nothing, and not who has waited for us. */
TEST(callers_hear__hears_who_has_waited_longer_than_his_time)
{
	struct callers *callers = open_door();
	int silent = call("");
	const char *line = "";

	CHECK_EQ(hear(callers, SECOND / 50, &line), -1);
	CHECK_EQ(line_send(silent, "there\n", weft_clock_now(NULL) + SECOND), 0);
	poll(NULL, 0, 20);
	int fd = callers_hear(callers, weft_clock_now(NULL) + 10 * SECOND, &line);

	CHECK_STR(line, "there");
	line_close(fd);
	line_close(silent);
	callers_close(callers);
}

TEST(callers_hear__has_room_for_one_more_than_any_crowd)
{
	struct callers *callers = open_door();
	int crowd[CROWD], honest, fd;
	const char *line = "";

	for (unsigned i = 0; i < CROWD; i++) {
		crowd[i] = call("{");
		CHECK_EQ(callers_hear(callers, weft_clock_now(NULL), &line), -1);
	}
	honest = call("honest\n");
	fd = hear(callers, SECOND, &line);
	CHECK_STR(line, "honest");
	line_close(fd);
	CHECK(is_hung_up_on(crowd[0])); /* the first of them had to make room */
	for (unsigned i = 0; i < CROWD; i++)
		line_close(crowd[i]);
	line_close(honest);
	callers_close(callers);
}

TEST(callers_wait__costs_nothing_beside_half_a_line)
{
	struct callers *callers = open_door();
	int half = call("half"), turns = 0;
	uint64_t now = weft_clock_now(NULL), end = now + SECOND / 5;
	const char *line;

	for (; now < end; now = weft_clock_now(NULL), turns++) {
		CHECK_EQ(callers_hear(callers, now, &line), -1);
		callers_wait(callers, end);
	}
	if (turns > 10)
		CHECK_FAIL("%d turns in a fifth of a second", turns);
	line_close(half);
	callers_close(callers);
}
