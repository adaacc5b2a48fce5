/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pfc - never drop: make the neighbour wait instead (IEEE 802.1Qbb).  For comparisons.
 *
 * MRC's fabrics run without it, and P1's figures show why: a pause stops a link, not a flow.  To
 * show that, the real mechanism is needed.  Waiting data is counted against the port it came in
 * by; above XOFF the neighbour there is told to stop, at XON to go on, and in between arrives
 * what was already on its way, for which the headroom is kept.  Pauses have no timer here: a
 * resume is always sent, and the links that carry it do not lose it.
 *
 * Only data is paused, one priority of the eight.  Frames of MAC control are the caller's: it
 * carries "stop" and "go on" to the other end of the link in the time that this takes.
 */
#include "switch_local.h"

/* The lender may change profiles at any time, and they are few. */
static bool has_pauses(const struct weft_switch *sw)
{
	uint32_t i = 0;

	while (i < sw->config.n_profiles && !sw->config.profiles[i].xoff_bytes)
		i++;
	return i < sw->config.n_profiles;
}

static const struct weft_port_profile *profile_of(const struct weft_switch *sw, uint32_t in_port)
{
	if (!has_pauses(sw))
		return NULL; /* and no line of that port has to be fetched */
	if (in_port >= sw->config.ports || sw->ports[in_port].profile == PROFILE_NONE)
		return NULL; /* from nowhere, as in a test of one queue */
	const struct weft_port_profile *profile = &sw->config.profiles[sw->ports[in_port].profile];

	return profile->xoff_bytes ? profile : NULL;
}

static void tell(struct weft_switch *sw, struct port *port)
{
	port->flags ^= PORT_STOPPING;
	/* Nobody has asked since we changed our mind: there is nothing to tell any more. */
	port->flags ^= PORT_TELL;
	sw->n_tell += port->flags & PORT_TELL ? 1u : UINT32_MAX;
}

bool pfc_enter(struct weft_switch *sw, uint32_t in_port, uint32_t bytes)
{
	const struct weft_port_profile *profile = profile_of(sw, in_port);

	if (!profile)
		return true;
	struct port *port = &sw->ports[in_port];

	if (port->ingress_bytes + bytes > profile->xoff_bytes + profile->headroom_bytes)
		return false;
	port->ingress_bytes += bytes;
	if (port->ingress_bytes > profile->xoff_bytes && !(port->flags & PORT_STOPPING))
		tell(sw, port);
	return true;
}

void pfc_leave(struct weft_switch *sw, uint32_t in_port, uint32_t bytes)
{
	const struct weft_port_profile *profile = profile_of(sw, in_port);

	if (!profile)
		return;
	struct port *port = &sw->ports[in_port];

	WEFT_ASSERT(port->ingress_bytes >= bytes);
	port->ingress_bytes -= bytes;
	if (port->ingress_bytes <= profile->xon_bytes && port->flags & PORT_STOPPING)
		tell(sw, port);
}

bool weft_switch_pause_poll(struct weft_switch *sw, uint32_t *port, bool *pause)
{
	if (WEFT_LIKELY(!sw->n_tell))
		return false;
	uint32_t i = 0;

	while (!(sw->ports[i].flags & PORT_TELL)) {
		i++;
		WEFT_ASSERT(i < sw->config.ports);
	}
	sw->ports[i].flags &= (uint8_t)~PORT_TELL;
	sw->n_tell--;
	counters_of(sw, i)->pfc_sent++;
	*port = i;
	*pause = sw->ports[i].flags & PORT_STOPPING;
	return true;
}

void weft_switch_pause(struct weft_switch *sw, uint32_t index, bool pause, uint64_t now_ps)
{
	WEFT_ASSERT(index < sw->config.ports);
	struct port *port = &sw->ports[index];

	counters_of(sw, index)->pfc_received++;
	if (!queue_is_ready(sw, port))
		queue_wake(port, now_ps);
	if (pause)
		port->flags |= PORT_PAUSED;
	else
		port->flags &= (uint8_t)~PORT_PAUSED;
}
