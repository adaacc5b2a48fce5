/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network_agenda - what happens next.
 *
 * Frames on a cable arrive in the order in which they left, so only the first of each cable stands
 * here, and a port has one next departure: each entry has a place of its own, and there are a few
 * hundred for hundreds of thousands of frames.
 *
 * Nearly all of them are less than a frame's time and a cable's length away.  That span is cut into
 * more slices than there are lines, a ring of lists with a bit for each that is not empty; so a
 * list has one entry as a rule, and the next one is found by counting zeros.  A heap costs a
 * mispredicted branch or two per level instead, which was half of the time of a hop.  What is
 * further away (a line that somebody has slowed down, a frame that is sent ahead of time) waits in
 * a heap all the same, and the earlier of the two firsts is next: nothing ever moves from one to
 * the other.
 *
 * Hot: an entry per hop.
 */
#include "network_local.h"

#include <stdlib.h>

enum { CHILDREN = 4, SLICES_MIN = 256, SLICES_MAX = 65536 };

/* The slice of a time, modulo nothing. */
static uint64_t slice_of(const struct agenda *agenda, uint64_t at_ps)
{
	return at_ps >> agenda->slice_bits;
}

bool agenda_open(struct agenda *agenda, uint32_t room, uint64_t span_ps)
{
	uint64_t slices = weft_pow2_up(2 * (uint64_t)room);

	slices = WEFT_MIN(WEFT_MAX(slices, SLICES_MIN), SLICES_MAX);
	*agenda = (struct agenda){ .room = room, .slice_mask = (uint32_t)slices - 1 };
	while (slices << agenda->slice_bits < span_ps)
		agenda->slice_bits++;
	agenda->entries = malloc(room * sizeof(*agenda->entries));
	agenda->far = malloc(room * sizeof(*agenda->far));
	agenda->slices = malloc(slices * sizeof(*agenda->slices));
	agenda->busy = calloc(slices / 64, sizeof(*agenda->busy));
	agenda->busy_words = calloc(WEFT_DIV_UP(slices, 4096), sizeof(*agenda->busy_words));
	if (!agenda->entries || !agenda->far || !agenda->slices || !agenda->busy ||
		!agenda->busy_words)
		return false;
	for (uint32_t i = 0; i < room; i++)
		agenda->entries[i].where = WHERE_NOWHERE;
	for (uint32_t i = 0; i < slices; i++)
		agenda->slices[i].head = NONE;
	return true;
}

void agenda_close(struct agenda *agenda)
{
	free(agenda->entries);
	free(agenda->far);
	free(agenda->slices);
	free(agenda->busy);
	free(agenda->busy_words);
}

/* ---- near: a ring of slices ---- */

static void add_near(struct agenda *agenda, uint32_t what, uint32_t number)
{
	struct entry *entry = &agenda->entries[what];
	struct slice *slice = &agenda->slices[number];

	entry->next = NONE;
	if (WEFT_LIKELY(slice->head == NONE)) {
		slice->head = slice->tail = what;
		agenda->busy[number / 64] |= UINT64_C(1) << number % 64;
		agenda->busy_words[number / 4096] |= UINT64_C(1) << number / 64 % 64;
		return;
	}
	/* Where many hosts run in step, many things happen at once. */
	if (WEFT_LIKELY(entry->at_ps >= agenda->entries[slice->tail].at_ps)) {
		agenda->entries[slice->tail].next = what;
		slice->tail = what;
		return;
	}
	uint32_t *at = &slice->head;

	while (entry->at_ps >= agenda->entries[*at].at_ps)
		at = &agenda->entries[*at].next;
	entry->next = *at;
	*at = what;
}

static void remove_near(struct agenda *agenda, uint32_t what)
{
	struct entry *entries = agenda->entries;
	uint32_t number = (uint32_t)slice_of(agenda, entries[what].at_ps) & agenda->slice_mask;
	struct slice *slice = &agenda->slices[number];

	if (WEFT_LIKELY(slice->head == what)) {
		slice->head = entries[what].next;
	} else {
		uint32_t before = slice->head;

		while (entries[before].next != what)
			before = entries[before].next;
		entries[before].next = entries[what].next;
		if (slice->tail == what)
			slice->tail = before;
	}
	if (slice->head != NONE)
		return;
	agenda->busy[number / 64] &= ~(UINT64_C(1) << number % 64);
	if (!agenda->busy[number / 64])
		agenda->busy_words[number / 4096] &= ~(UINT64_C(1) << number / 64 % 64);
}

/* The first word from number `word` on, around the ring, that has a bit set. */
static uint32_t find_word(const struct agenda *agenda, uint32_t word)
{
	uint32_t words = agenda->slice_mask / 64 + 1, summaries = WEFT_DIV_UP(words, 64u);
	uint32_t i = word / 64;
	uint64_t summary = agenda->busy_words[i] & UINT64_MAX << word % 64;

	for (uint32_t n = 0; !summary; n++) {
		WEFT_ASSERT(n <= summaries);
		i = i + 1 < summaries ? i + 1 : 0;
		summary = agenda->busy_words[i];
	}
	return 64 * i + weft_ctz64(summary);
}

