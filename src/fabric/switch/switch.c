/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switch - one frame in: look up, fault, queue; in both of its forms.
 *
 * The struct form is the truth and the bytes follow it: they are read into a struct, the decisions
 * fall on that, and what changed is written back.  So a simulator that never has bytes runs the
 * decisions of the live switch, not a model of them, and a test can send the same traffic both ways
 * and want the same times.
 *
 * Bytes are rewritten only when the frame has been queued: one that is dropped goes back to the
 * caller as it came, except for an SRH whose segment was taken up.
 */
#include "switch_local.h"

static size_t take_room(size_t *at, size_t bytes)
{
	size_t start = WEFT_ALIGN_UP(*at, (size_t)WEFT_CACHE_LINE_BYTES);

	*at = start + bytes;
	return start;
}

struct layout {
	size_t ports, sids, sid_pkts, prefixes, counters, end;
};

static struct layout lay_out(const struct weft_switch_config *c)
{
	size_t at = sizeof(struct weft_switch);
	uint32_t sids = table_sid_places(c->sids);
	struct layout l;

	l.ports = take_room(&at, c->ports * sizeof(struct port));
	l.sids = take_room(&at, sids * sizeof(struct sid_entry));
	l.sid_pkts = take_room(&at, c->is_lean ? 0 : sids * sizeof(uint64_t));
	l.prefixes = take_room(&at, table_prefix_places(c->prefixes) * sizeof(struct prefix_entry));
	l.counters =
		take_room(&at, (c->is_lean ? 1 : c->ports) * sizeof(struct weft_port_counters));
	l.end = take_room(&at, 0);
	return l;
}

const char *weft_switch_config_fault(const struct weft_switch_config *c)
{
	if (!c->ports || c->ports > WEFT_SWITCH_PORTS_MAX)
		return "ports: 1 to 4096";
	if (!c->sids || c->sids > 49152)
		return "sids: 1 to 49152";
	if (c->prefixes > 65536)
		return "prefixes: 0 to 65536";
	if (c->mtu_bytes < 1280 || c->mtu_bytes > UINT16_MAX - WEFT_FRAME_ETHER_BYTES)
		return "mtu_bytes: 1280 to 65521";
	if (!c->n_profiles || c->n_profiles > PROFILE_NONE)
		return "n_profiles: 1 to 255";
	if (!c->profiles)
		return "profiles: n_profiles of them";
	if (!c->pool)
		return "pool: one";
	for (uint32_t i = 0; i < c->n_profiles; i++) {
		const char *fault = weft_port_profile_fault(&c->profiles[i]);

		if (fault)
			return fault;
	}
	return NULL;
}

size_t weft_switch_size(const struct weft_switch_config *config)
{
	return weft_switch_config_fault(config) ? 0 : lay_out(config).end;
}

bool weft_switch_init(
	struct weft_switch **out, void *block, const struct weft_switch_config *config)
{
	if (weft_switch_config_fault(config) || (uintptr_t)block % 64)
		return false;
	struct layout l = lay_out(config);
	struct weft_switch *sw = block;
	uint8_t *base = block;

	__builtin_memset(block, 0, l.end);
	sw->config = *config;
	sw->ports = (struct port *)(base + l.ports);
	sw->sids = (struct sid_entry *)(base + l.sids);
	sw->sid_mask = table_sid_places(config->sids) - 1;
	sw->sid_pkts = config->is_lean ? NULL : (uint64_t *)(base + l.sid_pkts);
	sw->prefixes = (struct prefix_entry *)(base + l.prefixes);
	sw->prefix_mask = table_prefix_places(config->prefixes) - 1;
	sw->counters = (struct weft_port_counters *)(base + l.counters);
	weft_rng_seed(&sw->rng, config->seed);
	for (uint32_t i = 0; i < config->ports; i++)
		sw->ports[i].profile = PROFILE_NONE;
	*out = sw;
	return true;
}

bool weft_switch_port_set(
	struct weft_switch *sw, uint32_t port, uint64_t rate_bps, uint32_t profile_index)
{
	if (port >= sw->config.ports || profile_index >= sw->config.n_profiles ||
		rate_bps < 1000000)
		return false;
	sw->ports[port].profile = (uint8_t)profile_index;
	sw->ports[port].flags |= PORT_UP;
	weft_switch_port_rate(sw, port, rate_bps);
	return true;
}

/* ---- in ---- */

static enum weft_switch_drop discard(
	struct weft_switch *sw, const struct weft_frame *frame, enum weft_switch_drop why)
{
	sw->drops[why]++;
	counters_of(sw, frame->in_port)->in_discards++;
	return why;
}

static void count_in(struct weft_switch *sw, const struct weft_frame *frame, size_t bytes)
{
	struct weft_port_counters *counters = counters_of(sw, frame->in_port);

	counters->in_pkts++;
	counters->in_octets += bytes;
}

enum weft_switch_drop weft_switch_queue(struct weft_switch *sw, struct weft_frame *frame,
	uint64_t arrived, uint64_t now_ps, uint32_t port)
{
	WEFT_ASSERT(port < sw->config.ports);
	if (WEFT_UNLIKELY(sw->n_faults) && fault_hits(sw, frame, arrived, port))
		return discard(sw, frame, WEFT_SWITCH_DROP_FAULT);
	enum weft_switch_drop why = queue_admit(sw, port, frame, now_ps);

	sw->drops[why] += why != WEFT_SWITCH_DROP_NONE;
	return why;
}

