/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NET_MUTE_H
#define NET_MUTE_H
/* mute - the kernel's own stack does not see these frames as long as this is open. */
#include "port/frames.h"

#include <net/if.h>

struct mute;
/* frames and ifnames: one per plane; udp_port makes the table's name unique.  NULL: error says
 * why in one line. */
struct mute *mute_open(uint16_t udp_port, const struct frames frames[],
	const char ifnames[][IF_NAMESIZE], uint32_t planes, char *error, size_t error_bytes);
void mute_close(struct mute *mute); /* NULL is fine */

#endif /* NET_MUTE_H */
