/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_units - "20us", "2MB" on the command line of `weft sim`, and times as it says them.
 *
 * Files know whole nanoseconds; here picoseconds may be said, and a number of bytes alone.
 */
#include "sim_text.h"

#include <weft/base.h>
#include <weft/yaml.h>

bool sim_read_time(const char *text, uint64_t *ps)
{
	return weft_unit_parse(WEFT_UNIT_PS, text, ps);
}

bool sim_read_bytes(const char *text, uint64_t *bytes)
{
	return weft_unit_parse(WEFT_UNIT_SIZE, text, bytes);
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
