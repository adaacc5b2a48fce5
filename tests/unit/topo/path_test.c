/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabrics.h"

static void check_addr(const uint8_t addr[16], const char *want)
{
	char text[40] = "";

	for (int i = 0; i < 16; i += 2)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%x", i ? ":" : "",
			addr[i] << 8 | addr[i + 1]);
	CHECK_STR(text, want);
}

TEST(weft_topo_usid__spells_the_path)
{
	struct weft_topo *topo = fabric(LAB8);
	uint8_t addr[16];

	CHECK(weft_topo_usid(topo, 0, 3, weft_ev(2, 1), addr)); /* h0: T0 0; h3: T0 1, downlink 1 */
	check_addr(addr, "fcbb:bb00:9000:5001:9001:1002:2:1");
	CHECK(weft_topo_usid(topo, 3, 0, weft_ev(7, 0), addr));
	check_addr(addr, "fcbb:bb00:b801:7800:b800:3801:7:0");
	CHECK(weft_topo_usid(topo, 0, 1, weft_ev(1, 0), addr));
	check_addr(addr, "fcbb:bb00:8800:802:1:0:0:0");
	weft_topo_close(topo);
}

TEST(weft_topo_usid__spells_the_path_link_by_link)
{
	struct weft_topo *topo = fabric(LAB8 "usid: {behavior: uA}\n");
	uint8_t addr[16];

	/* T0 0's uplink 1 (port 3), T1 1's port to T0 1, T0 1's port to its second host */
	CHECK(weft_topo_usid(topo, 0, 3, weft_ev(2, 1), addr));
	check_addr(addr, "fcbb:bb00:e803:e801:e801:1002:2:1");
	CHECK(weft_topo_usid(topo, 0, 1, weft_ev(1, 0), addr));
	check_addr(addr, "fcbb:bb00:e401:802:1:0:0:0");
	CHECK(!weft_topo_usid(topo, 0, 3, weft_ev(2, 2), addr));
	weft_topo_close(topo);
}

TEST(weft_topo_usid__tells_parallel_links_apart)
{
	struct weft_topo *topo = fabric(UNEVEN "usid: {behavior: uA}\n");
	uint8_t addr[16];

	/* uplink 3 is the second cable to T1 1: port 3 + 3 there, port 2 * 2 + 1 of the T1 */
	CHECK(weft_topo_usid(topo, 0, 6, weft_ev(1, 3), addr));
	check_addr(addr, "fcbb:bb00:e406:e405:e400:801:1:3");
	weft_topo_close(topo);
}

TEST(weft_topo_usid__refuses_what_is_no_path)
{
	struct weft_topo *topo = fabric(LAB8);
	uint8_t addr[16] = { 42 };

	CHECK(!weft_topo_usid(topo, 0, 3, weft_ev(8, 0), addr));
	CHECK(!weft_topo_usid(topo, 0, 3, weft_ev(0, 2), addr));
	CHECK(!weft_topo_usid(topo, 0, 1, weft_ev(0, 1), addr));
	CHECK(!weft_topo_usid(topo, 2, 2, weft_ev(0, 0), addr));
	CHECK_EQ(addr[0], 42);
	weft_topo_close(topo);
}

TEST(weft_topo_usid_ev__reads_what_the_receiver_sees)
{
	static const uint8_t addr[16] = { 0xfc, 0xbb, 0xbb, 0, 0x10, 2, 0, 5, 1, 0xfe };

	CHECK_EQ(weft_topo_usid_ev(addr), weft_ev(5, 0x1fe));
}

/* Every number that a plane or the whole fabric must tell apart is different, and none is 0. */
TEST(usid__is_unique_and_never_zero)
{
	static const char *const fabrics[] = { LAB8, UNEVEN, PAPER };

	for (size_t f = 0; f < WEFT_COUNT(fabrics); f++) {
		struct weft_topo *topo = fabric(fabrics[f]);
		const struct weft_topo_shape *s = weft_topo_shape(topo);
		uint8_t *seen = calloc(1, 65536);
		uint32_t n = 0, different = 0;

		for (uint32_t p = 0; p < s->planes; p++) {
			for (uint32_t i = 0; i < s->t0s * s->parallel; i++, n++)
				seen[usid_t0(topo, p, i)] = 1;
			for (uint32_t i = 0; i < s->uplinks; i++, n++)
				seen[usid_t1(topo, p, i)] = 1;
			for (uint32_t i = 0; i < s->hosts_per_t0; i++, n++)
				seen[usid_host(topo, p, i)] = 1;
		}
		for (uint32_t i = 0; i < 65536; i++)
			different += seen[i];
		CHECK_EQ(different, n);
		CHECK_EQ(seen[0], 0);
		for (uint32_t i = 0xe000; i < 65536; i++)
			CHECK_EQ(seen[i], 0);
		free(seen);
		weft_topo_close(topo);
	}
}

