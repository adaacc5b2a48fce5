/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * errors serve PORT | errors HOST BYSTANDER PORT CASE...
 *
 * What verbs programs may expect when something goes wrong, one case each, by the public interface
 * alone (IBTA vol. 1, 10.10.3 and 11.6.2 for the statuses; ibv_poll_cq(3), ibv_get_async_event(3)).
 * In each, another queue pair of this device, to BYSTANDER ("-": none), must come to no harm.
 * Prints "ok CASE" or what was wrong.  errors.sh runs it in a lab; `stream` and `outlive` are for
 * what is broken outside meanwhile.
 */
#include "errors.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FULL 4096u

static struct rig rig;
static struct link bystander;
static const char *host, *beside, *port, *name;
static uint64_t sent_beside;
static int faults;

static void fault(const char *what, long is, long want)
{
	printf("FAILED %s: %s: %ld instead of %ld\n", name, what, is, want);
	faults++;
}

static void check(const char *what, long is, long want)
{
	if (is != want)
		fault(what, is, want);
}

/* ---- the link to the server ---- */

static int dial(const char *to)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *info;
	int fd = -1;

	must(!getaddrinfo(to, port, &hints, &info), "getaddrinfo");
	for (int i = 0; i < 100; i++) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (!connect(fd, info->ai_addr, info->ai_addrlen))
			break;
		close(fd);
		usleep(100000);
	}
	freeaddrinfo(info);
	return fd;
}

static struct end own_end(const struct link *link)
{
	return (struct end){ .gid = rig.gid, .qpn = link->qp->qp_num, .psn = link->psn };
}

static void link_open_to(struct link *link, const char *to, struct ask ask)
{
	ask.mr_access = ask.mr_access ? ask.mr_access : ACCESS_ALL;
	ask.qp_access = ask.qp_access ? ask.qp_access : ACCESS_ALL;
	ask.depth = ask.depth ? ask.depth : 64;
	ask.cq_depth = ask.cq_depth ? ask.cq_depth : 256;
	ask.timeout = ask.timeout ? ask.timeout : 18; /* 8.6 s in all */
	ask.retry = ask.retry ? ask.retry : 7;
	ask.recv_bytes = ask.recv_bytes ? ask.recv_bytes : FULL;
	struct ask own = ask, theirs = ask;

	own.mr_access = own.qp_access = ACCESS_ALL;
	theirs.cq_depth = 256;
	link_make(link, &rig, &own);
	theirs.end = own_end(link);
	link->fd = dial(to);
	must(send(link->fd, &theirs, sizeof(theirs), 0) == sizeof(theirs), "send");
	must(recv(link->fd, &link->told, sizeof(link->told), MSG_WAITALL) == sizeof(link->told),
		"the server has gone");
	link_connect(link, &link->told.end);
}

static void link_open(struct link *link, struct ask ask)
{
	link_open_to(link, host, ask);
}

static int order(struct link *link, enum order what)
{
	char letter = (char)what;
	int32_t rc = -1;

	must(send(link->fd, &letter, 1, 0) == 1, "send");
	must(recv(link->fd, &rc, sizeof(rc), MSG_WAITALL) == sizeof(rc), "the server has gone");
	return rc;
}

static int post_to(struct link *link, int opcode, uint64_t id, uint32_t bytes, uint64_t offset,
	uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)link->memory, bytes, link->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1,
		.opcode = (enum ibv_wr_opcode)opcode, .send_flags = IBV_SEND_SIGNALED }, *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = link->told.addr + offset;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = link->told.addr + offset;
		wr.wr.rdma.rkey = rkey;
	}
	return ibv_post_send(link->qp, &wr, &bad);
}

static int post(struct link *link, int opcode, uint64_t id, uint32_t bytes)
{
	return post_to(link, opcode, id, bytes, 0, link->told.rkey);
}

