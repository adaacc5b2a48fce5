/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * capture - the two ways a packet reaches a person: a capture file, or hex pasted from somewhere.
 *
 * libpcap reads both capture formats, so that no parser of ours has to; the first byte tells them
 * from text, and the input is never rewound, so a pipe from tcpdump works as it runs.  Text is
 * forgiving because it comes from mails and terminals: blanks anywhere, "# comments", the offsets
 * of `tcpdump -x` and `xxd` in front, their ASCII column behind, lines of a vector file that are
 * not bytes ("=", "!").  An empty line ends a packet.  Where a packet begins (Ethernet, IP or BTH)
 * is guessed from its bytes for text, and known for captures.
 */
#include "capture.h"

#include <weft/base.h>

#include <ctype.h>
#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TEXT_FRAME_MAX = 65536,
	ETHERNET_BYTES = 14,
	SLL_BYTES = 16,
	SLL2_BYTES = 20,
	TYPE_IPV4 = 0x0800,
	TYPE_IPV6 = 0x86dd,
	TYPE_VLAN = 0x8100,
	TYPE_QINQ = 0x88a8,
};

struct capture {
	const char *name;
	FILE *file;   /* text only: libpcap owns the other */
	pcap_t *pcap; /* NULL: text */
	int link;
	unsigned line;
	uint8_t bytes[TEXT_FRAME_MAX];
};

