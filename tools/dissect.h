/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DISSECT_H
#define DISSECT_H
/*
 * dissect - one captured frame, as far as MRC is concerned; and its two tellers.
 *
 *   capture_next() -> dissect_frame() -> dissect_json()   one object, stable keys (docs/decode.md)
 *                                     `-> dissect_human()  one line, or all fields
 */
#include "capture.h"
#include "term.h"

#include <weft/wire.h>

#include <weft/topo.h>
#include <jansson.h>

struct dissect_config {
	uint16_t port;              /* 0: 4791 and 4971 */
	enum weft_encap_kind plain; /* how to read IPv6 without an outer header */
	struct weft_dscp dscp;
	const struct weft_topo *topo; /* NULL: no names */
};

enum dissect_what {
	DISSECT_OTHER, /* not IP, not UDP, another port: nothing to do with MRC */
	DISSECT_CUT,   /* the capture ends before one could tell */
	DISSECT_DROP,  /* a receiver would drop it: see fault */
	DISSECT_PACKET,
};

enum dissect_icrc {
	DISSECT_ICRC_OK,
	DISSECT_ICRC_BAD,
	DISSECT_ICRC_ABSENT,       /* trimmed on the way */
	DISSECT_ICRC_NOT_CAPTURED, /* the capture kept only the frame's beginning */
	DISSECT_ICRC_UNKNOWN,      /* no IP header was given, so it cannot be computed */
};
const char *dissect_icrc_name(enum dissect_icrc icrc);

struct dissection {
	enum dissect_what what;
	bool has_outside, has_packet; /* what of the two below is valid */
	bool headers_cut;             /* by the capture: of pkt only what BTH says is valid */
	struct weft_arrival outside;
	struct weft_pkt pkt;
	struct weft_wire_fault fault; /* of a drop; bit counts from the frame's first byte */
	enum dissect_icrc icrc;
	unsigned hops_to_go;    /* native uSID, seen before it arrived */
	bool has_place;         /* the fabric file knows the sender: */
	uint32_t plane, uplink; /* what the EV stands for there */
	char from[WEFT_TOPO_NAME_BYTES];
	size_t bth_at; /* in the frame; valid with has_outside, or a bare datagram */
};

/* d points into the frame, or into a buffer that the next call reuses. */
void dissect_frame(const struct dissect_config *config, const struct capture_frame *frame,
	struct dissection *d);
/* "BTH.tver": the field that a bit of the frame belongs to; "" if none has a name. */
const char *dissect_field(
	const struct capture_frame *frame, const struct dissection *d, size_t bit, char name[64]);

/* A new object; the caller's to release.  number: of the frame in its file, from 1. */
json_t *dissect_json(
	const struct capture_frame *frame, const struct dissection *d, uint64_t number);
/* fields: all of them, with their bytes.  Drops show the bytes around the wrong one either way. */
void dissect_human(struct term *term, const struct capture_frame *frame, const struct dissection *d,
	uint64_t number, bool fields);

#endif
