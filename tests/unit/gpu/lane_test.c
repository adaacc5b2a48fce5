/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpus.h"

#include <unistd.h>

#define BYTES 65536u
#define TRIES_MAX 100000

static uint8_t host[BYTES] __attribute__((aligned(4096)));
static uint64_t gpu;
static struct weft_gpu_place place;
static struct weft_gpu_lane *lane;

static void begin(void)
{
	gpu = gpus_memory(0, BYTES);
	WEFT_ASSERT(!weft_gpu_find(gpu, &place));
	WEFT_ASSERT(!weft_gpu_pin(&place, host, BYTES));
	WEFT_ASSERT(!weft_gpu_lane_open(&place, 8, &lane));
}

static void end(void)
{
	weft_gpu_unpin(&place, host);
	weft_gpu_forget(&place);
	gpus_free(0, gpu);
	gpus_are_clean();
}

static int wait_for(uint32_t copy)
{
	bool done = false;
	int rc = 0;

	for (unsigned i = 0; i < TRIES_MAX && !rc && !done; i++) {
		rc = weft_gpu_copied(lane, copy, &done);
		usleep(10);
	}
	CHECK(rc || done);
	return rc;
}

TEST(weft_gpu_copy__goes_on_by_itself)
{
	static uint8_t seen[BYTES];
	bool done = true;

	begin();
	for (size_t i = 0; i < BYTES; i++)
		host[i] = (uint8_t)(i * 7);
	standin.hangs = true;
	CHECK_EQ(weft_gpu_copy(lane, 3, WEFT_GPU_FROM_HOST, gpu, host, BYTES), 0);
	for (unsigned i = 0; i < 50; i++) {
		CHECK_EQ(weft_gpu_copied(lane, 3, &done), 0);
		CHECK(!done);
		usleep(100);
	}
	standin.hangs = false;
	CHECK_EQ(wait_for(3), 0);
	gpus_get(seen, gpu, BYTES);
	CHECK(!memcmp(seen, host, BYTES));
	memset(host, 0, BYTES);
	CHECK_EQ(weft_gpu_copy(lane, 3, WEFT_GPU_TO_HOST, gpu + 5, host, BYTES - 5), 0);
	CHECK_EQ(wait_for(3), 0);
	CHECK(!memcmp(seen + 5, host, BYTES - 5));
	CHECK(weft_gpu_lane_close(lane));
	end();
}

TEST(weft_gpu_copy__keeps_its_order)
{
	bool done;

	begin();
	for (unsigned round = 0; round < 50; round++) {
		for (uint32_t i = 0; i < 8; i++) {
			host[i] = (uint8_t)(round + i);
			CHECK_EQ(weft_gpu_copy(lane, i, WEFT_GPU_FROM_HOST, gpu, host + i, 1), 0);
		}
		CHECK_EQ(weft_gpu_copy(lane, 7, WEFT_GPU_TO_HOST, gpu, host + 100, 1), 0);
		CHECK_EQ(wait_for(7), 0);
		CHECK_EQ(host[100], (uint8_t)(round + 7));
		CHECK_EQ(weft_gpu_copied(lane, 0, &done), 0);
		CHECK(done);
	}
	CHECK(weft_gpu_lane_close(lane));
	end();
}

TEST(weft_gpu_lane_open__leaves_nothing_where_it_fails)
{
	static const char *const calls[] = { "cuCtxPushCurrent_v2", "cuStreamCreate",
		"cuEventCreate", "cuDevicePrimaryCtxRetain" };

	standin.pooled = true; /* so that it holds a context */
	begin();
	CHECK(weft_gpu_lane_close(lane));
	for (size_t i = 0; i < WEFT_COUNT(calls); i++) {
		for (int nth = 1; nth <= (i == 2 ? 8 : 1); nth++) {
			gpus_fail(calls[i], nth);
			CHECK_EQ(weft_gpu_lane_open(&place, 8, &lane), 77);
			CHECK_EQ(standin.streams, 0);
			CHECK_EQ(standin.events, 0);
			CHECK_EQ(standin.retained, 2);
		}
	}
	end();
}

TEST(weft_gpu_copied__says_what_went_wrong)
{
	bool done;

	begin();
	CHECK(weft_gpu_copy(lane, 0, WEFT_GPU_TO_HOST, gpu + 1, host, BYTES)); /* too long */
	CHECK(weft_gpu_copy(lane, 0, WEFT_GPU_TO_HOST, gpu, &place, 8));       /* not pinned */
	gpus_fail("cuMemcpyDtoHAsync_v2", 1);
	CHECK_EQ(weft_gpu_copy(lane, 0, WEFT_GPU_TO_HOST, gpu, host, BYTES), 77);
	gpus_fail("cuCtxPushCurrent_v2", 1);
	CHECK_EQ(weft_gpu_copy(lane, 0, WEFT_GPU_TO_HOST, gpu, host, BYTES), 77);
	CHECK_EQ(weft_gpu_copy(lane, 0, WEFT_GPU_TO_HOST, gpu, host, BYTES), 0);
	gpus_fail("cuEventQuery", 1);
	CHECK_EQ(weft_gpu_copied(lane, 0, &done), 77);
	CHECK(!done);
	CHECK(weft_gpu_lane_close(lane)); /* it was once; the copy is waited for */
	end();
}

TEST(weft_gpu_lane_close__waits_for_what_is_under_way)
{
	begin();
	standin.delay_us = 100000;
	for (uint32_t i = 0; i < 8; i++)
		CHECK_EQ(weft_gpu_copy(lane, i, WEFT_GPU_FROM_HOST, gpu, host, BYTES), 0);
	CHECK(weft_gpu_lane_close(lane));
	standin.delay_us = 300;
	end();
}

/* A context that has failed: what was under way is over. */
TEST(weft_gpu_lane_close__does_not_wait_for_what_has_failed)
{
	begin();
	standin.delay_us = 0;
	CHECK_EQ(weft_gpu_copy(lane, 0, WEFT_GPU_FROM_HOST, gpu, host, BYTES), 0);
	CHECK_EQ(wait_for(0), 0);
	CHECK_EQ(weft_gpu_copy(lane, 0, WEFT_GPU_FROM_HOST, gpu, host, BYTES), 0);
	usleep(20000);
	gpus_fail("cuEventQuery", -1);
	CHECK(weft_gpu_lane_close(lane));
	gpus_fail("", 0);
	standin.delay_us = 300;
	end();
}

/* One that hangs is left alone, with its memory; and one that cannot be asked about. */
TEST(weft_gpu_lane_close__gives_up)
{
	begin();
	gpus_fail("cuEventRecord", 1);
	CHECK_EQ(weft_gpu_copy(lane, 0, WEFT_GPU_FROM_HOST, gpu, host, 8), 77);
	CHECK(!weft_gpu_lane_close(lane));
	CHECK_EQ(weft_gpu_lane_open(&place, 8, &lane), 0);
	standin.hangs = true;
	CHECK_EQ(weft_gpu_copy(lane, 0, WEFT_GPU_FROM_HOST, gpu, host, 8), 0);
	CHECK(!weft_gpu_lane_close(lane));
	CHECK_EQ(standin.streams, 2); /* lost */
	CHECK_EQ(standin.pushes, standin.pops);
	standin.hangs = false;
	usleep(20000);
	standin.streams = standin.events = 0;
	end();
}
