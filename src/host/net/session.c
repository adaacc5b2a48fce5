/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session - offer, answer, go, ok: queue pairs on both sides, agreed upon in four lines.
 *
 * When the client has the answer it finds out what the paths carry (live_mtu.c), while the server
 * turns its pump and so answers probes.  Its queue pairs are in RTS before its "go", which tells
 * the path MTU, the server's before its "ok", so neither end can receive what it is not ready for.
 * A server that does not hear "go" takes its queue pairs back: a client that died between two
 * lines leaves nothing behind.
 *
 * The line stays open, silent, to tell when the peer's program ends: an RDMA receiver sends nothing
 * that a dead sender would fail to acknowledge, and would wait for ever.  Keepalives over the queue
 * pair would find out too, after the whole retry budget.  What TCP thinks of the network (timeouts,
 * unreachable hosts) is not asked for: planes die, and that is not the end of a session.
 */
#include "live.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define LINE_LIMIT_NS UINT64_C(2000000000) /* for any one line of a peer that is there */
#define NOBODY (-2)                        /* the peer has hung up without a word */
#define SILENT (-3)
#define GONE_EVERY_NS UINT64_C(50000000)
#define FAR_TURN_NS UINT64_C(5000000)
#define GO_TURN_NS UINT64_C(100000)
#define PROBING_RTTS 4
#define PROBING_NS_MIN UINT64_C(60000000)

struct weft_meeting {
	struct weft_live *live;
	struct offer offer;
	int fd;
};

static uint64_t in_ns(uint64_t limit_ns)
{
	return weft_clock_now(NULL) + limit_ns;
}

/* ---- queue pairs ---- */

static void close_qps(struct weft_session *session)
{
	for (uint32_t i = 0; i < session->n_qps; i++)
		weft_qp_close(session->qp[i]);
	session->n_qps = 0;
}

static int open_qps(struct weft_live *live, struct weft_session *session, uint32_t n,
	uint64_t rate_bps, char *error, size_t bytes)
{
	struct weft_qp_attr attr = { 0 };

	weft_live_qp_defaults(live, rate_bps, &attr);
	for (uint32_t i = 0; i < n; i++) {
		struct weft_qp_info info;

		attr.user = i;
		if (weft_qp_open(live->ep, &attr, &session->qp[i])) {
			snprintf(error, bytes, "no room for %u queue pairs", n);
			close_qps(session);
			return -1;
		}
		session->n_qps = i + 1;
		weft_qp_info(session->qp[i], &info);
		session->qpn[i] = info.qpn;
	}
	return 0;
}

static int start_qps(struct weft_live *live, struct weft_session *session, const struct offer *own,
	const struct offer *peer, uint32_t mtu_bytes, char *error, size_t bytes)
{
	struct weft_qp_attr cc = { 0 };
	uint64_t now = weft_clock_now(NULL);

	weft_live_qp_defaults(live, peer->rate_bps, &cc);
	weft_live_qp_mtu(&cc, mtu_bytes);
	session->mtu_bytes = mtu_bytes;
	for (uint32_t i = 0; i < session->n_qps; i++) {
		struct weft_qp_attr attr = {
			.cc_config = cc.cc_config,
			.mtu_bytes = cc.mtu_bytes,
			.peer = session->peer,
			.peer_qpn = peer->qp[i].qpn,
			.pathset = session->pathset,
			.psn_rx = peer->qp[i].psn,
			.mpr_rx_psns = own->mpr_psns,
			.wimm_rx = own->wimm,
			.trim_nack_rx = own->trim_nack && peer->trim_nack,
			.psn_tx = own->qp[i].psn,
			.mpr_tx_psns = peer->mpr_psns,
			.wimm_tx = peer->wimm,
			.timeout_exp = live->timeout_exp,
			.linear_count = live->linear_count,
			.retry_count = live->retry_count,
		};

		if (weft_qp_move(session->qp[i], WEFT_QP_RTR, &attr, now) ||
			weft_qp_move(session->qp[i], WEFT_QP_RTS, &attr, now)) {
			snprintf(error, bytes, "the engine refuses what %s offers", peer->host);
			return -1;
		}
	}
	return 0;
}

