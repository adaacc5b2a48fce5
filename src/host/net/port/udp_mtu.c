/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp_mtu - packetization layer path MTU discovery (RFC 8899): probes and what comes back.
 *
 * A link in the middle may carry less than the interfaces at both ends, and says so to nobody who
 * would tell us: ICMP is filtered, or names an address that we never asked for.  So a size counts
 * when a packet of it has come back: a probe as long as a full packet of that payload, answered by
 * as many bytes, one plane at a time.
 *
 * Probes are datagrams of ours between two that know each other.  Their first byte is an opcode of
 * the range that IBTA leaves to manufacturers (vol. 1, table 38), so no packet of MRC or RoCE is
 * taken for one.  Nobody gets more bytes than it has sent.
 */
#include "port/udp.h"

#include <string.h>

enum { OPCODE = 0xf8, PROBE = 1, ECHO = 2, HEAD_BYTES = 8 };
enum { OVERHEAD_BYTES = LINK_OVERHEAD_BYTES - 48 }; /* of a full packet, behind UDP's header */

bool udp_mtu_is_probe(const uint8_t *datagram, size_t bytes)
{
	return bytes >= HEAD_BYTES && datagram[0] == OPCODE;
}

/* By the plane's first source port; what the kernel refuses, it would refuse data as well. */
static void post(struct udp *udp, uint32_t peer, uint32_t plane, const uint8_t head[HEAD_BYTES],
	uint32_t payload_bytes)
{
	static const uint8_t zeros[WEFT_MTU_MAX + OVERHEAD_BYTES];
	const struct peer_path *path = peers_path(udp->peers, peer, weft_ev(plane, 0));
	struct udp_lane *lane = &udp->lanes[plane * udp->src_ports];
	struct iovec iov[2] = { { (void *)(uintptr_t)head, HEAD_BYTES },
		{ (void *)(uintptr_t)zeros, payload_bytes + OVERHEAD_BYTES - HEAD_BYTES } };
	struct sockaddr_storage name;

	if (!path || lane->fd < 0 || !(udp->planes_open >> plane & 1))
		return;
	socklen_t bytes = inet_name(udp->is_v4, (const uint8_t *)&path->to.sin6_addr,
		ntohs(path->to.sin6_port), &name);
	struct msghdr msg = {
		.msg_name = &name, .msg_namelen = bytes, .msg_iov = iov, .msg_iovlen = 2
	};

	(void)sendmsg(lane->fd, &msg, MSG_DONTWAIT);
	udp->port.stats.tx_calls++;
}

static void put_head(uint8_t head[HEAD_BYTES], uint8_t type, uint32_t payload_bytes, uint32_t token)
{
	head[0] = OPCODE;
	head[1] = type;
	head[2] = (uint8_t)(payload_bytes >> 8);
	head[3] = (uint8_t)payload_bytes;
	memcpy(head + 4, &token, sizeof(token)); /* comes back as it was: no order of bytes */
}

uint32_t weft_udp_mtu_proved(const struct weft_port *port, uint32_t peer, uint32_t payload_bytes)
{
	const struct udp *udp = (const struct udp *)port;
	uint32_t planes = 0;

	WEFT_ASSERT(peer < WEFT_NET_PEERS_MAX);
	for (uint32_t plane = 0; plane < udp->port.planes; plane++)
		if (udp->mtu_proved[peer][plane] >= payload_bytes)
			planes |= 1u << plane;
	return planes;
}

void udp_mtu_forget(struct udp *udp, uint32_t peer)
{
	memset(udp->mtu_proved[peer], 0, sizeof(udp->mtu_proved[peer]));
}

void weft_udp_mtu_probe(struct weft_port *port, uint32_t peer, uint32_t payload_bytes,
	uint32_t planes, uint32_t token)
{
	struct udp *udp = (struct udp *)port;
	uint8_t head[HEAD_BYTES];

	WEFT_ASSERT(peer < WEFT_NET_PEERS_MAX && payload_bytes <= udp->config.mtu_bytes);
	put_head(head, PROBE, payload_bytes, token);
	if (token != udp->mtu_token)
		udp_mtu_forget(udp, peer);
	udp->mtu_token = token;
	planes &= ~weft_udp_mtu_proved(port, peer, payload_bytes);
	for (uint32_t plane = 0; plane < udp->port.planes; plane++)
		if (planes >> plane & 1)
			post(udp, peer, plane, head, payload_bytes);
}

bool udp_mtu_take(struct udp *udp, uint32_t peer, uint32_t plane, const uint8_t *datagram,
	size_t bytes)
{
	uint32_t payload_bytes = (uint32_t)datagram[2] << 8 | datagram[3], token;
	uint8_t head[HEAD_BYTES];

	memcpy(&token, datagram + 4, sizeof(token));
	if (bytes != payload_bytes + OVERHEAD_BYTES || payload_bytes > udp->config.mtu_bytes ||
		plane >= udp->port.planes)
		return false;
	if (datagram[1] == PROBE) {
		put_head(head, ECHO, payload_bytes, token);
		post(udp, peer, plane, head, payload_bytes);
		return true;
	}
	if (datagram[1] != ECHO || token != udp->mtu_token)
		return false;
	uint16_t *proved = &udp->mtu_proved[peer][plane];

	*proved = (uint16_t)WEFT_MAX(*proved, payload_bytes);
	return true;
}
