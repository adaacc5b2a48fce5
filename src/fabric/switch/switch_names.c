/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switch_names - words for what is counted, from the lists in include/weft.
 *
 * Counters carry the names of SAI, the interface between SONiC and switch silicon, so that what
 * reads a real switch reads this one.  Values are found by number, not by a copy of the struct.
 */
#include "switch_local.h"

static const struct {
	const char *key, *text;
} drops[WEFT_SWITCH_DROP_COUNT] = {
#define WEFT_SWITCH_DROP(NAME, key, text) { key, text },
#include <weft/switch_drops.def>
#undef WEFT_SWITCH_DROP
};

struct counter {
	const char *name;
	size_t offset;
};

static const struct counter port_counters[] = {
#define WEFT_PORT_COUNTER(field, name, text) { name, offsetof(struct weft_port_counters, field) },
#define WEFT_QUEUE_COUNTER(field, name, text)
#include <weft/switch_counters.def>
#undef WEFT_PORT_COUNTER
#undef WEFT_QUEUE_COUNTER
};

static const struct counter queue_counters[] = {
#define WEFT_PORT_COUNTER(field, name, text)
#define WEFT_QUEUE_COUNTER(field, name, text) { name, offsetof(struct weft_queue_counters, field) },
#include <weft/switch_counters.def>
#undef WEFT_PORT_COUNTER
#undef WEFT_QUEUE_COUNTER
};

const char *weft_switch_drop_name(enum weft_switch_drop drop)
{
	return (unsigned)drop < WEFT_SWITCH_DROP_COUNT ? drops[drop].key : "?";
}

const char *weft_switch_drop_text(enum weft_switch_drop drop)
{
	return (unsigned)drop < WEFT_SWITCH_DROP_COUNT ? drops[drop].text : "?";
}

static uint64_t load(const void *counters, size_t offset)
{
	uint64_t value;

	__builtin_memcpy(&value, (const char *)counters + offset, sizeof(value));
	return value;
}

const char *weft_port_counter_name(unsigned i)
{
	return i < WEFT_COUNT(port_counters) ? port_counters[i].name : NULL;
}

uint64_t weft_port_counter_value(const struct weft_port_counters *counters, unsigned i)
{
	WEFT_ASSERT(i < WEFT_COUNT(port_counters));
	return load(counters, port_counters[i].offset);
}

const char *weft_queue_counter_name(unsigned i)
{
	return i < WEFT_COUNT(queue_counters) ? queue_counters[i].name : NULL;
}

uint64_t weft_queue_counter_value(const struct weft_queue_counters *counters, unsigned i)
{
	WEFT_ASSERT(i < WEFT_COUNT(queue_counters));
	return load(counters, queue_counters[i].offset);
}
