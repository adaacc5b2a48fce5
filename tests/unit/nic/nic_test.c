/* SPDX-License-Identifier: BSD-2-Clause */
/* A transport of the test's, so that all that stands between it and its lines can be seen. */
#include "check.h"

#include <weft/nic.h>
#include <weft/nic_baseline.h>
#include <weft/nic_mrc.h>

struct fake {
	uint64_t due_ps;
	uint32_t waiting; /* packets */
	uint32_t asked, free, paused;
};

static bool fake_output(
	void *state, struct weft_pkt *pkt, uint32_t free, uint32_t paused, uint64_t now_ps)
{
	struct fake *f = state;

	f->asked++;
	f->free = free;
	f->paused = paused;
	if (f->due_ps <= now_ps)
		f->due_ps = WEFT_NEVER;
	if (!f->waiting || !(free & ~paused))
		return false;
	f->waiting--;
	pkt->port = (uint8_t)__builtin_ctz(free & ~paused);
	return true;
}

static bool fake_wants(const void *state)
{
	return ((const struct fake *)state)->waiting;
}

static uint64_t fake_next(const void *state)
{
	return ((const struct fake *)state)->due_ps;
}

static const struct weft_transport fake_transport = {
	.name = "fake", .output = fake_output, .wants_output = fake_wants, .next_ps = fake_next
};

static struct fake fake;
static uint64_t free_ps[4];

static struct weft_nic nic_with(uint32_t waiting, uint64_t due_ps)
{
	fake = (struct fake){ .waiting = waiting, .due_ps = due_ps };
	memset(free_ps, 0, sizeof(free_ps));
	return (struct weft_nic){ &fake_transport, &fake, free_ps, 4, 0 };
}

TEST(weft_nic_output__gives_each_free_line_one)
{
	struct weft_nic nic = nic_with(10, WEFT_NEVER);
	struct weft_pkt pkt;
	uint32_t sent = 0;

	free_ps[2] = 101; /* not yet */
	free_ps[3] = 100; /* just now */
	for (; weft_nic_output(&nic, &pkt, 100); sent++)
		free_ps[pkt.port] = 200;
	CHECK_EQ(sent, 3);
	CHECK_EQ(free_ps[2], 101);
	CHECK_EQ(fake.asked, 3); /* and not once more: no line was free */
	CHECK_EQ(weft_nic_next_ps(&nic, 100), 101);
	CHECK(weft_nic_output(&nic, &pkt, 101));
	CHECK_EQ(fake.free, 1u << 2);
}

TEST(weft_nic_output__asks_nobody_who_has_nothing)
{
	struct weft_nic nic = nic_with(0, 150);
	struct weft_pkt pkt;

	CHECK(!weft_nic_output(&nic, &pkt, 149));
	CHECK_EQ(fake.asked, 0);
	CHECK_EQ(weft_nic_next_ps(&nic, 149), 150); /* lines are nothing to it */
	CHECK(weft_nic_is_due(&nic, 150));
	CHECK(!weft_nic_output(&nic, &pkt, 150)); /* but its timer has run */
	CHECK_EQ(fake.asked, 1);
	CHECK_EQ(weft_nic_next_ps(&nic, 150), WEFT_NEVER);
}

TEST(weft_nic_output__fires_timers_though_no_line_is_free)
{
	struct weft_nic nic = nic_with(1, 50);
	struct weft_pkt pkt;

	for (uint32_t p = 0; p < 4; p++)
		free_ps[p] = 60 + p;
	CHECK(!weft_nic_output(&nic, &pkt, 50));
	CHECK_EQ(fake.asked, 1);
	CHECK_EQ(fake.free, 0);
	CHECK_EQ(weft_nic_next_ps(&nic, 50), 60);
}

TEST(weft_nic_output__says_which_planes_are_paused)
{
	struct weft_nic nic = nic_with(2, WEFT_NEVER);
	struct weft_pkt pkt;

	nic.paused = 0xb;
	CHECK(weft_nic_output(&nic, &pkt, 1));
	CHECK_EQ(fake.free, 0xf);
	CHECK_EQ(fake.paused, 0xb);
	CHECK_EQ(pkt.port, 2);
}

/* What is due again at once waits for the next tick: nobody turns in circles at one instant. */
TEST(weft_nic_next_ps__always_goes_on)
{
	struct weft_nic nic = nic_with(0, 1000);

	CHECK_EQ(weft_nic_next_ps(&nic, 1000), 2000);
	CHECK_EQ(weft_nic_next_ps(&nic, 5), 1000);
	nic = nic_with(1, 1000);
	free_ps[1] = WEFT_NEVER; /* a line that nobody knows when */
	CHECK_EQ(weft_nic_next_ps(&nic, 5), 1000);
}

TEST(weft_transport__has_all_functions_of_its_tables)
{
	const struct weft_transport *tables[] = { &weft_transport_mrc, &weft_transport_baseline };

	for (size_t i = 0; i < WEFT_COUNT(tables); i++) {
		const struct weft_transport *t = tables[i];

		CHECK(t->name && t->input && t->output && t->wants_output && t->next_ps &&
			t->poll && t->port_mark && t->counters && t->check);
	}
	CHECK_STR(weft_transport_mrc.name, "mrc");
	CHECK_STR(weft_transport_baseline.name, "baseline");
}
