/* SPDX-License-Identifier: BSD-2-Clause */
#include "labs.h"

TEST(loss_set__drops_its_share_on_one_port_only)
{
	struct world world;

	build(&world, TWO_PLANES, WEFT_LAB_RATE_NONE);
	uint32_t t1 = weft_topo_t1(world.topo, 0, 1);
	world.nodes[t1].want[0].loss_ppm = 200000;
	REQUIRE(loss_set(&world, t1));
	CHECK_EQ(world.nodes[t1].now[0].loss_ppm, 200000);
	/* 20 % of 2000 is 400; the odds of being 90 off are about 1 in 200,000. */
	CHECK_NEAR((double)deliver(&world, 0, 3, weft_ev(0, 1), 2000), 1600, 90);
	CHECK_EQ(deliver(&world, 3, 0, weft_ev(0, 1), 200), 200);
	CHECK_EQ(deliver(&world, 0, 3, weft_ev(0, 0), 200), 200);

	world.nodes[t1].want[1].loss_ppm = 1000000;
	REQUIRE(loss_set(&world, t1));
	CHECK_EQ(deliver(&world, 3, 0, weft_ev(0, 1), 200), 0);
	CHECK_NEAR((double)deliver(&world, 0, 3, weft_ev(0, 1), 500), 400, 45);

	memset(world.nodes[t1].want, 0, 2 * sizeof(struct port));
	REQUIRE(loss_set(&world, t1));
	CHECK_EQ(deliver(&world, 0, 3, weft_ev(0, 1), 200), 200);
	CHECK_EQ(deliver(&world, 3, 0, weft_ev(0, 1), 200), 200);
	world_close(&world);
}
