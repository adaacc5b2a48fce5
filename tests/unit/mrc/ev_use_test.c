/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

static const uint32_t evs[] = { 0x00000, 0x10000, 0x20000, 0x30000, 0x00001, 0x10001 };

static uint32_t match(uint32_t mode, const struct mrc_ctl_ev *ev)
{
	return profile_match(&fake_dev, fake_peer, mode, ev, evs, WEFT_COUNT(evs));
}

struct scene {
	struct mrc_context *context;
	struct mrc_cq *cq;
	struct mrc_qp *qp;
	struct mrc_ctl_ev list[4];
};

/* In RTR, over three paths that four EVs mean; nobody watches but the test. */
static void scene_open(struct scene *s)
{
	s->context = fake_open(0);
	s->cq = mrc_create_cq(s->context, 8, NULL, NULL, 0);
	s->qp = fake_qp(s->context, s->cq);
	s->list[0] = stage_ev(0, 1);
	s->list[1] = stage_ev(0x10000, 2);
	s->list[2] = stage_ev(0x20001, 3);
	s->list[3] = stage_ev(0x10000, 2);
	fake_profile(s->context, 7, MRC_CTL_EV_FMT_MODE_STEV, s->list, 4);
	CHECK_EQ(fake_init(s->qp, 7, 0), 0);
	CHECK_EQ(fake_rtr(s->qp), 0);
	watcher_stop(s->context->station);
	CHECK_EQ(fake_dev.n_paths, 3);
	CHECK_EQ(fake_dev.n_marks, 0);
}

static void scene_close(struct scene *s)
{
	CHECK(!mrc_destroy_qp(s->qp));
	CHECK(!mrc_destroy_cq(s->cq));
	fake_close(s->context);
}

static void replace(struct scene *s, struct mrc_ctl_ev old, struct mrc_ctl_ev now, uint32_t flags)
{
	struct mrc_ctl_ev_op_entry entry = { .ev = old, .ev_new = now, .flags = flags };
	struct stage stage = { .other = s->context };

	CHECK(!stage_op(&stage, 7, MRC_CTL_EV_OP_REPLACE_EV, &entry, 1));
	watcher_look(s->context->station);
}

TEST(profile_match__names_a_path_or_hashes_over_its_plane)
{
	bool seen[2] = { false };

	for (uint32_t i = 0; i < WEFT_COUNT(evs); i++) {
		struct mrc_ctl_ev ev = stage_ev(evs[i], (uint8_t)((evs[i] >> 16) + 1));

		CHECK_EQ(match(MRC_CTL_EV_FMT_MODE_STEV, &ev), evs[i]);
	}
	for (uint32_t value = 0; value < 64; value++) {
		struct mrc_ctl_ev ev = stage_ev(0xabc00000 + value * 0x10000, 1);
		uint32_t got = match(MRC_CTL_EV_FMT_MODE_UDP, &ev);

		CHECK(got == 0 || got == 1);
		seen[got & 1] = true;
		CHECK_EQ(match(MRC_CTL_EV_FMT_MODE_UDP, &ev), got);
	}
	CHECK(seen[0] && seen[1]);
	struct mrc_ctl_ev far = stage_ev(1, 5), nowhere = stage_ev(1, 0);

	CHECK_EQ(match(MRC_CTL_EV_FMT_MODE_STEV, &far), NO_EV);
	CHECK_EQ(match(MRC_CTL_EV_FMT_MODE_STEV, &nowhere), NO_EV);
}

TEST(profile_match__finds_srv6_by_address)
{
	struct mrc_ctl_ev ev = { .val = { 0xfc, 0xbb, 0, 2, 0, 2, 0, 0x77 }, .port = 2 };

	CHECK_EQ(match(MRC_CTL_EV_FMT_MODE_SRV6, &ev), 0x10001);
	ev.port = 1;
	CHECK_EQ(match(MRC_CTL_EV_FMT_MODE_SRV6, &ev), NO_EV);
	ev.port = 2;
	ev.val[7] = 0x78;
	CHECK_EQ(match(MRC_CTL_EV_FMT_MODE_SRV6, &ev), NO_EV);
	memset(ev.val + 4, 0, 28); /* says too little */
	CHECK_EQ(match(MRC_CTL_EV_FMT_MODE_SRV6, &ev), NO_EV);
}

