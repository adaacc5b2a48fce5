/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xdp_fault - things that break, as words written where the program reads them.
 *
 * The list of faults is counted down to nothing before it changes and up again after, so that no
 * frame meets half of one.
 */
#include "xdp_local.h"

#include <string.h>

#define FULL_PPM 1000000u

void weft_xdp_port_mark(struct weft_xdp *xdp, uint32_t port, bool is_up)
{
	WEFT_ASSERT(port < xdp->config.ports && xdp->is_set[port]);
	uint8_t *flags = &xdp->state->ports[port].flags;

	*flags = (uint8_t)(is_up ? *flags | XDP_PORT_UP : *flags & ~XDP_PORT_UP);
}

void weft_xdp_port_rate(struct weft_xdp *xdp, uint32_t port, uint64_t rate_bps)
{
	WEFT_ASSERT(port < xdp->config.ports && xdp->is_set[port]);
	WEFT_ASSERT(!rate_bps || rate_bps >= 1000000);
	xdp->rates_bps[port] = rate_bps;
	port_scale(xdp, port);
}

void weft_xdp_freeze(struct weft_xdp *xdp, bool is_frozen)
{
	__atomic_store_n(&xdp->state->is_frozen, is_frozen, __ATOMIC_RELEASE);
}

static bool is_port(const struct weft_xdp *xdp, uint32_t port)
{
	return port == WEFT_SWITCH_ANY || port < xdp->config.ports;
}

bool weft_xdp_fault_add(struct weft_xdp *xdp, const struct weft_switch_fault *fault)
{
	struct xdp_state *state = xdp->state;
	uint32_t n = state->n_faults;

	if (n == XDP_FAULTS_MAX || fault->loss_ppm > FULL_PPM || !is_port(xdp, fault->in_port) ||
		!is_port(xdp, fault->out_port))
		return false;
	state->faults[n] = (struct xdp_fault){ .route = fault->route,
		.route_mask = fault->route_mask,
		.in_port = fault->in_port,
		.out_port = fault->out_port,
		.loss_ppm = fault->loss_ppm };
	__atomic_store_n(&state->n_faults, n + 1, __ATOMIC_RELEASE);
	return true;
}

void weft_xdp_fault_clear(struct weft_xdp *xdp)
{
	__atomic_store_n(&xdp->state->n_faults, 0, __ATOMIC_RELEASE);
}

void weft_xdp_reboot(struct weft_xdp *xdp)
{
	tables_empty(xdp);
	weft_xdp_fault_clear(xdp);
	for (uint32_t i = 0; i < xdp->config.ports; i++) {
		struct xdp_port *port = &xdp->state->ports[i];

		memset(port->depth_q16, 0, sizeof(port->depth_q16));
		memset(port->watermark_q16, 0, sizeof(port->watermark_q16));
	}
	weft_xdp_freeze(xdp, false);
}
