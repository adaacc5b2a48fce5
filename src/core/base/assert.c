/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * assert - what happens when we were wrong.
 *
 * Assertions stay on in release: random testing finds bugs only where something notices, and a
 * transport that goes on after a broken invariant writes into somebody's memory.  The hook is a
 * pointer set at run time rather than a weak symbol: weak symbols in archives are chosen by link
 * order, and a test needs to set and restore its own hook.  The end is a trap instruction and not
 * abort(), which a freestanding room does not have.
 */
#include <weft/base.h>

static weft_panic_fn *panic_hook;

weft_panic_fn *weft_panic_hook(weft_panic_fn *hook)
{
	weft_panic_fn *before = panic_hook;

	panic_hook = hook;
	return before;
}

void weft_panic(const char *file, int line, const char *expr)
{
	weft_panic_fn *hook = panic_hook;

	/* Cleared first, so that a hook that trips over the same broken state ends too. */
	panic_hook = NULL;
	if (hook)
		hook(file, line, expr);
	__builtin_trap();
}