TEST(ev_use_open__none_allowed_leads_nowhere)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_cq *cq = mrc_create_cq(context, 8, NULL, NULL, 0);
	struct mrc_qp *qp = fake_qp(context, cq);
	struct mrc_ctl_ev list[1] = { stage_ev(0, 1) };

	fake_profile(context, 7, MRC_CTL_EV_FMT_MODE_STEV, list, 1);
	CHECK(!fake_deny(context, 7, list[0], true));
	CHECK_EQ(fake_init(qp, 7, 0), 0);
	CHECK_EQ(fake_rtr(qp), EHOSTUNREACH);
	CHECK(!fake_deny(context, 7, list[0], false));
	CHECK_EQ(fake_rtr(qp), 0);
	CHECK(!mrc_destroy_qp(qp));
	CHECK(!mrc_destroy_cq(cq));
	fake_close(context);
}

TEST(ev_use_hear__a_path_is_denied_when_all_its_evs_are)
{
	struct scene s;

	scene_open(&s);
	CHECK(!fake_deny(s.context, 7, s.list[2], true));
	watcher_look(s.context->station);
	CHECK_EQ(fake_dev.n_marks, 1);
	/* A copy holds the other path: both entries are equal, so both are denied. */
	CHECK(!fake_deny(s.context, 7, s.list[1], true));
	watcher_look(s.context->station);
	CHECK_EQ(fake_dev.n_marks, 2);
	/* Another value that means the same path (a hash) would keep it. */
	uint32_t value = 0x30000;
	uint32_t all[12];

	weft_dev_evs(&fake_dev, fake_peer, all, 12);
	for (;; value++) {
		struct mrc_ctl_ev ev = stage_ev(value, 2);

		if (profile_match(&fake_dev, fake_peer, MRC_CTL_EV_FMT_MODE_STEV, &ev, all, 12) ==
			0x10000)
			break;
	}
	replace(&s, s.list[1], stage_ev(value, 2), 0);
	CHECK_EQ(fake_dev.n_marks, 3);
	CHECK_EQ(fake_dev.mark[2].ev, 0x10000);
	CHECK_EQ(fake_dev.mark[2].to, WEFT_PATH_GOOD);
	scene_close(&s);
}

TEST(ev_use_hear__a_replaced_ev_takes_the_place)
{
	struct scene s;

	scene_open(&s);
	replace(&s, s.list[0], stage_ev(2, 1), 0);
	CHECK_EQ(fake_dev.n_replaced, 1);
	CHECK_EQ(fake_dev.paths[0], 2);
	CHECK_EQ(s.qp->ev[0], 2);
	/* To one that is there already: its own place is left, and denied. */
	replace(&s, stage_ev(2, 1), s.list[2], 0);
	CHECK_EQ(fake_dev.n_replaced, 1);
	REQUIRE(fake_dev.n_marks == 1);
	CHECK_EQ(fake_dev.mark[0].ev, 2);
	CHECK_EQ(fake_dev.mark[0].to, WEFT_PATH_DENIED);
	/* The place is free for what comes next, one copy's new path. */
	replace(&s, s.list[1], stage_ev(0x30002, 4), 0);
	CHECK_EQ(fake_dev.n_replaced, 2);
	CHECK_EQ(fake_dev.paths[0], 0x30002);
	CHECK_EQ(fake_dev.n_marks, 1);
	/* Now there is none left, and the other copy's path stays. */
	CHECK_EQ(s.qp->n_list, 3);
	replace(&s, s.list[2], stage_ev(0x20002, 3), 0);
	CHECK_EQ(fake_dev.n_replaced, 2);
	scene_close(&s);
}

TEST(ev_use_hear__new_fields_mean_new_paths)
{
	struct mrc_ctl_ev_field fields[2] = { { 16, 0, 0, 0, 0xffff }, { 16, 2, 0, 0, 0 } };
	struct mrc_ctl_ev_profile_attr attr = {
		.ev_fields_op = { MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, fields, 2 }
	};
	struct scene s;

	scene_open(&s);
	CHECK(!mrc_ctl_modify_ev_profile(s.context, 7, &attr, MRC_CTL_EV_PROFILE_EV_FIELDS_OP));
	watcher_look(s.context->station);
	CHECK_EQ(fake_dev.n_replaced, 3); /* the uplink is 2 everywhere */
	for (uint32_t i = 0; i < 3; i++)
		CHECK_EQ(fake_dev.paths[i], i << 16 | 2);
	scene_close(&s);
}
