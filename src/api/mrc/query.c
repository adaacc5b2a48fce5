/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * query - what library and device can do, and the state of ports.
 *
 * A context that is not Weft's is no error to the application's question, which has an answer for
 * it; the controller's older question has none, so there it is ENODEV.
 */
#include "mrc_local.h"

#include <string.h>

#define ALGORITHMS_MAX 8

static void put(uint32_t *to, uint32_t version)
{
	if (to)
		*to = version;
}

void mrc_query_version(uint32_t *current_version, uint32_t *last_supported_version,
	uint32_t *vendor_version, uint32_t *last_supported_vendor_version)
{
	put(current_version, MRC_API_CURRENT_VERSION);
	put(last_supported_version, MRC_API_LAST_SUPPORTED_VERSION);
	put(vendor_version, MRC_VENDOR_API_CURRENT_VERSION);
	put(last_supported_vendor_version, MRC_VENDOR_API_LAST_SUPPORTED_VERSION);
}

void mrc_ctl_query_version(uint32_t *current_version, uint32_t *last_supported_version,
	uint32_t *vendor_version, uint32_t *last_supported_vendor_version)
{
	put(current_version, MRC_CTL_API_CURRENT_VERSION);
	put(last_supported_version, MRC_CTL_API_LAST_SUPPORTED_VERSION);
	put(vendor_version, MRC_CTL_VENDOR_API_CURRENT_VERSION);
	put(last_supported_vendor_version, MRC_CTL_VENDOR_API_LAST_SUPPORTED_VERSION);
}

int mrc_query_device(struct ibv_context *context, struct mrc_device_attr *attr, int *supported)
{
	if (!context || !attr || !supported)
		return fail(EINVAL);
	struct weft_dev *dev = weft_verbs_device(context);
	struct weft_dev_attr own;

	memset(attr, 0, sizeof(*attr));
	*supported = dev != NULL;
	if (!dev)
		return 0;
	weft_dev_query(dev, &own);
	attr->mrc_protocol_version = MRC_PROTOCOL_VERSION_1;
	attr->wimm_attr.max_wimm = (uint16_t)WEFT_MIN(own.max_wimm, 65535u);
	attr->wimm_attr.max_wimm_dest = attr->wimm_attr.max_wimm;
	attr->mpr_attr.max_mpr = (uint8_t)WEFT_MIN(own.max_mpr_psns / MPR_UNIT, 255u);
	attr->mpr_attr.mpr_resolution = 1;
	attr->qp_attr.max_qp_hint = HINTS_MAX;
	attr->cap = MRC_DEVICE_CAP_TRIM_NACK | MRC_DEVICE_CAP_DYNAMIC_MPR;
	return 0;
}

/* None, or one of that device's. */
static bool is_of(const struct mrc_context *mcontext, const struct ibv_context *context)
{
	return !mcontext || (alive_is(mcontext) && mcontext->verbs == context);
}

int mrc_query_device_ex(struct ibv_context *context, struct mrc_context *mcontext,
	struct mrc_device_attr *attr, int *supported)
{
	if (!is_of(mcontext, context))
		return fail(EINVAL);
	return mrc_query_device(context, attr, supported);
}

static const char **algorithms(void)
{
	static const char *names[ALGORITHMS_MAX + 1]; /* the same, whoever fills it in */

	for (size_t i = 0; i < ALGORITHMS_MAX && weft_cc_all[i]; i++)
		names[i] = weft_cc_all[i]->name;
	return names;
}

static uint32_t count_free(struct station *station)
{
	uint32_t n = PLANT_PROFILES * PLANT_EVS;

	plant_lock(station->plant);
	for (uint32_t i = 0; i < PLANT_PROFILES; i++) {
		if (station->plant->evs[i].state != MRC_CTL_PROFILE_INIT)
			n -= station->plant->evs[i].count;
	}
	plant_unlock(station->plant);
	return n;
}