static void make_offer(struct weft_live *live, const struct weft_session *session, json_t *app,
	struct offer *offer)
{
	live_find_planes(live);
	*offer = (struct offer){
		.app = app,
		.format = live->udp.format,
		.planes = live->udp.planes,
		.mtu_bytes = live_most_mtu(live),
		.mpr_psns = live->config.engine.window_psns,
		.wimm = live->config.engine.wimm_max,
		.n_qps = session->n_qps,
		.n_src_ports = live->n_src_ports,
		.rate_bps = live->rate_bps,
		.udp_port = live->udp_port,
		.trim_nack = true,
	};
	snprintf(offer->host, sizeof(offer->host), "%s", live->host_name);
	snprintf(offer->fabric, sizeof(offer->fabric), "%s", live->topo ? live->shape->name : "");
	memcpy(offer->src_port, live->src_port, sizeof(offer->src_port));
	memcpy(offer->addr, live->udp.addr, sizeof(offer->addr));
	for (uint32_t i = 0; i < session->n_qps; i++) {
		offer->qp[i].qpn = session->qpn[i];
		offer->qp[i].psn = weft_live_random(live) & WEFT_PSN_MASK;
	}
}

static int send_offer(int fd, const struct offer *offer)
{
	char *line = offer_encode(offer);
	int rc = line ? line_send(fd, line, in_ns(LINE_LIMIT_NS)) : -1;

	free(line);
	return rc;
}

static void send_error(int fd, const char *why)
{
	json_t *root = json_pack("{s:s}", "error", why);
	char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;

	if (text) {
		(void)line_send(fd, text, in_ns(LINE_LIMIT_NS));
		(void)line_send(fd, "\n", in_ns(LINE_LIMIT_NS));
	}
	free(text);
	json_decref(root);
}

static int recv_offer(int fd, struct offer *offer, char *error, size_t bytes)
{
	char *line = calloc(1, OFFER_TEXT_MAX);
	int rc = -1;

	if (!line) {
		snprintf(error, bytes, "no memory for the peer's offer");
		return -1;
	}
	if (!line_recv(fd, line, OFFER_TEXT_MAX, in_ns(LINE_LIMIT_NS)))
		rc = offer_decode(line, offer, error, bytes);
	else if (!line[0] && errno == ECONNRESET)
		rc = NOBODY;
	else {
		rc = errno == ETIMEDOUT ? SILENT : -1;
		snprintf(error, bytes, "peer's offer did not come: %s", strerror(errno));
	}
	free(line);
	return rc;
}

static void keep_peer(struct weft_live *live, struct weft_session *session, struct offer *peer)
{
	snprintf(session->peer_host, sizeof(session->peer_host), "%s", peer->host);
	session->app = json_incref(peer->app);
	session->pathset = live->peers[session->peer].pathset;
}

