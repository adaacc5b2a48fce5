/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

static struct rig rig;

TEST(weft_network_send__puts_frames_on_the_line_one_after_the_other)
{
	rig_open(&rig, rig_fabric, false);
	CHECK_EQ(weft_network_line_free_ps(rig.network, 0, 1), 0);
	weft_network_run(rig.network, 7000); /* nothing starts in the past */
	CHECK(rig_send(&rig, 0, 1, weft_ev(1, 0), 0, 1000, 0));
	CHECK_EQ(weft_network_line_free_ps(rig.network, 0, 1), 7000 + rig_line_ps(1000));
	CHECK(rig_send(&rig, 0, 1, weft_ev(1, 0), 1, 500, 8000)); /* when the line is free */
	CHECK_EQ(weft_network_line_free_ps(rig.network, 0, 1),
		7000 + rig_line_ps(1000) + rig_line_ps(500));
	CHECK(rig_send(&rig, 0, 1, weft_ev(1, 0), 2, 500, 9000000)); /* when asked for */
	CHECK(rig_send(&rig, 0, 1, weft_ev(0, 0), 3, 500, 9000000)); /* its own plane's line */
	CHECK_EQ(weft_network_line_free_ps(rig.network, 0, 1), 9000000 + rig_line_ps(500));
	CHECK_EQ(weft_network_line_free_ps(rig.network, 0, 0), 9000000 + rig_line_ps(500));
	CHECK_EQ(rig_run(&rig, UINT64_C(1000000000)), 4);
	CHECK_EQ(rig.outs[1].at_ps, 207000 + 2 * rig_line_ps(1000) + rig_line_ps(500));
	rig_close(&rig);
}

TEST(weft_network_send__takes_as_many_as_there_is_room_for)
{
	rig_open(&rig, rig_fabric, false);
	for (uint32_t i = 0; i < RIG_FRAMES; i++)
		CHECK(rig_send(&rig, i % 8, 8, weft_ev(i % 2, i / 2 % 4), i, 64, 0));
	CHECK(!rig_send(&rig, 0, 8, weft_ev(0, 0), 0, 64, 0));
	weft_network_check(rig.network);
	weft_network_run(rig.network, UINT64_C(1000000000));
	CHECK(!rig_send(&rig, 0, 8, weft_ev(0, 0), 0, 64, 0)); /* not taken yet */
	CHECK_EQ(rig_run(&rig, UINT64_C(1000000000)), RIG_FRAMES);
	CHECK(rig_send(&rig, 0, 8, weft_ev(0, 0), 0, 64, 0));
	rig.n_outs = 0;
	CHECK_EQ(rig_run(&rig, UINT64_C(2000000000)), 1);
	rig_close(&rig);
}

TEST(weft_network_send__refuses_what_no_slot_holds)
{
	rig_open(&rig, rig_fabric, true);
	CHECK_PANICS(rig_send(&rig, 0, 1, weft_ev(0, 0), 0, RIG_SLOT - RIG_OFFSET + 1, 0));
	CHECK_PANICS(weft_network_send(rig.network, 16, 0, &(struct weft_frame){ 0 }, 40, 0));
	CHECK_PANICS(weft_network_send(rig.network, 0, 2, &(struct weft_frame){ 0 }, 40, 0));
	rig_close(&rig);
}

TEST(nic_pause__takes_back_what_has_not_begun)
{
	rig_open(&rig, rig_fabric, false);
	uint64_t full_ps = rig_line_ps(4000), end_ps = 2 * full_ps;
	struct line *line = &rig.network->lines[0]; /* h0's, plane 0 */

	for (uint32_t i = 0; i < 4; i++)
		CHECK(rig_send(&rig, 0, 1, weft_ev(0, 0), i, 4000, 0));
	weft_network_run(rig.network, full_ps + 1); /* the second has begun */
	nic_pause(rig.network, line, true);
	nic_pause(rig.network, line, true);
	CHECK_EQ(weft_network_line_free_ps(rig.network, 0, 0), WEFT_NEVER);
	weft_network_check(rig.network);
	CHECK(rig_send(&rig, 0, 1, weft_ev(0, 0), 4, 4000, 0));
	CHECK_EQ(rig_run(&rig, 10 * full_ps), 2);
	CHECK_EQ(rig.outs[1].at_ps, end_ps + full_ps + 200000);
	nic_pause(rig.network, line, false);
	CHECK_EQ(weft_network_line_free_ps(rig.network, 0, 0), 13 * full_ps);
	CHECK_EQ(rig_run(&rig, UINT64_C(1000000000)), 3);
	for (uint32_t i = 2; i < 5; i++) {
		CHECK_EQ(rig.outs[i].frame.handle, i);
		CHECK_EQ(rig.outs[i].at_ps, (10 + i) * full_ps + 200000);
	}
	rig_close(&rig);
}

TEST(nic_pause__keeps_the_agenda_right_when_nothing_has_begun)
{
	rig_open(&rig, rig_fabric, false);
	struct line *line = &rig.network->lines[0];

	CHECK(rig_send(&rig, 0, 1, weft_ev(0, 0), 0, 4000, 5000));
	nic_pause(rig.network, line, true);
	CHECK_EQ(weft_network_next_ps(rig.network), WEFT_NEVER);
	weft_network_check(rig.network);
	nic_pause(rig.network, line, false); /* at once: as if nothing had been */
	CHECK_EQ(rig_run(&rig, UINT64_C(1000000000)), 1);
	CHECK_EQ(rig.outs[0].at_ps, 5000 + 2 * rig_line_ps(4000) + 200000);
	rig_close(&rig);
}
