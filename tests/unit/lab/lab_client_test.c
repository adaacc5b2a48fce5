/* SPDX-License-Identifier: BSD-2-Clause */
#include "labs.h"

#include <signal.h>

static char folder[64], file[96], error[256];

static void use_folder(const char *text)
{
	need_namespaces();
	snprintf(folder, sizeof(folder), "/tmp/weft-client-XXXXXX");
	REQUIRE(mkdtemp(folder));
	setenv("XDG_RUNTIME_DIR", folder, 1);
	snprintf(file, sizeof(file), "%s/fabric.yaml", folder);
	FILE *out = fopen(file, "w");
	REQUIRE(out && fputs(text, out) >= 0 && !fclose(out));
}

static struct weft_lab *bring_up(void)
{
	struct weft_lab_options options = {
		.fabric = file, .rate_bps = WEFT_LAB_RATE_NONE, .switches = WEFT_LAB_SWITCHES_KERNEL
	};
	struct weft_lab *lab = NULL;

	if (weft_lab_up(&options, error, sizeof(error)) ||
		weft_lab_open(&lab, NULL, error, sizeof(error))) {
		CHECK_FAIL("%s", error);
		longjmp(check_leave, 1);
	}
	return lab;
}

static void clear_folder(void)
{
	unlink(file);
	CHECK(!rmdir(folder)); /* nothing of the lab is left in it */
}

TEST(weft_lab_up__leaves_nothing_when_it_is_killed)
{
	struct weft_lab_options options = { .fabric = file, .rate_bps = WEFT_LAB_RATE_NONE };
	char names[4][WEFT_TOPO_NAME_BYTES], state[96], lock[128];
	int status = 0;

	use_folder(TWO_PLANES);
	snprintf(state, sizeof(state), "%s/weft", folder);
	snprintf(lock, sizeof(lock), "%s/two/lock", state);
	pid_t child = fork();

	if (!child)
		_exit(weft_lab_up(&options, error, sizeof(error)) ? 1 : 0);
	for (int i = 0; i < 2000 && access(lock, F_OK); i++) /* until it has begun */
		poll(NULL, 0, 1);
	kill(child, SIGKILL);
	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK(WIFSIGNALED(status));
	for (int i = 0; i < 500 && !access(state, F_OK); i++) {
		poll(NULL, 0, 10);
		/* sweeps what no keeper holds */
		(void)weft_lab_list(names, 4, error, sizeof(error));
	}
	CHECK(access(state, F_OK));
	clear_folder();
}

