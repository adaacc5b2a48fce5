/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rpma - remote persistent memory by Debian's librpma alone: a plain program of that library.
 *
 *   rpma ADDRESS PORT serve          rpma ADDRESS PORT
 *     MiB of memory <----------------- writes in pieces, atomic write, flush (a read behind them)
 *     receives its immediate <-------- write with immediate
 *     looks at all of it               reads all of it
 *     "right" -----------------------> waits for that, on one channel for both queues
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <librpma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (1u << 20)
#define PIECE 49157u /* no multiple of a packet */
#define MARK 8192u   /* where the atomic write goes */
#define IMM 0x57656674u

static struct rpma_peer *peer;
static struct rpma_mr_local *mr, *mail_mr;
static uint8_t memory[BYTES] __attribute__((aligned(4096)));
static char mail[64];

#define MUST(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "rpma.c:%d: %s\n", __LINE__, #what); \
			exit(1); \
		} \
	} while (0)

/* One completion.  A channel may tell of a queue that has been emptied meanwhile. */
static struct ibv_wc wait_one(struct rpma_conn *conn, bool is_recv)
{
	struct rpma_cq *cq = NULL;
	struct ibv_wc wc;
	bool is_rcq = false;
	int rc;

	do {
		MUST(!rpma_conn_wait(conn, 0, &cq, &is_rcq));
		rc = rpma_cq_get_wc(cq, 1, &wc, NULL);
	} while (rc == RPMA_E_NO_COMPLETION);
	MUST(!rc && is_rcq == is_recv);
	if (wc.status)
		fprintf(stderr, "rpma.c: %s\n", ibv_wc_status_str(wc.status));
	MUST(wc.status == IBV_WC_SUCCESS);
	return wc;
}

static void expect(struct rpma_conn *conn, enum rpma_conn_event wanted)
{
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;

	MUST(!rpma_conn_next_event(conn, &event));
	if (event != wanted)
		fprintf(stderr, "rpma.c: %s\n", rpma_utils_conn_event_2str(event));
	MUST(event == wanted);
}

static uint8_t byte_of(uint32_t at)
{
	return (uint8_t)(at * 2654435761u >> 24);
}

static bool is_right(void)
{
	for (uint32_t i = 0; i < BYTES; i++)
		if (memory[i] != (i / 8 == MARK / 8 ? "ATOMIC 8"[i % 8] : byte_of(i)))
			return false;
	return true;
}

static struct rpma_conn_cfg *with_both(void)
{
	struct rpma_conn_cfg *cfg;

	MUST(!rpma_conn_cfg_new(&cfg));
	MUST(!rpma_conn_cfg_set_rcq_size(cfg, 16)); /* a queue of its own for receives */
	MUST(!rpma_conn_cfg_set_cq_size(cfg, 64));
	MUST(!rpma_conn_cfg_set_sq_size(cfg, 64));
	MUST(!rpma_conn_cfg_set_compl_channel(cfg, true));
	return cfg;
}

static void serve(const char *address, const char *port)
{
	struct rpma_conn_cfg *cfg = with_both();
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	struct rpma_ep *ep;
	uint8_t descriptor[64];
	size_t bytes = 0;

	MUST(!rpma_mr_get_descriptor_size(mr, &bytes) && bytes <= sizeof(descriptor));
	MUST(!rpma_mr_get_descriptor(mr, descriptor));
	struct rpma_conn_private_data data = { .ptr = descriptor, .len = (uint8_t)bytes };

	MUST(!rpma_ep_listen(peer, address, port, &ep));
	MUST(!rpma_ep_next_conn_req(ep, cfg, &req));
	MUST(!rpma_conn_req_recv(req, mail_mr, 0, sizeof(mail), mail));
	MUST(!rpma_conn_req_connect(&req, &data, &conn));
	expect(conn, RPMA_CONN_ESTABLISHED);

	struct ibv_wc wc = wait_one(conn, true);

	MUST(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.wc_flags & IBV_WC_WITH_IMM);
	MUST(wc.imm_data == htonl(IMM));
	snprintf(mail, sizeof(mail), "%s", is_right() ? "right" : "wrong");
	MUST(!rpma_send(conn, mail_mr, 0, sizeof(mail), RPMA_F_COMPLETION_ALWAYS, mail));
	MUST(wait_one(conn, false).opcode == IBV_WC_SEND);
	expect(conn, RPMA_CONN_CLOSED);
	MUST(!rpma_conn_disconnect(conn) && !rpma_conn_delete(&conn));
	MUST(!rpma_ep_shutdown(&ep) && !rpma_conn_cfg_delete(&cfg));
}

