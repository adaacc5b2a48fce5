/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

static struct rig rig;

/* A check that sees nothing would pass all other tests: each lie must be met. */
TEST(weft_rack_check__sees_what_does_not_add_up)
{
	rig_open(&rig, rig_fabric, false);
	struct weft_rack *rack = rig.rack;

	for (uint32_t i = 0; i < 40; i++)
		CHECK(rig_send(&rig, i % 3 + 1, 0, weft_ev(0, 0), i, 4000, 0));
	weft_rack_run(rack, 1500000);
	weft_rack_check(rack); /* some under way, some queued, some arrived */
	CHECK(rack->n_outs && rack->pool.used && rack->agenda.n);
	rack->n_inside++;
	CHECK_PANICS(weft_rack_check(rack));
	rack->n_inside--;
	rack->stats.arrived++;
	CHECK_PANICS(weft_rack_check(rack));
	rack->stats.arrived--;
	struct entry *entry = &rack->agenda.entries[agenda_first(&rack->agenda)];

	entry->at_ps += 1000000000;
	CHECK_PANICS(weft_rack_check(rack));
	entry->at_ps -= 1000000000;
	struct line *line = &rack->lines[switch_node(rack, rig.shape.hosts)->lines[0]];

	CHECK(line->flags & LINE_ARRIVES);
	line->flags &= (uint8_t)~LINE_ARRIVES;
	CHECK_PANICS(weft_rack_check(rack));
	line->flags |= LINE_ARRIVES;
	rack->is_lossless = true; /* then its departures should have entries */
	CHECK_PANICS(weft_rack_check(rack));
	rack->is_lossless = false;
	rig_close(&rig);
}
