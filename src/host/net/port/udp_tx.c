/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp_tx - a burst of packets, sorted by socket, one system call each.
 *
 * The engine sprays, so neighbours in a burst leave by different planes; a counting sort brings
 * the messages of one socket together, because a call with eight messages costs 0.7 us less per
 * message than eight calls [M 3.1].  A message is three pieces: headers and tail lie
 * here, the payload stays where the application has it.  The CRC pass over the payload is what
 * brings it into the cache for the kernel's copy.
 *
 * A socket that is full takes the rest into its lane's waiting list, with headers and ICRC done;
 * the lane's plane then counts as full until the list is empty, so it never holds more than one
 * burst.  Should the application's memory change or vanish meanwhile (it may, once a packet has
 * been acknowledged by another copy), the ICRC no longer fits, or the kernel refuses; both are
 * losses of something that nobody waits for.
 *
 * Data leaves with the socket's own traffic class; only the others carry a control message.
 *
 * Hot: once per burst, and per packet inside.
 */
#include "port/udp.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <weft/nofault.h>

void udp_tx_init(struct udp *udp)
{
	for (uint8_t tclass = 0; tclass < WEFT_COUNT(udp->tclass_cmsg); tclass++) {
		struct cmsghdr *cmsg = (struct cmsghdr *)udp->tclass_cmsg[tclass];
		int value = weft_tclass_encode(&udp->dscp, tclass);

		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		cmsg->cmsg_level = udp->is_v4 ? IPPROTO_IP : IPPROTO_IPV6;
		cmsg->cmsg_type = udp->is_v4 ? IP_TOS : IPV6_TCLASS;
		memcpy(CMSG_DATA(cmsg), &value, sizeof(value));
	}
}

static void point(struct udp *udp, struct udp_out *out, struct mmsghdr *msg)
{
	bool is_data = out->tclass == WEFT_CLASS_DATA;

	msg->msg_hdr = (struct msghdr){
		.msg_name = &out->to,
		.msg_namelen = udp->is_v4 ? sizeof(struct sockaddr_in) : sizeof(out->to),
		.msg_iov = out->iov,
		.msg_iovlen = out->n_iov,
		.msg_control = is_data ? NULL : udp->tclass_cmsg[out->tclass],
		.msg_controllen = is_data ? 0 : sizeof(udp->tclass_cmsg[0]),
	};
}

/* The CRC runs faster than memory: the next payload is under way while this one is worked on. */
static void fetch(const struct weft_pkt *pkt)
{
	uint32_t bytes = weft_wire_payload_bytes(pkt);
	const uint8_t *data = bytes ? pkt->w.data : NULL;

	for (uint32_t i = 0; i < bytes; i += 64)
		__builtin_prefetch(data + i, 0, 2);
}

struct seal { /* the arguments of weft_icrc_seal() */
	const struct weft_flow *flow;
	uint8_t *headers, *tail;
	const void *payload;
	size_t headers_bytes, payload_bytes, tail_bytes;
};

static void seal(void *arg)
{
	struct seal *s = arg;

	s->tail_bytes = weft_icrc_seal(net_crc32, s->flow, s->headers, s->headers_bytes, s->payload,
		s->payload_bytes, s->tail);
}

static void build(struct udp *udp, const struct udp_lane *lane, const struct peer_path *path,
	struct udp_out *out)
{
	const struct weft_pkt *pkt = out->pkt;
	uint32_t payload_bytes = weft_wire_payload_bytes(pkt);
	struct weft_flow flow = { .src_port = lane->src_port,
		.dst_port = ntohs(path->to.sin6_port) };
	size_t headers_bytes = weft_wire_encode(pkt, out->headers);

	memcpy(flow.src, udp->config.addr[lane->plane], 16);
	memcpy(flow.dst, path->arrive, 16);
	if (weft_flow_is_ipv4(&flow))
		flow.ipv4_frag = WEFT_IPV4_DF;
	const void *payload = payload_bytes ? pkt->w.data : NULL;
	struct seal s = { &flow, out->headers, out->tail, payload, headers_bytes, payload_bytes,
		WEFT_WIRE_ICRC_BYTES };

	/* A payload that is gone the kernel cannot read either: it refuses this one (EFAULT). */
	if (payload)
		(void)weft_nofault_call(seal, &s, payload, payload_bytes);
	else
		seal(&s);
	out->to = path->to;
	if (WEFT_UNLIKELY(udp->is_v4)) {
		struct sockaddr_storage name;

		(void)inet_name(true, (const uint8_t *)&path->to.sin6_addr,
			ntohs(path->to.sin6_port), &name);
		memcpy(&out->to, &name, sizeof(out->to));
	}
	out->tclass = pkt->tclass;
	out->iov[0] = (struct iovec){ out->headers, headers_bytes };
	out->n_iov = 1;
	if (payload_bytes)
		out->iov[out->n_iov++] =
			(struct iovec){ (void *)(uintptr_t)payload, payload_bytes };
	out->iov[out->n_iov++] = (struct iovec){ out->tail, s.tail_bytes };
	udp->port.stats.tx_bytes += headers_bytes + payload_bytes + s.tail_bytes;
}

