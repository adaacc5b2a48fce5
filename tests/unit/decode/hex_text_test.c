/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "hex_text.h"

#include <string.h>

static char error[256];
static const uint8_t *bytes;
static size_t n;

static struct hex_text *read_text(const char *text)
{
	static FILE *file; /* of the text before, too */

	if (file)
		fclose(file);
	file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	REQUIRE(file);
	return hex_text_open(file, "t");
}

/* 40 bytes: 0x60, 1, 2 ... */
static uint8_t want(size_t i)
{
	return i ? (uint8_t)i : 0x60;
}

static void check_packet(struct hex_text *t, size_t length)
{
	n = 0;
	CHECK_EQ(hex_text_next(t, &bytes, &n, error, sizeof(error)), 1);
	CHECK_EQ(n, length);
	for (size_t i = 0; i < n && n == length; i++)
		if (bytes[i] != want(i))
			CHECK_FAIL("byte %zu is %02x", i, bytes[i]);
}

#define ROW0 "60 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f"
#define ROW0_WIDE "60 01 02 03 04 05 06 07  08 09 0a 0b 0c 0d 0e 0f"
#define ROW1 "10 11 12 13 14 15 16 17"
#define GAP "                        "

TEST(hex_text_next__knows_the_dumps_that_people_have)
{
	static const struct {
		const char *who, *text;
	} rows[] = {
		{ "xxd", "00000000: 6001 0203 0405 0607 0809 0a0b 0c0d 0e0f  `....... ........\n"
			 "00000010: 1011 1213 1415 1617" GAP "........\n" },
		{ "xxd -g1 -c8", "00000000: 60 01 02 03 04 05 06 07  ab cd ef\n"
				 "00000008: 08 09 0a 0b 0c 0d 0e 0f  01 02 03\n"
				 "00000010: " ROW1 "  01 02 03\n" },
		{ "tcpdump -x", "12:00:00.000001 IP6 fd00::1.49153 > fd00::2.4791: UDP, length 84\n"
				"\t0x0000:  6001 0203 0405 0607 0809 0a0b 0c0d 0e0f\n"
				"\t0x0010:  1011 1213 1415 1617\n" },
		{ "tcpdump -X",
			"12:00:00.000001 IP6 fd00::1.49153 > fd00::2.4791: UDP, length 84\n"
			"\t0x0000:  6001 0203 0405 0607 0809 0a0b 0c0d 0e0f  `.face...be.ef..\n"
			"\t0x0010:  1011 1213 1415 1617                      ab cd #...\n" },
		{ "Wireshark",
			"0000   " ROW0 "   `...............\n0010   " ROW1 GAP "   ........\n" },
		{ "Wireshark, two groups", "0000  " ROW0_WIDE "   `....... ........\n"
					   "0010  " ROW1 GAP "   ab cd ef\n" },
		{ "Wireshark, hex only", "0000   " ROW0 "\n0010   " ROW1 "\n" },
		{ "Wireshark, export",
			"Frame 1: 24 bytes on wire\n\n0000   " ROW0 "\n0010   " ROW1 "\n" },
		{ "hexdump -C", "00000000  " ROW0_WIDE "  |`...............|\n"
				"00000010  " ROW1 GAP "   |........|\n00000018\n" },
		{ "hexdump", "0000000 0160 0302 0504 0706 0908 0b0a 0d0c 0f0e\n"
			     "0000010 1110 1312 1514 1716\n0000018\n" },
		{ "od -x", "0000000 0160 0302 0504 0706 0908 0b0a 0d0c 0f0e\n"
			   "0000020 1110 1312 1514 1716\n0000030\n" },
		{ "od -t x1", "0000000 " ROW0 "\n0000020 " ROW1 "\n0000030\n" },
		{ "od -t x1z", "0000000 " ROW0 "  >`...............<\n0000020 " ROW1 GAP
			       "  >........<\n0000030\n" },
		{ "od -A x -t x1", "000000 " ROW0 "\n000010 " ROW1 "\n000018\n" },
		{ "od -A d -t x1", "0000000 " ROW0 "\n0000016 " ROW1 "\n0000024\n" },
		{ "od -A n -t x1", " " ROW0 "\n " ROW1 "\n" },
		{ "ours", "     1  fd00::1 > fd00::2  drop: bad_field (a header field)\n"
			  "        byte 17, bit 6: SETH.m\n        0000  " ROW0
			  "\n        0010  " ROW1
			  "\n                 ^^\n          16  SETH      m  1\n" },
		{ "a mail", "\xef\xbb\xbf# one\n" ROW0 "   # comment\r\n\t101112131415 1617\r\n" },
		{ "colons", "60:01:02:03:04:05:06:07:08:09:0a:0b:0c:0d:0e:0f:\n10:11:12:13:14:15:"
			    "16:17\n" },
		{ "a C array", "/* Frame (24 bytes) */\nstatic const unsigned char pkt1[24] = {\n"
			       "0x60, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, /* `..#.... */\n"
			       "0X08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, /* ........ */\n"
			       "0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17 };\n" },
		{ "a C string", "\"\\x60\\x01\\x02\\x03\\x04\\x05\\x06\\x07\" \\\n"
				"\"\\x08\\x09\\x0a\\x0b\\x0c\\x0d\\x0e\\x0f\"\n"
				"  \"\\x10\\x11\\x12\\x13\\x14\\x15\\x16\\x17\";\n" },
		{ "a vector", "= op write_only\n! plain usid\n" ROW0 "\n" ROW1 "\n" },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct hex_text *t = read_text(rows[i].text);
		unsigned before = check_failures;

		error[0] = 0;
		check_packet(t, 24);
		CHECK_EQ(hex_text_next(t, &bytes, &n, error, sizeof(error)), 0);
		if (check_failures != before)
			fprintf(stderr, "%s: %s\n", rows[i].who, error);
		hex_text_close(t);
	}
}

