/* SPDX-License-Identifier: BSD-2-Clause */
#include "virtual.h"

#include <fcntl.h>

TEST(weft_dev_paths_open__gives_a_queue_pair_its_choice)
{
	struct side *s[2];
	struct weft_dev_qp_attr attr = { 0 };
	struct weft_path_info info;
	uint32_t evs[64], paths, n = 0;
	uint8_t gid[16];

	pair_open(s, WEFT_DEV_STRICT);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	weft_dev_gid(s[1]->dev, gid);
	CHECK_EQ(weft_dev_evs(s[0]->dev, gid, evs, 64), 8);
	CHECK_EQ(weft_dev_paths_open(s[0]->dev, evs, 3, 2, 0, &paths), 0);
	CHECK_EQ(weft_dev_paths_mark(s[0]->dev, paths, evs[0], WEFT_PATH_DENIED), 0);
	CHECK_EQ(weft_dev_paths_mark(s[0]->dev, paths, 0xfffffff, WEFT_PATH_DENIED), ENOENT);
	CHECK_EQ(weft_dev_qp_close(s[0]->qp), 0);
	CHECK_EQ(weft_dev_qp_close(s[1]->qp), 0);
	for (unsigned i = 0; i < 2; i++) {
		side_open_qp(s[i], WEFT_DEV_STRICT, NULL);
		side_init(s[i]);
	}
	attr.paths = paths;
	CHECK_EQ(weft_dev_qp_modify(s[0]->qp, &attr, WEFT_DEV_SET_PATHS), 0);
	side_ready(s[0], s[1]);
	side_ready(s[1], s[0]);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	for (; !weft_dev_path_info(s[0]->qp, n, &info); n++)
		CHECK_EQ(info.state == WEFT_PATH_DENIED, info.ev == evs[0]);
	CHECK_EQ(n, 3);
	CHECK_EQ(weft_dev_paths_close(s[0]->dev, paths), EBUSY);
	CHECK_EQ(weft_dev_qp_close(s[0]->qp), 0);
	s[0]->qp = NULL;
	CHECK_EQ(weft_dev_paths_close(s[0]->dev, paths), 0);
	pair_close(s);
}

TEST(weft_dev_probe__measures_a_path)
{
	struct side *s[2];
	uint32_t evs[64];
	struct weft_probe_done done = { 0 };
	uint8_t gid[16];
	uint64_t limit_ns = ground_now() + LIMIT_S * UINT64_C(1000000000);

	pair_open(s, WEFT_DEV_STRICT);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	weft_dev_gid(s[1]->dev, gid);
	REQUIRE(weft_dev_evs(s[0]->dev, gid, evs, 64) > 0);
	CHECK_EQ(weft_dev_probe(s[0]->dev, gid, evs[0], 77), 0);
	while (!weft_dev_probe_poll(s[0]->dev, &done, 1) && ground_now() < limit_ns)
		ground_wait(limit_ns);
	CHECK_EQ(done.cookie, 77);
	pair_close(s);
}

TEST(weft_dev_paths_replace__moves_queue_pairs_that_are_connected)
{
	struct side *s[2];
	struct weft_dev_qp_attr attr = { 0 };
	struct weft_path_info info;
	uint32_t evs[64], paths, sent;
	uint8_t gid[16];

	pair_open(s, WEFT_DEV_STRICT);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	weft_dev_gid(s[1]->dev, gid);
	CHECK_EQ(weft_dev_evs(s[0]->dev, gid, evs, 64), 8);
	CHECK_EQ(weft_dev_paths_open(s[0]->dev, evs, 2, 2, 0, &paths), 0);
	for (unsigned i = 0; i < 2; i++) {
		CHECK_EQ(weft_dev_qp_close(s[i]->qp), 0);
		side_open_qp(s[i], WEFT_DEV_STRICT, NULL);
		side_init(s[i]);
	}
	attr.paths = paths;
	CHECK_EQ(weft_dev_qp_modify(s[0]->qp, &attr, WEFT_DEV_SET_PATHS), 0);
	side_ready(s[0], s[1]);
	side_ready(s[1], s[0]);
	CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	CHECK_EQ(weft_dev_paths_replace(s[0]->dev, 99, evs[0], evs[5]), ENOENT);
	CHECK_EQ(weft_dev_paths_replace(s[0]->dev, paths, evs[3], evs[5]), ENOENT);
	CHECK_EQ(weft_dev_paths_replace(s[0]->dev, paths, evs[0], evs[1]), EINVAL);
	CHECK_EQ(weft_dev_paths_replace(s[0]->dev, paths, evs[0], evs[5]), 0);
	CHECK_EQ(weft_dev_path_info(s[0]->qp, 0, &info), 0);
	CHECK(info.ev == evs[5] && info.state == WEFT_PATH_GOOD && info.active);
	sent = info.sent;
	for (unsigned i = 0; i < 4; i++) {
		CHECK_EQ(side_post(s[0], to_memory(s[1], WEFT_DEV_WRITE, 0), 0, 8), 0);
		CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	}
	CHECK_EQ(weft_dev_path_info(s[0]->qp, 0, &info), 0);
	CHECK(info.sent > sent);
	/* One that leads nowhere. */
	CHECK_EQ(weft_dev_paths_replace(s[0]->dev, paths, evs[5], 0xfffffff), 0);
	CHECK_EQ(weft_dev_path_info(s[0]->qp, 0, &info), 0);
	CHECK(info.ev == evs[5] && info.state == WEFT_PATH_DENIED);
	pair_close(s);
}

