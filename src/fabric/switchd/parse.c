/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parse - which UDP port a packet is for, whatever it is wrapped in.
 *
 * This is the flow table's key: the innermost UDP destination port behind up to one outer IPv6
 * header (IPv6-in-IPv6, as SRv6 encapsulates) and the extension headers that may stand in front
 * (RFC 8200: hop-by-hop, destination options; RFC 8754: routing).  Ports of fragments other than
 * the first are not there to be read; MRC never fragments, and a kernel's fragments go to the
 * kernel's interface like everything that is no UDP.
 *
 * The bytes may be changed by a foul process while they are read, so each is read once where it
 * decides how far to go.
 */
#include "switchd_local.h"

#include <netinet/in.h>

#define IPV6_BYTES 40u
#define UDP_BYTES 8u
#define HEADERS_MAX 8u /* that are walked through; more is nobody's packet */

uint16_t packet_udp_port(const uint8_t *ip, size_t bytes)
{
	size_t at = IPV6_BYTES;
	unsigned next;

	if (bytes < IPV6_BYTES || ip[0] >> 4 != 6)
		return 0;
	next = ip[6];
	for (unsigned i = 0; i < HEADERS_MAX; i++) {
		switch (next) {
		case IPPROTO_UDP:
			if (bytes - at < UDP_BYTES)
				return 0;
			return (uint16_t)(ip[at + 2] << 8 | ip[at + 3]);
		case IPPROTO_IPV6:
			if (bytes - at < IPV6_BYTES || ip[at] >> 4 != 6)
				return 0;
			next = ip[at + 6];
			at += IPV6_BYTES;
			break;
		case IPPROTO_HOPOPTS:
		case IPPROTO_ROUTING:
		case IPPROTO_DSTOPTS:
			if (bytes - at < 8)
				return 0;
			next = ip[at];
			at += 8u * (ip[at + 1] + 1u);
			if (at > bytes)
				return 0;
			break;
		default:
			return 0;
		}
	}
	return 0;
}
