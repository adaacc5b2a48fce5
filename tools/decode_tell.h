/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DECODE_TELL_H
#define DECODE_TELL_H
/*
 * decode_tell - the two tellers of `weft decode`: a packet for programs, and for people.
 *
 *   weft_capture_next() -> weft_decode_frame() -> decode_json()   one object, stable keys
 *                                             `-> decode_human()  one line, or all fields
 */
#include "term.h"

#include <weft/decode.h>

#include <jansson.h>

/* A new object; the caller's to release.  number: of the frame in its file, from 1. */
json_t *decode_json(
	const struct weft_capture_frame *frame, const struct weft_decoded *d, uint64_t number);
/* fields: all of them, with their bytes.  Drops show the bytes around the wrong one either way. */
void decode_human(struct term *term, const struct weft_capture_frame *frame,
	const struct weft_decoded *d, uint64_t number, bool fields);

#endif
