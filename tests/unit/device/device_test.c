/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

#include <sys/resource.h>
#include <sys/wait.h>

TEST(device_leave__says_good_bye_for_a_program_that_does_not)
{
	struct side *s[2];

	pair_open(s, WEFT_DEV_EXTENDED);
	CHECK_EQ(side_recv(s[0], 1, 0, 100), 0);
	CHECK_EQ(side_post(s[1],
			 (struct weft_dev_send){ .op = WEFT_DEV_SEND, .flags = WEFT_DEV_SIGNALED },
			 0, 100),
		0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	CHECK(device_leave(s[0]->dev)); /* right after its last completion */
	CHECK_EQ(s[0]->dev->n_zombies, 0);
	CHECK(!s[0]->qp->eq);
	CHECK_EQ(side_wait(s[1]).status, WEFT_DEV_OK);
	pair_close(s);
}

TEST(weft_dev_open__gives_each_its_number)
{
	struct side *a = side_open(), *b = side_open();

	CHECK(a->dev->number != b->dev->number);
	side_open_qp(a, WEFT_DEV_STRICT, NULL);
	side_open_qp(b, WEFT_DEV_STRICT, NULL);
	CHECK(weft_dev_qp_number(a->qp) >> SLOT_BITS != weft_dev_qp_number(b->qp) >> SLOT_BITS);
	side_close(a);
	side_close(b);
}

TEST(weft_dev_open__says_what_is_wrong)
{
	struct weft_dev_name name = { .name = "x", .planes = "203.0.113.7" };
	struct weft_dev *dev;
	char error[256] = "";

	CHECK_EQ(weft_dev_open(&dev, &name, error, sizeof(error)), EADDRNOTAVAIL);
	CHECK(strstr(error, "address") != NULL);
	snprintf(name.planes, sizeof(name.planes), "%s", "127.0.0.1,not an address");
	CHECK_EQ(weft_dev_open(&dev, &name, error, sizeof(error)), ENODEV);
}

/* Who opens one again later has to know that it is worth it. */
TEST(weft_dev_open__tells_want_of_descriptors_from_a_wrong_configuration)
{
	struct weft_dev_name name = { .name = "x", .planes = "127.0.0.1" };
	int lowest = dup(0), refused = 0, rc = -1;
	struct rlimit before, limit;
	struct weft_dev *dev;
	char error[256] = "";

	REQUIRE(lowest >= 0 && !getrlimit(RLIMIT_NOFILE, &before));
	close(lowest);
	for (rlim_t more = 0; more < 64 && rc; more++) {
		limit = (struct rlimit){ (rlim_t)lowest + more, before.rlim_max };
		REQUIRE(!setrlimit(RLIMIT_NOFILE, &limit));
		rc = weft_dev_open(&dev, &name, error, sizeof(error));
		refused += rc != 0;
		if (rc && rc != EMFILE && rc != ENOMEM)
			CHECK_FAIL("%d descriptors: %s: %s", (int)more, strerror(rc), error);
	}
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &before));
	CHECK_EQ(rc, 0);
	CHECK(refused > 5);
	REQUIRE(!rc && !weft_dev_close(dev));
}

static long resident_kib(void)
{
	long pages = 0, skip = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (file) {
		if (fscanf(file, "%ld %ld", &skip, &pages) != 2)
			pages = 0;
		fclose(file);
	}
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

TEST(weft_dev_open__touches_little_memory)
{
	side_close(side_open());
	long before = resident_kib();
	struct side *s = side_open();

	CHECK(resident_kib() - before < 20 * 1024);
	side_close(s);
}

TEST(weft_dev_close__is_all_a_child_may_do)
{
	struct side *s[2];
	int status = -1;

	pair_open(s, WEFT_DEV_STRICT);
	pid_t child = fork();

	if (!child) {
		struct weft_dev_wc wc;
		struct weft_dev_pd *pd;
		bool ok = weft_dev_pd_open(s[0]->dev, &pd) == ENODEV &&
			  weft_dev_cq_poll(s[0]->cq, &wc, 1) == -1 &&
			  side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8) == ENODEV &&
			  !weft_dev_qp_close(s[0]->qp) && !weft_dev_cq_close(s[0]->cq) &&
			  !weft_dev_close(s[0]->dev);

		_exit(ok ? 0 : 1);
	}
	REQUIRE(child > 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	pair_close(s);
}

TEST(weft_dev_close__leaves_what_was_forgotten_dead)
{
	static struct weft_dev *left; /* stays, since others may hold it */
	struct side *s[2];
	struct weft_dev_wc wc;

	pair_open(s, WEFT_DEV_STRICT);
	left = s[0]->dev;
	CHECK_EQ(weft_dev_close(left), 0);
	CHECK_EQ(weft_dev_cq_poll(s[0]->cq, &wc, 1), -1);
	CHECK_EQ(side_recv(s[0], 1, 0, 0), ENODEV);
	CHECK_EQ(weft_dev_qp_close(s[0]->qp), 0);
	CHECK_EQ(weft_dev_mr_close(s[0]->mr), 0);
	CHECK_EQ(weft_dev_cq_close(s[0]->cq), 0);
	CHECK_EQ(weft_dev_channel_close(s[0]->channel), 0);
	CHECK_EQ(weft_dev_pd_close(s[0]->pd), 0);
	CHECK_EQ(weft_dev_close(s[0]->dev), ENODEV);
	side_close(s[1]);
	free(s[0]);
}
