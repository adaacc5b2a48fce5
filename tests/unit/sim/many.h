/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MANY_H
#define MANY_H
/*
 * many - one scenario by several ranks: each a thread with a simulation of its own, that knows of
 * the others by copies of their letters only; and everything that a run says, to be compared.
 */
#include "small.h"

enum { MANY_MAX = 8, MANY_LETTER_BYTES = 1 << 22 };

struct hub;
struct seat {
	struct hub *hub;
	struct weft_sim_ranks ranks;
	const struct weft_sim_letter *out; /* what it gives, while it is in exchange() */
	uint8_t *copies[MANY_MAX];
	uint64_t calls, gone_at; /* gone_at: this call and all later ones fail; 0: none */
	pthread_t thread;
	void (*work)(struct seat *seat, void *arg);
	void *arg;
};
struct hub {
	uint32_t n;
	pthread_barrier_t barrier;
	struct seat seats[MANY_MAX];
};

static inline bool hub_exchange(
	void *user, const struct weft_sim_letter out[], struct weft_sim_letter in[])
{
	struct seat *seat = (struct seat *)user;
	struct hub *hub = seat->hub;

	if (seat->gone_at && ++seat->calls >= seat->gone_at)
		return false;
	seat->out = out;
	(void)pthread_barrier_wait(&hub->barrier);
	for (uint32_t i = 0; i < hub->n; i++) {
		if (i == seat->ranks.rank)
			continue;
		const struct weft_sim_letter *letter = &hub->seats[i].out[seat->ranks.rank];

		WEFT_ASSERT(letter->bytes <= MANY_LETTER_BYTES);
		if (letter->bytes)
			memcpy(seat->copies[i], letter->at, letter->bytes);
		in[i] = (struct weft_sim_letter){ seat->copies[i], letter->bytes };
	}
	(void)pthread_barrier_wait(&hub->barrier);
	return true;
}

static inline void *hub_thread(void *arg)
{
	struct seat *seat = (struct seat *)arg;

	seat->work(seat, seat->arg);
	return NULL;
}

/* work() by n ranks at once; args[i] is for rank i. */
static inline void hub_run(
	uint32_t n, uint64_t gone_at, void (*work)(struct seat *, void *), void *args[])
{
	struct hub *hub = (struct hub *)calloc(1, sizeof(*hub));

	REQUIRE(hub);
	hub->n = n;
	REQUIRE(!pthread_barrier_init(&hub->barrier, NULL, n));
	for (uint32_t i = 0; i < n; i++) {
		struct seat *seat = &hub->seats[i];

		*seat = (struct seat){ .hub = hub,
			.ranks = { .rank = i,
				.n = n,
				.here = n,
				.user = seat,
				.exchange = hub_exchange },
			.gone_at = gone_at,
			.work = work,
			.arg = args[i] };
		for (uint32_t k = 0; k < n; k++)
			REQUIRE(seat->copies[k] = (uint8_t *)malloc(MANY_LETTER_BYTES));
	}
	for (uint32_t i = 0; i < n; i++)
		REQUIRE(!pthread_create(&hub->seats[i].thread, NULL, hub_thread, &hub->seats[i]));
	for (uint32_t i = 0; i < n; i++) {
		REQUIRE(!pthread_join(hub->seats[i].thread, NULL));
		for (uint32_t k = 0; k < n; k++)
			free(hub->seats[i].copies[k]);
	}
	(void)pthread_barrier_destroy(&hub->barrier);
	free(hub);
}

/* Everything that is said about a run, by one who looks on the way and at the end. */
struct outcome {
	struct small (*make)(void);
	uint32_t threads;
	uint64_t look_ps; /* stops there and looks; 0: runs through */
	struct weft_sim_tier tiers[8][WEFT_SIM_TIERS];
	struct weft_sim_plane planes[8];
	struct weft_path_info path;
	bool has_path;
	uint64_t paths, states[8][WEFT_SIM_PATH_STATES];
	struct weft_sim_totals totals;
	struct weft_counters counters;
	struct weft_hist messages;
	struct weft_sim_times times[64];
	uint64_t digests[64], group_bytes;
	uint32_t n, hosts, n_planes;
};

static inline void outcome_look(struct outcome *o, struct small *s)
{
	weft_sim_run(s->sim, o->look_ps, NULL, NULL);
	for (uint32_t i = 0; i < o->n_planes; i++) {
		weft_sim_queues(s->sim, i, o->tiers[i]);
		weft_sim_plane(s->sim, i, &o->planes[i]);
	}
	o->paths = weft_sim_paths(s->sim, o->states);
	o->has_path = s->n && weft_sim_flow_path(s->sim, s->n - 1, 1, &o->path);
	for (uint32_t host = 0; host < o->hosts; host += 2)
		o->group_bytes += small_counters(s->sim, host).rx_data_bytes;
	weft_sim_sum(s->sim, &o->group_bytes, 1);
}

/* ranks NULL: one process. */
static inline void outcome_find(struct outcome *o, const struct weft_sim_ranks *ranks)
{
	struct small s = o->make();

	s.config.threads = o->threads;
	s.config.ranks = ranks;
	o->hosts = weft_topo_shape(s.topo)->hosts;
	o->n_planes = weft_topo_shape(s.topo)->planes;
	o->n = s.n;
	small_open(&s);
	if (o->look_ps)
		outcome_look(o, &s);
	small_run(&s);
	weft_sim_messages(s.sim, &o->messages);
	weft_sim_gather(s.sim);
	o->totals = s.totals;
	o->counters = s.counters;
	for (uint32_t i = 0; i < s.n; i++)
		weft_sim_flow_times(s.sim, i, &o->times[i]);
	for (uint32_t i = 0; i < o->hosts; i++)
		o->digests[i] = weft_sim_host_digest(s.sim, i);
	small_close(&s);
}

static inline void outcome_by_rank(struct seat *seat, void *arg)
{
	outcome_find((struct outcome *)arg, &seat->ranks);
}

#endif
