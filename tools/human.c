/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * human - numbers as people read them.
 *
 * Three significant digits, because nobody reads a fourth and measured rates do not have one; zeros
 * after the point are left out, so that a round number looks round.  Memory counts in 1024 with
 * IEC's names, link rates in 1000 as every data sheet does: mixing the two is how 7 % of a
 * bandwidth gets lost between two tables.  Machines get plain integers in JSON.
 */
#include "human.h"

#include <stdio.h>
#include <string.h>
#include <weft/yaml.h>

struct unit {
	double size;
	const char *name;
};

/* units end with a NULL name and grow. */
static char *print_scaled(char *buf, uint64_t n, const struct unit *units)
{
	double value = (double)n;

	/* Half a unit ahead: 999.7 of this unit would print as 1000, and that is 1 of the next. */
	while (units[1].name && value + units->size / 2 >= units[1].size)
		units++;
	double scaled = value / units->size;
	int decimals = units->size <= 1 || scaled >= 100 ? 0 : scaled >= 10 ? 1 : 2;

	snprintf(buf, HUMAN_MAX, "%.*f", decimals, scaled);
	size_t len = strlen(buf);

	if (decimals) {
		while (buf[len - 1] == '0')
			len--;
		if (buf[len - 1] == '.')
			len--;
	}
	snprintf(buf + len, HUMAN_MAX - len, " %s", units->name);
	return buf;
}

char *human_bytes(char buf[HUMAN_MAX], uint64_t bytes)
{
	static const struct unit units[] = { { 1, "B" }, { 0x1p10, "KiB" }, { 0x1p20, "MiB" },
		{ 0x1p30, "GiB" }, { 0x1p40, "TiB" }, { 0x1p50, "PiB" }, { 0x1p60, "EiB" },
		{ 0, NULL } };

	return print_scaled(buf, bytes, units);
}

char *human_rate(char buf[HUMAN_MAX], uint64_t bits_per_s)
{
	static const struct unit units[] = { { 1, "b/s" }, { 1e3, "kb/s" }, { 1e6, "Mb/s" },
		{ 1e9, "Gb/s" }, { 1e12, "Tb/s" }, { 1e15, "Pb/s" }, { 0, NULL } };

	return print_scaled(buf, bits_per_s, units);
}

char *human_ns(char buf[HUMAN_MAX], uint64_t ns)
{
	static const struct unit units[] = { { 1, "ns" }, { 1e3, "us" }, { 1e6, "ms" },
		{ 1e9, "s" }, { 0, NULL } };
	unsigned long long seconds = (ns + 500000000) / 1000000000;

	if (ns < UINT64_C(59500000000)) /* above this the rounded second would read 60 */
		return print_scaled(buf, ns, units);
	if (seconds < 3600)
		snprintf(buf, HUMAN_MAX, "%llu min %02llu s", seconds / 60, seconds % 60);
	else
		snprintf(buf, HUMAN_MAX, "%llu h %02llu min", seconds / 3600, seconds / 60 % 60);
	return buf;
}

char *human_count(char buf[HUMAN_MAX], uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n), at = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = '\0';
	return buf;
}

bool human_read_rate(const char *text, uint64_t *bits_per_s)
{
	uint64_t value;

	if (!weft_unit_parse(WEFT_UNIT_SPEED, text, &value) || !value)
		return false;
	*bits_per_s = value;
	return true;
}

bool human_read_ns(const char *text, uint64_t *ns)
{
	uint64_t value;

	if (!weft_unit_parse(WEFT_UNIT_TIME, text, &value) || !value)
		return false;
	*ns = value;
	return true;
}

bool human_read_percent(const char *text, uint32_t *ppm)
{
	uint64_t value;

	if (!weft_unit_parse(WEFT_UNIT_PERCENT, text, &value) || value > 1000000)
		return false;
	*ppm = (uint32_t)value;
	return true;
}
