/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queue - who waits, who is marked, who is cut, who goes next.
 *
 * Two queues per port: data, and control with everything trimmed.  The second is not strictly
 * first: Ultra Ethernet gives trimmed packets a share (25 %; here half), because under an incast of
 * many senders their headers alone could fill the line and data, which the headers only ask for
 * again, would never get out.  Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995) keeps
 * that share in bytes and costs O(1); a start-time fair queue would be smoother and need a stamp
 * per frame.
 *
 * All decisions fall on arrival, from the depth that the frame finds, itself not counted for
 * marking and counted for what must fit.  Marking at departure would tell the sender half a
 * queue earlier, but then the bytes would have to be touched a second time, out of the cache.
 * Trimmed frames are never marked: the cut itself says more.
 *
 * Departures are computed, not simulated: a port knows when its line is free, and what goes next is
 * decided when somebody asks for it at or after that moment.
 *
 * Hot: once in, once out per packet.
 */
#include "switch_local.h"

#define TRIM_MARKS (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP)

void weft_frame_pool_init(struct weft_frame_pool *pool, struct weft_frame frames[], uint32_t n)
{
	*pool = (struct weft_frame_pool){ .frames = frames, .n = n, .free = FRAME_NONE };
}

static bool pool_is_empty(const struct weft_frame_pool *pool)
{
	return pool->used == pool->n;
}

/*
 * A place given back is likely to be in the cache still; those given back long ago are not.  Each
 * free place names the next five of the list, so that they can be asked for in time.
 */
static uint32_t pool_take(struct weft_frame_pool *pool)
{
	uint32_t index = pool->free;

	if (WEFT_LIKELY(index != FRAME_NONE)) {
		const struct weft_frame *frame = &pool->frames[index];

		pool->free = frame->next;
		if ((uint32_t)(frame->route >> 32) != FRAME_NONE)
			__builtin_prefetch(&pool->frames[frame->route >> 32], 1);
	} else {
		index = pool->fresh++;
	}
	pool->used++;
	pool->used_max = WEFT_MAX(pool->used, pool->used_max);
	return index;
}

static void pool_give(struct weft_frame_pool *pool, uint32_t index)
{
	struct weft_frame *frame = &pool->frames[index];

	frame->next = pool->free;
	frame->handle = frame->route = UINT64_MAX;
	if (WEFT_LIKELY(frame->next != FRAME_NONE)) {
		const struct weft_frame *next = &pool->frames[frame->next];

		frame->handle = next->handle << 32 | next->next;
		frame->route = next->route << 32 | next->handle >> 32;
	}
	pool->free = index;
	pool->used--;
}

static bool is_trimmed(const struct weft_frame *frame)
{
	return frame->mark & TRIM_MARKS;
}

static enum weft_queue queue_of(const struct weft_frame *frame)
{
	return frame->tclass == WEFT_CLASS_CONTROL || is_trimmed(frame) ? WEFT_QUEUE_CONTROL
									: WEFT_QUEUE_DATA;
}

/* Which queues have something that may leave, as bits. */
static unsigned ready_queues(const struct weft_switch *sw, const struct port *port)
{
	if (!(port->flags & PORT_UP) || sw->is_frozen)
		return 0;
	unsigned ready = 0;

	if (port->bytes[WEFT_QUEUE_DATA] && !(port->flags & PORT_PAUSED))
		ready |= 1u << WEFT_QUEUE_DATA;
	if (port->bytes[WEFT_QUEUE_CONTROL])
		ready |= 1u << WEFT_QUEUE_CONTROL;
	return ready;
}

bool queue_is_ready(const struct weft_switch *sw, const struct port *port)
{
	return ready_queues(sw, port) != 0;
}

void queue_wake(struct port *port, uint64_t now_ps)
{
	port->start_ps = WEFT_MAX(port->start_ps, now_ps);
}

/* ---- in ---- */

static bool wants_mark(struct weft_switch *sw, const struct weft_port_profile *profile,
	const struct weft_frame *frame, uint32_t depth)
{
	if (!profile->ecn_max_bytes || !(frame->flags & WEFT_FRAME_ECT) ||
		depth <= profile->ecn_min_bytes || frame->mark & WEFT_MARK_CE)
		return false;
	return depth >= profile->ecn_max_bytes ||
	       weft_rng_chance(&sw->rng, depth - profile->ecn_min_bytes,
		       profile->ecn_max_bytes - profile->ecn_min_bytes);
}

static enum weft_switch_drop drop(struct weft_switch *sw, uint32_t port, enum weft_queue queue,
	uint32_t bytes, enum weft_switch_drop why)
{
	struct weft_port_counters *counters = counters_of(sw, port);

	counters->out_discards++;
	counters->queue[queue].drops++;
	counters->queue[queue].drop_octets += bytes;
	if (why == WEFT_SWITCH_DROP_TRIM_TAIL) {
		counters->trim_drops++;
		counters->queue[queue].trim_drops++;
	}
	return why;
}

