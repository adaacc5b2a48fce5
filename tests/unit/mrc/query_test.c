/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

TEST(mrc_query_device__tells_limits_and_whose_it_is)
{
	struct mrc_device_attr attr;
	struct ibv_context foreign = { 0 };
	int supported = 7;

	CHECK(!mrc_query_device(&fake_context, &attr, &supported));
	CHECK_EQ(supported, 1);
	CHECK_EQ(attr.wimm_attr.max_wimm, 128);
	CHECK_EQ(attr.mpr_attr.max_mpr, 32);
	CHECK_EQ(attr.cap, MRC_DEVICE_CAP_TRIM_NACK | MRC_DEVICE_CAP_DYNAMIC_MPR);
	CHECK(!mrc_query_device_ex(&foreign, NULL, &attr, &supported));
	CHECK_EQ(supported, 0);
	CHECK_EQ(attr.wimm_attr.max_wimm, 0);
	CHECK_EQ(ERRNO_OF(mrc_query_device(NULL, &attr, &supported)), EINVAL);
}

TEST(mrc_ctl_query_device__counts_evs_and_ports)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_ctl_ev evs[2] = { stage_ev(0, 1), stage_ev(0x10000, 2) };
	struct mrc_ctl_device_attr attr;
	int supported = 0;

	CHECK(!mrc_ctl_query_device_ex(&fake_context, context, &attr, &supported));
	CHECK_EQ(supported, 1);
	CHECK_EQ(attr.phy_port_mask, 0x1e);
	CHECK_EQ(attr.ev.ev_free_count, attr.ev.ev_max_count);
	CHECK_EQ(attr.ev.ev_fmt_mode_mask, 7);
	CHECK_EQ(attr.ev.ev_mode_mask, 7);
	bool has_nscc = false;

	for (const char **name = attr.cc.algorithms; *name; name++)
		has_nscc |= !strcmp(*name, "uet-1.0-nscc");
	CHECK(has_nscc);
	fake_profile(context, 1, MRC_CTL_EV_FMT_MODE_STEV, evs, 2);
	CHECK(!mrc_ctl_query_device(&fake_context, &attr));
	CHECK_EQ(attr.ev.ev_free_count, attr.ev.ev_max_count - 2);
	fake_close(context);
}

TEST(mrc_ctl_modify_port__shuts_and_opens_a_plane)
{
	struct mrc_context *context = fake_open(0);
	struct mrc_ctl_port_attr attr = { MRC_CTL_PORT_ADMIN_DISABLED };

	CHECK(!mrc_ctl_modify_port(context, 2, &attr, MRC_CTL_PORT_ADMIN_STATE));
	CHECK(fake_dev.admin[1] && !fake_dev.admin[2]);
	attr.port_admin_state = MRC_CTL_PORT_ADMIN_ENABLED;
	CHECK(!mrc_ctl_query_port(context, 2, &attr, MRC_CTL_PORT_ADMIN_STATE));
	CHECK_EQ(attr.port_admin_state, MRC_CTL_PORT_ADMIN_DISABLED);
	/* Another process's word: as if it had been said there. */
	context->station->plant->ports_shut = 1u << 3;
	watcher_look(context->station);
	CHECK(!fake_dev.admin[1] && fake_dev.admin[3]);
	for (int port = 0; port <= 5; port += 5)
		CHECK_EQ(ERRNO_OF(mrc_ctl_modify_port(
				 context, (uint8_t)port, &attr, MRC_CTL_PORT_ADMIN_STATE)),
			EINVAL);
	attr.port_admin_state = (enum mrc_ctl_port_admin_state)2;
	CHECK_EQ(
		ERRNO_OF(mrc_ctl_modify_port(context, 1, &attr, MRC_CTL_PORT_ADMIN_STATE)), EINVAL);
	fake_close(context);
}

TEST(mrc_query_version__fills_what_is_asked_for)
{
	uint32_t now = 0, oldest = 9, vendor = 0;

	mrc_query_version(&now, &oldest, &vendor, NULL);
	CHECK_EQ(now, 0x01000001);
	CHECK_EQ(oldest, 0);
	CHECK_EQ(vendor, 0x01000000);
	mrc_ctl_query_version(&now, NULL, NULL, &oldest);
	CHECK_EQ(now, 0x01000001);
}
