/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sending for real, over a veth; receiving by playing the kernel: the rings are shared memory, so a
 * test may write what a driver would.  The real thing is in afxdp_test.c.
 */
#include "port/xsk.h"
#include "ether.h"

#include <linux/if_xdp.h>

#define FRAME 4250u
#define CONTINUED 1u

static struct xsk open_xsk(void)
{
	struct xsk xsk;

	ether_build();
	ether_enter(0);
	if (xsk_open(&xsk, if_nametoindex("p0"), 0, FRAME, 16, 8, ether_error, sizeof(ether_error)))
		SKIP(ether_error);
	return xsk;
}

/* What a driver does: takes a buffer from the fill ring, writes, tells. */
static void arrive(struct xsk *xsk, uint32_t from, uint32_t bytes, bool is_last)
{
	uint32_t *at = xsk->fill.consumer, *to = xsk->rx.producer;
	uint64_t addr = ((uint64_t *)xsk->fill.entries)[(*at)++ & xsk->fill.mask] + 256;

	for (uint32_t i = 0; i < bytes; i++)
		xsk->memory[addr + i] = (uint8_t)(from + i);
	((struct xdp_desc *)xsk->rx.entries)[(*to)++ & xsk->rx.mask] =
		(struct xdp_desc){ .addr = addr, .len = bytes, .options = is_last ? 0 : CONTINUED };
}

static void expect(struct xsk *xsk, uint32_t want)
{
	uint32_t bytes = 0;
	const uint8_t *frame = xsk_next(xsk, &bytes);

	REQUIRE(frame);
	CHECK_EQ(bytes, want);
	for (uint32_t i = 0; i < bytes; i++)
		if (frame[i] != (uint8_t)i) {
			CHECK_FAIL("byte %u of %u", i, bytes);
			break;
		}
}

/* Every slot is in the fill ring again. */
static void expect_all_back(struct xsk *xsk)
{
	uint32_t n = *xsk->fill.producer - *xsk->fill.consumer, seen = 0;

	CHECK_EQ(n, 16);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t addr =
			((uint64_t *)xsk->fill.entries)[(*xsk->fill.consumer + i) & xsk->fill.mask];
		CHECK_EQ(addr % xsk->slot_bytes, 0);
		seen |= 1u << addr / xsk->slot_bytes;
	}
	CHECK_EQ(seen, 0xffff);
}

TEST(xsk_next__joins_the_buffers_of_a_frame)
{
	struct xsk xsk = open_xsk();
	uint32_t bytes;

	CHECK_EQ(xsk.slot_bytes, 8192);
	for (unsigned round = 0; round < 20; round++) { /* around the rings */
		arrive(&xsk, 0, 100, true);
		arrive(&xsk, 0, 3840, false);
		arrive(&xsk, 3840, FRAME - 3840, true);
		arrive(&xsk, 0, 3840, true);
		expect(&xsk, 100);
		expect(&xsk, FRAME);
		expect(&xsk, 3840);
		CHECK(!xsk_next(&xsk, &bytes));
		xsk_give_back(&xsk);
		expect_all_back(&xsk);
	}
	xsk_close(&xsk);
}

TEST(xsk_next__keeps_a_frame_whose_end_has_not_come)
{
	struct xsk xsk = open_xsk();
	uint32_t bytes;

	arrive(&xsk, 0, 60, true);
	arrive(&xsk, 0, 3840, false);
	expect(&xsk, 60);
	CHECK(!xsk_next(&xsk, &bytes));
	xsk_give_back(&xsk);
	CHECK_EQ(xsk.lent, 1);
	arrive(&xsk, 3840, 10, true);
	expect(&xsk, 3850);
	xsk_give_back(&xsk);
	expect_all_back(&xsk);
	xsk_close(&xsk);
}