static unsigned get_type(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

/* Whether a link layer of `at` bytes, its type in front of its end, is followed by IP. */
static bool find_ip(struct capture_frame *frame, size_t type_at, size_t at)
{
	if (frame->n < at)
		return false;
	unsigned type = get_type(frame->bytes + type_at);

	while ((type == TYPE_VLAN || type == TYPE_QINQ) && frame->n >= at + 4) {
		type = get_type(frame->bytes + at + 2);
		at += 4;
	}
	frame->ip_at = at;
	return type == TYPE_IPV4 || type == TYPE_IPV6;
}

static void find_start(int link, struct capture_frame *frame)
{
	frame->is_datagram = false;
	frame->ip_at = 0;
	switch (link) {
	case DLT_EN10MB:
		frame->is_ip = find_ip(frame, 12, ETHERNET_BYTES);
		break;
	case DLT_LINUX_SLL:
		frame->is_ip = find_ip(frame, 14, SLL_BYTES);
		break;
	case DLT_LINUX_SLL2:
		frame->is_ip = find_ip(frame, 0, SLL2_BYTES);
		break;
	default: /* raw IP */
		frame->is_ip = true;
	}
}

static bool is_known_link(int link)
{
	switch (link) {
	case DLT_EN10MB:
	case DLT_LINUX_SLL:
	case DLT_LINUX_SLL2:
	case DLT_RAW:
	case DLT_IPV4:
	case DLT_IPV6:
		return true;
	default:
		return false;
	}
}

static int next_of_pcap(struct capture *c, struct capture_frame *frame, char *error)
{
	struct pcap_pkthdr *header;
	const uint8_t *bytes;
	int result = pcap_next_ex(c->pcap, &header, &bytes);

	if (result == PCAP_ERROR_BREAK)
		return 0;
	if (result != 1) {
		snprintf(error, CAPTURE_ERROR_BYTES, "%s: %s", c->name, pcap_geterr(c->pcap));
		return -1;
	}
	frame->bytes = bytes;
	frame->n = header->caplen;
	frame->wire_bytes = header->len;
	/* tv_usec holds nanoseconds: asked for at open. */
	frame->time_ns = (uint64_t)header->ts.tv_sec * 1000000000u + (uint64_t)header->ts.tv_usec;
	find_start(c->link, frame);
	return 1;
}

/* ---- hex text ---- */

/* "0x0010:" or "00000010:" in front of a line; returns what follows. */
static char *skip_offset(char *line)
{
	char *at = line + strspn(line, " \t");

	if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		at += 2;
	size_t digits = strspn(at, "0123456789abcdefABCDEF");

	return digits && at[digits] == ':' ? at + digits + 1 : line;
}

/*
 * Cuts the line where bytes end: at a comment, and at the ASCII column, which stands behind at
 * least two blanks (xxd, tcpdump -X).
 */
static void cut_line(char *line, bool had_offset)
{
	line[strcspn(line, "#\r\n")] = 0;
	line += strspn(line, " \t");
	char *gap = had_offset ? strstr(line, "  ") : NULL;

	if (gap)
		*gap = 0;
}

/* Appends the line's bytes at *n; false: a character that is no hex digit, at *bad. */
static bool read_hex(struct capture *c, char *line, size_t *n, char **bad)
{
	static const char digits[] = "0123456789abcdef";
	int high = -1;

	for (char *at = line; *at; at++) {
		if (isspace((unsigned char)*at))
			continue;
		const char *digit = strchr(digits, tolower((unsigned char)*at));

		*bad = at;
		if (!digit || *n == TEXT_FRAME_MAX)
			return false;
		if (high < 0) {
			high = (int)(digit - digits);
			continue;
		}
		c->bytes[(*n)++] = (uint8_t)(high << 4 | (int)(digit - digits));
		high = -1;
	}
	return high < 0; /* a lone digit is no byte */
}

/* Text does not say where a packet begins. */
static void guess_start(struct capture_frame *frame)
{
	const uint8_t *p = frame->bytes;
	bool ethernet = frame->n > ETHERNET_BYTES;

	if (ethernet) {
		unsigned type = get_type(p + 12), version = p[ETHERNET_BYTES] >> 4;

		ethernet = (type == TYPE_IPV6 && version == 6) ||
			   (type == TYPE_IPV4 && version == 4) || type == TYPE_VLAN;
	}
	find_start(ethernet ? DLT_EN10MB : DLT_RAW, frame);
	if (ethernet)
		return;
	frame->is_datagram = p[0] >> 4 != 4 && p[0] >> 4 != 6;
	frame->is_ip = !frame->is_datagram;
}

static int next_of_text(struct capture *c, struct capture_frame *frame, char *error)
{
	char *line = NULL, *bad = NULL;
	size_t room = 0, n = 0;
	bool ok = true;

	while (ok && getline(&line, &room, c->file) >= 0) {
		c->line++;
		if (line[strspn(line, " \t\r\n")] == 0) {
			if (n)
				break;
			continue;
		}
		if (line[0] == '=' || line[0] == '!')
			continue;
		char *bytes = skip_offset(line);

		cut_line(bytes, bytes != line);
		ok = read_hex(c, bytes, &n, &bad);
		if (!ok)
			snprintf(error, CAPTURE_ERROR_BYTES,
				"%s:%u: column %zu: '%c' where two hex digits should be", c->name,
				c->line, (size_t)(bad - line) + 1, *bad);
	}
	free(line);
	if (!ok)
		return -1;
	*frame = (struct capture_frame){ .bytes = c->bytes, .n = n, .wire_bytes = n };
	if (n)
		guess_start(frame);
	return n > 0;
}

/* ---- both ---- */

/* Captures start with a byte that no text starts with; pcapng's with a line feed and a return. */
static bool looks_like_pcap(FILE *file)
{
	int first = getc(file), second = '\r';

	if (first == '\n') {
		second = getc(file);
		if (second != EOF)
			ungetc(second, file);
	}
	if (first != EOF)
		ungetc(first, file);
	return first == 0xa1 || first == 0xd4 || first == 0x4d || (first == '\n' && second == '\r');
}

static bool open_pcap(struct capture *c, char *error)
{
	char why[PCAP_ERRBUF_SIZE];

	c->pcap =
		pcap_fopen_offline_with_tstamp_precision(c->file, PCAP_TSTAMP_PRECISION_NANO, why);
	if (!c->pcap) {
		snprintf(error, CAPTURE_ERROR_BYTES, "%s: %s", c->name, why);
		return false;
	}
	c->file = NULL;
	c->link = pcap_datalink(c->pcap);
	if (is_known_link(c->link))
		return true;
	const char *link = pcap_datalink_val_to_name(c->link);

	snprintf(error, CAPTURE_ERROR_BYTES,
		"%s: link type %d (%s); known are Ethernet, raw IP, Linux SLL and SLL2", c->name,
		c->link, link ? link : "?");
	return false;
}

struct capture *capture_open(const char *path, char error[CAPTURE_ERROR_BYTES])
{
	struct capture *c = calloc(1, sizeof(*c));

	WEFT_ASSERT(c);
	bool is_stdin = !strcmp(path, "-");

	c->name = is_stdin ? "standard input" : path;
	c->file = is_stdin ? stdin : fopen(path, "rb");
	if (!c->file)
		snprintf(error, CAPTURE_ERROR_BYTES, "%s: %s", c->name, strerror(errno));
	else if (!looks_like_pcap(c->file) || open_pcap(c, error))
		return c;
	capture_close(c);
	return NULL;
}

void capture_close(struct capture *c)
{
	if (!c)
		return;
	if (c->pcap)
		pcap_close(c->pcap); /* closes the file too */
	else if (c->file && c->file != stdin)
		fclose(c->file);
	free(c);
}

bool capture_is_text(const struct capture *c)
{
	return !c->pcap;
}

int capture_next(struct capture *c, struct capture_frame *frame, char error[CAPTURE_ERROR_BYTES])
{
	return c->pcap ? next_of_pcap(c, frame, error) : next_of_text(c, frame, error);
}