static void append(struct weft_switch *sw, struct port *port, enum weft_queue queue,
	const struct weft_frame *frame)
{
	struct weft_frame_pool *pool = sw->config.pool;
	uint32_t index = pool_take(pool);
	struct weft_frame *slot = &pool->frames[index];

	*slot = *frame; /* next first, and the copy would wait for that store */
	slot->next = FRAME_NONE;
	if (port->bytes[queue])
		pool->frames[port->tail[queue]].next = index;
	else
		port->head[queue] = index;
	port->tail[queue] = index;
	port->bytes[queue] += frame->bytes;
}

/* Turns a frame into its trimmed self. */
static void cut(struct weft_switch *sw, uint32_t port, const struct weft_port_profile *profile,
	struct weft_frame *frame)
{
	struct weft_port_counters *counters = counters_of(sw, port);

	counters->trimmed++;
	counters->queue[WEFT_QUEUE_DATA].trimmed++;
	frame->bytes = profile->trim_to_bytes;
	frame->mark |= profile->trim_mark;
	frame->flags |= WEFT_FRAME_CUT_HERE;
}

/* What the data queue says to a data frame; it may send it to the other queue by cutting it. */
static enum weft_switch_drop judge_data(struct weft_switch *sw, uint32_t index,
	const struct weft_port_profile *profile, struct weft_frame *frame)
{
	uint32_t depth = sw->ports[index].bytes[WEFT_QUEUE_DATA];
	uint32_t bytes = frame->bytes;

	if (profile->trim_bytes && frame->flags & WEFT_FRAME_TRIMMABLE &&
		depth + bytes > profile->trim_bytes) {
		if (bytes <= profile->trim_to_bytes)
			return drop(
				sw, index, WEFT_QUEUE_DATA, bytes, WEFT_SWITCH_DROP_TRIM_TOO_SMALL);
		cut(sw, index, profile, frame);
		return WEFT_SWITCH_DROP_NONE;
	}
	if (depth + bytes > profile->drop_bytes[WEFT_QUEUE_DATA])
		return drop(sw, index, WEFT_QUEUE_DATA, bytes, WEFT_SWITCH_DROP_TAIL);
	if (!pfc_enter(sw, frame->in_port, bytes))
		return drop(sw, index, WEFT_QUEUE_DATA, bytes, WEFT_SWITCH_DROP_HEADROOM);
	if (wants_mark(sw, profile, frame, depth)) {
		frame->mark |= WEFT_MARK_CE;
		counters_of(sw, index)->ecn_marked++;
		counters_of(sw, index)->queue[WEFT_QUEUE_DATA].ecn_marked++;
	}
	return WEFT_SWITCH_DROP_NONE;
}

enum weft_switch_drop queue_admit(
	struct weft_switch *sw, uint32_t index, struct weft_frame *frame, uint64_t now_ps)
{
	struct port *port = &sw->ports[index];

	if (WEFT_UNLIKELY((port->flags & (PORT_UP | PORT_FLUSH)) != PORT_UP)) {
		counters_of(sw, index)->out_discards++;
		return WEFT_SWITCH_DROP_PORT_DOWN;
	}
	if (port->bytes[WEFT_QUEUE_DATA] | port->bytes[WEFT_QUEUE_CONTROL] && sw->config.settle)
		sw->config.settle(sw->config.user, index, now_ps);
	const struct weft_port_profile *profile = &sw->config.profiles[port->profile];
	enum weft_queue queue = queue_of(frame);

	if (WEFT_UNLIKELY(pool_is_empty(sw->config.pool)))
		return drop(sw, index, queue, frame->bytes, WEFT_SWITCH_DROP_NO_BUFFER);
	if (queue == WEFT_QUEUE_DATA) {
		enum weft_switch_drop why = judge_data(sw, index, profile, frame);

		if (why)
			return why;
		queue = queue_of(frame);
	}
	if (queue == WEFT_QUEUE_CONTROL &&
		port->bytes[queue] + frame->bytes > profile->drop_bytes[queue])
		return drop(sw, index, queue, frame->bytes,
			is_trimmed(frame) ? WEFT_SWITCH_DROP_TRIM_TAIL
					  : WEFT_SWITCH_DROP_CONTROL_TAIL);
	if (!queue_is_ready(sw, port))
		queue_wake(port, now_ps);
	append(sw, port, queue, frame);
	uint64_t *watermark = &counters_of(sw, index)->queue[queue].watermark;

	*watermark = WEFT_MAX(*watermark, port->bytes[queue]);
	return WEFT_SWITCH_DROP_NONE;
}

/* ---- out ---- */

