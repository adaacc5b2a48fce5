/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_fields - the published expansion rule of EV profiles (OCP MRC API 1.0, EV profile
 * attributes).
 *
 * Bits are counted from the most significant bit of the first byte.  A field starts as its
 * init_val; the set bits of its mask, from the top down, take the next bits of the EV.  The field
 * is then laid into its format field, which may be wider: the bits in front are 0.
 *
 * Generated EVs are numbers in a mixed base, one digit per field between min_val and max_val.  A
 * profile that may hold fewer than there are takes them evenly spread, so that every digit varies:
 * the first thousand in a row would all leave by the same first hop.
 */
#include "fields.h"

#include <errno.h>
#include <string.h>

static uint32_t low_bits(uint32_t n)
{
	return n >= 32 ? UINT32_MAX : (UINT32_C(1) << n) - 1;
}

static uint32_t count_bits(uint32_t mask)
{
	return (uint32_t)__builtin_popcount(mask);
}

int fields_tell(void *to, int *count, const void *field, int n, size_t bytes)
{
	int room = *count;

	*count = n;
	if (room < n)
		return E2BIG;
	if (n && !to)
		return EINVAL;
	if (n)
		memcpy(to, field, (size_t)n * bytes);
	return 0;
}

uint32_t fields_mode_width(uint32_t mode)
{
	switch (mode) {
	case MRC_CTL_EV_FMT_MODE_STEV:
		return PLANT_STEV_WIDTH;
	case MRC_CTL_EV_FMT_MODE_SRV6:
		return PLANT_SRV6_WIDTH;
	case MRC_CTL_EV_FMT_MODE_UDP:
		return PLANT_UDP_WIDTH;
	default:
		return 0;
	}
}

int fields_check_fmt(uint32_t mode, const struct mrc_ctl_ev_fmt_field field[], int n)
{
	uint32_t width = 0;

	if (!field || n < 1 || !fields_mode_width(mode))
		return EINVAL;
	if (n > PLANT_FIELDS)
		return E2BIG;
	for (int i = 0; i < n; i++) {
		if (field[i].width < 1 || field[i].width > 32)
			return EINVAL;
		width += field[i].width;
	}
	return width > fields_mode_width(mode) ? E2BIG : 0;
}

int fields_check(const struct mrc_ctl_ev_field field[], int n, const struct plant_fmt *fmt)
{
	uint32_t width = 0, fmt_width = 0, taken = 0;

	if (!field || n < 1)
		return EINVAL;
	if (n > fmt->n_fields)
		return E2BIG;
	for (int i = 0; i < n; i++) {
		uint32_t mask_bits = count_bits(field[i].mask);

		if (field[i].width < 1 || field[i].width > 32 ||
			field[i].width > fmt->field[i].width ||
			field[i].init_val > low_bits(field[i].width) ||
			field[i].mask & ~low_bits(field[i].width) ||
			field[i].max_val > low_bits(mask_bits) ||
			field[i].min_val > field[i].max_val)
			return EINVAL;
		width += field[i].width;
		taken += mask_bits;
	}
	for (int i = 0; i < fmt->n_fields; i++)
		fmt_width += fmt->field[i].width;
	if (width > fmt_width || taken > 8 * MRC_CTL_EV_MAX_BYTES)
		return EINVAL;
	return 0;
}

static uint32_t take_bit(const uint8_t *ev, uint32_t at)
{
	return at < 8 * MRC_CTL_EV_MAX_BYTES ? (uint32_t)ev[at / 8] >> (7 - at % 8) & 1u : 0;
}

static void put_bits(uint8_t *ev, uint32_t at, uint32_t width, uint32_t value)
{
	for (uint32_t i = 0; i < width; i++, at++) {
		if (value >> (width - 1 - i) & 1u)
			ev[at / 8] |= (uint8_t)(0x80u >> at % 8);
	}
}

void fields_expand(const struct mrc_ctl_ev_field field[], int n, const struct plant_fmt *fmt,
	const mrc_ctl_ev_t ev, mrc_ctl_ev_t expanded)
{
	uint32_t from = 0, to = 0;

	if (n == 0) {
		memcpy(expanded, ev, MRC_CTL_EV_MAX_BYTES);
		return;
	}
	memset(expanded, 0, MRC_CTL_EV_MAX_BYTES);
	for (int i = 0; i < n; i++) {
		uint32_t value = field[i].init_val;

		for (uint32_t bit = field[i].width; bit-- > 0;) {
			if (!(field[i].mask >> bit & 1u))
				continue;
			value &= ~(UINT32_C(1) << bit);
			value |= take_bit(ev, from++) << bit;
		}
		put_bits(expanded, to, fmt->field[i].width, value);
		to += fmt->field[i].width;
	}
}

void fields_generate(const struct mrc_ctl_ev_field field[], int n, uint32_t index, uint32_t count,
	mrc_ctl_ev_t ev)
{
	uint64_t all = 1;

	for (int i = 0; i < n && all < UINT32_MAX; i++)
		all *= (uint64_t)field[i].max_val - field[i].min_val + 1;
	/* One out of each of `count` equal stretches, at a place that moves: all are different, and
	 * the lowest digits vary as the highest ones do. */
	uint64_t number = index;

	if (all > count)
		number = index * (all / count) + index % (all / count);
	number %= all;
	uint32_t at = 0;

	memset(ev, 0, MRC_CTL_EV_MAX_BYTES);
	for (int i = 0; i < n; i++) {
		uint64_t base = (uint64_t)field[i].max_val - field[i].min_val + 1;
		uint32_t bits = count_bits(field[i].mask);

		put_bits(ev, at, bits, field[i].min_val + (uint32_t)(number % base));
		number /= base;
		at += bits;
	}
}
