/* SPDX-License-Identifier: BSD-2-Clause */
#include "datagrams/datagrams_local.h"
#include "unit/device/virtual.h"

#define BYTES 64u

static struct weft_dev_send to_second(struct side *s[2], struct weft_dev_ah *ah, uint32_t i)
{
	return (struct weft_dev_send){ .id = i,
		.op = WEFT_DEV_SEND_IMM,
		.flags = WEFT_DEV_SIGNALED,
		.qkey = 77,
		.imm = i,
		.ah = ah,
		.peer_qpn = weft_dev_qp_number(s[1]->qp) };
}

static uint32_t room_of(const struct side *s)
{
	return weft_live_engine(s->dev->live)->sq_depth;
}

/* Ready again, under the same number, as after an error. */
static void renew(struct side *s)
{
	struct weft_dev_qp_attr attr = { .state = WEFT_DEV_RESET };

	CHECK_EQ(weft_dev_qp_modify(s->qp, &attr, WEFT_DEV_SET_STATE), 0);
	side_init(s);
	attr.state = WEFT_DEV_RTR;
	CHECK_EQ(weft_dev_qp_modify(s->qp, &attr, WEFT_DEV_SET_STATE), 0);
}

/* More than all the room there is: nothing is lost, and nothing changes its place. */
TEST(courier_send__waits_for_a_receiver_that_is_late)
{
	enum { ALL = 6000 };
	struct side *s[2];
	struct weft_dev_ah *ah = pair_datagrams(s);
	uint64_t limit_ns = ground_now() + LIMIT_S * SECOND;
	uint32_t posted = 0, sent = 0, got = 0, idle = 0;
	struct weft_dev_wc wc;

	while (got < ALL && ground_now() < limit_ns) {
		uint32_t before = sent;

		while (posted < ALL && posted < sent + 100 &&
			!side_post(s[0], to_second(s, ah, posted), 0, BYTES))
			posted++;
		while (weft_dev_cq_poll(s[0]->cq, &wc, 1) == 1)
			CHECK_EQ(wc.id, sent++);
		idle = sent == before ? idle + 1 : 0;
		if (sent < ALL && idle < 200) { /* no receives before the sender waits */
			CHECK_EQ(weft_dev_cq_poll(s[1]->cq, &wc, 1), 0);
			continue;
		}
		if (side_recv(s[1], got, 0, 512))
			continue;
		wc = side_wait(s[1]);
		REQUIRE(wc.status == WEFT_DEV_OK);
		CHECK_EQ(wc.imm, got++);
	}
	CHECK_EQ(got, ALL);
	CHECK_EQ(s[0]->dev->datagrams.lost, 0);
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	pair_close(s);
}

/* A queue pair that is there and never has a receive takes a sender's time once. */
TEST(courier_send__loses_what_nobody_takes)
{
	struct side *s[2];
	struct weft_dev_ah *ah = pair_datagrams(s);
	uint64_t start_ns = ground_now(), full_ns = 0;
	uint32_t n = 0;

	while (!s[0]->dev->datagrams.lost && ground_now() < start_ns + LIMIT_S * SECOND) {
		full_ns = ground_now();
		CHECK_EQ(side_post(s[0], to_second(s, ah, n++), 0, BYTES), 0);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	}
	CHECK(s[0]->dev->datagrams.lost > 0);
	CHECK(n > 4096);
	/* Half a second of silence, from the last that was taken. */
	CHECK(ground_now() - full_ns > 499 * MS && ground_now() - full_ns < 501 * MS);
	start_ns = ground_now();
	for (uint32_t i = 0; i < 1000; i++) {
		CHECK_EQ(side_post(s[0], to_second(s, ah, i), 0, BYTES), 0);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	}
	CHECK_EQ(ground_now(), start_ns); /* once is enough */
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	pair_close(s);
}

