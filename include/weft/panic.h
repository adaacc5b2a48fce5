/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_PANIC_H
#define WEFT_PANIC_H
/*
 * panic - what a broken assertion says before it ends the process, in all that is shipped.
 *
 * Each program and shared library has this room's object in it (cmake/weft.cmake sees to that), and
 * the object sets the hook by itself when it is loaded.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* One line to stderr: file from its room on, line, expression.  Allocates nothing, takes no lock.
 * A weft_panic_fn. */
void weft_panic_say(const char *file, int line, const char *expr);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_PANIC_H */
