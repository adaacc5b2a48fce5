/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

#include <poll.h>
#include <pthread.h>

static char error[256];

TEST(weft_shm_put__and_take_keep_order_over_many_laps)
{
	struct pair p;
	struct weft_rng rng;
	uint32_t next_put = 0, next_take = 0;

	pair_open(&p, 2, 8);
	/* Counters that come to their end soon; an even number of laps before it, as at zero. */
	p.near->rings[WEFT_SHM_TX].at = p.far->rings[WEFT_SHM_TX].at = UINT32_MAX - 3999;
	p.near->rings[WEFT_SHM_TX].taken_seen = *p.near->rings[WEFT_SHM_TX].taken =
		UINT32_MAX - 3999;
	weft_rng_seed(&rng, 1);
	for (uint32_t i = 0; i < SLOTS; i++) {
		CHECK_EQ(put_one(p.far, WEFT_SHM_FILL, i), 1);
		CHECK_EQ(take_one(p.near, WEFT_SHM_FILL), i);
	}
	while (next_take < 20000) {
		struct weft_shm_desc in[16], out[16];
		size_t n = weft_rng_below(&rng, 12), room = weft_shm_room(p.near, WEFT_SHM_TX);

		CHECK_EQ(room, 8 - (next_put - next_take));
		for (size_t i = 0; i < n; i++)
			in[i] = (struct weft_shm_desc){ .at_ns = next_put + i,
				.slot = (uint32_t)(next_put + i) % SLOTS,
				.bytes = (uint16_t)((next_put + i) % 140),
				.plane = 1, /* the ring knows better */
				.flags = (uint8_t)(next_put + i) };
		size_t did = weft_shm_put(p.near, WEFT_SHM_TX, in, n);

		CHECK_EQ(did, WEFT_MIN(n, room));
		next_put += (uint32_t)did;
		CHECK_EQ(weft_shm_waiting(p.far, WEFT_SHM_TX), next_put != next_take);
		n = weft_rng_below(&rng, 12);
		did = weft_shm_take(p.far, WEFT_SHM_TX, out, n);
		CHECK_EQ(did, WEFT_MIN(n, next_put - next_take));
		for (size_t i = 0; i < did; i++, next_take++) {
			CHECK_EQ(out[i].at_ns, next_take);
			CHECK_EQ(out[i].slot, next_take % SLOTS);
			CHECK_EQ(out[i].bytes, next_take % 140);
			CHECK_EQ(out[i].plane, 0);
			CHECK_EQ(out[i].flags, next_take & 0x7f);
			/* Back again, so that it may be put once more. */
			CHECK_EQ(put_one(p.far, WEFT_SHM_FILL, out[i].slot), 1);
			CHECK_EQ(take_one(p.near, WEFT_SHM_FILL), out[i].slot);
		}
	}
	CHECK_EQ(weft_shm_bad(p.near) + weft_shm_bad(p.far), 0);
	pair_close(&p);
}

TEST(weft_shm_put__is_for_one_end_and_one_owner)
{
	struct pair p;
	struct weft_shm_desc desc = { .slot = SLOTS };

	pair_open(&p, 2, 8);
	CHECK_PANICS(put_one(p.near, WEFT_SHM_FILL, 0));
	CHECK_PANICS(put_one(p.far, WEFT_SHM_DONE, 0));
	CHECK_PANICS(put_one(p.far, WEFT_SHM_TX, 0));
	CHECK_PANICS(put_one(p.near, WEFT_SHM_TX + 2, 0));
	CHECK_PANICS(take_one(p.near, WEFT_SHM_TX));
	CHECK_PANICS(take_one(p.far, WEFT_SHM_RX));
	CHECK_PANICS(take_one(p.far, WEFT_SHM_TX + 2));
	CHECK_PANICS(put_one(p.near, WEFT_SHM_TX, 3)); /* not lent to us */
	CHECK_PANICS(weft_shm_put(p.far, WEFT_SHM_RX, &desc, 1));
	CHECK_EQ(put_one(p.far, WEFT_SHM_RX, 3), 1);
	CHECK_PANICS(put_one(p.far, WEFT_SHM_RX, 3)); /* not ours any more */
	CHECK_EQ(take_one(p.near, WEFT_SHM_RX), 3);
	CHECK_EQ(put_one(p.near, WEFT_SHM_DONE, 3), 1);
	CHECK_EQ(take_one(p.far, WEFT_SHM_DONE), 3);
	CHECK_EQ(weft_shm_bad(p.far) + weft_shm_bad(p.near), 0);
	pair_close(&p);
}

