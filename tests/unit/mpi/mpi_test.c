/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MPI here is a double: two or three ranks are threads, messages are copied through a list.  What
 * is tested is what mpi.c makes of MPI; tests/live/ranks.sh runs it over Open MPI.
 */
#include "check.h"

#include <mpi.h>
#include <pthread.h>
#include <weft/mpi.h>

enum { RANKS_MAX = 3, MESSAGES_MAX = 4096, REQUESTS_MAX = 4096 };

/* ---- the double ---- */

struct message {
	int from, to, tag, bytes;
	uint8_t *data;
	bool taken;
};
struct request {
	int from, tag, room;
	void *at;
	bool is_receive, done;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct message messages[MESSAGES_MAX];
	int n_messages, n_ranks, finalized, longest;
} world = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER };

static _Thread_local int own_rank;
static _Thread_local struct request requests[REQUESTS_MAX];
static _Thread_local int n_requests;

static MPI_Request request_new(struct request request)
{
	WEFT_ASSERT(n_requests < REQUESTS_MAX);
	requests[n_requests] = request;
	return (MPI_Request)(void *)&requests[n_requests++];
}

/* Takes the first message that fits; messages of one sender and tag keep their order. */
static bool request_try(struct request *r)
{
	for (int i = 0; i < world.n_messages && r->is_receive && !r->done; i++) {
		struct message *m = &world.messages[i];

		if (m->taken || m->to != own_rank || m->from != r->from || m->tag != r->tag)
			continue;
		WEFT_ASSERT(m->bytes <= r->room);
		memcpy(r->at, m->data, (size_t)m->bytes);
		free(m->data);
		m->taken = r->done = true;
	}
	return r->done;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	(void)argc;
	(void)argv;
	*provided = required;
	return MPI_SUCCESS;
}

int MPI_Finalize(void)
{
	(void)pthread_mutex_lock(&world.lock);
	world.finalized++;
	(void)pthread_mutex_unlock(&world.lock);
	return MPI_SUCCESS;
}

int MPI_Abort(MPI_Comm comm, int code)
{
	(void)comm;
	(void)code;
	abort();
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
	(void)comm;
	*rank = own_rank;
	return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
	(void)comm;
	*size = world.n_ranks;
	return MPI_SUCCESS;
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out)
{
	(void)key;
	(void)info;
	WEFT_ASSERT(type == MPI_COMM_TYPE_SHARED);
	*out = comm;
	return MPI_SUCCESS;
}

int MPI_Comm_free(MPI_Comm *comm)
{
	(void)comm;
	return MPI_SUCCESS;
}

int MPI_Isend(const void *at, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
	MPI_Request *request)
{
	(void)type;
	(void)comm;
	uint8_t *copy = malloc(n ? (size_t)n : 1);

	WEFT_ASSERT(copy);
	memcpy(copy, at, (size_t)n);
	(void)pthread_mutex_lock(&world.lock);
	WEFT_ASSERT(world.n_messages < MESSAGES_MAX);
	world.messages[world.n_messages++] = (struct message){
		.from = own_rank, .to = to, .tag = tag, .bytes = n, .data = copy
	};
	world.longest = WEFT_MAX(world.longest, n);
	(void)pthread_cond_broadcast(&world.more);
	(void)pthread_mutex_unlock(&world.lock);
	*request = request_new((struct request){ .done = true });
	return MPI_SUCCESS;
}

int MPI_Irecv(
	void *at, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
	(void)type;
	(void)comm;
	*request = request_new((struct request){
		.from = from, .tag = tag, .room = n, .at = at, .is_receive = true });
	return MPI_SUCCESS;
}

int MPI_Waitany(int n, MPI_Request list[], int *which, MPI_Status *status)
{
	(void)status;
	*which = -1;
	(void)pthread_mutex_lock(&world.lock);
	while (*which < 0) {
		for (int i = 0; i < n && *which < 0; i++) {
			if (list[i] != MPI_REQUEST_NULL &&
				request_try((struct request *)(void *)list[i]))
				*which = i;
		}
		if (*which < 0)
			(void)pthread_cond_wait(&world.more, &world.lock);
	}
	(void)pthread_mutex_unlock(&world.lock);
	list[*which] = MPI_REQUEST_NULL;
	return MPI_SUCCESS;
}

int MPI_Waitall(int n, MPI_Request list[], MPI_Status statuses[])
{
	(void)statuses;
	for (int i = 0; i < n; i++) {
		int which;

		if (list[i] != MPI_REQUEST_NULL)
			(void)MPI_Waitany(1, &list[i], &which, MPI_STATUS_IGNORE);
	}
	n_requests = 0;
	return MPI_SUCCESS;
}

/* ---- ranks as threads ---- */

struct part {
	int rank;
	void (*play)(struct part *part, const struct weft_sim_ranks *to);
	const char *wrong;
	bool is_good, was_cut;
	char error[300];
	pthread_t thread;
};

