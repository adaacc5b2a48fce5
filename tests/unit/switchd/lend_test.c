/* SPDX-License-Identifier: BSD-2-Clause */
#include "switches.h"

static struct place place;
static struct weft_switchd *sw;
static uint32_t others[8192], n_others;

static void begin(void)
{
	place_open(&place, SMALL2);
	sw = switch_open(&place, NULL);
}

static void end(void)
{
	while (n_others)
		slots_give(&sw->slots, others[--n_others]);
	turns(sw, 3);
	CHECK_EQ(sw->nic.n, 0);
	CHECK_EQ(sw->nic.n_active, 0);
	CHECK_EQ(sw->slots.n_free, sw->slots.n);
	weft_switchd_close(sw);
	place_close(&place);
}

/* Others have all but n. */
static void leave_free(uint32_t n)
{
	while (sw->slots.n_free > n)
		others[n_others++] = slots_take(&sw->slots);
	while (sw->slots.n_free < n)
		slots_give(&sw->slots, others[--n_others]);
}

static uint32_t lent_to(uint32_t host)
{
	return sw->nic.of_host[host]->lent;
}

TEST(lend_open__has_room_for_as_many_as_half_of_the_pool_can_begin)
{
	begin();
	CHECK_EQ(sw->nic.max, 8192 / 8);
	lend_open(sw, 100);
	CHECK_EQ(sw->nic.max, 100 - 64 - 4); /* each is a descriptor, and each interface */
	lend_open(sw, 10);
	CHECK_EQ(sw->nic.max, 1);
	end();
}

TEST(lend__gives_a_handful_until_one_sends)
{
	struct program alice;

	begin();
	CHECK_EQ(program_attach(&alice, sw, "alice", 4000), 0);
	turns(sw, 5);
	CHECK_EQ(lent_to(ALICE), LENT_FIRST);
	CHECK(program_send(&alice, sw->topo, ALICE, BOB, weft_ev(0, 0), 5000, 100));
	turns(sw, 1);
	CHECK_EQ(lent_to(ALICE), 64 + 2 * 16);
	program_close(&alice);
	end();
}

TEST(lend__keeps_a_few_for_those_who_come)
{
	struct program alice, bob;

	begin();
	CHECK_EQ(program_attach(&alice, sw, "alice", 4000), 0);
	leave_free(256 * LENT_FIRST + 10);
	CHECK(program_send(&alice, sw->topo, ALICE, BOB, weft_ev(0, 0), 5000, 100));
	turns(sw, 1);
	CHECK_EQ(lent_to(ALICE), LENT_FIRST - 1 + 10);
	turns(sw, 10); /* the packet has come to its end meanwhile */
	CHECK(sw->slots.n_free >= 256 * LENT_FIRST);
	leave_free(LENT_FIRST);
	CHECK_EQ(program_attach(&bob, sw, "bob", 5000), 0);
	CHECK_EQ(lent_to(BOB), LENT_FIRST);
	program_close(&alice);
	program_close(&bob);
	end();
}

TEST(lend__shares_half_of_the_pool_among_those_who_send)
{
	struct program alice, bob;

	begin();
	CHECK_EQ(program_attach(&alice, sw, "alice", 4000), 0);
	CHECK_EQ(program_attach(&bob, sw, "bob", 5000), 0);
	sw->nic.n_active = 8192 / 2 / 40; /* as if so many others did */
	CHECK(program_send(&alice, sw->topo, ALICE, BOB, weft_ev(0, 0), 9, 100));
	turns(sw, 1);
	CHECK_NEAR((int)lent_to(ALICE), 40, 1);
	sw->nic.n_active = 4000;
	CHECK(program_send(&bob, sw->topo, BOB, ALICE, weft_ev(0, 0), 9, 100));
	turns(sw, 1);
	CHECK_EQ(lent_to(BOB), 16);
	sw->nic.n_active = 2;
	program_close(&alice);
	program_close(&bob);
	end();
}

TEST(lend_recall__asks_the_idle_when_little_is_left)
{
	struct weft_shm_desc back[BURST];
	struct program alice;
	uint32_t n = 0, slot;

	begin();
	CHECK_EQ(program_open(&alice, sw, "alice", 4000), 0);
	uint32_t full = lent_to(ALICE);

	turns(sw, 30);
	CHECK_EQ(weft_shm_keep(alice.link), WEFT_SHM_KEEP_ALL); /* there is plenty */
	leave_free(300 * LENT_FIRST);
	usleep(2000);
	turns(sw, 1);
	CHECK_EQ(weft_shm_keep(alice.link), LENT_FIRST);
	CHECK_EQ(sw->nic.n_active, 0);
	CHECK_EQ(lent_to(ALICE), full); /* until it does */
	while (full - n > LENT_FIRST && (slot = program_slot(&alice)) != SLOT_NONE)
		back[n++ % BURST] =
			(struct weft_shm_desc){ .slot = slot, .flags = WEFT_SHM_UNUSED },
			   n % BURST ? (void)0 : program_done(&alice, back, BURST);
	program_done(&alice, back, n % BURST);
	turns(sw, 2);
	CHECK_EQ(lent_to(ALICE), LENT_FIRST);
	CHECK_EQ(sw->nic.of_host[ALICE]->held, 0);
	/* And has them again when it sends. */
	CHECK(program_send(&alice, sw->topo, ALICE, BOB, weft_ev(0, 0), 5000, 100));
	turns(sw, 1);
	CHECK_EQ(weft_shm_keep(alice.link), WEFT_SHM_KEEP_ALL);
	CHECK(lent_to(ALICE) > 64);
	program_close(&alice);
	end();
}

TEST(lend_may_hold__goes_by_what_is_free)
{
	struct process p = { .held = 0 };

	begin();
	uint32_t kept = 256 * LENT_FIRST;

	p.held = 2 * RING_ENTRIES - 1;
	CHECK(lend_may_hold(sw, &p));
	p.held++;
	CHECK(!lend_may_hold(sw, &p)); /* whatever is free */
	leave_free(kept + 100);
	p.held = 199;
	CHECK(lend_may_hold(sw, &p));
	p.held = 200;
	CHECK(!lend_may_hold(sw, &p));
	leave_free(0);
	p.held = 7;
	CHECK(lend_may_hold(sw, &p));
	p.held = 8;
	CHECK(!lend_may_hold(sw, &p));
	end();
}
