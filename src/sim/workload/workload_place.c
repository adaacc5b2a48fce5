/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_place - which host a rank is.
 *
 * hosts is a list of numbers and ranges with strides.  Packed takes it as it is written; spread
 * deals ranks out over T0s, so that neighbours in a ring are never below the same one where that
 * can be; random shuffles.  A host is taken once.
 */
#include "workload_local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "A", "A-B", "A-B/S", up to a comma or the end. */
static const char *read_range(const char *text, uint32_t *first, uint32_t *last, uint32_t *stride)
{
	unsigned long value[3] = { 0, 0, 1 };
	const char *marks = "-/";
	unsigned n = 0;

	for (;;) {
		char *end;

		if (*text < '0' || *text > '9')
			return NULL;
		errno = 0;
		value[n] = strtoul(text, &end, 10);
		if (errno || value[n] > UINT32_MAX - 1)
			return NULL;
		text = end;
		if (n == 2 || *text != marks[n])
			break;
		n++;
		text++;
	}
	*first = (uint32_t)value[0];
	*last = (uint32_t)(n ? value[1] : value[0]);
	*stride = (uint32_t)value[2];
	return *first <= *last && *stride ? text : NULL;
}

static bool read_hosts(struct build *b, uint32_t hosts, uint8_t *taken)
{
	const char *text = b->spec->hosts;
	uint32_t first, last, stride;

	if (!*text || !strcmp(text, "all"))
		text = NULL;
	for (uint32_t i = 0; !text && i < hosts; i++)
		b->hosts[b->n++] = i;
	while (text) {
		text = read_range(text, &first, &last, &stride);
		if (!text || (*text && *text != ','))
			return build_fail(b,
				"hosts: \"%s\", wanted is all, or a list of 5, 0-63, 8-127/8",
				b->spec->hosts);
		if (last >= hosts)
			return build_fail(b, "hosts: %u, this fabric has %u", (unsigned)last,
				(unsigned)hosts);
		for (uint64_t i = first; i <= last; i += stride) {
			if (taken[i]++)
				return build_fail(b, "hosts: %u is named twice", (unsigned)i);
			b->hosts[b->n++] = (uint32_t)i;
		}
		text = *text ? text + 1 : NULL;
	}
	return true;
}

static void shuffle(struct build *b)
{
	for (uint32_t i = b->n; i > 1; i--) {
		uint32_t other = (uint32_t)weft_rng_below(&b->rng, i), kept = b->hosts[i - 1];

		b->hosts[i - 1] = b->hosts[other];
		b->hosts[other] = kept;
	}
}

/* One of each T0, then the next of each. */
static void spread(struct build *b, uint32_t per_t0, uint32_t *order)
{
	uint32_t n = 0;

	for (uint32_t turn = 0; n < b->n; turn++) {
		uint32_t t0 = NONE, seen = 0;

		for (uint32_t i = 0; i < b->n; i++) {
			seen = b->hosts[i] / per_t0 == t0 ? seen + 1 : 0;
			t0 = b->hosts[i] / per_t0;
			if (seen == turn)
				order[n++] = b->hosts[i];
		}
	}
	memcpy(b->hosts, order, n * sizeof(*order));
}

bool place_ranks(struct build *b, uint32_t wanted)
{
	const struct weft_topo_shape *s = weft_topo_shape(b->topo);
	uint32_t *order = malloc(s->hosts * sizeof(*order));
	uint8_t *taken = calloc(s->hosts, 1);
	bool is_good;

	b->hosts = malloc(s->hosts * sizeof(*b->hosts));
	if (!order || !taken || !b->hosts)
		is_good = build_fail(b, "out of memory");
	else
		is_good = read_hosts(b, s->hosts, taken);
	if (is_good && b->n < WEFT_MAX(wanted, 2u))
		is_good = build_fail(b, "hosts: %u, wanted are %u or more", (unsigned)b->n,
			(unsigned)WEFT_MAX(wanted, 2u));
	if (is_good && b->spec->placement == WEFT_PLACE_RANDOM)
		shuffle(b);
	if (is_good && b->spec->placement == WEFT_PLACE_SPREAD)
		spread(b, s->hosts_per_t0, order);
	free(order);
	free(taken);
	return is_good;
}
