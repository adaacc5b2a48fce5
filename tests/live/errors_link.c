/* SPDX-License-Identifier: BSD-2-Clause */
/* errors_link - devices and queue pairs as any verbs program sets them up. */
#include "errors.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WAIT_S 30.0

void must(bool is, const char *what)
{
	if (is)
		return;
	fprintf(stderr, "errors: %s: %s\n", what, strerror(errno));
	exit(2);
}

double seconds(void)
{
	struct timespec now;

	must(timespec_get(&now, TIME_UTC) == TIME_UTC, "timespec_get");
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void rig_open(struct rig *rig)
{
	struct ibv_device **list = NULL;

	/* A switch that is busy with whoever left may hang up on whoever comes: then again. */
	for (int i = 0; i < 50 && !rig->context; i++) {
		list = ibv_get_device_list(NULL);
		must(list && list[0], "no device");
		rig->context = ibv_open_device(list[0]);
		ibv_free_device_list(list);
		if (!rig->context)
			usleep(100000);
	}
	must(rig->context, "ibv_open_device");
	rig->pd = ibv_alloc_pd(rig->context);
	must(rig->pd && !ibv_query_gid(rig->context, 1, 3, &rig->gid), "ibv_query_gid");
}

void rig_close(struct rig *rig)
{
	must(!ibv_dealloc_pd(rig->pd), "ibv_dealloc_pd");
	must(!ibv_close_device(rig->context), "ibv_close_device");
}

static void become_init(struct link *link)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = link->ask.qp_access
	};

	must(!ibv_modify_qp(link->qp, &attr,
		     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		"to INIT");
}

void link_make(struct link *link, const struct rig *rig, const struct ask *ask)
{
	static uint32_t psn;

	*link = (struct link){ .rig = rig, .ask = *ask, .fd = -1 };
	link->psn = __atomic_add_fetch(&psn, 1000, __ATOMIC_RELAXED);
	link->cq = ibv_create_cq(rig->context, (int)ask->cq_depth, NULL, NULL, 0);
	link->memory = aligned_alloc(4096, MEMORY_BYTES);
	must(link->cq && link->memory, "ibv_create_cq");
	memset(link->memory, 0, MEMORY_BYTES);
	link->mr = ibv_reg_mr(rig->pd, link->memory, MEMORY_BYTES, (int)ask->mr_access);
	struct ibv_qp_init_attr init = { .send_cq = link->cq,
		.recv_cq = link->cq,
		.cap = { ask->depth, ask->depth, 1, 1, 0 },
		.qp_type = IBV_QPT_RC };

	link->qp = ibv_create_qp(rig->pd, &init);
	must(link->mr && link->qp, "ibv_create_qp");
	become_init(link);
}

void link_connect(struct link *link, const struct end *peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024, /* which every port has */
		.dest_qp_num = peer->qpn,
		.rq_psn = peer->psn,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = link->ask.rnr_timer };

	if (link_state(link) == IBV_QPS_RESET)
		become_init(link);
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.dgid = peer->gid;
	attr.ah_attr.grh.sgid_index = 3;
	attr.ah_attr.grh.hop_limit = 64;
	must(!ibv_modify_qp(link->qp, &attr,
		     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
		"to RTR");
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = link->ask.timeout;
	attr.retry_cnt = link->ask.retry;
	attr.rnr_retry = link->ask.rnr_retry;
	attr.sq_psn = link->psn;
	attr.max_rd_atomic = 4;
	must(!ibv_modify_qp(link->qp, &attr,
		     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
		"to RTS");
}

void link_free(struct link *link)
{
	must(!link->qp || !ibv_destroy_qp(link->qp), "ibv_destroy_qp");
	must(!link->mr || !ibv_dereg_mr(link->mr), "ibv_dereg_mr");
	must(!ibv_destroy_cq(link->cq), "ibv_destroy_cq");
	free(link->memory);
	if (link->fd >= 0)
		close(link->fd);
}

int link_receive(struct link *link, uint64_t id, uint32_t len_bytes)
{
	struct ibv_sge sge = { (uintptr_t)link->memory, len_bytes, link->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(link->qp, &wr, &bad);
}

int link_state(struct link *link)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	must(!ibv_query_qp(link->qp, &attr, IBV_QP_STATE, &init), "ibv_query_qp");
	return (int)attr.qp_state;
}

void (*link_idle)(void);

int link_wait(struct link *link, struct ibv_wc *wc)
{
	double end = seconds() + WAIT_S;

	while (seconds() < end) {
		int n = ibv_poll_cq(link->cq, 1, wc);

		if (n)
			return n > 0 ? (int)wc->status : -1;
		if (link_idle)
			link_idle();
	}
	return -1;
}

int rig_event(const struct rig *rig, struct ibv_async_event *event, int limit_ms)
{
	struct pollfd fd = { .fd = rig->context->async_fd, .events = POLLIN };

	return poll(&fd, 1, limit_ms) > 0 ? ibv_get_async_event(rig->context, event) : -1;
}
