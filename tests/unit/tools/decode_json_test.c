/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys and values of every kind of packet are compared by the test vectors/weft. */
#include "check.h"
#include "decode_tell.h"

#include <isa-l/crc.h>

static const struct weft_decode_config config = { .crc = crc32_gzip_refl,
	.plain = WEFT_ENCAP_USID,
	.dscp = WEFT_DSCP_DEFAULT };

static char *tell(const uint8_t *bytes, size_t n, uint64_t time_ns)
{
	struct weft_capture_frame frame = {
		.bytes = bytes, .n = n, .wire_bytes = n, .is_datagram = true, .time_ns = time_ns
	};
	struct weft_decoded d;

	weft_decode_frame(&config, &frame, &d);
	json_t *object = decode_json(&frame, &d, 3);
	char *text = json_dumps(object, JSON_COMPACT);

	json_decref(object);
	return text;
}

TEST(decode_json__keeps_its_keys_in_order)
{
	static const uint8_t ack[20] = { 0xd1, 0, 0xff, 0xff, 0, 0, 0, 7, 0x80, 0, 0, 9, 0x1f, 0, 0,
		2 };
	char *text = tell(ack, sizeof(ack), 5);

	CHECK_STR(text, "{\"n\":3,\"time_ns\":5,\"op\":\"ack\",\"flags\":[\"a\"],\"dqpn\":7,"
			"\"psn\":9,\"syndrome\":\"ack\",\"msn\":2,\"icrc\":\"unknown\"}");
	free(text);
}

TEST(decode_json__tells_a_drop_and_where)
{
	static const uint8_t bad[20] = { 0xd1, 0x02, 0xff, 0xff };
	char *text = tell(bad, sizeof(bad), 0);

	CHECK_STR(text, "{\"n\":3,\"drop\":\"bad_tver\",\"text\":\"transport version is not 0\","
			"\"offset\":1,\"bit\":12,\"field\":\"BTH.tver\"}");
	free(text);
}
