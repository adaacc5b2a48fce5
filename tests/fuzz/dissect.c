/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dissect - any bytes as a captured frame, told in both ways; nothing may be read outside of it.
 *
 * The first byte is read as wire_decode's, so that the two share their seeds: 0..2 a frame, 3 a
 * datagram; bit 5: the capture kept only the beginning.  Every bit is asked for its name.
 */
#include "decode_tell.h"

#include <weft/base.h>

#include <isa-l/crc.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static struct term term;
	char name[64];

	if (len_bytes < 2)
		return 0;
	if (!term.out) {
		term.out = fopen("/dev/null", "w");
		WEFT_ASSERT(term.out);
	}
	static uint8_t scratch[WEFT_DECODE_FRAME_MAX];
	struct weft_decode_config config = { .crc = crc32_gzip_refl,
		.plain = WEFT_ENCAP_USID,
		.dscp = WEFT_DSCP_DEFAULT,
		.scratch = scratch };
	struct weft_capture_frame frame = {
		.bytes = data + 1, .n = len_bytes - 1, .is_datagram = (data[0] & 3) == 3
	};
	struct weft_decoded d;

	config.plain += data[0] % 3;
	frame.is_ip = !frame.is_datagram;
	frame.wire_bytes = frame.n + (data[0] & 0x20 ? 100 : 0);
	weft_decode_frame(&config, &frame, &d);
	WEFT_ASSERT(d.what == WEFT_DECODED_PACKET || d.fault.bit <= 8 * frame.wire_bytes);
	for (size_t bit = 0; bit < WEFT_MIN(8 * frame.n + 16, 2000); bit++)
		weft_decode_field(&frame, &d, bit, name);
	decode_human(&term, &frame, &d, 1, true);
	json_t *object = decode_json(&frame, &d, 1);
	char *text = json_dumps(object, 0);

	WEFT_ASSERT(text); /* valid UTF-8 throughout */
	free(text);
	json_decref(object);
	return 0;
}
