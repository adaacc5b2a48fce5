/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greet - a greeting: what comes by UDP before two devices know each other, from anybody.
 *
 * What was read is in range, and is the same when it is written and read again.
 */
#include "greetings/greet_local.h"

#include <string.h>

static void check_range(const struct greet *greet)
{
	const struct weft_live_end *end = &greet->end;

	WEFT_ASSERT(greet->kind && greet->kind < GREET_KINDS && greet->number < NUMBERS);
	WEFT_ASSERT(end->planes >= 1 && end->planes <= WEFT_PORTS_MAX && end->home < end->planes);
	WEFT_ASSERT(end->n_src_ports >= 1 && end->n_src_ports <= WEFT_UDP_SRC_PORTS_MAX);
	WEFT_ASSERT(memchr(end->host, 0, sizeof(end->host)));
	WEFT_ASSERT(memchr(end->fabric, 0, sizeof(end->fabric)));
	WEFT_ASSERT(greet->group.n <= GREET_MEMBERS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct greet greet, again;
	uint8_t bytes[GREET_BYTES_MAX], twice[GREET_BYTES_MAX];

	memset(&greet, 0, sizeof(greet));
	memset(&again, 0, sizeof(again));
	if (!greet_decode(data, size, &greet))
		return 0;
	check_range(&greet);
	size_t n = greet_encode(&greet, bytes);

	WEFT_ASSERT(n && n <= sizeof(bytes));
	WEFT_ASSERT(greet_decode(bytes, n, &again));
	WEFT_ASSERT(greet_encode(&again, twice) == n && !memcmp(bytes, twice, n));
	return 0;
}