int mrc_ctl_query_device(struct ibv_context *context, struct mrc_ctl_device_attr *ctl_attr)
{
	if (!context || !ctl_attr)
		return fail(EINVAL);
	struct weft_dev *dev = weft_verbs_device(context);

	if (!dev)
		return fail(ENODEV);
	struct station *station = station_take(dev);

	if (!station)
		return -1;
	memset(ctl_attr, 0, sizeof(*ctl_attr));
	ctl_attr->mrc_ctl_protocol_version = MRC_CTL_PROTOCOL_VERSION_1;
	ctl_attr->ev.ev_max_fmt_profiles = PLANT_PROFILES;
	ctl_attr->ev.ev_max_profiles = PLANT_PROFILES;
	ctl_attr->ev.ev_max_count = PLANT_PROFILES * PLANT_EVS;
	ctl_attr->ev.ev_free_count = count_free(station);
	ctl_attr->ev.ev_max_count_profile = PLANT_EVS;
	ctl_attr->ev.ev_count_align = 1;
	ctl_attr->ev.ev_max_width = 8 * MRC_CTL_EV_MAX_BYTES;
	ctl_attr->ev.ev_fmt_mode_mask = MRC_CTL_EV_FMT_MODE_STEV | MRC_CTL_EV_FMT_MODE_SRV6 |
					MRC_CTL_EV_FMT_MODE_UDP;
	ctl_attr->ev.ev_mode_mask =
		MRC_CTL_EV_MODE_AUTO | MRC_CTL_EV_MODE_EXP | MRC_CTL_EV_MODE_GEN;
	ctl_attr->cc.cc_max_profiles = PLANT_PROFILES;
	ctl_attr->cc.algorithms = algorithms();
	ctl_attr->phy_port_mask = (uint32_t)(((UINT64_C(1) << station->planes) - 1) << 1);
	ctl_attr->opt_attr = MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE | MRC_CTL_OPT_CAP_EV_EVENT |
			     MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT |
			     MRC_CTL_OPT_CAP_EP_OP_EV_PROBE;
	station_give(station);
	return 0;
}

int mrc_ctl_query_device_ex(struct ibv_context *context, struct mrc_context *mcontext,
	struct mrc_ctl_device_attr *ctl_attr, int *supported)
{
	if (!context || !ctl_attr || !supported || !is_of(mcontext, context))
		return fail(EINVAL);
	memset(ctl_attr, 0, sizeof(*ctl_attr));
	*supported = weft_verbs_device(context) != NULL;
	return *supported ? mrc_ctl_query_device(context, ctl_attr) : 0;
}

/* ---- ports ---- */

int mrc_ctl_query_port(struct mrc_context *context, uint8_t port_num,
	struct mrc_ctl_port_attr *attr, int attr_mask)
{
	if (!alive_is(context) || !attr || attr_mask & ~MRC_CTL_PORT_ADMIN_STATE || port_num < 1 ||
		port_num > context->station->planes)
		return fail(EINVAL);
	plant_lock(context->station->plant);
	uint32_t shut = context->station->plant->ports_shut;

	plant_unlock(context->station->plant);
	if (attr_mask & MRC_CTL_PORT_ADMIN_STATE)
		attr->port_admin_state = shut >> (port_num - 1u) & 1 ? MRC_CTL_PORT_ADMIN_DISABLED
								     : MRC_CTL_PORT_ADMIN_ENABLED;
	return 0;
}

int mrc_ctl_modify_port(struct mrc_context *context, uint8_t port_num,
	struct mrc_ctl_port_attr *attr, int attr_mask)
{
	if (!alive_is(context) || !attr || attr_mask & ~MRC_CTL_PORT_ADMIN_STATE || port_num < 1 ||
		port_num > context->station->planes)
		return fail(EINVAL);
	if (!(attr_mask & MRC_CTL_PORT_ADMIN_STATE))
		return 0;
	if (attr->port_admin_state != MRC_CTL_PORT_ADMIN_ENABLED &&
		attr->port_admin_state != MRC_CTL_PORT_ADMIN_DISABLED)
		return fail(EINVAL);
	struct station *station = context->station;
	uint32_t bit = UINT32_C(1) << (port_num - 1u);

	weft_lock_take(&station->lock);
	plant_lock(station->plant); /* other processes' watchers will see it */
	if (attr->port_admin_state == MRC_CTL_PORT_ADMIN_ENABLED)
		station->plant->ports_shut &= ~bit;
	else
		station->plant->ports_shut |= bit;
	plant_unlock(station->plant);
	watcher_set_ports(station);
	weft_lock_give(&station->lock);
	return 0;
}
