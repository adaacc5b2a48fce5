/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each server of a live lab, and each kind of caller who keeps it from others by accident or on
 * purpose: while such callers stand there, the next honest one is served within a bound.
 */
#include "labs.h"

#include <dirent.h>
#include <jansson.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <weft/shm.h>
#include <weft/switchd.h>

enum server { PORTS, CONTROL, KEEPER, SERVERS };
enum stranger { SILENT, BYTEWISE, GARBAGE, HALF, MANY, NO_FILES, STRANGERS };
enum { FEW = 8, CROWD = 150, BOUND_MS = 1500, LOOK_MS = 400, TICKS_MAX = 15 };

static const char *const servers[] = { "switch/ports", "switch/control", "sock" };
static const char *const strangers[] = { "silent", "a byte at a time", "garbage", "half a message",
	"very many", "no descriptor left" };
static const size_t whole[] = { 224, 15, sizeof(struct lab_request) }; /* at least */

static char folder[64], file[96], error[256];
static struct weft_lab *lab;
static int fds[CROWD];
static unsigned n_fds;

static void bring_up(void)
{
	struct weft_lab_options options = { .fabric = file };

	need_namespaces();
	snprintf(folder, sizeof(folder), "/tmp/weft-strangers-XXXXXX");
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
}

static void take_down(void)
{
	CHECK(!weft_lab_down(lab, error, sizeof(error)));
	weft_lab_close(lab);
	unlink(file);
	CHECK(!rmdir(folder));
}

static void path_of(enum server server, char path[STATE_PATH_BYTES])
{
	REQUIRE(state_path(path, "two", servers[server]));
}

/* A connection, or -1 where the backlog is full. */
static int call(enum server server)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int type = server == CONTROL ? SOCK_STREAM : SOCK_SEQPACKET;
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	path_of(server, name.sun_path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&name, sizeof(name))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void say(enum server server, enum stranger stranger, int fd)
{
	char bytes[4096];

	memset(bytes, stranger == GARBAGE ? 0xa7 : '{', sizeof(bytes));
	if (stranger == BYTEWISE)
		(void)!send(fd, bytes, 1, MSG_NOSIGNAL);
	if (stranger == GARBAGE)
		(void)!send(fd, bytes, 300, MSG_NOSIGNAL);
	if (stranger == HALF)
		(void)!send(fd, bytes, whole[server] / 2, MSG_NOSIGNAL);
}

static void gather(enum server server, enum stranger stranger)
{
	unsigned n = stranger == MANY ? CROWD : FEW;

	for (n_fds = 0; n_fds < n; n_fds++) {
		for (unsigned i = 0; (fds[n_fds] = call(server)) < 0 && i < 50; i++)
			poll(NULL, 0, 10);
		if (fds[n_fds] < 0)
			break; /* of a server without descriptors the backlog may be full */
		say(server, stranger, fds[n_fds]);
	}
	CHECK(n_fds == n || stranger == NO_FILES);
}

static void scatter(void)
{
	while (n_fds)
		close(fds[--n_fds]);
}

/* ---- the honest one ---- */

static bool ask_ports(void)
{
	struct weft_shm_hello hello = { .host = "h1" };
	struct weft_shm_pool pool;
	struct weft_shm_link *link;
	char path[STATE_PATH_BYTES];

	path_of(PORTS, path);
	if (weft_shm_dial(path, &hello, &pool, &link, error, sizeof(error)))
		return false;
	weft_shm_link_close(link);
	weft_shm_pool_close(&pool);
	return true;
}

static bool ask_control(void)
{
	char dir[STATE_PATH_BYTES];
	json_t *request = json_pack("{s:s}", "op", "hello"), *answer = NULL;

	REQUIRE(state_path(dir, "two", "switch"));
	int rc = weft_switchd_ask(dir, request, &answer, error, sizeof(error));

	json_decref(request);
	json_decref(answer);
	return !rc;
}

static bool ask_keeper(void)
{
	struct weft_lab *other;

	if (weft_lab_open(&other, NULL, error, sizeof(error)))
		return false;
	weft_lab_close(other);
	return true;
}

static void check_honest(enum server server, enum stranger stranger)
{
	static bool (*const asks[])(void) = { ask_ports, ask_control, ask_keeper };
	uint64_t start_ns = clock_now_ns();
	bool ok = asks[server]();
	uint64_t took_ms = (clock_now_ns() - start_ns) / 1000000;

	if (!ok || took_ms > BOUND_MS)
		CHECK_FAIL("%s beside %s: %s, %u ms", servers[server], strangers[stranger],
			ok ? "served" : error, (unsigned)took_ms);
}

/* ---- without descriptors ---- */

static int pid_of(enum server server)
{
	return server == KEEPER ? weft_lab_keeper_pid(lab) : weft_lab_switch_pid(lab);
}

static unsigned long ticks_of(int pid)
{
	unsigned long user = 0, system = 0;
	char path[64], line[512] = "";

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *in = fopen(path, "r");
	if (in && fgets(line, sizeof(line), in) && strrchr(line, ')'))
		(void)sscanf(strrchr(line, ')') + 1,
			" %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
	if (in)
		fclose(in);
	return user + system;
}

/* Above all that it has. */
static rlim_t files_of(int pid)
{
	struct dirent *entry;
	char path[64];
	rlim_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	DIR *dir = opendir(path);
	while (dir && (entry = readdir(dir)) != NULL)
		n = WEFT_MAX(n, (rlim_t)strtoul(entry->d_name, NULL, 10) + 1);
	if (dir)
		closedir(dir);
	return n;
}

/* It has none left, others stand at its door: it does not spin, and goes on when it has some. */
static void check_no_files(enum server server)
{
	struct rlimit old, none;
	int pid = pid_of(server);

	REQUIRE(!prlimit(pid, RLIMIT_NOFILE, NULL, &old));
	none = old;
	poll(NULL, 0, 100); /* those from before have left */
	none.rlim_cur = files_of(pid);
	REQUIRE(none.rlim_cur);
	REQUIRE(!prlimit(pid, RLIMIT_NOFILE, &none, NULL));
	gather(server, NO_FILES);
	unsigned long before = ticks_of(pid);

	poll(NULL, 0, LOOK_MS);
	unsigned long ticks = ticks_of(pid) - before;

	if (ticks > TICKS_MAX) /* of 40 */
		CHECK_FAIL("%s spins without descriptors: %lu ticks", servers[server], ticks);
	REQUIRE(!prlimit(pid, RLIMIT_NOFILE, &old, NULL));
	check_honest(server, NO_FILES);
	scatter();
}

TEST(servers__serve_the_honest_beside_every_stranger)
{
	bring_up();
	for (unsigned server = 0; server < SERVERS; server++) {
		for (unsigned stranger = 0; stranger < NO_FILES; stranger++) {
			gather(server, stranger);
			check_honest(server, stranger);
			for (unsigned i = 0; stranger == BYTEWISE && i < n_fds; i++)
				say(server, stranger, fds[i]);
			check_honest(server, stranger); /* and not only once */
			scatter();
		}
		check_no_files(server);
	}
	take_down();
}
