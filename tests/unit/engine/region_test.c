/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

static enum weft_drop fault(
	const struct weft_endpoint *ep, uint32_t rkey, uint32_t pd, uint64_t va, uint32_t len_bytes)
{
	const struct reach asked = { rkey, pd, 0, len_bytes, WEFT_ACCESS_REMOTE_WRITE, va };

	return region_fault(ep, &asked);
}

TEST(region_place__checks_key_domain_access_and_bounds)
{
	struct world w = { 0 };
	struct weft_config config;
	static uint8_t memory[256];
	uint32_t key, read_only, empty;

	world_config(&config);
	world_open(&w, &config);
	CHECK_EQ(weft_region_add(w.end[0], 0x1000, memory, 256, 3, WEFT_ACCESS_REMOTE_WRITE,
				 0xabcd1234, &key), 0);
	CHECK_EQ(weft_region_add(w.end[0], 0x1000, memory, 256, 3, 0, 0x55, &read_only), 0);
	CHECK_EQ(weft_region_add(w.end[0], 0x1000, memory, 0, 3, WEFT_ACCESS_REMOTE_WRITE, 0x7766,
				 &empty), 0);
	const struct {
		uint64_t va;
		uint32_t len, key, pd;
		int offset; /* or -reason */
	} rows[] = {
		{ 0x1000, 256, key, 3, 0 },
		{ 0x10ff, 1, key, 3, 255 },
		{ 0x1100, 1, key, 3, -WEFT_DROP_OUT_OF_BOUNDS },
		{ 0x0fff, 1, key, 3, -WEFT_DROP_OUT_OF_BOUNDS },
		{ 0x1001, 256, key, 3, -WEFT_DROP_OUT_OF_BOUNDS },
		{ UINT64_MAX, 2, key, 3, -WEFT_DROP_OUT_OF_BOUNDS },
		{ 0x1000, UINT32_MAX, key, 3, -WEFT_DROP_OUT_OF_BOUNDS },
		{ 0x1000, 1, key ^ 0x80000000, 3, -WEFT_DROP_BAD_RKEY },
		{ 0x1000, 1, key ^ 3, 3, -WEFT_DROP_BAD_RKEY },
		{ 0x1000, 1, key, 4, -WEFT_DROP_BAD_ACCESS },
		{ 0x1000, 1, read_only, 3, -WEFT_DROP_BAD_ACCESS },
		{ 0x1000, 1, empty, 3, -WEFT_DROP_OUT_OF_BOUNDS },
		{ 0x0fff, 1, empty, 3, -WEFT_DROP_OUT_OF_BOUNDS },
		{ 0, UINT32_MAX, empty, 3, -WEFT_DROP_OUT_OF_BOUNDS },
	};
	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		uint8_t *to = region_place(w.end[0], rows[i].key, rows[i].pd, rows[i].va,
					   rows[i].len);

		if (rows[i].offset >= 0)
			CHECK(to == memory + rows[i].offset);
		else
			CHECK_EQ(to ? 0 : fault(w.end[0], rows[i].key, rows[i].pd, rows[i].va,
						rows[i].len),
				 -rows[i].offset);
	}
	world_close(&w);
}

TEST(weft_region__add_and_drop_answer_wrong_calls)
{
	struct world w = { 0 };
	struct weft_config config;
	uint8_t byte;
	uint32_t key, keys[4];

	world_config(&config);
	world_open(&w, &config);
	struct weft_endpoint *ep = w.end[0];

	CHECK_EQ(weft_region_add(ep, 0, NULL, 1, 0, 1, 0, &key), WEFT_EINVAL);
	CHECK_EQ(weft_region_add(ep, UINT64_MAX, &byte, 2, 0, 1, 0, &key), WEFT_EINVAL);
	CHECK_EQ(weft_region_add(ep, 0, &byte, 1, 0, 8, 0, &key), WEFT_EINVAL);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(weft_region_add(ep, 0, &byte, 1, 0, 1, 0x1230 + 77u * (unsigned)i,
					 &keys[i]), 0);
	CHECK_EQ(weft_region_add(ep, 0, &byte, 1, 0, 1, 0, &key), WEFT_EFULL);
	CHECK_EQ(weft_region_drop(ep, keys[2] ^ 1), WEFT_ENOENT);
	CHECK_EQ(weft_region_drop(ep, keys[2]), 0);
	CHECK_EQ(weft_region_drop(ep, keys[2]), WEFT_ENOENT);
	world_close(&w);
}

