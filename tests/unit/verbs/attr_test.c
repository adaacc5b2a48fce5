/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_device.h"

TEST(attr_speed__comes_nearest)
{
	static const struct {
		uint64_t gbps;
		uint8_t width, speed;
	} cases[] = { { 100, 2, 32 }, { 800, 4, 128 }, { 40, 2, 4 }, { 8, 2, 1 }, { 10, 2, 1 },
		{ 400, 2, 128 }, { 25, 1, 32 }, { 3200, 4, 128 } };

	for (size_t i = 0; i < WEFT_COUNT(cases); i++) {
		uint8_t width = 0, speed = 0;

		attr_speed(cases[i].gbps * 1000000000, &width, &speed);
		CHECK_EQ(width, cases[i].width);
		CHECK_EQ(speed, cases[i].speed);
	}
}

TEST(ibv_query_device__tells_the_device_s_limits)
{
	struct ibv_context *context = open_context();
	struct ibv_device_attr attr;

	CHECK(!ibv_query_device(context, &attr));
	CHECK_EQ(attr.max_qp_wr, 1024);
	CHECK_EQ(attr.max_qp_rd_atom, 16);
	CHECK_EQ(attr.atomic_cap, IBV_ATOMIC_HCA);
	CHECK_EQ(attr.max_srq, 8);
	CHECK_EQ(attr.phys_port_cnt, 1);
	CHECK_STR(attr.fw_ver, WEFT_VERSION);
	close_context(context);
}

TEST(ibv_query_device__has_writes_only_where_strict)
{
	struct ibv_device_attr attr;

	setenv("WEFT_PROFILE", "strict", 1);
	struct ibv_context *context = open_context();
	CHECK(!ibv_query_device(context, &attr));
	CHECK_EQ(attr.max_qp_rd_atom, 0);
	CHECK_EQ(attr.atomic_cap, IBV_ATOMIC_NONE);
	CHECK_EQ(attr.max_srq, 0);
	close_context(context);
	unsetenv("WEFT_PROFILE");
}

TEST(attr_query_device_ex__fills_the_caller_s_size)
{
	struct {
		struct ibv_device_attr_ex attr;
		uint8_t newer[32];
	} big;
	struct ibv_context *context = open_context();

	memset(&big, 0xff, sizeof(big));
	CHECK(!attr_query_device_ex(context, NULL, &big.attr, sizeof(big)));
	CHECK_EQ(big.attr.orig_attr.max_qp, 64);
	for (size_t i = 0; i < sizeof(big.newer); i++)
		CHECK_EQ(big.newer[i], 0);
	memset(&big, 0xff, sizeof(big));
	CHECK(!attr_query_device_ex(context, NULL, &big.attr, sizeof(big.attr.orig_attr)));
	CHECK_EQ(big.attr.comp_mask, UINT32_MAX); /* behind an old caller's structure */
	CHECK_EQ(attr_query_device_ex(context, NULL, &big.attr, 4), EINVAL);
	close_context(context);
}

TEST(ibv_query_port__is_up_while_any_plane_is)
{
	struct ibv_context *context = open_context();
	struct ibv_port_attr attr;

	CHECK(!attr_query_port(context, 1, &attr, sizeof(attr)));
	CHECK_EQ(attr.state, IBV_PORT_ACTIVE);
	CHECK_EQ(attr.link_layer, IBV_LINK_LAYER_ETHERNET);
	CHECK_EQ(attr.gid_tbl_len, 4);
	CHECK_EQ(attr.active_width * attr.active_speed, 2 * 32);
	fake.plane_up[1] = false;
	CHECK(!attr_query_port(context, 1, &attr, sizeof(attr)));
	CHECK_EQ(attr.state, IBV_PORT_DOWN);
	CHECK_EQ(ibv_query_port(context, 2, &attr), EINVAL);
	close_context(context);
}

/* What interfaces carry may be less than what was wished for: a program cuts by what it is told. */
TEST(attr_mtu__is_what_packets_hold)
{
	static const struct {
		uint32_t bytes;
		enum ibv_mtu mtu;
	} cases[] = { { 8192, IBV_MTU_4096 }, { 4096, IBV_MTU_4096 }, { 4095, IBV_MTU_2048 },
		{ 2048, IBV_MTU_2048 }, { 1408, IBV_MTU_1024 }, { 1023, IBV_MTU_512 },
		{ 512, IBV_MTU_512 }, { 256, IBV_MTU_256 }, { 64, IBV_MTU_256 } };
	struct ibv_context *context = open_context();
	struct ibv_port_attr attr;

	for (size_t i = 0; i < WEFT_COUNT(cases); i++) {
		context_of(context)->attr.mtu_bytes = cases[i].bytes;
		CHECK(!attr_query_port(context, 1, &attr, sizeof(attr)));
		CHECK_EQ(attr.active_mtu, cases[i].mtu);
	}
	close_context(context);
}

#undef ibv_query_port

TEST(ibv_query_port__does_not_write_behind_an_old_structure)
{
	struct ibv_context *context = open_context();
	struct ibv_port_attr attr;

	memset(&attr, 0xee, sizeof(attr));
	CHECK(!ibv_query_port(context, 1, (struct _compat_ibv_port_attr *)(void *)&attr));
	CHECK_EQ(attr.state, IBV_PORT_ACTIVE);
	CHECK_EQ(attr.port_cap_flags2, 0xeeee);
	close_context(context);
}

TEST(attr_query_rt_values__reads_the_clock_of_completions)
{
	struct ibv_context *context = open_context();
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	CHECK(!ibv_query_rt_values_ex(context, &values));
	CHECK_EQ(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	CHECK(values.raw_clock.tv_sec > 0);
	values.comp_mask = 0;
	CHECK(!ibv_query_rt_values_ex(context, &values));
	CHECK_EQ(values.comp_mask, 0);
	close_context(context);
}
