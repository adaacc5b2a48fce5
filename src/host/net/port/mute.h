/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NET_MUTE_H
#define NET_MUTE_H
/* mute - the kernel's own stack does not see these frames as long as this is open. */
#include "port/frames.h"

struct mute;
/* Of the frames of one plane, by its interface; port and plane make the table's name unique.
 * NULL: error says why in one line. */
struct mute *mute_open(uint16_t udp_port, uint32_t plane, const struct frames *frames,
	const char *ifname, char *error, size_t error_bytes);
void mute_close(struct mute *mute); /* NULL is fine */

#endif /* NET_MUTE_H */
