/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include <weft/decode.h>

#include <pcap/pcap.h>
#include <unistd.h>

static char path[64];
static char error[WEFT_CAPTURE_ERROR_BYTES];

static const char *write_file(const void *bytes, size_t n)
{
	snprintf(path, sizeof(path), "/tmp/weft-capture-XXXXXX");
	int fd = mkstemp(path);

	REQUIRE(fd >= 0);
	REQUIRE(write(fd, bytes, n) == (ssize_t)n);
	close(fd);
	return path;
}

static struct weft_capture *open_text(const char *text)
{
	struct weft_capture *c = weft_capture_open(write_file(text, strlen(text)), error);

	unlink(path);
	REQUIRE(c);
	return c;
}

TEST(capture_next__reads_hex_as_people_paste_it)
{
	static const char *const texts[] = {
		"60 00 00 00 c0 de",
		"60000000C0DE\n",
		"# a packet\n60 00   # version\n\t00 00 c0\nde\n",
		"\t0x0000:  6000 0000\n\t0x0004:  c0de\n",
		"00000000: 6000 0000 c0de            `.....\n",
		"= op write_only\n! plain usid\n60 00 00 00 c0 de\r\n",
	};
	static const uint8_t want[] = { 0x60, 0, 0, 0, 0xc0, 0xde };
	struct weft_capture_frame frame;

	for (size_t i = 0; i < WEFT_COUNT(texts); i++) {
		struct weft_capture *c = open_text(texts[i]);

		CHECK(weft_capture_is_text(c));
		REQUIRE(weft_capture_next(c, &frame, error) == 1);
		CHECK_EQ(frame.n, sizeof(want));
		CHECK_MEM(frame.bytes, want, sizeof(want));
		CHECK(frame.is_ip && !frame.is_datagram && !frame.time_ns);
		CHECK_EQ(weft_capture_next(c, &frame, error), 0);
		weft_capture_close(c);
	}
}

TEST(capture_next__takes_an_empty_line_for_the_end_of_a_packet)
{
	struct weft_capture *c = open_text("\n\nca 00\n\n\n45 00\n");
	struct weft_capture_frame frame;

	REQUIRE(weft_capture_next(c, &frame, error) == 1);
	CHECK(frame.is_datagram && !frame.is_ip);
	CHECK_EQ(frame.n, 2);
	REQUIRE(weft_capture_next(c, &frame, error) == 1);
	CHECK(frame.is_ip);
	CHECK_EQ(weft_capture_next(c, &frame, error), 0);
	weft_capture_close(c);
}

TEST(capture_next__names_line_and_column_of_what_is_no_hex)
{
	static const struct {
		const char *text, *where;
	} rows[] = {
		{ "60 00\n60 0g\n", ":2: column 5: 'g'" },
		{ "60 0\n", ":1: column 4: '0'" }, /* half a byte */
		{ "hello\n", ":1: column 1: 'h'" },
	};
	struct weft_capture_frame frame;

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_capture *c = open_text(rows[i].text);

		CHECK_EQ(weft_capture_next(c, &frame, error), -1);
		if (!strstr(error, rows[i].where))
			CHECK_FAIL("row %zu: %s", i, error);
		weft_capture_close(c);
	}
}

static void check_link(int link, const char *head, size_t head_bytes, bool is_ip, size_t ip_at)
{
	uint8_t bytes[64] = { 0 };
	struct pcap_pkthdr header = { .ts = { 1700000000, 123456789 }, .caplen = 60, .len = 99 };
	pcap_t *dead =
		pcap_open_dead_with_tstamp_precision(link, 262144, PCAP_TSTAMP_PRECISION_NANO);
	struct weft_capture_frame frame;

	memcpy(bytes, head, head_bytes);
	write_file("", 0);
	pcap_dumper_t *dumper = pcap_dump_open(dead, path);

	REQUIRE(dumper);
	pcap_dump((uint8_t *)dumper, &header, bytes);
	pcap_dump_close(dumper);
	pcap_close(dead);
	struct weft_capture *c = weft_capture_open(path, error);

	unlink(path);
	REQUIRE(c);
	CHECK(!weft_capture_is_text(c));
	REQUIRE(weft_capture_next(c, &frame, error) == 1);
	CHECK_EQ(frame.is_ip, is_ip);
	if (is_ip)
		CHECK_EQ(frame.ip_at, ip_at);
	CHECK_EQ(frame.n, 60);
	CHECK_EQ(frame.wire_bytes, 99);
	CHECK_EQ(frame.time_ns, UINT64_C(1700000000123456789));
	CHECK_EQ(weft_capture_next(c, &frame, error), 0);
	weft_capture_close(c);
}

