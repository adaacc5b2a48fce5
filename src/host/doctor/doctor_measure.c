/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor_measure - what comes through, by plane and size, and which way.
 *
 * A train of small packets gives loss each way (the peer counts arrivals, answers count returns); a
 * few of each plane to every other of the peer's show planes named in another order; multicast
 * shows cables; then sizes with DF set find the path's MTU (RFC 4821: by what arrives, since ICMP
 * may be filtered), first the usual ones, then by sweeps of sixteen.  Where packets are lost, sizes
 * are sent more often, so that loss does not pass for a small MTU.
 *
 * Each wait ends when all is answered or none has come for a while: a healthy peer takes a second.
 */
#include "doctor_local.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TRAIN 200u
#define TRAIN_GAP_NS UINT64_C(1000000)
#define MRC_EVERY 10u
#define CROSS 3u
#define QUIET_NS UINT64_C(300000000)
#define TRAIN_NS UINT64_C(1200000000)
#define SIZES_NS UINT64_C(500000000)
#define SWEEP 16u
#define ROUNDS 4u
#define COPIES 3u
#define COPIES_LOSSY 12u
#define SIZES_MAX 24u

static struct weft_doctor_path *path_of(struct asking *a, uint32_t i)
{
	return &a->facts->peer.path[i];
}

static bool send_probe(struct asking *a, const struct probe *what, uint16_t number)
{
	struct probe probe = *what;
	uint8_t *bytes = a->heard.bytes; /* nothing of it is needed while we send */

	probe.nonce = a->nonce;
	probe.bytes = (uint16_t)WEFT_MAX(probe.bytes, PROBE_BYTES);
	memset(bytes, 0, probe.bytes);
	probe_encode(&probe, bytes);
	for (int i = 0; i < 2; i++) { /* an error of ICMP is told to the next send */
		if (weft_inet_send(a->fd[probe.from], a->facts->plane[probe.from].addr,
			    a->facts->peer.plane_addr[probe.to], number, bytes, probe.bytes) >= 0)
			return true;
		if (errno == EPERM)
			path_of(a, probe.from)->udp = WEFT_DOCTOR_UDP_NOT_SENT;
	}
	return false;
}

/* ---- answers ---- */

static void take_sized(struct weft_doctor_path *path, const struct probe *probe, size_t n)
{
	uint32_t mtu = probe->bytes + ip_overhead(path->to);

	path->mtu_out_bytes = WEFT_MAX(path->mtu_out_bytes, mtu);
	if (probe->is_answer == 2 && n == probe->bytes)
		path->mtu_back_bytes = WEFT_MAX(path->mtu_back_bytes, mtu);
}

static void take_answer(struct asking *a, uint32_t plane)
{
	struct weft_doctor_path *path = path_of(a, plane);
	const struct weft_doctor_plane *own = &a->facts->plane[plane];
	struct probe probe;

	if (!probe_decode(&probe, a->heard.bytes, a->heard.n) || probe.nonce != a->nonce ||
		!probe.is_answer || probe.from != plane)
		return;
	a->answered_ns = weft_clock_now(NULL);
	a->n_cross[plane][probe.to]++;
	if (probe.to != plane)
		return;
	if (a->heard.ifindex && own->iface >= 0 &&
		a->heard.ifindex != a->facts->iface[own->iface].ifindex) {
		path->own_iface_wrong++;
		for (uint32_t i = 0; i < a->facts->ifaces; i++)
			if (a->facts->iface[i].ifindex == a->heard.ifindex)
				memcpy(path->echoed_iface, a->facts->iface[i].name,
					sizeof(path->echoed_iface));
	}
	if (probe.kind == PROBE_SIZED) {
		take_sized(path, &probe, a->heard.n);
	} else if (probe.kind == PROBE_SMALL && probe.seq < TRAIN && a->sent_ns[plane][probe.seq]) {
		uint64_t rtt = a->answered_ns - a->sent_ns[plane][probe.seq];

		a->sent_ns[plane][probe.seq] = 0;
		path->echoed++;
		path->rtt_ns = path->rtt_ns ? WEFT_MIN(path->rtt_ns, rtt) : rtt;
	}
}

