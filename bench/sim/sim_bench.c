/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a simulated packet-hop costs: the 2 MB permutation of docs/simulator.md over one plane of
 * 400 Gb/s, engine and switch at work everywhere, by number of hosts and threads.
 *
 * CPU time of all threads, so that neighbours on the machine show less; beside it what two threads
 * gain in real time, which is worth nothing unless two cores are idle.  128 hosts lie in the cache,
 * 8,192 do not: their ratio is what memory costs.
 *
 * `sim_bench N` runs N hosts once and says only how many packet-hops that were: for callgrind.
 */
#include "../bench.h"

#include <weft/sim.h>

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

struct cost {
	double real_s, cpu_s;
	uint64_t hops, digest;
};

static void fail(const char *what)
{
	fprintf(stderr, "sim_bench: %s\n", what);
	exit(1);
}

static double cpu_now_s(void)
{
	struct rusage u;

	(void)getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static struct weft_topo *open_fabric(uint32_t hosts)
{
	uint32_t t0s = hosts <= 128 ? 8 : hosts <= 1024 ? 32 : 128;
	struct weft_topo *topo;
	char text[512], error[256];
	int n = snprintf(text, sizeof(text),
		"name: bench\nplanes: 1\nt0s: %" PRIu32 "\nt1s: %" PRIu32 "\nhosts: %" PRIu32 "\n"
		"host_links: {speed: 400Gb/s, delay: 1us}\n"
		"core_links: {speed: 400Gb/s, delay: 1us}\n",
		t0s, hosts / t0s, hosts);

	if (weft_topo_open_text(&topo, text, (size_t)n, "bench", error, sizeof(error)))
		fail(error);
	return topo;
}

static struct cost permute(uint32_t hosts, uint32_t threads)
{
	struct weft_topo *topo = open_fabric(hosts);
	struct weft_sim_flow *flows = calloc(hosts, sizeof(*flows));
	struct weft_sim_config config;
	struct weft_sim_totals totals;
	struct weft_sim *sim;
	char error[256];

	if (!flows)
		fail("out of memory");
	weft_sim_config_default(&config);
	config.topo = topo;
	config.threads = threads;
	weft_sim_permutation(topo, 2000000, 1, flows);
	if (weft_sim_open(&sim, &config, flows, hosts, NULL, 0, error, sizeof(error)))
		fail(error);
	double real = bench_now_ns(), cpu = cpu_now_s();

	weft_sim_run(sim, UINT64_C(1000000000), NULL, NULL);
	cpu = cpu_now_s() - cpu;
	real = (bench_now_ns() - real) / 1e9;
	weft_sim_totals(sim, &totals);
	if (totals.flows_done != hosts)
		fail("flows were left over");
	weft_sim_close(sim);
	weft_topo_close(topo);
	free(flows);
	return (struct cost){ real, cpu, totals.packet_hops, totals.digest };
}

/* The quickest of some runs: the others had more of the neighbours' work in them. */
static struct cost best(uint32_t hosts, uint32_t threads, unsigned runs)
{
	struct cost least = permute(hosts, threads);

	while (--runs) {
		struct cost cost = permute(hosts, threads);

		if (cost.digest != least.digest)
			fail("two runs differ");
		least.real_s = cost.real_s < least.real_s ? cost.real_s : least.real_s;
		least.cpu_s = cost.cpu_s < least.cpu_s ? cost.cpu_s : least.cpu_s;
	}
	return least;
}

int main(int argc, char **argv)
{
	static const struct {
		uint32_t hosts;
		unsigned runs;
	} rows[] = { { 128, 20 }, { 1024, 5 }, { 8192, 2 } };

	if (argc > 1) {
		printf("%" PRIu64 " packet-hops\n",
			permute((uint32_t)strtoul(argv[1], NULL, 10), 1).hops);
		return 0;
	}
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cost one = best(rows[i].hosts, 1, rows[i].runs);
		struct cost two = best(rows[i].hosts, 2, rows[i].runs);

		if (one.digest != two.digest)
			fail("one thread and two differ");
		printf("%5" PRIu32 " hosts: %6.2f M packet-hops per CPU second, %5.1f ns each;"
		       " two threads %.2f x as fast\n",
			rows[i].hosts, (double)one.hops / 1e6 / one.cpu_s,
			one.cpu_s * 1e9 / (double)one.hops, one.real_s / two.real_s);
	}
	return 0;
}
