/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switch_request - any line as a request to a switch: it is answered, with one line of JSON.
 *
 * The first byte says how much time passes before, so that reboots end between requests; the rest
 * is the line.  No sockets: whatever a line can do to a switch it does through request_answer().
 */
#include "switchd_local.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static struct weft_switchd *make_switch(void)
{
	static const char text[] = "name: f\nplanes: 2\nt0s: 2\nt1s: 2\nhosts: [alice, bob]\n"
				   "host_links: {speed: 1Gb/s, delay: 0ns}\n"
				   "core_links: {speed: 1Gb/s, delay: 0ns}\n";
	static struct weft_switchd sw;
	char error[256];

	WEFT_ASSERT(
		!weft_topo_open_text(&sw.topo, text, sizeof(text) - 1, "f", error, sizeof(error)));
	sw.shape = weft_topo_shape(sw.topo);
	struct weft_network_config config = { .topo = sw.topo, .frames = 64, .seed = 1 };

	WEFT_ASSERT(!weft_network_open(&sw.network, &config, error, sizeof(error)));
	sw.told = calloc(sw.shape->links, sizeof(*sw.told));
	sw.is_off = calloc(sw.shape->nodes, 1);
	sw.is_frozen = calloc(sw.shape->nodes, 1);
	sw.on_again_ns = calloc(sw.shape->nodes, sizeof(*sw.on_again_ns));
	sw.next_on_ns = sw.next_late_ns = WEFT_NEVER;
	WEFT_ASSERT(sw.told && sw.is_off && sw.is_frozen && sw.on_again_ns);
	return &sw;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static struct weft_switchd *sw;
	static uint64_t now_ns;

	if (!sw)
		sw = make_switch();
	if (!len_bytes)
		return 0;
	now_ns += (uint64_t)data[0] * 1000000;
	(void)loop_turn(sw, now_ns);
	char *answer = request_answer(sw, (const char *)data + 1, len_bytes - 1);

	WEFT_ASSERT(answer && strchr(answer, '\n') == answer + strlen(answer) - 1);
	json_t *json = json_loads(answer, 0, NULL);

	WEFT_ASSERT(json_is_boolean(json_object_get(json, "ok")));
	WEFT_ASSERT(json_is_true(json_object_get(json, "ok")) ||
		    json_is_string(json_object_get(json, "error")));
	json_decref(json);
	free(answer);
	weft_network_check(sw->network);
	return 0;
}
