/* SPDX-License-Identifier: BSD-2-Clause */
#include "small.h"

/* Sizes of protocol.md 1.16, and what the switches of the fabric's tests are fed with. */
TEST(host_bytes__counts_every_header)
{
	struct weft_pkt data = {
		.op = WEFT_OP_WRITE_MIDDLE, .flags = WEFT_BTH_TS, .w = { .len_bytes = 4096 }
	};
	struct weft_pkt ack = { .op = WEFT_OP_ACK }, sack = { .op = WEFT_OP_SACK };

	CHECK_EQ(host_bytes(&data), 4096 + DATA_HEADERS);
	data.op = WEFT_OP_WRITE_LAST_IMM;
	data.w.len_bytes = 1;
	CHECK_EQ(host_bytes(&data), 4 + 4 + DATA_HEADERS);
	CHECK_EQ(host_bytes(&ack), ACK_BYTES);
	CHECK_EQ(host_bytes(&sack), ACK_BYTES + 32);
}

static void check_route(const struct small *s, uint32_t src, uint32_t dst)
{
	uint32_t evs[512];
	size_t n = weft_topo_evs(s->topo, src, dst, 1, evs, WEFT_COUNT(evs));

	CHECK(n > 0);
	for (size_t i = 0; i < n; i++) {
		uint8_t addr[16];
		uint64_t route = 0;

		CHECK(weft_topo_usid(s->topo, src, dst, evs[i], addr));
		for (unsigned k = 4; k < 12; k++)
			route = route << 8 | addr[k];
		CHECK_EQ(host_route(s->sim, src, dst, evs[i]), route);
	}
}

/* The quick way to a route against the address that a live sender would write. */
TEST(host_route__says_what_the_address_says)
{
	static const char parallel[] = "name: p\nplanes: 2\nt0s: 3\nt1s: 2\nparallel_links: 2\n"
				       "hosts: 10\nhost_links: {speed: 100Gb/s, delay: 1us}\n";
	static const char *const fabrics[] = { SMALL_ONE, SMALL_FOUR, parallel };

	for (unsigned f = 0; f < WEFT_COUNT(fabrics); f++) {
		struct small s = small_make(fabrics[f]);

		small_open(&s);
		for (uint32_t src = 0; src < s.sim->shape.hosts; src++) {
			for (uint32_t dst = 0; dst < s.sim->shape.hosts; dst++) {
				if (src != dst)
					check_route(&s, src, dst);
			}
		}
		small_close(&s);
	}
}

/* One packet in an empty fabric: there, and its SACK back, to the picosecond of the ideal; the
 * engine counts in whole nanoseconds, so each of its two answers may be one late.
 */
TEST(host_run__takes_exactly_as_long_as_arithmetic_says)
{
	static const char *const fabrics[] = { SMALL_ONE, SMALL_FOUR };

	for (unsigned f = 0; f < WEFT_COUNT(fabrics); f++) {
		struct small s = small_make(fabrics[f]);

		s.flows[s.n++] = (struct weft_sim_flow){ .src = 0, .dst = 15, .len_bytes = 4096 };
		small_run(&s);
		uint64_t ideal_ps = weft_sim_ideal_ps(s.topo, s.flows, s.n);
		uint64_t ack_ps = line_ps(s.sim->shape.host_bps, ACK_BYTES);

		/* The work is done when the transport ACK behind the SACK has come. */
		CHECK(weft_sim_flow_ps(s.sim, 0) >= ideal_ps - 1000);
		CHECK(weft_sim_flow_ps(s.sim, 0) <= ideal_ps + 4 * ack_ps + 1000);
		CHECK(s.totals.packet_hops >= 4 * 3); /* and a probe of the way back */
		small_close(&s);
	}
}

TEST(host_run__starts_flows_when_they_are_due)
{
	struct small s = small_make(SMALL_ONE);

	s.flows[s.n++] = (struct weft_sim_flow){ .src = 0, .dst = 15, .len_bytes = 4096 };
	s.flows[s.n++] = (struct weft_sim_flow){
		.src = 0, .dst = 15, .len_bytes = 4096, .start_ps = UINT64_C(5000000000)
	};
	s.flows[s.n++] = (struct weft_sim_flow){
		.src = 0, .dst = 15, .len_bytes = 4096, .start_ps = UINT64_C(2000000000)
	};
	small_run(&s);
	CHECK_EQ(s.totals.flows_done, 3);
	CHECK_EQ(weft_sim_flow_ps(s.sim, 1), weft_sim_flow_ps(s.sim, 0));
	CHECK_EQ(weft_sim_flow_ps(s.sim, 2), weft_sim_flow_ps(s.sim, 0));
	CHECK(s.totals.now_ps >= UINT64_C(5000000000));
	/* Little happens between them, and nobody walks through five thousand windows. */
	CHECK(s.totals.windows < 1000);
	small_close(&s);
}
