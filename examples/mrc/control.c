/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control - a controller for the OCP MRC API that does what its standard input says.
 *
 *      control            waits for clients, and lets them write to its memory
 *      control HOST       takes commands, one per line, and answers each with one line:
 *                         "ok ..." or "failed: ..."
 *
 *   explicit ID EV...          an EV profile that lists its EVs
 *   generate ID COUNT BITS     one that generates them, out of so many low bits
 *   auto ID                    one that leaves all to the device
 *   deny|allow ID EV           replace ID EV EV      state ID EV      offline ID
 *   cc ID none | cc ID nscc MAX_CWND BASE_RTT    (bytes and ns; 0: the algorithm's own)
 *   connect EV_PROFILE CC_PROFILE                a new QP to HOST (0: the device's choice)
 *   write N | pull N           64 KiB N times from here to HOST, or from there to here
 *   probe MS EV...             ports MS MASK EV      port N up|down|?
 *   event MS good|bad EV       waits for that event, others may come before
 *   async MS up|down N         waits until port N has come or gone
 *
 * EV: PLANE:UPLINK, a structured EV as Weft numbers paths; ADDRESS@PORT, an SRv6 carrier; or
 * NUMBER@PORT, a UDP source port.  It uses nothing of Weft's; only these numbers are.
 *
 *   cc control.c -lmrc -libverbs
 */
#include <mrc_ctl.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BYTES 65536u
#define DEPTH 16u
#define WORDS 64
#define TCP_PORT "18186"

struct side { /* what one end must know of the other */
	union ibv_gid gid;
	uint64_t va;
	uint32_t qpn, rkey;
};

static struct {
	struct ibv_context *verbs;
	struct mrc_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct mrc_cq *cq, *events;
	struct mrc_qp *qp;
	struct side own, peer;
	uint8_t memory[DEPTH * BYTES];
	int fd;
} all;

static bool check(bool ok, const char *what)
{
	if (!ok)
		printf("failed: %s: %s\n", what, strerror(errno));
	return ok;
}

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static bool open_all(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	all.verbs = list && list[0] ? ibv_open_device(list[0]) : NULL;
	if (!check(all.verbs, "no device"))
		return false;
	ibv_free_device_list(list);
	all.context = mrc_create_context(all.verbs, NULL);
	all.pd = ibv_alloc_pd(all.verbs);
	if (!check(all.context && all.pd, "context"))
		return false;
	all.mr = ibv_reg_mr(all.pd, all.memory, sizeof(all.memory),
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	all.cq = mrc_create_cq(all.context, 64, NULL, NULL, 0);
	all.events = mrc_ctl_create_ev_event_cq(all.context, 512, NULL, NULL, 0);
	if (!check(all.mr && all.cq && all.events, "memory"))
		return false;
	fcntl(all.verbs->async_fd, F_SETFL, O_NONBLOCK);
	all.own.va = (uintptr_t)all.memory;
	all.own.rkey = all.mr->rkey;
	return check(!ibv_query_gid(all.verbs, 1, 3, &all.own.gid), "GID");
}

/* ---- QPs ---- */

static bool open_qp(uint64_t ev_profile, uint64_t cc_profile)
{
	struct mrc_qp_init_attr init = { .send_cq = all.cq,
		.recv_cq = all.cq,
		.pd = all.pd,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = 1, .max_send_sge = 1 },
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE };
	struct ibv_qp_attr v = { .qp_state = IBV_QPS_INIT };
	struct mrc_qp_attr m = { .profile = { ev_profile, cc_profile } };

	if (all.qp && mrc_destroy_qp(all.qp))
		return check(false, "destroy");
	all.qp = mrc_create_qp(all.context, &init);
	if (!check(all.qp, "QP"))
		return false;
	errno = mrc_modify_qp(
		all.qp, &v, IBV_QP_STATE, &m, MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID);
	return check(!errno, "INIT") && check(!mrc_get_qpn(all.qp, &all.own.qpn), "number");
}

static bool join_qp(void)
{
	struct ibv_qp_attr v = { .qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = all.peer.qpn,
		.ah_attr = { .is_global = 1, .grh = { .dgid = all.peer.gid } } };
	struct mrc_qp_attr m = { .mpr = { 8, 8 },
		.wimm = { 32, 32 },
		.timeout = 18,
		.retry = { .linear_cnt = 7, .exp_cnt = 5 } };

	errno = mrc_modify_qp(all.qp, &v,
		IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_AV, &m,
		MRC_QP_MPR_DEST | MRC_QP_MAX_WIMM_DEST);
	if (!check(!errno, "RTR"))
		return false;
	v.qp_state = IBV_QPS_RTS;
	errno = mrc_modify_qp(all.qp, &v, IBV_QP_STATE | IBV_QP_SQ_PSN, &m,
		MRC_QP_MPR | MRC_QP_MAX_WIMM | MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT);
	return check(!errno, "RTS");
}

static bool is_done(uint32_t *done)
{
	struct ibv_wc wc;
	int n = mrc_poll_cq(all.cq, 1, &wc);

	if (n == 1 && wc.status != IBV_WC_SUCCESS) {
		printf("failed: %s\n", ibv_wc_status_str(wc.status));
		return false;
	}
	*done += n == 1;
	return check(n >= 0, "poll");
}

static bool write_all(uint32_t n)
{
	uint32_t done = 0;

	for (uint32_t i = 0; i < n || done < n;) {
		struct ibv_sge sge = { all.own.va + i % DEPTH * BYTES, BYTES, all.mr->lkey };
		struct ibv_send_wr *bad, wr = { .wr_id = i,
			.opcode = IBV_WR_RDMA_WRITE,
			.sg_list = &sge,
			.num_sge = 1,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { all.peer.va + i % DEPTH * BYTES, all.peer.rkey } };

		if (i < n && i - done < DEPTH) {
			errno = mrc_post_send(all.qp, &wr, &bad);
			if (!check(!errno, "post"))
				return false;
			i++;
		} else if (!is_done(&done)) {
			return false;
		}
	}
	return true;
}

/* ---- the server ---- */

static void serve_one(void)
{
	uint32_t n;

	if (recv(all.fd, &all.peer, sizeof(all.peer), MSG_WAITALL) != sizeof(all.peer) ||
		!open_qp(0, 0) || write(all.fd, &all.own, sizeof(all.own)) < 0 || !join_qp())
		return;
	while (recv(all.fd, &n, sizeof(n), MSG_WAITALL) == sizeof(n)) {
		if (!write_all(n) || write(all.fd, &n, sizeof(n)) < 0)
			return;
	}
}

static int serve(void)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *at;
	int on = 1, fd;

	if (getaddrinfo(NULL, TCP_PORT, &hints, &at))
		return 1;
	fd = socket(at->ai_family, SOCK_STREAM, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!check(fd >= 0 && !bind(fd, at->ai_addr, at->ai_addrlen) && !listen(fd, 1), "listen"))
		return 1;
	printf("waits\n");
	while ((all.fd = accept(fd, NULL, NULL)) >= 0) {
		serve_one();
		close(all.fd);
	}
	return 0;
}

/* ---- the client: EVs and profiles ---- */

static bool read_ev(const char *word, struct mrc_ctl_ev *ev, enum mrc_ctl_ev_fmt_mode *mode)
{
	unsigned plane, uplink, value, port, n = 0;
	char address[INET6_ADDRSTRLEN];

	*ev = MRC_CTL_EV_UNPOPULATED;
	if (sscanf(word, "%u:%u%n", &plane, &uplink, (int *)&n) == 2 && !word[n]) {
		ev->val[1] = (uint8_t)plane;
		ev->val[3] = (uint8_t)uplink;
		ev->port = (uint8_t)(plane + 1);
		*mode = MRC_CTL_EV_FMT_MODE_STEV;
		return true;
	}
	if (sscanf(word, "%u@%u%n", &value, &port, (int *)&n) == 2 && !word[n]) {
		ev->val[0] = (uint8_t)(value >> 8);
		ev->val[1] = (uint8_t)value;
		ev->port = (uint8_t)port;
		*mode = MRC_CTL_EV_FMT_MODE_UDP;
		return true;
	}
	errno = EINVAL;
	if (sscanf(word, "%45[^@]@%u", address, &port) != 2 ||
		inet_pton(AF_INET6, address, ev->val) != 1)
		return check(false, word);
	ev->port = (uint8_t)port;
	*mode = MRC_CTL_EV_FMT_MODE_SRV6;
	return true;
}

/* Formats are numbered by their modes. */
static bool set_format(enum mrc_ctl_ev_fmt_mode mode)
{
	struct mrc_ctl_ev_fmt_field fields[4] = { { 32 }, { 32 }, { 32 }, { 32 } };
	struct mrc_ctl_ev_fmt_profile_attr attr = { .profile_state = MRC_CTL_PROFILE_OFFLINE,
		.ev_fmt_mode = mode,
		.ev_fmt_op = { MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, fields,
			mode == MRC_CTL_EV_FMT_MODE_SRV6 ? 4 : 1 } };

	if (mode == MRC_CTL_EV_FMT_MODE_UDP)
		fields[0].width = 16;
	if (!mrc_ctl_query_ev_fmt_profile(all.context, mode, &attr, MRC_CTL_EV_FMT_PROFILE_STATE) &&
		attr.profile_state == MRC_CTL_PROFILE_ONLINE)
		return true;
	attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
	if (!check(!mrc_ctl_modify_ev_fmt_profile(all.context, mode, &attr,
			   MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_MODE |
				   MRC_CTL_EV_FMT_PROFILE_OP),
		    "format"))
		return false;
	attr.profile_state = MRC_CTL_PROFILE_ONLINE;
	return check(!mrc_ctl_modify_ev_fmt_profile(
			     all.context, mode, &attr, MRC_CTL_EV_FMT_PROFILE_STATE),
		"format online");
}

static bool set_state(uint64_t id, enum mrc_ctl_profile_state state)
{
	struct mrc_ctl_ev_profile_attr attr = { .profile_state = state };

	return check(!mrc_ctl_modify_ev_profile(all.context, id, &attr, MRC_CTL_EV_PROFILE_STATE),
		"state");
}

static bool make_profile(uint64_t id, enum mrc_ctl_ev_mode mode, uint64_t fmt, uint32_t count)
{
	struct mrc_ctl_ev_profile_attr attr = { .profile_state = MRC_CTL_PROFILE_OFFLINE,
		.ev_mode = mode,
		.ev_fmt_profile_id = fmt,
		.ev_count = count,
		.ev_min_active = 1,
		.ev_event_mask = MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD };
	int mask =
		MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_EVENT_MASK;

	if (mode != MRC_CTL_EV_MODE_AUTO)
		mask |= MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT |
			MRC_CTL_EV_PROFILE_MIN_ACTIVE;
	return check(!mrc_ctl_modify_ev_profile(all.context, id, &attr, mask), "profile");
}

static bool operate(uint64_t id, enum mrc_ctl_ev_op op, struct mrc_ctl_ev_op_entry *entry)
{
	struct mrc_ctl_ev_profile_attr attr = { .ev_op = { op, entry, 1 } };

	return check(!(op == MRC_CTL_EV_OP_QUERY_EV_STATE ? mrc_ctl_query_ev_profile
							  : mrc_ctl_modify_ev_profile)(
			     all.context, id, &attr, MRC_CTL_EV_PROFILE_EV_OP),
		"EV");
}

static bool do_explicit(uint64_t id, char **evs, int n)
{
	enum mrc_ctl_ev_fmt_mode mode;
	struct mrc_ctl_ev_op_entry entry = { .ev = MRC_CTL_EV_UNPOPULATED,
		.state = MRC_CTL_EV_GOOD };

	for (int i = 0; i < n; i++) {
		if (!read_ev(evs[i], &entry.ev_new, &mode))
			return false;
		if (!i && (!set_format(mode) ||
				  !make_profile(id, MRC_CTL_EV_MODE_EXP, mode, (uint32_t)n)))
			return false;
		if (!operate(id, MRC_CTL_EV_OP_REPLACE_EV, &entry))
			return false;
	}
	return set_state(id, MRC_CTL_PROFILE_ONLINE);
}

static bool do_generate(uint64_t id, uint32_t count, uint32_t bits)
{
	uint32_t mask = (1u << bits) - 1;
	struct mrc_ctl_ev_field field = { .width = 32, .max_val = mask, .mask = mask };
	struct mrc_ctl_ev_profile_attr attr = {
		.ev_fields_op = { MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, &field, 1 }
	};

	return set_format(MRC_CTL_EV_FMT_MODE_STEV) &&
	       make_profile(id, MRC_CTL_EV_MODE_GEN, MRC_CTL_EV_FMT_MODE_STEV, count) &&
	       check(!mrc_ctl_modify_ev_profile(
			     all.context, id, &attr, MRC_CTL_EV_PROFILE_EV_FIELDS_OP),
		       "fields") &&
	       set_state(id, MRC_CTL_PROFILE_ONLINE);
}

static bool do_ev(const char *verb, uint64_t id, char **evs, int n)
{
	struct mrc_ctl_ev_op_entry entry = { .state = MRC_CTL_EV_GOOD };
	enum mrc_ctl_ev_op op = MRC_CTL_EV_OP_MODIFY_EV_STATE;
	enum mrc_ctl_ev_fmt_mode mode;

	if (n < 1 || !read_ev(evs[0], &entry.ev, &mode))
		return false;
	if (!strcmp(verb, "deny"))
		entry.state = MRC_CTL_EV_DENIED;
	if (!strcmp(verb, "state"))
		op = MRC_CTL_EV_OP_QUERY_EV_STATE;
	if (!strcmp(verb, "replace")) {
		op = MRC_CTL_EV_OP_REPLACE_EV;
		if (n < 2 || !read_ev(evs[1], &entry.ev_new, &mode))
			return false;
	}
	if (!operate(id, op, &entry))
		return false;
	printf("ok %s\n", entry.state == MRC_CTL_EV_GOOD          ? "good"
			  : entry.state == MRC_CTL_EV_ASSUMED_BAD ? "bad"
								  : "denied");
	return true;
}

static bool do_cc(uint64_t id, const char *name, uint32_t max_cwnd, uint32_t base_rtt)
{
	struct mrc_ctl_cc_nscc_cfg config = { .max_cwnd = max_cwnd, .base_rtt = base_rtt };
	bool none = !strcmp(name, "none");
	struct mrc_ctl_cc_profile_attr attr = { .profile_state = MRC_CTL_PROFILE_OFFLINE,
		.algorithm = none ? NULL : "uet-1.0-nscc",
		.cc_config = none ? NULL : &config };

	if (!check(!mrc_ctl_modify_cc_profile(all.context, id, &attr,
			   MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_ALGORITHM |
				   MRC_CTL_CC_PROFILE_CONFIG),
		    "CC profile"))
		return false;
	attr.profile_state = MRC_CTL_PROFILE_ONLINE;
	return check(!mrc_ctl_modify_cc_profile(all.context, id, &attr, MRC_CTL_CC_PROFILE_STATE),
		"CC profile online");
}

/* ---- the client: questions to the peer's NIC ---- */

static bool do_ask(enum mrc_ctl_ep_op_type op, long ms, uint32_t ports, char **evs, int n)
{
	struct mrc_ctl_ep_req req[WORDS];
	struct mrc_ctl_ep_rsp rsp[WORDS];
	int got = 0;

	memset(req, 0, sizeof(req));
	for (int i = 0; i < n; i++) {
		req[i].req_id = (uint16_t)i;
		req[i].sgid = all.own.gid;
		req[i].dgid = all.peer.gid;
		req[i].op.port_status_update.port_status = ports;
		if (!read_ev(evs[i], &req[i].req_ev, &req[i].ev_fmt_mode))
			return false;
	}
	if (mrc_ctl_ep_batch_send_wait(
		    all.context, 0, op, req, n, (uint32_t)ms * 1000000u, rsp, &got) &&
		errno != ETIMEDOUT)
		return check(false, "batch");
	printf("ok %d of %d:", got, n);
	for (int i = 0; i < got; i++)
		printf(" %s=%u", evs[rsp[i].req_id], rsp[i].rtt);
	printf("\n");
	return true;
}

static bool do_port(uint8_t number, const char *word)
{
	struct mrc_ctl_port_attr attr = { !strcmp(word, "up") ? MRC_CTL_PORT_ADMIN_ENABLED
							      : MRC_CTL_PORT_ADMIN_DISABLED };

	if (*word != '?' &&
		!check(!mrc_ctl_modify_port(all.context, number, &attr, MRC_CTL_PORT_ADMIN_STATE),
			"port"))
		return false;
	if (!check(!mrc_ctl_query_port(all.context, number, &attr, MRC_CTL_PORT_ADMIN_STATE),
		    "port"))
		return false;
	printf("ok %s\n", attr.port_admin_state == MRC_CTL_PORT_ADMIN_ENABLED ? "up" : "down");
	return true;
}

/* Paths are found bad, and proved good, by what is sent: so something is. */
static bool do_event(long ms, const char *state, const char *word)
{
	int64_t until_us = now_us() + ms * 1000;
	struct mrc_ctl_ev_event event;
	enum mrc_ctl_ev_fmt_mode mode;
	struct mrc_ctl_ev ev;
	unsigned others = 0;

	if (!read_ev(word, &ev, &mode))
		return false;
	while (now_us() < until_us) {
		int n = mrc_ctl_poll_ev_event(all.events, 1, &event);

		if (n < 0)
			return check(false, "events");
		if (!n) {
			if (!write_all(4))
				return false;
			pause_ms(2);
			continue;
		}
		if ((event.state == MRC_CTL_EV_GOOD) == !strcmp(state, "good") &&
			!memcmp(&event.ev, &ev, sizeof(ev))) {
			printf("ok profile %llu, %u others before\n",
				(unsigned long long)event.profile_id, others);
			return true;
		}
		others++;
	}
	errno = ETIMEDOUT;
	return check(false, "event");
}

static bool do_async(long ms, const char *state, int port)
{
	enum ibv_event_type want =
		!strcmp(state, "up") ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR;
	int64_t until_us = now_us() + ms * 1000;
	struct mrc_async_event event;

	while (now_us() < until_us) {
		if (mrc_get_async_event(all.context, &event)) {
			if (errno != EAGAIN)
				return check(false, "async event");
			pause_ms(2);
			continue;
		}
		mrc_ack_async_event(&event);
		if (event.event_type == want && event.element.port_num == port) {
			printf("ok\n");
			return true;
		}
	}
	errno = ETIMEDOUT;
	return check(false, "async event");
}

/* ---- the client: traffic ---- */

static bool do_connect(const char *host, uint64_t ev_profile, uint64_t cc_profile)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *at;

	if (all.fd)
		close(all.fd);
	if (!open_qp(ev_profile, cc_profile) || getaddrinfo(host, TCP_PORT, &hints, &at))
		return false;
	all.fd = socket(at->ai_family, SOCK_STREAM, 0);
	bool ok = check(!connect(all.fd, at->ai_addr, at->ai_addrlen), "connect");

	freeaddrinfo(at);
	return ok &&
	       check(write(all.fd, &all.own, sizeof(all.own)) == sizeof(all.own) &&
			       recv(all.fd, &all.peer, sizeof(all.peer), MSG_WAITALL) ==
				       sizeof(all.peer),
		       "exchange") &&
	       join_qp() && write_all(1);
}

