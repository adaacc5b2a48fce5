/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pattern - every byte that verbs move, checked: a plain program of libibverbs.
 *
 *   pattern ROUNDS              the receiver; waits on TCP port 18600
 *   pattern ROUNDS HOST SEED    the sender
 *
 * Both draw the same works from the seed: per round and queue pair some writes, writes with
 * immediate, sends (gathered from two registrations, scattered over three pieces, inline, into a
 * shared receive queue or the pair's own, of which there are too few), reads and fetch-and-adds, of
 * sizes from 0 to 200,000.  The receiver holds a shadow of its memory and compares all of it after
 * each round, what nobody may have touched included; the sender compares what it has read.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define QPS 6u
#define SHARED 3u /* the last of them: in a shared receive queue */
#define WORKS 12u /* per round and queue pair */
#define SLICE 0x200000u
#define MESSAGE_MAX 40000u /* of a send */
#define WRITE_MAX 200000u
#define RECVS 4u
#define INLINE 128u
#define PORT "18600"

enum kind { WRITE, WRITE_IMM, SEND, SEND_IMM, READ, ADD };

struct work {
	enum kind kind;
	uint32_t len, at; /* at: in the slice of the pair, here and there */
	uint32_t cut[2];  /* where the local memory is divided */
	uint8_t pattern;
	bool is_inline, is_signaled;
};

struct end { /* what the two tell each other, as it is: both are the same program */
	union ibv_gid gid;
	uint32_t qpn[QPS], rkey[QPS], add_key;
	uint64_t base[QPS], add_va, seed;
};

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq_tx, *cq_rx;
static struct ibv_comp_channel *channel;
static struct ibv_srq *srq;
static struct ibv_qp *qp[QPS];
static struct ibv_mr *mr[QPS][2], *add_mr, *recv_mr;
static uint8_t *memory[QPS], *shadow[QPS], *recvs;
static uint64_t counters[QPS], added[QPS];
static struct end own, peer;
static bool is_sender;
static int tcp;

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(1);
}

/* ---- what is to be done ---- */

static uint64_t drawn;

static uint32_t draw(uint32_t below)
{
	uint64_t z = drawn += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)((z ^ z >> 31) % below);
}

static void draw_works(uint32_t round, uint32_t pair, struct work works[WORKS])
{
	uint32_t at = 0;

	drawn = own.seed * 1000003 + round * 131 + pair;
	for (uint32_t i = 0; i < WORKS; i++) {
		struct work *w = &works[i];
		static const uint32_t limits[] = { 1, 65, 4097, MESSAGE_MAX + 1 };

		*w = (struct work){ .kind = (enum kind)draw(ADD + 1), .pattern = draw(256) };
		w->len = draw(limits[draw(4)]);
		if (w->kind == WRITE && !draw(8))
			w->len = draw(WRITE_MAX + 1);
		if (w->kind == ADD)
			w->len = 8;
		at += 8 + draw(100);
		if (w->kind == ADD)
			at = (at + 7) & ~7u;
		w->at = at;
		at += w->len;
		w->cut[0] = draw(w->len + 1);
		w->cut[1] = w->cut[0] + draw(w->len - w->cut[0] + 1);
		w->is_inline = w->kind < READ && w->len <= INLINE && draw(2);
		w->is_signaled = i + 1 == WORKS || draw(2);
	}
}

static uint8_t byte_of(const struct work *w, uint32_t i)
{
	return (uint8_t)(w->pattern + i * 7 + (i >> 8));
}

static void check(const char *what, uint32_t pair, const struct work *w, const uint8_t *is)
{
	for (uint32_t i = 0; i < w->len; i++) {
		if (is[i] != byte_of(w, i))
			die("%s of pair %u, %u bytes: byte %u is %u, not %u", what, pair, w->len, i,
				is[i], byte_of(w, i));
	}
}

/* ---- making and connecting ---- */

static void *must(void *object, const char *what)
{
	if (!object)
		die("%s: %m", what);
	return object;
}

