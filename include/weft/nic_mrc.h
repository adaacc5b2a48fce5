/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_NIC_MRC_H
#define WEFT_NIC_MRC_H
/*
 * nic_mrc - the engine as a transport: nanoseconds inside, picoseconds outside.
 *
 * The engine is told the time rounded down and its timers are due at whole nanoseconds, so no timer
 * fires before its time and each fires at the first instant that is not.  An MRC NIC has no PFC;
 * where a fabric pauses all the same it sends nothing at all by that port.
 */
#include <weft/engine.h>
#include <weft/nic.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline void weft_transport_mrc_input(
	void *state, const struct weft_pkt *pkt, uint64_t now_ps, struct weft_place *place)
{
	weft_input((struct weft_endpoint *)state, pkt, 1, now_ps / 1000, place);
}

static inline bool weft_transport_mrc_output(
	void *state, struct weft_pkt *pkt, uint32_t free, uint32_t paused, uint64_t now_ps)
{
	return weft_output((struct weft_endpoint *)state, pkt, 1, free & ~paused, now_ps / 1000);
}

static inline bool weft_transport_mrc_wants_output(const void *state)
{
	return weft_wants_output((const struct weft_endpoint *)state);
}

static inline uint64_t weft_transport_mrc_next_ps(const void *state)
{
	uint64_t next_ns = weft_next_timeout((const struct weft_endpoint *)state);

	return next_ns == WEFT_NEVER ? WEFT_NEVER : next_ns * 1000;
}

static inline bool weft_transport_mrc_poll(void *state, struct weft_done *done)
{
	return weft_poll((struct weft_endpoint *)state, 0, done, 1);
}

static inline void weft_transport_mrc_port_mark(
	void *state, uint32_t port, bool is_up, uint64_t now_ps)
{
	/* Fails where there is no such port, which is the caller's mistake. */
	(void)weft_port_mark((struct weft_endpoint *)state, port, is_up, now_ps / 1000);
}

static inline void weft_transport_mrc_counters(const void *state, struct weft_counters *to)
{
	*to = *weft_stats((const struct weft_endpoint *)state);
}

static inline void weft_transport_mrc_check(const void *state)
{
	weft_check((const struct weft_endpoint *)state);
}

static inline void weft_transport_mrc_fetch(
	const void *state, const struct weft_pkt *pkt, unsigned step)
{
	weft_packet_fetch((const struct weft_endpoint *)state, pkt, step);
}

/* In the order of struct weft_transport, for C++ has no other. */
static const struct weft_transport weft_transport_mrc = {
	"mrc",
	weft_transport_mrc_input,
	weft_transport_mrc_output,
	weft_transport_mrc_wants_output,
	weft_transport_mrc_next_ps,
	weft_transport_mrc_poll,
	weft_transport_mrc_port_mark,
	weft_transport_mrc_counters,
	weft_transport_mrc_check,
	weft_transport_mrc_fetch,
	false,
};

#ifdef __cplusplus
}
#endif
#endif /* WEFT_NIC_MRC_H */
