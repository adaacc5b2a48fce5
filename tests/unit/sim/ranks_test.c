/* SPDX-License-Identifier: BSD-2-Clause */
#include "many.h"

/* ---- scenarios ---- */

static struct small permutation(void)
{
	struct small s = small_make(SMALL_FOUR);

	small_permute(&s, 300000);
	return s;
}

/* Eight T0s, and fewer T1s than ranks may be; one of these loses power. */
static struct small eight(void)
{
	struct small s = small_make(
		"name: eight\nplanes: 2\nt0s: 8\nt1s: 4\nhosts: 16\n"
		"host_links: {speed: 100Gb/s, delay: 100ns}\n"
		"core_links: {speed: 100Gb/s, delay: 500ns}\n");

	small_permute(&s, 200000);
	s.faults[s.n_faults++] = (struct weft_sim_fault){ UINT64_C(4000000), WEFT_SIM_NODE_DOWN,
		weft_topo_t1(s.topo, 1, 2), 0 };
	return s;
}

/* Twelve to one, twelve more, a T1 that loses power and a host's port that comes back. */
static struct small rough(void)
{
	struct small s = small_make(SMALL_FOUR);

	CHECK(weft_sim_incast(s.topo, 12, 100000, 1, s.flows));
	for (uint32_t i = 0; i < 12; i++)
		s.flows[12 + i] = (struct weft_sim_flow){ .src = i,
			.dst = 15 - i % 3,
			.len_bytes = 200000,
			.start_ps = i * UINT64_C(3000000) };
	s.n = 24;
	s.faults[s.n_faults++] = (struct weft_sim_fault){ UINT64_C(9000000), WEFT_SIM_NODE_DOWN,
		weft_topo_t1(s.topo, 1, 2), 0 };
	s.faults[s.n_faults++] = (struct weft_sim_fault){ UINT64_C(12000000), WEFT_SIM_LINK_DOWN,
		weft_topo_link_find(s.topo, "h14.p2"), 0 };
	s.faults[s.n_faults++] = (struct weft_sim_fault){ UINT64_C(80000000), WEFT_SIM_LINK_UP,
		weft_topo_link_find(s.topo, "h14.p2"), 0 };
	s.faults[s.n_faults++] = (struct weft_sim_fault){ UINT64_C(2000000), WEFT_SIM_LINK_LOSS,
		weft_topo_link_find(s.topo, "h3.p1"), 20000 };
	s.faults[s.n_faults++] = (struct weft_sim_fault){ UINT64_C(5000000), WEFT_SIM_HOST_PAUSE,
		weft_topo_node_find(s.topo, "h7"), 0 };
	s.faults[s.n_faults++] = (struct weft_sim_fault){ UINT64_C(30000000), WEFT_SIM_HOST_RESUME,
		weft_topo_node_find(s.topo, "h7"), 0 };
	return s;
}

/* A ring all-reduce over all hosts: each step waits for what the neighbour has sent. */
static struct small all_reduce(void)
{
	static _Thread_local struct weft_sim_edge edges[35]; /* each rank has its own */
	struct small s = small_make(SMALL_ONE);

	for (uint32_t i = 0; i < 16; i++) {
		edges[2 * i] = (struct weft_sim_edge){ .flow = (i + 15) % 16, .lag = 1 };
		edges[2 * i + 1] = (struct weft_sim_edge){ .flow = i, .lag = 1 };
		s.flows[i] = (struct weft_sim_flow){ .src = i,
			.dst = (i + 1) % 16,
			.len_bytes = 20000,
			.repeats = 30,
			.after_first = 2 * i,
			.n_after = 2 };
	}
	/* One computes behind it, and tells a host of another pod. */
	edges[32] = (struct weft_sim_edge){ .flow = 1, .lag = WEFT_SIM_WHOLE };
	edges[33] = (struct weft_sim_edge){ .flow = 2, .lag = WEFT_SIM_WHOLE };
	edges[34] = (struct weft_sim_edge){ .flow = 16 };
	s.flows[16] = (struct weft_sim_flow){
		.src = 2, .dst = 2, .delay_ps = 3000000, .after_first = 32, .n_after = 2
	};
	s.flows[17] = (struct weft_sim_flow){ .src = 2,
		.dst = 13,
		.len_bytes = 1000,
		.after_first = 34,
		.n_after = 1,
		.told = true };
	s.n = 18;
	s.config.edges = edges;
	s.config.n_edges = 35;
	return s;
}

static struct small roce(void)
{
	struct small s = permutation();

	s.config.baseline.kind = WEFT_BASELINE_ROCE;
	s.config.baseline.qps = 2;
	s.config.discipline = WEFT_DISCIPLINE_DROP_TAIL;
	s.config.bgp_detect_ps = s.config.bgp_converge_ps = UINT64_C(20000000);
	s.flows[3].dst = s.flows[5].dst == 3 ? 1 : s.flows[5].dst;
	s.faults[s.n_faults++] = (struct weft_sim_fault){ UINT64_C(4000000), WEFT_SIM_NODE_DOWN,
		weft_topo_t1(s.topo, 0, 1), 0 };
	return s;
}

