/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * units - "25Gb/s", "1.5us", "512KB", "fcbb:bb00::/32".
 *
 * A number without a unit is refused wherever a unit makes sense: whether 100 meant Mb/s or
 * Gb/s must not be a guess.  Decimal multiples only for speeds, times and bytes alike (1KB is
 * 1000 bytes; KiB exists for those who mean 1024).  All arithmetic is on integers, so that a
 * value means the same number everywhere; what would need rounding is refused.
 */
#include "topo_local.h"

#include <string.h>

struct suffix {
	const char *text;
	uint64_t scale;
};

static const struct suffix counts[] = { { "", 1 }, { NULL, 0 } };
static const struct suffix speeds[] = {
	{ "b/s", 1 },
	{ "kb/s", 1000 },
	{ "Mb/s", 1000000 },
	{ "Gb/s", 1000000000 },
	{ "Tb/s", 1000000000000 },
	{ NULL, 0 },
};
static const struct suffix times[] = {
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", 1000000 },
	{ "s", 1000000000 },
	{ NULL, 0 },
};
static const struct suffix picoseconds[] = {
	{ "ps", 1 },
	{ "ns", 1000 },
	{ "us", 1000000 },
	{ "ms", 1000000000 },
	{ "s", 1000000000000 },
	{ NULL, 0 },
};
static const struct suffix sizes[] = {
	{ "", 1 },
	{ "B", 1 },
	{ "KB", 1000 },
	{ "MB", 1000000 },
	{ "GB", 1000000000 },
	{ "KiB", 1024 },
	{ "MiB", 1048576 },
	{ "GiB", 1073741824 },
	{ NULL, 0 },
};

static const struct suffix shares[] = { { "BDP", 1000 }, { NULL, 0 } };
static const struct suffix percents[] = { { "", 10000 }, { "%", 10000 }, { NULL, 0 } };

static const struct {
	const struct suffix *suffixes;
	const char *form;
} units[] = {
	[WEFT_UNIT_COUNT] = { counts, "a whole number" },
	[WEFT_UNIT_SPEED] = { speeds, "a speed in bits, like 100Gb/s or 500Mb/s" },
	[WEFT_UNIT_TIME] = { times, "a time, like 600ns, 1.5us or 20ms" },
	[WEFT_UNIT_BYTES] = { sizes + 1, "a size, like 512KB or 1MiB" },
	[WEFT_UNIT_BDP] = { shares, "a share of bandwidth x delay, like 0.8BDP" },
	[WEFT_UNIT_PERCENT] = { percents, "a percentage, like 20 or 0.5%, in steps of 0.0001" },
	[WEFT_UNIT_PS] = { picoseconds, "a time, like 600ns, 1.5us or 20ms" },
	[WEFT_UNIT_SIZE] = { sizes, "a size, like 4096, 512KB or 1MiB" },
};

const char *weft_unit_form(enum weft_unit unit)
{
	return units[unit].form;
}

/* Reads digits with at most one point as value / scale; NULL when there are none or too many. */
static const char *read_decimal(const char *text, uint64_t *value, uint64_t *scale)
{
	bool seen_digit = false, seen_point = false;

	*value = 0;
	*scale = 1;
	for (; (*text >= '0' && *text <= '9') || (*text == '.' && !seen_point); text++) {
		if (*text == '.') {
			seen_point = true;
			continue;
		}
		if (*value > UINT64_MAX / 100 || *scale > UINT64_MAX / 100)
			return NULL;
		seen_digit = true;
		*value = *value * 10 + (uint64_t)(*text - '0');
		if (seen_point)
			*scale *= 10;
	}
	return seen_digit && text[-1] != '.' ? text : NULL;
}

bool weft_unit_parse(enum weft_unit unit, const char *text, uint64_t *value)
{
	uint64_t number, scale;
	const char *rest = read_decimal(text, &number, &scale);

	if (!rest)
		return false;
	while (*rest == ' ')
		rest++;
	for (const struct suffix *s = units[unit].suffixes; s->text; s++) {
		if (strcmp(rest, s->text))
			continue;
		if (number > UINT64_MAX / s->scale || number * s->scale % scale ||
			number * s->scale / scale > INT64_MAX)
			return false;
		*value = number * s->scale / scale;
		return true;
	}
	return false;
}

bool weft_way_parse(const char *text, uint32_t *way)
{
	static const char *const words[] = {
		[WEFT_WAY_UP] = "up", [WEFT_WAY_DOWN] = "down", [WEFT_WAY_BOTH] = "both"
	};

	for (uint32_t i = WEFT_WAY_UP; i < WEFT_COUNT(words); i++) {
		if (strcmp(text, words[i]))
			continue;
		*way = i;
		return true;
	}
	return false;
}

/* One group of 1 to 4 hex digits. */
static const char *read_group(const char *text, uint32_t *group)
{
	unsigned n = 0;

	*group = 0;
	for (; n < 4; n++, text++) {
		uint32_t digit;

		if (*text >= '0' && *text <= '9')
			digit = (uint32_t)(*text - '0');
		else if (*text >= 'a' && *text <= 'f')
			digit = (uint32_t)(*text - 'a') + 10;
		else if (*text >= 'A' && *text <= 'F')
			digit = (uint32_t)(*text - 'A') + 10;
		else
			break;
		*group = *group << 4 | digit;
	}
	return n ? text : NULL;
}

bool unit_prefix(const char *text, uint32_t *prefix)
{
	uint32_t high, low;

	text = read_group(text, &high);
	if (!text || *text++ != ':')
		return false;
	text = read_group(text, &low);
	if (!text || strcmp(text, "::/32"))
		return false;
	*prefix = high << 16 | low;
	return true;
}
