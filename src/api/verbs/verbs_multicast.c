/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_multicast - queue pairs of datagrams in groups.
 *
 * A group is its GID; there are no LIDs.  Programs send to it by an address handle of that GID and
 * QPN ffffff, and the device makes the copies.
 */
#include "verbs_local.h"

int ibv_attach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
	(void)lid;
	return gid ? weft_dev_group_join(qp_of(ibv)->dev, gid->raw) : EINVAL;
}

int ibv_detach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
	(void)lid;
	return gid ? weft_dev_group_leave(qp_of(ibv)->dev, gid->raw) : EINVAL;
}
