/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

#include <sys/wait.h>

static struct weft_xdp_config config_of(enum weft_xdp_hook hook)
{
	return (struct weft_xdp_config){ .hook = hook,
		.ports = 2,
		.sids = 4,
		.block = 0xfcbbbb00,
		.mtu_bytes = 1500,
		.dscp = WEFT_DSCP_DEFAULT };
}

TEST(weft_xdp_open__takes_either_hook)
{
	char error[200] = "";
	struct weft_xdp *xdp[2];

	for (unsigned hook = 0; hook < 2; hook++) {
		struct weft_xdp_config config = config_of((enum weft_xdp_hook)hook);

		if (weft_xdp_open(&xdp[hook], &config, error, sizeof(error)))
			SKIP(error);
		CHECK(weft_xdp_program(xdp[hook]) >= 0);
		CHECK_EQ(weft_xdp_drops(xdp[hook], WEFT_SWITCH_DROP_TAIL), 0);
	}
	CHECK(weft_xdp_program(xdp[0]) != weft_xdp_program(xdp[1]));
	weft_xdp_close(xdp[0]);
	weft_xdp_close(xdp[1]);
	weft_xdp_close(NULL);
}

TEST(weft_xdp_open__refuses_what_it_cannot_hold)
{
	struct weft_xdp_config configs[6];
	struct weft_xdp *xdp = NULL;
	char error[200];

	for (unsigned i = 0; i < 6; i++)
		configs[i] = config_of(WEFT_XDP_AT_TC);
	configs[0].ports = 0;
	configs[1].ports = WEFT_XDP_PORTS_MAX + 1;
	configs[2].sids = 0;
	configs[3].sids = 65536;
	configs[4].mtu_bytes = 1279;
	configs[5].prefixes = 65537;
	for (unsigned i = 0; i < 6; i++) {
		CHECK_EQ(weft_xdp_open(&xdp, &configs[i], error, sizeof(error)), -1);
		CHECK_STR(error, "xdp: cannot open a switch of this size: Invalid argument");
	}
	CHECK(!xdp);
}

/* In a process of its own, which gives up its rights. */
TEST(weft_xdp_open__says_what_is_missing)
{
	struct weft_xdp_config config = config_of(WEFT_XDP_AT_TC);
	struct weft_xdp *xdp;
	char error[200] = "";
	int status = 0;

	if (getuid())
		SKIP("needs root, to stop being it");
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (!pid) {
		int code = setgid(65534) || setuid(65534) ||
			   weft_xdp_open(&xdp, &config, error, sizeof(error)) != -1 ||
			   !strstr(error, "xdp: cannot load the program: ") ||
			   !strstr(error, "needs CAP_BPF");

		_exit(code ? 1 : 0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
}

TEST(weft_xdp_test_clock__is_for_tests_only)
{
	struct weft_xdp_config config = config_of(WEFT_XDP_AT_TC);
	struct weft_xdp *xdp;
	char error[200] = "";

	if (weft_xdp_open(&xdp, &config, error, sizeof(error)))
		SKIP(error);
	CHECK_PANICS(weft_xdp_test_clock(xdp, 1));
	weft_xdp_close(xdp);
}