TEST(courier_let_go__what_was_sent_arrives_all_the_same)
{
	struct side *s[2];
	struct weft_dev_ah *ah = pair_datagrams(s);
	uint32_t n = room_of(s[0]) / 2;

	CHECK_EQ(side_recv(s[1], 0, 0, 512), 0);
	CHECK_EQ(side_post(s[0], to_second(s, ah, 0), 0, BYTES), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	CHECK_EQ(side_wait(s[1]).status, WEFT_DEV_OK); /* they know each other */
	for (uint32_t i = 0; i < n; i++)
		CHECK_EQ(side_post(s[0], to_second(s, ah, i), 0, BYTES), 0);
	for (uint32_t i = 0; i < n; i++)
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	CHECK_EQ(weft_dev_qp_close(s[0]->qp), 0);
	s[0]->qp = NULL;
	for (uint32_t i = 0; i < n; i++) {
		CHECK_EQ(side_recv(s[1], i, 0, 512), 0);
		struct weft_dev_wc wc = side_wait(s[1]);

		CHECK_EQ(wc.status, WEFT_DEV_OK);
		CHECK_EQ(wc.imm, i);
	}
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	pair_close(s);
}

/* And its memory is given back: a sanitizer looks. */
TEST(courier_free__gives_back_what_was_never_sent)
{
	struct side *s[2];
	struct weft_dev_ah *ah = pair_datagrams(s);

	for (uint32_t i = 0; i < 100; i++)
		CHECK_EQ(side_post(s[0], to_second(s, ah, i), 0, BYTES), 0);
	weft_lock_take(&s[0]->dev->lock);
	contact_forget_qp(s[0]->qp);
	CHECK(s[0]->dev->n_zombies > 0);
	while (s[0]->dev->n_zombies)
		(void)zombie_reap(s[0]->dev, 0, true);
	weft_lock_give(&s[0]->dev->lock);
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	pair_close(s);
}

TEST(courier_done__knows_the_queue_pairs_qkey_as_it_is_now)
{
	struct side *s[2];
	struct weft_dev_ah *ah = pair_datagrams(s);
	struct weft_dev_qp_attr attr = { .qkey = 78 };
	struct weft_dev_send send = to_second(s, ah, 1);

	CHECK_EQ(side_recv(s[1], 9, 0, 512), 0);
	CHECK_EQ(weft_dev_qp_modify(s[1]->qp, &attr, WEFT_DEV_SET_QKEY), 0);
	CHECK_EQ(side_post(s[0], send, 0, BYTES), 0); /* with the old one */
	send.qkey = 78;
	send.imm = 2;
	CHECK_EQ(side_post(s[0], send, 0, BYTES), 0);
	struct weft_dev_wc wc = side_wait(s[1]);

	CHECK_EQ(wc.id, 9);
	CHECK_EQ(wc.imm, 2);
	CHECK_EQ(s[1]->dev->datagrams.refused, 1);
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	pair_close(s);
}

TEST(courier_connect__to_oneself)
{
	struct side *s[2], *own[2];
	struct weft_dev_ah *ah, *other = pair_datagrams(s);
	uint8_t gid[16];

	own[0] = own[1] = s[0];
	weft_dev_gid(s[0]->dev, gid);
	CHECK_EQ(weft_dev_ah_open(s[0]->pd, gid, &ah), 0);
	for (uint32_t i = 0; i < 20; i++) {
		CHECK_EQ(side_recv(s[0], 100 + i, 1024, 512), 0);
		CHECK_EQ(side_post(s[0], to_second(own, ah, i), 0, BYTES), 0);
		for (uint32_t k = 0; k < 2; k++) {
			struct weft_dev_wc wc = side_wait(s[0]);
			bool is_recv = wc.op == WEFT_DEV_DONE_RECV;

			CHECK_EQ(wc.status, WEFT_DEV_OK);
			CHECK_EQ(wc.id, is_recv ? 100 + i : i);
			if (is_recv)
				CHECK_EQ(wc.src_qpn, weft_dev_qp_number(s[0]->qp));
		}
	}
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	CHECK_EQ(weft_dev_ah_close(other), 0);
	pair_close(s);
}

/* The peer begins anew under its number: its old courier answers nobody, and ours gives up. */
TEST(contact_failed__finds_the_peer_again)
{
	struct side *s[2];
	struct weft_dev_ah *ah = pair_datagrams(s);
	uint64_t limit_ns = ground_now() + LIMIT_S * SECOND;
	struct weft_dev_wc wc;
	int n = 0;

	CHECK_EQ(side_recv(s[1], 1, 0, 512), 0);
	CHECK_EQ(side_post(s[0], to_second(s, ah, 1), 0, BYTES), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	CHECK_EQ(side_wait(s[1]).id, 1);
	renew(s[1]);
	CHECK_EQ(side_recv(s[1], 2, 0, 512), 0);
	while (!n && ground_now() < limit_ns) {
		CHECK_EQ(side_post(s[0], to_second(s, ah, 2), 0, BYTES), 0);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
		ground_sleep(20000000);
		n = weft_dev_cq_poll(s[1]->cq, &wc, 1);
	}
	CHECK_EQ(n, 1);
	CHECK_EQ(wc.id, 2);
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	pair_close(s);
}