static void open_device(void)
{
	struct ibv_device **list = must(ibv_get_device_list(NULL), "ibv_get_device_list");
	struct ibv_srq_init_attr init = { .attr = { .max_wr = RECVS * QPS, .max_sge = 3 } };
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC;

	context = must(ibv_open_device(must(list[0], "device")), "ibv_open_device");
	ibv_free_device_list(list);
	pd = must(ibv_alloc_pd(context), "ibv_alloc_pd");
	channel = must(ibv_create_comp_channel(context), "ibv_create_comp_channel");
	cq_tx = must(ibv_create_cq(context, QPS * WORKS, NULL, NULL, 0), "ibv_create_cq");
	cq_rx = must(ibv_create_cq(context, QPS * RECVS * 2, NULL, channel, 0), "ibv_create_cq");
	srq = must(ibv_create_srq(pd, &init), "ibv_create_srq");
	recvs = calloc(2 * QPS * RECVS, MESSAGE_MAX);
	recv_mr = must(ibv_reg_mr(pd, recvs, (size_t)2 * QPS * RECVS * MESSAGE_MAX, 1), "recvs");
	add_mr = must(ibv_reg_mr(pd, counters, sizeof(counters), access), "counters");
	own.add_va = (uintptr_t)counters;
	own.add_key = add_mr->rkey;
	for (uint32_t i = 0; i < QPS; i++) {
		memory[i] = calloc(1, SLICE);
		shadow[i] = calloc(1, SLICE);
		for (int k = 0; k < 2; k++)
			mr[i][k] = must(ibv_reg_mr(pd, memory[i], SLICE, access), "ibv_reg_mr");
		own.base[i] = (uintptr_t)memory[i];
		own.rkey[i] = mr[i][0]->rkey;
	}
	if (ibv_query_gid(context, 1, 0, &own.gid))
		die("ibv_query_gid: %m");
}

