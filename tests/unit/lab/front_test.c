/* SPDX-License-Identifier: BSD-2-Clause */
#include "labs.h"

#include <netdb.h>
#include <stdlib.h>

static char folder[64];

/* A TCP listener in a host's namespace; -1: errno. */
static int listen_at(struct world *world, uint32_t host, const char *address)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(7000) };

	REQUIRE(world_enter(world, host));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	inet_pton(AF_INET, address, &at.sin_addr);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 1)) {
		close(fd);
		return -1;
	}
	return fd;
}

TEST(front_open__lets_every_host_connect_to_every_other)
{
	static const char *const addresses[] = { "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4" };
	struct world world;

	build(&world, TWO_PLANES, WEFT_LAB_RATE_NONE);
	for (uint32_t to = 0; to < 4; to++) {
		struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(7000) };
		int listener = listen_at(&world, to, addresses[to]);

		REQUIRE(listener >= 0);
		inet_pton(AF_INET, addresses[to], &at.sin_addr);
		for (uint32_t from = 0; from < 4; from++) {
			REQUIRE(world_enter(&world, from));
			int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

			CHECK(!connect(fd, (struct sockaddr *)&at, sizeof(at)));
			int peer = accept(listener, NULL, NULL);
			CHECK(peer >= 0);
			close(peer);
			close(fd);
		}
		close(listener);
	}
	CHECK_EQ(listen_at(&world, 1, "10.0.0.1"), -1);
	world_close(&world);
}

TEST(front_export__gives_hosts_their_address)
{
	struct weft_topo *topo = read_fabric(TWO_PLANES);

	CHECK(front_export(topo, 0));
	CHECK_STR(getenv("WEFT_IPV4"), "10.0.0.1");
	CHECK(front_export(topo, 3));
	CHECK_STR(getenv("WEFT_IPV4"), "10.0.0.4");
	CHECK(front_export(topo, 4)); /* a switch */
	CHECK(!getenv("WEFT_IPV4"));
	weft_topo_close(topo);
}

TEST(front_write_names__names_each_host)
{
	struct weft_topo *topo = read_fabric(TWO_PLANES);
	char path[128], text[256] = "";

	snprintf(folder, sizeof(folder), "/tmp/weft-front-XXXXXX");
	REQUIRE(mkdtemp(folder));
	setenv("WEFT_LABS", folder, 1);
	CHECK(!front_write_names("two", topo)); /* no folder of that lab */
	snprintf(path, sizeof(path), "%s/two", folder);
	REQUIRE(!mkdir(path, 0700));
	CHECK(front_write_names("two", topo));
	snprintf(path, sizeof(path), "%s/two/hosts", folder);
	FILE *in = fopen(path, "r");
	REQUIRE(in);
	text[fread(text, 1, sizeof(text) - 1, in)] = 0;
	fclose(in);
	CHECK(strstr(text, "127.0.0.1 localhost\n"));
	CHECK(strstr(text, "\n10.0.0.1 h0\n") && strstr(text, "\n10.0.0.4 h3\n"));
	state_remove("two");
	CHECK(access(path, F_OK));
	weft_topo_close(topo);
	unsetenv("WEFT_LABS");
}

/* In a child: it changes where the process lives. */
static int try_names(void)
{
	struct addrinfo hints = { .ai_family = AF_INET }, *found = NULL;
	char name[32] = "", error[256];

	if (front_use_names("two", "h1", error, sizeof(error)))
		return 77;
	if (gethostname(name, sizeof(name)) || strcmp(name, "h1"))
		return 1;
	if (getaddrinfo("h3", NULL, &hints, &found) || !found)
		return 2;
	const struct sockaddr_in *at = (const struct sockaddr_in *)found->ai_addr;
	int result = at->sin_addr.s_addr == htonl(0x0a000004) ? 0 : 3;
	freeaddrinfo(found);
	return result;
}

TEST(front_use_names__resolves_hosts_for_this_process_only)
{
	struct weft_topo *topo = read_fabric(TWO_PLANES);
	char path[128], before[64] = "", after[64] = "";
	int status = 0;

	need_root_here();
	snprintf(folder, sizeof(folder), "/tmp/weft-front-XXXXXX");
	REQUIRE(mkdtemp(folder));
	setenv("WEFT_LABS", folder, 1);
	snprintf(path, sizeof(path), "%s/two", folder);
	REQUIRE(!mkdir(path, 0700) && front_write_names("two", topo));
	gethostname(before, sizeof(before) - 1);
	pid_t child = fork();
	if (!child)
		_exit(try_names());
	REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status));
	state_remove("two");
	weft_topo_close(topo);
	unsetenv("WEFT_LABS");
	if (WEXITSTATUS(status) == 77)
		SKIP("mounting is forbidden here");
	CHECK_EQ(WEXITSTATUS(status), 0);
	gethostname(after, sizeof(after) - 1);
	CHECK_STR(after, before);
}
