/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

static struct rig rig;

/* A check that sees nothing would pass all other tests: each lie must be met. */
TEST(weft_network_check__sees_what_does_not_add_up)
{
	rig_open(&rig, rig_fabric, false);
	struct weft_network *network = rig.network;

	for (uint32_t i = 0; i < 40; i++)
		CHECK(rig_send(&rig, i % 3 + 1, 0, weft_ev(0, 0), i, 4000, 0));
	weft_network_run(network, 1500000);
	weft_network_check(network); /* some under way, some queued, some arrived */
	CHECK(network->n_outs && network->pool.used && network->agenda.n);
	network->n_inside++;
	CHECK_PANICS(weft_network_check(network));
	network->n_inside--;
	network->stats.arrived++;
	CHECK_PANICS(weft_network_check(network));
	network->stats.arrived--;
	struct entry *entry = &network->agenda.entries[agenda_first(&network->agenda)];

	entry->at_ps += 1000000000;
	CHECK_PANICS(weft_network_check(network));
	entry->at_ps -= 1000000000;
	struct line *line = &network->lines[switch_node(network, rig.shape.hosts)->lines[0]];

	CHECK(line->flags & LINE_ARRIVES);
	line->flags &= (uint8_t)~LINE_ARRIVES;
	CHECK_PANICS(weft_network_check(network));
	line->flags |= LINE_ARRIVES;
	network->is_lossless = true; /* then its departures should have entries */
	CHECK_PANICS(weft_network_check(network));
	network->is_lossless = false;
	rig_close(&rig);
}
