/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switch_profile - thresholds, from the one number that they depend on.
 *
 * Ultra Ethernet's advice [P 5.7], in units of one plane's bandwidth x delay: mark between 0.2 and
 * 0.8, trim at 1.0, at 1.5 on the last hop, drop untrimmable data at 2 to 5 (we take 3).  Control
 * and trimmed are dropped at 3, too, and may take half of the line, where the advice is 1.0 and a
 * quarter: the first round trip of a 32:1 incast leaves 1.1 in headers; each that is dropped costs
 * its sender a timer instead of a NACK, and one that is late is overtaken by data of its own path.
 *
 * The last hop marks as the others do, which P1 (section 2.2) does not: all paths of a destination
 * meet there, and a mark says nothing about any of them.  But a mark is the one thing that makes
 * NSCC cut its window.  Without it seven senders keep a fifth of their packets trimmed for ever.
 * The authors of NSCC mark there unless receivers hand out credits (uet-htsim, main_uec.cpp), and
 * MRC's do not.  What it costs and what else was tried: docs/decisions/050-switch-queues.md.
 *
 * The quantum of either is one full frame of 4 KiB payload, so that a header waits for one frame
 * and not for several.  Drop-tail gets
 * the buffer that trimming would have had before its tail drop, and marks as RoCE's switches do;
 * lossless counts its thresholds per ingress and never fills a queue.
 *
 * Why not other numbers: docs/decisions/050-switch-queues.md.
 */
#include "switch_local.h"

enum { TRIM_TO_BYTES = 128, HEADERS_MIN_BYTES = 14 + 40, QUANTUM_BYTES = 4608, JUMBO_BYTES = 9216 };

static uint32_t share(uint32_t bytes, uint32_t tenths)
{
	uint64_t part = (uint64_t)bytes * tenths / 10;

	return (uint32_t)WEFT_MIN(part, (uint64_t)UINT32_MAX / 2);
}

void weft_port_profile_fill(struct weft_port_profile *profile, enum weft_discipline discipline,
	bool is_last_hop, uint32_t plane_bdp_bytes, uint32_t link_bdp_bytes)
{
	uint32_t bdp = WEFT_MAX(plane_bdp_bytes, 2u * JUMBO_BYTES);

	*profile = (struct weft_port_profile){
		.ecn_min_bytes = share(bdp, 2),
		.ecn_max_bytes = share(bdp, 8),
		.drop_bytes = { share(bdp, 30), share(bdp, 30) },
		.quantum_bytes = { QUANTUM_BYTES, QUANTUM_BYTES },
		.trim_to_bytes = TRIM_TO_BYTES,
		.trim_mark = is_last_hop ? WEFT_MARK_TRIMMED_LASTHOP : WEFT_MARK_TRIMMED,
	};
	switch (discipline) {
	case WEFT_DISCIPLINE_UNSAID:
		WEFT_ASSERT(false);
		break;
	case WEFT_DISCIPLINE_TRIM:
		profile->trim_bytes = share(bdp, is_last_hop ? 15 : 10);
		break;
	case WEFT_DISCIPLINE_DROP_TAIL:
		break;
	case WEFT_DISCIPLINE_LOSSLESS:
		profile->xoff_bytes = share(bdp, 10);
		profile->xon_bytes = share(bdp, 8);
		/* A full frame has begun at each end when the pause is decided on and arrives. */
		profile->headroom_bytes = link_bdp_bytes + 2 * JUMBO_BYTES;
		profile->drop_bytes[WEFT_QUEUE_DATA] = UINT32_MAX / 2;
		break;
	}
}

const char *weft_port_profile_fault(const struct weft_port_profile *p)
{
	for (unsigned queue = 0; queue < WEFT_QUEUES; queue++) {
		if (p->quantum_bytes[queue] < 512 || p->quantum_bytes[queue] > 65536)
			return "quantum_bytes: 512 to 65536 of either queue";
		if (p->drop_bytes[queue] > UINT32_MAX / 2)
			return "drop_bytes: below 2^31";
	}
	if (p->ecn_max_bytes && p->ecn_max_bytes <= p->ecn_min_bytes)
		return "ecn_max_bytes: above ecn_min_bytes, or both 0";
	if (p->trim_bytes && p->trim_to_bytes < HEADERS_MIN_BYTES)
		return "trim_to_bytes: room for the headers that a cut leaves";
	if (p->trim_bytes && p->trim_mark != WEFT_MARK_TRIMMED &&
		p->trim_mark != WEFT_MARK_TRIMMED_LASTHOP)
		return "trim_mark: WEFT_MARK_TRIMMED or WEFT_MARK_TRIMMED_LASTHOP";
	if (p->xon_bytes > p->xoff_bytes || p->xoff_bytes > UINT32_MAX / 2)
		return "xon_bytes: up to xoff_bytes, which is below 2^31";
	if (p->headroom_bytes > UINT32_MAX / 4)
		return "headroom_bytes: below 2^30";
	return NULL;
}
