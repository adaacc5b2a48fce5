/* SPDX-License-Identifier: BSD-2-Clause */
/* Two processes, or two that pretend, meet over a socket in a directory of their own. */
#include "check.h"
#include "shm_local.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char error[256];
static char dir[] = "/tmp/weft-meet-XXXXXX", path[64];

static void leave(void)
{
	unlink(path);
	rmdir(dir);
}

static struct weft_shm_door *open_door(void)
{
	if (!path[0]) {
		REQUIRE(mkdtemp(dir));
		snprintf(path, sizeof(path), "%s/ports", dir);
		atexit(leave);
	}
	struct weft_shm_door *door = NULL;

	if (weft_shm_door_open(&door, path, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	REQUIRE(door);
	return door;
}

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Until somebody has come and said something; the answer of weft_shm_knock(). */
static int await(struct weft_shm_door *door, struct weft_shm_hello *hello, int *fd)
{
	struct pollfd wait = { .fd = weft_shm_door_fd(door), .events = POLLIN };
	int said = 0;

	while (!said && poll(&wait, 1, 5000) == 1)
		said = weft_shm_knock(door, 1, hello, fd);
	REQUIRE(said);
	return said;
}

/* The near end: sends one slot that came by the fill ring, marked, and then waits to be killed. */
static void be_a_host(void)
{
	struct weft_shm_hello hello = { .host = "h3", .udp_port = 77 };
	struct weft_shm_pool pool;
	struct weft_shm_link *link;
	struct weft_shm_desc desc;

	alarm(20);
	if (weft_shm_dial(path, &hello, &pool, &link, error, sizeof(error))) {
		fprintf(stderr, "%s\n", error);
		_exit(1);
	}
	if (hello.udp_port != 99 || weft_shm_planes(link) != 2 || hello.planes != 2)
		_exit(2);
	while (!weft_shm_take(link, WEFT_SHM_FILL, &desc, 1))
		;
	memcpy(weft_shm_packet(&pool, desc.slot), "marked", 6);
	desc.bytes = 6;
	weft_shm_put(link, WEFT_SHM_TX + 1, &desc, 1);
	weft_shm_bell(link);
	pause();
	_exit(3);
}

struct far {
	struct weft_shm_pool pool;
	struct weft_shm_link *link;
};

static void far_open(struct far *far)
{
	REQUIRE(!weft_shm_pool_open(&far->pool, 8, 256, error, sizeof(error)));
	REQUIRE(!weft_shm_link_open(&far->link, &far->pool, 2, 8, error, sizeof(error)));
}

static void far_close(struct far *far)
{
	weft_shm_link_close(far->link);
	weft_shm_pool_close(&far->pool);
}

TEST(weft_shm_dial__hands_over_memory_and_tells_of_death)
{
	struct weft_shm_door *door = open_door();
	int fd, fds_before = open_fds();
	struct weft_shm_hello hello;
	struct weft_shm_desc desc[4] = { { .slot = 5 }, { .slot = 6 } };
	struct far far;
	int ears[WEFT_SHM_EARS_MAX];
	pid_t child = fork();

	if (!child)
		be_a_host();
	REQUIRE(await(door, &hello, &fd) == 1);
	CHECK_STR(hello.host, "h3");
	CHECK_EQ(hello.udp_port, 77);
	far_open(&far);
	hello.udp_port = 99;
	for (uint32_t i = 0; i < WEFT_SHM_EARS_MAX; i++)
		ears[i] = eventfd(0, EFD_CLOEXEC);
	REQUIRE(!weft_shm_ears_lend(far.link, ears, WEFT_SHM_EARS_MAX));
	REQUIRE(!weft_shm_welcome(fd, &hello, far.link));
	CHECK_EQ(weft_shm_wait_fd(far.link), fd);
	CHECK_EQ(weft_shm_put(far.link, WEFT_SHM_FILL, desc, 2), 2);
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	struct pollfd any[WEFT_SHM_EARS_MAX + 1] = { wait };

	for (uint32_t i = 0; i < WEFT_SHM_EARS_MAX; i++)
		any[i + 1] = (struct pollfd){ ears[i], POLLIN, 0 };
	weft_shm_will_sleep(far.link, true);
	if (!weft_shm_waiting(far.link, WEFT_SHM_TX + 1))
		CHECK_EQ(poll(any, WEFT_COUNT(any), 5000), 1);
	weft_shm_will_sleep(far.link, false);
	REQUIRE(weft_shm_take(far.link, WEFT_SHM_TX + 1, desc, 4) == 1);
	CHECK_EQ(desc[0].slot, 5);
	CHECK_EQ(desc[0].plane, 1);
	CHECK_MEM(weft_shm_packet(&far.pool, 5), (const uint8_t *)"marked", 6);
	CHECK(weft_shm_bell_clear(far.link));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK_EQ(poll(&wait, 1, 5000), 1);
	CHECK(!weft_shm_bell_clear(far.link));
	uint32_t slot;

	CHECK_EQ(weft_shm_reclaim(far.link, &slot, 1), 1);
	CHECK_EQ(slot, 6);
	for (uint32_t i = 0; i < WEFT_SHM_EARS_MAX; i++)
		close(ears[i]);
	far_close(&far);
	CHECK_EQ(open_fds(), fds_before);
	weft_shm_door_close(door);
}

TEST(weft_shm_listen__replaces_the_dead_and_no_others)
{
	struct weft_shm_door *door = open_door();
	struct stat st;

	CHECK(!stat(path, &st) && (st.st_mode & 0777) == 0600);
	CHECK_EQ(weft_shm_listen(path, error, sizeof(error)), -1);
	CHECK(strstr(error, path) != NULL);
	weft_shm_door_close(door); /* its file stays */
	door = open_door();
	weft_shm_door_close(door);
	unlink(path);
	FILE *file = fopen(path, "w"); /* somebody's own */

	fclose(file);
	CHECK_EQ(weft_shm_listen(path, error, sizeof(error)), -1);
	CHECK(!stat(path, &st) && S_ISREG(st.st_mode));
	unlink(path);
	char long_path[200];

	memset(long_path, 'x', sizeof(long_path));
	long_path[199] = 0;
	CHECK_EQ(weft_shm_listen(long_path, error, sizeof(error)), -1);
	CHECK_EQ(weft_shm_listen("/nowhere/at/all", error, sizeof(error)), -1);
}

static int knock(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	REQUIRE(!connect(fd, (struct sockaddr *)&name, sizeof(name)));
	return fd;
}

TEST(weft_shm_knock__turns_away_who_talks_nonsense)
{
	struct weft_shm_door *door = open_door();
	int fd = -1, guest, fds_before = open_fds();
	struct weft_shm_hello hello;
	uint8_t bytes[4096];

	CHECK_EQ(weft_shm_knock(door, 1, &hello, &fd), 0);
	guest = knock(); /* hangs up */
	close(guest);
	CHECK_EQ(await(door, &hello, &fd), -1);
	for (size_t n = 1; n < sizeof(bytes); n += n < 300 ? 1 : 997) {
		guest = knock();
		memset(bytes, (int)n, sizeof(bytes));
		CHECK_EQ(send(guest, bytes, n, 0), n);
		CHECK_EQ(await(door, &hello, &fd), -1);
		close(guest);
	}
	CHECK_EQ(open_fds(), fds_before);
	weft_shm_door_close(door);
}

static void dial_and_expect(const char *host, const char *text)
{
	struct weft_shm_hello hello = { 0 };
	struct weft_shm_pool pool;
	struct weft_shm_link *link;
	int before = open_fds();

	snprintf(hello.host, sizeof(hello.host), "%s", host);
	CHECK_EQ(weft_shm_dial(path, &hello, &pool, &link, error, sizeof(error)), -1);
	if (!strstr(error, text))
		CHECK_FAIL("\"%s\" does not say \"%s\"", error, text);
	CHECK_EQ(open_fds(), before);
}

TEST(weft_shm_dial__says_why_not)
{
	struct weft_shm_door *door = open_door();
	pid_t child = fork();

	if (!child) {
		struct weft_shm_hello hello;
		int fd;

		alarm(20);
		for (unsigned i = 0; i < 23; i++) { /* the last twenty are one call's */
			if (await(door, &hello, &fd) != 1)
				continue;
			if (i == 0 || i == 2)
				weft_shm_refuse(fd, hello.host);
			else
				close(fd);
		}
		_exit(0);
	}
	dial_and_expect("no place for h9", "no place for h9");
	dial_and_expect("once more h9", "once more h9"); /* after it was hung up on */
	dial_and_expect("h1", "hung up");
	waitpid(child, NULL, 0);
	weft_shm_door_close(door);
	dial_and_expect("h1", "refused"); /* the kernel's word for a file without a process */
	unlink(path);
	dial_and_expect("h1", "No such file");
}

/* ---- a far end that lies ---- */

/* As message in shm_meet.c. */
struct lie {
	char magic[8];
	uint32_t version, is_refusal;
	struct weft_shm_hello hello;
	uint32_t slots, slot_bytes, entries;
	char why[128];
};

static void answer_with(int fd, const struct lie *lie, const int *fds, unsigned n)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(8 * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { (void *)(uintptr_t)lie, sizeof(*lie) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (n) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
		control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(n * sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.header), fds, n * sizeof(int));
	}
	(void)!sendmsg(fd, &msg, MSG_NOSIGNAL);
}

static const struct lie truth = { .magic = "weftshm",
	.version = 2,
	.hello = { .host = "h1", .planes = 2 },
	.slots = 8,
	.slot_bytes = 256,
	.entries = 8 };

static int sealed(size_t bytes)
{
	int fd = memfd_create("lie", MFD_ALLOW_SEALING);

	if (ftruncate(fd, (off_t)bytes) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
		_exit(9);
	return fd;
}

#define LIES 11u

static void tell_lie(int fd, unsigned which)
{
	struct lie lie = truth;
	int pool = sealed(8 * 256), rings = sealed(link_bytes(2, 8)), small = sealed(64);
	int fds[4] = { pool, rings, small, small };
	unsigned n = 2;

	switch (which) {
	case 0:
		n = 0;
		break;
	case 1:
		n = 1;
		break;
	case 2:
		fds[1] = small;
		break;
	case 3:
		lie.slots = 9;
		break;
	case 4:
		lie.slots = 0;
		break;
	case 5:
		lie.entries = 12;
		break;
	case 6:
		lie.entries = 1u << 31;
		break;
	case 7:
		lie.hello.planes = 16;
		break;
	case 8:
		lie.hello.planes = 0;
		break;
	case 9:
		lie.why[0] = 27;
		break;
	default:
		n = 4; /* two too many: the kernel keeps them; what is left is right but for ... */
		fds[0] = small;
	}
	answer_with(fd, &lie, fds, n);
}

TEST(weft_shm_dial__survives_a_far_end_that_lies)
{
	struct weft_shm_door *door = open_door();
	pid_t child = fork();

	if (!child) {
		alarm(30);
		for (unsigned i = 0; i < LIES; i++) {
			struct weft_shm_hello hello;
			int fd;

			if (await(door, &hello, &fd) == 1)
				tell_lie(fd, i);
		}
		pause();
	}
	for (unsigned i = 0; i < LIES; i++)
		dial_and_expect("h1", i < 2 || i > 8 ? "the " : "memory");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	weft_shm_door_close(door);
}