bool weft_session_gone(struct weft_live *live, struct weft_session *session)
{
	uint64_t now = weft_pump_now(weft_live_pump(live));
	char byte;

	if (!session->n_qps || now < session->gone_at_ns + GONE_EVERY_NS)
		return false;
	session->gone_at_ns = now;
	ssize_t n = recv(session->line, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return !n || (n < 0 && errno == ECONNRESET);
}

/* The opposite of keep_peer() and of what came before and after it. */
static void drop_peer(struct weft_live *live, struct weft_session *session)
{
	close_qps(session);
	live_peer_give(live, session->peer);
	json_decref(session->app);
	session->app = NULL;
}

void weft_session_close(struct weft_live *live, struct weft_session *session)
{
	if (!session->n_qps)
		return;
	line_close(session->line);
	drop_peer(live, session);
}

/* The unix socket at which this host awaits its set-up lines. */
static void name_line(const struct weft_live *live, const char *host, uint16_t tcp_port,
	char path[sizeof(((struct weft_live *)0)->line_path)])
{
	snprintf(path, sizeof(live->line_path), "%s/%.31s.%u", live->line_dir, host, tcp_port);
}

/* ---- server ---- */

int weft_live_listen(struct weft_live *live, uint16_t tcp_port, char *error, size_t error_bytes)
{
	char path[sizeof(live->line_path)];
	int fd;

	WEFT_ASSERT(!live->callers);
	tcp_port = tcp_port ? tcp_port : WEFT_SESSION_TCP_PORT;
	if (live->line_dir[0]) {
		name_line(live, live->host_name, tcp_port, path);
		fd = line_listen_at(path, error, error_bytes);
		if (fd >= 0)
			memcpy(live->line_path, path, sizeof(path));
	} else {
		fd = line_listen(tcp_port, error, error_bytes);
	}
	if (fd < 0)
		return -1;
	live->callers = callers_open(fd);
	if (!live->callers) {
		snprintf(error, error_bytes, "no memory for those who call");
		line_close(fd);
		return -1;
	}
	return 0;
}

/* Where the port itself waits for the client, it is served meanwhile. */
static void await_line(struct weft_live *live, uint64_t deadline_ns)
{
	if (live->kind->is_far)
		weft_pump_step(live->pump, FAR_TURN_NS);
	else
		callers_wait(live->callers, deadline_ns);
}

int weft_live_accept(struct weft_live *live, uint64_t limit_ns, struct weft_meeting **out,
	char *error, size_t error_bytes)
{
	uint64_t now_ns = weft_clock_now(NULL), deadline_ns = now_ns + limit_ns;
	struct weft_meeting *meeting;
	const char *line;
	int fd;

	for (;; now_ns = weft_clock_now(NULL)) {
		fd = callers_hear(live->callers, now_ns, &line);
		if (fd >= 0 && !ask_is_question(line))
			break;
		if (fd >= 0)
			ask_answer(live, fd);
		if (now_ns >= deadline_ns) /* also for those who do nothing but ask */
			return 0;
		if (fd < 0)
			await_line(live, deadline_ns);
	}
	meeting = calloc(1, sizeof(*meeting));
	if (!meeting) { /* hung up on, so that who asks again does not spin */
		line_close(fd);
		snprintf(error, error_bytes, "no memory for a client");
		return -1;
	}
	*meeting = (struct weft_meeting){ .live = live, .fd = fd };
	if (offer_decode(line, &meeting->offer, error, error_bytes) ||
		live_check(live, &meeting->offer, error, error_bytes)) {
		weft_live_refuse(meeting, error);
		return -1;
	}
	*out = meeting;
	return 1;
}

const struct json_t *weft_meeting_app(const struct weft_meeting *meeting)
{
	return meeting->offer.app;
}

static void end_meeting(struct weft_meeting *meeting)
{
	if (meeting->fd >= 0)
		line_close(meeting->fd);
	offer_close(&meeting->offer);
	free(meeting);
}

void weft_live_refuse(struct weft_meeting *meeting, const char *why)
{
	send_error(meeting->fd, why);
	end_meeting(meeting);
}

/* The other sessions of this endpoint go on, and the peer's probes are answered. */
static int await_go(struct weft_live *live, int fd, char *text, size_t bytes)
{
	uint64_t deadline_ns = in_ns(LINE_LIMIT_NS);
	size_t at = 0;
	int rc;

	while ((rc = line_read(fd, text, bytes, &at)) && errno == EAGAIN &&
		weft_clock_now(NULL) < deadline_ns)
		(void)weft_pump_step(live->pump, GO_TURN_NS);
	return rc;
}

/* "go MTU PLANES": what the client has found out, and by which planes less than that gets through.
 */
static bool read_go(const char *text, uint32_t most_bytes, uint32_t *mtu_bytes, uint32_t *narrow)
{
	char end;

	return sscanf(text, "go %" SCNu32 " %" SCNx32 "%c", mtu_bytes, narrow, &end) == 2 &&
	       *mtu_bytes >= WEFT_MTU_MIN && *mtu_bytes <= most_bytes && *mtu_bytes % 4 == 0;
}

static int answer(struct weft_meeting *meeting, json_t *app, struct weft_session *session,
	char *error, size_t bytes)
{
	struct weft_live *live = meeting->live;
	uint32_t mtu_bytes, narrow;
	struct offer own;
	char go[32];

	if (open_qps(live, session, meeting->offer.n_qps,
		    WEFT_MIN(live->rate_bps, meeting->offer.rate_bps), error, bytes))
		return -1;
	make_offer(live, session, app, &own);
	if (send_offer(meeting->fd, &own) || await_go(live, meeting->fd, go, sizeof(go))) {
		snprintf(error, bytes, "%s: went away during set-up", meeting->offer.host);
		return -1;
	}
	if (!read_go(go, WEFT_MIN(own.mtu_bytes, meeting->offer.mtu_bytes), &mtu_bytes, &narrow)) {
		snprintf(error, bytes, "%s: said something else where \"go MTU PLANES\" belongs",
			meeting->offer.host);
		return -1;
	}
	live_leave_planes(live, session->peer, narrow);
	session->narrow = narrow;
	if (start_qps(live, session, &own, &meeting->offer, mtu_bytes, error, bytes))
		return -1;
	if (line_send(meeting->fd, "ok\n", in_ns(LINE_LIMIT_NS))) {
		snprintf(error, bytes, "%s: went away during set-up", meeting->offer.host);
		return -1;
	}
	return 0;
}

int weft_live_answer(struct weft_meeting *meeting, struct json_t *app, struct weft_session *session,
	char *error, size_t error_bytes)
{
	struct weft_live *live = meeting->live;

	*session = (struct weft_session){ 0 };
	if (live_peer_take(live, &meeting->offer, &session->peer, error, error_bytes)) {
		weft_live_refuse(meeting, error);
		return -1;
	}
	keep_peer(live, session, &meeting->offer);
	int rc = answer(meeting, app, session, error, error_bytes);

	if (rc) {
		drop_peer(live, session);
		weft_live_refuse(meeting, error);
		return -1;
	}
	session->line = meeting->fd;
	meeting->fd = -1;
	end_meeting(meeting);
	return 0;
}

/* ---- client ---- */

static uint32_t find_addrs(
	const struct weft_live *live, const char *host, uint8_t addrs[WEFT_PORTS_MAX][16])
{
	uint32_t node, n = 0;

	if (!live->topo)
		return inet_lookup(host, addrs);
	node = weft_topo_node_find(live->topo, host);
	for (; node < live->shape->hosts && n < live->shape->planes; n++)
		weft_topo_host_addr(live->topo, node, n, addrs[n]);
	return n;
}

/* Long enough for a few probes to go there and back; TCP knows how far it is. */
static uint64_t probing_ns(int fd)
{
	struct tcp_info info;
	socklen_t bytes = sizeof(info);
	uint64_t far_ns = 0;

	if (!getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes))
		far_ns = PROBING_RTTS * UINT64_C(1000) * info.tcpi_rtt;
	return WEFT_MIN(WEFT_MAX(far_ns, PROBING_NS_MIN), LINE_LIMIT_NS / 2);
}

