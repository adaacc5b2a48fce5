/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agenda - what happens next.
 *
 * Frames on a cable arrive in the order in which they left, so only the first of each cable stands
 * here, and a port has one next departure: a few hundred entries for hundreds of thousands of
 * frames.  At that size a heap of 16-byte entries lies in the first-level cache; with four children
 * per entry, which share a line, it is half as deep as a binary one.
 *
 * Entries are taken out of the middle by faults only, so that is a search.
 */
#include "local.h"

#include <stdlib.h>

enum { CHILDREN = 4 };

bool agenda_open(struct agenda *agenda, uint32_t room)
{
	*agenda = (struct agenda){ .room = room };
	agenda->entries = malloc(room * sizeof(*agenda->entries));
	return agenda->entries != NULL;
}

void agenda_close(struct agenda *agenda)
{
	free(agenda->entries);
}

static bool is_before(const struct entry *a, const struct entry *b)
{
	return a->at_ps != b->at_ps ? a->at_ps < b->at_ps : (int32_t)(a->order - b->order) < 0;
}

/* Puts entry at place i or nearer to the top. */
static void rise(struct agenda *agenda, uint32_t i, struct entry entry)
{
	struct entry *entries = agenda->entries;

	while (i && is_before(&entry, &entries[(i - 1) / CHILDREN])) {
		entries[i] = entries[(i - 1) / CHILDREN];
		i = (i - 1) / CHILDREN;
	}
	entries[i] = entry;
}

/* Puts entry at place i or below. */
static void sink(struct agenda *agenda, uint32_t i, struct entry entry)
{
	struct entry *entries = agenda->entries;

	for (;;) {
		uint32_t first = CHILDREN * i + 1, end = WEFT_MIN(first + CHILDREN, agenda->n);

		if (first >= agenda->n)
			break;
		uint32_t least = first;

		for (uint32_t child = first + 1; child < end; child++)
			if (is_before(&entries[child], &entries[least]))
				least = child;
		if (!is_before(&entries[least], &entry))
			break;
		entries[i] = entries[least];
		i = least;
	}
	entries[i] = entry;
}

void agenda_add(struct agenda *agenda, uint64_t at_ps, uint32_t order, uint32_t what)
{
	WEFT_ASSERT(agenda->n < agenda->room);
	rise(agenda, agenda->n++, (struct entry){ at_ps, order, what });
}

void agenda_take_first(struct agenda *agenda)
{
	WEFT_ASSERT(agenda->n);
	agenda->n--;
	if (agenda->n)
		sink(agenda, 0, agenda->entries[agenda->n]);
}

void agenda_replace_first(struct agenda *agenda, uint64_t at_ps, uint32_t order, uint32_t what)
{
	WEFT_ASSERT(agenda->n);
	sink(agenda, 0, (struct entry){ at_ps, order, what });
}

bool agenda_remove(struct agenda *agenda, uint32_t what)
{
	uint32_t i = 0;

	while (i < agenda->n && agenda->entries[i].what != what)
		i++;
	if (i == agenda->n)
		return false;
	struct entry last = agenda->entries[--agenda->n];

	if (i == agenda->n)
		return true;
	if (i && is_before(&last, &agenda->entries[(i - 1) / CHILDREN]))
		rise(agenda, i, last);
	else
		sink(agenda, i, last);
	return true;
}

void agenda_check(const struct agenda *agenda)
{
	for (uint32_t i = 1; i < agenda->n; i++)
		WEFT_ASSERT(!is_before(&agenda->entries[i], &agenda->entries[(i - 1) / CHILDREN]));
}
