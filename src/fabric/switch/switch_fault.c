/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switch_fault - things that break, as calls: a port, a rate, the whole switch, a share of one
 * path.
 *
 * Whatever goes down keeps what it holds until somebody takes it: buffers belong to the caller,
 * so a frame that will never leave is handed back like one that does, with its reason.  Frozen
 * is the paper's worst case, a T1 that stops forwarding while its links look healthy: nothing is
 * handed back, nothing leaves, what comes is gone.
 *
 * A path is told by what was written into the packet, the uSIDs in front of its carrier on arrival,
 * because a port alone would hit all paths that share it.
 */
#include "switch_local.h"

#define FULL_PPM 1000000u

static void mark_flush(struct port *port, enum weft_switch_drop why)
{
	if (!port->bytes[0] && !port->bytes[1])
		return;
	port->flags |= PORT_FLUSH;
	port->flush_drop = (uint8_t)why;
}

void weft_switch_port_mark(struct weft_switch *sw, uint32_t index, bool is_up, uint64_t now_ps)
{
	WEFT_ASSERT(index < sw->config.ports && sw->ports[index].profile != PROFILE_NONE);
	struct port *port = &sw->ports[index];

	if (is_up) {
		queue_wake(port, now_ps);
		port->flags |= PORT_UP;
		return;
	}
	/* A pause does not outlive the link that it came over. */
	port->flags &= (uint8_t) ~(PORT_UP | PORT_PAUSED);
	mark_flush(port, WEFT_SWITCH_DROP_PORT_DOWN);
}

void weft_switch_port_rate(struct weft_switch *sw, uint32_t index, uint64_t rate_bps)
{
	WEFT_ASSERT(index < sw->config.ports && rate_bps >= 1000000);
	sw->ports[index].byte_ps_q16 = (UINT64_C(8000000000000) << 16) / rate_bps;
}

void weft_switch_freeze(struct weft_switch *sw, bool is_frozen, uint64_t now_ps)
{
	for (uint32_t i = 0; sw->is_frozen && i < sw->config.ports; i++)
		queue_wake(&sw->ports[i], now_ps);
	sw->is_frozen = is_frozen;
}

void weft_switch_reboot(struct weft_switch *sw, uint64_t now_ps)
{
	table_clear(sw);
	weft_switch_fault_clear(sw);
	for (uint32_t i = 0; i < sw->config.ports; i++) {
		struct port *port = &sw->ports[i];

		port->flags &= (uint8_t)~PORT_PAUSED;
		queue_wake(port, now_ps);
		mark_flush(port, WEFT_SWITCH_DROP_REBOOT);
	}
	sw->is_frozen = false;
}

bool weft_switch_fault_add(struct weft_switch *sw, const struct weft_switch_fault *fault)
{
	uint32_t ports = sw->config.ports;

	if (sw->n_faults == WEFT_SWITCH_FAULTS_MAX || fault->loss_ppm > FULL_PPM ||
		(fault->in_port != WEFT_SWITCH_ANY && fault->in_port >= ports) ||
		(fault->out_port != WEFT_SWITCH_ANY && fault->out_port >= ports))
		return false;
	sw->faults[sw->n_faults++] = *fault;
	return true;
}

void weft_switch_fault_clear(struct weft_switch *sw)
{
	sw->n_faults = 0;
}

static bool is_match(uint32_t want, uint32_t have)
{
	return want == WEFT_SWITCH_ANY || want == have;
}

bool fault_hits(
	struct weft_switch *sw, const struct weft_frame *frame, uint64_t route, uint32_t out_port)
{
	for (uint32_t i = 0; i < sw->n_faults; i++) {
		const struct weft_switch_fault *fault = &sw->faults[i];

		if (is_match(fault->in_port, frame->in_port) &&
			is_match(fault->out_port, out_port) &&
			!((route ^ fault->route) & fault->route_mask) &&
			weft_rng_chance(&sw->rng, fault->loss_ppm, FULL_PPM))
			return true;
	}
	return false;
}
