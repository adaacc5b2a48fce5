/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * windows - memory windows by the public interface alone: a plain program of libibverbs.
 *
 * Two queue pairs of one process, connected to each other over its device, so the way of each
 * packet is that between two processes.  A second pair is there for windows that are not for it.
 */
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 65536u
#define PART 8192u
#define WINDOW 4096u

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *peer, *owner; /* the window's; and who uses it */
static struct ibv_mr *mr, *plain;
static uint8_t memory[BYTES] __attribute__((aligned(4096))), source[BYTES];

#define MUST(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "windows.c:%d: %s\n", __LINE__, #what); \
			exit(1); \
		} \
	} while (0)

static struct ibv_wc wait_one(void)
{
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc))) /* whoever runs this has a limit */
		continue;
	MUST(n == 1);
	return wc;
}

static struct ibv_qp *open_qp(void)
{
	struct ibv_qp_init_attr_ex init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { 64, 64, 1, 1, 0 }, .pd = pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_BIND_MW |
				  IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV };
	struct ibv_qp *qp = ibv_create_qp_ex(context, &init);

	MUST(qp);
	return qp;
}

static void connect_to(struct ibv_qp *qp, uint32_t qpn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC };
	union ibv_gid gid;

	MUST(!ibv_query_gid(context, 1, 3, &gid));
	MUST(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
					       IBV_QP_ACCESS_FLAGS));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = qpn, .max_dest_rd_atomic = 4, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1,
			.grh = { .dgid = gid, .sgid_index = 3, .hop_limit = 64 } } };
	MUST(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 4 };
	MUST(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					       IBV_QP_MAX_QP_RD_ATOMIC));
}

/* Anew: what a peer has broken stays broken. */
static void connect_both(void)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct ibv_wc wc;

	MUST(!ibv_modify_qp(peer, &reset, IBV_QP_STATE));
	MUST(!ibv_modify_qp(owner, &reset, IBV_QP_STATE));
	while (ibv_poll_cq(cq, 1, &wc))
		continue;
	connect_to(peer, owner->qp_num);
	connect_to(owner, peer->qp_num);
}

/* What the peer is told who writes there. */
static enum ibv_wc_status try(struct ibv_qp *qp, uint32_t rkey, uint64_t at)
{
	static uint8_t pattern;
	struct ibv_sge sge = { (uintptr_t)source, 64, plain->lkey };
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED, .sg_list = &sge, .num_sge = 1,
		.wr.rdma = { at, rkey } }, *bad;

	memset(source, ++pattern, 64);
	MUST(!ibv_post_send(qp, &wr, &bad));
	struct ibv_wc wc = wait_one();

	MUST(wc.qp_num == qp->qp_num && wc.wr_id == 1);
	MUST((memory[PART] == pattern) == (wc.status == IBV_WC_SUCCESS));
	return wc.status;
}

static uint64_t here(void)
{
	return (uintptr_t)memory + PART;
}

static struct ibv_mw_bind_info part(void)
{
	return (struct ibv_mw_bind_info){ mr, here(), WINDOW,
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };
}

static void first_type(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind how = { .wr_id = 5, .send_flags = IBV_SEND_SIGNALED,
		.bind_info = part() };

	MUST(mw);
	MUST(!ibv_bind_mw(owner, mw, &how));
	struct ibv_wc wc = wait_one();
	uint32_t old = mw->rkey;

	MUST(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_BIND_MW && wc.wr_id == 5);
	MUST(try(peer, old, here()) == IBV_WC_SUCCESS);
	MUST(ibv_dereg_mr(mr) == EBUSY);
	MUST(!ibv_bind_mw(owner, mw, &how));
	MUST(wait_one().status == IBV_WC_SUCCESS);
	MUST(mw->rkey != old);
	MUST(try(peer, mw->rkey, here()) == IBV_WC_SUCCESS);
	MUST(try(peer, old, here()) == IBV_WC_REM_ACCESS_ERR);
	connect_both();
	MUST(try(peer, mw->rkey, here() - 1) == IBV_WC_REM_ACCESS_ERR);
	connect_both();
	how.bind_info.mr = plain; /* not for windows */
	how.bind_info.addr = (uintptr_t)source;
	MUST(!ibv_bind_mw(owner, mw, &how));
	MUST(wait_one().status == IBV_WC_MW_BIND_ERR);
	connect_both();
	MUST(!ibv_dealloc_mw(mw));
}