TEST(weft_topo_evs__lists_all_paths_once_in_equal_shares)
{
	struct weft_topo *topo = fabric(LAB8);
	uint32_t evs[256], per_plane[8] = { 0 };

	CHECK_EQ(weft_topo_paths(topo, 0, 2), 16);
	CHECK_EQ(weft_topo_paths(topo, 0, 1), 8);
	CHECK_EQ(weft_topo_paths(topo, 1, 1), 0);
	size_t n = weft_topo_evs(topo, 0, 2, 1, evs, 256);
	CHECK_EQ(n, 16);
	for (size_t i = 0; i < n; i++) {
		per_plane[weft_ev_plane(evs[i])]++;
		CHECK_EQ(weft_ev_plane(evs[i]), i % 8);
		for (size_t j = 0; j < i; j++)
			CHECK(evs[i] != evs[j]);
	}
	for (int p = 0; p < 8; p++)
		CHECK_EQ(per_plane[p], 2);
	CHECK_EQ(weft_topo_evs(topo, 0, 1, 1, evs, 256), 8);
	CHECK_EQ(weft_topo_evs(topo, 0, 2, 1, evs, 13), 8); /* one each: 13 / 8 */
	CHECK_EQ(weft_topo_evs(topo, 0, 2, 1, evs, 7), 0);
	weft_topo_close(topo);
}

TEST(weft_topo_evs__draws_a_subset_by_seed_and_sender)
{
	struct weft_topo *topo = fabric(PAPER);
	uint32_t a[128], b[128], same = 0;
	uint8_t addr[16];

	CHECK_EQ(weft_topo_paths(topo, 0, 131071), 2048);
	CHECK_EQ(weft_topo_evs(topo, 0, 131071, 7, a, 128), 128);
	CHECK_EQ(weft_topo_evs(topo, 0, 131071, 7, b, 128), 128);
	CHECK_MEM(a, b, sizeof(a));
	for (int i = 0; i < 128; i++) {
		CHECK(weft_topo_usid(topo, 0, 131071, a[i], addr));
		for (int j = 0; j < i; j++)
			CHECK(a[i] != a[j]);
	}
	/* Two draws of 16 from 256 have one in common on average; 128 of 128 means no draw. */
	weft_topo_evs(topo, 131071, 0, 7, b, 128);
	for (int i = 0; i < 128; i++)
		same += a[i] == b[i];
	CHECK(same < 16);
	weft_topo_evs(topo, 0, 131071, 8, b, 128);
	CHECK(memcmp(a, b, sizeof(a)));
	weft_topo_close(topo);
}

/* The hosts below a T0 go round its uplinks in step: never two at one, and all of them alike. */
TEST(weft_topo_evs__staggers_the_hosts_below_a_t0)
{
	struct weft_topo *topo = fabric(PAPER);
	uint32_t evs[256][128], load[8][256] = { 0 };

	for (uint32_t h = 0; h < 256; h++)
		CHECK_EQ(weft_topo_evs(topo, 256 + h, (h * 911 + 5000) % 131072, 7, evs[h], 128),
			128);
	for (uint32_t k = 0; k < 128; k++) {
		bool taken[8][256] = { 0 };

		for (uint32_t h = 0; h < 256; h++) {
			uint32_t plane = weft_ev_plane(evs[h][k]), up = weft_ev_uplink(evs[h][k]);

			CHECK(!taken[plane][up]);
			taken[plane][up] = true;
			load[plane][up]++;
		}
	}
	for (uint32_t i = 0; i < 8 * 256; i++)
		CHECK_EQ(load[i / 256][i % 256], 16);
	weft_topo_close(topo);
}

/* Whatever their number, whatever its divisors: each path once. */
TEST(weft_topo_evs__visits_all_paths_of_any_number)
{
	for (uint32_t t1s = 1; t1s <= 40; t1s++) {
		uint32_t evs[80];
		char text[128];

		(void)snprintf(text, sizeof(text),
			"name: any\nplanes: 2\nt0s: 2\nt1s: %u\nhosts: 6\nswitch: {radix: 64}\n",
			(unsigned)t1s);
		struct weft_topo *topo = fabric(text);

		for (uint64_t seed = 0; seed < 8; seed++) {
			bool seen[2][40] = { 0 };

			CHECK_EQ(weft_topo_evs(topo, 1, 4, seed, evs, 80), 2 * t1s);
			for (uint32_t i = 0; i < 2 * t1s; i++) {
				bool *at = &seen[weft_ev_plane(evs[i])][weft_ev_uplink(evs[i])];

				CHECK(!*at);
				*at = true;
			}
		}
		weft_topo_close(topo);
	}
}

