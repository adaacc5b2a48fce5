/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dctcp - a window per queue pair, cut by the share of packets that came marked.
 *
 * Alizadeh et al., "Data Center TCP", SIGCOMM 2010: once per window alpha moves towards that share
 * by 1/16; a window with marks is cut by alpha / 2, one without grows by a packet.  It starts at
 * its largest, as transports for RDMA do: there is no slow start to be slower by.  A trimmed packet
 * counts as marked.
 */
#include "baseline_local.h"

enum { GAIN_BITS = 4 };

void dctcp_init(struct dctcp *d, uint32_t window_pkts)
{
	*d = (struct dctcp){ .window_q8 = window_pkts << 8, .alpha = ALPHA_ONE };
}

void dctcp_on_ack(struct dctcp *d, uint32_t pkts, bool marked, uint32_t una, uint32_t next,
	uint32_t window_max)
{
	d->acked += pkts;
	d->marked += marked ? WEFT_MAX(pkts, 1u) : 0;
	if (psn_diff(una, d->end) < 0 || !d->acked)
		return;
	uint32_t share = (uint32_t)((uint64_t)WEFT_MIN(d->marked, d->acked) * ALPHA_ONE / d->acked);

	d->alpha = d->alpha - (d->alpha >> GAIN_BITS) + (share >> GAIN_BITS);
	if (d->marked)
		d->window_q8 -= (uint32_t)((uint64_t)d->window_q8 * d->alpha / (2 * ALPHA_ONE));
	else
		d->window_q8 += 256;
	d->window_q8 = WEFT_MAX(WEFT_MIN(d->window_q8, window_max << 8), 256u);
	d->acked = d->marked = 0;
	d->end = next;
}

void dctcp_on_timeout(struct dctcp *d)
{
	d->window_q8 = WEFT_MAX(d->window_q8 / 2, 256u);
}