/* What a foul process writes into its ring. */
static void forge(struct weft_shm_link *link, uint32_t ring, uint64_t word)
{
	struct ring *r = &link->rings[ring];
	uint64_t lap = r->at & link->entries ? 0 : UINT64_C(1) << 63;

	atomic_store(&r->entries[r->at++ & (link->entries - 1)].word,
		(word & ~(UINT64_C(1) << 63)) | lap);
}

TEST(weft_shm_take__counts_what_an_honest_end_would_not_have_put)
{
	const uint64_t mine = 5, lent = 6, bytes = SLOT_BYTES - WEFT_SHM_HEADROOM;
	struct weft_shm_desc got[16];
	struct pair p;

	pair_open(&p, 2, 16);
	for (uint32_t slot = (uint32_t)lent; slot < lent + 3; slot++) {
		CHECK_EQ(put_one(p.far, WEFT_SHM_FILL, slot), 1);
		CHECK_EQ(take_one(p.near, WEFT_SHM_FILL), slot);
	}
	forge(p.near, WEFT_SHM_DONE, mine);                     /* never lent */
	forge(p.near, WEFT_SHM_DONE, SLOTS);                    /* not there */
	forge(p.near, WEFT_SHM_DONE, UINT32_MAX);               /* nor this */
	forge(p.near, WEFT_SHM_DONE, lent | (bytes + 1) << 32); /* past the slot's end */
	forge(p.near, WEFT_SHM_DONE, lent | UINT64_C(2) << 48); /* a third plane of two */
	forge(p.near, WEFT_SHM_DONE, lent | bytes << 32);       /* right */
	forge(p.near, WEFT_SHM_DONE, lent);                     /* given back twice */
	forge(p.near, WEFT_SHM_DONE, lent + 1);                 /* right */
	CHECK_EQ(weft_shm_take(p.far, WEFT_SHM_DONE, got, 16), 2);
	CHECK_EQ(got[0].slot, lent);
	CHECK_EQ(got[0].bytes, bytes);
	CHECK_EQ(got[1].slot, lent + 1);
	CHECK_EQ(weft_shm_bad(p.far), 6);
	/* The other way as well: a host does not believe its switch. */
	forge(p.far, WEFT_SHM_RX, lent + 2); /* it has that one already */
	forge(p.far, WEFT_SHM_RX, mine);
	CHECK_EQ(weft_shm_take(p.near, WEFT_SHM_RX, got, 16), 1);
	CHECK_EQ(weft_shm_bad(p.near), 1);
	pair_close(&p);
}

TEST(weft_shm_room__does_not_believe_an_index_that_jumps)
{
	struct pair p;

	pair_open(&p, 1, 8);
	for (uint32_t i = 0; i < 8; i++)
		CHECK_EQ(put_one(p.far, WEFT_SHM_RX, i), 1);
	CHECK_EQ(put_one(p.far, WEFT_SHM_RX, 8), 0);
	for (unsigned i = 0; i < 3; i++)
		(void)take_one(p.near, WEFT_SHM_RX);
	CHECK_EQ(weft_shm_room(p.far, WEFT_SHM_RX), 3);
	atomic_store(p.near->rings[WEFT_SHM_RX].taken, 2); /* back */
	CHECK_EQ(weft_shm_room(p.far, WEFT_SHM_RX), 3);
	atomic_store(p.near->rings[WEFT_SHM_RX].taken, 9); /* more than there were */
	CHECK_EQ(weft_shm_room(p.far, WEFT_SHM_RX), 3);
	atomic_store(p.near->rings[WEFT_SHM_RX].taken, UINT32_MAX);
	CHECK_EQ(weft_shm_room(p.far, WEFT_SHM_RX), 3);
	atomic_store(p.near->rings[WEFT_SHM_RX].taken, 8);
	CHECK_EQ(weft_shm_room(p.far, WEFT_SHM_RX), 8);
	pair_close(&p);
}

