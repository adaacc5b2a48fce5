/* SPDX-License-Identifier: BSD-2-Clause */
#include "one.h"

TEST(weft_switch_drop_name__has_one_of_its_own_for_each)
{
	for (unsigned i = 0; i < WEFT_SWITCH_DROP_COUNT; i++) {
		for (unsigned k = 0; k < i; k++)
			CHECK(strcmp(weft_switch_drop_name(i), weft_switch_drop_name(k)));
		CHECK(strlen(weft_switch_drop_text(i)) > 5);
	}
	CHECK_STR(weft_switch_drop_name(WEFT_SWITCH_DROP_NO_SID), "no_sid");
	CHECK_STR(weft_switch_drop_name(WEFT_SWITCH_DROP_COUNT), "?");
	CHECK_STR(weft_switch_drop_text(WEFT_SWITCH_DROP_COUNT), "?");
}

TEST(weft_port_counter_name__is_sonic_s)
{
	struct weft_port_counters c = { .in_pkts = 3, .trim_sent = 7, .pfc_received = 9 };
	unsigned i = 0, seen = 0;

	for (; weft_port_counter_name(i); i++) {
		uint64_t value = weft_port_counter_value(&c, i);

		if (!strcmp(weft_port_counter_name(i), "SAI_PORT_STAT_TX_TRIM_PACKETS")) {
			CHECK_EQ(value, 7);
			seen++;
		}
	}
	CHECK_EQ(seen, 1);
	CHECK_EQ(weft_port_counter_value(&c, 0), 3);
	CHECK_EQ(weft_port_counter_value(&c, i - 1), 9);
	CHECK_EQ(i * 8 + WEFT_QUEUES * sizeof(c.queue[0]), sizeof(c));
}

TEST(weft_queue_counter_name__is_sonic_s)
{
	struct weft_queue_counters c = { .pkts = 3, .watermark = 9 };
	unsigned i = 0;

	while (weft_queue_counter_name(i))
		i++;
	CHECK_EQ(i * 8, sizeof(c));
	CHECK_STR(weft_queue_counter_name(0), "SAI_QUEUE_STAT_PACKETS");
	CHECK_EQ(weft_queue_counter_value(&c, 0), 3);
	CHECK_EQ(weft_queue_counter_value(&c, i - 1), 9);
}

TEST(weft_port_counter_value__wants_a_number_that_exists)
{
	static const struct weft_port_counters c;

	CHECK_PANICS(weft_port_counter_value(&c, 99));
	CHECK_PANICS(weft_queue_counter_value(&c.queue[0], 99));
}
