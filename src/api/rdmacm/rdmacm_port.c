/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rdmacm_port - the port spaces of RDMA: who has a port, and where TCP carries it.
 *
 * A port of RDMA has nothing to do with TCP's of the same number, nor with anybody's right to it.
 * Whoever binds one holds a name in the abstract namespace of AF_UNIX, which is the network
 * namespace's and goes with its holder, however that ends:
 *
 *   @weft-rdmacm/tcp/7471/10.0.0.1                  bound; `ss -xl` shows it once it listens
 *   @weft-rdmacm/tcp/7471/10.0.0.1/shared.PID.FD    by one that lets others have it as well
 *
 * /proc/net/unix lists them, so wildcards and addresses are compared with all that there are, under
 * a lock that is a name of the same kind.  Without /proc only the very same name is seen.
 *
 * A caller on another host knows the address and the port.  So the TCP port follows from the port
 * of RDMA alone, by open addressing with double hashing: who listens takes the first of 16 places
 * that nobody has, and says at each connection which port it serves (the greeting, call.c); a
 * caller goes through the same places.  They lie where IANA's dynamic ports and Linux's ephemeral
 * ones overlap: no server has a claim to those, and outgoing connections pass by what is taken.
 * If 7 in 10 of them are in use, one server in 300 finds no place.  The ways not taken:
 * docs/decisions/123-rdma-ports.md.
 */
#include "rdmacm_local.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <weft/net.h>

#define FIRST 49152u  /* RFC 6335: dynamic from here on; ip_local_port_range ends at 60999 */
#define PLACES 11839u /* a prime, so that all steps lead through all of them */
#define PREFIX "weft-rdmacm/"
#define NAME_MAX_BYTES (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)
#define LOCK_EACH_NS UINT64_C(200000)
#define LOCK_TRIES 5000    /* a second: its holder has been stopped, others hold it for 1 ms */
#define GIVEN_FIRST 32768u /* whoever asks for any port gets one of these, as by TCP */
#define GIVEN_LAST 60999u

struct name {
	char text[NAME_MAX_BYTES + 1];
};

static const char *space_of(const struct id *id)
{
	return id->rdma.ps == RDMA_PS_UDP ? "udp" : "tcp";
}

/* The finalizer of MurmurHash3: each bit of the number counts in each of the result's. */
static uint32_t mix(uint32_t x)
{
	x = (x ^ x >> 16) * 0x85ebca6bu;
	x = (x ^ x >> 13) * 0xc2b2ae35u;
	return x ^ x >> 16;
}

uint16_t port_place(uint8_t space, uint16_t port, uint32_t place)
{
	uint32_t number = (uint32_t)space << 16 | port;
	uint32_t first = mix(number) % PLACES;
	uint32_t step = 1 + mix(number ^ 0x57434d32u) % (PLACES - 1);

	return (uint16_t)(FIRST + (first + place * step) % PLACES);
}

/* ---- names ---- */

static int hold(const char *text)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	size_t bytes = strlen(text);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	memcpy(name.sun_path + 1, text, bytes);
	if (!bind(fd, (struct sockaddr *)&name,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + bytes)))
		return fd;
	int error = errno;
	(void)close(fd);
	return fail(error);
}

/* No process of this network looks at names and takes one at the same time as another. */
static int lock_names(void)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		int fd = hold(PREFIX "lock");

		if (fd >= 0 || errno != EADDRINUSE)
			return fd;
		weft_clock_sleep(LOCK_EACH_NS);
	}
	return fail(EAGAIN);
}

/* What stands behind the port: "*" is all of IPv6 and of IPv4. */
static void print_address(char *to, size_t bytes, const struct sockaddr *address, bool v6_only)
{
	const struct sockaddr_in6 *six = (const void *)address;
	const struct sockaddr_in *four = (const void *)address;
	char text[INET6_ADDRSTRLEN] = "";

	if (address->sa_family != AF_INET6)
		(void)inet_ntop(AF_INET, &four->sin_addr, text, sizeof(text));
	else if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
		(void)inet_ntop(AF_INET, six->sin6_addr.s6_addr + 12, text, sizeof(text));
	else
		(void)inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof(text));
	if (address->sa_family == AF_INET6 && !v6_only && IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr))
		(void)snprintf(to, bytes, "*");
	else if (address->sa_family == AF_INET6 && six->sin6_scope_id)
		(void)snprintf(to, bytes, "%s%%%u", text, six->sin6_scope_id);
	else
		(void)snprintf(to, bytes, "%s", text);
}

/* Whether one address may be called by the other, too. */
static bool overlap(const char *a, const char *b)
{
	const char *any[] = { a, b };

	if (!strcmp(a, b))
		return true;
	for (int i = 0; i < 2; i++) {
		const char *other = any[!i];

		if (!strcmp(any[i], "*") || (!strcmp(any[i], "0.0.0.0") && !strchr(other, ':')) ||
			(!strcmp(any[i], "::") && strchr(other, ':')))
			return true;
	}
	return false;
}

struct found { /* what the names of a space say */
	uint8_t used[65536 / 8];
	uint32_t alone, shared; /* names that overlap */
};

