/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpus.h"

TEST(weft_gpu_find__knows_the_context_of_memory)
{
	struct weft_gpu_place place;
	uint64_t at = gpus_memory(1, 4096);

	CHECK_EQ(weft_gpu_find(at + 4095, &place), 0);
	CHECK(place.context && place.primary == -1);
	CHECK_EQ(standin.retained, 1); /* by gpus_memory() */
	weft_gpu_forget(&place);
	CHECK(weft_gpu_find(at + 4096, &place));
	CHECK(weft_gpu_find((uintptr_t)&place, &place));
	gpus_free(1, at);
	gpus_are_clean();
}

/* As of memory of cuMemMap() and of pools, of the second device. */
TEST(weft_gpu_find__takes_the_primary_context_where_there_is_none)
{
	struct weft_gpu_place place;

	standin.pooled = true;
	uint64_t at = gpus_memory(1, 4096);

	CHECK_EQ(weft_gpu_find(at, &place), 0);
	CHECK_EQ(place.primary, 1);
	CHECK(place.context);
	CHECK_EQ(standin.retained, 2);
	weft_gpu_forget(&place);
	CHECK_EQ(standin.retained, 1);
	static const char *const calls[] = { "cuDeviceGet", "cuDevicePrimaryCtxRetain" };

	for (size_t i = 0; i < WEFT_COUNT(calls); i++) {
		gpus_fail(calls[i], 1);
		CHECK_EQ(weft_gpu_find(at, &place), 77);
		CHECK_EQ(place.primary, -1);
	}
	CHECK_EQ(standin.retained, 1);
	gpus_free(1, at);
	gpus_are_clean();
}

TEST(weft_gpu_find__says_what_the_driver_says)
{
	struct weft_gpu_place place;
	uint64_t at = gpus_memory(0, 4096);

	gpus_fail("cuPointerGetAttribute", 1);
	CHECK_EQ(weft_gpu_find(at, &place), 77);
	gpus_fail("cuPointerGetAttribute", 2); /* of its context: there may be another way */
	CHECK_EQ(weft_gpu_find(at, &place), 0);
	CHECK_EQ(place.primary, 0);
	weft_gpu_forget(&place);
	gpus_free(0, at);
	gpus_are_clean();
}

/* Pinned host memory has an address that the driver knows, too. */
TEST(weft_gpu_pin__is_no_memory_of_a_gpu)
{
	static uint8_t host[8192] __attribute__((aligned(4096)));
	struct weft_gpu_place place, other;
	uint64_t at = gpus_memory(0, 4096);

	CHECK_EQ(weft_gpu_find(at, &place), 0);
	CHECK_EQ(weft_gpu_pin(&place, host, sizeof(host)), 0);
	CHECK_EQ(standin.pinned_bytes, sizeof(host));
	CHECK(weft_gpu_find((uintptr_t)host, &other));
	weft_gpu_unpin(&place, host);
	gpus_fail("cuMemHostRegister_v2", 1);
	CHECK_EQ(weft_gpu_pin(&place, host, sizeof(host)), 77);
	gpus_fail("cuCtxPushCurrent_v2", 1);
	CHECK_EQ(weft_gpu_pin(&place, host, sizeof(host)), 77);
	weft_gpu_forget(&place);
	gpus_free(0, at);
	gpus_are_clean();
}
