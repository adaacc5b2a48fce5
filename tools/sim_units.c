/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_units - "20us", "2MB", "100Gb/s" on the command line of `weft sim`, and times as it says
 * them.
 *
 * topo's units are those of files, which know whole nanoseconds; here picoseconds may be said, and
 * a number of bytes alone.
 */
#include "sim.h"

#include <stdlib.h>
#include <string.h>
#include <weft/base.h>

struct suffix {
	const char *text;
	double scale;
};

static bool read_quantity(const char *text, const struct suffix *suffixes, uint64_t *value)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || !(number >= 0) || strspn(text, "0123456789.") == 0)
		return false;
	for (const struct suffix *s = suffixes; s->text; s++) {
		double scaled = number * s->scale;

		if (strcmp(end, s->text))
			continue;
		if (scaled > 9e18)
			return false;
		*value = (uint64_t)(scaled + 0.5);
		return true;
	}
	return false;
}

bool sim_read_time(const char *text, uint64_t *ps)
{
	static const struct suffix suffixes[] = { { "ps", 1 }, { "ns", 1e3 }, { "us", 1e6 },
		{ "ms", 1e9 }, { "s", 1e12 }, { NULL, 0 } };

	return read_quantity(text, suffixes, ps);
}

bool sim_read_bytes(const char *text, uint64_t *bytes)
{
	static const struct suffix suffixes[] = { { "", 1 }, { "B", 1 }, { "KB", 1e3 },
		{ "MB", 1e6 }, { "GB", 1e9 }, { "KiB", 1024 }, { "MiB", 1048576 },
		{ "GiB", 1073741824 }, { NULL, 0 } };

	return read_quantity(text, suffixes, bytes);
}

bool sim_read_rate(const char *text, uint64_t *bps)
{
	static const struct suffix suffixes[] = { { "Mb/s", 1e6 }, { "Gb/s", 1e9 },
		{ "Tb/s", 1e12 }, { NULL, 0 } };

	return read_quantity(text, suffixes, bps);
}

json_t *sim_us_json(uint64_t ps)
{
	return ps == WEFT_NEVER ? json_null() : json_real((double)ps / 1e6);
}

void sim_us_add(struct table *table, uint64_t ps, const char *never)
{
	if (ps == WEFT_NEVER)
		table_add(table, "%s", never);
	else
		table_add(table, "%.2f", (double)ps / 1e6);
}
