/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dgram - sockets of datagrams, over a queue pair of datagrams.
 *
 * What a program sends before it is known where the peer's queue pair is (way.c) goes by a socket
 * of the kernel's with the same name, as with rdma-core's rsockets: so nobody waits, and nothing
 * is lost for it.  What comes by either lies in the same slots until it is read.
 *
 * In front of the data stands who sends, as the receiver is to see it: true if the sender says the
 * truth, as with UDP.
 */
#include "dgram.h"

#include <endian.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define GRH_BYTES 40u
#define READS_EACH 64

static uint8_t *slot_at(const struct dgram *d, uint32_t slot)
{
	return d->memory + (size_t)slot * (GRH_BYTES + d->packet_bytes);
}

static uint8_t *send_at(const struct dgram *d, uint64_t send)
{
	return slot_at(d, SLOTS) + send % SENDS * d->packet_bytes;
}

/* ---- making ---- */

static int open_queues(struct rsock *rs, struct dgram *d, struct ibv_context *verbs)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = SENDS,
			.max_recv_wr = RECVS,
			.max_send_sge = 1,
			.max_recv_sge = 1 } };
	struct epoll_event event = { .events = EPOLLIN };

	d->pd = ibv_alloc_pd(verbs);
	rs->completions = ibv_create_comp_channel(verbs);
	if (!d->pd || !rs->completions ||
		epoll_ctl(rs->fd, EPOLL_CTL_ADD, rs->completions->fd, &event) ||
		fcntl(rs->completions->fd, F_SETFL,
			fcntl(rs->completions->fd, F_GETFL) | O_NONBLOCK))
		return -1;
	rs->cq = ibv_create_cq(verbs, SENDS + RECVS, rs, rs->completions, 0);
	init.send_cq = init.recv_cq = rs->cq;
	d->qp = rs->cq ? ibv_create_qp(d->pd, &init) : NULL;
	if (!d->qp)
		return -1;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = d->qkey };
	int error = ibv_modify_qp(
		d->qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY);

	attr.qp_state = IBV_QPS_RTR;
	if (!error)
		error = ibv_modify_qp(d->qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	if (!error)
		error = ibv_modify_qp(d->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return error ? fail(error) : 0;
}

static int open_memory(struct dgram *d, struct ibv_context *verbs)
{
	struct ibv_port_attr port;
	union ibv_gid gid;

	if (ibv_query_port(verbs, 1, &port) || ibv_query_gid(verbs, 1, 3, &gid))
		return fail(ENODEV);
	memcpy(d->gid, gid.raw, 16);
	d->packet_bytes = 128u << port.active_mtu;
	d->memory_bytes =
		SLOTS * (size_t)(GRH_BYTES + d->packet_bytes) + SENDS * (size_t)d->packet_bytes;
	d->memory = mmap(
		NULL, d->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (d->memory == MAP_FAILED) {
		d->memory = NULL;
		return -1;
	}
	d->mr = ibv_reg_mr(d->pd, d->memory, d->memory_bytes, IBV_ACCESS_LOCAL_WRITE);
	for (d->n_free = 0; d->n_free < SLOTS; d->n_free++)
		d->free[d->n_free] = (uint16_t)d->n_free;
	return d->mr ? 0 : -1;
}

static void refill(struct dgram *d)
{
	for (; d->posted < RECVS && d->n_free; d->posted++) {
		uint16_t slot = d->free[--d->n_free];
		struct ibv_sge sge = { (uintptr_t)slot_at(d, slot), GRH_BYTES + d->packet_bytes,
			d->mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

		if (ibv_post_recv(d->qp, &wr, &bad))
			return;
	}
}

int dgram_open(struct rsock *rs)
{
	struct dgram *d = calloc(1, sizeof(*d));
	struct epoll_event event = { .events = EPOLLIN };
	struct ibv_context **list;
	int n = 0;

	if (!d)
		return fail(ENOMEM);
	rs->dgram = d;
	d->udp_fd = socket(rs->family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (d->udp_fd < 0 || epoll_ctl(rs->fd, EPOLL_CTL_ADD, d->udp_fd, &event) ||
		getrandom(&d->qkey, sizeof(d->qkey), 0) != sizeof(d->qkey))
		return -1;
	d->qkey &= INT32_MAX; /* the top bit means one's own */
	list = rdma_get_devices(&n);
	int rc = n ? open_queues(rs, d, list[0]) : fail(ENODEV);

	if (!rc)
		rc = open_memory(d, list[0]);
	if (list)
		rdma_free_devices(list);
	if (!rc)
		refill(d);
	return rc;
}

void dgram_close(struct rsock *rs)
{
	struct dgram *d = rs->dgram;

	if (!d)
		return;
	if (d->qp)
		(void)ibv_destroy_qp(d->qp);
	for (unsigned i = 0; i < WAYS; i++)
		way_forget(&d->ways[i]);
	if (d->mr)
		(void)ibv_dereg_mr(d->mr);
	if (d->pd)
		(void)ibv_dealloc_pd(d->pd);
	if (d->memory)
		(void)munmap(d->memory, d->memory_bytes);
	if (d->udp_fd >= 0)
		(void)close(d->udp_fd);
	free(d);
	rs->dgram = NULL;
}

int dgram_bind(struct rsock *rs, const struct sockaddr *address)
{
	struct sockaddr_storage name = { 0 };

	if (rs->state != OPEN)
		return fail(EINVAL);
	memcpy(&name, address, weft_address_bytes(rs->family));
	(void)setsockopt(rs->dgram->udp_fd, SOL_SOCKET, SO_REUSEADDR, &rs->reuse, sizeof(int));
	if (rs->family == AF_INET6)
		(void)setsockopt(
			rs->dgram->udp_fd, IPPROTO_IPV6, IPV6_V6ONLY, &rs->v6only, sizeof(int));
	if (bind(rs->dgram->udp_fd, (struct sockaddr *)&name, weft_address_bytes(rs->family)))
		return -1;
	rs->state = BOUND;
	return 0;
}

static int bind_if_needed(struct rsock *rs)
{
	struct sockaddr_storage any = { .ss_family = (sa_family_t)rs->family };

	return rs->state == OPEN ? dgram_bind(rs, (struct sockaddr *)&any) : 0;
}

int dgram_name(struct rsock *rs, struct sockaddr_storage *name, bool of_peer)
{
	socklen_t bytes = sizeof(*name);

	if (of_peer) {
		*name = rs->dgram->peer;
		return name->ss_family ? 0 : fail(ENOTCONN);
	}
	return getsockname(rs->dgram->udp_fd, (struct sockaddr *)name, &bytes);
}

/* ---- what comes ---- */

static bool name_in(const struct rsock *rs, const uint8_t *packet, struct sockaddr_storage *name)
{
	struct head head;
	size_t n;

	memcpy(&head, packet, sizeof(head));
	*name = (struct sockaddr_storage){ .ss_family = (sa_family_t)rs->family };
	if (be32toh(head.magic) != DGRAM_MAGIC || head.kind != DATA || head.family != rs->family)
		return false;
	void *address = name_address(name, &n);

	memcpy(address, head.address, n);
	*name_port(name) = head.port;
	return true;
}

/* A packet lies in the slot, behind room for a global header.  False: it is none for us. */
static bool arrived(struct rsock *rs, uint16_t slot, uint32_t bytes)
{
	struct dgram *d = rs->dgram;
	struct sockaddr_storage name;

	if (bytes < sizeof(struct head) || !name_in(rs, slot_at(d, slot) + GRH_BYTES, &name) ||
		(d->peer.ss_family && !name_is_same(&d->peer, &name)))
		return false;
	d->got[d->end % SLOTS].slot = slot;
	d->got[d->end++ % SLOTS].bytes = bytes;
	return true;
}

static void take_udp(struct rsock *rs)
{
	struct dgram *d = rs->dgram;

	for (int i = 0; i < READS_EACH && d->n_free; i++) {
		struct sockaddr_storage from = { 0 };
		socklen_t from_bytes = sizeof(from);
		uint16_t slot = d->free[d->n_free - 1];
		uint8_t *to = slot_at(d, slot) + GRH_BYTES;
		ssize_t n = recvfrom(d->udp_fd, to, d->packet_bytes, MSG_DONTWAIT,
			(struct sockaddr *)&from, &from_bytes);

		if (n < 0)
			return;
		if (arrived(rs, slot, (uint32_t)n))
			d->n_free--;
		else
			way_hear(rs, &from, to, (size_t)n);
	}
}

void dgram_progress(struct rsock *rs)
{
	struct dgram *d = rs->dgram;
	struct ibv_wc wc[16];
	int n;

	while ((n = ibv_poll_cq(rs->cq, 16, wc)) > 0) {
		for (int i = 0; i < n; i++) {
			if (!(wc[i].opcode & IBV_WC_RECV)) {
				d->sending--;
				continue;
			}
			d->posted--;
			if (wc[i].status || wc[i].byte_len < GRH_BYTES ||
				!arrived(rs, (uint16_t)wc[i].wr_id, wc[i].byte_len - GRH_BYTES))
				d->free[d->n_free++] = (uint16_t)wc[i].wr_id;
		}
		rs->idle = 0;
	}
	if (rs->cm_is_due || ++rs->idle % 64 == 0) {
		rs->cm_is_due = false;
		take_udp(rs);
	}
	refill(d);
}

short dgram_ready(const struct rsock *rs)
{
	const struct dgram *d = rs->dgram;

	return (short)((d->first != d->end ? POLLIN | POLLRDNORM : 0) |
		       (d->sending < SENDS ? POLLOUT | POLLWRNORM : 0));
}

bool dgram_is_flushed(struct rsock *rs)
{
	return !rs->dgram->sending;
}

/* ---- the program's ---- */

int dgram_connect(struct rsock *rs, const struct sockaddr *address)
{
	struct dgram *d = rs->dgram;
	struct sockaddr_storage peer = { 0 };

	if (!address) {
		d->peer.ss_family = 0;
		return 0;
	}
	memcpy(&peer, address, weft_address_bytes(rs->family));
	if (bind_if_needed(rs) || !way_find(rs, &peer))
		return -1;
	d->peer = peer;
	return 0;
}

static bool can_send(struct rsock *rs)
{
	return rs->dgram->sending < SENDS;
}

static ssize_t send_by_kernel(
	struct rsock *rs, const struct way *way, const struct iovec *data, size_t bytes)
{
	struct sockaddr_storage to = way->to;
	struct head head = way->head;
	struct iovec iov[2] = { { &head, sizeof(head) }, { data->iov_base, bytes } };
	struct msghdr msg = { .msg_name = &to,
		.msg_namelen = weft_address_bytes(rs->family),
		.msg_iov = iov,
		.msg_iovlen = 2 };

	head.kind = DATA;
	return sendmsg(rs->dgram->udp_fd, &msg, MSG_NOSIGNAL) < 0 ? -1 : (ssize_t)bytes;
}

static ssize_t send_one(
	struct rsock *rs, const struct way *way, const uint8_t *packet, size_t bytes)
{
	struct dgram *d = rs->dgram;
	struct ibv_sge sge = { (uintptr_t)packet, (uint32_t)(sizeof(struct head) + bytes),
		d->mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = { way->ah, way->qpn, way->qkey } },
			   *bad;
	int error = ibv_post_send(d->qp, &wr, &bad);

	if (error)
		return fail(error);
	d->sending++;
	d->sent++;
	return (ssize_t)bytes;
}

ssize_t dgram_send(struct rsock *rs, const struct iovec *iov, int n, int flags,
	const struct sockaddr *address, socklen_t address_bytes)
{
	struct dgram *d = rs->dgram;
	struct sockaddr_storage to = d->peer;
	size_t bytes = 0;

	for (int i = 0; i < n; i++)
		bytes += iov[i].iov_len;
	if (address && (address_bytes < weft_address_bytes(rs->family) ||
			       address->sa_family != rs->family))
		return fail(EINVAL);
	if (address)
		memcpy(&to, address, weft_address_bytes(rs->family));
	if (!to.ss_family)
		return fail(EDESTADDRREQ);
	if (bytes > d->packet_bytes - sizeof(struct head))
		return fail(EMSGSIZE);
	int timeout_ms = rs->nonblocking || flags & MSG_DONTWAIT ? 0 : -1;
	int error = wait_until(rs, can_send, timeout_ms);

	if (error)
		return fail(error);
	struct way *way = bind_if_needed(rs) ? NULL : way_find(rs, &to);

	if (!way && errno == ENOBUFS && timeout_ms && !wait_until(rs, dgram_is_flushed, -1))
		way = way_find(rs, &to);
	if (!way)
		return -1;
	uint8_t *packet = send_at(d, d->sent);
	struct iovec data = { packet + sizeof(way->head), bytes };

	memcpy(packet, &way->head, sizeof(way->head));
	packet[offsetof(struct head, kind)] = DATA;
	for (size_t at = 0, i = 0; i < (size_t)n; at += iov[i++].iov_len)
		if (iov[i].iov_len) /* or else it may be NULL */
			memcpy((uint8_t *)data.iov_base + at, iov[i].iov_base, iov[i].iov_len);
	return way->qpn ? send_one(rs, way, packet, bytes) : send_by_kernel(rs, way, &data, bytes);
}

static bool can_read(struct rsock *rs)
{
	return rs->dgram->first != rs->dgram->end;
}

ssize_t dgram_receive(
	struct rsock *rs, const struct iovec *iov, int n, int flags, struct sockaddr_storage *from)
{
	struct dgram *d = rs->dgram;
	int error = bind_if_needed(rs) ? errno : 0;

	if (!error)
		error = wait_until(rs, can_read, rs->nonblocking || flags & MSG_DONTWAIT ? 0 : -1);
	if (error)
		return fail(error);
	uint16_t slot = d->got[d->first % SLOTS].slot;
	size_t bytes = d->got[d->first % SLOTS].bytes - sizeof(struct head), done = 0;
	const uint8_t *packet = slot_at(d, slot) + GRH_BYTES, *at = packet + sizeof(struct head);

	(void)name_in(rs, packet, from);
	for (int i = 0; i < n && done < bytes; i++) { /* what does not fit is gone */
		size_t part = WEFT_MIN(bytes - done, iov[i].iov_len);

		if (part) /* or else it may be NULL */
			memcpy(iov[i].iov_base, at + done, part);
		done += part;
	}
	if (!(flags & MSG_PEEK)) {
		d->first++;
		d->free[d->n_free++] = slot;
		refill(d);
	}
	return (ssize_t)bytes;
}
