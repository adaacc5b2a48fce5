/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_copy - Weft's part of the demo: `weft cp` on two hosts, as anyone would call it.
 *
 * The programs are this one again, started by the same words that a person would type, and what is
 * reported is what they print under --json.  Whether the copy is right is not theirs to say: the
 * parent compares the two files byte by byte.
 */
#include "demo.h"

#include <weft/base.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define LISTEN_US 300000 /* until the receiving program listens */
#define GOODBYE_US 10000
#define GOODBYES_MAX 300

static struct {
	pid_t sender, receiver;
	int sender_status, receiver_status;
} now_running;

static void path_of(const struct demo *demo, char path[PATH_BYTES], const char *name)
{
	(void)snprintf(path, PATH_BYTES, "%s/%s", demo->folder, name);
}

/* In the child: never returns. */
static void become(const struct demo *demo, const char *name, const char *const argv[])
{
	char out[PATH_BYTES], log[PATH_BYTES], file[64];

	(void)snprintf(file, sizeof(file), "%s.json", name);
	path_of(demo, out, file);
	(void)snprintf(file, sizeof(file), "%s.log", name);
	path_of(demo, log, file);
	int out_fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	int log_fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (out_fd >= 0 && log_fd >= 0 && dup2(out_fd, 1) >= 0 && dup2(log_fd, 2) >= 0)
		(void)execv("/proc/self/exe", (char *const *)argv);
	_exit(127);
}

static int start(struct demo *demo, struct demo_run *run)
{
	char folder[PATH_BYTES], to[64], host[WEFT_TOPO_NAME_BYTES], bin[32];

	path_of(demo, folder, "received");
	if (file_folder(folder, run->error, sizeof(run->error)))
		return -1;
	weft_topo_node_name(weft_lab_topo(demo->lab), demo->receiver, host, sizeof(host));
	(void)snprintf(to, sizeof(to), "%s:copy", host);
	(void)snprintf(bin, sizeof(bin), "%u", (unsigned)(DEMO_BIN_NS / 1000000));
	const char *receiver[] = { "weft", "cp", "--serve", folder, "--once", "--json", "--quiet",
		"--bin", bin, NULL };
	const char *sender[] = { "weft", "cp", "--json", "--quiet", demo->file, to, NULL };

	memset(&now_running, 0, sizeof(now_running));
	now_running.receiver = run_fork(demo, demo->receiver);
	if (!now_running.receiver)
		become(demo, "receiver", receiver);
	usleep(LISTEN_US);
	now_running.sender = run_fork(demo, demo->sender);
	if (!now_running.sender)
		become(demo, "sender", sender);
	return 0;
}

/* The last line that a program wrote to its log is why it failed. */
static void last_words(const struct demo *demo, struct demo_run *run, const char *name)
{
	char path[PATH_BYTES], file[64], line[DEMO_TEXT_BYTES];

	(void)snprintf(file, sizeof(file), "%s.log", name);
	path_of(demo, path, file);
	FILE *log = fopen(path, "r");
	while (log && fgets(line, sizeof(line), log)) {
		line[strcspn(line, "\n")] = 0;
		if (*line)
			(void)snprintf(run->error, sizeof(run->error), "%.250s: %.250s", name,
				weft_text_clean(line));
	}
	if (log)
		(void)fclose(log);
}

static int ended(struct demo *demo, struct demo_run *run)
{
	if (run_gone(&now_running.receiver, &now_running.receiver_status) &&
		now_running.receiver_status) {
		last_words(demo, run, "receiver");
		return -1;
	}
	if (!run_gone(&now_running.sender, &now_running.sender_status))
		return 0;
	if (!now_running.sender_status)
		return 1;
	last_words(demo, run, "sender");
	return -1;
}

static json_t *load(const struct demo *demo, const char *name)
{
	char path[PATH_BYTES], file[64];

	(void)snprintf(file, sizeof(file), "%s.json", name);
	path_of(demo, path, file);
	return json_load_file(path, JSON_DISABLE_EOF_CHECK, NULL);
}

static void take_sum(char sum[65], const json_t *json)
{
	const char *text = json_string_value(json_object_get(json, "sha256"));

	(void)snprintf(sum, 65, "%s", text ? text : "");
}

static uint64_t count(const json_t *json, const char *counter)
{
	const json_t *endpoint = json_object_get(json, "endpoint");
	const json_t *counters = json_object_get(endpoint, "counters");

	return (uint64_t)json_integer_value(json_object_get(counters, counter));
}

static int stop(struct demo *demo, struct demo_run *run)
{
	char copy[PATH_BYTES];

	for (int i = 0; i < GOODBYES_MAX && !run->failed &&
			!run_gone(&now_running.receiver, &now_running.receiver_status);
		i++)
		usleep(GOODBYE_US);
	run_kill(&now_running.sender);
	run_kill(&now_running.receiver);
	run->sender = load(demo, "sender");
	run->receiver = load(demo, "receiver");
	take_sum(run->sha256, run->receiver);
	run->retransmits = count(run->sender, "tx_rtx_pkts");
	run->paths =
		json_array_size(json_object_get(json_object_get(run->sender, "endpoint"), "paths"));
	if (series_read(&run->series, json_object_get(run->receiver, "placed")) && !*run->error)
		(void)snprintf(run->error, sizeof(run->error), "the receiver left no report");
	path_of(demo, copy, "received/copy");
	if (!run->failed && !*run->error)
		(void)file_compare(
			demo->file, copy, &run->wrong_bytes, run->error, sizeof(run->error));
	(void)unlink(copy);
	run->done = !run->failed && !*run->error;
	return run->done ? 0 : -1;
}

const struct demo_driver demo_copy = { start, ended, stop };
