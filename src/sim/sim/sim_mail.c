/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_mail - frames under way, by receiver and window.
 *
 * No cable is shorter than a window, so what leaves a port now arrives in a later window: nobody
 * has to be told at once, and there is no queue of events.  Frames are put, in no order, into the
 * box of the node that they go to; the node sorts its own when its window comes.  Boxes are lists
 * of chunks of seven frames.  A chunk knows the eight before it: who walks back asks for them
 * before they are needed.  It is free as soon as its node has been run, and is taken again next,
 * while it is still in the cache; an arena per window is written where nothing was for several
 * windows.
 *
 * T1s are further away than hosts: they are run once for all windows of a step, and what goes to
 * them is put down by steps.
 *
 * Boxes of a window are spread over more memory than a cache holds, and who sends knows no sooner
 * than now which one is next.  So frames wait in a short ring until their box is there.
 *
 * Order is (time, port), the same for any number of threads: no port brings two frames at the same
 * instant.
 *
 * Hot: all of it.
 */
#include "sim_local.h"

enum { STRETCH_BITS_MAX = 11, STRETCHES_MAX = 1 << STRETCH_BITS_MAX, SHORT = 24 };

/*
 * A word has bits of several lanes' nodes.  Its owner may be setting one for a window of this step
 * while another lane looks for one of its own, which has been there since before the step: no
 * order is needed, but no half of a word either.
 */
static uint64_t bits_of(const struct post *post, uint32_t word)
{
	return __atomic_load_n(&post->bits[word], __ATOMIC_RELAXED);
}

static void bits_set(uint64_t *word, uint64_t bits)
{
	__atomic_store_n(word, bits, __ATOMIC_RELAXED);
}

/* To be read, or to be written; the compiler wants a constant. */
static inline void fetch_chunk(const struct post *post, uint32_t index, bool is_empty)
{
	const uint8_t *line = (const uint8_t *)&post->chunks[index];

	for (size_t at = 0; at < sizeof(struct chunk); at += WEFT_CACHE_LINE_BYTES) {
		if (is_empty)
			__builtin_prefetch(line + at, 1);
		else
			__builtin_prefetch(line + at);
	}
}

/* Behind that one in its box; NONE: the first. */
static uint32_t new_chunk(struct lane *lane, struct post *post, uint32_t last)
{
	uint32_t index = slab_take(&lane->sim->mail, &lane->chunk_cache);
	uint32_t next = lane->chunk_cache.free;
	struct chunk *chunk = &post->chunks[index];

	post->used = true;
	/* The next one has come by now, and says which one will be next. */
	if (next != NONE && post->chunks[next].back[0] != NONE)
		fetch_chunk(post, post->chunks[next].back[0], true);
	if (last == NONE) {
		memset(chunk->back, 0xff, sizeof(chunk->back));
		return index;
	}
	memcpy(&chunk->back[1], post->chunks[last].back,
		sizeof(chunk->back) - sizeof(chunk->back[0]));
	chunk->back[0] = last;
	return index;
}

static inline void put(struct lane *lane, struct post *post, uint32_t node,
	const struct weft_frame *frame, uint64_t handle)
{
	uint64_t *word = &post->bits[node / 64], bit = UINT64_C(1) << node % 64;
	struct box *b = &post->boxes[node];

	if (!(*word & bit)) {
		bits_set(word, *word | bit);
		b->last = new_chunk(lane, post, NONE) << 3;
	} else if ((b->last & 7) == CHUNK_FRAMES) {
		b->last = new_chunk(lane, post, b->last >> 3) << 3;
	}
	struct weft_frame *to = &post->chunks[b->last >> 3].frames[b->last & 7];

	__builtin_prefetch(to + 3, 1);
	*to = *frame;
	to->handle = handle;
	b->last++;
}

void mail_put(struct lane *lane, enum clock clock, uint32_t slot, uint32_t node,
	const struct weft_frame *frame, uint64_t handle)
{
	put(lane, &lane->mail_of[clock].posts[slot], node, frame, handle);
}

