/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "sim_text.h"

#include <stdlib.h>
#include <string.h>

static const char fabric[] = "name: four\nplanes: 1\nt0s: 2\nt1s: 1\nhosts: 4\n"
			     "host_links: {speed: 400Gb/s, delay: 1us}\n"
			     "core_links: {speed: 400Gb/s, delay: 1us}\n";

TEST(sim_jobs_measure__takes_steps_apart)
{
	char error[512] = "", *text = NULL;
	struct weft_topo *topo;
	struct weft_workload load = { 0 };
	struct weft_workload_spec spec;
	struct weft_sim_config config;
	struct weft_sim *sim;
	struct sim_job jobs[2];
	size_t bytes = 0;

	REQUIRE(!weft_topo_open_text(
		&topo, fabric, sizeof(fabric) - 1, "four", error, sizeof(error)));
	weft_workload_spec_default(&spec);
	REQUIRE(weft_workload_parse(&spec,
		"training,dp=4,dp_bytes=4000,steps=5,forward=10us,"
		"backward=20us,start=3us,name=model",
		error, sizeof(error)));
	REQUIRE(weft_workload_add(&load, topo, &spec, error, sizeof(error)));
	CHECK(!sim_jobs_are_plain(&load));
	weft_workload_spec_default(&spec);
	REQUIRE(weft_workload_add(&load, topo, &spec, error, sizeof(error)));
	weft_sim_config_default(&config);
	config.topo = topo;
	config.paths = config.reply_paths = 1;
	config.edges = load.edges;
	config.n_edges = load.n_edges;
	REQUIRE(!weft_sim_open(&sim, &config, load.flows, load.n, NULL, 0, error, sizeof(error)));
	weft_sim_run(sim, UINT64_C(10000000000), NULL, NULL);
	REQUIRE(sim_jobs_measure(&load, sim, jobs));
	CHECK_EQ(jobs[0].steps, 5);
	CHECK_EQ(jobs[0].done, jobs[0].flows);
	CHECK_EQ(jobs[0].messages, 5 * 4 * 6);
	CHECK_EQ(jobs[1].messages, 4);
	CHECK_EQ(jobs[1].steps, 1);
	CHECK_EQ(jobs[0].start_ps, 3000000);
	/* Steps of 30 us and six messages; together they are the job. */
	CHECK(jobs[0].p50_ps > 30000000 && jobs[0].slowest_ps < 80000000);
	CHECK(jobs[0].p50_ps <= jobs[0].p99_ps && jobs[0].p99_ps <= jobs[0].slowest_ps);
	CHECK(jobs[0].end_ps - 3000000 <= 5 * jobs[0].slowest_ps);
	CHECK(jobs[0].end_ps - 3000000 >= 150000000);

	struct term term = { .out = open_memstream(&text, &bytes), .columns = 100 };

	sim_jobs_print(jobs, 2, &term);
	(void)fclose(term.out);
	CHECK(strstr(text, "model") && strstr(text, "permutation") && strstr(text, "120"));
	free(text);
	json_t *list = sim_jobs_json(jobs, 2);

	CHECK_EQ(json_array_size(list), 2);
	CHECK_EQ(json_integer_value(json_object_get(json_array_get(list, 0), "steps")), 5);
	json_decref(list);
	weft_sim_close(sim);
	weft_workload_close(&load);
	weft_topo_close(topo);
}
