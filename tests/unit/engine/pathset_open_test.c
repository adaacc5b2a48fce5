/* SPDX-License-Identifier: BSD-2-Clause */
#include "hand.h"

static const uint32_t evs[] = { 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 };
static const uint32_t same[] = { 10, 11, 12, 10 };
static const uint8_t ports[] = { 0, 1, 2, 0, 1, 2, 0, 1, 2, 0 };
static const uint8_t beyond[] = { 0, 1, 8 };

TEST(weft_pathset_open__refuses_what_cannot_be)
{
	static const struct {
		struct weft_pathset_attr attr;
		int want;
	} rows[] = {
		{ { .evs = evs, .ports = ports, .n = 0 }, WEFT_EINVAL },
		{ { .evs = evs, .ports = ports, .n = 257 }, WEFT_EINVAL },
		{ { .evs = evs, .ports = ports, .n = 3, .active = 4 }, WEFT_EINVAL },
		{ { .evs = same, .ports = ports, .n = 4 }, WEFT_EINVAL },
		{ { .evs = evs, .ports = beyond, .n = 3 }, WEFT_EINVAL },
		{ { .evs = evs, .ports = ports, .n = 1 }, 0 },
		{ { .evs = evs, .ports = ports, .n = 10, .active = 10 }, 0 },
		{ { .evs = evs, .ports = ports, .n = 10 }, 0 },
		{ { .evs = evs, .ports = ports, .n = 10 }, WEFT_EFULL }, /* the world has one */
	};
	struct world w = { 0 };
	uint32_t set;

	hand_open(&w, 16, 16);
	for (uint32_t i = 0; i < WEFT_COUNT(rows); i++) {
		if (weft_pathset_open(w.end[0], &rows[i].attr, &set) != rows[i].want)
			CHECK_FAIL("row %u", i);
		weft_check(w.end[0]);
	}
	world_close(&w);
}

TEST(weft_pathset_open__shares_are_equal_and_the_rest_waits)
{
	static const struct {
		uint32_t n, active, per_plane[3], floor;
	} rows[] = {
		{ 10, 0, { 4, 3, 3 }, 3 },
		{ 10, 6, { 2, 2, 2 }, 3 },
		{ 10, 7, { 3, 3, 3 }, 3 },
		{ 10, 1, { 1, 1, 1 }, 3 },
		{ 2, 0, { 1, 1, 0 }, 2 },
		{ 10, 10, { 4, 3, 3 }, 3 },
	};
	struct world w = { 0 };

	hand_open(&w, 16, 16);
	for (uint32_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_pathset_attr attr = {
			.evs = evs, .ports = ports, .n = rows[i].n, .active = rows[i].active
		};
		uint32_t set, got[3] = { 0 };
		struct weft_path_info info;

		CHECK_EQ(weft_pathset_open(w.end[0], &attr, &set), 0);
		weft_check(w.end[0]);
		for (uint32_t p = 0; !weft_path_info(w.end[0], set, p, &info); p++) {
			CHECK_EQ(info.ev, evs[p]);
			CHECK_EQ(info.port, ports[p]);
			CHECK_EQ(info.state, WEFT_PATH_GOOD);
			got[info.port] += info.active;
		}
		for (int p = 0; p < 3; p++)
			CHECK_EQ(got[p], rows[i].per_plane[p]);
		CHECK_EQ(w.end[0]->sets[set].active_min, rows[i].floor);
		CHECK_EQ(weft_pathset_close(w.end[0], set), 0);
		CHECK_EQ(weft_pathset_close(w.end[0], set), WEFT_ENOENT);
	}
	world_close(&w);
}

static void see_chain(const struct weft_endpoint *ep, uint32_t peer, const uint32_t *want)
{
	uint32_t at = SET_NONE;

	do {
		at = pathset_of_peer(ep, peer, at);
		CHECK_EQ(at, *want);
	} while (*want++ != SET_NONE);
}

