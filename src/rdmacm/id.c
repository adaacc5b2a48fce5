/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * id - identifiers: made, bound to addresses and devices, resolved, destroyed.
 *
 * Resolving asks the kernel's routing table which own address leads there, and nothing else: what
 * there is to know about the way, the device finds out when the queue pairs meet.  Both resolutions
 * are done at once and told by an event, as programs wait for one.
 *
 * Who has a device has a domain on it, too: programs that bring their own queue pairs make them
 * there (pyverbs does).  Of the options, type of service has no meaning here and is taken.
 *
 * A port has one identifier, as with the kernel's rdma_cm, and TCP is who knows: its port is taken
 * without SO_REUSEADDR, so that no other of this host gets it, from binding on and not from
 * listening only.  What an old connection has left behind (TIME_WAIT) must not keep a server from
 * coming back, though; so connections do have the option, and who finds the port in use asks again
 * with it: that passes by connections, but not by who is bound or listens.  Not seen is an
 * identifier that is connected already, nor, by one without RDMA_OPTION_ID_REUSEADDR, another that
 * is only bound and has it.
 */
#include "local.h"

#include <infiniband/ib.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define MTU_4096 5
#define PSN_MASK 0xffffffu
#define TIMEOUT 17 /* as good as the kernel's, which goes by the path */
#define TIMEOUT_MAX 31

static struct id *ids;

static in_port_t *port_at(struct sockaddr *address)
{
	return address->sa_family == AF_INET6
		       ? &((struct sockaddr_in6 *)(void *)address)->sin6_port
		       : &((struct sockaddr_in *)(void *)address)->sin_port;
}

static void flip(struct sockaddr *address)
{
	in_port_t *port = port_at(address);

	if (*port)
		*port = (in_port_t)(*port ^ htons(WEFT_RDMACM_PORT_FLIP));
}

struct id *id_new(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps)
{
	static uint64_t serial;
	struct id *id = calloc(1, sizeof(*id));

	if (!id)
		return NULL;
	id->fd = -1;
	id->is_sync = !channel;
	id->rdma.channel = channel ? channel : rdma_create_event_channel();
	if (!id->rdma.channel) {
		free(id);
		return NULL;
	}
	id->rdma.context = context;
	id->rdma.ps = ps;
	id->rdma.qp_type = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC;
	(void)!getrandom(&id->local.psn, sizeof(id->local.psn), 0);
	id->local.psn &= PSN_MASK;
	id->timeout = TIMEOUT;
	id->serial = __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
	id->next = ids;
	ids = id;
	return id;
}

struct id *id_find(uint64_t serial)
{
	struct id *id = ids;

	while (id && id->serial != serial)
		id = id->next;
	return id;
}

struct id *id_next(const struct id *id)
{
	return id ? id->next : ids;
}

void id_free(struct id *id)
{
	struct id **at = &ids;

	while (*at != id)
		at = &(*at)->next;
	*at = id->next;
	wire_hang_up(id);
	wire_forget(id);
	multicast_forget(id);
	free(id->rdma.route.path_rec);
	free(id->qp_init);
	rdma_freeaddrinfo(id->info);
	free(id);
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **out, void *context,
	enum rdma_port_space ps)
{
	if (ps != RDMA_PS_TCP && ps != RDMA_PS_UDP)
		return fail(EPROTONOSUPPORT);
	pthread_mutex_lock(&cm_lock);
	struct id *id = id_new(channel, context, ps);
	pthread_mutex_unlock(&cm_lock);
	if (!id)
		return -1;
	*out = &id->rdma;
	return 0;
}

/* Requests that wait behind a listener which goes away are hung up. */
static void orphan(struct id *listener)
{
	for (struct id *id = ids, *next; id; id = next) {
		next = id->next;
		if (id->listener != listener)
			continue;
		id->listener = NULL;
		if (id->state == AWAITS_REQUEST)
			id_free(id);
	}
}

int rdma_destroy_id(struct rdma_cm_id *rdma)
{
	struct id *id = id_of(rdma);
	struct rdma_event_channel *own = id->is_sync ? rdma->channel : NULL;

	if (id->is_sync && rdma->event)
		(void)rdma_ack_cm_event(rdma->event);
	pthread_mutex_lock(&cm_lock);
	event_forget(id);
	if (id->state == TOGETHER || id->state == ANSWERED)
		wire_send(id, PARTING);
	wire_hang_up(id);
	while (id->given != id->acknowledged)
		pthread_cond_wait(&cm_acked, &cm_lock);
	event_forget(id);
	orphan(id);
	id_free(id);
	pthread_mutex_unlock(&cm_lock);
	if (own)
		rdma_destroy_event_channel(own);
	return 0;
}