static void *part_thread(void *arg)
{
	struct part *part = arg;
	struct weft_mpi *ranks;

	own_rank = part->rank;
	n_requests = 0;
	WEFT_ASSERT(!weft_mpi_open(&ranks, part->error, sizeof(part->error)));
	if (part->play)
		part->play(part, weft_mpi_table(ranks));
	part->is_good = weft_mpi_close(ranks, part->wrong, part->error, sizeof(part->error));
	return NULL;
}

static void play_all(struct part parts[], int n)
{
	world.n_ranks = n;
	world.n_messages = world.finalized = world.longest = 0;
	for (int i = 0; i < n; i++) {
		parts[i].rank = i;
		REQUIRE(!pthread_create(&parts[i].thread, NULL, part_thread, &parts[i]));
	}
	for (int i = 0; i < n; i++)
		REQUIRE(!pthread_join(parts[i].thread, NULL));
	CHECK_EQ(world.finalized, n);
	for (int i = 0; i < world.n_messages; i++)
		CHECK(world.messages[i].taken);
}

static size_t length_of(uint32_t from, uint32_t to, uint32_t round)
{
	static const size_t lengths[] = { 0, 1, 8, 4079, 4080, 4081, 100000, 3000000 };

	return lengths[(from * 3 + to + round) % WEFT_COUNT(lengths)];
}

static void fill(uint8_t *at, size_t bytes, uint32_t seed)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)((i * 31 + seed * 7) ^ i >> 8);
}

static void talk(struct part *part, const struct weft_sim_ranks *to)
{
	static const uint32_t rounds = 9;
	uint8_t *data = malloc(RANKS_MAX * 3000000), *want = malloc(3000000);

	CHECK_EQ(to->rank, part->rank);
	CHECK_EQ(to->n, world.n_ranks);
	CHECK_EQ(to->here, world.n_ranks);
	for (uint32_t round = 0; round < rounds && data && want; round++) {
		struct weft_sim_letter out[RANKS_MAX] = { 0 }, in[RANKS_MAX] = { 0 };

		for (uint32_t i = 0; i < to->n; i++) {
			out[i].at = data + i * 3000000;
			out[i].bytes = length_of(to->rank, i, round);
			fill(data + i * 3000000, out[i].bytes, to->rank * 10 + i + round);
		}
		CHECK(to->exchange(to->user, out, in));
		CHECK(!in[to->rank].at);
		for (uint32_t i = 0; i < to->n; i++) {
			if (i == to->rank)
				continue;
			CHECK_EQ(in[i].bytes, length_of(i, to->rank, round));
			fill(want, in[i].bytes, i * 10 + to->rank + round);
			CHECK(!in[i].bytes || !memcmp(in[i].at, want, in[i].bytes));
			CHECK_EQ((uintptr_t)in[i].at % 8, 0);
		}
	}
	free(data);
	free(want);
}

TEST(weft_mpi_open__carries_letters_of_any_length)
{
	struct part parts[RANKS_MAX] = { { .play = talk }, { .play = talk }, { .play = talk } };

	play_all(parts, 3);
	for (int i = 0; i < 3; i++)
		CHECK(parts[i].is_good);
	CHECK_EQ(world.longest, 3000000 - 4080);
}

static void wait_for_others(struct part *part, const struct weft_sim_ranks *to)
{
	struct weft_sim_letter out[RANKS_MAX] = { 0 }, in[RANKS_MAX];

	part->was_cut = !to->exchange(to->user, out, in);
	CHECK(part->was_cut);
	CHECK(!to->exchange(to->user, out, in)); /* at once, and nothing is sent */
}

TEST(weft_mpi_close__tells_those_who_wait_what_is_wrong)
{
	struct part parts[RANKS_MAX] = { { .play = wait_for_others }, { .play = wait_for_others },
		{ .wrong = "no such file" } };

	play_all(parts, 3);
	for (int i = 0; i < 3; i++) {
		CHECK(!parts[i].is_good);
		CHECK_STR(parts[i].error, i < 2 ? "rank 2: no such file" : "no such file");
	}
	CHECK(parts[0].was_cut && parts[1].was_cut);
}

/* A word too many is no reason to repeat it: rank 0 speaks for all. */
TEST(weft_mpi_close__says_what_is_wrong_everywhere_once)
{
	struct part parts[2] = { { .wrong = "no fabric" }, { .wrong = "no fabric" } };

	play_all(parts, 2);
	CHECK(!parts[0].is_good && !parts[1].is_good);
	CHECK_STR(parts[0].error, "no fabric");
	CHECK_STR(parts[1].error, "rank 0: no fabric");
}

TEST(weft_mpi_close__notices_who_has_ended_too_soon)
{
	struct part parts[2] = { { .play = wait_for_others }, { 0 } };

	play_all(parts, 2);
	CHECK(!parts[0].is_good);
	CHECK_STR(parts[0].error, "another rank has ended before");
}
