/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wheel - alarms of hosts that are windows away: retransmission timers, probes, flows to come.
 *
 * Eight levels of 256 slots, each slot a list through the hosts themselves.  These are all 64 bits:
 * with short links a window is a nanosecond, and a trace may compute for days.  A host stands in
 * one list at most, and moves only to an earlier one: timers move later with nearly every
 * acknowledgement, so a host that comes up too early is asked what it really wants.
 *
 * Bits tell which slots hold anything, so that an idle fabric crosses a second of virtual time in
 * a few steps.
 */
#include "sim_local.h"

enum { SLOTS = 1 << WHEEL_BITS, WORDS = SLOTS / 64 };

void wheel_init(struct wheel *wheel, uint32_t *lists)
{
	*wheel = (struct wheel){ .lists = lists };
	for (uint32_t i = 0; i < WHEEL_LEVELS * SLOTS; i++)
		lists[i] = NONE;
}

/* The slot of a window, not before wheel->window, as level * SLOTS + slot. */
static uint32_t slot_of(const struct wheel *wheel, uint64_t window)
{
	uint64_t differ = window ^ wheel->window;
	uint32_t level = differ ? (63 - weft_clz64(differ)) / WHEEL_BITS : 0;

	return level * SLOTS + (uint32_t)(window >> (level * WHEEL_BITS) & (SLOTS - 1));
}

static void link_host(struct wheel *wheel, struct host hosts[], uint32_t host)
{
	uint32_t slot = slot_of(wheel, WEFT_MAX(hosts[host].wheel_window, wheel->window));
	uint32_t first = wheel->lists[slot];

	hosts[host].wheel_next = first;
	hosts[host].wheel_prev = NONE;
	hosts[host].wheel_slot = (uint16_t)slot;
	if (first != NONE)
		hosts[first].wheel_prev = host;
	wheel->lists[slot] = host;
	wheel->bits[slot / SLOTS][slot % SLOTS / 64] |= UINT64_C(1) << slot % 64;
	wheel->n++;
}

static void unlink_host(struct wheel *wheel, struct host hosts[], uint32_t host)
{
	struct host *h = &hosts[host];
	uint32_t slot = h->wheel_slot;

	if (h->wheel_next != NONE)
		hosts[h->wheel_next].wheel_prev = h->wheel_prev;
	if (h->wheel_prev != NONE)
		hosts[h->wheel_prev].wheel_next = h->wheel_next;
	else
		wheel->lists[slot] = h->wheel_next;
	if (wheel->lists[slot] == NONE)
		wheel->bits[slot / SLOTS][slot % SLOTS / 64] &= ~(UINT64_C(1) << slot % 64);
	wheel->n--;
}

void wheel_set(struct wheel *wheel, struct host hosts[], uint32_t host, uint64_t window)
{
	if (hosts[host].wheel_window != WEFT_NEVER)
		unlink_host(wheel, hosts, host);
	hosts[host].wheel_window = window;
	if (window != WEFT_NEVER)
		link_host(wheel, hosts, host);
}

/* First slot of a level from `from` on that holds something; SLOTS: none. */
static uint32_t first_slot(const struct wheel *wheel, uint32_t level, uint32_t from)
{
	for (uint32_t word = from / 64; word < WORDS; word++) {
		uint64_t bits = wheel->bits[level][word];

		if (word == from / 64)
			bits &= ~UINT64_C(0) << from % 64;
		if (bits)
			return word * 64 + weft_ctz64(bits);
	}
	return SLOTS;
}

uint64_t wheel_next(const struct wheel *wheel)
{
	if (!wheel->n)
		return WEFT_NEVER;
	for (uint32_t level = 0; level < WHEEL_LEVELS; level++) {
		uint32_t shift = level * WHEEL_BITS;
		uint32_t here = (uint32_t)(wheel->window >> shift & (SLOTS - 1));
		uint32_t slot = first_slot(wheel, level, here);
		uint64_t above = wheel->window >> shift >> WHEEL_BITS << WHEEL_BITS;

		if (slot < SLOTS)
			return WEFT_MAX((above | slot) << shift, wheel->window);
	}
	WEFT_ASSERT(!wheel->n); /* every host that it holds is in some slot */
	return WEFT_NEVER;
}

/* Spreads the hosts of a slot that time has reached over the levels below it. */
static void spread(struct wheel *wheel, struct host hosts[], uint32_t slot)
{
	uint32_t host = wheel->lists[slot];

	while (host != NONE) {
		uint32_t next = hosts[host].wheel_next;

		unlink_host(wheel, hosts, host);
		link_host(wheel, hosts, host);
		host = next;
	}
}

uint32_t wheel_pop(struct wheel *wheel, struct host hosts[], uint64_t window)
{
	for (;;) {
		uint64_t next = wheel_next(wheel);

		if (next > window) {
			/* Nothing is between: no slot is skipped that has to be spread. */
			wheel->window = WEFT_MAX(wheel->window, window);
			return NONE;
		}
		wheel->window = next;
		for (uint32_t level = WHEEL_LEVELS - 1; level; level--)
			spread(wheel, hosts,
				level * SLOTS +
					(uint32_t)(next >> (level * WHEEL_BITS) & (SLOTS - 1)));
		uint32_t host = wheel->lists[next & (SLOTS - 1)];

		if (host == NONE)
			continue;
		unlink_host(wheel, hosts, host);
		hosts[host].wheel_window = WEFT_NEVER;
		return host;
	}
}
