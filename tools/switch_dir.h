/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SWITCH_DIR_H
#define SWITCH_DIR_H
/*
 * switch_dir - the folder of a running switch, where its sockets are.
 *
 * $WEFT_SWITCH names one.  Without it a switch makes NAME, as its fabric is called, in
 * $XDG_RUNTIME_DIR/weft-switch (/run/weft-switch for root, else /tmp/weft-switch-UID), and who
 * wants to talk to a switch takes the only one that runs there.
 */
#include <stdbool.h>
#include <stddef.h>

#define SWITCH_DIR_BYTES 96 /* a socket's path has 108, "/control" included */

/* The folder for a switch to run in, made where it is not there.  given: NULL for the default. */
bool switch_dir_make(char dir[SWITCH_DIR_BYTES], const char *given, const char *name, char *error,
	size_t error_bytes);
/* The folder of the switch to talk to. */
bool switch_dir_find(
	char dir[SWITCH_DIR_BYTES], const char *given, char *error, size_t error_bytes);

#endif
