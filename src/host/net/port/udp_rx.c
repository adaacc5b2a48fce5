/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp_rx - datagrams of all planes from one socket, checked before anybody believes them.
 *
 * One receiving socket, not one per plane: packets of one write arrive spread over all planes, so
 * per-plane sockets would yield a few datagrams per system call where one yields a full batch.
 * The batch is small enough for its buffers to stay in the second-level cache, where the copy to
 * the packet's place finds them.
 *
 * Order of checks, cheapest against a flood first: known source, headers, ICRC.  A trimmed packet
 * has no valid ICRC and is let through with its mark; the engine uses only its numbers.
 *
 * Hot: once per burst, and per packet inside.
 */
#include "port/udp.h"

#include <stdlib.h>
#include <string.h>

#define SLOT_HEAD_BYTES 64 /* headers and tail of the largest packet, and alignment */
/* The payload of a write begins 36 bytes into its datagram; here it then begins a cache line, from
 * where it is copied to its place three times as fast (docs/decisions/054). */
#define SLOT_SKIP_BYTES 28

struct slot_control {
	uint8_t bytes[128] __attribute__((aligned(8))); /* PKTINFO and one traffic class */
};

struct udp_rx {
	struct mmsghdr msgs[UDP_RX_BATCH];
	struct iovec iov[UDP_RX_BATCH];
	struct sockaddr_in6 from[UDP_RX_BATCH];
	struct slot_control control[UDP_RX_BATCH];
	uint32_t slot_bytes;
	uint8_t data[] WEFT_CACHE_ALIGNED;
};

struct udp_rx *udp_rx_open(uint32_t mtu_bytes)
{
	uint32_t slot_bytes = WEFT_ALIGN_UP(mtu_bytes + SLOT_HEAD_BYTES + SLOT_SKIP_BYTES, 64u);
	size_t bytes = sizeof(struct udp_rx) + (size_t)slot_bytes * UDP_RX_BATCH;
	struct udp_rx *rx = aligned_alloc(64, WEFT_ALIGN_UP(bytes, (size_t)64));

	if (!rx)
		return NULL;
	memset(rx, 0, bytes);
	rx->slot_bytes = slot_bytes;
	for (uint32_t i = 0; i < UDP_RX_BATCH; i++) {
		rx->iov[i] = (struct iovec){ rx->data + (size_t)i * slot_bytes + SLOT_SKIP_BYTES,
			slot_bytes - SLOT_SKIP_BYTES };
		rx->msgs[i].msg_hdr = (struct msghdr){ .msg_name = &rx->from[i],
			.msg_iov = &rx->iov[i],
			.msg_iovlen = 1,
			.msg_control = rx->control[i].bytes };
	}
	return rx;
}

void udp_rx_close(struct udp_rx *rx)
{
	free(rx);
}

/* Destination address and traffic class byte; false: the kernel did not tell the address. */
static bool read_control(struct msghdr *msg, uint8_t dst[16], int *tclass)
{
	bool has_dst = false;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			memcpy(dst, CMSG_DATA(c), 16);
			has_dst = true;
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
			memcpy(tclass, CMSG_DATA(c), sizeof(*tclass));
		} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			const struct in_pktinfo *info = (const void *)CMSG_DATA(c);

			weft_inet_map(&info->ipi_addr, dst);
			has_dst = true;
		} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
			*tclass = *CMSG_DATA(c);
		}
	}
	return has_dst;
}

/* Whether it was a probe of the path MTU, or an answer to one, and has been dealt with. */
static bool was_probe(struct udp *udp, uint32_t peer, uint32_t ev, const struct mmsghdr *msg)
{
	const uint8_t *datagram = msg->msg_hdr.msg_iov->iov_base;

	return udp_mtu_is_probe(datagram, msg->msg_len) &&
	       udp->config.format == WEFT_UDP_PLAIN && !(msg->msg_hdr.msg_flags & MSG_TRUNC) &&
	       udp_mtu_take(udp, peer, ev >> 16, datagram, msg->msg_len);
}