TEST(pathset_of_peer__walks_the_sets_of_one_peer_in_order)
{
	/* four chains: 1 and 5 share one, 2 has another, and 9 would hash to the first */
	static const uint32_t peers[] = { 1, 5, 1, 2 };
	struct weft_config config;
	uint32_t set;

	weft_config_default(&config);
	config.pathsets = 4;
	size_t bytes = weft_endpoint_size(&config);
	struct weft_endpoint *ep;
	void *block = calloc(1, bytes);

	CHECK_EQ(weft_endpoint_init(&ep, block, &config), 0);
	for (uint32_t i = 0; i < WEFT_COUNT(peers); i++) {
		struct weft_pathset_attr attr = {
			.evs = evs, .ports = ports, .n = 1, .peer = peers[i]
		};

		CHECK_EQ(weft_pathset_open(ep, &attr, &set), 0);
		CHECK_EQ(set, i);
	}
	weft_check(ep);
	see_chain(ep, 1, (uint32_t[]){ 0, 2, SET_NONE });
	see_chain(ep, 5, (uint32_t[]){ 1, SET_NONE });
	see_chain(ep, 2, (uint32_t[]){ 3, SET_NONE });
	see_chain(ep, 9, (uint32_t[]){ SET_NONE });
	CHECK_EQ(weft_pathset_close(ep, 0), 0);
	see_chain(ep, 1, (uint32_t[]){ 2, SET_NONE });
	struct weft_pathset_attr nine = { .evs = evs, .ports = ports, .n = 1, .peer = 9 };

	CHECK_EQ(weft_pathset_open(ep, &nine, &set), 0);
	CHECK_EQ(set, 0);
	weft_check(ep);
	see_chain(ep, 9, (uint32_t[]){ 0, SET_NONE });
	see_chain(ep, 5, (uint32_t[]){ 1, SET_NONE });
	CHECK_EQ(weft_pathset_close(ep, 1), 0);
	see_chain(ep, 1, (uint32_t[]){ 2, SET_NONE });
	weft_check(ep);
	free(block);
}

TEST(weft_path_mark__the_controllers_word_moves_paths)
{
	struct world w = { 0 };
	struct weft_path_info info;

	hand_open(&w, 32, 16);
	struct weft_endpoint *ep = w.end[0];

	CHECK_EQ(weft_path_info(ep, w.set[0], 0, &info), 0);
	CHECK(info.active);
	static const struct {
		enum weft_path_state to;
		int want;
		uint8_t state;
		bool active;
	} rows[] = {
		{ WEFT_PATH_SKIP, WEFT_EINVAL, WEFT_PATH_GOOD, true },
		{ WEFT_PATH_EMPTY, WEFT_EINVAL, WEFT_PATH_GOOD, true },
		{ WEFT_PATH_DENIED, 0, WEFT_PATH_DENIED, false },
		{ WEFT_PATH_ASSUMED_BAD, 0, WEFT_PATH_DENIED, false },
		{ WEFT_PATH_GOOD, 0, WEFT_PATH_GOOD, false }, /* its backup holds the place */
	};

	for (uint32_t i = 0; i < WEFT_COUNT(rows); i++) {
		CHECK_EQ(weft_path_mark(ep, w.set[0], info.ev, rows[i].to, w.now), rows[i].want);
		weft_check(ep);
		CHECK_EQ(weft_path_info(ep, w.set[0], 0, &info), 0);
		CHECK_EQ(info.state, rows[i].state);
		CHECK_EQ(info.active, rows[i].active);
	}
	CHECK_EQ(weft_path_mark(ep, w.set[0], 0xdeadbeef, WEFT_PATH_GOOD, w.now), WEFT_ENOENT);
	CHECK_EQ(weft_path_mark(ep, 3, info.ev, WEFT_PATH_GOOD, w.now), WEFT_ENOENT);
	CHECK_EQ(weft_path_info(ep, w.set[0], 32, &info), WEFT_ENOENT);
	world_close(&w);
}