/* Pauses cross between ranks, and are no packets. */
static struct small lossless(void)
{
	struct small s = small_make(SMALL_ONE);

	s.config.baseline.kind = WEFT_BASELINE_ROCE;
	s.config.discipline = WEFT_DISCIPLINE_LOSSLESS;
	for (uint32_t i = 1; i < 16; i++)
		s.flows[s.n++] = (struct weft_sim_flow){ .src = i, .dst = 0, .len_bytes = 200000 };
	return s;
}

/* ---- the same by all ---- */

static void compare(const struct outcome *got, const struct outcome *want)
{
	CHECK(!got->totals.is_cut);
	CHECK_EQ(got->totals.digest, want->totals.digest);
	CHECK_EQ(got->totals.windows, want->totals.windows);
	CHECK_EQ(got->totals.now_ps, want->totals.now_ps);
	CHECK_EQ(got->totals.packet_hops, want->totals.packet_hops);
	CHECK_EQ(got->totals.lost, want->totals.lost);
	CHECK_EQ(got->totals.corrupt, want->totals.corrupt);
	CHECK_EQ(got->totals.trimmed, want->totals.trimmed);
	CHECK_EQ(got->totals.marked, want->totals.marked);
	CHECK_EQ(got->totals.flows_done, want->totals.flows_done);
	CHECK_EQ(got->totals.flows_failed, want->totals.flows_failed);
	CHECK_MEM(&got->counters, &want->counters, sizeof(want->counters));
	CHECK_MEM(&got->messages, &want->messages, sizeof(want->messages));
	CHECK_MEM(got->times, want->times, want->n * sizeof(want->times[0]));
	CHECK_MEM(got->digests, want->digests, want->hosts * sizeof(want->digests[0]));
	CHECK_MEM(got->tiers, want->tiers, want->n_planes * sizeof(want->tiers[0]));
	CHECK_MEM(got->planes, want->planes, want->n_planes * sizeof(want->planes[0]));
	CHECK_EQ(got->paths, want->paths);
	CHECK_MEM(got->states, want->states, sizeof(want->states));
	CHECK_EQ(got->has_path, want->has_path);
	CHECK_EQ(got->path.ev, want->path.ev);
	CHECK_EQ(got->path.sent, want->path.sent);
	CHECK_EQ(got->group_bytes, want->group_bytes);
}

static void by_ranks(const struct outcome *one, uint32_t ranks, uint32_t threads)
{
	static struct outcome many[MANY_MAX];
	void *args[MANY_MAX];

	for (uint32_t rank = 0; rank < ranks; rank++) {
		many[rank] = (struct outcome){
			.make = one->make, .threads = threads, .look_ps = one->look_ps
		};
		args[rank] = &many[rank];
	}
	hub_run(ranks, 0, outcome_by_rank, args);
	for (uint32_t rank = 0; rank < ranks; rank++)
		compare(&many[rank], one);
}

static void by_one(struct small (*make)(void), uint64_t look_ps, struct outcome *one)
{
	*one = (struct outcome){ .make = make, .threads = 1, .look_ps = look_ps };
	outcome_find(one, NULL);
	CHECK_EQ(one->totals.flows_done, one->n);
}

static void by_all(struct small (*make)(void), uint64_t look_ps, struct outcome *one)
{
	by_one(make, look_ps, one);
	by_ranks(one, 2, 1);
	by_ranks(one, 4, 1);
	by_ranks(one, 3, 1);
	by_ranks(one, 2, 2);
}

static struct outcome one;

TEST(weft_sim_run__is_the_same_by_ranks_in_a_permutation)
{
	by_all(permutation, 10000000, &one);
	CHECK(one.has_path && one.path.sent > 0 && one.group_bytes > 0);
	CHECK(one.paths > 0);
}

/* As many ranks as there are T0s; some have no T1. */
TEST(weft_sim_run__is_the_same_by_eight_ranks)
{
	by_one(eight, 20000000, &one);
	CHECK(one.paths > one.states[0][0] + one.states[1][0]); /* some of them are bad */
	by_ranks(&one, 8, 1);
	by_ranks(&one, 5, 1);
	by_ranks(&one, 8, 2);
}

TEST(weft_sim_run__is_the_same_by_ranks_where_much_goes_wrong)
{
	by_all(rough, 30000000, &one);
	CHECK(one.totals.trimmed > 0 && one.totals.lost > 0 && one.counters.paths_retired > 0);
	CHECK(one.tiers[0][2].waiting_max_bytes > 0);
}

