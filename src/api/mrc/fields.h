/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_OCP_FIELDS_H
#define WEFT_OCP_FIELDS_H
/* fields - bits of EVs: which fields are possible, what they expand to, which EVs they generate. */
#include "plant.h"

uint32_t fields_mode_width(uint32_t mode); /* bits that an expanded EV of this format may have */
/* 0, E2BIG, EINVAL */
int fields_check_fmt(uint32_t mode, const struct mrc_ctl_ev_fmt_field field[], int n);
int fields_check(const struct mrc_ctl_ev_field field[], int n, const struct plant_fmt *fmt);
/* Answers a question for n fields of `bytes` each: *count is their room, then how many there are.
 * E2BIG, EINVAL: nowhere to put them. */
int fields_tell(void *to, int *count, const void *field, int n, size_t bytes);

/* Without fields an EV stands for itself. */
void fields_expand(const struct mrc_ctl_ev_field field[], int n, const struct plant_fmt *fmt,
	const mrc_ctl_ev_t ev, mrc_ctl_ev_t expanded);

/*
 * EV number `index` of `count`: as many different ones as the fields allow, evenly spread over all
 * combinations, and from there on the same ones again.
 */
void fields_generate(const struct mrc_ctl_ev_field field[], int n, uint32_t index, uint32_t count,
	mrc_ctl_ev_t ev);

#endif
