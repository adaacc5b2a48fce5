/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * window - which PSNs have arrived: two rings of bits per QP, everything else is arithmetic.
 *
 * One ring says "arrived", the other "ends a message", so that the cumulative PSN can run over
 * whole words and the number of messages it completes is a population count.  Bits at and below
 * the cumulative PSN are kept clear, which is what makes the ring reusable without a sweep.  How
 * far the window reaches is [P 2.7].
 *
 * Hot: all of it.
 */
#include "engine_local.h"

uint32_t window_advance(struct weft_qp *qp)
{
	uint32_t moved = 0;

	for (;;) {
		uint32_t at = (qp->rx_cack + 1) & qp->ep->rx_mask;
		uint32_t room = 64 - at % 64;
		uint64_t *bits = &qp->rx_bits[at / 64];
		uint64_t *last = &qp->rx_last[at / 64];
		uint64_t gaps = ~(*bits >> (at % 64));
		uint32_t run = WEFT_MIN(gaps ? lowest_bit(gaps) : 64, room);

		if (!run)
			return moved;
		uint64_t mask = (run == 64 ? ~UINT64_C(0) : (UINT64_C(1) << run) - 1) << (at % 64);

		qp->rx_msn += weft_popcount64(*last & mask);
		*bits &= ~mask;
		*last &= ~mask;
		qp->rx_cack = weft_psn_add(qp->rx_cack, run);
		moved += run;
		if (run < room)
			return moved;
	}
}

/* 64 bits from base on; base lies above the cumulative PSN. */
uint64_t window_bits(const struct weft_qp *qp, uint32_t base)
{
	int32_t n = weft_psn_diff(qp->rx_max, base) + 1; /* beyond that nothing can have arrived */
	uint32_t at = base & qp->ep->rx_mask;
	uint32_t shift = at % 64;

	if (n <= 0)
		return 0;
	uint64_t bits = qp->rx_bits[at / 64] >> shift;

	if (shift)
		bits |= qp->rx_bits[((at + 64) & qp->ep->rx_mask) / 64] << (64 - shift);
	return n >= 64 ? bits : bits & ((UINT64_C(1) << n) - 1);
}
