/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

static struct rig rig;

/* Four lines, three of them behind a switch, and the cables: nothing else takes time. */
static void check_paths(const char *fabric, bool is_bytes)
{
	uint64_t now_ps = 1000;
	uint32_t paths = 0;

	rig_open(&rig, fabric, is_bytes);
	for (uint32_t pair = 0; pair < 16 * 16; pair++) {
		uint32_t evs[16], src = pair / 16, dst = pair % 16, bytes = 100 + pair;
		size_t n = weft_topo_evs(rig.topo, src, dst, 1, evs, 16);

		for (size_t i = 0; i < n; i++, paths++) {
			uint32_t links[4];
			size_t lines = weft_topo_path_links(rig.topo, src, dst, evs[i], links);
			uint64_t want_ps = now_ps + lines * rig_line_ps(bytes) + 200000;

			want_ps += lines == 4 ? 1000000 : 0;
			CHECK(rig_send(&rig, src, dst, evs[i], paths % 64, bytes, now_ps));
			rig.n_outs = 0;
			CHECK_EQ(rig_run(&rig, want_ps - 1), 0);
			CHECK_EQ(rig_run(&rig, want_ps), 1);
			CHECK_EQ(rig.outs[0].at_ps, want_ps);
			CHECK_EQ(rig.outs[0].node, dst);
			CHECK_EQ(rig.outs[0].plane, weft_ev_plane(evs[i]));
			CHECK_EQ(rig.outs[0].drop, WEFT_SWITCH_DROP_NONE);
			CHECK_EQ(rig.outs[0].frame.handle, paths % 64);
			CHECK_EQ(rig.outs[0].frame.bytes, bytes + WEFT_FRAME_ETHER_BYTES);
			CHECK_EQ(rig.outs[0].frame.hop_limit, 64 - (lines - 1));
			if (is_bytes)
				CHECK_EQ(weft_topo_usid_ev(rig_ip(&rig, paths % 64) + 24), evs[i]);
			now_ps = want_ps + 12345;
		}
	}
	CHECK_EQ(paths, 16 * 12 * 8 + 16 * 3 * 2);
	CHECK_EQ(weft_network_stats(rig.network)->arrived, paths);
	CHECK_EQ(weft_network_stats(rig.network)->hops, 16 * 12 * 8 * 3 + 16 * 3 * 2);
	CHECK_EQ(weft_network_next_ps(rig.network), WEFT_NEVER);
	rig_close(&rig);
}

TEST(weft_network_run__carries_structs_along_every_path_in_its_time)
{
	check_paths(rig_fabric, false);
}

TEST(weft_network_run__carries_bytes_along_every_path_in_its_time)
{
	check_paths(rig_fabric, true);
}

TEST(weft_network_run__is_steered_by_links_as_well_as_by_switches)
{
	static char fabric[sizeof(rig_fabric) + 40];

	snprintf(fabric, sizeof(fabric), "%susid: {behavior: uA}\n", rig_fabric);
	check_paths(fabric, false);
	check_paths(fabric, true);
}

/* Three hosts to one, by all paths, faster than its line: the last hop cuts. */
static uint64_t crowd(bool is_bytes, bool is_eager, uint64_t stride_ps, uint64_t *last_ps)
{
	uint64_t digest = 0, sent = 0, now_ps = 0, trimmed = 0;

	rig_open(&rig, rig_fabric, is_bytes);
	rig.network->is_lossless = is_eager; /* an entry for each departure; none is ever paused */
	while (rig.n_outs < 3000) {
		uint64_t until_ps = now_ps + 50000000;

		for (uint32_t src = 4; src < 16 && sent < 3000; src += 4)
			for (uint32_t p = 0; p < 2; p++)
				while (weft_network_line_free_ps(rig.network, src, p) < until_ps &&
					sent < 3000) {
					CHECK(rig_send(&rig, src, 0, weft_ev(p, sent % 4), sent,
						1000 + sent % 3000, now_ps));
					sent++;
				}
		for (; now_ps < until_ps; now_ps += WEFT_MIN(stride_ps, until_ps - now_ps))
			rig_run(&rig, now_ps);
	}
	for (size_t i = 0; i < rig.n_outs; i++) {
		const struct weft_network_out *o = &rig.outs[i];

		digest = (digest ^ o->at_ps ^ o->frame.handle << 8 ^ o->frame.mark ^
				 (uint64_t)o->frame.bytes << 32 ^ (uint64_t)o->drop << 50) *
			 UINT64_C(0x9e3779b97f4a7c15);
		CHECK(!i || o->at_ps >= rig.outs[i - 1].at_ps);
		trimmed += (o->frame.mark & WEFT_MARK_TRIMMED_LASTHOP) != 0;
	}
	*last_ps = rig.outs[rig.n_outs - 1].at_ps;
	CHECK(trimmed > 500);
	rig_close(&rig);
	return digest;
}