static void open_pair(uint32_t i)
{
	struct ibv_qp_init_attr init = { .send_cq = cq_tx,
		.recv_cq = cq_rx,
		.srq = i >= QPS - SHARED ? srq : NULL,
		.cap = { WORKS, RECVS, 3, 3, INLINE },
		.qp_type = IBV_QPT_RC };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC };

	qp[i] = must(ibv_create_qp(pd, &init), "ibv_create_qp");
	if (ibv_modify_qp(qp[i], &attr,
		    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		die("no INIT: %m");
	own.qpn[i] = qp[i]->qp_num;
}

static void connect_pair(uint32_t i)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024, /* which every port has */
		.dest_qp_num = peer.qpn[i],
		.rq_psn = i,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = { .is_global = 1,
			.port_num = 1,
			.grh = { .dgid = peer.gid, .hop_limit = 64 } } };

	if (ibv_modify_qp(qp[i], &attr,
		    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		die("no RTR: %m");
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = attr.rnr_retry = 7;
	attr.sq_psn = i;
	attr.max_rd_atomic = 4;
	if (ibv_modify_qp(qp[i], &attr,
		    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		die("no RTS: %m");
}

static void tell(const void *what, size_t bytes)
{
	if (write(tcp, what, bytes) != (ssize_t)bytes)
		die("the peer is gone");
}

static void hear(void *what, size_t bytes)
{
	if (recv(tcp, what, bytes, MSG_WAITALL) != (ssize_t)bytes)
		die("the peer is gone");
}

static void meet(const char *host)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		.ai_family = AF_INET,
		.ai_flags = host ? 0 : AI_PASSIVE },
			*at;
	int on = 1;

	if (getaddrinfo(host, PORT, &hints, &at))
		die("who is %s?", host);
	tcp = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(tcp, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (host) {
		if (connect(tcp, at->ai_addr, at->ai_addrlen))
			die("%s: %m", host);
	} else {
		if (bind(tcp, at->ai_addr, at->ai_addrlen) || listen(tcp, 1))
			die("port: %m");
		tcp = accept(tcp, NULL, NULL);
	}
	freeaddrinfo(at);
	tell(&own, sizeof(own));
	hear(&peer, sizeof(peer));
	if (!is_sender)
		own.seed = peer.seed;
}

/* ---- the sender ---- */

static void post(uint32_t pair, uint32_t index, const struct work *w)
{
	static const enum ibv_wr_opcode codes[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD };
	uint8_t *at = memory[pair] + w->at;
	uint32_t cuts[] = { 0, w->cut[0], w->cut[1], w->len };
	struct ibv_sge sges[3];
	struct ibv_send_wr wr = { .wr_id = pair * WORKS + index,
		.sg_list = sges,
		.num_sge = w->kind == ADD ? 1 : 3,
		.opcode = codes[w->kind],
		.send_flags = (w->is_signaled ? IBV_SEND_SIGNALED : 0u) |
			      (w->is_inline ? IBV_SEND_INLINE : 0u),
		.imm_data = htonl(index) },
			   *bad;

	for (uint32_t i = 0; i < 3; i++)
		sges[i] = (struct ibv_sge){ (uintptr_t)at + cuts[i], cuts[i + 1] - cuts[i],
			mr[pair][i % 2]->lkey };
	if (w->kind == ADD) {
		sges[0] = (struct ibv_sge){ (uintptr_t)at, 8, mr[pair][0]->lkey };
		wr.wr.atomic.remote_addr = peer.add_va + 8 * pair;
		wr.wr.atomic.rkey = peer.add_key;
		wr.wr.atomic.compare_add = w->pattern;
	} else {
		wr.wr.rdma.remote_addr = peer.base[pair] + w->at;
		wr.wr.rdma.rkey = peer.rkey[pair];
	}
	for (uint32_t i = 0; i < w->len; i++)
		at[i] = w->kind < READ ? byte_of(w, i) : 0xee;
	int error = ibv_post_send(qp[pair], &wr, &bad);
	if (error)
		die("post: %s", strerror(error));
	if (w->is_inline)
		memset(at, 0xdd, w->len); /* it has been taken */
}

static void send_round(uint32_t round)
{
	struct work works[QPS][WORKS];
	uint32_t left = 0;
	struct ibv_wc wc;
	uint8_t go;

	hear(&go, 1);
	for (uint32_t i = 0; i < QPS; i++)
		draw_works(round, i, works[i]);
	for (uint32_t k = 0; k < WORKS; k++) {
		for (uint32_t i = 0; i < QPS; i++) {
			post(i, k, &works[i][k]);
			left += works[i][k].is_signaled;
		}
	}
	while (left) {
		int n = ibv_poll_cq(cq_tx, 1, &wc);

		if (n < 0 || (n && wc.status))
			die("work %u of pair %u: %s", (unsigned)(wc.wr_id % WORKS),
				(unsigned)(wc.wr_id / WORKS), ibv_wc_status_str(wc.status));
		left -= (uint32_t)n;
	}
	for (uint32_t i = 0; i < QPS; i++) {
		for (uint32_t k = 0; k < WORKS; k++) {
			const struct work *w = &works[i][k];
			uint64_t old;

			if (w->kind == READ)
				check("read", i, w, memory[i] + w->at);
			if (w->kind != ADD)
				continue;
			memcpy(&old, memory[i] + w->at, 8);
			if (old != added[i])
				die("add of pair %u: %lu, not %lu", i, (long)old, (long)added[i]);
			added[i] += w->pattern;
		}
	}
	tell(&go, 1);
}

/* ---- the receiver ---- */

/* A receive of three pieces, divided by its number. */
static void post_receive(uint32_t slot)
{
	uint32_t pair = slot / RECVS;
	uint64_t at = (uintptr_t)recvs + (uint64_t)slot * MESSAGE_MAX;
	uint32_t a = slot * 37 % 100, b = a + slot * 911 % 20000;
	struct ibv_sge sges[] = { { at, a, recv_mr->lkey }, { at + a, b - a, recv_mr->lkey },
		{ at + b, MESSAGE_MAX - b, recv_mr->lkey } };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = sges, .num_sge = 3 }, *bad;
	int error = pair >= QPS - SHARED ? ibv_post_srq_recv(srq, &wr, &bad)
					 : ibv_post_recv(qp[pair], &wr, &bad);

	if (error)
		die("receive: %s", strerror(error));
}

static uint32_t pair_of(uint32_t qpn)
{
	uint32_t pair = 0;

	while (pair < QPS && qp[pair]->qp_num != qpn)
		pair++;
	if (pair == QPS)
		die("a completion of queue pair %u, which is not ours", qpn);
	return pair;
}

/* The completion is of the pair's next work that takes a receive; its writes before are there. */
static void take(const struct ibv_wc *wc, struct work works[][WORKS], uint32_t next[QPS])
{
	uint32_t pair = pair_of(wc->qp_num);
	const struct work *w = works[pair];

	if (wc->status)
		die("receive of pair %u: %s", pair, ibv_wc_status_str(wc->status));
	for (; next[pair] < WORKS; next[pair]++) {
		const struct work *before = &w[next[pair]];

		if (before->kind >= WRITE_IMM && before->kind <= SEND_IMM)
			break;
		if (before->kind == WRITE)
			check("write before", pair, before, memory[pair] + before->at);
	}
	if (next[pair] == WORKS)
		die("a completion more than works that have one, pair %u", pair);
	w += next[pair]++;
	bool has_imm = w->kind == WRITE_IMM || w->kind == SEND_IMM;
	if (wc->byte_len != w->len || has_imm != !!(wc->wc_flags & IBV_WC_WITH_IMM) ||
		(has_imm && ntohl(wc->imm_data) != (uint32_t)(w - works[pair])))
		die("pair %u: %u bytes of %u, immediate %u", pair, wc->byte_len, w->len,
			ntohl(wc->imm_data));
	if (w->kind == WRITE_IMM)
		check("write with immediate", pair, w, memory[pair] + w->at);
	else
		check("send", pair, w, recvs + wc->wr_id * MESSAGE_MAX);
	post_receive((uint32_t)wc->wr_id);
}

/* What the round will read is in place, and what it will write is not. */
static uint32_t prepare(uint32_t round, struct work works[][WORKS])
{
	uint32_t receives = 0;

	for (uint32_t i = 0; i < QPS; i++) {
		draw_works(round, i, works[i]);
		for (uint32_t k = 0; k < WORKS; k++) {
			const struct work *w = &works[i][k];

			receives += w->kind >= WRITE_IMM && w->kind <= SEND_IMM;
			if (w->kind == ADD)
				added[i] += w->pattern;
			for (uint32_t n = 0; n < w->len && w->kind != ADD; n++) {
				if (w->kind == READ)
					memory[i][w->at + n] = byte_of(w, n);
				if (w->kind <= WRITE_IMM || w->kind == READ)
					shadow[i][w->at + n] = byte_of(w, n);
			}
		}
	}
	return receives;
}

static void sleep_for_one(void)
{
	struct ibv_cq *cq;
	void *user;

	if (ibv_get_cq_event(channel, &cq, &user))
		die("ibv_get_cq_event: %m");
	ibv_ack_cq_events(cq, 1);
}

static void receive_round(uint32_t round)
{
	struct work works[QPS][WORKS];
	uint32_t left = prepare(round, works), next[QPS] = { 0 };
	struct ibv_wc wc;
	uint8_t go = 1;

	tell(&go, 1);
	for (bool armed = false; left;) {
		int n = ibv_poll_cq(cq_rx, 1, &wc);

		if (n < 0)
			die("ibv_poll_cq");
		if (n) {
			take(&wc, works, next);
			left--;
			armed = false;
		} else if (round % 2 && !armed) {
			armed = !ibv_req_notify_cq(cq_rx, 0);
		} else if (armed) {
			sleep_for_one();
			armed = false;
		}
	}
	hear(&go, 1);
	for (uint32_t i = 0; i < QPS; i++) {
		if (memcmp(memory[i], shadow[i], SLICE))
			die("the memory of pair %u is not what it should be, round %u", i, round);
		if (counters[i] != added[i])
			die("the counter of pair %u: %lu, not %lu", i, (long)counters[i],
				(long)added[i]);
	}
}

int main(int argc, char **argv)
{
	uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;

	is_sender = argc > 3;
	if (!rounds || argc == 3)
		die("pattern ROUNDS [HOST SEED]");
	own.seed = is_sender ? strtoull(argv[3], NULL, 10) : 0;
	open_device();
	for (uint32_t i = 0; i < QPS; i++)
		open_pair(i);
	meet(is_sender ? argv[2] : NULL);
	for (uint32_t i = 0; i < QPS; i++)
		connect_pair(i);
	for (uint32_t i = 0; i < QPS * RECVS && !is_sender; i++)
		post_receive(i);
	for (uint32_t round = 0; round < rounds; round++)
		is_sender ? send_round(round) : receive_round(round);
	printf("%u rounds, every byte right\n", rounds);
	return 0;
}