TEST(weft_port_mark__down_moves_what_was_under_way_at_once)
{
	struct world w = { 0 };
	struct weft_pkt pkts[32], again[8];
	struct weft_set_info info;

	hand_open(&w, 64, 64);
	world_write(&w, 0, 1, 0, 1u << 20);
	CHECK_EQ(hand_out(&w, 0, pkts, 32), 32);
	CHECK_EQ(weft_port_mark(w.end[0], 8, false, w.now), WEFT_EINVAL);
	CHECK_EQ(weft_port_mark(w.end[0], 3, false, w.now), 0);
	weft_check(w.end[0]);
	CHECK_EQ(weft_stats(w.end[0])->lost_port, 4);
	CHECK_EQ(weft_set_info(w.end[0], w.set[0], &info), 0);
	CHECK_EQ(info.own_ports, 0xf7);
	CHECK_EQ(info.suspect_planes, 1u << 3);
	CHECK_EQ(info.active, 56);
	/* The announcement goes first, then the four, oldest first, on other planes. */
	CHECK_EQ(hand_out(&w, 0, again, 5), 5);
	CHECK_EQ(again[0].op, WEFT_OP_EP_REQUEST);
	CHECK_EQ(again[0].ep.port_mask, 0xf7);
	for (uint32_t i = 0, n = 1; i < 32; i++) {
		if (pkts[i].port != 3)
			continue;
		CHECK_EQ(again[n].psn, pkts[i].psn);
		CHECK(again[n].flags & WEFT_BTH_RTX);
		CHECK(again[n++].port != 3);
	}
	CHECK_EQ(weft_set_info(w.end[0], 3, &info), WEFT_ENOENT);
	world_close(&w);
}

/* Sets that share a room smaller than all could fill: in gaps, and with others left alone. */
TEST(weft_pathset_open__shares_a_smaller_room)
{
	struct weft_pathset_attr attr = { .evs = evs, .ports = ports, .n = 6 };
	struct weft_config config;
	struct weft_endpoint *ep;
	struct weft_path_info info;
	uint32_t sets[4];

	weft_config_default(&config);
	config.qps = config.regions = 1;
	config.cqs = 1;
	config.pathsets = 4;
	config.paths_per_set = 10;
	size_t whole = weft_endpoint_size(&config);

	config.paths = 16;
	CHECK(weft_endpoint_size(&config) + 24 * sizeof(struct path) <= whole);
	void *block = aligned_alloc(64, WEFT_ALIGN_UP(weft_endpoint_size(&config), (size_t)64));

	REQUIRE(block && !weft_endpoint_init(&ep, block, &config));
	for (uint32_t i = 0; i < 2; i++)
		CHECK_EQ(weft_pathset_open(ep, &attr, &sets[i]), 0);
	CHECK_EQ(weft_pathset_open(ep, &attr, &sets[2]), WEFT_EFULL); /* 4 are left */
	attr.n = 4;
	CHECK_EQ(weft_pathset_open(ep, &attr, &sets[2]), 0);
	weft_check(ep);
	CHECK_EQ(weft_pathset_close(ep, sets[0]), 0);
	attr.n = 3;
	attr.evs = evs + 7;
	for (uint32_t i = 0; i < 4; i += 3) /* two of three where one of six was */
		CHECK_EQ(weft_pathset_open(ep, &attr, &sets[i]), 0);
	weft_check(ep);
	for (uint32_t i = 0; i < 4; i++) {
		for (uint32_t k = 0; weft_path_info(ep, sets[i], k, &info) == 0; k++)
			CHECK_EQ(info.ev, (i % 3 ? evs : evs + 7)[k]);
	}
	config.paths = (1u << 24) + 1;
	CHECK_EQ(weft_endpoint_size(&config), 0);
	free(block);
}

