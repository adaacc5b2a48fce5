/* SPDX-License-Identifier: BSD-2-Clause */
#include "shm_switched.h"

#include <poll.h>

TEST(shm_give_unused__gives_back_what_a_switch_asks_for)
{
	struct weft_shm_port_config config = config_of(1, false);
	struct weft_shm_desc descs[48];
	struct switched s;
	size_t max;

	open_switched(&s, &config);
	for (uint32_t i = 0; i < 48; i++)
		descs[i] = (struct weft_shm_desc){ .slot = i };
	CHECK_EQ(weft_shm_put(s.link, WEFT_SHM_FILL, descs, 30), 30);
	CHECK_EQ(s.port->ops->room(s.port, &max), 3);
	CHECK_EQ(weft_shm_put(s.link, WEFT_SHM_FILL, descs + 30, 18), 18); /* not yet taken */
	(void)s.port->ops->carrier(s.port);
	CHECK(!weft_shm_waiting(s.link, WEFT_SHM_DONE));
	REQUIRE(s.port->ops->sleep(s.port, true) >= 0);
	weft_shm_keep_set(s.link, 5);
	struct pollfd bell = { .fd = s.port->ops->sleep(s.port, true), .events = POLLIN };

	CHECK_EQ(bell.fd, WEFT_PORT_BUSY); /* it has something to do */
	for (unsigned i = 0; i < 6; i++)
		(void)s.port->ops->carrier(s.port);
	CHECK_EQ(weft_shm_take(s.link, WEFT_SHM_DONE, descs, 48), 43);
	for (unsigned i = 0; i < 43; i++)
		CHECK_EQ(descs[i].flags, WEFT_SHM_UNUSED);
	CHECK(s.port->ops->sleep(s.port, true) >= 0); /* and is done */
	(void)s.port->ops->sleep(s.port, false);
	weft_shm_keep_set(s.link, WEFT_SHM_KEEP_ALL);
	CHECK_EQ(weft_shm_put(s.link, WEFT_SHM_FILL, descs, 43), 43);
	CHECK_EQ(s.port->ops->room(s.port, &max), 3);
	CHECK_EQ(max, 48);
	close_switched(&s);
}
