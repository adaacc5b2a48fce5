/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CP_H
#define CP_H
/*
 * cp - what the files of `weft cp` share.
 *
 *   cp_send.c   file --mmap--> hashed, then written by RDMA, chunk by chunk, each with an immediate
 *   cp_recv.c   --> straight into the mapped destination; hashed behind the last chunk in order
 *   cp_work.c   the second thread of either end: reads or prepares pages ahead, hashes behind
 *   cp_file.c   names, temporary files, mappings, what may be written where
 *   cp_series.c when bytes arrived, the longest stall, the machine's own gaps
 */
#include <jansson.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <weft/base.h>
#include <weft/session.h>

#include "term.h"

#define CP_HASH_BYTES 32
#define CP_CHUNK_BYTES (1u << 20)
#define CP_TEXT_BYTES 512 /* of an error message */

/* ---- cp_file.c ---- */

struct cp_file {
	int fd, dir;   /* dir: of a file being received */
	uint8_t *data; /* mapped; NULL where the file is empty */
	uint64_t bytes;
	char name[256];      /* final, within dir */
	char temporary[300]; /* a name that it has meanwhile, or "" */
};

int cp_file_open(struct cp_file *file, const char *path, char *error, size_t error_bytes);
/* path: relative to the open directory `root`, and not to leave it by "..", "/" or a link.  The
 * file gets its name only in cp_file_keep(). */
int cp_file_create(struct cp_file *file, int root, const char *path, uint64_t bytes, unsigned mode,
	char *error, size_t error_bytes);
int cp_file_keep(struct cp_file *file, char *error, size_t error_bytes);
void cp_file_close(struct cp_file *file); /* removes what was not kept */

/* ---- cp_work.c ---- */

struct cp_work {
	const struct cp_file *file;
	bool receiving;
	atomic_uint_fast64_t ready; /* receiving: bytes in place from the start on */
	atomic_uint_fast64_t
		hashed; /* sending: these may be sent; receiving: all of ready in time */
	atomic_bool stop;
	uint64_t prepared;
	EVP_MD_CTX *hash;
	uint8_t digest[CP_HASH_BYTES]; /* valid once hashed == file->bytes and it has been joined */
	pthread_t thread;
	bool running;
};

int cp_work_start(struct cp_work *work, const struct cp_file *file, bool receiving);
void cp_work_end(struct cp_work *work, bool abandon); /* waits for the rest, or gives up */
void cp_hex(const uint8_t digest[CP_HASH_BYTES], char text[2 * CP_HASH_BYTES + 1]);

/* ---- cp_series.c ---- */

#define CP_GAPS_MAX 4096u
#define CP_GAP_NS 1000000 /* a turn that comes later than this was held up by the machine */

struct cp_gap {
	uint64_t at_ns, ns;
};

struct cp_series {
	uint64_t bin_ns, start_ns, last_ns; /* first and last arrival */
	uint64_t bytes;
	uint64_t *bins; /* cumulative bytes at the end of each bin since start_ns */
	size_t n, room;
	struct cp_gap stall;             /* the longest time between two arrivals */
	struct cp_gap gaps[CP_GAPS_MAX]; /* of this process: it was not run in time */
	uint32_t n_gaps, lost_gaps;
};

void cp_series_begin(struct cp_series *series, uint64_t bin_ns);
/* After each turn: what has arrived in all, when; late_ns as in struct weft_pump_stats. */
void cp_series_add(struct cp_series *series, uint64_t bytes, uint64_t now, uint64_t late_ns);
json_t *cp_series_json(const struct cp_series *series);
void cp_series_end(struct cp_series *series);

/* ---- both ends ---- */

struct cp_options {
	bool json, quiet, once;
	uint64_t bin_ns, silence_ns;
	uint32_t chunk_bytes;
};

struct cp_events { /* what the engine has told so far, as JSON */
	json_t *list;
	uint64_t seq;
};
void cp_events_take(struct cp_events *events, struct weft_live *live);
/* Counters, paths and events of an endpoint. */
json_t *cp_state_json(struct weft_live *live, uint32_t set, const struct cp_events *events);

/* Exit statuses as in verbs.h; what went wrong has been told on stderr. */
int cp_send(struct weft_live *live, const struct cp_options *options, uint16_t tcp_port,
	const char *path, const char *host, const char *name);
int cp_serve(struct weft_live *live, const struct cp_options *options, uint16_t tcp_port,
	const char *folder);

#endif