static void want(struct link *link, const char *what, uint64_t id, int status)
{
	struct ibv_wc wc = { 0 };
	int is = link_wait(link, &wc);

	check(what, is, status);
	if (is == status)
		check("in turn", (long)wc.wr_id, (long)id);
}

/* The queue pair is over: what was posted is flushed in order, and what is posted now, too. */
static void want_flushed(struct link *link, uint64_t from, uint64_t to)
{
	for (uint64_t id = from; id <= to; id++)
		want(link, "flushed", id, IBV_WC_WR_FLUSH_ERR);
	check("state", link_state(link), IBV_QPS_ERR);
	check("post in ERR", post(link, IBV_WR_SEND, 99, 8), 0);
	want(link, "flushed at once", 99, IBV_WC_WR_FLUSH_ERR);
}

/* The server takes the first message, and its queue pair does not outlive the second. */
static void want_second_refused(struct link *link, const char *what, int here, int there)
{
	want(link, "the one before", 1, IBV_WC_SUCCESS);
	want(link, what, 2, here);
	check("the server's first", order(link, ORDER_WAIT), IBV_WC_SUCCESS);
	check("the server's second", order(link, ORDER_WAIT), there);
	check("the server's state", order(link, ORDER_STATE), IBV_QPS_ERR);
}

/* ---- cases ---- */

struct refusal {
	int opcode;
	uint32_t mr_access, qp_access, bytes, rkey_change;
	int64_t offset;
	int status;
};

static void refused(const struct refusal *r)
{
	struct link link;

	link_open(&link, (struct ask){ .mr_access = r->mr_access, .qp_access = r->qp_access,
				  .rnr_retry = 7 });
	memset(link.memory, 0xee, 64);
	post_to(&link, r->opcode, 1, r->bytes, (uint64_t)r->offset,
		link.told.rkey ^ r->rkey_change);
	post(&link, IBV_WR_SEND, 2, 8); /* for which there is no receive */
	want(&link, "refused", 1, r->status);
	check("the state that the program gave", (long)link.qp->state, IBV_QPS_RTS);
	want_flushed(&link, 2, 2);
	check("the server's event", order(&link, ORDER_EVENT),
		r->status == IBV_WC_REM_INV_REQ_ERR ? IBV_EVENT_QP_REQ_ERR
						    : IBV_EVENT_QP_ACCESS_ERR);
	check("the server's state", order(&link, ORDER_STATE), IBV_QPS_ERR);
	check("the server's memory", order(&link, ORDER_SUM), 0);
	link_free(&link);
}

