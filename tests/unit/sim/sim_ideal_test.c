/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * By hand, for 400 Gb/s (20 ps a byte): a full packet is 4096 + 142 + 24 = 4262 bytes on the line,
 * an ACK 122 + 24 = 146.
 */
#include "small.h"

TEST(weft_sim_ideal_ps__is_what_arithmetic_says)
{
	struct small s = small_make(SMALL_ONE);

	s.flows[0] = (struct weft_sim_flow){ .src = 0, .dst = 15, .len_bytes = 4096 };
	CHECK_EQ(weft_sim_ideal_ps(s.topo, s.flows, 1), 4 * 4262 * 20 + 4 * 146 * 20 + 8 * 1000000);
	/* Below one T0 there are two links. */
	s.flows[0].dst = 1;
	CHECK_EQ(weft_sim_ideal_ps(s.topo, s.flows, 1), 2 * 4262 * 20 + 2 * 146 * 20 + 4 * 1000000);
	s.flows[0].dst = 15;
	s.flows[0].len_bytes = 100 * 4096;
	CHECK_EQ(weft_sim_ideal_ps(s.topo, s.flows, 1),
		103 * 4262 * 20 + 4 * 146 * 20 + 8 * 1000000);
	/* A short one more goes last and overtakes: the last full one decides. */
	s.flows[0].len_bytes = 100 * 4096 + 1696;
	CHECK_EQ(weft_sim_ideal_ps(s.topo, s.flows, 1),
		103 * 4262 * 20 + 4 * 146 * 20 + 8 * 1000000);
	/* Nearly as long as a full one, it decides itself. */
	s.flows[0].len_bytes = 100 * 4096 + 4000;
	CHECK_EQ(weft_sim_ideal_ps(s.topo, s.flows, 1),
		(100 * 4262 + 4 * (4000 + 166)) * 20 + 4 * 146 * 20 + 8 * 1000000);
	/* Many to one: the last link carries all of it. */
	for (uint32_t i = 0; i < 8; i++)
		s.flows[i] = (struct weft_sim_flow){ .src = 4 + i, .dst = 0, .len_bytes = 4096 };
	CHECK_EQ(
		weft_sim_ideal_ps(s.topo, s.flows, 8), 11 * 4262 * 20 + 4 * 146 * 20 + 8 * 1000000);
	small_close(&s);
}

TEST(weft_sim_ideal_ps__deals_packets_out_over_the_planes)
{
	struct small s = small_make(SMALL_FOUR);
	uint64_t rest_ps = 4 * 146 * 80 + 4 * 100000 + 4 * 500000;

	s.flows[0] = (struct weft_sim_flow){ .src = 0, .dst = 15, .len_bytes = 8 * 4096 };
	CHECK_EQ(weft_sim_ideal_ps(s.topo, s.flows, 1), 5 * 4262 * 80 + rest_ps);
	/* One more, full: a plane has three. */
	s.flows[0].len_bytes += 4096;
	CHECK_EQ(weft_sim_ideal_ps(s.topo, s.flows, 1), 6 * 4262 * 80 + rest_ps);
	small_close(&s);
}

TEST(ideal_hops__counts_packets_links_and_acks)
{
	struct small s = small_make(SMALL_ONE);
	const struct weft_topo_shape *shape = weft_topo_shape(s.topo);

	/* 9 packets and 3 ACKs over 4 links, 10 times; one of each over 2; nothing. */
	s.flows[0] = (struct weft_sim_flow){
		.src = 0, .dst = 15, .len_bytes = 8 * 4096 + 1, .repeats = 10
	};
	s.flows[1] = (struct weft_sim_flow){ .src = 0, .dst = 1, .len_bytes = 1 };
	s.flows[2] = (struct weft_sim_flow){ .src = 3, .dst = 3 };
	CHECK_EQ(ideal_hops(shape, s.flows, 3), 10 * 12 * 4 + 2 * 2);
	s.flows[0] = (struct weft_sim_flow){ .src = 0, .dst = 15, .len_bytes = UINT32_MAX };
	CHECK_EQ(ideal_hops(shape, s.flows, 1), (1048576 + 262144) * 4);
	small_close(&s);
}
