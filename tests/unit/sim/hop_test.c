/* SPDX-License-Identifier: BSD-2-Clause */
#include "small.h"

/* Three full frames to one host at the same instant over three ports: one after the other on the
 * last link, in the order of ports, and neither earlier nor later than the line allows.
 */
TEST(hop_run__keeps_the_line_rate_and_the_order_of_ports)
{
	struct small s = small_make(SMALL_ONE);
	uint64_t frame_ps = 4262 * 20;

	small_open(&s);
	struct lane *lane = &s.sim->lanes[0];
	uint64_t at_ps = lane->start_ps + s.sim->window_ps + 7;
	uint64_t down = s.sim->host_sids[2];

	for (uint32_t i = 3; i--;)
		mail_post(lane, s.sim->shape.hosts, at_ps,
			&(struct weft_frame){ .handle = slab_take(&s.sim->slab, &lane->cache),
				.route = (uint64_t)s.sim->t0_sids[0] << 48 | down << 32,
				.bytes = 4238,
				.in_port = (uint16_t)(4 + i),
				.hop_limit = 64 });
	mail_time(lane, lane->window + 1, false);
	hop_run(lane, s.sim->shape.hosts);
	mail_time(lane, lane->window + 1, false);
	mail_collect(lane, 2);
	CHECK_EQ(lane->mail.n, 3);
	for (uint32_t i = 0; i < lane->mail.n; i++) {
		CHECK_EQ(mail_ps(lane, i), at_ps + (i + 1) * frame_ps + 1000000);
		CHECK_EQ(mail_frame(lane, i)->in_port, 0);
	}
	CHECK_EQ(lane->lost, 0);
	small_close(&s);
}

/* What waits longer than a window is not forgotten: a queue of 100 frames takes 9 of them. */
TEST(hop_run__goes_on_until_its_queues_are_empty)
{
	struct small s = small_make(SMALL_ONE);

	CHECK(weft_sim_incast(s.topo, 12, 10 * 4096, 1, s.flows));
	s.n = 12;
	small_run(&s);
	CHECK_EQ(s.totals.flows_done, 12);
	CHECK(small_last_ps(&s) >= weft_sim_ideal_ps(s.topo, s.flows, s.n) - 4000);
	small_close(&s);
}

TEST(hop_run__loses_what_it_has_no_route_for)
{
	struct small s = small_make(SMALL_ONE);

	small_open(&s);
	struct lane *lane = &s.sim->lanes[0];

	mail_post(lane, 16, lane->start_ps + s.sim->window_ps,
		&(struct weft_frame){ .handle = slab_take(&s.sim->slab, &lane->cache),
			.route = UINT64_C(0x7777) << 48,
			.bytes = 200,
			.hop_limit = 64 });
	weft_sim_run(s.sim, UINT64_C(10000000), NULL, NULL);
	CHECK_EQ(lane->lost, 1);
	small_close(&s);
}
