/* SPDX-License-Identifier: BSD-2-Clause */
#include "cp.h"

#include "check.h"

#include <sched.h>
#include <unistd.h>

TEST(cp_state_json__names_counters_paths_and_events)
{
	static char error[CP_TEXT_BYTES];
	struct weft_live_config config;
	struct weft_live *live = NULL;
	struct cp_events events = { NULL, 0 };

	if (unshare(getuid() ? CLONE_NEWUSER | CLONE_NEWNET : CLONE_NEWNET) ||
		system("ip link set lo up"))
		SKIP("no network namespaces here");
	weft_live_defaults(&config);
	config.planes = "::1,127.0.0.1";
	REQUIRE(!weft_live_open(&live, &config, error, sizeof(error)));
	uint32_t evs[2] = { 0, 1u << 16 }, set;
	uint8_t ports[2] = { 0, 1 };
	struct weft_pathset_attr attr = { .peer = 1, .evs = evs, .ports = ports, .n = 2 };

	REQUIRE(!weft_pathset_open(weft_live_endpoint(live), &attr, &set));
	CHECK_EQ(weft_port_mark(weft_live_endpoint(live), 1, false, weft_clock_now(NULL)), 0);
	cp_events_take(&events, live);
	json_t *root = cp_state_json(live, set, &events);
	json_t *paths = json_object_get(root, "paths"), *list = json_object_get(root, "events");
	bool has_port = false;
	const json_t *one;
	size_t i;

	CHECK_EQ(json_array_size(paths), 2);
	CHECK_STR(json_string_value(json_object_get(json_array_get(paths, 0), "state")), "GOOD");
	CHECK_EQ(json_integer_value(json_object_get(json_array_get(paths, 1), "plane")), 1);
	json_array_foreach(list, i, one)
	{
		if (strcmp(json_string_value(json_object_get(one, "event")), "port"))
			continue;
		has_port = true;
		CHECK_EQ(json_integer_value(json_object_get(one, "port")), 1);
		CHECK_EQ(json_integer_value(json_object_get(one, "up")), 0);
		CHECK(json_integer_value(json_object_get(one, "at_ns")) > 0);
	}
	CHECK(has_port);
	CHECK(json_is_object(json_object_get(root, "counters")));
	json_decref(root);
	json_decref(events.list);
	weft_live_close(live);
}
