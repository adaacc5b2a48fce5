/* SPDX-License-Identifier: BSD-2-Clause */
#include "demos.h"
#include "play_lab.h"

static const char scenario[] =
	"fabric: {planes: 2, hosts: 4, radix: 4, port: 100Gb/s, hop: 600ns}\nstop: 1ms\n"
	"engine: {full: drop, last_hop_marks: false}\nload: [ring-allreduce, ring]\n"
	"faults: [link-down h1.p0 at 30us for 5us, freeze p0.t1-0 at 10us]\n";

struct planned {
	struct weft_scenario *play;
	struct play_lab_run run;
	char error[512];
};

static void plan_text(struct planned *p, const char *text)
{
	*p = (struct planned){ 0 };
	REQUIRE(!weft_scenario_open_text(
		&p->play, text, strlen(text), "s.yaml", "", p->error, sizeof(p->error)));
	REQUIRE(weft_scenario_script_open(&p->run.script, p->play, 1, p->error, sizeof(p->error)));
	p->run.play = p->play;
	p->run.topo = weft_scenario_topo(p->play);
	p->run.l.script = &p->run.script;
	p->run.l.slower = 1000;
	p->run.error = p->error;
	p->run.error_bytes = sizeof(p->error);
}

static void plan(struct planned *p)
{
	plan_text(p, scenario);
}

static void done(struct planned *p)
{
	play_lab_end(&p->run);
	weft_scenario_script_close(&p->run.script);
	weft_scenario_close(p->play);
}

TEST(play_lab_write_fabric__slows_rates_and_delays_down_alike)
{
	struct weft_topo *topo;
	struct planned p;

	plan(&p);
	REQUIRE(play_lab_write_fabric(&p.run, in_folder("fabric.yaml")));
	if (weft_topo_open(&topo, in_folder("fabric.yaml"), p.error, sizeof(p.error)))
		fprintf(stderr, "%s\n", p.error);
	const struct weft_topo_shape *was = weft_topo_shape(p.run.topo);
	const struct weft_topo_shape *is = weft_topo_shape(topo);

	CHECK_EQ(is->host_bps, 100000000);
	CHECK_EQ(is->core_delay_ns, 600000);
	CHECK_EQ(is->base_rtt_ns, 1000 * was->base_rtt_ns);
	CHECK_EQ(is->nodes, was->nodes);
	CHECK_EQ(is->links, was->links);
	CHECK_EQ(is->full, WEFT_FULL_DROP);
	CHECK_EQ(is->marks, WEFT_MARKS_CORE);
	weft_topo_close(topo);
	leave_folder();
	done(&p);
}

TEST(play_lab_write_fabric__keeps_what_the_file_says_of_switches)
{
	struct weft_topo *topo;
	struct planned p;

	plan_text(&p, "fabric:\n  name: said\n  planes: 2\n  t0s: 2\n  t1s: 2\n  hosts: 4\n"
		      "  switch: {ecn_min: 0.125BDP, ecn_max: 0.5BDP, trim: 150KB, "
		      "trim_last_hop: 2BDP, trim_size: 256B, queue: 3MB}\n"
		      "stop: 1ms\nload: [ring]\n");
	REQUIRE(play_lab_write_fabric(&p.run, in_folder("fabric.yaml")));
	if (weft_topo_open(&topo, in_folder("fabric.yaml"), p.error, sizeof(p.error)))
		fprintf(stderr, "%s\n", p.error);
	const struct weft_topo_depths *is = &weft_topo_shape(topo)->depths;

	CHECK_EQ(weft_topo_shape(topo)->full, WEFT_FULL_TRIM);
	CHECK_EQ(weft_topo_shape(topo)->marks, WEFT_MARKS_ALL);
	CHECK_EQ(is->ecn_min.bdp_permille, 125);
	CHECK_EQ(is->ecn_max.bdp_permille, 500);
	CHECK_EQ(is->trim.bytes, 150000);
	CHECK_EQ(is->trim_last_hop.bdp_permille, 2000);
	CHECK_EQ(is->trim_size_bytes, 256);
	CHECK_EQ(is->queue_bytes, 3000000);
	weft_topo_close(topo);
	leave_folder();
	done(&p);
}

TEST(play_lab_plan__finds_pairs_and_sorts_what_breaks)
{
	struct planned p;

	plan(&p);
	REQUIRE(play_lab_plan(&p.run));
	CHECK_EQ(p.run.l.n_pairs, 4); /* both loads go round the same ring */
	REQUIRE(p.run.script.faults.n == 3);
	for (uint32_t i = 1; i < 3; i++)
		CHECK(p.run.script.faults.list[p.run.order[i - 1]].at_ps <=
			p.run.script.faults.list[p.run.order[i]].at_ps);
	/* Steps of the all-reduce wait for what arrives; the second load waits for nothing. */
	CHECK(p.run.l.told[p.run.script.groups[0].first]);
	CHECK(!p.run.l.told[p.run.script.groups[1].first]);
	done(&p);
}
