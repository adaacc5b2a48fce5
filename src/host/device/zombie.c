/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * zombie - queue pairs of the engine whose owner is gone.
 *
 * They go on acknowledging for a while: their peer may not have heard of the last ACK, and would
 * report an error for what has been received.  Couriers go on sending as well: a datagram that has
 * completed is to arrive, whether or not its queue pair lives to see that.
 */
#include "device_local.h"

#include <string.h>

#define ZOMBIE_NS UINT64_C(150000000)

/* A courier may be sending: what it had is given back by its completions. */
static void end(struct weft_dev *dev, const struct zombie *z)
{
	struct weft_qp_info info;

	weft_qp_info(z->eq, &info);
	if (z->courier && info.state != WEFT_QP_ERROR)
		(void)weft_qp_move(z->eq, WEFT_QP_ERROR, NULL, device_now(dev));
	if (z->courier)
		(void)run_done(dev);
	weft_qp_close(z->eq);
	if (z->courier)
		courier_free(z->courier);
}

bool zombie_reap(struct weft_dev *dev, uint64_t now, bool oldest)
{
	bool any = false;

	for (uint32_t i = 0; i < dev->n_zombies;) {
		struct zombie *z = &dev->zombies[i];

		if (z->until_ns > now && !(oldest && !any)) {
			i++;
			continue;
		}
		end(dev, z);
		if (z->has_set)
			(void)weft_pathset_close(dev->ep, z->set);
		if (z->has_peer)
			weft_live_peer_close(dev->live, z->peer);
		/* The order is that of their ends. */
		memmove(z, z + 1, (--dev->n_zombies - i) * sizeof(*z));
		any = true;
	}
	return any;
}

void zombie_make(struct weft_dev *dev, const struct zombie *zombie, bool connected)
{
	uint64_t now = device_now(dev);

	if (dev->n_zombies == ZOMBIES_MAX)
		(void)zombie_reap(dev, now, true);
	dev->zombies[dev->n_zombies] = *zombie;
	dev->zombies[dev->n_zombies++].until_ns = now + (connected ? ZOMBIE_NS : 0);
}
