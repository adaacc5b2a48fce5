/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "pcap_file.h"

#include <string.h>

static char error[256];
static uint8_t image[600000];
static size_t at;
static bool big;
static struct pcap_frame frame;

/* ---- to write with ---- */

static void put(uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		image[at++] = (uint8_t)(value >> 8 * (big ? bytes - 1 - i : i));
}

static void fill(unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		image[at++] = (uint8_t)(0x60 + i);
}

static void pcap_head(uint32_t magic, uint32_t link)
{
	at = 0;
	put(magic, 4);
	put(2, 2);
	put(4, 2);
	put(0, 8);
	put(65535, 4);
	put(link, 4);
}

/* Begins and ends a block of pcapng. */
static size_t block(uint32_t type)
{
	put(type, 4);
	put(0, 4);
	return at - 8;
}

static void end(size_t from)
{
	while (at % 4)
		put(0, 1);
	size_t bytes = at + 4 - from, here = at;

	at = from + 4;
	put(bytes, 4);
	at = here;
	put(bytes, 4);
}

static void section(void)
{
	size_t from = block(0x0a0d0d0a);

	put(0x1a2b3c4d, 4);
	put(1, 2);
	put(0, 2);
	put(UINT64_MAX, 8);
	end(from);
}

/* resolution -1, offset 0: without the option. */
static void interface(unsigned link, uint32_t snap, int resolution, uint64_t offset)
{
	size_t from = block(1);

	put(link, 2);
	put(0, 2);
	put(snap, 4);
	if (resolution >= 0) {
		put(9, 2);
		put(1, 2);
		put((uint8_t)resolution, 1);
		put(0, 3);
	}
	if (offset) {
		put(14, 2);
		put(8, 2);
		put(offset, 8);
	}
	put(0, 4);
	end(from);
}

static void packet(unsigned which, uint64_t ticks, unsigned bytes)
{
	size_t from = block(6);

	put(which, 4);
	put(ticks >> 32, 4);
	put(ticks & UINT32_MAX, 4);
	put(bytes, 4);
	put(bytes + 10, 4);
	fill(bytes);
	end(from);
}

/* ---- and read ---- */

static struct pcap_file *read_image(void)
{
	static FILE *file;

	if (file)
		fclose(file);
	file = fmemopen(image, at, "r");
	REQUIRE(file);
	error[0] = 0;
	CHECK(pcap_file_begins(file));
	return pcap_file_open(file, "c", error, sizeof(error));
}

static void check_next(struct pcap_file *p, size_t bytes, size_t wire, uint64_t ns, unsigned link)
{
	REQUIRE(pcap_file_next(p, &frame, error, sizeof(error)) == 1);
	CHECK_EQ(frame.n, bytes);
	CHECK_EQ(frame.wire_bytes, wire);
	CHECK_EQ(frame.time_ns, ns);
	CHECK_EQ(frame.link, link);
	for (size_t i = 0; i < bytes; i++)
		CHECK_EQ(frame.bytes[i], (uint8_t)(0x60 + i));
}

static void check_end(struct pcap_file *p)
{
	CHECK_EQ(pcap_file_next(p, &frame, error, sizeof(error)), 0);
	CHECK_STR(error, "");
	pcap_file_close(p);
}

static void check_fails(struct pcap_file *p, const char *why)
{
	int rc;

	while ((rc = pcap_file_next(p, &frame, error, sizeof(error))) > 0)
		;
	CHECK_EQ(rc, -1);
	CHECK(!strncmp(error, "c: byte ", 8));
	if (!strstr(error, why))
		CHECK_FAIL("\"%s\" does not say \"%s\"", error, why);
	pcap_file_close(p);
}

TEST(pcap_file_next__reads_each_kind_of_pcap)
{
	static const uint32_t magics[] = { 0xa1b2c3d4, 0xa1b23c4d, 0xa1b2cd34 };

	for (unsigned turn = 0; turn < 6; turn++) {
		uint32_t magic = magics[turn / 2];

		big = turn % 2;
		pcap_head(magic, 0xf0000001); /* with a length of frame check sequences */
		for (unsigned i = 0; i < 2; i++) {
			put(1700000000, 4);
			put(i, 4);
			put(5 * i, 4);
			put(77, 4);
			if (magic == 0xa1b2cd34)
				put(0x1122334455667788, 8);
			fill(5 * i);
		}
		struct pcap_file *p = read_image();

		REQUIRE(p);
		CHECK_EQ(pcap_file_link(p), 1);
		check_next(p, 0, 77, UINT64_C(1700000000000000000), 1);
		check_next(p, 5, 77,
			UINT64_C(1700000000000000000) + (magic == 0xa1b23c4d ? 1 : 1000), 1);
		check_end(p);
	}
	big = false;
}

