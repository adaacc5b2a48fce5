/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gid - the names under which programs find a device, and what they mean to us.
 *
 * Four entries, all RoCE v2: 0, 1 and 2 are link-local in ISATAP's form (RFC 5214: fe80::5efe
 * and the IPv4 address), 3 is the address mapped into IPv6.  Scripts for RoCE ask for index 3,
 * libfabric's datagrams for 0; NCCL, given several IPv4 entries, opens sysfs, where nothing is.
 * From every one of them the address can be told, so a program may use any.  A device of IPv6
 * addresses, as in a lab, has its first one in all four.
 */
#include "verbs_local.h"

#include <string.h>

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
static const uint8_t isatap[12] = { 0xfe, 0x80, [10] = 0x5e, [11] = 0xfe };

static bool is_mapped(const uint8_t gid[16])
{
	return !memcmp(gid, mapped, sizeof(mapped));
}

bool gid_at(const struct context *context, uint32_t index, union ibv_gid *gid)
{
	if (index >= GIDS)
		return false;
	memcpy(gid->raw, context->gid, 16);
	if (index < 3 && is_mapped(context->gid))
		memcpy(gid->raw, isatap, sizeof(isatap));
	return true;
}

void gid_address(const union ibv_gid *gid, uint8_t address[16])
{
	memcpy(address, gid->raw, 16);
	if (!memcmp(gid->raw, isatap, sizeof(isatap)))
		memcpy(address, mapped, sizeof(mapped));
}

int ibv_query_gid(struct ibv_context *ibv, uint8_t port, int index, union ibv_gid *gid)
{
	if (port == PORT && index >= 0 && gid_at(context_of(ibv), (uint32_t)index, gid))
		return 0;
	errno = EINVAL;
	return -1;
}

int _ibv_query_gid_ex(struct ibv_context *ibv, uint32_t port, uint32_t index,
	struct ibv_gid_entry *entry, uint32_t flags, size_t bytes)
{
	struct ibv_gid_entry own = {
		.gid_index = index, .port_num = port, .gid_type = IBV_GID_TYPE_ROCE_V2
	};

	if (flags || port != PORT)
		return flags ? EOPNOTSUPP : EINVAL;
	if (!gid_at(context_of(ibv), index, &own.gid))
		return ENODATA;
	memset(entry, 0, bytes);
	memcpy(entry, &own, WEFT_MIN(bytes, sizeof(own)));
	return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *ibv, struct ibv_gid_entry *entries, size_t n,
	uint32_t flags, size_t bytes)
{
	ssize_t found = 0;

	if (n < GIDS) /* no part of it, as rdma-core has it */
		return -EINVAL;
	for (uint32_t i = 0; i < GIDS; i++, found++) {
		struct ibv_gid_entry *to = (void *)((char *)entries + (size_t)found * bytes);
		int error = _ibv_query_gid_ex(ibv, PORT, i, to, flags, bytes);

		if (error)
			return -error;
	}
	return found;
}

int ibv_query_pkey(struct ibv_context *ibv, uint8_t port, int index, __be16 *pkey)
{
	(void)ibv;
	if (port == PORT && !index) {
		*pkey = 0xffff;
		return 0;
	}
	errno = EINVAL;
	return -1;
}

int ibv_get_pkey_index(struct ibv_context *ibv, uint8_t port, __be16 pkey)
{
	(void)ibv;
	if (port == PORT && pkey == 0xffff)
		return 0;
	errno = EINVAL;
	return -1;
}
