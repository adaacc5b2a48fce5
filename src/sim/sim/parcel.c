/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parcel - what goes from one rank to another, once per step.
 *
 * Only cables between T0s and T1s cross, and what they carry arrives in a later step: so a step is
 * run first, by all lanes, and then everything that lies in boxes of other ranks' nodes is packed,
 * with its packet, whose slot is free after that.  All of a rank's lanes write into one letter per
 * rank: they count first, so that each knows its place.  What comes is dealt out evenly, whoever
 * owns the nodes: a lane may put mail into any box.
 *
 * Boxes that were emptied this way still count as used until their window is over.  So each rank
 * says of itself when something it has sent will arrive, wherever that is, and the next step is
 * found as in a process that is alone.
 *
 * Hot: parcels_write and parcels_read.
 */
#include "ranks.h"

typedef void box_fn(struct lane *lane, struct post *post, uint32_t ahead, uint32_t node);

static uint64_t first_window(const struct lane *lane)
{
	return lane->window / lane->sim->windows * lane->sim->windows;
}

/* The slot that is `ahead` windows or steps after the beginning of the step that has been run. */
static uint32_t slot_of(const struct lane *lane, enum clock clock, uint32_t ahead)
{
	const struct weft_sim *sim = lane->sim;
	uint64_t first = first_window(lane);

	return (uint32_t)((clock == CLOCK_STEP ? first / sim->windows + ahead : first + ahead) %
			  sim->rings[clock]);
}

/* All boxes for nodes of others in [first, end), of all windows to come. */
static void walk(struct lane *lane, enum clock clock, uint32_t first, uint32_t end, box_fn *fn)
{
	const struct weft_sim *sim = lane->sim;
	const uint64_t *foreign = sim->links->foreign;

	for (uint32_t ahead = 1; ahead < sim->rings[clock]; ahead++) {
		struct post *post = &lane->mail_of[clock].posts[slot_of(lane, clock, ahead)];

		if (!post->used)
			continue;
		for (uint32_t word = first / 64; word <= (end - 1) / 64 && first < end; word++) {
			uint64_t bits = post->bits[word] & foreign[word];

			for (; bits; bits &= bits - 1)
				fn(lane, post, ahead, word * 64 + weft_ctz64(bits));
		}
	}
}

static void walk_all(struct lane *lane, box_fn *fn)
{
	const struct weft_sim *sim = lane->sim;

	walk(lane, CLOCK_WINDOW, sim->shape.hosts, sim->first_t1, fn);
	walk(lane, CLOCK_STEP, sim->first_t1, sim->shape.nodes, fn);
}

static uint32_t *count_of(const struct lane *lane, uint32_t node)
{
	const struct weft_sim *sim = lane->sim;
	const struct links *links = sim->links;

	return &links->counts[lane->index * links->to.n + links->rank_of[node - sim->shape.hosts]];
}

static void count(struct lane *lane, struct post *post, uint32_t ahead, uint32_t node)
{
	const struct box *b = &post->boxes[node];
	uint32_t n = 0;

	(void)ahead;
	for (uint32_t chunk = box_chunk(b); chunk != NONE; chunk = post->chunks[chunk].back[0])
		n += box_frames(b, chunk);
	*count_of(lane, node) += n;
}

void parcels_count(struct lane *lane)
{
	const struct links *links = lane->sim->links;

	memset(&links->counts[lane->index * links->to.n], 0, links->to.n * sizeof(*links->counts));
	walk_all(lane, count);
}

/* Where a rank's letter begins: a tally, then parcels, lane by lane. */
static uint8_t *letter_of(const struct weft_sim *sim, uint32_t rank, uint64_t *n)
{
	const struct links *links = sim->links;
	uint64_t before = 0;

	*n = 0;
	for (uint32_t lane = 0; lane < sim->n_lanes; lane++) {
		const uint32_t *counts = &links->counts[lane * links->to.n];

		for (uint32_t i = 0; i < rank; i++)
			before += counts[i];
		*n += counts[rank];
	}
	uint64_t at = rank * sizeof(struct tally) + before * sizeof(struct parcel);

	WEFT_ASSERT(at + sizeof(struct tally) + *n * sizeof(struct parcel) <= links->room_bytes);
	return links->room + at;
}

