/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "network_local.h"

enum { ROOM = 600, SPAN = 4000 };

static struct agenda agenda;
static struct entry model[ROOM]; /* by number; next: its age; where: whether it is there */
static uint32_t n_model, n_added;

/* The earliest, and the first of these. */
static uint32_t model_first(void)
{
	uint32_t first = NONE;

	for (uint32_t i = 0; i < ROOM; i++) {
		if (!model[i].where)
			continue;
		if (first == NONE || model[i].at_ps < model[first].at_ps ||
			(model[i].at_ps == model[first].at_ps &&
				(int32_t)(model[i].next - model[first].next) < 0))
			first = i;
	}
	return first;
}

static uint32_t pick(struct weft_rng *rng, bool is_there)
{
	uint32_t i = (uint32_t)weft_rng_below(rng, ROOM);

	while (!!model[i].where != is_there)
		i = (i + 1) % ROOM;
	return i;
}

static void add(struct weft_rng *rng, uint32_t reach)
{
	uint32_t what = pick(rng, false);

	model[what] = (struct entry){ agenda.now_ps + weft_rng_below(rng, reach), n_added++, 1 };
	agenda_add(&agenda, what, model[what].at_ps);
	n_model++;
}

static void leave(uint32_t what)
{
	agenda_remove(&agenda, what);
	model[what].where = 0;
	n_model--;
}

static void run(uint32_t reach)
{
	struct weft_rng rng;

	weft_rng_seed(&rng, reach);
	memset(model, 0, sizeof(model));
	n_model = 0;
	REQUIRE(agenda_open(&agenda, ROOM, SPAN));
	agenda.far_orders = UINT32_MAX - 5000; /* it wraps on the way */
	for (unsigned i = 0; i < 30000; i++) {
		bool grows = i / 1000 % 2 ? weft_rng_below(&rng, 3) : !weft_rng_below(&rng, 3);

		CHECK_EQ(agenda.n, n_model);
		if (!n_model || (grows && n_model < ROOM)) {
			add(&rng, reach);
			continue;
		}
		uint32_t first = model_first();
		const struct entry *got = &agenda.entries[agenda_first(&agenda)];

		CHECK_EQ(got - agenda.entries, first);
		if (!weft_rng_below(&rng, 4)) {
			leave(pick(&rng, true));
		} else {
			agenda.now_ps = got->at_ps;
			leave((uint32_t)(got - agenda.entries));
		}
		if (i % 64 == 0)
			agenda_check(&agenda);
	}
	CHECK(reach < SPAN ? !agenda.n_far : agenda.n_far > 0);
	agenda_close(&agenda);
}

TEST(agenda_add__keeps_time_and_order_of_what_is_near)
{
	run(30); /* many at once */
	run(SPAN - 100);
}

TEST(agenda_add__keeps_time_and_order_of_what_is_far)
{
	run(3 * SPAN);
	run(1000000000);
}

TEST(agenda_first__is_none_when_empty)
{
	REQUIRE(agenda_open(&agenda, 2, SPAN));
	CHECK_EQ(agenda_first(&agenda), NONE);
	agenda_add(&agenda, 1, 5);
	CHECK_EQ(agenda_first(&agenda), 1);
	CHECK_PANICS(agenda_add(&agenda, 1, 6)); /* is there */
	CHECK_PANICS(agenda_remove(&agenda, 0)); /* is not */
	agenda_remove(&agenda, 1);
	agenda.now_ps = 10;
	CHECK_PANICS(agenda_add(&agenda, 0, 9));
	CHECK_EQ(agenda_first(&agenda), NONE);
	agenda_close(&agenda);
}

/* The ring is found around its end, word by word. */
TEST(agenda_first__looks_around_the_ring)
{
	REQUIRE(agenda_open(&agenda, 40000, UINT64_C(1) << 30));
	uint64_t slice_ps = UINT64_C(1) << agenda.slice_bits;

	CHECK_EQ(agenda.slice_mask, 65535);
	for (uint32_t i = 0; i < 65536; i += 61) {
		agenda.now_ps = UINT64_C(12345) * i * slice_ps;
		uint64_t at_ps = agenda.now_ps + (uint64_t)(i * 17 % 65536) * slice_ps;

		agenda_add(&agenda, i / 61, at_ps);
		CHECK_EQ(agenda.entries[i / 61].where, WHERE_NEAR);
		CHECK_EQ(agenda_first(&agenda), i / 61);
		agenda_check(&agenda);
		agenda_remove(&agenda, i / 61);
	}
	agenda_close(&agenda);
}
