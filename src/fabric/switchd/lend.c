/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lend - how many of the pool's slots each program may hold.
 *
 * A shared buffer with a floor for each and dynamic thresholds above it (Choudhury and Hahne,
 * "Dynamic queue length thresholds for shared-memory packet switches", 1998; what switch ASICs do):
 * a program that has sent nothing holds a handful, which is enough to begin with; one that sends is
 * topped up each turn, to a share of half of the pool; and what a program has received and not
 * given back is bounded by what is free.  A few are kept for programs that come.
 *
 * What a program holds and does not use comes back when it is asked for, and it is asked when the
 * pool runs low: before, that would be work for nothing.  A program that does not answer (stopped,
 * or foul) keeps its share; with half of the pool in such hands the others still have theirs.
 *
 * To size the pool by the number of programs was the other way: 2,048 of them would be 1.7 GB.
 */
#include "switchd_local.h"

#define FULL_MIN 64u
#define FULL_PER_PLANE 16u
#define SHARE_MIN 16u  /* of one that sends, however many do: some wake-ups per turn */
#define NEWCOMERS 256u /* whose first slots are kept */
#define HELD_MAX (2u * RING_ENTRIES)
#define HELD_MIN 8u                  /* received, while nothing is free */
#define IDLE_PS UINT64_C(1000000000) /* without sending: more than a turn and a wake-up take */
#define FILES_KEPT 64u               /* descriptors for requests, sockets and files of our own */

void lend_open(struct weft_switchd *sw, uint64_t files_max)
{
	uint64_t files = FILES_KEPT + (uint64_t)sw->shape->hosts * sw->shape->planes;
	uint64_t max = WEFT_MIN(PROCESSES_MAX, sw->slots.n / (2 * LENT_FIRST));

	if (files_max && files_max < files + max)
		max = files_max > files ? files_max - files : 1;
	sw->nic.max = (uint32_t)max;
}

/* Not for those who have some already. */
static uint32_t reserve(const struct weft_switchd *sw)
{
	return LENT_FIRST * WEFT_MIN(sw->nic.max - sw->nic.n, NEWCOMERS);
}

static uint32_t to_spare(const struct weft_switchd *sw)
{
	uint32_t kept = reserve(sw);

	return sw->slots.n_free > kept ? sw->slots.n_free - kept : 0;
}

static uint32_t target_of(const struct weft_switchd *sw, const struct process *p)
{
	uint32_t full = FULL_MIN + FULL_PER_PLANE * p->planes;

	if (!p->is_active)
		return LENT_FIRST;
	return WEFT_MIN(full, WEFT_MAX(sw->slots.n / 2 / sw->nic.n_active, SHARE_MIN));
}

void lend(struct weft_switchd *sw, struct process *p)
{
	uint32_t target = target_of(sw, p);
	struct weft_shm_desc d[BURST];

	if (p->lent > target - target / 4)
		return;
	while (p->lent < target) {
		uint32_t first = p->lent < LENT_FIRST ? LENT_FIRST - p->lent : 0, n = 0;
		uint32_t may = WEFT_MAX(to_spare(sw), WEFT_MIN(first, sw->slots.n_free));
		uint32_t wanted = WEFT_MIN(WEFT_MIN(target - p->lent, BURST), may);

		while (n < wanted)
			d[n++] = (struct weft_shm_desc){ .slot = slots_take(&sw->slots) };
		size_t put = weft_shm_put(p->link, WEFT_SHM_FILL, d, n);

		p->lent += (uint32_t)put;
		for (uint32_t i = (uint32_t)put; i < n; i++)
			slots_give(&sw->slots, d[i].slot);
		if (!put || put < n)
			return;
	}
}

void lend_sends(struct weft_switchd *sw, struct process *p, uint64_t now_ps)
{
	p->sent_ps = now_ps;
	if (p->is_active)
		return;
	p->is_active = true;
	sw->nic.n_active++;
	weft_shm_keep_set(p->link, WEFT_SHM_KEEP_ALL);
}

void lend_stops(struct weft_switchd *sw, struct process *p)
{
	sw->nic.n_active -= p->is_active;
	p->is_active = false;
}

void lend_recall(struct weft_switchd *sw, uint64_t now_ps)
{
	if (WEFT_LIKELY(to_spare(sw) >= sw->slots.n / 8 || sw->nic.recalled_ps + IDLE_PS > now_ps))
		return;
	sw->nic.recalled_ps = now_ps;
	for (uint32_t i = 0; i < sw->nic.n; i++) {
		struct process *p = sw->nic.list[i];

		if (!p->is_active || p->lent <= LENT_FIRST || p->sent_ps + IDLE_PS > now_ps)
			continue;
		lend_stops(sw, p);
		weft_shm_keep_set(p->link, LENT_FIRST);
	}
}

bool lend_may_hold(const struct weft_switchd *sw, const struct process *p)
{
	/* Twice what is left: however many do not read, together they leave the others some. */
	uint32_t max = WEFT_MAX(2 * to_spare(sw), HELD_MIN);

	return p->held < WEFT_MIN(max, HELD_MAX);
}
