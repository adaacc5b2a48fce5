/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "sim_text.h"

static uint64_t times[1000];
static const struct weft_topo_shape shape = { .name = "tiny", .hosts = 1000, .planes = 2 };

static struct sim_report sample(void)
{
	for (uint32_t i = 0; i < 1000; i++)
		times[i] = (i + 1) * UINT64_C(1000000);
	return (struct sim_report){ .load = "permutation",
		.bytes = 2000,
		.shape = &shape,
		.threads = 2,
		.n_flows = 1001,
		.totals = { .flows_done = 1000,
			.flows_failed = 1,
			.digest = 0xabc,
			.packet_hops = 4000000 },
		.counters = { .tx_data_pkts = 123456, .tx_rtx_pkts = 7 },
		.ideal_ps = 500000000,
		.sorted_ps = times,
		.n = 1000,
		.run_s = 2,
		.cpu_s = 4 };
}

TEST(sim_quantile__is_the_nearest_rank)
{
	struct sim_report r = sample();

	CHECK_EQ(sim_quantile(&r, 0, 1), 1000000);
	CHECK_EQ(sim_quantile(&r, 1, 2), 500000000);
	CHECK_EQ(sim_quantile(&r, 99, 100), 990000000);
	CHECK_EQ(sim_quantile(&r, 999, 1000), 999000000);
	CHECK_EQ(sim_quantile(&r, 1, 1), 1000000000);
	r.n = 0;
	CHECK_EQ(sim_quantile(&r, 1, 2), 0);
}

TEST(sim_report_print__puts_the_ideal_beside_the_times)
{
	static const char *const wanted[] = {
		"tiny: 1,000 hosts, 2 planes, permutation of 2000 bytes\n",
		"slowest  1000.00    2.000\n", "P50       500.00    1.000\n", "ideal     500.00",
		"flows      1,000 of 1,001 done, 1 FAILED", "packets    123,456 data, 7 repeated",
		"digest     0000000000000abc\n",
		"2 threads, 2.00 M packet-hops/s, 1.00 per CPU second"
	};
	struct sim_report r = sample();
	char *text = NULL;
	size_t bytes = 0;
	struct term term = { .out = open_memstream(&text, &bytes), .columns = 80 };

	sim_report_print(&r, &term);
	(void)fclose(term.out);
	for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (!strstr(text, wanted[i]))
			CHECK_FAIL("\"%s\" is not in\n%s", wanted[i], text);
	}
	free(text);
}

TEST(sim_report_json__says_the_same)
{
	struct sim_report r = sample();
	json_t *json = sim_report_json(&r);

	REQUIRE(json);
	CHECK_EQ(json_integer_value(json_object_get(json, "flows")), 1001);
	CHECK_EQ(json_integer_value(json_object_get(json, "failed")), 1);
	CHECK_STR(json_string_value(json_object_get(json, "digest")), "0000000000000abc");
	CHECK_NEAR(json_real_value(json_object_get(json, "slowest_over_ideal")), 2.0, 1e-9);
	CHECK_NEAR(json_real_value(json_object_get(json_object_get(json, "fct_us"), "p99")), 990.0,
		1e-9);
	CHECK_EQ(json_integer_value(json_object_get(json_object_get(json, "packets"), "hops")),
		4000000);
	json_decref(json);
}