static void take_trouble(struct asking *a, uint32_t plane)
{
	struct weft_doctor_path *path = path_of(a, plane);
	enum weft_doctor_udp what;
	uint32_t mtu;

	for (int i = 0; i < 64 && plane_trouble(a->fd[plane], &what, &mtu); i++) {
		if (what != WEFT_DOCTOR_UDP_SILENT && path->udp == WEFT_DOCTOR_UDP_SILENT)
			path->udp = what;
		if (mtu)
			path->mtu_told_bytes = mtu;
	}
}

/* It is enough to know that it opens; the peer shall not wait for our words there. */
static void take_tcp(struct asking *a, uint32_t plane)
{
	int why = 0, fd = a->tcp_fd[plane];
	socklen_t bytes = sizeof(why);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &bytes))
		why = errno;
	path_of(a, plane)->tcp = !why                  ? WEFT_DOCTOR_TCP_OPEN
				 : why == ECONNREFUSED ? WEFT_DOCTOR_TCP_REFUSED
						       : WEFT_DOCTOR_TCP_UNREACHABLE;
	close(fd);
	a->tcp_fd[plane] = -1;
}

void listen_until(struct asking *a, uint64_t until_ns, uint64_t quiet_ns)
{
	struct pollfd fds[2 * WEFT_DOCTOR_PLANES_MAX];
	uint32_t planes = a->facts->planes;

	a->answered_ns = weft_clock_now(NULL);
	do {
		uint64_t until = WEFT_MIN(until_ns, a->answered_ns + quiet_ns);

		for (uint32_t i = 0; i < planes; i++) {
			fds[i] = (struct pollfd){ .fd = a->fd[i], .events = POLLIN };
			fds[planes + i] = (struct pollfd){ .fd = a->tcp_fd[i], .events = POLLOUT };
		}
		if (poll(fds, 2 * planes, weft_clock_left_ms(until)) <= 0 &&
			!weft_clock_left_ms(until))
			return;
		for (uint32_t i = 0; i < planes; i++) {
			if (fds[planes + i].revents)
				take_tcp(a, i);
			if (!fds[i].revents)
				continue;
			take_trouble(a, i);
			for (int n = 0; n < 256 && plane_hear(a->fd[i], &a->heard); n++)
				take_answer(a, i);
		}
	} while (weft_clock_left_ms(WEFT_MIN(until_ns, a->answered_ns + quiet_ns)));
}

static bool is_train_back(struct asking *a)
{
	for (uint32_t i = 0; i < a->facts->peer.paths; i++)
		if (path_of(a, i)->echoed < path_of(a, i)->sent)
			return false;
	return true;
}

/* In slices, so that it ends as soon as all is there. */
static void wait_for_train(struct asking *a)
{
	uint64_t start = weft_clock_now(NULL), heard = start;
	uint64_t until = WEFT_MIN(a->deadline_ns, start + TRAIN_NS);

	while (!is_train_back(a) && weft_clock_left_ms(WEFT_MIN(until, heard + QUIET_NS))) {
		uint64_t slice = weft_clock_now(NULL);

		listen_until(a, slice + 20000000, 20000000);
		if (a->answered_ns > slice + 1000000)
			heard = a->answered_ns;
	}
}

/* ---- questions ---- */

