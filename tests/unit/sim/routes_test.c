/* SPDX-License-Identifier: BSD-2-Clause */
#include "small.h"

#define US UINT64_C(1000000)

static struct small make(const char *fabric)
{
	struct small s = small_make(fabric);

	s.config.baseline.kind = WEFT_BASELINE_ROCE;
	s.config.discipline = WEFT_DISCIPLINE_DROP_TAIL;
	s.config.bgp_detect_ps = 50 * US;
	s.config.bgp_converge_ps = 100 * US;
	return s;
}

static void fault(struct small *s, uint64_t at_us, enum weft_sim_fault_kind kind, uint32_t where)
{
	s->faults[s->n_faults++] = (struct weft_sim_fault){
		.at_ps = at_us * US, .kind = (uint8_t)kind, .where = where
	};
}

/* What each lane knows at that time. */
static void go_to(struct small *s, uint64_t at_us)
{
	s->sim->lanes[0].start_ps = WEFT_SIM_START_PS + at_us * US;
	routes_advance(&s->sim->lanes[0]);
}

static bool is_dead(const struct small *s, bool is_far, uint32_t link)
{
	return s->sim->lanes[0].dead[is_far][link / 64] >> link % 64 & 1;
}

TEST(routes_advance__lets_neighbours_know_before_the_others)
{
	struct small s = make(SMALL_ONE);
	uint32_t link = weft_topo_link_find(s.topo, "p0.t0-1:t1-2");

	fault(&s, 10, WEFT_SIM_LINK_DOWN, link);
	fault(&s, 500, WEFT_SIM_LINK_UP, link);
	small_open(&s);
	go_to(&s, 59);
	CHECK(!is_dead(&s, false, link) && !is_dead(&s, true, link));
	go_to(&s, 60);
	CHECK(is_dead(&s, false, link) && !is_dead(&s, true, link));
	go_to(&s, 160);
	CHECK(is_dead(&s, true, link));
	CHECK_EQ(s.sim->lanes[0].n_dead, 2);
	go_to(&s, 550);
	CHECK(!is_dead(&s, false, link) && is_dead(&s, true, link));
	go_to(&s, 650);
	CHECK_EQ(s.sim->lanes[0].n_dead, 0);
	small_close(&s);
}

TEST(routes_make__does_not_announce_what_was_mended_in_time)
{
	struct small s = make(SMALL_ONE);
	uint32_t link = weft_topo_link_find(s.topo, "p0.t0-1:t1-2");

	fault(&s, 10, WEFT_SIM_LINK_DOWN, link);
	fault(&s, 40, WEFT_SIM_LINK_UP, link);
	small_open(&s);
	CHECK_EQ(s.sim->n_route_changes, 0);
	small_close(&s);
}

/* As the first lane sees it, from host 0. */
static uint32_t path_to_15(const struct small *s, uint32_t plane, uint32_t hash, uint8_t *port)
{
	struct route_asker asker = { .lane = &s->sim->lanes[0] };

	return routes_path(&asker, 15, plane, hash, port);
}

/* A switch that freezes says nothing: all its links are noticed one by one. */
TEST(routes_make__withdraws_all_links_of_a_frozen_switch)
{
	struct small s = make(SMALL_ONE);

	fault(&s, 10, WEFT_SIM_NODE_FREEZE, weft_topo_t1(s.topo, 0, 1));
	small_open(&s);
	go_to(&s, 200);
	CHECK_EQ(s.sim->lanes[0].n_dead, 2 * 4);
	for (uint32_t i = 0; i < 1000; i++) {
		uint8_t port;
		uint32_t ev = path_to_15(&s, WEFT_BASELINE_ANY_PLANE, i, &port);

		CHECK(weft_ev_uplink(ev) != 1 && weft_ev_uplink(ev) < 4);
	}
	small_close(&s);
}

/* Hashes spread evenly over planes and uplinks: 4,000 over 16 paths, within five sigma. */
TEST(routes_path__spreads_evenly)
{
	struct small s = make(SMALL_FOUR);
	uint32_t counts[16] = { 0 };

	small_open(&s);
	for (uint32_t i = 0; i < 4000; i++) {
		uint8_t port;
		uint32_t ev = path_to_15(&s, WEFT_BASELINE_ANY_PLANE, i * 2654435761u, &port);

		CHECK_EQ(port, weft_ev_plane(ev));
		counts[weft_ev_plane(ev) * 4 + weft_ev_uplink(ev)]++;
	}
	for (unsigned i = 0; i < 16; i++)
		CHECK(counts[i] > 250 - 80 && counts[i] < 250 + 80);
	small_close(&s);
}

/* A plane that does not lead there is said to; any plane always gives a path. */
TEST(routes_path__knows_planes_that_lead_nowhere)
{
	struct small s = make(SMALL_FOUR);
	uint8_t port;

	for (uint32_t plane = 0; plane < 4; plane++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "h15.p%u", (unsigned)plane);
		fault(&s, 10 + 1000 * (plane == 3), WEFT_SIM_LINK_DOWN,
			weft_topo_link_find(s.topo, name));
	}
	small_open(&s);
	go_to(&s, 200);
	CHECK_EQ(path_to_15(&s, 1, 5, &port), WEFT_BASELINE_NO_PATH);
	for (uint32_t i = 0; i < 100; i++)
		CHECK_EQ(weft_ev_plane(path_to_15(&s, WEFT_BASELINE_ANY_PLANE, i, &port)), 3);
	go_to(&s, 2000);
	CHECK(path_to_15(&s, WEFT_BASELINE_ANY_PLANE, 9, &port) != WEFT_BASELINE_NO_PATH);
	small_close(&s);
}

/*
 * The black hole: flows hashed on a dead T1 lose everything until routes change, the others do not
 * notice.  With 50 us to detect at the sender's side and 100 more to tell the others, all are done
 * within a timeout after that.
 */
TEST(routes_path__lets_flows_on_dead_paths_lose_all_until_then)
{
	struct small s = make(SMALL_ONE);
	uint32_t late = 0, quick = 0;

	fault(&s, 2, WEFT_SIM_NODE_FREEZE, weft_topo_t1(s.topo, 0, 1));
	small_permute(&s, 100000);
	small_run(&s);
	CHECK_EQ(s.totals.flows_done, 16);
	for (uint32_t i = 0; i < 16; i++) {
		uint64_t ps = weft_sim_flow_ps(s.sim, i);

		late += ps > 500 * US; /* a timer, at least */
		quick += ps < 100 * US;
		CHECK(ps < 1500 * US);
	}
	CHECK(late >= 1 && quick >= 4 && s.totals.lost > 0);
	small_close(&s);
}