/* A line's name, behind the space: PORT/ADDRESS, or PORT/ADDRESS/shared... */
static void judge(struct found *found, char *name, uint16_t port, const char *address)
{
	char *end, *shared;
	unsigned long number = strtoul(name, &end, 10);

	if (*end != '/' || number > UINT16_MAX)
		return;
	found->used[number / 8] |= (uint8_t)(1u << number % 8);
	name = end + 1;
	shared = strchr(name, '/');
	if (shared)
		*shared = '\0';
	if (number != port || !overlap(name, address))
		return;
	found->alone += !shared;
	found->shared += shared != NULL;
}

static void look(struct found *found, const struct id *id, uint16_t port, const char *address)
{
	FILE *file = fopen("/proc/thread-self/net/unix", "re");
	char line[512], prefix[32];

	(void)snprintf(prefix, sizeof(prefix), "@" PREFIX "%s/", space_of(id));
	*found = (struct found){ 0 };
	while (file && fgets(line, sizeof(line), file)) {
		char *name = strstr(line, prefix);

		line[strcspn(line, "\n")] = '\0';
		if (name)
			judge(found, name + strlen(prefix), port, address);
	}
	if (file)
		(void)fclose(file);
}

/* One that nobody has, at any address; 0: there is none. */
static uint16_t any_port(const struct found *found)
{
	uint32_t start = 0, ports = GIVEN_LAST - GIVEN_FIRST + 1;

	(void)!getrandom(&start, sizeof(start), 0);
	for (uint32_t i = 0; i < ports; i++) {
		uint32_t port = GIVEN_FIRST + (start % ports + i) % ports;

		if (!(found->used[port / 8] & 1u << port % 8))
			return (uint16_t)port;
	}
	return 0;
}

static int take_name(struct id *id, uint16_t port, const char *address, bool shares)
{
	struct name name;

	(void)snprintf(
		name.text, sizeof(name.text), PREFIX "%s/%u/%s", space_of(id), port, address);
	if (shares) {
		size_t at = strlen(name.text);

		(void)snprintf(name.text + at, sizeof(name.text) - at, "/shared.%d.%llu",
			(int)getpid(), (unsigned long long)id->serial);
	}
	return hold(name.text);
}

/* ---- what ids do ---- */

/* Whether it is an address of ours, as TCP judges it; and what a wildcard of IPv6 stands for. */
static int probe(const struct id *id, const struct sockaddr *address, bool *v6_only)
{
	struct sockaddr_storage at = { 0 };
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), only = id->ipv6_only;
	socklen_t bytes = sizeof(only);

	if (fd < 0)
		return -1;
	memcpy(&at, address, weft_address_bytes(address->sa_family));
	if (address->sa_family == AF_INET6) {
		((struct sockaddr_in6 *)&at)->sin6_port = 0;
		if (!only)
			(void)getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, &bytes);
	} else {
		((struct sockaddr_in *)&at)->sin_port = 0;
	}
	*v6_only = only;
	int failed = bind(fd, (struct sockaddr *)&at, weft_address_bytes(address->sa_family));
	int error = errno;

	(void)close(fd);
	return failed ? fail(error) : 0;
}

static int claim(struct id *id, uint16_t port, const char *address)
{
	struct found *found = malloc(sizeof(*found));
	int fd = -1;

	if (!found)
		return fail(ENOMEM);
	look(found, id, port, address);
	if (!port)
		port = any_port(found);
	if (!port || found->alone || (found->shared && !id->shares_port))
		errno = EADDRINUSE;
	else
		fd = take_name(id, port, address, id->shares_port);
	free(found);
	if (fd < 0)
		return -1;
	id->claim_fd = fd;
	id->port = port;
	return 0;
}

int port_claim(struct id *id, const struct sockaddr *address)
{
	const struct sockaddr_in6 *six = (const void *)address;
	const struct sockaddr_in *four = (const void *)address;
	uint16_t port = ntohs(address->sa_family == AF_INET6 ? six->sin6_port : four->sin_port);
	bool v6_only = false;

	if (probe(id, address, &v6_only))
		return -1;
	print_address(id->address, sizeof(id->address), address, v6_only);
	int lock = lock_names();

	if (lock < 0)
		return -1;
	int result = claim(id, port, id->address), error = errno;
	(void)close(lock);
	return result ? fail(error) : 0;
}

/* Under another name of the same port. */
static int rename_claim(struct id *id, bool shares)
{
	int fd = take_name(id, id->port, id->address, shares);

	if (fd < 0)
		return -1;
	(void)close(id->claim_fd);
	id->claim_fd = fd;
	return 0;
}

int port_share(struct id *id)
{
	return rename_claim(id, true);
}

int port_listen(struct id *id)
{
	if (id->shares_port) {
		struct found *found = malloc(sizeof(*found));
		int lock = found ? lock_names() : fail(ENOMEM), result = -1;

		if (lock >= 0) {
			look(found, id, id->port, id->address);
			result = found->alone ? fail(EADDRINUSE) : rename_claim(id, false);
		}
		int error = errno;
		free(found);
		if (lock >= 0)
			(void)close(lock);
		if (result)
			return fail(error);
	}
	return listen(id->claim_fd, 0); /* nobody calls: for people who look with ss */
}
