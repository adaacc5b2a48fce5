/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qp_modify - moves a QP through its states.
 *
 * The API forbids some of verbs' attributes (port, timeouts, limits of reads).  Programs that came
 * from verbs set them all the same, the project's own benchmark among them, so they are let pass
 * and not looked at.  The program's values are kept beside the device's, because the device takes
 * both roles' windows in one go and programs give them one by one.
 */
#include "mrc_local.h"

#include <string.h>

#define CAP_ALL                                                                                    \
	(MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED | MRC_QP_CAP_DYNAMIC_MPR |                          \
		MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED)

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
static const uint8_t isatap[12] = { 0xfe, 0x80, [10] = 0x5e, [11] = 0xfe };

void gid_find(const union ibv_gid *gid, uint8_t address[16])
{
	memcpy(address, gid->raw, 16);
	if (!memcmp(gid->raw, isatap, sizeof(isatap)))
		memcpy(address, mapped, sizeof(mapped));
}

static int check_mrc(const struct mrc_qp_attr *attr, int mask)
{
	if (mask & ~MRC_QP_ALL)
		return EINVAL;
	if (mask & MRC_QP_TIMEOUT && (attr->timeout < 1 || attr->timeout > 24))
		return EINVAL;
	if (mask & MRC_QP_RETRY_CNT && (attr->retry.linear_cnt > 7 || attr->retry.exp_cnt > 25))
		return EINVAL;
	if (mask & MRC_QP_MPR && !attr->mpr.mpr)
		return EINVAL;
	if (mask & MRC_QP_MPR_DEST && !attr->mpr.mpr_dest)
		return EINVAL;
	if (mask & MRC_QP_CAP && attr->cap & ~(uint32_t)CAP_ALL)
		return EINVAL;
	return 0;
}

static void merge(struct mrc_qp_attr *to, const struct mrc_qp_attr *from, int mask)
{
	if (mask & MRC_QP_MAX_WIMM)
		to->wimm.max_wimm = from->wimm.max_wimm;
	if (mask & MRC_QP_MAX_WIMM_DEST)
		to->wimm.max_wimm_dest = from->wimm.max_wimm_dest;
	if (mask & MRC_QP_MPR)
		to->mpr.mpr = from->mpr.mpr;
	if (mask & MRC_QP_MPR_DEST)
		to->mpr.mpr_dest = from->mpr.mpr_dest;
	if (mask & MRC_QP_TIMEOUT)
		to->timeout = from->timeout;
	if (mask & MRC_QP_RETRY_CNT)
		to->retry = from->retry;
	if (mask & MRC_QP_EV_PROFILE_ID)
		to->profile.ev_profile_id = from->profile.ev_profile_id;
	if (mask & MRC_QP_CC_PROFILE_ID)
		to->profile.cc_profile_id = from->profile.cc_profile_id;
	if (mask & MRC_QP_HINT)
		to->qp_hint = from->qp_hint;
	if (mask & MRC_QP_CAP)
		to->cap = from->cap;
	if (mask & MRC_QP_VENDOR_CFG)
		memcpy(to->vendor_cfg, from->vendor_cfg, sizeof(to->vendor_cfg));
}

static void put_mrc(
	const struct mrc_qp_attr *attr, int given, struct weft_dev_qp_attr *to, uint32_t *mask)
{
	if (given & (MRC_QP_MAX_WIMM | MRC_QP_MAX_WIMM_DEST)) {
		to->wimm_tx = attr->wimm.max_wimm;
		to->wimm_rx = attr->wimm.max_wimm_dest;
		*mask |= WEFT_DEV_SET_WIMM;
	}
	if (given & (MRC_QP_MPR | MRC_QP_MPR_DEST)) {
		to->mpr_tx_psns = attr->mpr.mpr * MPR_UNIT;
		to->mpr_rx_psns = attr->mpr.mpr_dest * MPR_UNIT;
		*mask |= WEFT_DEV_SET_MPR;
	}
	if (given & MRC_QP_TIMEOUT) {
		to->timeout = attr->timeout;
		*mask |= WEFT_DEV_SET_TIMEOUT;
	}
	if (given & MRC_QP_RETRY_CNT) {
		to->linear = attr->retry.linear_cnt;
		to->retry = attr->retry.exp_cnt;
		*mask |= WEFT_DEV_SET_LINEAR | WEFT_DEV_SET_RETRY;
	}
	if (given & MRC_QP_CAP) {
		to->trim_nack = !(attr->cap & MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED);
		to->dynamic_mpr = attr->cap & MRC_QP_CAP_DYNAMIC_MPR;
		*mask |= WEFT_DEV_SET_TRIM_NACK | WEFT_DEV_SET_DYNAMIC_MPR;
	}
}

