/* SPDX-License-Identifier: BSD-2-Clause */
#include "switches.h"

#include <jansson.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

static int ask(const char *dir, const char *text, json_t **answer, char error[256])
{
	json_t *request = json_loads(text, 0, NULL);
	int result = weft_switchd_ask(dir, request, answer, error, 256);

	json_decref(request);
	return result;
}

TEST(weft_switchd_ask__says_that_nobody_is_there)
{
	char error[256] = "", dir[200];
	json_t *answer;

	CHECK_EQ(ask("/tmp/no-such-folder", "{\"op\":\"hello\"}", &answer, error), -1);
	CHECK_STR(error, "/tmp/no-such-folder/control: no switch runs there");
	CHECK(!answer);
	memset(dir, 'd', sizeof(dir) - 1);
	dir[sizeof(dir) - 1] = 0;
	CHECK_EQ(ask(dir, "{\"op\":\"hello\"}", &answer, error), -1);
	CHECK(strstr(error, "too long for a socket's path"));
}

/* One answer of whoever has made the folder. */
static pid_t impostor(const char *dir, const char *text)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/control", dir);
	unlink(address.sun_path);
	REQUIRE(!bind(fd, (struct sockaddr *)&address, sizeof(address)) && !listen(fd, 8));
	pid_t child = fork();

	if (!child) {
		int line = accept(fd, NULL, NULL);
		char request[1000];

		alarm(20);
		(void)!read(line, request, sizeof(request));
		(void)!write(line, text, strlen(text));
		_exit(0);
	}
	close(fd);
	return child;
}

TEST(weft_switchd_ask__brings_nothing_that_a_terminal_obeys)
{
	struct place place;
	char error[256] = "";
	json_t *answer;

	place_open(&place, SMALL2);
	pid_t child = impostor(place.dir, "{\"ok\":false,\"error\":\"\\u001b[31mno\\u009b2J\"}\n");

	CHECK_EQ(ask(place.dir, "{\"op\":\"hello\"}", &answer, error), -1);
	CHECK_STR(error, "?[31mno??2J");
	json_decref(answer);
	waitpid(child, NULL, 0);
	child = impostor(place.dir, "{\"ok\":true,\"name\":\"a\\u001bb\",\"list\":[{\"program\":"
				    "\"\\u202etxt\"},[\"\\u0007\",7,null]]}\n");
	REQUIRE(!ask(place.dir, "{\"op\":\"hello\"}", &answer, error));
	char *text = json_dumps(answer, JSON_COMPACT);

	CHECK_STR(text, "{\"ok\":true,\"name\":\"a?b\",\"list\":[{\"program\":\"???txt\"},[\"?\",7,"
			"null]]}");
	free(text);
	json_decref(answer);
	waitpid(child, NULL, 0);
	place_close(&place);
}

/* A refusal that does not wait for the end of a request that no socket's buffer holds. */
TEST(weft_switchd_ask__reads_the_reason_of_who_hangs_up_early)
{
	const size_t bytes = 8u << 20;
	struct place place;
	char error[256] = "", *text = malloc(bytes + 16);
	json_t *answer;

	REQUIRE(text);
	memset(text, 'n', bytes + 16);
	memcpy(text, "{\"op\":\"", 7);
	memcpy(text + bytes, "\"}", 3);
	place_open(&place, SMALL2);
	pid_t child = impostor(place.dir, "{\"ok\":false,\"error\":\"too many ask\"}\n");

	CHECK_EQ(ask(place.dir, text, &answer, error), -1);
	CHECK_STR(error, "too many ask");
	json_decref(answer);
	waitpid(child, NULL, 0);
	place_close(&place);
	free(text);
}

/* Against a real one, in a process of its own. */
TEST(weft_switchd_ask__gets_answers_and_errors)
{
	struct place place;
	char error[256] = "";
	json_t *answer;

	place_open(&place, SMALL2);
	pid_t child = fork();

	if (!child) {
		volatile int stop = 0;

		weft_switchd_run(switch_open(&place, NULL), &stop);
		_exit(0);
	}
	for (unsigned i = 0; i < 500 && ask(place.dir, "{\"op\":\"hello\"}", &answer, error); i++)
		usleep(10000);
	REQUIRE(answer);
	CHECK_STR(json_string_value(json_object_get(answer, "name")), "small2");
	CHECK_EQ(json_integer_value(json_object_get(answer, "switches")), 8);
	json_decref(answer);
	CHECK_EQ(
		ask(place.dir, "{\"op\":\"freeze\",\"node\":\"nope\",\"on\":true}", &answer, error),
		-1);
	CHECK_STR(error, "fabric small2 has no switch named 'nope' (p0.t0-0 is one, or p0.t1-0)");
	CHECK(answer && json_is_false(json_object_get(answer, "ok")));
	json_decref(answer);
	CHECK_EQ(ask(place.dir, "{\"op\":\"counters\"}", &answer, error), 0);
	CHECK_EQ(json_array_size(json_object_get(answer, "switches")), 8);
	json_decref(answer);
	CHECK_EQ(ask(place.dir, "{\"op\":\"stop\"}", &answer, error), 0);
	json_decref(answer);
	int status = -1;
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	place_close(&place);
}
