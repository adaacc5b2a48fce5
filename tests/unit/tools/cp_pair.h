/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TEST_CP_PAIR_H
#define TEST_CP_PAIR_H
/*
 * cp_pair - a sender and a receiver of `weft cp` in two child processes, over loopback.
 *
 * The includer defines PORT, a TCP port of its own, and SILENCE_NS.
 */
#include "cp.h"

#include "check.h"
#include "commands.h"

#include <sys/wait.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

static char error[CP_TEXT_BYTES], folder[] = "/tmp/weft-cp-test-XXXXXX";
static pid_t owner; /* of the folder: children leave it alone */
static struct cp_options options = { .json = true,
	.quiet = true,
	.once = true,
	.bin_ns = 1000000,
	.silence_ns = SILENCE_NS,
	.chunk_bytes = 65536 };

static uint64_t rate_bps = 8000000000; /* of senders started from now on */

static struct weft_live *open_live(void)
{
	struct weft_live_config config;
	struct weft_live *live = NULL;

	weft_live_defaults(&config);
	config.planes = "::1,127.0.0.1";
	config.timeout_ms = 1500; /* a busy machine may well not run the peer for a third of it */
	config.rate_bps = rate_bps;
	REQUIRE(!weft_live_open(&live, &config, error, sizeof(error)));
	return live;
}

static void leave(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (getpid() == owner && system(command))
		fprintf(stderr, "%s is left behind\n", folder);
}

/* A network of one's own, and a folder with in/ to read from and out/ to receive into. */
static void enter(void)
{
	static bool entered;
	char command[200];

	if (entered)
		return;
	if (unshare(getuid() ? CLONE_NEWUSER | CLONE_NEWNET : CLONE_NEWNET) ||
		system("ip link set lo up"))
		SKIP("no network namespaces here");
	REQUIRE(mkdtemp(folder));
	owner = getpid();
	atexit(leave);
	snprintf(command, sizeof(command),
		"cd %s && mkdir in out && head -c 3000001 /dev/urandom > "
		"in/big && : > in/empty && echo hello > in/small",
		folder);
	REQUIRE(!system(command));
	entered = true;
}

static char *at(const char *path)
{
	static char texts[4][300];
	static unsigned turn;
	char *text = texts[turn++ % 4];

	snprintf(text, sizeof(texts[0]), "%s/%s", folder, path);
	return text;
}

/* Receives one file (or any number) in a child, its report in recv.json. */
static inline pid_t serve_some(bool once)
{
	struct cp_options some = options;
	pid_t child;

	enter();
	child = fork();
	if (child)
		return child;
	alarm(30); /* whatever goes wrong, nobody is left behind */
	if (setjmp(check_leave)) /* a child that fails a REQUIRE does not run the other tests */
		_exit(98);
	if (!freopen(at("recv.json"), "w", stdout))
		_exit(99);
	some.once = once;
	int rc = cp_serve(open_live(), &some, PORT, at("out"));

	fflush(stdout);
	_exit(rc);
}

static inline pid_t serve(void)
{
	return serve_some(true);
}

static inline int status_of(pid_t child)
{
	int status = 0;

	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static bool is_refused_by_nobody(void)
{
	char text[600] = "";
	FILE *log;

	fflush(stderr);
	log = fopen(at("send.err"), "r");
	while (log && fgets(text, sizeof(text), log))
		;
	if (log)
		fclose(log);
	return strstr(text, "nobody answers");
}

/* Sends in a child too, since reports go to standard output; tries until the server is up. */
static inline pid_t start_sending(const char *file, const char *name)
{
	char source[300]; /* at()'s memory is used again */
	pid_t child = fork();
	int rc = EXIT_FAILED;

	if (child)
		return child;
	alarm(30);
	if (setjmp(check_leave))
		_exit(98);
	struct weft_live *live = open_live();

	snprintf(source, sizeof(source), "%s", file);

	if (!freopen(at("send.json"), "w", stdout) || !freopen(at("send.err"), "w", stderr))
		_exit(99);
	for (unsigned i = 0; i < 100; i++) {
		rc = cp_send(live, &options, PORT, source, "127.0.0.1", name);
		if (!rc || !is_refused_by_nobody())
			break;
		usleep(20000);
	}
	fflush(stdout);
	_exit(rc);
}

static inline int send_file(const char *file, const char *name)
{
	return status_of(start_sending(file, name));
}

/* Says where they differ, or why they cannot be compared. */
static inline bool same(const char *a, const char *b)
{
	FILE *one = fopen(at(a), "rb"), *other = fopen(at(b), "rb");
	size_t i = 0;
	int x = EOF, y = EOF;

	if (!one || !other)
		fprintf(stderr, "%s: %m\n", one ? b : a);
	for (; one && other; i++) {
		x = getc(one);
		y = getc(other);
		if (x == EOF || x != y)
			break;
	}
	bool ended = one && other && x == EOF && y == EOF && !ferror(one) && !ferror(other);

	if (one && other && !ended)
		fprintf(stderr, "%s, %s: differ at byte %zu: %d, %d\n", a, b, i, x, y);
	if (one)
		fclose(one);
	if (other)
		fclose(other);
	return ended;
}

static inline unsigned files_out(void)
{
	char command[400], text[32] = "";
	FILE *ls;

	snprintf(command, sizeof(command), "ls -A %s | wc -l", at("out"));
	ls = popen(command, "r");
	REQUIRE(ls && fgets(text, sizeof(text), ls));
	pclose(ls);
	return (unsigned)strtoul(text, NULL, 10);
}

/* Until the server holds the nameless file that a transfer goes to, and a little longer. */
static inline void await_transfer(pid_t server)
{
	for (unsigned i = 0; i < 2000; i++) {
		char path[64], target[300] = "";

		snprintf(path, sizeof(path), "/proc/%d/fd/%u", (int)server, i % 40);
		if (readlink(path, target, sizeof(target) - 1) > 0 && strstr(target, " (deleted)"))
			break;
		usleep(2000);
	}
	usleep(50000);
}

static inline json_t *report(const char *name)
{
	json_error_t why;

	return json_load_file(at(name), 0, &why);
}

#endif
