/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include <sys/wait.h>

TEST(mrc_create_context__shares_a_station_per_device)
{
	struct mrc_context *a = fake_open(0), *b;
	struct mrc_context_attr attr = { .mrc_api_version_used = MRC_API_VER(1, 0, 0) };

	b = mrc_create_context(&fake_context, &attr);
	REQUIRE(b);
	CHECK(a->station == b->station);
	CHECK_EQ(a->version, MRC_API_CURRENT_VERSION);
	CHECK_EQ(b->version, MRC_API_VER(1, 0, 0));
	CHECK_EQ(a->station->planes, FAKE_PLANES);
	CHECK(!mrc_destroy_context(a));
	a = mrc_create_context(&fake_context, NULL); /* the library's choice */
	REQUIRE(a);
	CHECK_EQ(a->version, MRC_API_CURRENT_VERSION);
	CHECK(!mrc_destroy_context(a));
	fake_close(b);
}

TEST(mrc_create_context__refuses_others_and_newer_ones)
{
	struct mrc_context_attr attr = { .mrc_api_version_used = MRC_API_VER(1, 0, 2) };
	struct ibv_context foreign = { 0 };

	CHECK(!mrc_create_context(&fake_context, &attr));
	CHECK_EQ(errno, ENOTSUP);
	attr.mrc_api_version_used = MRC_API_CURRENT_VERSION;
	CHECK(!mrc_create_context(&foreign, &attr));
	CHECK_EQ(errno, ENODEV);
	CHECK(!mrc_create_context(NULL, NULL));
	CHECK_EQ(errno, EINVAL);
	attr.mrc_vendor_api_version_used = MRC_API_VER(9, 0, 0);
	CHECK(!mrc_create_context(&fake_context, &attr));
	CHECK_EQ(errno, ENOTSUP);
}

TEST(mrc_destroy_context__is_busy_while_it_has_objects)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_cq *cq = mrc_create_cq(context, 8, NULL, NULL, 0);

	REQUIRE(cq);
	CHECK_EQ(ERRNO_OF(mrc_destroy_context(context)), EBUSY);
	CHECK(!mrc_destroy_cq(cq));
	fake_close(context);
}

TEST(mrc_create_context__leaves_no_file_when_the_program_ends)
{
	struct mrc_context *context = fake_open(0); /* sets the file's name */
	int status = -1;

	fake_close(context);
	pid_t child = fork();

	REQUIRE(child >= 0);
	if (!child)
		exit(fake_open(0) && !access(getenv("WEFT_MRC_PROFILES"), F_OK) ? 0 : 1);
	char path[64];

	snprintf(path, sizeof(path), "/tmp/weft-fake-%d", (int)child);
	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	CHECK(access(path, F_OK));
}

/* Which has no watcher to wait for, and must not count in its parent's name. */
TEST(mrc_destroy_context__is_for_a_child_too)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_cq *evs = mrc_ctl_create_ev_event_cq(context, 8, NULL, NULL, 0);
	struct mrc_cq *cq = mrc_create_cq(context, 8, NULL, NULL, 0);
	int status = -1;

	REQUIRE(evs && cq);
	struct mrc_qp *qp = fake_qp(context, cq);
	struct plant *plant = context->station->plant;

	plant_lock(plant);
	CHECK(plant_use(plant, &plant->evs[0], NULL, 1));
	plant_unlock(plant);
	qp->evs = &plant->evs[0];
	pid_t child = fork();

	REQUIRE(child >= 0);
	if (!child) {
		alarm(30);
		bool fine = fake_rtr(qp) == ENODEV && !mrc_destroy_qp(qp) && !mrc_destroy_cq(evs) &&
			    !mrc_destroy_cq(cq) && !mrc_destroy_context(context);

		plant_lock(plant);
		fine &= plant_evs_users(plant, &plant->evs[0]) == 1;
		plant_unlock(plant);
		_exit(fine ? 0 : 1);
	}
	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	CHECK(!mrc_destroy_qp(qp));
	CHECK_EQ(plant_evs_users(plant, &plant->evs[0]), 0);
	CHECK(!mrc_destroy_cq(evs));
	CHECK(!mrc_destroy_cq(cq));
	fake_close(context);
}
