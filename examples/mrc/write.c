/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_write - a program for the OCP MRC API: writes to a peer's memory, and says when it is done.
 *
 *      mrc_write            waits for one client
 *      mrc_write HOST [N]   writes a megabyte N times (default 100) into it, then an immediate
 *
 *   cc write.c -lmrc -libverbs
 *
 * The two tell each other by TCP what an MRC QP must know: GID, QP number, address and key.  It
 * uses nothing of Weft's and runs on any implementation of the API.
 */
#include <mrc.h>

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BYTES (1u << 20)
#define DEPTH 16u
#define PORT "18185"

struct side { /* what one end must know of the other */
	union ibv_gid gid;
	uint64_t va;
	uint32_t qpn, rkey;
};

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "mrc_write: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int meet(const char *host)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *at;
	int on = 1, fd, rc = getaddrinfo(host, PORT, &hints, &at);

	check(!rc, rc ? gai_strerror(rc) : "");
	fd = socket(at->ai_family, SOCK_STREAM, 0);
	check(fd >= 0, "socket");
	if (host) {
		check(!connect(fd, at->ai_addr, at->ai_addrlen), "connect");
	} else {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		check(!bind(fd, at->ai_addr, at->ai_addrlen) && !listen(fd, 1), "listen");
		fprintf(stderr, "mrc_write: waits\n");
		int client = accept(fd, NULL, NULL);

		check(client >= 0, "accept");
		close(fd);
		fd = client;
	}
	freeaddrinfo(at);
	return fd;
}

static void tell(int fd, const struct side *own, struct side *peer)
{
	check(write(fd, own, sizeof(*own)) == sizeof(*own), "tell");
	check(recv(fd, peer, sizeof(*peer), MSG_WAITALL) == sizeof(*peer), "hear");
}

static void move(struct mrc_qp *qp, const struct side *peer)
{
	struct ibv_qp_attr v = { .qp_state = IBV_QPS_INIT };
	struct mrc_qp_attr m = { .mpr = { 8, 8 },
		.wimm = { 32, 32 },
		.timeout = 20, /* about a second */
		.retry = { .linear_cnt = 7, .exp_cnt = 7 } };
	const char *ev = getenv("MRC_QP_EV_PROFILE_ID"), *cc = getenv("MRC_QP_CC_PROFILE_ID");

	m.profile.ev_profile_id = ev ? strtoull(ev, NULL, 10) : 0;
	m.profile.cc_profile_id = cc ? strtoull(cc, NULL, 10) : 0;
	errno = mrc_modify_qp(
		qp, &v, IBV_QP_STATE, &m, MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID);
	check(!errno, "INIT");
	v.qp_state = IBV_QPS_RTR;
	v.path_mtu = IBV_MTU_4096;
	v.dest_qp_num = peer->qpn;
	v.ah_attr.is_global = 1;
	v.ah_attr.grh.dgid = peer->gid;
	errno = mrc_modify_qp(qp, &v,
		IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_AV, &m,
		MRC_QP_MPR_DEST | MRC_QP_MAX_WIMM_DEST);
	check(!errno, "RTR");
	v.qp_state = IBV_QPS_RTS;
	errno = mrc_modify_qp(qp, &v, IBV_QP_STATE | IBV_QP_SQ_PSN, &m,
		MRC_QP_MPR | MRC_QP_MAX_WIMM | MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT);
	check(!errno, "RTS");
}

static struct ibv_wc wait_one(struct mrc_cq *cq)
{
	struct ibv_wc wc;
	int n;

	while (!(n = mrc_poll_cq(cq, 1, &wc)))
		;
	check(n == 1, "poll");
	if (wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "mrc_write: %s\n", ibv_wc_status_str(wc.status));
		exit(1);
	}
	return wc;
}

static uint8_t content(uint32_t turn, uint32_t at)
{
	return (uint8_t)((turn * 2654435761u + at * 40503u) >> 11);
}