TEST(weft_region_trim__takes_the_beginning_away_from_everybody)
{
	struct world w = { 0 };
	struct weft_config config;
	static uint8_t memory[256];
	uint32_t key, window;

	world_config(&config);
	world_open(&w, &config);
	struct weft_endpoint *ep = w.end[0];

	CHECK_EQ(weft_region_add(ep, 0x1000, memory, 256, 0, WEFT_ACCESS_REMOTE_WRITE, 0x1234,
				 &key), 0);
	CHECK_EQ(weft_region_trim(ep, key, 0x1040), 0);
	CHECK(!region_place(ep, key, 0, 0x1000, 1));
	CHECK(!region_place(ep, key, 0, 0x103f, 2));
	CHECK_EQ(fault(ep, key, 0, 0x103f, 1), WEFT_DROP_OUT_OF_BOUNDS);
	CHECK(region_place(ep, key, 0, 0x1040, 192) == memory + 0x40);
	CHECK(!region_place(ep, key, 0, 0x1040, 193));
	/* Neither back nor beyond its end, and nothing has changed. */
	CHECK_EQ(weft_region_trim(ep, key, 0x1000), WEFT_EINVAL);
	CHECK_EQ(weft_region_trim(ep, key, 0x1101), WEFT_EINVAL);
	CHECK_EQ(weft_region_trim(ep, key ^ 1, 0x1080), WEFT_ENOENT);
	CHECK(region_place(ep, key, 0, 0x1040, 192) == memory + 0x40);
	CHECK_EQ(weft_region_trim(ep, key, 0x1100), 0); /* all of it */
	CHECK(!region_place(ep, key, 0, 0x10ff, 1));
	CHECK_EQ(weft_region_drop(ep, key), 0);
	CHECK_EQ(weft_region_trim(ep, key, 0x1100), WEFT_ENOENT);
	CHECK_EQ(weft_memwin_open(ep, 0, 0x9900, &window), 0);
	CHECK_EQ(weft_region_trim(ep, window, 0), WEFT_ENOENT);
	world_close(&w);
}

/* What is secret is not the upper part alone: a slot is drawn, too. */
TEST(weft_region_add__makes_all_of_the_salt_the_key)
{
	struct world w = { 0 };
	struct weft_config config;
	static uint8_t memory[64];
	uint32_t keys[64], salts[] = { 0xdeadbeef, 0x00000001, 0xfffff2ff, 0x80000100 };

	world_config(&config);
	config.regions = 64;
	world_open(&w, &config);
	struct weft_endpoint *ep = w.end[0];

	for (uint32_t i = 0; i < WEFT_COUNT(salts); i++) {
		CHECK_EQ(weft_region_add(ep, 0, memory, 64, 0, 1, salts[i], &keys[i]), 0);
		CHECK_EQ(keys[i], salts[i]);
	}
	/* The same once more: another slot, wherever, until there is none. */
	for (uint32_t i = WEFT_COUNT(salts); i < 64; i++) {
		CHECK_EQ(weft_region_add(ep, 0, memory, 64, 0, 1, 0xdeadbeef, &keys[i]), 0);
		CHECK_EQ(keys[i] & ~0x3f00u, 0xdeadbeef & ~0x3f00u);
		for (uint32_t k = 0; k < i; k++)
			CHECK((keys[k] & 0x3f00) != (keys[i] & 0x3f00));
	}
	CHECK_EQ(weft_region_add(ep, 0, memory, 64, 0, 1, 0xdeadbeef, &keys[0]), WEFT_EFULL);
	CHECK_EQ(weft_region_drop(ep, keys[63]), 0);
	CHECK_EQ(weft_region_add(ep, 0, memory, 64, 1u << 31, 1, 0, &keys[63]), WEFT_EINVAL);
	CHECK_EQ(weft_region_add(ep, 0, memory, 64, 0, 1, 5, &keys[63]), 0);
	world_close(&w);
}

TEST(region_place__no_key_opens_what_is_not_open)
{
	struct world w = { 0 };
	struct weft_config config;
	static uint8_t memory[64];
	uint32_t key, read_only;

	world_config(&config);
	world_open(&w, &config);
	struct weft_endpoint *ep = w.end[0];

	CHECK_EQ(weft_region_add(ep, 0x1000, memory, 64, 0, 1, 0x7770, &key), 0);
	CHECK_EQ(weft_region_drop(ep, key), 0);
	CHECK(!region_place(ep, key, 0, 0x1000, 1));
	for (uint32_t slot = 0; slot < config.regions; slot++) { /* dropped, or never used */
		key = slot << 8;
		CHECK(!region_place(ep, key, 0, 0x1000, 1));
		CHECK(!region_place(ep, key, 0, 0, 1));
		CHECK_EQ(fault(ep, key, 0, 0x1000, 1), WEFT_DROP_BAD_RKEY);
	}
	CHECK_EQ(weft_region_add(ep, 0x1000, memory, 64, 0, 0, 0, &read_only), 0);
	CHECK_EQ(read_only, 0); /* the least secret of keys, in domain 0 */
	CHECK(!region_place(ep, read_only, 0, 0x1000, 1));
	CHECK_EQ(fault(ep, read_only, 0, 0x1000, 1), WEFT_DROP_BAD_ACCESS);
	world_close(&w);
}
