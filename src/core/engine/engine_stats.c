/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * engine_stats - the engine as others may see it: counters by name, events in order.
 *
 * Names are listed once, beside the offset they stand for, so that exporters, `weft top` and
 * the JSON of tools cannot disagree; drop reasons follow from drops.def.
 */
#include "engine_local.h"

#define FIELD(name) { #name, offsetof(struct weft_counters, name) }
static const struct {
	const char *name;
	size_t offset;
} fields[] = {
	FIELD(tx_data_pkts),   FIELD(tx_data_bytes),    FIELD(tx_rtx_pkts),
	FIELD(rx_data_pkts),   FIELD(rx_data_bytes),    FIELD(tx_sack),
	FIELD(rx_sack),	       FIELD(tx_nack),	        FIELD(rx_nack),
	FIELD(tx_ack),	       FIELD(rx_ack),	        FIELD(tx_probe),
	FIELD(rx_probe),       FIELD(tx_ep_request),    FIELD(rx_ep_request),
	FIELD(tx_ep_response), FIELD(rx_ep_response),   FIELD(lost_fifo),
	FIELD(lost_reorder),   FIELD(lost_timer),       FIELD(lost_nack),
	FIELD(lost_port),      FIELD(timeouts),	        FIELD(tail_probes),
	FIELD(spurious),       FIELD(rx_ce),	        FIELD(rx_trimmed),
	FIELD(rx_duplicate),   FIELD(paths_retired),    FIELD(paths_revived),
	FIELD(planes_suspected), FIELD(no_records),	FIELD(tx_rnr),
	FIELD(rx_rnr),	       FIELD(tx_reply),	        FIELD(rx_reply),
};
#undef FIELD
static_assert(sizeof(struct weft_counters) ==
		      (WEFT_COUNT(fields) + WEFT_DROP_COUNT) * sizeof(uint64_t),
	      "a new counter needs its name here");

static const char *const drop_counters[] = {
#define WEFT_DROP(NAME, text) "drop_" #NAME,
#include <weft/drops.def>
#undef WEFT_DROP
};

const struct weft_counters *weft_stats(const struct weft_endpoint *ep)
{
	return &ep->count;
}

const char *weft_counter_name(unsigned i)
{
	if (i < WEFT_COUNT(fields))
		return fields[i].name;
	i -= (unsigned)WEFT_COUNT(fields);
	return i < WEFT_DROP_COUNT ? drop_counters[i] : NULL;
}

uint64_t weft_counter_value(const struct weft_counters *c, unsigned i)
{
	uint64_t value;

	if (i >= WEFT_COUNT(fields)) {
		i -= (unsigned)WEFT_COUNT(fields);
		WEFT_ASSERT(i < WEFT_DROP_COUNT);
		return c->drops[i];
	}
	memcpy(&value, (const char *)c + fields[i].offset, sizeof(value));
	return value;
}

size_t weft_events(const struct weft_endpoint *ep, uint64_t *seq, struct weft_event events[],
		   size_t max)
{
	uint64_t kept = WEFT_MIN(ep->event_seq, (uint64_t)ep->config.events);
	size_t n = 0;

	*seq = WEFT_MAX(*seq, ep->event_seq - kept);
	while (n < max && *seq < ep->event_seq)
		events[n++] = ep->events[(*seq)++ & (ep->config.events - 1)];
	return n;
}

const char *weft_strerror(int error)
{
	static const char *const words[] = {
		[0] = "ok",
		[-WEFT_EINVAL] = "an argument is out of its range",
		[-WEFT_EFULL] = "no free slot, or the queue is full",
		[-WEFT_ESTATE] = "not possible in this state",
		[-WEFT_ENOENT] = "no such object",
	};

	return error <= 0 && error > -(int)WEFT_COUNT(words) ? words[-error] : "?";
}

const char *weft_status_name(int status)
{
	static const char *const names[] = {
		[WEFT_OK] = "ok",
		[WEFT_FLUSHED] = "flushed",
		[WEFT_RETRY_EXCEEDED] = "retry budget exceeded",
		[WEFT_REMOTE_ACCESS] = "remote access error",
		[WEFT_REMOTE_INVALID] = "remote says: invalid request",
		[WEFT_REMOTE_OPERATION] = "remote operation error",
		[WEFT_LOCAL_NO_RECV] = "an immediate arrived, no receive was posted",
		[WEFT_LOCAL_PROTOCOL] = "the peer broke an agreement",
		[WEFT_CQ_OVERRUN] = "completion queue overrun",
		[WEFT_LOCAL_LENGTH] = "a message was longer than its receive",
		[WEFT_RNR_RETRY_EXCEEDED] = "the peer had no receive posted for too long",
		[WEFT_LOCAL_MEMORY] = "memory that a work names is not there any more",
	};
	return status >= 0 && (size_t)status < WEFT_COUNT(names) ? names[status] : "?";
}
