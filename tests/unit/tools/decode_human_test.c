/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "decode_tell.h"

#include <isa-l/crc.h>

static const struct weft_decode_config config = { .crc = crc32_gzip_refl,
	.plain = WEFT_ENCAP_USID,
	.dscp = WEFT_DSCP_DEFAULT };
static char text[4096];

static const char *tell(const uint8_t *bytes, size_t n, bool fields)
{
	struct weft_capture_frame frame = {
		.bytes = bytes, .n = n, .wire_bytes = n, .is_datagram = true
	};
	struct term term = { .out = fmemopen(text, sizeof(text), "w") };
	struct weft_decoded d;

	REQUIRE(term.out);
	weft_decode_frame(&config, &frame, &d);
	decode_human(&term, &frame, &d, 12, fields);
	fclose(term.out);
	return text;
}

TEST(decode_human__tells_a_packet_in_a_line)
{
	static const uint8_t ack[20] = { 0xd1, 0, 0xff, 0xff, 0, 0, 0, 7, 0x80, 0, 0, 9, 0x1f, 0, 0,
		2 };

	CHECK_STR(tell(ack, sizeof(ack), false),
		"    12  ack            A-  qp 0x000007  psn        9  ack, messages to 2"
		"  (ICRC unknown)\n");
}

TEST(decode_human__points_at_the_wrong_byte)
{
	static const uint8_t bad[20] = { 0xd1, 0x02, 0xff, 0xff };
	static const char *const lines[] = { "drop: bad_tver (transport version is not 0)\n",
		"byte 1, bit 3: BTH.tver\n", "0000  d1 02 ff", "\n                 ^^\n" };

	tell(bad, sizeof(bad), false);
	for (size_t i = 0; i < WEFT_COUNT(lines); i++)
		if (!strstr(text, lines[i]))
			CHECK_FAIL("no \"%s\" in\n%s", lines[i], text);
	/* Behind the last byte there is nothing to show, only where it is. */
	tell(bad, 4, false);
	CHECK(strstr(text, "drop: truncated"));
	CHECK(strstr(text, "                       ^^ the end\n"));
}

/* All rows or a sign that some are left out: `weft decode` reads what it has written. */
TEST(decode_human__shows_the_whole_frame_with_all_fields)
{
	static const uint8_t bad[40] = { 0xd1, 0x02, 0xff, 0xff, [39] = 7 };

	tell(bad, sizeof(bad), false);
	CHECK(strstr(text, "0000  d1 02 ff"));
	CHECK(strstr(text, "^^\n        ...\n"));
	CHECK(!strstr(text, "0010  "));
	tell(bad, sizeof(bad), true);
	CHECK(!strstr(text, "..."));
	CHECK(strstr(text, "        0010  00 00"));
	CHECK(strstr(text, "        0020  00 00 00 00 00 00 00 07\n"));
}

TEST(decode_human__lists_fields_with_offsets)
{
	static const uint8_t probe[32] = { 0xde, 0, 0xff, 0xff, 0, 0, 0, 7, 0, 0, 0, 9, [16] = 0xbe,
		0xad, [27] = 1 };

	tell(probe, sizeof(probe), true);
	CHECK(strstr(text, "\n          16  PETH      probe_id          0xbead  48813\n"));
	CHECK(strstr(text, "\n          27  PETH      ftype             1\n"));
}