static uint32_t line_bytes(const struct weft_frame *frame)
{
	return (uint32_t)frame->bytes + WEFT_FRAME_GAP_BYTES;
}

/* ready: from ready_queues(), not 0.  At most 129 turns: a frame takes 65,559 bytes, a turn gives
 * 512 or more.
 */
static enum weft_queue pick(const struct weft_switch *sw, struct port *port, unsigned ready)
{
	const struct weft_port_profile *profile = &sw->config.profiles[port->profile];

	if (WEFT_LIKELY(weft_is_pow2(ready))) {
		port->deficit[WEFT_QUEUE_DATA] = port->deficit[WEFT_QUEUE_CONTROL] = 0;
		return (enum weft_queue)weft_ctz64(ready);
	}
	for (;;) {
		uint32_t turn = port->turn;
		uint32_t bytes = line_bytes(&sw->config.pool->frames[port->head[turn]]);

		if (port->deficit[turn] >= bytes) {
			port->deficit[turn] -= bytes;
			return (enum weft_queue)turn;
		}
		port->turn = (uint8_t)!turn;
		port->deficit[!turn] += profile->quantum_bytes[!turn];
	}
}

static void remove_head(
	struct weft_switch *sw, struct port *port, enum weft_queue queue, struct weft_frame *frame)
{
	struct weft_frame_pool *pool = sw->config.pool;
	uint32_t index = port->head[queue];

	*frame = pool->frames[index];
	port->head[queue] = frame->next;
	port->bytes[queue] -= frame->bytes;
	if (port->bytes[queue])
		__builtin_prefetch(&pool->frames[frame->next], 1);
	pool_give(pool, index);
	if (queue == WEFT_QUEUE_DATA)
		pfc_leave(sw, frame->in_port, frame->bytes);
}

static bool flush(struct weft_switch *sw, uint32_t index, struct weft_departure *departure)
{
	struct port *port = &sw->ports[index];

	for (unsigned queue = 0; queue < WEFT_QUEUES; queue++) {
		if (!port->bytes[queue])
			continue;
		remove_head(sw, port, (enum weft_queue)queue, &departure->frame);
		departure->drop = (enum weft_switch_drop)port->flush_drop;
		departure->starts_ps = departure->ends_ps = 0;
		sw->drops[departure->drop]++;
		drop(sw, index, (enum weft_queue)queue, departure->frame.bytes, departure->drop);
		return true;
	}
	port->flags &= (uint8_t)~PORT_FLUSH;
	return false;
}

static void count_sent(
	struct weft_port_counters *counters, enum weft_queue queue, const struct weft_frame *frame)
{
	struct weft_queue_counters *q = &counters->queue[queue];

	counters->out_pkts++;
	counters->out_octets += frame->bytes;
	q->pkts++;
	q->octets += frame->bytes;
	if (frame->flags & WEFT_FRAME_CUT_HERE) {
		counters->trim_sent++;
		q->trim_sent++;
	}
}

bool weft_switch_take(
	struct weft_switch *sw, uint32_t index, uint64_t now_ps, struct weft_departure *departure)
{
	WEFT_ASSERT(index < sw->config.ports);
	struct port *port = &sw->ports[index];

	if (WEFT_UNLIKELY(port->flags & PORT_FLUSH) && flush(sw, index, departure))
		return true;
	unsigned ready = ready_queues(sw, port);

	if (!ready || port->start_ps > now_ps)
		return false;
	enum weft_queue queue = pick(sw, port, ready);

	remove_head(sw, port, queue, &departure->frame);
	departure->drop = WEFT_SWITCH_DROP_NONE;
	departure->starts_ps = port->start_ps;
	port->start_ps += line_bytes(&departure->frame) * port->byte_ps_q16 >> 16;
	departure->ends_ps = port->start_ps;
	count_sent(counters_of(sw, index), queue, &departure->frame);
	return true;
}

uint64_t weft_switch_port_next(const struct weft_switch *sw, uint32_t index)
{
	WEFT_ASSERT(index < sw->config.ports);
	const struct port *port = &sw->ports[index];

	if (port->flags & PORT_FLUSH && (port->bytes[0] || port->bytes[1]))
		return 0;
	return queue_is_ready(sw, port) ? port->start_ps : WEFT_NEVER;
}

uint32_t weft_switch_busy_port(const struct weft_switch *sw, uint32_t index)
{
	while (index < sw->config.ports && !(sw->ports[index].bytes[0] | sw->ports[index].bytes[1]))
		index++;
	return index;
}

uint32_t weft_switch_depth_bytes(const struct weft_switch *sw, uint32_t port, enum weft_queue queue)
{
	WEFT_ASSERT(port < sw->config.ports && queue < WEFT_QUEUES);
	return sw->ports[port].bytes[queue];
}
