/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

TEST(weft_config_default__is_possible)
{
	struct weft_config config;

	weft_config_default(&config);
	CHECK(!weft_config_fault(&config));
	CHECK(weft_endpoint_size(&config) > 0);
}

TEST(weft_config_fault__says_what_a_field_may_be)
{
	struct weft_config config;

	weft_config_default(&config);
	config.qps = 3;
	CHECK_STR(weft_config_fault(&config), "qps: a power of two, 1 to 65536");
	config.qps = 4;
	config.window_psns = 200;
	CHECK_STR(weft_config_fault(&config), "window_psns: a multiple of 128, 128 to 32640");
	config.window_psns = 256;
	config.cqs = 0;
	CHECK_STR(weft_config_fault(&config), "cqs: 1 to 65536");
	config.cqs = 1;
	CHECK(!weft_config_fault(&config));
}

TEST(weft_config_fault__names_each_field_out_of_range)
{
	static const struct {
		const char *name;
		size_t offset;
		uint32_t bad[3];
	} rows[] = {
#define ROW(field, ...) { #field, offsetof(struct weft_config, field), { __VA_ARGS__ } }
		ROW(qps, 0, 3, 131072),	       ROW(cqs, 0, 65537, 0),
		ROW(regions, 0, 5, 131072),    ROW(pathsets, 0, 65536, 0),
		ROW(paths_per_set, 0, 513, 0), ROW(ports, 0, 33, 0),
		ROW(sq_depth, 0, 3, 65536),    ROW(rq_depth, 0, 3, 65536),
		ROW(cq_depth, 0, 3, 0),	       ROW(window_psns, 0, 100, 32768),
		ROW(inflight_pkts, 0, 0, 1u << 22), ROW(wimm_max, 0, 3, 8192),
		ROW(answers, 0, 8, 17),	       ROW(events, 0, 3, 0),
		ROW(mtu_bytes, 0, 63, 8196),   ROW(sack_bytes, 0, 0, 0),
		ROW(base_rtt_ns, 0, 99, 2000000000), ROW(probe_ns_min, 0, 0, 0),
		ROW(probe_ns_max, 0, 1, 49999), ROW(proof_answers, 0, 33, 0),
#undef ROW
	};
	for (size_t r = 0; r < WEFT_COUNT(rows); r++) {
		for (size_t b = 0; b < 3; b++) {
			struct weft_config config;

			weft_config_default(&config);
			memcpy((char *)&config + rows[r].offset, &rows[r].bad[b], 4);
			const char *fault = weft_config_fault(&config);

			if (!fault || strncmp(fault, rows[r].name, strlen(rows[r].name)))
				CHECK_FAIL("%s = %u: %s", rows[r].name, rows[r].bad[b],
					fault ? fault : "passes");
			CHECK_EQ(weft_endpoint_size(&config), 0);
		}
	}
}