TEST(capture_next__finds_ip_behind_every_link_layer)
{
	check_link(DLT_EN10MB, "aaaaaabbbbbb\x86\xdd", 14, true, 14);
	check_link(DLT_EN10MB, "aaaaaabbbbbb\x81\x00\x00\x01\x08\x00", 18, true, 18);
	check_link(DLT_EN10MB, "aaaaaabbbbbb\x08\x06", 14, false, 0); /* ARP */
	check_link(
		DLT_EN10MB, "aaaaaabbbbbb\x91\x00\x00\x05\x81\x00\x00\x06\x86\xdd", 22, true, 22);
	check_link(DLT_EN10MB,
		"aaaaaabbbbbb\x88\xa8\x00\x05\x91\x00\x00\x05\x81\x00\x00\x06\x86\xdd", 26, true,
		26);
	check_link(DLT_NULL, "\x1e\0\0\0\x60", 5, true, 4);
	check_link(DLT_LINUX_SLL, "..............\x86\xdd", 16, true, 16);
	check_link(DLT_LINUX_SLL, "..............\x91\x00\x00\x05\x86\xdd", 20, true, 20);
	check_link(DLT_LINUX_SLL2, "\x86\xdd", 2, true, 20);
	check_link(DLT_RAW, "\x60", 1, true, 0);
	check_link(DLT_IPV6, "\x60", 1, true, 0);
}

/* A section header, an interface (Ethernet), one packet of four bytes. */
static const uint8_t pcapng[] = { 0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0,
	0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 28, 0, 0, 0, /* SHB */
	1, 0, 0, 0, 20, 0, 0, 0, 101, 0, 0, 0, 0, 0, 4, 0, 20, 0, 0, 0,    /* IDB, raw IP */
	6, 0, 0, 0, 36, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 0x60,
	1, 2, 3, 36, 0, 0, 0 };

TEST(capture_open__knows_pcapng)
{
	struct weft_capture *c = weft_capture_open(write_file(pcapng, sizeof(pcapng)), error);
	struct weft_capture_frame frame;

	unlink(path);
	REQUIRE(c);
	REQUIRE(weft_capture_next(c, &frame, error) == 1);
	CHECK_EQ(frame.n, 4);
	CHECK_EQ(frame.time_ns, 1000);
	CHECK(frame.is_ip);
	weft_capture_close(c);
	/* Cut short: an error of the input, not its end. */
	c = weft_capture_open(write_file(pcapng, sizeof(pcapng) - 6), error);
	unlink(path);
	REQUIRE(c);
	CHECK_EQ(weft_capture_next(c, &frame, error), -1);
	CHECK(strstr(error, path));
	weft_capture_close(c);
}

TEST(capture_next__guesses_tags_in_text)
{
	static const char *const texts[] = {
		"020000000002 020000000001 91000005 86dd 60000000",
		"020000000002 020000000001 88a80005 81000006 86dd 60000000",
		"020000000002 020000000001 81000005 91000005 81000006 0800 45000000",
	};

	for (size_t i = 0; i < WEFT_COUNT(texts); i++) {
		struct weft_capture *c = open_text(texts[i]);
		struct weft_capture_frame frame;

		REQUIRE(weft_capture_next(c, &frame, error) == 1);
		CHECK(frame.is_ip && frame.is_asked);
		CHECK_EQ(frame.ip_at, 18 + 4 * i);
		weft_capture_close(c);
	}
}

/* Ethernet with a limit, raw IP without, and one that nobody knows here. */
TEST(capture_next__takes_each_interface_for_what_it_is)
{
	static const unsigned links[] = { 1, 101, 147 };
	uint8_t image[500];
	size_t at = 28;
	struct weft_capture_frame frame;
	unsigned link;

	memcpy(image, pcapng, at);
	for (size_t i = 0; i < WEFT_COUNT(links); i++, at += 20) {
		memcpy(image + at, pcapng + 28, 20);
		image[at + 8] = (uint8_t)links[i];
		image[at + 13] = (uint8_t)i; /* the snapshot length differs */
	}
	for (size_t i = 0; i < WEFT_COUNT(links); i++, at += 36) {
		memcpy(image + at, pcapng + 48, 36);
		image[at + 8] = (uint8_t)i;
	}
	struct weft_capture *c = weft_capture_open(write_file(image, at), error);

	unlink(path);
	REQUIRE(c);
	REQUIRE(weft_capture_next(c, &frame, error) == 1);
	CHECK(!frame.is_ip); /* four bytes are no Ethernet header */
	REQUIRE(weft_capture_next(c, &frame, error) == 1);
	CHECK(frame.is_ip);
	CHECK_EQ(weft_capture_unknown(c, &link), 0);
	REQUIRE(weft_capture_next(c, &frame, error) == 1);
	CHECK(!frame.is_ip);
	CHECK_EQ(weft_capture_unknown(c, &link), 1);
	CHECK_EQ(link, 147);
	CHECK_EQ(weft_capture_next(c, &frame, error), 0);
	weft_capture_close(c);
}

TEST(capture_open__says_what_it_cannot_read)
{
	static const uint8_t radiotap[24] = { 0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4,
		0, [18] = 1, [20] = 127 };

	CHECK(!weft_capture_open("/nowhere/at/all", error));
	CHECK_STR(error, "/nowhere/at/all: No such file or directory");
	CHECK(!weft_capture_open("/tmp", error));
	CHECK_STR(error, "/tmp: Is a directory");
	CHECK(!weft_capture_open(write_file(radiotap, sizeof(radiotap)), error));
	unlink(path);
	CHECK(strstr(error, "link type 127"));
	CHECK(!weft_capture_open(write_file(radiotap, 10), error));
	unlink(path);
	CHECK(strstr(error, path));
	weft_capture_close(NULL);
}