/* Sends msgs[0..n); returns how many are dealt with, less than n when the socket is full. */
static size_t push(struct udp *udp, const struct udp_lane *lane, struct mmsghdr *msgs, size_t n)
{
	size_t done = 0;

	while (done < n) {
		int sent = sendmmsg(lane->fd, msgs + done, (unsigned)(n - done), MSG_DONTWAIT);

		udp->port.stats.tx_calls++; /* without a socket (its plane is not there) EBADF */
		if (sent > 0) {
			udp->port.stats.tx_pkts += (uint64_t)sent;
			done += (size_t)sent;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno == EAGAIN)
			break;
		/* No route, link gone, memory gone: this one is lost, the next may fare better. */
		udp->port.stats.tx_refused++;
		done++;
	}
	return done;
}

static void arm(struct udp *udp, struct udp_lane *lane, bool on)
{
	struct epoll_event event = { .events = on ? EPOLLOUT : 0, .data.ptr = lane };

	if (lane->armed == on)
		return;
	lane->armed = on;
	WEFT_ASSERT(!epoll_ctl(udp->epoll_fd, EPOLL_CTL_MOD, lane->fd, &event));
}

static void keep(struct udp *udp, struct udp_lane *lane, const struct udp_out *outs, size_t n)
{
	WEFT_ASSERT(lane->n_waiting + n <= WEFT_NET_BURST);
	for (size_t i = 0; i < n; i++) {
		struct udp_out *out = &lane->waiting[lane->n_waiting++];

		*out = outs[i];
		out->pkt = NULL;
		out->iov[0].iov_base = out->headers;
		out->iov[out->n_iov - 1].iov_base = out->tail;
	}
	udp->full |= 1u << lane->plane;
	udp->port.stats.tx_waits++;
	arm(udp, lane, true);
}

void udp_tx_flush(struct udp *udp, struct udp_lane *lane)
{
	size_t n = lane->n_waiting - lane->first_waiting;
	uint32_t full = 0;

	for (size_t i = 0; i < n; i++)
		point(udp, &lane->waiting[lane->first_waiting + i], &udp->msgs[i]);
	lane->first_waiting += (uint32_t)push(udp, lane, udp->msgs, n);
	if (lane->first_waiting < lane->n_waiting)
		return;
	lane->first_waiting = lane->n_waiting = 0;
	arm(udp, lane, false);
	for (uint32_t i = lane->plane * udp->src_ports; i < (lane->plane + 1) * udp->src_ports; i++)
		full |= udp->lanes[i].n_waiting;
	if (!full)
		udp->full &= ~(1u << lane->plane);
}

static void send_lane(struct udp *udp, struct udp_lane *lane, struct udp_out *outs, size_t n)
{
	size_t done = 0;

	if (!lane->n_waiting) {
		for (size_t i = 0; i < n; i++)
			point(udp, &outs[i], &udp->msgs[i]);
		done = push(udp, lane, udp->msgs, n);
	}
	if (done < n)
		keep(udp, lane, outs + done, n - done);
}

void udp_tx_burst(struct udp *udp, const struct weft_pkt pkts[], size_t n)
{
	uint16_t lane_of[WEFT_NET_BURST], at[UDP_LANES_MAX + 1] = { 0 };
	size_t kept = 0;

	WEFT_ASSERT(n <= WEFT_NET_BURST);
	for (size_t i = 0; i < n; i++) {
		WEFT_ASSERT(pkts[i].port < udp->port.planes);
		lane_of[i] = (uint16_t)(pkts[i].port * udp->src_ports +
					(pkts[i].ev & 0xffff) % udp->src_ports);
		at[lane_of[i] + 1]++;
	}
	for (uint32_t lane = 0; lane < udp->n_lanes; lane++)
		at[lane + 1] = (uint16_t)(at[lane + 1] + at[lane]);
	for (size_t i = 0; i < n; i++)
		udp->outs[at[lane_of[i]]++].pkt = &pkts[i];
	/* Now at[lane] is where the lane's messages end. */
	for (uint32_t lane = 0, i = 0; lane < udp->n_lanes; lane++) {
		struct udp_out *outs = &udp->outs[i];

		kept = 0;
		for (; i < at[lane]; i++) {
			const struct weft_pkt *pkt = udp->outs[i].pkt;
			const struct peer_path *path = peers_path(udp->peers, pkt->peer, pkt->ev);

			if (!path) {
				udp->port.stats.tx_no_path++;
				continue;
			}
			if (i + 1 < n)
				fetch(udp->outs[i + 1].pkt);
			outs[kept].pkt = pkt;
			build(udp, &udp->lanes[lane], path, &outs[kept++]);
		}
		if (kept)
			send_lane(udp, &udp->lanes[lane], outs, kept);
	}
}