/* Where the next frame for that node goes; of a full chunk, what the next chunk copies. */
static void fetch_room(const struct post *post, uint32_t node)
{
	/* The box of a node without mail is an old one: then this is a line too many. */
	uint32_t last = post->boxes[node].last;
	const struct chunk *chunk = &post->chunks[last >> 3];

	if ((last & 7) == CHUNK_FRAMES)
		__builtin_prefetch(chunk->back);
	else
		__builtin_prefetch(&chunk->frames[last & 7], 1);
}

static inline void settle(struct lane *lane, struct outgoing *out)
{
	if (WEFT_LIKELY(out->post != NULL))
		put(lane, out->post, out->node, &out->frame, out->handle);
	out->post = NULL;
}

void mail_flush(struct lane *lane)
{
	for (uint32_t i = 0; i < OUTGOING; i++)
		settle(lane, &lane->outgoing[(lane->next_outgoing + i) % OUTGOING]);
}

/* The post for that time; the handle says when in its window or step, and which packet. */
static inline struct post *post_at(
	struct lane *lane, uint32_t node, uint64_t at_ps, uint32_t number, uint64_t *handle)
{
	const struct weft_sim *sim = lane->sim;
	enum clock clock = mail_clock(sim, node);
	const struct mailbox *box = &lane->mail_of[clock];
	uint64_t ahead = at_ps - box->start_ps, window_ps = sim->clock_ps[clock], windows = 1;

	WEFT_ASSERT(ahead >= window_ps);
	ahead -= window_ps;
	if (ahead >= window_ps) {
		windows = ahead < 2 * window_ps ? 2 : 1 + ahead / window_ps;
		ahead -= (windows - 1) * window_ps;
	}
	WEFT_ASSERT(windows < sim->rings[clock]);
	uint64_t slot = box->slot + windows;

	*handle = number | ahead << 32;
	lane->packet_hops++;
	return &box->posts[slot < sim->rings[clock] ? slot : slot - sim->rings[clock]];
}

struct weft_frame *mail_room(struct lane *lane, uint32_t node, uint64_t at_ps, uint32_t number)
{
	uint32_t at = lane->next_outgoing++ % OUTGOING;
	struct outgoing *out = &lane->outgoing[at];
	const struct outgoing *near = &lane->outgoing[(at + OUTGOING - OUTGOING_BOX) % OUTGOING];
	uint64_t handle;
	struct post *post = post_at(lane, node, at_ps, number, &handle);

	__builtin_prefetch(&post->boxes[node], 1);
	settle(lane, out);
	if (WEFT_LIKELY(near->post != NULL))
		fetch_room(near->post, near->node);
	out->post = post;
	out->node = node;
	out->handle = handle;
	return &out->frame;
}

void mail_post(struct lane *lane, uint32_t node, uint64_t at_ps, const struct weft_frame *frame)
{
	uint64_t handle;
	struct post *post = post_at(lane, node, at_ps, (uint32_t)frame->handle, &handle);

	put(lane, post, node, frame, handle);
}

/* The chunk that is CHUNK_BACK behind this one in the list, if there is one. */
static void fetch_behind(const struct post *post, const struct chunk *chunk)
{
	if (chunk->back[CHUNK_BACK - 1] != NONE)
		fetch_chunk(post, chunk->back[CHUNK_BACK - 1], false);
}

/*
 * From the end of the batch's room down, so that walking back leaves frames in the order in which
 * they were put down: what came from one node is sorted then.
 */
