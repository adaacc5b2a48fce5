/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pcap_file - a reader of pcap (draft-ietf-opsawg-pcap) and pcapng (draft-ietf-opsawg-pcapng).
 *
 * libpcap was here before.  It shows a file as one capture of one link type and one snapshot
 * length, so it refuses a pcapng whose interfaces differ in either, which is what Wireshark and
 * tcpdump write when they listen at several: see docs/decisions/123-captures.md.
 *
 * Nothing is sought, so a pipe from a running tcpdump is read as it comes.  Every length is held
 * against a bound before anything is read by it.  Blocks that are not understood are passed over,
 * as the format wants; a packet of an interface that was not described is an error.
 */
#include "pcap_file.h"

#include <weft/base.h>

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
	FRAME_BYTES_MAX = 262144,             /* tcpdump's largest snapshot length */
	BODY_BYTES_MAX = 2 * FRAME_BYTES_MAX, /* of a block that is read: a frame and its options */
	INTERFACES_MAX = 65536,               /* pcapng's old packet block counts them in 16 bits */
	PCAP_HEADER_BYTES = 24,
	RECORD_BYTES = 16,
	RECORD_BYTES_KUZNETZOV = 24, /* interface, protocol and direction behind the lengths */
	LINK_MASK = 0xffff,          /* the upper half tells of frame check sequences */
};

/* As their first four bytes read in the order of the file. */
#define MAGIC_US UINT32_C(0xa1b2c3d4)
#define MAGIC_NS UINT32_C(0xa1b23c4d)
#define MAGIC_KUZNETZOV UINT32_C(0xa1b2cd34)
#define MAGIC_NG UINT32_C(0x0a0d0d0a)
#define ORDER_NG UINT32_C(0x1a2b3c4d)

enum block {
	BLOCK_INTERFACE = 1,
	BLOCK_PACKET_OLD = 2,
	BLOCK_PACKET_SIMPLE = 3,
	BLOCK_PACKET = 6,
};
enum { OPTION_END = 0, OPTION_TSRESOL = 9, OPTION_TSOFFSET = 14 };
enum { RESOLUTION_US = 6, RESOLUTION_BINARY = 0x80, DIGITS_MAX = 19 };

struct interface {
	uint32_t link, snap_bytes; /* snap_bytes 0: no limit */
	uint8_t resolution;        /* of times: 10^-n, or 2^-n with the highest bit */
	uint64_t offset_s;         /* two's complement */
};

struct pcap_file {
	FILE *file;
	const char *name;
	uint64_t at; /* bytes read so far */
	bool is_ng, is_big;
	/* pcap */
	uint32_t link, record_bytes, ns_per_tick;
	/* pcapng, of this section */
	struct interface *interfaces;
	uint32_t n_interfaces;
	char *error;
	size_t error_bytes;
	uint8_t body[BODY_BYTES_MAX];
};