/* Both ends' queue pairs begin. */
static int begin(struct weft_live *live, int fd, struct weft_session *session,
	const struct offer *own, const struct offer *peer, char *error, size_t bytes)
{
	uint32_t most_bytes = WEFT_MIN(own->mtu_bytes, peer->mtu_bytes), narrow;
	uint32_t mtu_bytes =
		live_find_mtu(live, session->peer, most_bytes, probing_ns(fd), &narrow);
	char line[32];

	if (start_qps(live, session, own, peer, mtu_bytes, error, bytes))
		return -1;
	session->narrow = narrow;
	snprintf(line, sizeof(line), "go %" PRIu32 " %" PRIx32 "\n", mtu_bytes, narrow);
	if (!line_send(fd, line, in_ns(LINE_LIMIT_NS)) &&
		!line_recv(fd, line, sizeof(line), in_ns(LINE_LIMIT_NS)) && !strcmp(line, "ok"))
		return 0;
	snprintf(error, bytes, "%s: went away during set-up", peer->host);
	return -1;
}

static int agree(struct weft_live *live, int fd, json_t *app, struct weft_session *session,
	char *error, size_t bytes)
{
	struct offer own, peer = { 0 };
	int rc = -1;

	make_offer(live, session, app, &own);
	if (send_offer(fd, &own)) {
		snprintf(error, bytes, "set-up: %s", strerror(errno));
		return -1;
	}
	int heard = recv_offer(fd, &peer, error, bytes);

	if (heard == NOBODY)
		snprintf(error, bytes, "peer hung up during set-up");
	if (heard == SILENT)
		snprintf(error, bytes, "peer does not answer; it may be busy with somebody else");
	if (heard)
		return -1;
	if (peer.n_qps != session->n_qps) {
		snprintf(error, bytes, "peer's offer: qps: %u where %u were asked for", peer.n_qps,
			session->n_qps);
	} else if (!live_check(live, &peer, error, bytes) &&
		   !live_peer_take(live, &peer, &session->peer, error, bytes)) {
		keep_peer(live, session, &peer);
		rc = begin(live, fd, session, &own, &peer, error, bytes);
		if (rc)
			drop_peer(live, session);
	}
	offer_close(&peer);
	return rc;
}

