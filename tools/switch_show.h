/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SWITCH_SHOW_H
#define SWITCH_SHOW_H
/* switch_show - answers of a switch (weft/switchd.h), for people and for Prometheus. */
#include "term.h"

#include <stdint.h>

struct json_t;

void switch_show_hello(const struct json_t *hello, const struct term *term);
/* Ports, then drops by reason; all: quiet ports too. */
void switch_show_counters(const struct json_t *counters, const struct term *term, bool all);
/* What happened between two answers, per port that is busy; rates per second. */
void switch_show_rates(
	const struct json_t *before, const struct json_t *after, const struct term *term);
void switch_show_table(const struct json_t *table, const struct term *term);
/* The entries that count packets. */
void switch_show_sids(const struct json_t *table, const struct term *term);
void switch_show_links(const struct json_t *links, const struct term *term);

/* switch_prom.c: counters as Prometheus text; 0, or a negative errno. */
int switch_prom(const struct json_t *counters, FILE *out);

#endif
