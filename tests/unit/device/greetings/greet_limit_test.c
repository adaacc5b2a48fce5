/* SPDX-License-Identifier: BSD-2-Clause */
#include "greetings/greet_local.h"
#include "unit/device/pair.h"

static const uint8_t villain[16] = { 0xfd, [15] = 1 }, other[16] = { 0xfd, [15] = 2 };

/* How many of so many pass. */
static uint32_t flood(struct weft_dev *dev, const uint8_t addr[16], uint32_t number, uint32_t n)
{
	uint32_t passed = 0;

	for (uint32_t i = 0; i < n; i++)
		passed += greet_may(dev, addr, number, 1000);
	return passed;
}

TEST(greet_may__leaves_others_their_turn_in_a_flood)
{
	struct side *s = side_open();

	weft_lock_take(&s->dev->lock);
	CHECK_EQ(flood(s->dev, villain, 5, 10000), GREET_PER_PROCESS_S);
	CHECK_EQ(flood(s->dev, villain, 6, 10), 10); /* its neighbour */
	CHECK_EQ(flood(s->dev, other, 5, 10), 10);
	for (uint32_t number = 7; number < 40; number++)
		(void)flood(s->dev, villain, number, 10000);
	CHECK_EQ(flood(s->dev, villain, 6, 10), 0); /* the host has had its share */
	CHECK_EQ(flood(s->dev, other, 6, 10), 10);
	/* The next second. */
	CHECK(greet_may(s->dev, villain, 5, UINT64_C(1000002000)));
	weft_lock_give(&s->dev->lock);
	side_close(s);
}

TEST(greet_may__has_an_end_for_all_together)
{
	struct side *s = side_open();
	uint8_t addr[16] = { 0xfd };
	uint32_t passed = 0;

	weft_lock_take(&s->dev->lock);
	for (uint32_t i = 0; i < 200; i++) { /* more sources than are remembered */
		addr[7] = (uint8_t)i;
		passed += flood(s->dev, addr, i, GREET_PER_PROCESS_S);
	}
	CHECK_EQ(passed, GREET_PER_S);
	weft_lock_give(&s->dev->lock);
	side_close(s);
}

/* An address costs nothing in IPv6: who has a network is not as many as it has addresses. */
TEST(greet_may__has_an_end_for_a_network_that_is_not_that_of_all)
{
	struct side *s = side_open();
	uint8_t addr[16] = { 0xfd }, next[16] = { 0xfd, [7] = 1 };
	uint8_t mapped[16] = { [10] = 0xff, [11] = 0xff, [12] = 10 };
	uint32_t passed = 0;

	weft_lock_take(&s->dev->lock);
	CHECK_EQ(flood(s->dev, addr, 5, 10000), GREET_PER_PROCESS_S); /* takes no more of it */
	for (uint32_t i = 1; i < 200; i++) { /* more than are remembered */
		addr[14] = (uint8_t)i;
		passed += flood(s->dev, addr, 5, GREET_PER_PROCESS_S);
	}
	CHECK_EQ(passed, GREET_PER_NET_S - GREET_PER_PROCESS_S);
	CHECK_EQ(flood(s->dev, next, 5, 10), 10);
	for (uint32_t i = 0; i < 200; i++) {
		mapped[15] = (uint8_t)i;
		CHECK_EQ(flood(s->dev, mapped, 5, 10), 10);
	}
	weft_lock_give(&s->dev->lock);
	side_close(s);
}

TEST(greet_give_back__lets_what_was_asked_for_cost_nothing)
{
	struct side *s = side_open();

	weft_lock_take(&s->dev->lock);
	for (uint32_t i = 0; i < 2 * GREET_PER_S; i++) { /* beyond each of the buckets */
		CHECK(greet_may(s->dev, other, 5, 1000));
		greet_give_back(s->dev, other, 5);
	}
	CHECK_EQ(s->dev->greetings.tokens, GREET_PER_S);
	CHECK_EQ(flood(s->dev, other, 5, 10000), GREET_PER_PROCESS_S);
	weft_lock_give(&s->dev->lock);
	side_close(s);
}