TEST(weft_sim_run__is_the_same_by_ranks_where_flows_wait_for_each_other)
{
	by_all(all_reduce, 0, &one);
	CHECK_EQ(one.messages.n, 16 * 30 + 1);
	CHECK(one.times[17].arrived_ps > 0);
}

TEST(weft_sim_run__is_the_same_by_ranks_over_baselines)
{
	by_all(roce, 0, &one);
	CHECK(one.totals.lost > 0);
	by_all(lossless, 10000000, &one);
	CHECK_EQ(one.totals.lost, 0);
}

/* ---- what goes wrong ---- */

static void open_only(struct seat *seat, void *arg)
{
	struct small s = permutation();

	s.config.ranks = &seat->ranks;
	if (seat->ranks.rank == 1)
		s.config.paths = 0; /* this one was started with something else */
	CHECK(weft_sim_open(&s.sim, &s.config, s.flows, s.n, NULL, 0, s.error, sizeof(s.error)) <
		0);
	(void)snprintf((char *)arg, sizeof(s.error), "%s", s.error);
	weft_topo_close(s.topo);
}

TEST(weft_sim_open__says_which_rank_cannot)
{
	char errors[2][256];

	hub_run(2, 0, open_only, (void *[]){ errors[0], errors[1] });
	for (unsigned i = 0; i < 2; i++)
		CHECK_STR(errors[i], "rank 1: paths: 0, allowed is 4 (planes) to 512");
}

static void too_many(struct seat *seat, void *arg)
{
	struct small s = permutation();
	struct weft_sim_ranks ranks = seat->ranks;
	struct weft_sim_memory memory;

	ranks.n = 5;
	s.config.ranks = &ranks;
	(void)arg;
	CHECK(weft_sim_estimate(&s.config, s.flows, s.n, &memory, s.error, sizeof(s.error)) < 0);
	CHECK_STR(s.error, "ranks: 5, allowed is 1 to 4: each needs a T0 of every plane");
	weft_topo_close(s.topo);
}

static bool nobody(void *user, const struct weft_sim_letter out[], struct weft_sim_letter in[])
{
	const struct weft_sim_ranks *ranks = user;

	for (uint32_t i = 0; i < ranks->n; i++)
		in[i] = out[i]; /* all say what this one says */
	return true;
}

TEST(weft_sim_estimate__refuses_more_ranks_than_t0s)
{
	struct seat seat = { .ranks = { .n = 5, .exchange = nobody } };

	seat.ranks.user = &seat.ranks;
	too_many(&seat, NULL);
}

/* Memory for one's own: two ranks need about half each, and the machine's is shared. */
static void estimate(struct seat *seat, void *arg)
{
	struct small s = permutation();

	s.config.ranks = seat ? &seat->ranks : NULL;
	CHECK_EQ(weft_sim_estimate(&s.config, s.flows, s.n, (struct weft_sim_memory *)arg, s.error,
			 sizeof(s.error)),
		0);
	weft_topo_close(s.topo);
}

TEST(weft_sim_estimate__counts_own_hosts_and_switches)
{
	struct weft_sim_memory whole, half[2];

	estimate(NULL, &whole);
	hub_run(2, 0, estimate, (void *[]){ &half[0], &half[1] });
	for (unsigned i = 0; i < 2; i++) {
		CHECK(half[i].endpoints * 2 <= whole.endpoints + 4096);
		CHECK(half[i].switches < whole.switches);
		CHECK(half[i].packets * 2 <= whole.packets);
		CHECK(half[i].available == UINT64_MAX || half[i].available < whole.available);
	}
	CHECK_MEM(&half[0], &half[1], sizeof(half[0]));
}

/* An exchange that fails ends the run; nobody waits. */
static void be_cut_off(struct seat *seat, void *arg)
{
	struct small s = permutation();

	s.config.ranks = &seat->ranks;
	small_open(&s);
	weft_sim_run(s.sim, UINT64_C(100000000000), NULL, NULL);
	weft_sim_totals(s.sim, &s.totals);
	weft_sim_gather(s.sim);
	*(struct weft_sim_totals *)arg = s.totals;
	small_close(&s);
}

TEST(weft_sim_run__ends_where_a_rank_is_gone)
{
	struct weft_sim_totals totals[2];

	hub_run(2, 20, be_cut_off, (void *[]){ &totals[0], &totals[1] });
	for (unsigned i = 0; i < 2; i++) {
		CHECK(totals[i].flows_done < 16);
		CHECK(totals[i].is_cut);
		CHECK(totals[i].windows > 5 && totals[i].windows < 20);
	}
}

TEST(weft_sim_gather__has_nothing_to_do_alone)
{
	struct small s = permutation();
	uint64_t value = 7;

	small_run(&s);
	uint64_t last_ps = small_last_ps(&s);

	weft_sim_gather(s.sim);
	weft_sim_sum(s.sim, &value, 1);
	CHECK_EQ(small_last_ps(&s), last_ps);
	CHECK_EQ(value, 7);
	small_close(&s);
}
