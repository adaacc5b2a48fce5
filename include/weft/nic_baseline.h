/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_NIC_BASELINE_H
#define WEFT_NIC_BASELINE_H
/*
 * nic_baseline - what MRC is compared with, as a transport.
 *
 * A port that goes down is nothing to it: paths are asked for anew when routes change.
 */
#include <weft/nic.h>
#include <weft/baseline.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline void weft_transport_baseline_input(
	void *state, const struct weft_pkt *pkt, uint64_t now_ps, struct weft_place *place)
{
	place->len_bytes = 0;
	weft_baseline_input((struct weft_baseline *)state, pkt, now_ps);
}

static inline bool weft_transport_baseline_output(
	void *state, struct weft_pkt *pkt, uint32_t free, uint32_t paused, uint64_t now_ps)
{
	return weft_baseline_output((struct weft_baseline *)state, pkt, free, paused, now_ps);
}

static inline bool weft_transport_baseline_wants_output(const void *state)
{
	return weft_baseline_wants_output((const struct weft_baseline *)state);
}

static inline uint64_t weft_transport_baseline_next_ps(const void *state)
{
	return weft_baseline_next_ps((const struct weft_baseline *)state);
}

static inline bool weft_transport_baseline_poll(void *state, struct weft_done *done)
{
	struct weft_baseline_done d;

	if (!weft_baseline_poll((struct weft_baseline *)state, &d))
		return false;
	__builtin_memset(done, 0, sizeof(*done));
	done->id = d.id;
	done->imm = (uint32_t)d.id;
	done->kind = d.arrived ? WEFT_DONE_RECV_IMM : WEFT_DONE_WRITE;
	return true;
}

static inline void weft_transport_baseline_port_mark(
	void *state, uint32_t port, bool is_up, uint64_t now_ps)
{
	(void)state;
	(void)port;
	(void)is_up;
	(void)now_ps;
}

static inline void weft_transport_baseline_counters(const void *state, struct weft_counters *to)
{
	const struct weft_baseline_counters *c =
		weft_baseline_stats((const struct weft_baseline *)state);

	__builtin_memset(to, 0, sizeof(*to));
	to->tx_data_pkts = c->tx_data_pkts;
	to->tx_data_bytes = c->tx_data_bytes;
	to->tx_rtx_pkts = c->tx_rtx_pkts;
	to->rx_data_pkts = c->rx_data_pkts;
	to->rx_data_bytes = c->rx_data_bytes;
	to->tx_sack = c->tx_acks;
	to->rx_sack = c->rx_acks;
	to->tx_nack = c->tx_naks;
	to->rx_nack = c->rx_naks;
	to->timeouts = c->timeouts;
	to->rx_ce = c->rx_ce;
	to->rx_trimmed = c->rx_trimmed;
	to->rx_duplicate = c->rx_duplicate;
}

static inline void weft_transport_baseline_check(const void *state)
{
	weft_baseline_check((const struct weft_baseline *)state);
}

/* In the order of struct weft_transport, for C++ has no other. */
static const struct weft_transport weft_transport_baseline = {
	"baseline",
	weft_transport_baseline_input,
	weft_transport_baseline_output,
	weft_transport_baseline_wants_output,
	weft_transport_baseline_next_ps,
	weft_transport_baseline_poll,
	weft_transport_baseline_port_mark,
	weft_transport_baseline_counters,
	weft_transport_baseline_check,
	NULL,
	true,
};

#ifdef __cplusplus
}
#endif
#endif /* WEFT_NIC_BASELINE_H */