static bool do_pull(uint32_t n)
{
	return check(write(all.fd, &n, sizeof(n)) == sizeof(n) &&
			     recv(all.fd, &n, sizeof(n), MSG_WAITALL) == sizeof(n),
		"pull");
}

/* Words that answer by themselves with more than "ok". */
static bool told(char **w, int n)
{
	if (n > 2 && (!strcmp(w[0], "deny") || !strcmp(w[0], "allow") || !strcmp(w[0], "state") ||
			     !strcmp(w[0], "replace")))
		return do_ev(w[0], strtoull(w[1], NULL, 0), w + 2, n - 2), true;
	if (n > 2 && !strcmp(w[0], "probe"))
		return do_ask(MRC_CTL_EP_OP_EV_PROBE, atol(w[1]), 0, w + 2, n - 2), true;
	if (n == 4 && !strcmp(w[0], "ports"))
		return do_ask(MRC_CTL_EP_OP_PORT_STATUS_UPDATE, atol(w[1]),
			       (uint32_t)strtoul(w[2], NULL, 0), w + 3, 1),
		       true;
	if (n == 3 && !strcmp(w[0], "port"))
		return do_port((uint8_t)atoi(w[1]), w[2]), true;
	if (n == 4 && !strcmp(w[0], "event"))
		return do_event(atol(w[1]), w[2], w[3]), true;
	if (n == 4 && !strcmp(w[0], "async"))
		return do_async(atol(w[1]), w[2], atoi(w[3])), true;
	return false;
}

