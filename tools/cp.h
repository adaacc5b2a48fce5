/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CP_H
#define CP_H
/*
 * cp - what the files of `weft cp` share.
 *
 *   cp_send.c   file --mmap--> hashed, then written by RDMA, chunk by chunk, each with an immediate
 *   cp_recv.c   --> straight into the mapped destination; hashed behind the last chunk in order,
 *               where nobody can write any more
 *   cp_work.c   the second thread of either end: reserves space, reads or prepares pages ahead,
 *               hashes behind, waits for the disk
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
	char name[256];     /* final, within dir */
	char temporary[40]; /* a name that it has meanwhile, or "" */
};

/* How much of a file system those who send may take; see cp_file_room(). */
struct cp_limits {
	uint64_t max_bytes;       /* of one file; 0: any */
	uint64_t keep_free_bytes; /* what is left free, where has_keep_free; else a share */
	bool has_keep_free;
};

int cp_file_open(struct cp_file *file, const char *path, char *error, size_t error_bytes);
/* Whether a folder can be served at all: the kernel must be able to keep names inside of it. */
int cp_file_probe(int root, char *error, size_t error_bytes);
/* Whether a file of that size may be received. */
int cp_file_room(
	int root, const struct cp_limits *limits, uint64_t bytes, char *error, size_t error_bytes);
/* path: relative to the open directory `root`, and not to leave it by "..", "/" or a link.  The
 * file gets its name only in cp_file_keep(), and its space by cp_file_reserve(): until then its
 * bytes must not be touched. */
int cp_file_create(struct cp_file *file, int root, const char *path, uint64_t bytes, unsigned mode,
	char *error, size_t error_bytes);
/* Space for bytes from..to: 0, or an errno.  May take long. */
int cp_file_reserve(const struct cp_file *file, uint64_t from, uint64_t to);
/* The bytes are on the disk: 0, or an errno, of a write-back that failed before, too. */
int cp_file_sync(const struct cp_file *file);
int cp_file_keep(struct cp_file *file, char *error, size_t error_bytes);
void cp_file_close(struct cp_file *file); /* removes what was not kept */

/* ---- cp_work.c ---- */

enum cp_phase {
	CP_RESERVING, /* receiving: the file's bytes must not be touched yet */
	CP_HASHING,
	CP_HASHED, /* receiving: waits for cp_work_keep() */
	CP_KEEPING,
	CP_FINISHED, /* or failed: see error */
};

struct cp_work {
	struct cp_file *file;
	bool receiving;
	atomic_int phase;           /* enum cp_phase */
	char error[CP_TEXT_BYTES];  /* once finished: why it failed, or "" */
	atomic_uint_fast64_t ready; /* receiving: bytes in place from the start on */
	atomic_uint_fast64_t
		hashed; /* sending: these may be sent; receiving: all of ready in time */
	atomic_bool stop, keep;
	uint64_t prepared, reserved;
	EVP_MD_CTX *hash;
	uint8_t digest[CP_HASH_BYTES]; /* valid from CP_HASHED on */
	pthread_t thread;
	bool running;
};

int cp_work_start(struct cp_work *work, struct cp_file *file, bool receiving);
/* The received file is right: it goes to the disk, and gets its name. */
void cp_work_keep(struct cp_work *work);
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
	bool is_cut;                     /* no memory for more bins: all else goes on */
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

/*
 * Mail of a receiver: {"rkey"} once the file may be written, {"wait"} now and then as long as its
 * disk keeps it busy, and last {"sha256", "report"} or {"error"}.  Of a sender: {"sha256"}.
 */
struct cp_options {
	bool json, quiet, once;
	uint64_t bin_ns, silence_ns;
	uint32_t chunk_bytes;
	struct cp_limits limits; /* of a receiver */
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
