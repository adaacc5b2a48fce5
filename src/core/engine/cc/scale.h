/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_ENGINE_CC_SCALE_H
#define WEFT_ENGINE_CC_SCALE_H
/* scale - the arithmetic that congestion controls share: whole numbers, alike on every machine. */
#include <weft/base.h>
#include <weft/cc.h>

/* No window is larger: four times what the widest PSN window holds, and sums stay in 32 bits. */
#define CC_WINDOW_BYTES_MAX (UINT32_C(1) << 30)
#define CC_RTT_NS_MAX (UINT32_C(1) << 30)
#define CC_RATE_BPS_MAX (UINT64_C(1) << 42)

/* x * num / den without a wider type: den * num must stay below 2^64, and so must the result. */
static inline uint64_t scale(uint64_t x, uint64_t num, uint64_t den)
{
	return x / den * num + x % den * num / den;
}

/* What fills a pipe of this rate and length; not clamped. */
static inline uint64_t scale_bdp(uint64_t rate_bps, uint32_t rtt_ns)
{
	/* 2^30 ns times 8e9 is below 2^63. */
	return scale(WEFT_MIN(rate_bps, CC_RATE_BPS_MAX), WEFT_MIN(rtt_ns, CC_RTT_NS_MAX),
		UINT64_C(8000000000));
}

/* MaxWnd of that pipe, 1.5 BDP: no less than a packet, or nothing could ever be sent. */
static inline uint32_t scale_maxwnd(uint64_t rate_bps, uint32_t rtt_ns, uint32_t mtu_bytes)
{
	uint64_t bytes = scale_bdp(rate_bps, rtt_ns) * 3 / 2;

	return (uint32_t)WEFT_MIN(WEFT_MAX(bytes, mtu_bytes), CC_WINDOW_BYTES_MAX);
}

#endif
