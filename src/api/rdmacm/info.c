/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * info - names to addresses, and endpoints: ids that are resolved, bound and have a queue pair.
 *
 * getaddrinfo() does the work.  One result is given, the first: what programs want is an address of
 * the device, and there is one way to each.
 *
 * Newer programs look up by an id and are told by an event.  Here the look-up is done within the
 * call, as all resolving of ours is; names that InfiniBand's subnet knows are refused.
 */
#include "rdmacm_local.h"
#include "rdmacm_newer.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>

static struct sockaddr *copy(const struct sockaddr *from, socklen_t bytes)
{
	struct sockaddr *to = malloc(sizeof(struct sockaddr_storage));

	if (to)
		memcpy(to, from, bytes);
	return to;
}

static int resolve(const char *node, const char *service, const struct rdma_addrinfo *hints,
	struct rdma_addrinfo *info)
{
	int flags = hints ? hints->ai_flags : 0;
	bool passive = flags & RAI_PASSIVE;
	struct addrinfo want = { .ai_socktype = SOCK_STREAM,
		.ai_family = hints && (flags & RAI_FAMILY) ? hints->ai_family : AF_UNSPEC,
		.ai_flags = (passive ? AI_PASSIVE : 0) |
			    (flags & RAI_NUMERICHOST ? AI_NUMERICHOST : 0) },
			*found;
	int error = getaddrinfo(node, service, &want, &found);

	if (error)
		return error;
	struct sockaddr *address = copy(found->ai_addr, found->ai_addrlen);
	info->ai_family = found->ai_family;
	if (passive) {
		info->ai_src_addr = address;
		info->ai_src_len = found->ai_addrlen;
	} else {
		info->ai_dst_addr = address;
		info->ai_dst_len = found->ai_addrlen;
	}
	freeaddrinfo(found);
	return address ? 0 : EAI_MEMORY;
}

/* Addresses that the hints bring stand where no name gave one. */
static int take_hints(const struct rdma_addrinfo *hints, struct rdma_addrinfo *info)
{
	if (!info->ai_src_addr && hints->ai_src_len) {
		info->ai_src_addr = copy(hints->ai_src_addr, hints->ai_src_len);
		info->ai_src_len = hints->ai_src_len;
		info->ai_family = hints->ai_src_addr->sa_family;
	}
	if (!info->ai_dst_addr && hints->ai_dst_len) {
		info->ai_dst_addr = copy(hints->ai_dst_addr, hints->ai_dst_len);
		info->ai_dst_len = hints->ai_dst_len;
		info->ai_family = hints->ai_dst_addr->sa_family;
	}
	return 0;
}

int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
	struct rdma_addrinfo **out)
{
	struct rdma_addrinfo *info;

	if (!node && !service && !hints)
		return fail(EINVAL);
	info = calloc(1, sizeof(*info));
	if (!info)
		return fail(ENOMEM);
	info->ai_flags = hints ? hints->ai_flags : 0;
	info->ai_port_space = hints && hints->ai_port_space ? hints->ai_port_space : RDMA_PS_TCP;
	info->ai_qp_type = hints && hints->ai_qp_type           ? hints->ai_qp_type
			   : info->ai_port_space == RDMA_PS_UDP ? IBV_QPT_UD
								: IBV_QPT_RC;
	int error = node || service ? resolve(node, service, hints, info) : 0;
	if (!error && hints)
		error = take_hints(hints, info);
	if (error) {
		rdma_freeaddrinfo(info);
		return error;
	}
	*out = info;
	return 0;
}

void rdma_freeaddrinfo(struct rdma_addrinfo *info)
{
	while (info) {
		struct rdma_addrinfo *next = info->ai_next;

		free(info->ai_src_addr);
		free(info->ai_dst_addr);
		free(info);
		info = next;
	}
}

/* ---- by an id ---- */

int rdma_resolve_addrinfo(struct rdma_cm_id *rdma, const char *node, const char *service,
	const struct rdma_addrinfo *hints)
{
	struct id *id = id_of(rdma);
	struct rdma_addrinfo *info = NULL;
	uint32_t kinds = hints ? (uint32_t)hints->ai_flags & (RAI_SA | RAI_DNS) : 0;

	if (kinds == (RAI_SA | RAI_DNS) || (!node && !service && !hints))
		return fail(EINVAL);
	if (kinds == RAI_SA)
		return fail(EOPNOTSUPP);
	/* An error is getaddrinfo()'s, or errno's behind -1. */
	int error = rdma_getaddrinfo(node, service, hints, &info);
	if (error)
		error = error == -1 || error == EAI_SYSTEM ? -errno : -ENOENT;
	weft_lock_take(&cm_lock);
	bool has_room = event_reserve(id, 1);
	if (has_room) {
		rdma_freeaddrinfo(id->info);
		id->info = info;
		event_raise(id, NULL,
			(enum rdma_cm_event_type)(
				error ? EVENT_ADDRINFO_ERROR : EVENT_ADDRINFO_RESOLVED),
			error, NULL);
	}
	weft_lock_give(&cm_lock);
	if (has_room)
		return event_finish(id);
	rdma_freeaddrinfo(info);
	return fail(ENOMEM);
}

int rdma_query_addrinfo(struct rdma_cm_id *rdma, struct rdma_addrinfo **out)
{
	struct id *id = id_of(rdma);

	weft_lock_take(&cm_lock);
	*out = id->info;
	id->info = NULL; /* the program's now */
	weft_lock_give(&cm_lock);
	return *out ? 0 : fail(ENODATA);
}

/* ---- endpoints ---- */

static int open_passive(
	struct rdma_cm_id *id, struct ibv_pd *pd, const struct ibv_qp_init_attr *init, int qp_type)
{
	if (!init)
		return 0;
	id_of(id)->qp_init = malloc(sizeof(*init));
	if (!id_of(id)->qp_init)
		return -1;
	*id_of(id)->qp_init = *init;
	id_of(id)->qp_init->qp_type = (enum ibv_qp_type)qp_type;
	id->pd = pd;
	return 0;
}

int rdma_create_ep(struct rdma_cm_id **out, struct rdma_addrinfo *info, struct ibv_pd *pd,
	struct ibv_qp_init_attr *init)
{
	struct rdma_cm_id *id;
	int result;

	if (rdma_create_id(NULL, &id, NULL, (enum rdma_port_space)info->ai_port_space))
		return -1;
	if (info->ai_flags & RAI_PASSIVE) {
		result = rdma_bind_addr(id, info->ai_src_addr);
		if (!result)
			result = open_passive(id, pd, init, info->ai_qp_type);
	} else {
		result = rdma_resolve_addr(id, info->ai_src_addr, info->ai_dst_addr, 2000);
		if (!result)
			result = rdma_resolve_route(id, 2000);
		if (!result && init) {
			init->qp_type = (enum ibv_qp_type)info->ai_qp_type;
			result = rdma_create_qp(id, pd, init);
		}
	}
	if (result) {
		int error = errno;

		(void)rdma_destroy_id(id);
		return fail(error);
	}
	*out = id;
	return 0;
}

void rdma_destroy_ep(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	rdma_destroy_srq(id);
	(void)rdma_destroy_id(id);
}