TEST(hex_text_next__begins_a_packet_where_offsets_begin_anew)
{
	static const char *const texts[] = {
		"0000  " ROW0 "\n0010  " ROW1 "\n0000  " ROW0 "\n\n\n0000  60 01\n",
		"IP6 a > b\n\t0x0000:  6001 0203 0405 0607 0809 0a0b 0c0d 0e0f\n\t0x0010:  1011 "
		"1213 "
		"1415 1617\nIP6 a > b\n\t0x0000:  6001 0203 0405 0607 0809 0a0b 0c0d 0e0f\nIP6 c > "
		"d\n\t0x0000:  6001\n",
		"00000000  " ROW0_WIDE "  |`...............|\n00000010  " ROW1
		"                           |........|\n00000018\n00000000  " ROW0_WIDE
		"  |`...............|\n00000010\n00000000  60 01    |`.|\n00000002\n",
		"60 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f " ROW1 "\n\n" ROW0 "\n \n60 01",
		"char a[] = {\n" ROW0 "\n" ROW1 "\n};\nchar b[] = {\n" ROW0 "};\n{\n60, 01\n}\n",
	};

	for (size_t i = 0; i < WEFT_COUNT(texts); i++) {
		struct hex_text *t = read_text(texts[i]);

		check_packet(t, 24);
		check_packet(t, 16);
		check_packet(t, 2);
		CHECK_EQ(hex_text_next(t, &bytes, &n, error, sizeof(error)), 0);
		hex_text_close(t);
	}
}

TEST(hex_text_next__takes_the_last_byte_of_words_for_padding)
{
	struct hex_text *t = read_text("0000000 0160 0302 0004\n0000005\n");

	check_packet(t, 5);
	hex_text_close(t);
}