TEST(weft_shm_reclaim__brings_back_what_the_other_end_had)
{
	struct pair p;
	uint32_t slots[4];
	unsigned back = 0;

	pair_open(&p, 1, 16);
	for (uint32_t i = 0; i < 12; i++)
		CHECK_EQ(put_one(p.far, WEFT_SHM_FILL, 20 + i), 1);
	for (unsigned i = 0; i < 6; i++)
		CHECK_EQ(take_one(p.near, WEFT_SHM_FILL), 20 + i);
	CHECK_EQ(put_one(p.near, WEFT_SHM_TX, 21), 1);
	CHECK_EQ(put_one(p.near, WEFT_SHM_TX, 20), 1);
	CHECK_EQ(take_one(p.far, WEFT_SHM_TX), 21); /* ours again: not among them */
	for (size_t n; (n = weft_shm_reclaim(p.far, slots, 4)) > 0; back += (unsigned)n)
		for (size_t i = 0; i < n; i++)
			CHECK(slots[i] >= 20 && slots[i] < 32 && slots[i] != 21);
	CHECK_EQ(back, 11);
	for (uint32_t i = 0; i < SLOTS; i++)
		CHECK_EQ(p.far_pool.owner[i], 0);
	pair_close(&p);
}

TEST(weft_shm_link_open__refuses_sizes_that_make_no_sense)
{
	static const struct {
		uint32_t planes, entries;
	} rows[] = { { 0, 8 }, { 17, 8 }, { 1, 0 }, { 1, 1 }, { 1, 12 }, { 1, 1u << 17 } };
	struct weft_shm_pool pool;
	struct weft_shm_link *link;

	REQUIRE(!weft_shm_pool_open(&pool, 4, 192, error, sizeof(error)));
	for (size_t i = 0; i < WEFT_COUNT(rows); i++)
		CHECK_EQ(weft_shm_link_open(&link, &pool, rows[i].planes, rows[i].entries, error,
				 sizeof(error)),
			-1);
	REQUIRE(!weft_shm_link_open(&link, &pool, 16, 1u << 16, error, sizeof(error)));
	CHECK_EQ(weft_shm_planes(link), 16);
	CHECK_EQ(weft_shm_wait_fd(link), -1);
	weft_shm_link_close(link);
	weft_shm_link_close(NULL);
	weft_shm_pool_close(&pool);
}

static bool rings(struct weft_shm_link *link, int limit_ms)
{
	struct pollfd wait = { .fd = weft_shm_wait_fd(link), .events = POLLIN };

	return poll(&wait, 1, limit_ms) == 1;
}

TEST(weft_shm_bell__rings_once_for_one_who_sleeps)
{
	struct pair p;

	pair_open(&p, 1, 8);
	weft_shm_bell(p.far);
	CHECK(!rings(p.near, 0)); /* awake */
	weft_shm_will_sleep(p.near, true);
	weft_shm_bell(p.far);
	weft_shm_bell(p.far);
	CHECK(rings(p.near, 0));
	weft_shm_will_sleep(p.near, false);
	CHECK(weft_shm_bell_clear(p.near));
	CHECK(!rings(p.near, 0));
	weft_shm_bell(p.far);
	CHECK(!rings(p.near, 0));
	weft_shm_will_sleep(p.far, true); /* and the other way */
	weft_shm_bell(p.near);
	CHECK(rings(p.far, 0));
	/* A whole socket full of bells is as good as one. */
	for (unsigned i = 0; i < 100000; i++) {
		weft_shm_will_sleep(p.near, true);
		weft_shm_bell(p.far);
	}
	CHECK(rings(p.near, 0));
	pair_close(&p);
}

TEST(weft_shm_bell_clear__tells_that_the_other_end_has_closed)
{
	struct pair p;

	pair_open(&p, 1, 8);
	CHECK(weft_shm_bell_clear(p.near));
	close(p.far->line);
	p.far->line = -1;
	CHECK(rings(p.near, 0));
	CHECK(!weft_shm_bell_clear(p.near));
	weft_shm_will_sleep(p.far, true);
	weft_shm_bell(p.near); /* into the void: no SIGPIPE */
	pair_close(&p);
}

TEST(weft_shm_carrier_set__is_seen_and_wakes)
{
	struct pair p;

	pair_open(&p, 2, 8);
	CHECK_EQ(weft_shm_carrier(p.near), 0);
	weft_shm_will_sleep(p.near, true);
	weft_shm_carrier_set(p.far, 0xff);
	CHECK_EQ(weft_shm_carrier(p.near), 3); /* of the planes that there are */
	CHECK(rings(p.near, 0));
	CHECK_PANICS(weft_shm_carrier_set(p.near, 1));
	pair_close(&p);
}

/* ---- two threads ---- */

#define RACES 20000u

struct party {
	struct weft_shm_link *link;
	uint32_t in, out; /* rings */
	unsigned nap_seed, timeouts, passed;
	bool begins;
};

