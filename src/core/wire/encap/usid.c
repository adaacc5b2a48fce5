/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * usid - micro-segment carriers: an IPv6 address that is a path (RFC 9800, NEXT-CSID flavour).
 *
 *   | block 32 | T0 | T1 | T0' | host | EV[31:16] | EV[15:0] |     as it leaves
 *   | block 32 | host | EV[31:16] | EV[15:0] | 0 | 0 | 0 |         as it arrives
 *
 * Each hop that finds its own uSID in the first slot moves the rest up by one, so whatever stands
 * behind the destination's uSID arrives right behind it, untouched [M 1.2].
 * That gives a plain UDP socket a per-packet path and an EV without a privilege and without a
 * cmsg, where flow label and source port would need a socket per EV.  The price is two of the six
 * slots: at most four uSIDs, which is a two-tier path with the host's own.
 */
#include "wire_local.h"

void weft_usid_shift(const uint8_t carrier[16], unsigned hops, uint8_t out[16])
{
	unsigned gone =
		hops < WEFT_USID_SLOTS ? hops * WEFT_USID_BYTES : WEFT_USID_SLOTS * WEFT_USID_BYTES;

	for (unsigned i = 0; i < 16; i++) {
		unsigned from = i < WEFT_USID_BLOCK_BYTES ? i : i + gone;

		out[i] = from < 16 ? carrier[from] : 0;
	}
}

bool weft_usid_put_ev(uint8_t carrier[16], unsigned usids, uint32_t ev)
{
	if (usids > WEFT_USID_SLOTS - 2)
		return false;
	put32(carrier + WEFT_USID_BLOCK_BYTES + WEFT_USID_BYTES * usids, ev);
	return true;
}

uint32_t weft_usid_get_ev(const uint8_t arrived[16])
{
	return get32(arrived + WEFT_USID_BLOCK_BYTES + WEFT_USID_BYTES);
}
