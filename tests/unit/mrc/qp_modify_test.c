/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

struct bench {
	struct mrc_context *context;
	struct mrc_cq *cq;
	struct mrc_qp *qp;
};

static void bench_open(struct bench *b)
{
	b->context = fake_open(0);
	b->cq = mrc_create_cq(b->context, 8, NULL, NULL, 0);
	b->qp = fake_qp(b->context, b->cq);
}

static void bench_close(struct bench *b)
{
	CHECK(!mrc_destroy_qp(b->qp));
	CHECK(!mrc_destroy_cq(b->cq));
	fake_close(b->context);
}

TEST(mrc_modify_qp__hands_on_both_roles)
{
	struct mrc_qp_attr attr = { .mpr = { 16, 9 },
		.wimm = { 64, 32 },
		.timeout = 8,
		.retry = { 5, 25 },
		.cap = MRC_QP_CAP_DYNAMIC_MPR };
	struct ibv_qp_attr v = { .qp_state = IBV_QPS_RTS, .sq_psn = 0x1000005 };
	struct bench b;

	bench_open(&b);
	CHECK_EQ(mrc_modify_qp(b.qp, NULL, 0, &attr, MRC_QP_MPR_DEST | MRC_QP_MAX_WIMM_DEST), 0);
	CHECK_EQ(b.qp->inner->attr.mpr_rx_psns, 9 * 128);
	CHECK_EQ(b.qp->inner->attr.mpr_tx_psns, 8 * 128); /* not said yet */
	CHECK_EQ(b.qp->inner->attr.wimm_rx, 32);
	CHECK_EQ(mrc_modify_qp(b.qp, &v, IBV_QP_STATE | IBV_QP_SQ_PSN, &attr,
			 MRC_QP_MPR | MRC_QP_MAX_WIMM | MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT |
				 MRC_QP_CAP),
		0);
	const struct weft_dev_qp_attr *to = &b.qp->inner->attr;

	CHECK_EQ(to->mpr_tx_psns, 16 * 128);
	CHECK_EQ(to->mpr_rx_psns, 9 * 128);
	CHECK_EQ(to->wimm_tx, 64);
	CHECK_EQ(to->wimm_rx, 32);
	CHECK_EQ(to->timeout, 8);
	CHECK_EQ(to->linear, 5);
	CHECK_EQ(to->retry, 25);
	CHECK_EQ(to->psn_tx, 5); /* 24 bits */
	CHECK(to->dynamic_mpr && to->trim_nack);
	CHECK_EQ(to->state, WEFT_DEV_RTS);
	bench_close(&b);
}

TEST(mrc_modify_qp__lets_verbs_words_pass_unheard)
{
	struct ibv_qp_attr v = { .qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.timeout = 7,
		.retry_cnt = 14,
		.rnr_retry = 14,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };
	struct bench b;

	bench_open(&b);
	CHECK_EQ(mrc_modify_qp(b.qp, &v,
			 IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS |
				 IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				 IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_QP_RD_ATOMIC,
			 NULL, 0),
		0);
	CHECK_EQ(b.qp->inner->mask, WEFT_DEV_SET_STATE | WEFT_DEV_SET_ACCESS);
	CHECK_EQ(b.qp->inner->attr.access, WEFT_DEV_REMOTE_WRITE);
	bench_close(&b);
}

TEST(mrc_modify_qp__refuses_what_is_out_of_range)
{
	static const struct {
		struct mrc_qp_attr attr;
		int mask;
	} rows[] = {
		{ { .timeout = 25 }, MRC_QP_TIMEOUT },
		{ { .timeout = 0 }, MRC_QP_TIMEOUT },
		{ { .retry = { 8, 0 } }, MRC_QP_RETRY_CNT },
		{ { .retry = { 0, 26 } }, MRC_QP_RETRY_CNT },
		{ { .mpr = { 0, 1 } }, MRC_QP_MPR },
		{ { .mpr = { 1, 0 } }, MRC_QP_MPR_DEST },
		{ { .cap = 8 }, MRC_QP_CAP },
		{ { .timeout = 1 }, 1 << 12 },
	};
	struct ibv_qp_attr v = { .qp_state = IBV_QPS_RTR, .cur_qp_state = IBV_QPS_RTS };
	struct bench b;

	bench_open(&b);
	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct mrc_qp_attr attr = rows[i].attr;

		CHECK_EQ(mrc_modify_qp(b.qp, NULL, 0, &attr, rows[i].mask), EINVAL);
	}
	CHECK_EQ(mrc_modify_qp(b.qp, &v, IBV_QP_STATE, NULL, 0), EINVAL);             /* no peer */
	CHECK_EQ(mrc_modify_qp(b.qp, &v, IBV_QP_STATE | IBV_QP_AV, NULL, 0), EINVAL); /* a LID */
	CHECK_EQ(mrc_modify_qp(b.qp, &v, IBV_QP_CUR_STATE, NULL, 0), EINVAL);
	CHECK_EQ(mrc_modify_qp(NULL, &v, 0, NULL, 0), EINVAL);
	CHECK_EQ(mrc_modify_qp(b.qp, &v, 1 << 30, NULL, 0), EINVAL);
	CHECK_EQ(mrc_query_qp(b.qp, &v, 1 << 30, NULL, 0, NULL), EINVAL);
	v.qp_state = (enum ibv_qp_state)(256 + IBV_QPS_INIT);
	CHECK_EQ(mrc_modify_qp(b.qp, &v, IBV_QP_STATE, NULL, 0), EINVAL);
	v.path_mtu = (enum ibv_mtu)(256 + IBV_MTU_4096);
	CHECK_EQ(mrc_modify_qp(b.qp, &v, IBV_QP_PATH_MTU, NULL, 0), EINVAL);
	bench_close(&b);
}