static uint32_t gather(const struct lane *lane, struct batch *batch, const struct post *post,
	uint32_t node, uint32_t from)
{
	const struct weft_pkt *pkts = lane->sim->slab.pkts;
	bool is_host = node < lane->sim->shape.hosts;

	if (!(bits_of(post, node / 64) >> node % 64 & 1))
		return from;
	const struct box *b = &post->boxes[node];
	uint32_t last = NONE;

	for (uint32_t chunk = box_chunk(b); chunk != NONE; chunk = post->chunks[chunk].back[0]) {
		const struct chunk *c = &post->chunks[chunk];
		uint32_t frames = box_frames(b, chunk);

		WEFT_ASSERT(frames <= from);
		from -= frames;
		fetch_behind(post, c);
		for (uint32_t i = 0; i < frames; i++) {
			const struct weft_frame *frame = &c->frames[i];
			uint32_t at = from + i;

			batch->frames[at] = frame;
			if (is_host)
				__builtin_prefetch(&pkts[(uint32_t)frame->handle], 1);
			batch->keys[at] = (frame->handle >> 32 << 32) |
					  (uint64_t)frame->in_port << MAIL_NUMBER_BITS | at;
		}
		last = chunk;
		batch->chunks++;
	}
	/* One list of what lanes have sent; only its end is written, and nobody walks it again. */
	post->chunks[last].back[0] = batch->chunk;
	if (batch->chunk == NONE)
		batch->last_chunk = last;
	batch->chunk = box_chunk(b);
	return from;
}

static void sort_short(uint64_t keys[], uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		uint64_t key = keys[i];
		uint32_t at = i;

		for (; at && keys[at - 1] > key; at--)
			keys[at] = keys[at - 1];
		keys[at] = key;
	}
}

/*
 * Into about as many stretches of time as there are frames, each in the order in which they came;
 * what is left to do is little, and mostly done: what came from one node is in order already.
 */
static void sort_long(const struct lane *lane, struct batch *batch, uint32_t n)
{
	const uint64_t *keys = batch->sorted;
	uint64_t *sorted = batch->keys_spare;
	uint32_t at[STRETCHES_MAX + 1];
	unsigned bits = WEFT_MIN(64 - weft_clz64(n - 1), (unsigned)STRETCH_BITS_MAX);
	unsigned shift = 32 + 64 - weft_clz64(lane->end_ps - lane->start_ps - 1) - bits;

	memset(at, 0, ((1u << bits) + 1) * sizeof(at[0]));
	for (uint32_t i = 0; i < n; i++)
		at[(keys[i] >> shift) + 1]++;
	for (uint32_t i = 1; i < 1u << bits; i++)
		at[i] += at[i - 1];
	for (uint32_t i = 0; i < n; i++)
		sorted[at[keys[i] >> shift]++] = keys[i];
	batch->sorted = sorted;
	sort_short(sorted, n);
}

static void collect(const struct lane *lane, struct batch *batch, uint32_t node)
{
	const struct weft_sim *sim = lane->sim;
	enum clock clock = mail_clock(sim, node);
	uint32_t slot = lane->mail_of[clock].slot, from = lane->frames_max;

	batch->node = node;
	batch->chunk = NONE;
	batch->chunks = 0;
	for (uint32_t i = 0; i < sim->n_lanes; i++)
		from = gather(lane, batch, &sim->lanes[i].mail_of[clock].posts[slot], node, from);
	batch->n = lane->frames_max - from;
	batch->sorted = batch->keys + from;
	if (batch->n <= SHORT)
		sort_short(batch->sorted, batch->n);
	else
		sort_long(lane, batch, batch->n);
}

void mail_collect(struct lane *lane, uint32_t node)
{
	struct batch batch = lane->mail;

	if (batch.node == node)
		return;
	if (lane->ahead.node != node) {
		collect(lane, &lane->mail, node);
		return;
	}
	lane->mail = lane->ahead;
	lane->ahead = batch;
	lane->ahead.node = NONE;
}

void mail_ahead(struct lane *lane, uint32_t node)
{
	collect(lane, &lane->ahead, node);
}

void mail_done(struct lane *lane)
{
	struct batch *batch = &lane->mail;

	if (batch->chunk != NONE)
		slab_give_list(&lane->sim->mail, &lane->chunk_cache, batch->chunk,
			batch->last_chunk, batch->chunks);
	batch->chunk = batch->node = NONE;
}

