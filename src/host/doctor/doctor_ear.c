/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor_ear - the other end: answers probes, counts them by path, tells what it saw.
 *
 * One-way loss is a matter of both ends' counters: the asker knows what it sent and what came back,
 * only this end what arrived.  A probe is answered from the plane that it was sent to, whatever
 * interface it came by; which one that was is told, since that is how crossed cables show.
 *
 * Strangers may connect.  Who says nothing costs a slot for three seconds; datagrams are answered
 * only under the nonce of somebody who greeted, with no more bytes than twice what came.
 */
#include "doctor_local.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CALLERS_MAX 16u
#define SEQS 256u
#define SILENT_NS UINT64_C(3000000000)
#define SPEAK_NS UINT64_C(500000000)
#define BURST 256u
#define FDS_MAX (2 + CALLERS_MAX + 2 * WEFT_DOCTOR_PLANES_MAX)

struct seen { /* of one plane of the asker's, to ours of the same number */
	uint32_t small, mrc, wrong_iface, mtu_bytes;
	uint32_t wrong_ifindex;
	uint8_t small_seq[SEQS / 8], mrc_seq[SEQS / 8];
	uint32_t heard; /* its multicast: bits of our planes */
};

struct caller {
	int line; /* -1: none */
	uint32_t nonce;
	uint64_t since_ns;
	bool has_greeted;
	struct seen seen[WEFT_DOCTOR_PLANES_MAX];
};

struct weft_doctor_ear {
	struct weft_doctor_facts facts;
	struct weft_doctor_report report;
	char *planes;
	int door, ear_fd;
	int fd[WEFT_DOCTOR_PLANES_MAX], mrc_fd[WEFT_DOCTOR_PLANES_MAX];
	uint32_t gone;
	struct caller caller[CALLERS_MAX];
	struct heard heard;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_planes(struct weft_doctor_ear *ear)
{
	for (uint32_t i = 0; i < WEFT_DOCTOR_PLANES_MAX; i++) {
		close_fd(&ear->fd[i]);
		close_fd(&ear->mrc_fd[i]);
	}
}

static void open_planes(struct weft_doctor_ear *ear)
{
	for (uint32_t i = 0; i < ear->facts.planes; i++) {
		const struct weft_doctor_plane *plane = &ear->facts.plane[i];
		uint32_t ifindex = plane->iface < 0 ? 0 : ear->facts.iface[plane->iface].ifindex;

		if (weft_inet_is_none(plane->addr))
			continue;
		ear->fd[i] = plane_socket(plane->addr, 0, ifindex);
		ear->mrc_fd[i] = plane_socket(plane->addr, WEFT_DOCTOR_UDP_PORT, ifindex);
	}
}

static int open_door(uint16_t tcp_port, char *error, size_t error_bytes)
{
	int fd = weft_inet_socket(SOCK_STREAM), on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
		weft_inet_bind(fd, NULL, tcp_port) || listen(fd, (int)CALLERS_MAX)) {
		snprintf(error, error_bytes, "cannot listen on TCP port %u: %s", tcp_port,
			strerror(errno));
		close_fd(&fd);
	}
	return fd;
}

int weft_doctor_listen(struct weft_doctor_ear **made, const char *planes, uint16_t tcp_port,
	char *error, size_t error_bytes)
{
	struct weft_doctor_ear *ear = calloc(1, sizeof(*ear));

	if (!ear) {
		snprintf(error, error_bytes, "no memory");
		return -1;
	}
	ear->door = ear->ear_fd = -1;
	memset(ear->fd, 0xff, sizeof(ear->fd));
	memset(ear->mrc_fd, 0xff, sizeof(ear->mrc_fd));
	for (uint32_t i = 0; i < CALLERS_MAX; i++)
		ear->caller[i].line = -1;
	ear->planes = planes ? strdup(planes) : NULL;
	if (weft_doctor_gather(&ear->facts, ear->planes, error, error_bytes) ||
		(ear->door = open_door(tcp_port, error, error_bytes)) < 0) {
		weft_doctor_deafen(ear);
		return -1;
	}
	ear->ear_fd = ear_socket(0); /* a kernel without IPv6 hears no cables */
	*made = ear;
	return 0;
}

void weft_doctor_deafen(struct weft_doctor_ear *ear)
{
	if (!ear)
		return;
	close_planes(ear);
	close_fd(&ear->door);
	close_fd(&ear->ear_fd);
	for (uint32_t i = 0; i < CALLERS_MAX; i++)
		close_fd(&ear->caller[i].line);
	free(ear->planes);
	free(ear);
}

/* ---- lines ---- */

