/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_DECODE_H
#define WEFT_DECODE_H
/*
 * decode - frames of others, and what a receiver of MRC would make of them.
 *
 *   pcap, pcapng, hex text --weft_capture_next()--> frame --weft_decode_frame()--> verdict
 *   a tap, a test bench ----------------------------'         `--weft_decode_field()--> names
 *
 * `weft decode` is these functions and two ways to print.  Whoever has frames already needs no
 * capture: fill in struct weft_capture_frame.
 *
 * Memory   A capture is opened and closed; a frame that it gives lasts until the next one is asked
 *          for.  Decoding allocates nothing; a verdict points into its frame, or into config's
 *          `scratch`.
 * Errors   One line with the input's name; of a capture with the byte, of text with line and column
 *          at which it is wrong.
 * Threads  Any, each with a capture and a scratch of its own.
 */
#include <weft/topo.h>
#include <weft/wire.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- frames out of captures ---- */

struct weft_capture;

/* One frame, as it was seen somewhere on its way. */
struct weft_capture_frame {
	const uint8_t *bytes;
	size_t n;          /* bytes captured */
	size_t wire_bytes; /* bytes there were, n or more */
	size_t ip_at;      /* where the first IP header starts, or BTH when is_datagram */
	uint64_t time_ns;  /* since 1970; 0: hex text has no time */
	bool is_ip;        /* false: ARP and the like */
	bool is_datagram;  /* hex text without headers: BTH comes first */
	bool is_asked;     /* text: somebody asks about exactly these bytes */
};

#define WEFT_CAPTURE_ERROR_BYTES 512u
#define WEFT_CAPTURE_LINKS "Ethernet, raw IP, loopback, Linux SLL and SLL2" /* that are known */

/*
 * pcap, pcapng or hex text, told by the first bytes; nothing is sought, so a pipe from a running
 * tcpdump will do.  path: "-" is standard input.  NULL: error says why.
 */
struct weft_capture *weft_capture_open(const char *path, char error[WEFT_CAPTURE_ERROR_BYTES]);
/* The same of what is open already, and closed with it, even if that fails now.  name: for errors,
 * the caller's. */
struct weft_capture *weft_capture_open_file(
	FILE *file, const char *name, char error[WEFT_CAPTURE_ERROR_BYTES]);
void weft_capture_close(struct weft_capture *capture); /* NULL is fine */
/* Whether the input is text, typed by a person: then nothing in it should be passed over. */
bool weft_capture_is_text(const struct weft_capture *capture);
/* Frames so far whose link layer is not known (is_ip: false), and of what type the last one was:
 * a number of the pcap link type registry. */
uint64_t weft_capture_unknown(const struct weft_capture *capture, unsigned *link);
/* 1: a frame; 0: the end; -1: error says what is wrong with the input. */
int weft_capture_next(struct weft_capture *capture, struct weft_capture_frame *frame,
	char error[WEFT_CAPTURE_ERROR_BYTES]);

/* ---- frames as MRC ---- */

#define WEFT_DECODE_FRAME_MAX (65536u + 64u) /* bytes; longer ones are OTHER */

/* How to read frames.  plain and dscp are wanted (WEFT_DSCP_DEFAULT), the rest may be zero. */
struct weft_decode_config {
	weft_crc32_fn *crc;         /* see wire.h; NULL: no ICRC is looked at (UNKNOWN) */
	uint16_t port;              /* MRC's UDP port; 0: both that are printed [P 8.1] */
	enum weft_encap_kind plain; /* of IPv6 without an outer header: USID, STEV or UDP_PORT */
	struct weft_dscp dscp;
	const struct weft_topo *topo; /* a fabric file that knows the senders; NULL: no names */
	uint8_t *scratch; /* WEFT_DECODE_FRAME_MAX bytes, where frames that the capture cut are made
			   * whole, with zeros; NULL: those are CUT */
};

/* The verdict. */
enum weft_decoded_what {
	WEFT_DECODED_OTHER, /* not IP, not UDP, another port: nothing to do with MRC */
	WEFT_DECODED_CUT,   /* the capture ends before one could tell */
	WEFT_DECODED_DROP,  /* a receiver would drop it: see fault */
	WEFT_DECODED_PACKET,
};

/* What is known of a packet's ICRC. */
enum weft_decoded_icrc {
	WEFT_ICRC_IS_OK,
	WEFT_ICRC_IS_BAD,
	WEFT_ICRC_IS_ABSENT,       /* trimmed on the way */
	WEFT_ICRC_IS_NOT_CAPTURED, /* the capture kept only the frame's beginning */
	WEFT_ICRC_IS_UNKNOWN,      /* no IP header or no crc was given: it cannot be computed */
};
/* "ok", "bad", "absent", "not_captured", "unknown" */
const char *weft_decoded_icrc_name(enum weft_decoded_icrc icrc);

/* A frame as its receiver would take it. */
struct weft_decoded {
	enum weft_decoded_what what;
	bool has_outside, has_packet; /* what of the two below is valid */
	bool headers_cut;             /* by the capture: of pkt only what BTH says is valid */
	struct weft_arrival outside;
	struct weft_pkt pkt;
	struct weft_wire_fault fault; /* of a drop; bit counts from the frame's first byte */
	enum weft_decoded_icrc icrc;
	unsigned hops_to_go;    /* native uSID, seen before it arrived: uSIDs not used up yet */
	bool has_place;         /* the fabric file knows the sender: */
	uint32_t plane, uplink; /* what the EV stands for there */
	char from[WEFT_TOPO_NAME_BYTES];
	size_t bth_at; /* in the frame; valid with has_outside, or a bare datagram */
};

/*
 * What a host that this frame is for would do with it, by the very functions that it would call.
 * Any bytes may be given.
 */
void weft_decode_frame(const struct weft_decode_config *config,
	const struct weft_capture_frame *frame, struct weft_decoded *decoded);
/*
 * "BTH.tver", "IPv6.hop_limit": the field that a bit of the frame, counted from its first byte,
 * belongs to; "" if none has a name.  In name, or constant.
 */
const char *weft_decode_field(const struct weft_capture_frame *frame,
	const struct weft_decoded *decoded, size_t bit, char name[64]);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_DECODE_H */
