/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpi - letters between all ranks at once.
 *
 * Nobody knows how long a letter will be, and asking first would cost a second way.  So each
 * letter has a first part, which says how long it is and has the beginning of it, for which its
 * receiver waits already; the rest goes behind it without being asked for, straight from where it
 * lies.  Most letters of a simulation that is nearly idle are a first part only.
 *
 * A rank that gives up takes part in one more exchange, whatever the others are doing: its first
 * parts say goodbye.  So every rank has made the same number of exchanges when all know.
 */
#include <weft/base.h>
#include <weft/mpi.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 4096, HEAD_BYTES = 16, TAG_FIRST = 1, TAG_REST = 2 };
#define PIECE_BYTES (UINT64_C(1) << 30) /* MPI counts in ints */

struct first {
	uint64_t bytes;   /* of the whole letter */
	uint32_t is_last; /* goodbye: what is in it is a text, or nothing */
	uint32_t reserved;
	uint8_t begin[FIRST_BYTES - HEAD_BYTES];
};
_Static_assert(offsetof(struct first, begin) == HEAD_BYTES, "what is always sent");

struct peer {
	struct first in, out;
	uint8_t *letter;
	uint64_t room;
};

struct weft_mpi {
	struct weft_sim_ranks to;
	struct peer *peers;
	MPI_Request *requests; /* first parts that come, by rank; then all others */
	uint32_t n_requests, requests_room;
	bool is_cut;
	char wrong[300]; /* what was said by the first rank that gave up; "": nothing */
};

static void *grow(void *at, uint64_t bytes)
{
	void *more = realloc(at, bytes);

	if (!more) {
		(void)fprintf(stderr, "ranks: out of memory for a letter of %llu bytes\n",
			(unsigned long long)bytes);
		(void)MPI_Abort(MPI_COMM_WORLD, 1);
		abort();
	}
	return more;
}

static MPI_Request *new_request(struct weft_mpi *r)
{
	if (r->n_requests == r->requests_room) {
		r->requests_room *= 2;
		r->requests = grow(r->requests, r->requests_room * sizeof(*r->requests));
	}
	r->requests[r->n_requests] = MPI_REQUEST_NULL;
	return &r->requests[r->n_requests++];
}

/* ---- one exchange ---- */

static void expect(struct weft_mpi *r, uint32_t rank)
{
	if (rank != r->to.rank)
		(void)MPI_Irecv(&r->peers[rank].in, FIRST_BYTES, MPI_BYTE, (int)rank, TAG_FIRST,
			MPI_COMM_WORLD, &r->requests[rank]);
}

static void send(
	struct weft_mpi *r, uint32_t rank, const struct weft_sim_letter *letter, bool is_last)
{
	struct first *first = &r->peers[rank].out;
	uint64_t sent = WEFT_MIN((uint64_t)letter->bytes, (uint64_t)sizeof(first->begin));

	first->bytes = letter->bytes;
	first->is_last = is_last;
	first->reserved = 0;
	if (sent)
		memcpy(first->begin, letter->at, sent);
	(void)MPI_Isend(first, (int)(HEAD_BYTES + sent), MPI_BYTE, (int)rank, TAG_FIRST,
		MPI_COMM_WORLD, new_request(r));
	while (sent < letter->bytes) {
		uint64_t piece = WEFT_MIN(letter->bytes - sent, PIECE_BYTES);

		(void)MPI_Isend((const uint8_t *)letter->at + sent, (int)piece, MPI_BYTE, (int)rank,
			TAG_REST, MPI_COMM_WORLD, new_request(r));
		sent += piece;
	}
}

/* A first part has come: what is behind it? */
static void receive_rest(struct weft_mpi *r, uint32_t rank)
{
	struct peer *peer = &r->peers[rank];
	uint64_t got = WEFT_MIN(peer->in.bytes, (uint64_t)sizeof(peer->in.begin));

	if (peer->in.bytes > peer->room) {
		peer->room = peer->in.bytes + peer->in.bytes / 4;
		peer->letter = grow(peer->letter, peer->room);
	}
	if (got)
		memcpy(peer->letter, peer->in.begin, got);
	while (got < peer->in.bytes) {
		uint64_t piece = WEFT_MIN(peer->in.bytes - got, PIECE_BYTES);

		(void)MPI_Irecv(peer->letter + got, (int)piece, MPI_BYTE, (int)rank, TAG_REST,
			MPI_COMM_WORLD, new_request(r));
		got += piece;
	}
}