static int put_verbs(
	const struct ibv_qp_attr *v, int given, struct weft_dev_qp_attr *to, uint32_t *mask)
{
	if (given & IBV_QP_STATE) {
		if ((unsigned)v->qp_state > IBV_QPS_ERR)
			return EINVAL;
		to->state = (uint8_t)v->qp_state;
		*mask |= WEFT_DEV_SET_STATE;
	}
	if (given & IBV_QP_ACCESS_FLAGS) {
		to->access = v->qp_access_flags & (WEFT_DEV_LOCAL_WRITE | WEFT_DEV_REMOTE_WRITE);
		*mask |= WEFT_DEV_SET_ACCESS;
	}
	if (given & IBV_QP_AV) {
		if (!v->ah_attr.is_global)
			return EINVAL; /* there are no LIDs on Ethernet */
		gid_find(&v->ah_attr.grh.dgid, to->gid);
		*mask |= WEFT_DEV_SET_PEER;
	}
	if (given & IBV_QP_DEST_QPN) {
		to->peer_qpn = v->dest_qp_num;
		*mask |= WEFT_DEV_SET_PEER_QPN;
	}
	if (given & IBV_QP_RQ_PSN) {
		to->psn_rx = v->rq_psn & 0xffffff;
		*mask |= WEFT_DEV_SET_PSN_RX;
	}
	if (given & IBV_QP_SQ_PSN) {
		to->psn_tx = v->sq_psn & 0xffffff;
		*mask |= WEFT_DEV_SET_PSN_TX;
	}
	if (given & IBV_QP_PATH_MTU) {
		if (v->path_mtu < IBV_MTU_256 || v->path_mtu > IBV_MTU_4096)
			return EINVAL;
		to->mtu = (uint8_t)v->path_mtu;
		*mask |= WEFT_DEV_SET_MTU;
	}
	return 0;
}

static void swap_hint(struct mrc_qp_hint *old, struct mrc_qp_hint *now)
{
	if (now)
		atomic_fetch_add(&now->users, 1);
	if (old)
		atomic_fetch_sub(&old->users, 1);
}

/* What has to be done around the device's own move. */
static int apply(struct mrc_qp *qp, const struct mrc_qp_attr *merged, struct weft_dev_qp_attr *to,
	uint32_t *mask, int given)
{
	struct weft_dev_qp_attr now;
	struct weft_dev_qp_init init;

	weft_dev_qp_query(qp->inner, &now, &init);
	bool moves = given & IBV_QP_STATE;

	if (moves && to->state == WEFT_DEV_RTR) {
		if (now.state != WEFT_DEV_INIT)
			return EINVAL; /* before the profiles in use are let go of */
		if (!(*mask & WEFT_DEV_SET_PEER) || !(*mask & WEFT_DEV_SET_PEER_QPN))
			return EINVAL;
		/* Strict MRC has writes only: without a word about it, they are allowed. */
		if (!(*mask & WEFT_DEV_SET_ACCESS) && !now.access) {
			to->access = WEFT_DEV_LOCAL_WRITE | WEFT_DEV_REMOTE_WRITE;
			*mask |= WEFT_DEV_SET_ACCESS;
		}
	}
	struct mrc_qp_attr before = qp->attr;
	int rc = 0;

	qp->attr = *merged;
	if (moves && to->state == WEFT_DEV_RTR)
		rc = profile_apply(qp, to->gid, to, mask);
	if (!rc)
		rc = weft_dev_qp_modify(qp->inner, to, *mask);
	if (rc) {
		qp->attr = before;
		if (moves && to->state == WEFT_DEV_RTR)
			profile_release(qp);
		return rc;
	}
	if (moves && to->state == WEFT_DEV_RESET)
		profile_release(qp);
	return 0;
}

