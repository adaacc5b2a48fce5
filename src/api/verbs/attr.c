/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * attr - what a device says about itself.
 *
 * One device, one port, however many planes: no program knows planes, and one that was shown eight
 * ports would use the first.  The port is up while any plane is, and as fast as all are together.
 * Limits are the device's own.  Structures come with the caller's size, which may be of a newer or
 * an older header: what he has beyond ours is zero, what we have beyond his is not written.
 */
#include "verbs_local.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <weft/net.h>

#undef ibv_query_port

#define VENDOR_ID 0x5765 /* nobody's: drivers' special cases are not for us */
#define GID_TYPES_MESSAGE_BYTES (1u << 30)
#define SPEED_UNIT_KBPS 100000

/* Not 12 lanes (8): pyverbs has no name for them, and an MRC NIC has 8 (800 Gb/s). */
static const struct {
	uint8_t code;
	uint32_t lanes;
} widths[] = { { 2, 4 }, { 1, 1 }, { 4, 8 }, { 16, 2 } };

static const struct {
	uint8_t code;
	uint32_t mbps; /* one lane */
} speeds[] = { { 1, 2500 }, { 2, 5000 }, { 4, 10000 }, { 16, 14000 }, { 32, 25000 },
	{ 64, 50000 }, { 128, 100000 } };

void attr_speed(uint64_t rate_bps, uint8_t *width, uint8_t *speed)
{
	uint64_t mbps = rate_bps / 1000000, best = UINT64_MAX;

	for (size_t w = 0; w < WEFT_COUNT(widths); w++) {
		for (size_t s = 0; s < WEFT_COUNT(speeds); s++) {
			uint64_t is = (uint64_t)widths[w].lanes * speeds[s].mbps;
			uint64_t off = is > mbps ? is - mbps : mbps - is;

			if (off >= best)
				continue;
			best = off;
			*width = widths[w].code;
			*speed = speeds[s].code;
		}
	}
}

int ibv_query_device(struct ibv_context *ibv, struct ibv_device_attr *out)
{
	const struct context *context = context_of(ibv);
	const struct weft_dev_attr *a = &context->attr;

	*out = (struct ibv_device_attr){ .node_guid = htobe64(a->guid),
		.sys_image_guid = htobe64(a->guid),
		.max_mr_size = a->max_mr_bytes,
		.page_size_cap = a->page_size_cap,
		.vendor_id = VENDOR_ID,
		.hw_ver = 1,
		.max_qp = (int)a->max_qp,
		.max_qp_wr = (int)a->max_qp_wr,
		.device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SYS_IMAGE_GUID |
				    IBV_DEVICE_PORT_ACTIVE_EVENT,
		.max_sge = (int)a->max_sge,
		.max_sge_rd = (int)a->max_sge,
		.max_cq = (int)a->max_cq,
		.max_cqe = (int)a->max_cqe,
		.max_mr = (int)a->max_mr,
		.max_pd = (int)a->max_pd,
		.max_ah = (int)a->max_ah,
		.max_pkeys = 1,
		.phys_port_cnt = 1 };
	(void)snprintf(out->fw_ver, sizeof(out->fw_ver), "%s", a->version);
	if (context->strict || !a->extended)
		return 0;
	out->device_cap_flags |= IBV_DEVICE_XRC | IBV_DEVICE_MEM_WINDOW |
				 IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS;
	out->max_mw = (int)a->max_mw;
	out->max_qp_rd_atom = out->max_qp_init_rd_atom = (int)a->max_rd_atomic;
	out->max_res_rd_atom = (int)(a->max_rd_atomic * WEFT_MIN(a->max_qp, 65536u));
	out->atomic_cap = a->max_rd_atomic ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE;
	out->max_mcast_grp = WEFT_DEV_GROUPS_MAX;
	out->max_mcast_qp_attach = WEFT_DEV_GROUP_QPS_MAX;
	out->max_total_mcast_qp_attach = WEFT_DEV_GROUPS_MAX * WEFT_DEV_GROUP_QPS_MAX;
	out->max_srq = (int)a->max_srq;
	out->max_srq_wr = (int)a->max_srq_wr;
	out->max_srq_sge = (int)a->max_srq_sge;
	return 0;
}

int attr_query_device_ex(struct ibv_context *ibv, const struct ibv_query_device_ex_input *input,
	struct ibv_device_attr_ex *out, size_t bytes)
{
	struct ibv_device_attr_ex own = { .completion_timestamp_mask = UINT64_MAX,
		.hca_core_clock = 1000000, /* kHz: our clock counts nanoseconds */
		.phys_port_cnt_ex = 1,
		.max_dm_size = DM_BYTES_MAX };

	if (bytes < sizeof(own.orig_attr) || (input && input->comp_mask))
		return EINVAL;
	(void)ibv_query_device(ibv, &own.orig_attr);
	memset(out, 0, bytes);
	memcpy(out, &own, WEFT_MIN(bytes, sizeof(own)));
	return 0;
}

static bool any_plane_up(const struct context *context)
{
	struct weft_dev_plane plane;

	for (uint32_t p = 0; p < context->attr.planes; p++) {
		if (!weft_dev_plane_query(context->dev, p, &plane) && plane.link && plane.admin)
			return true;
	}
	return false;
}

enum ibv_mtu attr_mtu(const struct context *context)
{
	enum ibv_mtu mtu = IBV_MTU_4096;

	while (mtu > IBV_MTU_256 && context->attr.mtu_bytes < 128u << mtu)
		mtu--;
	return mtu;
}

int attr_query_port(struct ibv_context *ibv, uint8_t port, struct ibv_port_attr *out, size_t bytes)
{
	const struct context *context = context_of(ibv);
	bool up = any_plane_up(context);
	struct ibv_port_attr own = { .state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = attr_mtu(context),
		.gid_tbl_len = GIDS,
		.port_cap_flags = IBV_PORT_IP_BASED_GIDS,
		.max_msg_sz = WEFT_MIN(context->attr.max_msg_bytes, GID_TYPES_MESSAGE_BYTES),
		.pkey_tbl_len = 1,
		.max_vl_num = 1,
		.phys_state = up ? 5 : 3, /* link up; disabled */
		.link_layer = IBV_LINK_LAYER_ETHERNET };

	if (port != PORT)
		return EINVAL;
	attr_speed(context->attr.line_bps, &own.active_width, &own.active_speed);
	memset(out, 0, bytes);
	memcpy(out, &own, WEFT_MIN(bytes, sizeof(own)));
	return 0;
}

/* Who calls this by name has the old structure, that ends with these flags. */
int ibv_query_port(struct ibv_context *ibv, uint8_t port, struct _compat_ibv_port_attr *out)
{
	return attr_query_port(ibv, port, (struct ibv_port_attr *)(void *)out,
		offsetof(struct ibv_port_attr, port_cap_flags2));
}

int attr_query_rt_values(struct ibv_context *ibv, struct ibv_values_ex *values)
{
	uint32_t asked = values->comp_mask;

	(void)ibv;
	values->comp_mask = 0;
	if (!(asked & IBV_VALUES_MASK_RAW_CLOCK))
		return 0;
	uint64_t now_ns = weft_clock_now(NULL);

	values->raw_clock.tv_sec = (time_t)(now_ns / 1000000000);
	values->raw_clock.tv_nsec = (long)(now_ns % 1000000000);
	values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	return 0;
}
