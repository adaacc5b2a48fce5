/* SPDX-License-Identifier: BSD-2-Clause */
#include "hand.h"

TEST(weft_counter_name__every_counter_has_one_of_its_own)
{
	unsigned n = 0;

	for (; weft_counter_name(n); n++)
		for (unsigned i = 0; i < n; i++)
			CHECK(strcmp(weft_counter_name(i), weft_counter_name(n)));
	CHECK_EQ(n, sizeof(struct weft_counters) / sizeof(uint64_t));
	CHECK(!weft_counter_name(n + 1000));
}

TEST(weft_counter_value__each_name_reads_its_own_field)
{
	struct weft_counters c;
	uint64_t *fields = (uint64_t *)&c, sum = 0;
	unsigned n = (unsigned)(sizeof(c) / sizeof(*fields));

	for (unsigned i = 0; i < n; i++)
		fields[i] = (uint64_t)i * i;
	for (unsigned i = 0; i < n; i++) {
		bool known = false;

		for (unsigned k = 0; k < n; k++)
			known |= weft_counter_value(&c, k) == (uint64_t)i * i;
		CHECK(known);
		sum += weft_counter_value(&c, i);
	}
	CHECK_EQ(sum, (uint64_t)(n - 1) * n * (2 * n - 1) / 6);
	c.tx_rtx_pkts = 4711;
	c.drops[WEFT_DROP_BAD_RKEY] = 4712;
	for (unsigned i = 0; i < n; i++) {
		if (!strcmp(weft_counter_name(i), "tx_rtx_pkts"))
			CHECK_EQ(weft_counter_value(&c, i), 4711);
		if (!strcmp(weft_counter_name(i), "drop_BAD_RKEY"))
			CHECK_EQ(weft_counter_value(&c, i), 4712);
	}
	CHECK_PANICS(weft_counter_value(&c, n));
}

TEST(weft_events__come_in_order_and_lost_ones_are_skipped)
{
	struct world w = { 0 };
	struct weft_event events[8];
	uint64_t seq = UINT64_MAX;

	hand_open(&w, 16, 16);
	uint64_t first = w.end[0]->event_seq;
	uint32_t kept = w.config.events;

	seq = first;
	CHECK_EQ(weft_events(w.end[0], &seq, events, 8), 0);
	for (uint32_t i = 0; i < kept + 10; i++)
		event_note(w.end[0], WEFT_EV_MPR, 5, 0, i, 0, 0);
	CHECK_EQ(weft_events(w.end[0], &seq, events, 8), 8);
	for (uint32_t i = 0; i < 8; i++) {
		CHECK_EQ(events[i].kind, WEFT_EV_MPR);
		CHECK_EQ(events[i].a, 10 + i); /* the oldest ten were overwritten */
	}
	CHECK_EQ(seq, first + 18);
	seq = first + kept + 8;
	CHECK_EQ(weft_events(w.end[0], &seq, events, 8), 2);
	CHECK_EQ(events[1].a, kept + 9);
	world_close(&w);
}

TEST(weft_status_name__words_for_each_and_for_nonsense)
{
	for (int i = WEFT_OK; i <= WEFT_LOCAL_MEMORY; i++)
		CHECK(strlen(weft_status_name(i)) > 1);
	CHECK_STR(weft_status_name(WEFT_OK), "ok");
	CHECK_STR(weft_status_name(-1), "?");
	CHECK_STR(weft_status_name(WEFT_LOCAL_MEMORY + 1), "?");
}

TEST(weft_strerror__words_for_each_and_for_nonsense)
{
	CHECK_STR(weft_strerror(0), "ok");
	for (int i = WEFT_ENOENT; i < 0; i++)
		CHECK(strlen(weft_strerror(i)) > 1);
	CHECK_STR(weft_strerror(WEFT_ENOENT - 1), "?");
	CHECK_STR(weft_strerror(1), "?");
	CHECK_STR(weft_strerror(INT32_MIN), "?");
}