/* Profiles are taken up on the way to RTR: later nobody would look at them. */
static bool changes_profiles(const struct mrc_qp *qp, const struct mrc_qp_attr *attr, int mask)
{
	return (mask & MRC_QP_EV_PROFILE_ID &&
		       attr->profile.ev_profile_id != qp->attr.profile.ev_profile_id) ||
	       (mask & MRC_QP_CC_PROFILE_ID &&
		       attr->profile.cc_profile_id != qp->attr.profile.cc_profile_id);
}

static bool is_connected(struct mrc_qp *qp)
{
	struct weft_dev_qp_attr now;
	struct weft_dev_qp_init init;

	weft_dev_qp_query(qp->inner, &now, &init);
	return now.state >= WEFT_DEV_RTR && now.state <= WEFT_DEV_SQD;
}

static int modify(struct mrc_qp *qp, struct ibv_qp_attr *vattr, int vattr_mask,
	struct mrc_qp_attr *mrc_attr, int mrc_attr_mask)
{
	struct weft_dev_qp_attr to = { 0 };
	uint32_t mask = 0;
	int rc = 0;

	if (mrc_attr_mask & MRC_QP_HINT && mrc_attr->qp_hint &&
		(!alive_is(mrc_attr->qp_hint) || mrc_attr->qp_hint->context != qp->context))
		return EINVAL;
	if (changes_profiles(qp, mrc_attr, mrc_attr_mask) && is_connected(qp))
		return EINVAL;
	struct mrc_qp_attr merged = qp->attr;
	struct mrc_qp_hint *old_hint = qp->attr.qp_hint;

	if (mrc_attr)
		merge(&merged, mrc_attr, mrc_attr_mask);
	if (mrc_attr_mask & (MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID) &&
		!profile_is_online(qp, &merged, mrc_attr_mask))
		return ENOENT;
	if (vattr_mask & IBV_QP_CUR_STATE) {
		struct weft_dev_qp_attr now;
		struct weft_dev_qp_init init;

		weft_dev_qp_query(qp->inner, &now, &init);
		if (now.state != vattr->cur_qp_state)
			return EINVAL;
	}
	if (vattr)
		rc = put_verbs(vattr, vattr_mask, &to, &mask);
	if (rc)
		return rc;
	put_mrc(&merged, mrc_attr_mask, &to, &mask);
	rc = apply(qp, &merged, &to, &mask, vattr_mask);
	if (rc)
		return rc;
	if (vattr_mask & IBV_QP_AV)
		qp->ah_attr = vattr->ah_attr;
	if (mrc_attr_mask & MRC_QP_HINT)
		swap_hint(old_hint, merged.qp_hint);
	return 0;
}

int mrc_modify_qp(struct mrc_qp *qp, struct ibv_qp_attr *vattr, int vattr_mask,
	struct mrc_qp_attr *mrc_attr, int mrc_attr_mask)
{
	if (!alive_is(qp) || (vattr_mask && !vattr) || (mrc_attr_mask && !mrc_attr) ||
		vattr_mask & ~VERBS_QP_ALL)
		return EINVAL;
	int rc = mrc_attr ? check_mrc(mrc_attr, mrc_attr_mask) : 0;

	if (rc)
		return rc;
	if (station_is_dead(qp->context->station))
		return ENODEV;
	weft_lock_take(&qp->lock);
	rc = modify(qp, vattr, vattr_mask, mrc_attr, mrc_attr_mask);
	weft_lock_give(&qp->lock);
	return rc;
}
