/* SPDX-License-Identifier: BSD-2-Clause */
#include "switch_show.h"

#include "check.h"

#include <jansson.h>

TEST(switch_prom__prints_families_of_ports_queues_and_drops)
{
	static const char json[] =
		"{\"switches\":[{\"node\":\"p0.t0-0\",\"drops\":{\"no_sid\":7},\"ports\":["
		"{\"port\":0,\"link\":\"h0.p0\",\"up\":true,\"SAI_A\":1,\"SAI_B\":2,\"queues\":["
		"{\"queue\":\"data\",\"depth_bytes\":9,\"SAI_Q\":3}]},"
		"{\"port\":1,\"link\":\"h1.p0\",\"up\":true,\"SAI_A\":4,\"SAI_B\":5,\"queues\":["
		"{\"queue\":\"data\",\"depth_bytes\":9,\"SAI_Q\":18446744073709}]}]}],"
		"\"hosts\":{\"nobody\":6}}";
	json_t *root = json_loads(json, 0, NULL);
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	REQUIRE(root);
	CHECK_EQ(switch_prom(root, out), 0);
	fclose(out);
	CHECK_STR(text, "# TYPE weft_SAI_A_total counter\n"
			"weft_SAI_A_total{port=\"p0.t0-0 h0.p0\"} 1\n"
			"weft_SAI_A_total{port=\"p0.t0-0 h1.p0\"} 4\n"
			"# TYPE weft_SAI_B_total counter\n"
			"weft_SAI_B_total{port=\"p0.t0-0 h0.p0\"} 2\n"
			"weft_SAI_B_total{port=\"p0.t0-0 h1.p0\"} 5\n"
			"# TYPE weft_SAI_Q_total counter\n"
			"weft_SAI_Q_total{queue=\"p0.t0-0 h0.p0 data\"} 3\n"
			"weft_SAI_Q_total{queue=\"p0.t0-0 h1.p0 data\"} 18446744073709\n"
			"# TYPE weft_switch_dropped_no_sid_total counter\n"
			"weft_switch_dropped_no_sid_total{switch=\"p0.t0-0\"} 7\n"
			"# TYPE weft_hosts_dropped_nobody_total counter\n"
			"weft_hosts_dropped_nobody_total 6\n");
	free(text);
	json_decref(root);
}

TEST(switch_prom__refuses_members_that_differ)
{
	json_t *root =
		json_loads("{\"switches\":[{\"node\":\"a\",\"drops\":{\"x\":1},\"ports\":[]},"
			   "{\"node\":\"b\",\"drops\":{\"x\":1,\"y\":2},\"ports\":[]}]}",
			0, NULL);
	FILE *out = fopen("/dev/null", "w");

	REQUIRE(root && out);
	CHECK(switch_prom(root, out) < 0);
	fclose(out);
	json_decref(root);
}
