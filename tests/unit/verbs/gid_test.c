/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_device.h"

static const uint8_t v4[16] = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 3 };

TEST(ibv_query_gid__has_the_address_at_3_and_forms_of_it_below)
{
	static const uint8_t isatap[16] = { 0xfe, 0x80, [10] = 0x5e, [11] = 0xfe, 10, 0, 0, 3 };
	union ibv_gid gid;

	struct ibv_context *context = open_context();
	memcpy(context_of(context)->gid, v4, 16);
	for (int i = 0; i < 3; i++) {
		CHECK(!ibv_query_gid(context, 1, i, &gid));
		CHECK_MEM(gid.raw, isatap, 16);
	}
	CHECK(!ibv_query_gid(context, 1, 3, &gid));
	CHECK_MEM(gid.raw, v4, 16);
	CHECK_EQ(ibv_query_gid(context, 1, 4, &gid), -1);
	CHECK_EQ(ibv_query_gid(context, 2, 0, &gid), -1);
	CHECK_EQ(ibv_query_gid(context, 1, -1, &gid), -1);
	close_context(context);
}

TEST(ibv_query_gid__is_an_ipv6_device_s_own)
{
	union ibv_gid gid;

	struct ibv_context *context = open_context();
	CHECK(!ibv_query_gid(context, 1, 0, &gid));
	CHECK(gid.raw[0] == 0xfd && gid.raw[15] == 7);
	close_context(context);
}

TEST(gid_address__understands_every_form)
{
	union ibv_gid gid;
	uint8_t address[16];

	struct ibv_context *context = open_context();
	memcpy(context_of(context)->gid, v4, 16);
	for (uint32_t i = 0; i < GIDS; i++) {
		REQUIRE(gid_at(context_of(context), i, &gid));
		gid_address(&gid, address);
		CHECK_MEM(address, v4, 16);
	}
	close_context(context);
}

TEST(ibv_query_gid_table__gives_all_or_nothing)
{
	struct ibv_gid_entry entries[GIDS + 1], one;

	struct ibv_context *context = open_context();
	CHECK_EQ(ibv_query_gid_table(context, entries, GIDS + 1, 0), GIDS);
	CHECK_EQ(entries[3].gid_index, 3);
	CHECK_EQ(entries[3].gid_type, IBV_GID_TYPE_ROCE_V2);
	CHECK_EQ(ibv_query_gid_table(context, entries, GIDS, 0), GIDS);
	CHECK_EQ(ibv_query_gid_table(context, entries, GIDS - 1, 0), -EINVAL);
	CHECK_EQ(ibv_query_gid_ex(context, 1, 2, &one, 0), 0);
	CHECK_EQ(one.gid_index, 2);
	CHECK_EQ(ibv_query_gid_ex(context, 1, GIDS, &one, 0), ENODATA);
	CHECK_EQ(ibv_query_gid_ex(context, 2, 0, &one, 0), EINVAL);
	close_context(context);
}

TEST(ibv_query_pkey__has_the_default_one)
{
	struct ibv_context *context = open_context();
	__be16 pkey = 0;

	CHECK(!ibv_query_pkey(context, 1, 0, &pkey));
	CHECK_EQ(pkey, 0xffff);
	CHECK_EQ(ibv_query_pkey(context, 1, 1, &pkey), -1);
	CHECK_EQ(ibv_get_pkey_index(context, 1, pkey), 0);
	CHECK_EQ(ibv_get_pkey_index(context, 1, 0x1234), -1);
	close_context(context);
}