TEST(weft_path_replace__the_new_one_carries_at_once)
{
	struct world w = { 0 };
	struct weft_pkt pkts[64];
	struct weft_path_info info;
	uint32_t seen = 0, old;

	hand_open(&w, 16, 16);
	struct weft_endpoint *ep = w.end[0];

	old = ep->sets[w.set[0]].path[3].ev;
	CHECK_EQ(weft_path_replace(ep, w.set[0], 0xdead, 777, 3, w.now), WEFT_ENOENT);
	CHECK_EQ(weft_path_replace(ep, 3, old, 777, 3, w.now), WEFT_ENOENT);
	CHECK_EQ(weft_path_replace(ep, w.set[0], old, 777, 8, w.now), WEFT_EINVAL);
	CHECK_EQ(weft_path_replace(ep, w.set[0], old, ep->sets[w.set[0]].path[4].ev, 3, w.now),
		WEFT_EINVAL);
	CHECK_EQ(weft_path_replace(ep, w.set[0], old, 777, 3, w.now), 0);
	weft_check(ep);
	world_write(&w, 0, 1, 0, 1u << 20);
	CHECK_EQ(hand_out(&w, 0, pkts, 64), 64);
	for (uint32_t i = 0; i < 64; i++) {
		CHECK(pkts[i].ev != old);
		seen += pkts[i].ev == 777;
	}
	CHECK_EQ(seen, 4);
	/* One that was denied or bad, too; and a port that is out has to be proved. */
	CHECK_EQ(weft_path_mark(ep, w.set[0], 777, WEFT_PATH_DENIED, w.now), 0);
	CHECK_EQ(weft_path_replace(ep, w.set[0], 777, 778, 3, w.now), 0);
	weft_check(ep);
	CHECK_EQ(weft_path_info(ep, w.set[0], 3, &info), 0);
	CHECK(info.ev == 778 && info.state == WEFT_PATH_GOOD && info.active);
	CHECK_EQ(weft_port_mark(ep, 3, false, w.now), 0);
	CHECK_EQ(weft_path_replace(ep, w.set[0], 778, 779, 3, w.now), 0);
	weft_check(ep);
	CHECK_EQ(weft_path_info(ep, w.set[0], 3, &info), 0);
	CHECK(info.ev == 779 && info.state == WEFT_PATH_ASSUMED_BAD && !info.active);
	world_close(&w);
}

TEST(weft_path_replace__between_planes)
{
	struct world w = { 0 };
	struct weft_pkt pkts[64];
	uint32_t in[8] = { 0 };

	hand_open(&w, 16, 16);
	struct weft_endpoint *ep = w.end[0];
	struct pathset *set = &ep->sets[w.set[0]];

	/* Both of plane 2, and one of plane 6, to plane 5; then one back. */
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t port = set->path[i].plane;

		if (port != 2 && !(port == 6 && i < 8))
			continue;
		CHECK_EQ(weft_path_replace(ep, w.set[0], set->path[i].ev, 1000 + i, 5, w.now), 0);
		weft_check(ep);
	}
	for (uint32_t i = 0; i < 16; i++)
		in[set->path[i].plane]++;
	CHECK(in[2] == 0 && in[5] == 5 && in[6] == 1);
	world_write(&w, 0, 1, 0, 1u << 20);
	CHECK_EQ(hand_out(&w, 0, pkts, 64), 64);
	for (uint32_t i = 0; i < 64; i++)
		CHECK(pkts[i].port != 2);
	CHECK_EQ(set->plane[5].active, 5);
	CHECK_EQ(weft_path_replace(ep, w.set[0], 1000 + 6, 2000, 2, w.now), 0);
	weft_check(ep);
	CHECK_EQ(set->plane[2].active, 1);
	CHECK_EQ(set->plane[5].active, 4);
	world_close(&w);
}

/* The peer says that its port is out, but some get through: one of them has waited. */
TEST(weft_path_replace__leaves_its_share_to_a_backup_where_it_cannot_go)
{
	struct weft_pathset_attr attr = { .evs = evs, .ports = ports, .n = 10, .active = 6 };
	struct world w = { 0 };
	uint32_t index;

	hand_open(&w, 16, 16);
	struct weft_endpoint *ep = w.end[0];

	REQUIRE(!weft_pathset_open(ep, &attr, &index));
	struct pathset *set = &ep->sets[index];

	CHECK_EQ(set->plane[0].active, 2);
	set->peer_ports &= ~1u;
	CHECK_EQ(weft_path_replace(ep, index, 11, 777, 0, w.now), 0);
	CHECK_EQ(set->path[1].state, WEFT_PATH_ASSUMED_BAD);
	CHECK_EQ(set->plane[0].active, 3);
	weft_check(ep);
	CHECK_EQ(weft_pathset_close(ep, index), 0);
	world_close(&w);
}
