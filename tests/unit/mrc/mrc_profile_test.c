/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

TEST(profile_cc__turns_floats_into_the_engines_numbers)
{
	struct plant_cc cc = { .algorithm = "uet-1.0-nscc",
		.config = { 1, 32768, 12000, 12500, 4915.0f, 163840.0f, 2.0f, 0.8f, 0.5f, 1800000,
			3, 36000, 9000 } };
	struct weft_dev_qp_attr attr = { 0 };
	struct weft_dev_attr dev;

	weft_dev_query(&fake_dev, &dev);
	profile_cc(&cc, &dev, &attr);
	const struct weft_cc_config *c = &attr.cc_config;

	CHECK_STR(attr.cc, "uet-1.0-nscc");
	CHECK(attr.has_cc_config && c->disable_qa);
	CHECK_EQ(c->rate_bps, 400000000000);
	CHECK_EQ(c->adjust_bytes, 32768);
	CHECK_EQ(c->adjust_period_ns, 12000);
	CHECK_EQ(c->base_rtt_ns, 12500);
	CHECK_EQ(c->eta_bytes, 4915);
	CHECK_EQ(c->fi, 163840);
	CHECK_EQ(c->fi_scale_milli, 2000);
	CHECK_EQ(c->gamma_milli, 800);
	CHECK_EQ(c->max_md_jump_milli, 500);
	CHECK_EQ(c->max_cwnd_bytes, 1800000);
	CHECK_EQ(c->qa_gate, 3);
	CHECK_EQ(c->qa_threshold_ns, 36000);
	CHECK_EQ(c->target_qdelay_ns, 9000);
	memset(cc.algorithm, 0, sizeof(cc.algorithm));
	profile_cc(&cc, &dev, &attr);
	CHECK_STR(attr.cc, "fixed");
	CHECK_EQ(attr.cc_config.fixed_bytes, 1 << 30);
}

TEST(profile_apply__gives_a_qp_its_paths)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_cq *cq = mrc_create_cq(context, 8, NULL, NULL, 0);
	struct mrc_qp *qp = fake_qp(context, cq);
	struct mrc_ctl_ev list[4] = { stage_ev(0x20001, 3), stage_ev(0x10000, 2), stage_ev(2, 1),
		stage_ev(0x10000, 2) };

	CHECK_EQ(fake_init(qp, 7, 0), ENOENT);
	fake_profile(context, 7, MRC_CTL_EV_FMT_MODE_STEV, list, 4);
	CHECK(!fake_deny(context, 7, list[0], true));
	CHECK_EQ(fake_init(qp, 7, 9), ENOENT); /* no such CC profile */
	CHECK_EQ(fake_init(qp, 7, 0), 0);
	CHECK_EQ(fake_rtr(qp), 0);
	CHECK(qp->inner->mask & WEFT_DEV_SET_PATHS);
	CHECK_EQ(qp->inner->attr.paths, 5);
	CHECK_EQ(fake_dev.n_paths, 3); /* each once */
	CHECK_EQ(fake_dev.active, 3);
	CHECK_EQ(fake_dev.n_marks, 1); /* before anything is sent */
	CHECK_EQ(fake_dev.mark[0].ev, 0x20001);
	CHECK_EQ(fake_dev.mark[0].to, WEFT_PATH_DENIED);
	struct stage stage = { .other = context };

	CHECK_EQ(ERRNO_OF(stage_state(&stage, 7, MRC_CTL_PROFILE_OFFLINE)), EBUSY);
	CHECK(!mrc_destroy_qp(qp));
	CHECK(!stage_state(&stage, 7, MRC_CTL_PROFILE_OFFLINE));
	CHECK(!mrc_destroy_cq(cq));
	fake_close(context);
}

TEST(profile_apply__fails_where_no_ev_leads)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_cq *cq = mrc_create_cq(context, 8, NULL, NULL, 0);
	struct mrc_qp *qp = fake_qp(context, cq);
	struct mrc_ctl_ev list[1] = { { .val = { 1, 2, 3, 4, 5, 6, 7, 8 }, .port = 1 } };

	fake_profile(context, 7, MRC_CTL_EV_FMT_MODE_SRV6, list, 1);
	CHECK_EQ(fake_init(qp, 7, 0), 0);
	CHECK_EQ(fake_rtr(qp), EHOSTUNREACH);
	CHECK(!qp->evs && !qp->paths && !qp->ev);
	CHECK(!mrc_destroy_qp(qp));
	CHECK(!mrc_destroy_cq(cq));
	fake_close(context);
}
