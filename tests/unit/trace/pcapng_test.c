/* SPDX-License-Identifier: BSD-2-Clause */
/* What is written is read back by libpcap, and, where it is installed, described by capinfos. */
#include "check.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <unistd.h>
#include <weft/trace.h>

#define AT_NS UINT64_C(1767225600123456789) /* 2026-01-01, with nanoseconds */

static uint8_t bytes[1 << 20];
static size_t len;

static int keep(void *user, const void *more, size_t more_bytes)
{
	(void)user;
	WEFT_ASSERT(len + more_bytes <= sizeof(bytes));
	memcpy(bytes + len, more, more_bytes);
	len += more_bytes;
	return 0;
}

static struct weft_sink open_bytes(void)
{
	len = 0;
	return (struct weft_sink){ .write = keep };
}

/* An IPv6 header with nothing behind it (next header 59), and a payload of n bytes. */
static uint8_t packet[40 + 2048] = {
	0x60, [6] = 59, [7] = 64, [8] = 0xfd, [23] = 1, [24] = 0xfd, [39] = 2
};

static void write_packet(struct weft_pcapng *p, uint32_t port, uint64_t at_ns, size_t payload,
	enum weft_direction direction, const char *comment)
{
	packet[4] = (uint8_t)(payload >> 8);
	packet[5] = (uint8_t)payload;
	const struct weft_piece pieces[] = { { packet, 40 }, { packet + 40, payload } };

	CHECK_EQ(weft_pcapng_packet(p, &(struct weft_capture){ .at_ns = at_ns,
					       .port = port,
					       .direction = direction,
					       .pieces = pieces,
					       .n_pieces = 2,
					       .comment = comment }),
		0);
}

static uint32_t get32(size_t at)
{
	return bytes[at] | bytes[at + 1] << 8 | bytes[at + 2] << 16 | (uint32_t)bytes[at + 3] << 24;
}

/* Every block names its length at both ends, in multiples of four.  Returns how many there are. */
static unsigned walk_blocks(void)
{
	unsigned n = 0;

	for (size_t at = 0; at < len; n++) {
		uint32_t block = get32(at + 4);

		REQUIRE(block >= 12 && block % 4 == 0 && at + block <= len);
		CHECK_EQ(get32(at + block - 4), block);
		at += block;
	}
	return n;
}

static char path[] = "/tmp/weft_pcapng_XXXXXX";

static void save(void)
{
	snprintf(path, sizeof(path), "/tmp/weft_pcapng_XXXXXX");
	int fd = mkstemp(path);

	REQUIRE(fd >= 0);
	REQUIRE(write(fd, bytes, len) == (ssize_t)len);
	close(fd);
}

TEST(weft_pcapng_packet__is_read_back_by_libpcap)
{
	char error[PCAP_ERRBUF_SIZE];
	struct weft_sink sink = open_bytes();
	struct weft_pcapng p;
	struct pcap_pkthdr *header;
	const u_char *data;

	for (size_t i = 40; i < sizeof(packet); i++)
		packet[i] = (uint8_t)i;
	CHECK_EQ(weft_pcapng_open(&p, &sink, "weft test", "why"), 0);
	CHECK_EQ(weft_pcapng_port(&p, "plane0", UINT64_C(100000000000)), 0);
	CHECK_EQ(weft_pcapng_port(&p, "plane1", 0), 0);
	/* All residues of 4, so that padding is right for each. */
	for (size_t payload = 0; payload < 9; payload++)
		write_packet(&p, payload & 1, AT_NS + payload, payload, WEFT_DIRECTION_OUT,
			payload & 1 ? "odd" : NULL);
	write_packet(&p, 1, AT_NS + 1000000000, 2048, WEFT_DIRECTION_IN, "");
	CHECK_EQ(walk_blocks(), 1 + 2 + 10);
	save();

	pcap_t *in =
		pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, error);

	unlink(path);
	if (!in)
		CHECK_FAIL("%s", error);
	REQUIRE(in);
	CHECK_EQ(pcap_datalink(in), DLT_IPV6);
	for (size_t i = 0; i < 10; i++) {
		size_t payload = i < 9 ? i : 2048;
		uint64_t at_ns = i < 9 ? AT_NS + i : AT_NS + 1000000000;

		int got = pcap_next_ex(in, &header, &data);

		if (got != 1)
			CHECK_FAIL("packet %zu: %s", i, pcap_geterr(in));
		REQUIRE(got == 1);
		CHECK_EQ(header->caplen, 40 + payload);
		CHECK_EQ(header->len, 40 + payload);
		CHECK_EQ(header->ts.tv_sec * UINT64_C(1000000000) + header->ts.tv_usec, at_ns);
		CHECK_EQ(data[5], payload & 255);
		CHECK_MEM(data + 40, packet + 40, payload);
	}
	CHECK_EQ(pcap_next_ex(in, &header, &data), PCAP_ERROR_BREAK);
	pcap_close(in);
}

