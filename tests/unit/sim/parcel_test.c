/* SPDX-License-Identifier: BSD-2-Clause */
#include "many.h"

/* What a rank finds in its boxes when the other one has had a step's worth of mail for it. */
struct find {
	uint32_t sent, n[2];
	uint64_t at_ps[2]; /* of the first frame, from the beginning of its window or step */
	struct weft_pkt pkt[2];
	uint32_t free_before, free_after, fresh; /* slots */
};

static uint32_t node_of(const struct small *s, uint32_t rank, bool is_t1)
{
	const struct weft_topo_shape *shape = weft_topo_shape(s->topo);
	struct share own = plan_share(shape, rank, 2);

	return is_t1 ? weft_topo_t1(s->topo, 1, own.t1_first)
		     : weft_topo_t0(s->topo, 1, own.t0_first);
}

static void read_box(struct lane *lane, uint32_t node, struct find *find, unsigned i)
{
	const struct weft_frame *frame;

	mail_collect(lane, node);
	find->n[i] = lane->mail.n;
	if (!lane->mail.n)
		return;
	frame = mail_frame(lane, 0);
	find->at_ps[i] = mail_ps(lane, 0) - lane->start_ps;
	find->pkt[i] = lane->sim->slab.pkts[(uint32_t)frame->handle];
}

/* Both send one packet to a T0 and forty to a T1 of the other, then look what has come. */
static void cross(struct seat *seat, void *arg)
{
	struct find *find = arg;
	struct small s = small_make(SMALL_FOUR);
	uint32_t other = !seat->ranks.rank;

	s.config.ranks = &seat->ranks;
	small_open(&s);
	struct lane *lane = &s.sim->lanes[0];
	uint64_t step_ps = s.sim->clock_ps[CLOCK_STEP], window = lane->window;

	mail_time(lane, window, true);
	lane->next[0] = 17;
	for (uint32_t i = 0; i < 41; i++) {
		uint32_t slot = slab_take(&s.sim->slab, &lane->cache);

		s.sim->slab.pkts[slot] = (struct weft_pkt){ .psn = 100 * other + i };
		mail_post(lane, node_of(&s, other, i > 0),
			lane->start_ps + step_ps + (i ? i : s.sim->window_ps + 7),
			&(struct weft_frame){ .handle = slot, .in_port = 2 });
	}
	find->sent = (uint32_t)lane->packet_hops;
	find->free_before = lane->cache.n_free;
	parcels_count(lane);
	parcels_write(lane);
	find->free_after = lane->cache.n_free;
	CHECK_EQ(mail_next(lane), window + s.sim->windows); /* as if it were still here */
	parcels_exchange(s.sim, 0);
	parcels_read(lane);
	CHECK_EQ(s.sim->links->others.next, 17);
	CHECK_EQ(s.sim->links->others.stop, 0);
	find->fresh = s.sim->slab.fresh;
	mail_clear(lane);
	mail_time(lane, window + s.sim->windows, true);
	read_box(lane, node_of(&s, seat->ranks.rank, true), find, 1);
	mail_time(lane, window + s.sim->windows + 1, false);
	read_box(lane, node_of(&s, seat->ranks.rank, false), find, 0);
	mail_collect(lane, node_of(&s, other, false));
	CHECK_EQ(lane->mail.n, 0); /* what was sent away is not here any more */
	small_close(&s);
}

TEST(parcels_exchange__moves_frames_and_their_packets)
{
	static struct find finds[2];

	hub_run(2, 0, cross, (void *[]){ &finds[0], &finds[1] });
	for (uint32_t rank = 0; rank < 2; rank++) {
		const struct find *f = &finds[rank];

		CHECK_EQ(f->sent, 41); /* counted where it was sent, and once */
		CHECK_EQ(f->n[0], 1);
		CHECK_EQ(f->n[1], 40);
		CHECK_EQ(f->at_ps[0], 7);
		CHECK_EQ(f->at_ps[1], 1);
		CHECK_EQ(f->pkt[0].psn, 100 * rank);
		CHECK_EQ(f->pkt[1].psn, 100 * rank + 1);
		CHECK_EQ(f->free_after, f->free_before + 41);
		CHECK_EQ(f->fresh, SLAB_BATCH);
	}
}

TEST(ranks_open__links_nobody_where_there_is_one_rank)
{
	struct small s = small_make(SMALL_FOUR);
	struct weft_sim_ranks ranks = { .rank = 0, .n = 1 };

	s.config.ranks = &ranks; /* one of one: nothing ever crosses */
	small_permute(&s, 100000);
	small_run(&s);
	CHECK(!s.sim->links);
	CHECK_EQ(s.totals.flows_done, 16);
	small_close(&s);
}