/* What looks like an offset and is none. */
TEST(hex_text_next__takes_bytes_for_bytes)
{
	static const char *const texts[] = { "6001 0203 0405 0607", "60010203 0405 0607",
		"60010203 04050607", "6001020304050607", "60 01 02 03 04050607" };

	for (size_t i = 0; i < WEFT_COUNT(texts); i++) {
		struct hex_text *t = read_text(texts[i]);

		check_packet(t, 8);
		hex_text_close(t);
	}
	struct hex_text *t = read_text("0000 0000 0000 0000 0000 0000 86dd\n");

	REQUIRE(hex_text_next(t, &bytes, &n, error, sizeof(error)) == 1);
	CHECK_EQ(n, 14);
	hex_text_close(t);
	t = read_text("000000000000\n");
	REQUIRE(hex_text_next(t, &bytes, &n, error, sizeof(error)) == 1);
	CHECK_EQ(n, 6);
	hex_text_close(t);
}

TEST(hex_text_next__says_what_cannot_be_right)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "60 00\n60 0g\n", "t:2: column 5: 'g' where two hex digits should be" },
		{ "60 0\n", "t:1: column 4: '0' where two hex digits should be" },
		{ "hello\n", "t:1: column 1: 'h' where two hex digits should be" },
		{ "hello\n60 00\n", "t:1: column 1: 'h' where two hex digits should be" },
		{ "60 \x1b[31m\n", "t:1: column 4: byte 0x1b where two hex digits should be" },
		{ "0000  " ROW0 "\n0020  " ROW1 "\n",
			"t:2: offset 0x20 where 0x10 should be: lines are missing" },
		{ "        0010  " ROW1 "\n",
			"t:1: offset 0x10 where 0x0 should be: lines are missing" },
		{ "0000000 " ROW0 "\n*\n0000060\n",
			"t:2: column 1: lines are left out here: ask for "
			"all (od -v, hexdump -v, weft decode --fields)" },
		{ "  1  x > y  drop: bad_m\n        byte 61, bit 6: m\n        ...\n        0030 "
		  " " ROW0 "\n",
			"t:3: column 9: lines are left out here: ask for all (od -v, hexdump "
			"-v, weft decode --fields)" },
		{ "00000000  60 01\n00000009\n",
			"t:2: offset 0x9 where 0x2 should be: lines are missing" },
		{ "0000000 000140 000402\n", "t:1: column 9: octal words: od -t x1 prints bytes" },
		{ "0000  " ROW0 "\n10 11\n",
			"t:2: a line without an offset among lines that have one" },
		{ "0000  60 0x 01\n", "t:1: column 11: 'x' where two hex digits should be" },
		{ "0x60, 0x1\n", "t:1: column 9: '1' where two hex digits should be" },
		{ ":60:01\n", "t:1: column 1: ':' where two hex digits should be" },
		{ "60:1:02\n", "t:1: column 5: ':' where two hex digits should be" },
		{ "60, nothing\n", "t:1: column 5: 'n' where two hex digits should be" },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct hex_text *t = read_text(rows[i].text);
		int rc;

		while ((rc = hex_text_next(t, &bytes, &n, error, sizeof(error))) > 0)
			;
		CHECK_EQ(rc, -1);
		CHECK_STR(error, rows[i].why);
		hex_text_close(t);
	}
}

TEST(hex_text_next__is_bounded)
{
	size_t length = 2 * (HEX_TEXT_BYTES_MAX + 1);
	char *text = calloc(1, length + 1);

	REQUIRE(text);
	memset(text, '0', length);
	struct hex_text *t = read_text(text);

	CHECK_EQ(hex_text_next(t, &bytes, &n, error, sizeof(error)), -1);
	CHECK(strstr(error, "a packet of more than 65536 bytes"));
	hex_text_close(t);
	text[length - 2] = 0;
	t = read_text(text);
	CHECK_EQ(hex_text_next(t, &bytes, &n, error, sizeof(error)), 1);
	CHECK_EQ(n, HEX_TEXT_BYTES_MAX);
	hex_text_close(t);
	free(text);
}
