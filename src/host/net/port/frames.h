/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NET_FRAMES_H
#define NET_FRAMES_H
/* frames - which frames belong to a port that writes and reads whole ones. */
#include "net_local.h"

#include <linux/filter.h>
#include <weft/wire.h>

#define FRAMES_MATCHES_MAX 8u
#define FRAMES_RULES_MAX 2u
#define FRAMES_FILTER_MAX (4u + FRAMES_RULES_MAX * (2 * FRAMES_MATCHES_MAX + 1))
#define FRAMES_NFT_MAX 256u /* bytes of text */

struct frames_match { /* big-endian value of 1, 2 or 4 bytes, offset from the IP header */
	uint16_t offset;
	uint8_t bytes;
	uint32_t value;
};

struct frames_rule { /* all must be so */
	struct frames_match match[FRAMES_MATCHES_MAX];
	uint32_t n;
};

struct frames { /* one of these must hold */
	struct frames_rule rule[FRAMES_RULES_MAX];
	uint32_t n;
};

/* What comes to this UDP port at our uSID (USID, SRV6), or address (STEV). */
void frames_describe(struct frames *frames, enum weft_encap_kind kind, const uint8_t addr[16],
	const uint8_t usid[16], uint16_t udp_port);
/* A program for SO_ATTACH_FILTER on a packet socket; code: room for FRAMES_FILTER_MAX. */
size_t frames_filter(const struct frames *frames, struct sock_filter code[]);
/* The matches of rule r as an nft expression for a netdev chain; text: FRAMES_NFT_MAX. */
size_t frames_nft(const struct frames *frames, uint32_t r, char *text, size_t bytes);

#endif /* NET_FRAMES_H */