static void case_access(void)
{
	enum { W = IBV_WR_RDMA_WRITE, R = IBV_WR_RDMA_READ, A = IBV_WR_ATOMIC_FETCH_AND_ADD };
	const uint32_t local = IBV_ACCESS_LOCAL_WRITE, no_write = ACCESS_ALL & ~2u,
		       no_read = ACCESS_ALL & ~4u, no_atomic = ACCESS_ALL & ~8u;
	const struct refusal rows[] = {
		{ W, local, 0, 8, 0, 0, IBV_WC_REM_ACCESS_ERR },
		{ R, no_read, 0, 8, 0, 0, IBV_WC_REM_ACCESS_ERR },
		{ A, no_atomic, 0, 8, 0, 0, IBV_WC_REM_ACCESS_ERR },
		{ W, 0, no_write, 8, 0, 0, IBV_WC_REM_INV_REQ_ERR },
		{ R, 0, no_read, 8, 0, 0, IBV_WC_REM_INV_REQ_ERR },
		{ A, 0, no_atomic, 8, 0, 0, IBV_WC_REM_INV_REQ_ERR },
		{ W, 0, 0, 8, 1, 0, IBV_WC_REM_ACCESS_ERR },
		{ R, 0, 0, 8, 1u << 31, 0, IBV_WC_REM_ACCESS_ERR },
		{ W, 0, 0, 8, 0, -1, IBV_WC_REM_ACCESS_ERR },
		{ R, 0, 0, 8, 0, MEMORY_BYTES - 7, IBV_WC_REM_ACCESS_ERR },
		{ A, 0, 0, 8, 0, 4, IBV_WC_REM_INV_REQ_ERR },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		refused(&rows[i]);
}

/* The third host knows number, address and key of what belongs to us and the server. */
static void case_intrude(void)
{
	char letter = ORDER_INTRUDE;
	int32_t statuses = 0;
	struct link link;

	link_open(&link, (struct ask){ .recvs = 1 });
	must(send(bystander.fd, &letter, 1, 0) == 1 &&
			send(bystander.fd, &link.told, sizeof(link.told), 0) == sizeof(link.told),
		"send");
	must(recv(bystander.fd, &statuses, sizeof(statuses), MSG_WAITALL) == sizeof(statuses),
		"the third host has gone");
	check("a write and a read of a stranger", statuses,
		IBV_WC_RETRY_EXC_ERR * 100 + IBV_WC_RETRY_EXC_ERR);
	check("the server's memory", order(&link, ORDER_SUM), 0);
	check("the server's state", order(&link, ORDER_STATE), IBV_QPS_RTS);
	post(&link, IBV_WR_SEND, 1, 8);
	want(&link, "ours", 1, IBV_WC_SUCCESS);
	link_free(&link);
}

static void case_local(void)
{
	struct ibv_wc wc;
	struct link link;

	link_open(&link, (struct ask){ 0 });
	link.mr->lkey ^= 1u << 30;
	post(&link, IBV_WR_RDMA_WRITE, 1, 8);
	link.mr->lkey ^= 1u << 30;
	want(&link, "a key of nobody", 1, IBV_WC_LOC_PROT_ERR);
	want_flushed(&link, 2, 1);
	link_free(&link);
	link_open(&link, (struct ask){ 0 });
	post(&link, IBV_WR_RDMA_WRITE, 1, MEMORY_BYTES + 1);
	want(&link, "beyond the region", 1, IBV_WC_LOC_PROT_ERR);
	link_free(&link);
	link_open(&link, (struct ask){ 0 });
	post(&link, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 4);
	want(&link, "an atomic of four bytes", 1, IBV_WC_LOC_LEN_ERR);
	check("nothing more", ibv_poll_cq(link.cq, 1, &wc), 0);
	link_free(&link);
	link_open(&link, (struct ask){ .recvs = 1, .recv_bytes = 8 });
	check("a receive nowhere", order(&link, ORDER_RECEIVE_NOWHERE), 0);
	post(&link, IBV_WR_SEND, 1, 8);
	post(&link, IBV_WR_SEND, 2, 8);
	want_second_refused(&link, "has nowhere to go", IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR);
	link_free(&link);
}

static void case_length(void)
{
	struct link link;

	link_open(&link, (struct ask){ .recvs = 2, .recv_bytes = 16 });
	post(&link, IBV_WR_SEND, 1, 16);
	post(&link, IBV_WR_SEND, 2, 17);
	want_second_refused(&link, "longer than its receive", IBV_WC_REM_INV_REQ_ERR,
		IBV_WC_LOC_LEN_ERR);
	want_flushed(&link, 2, 1);
	link_free(&link);
}

static void case_rnr(void)
{
	struct link link;

	link_open(&link, (struct ask){ .rnr_retry = 3, .rnr_timer = 1 });
	post(&link, IBV_WR_SEND, 1, 8);
	post(&link, IBV_WR_SEND, 2, 8);
	want(&link, "no receive", 1, IBV_WC_RNR_RETRY_EXC_ERR);
	want_flushed(&link, 2, 2);
	link_free(&link);
	/* 7: for ever, so it is there when there is a receive. */
	link_open(&link, (struct ask){ .rnr_retry = 7, .rnr_timer = 1 });
	post(&link, IBV_WR_SEND, 1, 8);
	usleep(50000);
	check("a receive", order(&link, ORDER_RECEIVE), 0);
	want(&link, "late, but received", 1, IBV_WC_SUCCESS);
	link_free(&link);
}

static void case_states(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	char renew = ORDER_RENEW;
	struct ibv_async_event event = { 0 };
	struct link link;
	struct ibv_wc wc;
	struct end end;

	link_open(&link, (struct ask){ .rnr_retry = 7, .recvs = 1 });
	check("to SQD", ibv_modify_qp(link.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY),
		0);
	post(&link, IBV_WR_SEND, 1, 8); /* waits */
	usleep(30000);
	check("SQD sends nothing", ibv_poll_cq(link.cq, 1, &wc), 0);
	check("an event", rig_event(&rig, &event, 20000), 0);
	check("drained", event.event_type, IBV_EVENT_SQ_DRAINED);
	check("of it", event.element.qp == link.qp, true);
	ibv_ack_async_event(&event);
	attr.qp_state = IBV_QPS_RTS;
	check("back to RTS", ibv_modify_qp(link.qp, &attr, IBV_QP_STATE), 0);
	want(&link, "sent now", 1, IBV_WC_SUCCESS);
	for (uint64_t id = 2; id < 6; id++) {
		post(&link, IBV_WR_SEND, id, 8); /* nobody receives: in flight */
		link_receive(&link, 10 + id, 8);
	}
	attr.qp_state = IBV_QPS_ERR;
	check("to ERR", ibv_modify_qp(link.qp, &attr, IBV_QP_STATE), 0);
	for (uint64_t id = 2; id < 6; id++)
		want(&link, "sends in order", id, IBV_WC_WR_FLUSH_ERR);
	for (uint64_t id = 2; id < 6; id++)
		want(&link, "receives in order", 10 + id, IBV_WC_WR_FLUSH_ERR);
	want_flushed(&link, 2, 1);
	attr.qp_state = IBV_QPS_RESET;
	check("to RESET", ibv_modify_qp(link.qp, &attr, IBV_QP_STATE), 0);
	end = own_end(&link);
	must(send(link.fd, &renew, 1, 0) == 1 && send(link.fd, &end, sizeof(end), 0) == sizeof(end),
		"send");
	must(recv(link.fd, &end, sizeof(end), MSG_WAITALL) == sizeof(end), "the server has gone");
	link_connect(&link, &end);
	check("a receive", order(&link, ORDER_RECEIVE), 0);
	post(&link, IBV_WR_SEND, 7, 8);
	want(&link, "in a new life", 7, IBV_WC_SUCCESS);
	link_free(&link);
}

/* Writes until one fails, which must be with this. */
static void stream(struct link *link, int status, double *first)
{
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS };
	uint64_t posted = 0, done = 0;

	*first = 0;
	while (wc.status == IBV_WC_SUCCESS) {
		while (posted - done < link->ask.depth)
			must(!post(link, IBV_WR_RDMA_WRITE, posted++, FULL), "post");
		double before = seconds();

		if (link_wait(link, &wc) < 0)
			break;
		*first = seconds() - before;
		check("in turn", (long)wc.wr_id, (long)done++);
	}
	check("how it ended", (long)wc.status, status);
	for (; done < posted; done++)
		want(link, "flushed", done, IBV_WC_WR_FLUSH_ERR);
}

