/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_TRANSPORT_H
#define WEFT_TRANSPORT_H
/*
 * transport - what every transport does, whichever it is: packets in, packets out, when to ask.
 *
 * A table of functions over a state that the caller has opened by the transport's own header:
 * engine.h for MRC (its table is in nic_mrc.h), baseline.h for what it is compared with
 * (nic_baseline.h).  Connections and works are opened and posted there too, because they differ.
 * The tables stand in headers, so that a caller who names one has its functions in line.
 *
 * Time     Picoseconds, never backwards.  MRC counts nanoseconds and rounds down inside, so pass
 *          it times from one clock only.
 * Memory, Threads, Errors   As the transport's own header says.
 */
#include <weft/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every member required but fetch. */
struct weft_transport {
	const char *name;
	/* Takes one packet in; *place says where its payload belongs, len_bytes 0: nowhere. */
	void (*input)(void *state, const struct weft_pkt *pkt, uint64_t now_ps,
		struct weft_place *place);
	/*
	 * Fires what is due, then gives one packet that may leave by a port in the mask free; no
	 * data by those in paused.  False: nothing may leave.
	 */
	bool (*output)(void *state, struct weft_pkt *pkt, uint32_t free, uint32_t paused,
		uint64_t now_ps);
	bool (*wants_output)(const void *state); /* false: until the next input, post or timer */
	uint64_t (*next_ps)(const void *state);  /* of its timers; WEFT_NEVER: none */
	/* One completion of completion queue 0; false: none. */
	bool (*poll)(void *state, struct weft_done *done);
	void (*port_mark)(void *state, uint32_t port, bool is_up, uint64_t now_ps);
	/* In the engine's words, as far as it has words for them; the rest is 0. */
	void (*counters)(const void *state, struct weft_counters *counters);
	void (*check)(const void *state); /* walks every invariant; aborts on a broken one */
	/* Memory that input will want: steps 0 and 1, some other work between.  NULL: none. */
	void (*fetch)(const void *state, const struct weft_pkt *pkt, unsigned step);
	bool is_polled_at_once; /* after each input: its completion queue is short */
};

#ifdef __cplusplus
}
#endif
#endif /* WEFT_TRANSPORT_H */
