/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PERF_H
#define PERF_H
/*
 * perf - what the two files of `weft perf` share: cmd_perf.c talks (options, peers, tables, JSON),
 * perf_run.c moves bytes and measures.
 */
#include <jansson.h>
#include <weft/base.h>
#include <weft/session.h>

#define PERF_QPS_MAX 64u
#define PERF_BYTES_MAX (UINT32_C(64) << 20)

enum perf_mode { PERF_BW, PERF_LAT };

struct perf_test { /* one line of the table */
	enum perf_mode mode;
	uint32_t bytes, qps, depth;
	uint64_t iterations; /* 0: run for duration_ns */
	uint64_t duration_ns;
	bool bidirectional, spin;
};

struct perf_end { /* this side of a session */
	struct weft_live *live;
	struct weft_session session;
	struct weft_mail mail;
	uint8_t *memory; /* tx half, then rx half, which the peer writes to */
	size_t half_bytes;
	uint32_t rkey, peer_rkey;
	uint64_t outstanding, writes_done, failed;
	uint64_t silence_ns; /* a peer not heard for so long is dead; perf_open(): 30 s */
	uint64_t heard_ns, heard_pkts;
	bool dead, gone; /* gone: dead because the other program ended */
	uint8_t why;     /* enum weft_status */
	json_t *message; /* the last one that came */
};

struct perf_result {
	uint64_t iterations, ns, cpu_ns, bytes, pkts, rtx, timeouts;
	struct weft_hist half_rtt; /* PERF_LAT: half of each round trip, ns */
};

/* Memory for both directions and its key; -1: error says why. */
int perf_open(struct perf_end *end, struct weft_live *live, size_t half_bytes, char *error,
	size_t error_bytes);
void perf_close(struct perf_end *end);
/* One turn of the pump; takes completions and mail.  wait_ns 0: polls. */
void perf_turn(struct perf_end *end, uint64_t wait_ns);
/* The next message within limit_ns, the caller's; NULL: none, or the connection died. */
json_t *perf_hear(struct perf_end *end, uint64_t limit_ns);
int perf_say(struct perf_end *end, const json_t *message);

/* The side that starts a test.  -1: the connection died. */
int perf_run(struct perf_end *end, const struct perf_test *test, struct perf_result *result);
/* The other side, until the peer says "stop"; its own sending goes into result. */
int perf_serve(struct perf_end *end, const struct perf_test *test, struct perf_result *result);

#endif
