/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CAPTURE_H
#define CAPTURE_H
/*
 * capture - frames one after the other, out of a pcap, a pcapng, or hex text.
 *
 * Memory   A frame belongs to the capture and lasts until the next one is asked for.
 * Errors   One line with the file's name; text names its line too.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct capture;

struct capture_frame {
	const uint8_t *bytes;
	size_t n;          /* bytes captured */
	size_t wire_bytes; /* bytes there were */
	size_t ip_at;      /* where the first IP header starts, or BTH when is_datagram */
	uint64_t time_ns;  /* since 1970; 0: hex text has no time */
	bool is_ip;        /* false: ARP and the like */
	bool is_datagram;  /* hex text without headers: BTH comes first */
	bool is_asked;     /* text: somebody asks about exactly these bytes */
};

enum { CAPTURE_ERROR_BYTES = 512 };
#define CAPTURE_LINKS "Ethernet, raw IP, loopback, Linux SLL and SLL2"

/* path: "-" is standard input.  NULL: error says why. */
struct capture *capture_open(const char *path, char error[CAPTURE_ERROR_BYTES]);
/* The same of what is open already, and closed with it, even if that fails now.  name: the
 * caller's. */
struct capture *capture_open_file(FILE *file, const char *name, char error[CAPTURE_ERROR_BYTES]);
void capture_close(struct capture *capture); /* NULL is fine */
/* Whether the input is text, typed by a person: then nothing in it is passed over. */
bool capture_is_text(const struct capture *capture);
/* Frames so far whose link layer is not known (is_ip: false), and of what type the last one was. */
uint64_t capture_unknown(const struct capture *capture, unsigned *link);
/* 1: a frame; 0: the end; -1: error says what is wrong with the input. */
int capture_next(
	struct capture *capture, struct capture_frame *frame, char error[CAPTURE_ERROR_BYTES]);

#endif