static void case_gone(enum order what, int status)
{
	struct link link;
	double took;

	/* 0.54 s where silence is what it must end with */
	link_open(&link, (struct ask){ .timeout = status == IBV_WC_RETRY_EXC_ERR ? 14 : 18 });
	post(&link, IBV_WR_RDMA_WRITE, 0, FULL);
	want(&link, "before", 0, IBV_WC_SUCCESS);
	for (uint64_t id = 0; id < 60; id++)
		post(&link, IBV_WR_RDMA_WRITE, id, MEMORY_BYTES);
	check("the server's order", order(&link, what), 0);
	for (uint64_t id = 0; id < 60; id++) {
		struct ibv_wc wc;

		if (link_wait(&link, &wc) == status) {
			want_flushed(&link, id + 1, 59);
			link_free(&link);
			return;
		}
		check("before the end", (long)wc.status, IBV_WC_SUCCESS);
	}
	stream(&link, status, &took); /* it was quicker than the order */
	link_free(&link);
}

static void case_destroy(void)
{
	struct link link, other;
	struct ibv_wc wc;

	case_gone(ORDER_DESTROY, IBV_WC_RETRY_EXC_ERR);
	case_gone(ORDER_FAIL, IBV_WC_RETRY_EXC_ERR);
	/* Our own, with work in flight: no completion of it comes any more. */
	link_open(&link, (struct ask){ .recvs = 4 });
	link_open(&other, (struct ask){ .recvs = 4 });
	for (uint64_t id = 0; id < 60; id++)
		post(&link, IBV_WR_RDMA_WRITE, id, MEMORY_BYTES);
	check("ibv_destroy_qp", ibv_destroy_qp(link.qp), 0);
	link.qp = NULL;
	check("nothing of it", ibv_poll_cq(link.cq, 1, &wc), 0);
	post(&other, IBV_WR_SEND, 1, 8);
	want(&other, "another", 1, IBV_WC_SUCCESS);
	link_free(&link);
	link_free(&other);
}

