/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PyTorch is a gigabyte, so what stands for mpirun here is a shell script that says what the job
 * would; the lab, its networks and the VXLANs are real.
 */
#include "demos.h"
#include "training.h"

#include <sys/stat.h>

static struct training_run run;
static struct training_plan plan;

/* A program of that name comes first in the PATH from now on. */
static void pretend_mpirun(const char *script)
{
	const char *path = in_folder("mpirun");
	char paths[256];

	write_file(path, script, strlen(script));
	CHECK(!chmod(path, 0755));
	snprintf(paths, sizeof(paths), "%s:/usr/bin:/bin:/usr/sbin:/sbin", demo_folder);
	setenv("PATH", paths, 1);
}

static void go(struct demo *demo, enum training_net net)
{
	struct training_job *job = NULL;

	memset(&run, 0, sizeof(run));
	run.net = net;
	training_plan_fill(&plan, 10);
	REQUIRE(!training_start(demo, "/bin/weft", "/scripts", &plan, &run, &job));
	while (training_read(job, &run, 1000))
		;
	training_stop(demo, job, &run);
}

TEST(training_start__runs_mpirun_and_reads_what_it_says)
{
	struct term term;
	struct demo demo;

	demo_up(&demo, &term);
	demo.folder = use_folder();
	pretend_mpirun("#!/bin/sh\n"
		       "echo \"$@\" >\"$(dirname \"$0\")/args\"\n"
		       "echo 'a warning'\n"
		       "echo '{\"ranks\": 4, \"parameters\": 3, \"at\": 5}'\n"
		       "echo '{\"step\": 0, \"at\": 6, \"ns\": 7, \"loss\": 1.5}'\n"
		       "echo '{\"tx_rtx_pkts\": 3}' >\"$(dirname \"$0\")/stats.jsonl\"\n"
		       "echo '{\"tx_rtx_pkts\": 4}' >>\"$(dirname \"$0\")/stats.jsonl\"\n"
		       "echo '{\"sha256\": \"00\", \"at\": 9}'\n");
	go(&demo, TRAINING_WEFT);
	CHECK(run.done);
	CHECK_EQ(run.n, 1);
	CHECK_EQ(run.again, 7);
	CHECK_STR(run.error, "");
	char args[2048] = "";
	FILE *in = fopen(in_folder("args"), "r");

	REQUIRE(in);
	REQUIRE(fgets(args, sizeof(args), in));
	fclose(in);
	CHECK(strstr(args, "--mca pml ucx"));
	CHECK(strstr(args, "/bin/weft run -- /usr/bin/python3 /scripts/train.py --steps 10"));
	go(&demo, TRAINING_TCP);
	in = fopen(in_folder("args"), "r");
	REQUIRE(in && fgets(args, sizeof(args), in));
	fclose(in);
	CHECK(strstr(args, "btl tcp,self"));
	CHECK(!strstr(args, "/bin/weft run"));
	demo_lab_down(&demo);
}

TEST(training_stop__says_why_there_is_no_end)
{
	struct term term;
	struct demo demo;

	demo_up(&demo, &term);
	demo.folder = use_folder();
	pretend_mpirun("#!/bin/sh\necho 'no such host: h7'\nexit 1\n");
	go(&demo, TRAINING_TCP);
	CHECK(!run.done);
	CHECK_STR(run.error, "the job did not end well: no such host: h7");
	demo_lab_down(&demo);
}

TEST(training_tcp_planes__gives_each_host_an_address_per_plane)
{
	char error[DEMO_TEXT_BYTES] = "";
	struct term term;
	struct demo demo;
	int status;
	/* Until h2 refuses a connection: so it was asked. */
	const char *ask =
		"for n in 1 8; do timeout 20 bash -c 'until (echo >/dev/tcp/10.'$n'.0.3/9) "
		"2>&1 | grep -q refused; do sleep 0.1; done' || exit 1; done";

	demo_up(&demo, &term);
	CHECK_EQ(training_tcp_planes(&demo, error, sizeof(error)), 0);
	CHECK_STR(error, "");
	pid_t pid = run_fork(&demo, 0);

	if (!pid)
		_exit(system(ask) ? 1 : 0);
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	demo_lab_down(&demo);
}
