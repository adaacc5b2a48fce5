/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_ask - planes that nobody has named: a server's are its interfaces, a client asks for them.
 *
 * Plane i of one end must lead to plane i of the other.  So the client asks the server for its
 * addresses before it opens a port, one line {"ask": "planes"} at the door where offers are made,
 * and for each takes the own address by which the kernel would go there.  Where several of them are
 * reached from one own address (a router's, or a bridge that only the server has), the first counts
 * that is in a network of ours, else the first; for the others this end has no plane.
 */
#include "live.h"

#include <errno.h>
#include <ifaddrs.h>
#include <jansson.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TELL_NS UINT64_C(200000000) /* one line, which fits any socket's buffer */
#define QUESTION "{\"ask\":\"planes\"}"

/* Also one whose cable is out: it joins when it is in. */
static bool is_usable(const struct ifaddrs *i, int family)
{
	return carrier_is_ip(i) && i->ifa_addr->sa_family == family &&
	       (i->ifa_flags & (IFF_UP | IFF_POINTOPOINT)) == IFF_UP;
}

static bool has_earlier(const struct ifaddrs *list, const struct ifaddrs *at, int family)
{
	for (const struct ifaddrs *i = list; i != at; i = i->ifa_next)
		if (is_usable(i, family) && !strcmp(i->ifa_name, at->ifa_name))
			return true;
	return false;
}

/* The first address of each interface, of one family. */
static uint32_t addresses(int family, uint8_t addr[WEFT_PORTS_MAX][16])
{
	struct ifaddrs *list;
	uint32_t n = 0;

	if (getifaddrs(&list))
		return 0;
	for (const struct ifaddrs *i = list; i && n < WEFT_PORTS_MAX; i = i->ifa_next) {
		if (is_usable(i, family) && !has_earlier(list, i, family))
			n += weft_inet_of(i->ifa_addr, addr[n], NULL);
	}
	freeifaddrs(list);
	return n;
}

static void list(const uint8_t addr[][16], uint32_t n, char planes[WEFT_PLANES_TEXT_BYTES])
{
	size_t at = 0;

	planes[0] = 0;
	for (uint32_t i = 0; i < n; i++) {
		char text[WEFT_PLANE_TEXT_BYTES];

		weft_plane_text(addr[i], text);
		at += (size_t)snprintf(planes + at, WEFT_PLANES_TEXT_BYTES - at, "%s%s",
			i ? "," : "", text);
	}
}

int weft_planes_here(char planes[WEFT_PLANES_TEXT_BYTES], char *error, size_t error_bytes)
{
	uint8_t addr[WEFT_PORTS_MAX][16];
	uint32_t n = addresses(AF_INET, addr);

	n = n ? n : addresses(AF_INET6, addr);
	list(addr, n, planes);
	if (n)
		return 0;
	snprintf(error, error_bytes,
		"no planes: no interface of this host is up and has an address; name own addresses "
		"with --planes, or a fabric file with --fabric");
	return -1;
}

/* ---- the server ---- */

bool ask_is_question(const char *line)
{
	return !strcmp(line, QUESTION);
}

void ask_answer(const struct weft_live *live, int fd)
{
	json_t *addrs = json_array();

	for (uint32_t i = 0; i < live->udp.planes && !live->topo; i++) {
		char text[WEFT_PLANE_TEXT_BYTES];

		weft_plane_text(live->udp.addr[i], text);
		json_array_append_new(addrs, json_string(text));
	}
	json_t *root = live->topo ? json_pack("{s:s}", "error", "planes: a fabric file has them")
				  : json_pack("{s:O}", "addrs", addrs);
	char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	uint64_t deadline_ns = weft_clock_now(NULL) + TELL_NS;

	if (text && !line_send(fd, text, deadline_ns))
		(void)line_send(fd, "\n", deadline_ns);
	free(text);
	json_decref(root);
	json_decref(addrs);
	line_close(fd);
}

/* ---- the client ---- */

/* The own address from which packets to `to` leave; no packet does.  False: no route. */
static bool source_of(const uint8_t to[16], uint8_t own[16])
{
	int fd = weft_inet_socket(SOCK_DGRAM);
	struct sockaddr_storage name;
	socklen_t bytes = fd < 0 ? 0 : inet_name(weft_inet_is_v4(fd), to, 9, &name);
	bool is_known = bytes && !connect(fd, (struct sockaddr *)&name, bytes) &&
			!getsockname(fd, (struct sockaddr *)&name, &bytes) &&
			weft_inet_of((struct sockaddr *)&name, own, NULL);

	if (fd >= 0)
		close(fd);
	return is_known;
}

static bool is_taken(const uint8_t own[][16], uint32_t n, const uint8_t addr[16])
{
	for (uint32_t i = 0; i < n; i++)
		if (!memcmp(own[i], addr, 16))
			return true;
	return false;
}

/* Those in networks of ours first, then the rest; a host that asks itself last. */
static bool match(const uint8_t peer[][16], uint32_t n, uint8_t own[][16])
{
	bool found = false;

	memset(own, 0, n * sizeof(*own));
	for (unsigned turn = 0; turn < 2 || (turn < 3 && !found); turn++) {
		for (uint32_t i = 0; i < n; i++) {
			uint8_t addr[16];

			if (!weft_inet_is_none(own[i]) || !source_of(peer[i], addr) ||
				is_taken((const uint8_t(*)[16])own, n, addr) ||
				(turn < 2 && !memcmp(addr, peer[i], 16)) ||
				(!turn && !carrier_has_net(addr, peer[i])))
				continue;
			memcpy(own[i], addr, 16);
			found = true;
		}
	}
	return found;
}

static uint32_t read_answer(
	const char *line, uint8_t peer[WEFT_PORTS_MAX][16], char *error, size_t bytes)
{
	json_t *root = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
	const json_t *addrs = json_object_get(root, "addrs"), *why = json_object_get(root, "error");
	size_t n = json_array_size(addrs);
	bool is_good = n && n <= WEFT_PORTS_MAX;

	for (size_t i = 0; i < n && is_good; i++) {
		const char *word = json_string_value(json_array_get(addrs, i));

		is_good = word && inet_parse(word, peer[i]);
	}
	if (json_is_string(why))
		snprintf(error, bytes, "peer: %s", json_string_value(why));
	else if (!is_good)
		snprintf(error, bytes, "peer's answer: addrs: not a list of 1 to %u addresses",
			WEFT_PORTS_MAX);
	json_decref(root);
	return is_good ? (uint32_t)n : 0;
}

int weft_planes_towards(const char *host, uint16_t tcp_port, uint64_t limit_ns,
	char planes[WEFT_PLANES_TEXT_BYTES], char *error, size_t error_bytes)
{
	uint8_t addrs[WEFT_PORTS_MAX][16], own[WEFT_PORTS_MAX][16];
	uint32_t n = inet_lookup(host, addrs);
	uint64_t now = weft_clock_now(NULL);
	char line[4096];

	tcp_port = tcp_port ? tcp_port : WEFT_SESSION_TCP_PORT;
	if (!n) {
		snprintf(error, error_bytes, "%s: no such host", host);
		return -1;
	}
	int fd = line_connect((const uint8_t(*)[16])addrs, n, tcp_port, now + limit_ns);

	if (fd < 0) {
		snprintf(error, error_bytes,
			"%s: nobody answers on TCP port %u: does the other end wait there?  `weft "
			"doctor %s` tells what is in the way",
			host, tcp_port, host);
		return -1;
	}
	int rc = line_send(fd, QUESTION "\n", now + limit_ns) ||
		 line_recv(fd, line, sizeof(line), now + limit_ns);

	line_close(fd);
	if (rc) {
		snprintf(error, error_bytes,
			"%s: does not tell its planes: it may be busy with another client; else "
			"name own addresses with --planes at both ends",
			host);
		return -1;
	}
	n = read_answer(line, addrs, error, error_bytes);
	if (!n)
		return -1;
	if (!match((const uint8_t(*)[16])addrs, n, own)) {
		snprintf(error, error_bytes,
			"%s: none of its planes' addresses can be reached from here", host);
		return -1;
	}
	list((const uint8_t(*)[16])own, n, planes);
	return 0;
}