static bool act(const char *host, char **w, int n)
{
	if (n > 2 && !strcmp(w[0], "explicit"))
		return do_explicit(strtoull(w[1], NULL, 0), w + 2, n - 2);
	if (n == 4 && !strcmp(w[0], "generate"))
		return do_generate(
			strtoull(w[1], NULL, 0), (uint32_t)atoi(w[2]), (uint32_t)atoi(w[3]));
	if (n == 2 && !strcmp(w[0], "auto"))
		return make_profile(strtoull(w[1], NULL, 0), MRC_CTL_EV_MODE_AUTO, 0, 0) &&
		       set_state(strtoull(w[1], NULL, 0), MRC_CTL_PROFILE_ONLINE);
	if (n == 2 && !strcmp(w[0], "offline"))
		return set_state(strtoull(w[1], NULL, 0), MRC_CTL_PROFILE_OFFLINE);
	if (n > 2 && !strcmp(w[0], "cc"))
		return do_cc(strtoull(w[1], NULL, 0), w[2],
			n > 3 ? (uint32_t)strtoul(w[3], NULL, 0) : 0,
			n > 4 ? (uint32_t)strtoul(w[4], NULL, 0) : 0);
	if (n == 3 && !strcmp(w[0], "connect"))
		return do_connect(host, strtoull(w[1], NULL, 0), strtoull(w[2], NULL, 0));
	if (n == 2 && !strcmp(w[0], "write"))
		return write_all((uint32_t)atoi(w[1]));
	if (n == 2 && !strcmp(w[0], "pull"))
		return do_pull((uint32_t)atoi(w[1]));
	printf("failed: no such command\n");
	return false;
}

int main(int argc, char **argv)
{
	char line[4096], *words[WORDS], *rest;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!open_all())
		return 1;
	if (argc < 2)
		return serve();
	while (fgets(line, sizeof(line), stdin)) {
		int64_t start_us = now_us();
		int n = 0;

		for (char *w = strtok_r(line, " \n", &rest); w && n < WORDS;
			w = strtok_r(NULL, " \n", &rest))
			words[n++] = w;
		if (n && !told(words, n) && act(argv[1], words, n))
			printf("ok %lld us\n", (long long)(now_us() - start_us));
	}
	if (all.qp && mrc_destroy_qp(all.qp))
		return 1;
	return mrc_destroy_cq(all.events) || mrc_destroy_cq(all.cq) ||
	       mrc_destroy_context(all.context) || ibv_dereg_mr(all.mr) || ibv_dealloc_pd(all.pd) ||
	       ibv_close_device(all.verbs);
}