TEST(weft_dev_port_status__is_heard_by_the_peer)
{
	struct side *s[2];
	uint32_t evs[64], suspects = 0;
	struct weft_probe_done done = { 0 };
	struct weft_path_info info;
	uint8_t gid[16];
	uint64_t limit_ns = ground_now() + LIMIT_S * UINT64_C(1000000000);

	pair_open(s, WEFT_DEV_STRICT);
	for (unsigned i = 0; i < 2; i++) {
		CHECK_EQ(side_post(s[i], to_memory(s[!i], WEFT_DEV_WRITE, 0), 0, 8), 0);
		CHECK_EQ(side_wait(s[i]).status, WEFT_DEV_OK);
	}
	weft_dev_gid(s[1]->dev, gid);
	REQUIRE(weft_dev_evs(s[0]->dev, gid, evs, 64) > 0);
	while (done.rtt_ns == 0 && ground_now() < limit_ns) {
		CHECK_EQ(weft_dev_port_status(s[0]->dev, gid, evs[0], 1, 5), 0);
		while (!weft_dev_probe_poll(s[0]->dev, &done, 1) &&
			ground_now() < limit_ns)
			ground_wait(limit_ns);
		CHECK_EQ(done.cookie, 5);
	}
	CHECK(done.rtt_ns != 0);
	for (uint32_t i = 0; !weft_dev_path_info(s[1]->qp, i, &info); i++) {
		CHECK(info.port == 0 || info.state == WEFT_PATH_ASSUMED_BAD);
		suspects += info.port != 0;
	}
	CHECK(suspects > 0);
	pair_close(s);
}

TEST(weft_dev_plane_admin__is_seen_by_the_program)
{
	struct side *s = side_open();
	struct weft_dev_plane plane;
	struct weft_dev_event event;

	CHECK_EQ(weft_dev_plane_query(s->dev, 0, &plane), 0);
	CHECK(plane.link && plane.admin);
	CHECK_EQ(weft_dev_plane_query(s->dev, 2, &plane), EINVAL);
	CHECK_EQ(weft_dev_plane_admin(s->dev, 1, false), 0);
	CHECK_EQ(weft_dev_event_get(s->dev, &event), 0);
	CHECK(event.kind == WEFT_DEV_PLANE_DOWN && event.number == 1);
	CHECK_EQ(weft_dev_plane_query(s->dev, 1, &plane), 0);
	CHECK(plane.link && !plane.admin);
	CHECK_EQ(weft_dev_plane_admin(s->dev, 0, false), 0);
	CHECK_EQ(weft_dev_event_get(s->dev, &event), 0);
	CHECK_EQ(event.kind, WEFT_DEV_PLANE_DOWN);
	CHECK_EQ(weft_dev_event_get(s->dev, &event), 0);
	CHECK_EQ(event.kind, WEFT_DEV_PORT_DOWN);
	CHECK_EQ(weft_dev_plane_admin(s->dev, 0, true), 0);
	CHECK_EQ(weft_dev_event_get(s->dev, &event), 0);
	CHECK_EQ(event.kind, WEFT_DEV_PLANE_UP);
	side_close(s);
}