static void pack(struct lane *lane, struct post *post, uint32_t ahead, uint32_t node)
{
	struct weft_sim *sim = lane->sim;
	struct parcel **next = &lane->parcels[sim->links->rank_of[node - sim->shape.hosts]];
	const struct box *b = &post->boxes[node];

	for (uint32_t chunk = box_chunk(b), before; chunk != NONE; chunk = before) {
		const struct chunk *c = &post->chunks[chunk];
		uint32_t n = box_frames(b, chunk);

		for (uint32_t i = 0; i < n; i++)
			__builtin_prefetch(&sim->slab.pkts[(uint32_t)c->frames[i].handle], 1);
		for (uint32_t i = 0; i < n; i++) {
			const struct weft_frame *frame = &c->frames[i];
			uint32_t slot = (uint32_t)frame->handle;
			struct parcel *p = (*next)++;

			p->frame = *frame;
			p->frame.handle = frame->handle >> 32 << 32 | ahead;
			p->frame.next = node;
			if (WEFT_UNLIKELY(frame->flags & FRAME_PAUSE)) {
				memset(&p->pkt, 0, sizeof(p->pkt));
				continue;
			}
			p->pkt = sim->slab.pkts[slot];
			slab_give(&sim->slab, &lane->cache, slot);
		}
		before = c->back[0];
		slab_give(&sim->mail, &lane->chunk_cache, chunk);
	}
	post->bits[node / 64] &= ~(UINT64_C(1) << node % 64);
}

void parcels_write(struct lane *lane)
{
	const struct weft_sim *sim = lane->sim;
	const struct links *links = sim->links;

	for (uint32_t rank = 0; rank < links->to.n; rank++) {
		uint64_t n, before = 0;
		uint8_t *letter = letter_of(sim, rank, &n);

		for (uint32_t i = 0; i < lane->index; i++)
			before += links->counts[i * links->to.n + rank];
		lane->parcels[rank] =
			(struct parcel *)(void *)(letter + sizeof(struct tally)) + before;
	}
	walk_all(lane, pack);
}

static void add(struct tally *to, const struct tally *from)
{
	to->next = WEFT_MIN(to->next, from->next);
	to->hops += from->hops;
	to->done += from->done;
	to->failed += from->failed;
	to->stop |= from->stop;
}

void parcels_exchange(struct weft_sim *sim, unsigned turn)
{
	struct links *links = sim->links;
	struct tally own = { .next = WEFT_NEVER, .stop = sim->stop[turn] };

	for (uint32_t i = 0; i < sim->n_lanes; i++) {
		const struct lane *lane = &sim->lanes[i];

		add(&own, &(struct tally){ lane->next[turn], lane->hops[turn], lane->done[turn],
				  lane->failed[turn], 0, 0 });
	}
	for (uint32_t rank = 0; rank < links->to.n; rank++) {
		uint64_t n;
		uint8_t *letter = letter_of(sim, rank, &n);

		own.n = (uint32_t)n;
		*(struct tally *)(void *)letter = own;
		links->out[rank] =
			(struct weft_sim_letter){ letter, sizeof(own) + n * sizeof(struct parcel) };
	}
	links->others = (struct tally){ .next = WEFT_NEVER };
	if (!links->to.exchange(links->to.user, links->out, links->in)) {
		memset(links->in, 0, links->to.n * sizeof(*links->in));
		links->others.stop = links->is_cut = true;
		return;
	}
	links->in[links->to.rank] = (struct weft_sim_letter){ NULL, 0 };
	for (uint32_t rank = 0; rank < links->to.n; rank++) {
		const struct tally *tally = links->in[rank].at;

		if (rank == links->to.rank)
			continue;
		WEFT_ASSERT(
			links->in[rank].bytes == sizeof(*tally) + tally->n * sizeof(struct parcel));
		add(&links->others, tally);
	}
}

static void unpack(struct lane *lane, const struct parcel *p)
{
	struct weft_sim *sim = lane->sim;
	uint32_t node = p->frame.next, ahead = (uint32_t)p->frame.handle, slot = 0;

	WEFT_ASSERT(node >= sim->shape.hosts && node < sim->shape.nodes);
	enum clock clock = mail_clock(sim, node);

	WEFT_ASSERT(ahead && ahead < sim->rings[clock]);
	if (WEFT_LIKELY(!(p->frame.flags & FRAME_PAUSE))) {
		slot = slab_take(&sim->slab, &lane->cache);
		sim->slab.pkts[slot] = p->pkt;
	}
	mail_put(lane, clock, slot_of(lane, clock, ahead), node, &p->frame,
		p->frame.handle >> 32 << 32 | slot);
}

void parcels_read(struct lane *lane)
{
	const struct weft_sim *sim = lane->sim;
	const struct links *links = sim->links;

	for (uint32_t rank = 0; rank < links->to.n; rank++) {
		const struct weft_sim_letter *letter = &links->in[rank];
		const struct tally *tally = letter->at;

		if (!letter->bytes)
			continue;
		const struct parcel *parcels = (const struct parcel *)(const void *)(tally + 1);
		uint64_t n = tally->n;
		uint64_t end = n * (lane->index + 1) / sim->n_lanes;

		for (uint64_t i = n * lane->index / sim->n_lanes; i < end; i++)
			unpack(lane, &parcels[i]);
	}
}
