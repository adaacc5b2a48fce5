/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TRACE_LOCAL_H
#define TRACE_LOCAL_H
#include <weft/base.h>
#include <weft/trace.h>

/* All do nothing once the sink has failed. */
void sink_bytes(struct weft_sink *sink, const void *bytes, size_t len_bytes);
void sink_text(struct weft_sink *sink, const char *text);
void sink_u64(struct weft_sink *sink, uint64_t n); /* in decimal */
/* text with each character of special replaced: '\n' by "\n", any other by itself behind a '\'. */
void sink_escaped(struct weft_sink *sink, const char *text, const char *special);

#endif
