/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * capture - any bytes as the input of `weft decode`: a pcap, a pcapng or hex text, and each frame
 * in it told in both ways.
 */
#include "decode_tell.h"

#include <weft/base.h>

#include <isa-l/crc.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static struct term term;
	static uint8_t scratch[WEFT_DECODE_FRAME_MAX];
	struct weft_decode_config config = { .crc = crc32_gzip_refl,
		.plain = WEFT_ENCAP_USID,
		.dscp = WEFT_DSCP_DEFAULT,
		.scratch = scratch };
	char error[WEFT_CAPTURE_ERROR_BYTES] = "";
	struct weft_capture_frame frame;
	unsigned link;
	uint64_t n = 0;
	int more;

	if (!len_bytes)
		return 0;
	if (!term.out) {
		term.out = fopen("/dev/null", "w");
		WEFT_ASSERT(term.out);
	}
	FILE *file = fmemopen((void *)(uintptr_t)data, len_bytes, "r");

	WEFT_ASSERT(file);
	struct weft_capture *c = weft_capture_open_file(file, "fuzz", error);

	WEFT_ASSERT(c || error[0]);
	if (!c)
		return 0;
	while ((more = weft_capture_next(c, &frame, error)) > 0) {
		struct weft_decoded d;
		json_t *object;

		WEFT_ASSERT(frame.wire_bytes >= frame.n);
		WEFT_ASSERT(++n <= len_bytes); /* a frame takes at least a byte of input */
		weft_decode_frame(&config, &frame, &d);
		decode_human(&term, &frame, &d, n, true);
		object = decode_json(&frame, &d, n);
		json_decref(object);
	}
	WEFT_ASSERT(more == 0 || (error[0] && weft_text_is_clean(error)));
	WEFT_ASSERT(weft_capture_unknown(c, &link) <= n);
	weft_capture_close(c);
	return 0;
}
