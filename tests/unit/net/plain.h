/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TEST_PLAIN_H
#define TEST_PLAIN_H
/* plain - a live endpoint with two planes on lo, in a network of the test's own. */
#include "live.h"
#include "netns.h"

static char error[256];

static struct weft_live *open_plain(void)
{
	struct weft_live_config config;
	struct weft_live *live = NULL;

	netns_enter();
	shell("ip link set lo up");
	weft_live_defaults(&config);
	config.planes = "::1,127.0.0.1";
	REQUIRE(!weft_live_open(&live, &config, error, sizeof(error)));
	return live;
}

#endif