static void open_path(struct asking *a, uint32_t i)
{
	struct weft_doctor_facts *facts = a->facts;
	struct weft_doctor_path *path = path_of(a, i);
	const struct weft_doctor_plane *own = &facts->plane[i];
	const uint8_t *to = facts->peer.plane_addr[i];
	bool is_v4 = weft_inet_is_mapped(own->addr);

	path->answers_as = path->cabled_to = path->has_neighbour = -1;
	if (weft_inet_is_none(own->addr) || weft_inet_is_none(to) ||
		is_v4 != weft_inet_is_mapped(to))
		return;
	memcpy(path->from, own->addr, 16);
	memcpy(path->to, to, 16);
	if (own->iface >= 0)
		path->own_mtu_bytes = facts->iface[own->iface].mtu_bytes;
	route_ask(path);
	a->fd[i] = plane_socket(own->addr, 0,
		own->iface >= 0 && !facts->iface[own->iface].is_loopback
			? facts->iface[own->iface].ifindex
			: 0);
	path->is_tried = a->fd[i] >= 0;
	a->tcp_fd[i] = path->is_tried ? weft_inet_socket(SOCK_STREAM) : -1;
	if (a->tcp_fd[i] < 0)
		return;
	path->tcp = WEFT_DOCTOR_TCP_SILENT;
	if (weft_inet_bind(a->tcp_fd[i], own->addr, 0) ||
		(weft_inet_connect(a->tcp_fd[i], to, facts->peer.tcp_port) &&
			errno != EINPROGRESS)) {
		path->tcp = WEFT_DOCTOR_TCP_UNREACHABLE;
		close(a->tcp_fd[i]);
		a->tcp_fd[i] = -1;
	}
}

static void ask_cables(struct asking *a)
{
	uint8_t bytes[PROBE_BYTES];

	if (!a->ear || a->ear_fd < 0)
		return;
	for (uint32_t i = 0; i < a->facts->planes; i++) {
		const struct weft_doctor_plane *plane = &a->facts->plane[i];
		struct probe probe = { .nonce = a->nonce,
			.kind = PROBE_EAR,
			.from = (uint8_t)i,
			.bytes = PROBE_BYTES };

		probe_encode(&probe, bytes);
		if (plane->iface >= 0)
			(void)ear_send(a->ear_fd, a->facts->iface[plane->iface].ifindex, a->ear,
				bytes, sizeof(bytes));
	}
}

static void ask_crosswise(struct asking *a)
{
	for (uint32_t i = 0; i < a->facts->planes; i++)
		for (uint32_t j = 0; j < a->facts->peer.planes; j++) {
			struct probe probe = { .kind = PROBE_SMALL,
				.from = (uint8_t)i,
				.to = (uint8_t)j,
				.seq = 65535 };

			if (i != j && a->fd[i] >= 0 && a->udp[j] &&
				weft_inet_is_mapped(a->facts->plane[i].addr) ==
					weft_inet_is_mapped(a->facts->peer.plane_addr[j]))
				(void)send_probe(a, &probe, a->udp[j]);
		}
}

static void send_train(struct asking *a)
{
	for (uint16_t seq = 0; seq < TRAIN; seq++) {
		uint64_t next = weft_clock_now(NULL) + TRAIN_GAP_NS;

		for (uint32_t i = 0; i < a->facts->peer.paths; i++) {
			struct weft_doctor_path *path = path_of(a, i);
			struct probe probe = { .from = (uint8_t)i, .to = (uint8_t)i, .seq = seq };

			if (!path->is_tried)
				continue;
			path->sent++;
			a->sent_ns[i][seq] = weft_clock_now(NULL);
			(void)send_probe(a, &probe, a->udp[i]);
			if (seq % MRC_EVERY || !a->mrc[i])
				continue;
			probe.kind = PROBE_MRC;
			path->mrc_sent++;
			(void)send_probe(a, &probe, a->mrc[i]);
		}
		if (seq % (TRAIN / CROSS) == 0) {
			ask_cables(a);
			ask_crosswise(a);
		}
		listen_until(a, next, TRAIN_GAP_NS);
	}
	wait_for_train(a);
}

/* ---- sizes ---- */

static void send_size(struct asking *a, uint32_t i, uint32_t mtu_bytes)
{
	struct weft_doctor_path *path = path_of(a, i);
	bool is_lossy = path->echoed * 50 < path->sent * 49;
	struct probe probe = { .kind = PROBE_SIZED,
		.from = (uint8_t)i,
		.to = (uint8_t)i,
		.bytes = (uint16_t)(mtu_bytes - ip_overhead(path->to)) };

	for (uint32_t n = 0; n < (is_lossy ? COPIES_LOSSY : COPIES); n++)
		(void)send_probe(a, &probe, a->udp[i]);
}

