/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switches - what may stand in the place of a switch.
 *
 * One word on a command line, one field in the options, the same everywhere else: whoever uses a
 * lab sees hosts, faults and counters, and should not have to know who forwards.
 */
#include "lab_local.h"

#include <string.h>

static const char *const names[] = {
	[WEFT_LAB_SWITCHES_DEFAULT] = "default",
	[WEFT_LAB_SWITCHES_KERNEL] = "kernel",
	[WEFT_LAB_SWITCHES_SOFT] = "soft",
	[WEFT_LAB_SWITCHES_XDP] = "xdp",
};
static_assert(WEFT_COUNT(names) == WEFT_LAB_SWITCHES_COUNT, "a new kind of switch needs a name");

const char *weft_lab_switches_name(enum weft_lab_switches switches)
{
	return switches < WEFT_LAB_SWITCHES_COUNT ? names[switches] : "?";
}

bool weft_lab_switches_find(const char *name, enum weft_lab_switches *switches)
{
	for (unsigned i = WEFT_LAB_SWITCHES_DEFAULT + 1; i < WEFT_LAB_SWITCHES_COUNT; i++) {
		if (strcmp(names[i], name))
			continue;
		*switches = (enum weft_lab_switches)i;
		return true;
	}
	return false;
}

enum weft_lab_switches switches_choose(const struct weft_lab_options *options)
{
	if (options->switches)
		return options->switches;
	return options->offloads ? WEFT_LAB_SWITCHES_KERNEL : WEFT_LAB_SWITCHES_SOFT;
}
