/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TWIN_H
#define TWIN_H
/*
 * Two connected sockets of one process, over libibverbs that has one device and writes at once: a
 * write goes straight to its address, and an immediate to the queue of whom it is for.  Connections
 * are rdma_cm's own, over the loopback interface.
 */
#include "../rdmacm/one_device.h"
#include "check.h"
#include "rsocket_local.h"

#include <endian.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define TWIN_DEEP 1024

struct twin_cq {
	struct ibv_cq ibv;
	struct ibv_wc wc[TWIN_DEEP];
	uint32_t put, taken;
	bool armed;
};

struct twin_qp {
	struct ibv_qp ibv;
	struct twin_qp *next;
	uint32_t peer;
};

static struct {
	pthread_mutex_t lock;
	struct twin_qp *qps;
	uint32_t numbers;
	uint32_t writes, after_all; /* without immediate; those posted when all before was told */
	uint32_t last_bytes;        /* of such a write */
	uint32_t vain;              /* polls that find nothing yet, after such a write */
} twin = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void twin_put(struct ibv_cq *ibv, struct ibv_wc wc)
{
	struct twin_cq *cq = (struct twin_cq *)ibv;
	uint64_t one = 1;

	cq->wc[cq->put++ % TWIN_DEEP] = wc;
	if (cq->armed && write(ibv->channel->fd, &one, sizeof(one)) == sizeof(one))
		cq->armed = false;
}

static int twin_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct twin_qp *qp = (struct twin_qp *)ibv, *to;

	(void)bad;
	pthread_mutex_lock(&twin.lock);
	for (to = twin.qps; to && to->ibv.qp_num != qp->peer;)
		to = to->next;
	struct ibv_wc wc = { .wr_id = wr->wr_id, .opcode = IBV_WC_RDMA_WRITE };
	struct twin_cq *cq = (struct twin_cq *)ibv->send_cq;

	if (wr->opcode == IBV_WR_RDMA_WRITE) {
		twin.writes++;
		twin.after_all += cq->taken == cq->put;
		twin.last_bytes = wr->sg_list->length;
		twin.vain = 3;
	}
	if (!to)
		wc.status = IBV_WC_RETRY_EXC_ERR;
	else if (wr->num_sge)
		memcpy((void *)(uintptr_t)wr->wr.rdma.remote_addr,
			(void *)(uintptr_t)wr->sg_list->addr, wr->sg_list->length);
	if (to && wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		twin_put(to->ibv.recv_cq, (struct ibv_wc){ .opcode = IBV_WC_RECV_RDMA_WITH_IMM,
						  .imm_data = wr->imm_data });
	twin_put(qp->ibv.send_cq, wc);
	pthread_mutex_unlock(&twin.lock);
	return 0;
}

static int twin_receive(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)ibv, (void)wr, (void)bad;
	return 0;
}

static int twin_poll(struct ibv_cq *ibv, int n, struct ibv_wc *wc)
{
	struct twin_cq *cq = (struct twin_cq *)ibv;
	int i = 0;

	pthread_mutex_lock(&twin.lock);
	/* Never one that looks behind an alarm: what had come before that rings nobody. */
	if (twin.vain && !cq->armed)
		twin.vain--, n = 0;
	while (i < n && cq->taken != cq->put)
		wc[i++] = cq->wc[cq->taken++ % TWIN_DEEP];
	pthread_mutex_unlock(&twin.lock);
	return i;
}

static int twin_arm(struct ibv_cq *ibv, int solicited)
{
	(void)solicited;
	pthread_mutex_lock(&twin.lock);
	((struct twin_cq *)ibv)->armed = true;
	pthread_mutex_unlock(&twin.lock);
	return 0;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *at, size_t bytes, int access)
{
	struct ibv_mr *mr = calloc(1, sizeof(*mr));

	(void)at, (void)bytes, (void)access;
	mr->pd = pd;
	return mr;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	free(mr);
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *channel = calloc(1, sizeof(*channel));

	channel->context = context;
	channel->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	free(channel);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **user)
{
	uint64_t n;

	(void)cq, (void)user;
	return read(channel->fd, &n, sizeof(n)) == sizeof(n) ? 0 : -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	(void)cq, (void)n;
}

