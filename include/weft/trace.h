/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_TRACE_H
#define WEFT_TRACE_H
/*
 * trace - what the engine remembers, in the formats that other people's tools read.
 *
 *   weft_events() -------> weft_jsonl_events() ---> jq, pandas
 *   weft_counter_*() ----> weft_prom_metrics() ---> Prometheus, Grafana
 *   packets and marks ---> weft_pcapng_*() -------> Wireshark, tcpdump
 *                                |
 *                                v
 *                        struct weft_sink: a FILE, a socket, a buffer
 *
 * Exporters take arrays and pairs, never endpoints: what they print can as well come from a
 * simulator, from another process or from a file.
 *
 * Time     now and at_ns are the caller's ns, printed as they are; pcapng wants ns since 1970.
 * Memory   Nothing is allocated or kept.  Everything passes through the sink at once.
 * Threads  One per sink.
 * Errors   The first error of the sink sticks: later calls write nothing and return it again.
 */
#include <weft/proto.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Takes all bytes and returns 0, or returns a negative errno. */
typedef int weft_sink_fn(void *user, const void *bytes, size_t len_bytes);

struct weft_sink {
	weft_sink_fn *write;
	void *user;
	int error;
};
/* The file stays the caller's, to flush and to close: a full disk may show up only there. */
void weft_sink_file(struct weft_sink *sink, FILE *file);

/*
 * One line of JSON per event: {"at_ns":..,"event":"path_state","host":..,"qpn":..,"set":..} and
 * the fields that events.def names.  host: UTF-8, NULL leaves it out; qpn is left out where the
 * event is not about one QP.  Integers are exact, up to 2^64 - 1.
 */
int weft_jsonl_events(
	struct weft_sink *sink, const char *host, const struct weft_event events[], size_t n);

struct weft_label {
	const char *name, *value; /* name: [a-zA-Z_][a-zA-Z0-9_]*; value: any UTF-8 */
};

/* A family of numbers: columns have names, rows (QPs, paths, hosts) are told apart by a label. */
struct weft_metrics {
	const char *prefix; /* "weft_"; characters not allowed in names become '_' */
	const char *const *names;
	size_t n_names;
	bool gauges;                     /* may fall; else counters, printed as NAME_total */
	const struct weft_label *labels; /* on every line */
	size_t n_labels;
	const char *row_label; /* NULL: rows have none, so there should be one row */
};

struct weft_metrics_row {
	const char *label;      /* value of row_label */
	const uint64_t *values; /* n_names */
};

/* Prometheus text format 0.0.4, which is OpenMetrics but for the closing "# EOF". */
int weft_prom_metrics(struct weft_sink *sink, const struct weft_metrics *metrics,
	const struct weft_metrics_row rows[], size_t n_rows);

/*
 * pcapng, little-endian, times in ns, link type IPV6: packets begin with their IPv6 header.
 * open, then every port once, then packets; ports are numbered in this order, from 0.
 */
struct weft_pcapng {
	struct weft_sink *sink;
	uint32_t ports;
	uint32_t snap_bytes; /* packets are cut here; 0: never.  Set before the first port */
};

enum weft_direction { WEFT_DIRECTION_UNKNOWN, WEFT_DIRECTION_IN, WEFT_DIRECTION_OUT };

struct weft_piece {
	const void *at;
	size_t len_bytes;
};

struct weft_capture {
	uint64_t at_ns; /* since 1970 */
	uint32_t port;
	enum weft_direction direction;
	const struct weft_piece *pieces; /* the packet: headers, payload, ... */
	size_t n_pieces;
	const char *comment; /* UTF-8; NULL: none */
};

/* program, comment: who writes it, and why; either may be NULL. */
int weft_pcapng_open(struct weft_pcapng *pcapng, struct weft_sink *sink, const char *program,
	const char *comment);
/* bits_per_s 0: not known. */
int weft_pcapng_port(struct weft_pcapng *pcapng, const char *name, uint64_t bits_per_s);
int weft_pcapng_packet(struct weft_pcapng *pcapng, const struct weft_capture *capture);

#ifdef __cplusplus
}
#endif
#endif
