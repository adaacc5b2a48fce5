/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sink - where exported bytes go.
 *
 * A callback, so that an HTTP answer, a ring in shared memory and a file are served alike, and no
 * buffer of our own: stdio has one, and a socket's owner knows better how large his should be.
 * Errors stick to the sink, which keeps exporters free of a check behind every comma.
 */
#include "trace_local.h"

#include <errno.h>
#include <string.h>

static int write_file(void *user, const void *bytes, size_t len_bytes)
{
	errno = 0;
	if (fwrite(bytes, 1, len_bytes, (FILE *)user) == len_bytes)
		return 0;
	return errno ? -errno : -EIO;
}

void weft_sink_file(struct weft_sink *sink, FILE *file)
{
	*sink = (struct weft_sink){ .write = write_file, .user = file };
}

void sink_bytes(struct weft_sink *sink, const void *bytes, size_t len_bytes)
{
	if (!sink->error && len_bytes)
		sink->error = sink->write(sink->user, bytes, len_bytes);
}

void sink_text(struct weft_sink *sink, const char *text)
{
	sink_bytes(sink, text, strlen(text));
}

/* Not printf: a locale may group digits, and this is half of the work of a long dump. */
void sink_u64(struct weft_sink *sink, uint64_t n)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	sink_bytes(sink, digits + at, sizeof(digits) - at);
}

void sink_escaped(struct weft_sink *sink, const char *text, const char *special)
{
	while (*text) {
		size_t plain = strcspn(text, special);

		sink_bytes(sink, text, plain);
		text += plain;
		if (!*text)
			return;
		char escaped[2] = { '\\', *text == '\n' ? 'n' : *text };

		sink_bytes(sink, escaped, 2);
		text++;
	}
}