static int fail(struct pcap_file *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(struct pcap_file *p, const char *format, ...)
{
	char what[200];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	snprintf(p->error, p->error_bytes, "%s: byte %llu: %s", p->name, (unsigned long long)p->at,
		what);
	return -1;
}

/* 1: all of them; 0: the input ends before the first; -1: in the middle. */
static int take(struct pcap_file *p, uint8_t *to, size_t bytes)
{
	size_t n = fread(to, 1, bytes, p->file);

	p->at += n;
	if (n == bytes)
		return 1;
	if (ferror(p->file))
		return fail(p, "cannot be read");
	return n ? fail(p, "the file ends in the middle of a record") : 0;
}

/* The same where an end would be in the middle of something. */
static bool need(struct pcap_file *p, uint8_t *to, size_t bytes)
{
	int rc = bytes ? take(p, to, bytes) : 1;

	if (!rc)
		(void)fail(p, "the file ends in the middle of a record");
	return rc > 0;
}

static uint32_t get16(const struct pcap_file *p, const uint8_t *at)
{
	return p->is_big ? (uint32_t)at[0] << 8 | at[1] : (uint32_t)at[1] << 8 | at[0];
}

static uint32_t get32(const struct pcap_file *p, const uint8_t *at)
{
	return p->is_big ? get16(p, at) << 16 | get16(p, at + 2)
			 : get16(p, at + 2) << 16 | get16(p, at);
}

/* ---- pcap ---- */

static uint32_t big32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t little32(const uint8_t *at)
{
	return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static bool is_pcap_magic(uint32_t magic)
{
	return magic == MAGIC_US || magic == MAGIC_NS || magic == MAGIC_KUZNETZOV;
}

bool pcap_file_begins(FILE *file)
{
	static const uint8_t heads[][4] = {
		{ 0xa1, 0xb2, 0xc3, 0xd4 },
		{ 0xd4, 0xc3, 0xb2, 0xa1 },
		{ 0xa1, 0xb2, 0x3c, 0x4d },
		{ 0x4d, 0x3c, 0xb2, 0xa1 },
		{ 0xa1, 0xb2, 0xcd, 0x34 },
		{ 0x34, 0xcd, 0xb2, 0xa1 },
		{ 0x0a, 0x0d, 0x0d, 0x0a },
	};
	int seen[4] = { 0 };
	unsigned n = 0;
	bool match = true;

	while (match && n < 4) {
		seen[n] = getc(file);
		match = false;
		for (size_t i = 0; i < WEFT_COUNT(heads); i++) {
			unsigned same = 0;

			while (same <= n && heads[i][same] == seen[same])
				same++;
			match |= same == n + 1;
		}
		n++;
	}
	/* They are in the buffer, so that they go back there. */
	while (n)
		if (seen[--n] != EOF)
			ungetc(seen[n], file);
	return match;
}

static bool open_pcap(struct pcap_file *p, const uint8_t head[4])
{
	uint8_t rest[PCAP_HEADER_BYTES - 4];

	p->is_big = is_pcap_magic(big32(head));
	uint32_t magic = p->is_big ? big32(head) : little32(head);

	if (!need(p, rest, sizeof(rest)))
		return false;
	if (get16(p, rest) != 2) {
		(void)fail(p, "version %u of pcap; known is 2", get16(p, rest));
		return false;
	}
	p->link = get32(p, rest + 16) & LINK_MASK;
	p->record_bytes = magic == MAGIC_KUZNETZOV ? RECORD_BYTES_KUZNETZOV : RECORD_BYTES;
	p->ns_per_tick = magic == MAGIC_NS ? 1 : 1000;
	return true;
}

static int next_of_pcap(struct pcap_file *p, struct pcap_frame *frame)
{
	uint8_t head[RECORD_BYTES_KUZNETZOV];
	int rc = take(p, head, p->record_bytes);

	if (rc <= 0)
		return rc;
	uint32_t n = get32(p, head + 8);

	if (n > FRAME_BYTES_MAX)
		return fail(p, "a frame of %u bytes; at most %d are possible", n, FRAME_BYTES_MAX);
	if (!need(p, p->body, n))
		return -1;
	*frame = (struct pcap_frame){ .bytes = p->body,
		.n = n,
		.wire_bytes = WEFT_MAX(get32(p, head + 12), n),
		.time_ns = get32(p, head) * UINT64_C(1000000000) +
			   (uint64_t)get32(p, head + 4) * p->ns_per_tick,
		.link = p->link };
	return 1;
}

/* ---- pcapng ---- */

static uint64_t power_of_10(unsigned n)
{
	uint64_t value = 1;

	while (n--)
		value *= 10;
	return value;
}

/* What is left of a second, in ns; *seconds: whole ones. */
static uint64_t split_time(uint64_t ticks, uint8_t resolution, uint64_t *seconds)
{
	unsigned n = resolution & ~RESOLUTION_BINARY & 0xff;

	if (!(resolution & RESOLUTION_BINARY)) {
		uint64_t per_s = power_of_10(WEFT_MIN(n, (unsigned)DIGITS_MAX));
		uint64_t rest = ticks % per_s;

		*seconds = ticks / per_s;
		return n <= 9 ? rest * power_of_10(9 - n)
			      : rest / power_of_10(WEFT_MIN(n, (unsigned)DIGITS_MAX) - 9);
	}
	*seconds = n < 64 ? ticks >> n : 0;
	uint64_t rest = n < 64 ? ticks & ((UINT64_C(1) << n) - 1) : ticks;

	if (n > 32) { /* of the fraction the upper half is enough */
		rest = n - 32 < 64 ? rest >> (n - 32) : 0;
		n = 32;
	}
	return rest * 1000000000 >> n;
}

static uint64_t to_ns(const struct interface *from, uint64_t ticks)
{
	uint64_t seconds, ns = split_time(ticks, from->resolution, &seconds);

	return (seconds + from->offset_s) * 1000000000 + ns;
}

static void read_options(
	const struct pcap_file *p, const uint8_t *at, size_t left, struct interface *to)
{
	while (left >= 4) {
		uint32_t code = get16(p, at), bytes = get16(p, at + 2);
		size_t padded = WEFT_ALIGN_UP((size_t)bytes, (size_t)4);

		if (code == OPTION_END || padded > left - 4)
			return;
		if (code == OPTION_TSRESOL && bytes == 1)
			to->resolution = at[4];
		if (code == OPTION_TSOFFSET && bytes == 8)
			to->offset_s =
				p->is_big ? (uint64_t)get32(p, at + 4) << 32 | get32(p, at + 8)
					  : (uint64_t)get32(p, at + 8) << 32 | get32(p, at + 4);
		at += 4 + padded;
		left -= 4 + padded;
	}
}

static int add_interface(struct pcap_file *p, size_t n)
{
	if (n < 8)
		return fail(p, "an interface block of %zu bytes", n);
	if (p->n_interfaces == INTERFACES_MAX)
		return fail(p, "more than %d interfaces", INTERFACES_MAX);
	/* Room for a power of two. */
	if (!(p->n_interfaces & (p->n_interfaces - 1))) {
		size_t room = p->n_interfaces ? 2 * (size_t)p->n_interfaces : 1;

		struct interface *more = realloc(p->interfaces, room * sizeof(*more));

		if (!more)
			return fail(p, "out of memory");
		p->interfaces = more;
	}
	struct interface *to = &p->interfaces[p->n_interfaces++];

	*to = (struct interface){ .link = get16(p, p->body),
		.snap_bytes = get32(p, p->body + 4),
		.resolution = RESOLUTION_US };
	read_options(p, p->body + 8, n - 8, to);
	return 0;
}

/* A packet block of n bytes, in any of its three forms. */
static int read_packet(struct pcap_file *p, uint32_t type, size_t n, struct pcap_frame *frame)
{
	size_t head = type == BLOCK_PACKET_SIMPLE ? 4 : 20;
	const uint8_t *b = p->body;
	uint32_t which = 0;

	if (n < head)
		return fail(p, "a packet block of %zu bytes", n);
	if (type != BLOCK_PACKET_SIMPLE)
		which = type == BLOCK_PACKET ? get32(p, b) : get16(p, b);
	if (which >= p->n_interfaces)
		return fail(p, "a packet of interface %u, of which the file says nothing", which);
	const struct interface *from = &p->interfaces[which];

	*frame = (struct pcap_frame){ .bytes = b + head, .link = from->link };
	if (type == BLOCK_PACKET_SIMPLE) {
		frame->wire_bytes = get32(p, b);
		frame->n = WEFT_MIN(frame->wire_bytes, n - head);
		if (from->snap_bytes)
			frame->n = WEFT_MIN(frame->n, from->snap_bytes);
		return 1;
	}
	frame->n = get32(p, b + 12);
	frame->wire_bytes = WEFT_MAX(get32(p, b + 16), frame->n);
	if (frame->n > n - head)
		return fail(
			p, "a frame of %zu bytes in a block with room for %zu", frame->n, n - head);
	frame->time_ns = to_ns(from, (uint64_t)get32(p, b + 4) << 32 | get32(p, b + 8));
	return 1;
}

/* A section has its own byte order, told behind the length of its header. */
static bool begin_section(struct pcap_file *p)
{
	uint8_t order[4];

	if (!need(p, order, sizeof(order)))
		return false;
	p->is_big = big32(order) == ORDER_NG;
	p->n_interfaces = 0;
	if (p->is_big || little32(order) == ORDER_NG)
		return true;
	(void)fail(p, "the byte order of a section is neither big nor little endian");
	return false;
}

static bool pass_over(struct pcap_file *p, size_t bytes)
{
	while (bytes) {
		size_t piece = WEFT_MIN(bytes, sizeof(p->body));

		if (!need(p, p->body, piece))
			return false;
		bytes -= piece;
	}
	return true;
}

/* One block; 2: it was no packet. */
static int next_block(struct pcap_file *p, struct pcap_frame *frame)
{
	uint8_t head[8], tail[4];
	int rc = take(p, head, sizeof(head));

	if (rc <= 0)
		return rc;
	bool is_section = big32(head) == MAGIC_NG;

	if (is_section && !begin_section(p))
		return -1;
	uint32_t type = get32(p, head), all = get32(p, head + 4);
	size_t around = sizeof(head) + sizeof(tail) + (is_section ? 4 : 0), n = all - around;

	if (all % 4 || all < around)
		return fail(p, "a block of %u bytes", all);
	bool is_packet =
		type == BLOCK_PACKET || type == BLOCK_PACKET_OLD || type == BLOCK_PACKET_SIMPLE;

	rc = 2;
	if (!is_packet && type != BLOCK_INTERFACE) {
		if (!pass_over(p, n))
			return -1;
	} else if (n > sizeof(p->body)) {
		return fail(p, "a block of %u bytes, more than any frame has", all);
	} else if (!need(p, p->body, n)) {
		return -1;
	} else if (is_packet) {
		rc = read_packet(p, type, n, frame);
	} else if (add_interface(p, n)) {
		return -1;
	}
	if (rc > 0 && !need(p, tail, sizeof(tail)))
		return -1;
	if (rc > 0 && get32(p, tail) != all)
		return fail(p, "a block that says %u bytes in front and %u behind", all,
			get32(p, tail));
	return rc;
}

/* ---- both ---- */

struct pcap_file *pcap_file_open(FILE *file, const char *name, char *error, size_t error_bytes)
{
	struct pcap_file *p = calloc(1, sizeof(*p));
	uint8_t head[4];

	if (!p) {
		(void)snprintf(error, error_bytes, "%s: out of memory", name);
		return NULL;
	}
	p->file = file;
	p->name = name;
	p->error = error;
	p->error_bytes = error_bytes;
	p->is_ng = true;
	int first = getc(file);

	if (first != EOF)
		ungetc(first, file);
	if (first == 0x0a) /* its first block says the rest */
		return p;
	p->is_ng = false;
	if (need(p, head, sizeof(head)) && open_pcap(p, head))
		return p;
	free(p);
	return NULL;
}

void pcap_file_close(struct pcap_file *p)
{
	if (!p)
		return;
	free(p->interfaces);
	free(p);
}

int pcap_file_link(const struct pcap_file *p)
{
	return p->is_ng ? -1 : (int)p->link;
}

int pcap_file_next(struct pcap_file *p, struct pcap_frame *frame, char *error, size_t error_bytes)
{
	int rc = 2;

	p->error = error;
	p->error_bytes = error_bytes;
	while (rc == 2)
		rc = p->is_ng ? next_block(p, frame) : next_of_pcap(p, frame);
	return rc;
}
