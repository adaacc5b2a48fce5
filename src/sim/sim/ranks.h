/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_RANKS_H
#define SIM_RANKS_H
/* ranks - a run by several processes: ranks.c agrees with the others, parcel.c carries frames. */
#include "sim_local.h"

struct tally { /* what a rank tells the others after each step */
	uint64_t next, hops;
	uint32_t done, failed, stop;
	uint32_t n; /* parcels that come behind it */
};

struct parcel { /* a frame that crosses, and its packet; a pause has none */
	struct weft_frame frame; /* low half of handle: windows or steps from now; next: node */
	struct weft_pkt pkt;
};

struct links { /* to the other ranks */
	struct weft_sim_ranks to;
	uint16_t *rank_of; /* [switch] */
	uint64_t *foreign; /* bits: nodes of other ranks */
	uint32_t *counts;  /* [lane][rank]: parcels of this step */
	uint8_t *room;     /* where letters are written */
	uint64_t room_bytes;
	struct weft_sim_letter *out, *in; /* [rank] */
	struct tally others;              /* of the step that was run last, all together */
	bool is_cut; /* a rank is gone */
};
static inline uint32_t ranks_n(const struct weft_sim_ranks *ranks)
{
	return ranks ? ranks->n : 1;
}
static inline uint32_t ranks_own(const struct weft_sim_ranks *ranks)
{
	return ranks ? ranks->rank : 0;
}
/* What each rank tells all; in[ranks_own()] is what was given.  Who is gone has sent 0 bytes. */
void ranks_tell(const struct weft_sim_ranks *ranks, const void *own, size_t bytes,
	struct weft_sim_letter in[WEFT_SIM_RANKS_MAX]);
/* All are well, or none goes on: then error is that of the first that was not. */
bool ranks_agree(
	const struct weft_sim_ranks *ranks, bool is_good, char *error, size_t error_bytes);
bool ranks_open(struct weft_sim *sim, uint64_t parcels_max); /* false: out of address space */
/* All endpoints are open: what peers need to know of each other. */
bool ranks_meet(struct weft_sim *sim, char *error, size_t error_bytes);
bool owns_host(const struct weft_sim *sim, uint32_t host);
/* All threads of the rank, after each step; there is a meeting before and behind it. */
void parcels_count(struct lane *lane);
void parcels_write(struct lane *lane);
void parcels_exchange(struct weft_sim *sim, unsigned turn); /* by one of them */
void parcels_read(struct lane *lane);

#endif