static void send_all(struct mrc_qp *qp, struct mrc_cq *cq, uint8_t *memory, uint32_t lkey,
	const struct side *peer, uint32_t turns)
{
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_RDMA_WRITE, .num_sge = 1 };
	struct ibv_sge sge = { .length = BYTES, .lkey = lkey };
	uint32_t done = 0;

	for (uint32_t turn = 0; turn <= turns; turn++) {
		while (turn - done >= DEPTH)
			done += wait_one(cq).opcode == IBV_WC_RDMA_WRITE;
		/* The last write brings the last slot again, and an immediate. */
		uint32_t slot = (turn < turns ? turn : turns - 1) % DEPTH;

		for (uint32_t i = 0; turn < turns && i < BYTES; i++)
			memory[slot * BYTES + i] = content(turn, i);
		sge.addr = (uintptr_t)memory + slot * BYTES;
		wr.wr_id = turn;
		wr.sg_list = &sge;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.wr.rdma.remote_addr = peer->va + slot * BYTES;
		wr.wr.rdma.rkey = peer->rkey;
		if (turn == turns) {
			wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
			wr.imm_data = htonl(turns);
		}
		errno = mrc_post_send(qp, &wr, &bad);
		check(!errno, "post");
	}
	for (; done <= turns; done++)
		wait_one(cq);
	printf("sent %u MiB\n", turns);
}

static void receive_all(struct mrc_qp *qp, struct mrc_cq *cq, const uint8_t *memory, int fd)
{
	struct ibv_recv_wr *bad, wr = { .wr_id = 1 };

	errno = mrc_post_recv(qp, &wr, &bad);
	check(!errno, "post");
	check(write(fd, "r", 1) == 1, "ready");
	struct ibv_wc wc = wait_one(cq);
	uint32_t turns = ntohl(wc.imm_data), wrong = 0;

	/* What every slot was written with last. */
	for (uint32_t turn = turns > DEPTH ? turns - DEPTH : 0; turn < turns; turn++) {
		for (uint32_t i = 0; i < BYTES; i++)
			wrong += memory[turn % DEPTH * BYTES + i] != content(turn, i);
	}
	printf("received %u MiB, %u bytes wrong\n", turns, wrong);
	/* Who leaves first takes the last acknowledgements along: wait until the peer has all. */
	(void)!read(fd, &wc, 1);
	exit(wrong != 0);
}

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	check(list && list[0], "no device");
	struct ibv_context *verbs = ibv_open_device(list[0]);

	check(verbs != NULL, "open");
	ibv_free_device_list(list);
	struct mrc_device_attr attr;
	int supported = 0;

	check(!mrc_query_device(verbs, &attr, &supported) && supported, "no MRC");
	struct mrc_context_attr context_attr = { .mrc_api_version_used = MRC_API_CURRENT_VERSION };
	struct mrc_context *context = mrc_create_context(verbs, &context_attr);
	struct ibv_pd *pd = ibv_alloc_pd(verbs);

	check(context && pd, "context");
	uint8_t *memory = calloc(DEPTH, BYTES);
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, (size_t)DEPTH * BYTES,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct mrc_cq *cq = mrc_create_cq(context, 64, NULL, NULL, 0);

	check(mr && cq, "memory");
	struct mrc_qp_init_attr init = { .send_cq = cq,
		.recv_cq = cq,
		.pd = pd,
		.cap = { .max_send_wr = DEPTH + 1, .max_recv_wr = 32, .max_send_sge = 1 } };
	struct mrc_qp *qp = mrc_create_qp(context, &init);

	check(qp != NULL, "QP");
	struct side own = { .va = (uintptr_t)memory, .rkey = mr->rkey }, peer;
	int fd = meet(argc > 1 ? argv[1] : NULL);

	check(!ibv_query_gid(verbs, 1, 3, &own.gid) && !mrc_get_qpn(qp, &own.qpn), "names");
	tell(fd, &own, &peer);
	move(qp, &peer);
	if (argc < 2)
		receive_all(qp, cq, memory, fd);
	char ready;

	check(read(fd, &ready, 1) == 1, "the peer is gone");
	send_all(qp, cq, memory, mr->lkey, &peer,
		argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 100);
	check(!mrc_destroy_qp(qp) && !mrc_destroy_cq(cq) && !mrc_destroy_context(context), "end");
	return 0;
}
