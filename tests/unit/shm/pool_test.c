/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "shm_local.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static char error[256];

TEST(weft_shm_pool_open__makes_slots_that_are_ours_and_cannot_shrink)
{
	struct weft_shm_pool pool;

	REQUIRE(!weft_shm_pool_open(&pool, 3, 192, error, sizeof(error)));
	CHECK_EQ(weft_shm_packet(&pool, 2) - pool.memory, 2 * 192 + 108);
	CHECK_EQ(weft_shm_packet_max(&pool), 192 - 108);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_EQ(pool.owner[i], 0);
	memset(pool.memory, 0xff, 3 * 192);
	CHECK_EQ(ftruncate(pool.fd, 100), -1);
	CHECK(fcntl(pool.fd, F_GETFD) & FD_CLOEXEC);
	weft_shm_pool_close(&pool);
	weft_shm_pool_close(&pool);
	weft_shm_pool_close(&(struct weft_shm_pool){ 0 });
	CHECK(fcntl(0, F_GETFD) >= 0); /* an empty pool has no descriptor 0 to close */
}

TEST(weft_shm_pool_open__refuses_sizes_that_make_no_sense)
{
	static const struct {
		uint32_t slots, slot_bytes;
	} rows[] = { { 0, 192 }, { WEFT_SHM_SLOTS_MAX + 1, 192 }, { 1, 128 }, { 1, 100 },
		{ 1, 65536 + 64 }, { 1, 0 }, { UINT32_MAX, UINT32_MAX } };

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_shm_pool pool;

		CHECK_EQ(weft_shm_pool_open(
				 &pool, rows[i].slots, rows[i].slot_bytes, error, sizeof(error)),
			-1);
		CHECK(strstr(error, "slots of") != NULL);
	}
}

/* A descriptor as a foul process might hand it over. */
static int made(size_t bytes, unsigned flags, int seals)
{
	int fd = memfd_create("foul", MFD_CLOEXEC | flags);

	REQUIRE(fd >= 0 && !ftruncate(fd, (off_t)bytes));
	if (seals)
		REQUIRE(!fcntl(fd, F_ADD_SEALS, seals));
	return fd;
}

TEST(pool_join__maps_only_what_is_large_enough_and_stays_so)
{
	struct weft_shm_pool pool;
	int ends[2];

	CHECK_EQ(pool_join(&pool, 4, 1024, made(4096, MFD_ALLOW_SEALING, F_SEAL_SHRINK)), 0);
	weft_shm_pool_close(&pool);
	CHECK_EQ(pool_join(&pool, 4, 1024, made(4095, MFD_ALLOW_SEALING, F_SEAL_SHRINK)), -1);
	CHECK_EQ(pool_join(&pool, 4, 1024, made(4096, MFD_ALLOW_SEALING, F_SEAL_GROW)), -1);
	CHECK_EQ(pool_join(&pool, 4, 1024, made(4096, 0, 0)), -1);
	CHECK_EQ(pool_join(&pool, 0, 1024, made(4096, MFD_ALLOW_SEALING, F_SEAL_SHRINK)), -1);
	REQUIRE(!pipe(ends));
	CHECK_EQ(pool_join(&pool, 4, 1024, ends[0]), -1);
	CHECK_EQ(fcntl(ends[0], F_GETFD), -1); /* taken over, and closed */
	close(ends[1]);
}