/* T0 2 lacks cables; who sends there keeps step with its neighbours who send to T0 1. */
TEST(weft_topo_evs__keeps_step_where_a_destination_lacks_cables)
{
	struct weft_topo *topo = fabric("name: gaps\nplanes: 2\nt0s: 3\nt1s: 4\n"
					"parallel_links: 2\nhosts: 24\noverrides:\n"
					"  - {link: p0.t0-2:t1-1, cabled: false}\n"
					"  - {link: p0.t0-2:t1-3/1, cabled: false}\n"
					"  - {link: p1.t0-2:t1-0, cabled: false}\n"
					"  - {link: p1.t0-2:t1-2/1, cabled: false}\n");
	uint32_t all[16], left[16], links[4];

	for (uint32_t h = 0; h < 8; h++) {
		uint32_t n = 0;

		CHECK_EQ(weft_topo_evs(topo, h, 8, 3, all, 16), 16);
		CHECK_EQ(weft_topo_evs(topo, h, 16, 3, left, 16), 12);
		for (uint32_t plane = 0; plane < 2; plane++) {
			uint32_t next = plane;

			for (uint32_t i = plane; i < 16; i += 2) {
				if (!weft_topo_path_links(topo, h, 16, all[i], links))
					continue;
				CHECK(next < 12);
				CHECK_EQ(left[next], all[i]);
				next += 2;
				n++;
			}
		}
		CHECK_EQ(n, 12);
	}
	weft_topo_close(topo);
}

TEST(weft_topo_evs__leaves_out_missing_cables_and_stays_equal)
{
	struct weft_topo *topo = fabric(LAB8 "overrides:\n"
					     "  - {link: p3.t0-1:t1-0, cabled: false}\n"
					     "  - {link: h0.p5, cabled: false}\n"
					     "  - {link: h0.p1, speed: 10Mb/s}\n");
	uint32_t evs[64];
	uint8_t addr[16];

	CHECK_EQ(weft_topo_paths(topo, 0, 2), 16 - 1 - 2);
	CHECK_EQ(weft_topo_evs(topo, 0, 2, 1, evs, 64), 7);
	for (int i = 0; i < 7; i++) {
		CHECK(weft_ev_plane(evs[i]) != 5);
		if (weft_ev_plane(evs[i]) == 3)
			CHECK_EQ(weft_ev_uplink(evs[i]), 1);
	}
	CHECK(!weft_topo_usid(topo, 0, 2, weft_ev(3, 0), addr));
	CHECK(!weft_topo_usid(topo, 2, 0, weft_ev(3, 0), addr));
	CHECK(weft_topo_usid(topo, 2, 0, weft_ev(3, 1), addr));
	weft_topo_close(topo);
}

TEST(weft_topo_path_links__goes_up_and_down_the_same_way)
{
	struct weft_topo *topo = fabric(UNEVEN);
	uint32_t links[4];

	CHECK_EQ(weft_topo_path_links(topo, 0, 6, weft_ev(2, 3), links), 4);
	CHECK_EQ(links[0], 2);
	CHECK_EQ(links[1], core_link(topo, 2, 0, 3));
	CHECK_EQ(links[2], core_link(topo, 2, 2, 3));
	CHECK_EQ(links[3], 6 * 3 + 2);
	CHECK_EQ(weft_topo_path_links(topo, 0, 2, weft_ev(1, 0), links), 2);
	CHECK_EQ(weft_topo_path_links(topo, 0, 2, weft_ev(1, 1), links), 0);
	weft_topo_close(topo);
}

TEST(weft_topo_host_addr__is_found_again)
{
	struct weft_topo *topo = fabric(UNEVEN);
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	uint8_t addr[16];
	uint32_t host, plane;

	for (uint32_t h = 0; h < s->hosts; h++) {
		for (uint32_t p = 0; p < s->planes; p++) {
			weft_topo_host_addr(topo, h, p, addr);
			REQUIRE(weft_topo_host_find(topo, addr, &host, &plane));
			CHECK_EQ(host, h);
			CHECK_EQ(plane, p);
		}
	}
	check_addr(addr, "fd57:6566:2:2:0:0:0:1");
	addr[15] = 2; /* the last T0 has one host */
	CHECK(!weft_topo_host_find(topo, addr, &host, &plane));
	addr[15] = 1;
	addr[9] = 1;
	CHECK(!weft_topo_host_find(topo, addr, &host, &plane));
	weft_topo_close(topo);
}

TEST(weft_topo_host_usid__is_what_a_carrier_ends_in)
{
	struct weft_topo *topo = fabric(LAB8);
	uint8_t usid[16], carrier[16];

	weft_topo_host_usid(topo, 3, 2, usid);
	check_addr(usid, "fcbb:bb00:1002:0:0:0:0:0");
	CHECK(weft_topo_usid(topo, 0, 3, weft_ev(2, 1), carrier));
	CHECK_MEM(usid + 4, carrier + 10, 2);
	weft_topo_close(topo);
}
