/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LOAD_LOCAL_H
#define LOAD_LOCAL_H
/*
 * What the files of load share.
 *
 *   spec.c      text to values            workload_place.c      ranks to hosts
 *   workload_load.c      flows, edges, jobs        workload_ideal.c      the bound
 *   simple.c    flows on their own        collective.c ring, tree, doubling, all-to-all
 *   train.c     a step of training        poisson.c    flows that come by themselves
 *   reader.c    lines and words           goal.c goal_link.c cm.c topofile.c simai.c  formats
 */
#include <weft/base.h>
#include <weft/workload.h>

#include <stddef.h>

#define NONE UINT32_MAX

/* ---- reader.c: a text in lines of words ---- */

enum { WORDS_MAX = 64 };
#define FILE_BYTES_MAX (UINT64_C(1) << 30)

struct reader {
	const char *name;
	char *text; /* own copy; words point into it */
	size_t at, bytes;
	uint32_t line;
	char *words[WORDS_MAX];
	uint32_t n;
	char *error;
	size_t error_bytes;
};
bool reader_open(struct reader *reader, const char *name, const char *text, size_t bytes,
	char *error, size_t error_bytes);
void reader_close(struct reader *reader);
bool reader_next(
	struct reader *reader); /* the next line that has words; false: the end, or error */
/* Always false; "NAME:LINE: what". */
bool reader_fail(struct reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Of this line; what: for the error. */
bool reader_number(
	struct reader *reader, const char *what, const char *word, uint64_t max, uint64_t *value);
/* Whole of a file, malloc'ed, ended by 0; NULL: error. */
char *reader_load(const char *path, size_t *bytes, char *error, size_t error_bytes);
bool text_fail(char *error, size_t error_bytes, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- workload_load.c ---- */

/* One job while it is put together. */
struct build {
	struct weft_workload *load;
	const struct weft_topo *topo;
	const struct weft_workload_spec *spec;
	uint32_t *hosts; /* [rank] */
	uint32_t n;      /* ranks */
	uint32_t *tails; /* [rank]: the flow that the next one waits for; NONE */
	uint32_t step;
	struct weft_rng rng;
	uint32_t parts;  /* of the send just added */
	uint32_t line;   /* of a file: what is added stands there; 0: nowhere */
	uint32_t *lines; /* [flow of this job]: the same */
	uint32_t first, n_lines_max;
	bool is_too_long; /* more messages than a flow can have */
	char *error;
	size_t error_bytes;
};
/*
 * From host to host; its number.  More bytes than a message can have are several of the same size,
 * in parts: repetitions of one flow.  What waits for all of it waits for WEFT_SIM_WHOLE.
 */
uint32_t build_send(struct build *b, uint32_t src, uint32_t dst, uint64_t bytes);
/*
 * The send just added comes so many times, and computes for delay_ps each time: a part for its
 * share of it.
 */
void build_repeat(struct build *b, uint32_t times, uint64_t delay_ps);
/*
 * The send just added follows another one of as many bytes: each part of a repetition begins after
 * the same part of the other's, `times` repetitions before.
 */
void build_in_step(struct build *b, uint32_t flow, uint32_t times);
uint32_t build_compute(struct build *b, uint32_t host, uint64_t ps);
void build_after(struct build *b, uint32_t flow, uint32_t lag); /* for the one just added */
void build_tail(struct build *b, uint32_t rank); /* the same: after the rank's tail */
/* The rank computes for ps (0: it only waits) and that is its new tail. */
void build_step(struct build *b, uint32_t rank, uint64_t ps);
bool build_fail(struct build *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct weft_sim_flow *build_last(struct build *b); /* the one just added */
/* A number of flows that are about to come; false: too many. */
bool build_fits(struct build *b, uint64_t flows);

/* ---- workload_place.c ---- */

bool place_ranks(struct build *b, uint32_t wanted); /* wanted 0: all of spec.hosts */

/* ---- loads ---- */

bool simple_add(struct build *b);
bool poisson_add(struct build *b);
bool training_add(struct build *b);

enum ring_kind { RING_ALLREDUCE, RING_HALF };
/* A collective of some ranks: first, first + stride, ...; waits for tails and leaves new ones. */
struct group {
	uint32_t first, stride, n;
};
bool collective_add(struct build *b);
void collective_ring(struct build *b, const struct group *g, uint64_t bytes, enum ring_kind kind);
void collective_tree(struct build *b, const struct group *g, uint64_t bytes, uint32_t pieces);
void collective_broadcast(struct build *b, const struct group *g, uint64_t bytes, uint32_t pieces);
void collective_doubling(struct build *b, const struct group *g, uint64_t bytes);
void collective_exchange(struct build *b, const struct group *g, uint64_t bytes, uint32_t window);

bool goal_add(struct build *b, struct reader *reader);
bool cm_add(struct build *b, struct reader *reader);
bool simai_add(struct build *b, struct reader *reader);

/* ---- goal.c to goal_link.c ---- */

#define GOAL_ANY UINT32_MAX
enum goal_kind { GOAL_CALC, GOAL_SEND, GOAL_RECV };
struct goal_op {
	uint64_t amount; /* bytes, or ns */
	uint64_t tag;
	uint32_t rank, peer, line; /* peer: of a receive, maybe GOAL_ANY */
	uint32_t flow;             /* what its requirers wait for */
	uint32_t begun; /* what those wait for that only want it to have begun; NONE: nobody does */
	uint8_t kind;
	bool is_watched; /* somebody waits for its beginning */
};
struct goal_need {
	uint32_t op, on;
	bool only_begun;
};
struct goal {
	struct goal_op *ops;
	uint32_t n, n_max;
	struct goal_need *needs;
	uint32_t n_needs, n_needs_max;
};
bool goal_link(struct build *b, struct reader *reader, struct goal *goal);

/* Doubles an array when it is full.  False: out of memory. */
bool array_grow(void *array, uint32_t n, uint32_t *n_max, size_t bytes);

#endif