/* Somebody has said goodbye: the others end, too. */
static void hear_goodbyes(struct weft_mpi *r)
{
	for (uint32_t i = 0; i < r->to.n; i++) {
		const struct peer *peer = &r->peers[i];

		if (i == r->to.rank || !peer->in.is_last)
			continue;
		r->is_cut = true;
		if (peer->in.bytes && !*r->wrong)
			(void)snprintf(r->wrong, sizeof(r->wrong), "rank %u: %.*s", (unsigned)i,
				(int)WEFT_MIN(peer->in.bytes, UINT64_C(250)),
				(const char *)peer->letter);
	}
}

static void exchange_all(struct weft_mpi *r, const struct weft_sim_letter out[], bool is_last)
{
	uint32_t n = r->to.n, me = r->to.rank;

	r->n_requests = 0;
	for (uint32_t i = 0; i < n; i++)
		(void)new_request(r);
	for (uint32_t i = 0; i < n; i++)
		expect(r, i);
	for (uint32_t i = 1; i < n; i++)
		send(r, (me + i) % n, &out[(me + i) % n], is_last);
	for (uint32_t i = 1; i < n; i++) {
		int rank = 0;

		(void)MPI_Waitany((int)n, r->requests, &rank, MPI_STATUS_IGNORE);
		WEFT_ASSERT(rank >= 0 && (uint32_t)rank < n);
		receive_rest(r, (uint32_t)rank);
	}
	(void)MPI_Waitall((int)r->n_requests, r->requests, MPI_STATUSES_IGNORE);
	hear_goodbyes(r);
}

static bool exchange(void *user, const struct weft_sim_letter out[], struct weft_sim_letter in[])
{
	struct weft_mpi *r = user;

	if (r->is_cut)
		return false;
	exchange_all(r, out, false);
	if (r->is_cut && !*r->wrong)
		(void)snprintf(r->wrong, sizeof(r->wrong), "another rank has ended before");
	for (uint32_t i = 0; i < r->to.n; i++) {
		if (i != r->to.rank)
			in[i] = (struct weft_sim_letter){ r->peers[i].letter,
				r->peers[i].in.bytes };
	}
	return !r->is_cut;
}

/* ---- a life ---- */

static uint32_t ranks_here(void)
{
	MPI_Comm here;
	int n = 1;

	if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here))
		return 1;
	(void)MPI_Comm_size(here, &n);
	(void)MPI_Comm_free(&here);
	return (uint32_t)n;
}

int weft_mpi_open(struct weft_mpi **out, char *error, size_t error_bytes)
{
	struct weft_mpi *r = calloc(1, sizeof(*r));
	int level, rank, n;

	*out = NULL;
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) ||
		level < MPI_THREAD_FUNNELED) {
		(void)snprintf(error, error_bytes, "this MPI cannot be used beside threads");
		free(r);
		return -1;
	}
	(void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	(void)MPI_Comm_size(MPI_COMM_WORLD, &n);
	if ((uint32_t)n > WEFT_SIM_RANKS_MAX || !r) {
		(void)snprintf(
			error, error_bytes, "ranks: %d, allowed is 1 to %u", n, WEFT_SIM_RANKS_MAX);
		(void)MPI_Finalize();
		free(r);
		return -1;
	}
	r->to = (struct weft_sim_ranks){ .rank = (uint32_t)rank,
		.n = (uint32_t)n,
		.here = ranks_here(),
		.user = r,
		.exchange = exchange };
	r->peers = grow(NULL, (uint32_t)n * sizeof(*r->peers));
	memset(r->peers, 0, (uint32_t)n * sizeof(*r->peers));
	r->requests_room = 4 * (uint32_t)n;
	r->requests = grow(NULL, r->requests_room * sizeof(*r->requests));
	*out = r;
	return 0;
}

const struct weft_sim_ranks *weft_mpi_table(const struct weft_mpi *ranks)
{
	return &ranks->to;
}

bool weft_mpi_close(struct weft_mpi *r, const char *wrong, char *error, size_t error_bytes)
{
	struct weft_sim_letter out[WEFT_SIM_RANKS_MAX];
	bool was_cut = r->is_cut;

	for (uint32_t i = 0; i < r->to.n; i++)
		out[i] = (struct weft_sim_letter){ wrong, wrong ? strlen(wrong) : 0 };
	if (!was_cut)
		exchange_all(r, out, true);
	/* Whoever was cut off by another one has its reason from there; and what is wrong
	 * everywhere is wrong at rank 0, and needs no number.
	 */
	bool is_first = wrong && !was_cut && (!*r->wrong || !r->to.rank);
	bool is_good = !wrong && !*r->wrong;

	if (is_first)
		(void)snprintf(error, error_bytes, "%s", wrong);
	else if (!is_good)
		(void)snprintf(error, error_bytes, "%s", r->wrong);
	(void)MPI_Finalize();
	for (uint32_t i = 0; i < r->to.n; i++)
		free(r->peers[i].letter);
	free(r->peers);
	free(r->requests);
	free(r);
	return is_good;
}