void mail_fetch(const struct lane *lane, uint32_t node, bool is_near)
{
	const struct weft_sim *sim = lane->sim;
	enum clock clock = mail_clock(sim, node);
	uint32_t slot = lane->mail_of[clock].slot;

	for (uint32_t i = 0; i < sim->n_lanes; i++) {
		const struct post *post = &sim->lanes[i].mail_of[clock].posts[slot];

		if (!(bits_of(post, node / 64) >> node % 64 & 1))
			continue;
		uint32_t last = box_chunk(&post->boxes[node]);
		const struct chunk *chunk = &post->chunks[last];

		if (!is_near)
			fetch_chunk(post, last, false);
		for (uint32_t k = 0; is_near && k < CHUNK_BACK && chunk->back[k] != NONE; k++)
			fetch_chunk(post, chunk->back[k], false);
	}
}

void mail_time(struct lane *lane, uint64_t window, bool is_step)
{
	const struct weft_sim *sim = lane->sim;
	struct mailbox *windows = &lane->mail_of[CLOCK_WINDOW], *steps = &lane->mail_of[CLOCK_STEP];

	mail_flush(lane);
	lane->mail.node = lane->ahead.node = NONE;
	lane->window = window;
	lane->start_ps = windows->start_ps = window * sim->window_ps;
	lane->end_ps = lane->start_ps + sim->clock_ps[is_step ? CLOCK_STEP : CLOCK_WINDOW];
	windows->slot = (uint32_t)(window % sim->rings[CLOCK_WINDOW]);
	if (!is_step)
		return;
	lane->step_end_ps = lane->end_ps;
	steps->start_ps = lane->start_ps;
	steps->slot = (uint32_t)(window / sim->windows % sim->rings[CLOCK_STEP]);
}

static void clear(const struct weft_sim *sim, struct post *post)
{
	if (!post->used)
		return;
	post->used = false;
	memset(post->bits, 0, WEFT_DIV_UP(sim->shape.nodes, 64u) * sizeof(uint64_t));
}

static uint64_t first_window(const struct lane *lane)
{
	return lane->window / lane->sim->windows * lane->sim->windows;
}

void mail_clear(struct lane *lane)
{
	const struct weft_sim *sim = lane->sim;
	uint64_t window = first_window(lane);
	struct mailbox *windows = &lane->mail_of[CLOCK_WINDOW], *steps = &lane->mail_of[CLOCK_STEP];

	for (uint32_t i = 0; i < sim->windows; i++)
		clear(sim, &windows->posts[(window + i) % sim->rings[CLOCK_WINDOW]]);
	clear(sim, &steps->posts[steps->slot]);
}

uint64_t mail_next(const struct lane *lane)
{
	const struct weft_sim *sim = lane->sim;
	const struct mailbox *windows = &lane->mail_of[CLOCK_WINDOW];
	const struct mailbox *steps = &lane->mail_of[CLOCK_STEP];
	uint64_t window = first_window(lane), step = window / sim->windows, next = WEFT_NEVER;

	for (uint32_t i = sim->windows; i < sim->rings[CLOCK_WINDOW] && next == WEFT_NEVER; i++)
		if (windows->posts[(window + i) % sim->rings[CLOCK_WINDOW]].used)
			next = window + i;
	for (uint32_t i = 1; i < sim->rings[CLOCK_STEP]; i++)
		if (steps->posts[(step + i) % sim->rings[CLOCK_STEP]].used)
			return WEFT_MIN(next, (step + i) * sim->windows);
	return next;
}

uint64_t mail_bits(const struct lane *lane, enum clock clock, uint32_t word)
{
	const struct weft_sim *sim = lane->sim;
	uint32_t slot = lane->mail_of[clock].slot;
	uint64_t bits = 0;

	for (uint32_t i = 0; i < sim->n_lanes; i++)
		bits |= bits_of(&sim->lanes[i].mail_of[clock].posts[slot], word);
	return bits;
}