static uint32_t largest(const struct weft_doctor_path *path)
{
	uint32_t own = WEFT_MIN(path->own_mtu_bytes, 65535u);

	return path->peer_mtu_bytes ? WEFT_MIN(own, path->peer_mtu_bytes) : own;
}

static bool is_measured(const struct weft_doctor_path *path)
{
	return !path->echoed || path->mtu_back_bytes >= largest(path) || largest(path) < 128;
}

/* Sizes between what came back and what did not: the first time the usual ones. */
static void send_sizes(struct asking *a, uint32_t i, uint32_t round, uint32_t not_bytes[])
{
	static const uint32_t usual[] = { 576, 1280, 1400, 1450, 1500, 2048, 4096, 4252, 8192 };
	struct weft_doctor_path *path = path_of(a, i);
	uint32_t low = WEFT_MAX(path->mtu_back_bytes, ip_overhead(path->to) + PROBE_BYTES);

	if (!round) {
		not_bytes[i] = largest(path);
		send_size(a, i, largest(path));
		return;
	}
	for (size_t s = 0; round == 1 && s < WEFT_COUNT(usual); s++)
		if (usual[s] < largest(path))
			send_size(a, i, usual[s]);
	if (round == 1)
		return;
	uint32_t step = WEFT_MAX((not_bytes[i] - low) / SWEEP, 1u);

	for (uint32_t size = low + step; size < not_bytes[i]; size += step)
		send_size(a, i, size);
}

/* Beyond what came back nothing did, up to the next size that was tried. */
static void tighten(const struct weft_doctor_path *path, uint32_t round, uint32_t *not_bytes)
{
	static const uint32_t usual[] = { 576, 1280, 1400, 1450, 1500, 2048, 4096, 4252, 8192 };
	uint32_t low = WEFT_MAX(path->mtu_back_bytes, ip_overhead(path->to) + PROBE_BYTES);

	if (round == 1) {
		for (size_t s = WEFT_COUNT(usual); s-- > 0;)
			if (usual[s] > low)
				*not_bytes = WEFT_MIN(*not_bytes, usual[s]);
	}
}

static void measure_sizes(struct asking *a)
{
	uint32_t not_bytes[WEFT_DOCTOR_PLANES_MAX] = { 0 };

	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t before[WEFT_DOCTOR_PLANES_MAX], step[WEFT_DOCTOR_PLANES_MAX] = { 0 };
		bool any = false;

		for (uint32_t i = 0; i < a->facts->peer.paths; i++) {
			struct weft_doctor_path *path = path_of(a, i);

			before[i] =
				WEFT_MAX(path->mtu_back_bytes, ip_overhead(path->to) + PROBE_BYTES);
			if (!path->is_tried || is_measured(path))
				continue;
			any = true;
			send_sizes(a, i, round, not_bytes);
			step[i] = round > 1 ? WEFT_MAX((not_bytes[i] - before[i]) / SWEEP, 1u) : 0;
		}
		if (!any)
			return;
		listen_until(a, WEFT_MIN(a->deadline_ns, weft_clock_now(NULL) + SIZES_NS),
			round ? QUIET_NS / 2 : QUIET_NS / 3);
		for (uint32_t i = 0; i < a->facts->peer.paths; i++) {
			tighten(path_of(a, i), round, &not_bytes[i]);
			if (step[i])
				not_bytes[i] = WEFT_MIN(not_bytes[i],
					WEFT_MAX(path_of(a, i)->mtu_back_bytes, before[i]) +
						step[i]);
		}
	}
}

/* Whether plane i of ours leads to plane j of the peer.  An answer alone does not say so: the
 * kernel may send by another plane's interface what is not of this one's subnet (weak host model,
 * RFC 1122, 3.3.4.2). */