static json_t *greeting(struct weft_doctor_ear *ear, const struct caller *caller)
{
	json_t *planes = plane_json(&ear->facts);

	for (uint32_t i = 0; i < ear->facts.planes; i++) {
		json_t *plane = json_array_get(planes, i);
		int any = ear->fd[i] < 0 ? 0 : plane_socket_number(ear->fd[i]);

		json_object_set_new(plane, "udp", json_integer(any));
		json_object_set_new(
			plane, "mrc", json_integer(ear->mrc_fd[i] < 0 ? 0 : WEFT_DOCTOR_UDP_PORT));
	}
	return json_pack("{s:i, s:I, s:i, s:o, s:o}", "doctor", 1, "nonce",
		(json_int_t)caller->nonce, "ear",
		ear->ear_fd < 0 ? 0 : (int)plane_socket_number(ear->ear_fd), "planes", planes,
		"findings", weft_doctor_report_json(&ear->report));
}

static bool has_greeted(const struct weft_doctor_ear *ear)
{
	for (uint32_t i = 0; i < CALLERS_MAX; i++)
		if (ear->caller[i].line >= 0 && ear->caller[i].has_greeted)
			return true;
	return false;
}

/* Facts anew, unless another is in the middle of asking. */
static void look_again(struct weft_doctor_ear *ear)
{
	char error[128];

	if (has_greeted(ear))
		return;
	close_planes(ear);
	(void)weft_doctor_gather(&ear->facts, ear->planes, error, sizeof(error));
	open_planes(ear);
	weft_doctor_judge(&ear->facts, false, &ear->report);
}

static const char *name_of(const struct weft_doctor_ear *ear, uint32_t ifindex)
{
	for (uint32_t i = 0; i < ear->facts.ifaces; i++)
		if (ear->facts.iface[i].ifindex == ifindex)
			return ear->facts.iface[i].name;
	return "?";
}

static int plane_by(const struct weft_doctor_ear *ear, uint32_t ifindex)
{
	for (uint32_t i = 0; i < ear->facts.ifaces; i++)
		if (ear->facts.iface[i].ifindex == ifindex)
			return plane_of_iface(&ear->facts, i);
	return -1;
}

/* On a switch every plane hears it: then the right one is among them. */
static int cable_end(uint32_t heard, uint32_t plane)
{
	if (heard >> plane & 1)
		return (int)plane;
	return heard ? (int)weft_ctz64(heard) : -1;
}

static json_t *what_was_seen(const struct weft_doctor_ear *ear, const struct caller *caller)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < WEFT_DOCTOR_PLANES_MAX; i++) {
		const struct seen *seen = &caller->seen[i];

		json_array_append_new(all,
			json_pack("{s:i, s:i, s:i, s:i, s:s, s:i}", "small", (int)seen->small,
				"mrc", (int)seen->mrc, "mtu", (int)seen->mtu_bytes, "wrong",
				(int)seen->wrong_iface, "iface", name_of(ear, seen->wrong_ifindex),
				"cabled", cable_end(seen->heard, i)));
	}
	return json_pack("{s:o}", "seen", all);
}

static int answer_line(struct weft_doctor_ear *ear, struct caller *caller)
{
	uint64_t deadline = weft_clock_now(NULL) + SPEAK_NS;
	json_t *said = talk_recv(caller->line, deadline), *answer = NULL;
	const char *ask = json_string_value(json_object_get(said, "ask"));

	if (said && json_integer_value(json_object_get(said, "doctor")) == 1 &&
		!caller->has_greeted) {
		look_again(ear);
		caller->has_greeted = true;
		caller->nonce = (uint32_t)weft_random(); /* nobody else asks for its datagrams */
		answer = greeting(ear, caller);
	} else if (ask && !strcmp(ask, "seen") && caller->has_greeted) {
		answer = what_was_seen(ear, caller);
	} else if (said) {
		answer = json_pack("{s:s}", "error", "here waits weft doctor, and nothing else");
	}
	int rc = answer ? talk_send(caller->line, answer, deadline) : -1;

	if (json_object_get(answer, "error"))
		rc = -1;
	json_decref(answer);
	json_decref(said);
	return rc;
}

