/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "local.h"

enum { ROOM = 600 };

static struct agenda agenda;
static struct entry model[ROOM]; /* in the order in which they were added */
static uint32_t n_model;

/* The first of the earliest. */
static uint32_t model_first(void)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < n_model; i++)
		if (model[i].at_ps < model[first].at_ps)
			first = i;
	return first;
}

static void model_remove(uint32_t i)
{
	memmove(&model[i], &model[i + 1], (--n_model - i) * sizeof(model[0]));
}

static struct entry make(struct weft_rng *rng, uint64_t now_ps)
{
	static uint32_t whats;

	return (struct entry){ now_ps + weft_rng_below(rng, 20), agenda.orders++, whats++ };
}

static void add(struct weft_rng *rng, uint64_t now_ps)
{
	struct entry e = make(rng, now_ps);

	model[n_model++] = e;
	agenda_add(&agenda, e.at_ps, e.order, e.what);
}

TEST(agenda_add__keeps_time_and_order)
{
	struct weft_rng rng;
	uint64_t now_ps = 0;

	weft_rng_seed(&rng, 3);
	REQUIRE(agenda_open(&agenda, ROOM));
	agenda.orders = UINT32_MAX - 5000; /* it wraps on the way */
	for (unsigned i = 0; i < 40000; i++) {
		bool grows = i / 1000 % 2 ? weft_rng_below(&rng, 3) : !weft_rng_below(&rng, 3);

		CHECK_EQ(agenda.n, n_model);
		if (!n_model || (grows && n_model < ROOM)) {
			add(&rng, now_ps);
			continue;
		}
		uint32_t first = model_first(), any = (uint32_t)weft_rng_below(&rng, n_model);

		now_ps = agenda_next_ps(&agenda);
		CHECK_EQ(now_ps, model[first].at_ps);
		CHECK_EQ(agenda.entries[0].what, model[first].what);
		switch (weft_rng_below(&rng, 4)) {
		case 0:
			CHECK(agenda_remove(&agenda, model[any].what));
			CHECK(!agenda_remove(&agenda, model[any].what));
			model_remove(any);
			break;
		case 1: {
			struct entry e = make(&rng, now_ps);

			agenda_replace_first(&agenda, e.at_ps, e.order, e.what);
			model_remove(first);
			model[n_model++] = e;
			break;
		}
		default:
			agenda_take_first(&agenda);
			model_remove(first);
		}
		if (i % 64 == 0)
			agenda_check(&agenda);
	}
	agenda_close(&agenda);
}

TEST(agenda_next_ps__is_never_when_empty)
{
	REQUIRE(agenda_open(&agenda, 1));
	CHECK_EQ(agenda_next_ps(&agenda), WEFT_NEVER);
	agenda_add(&agenda, 5, 0, 1);
	CHECK_EQ(agenda_next_ps(&agenda), 5);
	CHECK_PANICS(agenda_add(&agenda, 6, 1, 2));
	agenda_close(&agenda);
}
