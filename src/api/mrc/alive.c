/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alive - which objects of the API there are in this process, so that destroying one twice, or
 * making something of one that is gone, is an error and not the end of the program.
 *
 * A set of addresses, asked by all calls but those about work: posts, polls, arms, events.  An
 * address may come back as another object's, and then the second destroy hits that one: who wants
 * to be sure clears his pointers.
 */
#include "mrc_local.h"

#include <stdlib.h>

static struct weft_lock lock = WEFT_LOCK_INIT;
static const void **table; /* open addressing, 2^ places, at most half of them taken */
static size_t places, taken;

static size_t home_of(const void *object)
{
	return (size_t)((uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (places - 1);
}

/* Where it is, or where it would go. */
static size_t find(const void *object)
{
	size_t at = home_of(object);

	while (table[at] && table[at] != object)
		at = (at + 1) & (places - 1);
	return at;
}

static bool grow(void)
{
	const void **old = table;
	size_t n = places;
	const void **more = calloc(n ? 2 * n : 64, sizeof(*more));

	if (!more)
		return false;
	table = more;
	places = n ? 2 * n : 64;
	for (size_t i = 0; i < n; i++) {
		if (old[i])
			table[find(old[i])] = old[i];
	}
	free(old);
	return true;
}

void alive_hold(void)
{
	weft_lock_take(&lock);
}

void alive_let_go(void)
{
	weft_lock_give(&lock);
}

bool alive_add(const void *object)
{
	weft_lock_take(&lock);
	bool fits = 2 * (taken + 1) <= places || grow();

	if (fits) {
		table[find(object)] = object;
		taken++;
	}
	weft_lock_give(&lock);
	return fits;
}

bool alive_is(const void *object)
{
	weft_lock_take(&lock);
	bool is = object && places && table[find(object)] == object;

	weft_lock_give(&lock);
	return is;
}

void alive_drop(const void *object)
{
	weft_lock_take(&lock);
	size_t at = places ? find(object) : 0;

	if (places && table[at] == object) {
		table[at] = NULL;
		taken--;
		/* Those behind it may have been pushed there by it. */
		for (at = (at + 1) & (places - 1); table[at]; at = (at + 1) & (places - 1)) {
			const void *pushed = table[at];

			table[at] = NULL;
			table[find(pushed)] = pushed;
		}
	}
	weft_lock_give(&lock);
}