TEST(xsk_next__says_zero_bytes_for_a_frame_longer_than_any_of_ours)
{
	struct xsk xsk = open_xsk();
	uint32_t bytes = 1;

	arrive(&xsk, 0, 3840, false);
	arrive(&xsk, 0, 3840, false);
	arrive(&xsk, 0, 3840, false);
	arrive(&xsk, 0, 3840, true);
	arrive(&xsk, 0, 64, true);
	CHECK(xsk_next(&xsk, &bytes) != NULL);
	CHECK_EQ(bytes, 0);
	expect(&xsk, 64);
	xsk_give_back(&xsk);
	expect_all_back(&xsk);
	xsk_close(&xsk);
}

TEST(xsk_is_spent__before_the_kernel_has_nothing_left_to_write_to)
{
	struct xsk xsk = open_xsk();

	for (unsigned i = 0; i < 9; i++) {
		CHECK(!xsk_is_spent(&xsk));
		arrive(&xsk, 0, 64, true);
		expect(&xsk, 64);
	}
	CHECK(xsk_is_spent(&xsk));
	xsk_give_back(&xsk);
	CHECK(!xsk_is_spent(&xsk));
	xsk_close(&xsk);
}

TEST(xsk_flush__sends_frames_of_one_buffer_and_of_two)
{
	struct xsk xsk = open_xsk();
	uint8_t want[2][8192], got[8192];
	int tap = ether_tap(1, "q0");
	static const uint32_t sizes[] = { 100, FRAME };
	uint32_t refused;

	for (unsigned i = 0; i < 2; i++) {
		uint8_t *frame = xsk_take(&xsk);

		REQUIRE(frame);
		for (uint32_t j = 0; j < sizes[i]; j++)
			frame[j] = want[i][j] = (uint8_t)(j < 12 ? 0xff : j * 5 + i);
		frame[12] = want[i][12] = 0x88; /* an Ethernet type for experiments */
		frame[13] = want[i][13] = 0xb5;
		xsk_send(&xsk, frame, sizes[i]);
	}
	xsk_untake(&xsk, xsk_take(&xsk));
	CHECK_EQ(xsk.n_free, 6);
	CHECK(xsk_flush(&xsk, &refused));
	CHECK_EQ(refused, 0);
	uint64_t end = weft_clock_now(NULL) + 2000000000;
	unsigned n = 0;

	while (n < 2 && weft_clock_now(NULL) < end) {
		ssize_t bytes = recv(tap, got, sizeof(got), 0);

		if (bytes < 14 || got[12] != 0x88)
			continue;
		CHECK_EQ(bytes, sizes[n]);
		CHECK_MEM(got, want[n], sizes[n]);
		n++;
	}
	CHECK_EQ(n, 2);
	while (xsk_reap(&xsk) < 8 && weft_clock_now(NULL) < end)
		;
	CHECK_EQ(xsk.n_free, 8);
	for (unsigned i = 0; i < 8; i++)
		CHECK(xsk_take(&xsk) != NULL);
	CHECK(!xsk_take(&xsk));
	close(tap);
	xsk_close(&xsk);
}

TEST(xsk_flush__takes_frames_back_from_a_link_that_is_down)
{
	struct xsk xsk = open_xsk();
	uint32_t refused;

	ether_enter(0);
	shell("ip link set p0 down");
	for (unsigned i = 0; i < 3; i++) {
		uint8_t *frame = xsk_take(&xsk);

		memset(frame, 0xff, FRAME);
		xsk_send(&xsk, frame, FRAME);
	}
	CHECK(xsk_flush(&xsk, &refused));
	CHECK_EQ(refused, 3);
	CHECK_EQ(xsk_reap(&xsk), 8);
	shell("ip link set p0 up");
	xsk_close(&xsk);
}

TEST(xsk_open__says_what_is_wrong)
{
	struct xsk xsk = open_xsk(), other;

	CHECK_EQ(xsk_open(&other, if_nametoindex("p0"), 0, FRAME, 16, 8, ether_error,
			 sizeof(ether_error)),
		-1);
	CHECK(strstr(ether_error, "queue 0") != NULL);
	xsk_close(&other);
	CHECK_EQ(xsk_open(&other, 9999, 0, FRAME, 16, 8, ether_error, sizeof(ether_error)), -1);
	CHECK(strstr(ether_error, "AF_XDP") != NULL);
	xsk_close(&other);
	xsk_close(&xsk);
}