static void case_deregister(void)
{
	case_gone(ORDER_DEREGISTER, IBV_WC_REM_ACCESS_ERR);
}

static void case_overrun(void)
{
	struct ibv_async_event event = { 0 };
	struct link link, other;
	bool queue = false, pair = false;
	struct ibv_wc wc[64];

	link_open(&link, (struct ask){ .cq_depth = 4 });
	link_open(&other, (struct ask){ .recvs = 4 });
	for (uint64_t id = 0; id < 32; id++)
		post(&link, IBV_WR_RDMA_WRITE, id, 8);
	while (!(queue && pair) && !rig_event(&rig, &event, 20000)) {
		queue |= event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == link.cq;
		pair |= event.event_type == IBV_EVENT_QP_FATAL && event.element.qp == link.qp;
		ibv_ack_async_event(&event);
	}
	check("IBV_EVENT_CQ_ERR", queue, true);
	check("IBV_EVENT_QP_FATAL", pair, true);
	check("state", link_state(&link), IBV_QPS_ERR);
	while (ibv_poll_cq(link.cq, 64, wc) > 0)
		continue;
	check("it says so for good", ibv_poll_cq(link.cq, 1, wc) < 0, true);
	post(&other, IBV_WR_SEND, 1, 8);
	want(&other, "another queue", 1, IBV_WC_SUCCESS);
	link_free(&link);
	link_free(&other);
}

static void case_busy(void)
{
	struct ibv_srq_init_attr srq_init = { .attr = { 4, 1, 0 } };
	struct ibv_comp_channel *channel = ibv_create_comp_channel(rig.context);
	struct ibv_cq *cq = ibv_create_cq(rig.context, 4, NULL, channel, 0);
	struct ibv_srq *srq = ibv_create_srq(rig.pd, &srq_init);
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .srq = srq,
		.cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp = ibv_create_qp(rig.pd, &init);

	must(qp, "ibv_create_qp");
	check("ibv_destroy_cq", ibv_destroy_cq(cq), EBUSY);
	check("ibv_destroy_srq", ibv_destroy_srq(srq), EBUSY);
	check("ibv_dealloc_pd", ibv_dealloc_pd(rig.pd), EBUSY);
	check("ibv_destroy_comp_channel", ibv_destroy_comp_channel(channel), EBUSY);
	check("ibv_destroy_qp", ibv_destroy_qp(qp), 0);
	check("ibv_destroy_srq", ibv_destroy_srq(srq), 0);
	check("ibv_destroy_cq", ibv_destroy_cq(cq), 0);
	check("ibv_destroy_comp_channel", ibv_destroy_comp_channel(channel), 0);
}

