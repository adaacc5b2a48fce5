/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HEX_TEXT_H
#define HEX_TEXT_H
/*
 * hex_text - packets out of hex, as people paste it.
 *
 * Errors   One line with the text's name, line and column.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HEX_TEXT_BYTES_MAX 65536u /* of a packet */

struct hex_text;
struct hex_text *hex_text_open(FILE *file, const char *name); /* both are the caller's */
void hex_text_close(struct hex_text *text);
/* 1: a packet of *n bytes, which last until the next one; 0: the end; -1: error says why. */
int hex_text_next(
	struct hex_text *text, const uint8_t **bytes, size_t *n, char *error, size_t error_bytes);

#endif