int weft_live_connect(struct weft_live *live, const char *host, uint16_t tcp_port, uint32_t n_qps,
	struct json_t *app, uint64_t limit_ns, struct weft_session *session, char *error,
	size_t error_bytes)
{
	uint8_t addrs[WEFT_PORTS_MAX][16];
	char path[sizeof(live->line_path)];
	uint32_t n = find_addrs(live, host, addrs);
	int fd;

	WEFT_ASSERT(n_qps && n_qps <= WEFT_SESSION_QPS_MAX);
	*session = (struct weft_session){ 0 };
	if (!n) {
		snprintf(error, error_bytes, "%s: no such host", host);
		return -1;
	}
	tcp_port = tcp_port ? tcp_port : WEFT_SESSION_TCP_PORT;
	if (live->line_dir[0]) {
		name_line(live, host, tcp_port, path);
		fd = line_connect_to(path, in_ns(limit_ns));
	} else {
		snprintf(path, sizeof(path), "TCP port %u", tcp_port);
		fd = line_connect(addrs, n, tcp_port, in_ns(limit_ns));
	}
	if (fd < 0) {
		/* Want of our own says nothing of who may be there. */
		bool is_poor = errno == EMFILE || errno == ENFILE || errno == ENOMEM;

		snprintf(error, error_bytes, "%s: %s %s %s%s%s", host,
			is_poor ? "cannot ask" : "nobody answers",
			live->line_dir[0] ? "at" : "on", path, is_poor ? ": " : "",
			is_poor ? strerror(errno) : "");
		return -1;
	}
	int rc = open_qps(live, session, n_qps, live->rate_bps, error, error_bytes);

	if (!rc && agree(live, fd, app, session, error, error_bytes)) {
		close_qps(session);
		rc = -1;
	}
	if (rc)
		line_close(fd);
	else
		session->line = fd;
	return rc;
}
