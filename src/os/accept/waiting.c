/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waiting - half-open connections: a cap, a deadline for each, and the oldest goes first.
 *
 * As TCP's SYN queue: who says nothing costs a place until a deadline that does not move when he
 * says a byte, and a newcomer who finds no place takes that of the one who has waited longest.  An
 * honest peer says what he wants at once, so he is not the one.  Tables are some dozens long and
 * searched when somebody comes or a deadline passes; a heap would be more code than they have
 * entries.
 */
#include <weft/accept.h>

uint32_t weft_waiting_place(const uint64_t until_ns[], uint32_t n)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < n; i++) {
		if (until_ns[i] < until_ns[best])
			best = i;
	}
	return best;
}

uint32_t weft_waiting_late(const uint64_t until_ns[], uint32_t n, uint64_t now_ns)
{
	uint32_t i = 0;

	while (i < n && (!until_ns[i] || until_ns[i] > now_ns))
		i++;
	return i;
}

uint64_t weft_waiting_next_ns(const uint64_t until_ns[], uint32_t n)
{
	uint64_t next_ns = UINT64_MAX;

	for (uint32_t i = 0; i < n; i++) {
		if (until_ns[i] && until_ns[i] < next_ns)
			next_ns = until_ns[i];
	}
	return next_ns;
}