static void second_type(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(owner);
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_mw_bind_info info = part();

	MUST(mw && ex);
	uint32_t key = ibv_inc_rkey(mw->rkey);

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = key;
	wr.bind_mw.bind_info = info;
	MUST(!ibv_post_send(owner, &wr, &bad));
	MUST(wait_one().status == IBV_WC_SUCCESS);
	MUST(try(peer, key, here()) == IBV_WC_SUCCESS);

	/* The peer gives it back with a message. */
	struct ibv_sge sge = { (uintptr_t)memory, 64, mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = 2, .sg_list = &sge, .num_sge = 1 }, *bad_recv;

	MUST(!ibv_post_recv(owner, &recv, &bad_recv));
	wr = (struct ibv_send_wr){ .opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = key };
	MUST(!ibv_post_send(peer, &wr, &bad));
	struct ibv_wc wc = wait_one();

	MUST(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV && wc.wr_id == 2);
	MUST(wc.wc_flags & IBV_WC_WITH_INV && wc.invalidated_rkey == key);

	/* Again, and by ibv_wr_*; then it is taken back here. */
	uint32_t next = ibv_inc_rkey(key);

	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(ex, mw, next, &info);
	MUST(!ibv_wr_complete(ex));
	MUST(wait_one().status == IBV_WC_SUCCESS);
	MUST(try(peer, next, here()) == IBV_WC_SUCCESS);
	ibv_wr_start(ex);
	ibv_wr_local_inv(ex, next);
	MUST(!ibv_wr_complete(ex));
	MUST(wait_one().opcode == IBV_WC_LOCAL_INV);
	MUST(try(peer, next, here()) == IBV_WC_REM_ACCESS_ERR);
	connect_both();
	MUST(!ibv_dealloc_mw(mw));
}

/* A window of another queue pair of the same domain. */
static void not_for_all(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_qp *first[2] = { peer, owner };
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED }, *bad;

	MUST(mw);
	uint32_t key = ibv_inc_rkey(mw->rkey);

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = key;
	wr.bind_mw.bind_info = part();
	MUST(!ibv_post_send(owner, &wr, &bad));
	MUST(wait_one().status == IBV_WC_SUCCESS);
	peer = open_qp();
	owner = open_qp();
	connect_both();
	MUST(try(peer, key, here()) == IBV_WC_REM_ACCESS_ERR);
	MUST(try(first[0], key, here()) == IBV_WC_SUCCESS);
	MUST(!ibv_destroy_qp(peer) && !ibv_destroy_qp(owner));
	peer = first[0];
	owner = first[1];
	MUST(!ibv_dealloc_mw(mw));
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_device_attr attr;

	MUST(list && list[0]);
	MUST((context = ibv_open_device(list[0])));
	ibv_free_device_list(list);
	MUST(!ibv_query_device(context, &attr));
	MUST(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW && attr.max_mw > 0);
	MUST(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	MUST((pd = ibv_alloc_pd(context)));
	MUST((cq = ibv_create_cq(context, 256, NULL, NULL, 0)));
	MUST((mr = ibv_reg_mr(pd, memory, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND)));
	MUST((plain = ibv_reg_mr(pd, source, BYTES, IBV_ACCESS_LOCAL_WRITE)));
	peer = open_qp();
	owner = open_qp();
	connect_both();
	first_type();
	second_type();
	not_for_all();
	MUST(!ibv_destroy_qp(peer) && !ibv_destroy_qp(owner));
	MUST(!ibv_dereg_mr(mr) && !ibv_dereg_mr(plain));
	MUST(!ibv_destroy_cq(cq) && !ibv_dealloc_pd(pd) && !ibv_close_device(context));
	printf("windows: as they should be\n");
	return 0;
}