/* Writes all but the immediate's piece, the mark over it, and waits until both can be seen. */
static void fill(struct rpma_conn *conn, struct rpma_mr_remote *there)
{
	for (uint32_t i = 0; i < BYTES; i++)
		memory[i] = byte_of(i);
	for (uint32_t at = 0; at < BYTES - PIECE; at += PIECE) {
		uint32_t n = BYTES - PIECE - at < PIECE ? BYTES - PIECE - at : PIECE;

		MUST(!rpma_write(conn, there, at, mr, at, n, RPMA_F_COMPLETION_ON_ERROR, NULL));
	}
	MUST(!rpma_atomic_write(conn, there, MARK, "ATOMIC 8", RPMA_F_COMPLETION_ON_ERROR, NULL));
	MUST(!rpma_flush(conn, there, 0, BYTES, RPMA_FLUSH_TYPE_VISIBILITY,
		RPMA_F_COMPLETION_ALWAYS, there));
	struct ibv_wc wc = wait_one(conn, false);

	MUST(wc.opcode == IBV_WC_RDMA_READ && wc.wr_id == (uint64_t)(uintptr_t)there);
}

static void use(const char *address, const char *port)
{
	struct rpma_conn_cfg *cfg = with_both();
	struct rpma_conn_private_data data;
	struct rpma_mr_remote *there;
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	size_t bytes = 0;

	MUST(!rpma_conn_req_new(peer, address, port, cfg, &req));
	MUST(!rpma_conn_req_recv(req, mail_mr, 0, sizeof(mail), mail));
	MUST(!rpma_conn_req_connect(&req, NULL, &conn));
	expect(conn, RPMA_CONN_ESTABLISHED);
	MUST(!rpma_conn_get_private_data(conn, &data));
	MUST(!rpma_mr_remote_from_descriptor(data.ptr, data.len, &there));
	MUST(!rpma_mr_remote_get_size(there, &bytes) && bytes == BYTES);
	fill(conn, there);
	MUST(!rpma_write_with_imm(conn, there, BYTES - PIECE, mr, BYTES - PIECE, PIECE,
		RPMA_F_COMPLETION_ALWAYS, IMM, mr));
	MUST(wait_one(conn, false).opcode == IBV_WC_RDMA_WRITE);
	memset(memory, 0, sizeof(memory));
	MUST(!rpma_read(conn, mr, 0, there, 0, BYTES, RPMA_F_COMPLETION_ALWAYS, mr));

	/* The reply and the read's end come in any order. */
	struct rpma_cq *cq = NULL;
	struct ibv_wc wc;
	bool is_rcq;

	for (int left = 2; left;) {
		MUST(!rpma_conn_wait(conn, 0, &cq, &is_rcq));
		while (!rpma_cq_get_wc(cq, 1, &wc, NULL)) {
			MUST(wc.status == IBV_WC_SUCCESS);
			MUST(wc.opcode == (is_rcq ? IBV_WC_RECV : IBV_WC_RDMA_READ));
			left--;
		}
	}
	MUST(!strcmp(mail, "right") && is_right());
	MUST(!rpma_conn_disconnect(conn));
	expect(conn, RPMA_CONN_CLOSED);
	MUST(!rpma_mr_remote_delete(&there) && !rpma_conn_delete(&conn));
	MUST(!rpma_conn_cfg_delete(&cfg));
}

int main(int argc, char **argv)
{
	bool serves = argc == 4;
	struct ibv_context *context;

	MUST(argc == 3 || serves);
	MUST(!rpma_utils_get_ibv_context(argv[1],
		serves ? RPMA_UTIL_IBV_CONTEXT_LOCAL : RPMA_UTIL_IBV_CONTEXT_REMOTE, &context));
	MUST(!rpma_peer_new(context, &peer));
	MUST(!rpma_mr_reg(peer, memory, sizeof(memory), RPMA_MR_USAGE_READ_SRC |
		RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_WRITE_DST |
		RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY, &mr));
	MUST(!rpma_mr_reg(peer, mail, sizeof(mail), RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV,
		&mail_mr));
	(serves ? serve : use)(argv[1], argv[2]);
	MUST(!rpma_mr_dereg(&mr) && !rpma_mr_dereg(&mail_mr) && !rpma_peer_delete(&peer));
	printf("rpma: as it should be\n");
	return 0;
}
