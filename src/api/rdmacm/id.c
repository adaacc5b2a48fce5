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
 */
#include "rdmacm_local.h"

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

in_port_t *port_at(struct sockaddr *address)
{
	return address->sa_family == AF_INET6 ? &((struct sockaddr_in6 *)(void *)address)->sin6_port
					      : &((struct sockaddr_in *)(void *)address)->sin_port;
}

struct id *id_new(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps)
{
	static uint64_t serial;
	struct id *id = calloc(1, sizeof(*id));

	if (!id)
		return NULL;
	id->fd = id->claim_fd = -1;
	id->is_sync = !channel;
	if (event_reserve(id, 0))
		id->rdma.channel = channel ? channel : rdma_create_event_channel();
	if (!id->rdma.channel) {
		event_free(id->reserve);
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
	if (id->claim_fd >= 0)
		(void)close(id->claim_fd);
	multicast_forget(id);
	event_free(id->reserve);
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
	weft_lock_take(&cm_lock);
	struct id *id = id_new(channel, context, ps);
	weft_lock_give(&cm_lock);
	if (!id)
		return -1;
	*out = &id->rdma;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *rdma)
{
	struct id *id = id_of(rdma);
	struct rdma_event_channel *own = id->is_sync ? rdma->channel : NULL;

	if (id->is_sync && rdma->event)
		(void)rdma_ack_cm_event(rdma->event);
	weft_lock_take(&cm_lock);
	event_forget(id);
	if (id->state == TOGETHER || id->state == ANSWERED)
		wire_send(id, PARTING);
	wire_hang_up(id);
	listen_end(id);
	while (id->given != id->acknowledged)
		(void)weft_lock_wait(&cm_lock, &cm_acked, NULL);
	event_forget(id);
	id_free(id);
	weft_lock_give(&cm_lock);
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

void id_learn_addresses(struct id *id)
{
	struct rdma_addr *addr = &id->rdma.route.addr;
	socklen_t bytes = sizeof(addr->src_storage);

	(void)getsockname(id->fd, &addr->src_addr, &bytes);
	bytes = sizeof(addr->dst_storage);
	(void)getpeername(id->fd, &addr->dst_addr, &bytes);
}

static int bind_locked(struct id *id, const struct sockaddr *address)
{
	if (id->state != IDLE)
		return fail(EINVAL);
	if (port_claim(id, address))
		return -1;
	memcpy(&id->rdma.route.addr.src_storage, address, weft_address_bytes(address->sa_family));
	*port_at(&id->rdma.route.addr.src_addr) = htons(id->port);
	/* Hardly a device has a loopback address: libfabric then offers peers those they have. */
	if (!is_any(address) && !(is_loopback(address) && !device_at(address)) && take_device(id)) {
		int error = errno;

		(void)close(id->claim_fd);
		id->claim_fd = -1;
		id->port = 0;
		return fail(error);
	}
	id->state = BOUND;
	return 0;
}

int rdma_bind_addr(struct rdma_cm_id *rdma, struct sockaddr *address)
{
	if (!address)
		return fail(EINVAL);
	if (address->sa_family != AF_INET && address->sa_family != AF_INET6)
		return fail(EAFNOSUPPORT);
	weft_lock_take(&cm_lock);
	int result = bind_locked(id_of(rdma), address);
	weft_lock_give(&cm_lock);
	return result;
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

/* And waits for it, where the id is synchronous. */
static int tell(struct id *id, enum rdma_cm_event_type type, int status)
{
	weft_lock_take(&cm_lock);
	bool has_room = event_reserve(id, 1);
	if (has_room)
		event_raise(id, NULL, type, status, NULL);
	weft_lock_give(&cm_lock);
	return has_room ? event_finish(id) : fail(ENOMEM);
}

int rdma_resolve_addr(
	struct rdma_cm_id *rdma, struct sockaddr *src, struct sockaddr *dst, int timeout_ms)
{
	struct id *id = id_of(rdma);
	struct rdma_addr *addr = &rdma->route.addr;
	struct sockaddr_storage own = { 0 };
	uint8_t group[16];

	(void)timeout_ms;
	if (!dst || (id->state != IDLE && id->state != BOUND && id->state < TIME_WAIT))
		return fail(EINVAL);
	if (src && id->state == IDLE && rdma_bind_addr(rdma, src))
		return -1;
	bool is_group = multicast_gid(dst, group); /* no route leads to one */

	id->is_resolved = false;
	memcpy(&addr->dst_storage, dst,
		dst->sa_family == AF_IB ? sizeof(struct sockaddr_ib)
					: weft_address_bytes(dst->sa_family));
	if (!is_group && (!id->port || is_any(&addr->src_addr))) {
		if (find_source(dst, &own))
			return tell(id, RDMA_CM_EVENT_ADDR_ERROR, -errno);
		memcpy(&addr->src_storage, &own, sizeof(own));
		*port_at(&addr->src_addr) = htons(id->port);
	}
	id->is_resolved = !take_device(id);
	return id->is_resolved ? tell(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0)
			       : tell(id, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV);
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
	return tell(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
}

static int set_reuse(struct id *id, const void *value, size_t bytes)
{
	int on;

	if (bytes != sizeof(on))
		return fail(EINVAL);
	memcpy(&on, value, sizeof(on));
	if (!on && id->state != IDLE) /* others may have relied on it */
		return fail(EINVAL);
	weft_lock_take(&cm_lock);
	int result = on && !id->shares_port && id->state == BOUND ? port_share(id) : 0;
	if (!result)
		id->shares_port = on;
	weft_lock_give(&cm_lock);
	return result;
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