static void accept_caller(struct weft_doctor_ear *ear)
{
	int line = accept4(ear->door, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	for (uint32_t i = 0; line >= 0 && i < CALLERS_MAX; i++) {
		struct caller *caller = &ear->caller[i];

		if (caller->line >= 0)
			continue;
		*caller = (struct caller){ .line = line, .since_ns = weft_clock_now(NULL) };
		return;
	}
	close_fd(&line);
}

static void leave(struct weft_doctor_ear *ear, struct caller *caller)
{
	ear->gone += caller->has_greeted;
	caller->has_greeted = false;
	close_fd(&caller->line);
}

static void drop_silent(struct weft_doctor_ear *ear)
{
	uint64_t now = weft_clock_now(NULL);

	for (uint32_t i = 0; i < CALLERS_MAX; i++) {
		struct caller *caller = &ear->caller[i];
		uint64_t limit = caller->has_greeted ? 4 * SILENT_NS : SILENT_NS;

		if (caller->line >= 0 && now > caller->since_ns + limit)
			leave(ear, caller);
	}
}

/* ---- datagrams ---- */

static struct caller *caller_of(struct weft_doctor_ear *ear, uint32_t nonce)
{
	for (uint32_t i = 0; i < CALLERS_MAX; i++)
		if (ear->caller[i].has_greeted && ear->caller[i].nonce == nonce)
			return &ear->caller[i];
	return NULL;
}

/* 1: for the first time. */
static uint32_t mark(uint8_t seqs[SEQS / 8], uint16_t seq)
{
	uint8_t bit = (uint8_t)(1u << seq % 8);
	bool is_new = seq < SEQS && !(seqs[seq / 8] & bit);

	if (is_new)
		seqs[seq / 8] |= bit;
	return is_new;
}

static void count(struct weft_doctor_ear *ear, struct seen *seen, const struct probe *probe)
{
	const struct weft_doctor_plane *plane = &ear->facts.plane[probe->to];
	uint32_t own = plane->iface < 0 ? 0 : ear->facts.iface[plane->iface].ifindex;

	if (probe->kind == PROBE_SMALL)
		seen->small += mark(seen->small_seq, probe->seq);
	else if (probe->kind == PROBE_MRC)
		seen->mrc += mark(seen->mrc_seq, probe->seq);
	else if (probe->kind == PROBE_SIZED)
		seen->mtu_bytes =
			WEFT_MAX(seen->mtu_bytes, probe->bytes + ip_overhead(plane->addr));
	if (ear->heard.ifindex && own && ear->heard.ifindex != own) {
		seen->wrong_iface++;
		seen->wrong_ifindex = ear->heard.ifindex;
	}
}

static void answer_probe(struct weft_doctor_ear *ear, int fd, uint32_t plane)
{
	uint8_t small[PROBE_BYTES];
	struct heard *heard = &ear->heard;
	struct probe probe;

	if (!probe_decode(&probe, heard->bytes, heard->n) || probe.is_answer ||
		probe.bytes != heard->n || probe.to != plane)
		return;
	struct caller *caller = caller_of(ear, probe.nonce);
	const uint8_t *own = ear->facts.plane[plane].addr;

	if (!caller)
		return;
	if (probe.from == probe.to)
		count(ear, &caller->seen[probe.from], &probe);
	probe.is_answer = 1;
	probe_encode(&probe, small);
	(void)weft_inet_send(fd, own, heard->from, heard->number, small, sizeof(small));
	if (probe.kind != PROBE_SIZED)
		return;
	probe.is_answer = 2;
	probe_encode(&probe, heard->bytes);
	(void)weft_inet_send(fd, own, heard->from, heard->number, heard->bytes, heard->n);
}

static void hear_plane(struct weft_doctor_ear *ear, int fd, uint32_t plane)
{
	enum weft_doctor_udp what;
	uint32_t mtu;

	for (uint32_t i = 0; i < BURST && plane_trouble(fd, &what, &mtu); i++)
		;
	for (uint32_t i = 0; i < BURST && plane_hear(fd, &ear->heard); i++)
		answer_probe(ear, fd, plane);
}

static void hear_cables(struct weft_doctor_ear *ear)
{
	struct probe probe;

	for (uint32_t i = 0; i < BURST && plane_hear(ear->ear_fd, &ear->heard); i++) {
		struct caller *caller = probe_decode(&probe, ear->heard.bytes, ear->heard.n)
						? caller_of(ear, probe.nonce)
						: NULL;

		int plane = plane_by(ear, ear->heard.ifindex);

		if (caller && probe.kind == PROBE_EAR && plane >= 0)
			caller->seen[probe.from].heard |= 1u << plane;
	}
}

/* poll() passes over descriptors that are -1. */
uint32_t weft_doctor_hear(struct weft_doctor_ear *ear, int max_ms)
{
	struct pollfd fds[FDS_MAX] = { { .fd = ear->door, .events = POLLIN },
		{ .fd = ear->ear_fd, .events = POLLIN } };
	struct pollfd *lines = fds + 2, *planes = lines + CALLERS_MAX;
	struct pollfd *mrc = planes + WEFT_DOCTOR_PLANES_MAX;

	for (uint32_t i = 0; i < CALLERS_MAX; i++)
		lines[i] = (struct pollfd){ .fd = ear->caller[i].line, .events = POLLIN };
	for (uint32_t i = 0; i < WEFT_DOCTOR_PLANES_MAX; i++) {
		planes[i] = (struct pollfd){ .fd = ear->fd[i], .events = POLLIN };
		mrc[i] = (struct pollfd){ .fd = ear->mrc_fd[i], .events = POLLIN };
	}
	if (poll(fds, FDS_MAX, max_ms) > 0) {
		for (uint32_t i = 0; i < WEFT_DOCTOR_PLANES_MAX; i++) {
			if (planes[i].revents)
				hear_plane(ear, ear->fd[i], i);
			if (mrc[i].revents)
				hear_plane(ear, ear->mrc_fd[i], i);
		}
		if (fds[1].revents)
			hear_cables(ear);
		for (uint32_t i = 0; i < CALLERS_MAX; i++)
			if (lines[i].revents && answer_line(ear, &ear->caller[i]))
				leave(ear, &ear->caller[i]);
		if (fds[0].revents)
			accept_caller(ear);
	}
	drop_silent(ear);
	return ear->gone;
}
