/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loop_digest - a hash of every delivery, so that two runs can be compared without their traces.
 *
 * Of what a packet says, and not of bytes: a run with wire_check has the same.
 */
#include "net_local.h"

static void mix(uint64_t *digest, uint64_t value)
{
	*digest = (*digest ^ value) * 0x9e3779b97f4a7c15u;
	*digest ^= *digest >> 29;
}

void loop_digest(uint64_t *digest, uint64_t now_ns, uint32_t src, uint32_t dst,
	const struct weft_pkt *pkt)
{
	mix(digest, now_ns);
	mix(digest, (uint64_t)src << 32 | dst);
	mix(digest, (uint64_t)pkt->ev << 32 | (uint64_t)pkt->op << 16 | pkt->flags);
	mix(digest, (uint64_t)pkt->dqpn << 32 | pkt->psn | (uint64_t)pkt->mark << 24);
	if (weft_op_is_data(pkt->op))
		mix(digest, pkt->w.va ^ (uint64_t)pkt->w.len_bytes << 48);
	else if (pkt->op == WEFT_OP_SACK)
		mix(digest, pkt->sack.bitmap ^ (uint64_t)pkt->sack.cack_psn << 40);
}