TEST(weft_pcapng_packet__cuts_at_the_snap_length)
{
	char error[PCAP_ERRBUF_SIZE];
	struct weft_sink sink = open_bytes();
	struct weft_pcapng p;
	struct pcap_pkthdr *header;
	const u_char *data;

	weft_pcapng_open(&p, &sink, NULL, NULL);
	p.snap_bytes = 45;
	weft_pcapng_port(&p, "", 0);
	write_packet(&p, 0, AT_NS, 1000, WEFT_DIRECTION_UNKNOWN, NULL);
	CHECK_EQ(walk_blocks(), 3);
	save();
	pcap_t *in = pcap_open_offline(path, error);

	unlink(path);
	REQUIRE(in);
	CHECK_EQ(pcap_snapshot(in), 45);
	REQUIRE(pcap_next_ex(in, &header, &data) == 1);
	CHECK_EQ(header->caplen, 45);
	CHECK_EQ(header->len, 1040);
	pcap_close(in);
}

/* libpcap passes over options, so these bytes are compared with the draft's drawings. */
TEST(weft_pcapng_packet__writes_flags_and_comment)
{
	static const uint8_t want[] = { 2, 0, 4, 0, 2, 0, 0, 0, /* flags: outbound */
		1, 0, 5, 0, 'l', 'o', 's', 't', '!', 0, 0, 0,   /* comment, padded */
		0, 0, 0, 0 };                                   /* the end */
	struct weft_sink sink = open_bytes();
	struct weft_pcapng p;

	weft_pcapng_open(&p, &sink, NULL, NULL);
	weft_pcapng_port(&p, "x", 0);
	size_t start = len;

	write_packet(&p, 0, AT_NS, 2, WEFT_DIRECTION_OUT, "lost!");
	CHECK_EQ(get32(start), 6);
	CHECK_EQ(get32(start + 12), AT_NS >> 32);
	CHECK_EQ(get32(start + 16), AT_NS & UINT32_MAX);
	CHECK_MEM(bytes + start + 28 + 44, want, sizeof(want));
	CHECK_EQ(len - start, 28 + 44 + sizeof(want) + 4);
}

TEST(weft_pcapng_packet__shortens_a_comment_between_characters)
{
	static char comment[70001];
	struct weft_sink sink = open_bytes();
	struct weft_pcapng p;

	for (size_t i = 0; i + 1 < sizeof(comment); i++)
		comment[i] = i % 2 ? '\xb5' : '\xc2'; /* micro signs */
	memmove(comment + 1, comment, sizeof(comment) - 2);
	comment[0] = 'x';
	weft_pcapng_open(&p, &sink, NULL, NULL);
	weft_pcapng_port(&p, "x", 0);
	size_t start = len;

	write_packet(&p, 0, AT_NS, 0, WEFT_DIRECTION_OUT, comment);
	CHECK_EQ(get32(start + 28 + 40 + 8), 1 | 65531u << 16);
	CHECK_EQ(walk_blocks(), 3);
}

TEST(weft_pcapng_packet__wants_a_known_port)
{
	struct weft_sink sink = open_bytes();
	struct weft_pcapng p;

	weft_pcapng_open(&p, &sink, NULL, NULL);
	CHECK_PANICS(weft_pcapng_packet(&p, &(struct weft_capture){ .port = 0 }));
}

TEST(weft_pcapng_open__is_what_capinfos_calls_a_capture)
{
	struct weft_sink sink = open_bytes();
	struct weft_pcapng p;
	char command[128], line[256];
	bool program = false, comment = false, ports = false, packets = false;

	/* Not SKIP: libpcap has had its say above, and its verdict must count. */
	if (system("command -v capinfos >/dev/null 2>&1")) {
		fputs("no capinfos here (package wireshark-common): not asked\n", stderr);
		return;
	}
	weft_pcapng_open(&p, &sink, "weft test", "one plane down");
	weft_pcapng_port(&p, "plane0", UINT64_C(100000000000));
	weft_pcapng_port(&p, "plane1", 0);
	write_packet(&p, 1, AT_NS, 100, WEFT_DIRECTION_IN, "late");
	save();
	snprintf(command, sizeof(command), "capinfos %s 2>&1", path);
	FILE *out = popen(command, "r");

	while (out && fgets(line, sizeof(line), out)) {
		program |= !!strstr(line, "weft test");
		comment |= !!strstr(line, "one plane down");
		ports |= !!strstr(line, "Name = plane1");
		packets |= strstr(line, "Number of packets:") && strstr(line, "1");
	}
	CHECK_EQ(pclose(out), 0);
	unlink(path);
	CHECK(program && comment && ports && packets);
}