struct ibv_cq *ibv_create_cq(
	struct ibv_context *context, int n, void *user, struct ibv_comp_channel *channel, int v)
{
	struct twin_cq *cq = calloc(1, sizeof(*cq));

	(void)n, (void)user, (void)v;
	context->ops.poll_cq = twin_poll;
	context->ops.req_notify_cq = twin_arm;
	context->ops.post_send = twin_send;
	context->ops.post_recv = twin_receive;
	cq->ibv.context = context;
	cq->ibv.channel = channel;
	return &cq->ibv;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	free(cq);
	return 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	(void)pd, (void)attr;
	return NULL;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	(void)srq;
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct twin_qp *qp = calloc(1, sizeof(*qp));

	pthread_mutex_lock(&twin.lock);
	qp->ibv.pd = pd;
	qp->ibv.context = &one_context;
	qp->ibv.qp_num = ++twin.numbers;
	qp->ibv.send_cq = init->send_cq;
	qp->ibv.recv_cq = init->recv_cq;
	qp->next = twin.qps;
	twin.qps = qp;
	pthread_mutex_unlock(&twin.lock);
	return &qp->ibv;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct twin_qp **at = &twin.qps;

	pthread_mutex_lock(&twin.lock);
	while (*at != (struct twin_qp *)qp)
		at = &(*at)->next;
	*at = (*at)->next;
	pthread_mutex_unlock(&twin.lock);
	free(qp);
	return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_DEST_QPN)
		((struct twin_qp *)qp)->peer = attr->dest_qp_num;
	qp->state = attr->qp_state;
	return 0;
}

/* Of sockets of datagrams, which have a test of their own: no test here makes one. */
int ibv_dealloc_pd(struct ibv_pd *pd)
{
	(void)pd;
	return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	(void)pd, (void)attr;
	return NULL;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	(void)ah;
	return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	(void)context, (void)port, (void)attr;
	return ENODEV;
}

/* ---- what most tests begin with ---- */

struct pair {
	int listener, client, server;
	struct sockaddr_in at;
};

static inline struct pair meet_with(int ring_bytes)
{
	struct pair p = { .at = loopback(0) };
	socklen_t bytes = sizeof(p.at);

	p.listener = rsocket(AF_INET, SOCK_STREAM, 0);
	REQUIRE(p.listener >= 0);
	if (ring_bytes)
		REQUIRE(!rsetsockopt(p.listener, SOL_SOCKET, SO_RCVBUF, &ring_bytes, sizeof(int)));
	REQUIRE(!rbind(p.listener, (struct sockaddr *)&p.at, sizeof(p.at)));
	REQUIRE(!rlisten(p.listener, 4));
	REQUIRE(!rgetsockname(p.listener, (struct sockaddr *)&p.at, &bytes));
	p.client = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	REQUIRE(p.client >= 0);
	CHECK_EQ(rconnect(p.client, (struct sockaddr *)&p.at, sizeof(p.at)), -1);
	CHECK_EQ(errno, EINPROGRESS);
	p.server = raccept(p.listener, NULL, NULL);
	REQUIRE(p.server >= 0);
	struct pollfd ready = { .fd = p.client, .events = POLLOUT };
	REQUIRE(rpoll(&ready, 1, 30000) == 1);
	CHECK_EQ(ready.revents, POLLOUT);
	CHECK_EQ(rfcntl(p.client, F_SETFL, 0), 0);
	return p;
}

static inline struct pair meet(void)
{
	return meet_with(0);
}

static inline void end(struct pair *p)
{
	int fds[] = { p->client, p->server, p->listener };

	for (int i = 0; i < 3; i++) {
		if (fds[i] >= 0)
			CHECK_EQ(rclose(fds[i]), 0);
	}
}

#endif