enum { WAS_PROBE = WEFT_DROP_COUNT + 1 };

/* WEFT_DROP_COUNT: taken; WAS_PROBE: no packet; otherwise why not, enum weft_drop. */
static unsigned take(struct udp *udp, struct mmsghdr *msg, struct weft_pkt *pkt)
{
	struct sockaddr_in6 *from = msg->msg_hdr.msg_name, v4;
	const uint8_t *datagram = msg->msg_hdr.msg_iov->iov_base;
	struct weft_flow flow = { .dst_port = udp->udp_port };
	struct weft_wire_fault fault;
	uint32_t ev = 0;
	int tclass = 0;

	if (WEFT_UNLIKELY(udp->is_v4)) {
		inet_read((const struct sockaddr_storage *)from, &v4);
		from = &v4;
	}
	flow.src_port = ntohs(from->sin6_port);
	uint32_t peer = peers_find(udp->peers, from, &ev);

	if (peer == PEER_NONE)
		return WEFT_DROP_UNKNOWN_PEER;
	if (WEFT_UNLIKELY(was_probe(udp, peer, ev, msg)))
		return WAS_PROBE;
	if (msg->msg_hdr.msg_flags & MSG_TRUNC)
		return WEFT_DROP_OVERSIZED;
	if (!read_control(&msg->msg_hdr, flow.dst, &tclass))
		return WEFT_DROP_BAD_FIELD;
	uint8_t mark = weft_tclass_mark(&udp->dscp, (uint8_t)tclass);

	if (!weft_wire_decode(datagram, msg->msg_len, mark, pkt, &fault))
		return fault.drop;
	memcpy(flow.src, &from->sin6_addr, 16);
	if (weft_flow_is_ipv4(&flow))
		flow.ipv4_frag = WEFT_IPV4_DF;
	if (!(mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP)) &&
		!weft_icrc_check(net_crc32, &flow, datagram, msg->msg_len))
		return WEFT_DROP_BAD_ICRC;
	pkt->peer = peer;
	pkt->port = (uint8_t)(ev >> 16);
	pkt->ev = udp->config.format == WEFT_UDP_USID ? weft_usid_get_ev(flow.dst) : ev;
	pkt->tclass = 0;
	return WEFT_DROP_COUNT;
}

size_t udp_rx_burst(struct udp *udp, struct weft_pkt pkts[], size_t max)
{
	struct udp_rx *rx = udp->rx;
	unsigned want = (unsigned)WEFT_MIN(max, (size_t)UDP_RX_BATCH);
	size_t taken = 0;

	/* A call that returned less than it could has seen the end: the next would cost a system
	 * call to say so again, and waiting says it as well. */
	if (udp->drained) {
		udp->drained = false;
		return 0;
	}
	for (unsigned i = 0; i < want; i++) {
		rx->msgs[i].msg_hdr.msg_namelen = sizeof(rx->from[i]);
		rx->msgs[i].msg_hdr.msg_controllen = sizeof(rx->control[i].bytes);
	}
	int n = recvmmsg(udp->rx_fd, rx->msgs, want, MSG_DONTWAIT, NULL);

	udp->port.stats.rx_calls++;
	udp->drained = n > 0 && (unsigned)n < want;
	for (int i = 0; i < n; i++) {
		unsigned drop = take(udp, &rx->msgs[i], &pkts[taken]);

		if (WEFT_UNLIKELY(drop != WEFT_DROP_COUNT)) {
			if (drop != WAS_PROBE)
				udp->port.stats.drops[drop]++;
			continue;
		}
		udp->port.stats.rx_bytes += rx->msgs[i].msg_len;
		taken++;
	}
	udp->port.stats.rx_pkts += taken;
	return taken;
}
