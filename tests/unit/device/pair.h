/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEVICE_PAIR_H
#define DEVICE_PAIR_H
/* pair - devices in real time, with their threads, over the loopback interface. */
#include "check.h"
#include "device_local.h"
#include "unit/net/netns.h"

#include <errno.h>
#include <unistd.h>

static inline uint64_t ground_now(void)
{
	return weft_clock_now(NULL);
}

static inline void ground_sleep(uint64_t ns)
{
	weft_clock_sleep(ns);
}

/* Who polls is quicker than who sleeps. */
static inline void ground_wait(uint64_t until_ns)
{
	(void)until_ns;
}

static inline void ground_close(struct weft_dev *dev)
{
	CHECK_EQ(weft_dev_close(dev), 0);
}

static inline struct weft_dev *pair_device(void)
{
	static bool inside;
	struct weft_dev_name name = { .name = "test0", .planes = "127.0.0.1,::1" };
	struct weft_dev *dev = NULL;
	char error[256] = "";

	if (!inside) {
		netns_enter();
		shell("ip link set lo up");
		inside = true;
	}
	if (weft_dev_open(&dev, &name, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	return dev;
}

#include "sides.h"

#endif /* DEVICE_PAIR_H */