static bool leads_to(struct asking *a, uint32_t i, uint32_t j)
{
	const struct weft_doctor_plane *own = &a->facts->plane[i];
	struct weft_doctor_path path = { .has_route = false };

	memcpy(path.from, own->addr, 16);
	memcpy(path.to, a->facts->peer.plane_addr[j], 16);
	route_ask(&path);
	return path.has_route && own->iface >= 0 &&
	       !strcmp(path.route_iface, a->facts->iface[own->iface].name);
}

void measure(struct asking *a)
{
	struct weft_doctor_peer *peer = &a->facts->peer;

	peer->paths = WEFT_MIN(a->facts->planes, peer->planes);
	for (uint32_t i = 0; i < peer->paths; i++)
		open_path(a, i);
	send_train(a);
	measure_sizes(a);
	for (uint32_t i = 0; i < peer->paths; i++) {
		struct weft_doctor_path *path = path_of(a, i);

		if (path->is_tried && !path->echoed)
			path->has_neighbour = neighbour_ask(path->to);
		for (uint32_t j = 0; j < peer->planes; j++)
			if (j != i && a->n_cross[i][j] && !path->echoed && leads_to(a, i, j))
				path->answers_as = (int)j;
	}
}

static uint32_t number(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n < 0 || n > UINT32_MAX ? 0 : (uint32_t)n;
}

void learn(struct asking *a)
{
	json_t *ask = json_pack("{s:s}", "ask", "seen");
	json_t *told =
		talk_send(a->line, ask, a->deadline_ns) ? NULL : talk_recv(a->line, a->deadline_ns);
	const json_t *all = json_object_get(told, "seen");

	if (!told)
		a->facts->peer.state = WEFT_DOCTOR_PEER_LOST;
	for (uint32_t i = 0; i < a->facts->peer.paths && i < json_array_size(all); i++) {
		const json_t *seen = json_array_get(all, i), *cabled;
		const char *iface = json_string_value(json_object_get(seen, "iface"));
		struct weft_doctor_path *path = path_of(a, i);

		path->arrived = WEFT_MIN(number(seen, "small"), path->sent);
		path->mrc_arrived = WEFT_MIN(number(seen, "mrc"), path->mrc_sent);
		path->mtu_out_bytes = WEFT_MAX(path->mtu_out_bytes, number(seen, "mtu"));
		path->peer_iface_wrong = number(seen, "wrong");
		snprintf(path->arrived_iface, sizeof(path->arrived_iface), "%.15s",
			iface ? iface : "");
		(void)weft_text_clean(path->arrived_iface);
		cabled = json_object_get(seen, "cabled");
		if (json_is_integer(cabled) && json_integer_value(cabled) >= 0 &&
			json_integer_value(cabled) < (json_int_t)WEFT_DOCTOR_PLANES_MAX)
			path->cabled_to = (int)json_integer_value(cabled);
	}
	json_decref(ask);
	json_decref(told);
}

void weft_doctor_ask(struct weft_doctor_facts *facts, const char *host, uint16_t tcp_port)
{
	struct asking *a = calloc(1, sizeof(*a));

	memset(&facts->peer, 0, sizeof(facts->peer));
	if (!a)
		return;
	a->facts = facts;
	a->deadline_ns = weft_clock_now(NULL) + WEFT_DOCTOR_ASK_NS;
	a->line = -1;
	a->ear_fd = ear_socket(0);
	memset(a->fd, 0xff, sizeof(a->fd));
	memset(a->tcp_fd, 0xff, sizeof(a->tcp_fd));
	meet(a, host, tcp_port);
	if (facts->peer.state == WEFT_DOCTOR_PEER_ANSWERED) {
		measure(a);
		learn(a);
	}
	for (uint32_t i = 0; i < WEFT_DOCTOR_PLANES_MAX; i++) {
		if (a->fd[i] >= 0)
			close(a->fd[i]);
		if (a->tcp_fd[i] >= 0)
			close(a->tcp_fd[i]);
	}
	if (a->ear_fd >= 0)
		close(a->ear_fd);
	if (a->line >= 0)
		close(a->line);
	free(a);
}