TEST(pcap_file_next__reads_interfaces_that_differ)
{
	for (unsigned turn = 0; turn < 2; turn++) {
		big = turn;
		at = 0;
		section();
		interface(1, 262144, -1, 0);
		interface(113, 65535, 9, 0);
		packet(0, 3, 5);
		packet(1, 4, 6);
		interface(101, 0, 0x8a, 100); /* 2^-10 s, 100 s later */
		size_t name = block(4);

		put(0, 4);
		end(name);
		packet(2, 1024 + 512, 7);
		struct pcap_file *p = read_image();

		REQUIRE(p);
		CHECK_EQ(pcap_file_link(p), -1);
		check_next(p, 5, 15, 3000, 1);
		check_next(p, 6, 16, 4, 113);
		check_next(p, 7, 17, UINT64_C(101500000000), 101);
		check_end(p);
	}
	/* A section has its own interfaces, and its own byte order. */
	big = false;
	at = 0;
	section();
	interface(1, 0, -1, 0);
	packet(0, 1, 5);
	big = true;
	section();
	interface(101, 3, -1, 0);
	packet(0, 2, 6);
	size_t simple = block(3);

	put(9, 4);
	fill(4);
	end(simple);
	struct pcap_file *p = read_image();

	check_next(p, 5, 15, 1000, 1);
	check_next(p, 6, 16, 2000, 101);
	check_next(p, 3, 9, 0, 101); /* cut by the interface's limit */
	check_end(p);
	big = false;
}

TEST(pcap_file_next__knows_times_of_any_resolution)
{
	static const struct {
		int resolution;
		uint64_t ticks, ns;
	} rows[] = {
		{ 0, 5, UINT64_C(5000000000) },
		{ 3, 5, 5000000 },
		{ 6, 1700000000123456, UINT64_C(1700000000123456000) },
		{ 9, UINT64_C(1700000000123456789), UINT64_C(1700000000123456789) },
		{ 12, 1234567, 1234 },
		{ 19, UINT64_MAX, 1844674407 },
		{ 25, 7, 0 },
		{ 0x80, 5, UINT64_C(5000000000) },
		{ 0xa0, (UINT64_C(3) << 32) + (1u << 31), UINT64_C(3500000000) },
		{ 0xbf, UINT64_MAX, UINT64_C(1999999999) },
		{ 0xff, UINT64_MAX, 0 },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		at = 0;
		section();
		interface(1, 0, rows[i].resolution, 0);
		packet(0, rows[i].ticks, 1);
		struct pcap_file *p = read_image();

		check_next(p, 1, 11, rows[i].ns, 1);
		check_end(p);
	}
}

TEST(pcap_file_next__refuses_what_contradicts_itself)
{
	pcap_head(0xa1b2c3d4, 1);
	size_t head = at;

	put(0, 8);
	put(262145, 4);
	put(262145, 4);
	check_fails(read_image(), "a frame of 262145 bytes");
	at = head + 15;
	check_fails(read_image(), "the file ends in the middle of a record");
	at = head;
	put(0, 8);
	put(10, 4);
	put(10, 4);
	check_fails(read_image(), "the file ends in the middle of a record");
	at = 20;
	CHECK(!read_image());
	pcap_head(0xa1b2c3d4, 1);
	image[4] = 3;
	CHECK(!read_image());
	CHECK(strstr(error, "version 3 of pcap"));

	at = 0;
	section();
	packet(0, 1, 1);
	check_fails(read_image(), "a packet of interface 0, of which the file says nothing");
	at = 0;
	section();
	interface(1, 0, -1, 0);
	head = at;
	packet(0, 1, 4);
	image[head + 20] = 5; /* captured bytes */
	check_fails(read_image(), "a frame of 5 bytes in a block with room for 4");
	image[head + 20] = 4;
	image[at - 4]++;
	check_fails(read_image(), "bytes in front and");
	image[head + 4] = 37;
	check_fails(read_image(), "a block of 37 bytes");
	image[head + 4] = 8;
	check_fails(read_image(), "a block of 8 bytes");
	image[head + 6] = 0x20;
	check_fails(read_image(), "more than any frame has");
	at = 0;
	section();
	image[8] ^= 1;
	check_fails(read_image(), "byte order of a section");
	at = 0;
	section();
	at -= 2;
	check_fails(read_image(), "the file ends in the middle of a record");
}

TEST(pcap_file_begins__uses_nothing_up)
{
	static const struct {
		const char *bytes;
		bool begins;
	} rows[] = {
		{ "\xd4\xc3\xb2\xa1x", true },
		{ "\x34\xcd\xb2\xa1x", true },
		{ "\x0a\x0d\x0d\x0ax", true },
		{ "\x0a\x0d\x0a", false },
		{ "\x34\xcd\xb2\xa2", false },
		{ "4500 0000", false },
		{ "\x4d\x3c", false },
		{ "Hi", false },
		{ "\n60 00", false },
		{ "", false },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		size_t bytes = strlen(rows[i].bytes);
		FILE *file = tmpfile();

		REQUIRE(file);
		fwrite(rows[i].bytes, 1, bytes, file);
		rewind(file);
		CHECK_EQ(pcap_file_begins(file), rows[i].begins);
		for (size_t k = 0; k < bytes; k++)
			CHECK_EQ(getc(file), (uint8_t)rows[i].bytes[k]);
		CHECK_EQ(getc(file), EOF);
		fclose(file);
	}
}
