/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PCAP_FILE_H
#define PCAP_FILE_H
/*
 * pcap_file - frames out of the two capture formats, pcap and pcapng, as they come.
 *
 * Memory   A frame's bytes belong to the reader and last until the next one is asked for.
 * Errors   One line with the file's name and the byte at which the input is wrong.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Link types by the numbers of the IETF's registry (draft-ietf-opsawg-pcaplinktype). */
enum pcap_link {
	PCAP_LINK_NULL = 0,
	PCAP_LINK_ETHERNET = 1,
	PCAP_LINK_RAW_BSD = 12, /* what DLT_RAW is on some systems, and got into files as */
	PCAP_LINK_RAW_OPENBSD = 14,
	PCAP_LINK_RAW = 101,
	PCAP_LINK_LOOP = 108,
	PCAP_LINK_SLL = 113,
	PCAP_LINK_IPV4 = 228,
	PCAP_LINK_IPV6 = 229,
	PCAP_LINK_SLL2 = 276,
};

struct pcap_frame {
	const uint8_t *bytes;
	size_t n, wire_bytes;
	uint64_t time_ns;
	unsigned link; /* enum pcap_link, or another number */
};

struct pcap_file;
/* Whether the input begins as a capture does.  It is not used up, pipes included. */
bool pcap_file_begins(FILE *file);
/* file, name: the caller's.  NULL: error says why. */
struct pcap_file *pcap_file_open(FILE *file, const char *name, char *error, size_t error_bytes);
void pcap_file_close(struct pcap_file *p); /* NULL is fine */
/* The link type of all frames; -1: each has its own (pcapng). */
int pcap_file_link(const struct pcap_file *p);
/* 1: a frame; 0: the end; -1: error says what is wrong with the input. */
int pcap_file_next(struct pcap_file *p, struct pcap_frame *frame, char *error, size_t error_bytes);

#endif
