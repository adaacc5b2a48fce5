/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

#include <sys/wait.h>

TEST(plant_attach__shows_two_processes_the_same)
{
	struct stage stage;

	stage_open(&stage);
	struct plant *plant = stage.station.plant;
	pid_t child = fork();

	REQUIRE(child >= 0);
	if (child == 0) {
		struct plant_file file;

		if (plant_open(&file, stage.path, false))
			_exit(1);
		struct plant *own = file.plant;

		plant_lock(own);
		struct plant_cc *cc = plant_cc_take(own, 77);

		cc->state = MRC_CTL_PROFILE_OFFLINE;
		plant_use(own, NULL, cc, 1);
		bool counted = plant_cc_users(own, cc) == 1;

		_exit(counted ? 0 : 2); /* with the lock: its owner dies */
	}
	int status = 0;

	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	plant_lock(plant);
	struct plant_cc *cc = plant_cc_find(plant, 77);

	REQUIRE(cc);
	CHECK_EQ(plant_cc_users(plant, cc), 0); /* the child is dead, its QPs are gone */
	plant_unlock(plant);
	plant_lock(plant);
	plant_unlock(plant);
	stage_close(&stage);
}

TEST(plant_take__fills_slots_and_ends)
{
	struct stage stage;

	stage_open(&stage);
	struct plant *plant = stage.station.plant;

	for (uint64_t id = 0; id < PLANT_PROFILES; id++) {
		struct plant_fmt *fmt = plant_fmt_take(plant, id << 40);
		struct plant_evs *evs = plant_evs_take(plant, id << 40);

		REQUIRE(fmt && evs);
		fmt->state = evs->state = MRC_CTL_PROFILE_OFFLINE;
		CHECK(plant_fmt_find(plant, id << 40) == fmt);
		CHECK(plant_evs_find(plant, id << 40) == evs);
	}
	CHECK(!plant_fmt_take(plant, 1));
	CHECK(!plant_evs_take(plant, 1));
	CHECK(plant_fmt_take(plant, UINT64_C(3) << 40) == &plant->fmt[3]);
	plant->evs[5].state = MRC_CTL_PROFILE_INIT;
	CHECK(plant_evs_take(plant, 1) == &plant->evs[5]);
	stage_close(&stage);
}

TEST(plant_use__counts_by_profile)
{
	struct stage stage;

	stage_open(&stage);
	struct plant *plant = stage.station.plant;
	struct plant_evs *evs = plant_evs_take(plant, 1);
	struct plant_cc *cc = plant_cc_take(plant, 1);

	CHECK(plant_use(plant, evs, cc, 1));
	CHECK(plant_use(plant, evs, NULL, 1));
	CHECK_EQ(plant_evs_users(plant, evs), 2);
	CHECK_EQ(plant_cc_users(plant, cc), 1);
	CHECK(plant_use(plant, evs, cc, -1));
	CHECK_EQ(plant_evs_users(plant, evs), 1);
	CHECK_EQ(plant_cc_users(plant, cc), 0);
	CHECK_EQ(plant_evs_users(plant, evs + 1), 0);
	stage_close(&stage);
}

TEST(plant_tell__remembers_in_order)
{
	struct stage stage;

	stage_open(&stage);
	struct plant *plant = stage.station.plant;

	for (uint32_t i = 0; i < PLANT_EVENTS + 3; i++) {
		struct mrc_ctl_ev ev = stage_ev(i, 1);

		plant_tell(plant, 9, &ev, MRC_CTL_EV_GOOD);
	}
	CHECK_EQ(plant->events, PLANT_EVENTS + 3);
	CHECK_EQ(plant->event[2].ev.val[3], (PLANT_EVENTS + 2) & 0xff);
	CHECK_EQ(plant->event[3].ev.val[3], 3);
	stage_close(&stage);
}
