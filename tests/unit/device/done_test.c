/* SPDX-License-Identifier: BSD-2-Clause */
#include "virtual.h"

TEST(done_take__completes_what_is_signaled_only)
{
	struct side *s[2];

	pair_open(s, WEFT_DEV_STRICT);
	for (uint64_t i = 0; i < 100; i++) {
		struct weft_dev_send send = to_memory(s[1], WEFT_DEV_WRITE, 0);

		send.id = i;
		send.flags = i % 10 == 9 ? WEFT_DEV_SIGNALED : 0;
		CHECK_EQ(side_post(s[0], send, 0, 16), 0);
	}
	for (uint64_t i = 9; i < 100; i += 10)
		CHECK_EQ(side_wait(s[0]).id, i);
	CHECK_EQ(s[0]->qp->sq_head, s[0]->qp->sq_tail);
	pair_close(s);
}

TEST(done_take__tells_a_sender_of_its_silent_failure)
{
	struct side *s[2];
	struct weft_dev_send send;
	struct weft_dev_wc wc;

	pair_open(s, WEFT_DEV_STRICT);
	send = to_memory(s[1], WEFT_DEV_WRITE, 0);
	send.flags = 0;
	send.rkey ^= 1u << 25;
	send.id = 3;
	CHECK_EQ(side_post(s[0], send, 0, 16), 0);
	wc = side_wait(s[0]);
	CHECK_EQ(wc.status, WEFT_DEV_REM_ACCESS_ERR);
	CHECK_EQ(wc.id, 3);
	pair_close(s);
}

TEST(done_take__fails_a_receive_that_is_too_short)
{
	struct side *s[2];
	struct weft_dev_send send = { .op = WEFT_DEV_SEND, .flags = WEFT_DEV_SIGNALED };

	pair_open(s, WEFT_DEV_EXTENDED);
	CHECK_EQ(side_recv(s[1], 1, 0, 10), 0);
	CHECK_EQ(side_post(s[0], send, 0, 11), 0);
	CHECK_EQ(side_wait(s[1]).status, WEFT_DEV_LOC_LEN_ERR);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_REM_INV_REQ_ERR);
	pair_close(s);
}

TEST(done_take__hands_datagrams_over_with_their_sender)
{
	struct side *s[2];
	struct weft_dev_ah *ah;
	struct weft_dev_send send = { .op = WEFT_DEV_SEND, .flags = WEFT_DEV_SIGNALED, .qkey = 77 };
	struct weft_dev_wc wc;
	uint8_t gid[16];

	ah = pair_datagrams(s);
	weft_dev_gid(s[1]->dev, gid);
	CHECK_EQ(side_recv(s[1], 6, 0, 512), 0);
	memset(s[0]->memory, 0x21, 256);
	send.ah = ah;
	send.peer_qpn = weft_dev_qp_number(s[1]->qp);
	CHECK_EQ(side_post(s[0], send, 0, 256), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	wc = side_wait(s[1]);
	CHECK_EQ(wc.status, WEFT_DEV_OK);
	CHECK_EQ(wc.len_bytes, 256 + WEFT_GRH_BYTES);
	CHECK_EQ(wc.src_qpn, weft_dev_qp_number(s[0]->qp));
	CHECK_EQ(wc.flags, WEFT_DEV_WC_GRH);
	CHECK_EQ(s[1]->memory[0], 0x60);
	CHECK(!memcmp(s[1]->memory + 24, gid, 16));
	weft_dev_gid(s[0]->dev, gid);
	CHECK(!memcmp(s[1]->memory + 8, gid, 16));
	CHECK_EQ(s[1]->memory[40 + 255], 0x21);
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	pair_close(s);
}