TEST(weft_network_run__means_the_same_however_late_it_is_called)
{
	uint64_t last_ps, last_late_ps;
	uint64_t often = crowd(false, false, 70000, &last_ps);

	CHECK_EQ(crowd(false, false, 50000000, &last_late_ps), often);
	CHECK_EQ(last_late_ps, last_ps);
	/* And in bytes as in structs. */
	CHECK_EQ(crowd(true, false, 50000000, &last_late_ps), often);
}

TEST(weft_network_run__computes_departures_late_as_it_would_in_time)
{
	uint64_t last_ps, last_late_ps;
	uint64_t late = crowd(false, false, 50000000, &last_late_ps);

	CHECK_EQ(crowd(false, true, 50000000, &last_ps), late);
	CHECK_EQ(last_late_ps, last_ps);
}

TEST(weft_network_run__starts_in_the_order_of_arrival_what_arrives_together)
{
	rig_open(&rig, rig_fabric, false);
	for (uint32_t i = 0; i < 3; i++) /* below one T0, at the same picosecond */
		CHECK(rig_send(&rig, 3 - i, 0, weft_ev(0, 0), i, 1000, 5000));
	CHECK_EQ(rig_run(&rig, UINT64_C(1000000000)), 3);
	for (uint32_t i = 0; i < 3; i++) {
		CHECK_EQ(rig.outs[i].frame.handle, i);
		CHECK_EQ(rig.outs[i].at_ps, 5000 + 200000 + (2 + i) * rig_line_ps(1000));
	}
	rig_close(&rig);
}

/* Host addresses, hashed over the uplinks: every host reaches every other, over several links. */
TEST(weft_network_run__leads_what_is_not_source_routed_by_prefixes)
{
	uint64_t now_ps = 0;
	uint8_t addr[16];
	uint32_t sent = 0;

	rig_open(&rig, rig_fabric, true);
	for (uint32_t pair = 0; pair < 16 * 16; pair++) {
		uint32_t src = pair / 16, dst = pair % 16;
		struct weft_frame frame = { .handle = sent };

		if (src == dst)
			continue;
		weft_topo_host_addr(rig.topo, dst, 1, addr);
		rig_put_ip(&rig, sent, src, 1, addr, 200);
		CHECK(weft_network_send(rig.network, src, 1, &frame, 200, now_ps));
		now_ps += 10000000;
		CHECK_EQ(rig_run(&rig, now_ps), 1);
		CHECK_EQ(rig.outs[sent].drop, WEFT_SWITCH_DROP_NONE);
		CHECK_EQ(rig.outs[sent].node, dst);
		CHECK_EQ(rig.outs[sent].plane, 1);
		sent++;
	}
	const struct weft_switch *t0 =
		weft_network_switch(rig.network, weft_topo_t0(rig.topo, 1, 0));

	for (uint32_t port = 4; port < 8; port++)
		CHECK(weft_switch_port_counters(t0, port)->out_pkts > 0);
	rig_close(&rig);
}

TEST(weft_network_take__hands_out_what_fits)
{
	struct weft_network_out out[2];

	rig_open(&rig, rig_fabric, false);
	for (uint32_t i = 0; i < 3; i++)
		CHECK(rig_send(&rig, 0, 1, weft_ev(0, 0), 10 + i, 100, 0));
	CHECK_EQ(weft_network_take(rig.network, out, 2), 0);
	weft_network_run(rig.network, UINT64_C(1000000000));
	CHECK_EQ(weft_network_take(rig.network, out, 2), 2);
	CHECK_EQ(out[1].frame.handle, 11);
	weft_network_check(rig.network);
	CHECK_EQ(weft_network_take(rig.network, out, 2), 1);
	CHECK_EQ(out[0].frame.handle, 12);
	CHECK_EQ(weft_network_take(rig.network, out, 2), 0);
	rig_close(&rig);
}
