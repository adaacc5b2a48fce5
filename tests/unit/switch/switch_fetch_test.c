/* SPDX-License-Identifier: BSD-2-Clause */
#include "one.h"

static struct one one;

/* With queues empty and full, and for a route that no table has: nothing is changed. */
TEST(weft_switch_fetch__changes_nothing)
{
	one_open(&one, NULL);
	size_t bytes = weft_switch_size(&one.config);
	void *before = malloc(bytes);

	REQUIRE(before);
	for (uint32_t full = 0; full < 2; full++) {
		struct weft_frame frame = one_frame(3, 1500), stray = { .route = UINT64_MAX };
		uint32_t port;

		memcpy(before, one.sw, bytes);
		weft_switch_fetch(one.sw);
		weft_switch_fetch_route(one.sw, &frame);
		weft_switch_fetch_route(one.sw, &stray);
		for (uint32_t i = 0; i < PORTS; i++) {
			weft_switch_fetch_port(one.sw, i);
			weft_switch_fetch_queues(one.sw, i);
		}
		CHECK_MEM(one.sw, before, bytes);
		CHECK_EQ(weft_switch_input(one.sw, &frame, 0, &port), WEFT_SWITCH_DROP_NONE);
	}
	free(before);
	one_close(&one);
}