/* While the other waits: one write after the other, and none may fail. */
static void go_on_beside(void)
{
	struct ibv_wc wc;

	if (!sent_beside)
		post(&bystander, IBV_WR_RDMA_WRITE, ++sent_beside, FULL);
	if (!ibv_poll_cq(bystander.cq, 1, &wc))
		return;
	check("bystander", (long)wc.status, IBV_WC_SUCCESS);
	if (wc.status == IBV_WC_SUCCESS)
		post(&bystander, IBV_WR_RDMA_WRITE, ++sent_beside, FULL);
}

static void finish_beside(void)
{
	link_idle = NULL;
	want(&bystander, "bystander's last", sent_beside, IBV_WC_SUCCESS);
	printf("%llu writes beside\n", (unsigned long long)sent_beside);
}

/* Until something outside breaks: says when it streams, and how long the silence was. */
static void case_stream(void)
{
	struct link link;
	double took;

	link_open(&link, (struct ask){ .timeout = 14 }); /* 0.54 s, as perftest */
	post(&link, IBV_WR_RDMA_WRITE, 0, FULL);
	want(&link, "before", 0, IBV_WC_SUCCESS);
	printf("streams\n");
	fflush(stdout);
	if (beside)
		link_idle = go_on_beside;
	stream(&link, IBV_WC_RETRY_EXC_ERR, &took);
	if (beside)
		finish_beside();
	printf("silence %.3f s\n", took);
	check("not too early", took > 0.5, true);
	want_flushed(&link, 2, 1);
	link_free(&link);
}

/* All of this time, whatever happens: 8.6 s of silence are within what it has agreed to. */
static void case_outlive(void)
{
	double end = seconds() + 4;
	uint64_t id = 0;
	struct link link;

	link_open(&link, (struct ask){ .rnr_retry = 7, .recvs = 64 });
	printf("streams\n");
	fflush(stdout);
	for (; seconds() < end && !faults; id++) {
		post(&link, IBV_WR_SEND, id, FULL);
		want(&link, "send", id, IBV_WC_SUCCESS);
		check("the server's", order(&link, ORDER_WAIT), IBV_WC_SUCCESS);
		check("a receive", order(&link, ORDER_RECEIVE), 0);
	}
	printf("%llu sends\n", (unsigned long long)id);
	link_free(&link);
}

/* ---- all of them ---- */

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "access", case_access }, { "intrude", case_intrude }, { "local", case_local },
	{ "length", case_length },
	{ "rnr", case_rnr }, { "states", case_states }, { "destroy", case_destroy },
	{ "deregister", case_deregister }, { "overrun", case_overrun }, { "busy", case_busy },
	{ "stream", case_stream }, { "outlive", case_outlive },
};

static void run(const char *which)
{
	int before = faults;

	name = which;
	sent_beside = 0;
	if (beside) {
		link_open_to(&bystander, beside, (struct ask){ .recvs = 8 });
		post(&bystander, IBV_WR_SEND, 1, 8);
		want(&bystander, "bystander before", 1, IBV_WC_SUCCESS);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(cases[i].name, which))
			cases[i].run();
	if (beside) {
		post(&bystander, IBV_WR_SEND, 2, 8);
		want(&bystander, "bystander after", 2, IBV_WC_SUCCESS);
		link_free(&bystander);
	}
	if (before == faults)
		printf("ok %s\n", which);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "serve"))
		return serve(argv[2]);
	if (argc < 5) {
		fprintf(stderr, "errors serve PORT | errors HOST BYSTANDER PORT CASE...\n");
		return 2;
	}
	host = argv[1];
	beside = strcmp(argv[2], "-") ? argv[2] : NULL;
	port = argv[3];
	rig_open(&rig);
	for (int i = 4; i < argc; i++)
		run(argv[i]);
	rig_close(&rig);
	return faults != 0;
}
