/* SPDX-License-Identifier: BSD-2-Clause */
#include "stage.h"

#include <math.h>

#define STATE MRC_CTL_CC_PROFILE_STATE
#define ALGO MRC_CTL_CC_PROFILE_ALGORITHM
#define CONFIG MRC_CTL_CC_PROFILE_CONFIG

static const struct mrc_ctl_cc_nscc_cfg good = {
	.disable_qa = 1,
	.adjust_bytes_threshold = 32768,
	.adjust_period_threshold = 12000,
	.base_rtt = 12000,
	.eta = 4915.0f,
	.fi = 163840.0f,
	.fi_scale = 2.0f,
	.gamma = 0.8f,
	.max_md_jump = 0.5f,
	.max_cwnd = 1800000,
	.qa_gate = 3,
	.qa_threshold = 36000,
	.target_delay = 9000,
};

static int modify(struct stage *stage, enum mrc_ctl_profile_state state, const char *algorithm,
	const void *config, int mask)
{
	struct mrc_ctl_cc_profile_attr attr = {
		.profile_state = state, .algorithm = algorithm, .cc_config = config
	};

	return mrc_ctl_modify_cc_profile(&stage->context, 4, &attr, mask);
}

TEST(mrc_ctl_modify_cc_profile__keeps_every_parameter)
{
	struct mrc_ctl_cc_nscc_cfg got = { 0 };
	struct mrc_ctl_cc_profile_attr attr = { .cc_config = &got };
	struct stage stage;

	stage_open(&stage);
	CHECK_EQ(ERRNO_OF(modify(&stage, MRC_CTL_PROFILE_OFFLINE, "uet-1.0-nscc", NULL, STATE)),
		EINVAL);
	CHECK_EQ(ERRNO_OF(modify(&stage, MRC_CTL_PROFILE_OFFLINE, "reno", NULL, STATE | ALGO)),
		EINVAL);
	CHECK(!modify(&stage, MRC_CTL_PROFILE_OFFLINE, "uet-1.0-nscc", NULL, STATE | ALGO));
	CHECK_EQ(ERRNO_OF(modify(&stage, MRC_CTL_PROFILE_ONLINE, NULL, NULL, STATE)), EINVAL);
	CHECK(!modify(&stage, 0, NULL, &good, CONFIG));
	CHECK(!modify(&stage, MRC_CTL_PROFILE_ONLINE, NULL, NULL, STATE));
	CHECK(!mrc_ctl_query_cc_profile(&stage.context, 4, &attr, STATE | ALGO | CONFIG));
	CHECK_STR(attr.algorithm, "uet-1.0-nscc");
	CHECK_EQ(attr.profile_state, MRC_CTL_PROFILE_ONLINE);
	CHECK_MEM(&got, &good, sizeof(good));
	attr.cc_config = NULL;
	CHECK(!mrc_ctl_query_cc_profile(&stage.context, 4, &attr, CONFIG));
	REQUIRE(attr.cc_config);
	CHECK_MEM(attr.cc_config, &good, sizeof(good));
	stage_close(&stage);
}

TEST(mrc_ctl_modify_cc_profile__goes_without_control)
{
	struct mrc_ctl_cc_profile_attr attr = { .algorithm = "x" };
	struct stage stage;

	stage_open(&stage);
	CHECK(!modify(&stage, MRC_CTL_PROFILE_OFFLINE, NULL, NULL, STATE | ALGO));
	CHECK_EQ(ERRNO_OF(modify(&stage, 0, NULL, &good, CONFIG)), EINVAL);
	CHECK(!modify(&stage, MRC_CTL_PROFILE_ONLINE, NULL, NULL, STATE));
	CHECK(!mrc_ctl_query_cc_profile(&stage.context, 4, &attr, ALGO));
	CHECK(!attr.algorithm);
	stage_close(&stage);
}

TEST(mrc_ctl_modify_cc_profile__refuses_impossible_parameters)
{
	struct stage stage;

	stage_open(&stage);
	REQUIRE(!modify(&stage, MRC_CTL_PROFILE_OFFLINE, "uet-1.0-nscc", NULL, STATE | ALGO));
	for (int i = 0; i < 7; i++) {
		struct mrc_ctl_cc_nscc_cfg bad = good;

		switch (i) {
		case 0:
			bad.gamma = 1.5f;
			break;
		case 1:
			bad.gamma = NAN;
			break;
		case 2:
			bad.max_md_jump = -0.1f;
			break;
		case 3:
			bad.fi = 1e30f;
			break;
		case 4:
			bad.eta = -1.0f;
			break;
		case 5:
			bad.fi_scale = INFINITY;
			break;
		case 6:
			bad.qa_gate = 32;
			break;
		}
		CHECK_EQ(ERRNO_OF(modify(&stage, 0, NULL, &bad, CONFIG)), EINVAL);
	}
	stage_close(&stage);
}

TEST(mrc_ctl_modify_cc_profile__is_busy_while_qps_use_it)
{
	struct stage stage;

	stage_open(&stage);
	struct plant *plant = stage.station.plant;

	REQUIRE(!modify(&stage, MRC_CTL_PROFILE_OFFLINE, "fixed", NULL, STATE | ALGO | CONFIG));
	REQUIRE(!modify(&stage, MRC_CTL_PROFILE_ONLINE, NULL, NULL, STATE));
	plant_use(plant, NULL, &plant->cc[0], 1);
	CHECK_EQ(ERRNO_OF(modify(&stage, MRC_CTL_PROFILE_OFFLINE, NULL, NULL, STATE)), EBUSY);
	CHECK_EQ(ERRNO_OF(modify(&stage, 0, NULL, &good, CONFIG)), EBUSY);
	plant_use(plant, NULL, &plant->cc[0], -1);
	CHECK_EQ(ERRNO_OF(modify(&stage, 0, NULL, &good, CONFIG)), EINVAL); /* offline first */
	CHECK(!modify(&stage, MRC_CTL_PROFILE_OFFLINE, NULL, NULL, STATE));
	CHECK(!modify(&stage, MRC_CTL_PROFILE_INIT, NULL, NULL, STATE));
	stage_close(&stage);
}
