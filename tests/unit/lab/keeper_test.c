/* SPDX-License-Identifier: BSD-2-Clause */
/* The keeper as its clients' enemy would meet it: killed, terminated, talked to in nonsense. */
#include "labs.h"

#include <signal.h>
#include <sys/un.h>

static char folder[64], file[96], error[256];

static struct weft_lab *bring_up(void)
{
	struct weft_lab_options options = { .fabric = file, .rate_bps = WEFT_LAB_RATE_NONE };
	struct weft_lab *lab = NULL;

	need_namespaces();
	snprintf(folder, sizeof(folder), "/tmp/weft-keeper-XXXXXX");
	REQUIRE(mkdtemp(folder));
	setenv("XDG_RUNTIME_DIR", folder, 1);
	snprintf(file, sizeof(file), "%s/fabric.yaml", folder);
	FILE *out = fopen(file, "w");
	REQUIRE(out && fputs(TWO_PLANES, out) >= 0 && !fclose(out));
	if (weft_lab_up(&options, error, sizeof(error)) ||
		weft_lab_open(&lab, NULL, error, sizeof(error))) {
		CHECK_FAIL("%s", error);
		longjmp(check_leave, 1);
	}
	return lab;
}

/* A keeper is nobody's child: whoever reaps it may take his time, so a zombie counts as gone. */
static bool is_gone(int pid)
{
	char path[64], line[256] = "";

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *stat = fopen(path, "r");
	bool read = stat && fgets(line, sizeof(line), stat);
	if (stat)
		fclose(stat);
	char *end = strrchr(line, ')');
	return !read || !end || end[2] == 'Z' || end[2] == 'X';
}

static void wait_gone(int pid)
{
	for (int i = 0; i < 500 && !is_gone(pid); i++)
		poll(NULL, 0, 10);
	CHECK(is_gone(pid));
}

static void clear_folder(void)
{
	unlink(file);
	CHECK(!rmdir(folder));
}

TEST(keeper_run__leaves_a_state_that_is_swept_away_when_killed)
{
	char names[4][WEFT_TOPO_NAME_BYTES];
	struct weft_lab_fault fault = { .kind = WEFT_LAB_PLANE_DOWN };
	struct weft_lab *lab = bring_up();
	uint32_t id;

	CHECK(!kill(weft_lab_keeper_pid(lab), SIGKILL));
	wait_gone(weft_lab_keeper_pid(lab));
	CHECK_EQ(weft_lab_fault(lab, &fault, &id, error, sizeof(error)), -1);
	CHECK(strstr(error, "keeper does not answer"));
	CHECK_EQ(weft_lab_list(names, 4, error, sizeof(error)), 0);
	weft_lab_close(lab);
	clear_folder();
}

/* Breaking and mending is not put off by what forwards and what sends. */
TEST(keeper_run__comes_before_the_switches_where_it_may)
{
	const struct sched_param least = { .sched_priority = 1 };
	struct sched_param keeper = { 0 }, switches = { 0 };
	pid_t child = fork();
	int status;

	if (!child)
		_exit(sched_setscheduler(0, SCHED_RR, &least) ? 1 : 0);
	REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
	bool is_allowed = !status;
	struct weft_lab *lab = bring_up();

	/* The first answer comes from the loop that it is all about. */
	CHECK(!sched_getparam(weft_lab_keeper_pid(lab), &keeper));
	for (int i = 0; i < 500 && is_allowed && !switches.sched_priority; i++) {
		poll(NULL, 0, 10);
		CHECK(!sched_getparam(weft_lab_switch_pid(lab), &switches));
	}
	/* Where it is not allowed, both do without. */
	CHECK_EQ(switches.sched_priority > 0, is_allowed);
	CHECK_EQ(keeper.sched_priority > switches.sched_priority, is_allowed);
	CHECK(!weft_lab_down(lab, error, sizeof(error)));
	weft_lab_close(lab);
	clear_folder();
}

TEST(keeper_run__stopped_makes_nobody_wait_for_ever)
{
	struct weft_lab *lab = bring_up();
	struct weft_lab_fault fault = { .kind = WEFT_LAB_PLANE_DOWN };
	struct weft_lab_record record;
	int pid = weft_lab_keeper_pid(lab);

	kill(pid, SIGSTOP);
	CHECK_EQ(weft_lab_fault(lab, &fault, NULL, error, sizeof(error)), -1);
	CHECK_STR(error, "the lab's keeper does not answer: not in time");
	kill(pid, SIGCONT);
	/* Nor is a late answer taken for another question's. */
	CHECK_EQ(weft_lab_record(lab, 1, &record, error, sizeof(error)), -1);
	weft_lab_close(lab);
	kill(pid, SIGTERM);
	wait_gone(pid);
	clear_folder();
}

TEST(keeper_run__goes_down_in_order_when_terminated)
{
	struct weft_lab *lab = bring_up();

	CHECK(!kill(weft_lab_keeper_pid(lab), SIGTERM));
	wait_gone(weft_lab_keeper_pid(lab));
	weft_lab_close(lab);
	clear_folder(); /* without anybody having swept */
}

TEST(keeper_run__survives_clients_that_talk_nonsense)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct weft_lab *lab = bring_up();
	struct lab_request request = { .protocol = LAB_PROTOCOL, .op = 77, .arg = UINT32_MAX };
	struct lab_reply reply;
	struct weft_lab_fault list[1];

	CHECK(state_path(address.sun_path, "two", "sock"));
	for (unsigned i = 0; i < 100; i++) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		CHECK(!connect(fd, (struct sockaddr *)&address, sizeof(address)));
		if (i % 4 == 0) {
			CHECK_EQ(send(fd, "rubbish", 7, 0), 7);
			CHECK_EQ(recv(fd, &reply, sizeof(reply), 0), (ssize_t)sizeof(reply));
			CHECK_EQ(reply.result, -1);
		}
		for (uint32_t op = 0; i % 4 == 1 && op < 9; op++) {
			request.op = op == LAB_DOWN ? 77 : op;
			CHECK_EQ(send(fd, &request, sizeof(request), 0), (ssize_t)sizeof(request));
			CHECK(recv(fd, &reply, sizeof(reply), 0) >= (ssize_t)sizeof(reply));
			CHECK(op == LAB_HELLO || op == LAB_FAULTS || op == LAB_FAULT ||
				reply.result == -1);
		}
		close(fd);
	}
	CHECK(weft_lab_faults(lab, list, 1) >= 0);
	CHECK(!weft_lab_down(lab, error, sizeof(error)));
	weft_lab_close(lab);
	clear_folder();
}