/* There is one. */
static uint32_t first_near(const struct agenda *agenda)
{
	uint32_t slice = (uint32_t)slice_of(agenda, agenda->now_ps) & agenda->slice_mask;
	uint32_t word = slice / 64;
	uint64_t bits = agenda->busy[word] & UINT64_MAX << slice % 64;

	if (!bits) {
		word = find_word(agenda, (word + 1) & agenda->slice_mask / 64);
		bits = agenda->busy[word];
	}
	return agenda->slices[64 * word + weft_ctz64(bits)].head;
}

/* ---- far: a heap ---- */

static bool is_far_before(const struct agenda *agenda, uint32_t a, uint32_t b)
{
	const struct entry *x = &agenda->entries[a], *y = &agenda->entries[b];

	return x->at_ps != y->at_ps ? x->at_ps < y->at_ps : (int32_t)(x->next - y->next) < 0;
}

static void add_far(struct agenda *agenda, uint32_t what, uint32_t i)
{
	while (i && is_far_before(agenda, what, agenda->far[(i - 1) / CHILDREN])) {
		agenda->far[i] = agenda->far[(i - 1) / CHILDREN];
		i = (i - 1) / CHILDREN;
	}
	agenda->far[i] = what;
}

static void sink_far(struct agenda *agenda, uint32_t what, uint32_t i)
{
	for (;;) {
		uint32_t first = CHILDREN * i + 1, end = WEFT_MIN(first + CHILDREN, agenda->n_far);

		if (first >= agenda->n_far)
			break;
		uint32_t least = first;

		for (uint32_t child = first + 1; child < end; child++)
			if (is_far_before(agenda, agenda->far[child], agenda->far[least]))
				least = child;
		if (!is_far_before(agenda, agenda->far[least], what))
			break;
		agenda->far[i] = agenda->far[least];
		i = least;
	}
	agenda->far[i] = what;
}

/* The first one as a rule; any other is searched for. */
static void remove_far(struct agenda *agenda, uint32_t what)
{
	uint32_t i = 0;

	while (agenda->far[i] != what)
		i++;
	uint32_t last = agenda->far[--agenda->n_far];

	if (i == agenda->n_far)
		return;
	if (i && is_far_before(agenda, last, agenda->far[(i - 1) / CHILDREN]))
		add_far(agenda, last, i);
	else
		sink_far(agenda, last, i);
}

/* ---- both ---- */

void agenda_add(struct agenda *agenda, uint32_t what, uint64_t at_ps)
{
	struct entry *entry = &agenda->entries[what];
	uint64_t slice = slice_of(agenda, at_ps);

	WEFT_ASSERT(what < agenda->room && entry->where == WHERE_NOWHERE);
	WEFT_ASSERT(at_ps >= agenda->now_ps);
	entry->at_ps = at_ps;
	agenda->n++;
	if (WEFT_LIKELY(slice - slice_of(agenda, agenda->now_ps) <= agenda->slice_mask)) {
		entry->where = WHERE_NEAR;
		add_near(agenda, what, (uint32_t)slice & agenda->slice_mask);
	} else {
		entry->where = WHERE_FAR;
		entry->next = agenda->far_orders++;
		add_far(agenda, what, agenda->n_far++);
	}
}

void agenda_remove(struct agenda *agenda, uint32_t what)
{
	struct entry *entry = &agenda->entries[what];

	WEFT_ASSERT(entry->where != WHERE_NOWHERE);
	agenda->n--;
	if (WEFT_LIKELY(entry->where == WHERE_NEAR))
		remove_near(agenda, what);
	else
		remove_far(agenda, what);
	entry->where = WHERE_NOWHERE;
}

uint32_t agenda_first(const struct agenda *agenda)
{
	if (agenda->n == agenda->n_far)
		return agenda->n_far ? agenda->far[0] : NONE;
	uint32_t near = first_near(agenda);

	/* At the same time, what is far now was added before. */
	if (WEFT_LIKELY(!agenda->n_far) ||
		agenda->entries[near].at_ps < agenda->entries[agenda->far[0]].at_ps)
		return near;
	return agenda->far[0];
}

void agenda_check(const struct agenda *agenda)
{
	uint32_t n = agenda->n_far;

	for (uint32_t i = 1; i < agenda->n_far; i++)
		WEFT_ASSERT(
			!is_far_before(agenda, agenda->far[i], agenda->far[(i - 1) / CHILDREN]));
	for (uint32_t slice = 0; slice <= agenda->slice_mask; slice++) {
		bool is_busy = agenda->busy[slice / 64] >> slice % 64 & 1;
		const struct entry *last = NULL;

		WEFT_ASSERT(is_busy == (agenda->slices[slice].head != NONE));
		WEFT_ASSERT(!is_busy || agenda->busy_words[slice / 4096] >> slice / 64 % 64 & 1);
		for (uint32_t what = agenda->slices[slice].head; what != NONE; n++) {
			const struct entry *entry = &agenda->entries[what];

			WEFT_ASSERT(entry->where == WHERE_NEAR && entry->at_ps >= agenda->now_ps);
			WEFT_ASSERT((slice_of(agenda, entry->at_ps) & agenda->slice_mask) == slice);
			WEFT_ASSERT(!last || last->at_ps <= entry->at_ps);
			WEFT_ASSERT(entry->next != NONE || agenda->slices[slice].tail == what);
			last = entry;
			what = entry->next;
		}
	}
	WEFT_ASSERT(n == agenda->n);
}