/* Takes one slot as soon as it is there, sleeping whenever it is not. */
static int64_t await(struct party *party)
{
	int64_t slot;

	while ((slot = take_one(party->link, party->in)) < 0) {
		weft_shm_will_sleep(party->link, true);
		if (!weft_shm_waiting(party->link, party->in) && !rings(party->link, 2000)) {
			party->timeouts++;
			return -1;
		}
		weft_shm_will_sleep(party->link, false);
		weft_shm_bell_clear(party->link);
	}
	return slot;
}

static void *play(void *arg)
{
	struct party *party = arg;
	struct weft_rng rng;

	weft_rng_seed(&rng, party->nap_seed);
	for (unsigned i = 0; i < RACES; i++) {
		int64_t slot = party->begins && !i ? 7 : await(party);

		if (slot < 0)
			return NULL;
		/* Now here, now there in the other's falling asleep. */
		for (volatile uint64_t spin = weft_rng_below(&rng, 400); spin; spin--)
			;
		if (!put_one(party->link, party->out, (uint32_t)slot))
			return NULL;
		weft_shm_bell(party->link);
		party->passed++;
	}
	return NULL;
}

TEST(weft_shm_will_sleep__loses_no_wake_up_in_thousands_of_races)
{
	struct pair p;
	pthread_t thread;

	pair_open(&p, 1, 8);
	struct party near = {
		.link = p.near, .in = WEFT_SHM_RX, .out = WEFT_SHM_TX, .nap_seed = 1
	};
	struct party far = {
		.link = p.far, .in = WEFT_SHM_TX, .out = WEFT_SHM_RX, .nap_seed = 2, .begins = true
	};

	REQUIRE(!pthread_create(&thread, NULL, play, &near));
	play(&far);
	pthread_join(thread, NULL);
	CHECK_EQ(near.timeouts + far.timeouts, 0);
	CHECK_EQ(near.passed, RACES);
	CHECK_EQ(far.passed, RACES);
	pair_close(&p);
}

#define FLOOD 200000u

static void *read_flood(void *arg)
{
	struct pair *p = arg;
	struct weft_shm_desc descs[32];
	uint64_t *wrong = calloc(1, sizeof(*wrong));

	for (uint32_t seen = 0; seen < FLOOD;) {
		size_t n = weft_shm_take(p->near, WEFT_SHM_RX, descs, 32);

		if (!n)
			sched_yield();
		for (size_t i = 0; i < n; i++, seen++) {
			uint32_t body[8];

			memcpy(body, weft_shm_packet(&p->near_pool, descs[i].slot), sizeof(body));
			for (unsigned k = 0; k < 8; k++)
				*wrong += body[k] != seen;
			*wrong += descs[i].at_ns != seen;
			/* Whoever gives a slot back does not look at it any more. */
			memset(weft_shm_packet(&p->near_pool, descs[i].slot), 0xee, sizeof(body));
		}
		REQUIRE(weft_shm_put(p->near, WEFT_SHM_DONE, descs, n) == n);
	}
	return wrong;
}

TEST(weft_shm_put__makes_a_slots_bytes_visible_with_its_number)
{
	struct weft_shm_desc descs[32];
	uint32_t free_slots[SLOTS], n_free = SLOTS, sent = 0;
	struct pair p;
	pthread_t thread;
	void *wrong;

	pair_open(&p, 1, SLOTS);
	for (uint32_t i = 0; i < SLOTS; i++)
		free_slots[i] = i;
	REQUIRE(!pthread_create(&thread, NULL, read_flood, &p));
	while (sent < FLOOD) {
		size_t n = WEFT_MIN(WEFT_MIN(n_free, 32u), FLOOD - sent);

		for (size_t i = 0; i < n; i++, sent++) {
			uint32_t body[8] = { sent, sent, sent, sent, sent, sent, sent, sent };

			descs[i] = (struct weft_shm_desc){
				.at_ns = sent, .slot = free_slots[--n_free], .bytes = sizeof(body)
			};
			memcpy(weft_shm_packet(&p.far_pool, descs[i].slot), body, sizeof(body));
		}
		REQUIRE(weft_shm_put(p.far, WEFT_SHM_RX, descs, n) == n);
		n = weft_shm_take(p.far, WEFT_SHM_DONE, descs, 32);
		for (size_t i = 0; i < n; i++)
			free_slots[n_free++] = descs[i].slot;
		if (!n_free)
			sched_yield();
	}
	pthread_join(thread, &wrong);
	CHECK_EQ(*(uint64_t *)wrong, 0);
	CHECK_EQ(weft_shm_bad(p.far) + weft_shm_bad(p.near), 0);
	free(wrong);
	pair_close(&p);
}