/* ---- addresses ---- */

bool id_take_pd(struct id *id)
{
	if (!id->rdma.pd)
		id->rdma.pd = device_pd(id->rdma.verbs);
	return id->rdma.pd;
}

static int take_device(struct id *id)
{
	if (!id->rdma.verbs)
		id->rdma.verbs = device_for(&id->rdma.route.addr.src_addr);
	if (!id->rdma.verbs || !id_take_pd(id))
		return -1;
	id->rdma.port_num = PORT;
	id->rdma.route.addr.addr.ibaddr.pkey = 0xffff;
	return device_gid(id->rdma.verbs, id->rdma.route.addr.addr.ibaddr.sgid.raw);
}

static bool is_any(const struct sockaddr *address)
{
	const struct sockaddr_in6 *six = (const void *)address;
	const struct sockaddr_in *four = (const void *)address;

	return address->sa_family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr)
					      : !four->sin_addr.s_addr;
}

static bool is_loopback(const struct sockaddr *address)
{
	const struct sockaddr_in6 *six = (const void *)address;
	const struct sockaddr_in *four = (const void *)address;

	if (address->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
	return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

void id_share_port(struct id *id, bool shares)
{
	int on = shares;

	(void)setsockopt(id->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
}

static int take_port(struct id *id, const struct sockaddr_storage *at)
{
	const struct sockaddr *address = (const struct sockaddr *)at;
	socklen_t bytes = weft_address_bytes(at->ss_family);

	if (!id->shares_port) {
		if (!bind(id->fd, address, bytes))
			return 0;
		if (errno != EADDRINUSE)
			return -1;
	}
	id_share_port(id, true);
	if (bind(id->fd, address, bytes))
		return -1;
	id_share_port(id, id->shares_port);
	return 0;
}

int id_open_socket(struct id *id, const struct sockaddr *address)
{
	struct sockaddr_storage at = { 0 };
	int on = 1;

	memcpy(&at, address, weft_address_bytes(address->sa_family));
	flip((struct sockaddr *)&at);
	id->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (id->fd < 0)
		return -1;
	if (id->ipv6_only) /* else as the system has it; IPv4's does not know it */
		(void)setsockopt(id->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (!take_port(id, &at))
		return 0;
	int error = errno;
	(void)close(id->fd);
	id->fd = -1;
	return fail(error);
}

/* From the socket: which ports and addresses the kernel has chosen. */
void id_learn_ports(struct id *id)
{
	struct rdma_addr *addr = &id->rdma.route.addr;
	socklen_t bytes = sizeof(addr->src_storage);

	if (!getsockname(id->fd, &addr->src_addr, &bytes))
		flip(&addr->src_addr);
	bytes = sizeof(addr->dst_storage);
	if (!getpeername(id->fd, &addr->dst_addr, &bytes))
		flip(&addr->dst_addr);
}

int rdma_bind_addr(struct rdma_cm_id *rdma, struct sockaddr *address)
{
	struct id *id = id_of(rdma);

	if (id->state != IDLE)
		return fail(EINVAL);
	if (address->sa_family != AF_INET && address->sa_family != AF_INET6)
		return fail(EAFNOSUPPORT);
	if (id_open_socket(id, address))
		return -1;
	memcpy(&rdma->route.addr.src_storage, address, weft_address_bytes(address->sa_family));
	id_learn_ports(id);
	id->state = BOUND;
	/* Hardly a device has a loopback address: libfabric then offers peers those they have. */
	return is_any(address) || (is_loopback(address) && !device_at(address)) ? 0
										: take_device(id);
}

/* The own address from which packets to there leave. */
static int find_source(const struct sockaddr *to, struct sockaddr_storage *from)
{
	struct sockaddr_storage there = { 0 };
	socklen_t bytes = sizeof(*from);
	int fd = socket(to->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	memcpy(&there, to, weft_address_bytes(to->sa_family));
	if (!*port_at((struct sockaddr *)&there))
		*port_at((struct sockaddr *)&there) = htons(9);
	int failed = connect(fd, (struct sockaddr *)&there, weft_address_bytes(to->sa_family)) ||
		     getsockname(fd, (struct sockaddr *)from, &bytes);
	int error = errno;
	(void)close(fd);
	*port_at((struct sockaddr *)from) = 0;
	return failed ? fail(error) : 0;
}

static void raise_locked(struct id *id, enum rdma_cm_event_type type, int status)
{
	pthread_mutex_lock(&cm_lock);
	event_raise(id, NULL, type, status, NULL);
	pthread_mutex_unlock(&cm_lock);
}

int rdma_resolve_addr(
	struct rdma_cm_id *rdma, struct sockaddr *src, struct sockaddr *dst, int timeout_ms)
{
	struct id *id = id_of(rdma);
	struct rdma_addr *addr = &rdma->route.addr;
	struct sockaddr_storage own = { 0 };
	uint8_t group[16];

	(void)timeout_ms;
	if (src && id->state == IDLE && rdma_bind_addr(rdma, src))
		return -1;
	bool is_group = multicast_gid(dst, group); /* no route leads to one */

	id->is_resolved = false;
	memcpy(&addr->dst_storage, dst, dst->sa_family == AF_IB
						? sizeof(struct sockaddr_ib)
						: weft_address_bytes(dst->sa_family));
	if (!is_group && (id->fd < 0 || is_any(&addr->src_addr))) {
		if (find_source(dst, &own)) {
			raise_locked(id, RDMA_CM_EVENT_ADDR_ERROR, -errno);
			return event_finish(id);
		}
		in_port_t port = id->fd < 0 ? 0 : *port_at(&addr->src_addr);
		memcpy(&addr->src_storage, &own, sizeof(own));
		*port_at(&addr->src_addr) = port;
	}
	id->is_resolved = !take_device(id);
	if (!id->is_resolved)
		raise_locked(id, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV);
	else
		raise_locked(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	return event_finish(id);
}

int rdma_resolve_route(struct rdma_cm_id *rdma, int timeout_ms)
{
	struct id *id = id_of(rdma);

	(void)timeout_ms;
	if (!id->is_resolved)
		return fail(EINVAL);
	struct ibv_sa_path_rec *path = calloc(1, sizeof(*path));

	if (!path)
		return -1;
	path->sgid = path->dgid = rdma->route.addr.addr.ibaddr.sgid;
	path->pkey = 0xffff;
	path->mtu = MTU_4096;
	path->hop_limit = 64;
	path->reversible = path->numb_path = 1;
	free(rdma->route.path_rec);
	rdma->route.path_rec = path;
	rdma->route.num_paths = 1;
	raise_locked(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	return event_finish(id);
}

static int set_reuse(struct id *id, const void *value, size_t bytes)
{
	int on;

	if (bytes != sizeof(on))
		return fail(EINVAL);
	memcpy(&on, value, sizeof(on));
	if (!on && id->state != IDLE) /* others may have relied on it */
		return fail(EINVAL);
	id->shares_port = on;
	if (id->state == BOUND)
		id_share_port(id, true);
	return 0;
}

int rdma_set_option(struct rdma_cm_id *rdma, int level, int name, void *value, size_t bytes)
{
	const uint8_t *exponent = value;
	struct id *id = id_of(rdma);

	if (level == RDMA_OPTION_ID && name == RDMA_OPTION_ID_AFONLY) {
		if (bytes != sizeof(int) || id->state != IDLE)
			return fail(EINVAL);
		memcpy(&id->ipv6_only, value, bytes);
	} else if (level == RDMA_OPTION_ID && name == RDMA_OPTION_ID_REUSEADDR) {
		return set_reuse(id, value, bytes);
	} else if (level == RDMA_OPTION_ID && name == RDMA_OPTION_ID_ACK_TIMEOUT) {
		if (bytes != 1 || *exponent > TIMEOUT_MAX)
			return fail(EINVAL);
		id->timeout = *exponent;
	}
	return 0;
}

__be16 rdma_get_src_port(struct rdma_cm_id *rdma)
{
	return *port_at(&rdma->route.addr.src_addr);
}

__be16 rdma_get_dst_port(struct rdma_cm_id *rdma)
{
	return *port_at(&rdma->route.addr.dst_addr);
}
