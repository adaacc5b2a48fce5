/* SPDX-License-Identifier: BSD-2-Clause */
#include "demos.h"

static bool is_up(const char *name)
{
	char names[64][WEFT_TOPO_NAME_BYTES], error[256];
	int n = weft_lab_list(names, 64, error, sizeof(error));

	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

TEST(demo_lab_up__builds_the_fabric_at_the_speed_asked_for)
{
	struct term term;
	struct demo demo;

	demo_up(&demo, &term);
	const struct weft_topo_shape *s = weft_topo_shape(weft_lab_topo(demo.lab));
	CHECK_EQ(s->planes, DEMO_PLANES);
	CHECK_EQ(s->host_bps, demo.rate_bps);

	CHECK(is_up(demo.lab_name));
	char name[WEFT_TOPO_NAME_BYTES];
	snprintf(name, sizeof(name), "%s", demo.lab_name);
	demo_lab_down(&demo);
	CHECK(!is_up(name));
	leave_folder();
}

TEST(demo_lab_up__what_a_killed_demo_leaves_is_taken_down)
{
	char name[WEFT_TOPO_NAME_BYTES];
	struct term term;
	struct demo demo;
	int fds[2];

	need_namespaces();
	(void)use_folder();
	REQUIRE(!pipe(fds));
	fflush(NULL);
	pid_t child = fork();
	if (!child) {
		demo_up(&demo, &term);
		(void)!write(fds[1], "", 1);
		pause();
		_exit(0);
	}
	REQUIRE(child > 0);
	char byte;
	CHECK_EQ(read(fds[0], &byte, 1), 1);
	snprintf(name, sizeof(name), "demo-%d", (int)child);
	CHECK(is_up(name));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	for (int i = 0; i < 500 && is_up(name); i++)
		usleep(10000);
	CHECK(!is_up(name));
	leave_folder();
}
