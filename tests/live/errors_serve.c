/* SPDX-License-Identifier: BSD-2-Clause */
/* errors_serve - the peer: one queue pair per caller, and what the caller orders is done to it. */
#include "errors.h"

#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct rig rig;

static struct end own_end(const struct link *link)
{
	return (struct end){ .gid = rig.gid, .qpn = link->qp->qp_num, .psn = link->psn };
}

static bool take(int fd, void *to, size_t bytes)
{
	return recv(fd, to, bytes, MSG_WAITALL) == (ssize_t)bytes;
}

static bool put(int fd, const void *from, size_t bytes)
{
	return send(fd, from, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
}

static bool renew(struct link *link)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct end peer, own;

	if (!take(link->fd, &peer, sizeof(peer)))
		return false;
	must(!ibv_modify_qp(link->qp, &attr, IBV_QP_STATE), "to RESET");
	link_connect(link, &peer);
	own = own_end(link);
	return put(link->fd, &own, sizeof(own));
}

/* Who knows number, address and key, and is not whom the other end has named. */
static int32_t intrude(int fd)
{
	const struct ask ask = { .mr_access = ACCESS_ALL, .qp_access = ACCESS_ALL, .depth = 4,
		.cq_depth = 8, .timeout = 14, .retry = 1 };
	struct link link;
	struct told told;
	struct ibv_wc wc;
	int32_t statuses = 0;

	if (!take(fd, &told, sizeof(told)))
		return -1;
	for (int i = 0; i < 2; i++) {
		link_make(&link, &rig, &ask);
		link_connect(&link, &told.end);
		memset(link.memory, 0xee, 8);
		struct ibv_sge sge = { (uintptr_t)link.memory, 8, link.mr->lkey };
		struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1,
			.opcode = i ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { told.addr, told.rkey } }, *bad;

		must(!ibv_post_send(link.qp, &wr, &bad), "ibv_post_send");
		statuses = statuses * 100 + link_wait(&link, &wc);
		link_free(&link);
	}
	return statuses;
}

static int32_t next_event(void)
{
	struct ibv_async_event event;

	if (rig_event(&rig, &event, 20000))
		return -1;
	ibv_ack_async_event(&event);
	return (int32_t)event.event_type;
}

static int32_t sum(const struct link *link)
{
	int32_t all = 0;

	for (uint32_t i = 0; i < MEMORY_BYTES; i++)
		all += link->memory[i];
	return all;
}

static int32_t obey(struct link *link, char order)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	int32_t rc;

	switch (order) {
	case ORDER_DESTROY:
		rc = ibv_destroy_qp(link->qp);
		link->qp = NULL;
		return rc;
	case ORDER_DEREGISTER:
		rc = ibv_dereg_mr(link->mr);
		link->mr = NULL;
		return rc;
	case ORDER_FAIL:
		return ibv_modify_qp(link->qp, &attr, IBV_QP_STATE);
	case ORDER_RECEIVE:
		return link_receive(link, 1, link->ask.recv_bytes);
	case ORDER_RECEIVE_NOWHERE:
		link->mr->lkey ^= 1u << 30;
		rc = link_receive(link, 1, link->ask.recv_bytes);
		link->mr->lkey ^= 1u << 30;
		return rc;
	case ORDER_STATE:
		return link_state(link);
	case ORDER_WAIT:
		return link_wait(link, &(struct ibv_wc){ 0 });
	case ORDER_EVENT:
		return next_event();
	case ORDER_INTRUDE:
		return intrude(link->fd);
	case ORDER_SUM:
		return sum(link);
	default:
		return -1;
	}
}

static void *attend(void *arg)
{
	int fd = (int)(intptr_t)arg;
	struct link link;
	struct ask ask;
	char order;

	if (!take(fd, &ask, sizeof(ask)))
		goto out;
	link_make(&link, &rig, &ask);
	link.fd = fd;
	for (uint32_t i = 0; i < ask.recvs; i++)
		must(!link_receive(&link, i, ask.recv_bytes), "ibv_post_recv");
	link_connect(&link, &ask.end);
	struct told told = { .end = own_end(&link),
		.addr = (uintptr_t)link.memory,
		.rkey = link.mr->rkey };

	if (put(fd, &told, sizeof(told))) {
		while (take(fd, &order, 1)) {
			int32_t rc = 0;

			if (order == ORDER_RENEW ? !renew(&link) :
						   (rc = obey(&link, order), false))
				break;
			if (order != ORDER_RENEW && !put(fd, &rc, sizeof(rc)))
				break;
		}
	}
	link_free(&link);
	return NULL;
out:
	close(fd);
	return NULL;
}

int serve(const char *port)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE }, *info;
	int fd;

	rig_open(&rig);
	must(!getaddrinfo(NULL, port, &hints, &info), "getaddrinfo");
	fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	must(!bind(fd, info->ai_addr, info->ai_addrlen) && !listen(fd, 16), "listen");
	printf("listens %ld\n", (long)getpid());
	fflush(stdout);
	for (;;) {
		int caller = accept(fd, NULL, NULL);
		pthread_t thread;

		must(caller >= 0, "accept");
		must(!pthread_create(&thread, NULL, attend, (void *)(intptr_t)caller), "thread");
		pthread_detach(thread);
	}
}
