/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor_meet - finds the peer, or finds out why not: dead, filtered, or nobody there.
 *
 * All addresses of its name are tried at once (RFC 8305 without head starts), for one second.
 * TCP's reset says that the host lives and nothing listens; silence may be a filter or a dead host,
 * so UDP is sent as well: a port that is closed answers by ICMP (RFC 1122, 4.1.3.1).  The last
 * witness is the neighbour table: who answers ARP or NDP is alive, whatever is filtered above.
 */
#include "doctor_local.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRS_MAX 16u
#define CONNECT_NS UINT64_C(1000000000)
#define GREET_NS UINT64_C(1500000000)
#define ICMP_NS UINT64_C(300000000)

struct doors {
	uint32_t n;
	uint8_t addr[ADDRS_MAX][16];
	struct pollfd door[ADDRS_MAX];
	bool is_refused;
	int why;
};

static bool resolve(struct asking *a, const char *host, struct doors *doors)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *all = NULL;
	int rc = getaddrinfo(host, NULL, &hints, &all);

	if (rc) {
		snprintf(a->facts->peer.why, sizeof(a->facts->peer.why), "%s", gai_strerror(rc));
		return false;
	}
	for (const struct addrinfo *i = all; i && doors->n < ADDRS_MAX; i = i->ai_next)
		doors->n += weft_inet_of(i->ai_addr, doors->addr[doors->n], NULL);
	freeaddrinfo(all);
	return doors->n > 0;
}

static void knock(struct doors *doors, uint16_t tcp_port)
{
	for (uint32_t i = 0; i < doors->n; i++) {
		int fd = weft_inet_socket(SOCK_STREAM);

		if (fd >= 0 && weft_inet_connect(fd, doors->addr[i], tcp_port) &&
			errno != EINPROGRESS) {
			doors->why = errno;
			close(fd);
			fd = -1;
		}
		doors->door[i] = (struct pollfd){ .fd = fd, .events = POLLOUT };
	}
}

static int take_open(struct doors *doors)
{
	for (uint32_t i = 0; i < doors->n; i++) {
		int why = 0, fd = doors->door[i].fd;
		socklen_t bytes = sizeof(why);

		if (fd < 0 || !doors->door[i].revents)
			continue;
		doors->door[i].fd = -1;
		if (!getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &bytes) && !why)
			return fd;
		doors->is_refused |= why == ECONNREFUSED;
		doors->why = why;
		close(fd);
	}
	return -1;
}

static bool has_hope(const struct doors *doors)
{
	for (uint32_t i = 0; i < doors->n; i++)
		if (doors->door[i].fd >= 0)
			return true;
	return false;
}

static int first_open(struct doors *doors, uint64_t deadline_ns)
{
	int line = -1;

	while (line < 0 && has_hope(doors) && weft_clock_left_ms(deadline_ns)) {
		(void)poll(doors->door, doors->n, weft_clock_left_ms(deadline_ns));
		line = take_open(doors);
	}
	for (uint32_t i = 0; i < doors->n; i++)
		if (doors->door[i].fd >= 0)
			close(doors->door[i].fd);
	return line;
}

/* What ICMP says to datagrams; the kernel's own refusal counts as well.  Also to ports that are
 * traceroute's: behind MRC's own somebody may listen, and be silent. */
static enum weft_doctor_udp ask_icmp(const uint8_t addr[16])
{
	static const uint16_t ports[] = { WEFT_DOCTOR_UDP_PORT, 33434, 33435 };
	static const uint8_t bytes[PROBE_BYTES], any[16];
	static const uint8_t any_v4[16] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *from = weft_inet_is_mapped(addr) ? any_v4 : any;
	int fd = plane_socket(from, 0, 0);
	enum weft_doctor_udp what = WEFT_DOCTOR_UDP_SILENT, said;
	uint64_t deadline = weft_clock_now(NULL) + ICMP_NS;
	struct pollfd door = { .fd = fd };
	uint32_t mtu;

	for (size_t i = 0; fd >= 0 && i < WEFT_COUNT(ports); i++)
		if (weft_inet_send(fd, from, addr, ports[i], bytes, sizeof(bytes)) < 0 &&
			errno == EPERM)
			what = WEFT_DOCTOR_UDP_NOT_SENT;
	while (fd >= 0 && what == WEFT_DOCTOR_UDP_SILENT && weft_clock_left_ms(deadline)) {
		(void)poll(&door, 1, weft_clock_left_ms(deadline));
		if (plane_trouble(fd, &said, &mtu) && said != WEFT_DOCTOR_UDP_SILENT)
			what = said;
	}
	if (fd >= 0)
		close(fd);
	return what;
}