enum weft_switch_drop weft_switch_route(
	struct weft_switch *sw, struct weft_frame *frame, uint32_t *port)
{
	struct carrier carrier = { .high = frame->route };
	uint32_t out = 0;

	WEFT_ASSERT(frame->in_port < sw->config.ports);
	count_in(sw, frame, frame->bytes);
	frame->flags &= (uint8_t)~WEFT_FRAME_CUT_HERE;
	if (WEFT_UNLIKELY(sw->is_frozen))
		return discard(sw, frame, WEFT_SWITCH_DROP_FROZEN);
	enum weft_switch_drop why = forward_carrier(sw, &carrier, frame, NULL, &out);

	if (why)
		return discard(sw, frame, why);
	frame->route = carrier.high;
	*port = out;
	return WEFT_SWITCH_DROP_NONE;
}

enum weft_switch_drop weft_switch_input(
	struct weft_switch *sw, struct weft_frame *frame, uint64_t now_ps, uint32_t *port)
{
	uint64_t arrived = frame->route;
	uint32_t out = 0;
	enum weft_switch_drop why = weft_switch_route(sw, frame, &out);

	if (!why)
		why = weft_switch_queue(sw, frame, arrived, now_ps, out);
	if (!why)
		*port = out;
	return why;
}

/*
 * Where the bytes go.  A carrier that ends here may go on in an SRH; each turn takes up one of its
 * segments, of which there are at most 127.
 */
static enum weft_switch_drop route_bytes(struct weft_switch *sw, struct weft_frame *frame,
	uint8_t *ip, uint64_t *route, struct carrier *carrier, bool *has_carrier, uint32_t *port)
{
	for (;;) {
		*has_carrier = bytes_in_block(sw, ip);
		if (!*has_carrier)
			return forward_prefix(sw, frame, ip, port);
		bytes_get_carrier(ip, carrier);
		*route = carrier->high;
		enum weft_switch_drop why = forward_carrier(sw, carrier, frame, ip, port);

		if (why != WEFT_SWITCH_DROP_SID_EXHAUSTED)
			return why;
		/* RFC 8754 4.3.1.1: taking up a segment costs one hop, like using up a uSID. */
		if (frame->hop_limit <= 1)
			return WEFT_SWITCH_DROP_HOP_LIMIT;
		why = bytes_next_segment(ip, (size_t)frame->bytes - WEFT_FRAME_ETHER_BYTES);
		if (why)
			return why;
		frame->hop_limit--;
		*has_carrier = false; /* the address has been written already */
		if (*port != WEFT_SWITCH_ANY)
			return WEFT_SWITCH_DROP_NONE;
	}
}

enum weft_switch_drop weft_switch_input_bytes(struct weft_switch *sw, struct weft_frame *frame,
	uint8_t *ip, size_t ip_bytes, uint64_t now_ps, uint32_t *port)
{
	struct carrier carrier;
	bool has_carrier = false;
	uint64_t route = 0;
	uint32_t out = 0;

	WEFT_ASSERT(frame->in_port < sw->config.ports);
	count_in(sw, frame, ip_bytes + WEFT_FRAME_ETHER_BYTES);
	if (WEFT_UNLIKELY(sw->is_frozen))
		return discard(sw, frame, WEFT_SWITCH_DROP_FROZEN);
	enum weft_switch_drop why = bytes_read(sw, ip, ip_bytes, frame);

	if (!why)
		why = route_bytes(sw, frame, ip, &route, &carrier, &has_carrier, &out);
	if (why)
		return discard(sw, frame, why);
	if (has_carrier)
		frame->route = carrier.high;
	why = weft_switch_queue(sw, frame, route, now_ps, out);
	if (why)
		return why;
	if (has_carrier)
		bytes_put_carrier(ip, &carrier);
	bytes_write(sw, ip, frame);
	*port = out;
	return why;
}

/* ---- eyes ---- */

const struct weft_port_counters *weft_switch_port_counters(
	const struct weft_switch *sw, uint32_t port)
{
	WEFT_ASSERT(port < sw->config.ports);
	return &sw->counters[sw->config.is_lean ? 0 : port];
}

uint64_t weft_switch_drops(const struct weft_switch *sw, enum weft_switch_drop drop)
{
	WEFT_ASSERT((unsigned)drop < WEFT_SWITCH_DROP_COUNT);
	return sw->drops[drop];
}

void weft_switch_check(const struct weft_switch *sw)
{
	uint32_t waiting = 0, telling = 0;
	uint64_t ingress = 0, data = 0;

	for (uint32_t i = 0; i < sw->config.ports; i++) {
		const struct port *port = &sw->ports[i];

		for (unsigned queue = 0; queue < WEFT_QUEUES; queue++) {
			uint32_t bytes = 0, at = port->head[queue];

			while (bytes < port->bytes[queue]) {
				WEFT_ASSERT(at < sw->config.pool->n);
				bytes += sw->config.pool->frames[at].bytes;
				at = sw->config.pool->frames[at].next;
				waiting++;
			}
			WEFT_ASSERT(bytes == port->bytes[queue]);
			WEFT_ASSERT(!bytes || at == FRAME_NONE);
		}
		WEFT_ASSERT(!port->bytes[0] || port->profile != PROFILE_NONE);
		telling += (port->flags & PORT_TELL) != 0;
		ingress += port->ingress_bytes;
		data += port->bytes[WEFT_QUEUE_DATA];
	}
	WEFT_ASSERT(waiting <= sw->config.pool->used); /* others may use the pool too */
	WEFT_ASSERT(telling == sw->n_tell);
	WEFT_ASSERT(ingress <= data);
}
