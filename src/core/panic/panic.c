/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * panic - the assertion's sentence, on stderr.
 *
 * Rooms that assert are freestanding and cannot print; what is made of them can.  A constructor in
 * an object that every link names, because an archive's member that nobody calls would be left out,
 * and a call at the begin of each program and library would be forgotten in the next one.
 *
 * Written by write(2) from the stack: the state that was found broken may be the heap's, and the
 * thread may hold stdio's lock.
 */
#include <weft/base.h>
#include <weft/panic.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 512 /* cut there: no expression of ours is longer */

/* What stands in front of src/ says where somebody has built it. */
static const char *from_room(const char *file)
{
	const char *at = strstr(file, "src/");

	return at ? at : file;
}

void weft_panic_say(const char *file, int line, const char *expr)
{
	char text[LINE_BYTES];
	int n = snprintf(text, sizeof(text), "weft: %s:%d: broken assertion: %s\n", from_room(file),
		line, expr);

	if (n >= (int)sizeof(text)) {
		n = sizeof(text);
		text[n - 1] = '\n';
	}
	if (n > 0)
		(void)!write(STDERR_FILENO, text, (size_t)n);
}

__attribute__((constructor)) static void set_hook(void)
{
	weft_panic_fn *before = weft_panic_hook(weft_panic_say);

	if (before) /* who came first has a reason */
		(void)weft_panic_hook(before);
}