static void find_out(struct weft_doctor_peer *peer, const struct doors *doors)
{
	const uint8_t *addr = doors->addr[0];

	peer->udp = ask_icmp(addr);
	peer->has_neighbour = neighbour_ask(addr);
	if (doors->why)
		snprintf(peer->why, sizeof(peer->why), "%s", strerror(doors->why));
	if (doors->is_refused)
		peer->state = WEFT_DOCTOR_PEER_ABSENT;
	else if (peer->udp == WEFT_DOCTOR_UDP_REFUSED || peer->has_neighbour == 1 ||
		 peer->udp == WEFT_DOCTOR_UDP_PROHIBITED)
		peer->state = WEFT_DOCTOR_PEER_FILTERED;
	else
		peer->state = WEFT_DOCTOR_PEER_DEAD;
}

static void take_planes(struct asking *a, const json_t *planes)
{
	struct weft_doctor_peer *peer = &a->facts->peer;

	for (uint32_t i = 0; i < json_array_size(planes) && i < WEFT_DOCTOR_PLANES_MAX; i++) {
		const json_t *plane = json_array_get(planes, i);
		const char *addr = json_string_value(json_object_get(plane, "addr"));
		const char *name = json_string_value(json_object_get(plane, "name"));
		struct weft_doctor_path *path = &peer->path[i];

		if (addr)
			(void)weft_plane_address(addr, peer->plane_addr[i]);
		snprintf(path->peer_iface, sizeof(path->peer_iface), "%.15s", name ? name : "");
		(void)weft_text_clean(path->peer_iface);
		path->peer_mtu_bytes = (uint32_t)json_integer_value(json_object_get(plane, "mtu"));
		a->udp[i] = (uint16_t)json_integer_value(json_object_get(plane, "udp"));
		a->mrc[i] = (uint16_t)json_integer_value(json_object_get(plane, "mrc"));
		peer->planes = i + 1;
	}
}

static bool is_in_subnet(const struct weft_doctor_facts *f, uint32_t plane, const uint8_t addr[16])
{
	for (uint32_t i = 0; i < f->addrs; i++) {
		const struct weft_doctor_addr *own = &f->addr[i];
		uint32_t whole = own->prefix_bits / 8;
		uint8_t rest = (uint8_t)(0xff00u >> own->prefix_bits % 8);

		if (!memcmp(own->addr, f->plane[plane].addr, 16))
			return !memcmp(own->addr, addr, whole) &&
			       (whole == 16 || !((own->addr[whole] ^ addr[whole]) & rest));
	}
	return false;
}

/* Planes that nobody named have no order of their own: they take the peer's, by subnet. */
void pair_planes(struct weft_doctor_facts *f)
{
	for (uint32_t i = 0; i < WEFT_MIN(f->planes, f->peer.planes); i++)
		for (uint32_t k = i; k < f->planes && !f->are_planes_named; k++) {
			struct weft_doctor_plane first = f->plane[i];

			if (!is_in_subnet(f, k, f->peer.plane_addr[i]))
				continue;
			f->plane[i] = f->plane[k];
			f->plane[k] = first;
			break;
		}
}

static void greet(struct asking *a)
{
	struct weft_doctor_peer *peer = &a->facts->peer;
	uint64_t deadline = WEFT_MIN(a->deadline_ns, weft_clock_now(NULL) + GREET_NS);
	json_t *hello = json_pack("{s:i, s:o}", "doctor", 1, "planes", plane_json(a->facts));
	json_t *answer = talk_send(a->line, hello, deadline) ? NULL : talk_recv(a->line, deadline);

	if (json_integer_value(json_object_get(answer, "doctor")) == 1) {
		peer->state = WEFT_DOCTOR_PEER_ANSWERED;
		a->nonce = (uint32_t)json_integer_value(json_object_get(answer, "nonce"));
		a->ear = (uint16_t)json_integer_value(json_object_get(answer, "ear"));
		take_planes(a, json_object_get(answer, "planes"));
		pair_planes(a->facts);
		weft_doctor_report_read(json_object_get(answer, "findings"), &peer->report);
	} else {
		peer->state = WEFT_DOCTOR_PEER_OTHER;
	}
	json_decref(hello);
	json_decref(answer);
}

void meet(struct asking *a, const char *host, uint16_t tcp_port)
{
	struct weft_doctor_peer *peer = &a->facts->peer;
	struct doors doors = { 0 };
	char bare[64];
	bool has_brackets = *host == '[' && host[strlen(host) - 1] == ']';

	snprintf(bare, sizeof(bare), "%.*s", (int)strlen(host) - 2 * has_brackets,
		host + has_brackets);
	snprintf(peer->name, sizeof(peer->name), "%s", bare);
	peer->tcp_port = tcp_port;
	peer->has_neighbour = -1;
	if (!resolve(a, bare, &doors)) {
		peer->state = WEFT_DOCTOR_PEER_UNKNOWN;
		return;
	}
	knock(&doors, tcp_port);
	a->line = first_open(&doors, weft_clock_now(NULL) + CONNECT_NS);
	if (a->line >= 0)
		greet(a);
	else
		find_out(peer, &doors);
}
