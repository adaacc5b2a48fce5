/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cc_table - every congestion control, by the name that programs and the OCP API know it by.
 *
 * A table rather than registration at run time: what is in the library is what the linker saw, and
 * the choice is made once per QP.  Names are whole strings with their version, as the API has it.
 */
#include <weft/base.h>
#include <weft/cc.h>

const struct weft_cc_ops *const weft_cc_all[] = { &weft_cc_nscc, &weft_cc_fixed, NULL };

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

const struct weft_cc_ops *weft_cc_find(const char *name)
{
	WEFT_ASSERT(name);
	for (const struct weft_cc_ops *const *at = weft_cc_all; *at; at++)
		if (same((*at)->name, name))
			return *at;
	return NULL;
}