TEST(weft_lab_up__opens_lists_and_goes_down)
{
	struct weft_lab_options options = { .name = "two" };
	char names[4][WEFT_TOPO_NAME_BYTES];

	use_folder(TWO_PLANES);
	struct weft_lab *lab = bring_up();
	options.fabric = file;
	CHECK_STR(weft_lab_name(lab), "two");
	CHECK_EQ(weft_topo_shape(weft_lab_topo(lab))->planes, 2);
	CHECK_EQ(weft_lab_switches(lab), WEFT_LAB_SWITCHES_KERNEL);
	CHECK(!access(weft_lab_fabric(lab), R_OK));
	CHECK_EQ(weft_lab_list(names, 4, error, sizeof(error)), 1);
	CHECK_EQ(weft_lab_up(&options, error, sizeof(error)), -1);
	CHECK_STR(error, "a lab named two is up already");
	int pid = weft_lab_keeper_pid(lab);
	CHECK(!kill(pid, 0));
	if (weft_lab_down(lab, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	CHECK_EQ(weft_lab_list(names, 4, error, sizeof(error)), 0);
	weft_lab_close(lab);
	clear_folder();
}

TEST(weft_lab_open__says_what_is_not_there)
{
	struct weft_lab *lab;

	use_folder(TWO_PLANES);
	CHECK_EQ(weft_lab_open(&lab, NULL, error, sizeof(error)), -1);
	CHECK_STR(error, "no lab is up");
	CHECK_EQ(weft_lab_open(&lab, "x", error, sizeof(error)), -1);
	CHECK_STR(error, "no lab named x is up");
	clear_folder();
}

TEST(weft_lab_up__fails_cleanly)
{
	struct weft_lab_options options = { .fabric = file };

	use_folder("name: big\nplanes: 8\nt0s: 512\nt1s: 256\nhosts: 131072\n");
	CHECK_EQ(weft_lab_up(&options, error, sizeof(error)), -1);
	CHECK(strstr(error, "too many for one machine"));
	options.fabric = "/nowhere.yaml";
	CHECK_EQ(weft_lab_up(&options, error, sizeof(error)), -1);
	CHECK_STR(error, "/nowhere.yaml: No such file or directory");
	clear_folder();
}

/* A child inside the lab: sends a packet over every path to a second child, or waits. */
static pid_t run_inside(struct weft_lab *lab, uint32_t node, int ready)
{
	pid_t child = fork();

	if (child)
		return child;
	bool ok = !weft_lab_enter(lab, node, error, sizeof(error)) &&
		  !weft_lab_enter(lab, node, error, sizeof(error)) && /* twice is fine */
		  getenv("WEFT_HOST") && !strcmp(getenv("WEFT_HOST"), "h2") &&
		  getenv("WEFT_FABRIC") && !access("/proc/net/dev", R_OK);
	(void)!write(ready, ok ? "y" : "n", 1);
	for (;;)
		pause();
}

TEST(weft_lab_down__ends_what_runs_inside)
{
	int ready[2], status;
	char byte = 0;

	use_folder(TWO_PLANES);
	struct weft_lab *lab = bring_up();
	REQUIRE(!pipe(ready));
	pid_t child = run_inside(lab, 2, ready[1]);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	CHECK_EQ(byte, 'y');
	CHECK(!weft_lab_down(lab, error, sizeof(error)));
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	weft_lab_close(lab);
	close(ready[0]);
	close(ready[1]);
	clear_folder();
}

TEST(weft_lab_fault__is_listed_counted_and_undone)
{
	struct weft_lab_fault fault = { 0 }, list[4];
	struct weft_lab_end_stats ends[2];
	struct weft_lab_record record;
	uint32_t id, second;

	use_folder(TWO_PLANES);
	struct weft_lab *lab = bring_up();
	CHECK_EQ(weft_lab_faults(lab, list, 4), 0);
	CHECK(!weft_lab_fault_parse(
		weft_lab_topo(lab), "link-down", "h1.p1", &fault, error, sizeof(error)));
	CHECK(!weft_lab_fault(lab, &fault, &id, error, sizeof(error)));
	CHECK(!weft_lab_link_stats(lab, fault.where, ends));
	CHECK(ends[0].up && !ends[0].carrier && !ends[1].up);
	fault.for_ns = 100000000;
	CHECK(!weft_lab_fault(lab, &fault, &second, error, sizeof(error)));
	CHECK_EQ(weft_lab_faults(lab, list, 4), 2);
	CHECK_EQ(list[1].id, second);
	CHECK(list[0].age_ns > 0 && list[0].age_ns < 5000000000);
	CHECK(!weft_lab_record(lab, second, &record, error, sizeof(error)));
	CHECK(record.on_ns && !record.off_ns);
	poll(NULL, 0, 150);
	CHECK_EQ(weft_lab_faults(lab, list, 4), 1);
	CHECK(!weft_lab_record(lab, second, &record, error, sizeof(error)));
	CHECK(record.on_ns < record.lift_ns && record.lift_ns < record.off_ns);
	CHECK_EQ(weft_lab_record(lab, second + 1, &record, error, sizeof(error)), -1);
	CHECK_EQ(list[0].id, id);
	CHECK_EQ(weft_lab_undo(lab, 99, error, sizeof(error)), -1);
	CHECK_STR(error, "no fault number 99");
	CHECK(!weft_lab_undo(lab, 0, error, sizeof(error)));
	CHECK_EQ(weft_lab_faults(lab, list, 4), 0);
	CHECK(!weft_lab_link_stats(lab, fault.where, ends));
	CHECK(ends[0].carrier && ends[1].carrier);
	fault.where = 9999;
	CHECK_EQ(weft_lab_fault(lab, &fault, &id, error, sizeof(error)), -1);
	CHECK_EQ(weft_lab_link_stats(lab, 9999, ends), -1);
	CHECK(!weft_lab_down(lab, error, sizeof(error)));
	weft_lab_close(lab);
	clear_folder();
}

static struct weft_lab *bring_up_soft(void)
{
	struct weft_lab_options options = { .fabric = file, .switches = WEFT_LAB_SWITCHES_SOFT };
	struct weft_lab *lab = NULL;

	if (weft_lab_up(&options, error, sizeof(error)) ||
		weft_lab_open(&lab, NULL, error, sizeof(error))) {
		CHECK_FAIL("%s", error);
		longjmp(check_leave, 1);
	}
	return lab;
}

/* In a child, which stays inside: what it finds of the switches. */
static bool is_switch_told(struct weft_lab *lab, uint32_t node)
{
	pid_t child = fork();
	int status = -1;

	if (!child) {
		char path[256];

		setenv("WEFT_SWITCH", "/stale", 1);
		if (weft_lab_enter(lab, node, error, sizeof(error)) || !getenv("WEFT_SWITCH"))
			_exit(1);
		snprintf(path, sizeof(path), "%s/ports", getenv("WEFT_SWITCH"));
		_exit(access(path, W_OK) != 0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	return status == 0;
}

TEST(weft_lab_enter__tells_where_soft_switches_are)
{
	struct weft_lab_sid sids[4];

	use_folder(TWO_PLANES);
	struct weft_lab *lab = bring_up_soft();
	CHECK_EQ(weft_lab_switches(lab), WEFT_LAB_SWITCHES_SOFT);
	CHECK(weft_lab_switch_pid(lab) > 0);
	CHECK(!access(weft_lab_switch_dir(lab), R_OK));
	CHECK_STR(weft_lab_trouble(lab), "");
	CHECK(is_switch_told(lab, 1));
	CHECK_EQ(weft_lab_enter(lab, 4, error, sizeof(error)), -1);
	CHECK(strstr(error, "soft switches have no network of their own"));
	CHECK_EQ(weft_lab_sids(lab, 4, sids, 4, error, sizeof(error)), 1);
	CHECK_EQ(weft_lab_sids(lab, 0, sids, 4, error, sizeof(error)), -1);
	CHECK(!weft_lab_down(lab, error, sizeof(error)));
	weft_lab_close(lab);
	clear_folder();
}

TEST(weft_lab_enter__forgets_soft_switches_elsewhere)
{
	use_folder(TWO_PLANES);
	struct weft_lab *lab = bring_up();
	CHECK(!is_switch_told(lab, 1));
	CHECK_EQ(weft_lab_switch_pid(lab), 0);
	CHECK(!weft_lab_switch_dir(lab));
	CHECK(!weft_lab_down(lab, error, sizeof(error)));
	weft_lab_close(lab);
	clear_folder();
}

TEST(weft_lab_trouble__tells_that_the_switches_have_ended)
{
	struct weft_lab_end_stats ends[2] = { { .carrier = true } };

	use_folder(TWO_PLANES);
	struct weft_lab *lab = bring_up_soft();
	CHECK(!kill(weft_lab_switch_pid(lab), SIGKILL));
	for (int i = 0; i < 500 && ends[0].carrier; i++) {
		poll(NULL, 0, 10);
		(void)weft_lab_link_stats(lab, 0, ends); /* fails while it dies */
	}
	CHECK(!ends[0].carrier);
	weft_lab_close(lab);
	REQUIRE(!weft_lab_open(&lab, NULL, error, sizeof(error)));
	CHECK_STR(weft_lab_trouble(lab), "killed by SIGKILL");
	CHECK_EQ(weft_lab_switch_pid(lab), 0);
	CHECK(!weft_lab_down(lab, error, sizeof(error)));
	weft_lab_close(lab);
	clear_folder();
}
