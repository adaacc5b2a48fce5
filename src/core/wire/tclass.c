/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tclass - what we ask of the network, and what it tells us, in one byte of the IP header.
 *
 * Two independent messages share the byte.  DSCP says how to treat the packet and, once a switch
 * has cut it, that it did; ECN says that a queue on the way was long.  Both are read from the
 * *outermost* header that arrives, since that is the one switches write; what that means for the
 * inner header's ECN is encap/srv6.c's business (RFC 6040).
 *
 * Data is sent ECN-capable, ECT(0); control is not, because nobody would slow down for its marks
 * and MRC keeps marking and trimming off that class [P 1.14].  A trim DSCP is believed from anyone:
 * a liar gains a NACK for a packet whose payload is then ignored, which he could get by not sending
 * it.
 */
#include "wire_local.h"

enum { ECN_MASK = 3, ECN_ECT0 = 2, ECN_CE = 3 };

uint8_t weft_tclass_encode(const struct weft_dscp *dscp, uint8_t tclass)
{
	switch (tclass) {
	case WEFT_CLASS_DATA:
		return (uint8_t)(dscp->data << 2 | ECN_ECT0);
	case WEFT_CLASS_RETX:
		return (uint8_t)(dscp->rtx << 2 | ECN_ECT0);
	case WEFT_CLASS_NO_TRIM:
		return (uint8_t)(dscp->no_trim << 2 | ECN_ECT0);
	default:
		return (uint8_t)(dscp->control << 2);
	}
}

uint8_t weft_tclass_mark(const struct weft_dscp *dscp, uint8_t byte)
{
	uint8_t codepoint = byte >> 2;
	unsigned mark = (byte & ECN_MASK) == ECN_CE ? WEFT_MARK_CE : 0;

	if (codepoint == dscp->trimmed)
		mark |= WEFT_MARK_TRIMMED;
	else if (codepoint == dscp->trimmed_lasthop)
		mark |= WEFT_MARK_TRIMMED_LASTHOP;
	return (uint8_t)mark;
}
