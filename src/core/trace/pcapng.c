/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pcapng - captures that Wireshark opens, one interface per port (= plane).
 *
 * pcapng rather than pcap: many interfaces in one file, nanoseconds, direction, and a comment on a
 * packet, which is where "declared lost here" belongs.  libpcap cannot write it, and a writer is
 * three kinds of blocks.  Always little-endian and without the host's name or the date, so that
 * the same run gives the same bytes on every machine.
 *
 * Link type IPV6: our carriers are IPv6 only.  RAW would fit too, but libpcap 1.10 compares the
 * numbers of interfaces after having mapped that of the first, and refuses the second RAW one.
 *
 * Source: draft-ietf-opsawg-pcapng, sections 3 and 4; link types: draft-ietf-opsawg-pcaplinktype.
 */
#include "trace_local.h"

#include <string.h>

#define SECTION_BLOCK 0x0a0d0d0au
#define INTERFACE_BLOCK 1u
#define PACKET_BLOCK 6u
#define BYTE_ORDER 0x1a2b3c4du
#define LINKTYPE_IPV6 229u

#define OPTION_COMMENT 1u
#define OPTION_PROGRAM 4u /* section */
#define OPTION_NAME 2u    /* interface, as the next two */
#define OPTION_SPEED 8u
#define OPTION_TSRESOL 9u
#define OPTION_FLAGS 2u         /* packet */
#define OPTION_BYTES_MAX 65532u /* 16 bits, and a multiple of 4 for simplicity */

static void put16(struct weft_sink *sink, uint32_t v)
{
	const uint8_t bytes[] = { (uint8_t)v, (uint8_t)(v >> 8) };

	sink_bytes(sink, bytes, sizeof(bytes));
}

static void put32(struct weft_sink *sink, uint32_t v)
{
	const uint8_t bytes[] = { (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16),
		(uint8_t)(v >> 24) };

	sink_bytes(sink, bytes, sizeof(bytes));
}

static void put64(struct weft_sink *sink, uint64_t v)
{
	put32(sink, (uint32_t)v);
	put32(sink, (uint32_t)(v >> 32));
}

/* Everything is padded to 32 bits; lengths do not count the padding. */
static void put_padded(struct weft_sink *sink, const void *bytes, size_t len_bytes)
{
	static const uint8_t zeros[4];

	sink_bytes(sink, bytes, len_bytes);
	sink_bytes(sink, zeros, -len_bytes & 3);
}

static size_t text_bytes(const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (len <= OPTION_BYTES_MAX)
		return len;
	len = OPTION_BYTES_MAX;
	while (len && (text[len] & 0xc0) == 0x80) /* not inside a character */
		len--;
	return len;
}

/* Bytes that an option of this length takes; none at all where it is empty. */
static uint32_t option_bytes(size_t len)
{
	return len ? (uint32_t)(4 + WEFT_ALIGN_UP(len, (size_t)4)) : 0;
}

static void put_option(struct weft_sink *sink, uint32_t code, const void *bytes, size_t len)
{
	if (!len)
		return;
	put16(sink, code);
	put16(sink, (uint32_t)len);
	put_padded(sink, bytes, len);
}

static void put_options_end(struct weft_sink *sink)
{
	put32(sink, 0);
}

int weft_pcapng_open(struct weft_pcapng *pcapng, struct weft_sink *sink, const char *program,
	const char *comment)
{
	size_t program_bytes = text_bytes(program), comment_bytes = text_bytes(comment);
	uint32_t len = 28 + option_bytes(program_bytes) + option_bytes(comment_bytes) + 4;

	*pcapng = (struct weft_pcapng){ .sink = sink };
	put32(sink, SECTION_BLOCK);
	put32(sink, len);
	put32(sink, BYTE_ORDER);
	put16(sink, 1);
	put16(sink, 0);
	put64(sink, UINT64_MAX); /* section length: not known in advance */
	put_option(sink, OPTION_COMMENT, comment, comment_bytes);
	put_option(sink, OPTION_PROGRAM, program, program_bytes);
	put_options_end(sink);
	put32(sink, len);
	return sink->error;
}

int weft_pcapng_port(struct weft_pcapng *pcapng, const char *name, uint64_t bits_per_s)
{
	struct weft_sink *sink = pcapng->sink;
	size_t name_bytes = text_bytes(name);
	uint32_t len = 20 + option_bytes(name_bytes) + option_bytes(1) +
		       (bits_per_s ? option_bytes(8) : 0) + 4;
	const uint8_t resolution = 9; /* 10^-9 s */

	put32(sink, INTERFACE_BLOCK);
	put32(sink, len);
	put16(sink, LINKTYPE_IPV6);
	put16(sink, 0);
	put32(sink, pcapng->snap_bytes);
	put_option(sink, OPTION_NAME, name, name_bytes);
	if (bits_per_s) {
		put16(sink, OPTION_SPEED);
		put16(sink, 8);
		put64(sink, bits_per_s);
	}
	put_option(sink, OPTION_TSRESOL, &resolution, 1);
	put_options_end(sink);
	put32(sink, len);
	pcapng->ports++;
	return sink->error;
}

static void put_pieces(struct weft_sink *sink, const struct weft_capture *capture, size_t len)
{
	size_t left = len;

	for (size_t i = 0; i < capture->n_pieces; i++) {
		size_t n = WEFT_MIN(left, capture->pieces[i].len_bytes);

		sink_bytes(sink, capture->pieces[i].at, n);
		left -= n;
	}
	sink_bytes(sink, "\0\0\0", -len & 3);
}

int weft_pcapng_packet(struct weft_pcapng *pcapng, const struct weft_capture *capture)
{
	struct weft_sink *sink = pcapng->sink;
	size_t comment_bytes = text_bytes(capture->comment), whole = 0;

	WEFT_ASSERT(capture->port < pcapng->ports);
	for (size_t i = 0; i < capture->n_pieces; i++)
		whole += capture->pieces[i].len_bytes;
	/* What no IP packet can be is our own mistake, and would break the length of the block. */
	WEFT_ASSERT(whole <= 1u << 24);
	size_t kept = pcapng->snap_bytes ? WEFT_MIN(whole, pcapng->snap_bytes) : whole;
	uint32_t len = 32 + (uint32_t)WEFT_ALIGN_UP(kept, (size_t)4) + option_bytes(4) +
		       option_bytes(comment_bytes) + 4;

	put32(sink, PACKET_BLOCK);
	put32(sink, len);
	put32(sink, capture->port);
	put32(sink, (uint32_t)(capture->at_ns >> 32));
	put32(sink, (uint32_t)capture->at_ns);
	put32(sink, (uint32_t)kept);
	put32(sink, (uint32_t)whole);
	put_pieces(sink, capture, kept);
	put16(sink, OPTION_FLAGS);
	put16(sink, 4);
	put32(sink, capture->direction);
	put_option(sink, OPTION_COMMENT, capture->comment, comment_bytes);
	put_options_end(sink);
	put32(sink, len);
	return sink->error;
}
