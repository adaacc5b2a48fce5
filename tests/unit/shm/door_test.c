/* SPDX-License-Identifier: BSD-2-Clause */
/* Callers of every kind at the far end's door, with a clock that the test moves. */
#include "check.h"
#include "shm_local.h"

#include <weft/accept.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { CROWD = 100, SECOND = 1000000000 };

static char dir[] = "/tmp/weft-door-XXXXXX", path[80], error[256];
static struct weft_shm_door *door;
static uint64_t now_ns;

static void begin(void)
{
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
	REQUIRE(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/ports", dir);
	if (weft_shm_door_open(&door, path, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	REQUIRE(door);
	now_ns = SECOND;
}

static void end(void)
{
	weft_shm_door_close(door);
	unlink(path);
	rmdir(dir);
}

static int call(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	memcpy(name.sun_path, path, strlen(path) + 1);
	REQUIRE(fd >= 0 && !connect(fd, (struct sockaddr *)&name, sizeof(name)));
	return fd;
}

static bool is_ready(void)
{
	struct pollfd wait = { .fd = weft_shm_door_fd(door), .events = POLLIN };

	return poll(&wait, 1, 0) == 1;
}

/* As an owner does it: while there is something to do.  How many said hello; none is kept. */
static unsigned serve(char host[32])
{
	struct weft_shm_hello hello;
	unsigned n = 0;
	int fd = -1;

	for (unsigned i = 0; i < 1000 && is_ready(); i++) {
		if (weft_shm_knock(door, now_ns, &hello, &fd) != 1)
			continue;
		memcpy(host, hello.host, 32);
		weft_shm_refuse(fd, "for a test");
		n++;
	}
	CHECK(!is_ready());
	return n;
}

static bool is_hung_up(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

struct dialer {
	pthread_t thread;
	char error[256];
};

static void *dial(void *arg)
{
	struct dialer *d = arg;
	struct weft_shm_hello hello = { .host = "honest" };
	struct weft_shm_pool pool;
	struct weft_shm_link *link;

	(void)weft_shm_dial(path, &hello, &pool, &link, d->error, sizeof(d->error));
	return NULL;
}

/* One who says hello is heard, whoever else stands there. */
static void check_honest(void)
{
	struct dialer d = { 0 };
	char host[32] = "";
	unsigned n = 0;

	REQUIRE(!pthread_create(&d.thread, NULL, dial, &d));
	for (unsigned i = 0; i < 2000 && !n; i++) {
		struct pollfd wait = { .fd = weft_shm_door_fd(door), .events = POLLIN };

		(void)poll(&wait, 1, 1);
		n = serve(host);
	}
	pthread_join(d.thread, NULL);
	CHECK_EQ(n, 1);
	CHECK_STR(host, "honest");
	CHECK(strstr(d.error, "for a test"));
}

TEST(weft_shm_knock__gives_the_silent_two_seconds)
{
	char host[32];

	begin();
	CHECK_EQ(weft_shm_door_next_ns(door), UINT64_MAX);
	int mute = call();

	CHECK_EQ(serve(host), 0); /* at once: nobody is waited for */
	CHECK_EQ(weft_shm_door_next_ns(door), now_ns + 2 * UINT64_C(1000000000));
	check_honest();
	now_ns += 2 * UINT64_C(1000000000) - 1;
	CHECK_EQ(serve(host), 0);
	CHECK(!is_hung_up(mute));
	now_ns += 1;
	struct weft_shm_hello hello;
	int fd;

	CHECK_EQ(weft_shm_knock(door, now_ns, &hello, &fd), 0);
	CHECK(is_hung_up(mute));
	CHECK_EQ(weft_shm_door_turned_away(door), 1);
	CHECK_EQ(weft_shm_door_next_ns(door), UINT64_MAX);
	close(mute);
	end();
}

TEST(weft_shm_knock__hears_who_speaks_late)
{
	struct weft_shm_hello hello = { .host = "h1" };
	char host[32];

	begin();
	int slow = call();

	CHECK_EQ(serve(host), 0);
	now_ns += SECOND;
	CHECK_EQ(send(slow, &hello, 1, 0), 1); /* a byte at a time is no hello */
	CHECK_EQ(serve(host), 0);
	CHECK(is_hung_up(slow));
	close(slow);
	end();
}

TEST(weft_shm_knock__lets_the_oldest_go_for_a_newcomer)
{
	static int crowd[CROWD];
	char host[32];
	unsigned gone = 0;

	begin();
	for (unsigned i = 0; i < CROWD; i++, now_ns++) {
		crowd[i] = call();
		CHECK_EQ(serve(host), 0);
	}
	for (unsigned i = 0; i < CROWD; i++)
		gone += is_hung_up(crowd[i]);
	CHECK_EQ(gone, CROWD - 64);
	CHECK(is_hung_up(crowd[CROWD - 65]) && !is_hung_up(crowd[CROWD - 64]));
	check_honest();
	CHECK_EQ(weft_shm_door_turned_away(door), CROWD - 63);
	for (unsigned i = 0; i < CROWD; i++)
		close(crowd[i]);
	CHECK_EQ(serve(host), 0);
	check_honest();
	end();
}

TEST(weft_shm_knock__naps_without_descriptors)
{
	struct rlimit old, none;
	char host[32];

	begin();
	int caller = call();

	REQUIRE(!getrlimit(RLIMIT_NOFILE, &old));
	none = old;
	none.rlim_cur = (rlim_t)caller + 1;
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &none));
	CHECK_EQ(serve(host), 0); /* nothing is ready any more: nobody spins */
	CHECK_EQ(weft_shm_door_next_ns(door), now_ns + WEFT_ACCEPT_NAP_NS);
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &old));
	now_ns += WEFT_ACCEPT_NAP_NS;
	struct weft_shm_hello hello;
	int fd;

	CHECK_EQ(weft_shm_knock(door, now_ns, &hello, &fd), 0);
	CHECK(weft_shm_door_next_ns(door) > now_ns + SECOND); /* he has been let in */
	check_honest();
	close(caller);
	end();
}

TEST(weft_shm_door_open__says_what_is_wrong)
{
	CHECK_EQ(weft_shm_door_open(&door, "/nowhere/at/all", error, sizeof(error)), -1);
	CHECK(strstr(error, "/nowhere/at/all: No such file"));
}
