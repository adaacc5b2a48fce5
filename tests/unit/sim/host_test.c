/* SPDX-License-Identifier: BSD-2-Clause */
#include "small.h"

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
