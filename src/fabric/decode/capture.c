/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * capture - the two ways a packet reaches a person: a capture file, or hex pasted from somewhere.
 *
 * The first bytes tell them apart, and the input is never rewound, so a pipe from tcpdump works as
 * it runs.  Where a packet begins (Ethernet, IP or BTH) is guessed from its bytes for text, and
 * known for captures.
 */
#include "hex_text.h"
#include "pcap_file.h"

#include <weft/base.h>
#include <weft/decode.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FAMILY_BYTES = 4, /* the link layer of loopback interfaces (BSD, macOS) */
	ETHERNET_BYTES = 14,
	SLL_BYTES = 16,
	SLL2_BYTES = 20,
	TAG_BYTES = 4,
	TYPE_IPV4 = 0x0800,
	TYPE_IPV6 = 0x86dd,
};

struct weft_capture {
	const char *name;
	FILE *file;
	struct pcap_file *pcap; /* one of the two */
	struct hex_text *text;
	uint64_t n_unknown; /* frames of a link type that is not known */
	unsigned unknown;
};

static unsigned get_type(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

/* IEEE 802.1Q and 802.1ad, and what stood for the latter before it was there. */
static bool is_tag(unsigned type)
{
	return type == 0x8100 || type == 0x88a8 || type == 0x9100 || type == 0x9200;
}

/*
 * Whether a link layer of `at` bytes, its type in front of its end, is followed by IP, behind any
 * number of tags.  A capture that ends before one could tell is not said to be something else.
 */
static bool find_ip(struct weft_capture_frame *frame, size_t type_at, size_t at)
{
	unsigned type = frame->n >= at ? get_type(frame->bytes + type_at) : 0;

	while (is_tag(type) && frame->n >= at + TAG_BYTES) {
		type = get_type(frame->bytes + at + 2);
		at += TAG_BYTES;
	}
	frame->ip_at = at;
	if (frame->n < at || is_tag(type))
		return frame->wire_bytes > frame->n;
	return type == TYPE_IPV4 || type == TYPE_IPV6;
}

static void find_start(unsigned link, struct weft_capture_frame *frame)
{
	frame->is_datagram = false;
	frame->ip_at = 0;
	switch (link) {
	case PCAP_LINK_ETHERNET:
		frame->is_ip = find_ip(frame, 12, ETHERNET_BYTES);
		break;
	case PCAP_LINK_SLL:
		frame->is_ip = find_ip(frame, 14, SLL_BYTES);
		break;
	case PCAP_LINK_SLL2:
		frame->is_ip = find_ip(frame, 0, SLL2_BYTES);
		break;
	case PCAP_LINK_NULL:
	case PCAP_LINK_LOOP: /* every system has its own number for IPv6; the bytes tell as well */
		frame->ip_at = FAMILY_BYTES;
		frame->is_ip = true;
		break;
	default: /* raw IP */
		frame->is_ip = true;
	}
}

static bool is_known_link(unsigned link)
{
	switch (link) {
	case PCAP_LINK_NULL:
	case PCAP_LINK_ETHERNET:
	case PCAP_LINK_RAW_BSD:
	case PCAP_LINK_RAW_OPENBSD:
	case PCAP_LINK_RAW:
	case PCAP_LINK_LOOP:
	case PCAP_LINK_SLL:
	case PCAP_LINK_IPV4:
	case PCAP_LINK_IPV6:
	case PCAP_LINK_SLL2:
		return true;
	default:
		return false;
	}
}

static int next_of_pcap(struct weft_capture *c, struct weft_capture_frame *frame, char *error)
{
	struct pcap_frame raw;
	int result = pcap_file_next(c->pcap, &raw, error, WEFT_CAPTURE_ERROR_BYTES);

	if (result <= 0)
		return result;
	*frame = (struct weft_capture_frame){
		.bytes = raw.bytes, .n = raw.n, .wire_bytes = raw.wire_bytes, .time_ns = raw.time_ns
	};
	if (is_known_link(raw.link)) {
		find_start(raw.link, frame);
	} else {
		c->unknown = raw.link;
		c->n_unknown++;
	}
	return 1;
}

/* Text does not say where a packet begins. */
static void guess_start(struct weft_capture_frame *frame)
{
	const uint8_t *p = frame->bytes;
	bool ethernet = frame->n > ETHERNET_BYTES;

	if (ethernet) {
		unsigned type = get_type(p + 12), version = p[ETHERNET_BYTES] >> 4;

		ethernet = (type == TYPE_IPV6 && version == 6) ||
			   (type == TYPE_IPV4 && version == 4) || is_tag(type);
	}
	find_start(ethernet ? PCAP_LINK_ETHERNET : PCAP_LINK_RAW, frame);
	if (ethernet)
		return;
	frame->is_datagram = p[0] >> 4 != 4 && p[0] >> 4 != 6;
	frame->is_ip = !frame->is_datagram;
}

static int next_of_text(struct weft_capture *c, struct weft_capture_frame *frame, char *error)
{
	*frame = (struct weft_capture_frame){ .is_asked = true };
	int result =
		hex_text_next(c->text, &frame->bytes, &frame->n, error, WEFT_CAPTURE_ERROR_BYTES);

	frame->wire_bytes = frame->n;
	if (result > 0)
		guess_start(frame);
	return result;
}

static bool open_pcap(struct weft_capture *c, char *error)
{
	c->pcap = pcap_file_open(c->file, c->name, error, WEFT_CAPTURE_ERROR_BYTES);
	if (!c->pcap)
		return false;
	int link = pcap_file_link(c->pcap);

	if (link < 0 || is_known_link((unsigned)link))
		return true;
	snprintf(error, WEFT_CAPTURE_ERROR_BYTES, "%s: link type %d; known are " WEFT_CAPTURE_LINKS,
		c->name, link);
	return false;
}

struct weft_capture *weft_capture_open_file(
	FILE *file, const char *name, char error[WEFT_CAPTURE_ERROR_BYTES])
{
	struct weft_capture *c = calloc(1, sizeof(*c));
	bool is_pcap = pcap_file_begins(file);

	if (c && ferror(file)) { /* a folder, say: it opens, and has nothing to read */
		snprintf(error, WEFT_CAPTURE_ERROR_BYTES, "%s: %s", name, strerror(errno));
		c->file = file;
		weft_capture_close(c);
		return NULL;
	}
	if (c) {
		c->name = name;
		c->file = file;
		c->text = is_pcap ? NULL : hex_text_open(file, name);
	}
	if (!c || !(is_pcap || c->text))
		snprintf(error, WEFT_CAPTURE_ERROR_BYTES, "%s: out of memory", name);
	else if (!is_pcap || open_pcap(c, error))
		return c;
	if (!c && file != stdin)
		(void)fclose(file);
	weft_capture_close(c);
	return NULL;
}

struct weft_capture *weft_capture_open(const char *path, char error[WEFT_CAPTURE_ERROR_BYTES])
{
	bool is_stdin = !strcmp(path, "-");
	FILE *file = is_stdin ? stdin : fopen(path, "rb");

	if (file)
		return weft_capture_open_file(file, is_stdin ? "standard input" : path, error);
	snprintf(error, WEFT_CAPTURE_ERROR_BYTES, "%s: %s", path, strerror(errno));
	return NULL;
}

void weft_capture_close(struct weft_capture *c)
{
	if (!c)
		return;
	pcap_file_close(c->pcap);
	hex_text_close(c->text);
	if (c->file != stdin)
		fclose(c->file);
	free(c);
}

bool weft_capture_is_text(const struct weft_capture *c)
{
	return !c->pcap;
}

uint64_t weft_capture_unknown(const struct weft_capture *c, unsigned *link)
{
	*link = c->unknown;
	return c->n_unknown;
}

int weft_capture_next(struct weft_capture *c, struct weft_capture_frame *frame,
	char error[WEFT_CAPTURE_ERROR_BYTES])
{
	return c->pcap ? next_of_pcap(c, frame, error) : next_of_text(c, frame, error);
}
