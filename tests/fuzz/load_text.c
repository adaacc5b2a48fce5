/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * load_text - any bytes as any of the formats of others; what is accepted must be runnable.
 *
 * The first byte chooses the format.  A refusal names file and line; an accepted load is judged by
 * the simulator, as to hosts, sizes, edges and circles, and its bound is worked out, which walks
 * every edge.  Circles are a file's right (a GOAL may deadlock), so they are the simulator's to
 * refuse.
 */
#include <weft/workload.h>

#include <stdlib.h>
#include <string.h>

static const char fabric[] = "name: fuzz\nplanes: 1\nt0s: 4\nt1s: 4\nhosts: 16\n"
			     "host_links: {speed: 400Gb/s, delay: 1us}\n"
			     "core_links: {speed: 400Gb/s, delay: 1us}\n";

/* What the ideal costs: it follows each message, and a flow may be 16 million of them. */
static bool is_small(const struct weft_workload *load)
{
	uint64_t messages = load->n;

	for (uint32_t i = 0; i < load->n; i++)
		messages += load->flows[i].repeats;
	return messages < 100000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void check_topo(const char *text, size_t bytes)
{
	char error[512] = "";
	char *yaml = weft_workload_topo_text("fuzz", text, bytes, error, sizeof(error));
	struct weft_topo *topo;

	WEFT_ASSERT(yaml || !strncmp(error, "fuzz:", 5));
	if (yaml && !weft_topo_open_text(&topo, yaml, strlen(yaml), "yaml", error, sizeof(error)))
		weft_topo_close(topo);
	free(yaml);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static const char *const names[] = { "x.goal", "x.cm", "x.txt" };
	struct weft_workload load = { 0 };
	struct weft_workload_spec spec;
	struct weft_sim_config config;
	struct weft_sim_memory memory;
	struct weft_topo *topo;
	char error[512] = "";

	if (!len_bytes)
		return 0;
	const char *text = (const char *)data + 1, *name = names[data[0] % 3];

	if (data[0] % 4 == 3) {
		check_topo(text, len_bytes - 1);
		return 0;
	}
	WEFT_ASSERT(!weft_topo_open_text(
		&topo, fabric, sizeof(fabric) - 1, "fabric", error, sizeof(error)));
	weft_workload_spec_default(&spec);
	if (weft_workload_add_text(
		    &load, topo, &spec, name, text, len_bytes - 1, error, sizeof(error)) &&
		is_small(&load)) {
		weft_sim_config_default(&config);
		config.topo = topo;
		config.paths = config.reply_paths = 4;
		config.edges = load.edges;
		config.n_edges = load.n_edges;
		if (!weft_sim_estimate(&config, load.flows, load.n, &memory, error, sizeof(error)))
			(void)weft_workload_ideal_ps(&load, topo);
		else
			WEFT_ASSERT(strstr(error, "waits for flows"));
	} else if (!load.n_jobs) {
		WEFT_ASSERT(error[0] && memchr(error, 0, sizeof(error)));
	}
	weft_workload_close(&load);
	weft_topo_close(topo);
	return 0;
}