TEST(mrc_modify_qp__changes_nothing_when_the_device_refuses)
{
	struct mrc_qp_attr attr = { .mpr = { 16, 16 } };
	struct bench b;

	bench_open(&b);
	b.qp->inner->fail = ENOMEM;
	CHECK_EQ(mrc_modify_qp(b.qp, NULL, 0, &attr, MRC_QP_MPR), ENOMEM);
	CHECK_EQ(b.qp->attr.mpr.mpr, 8);
	CHECK_EQ(fake_rtr(b.qp), ENOMEM);
	CHECK(!b.qp->context->station->qps);
	bench_close(&b);
}

TEST(mrc_modify_qp__holds_on_to_its_hint)
{
	struct mrc_qp_hint_init_attr init = { .attr = { .num_send_peers = 1 } };
	struct bench b;

	bench_open(&b);
	struct mrc_qp_hint *hint = mrc_create_qp_hint(b.context, &init);
	struct mrc_qp_attr attr = { .qp_hint = hint };

	CHECK_EQ(mrc_modify_qp(b.qp, NULL, 0, &attr, MRC_QP_HINT), 0);
	CHECK_EQ(mrc_modify_qp(b.qp, NULL, 0, &attr, MRC_QP_HINT), 0);
	CHECK_EQ(ERRNO_OF(mrc_destroy_qp_hint(hint)), EBUSY);
	CHECK(!mrc_destroy_qp(b.qp));
	CHECK(!mrc_destroy_qp_hint(hint));
	b.qp = fake_qp(b.context, b.cq);
	bench_close(&b);
}

TEST(gid_find__knows_the_forms_of_an_address)
{
	union ibv_gid gid = { .raw = { 0xfe, 0x80, [10] = 0x5e, [11] = 0xfe, 10, 1, 2, 3 } };
	const uint8_t want[16] = { [10] = 0xff, [11] = 0xff, 10, 1, 2, 3 };
	uint8_t address[16];

	gid_find(&gid, address);
	CHECK_MEM(address, want, 16);
	memcpy(gid.raw, fake_peer, 16);
	gid_find(&gid, address);
	CHECK_MEM(address, fake_peer, 16);
}

/* RTR again is refused, and the QP goes on as it was. */
TEST(mrc_modify_qp__keeps_the_profiles_of_a_connected_qp)
{
	const struct mrc_ctl_ev ev = stage_ev(0x00010001, 2);
	struct mrc_qp_attr attr = { .profile = { 0, 0 } };
	struct ibv_qp_attr v = { .qp_state = IBV_QPS_RTR, .dest_qp_num = 7 };
	struct bench b;

	bench_open(&b);
	fake_profile(b.context, 4, MRC_CTL_EV_FMT_MODE_STEV, &ev, 1);
	CHECK_EQ(fake_init(b.qp, 4, 0), 0);
	CHECK_EQ(fake_rtr(b.qp), 0);
	v.ah_attr.is_global = 1;
	memcpy(v.ah_attr.grh.dgid.raw, fake_peer, 16);
	CHECK_EQ(mrc_modify_qp(b.qp, &v, IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN, NULL, 0),
		EINVAL);
	CHECK_EQ(fake_dev.paths_open, 1);
	CHECK_EQ(plant_evs_users(b.context->station->plant, b.qp->evs), 1);
	/* Nor may they be changed now, when nobody would look: but said again. */
	CHECK_EQ(mrc_modify_qp(b.qp, NULL, 0, &attr, MRC_QP_EV_PROFILE_ID), EINVAL);
	attr.profile.ev_profile_id = 4;
	CHECK_EQ(mrc_modify_qp(b.qp, NULL, 0, &attr, MRC_QP_EV_PROFILE_ID), 0);
	bench_close(&b);
}
