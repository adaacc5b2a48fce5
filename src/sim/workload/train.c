/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * train - a step of training a large model, from how it is made parallel.
 *
 * Ranks are numbered as Megatron numbers them: tensor parallel fastest, then context, data,
 * pipeline.  Expert groups are neighbours within context x data.  A pipeline stage works off its
 * microbatches in one-forward-one-backward order: some forward to fill the pipeline, then by
 * turns, then the rest backward (Narayanan et al., SC 2021).  Each pass is, layer by layer,
 * computing, then all-reduce over tensor parallel ranks, all-gather over context parallel ranks,
 * and two exchanges among experts.  At the end gradients are all-reduced over data parallel ranks
 * in rings, and the next step begins.
 *
 * What goes over NVLink in life is left out by leaving its bytes at 0.  straggle: each piece of
 * computing takes up to so much longer, at random.  Computing and communication do not overlap; a
 * forward or backward time that holds both already is given by bytes of 0.
 */
#include "workload_local.h"

#include <stdlib.h>

struct train {
	struct build *b;
	const struct weft_workload_spec *spec;
	uint32_t tp, cp, dp, pp, ep, stage_ranks;
	uint32_t *came[2]; /* [microbatch * n + rank]: what has been sent there, forward and back */
};

static uint64_t computing(struct train *t, uint64_t ps)
{
	uint64_t most = ps / 100 * t->spec->straggle_percent;

	return ps + (most ? weft_rng_below(&t->b->rng, most + 1) : 0);
}

/* All ranks of a stage: one layer of a pass. */
static void layer(struct train *t, uint32_t stage, uint64_t ps)
{
	struct build *b = t->b;
	uint32_t first = stage * t->stage_ranks;

	for (uint32_t i = 0; i < t->stage_ranks; i++)
		build_step(b, first + i, computing(t, ps));
	for (uint32_t i = 0; t->spec->tp_bytes && i < t->stage_ranks; i += t->tp)
		collective_ring(b, &(struct group){ first + i, 1, t->tp }, t->spec->tp_bytes,
			RING_ALLREDUCE);
	for (uint32_t i = 0; t->spec->cp_bytes && i < t->stage_ranks; i += t->tp * t->cp) {
		for (uint32_t k = 0; k < t->tp; k++)
			collective_ring(b, &(struct group){ first + i + k, t->tp, t->cp },
				t->spec->cp_bytes, RING_HALF);
	}
	for (uint32_t i = 0; t->spec->ep_bytes && i < t->stage_ranks; i += t->tp * t->ep) {
		for (uint32_t k = 0; k < 2 * t->tp; k++) /* there, and back */
			collective_exchange(b,
				&(struct group){ first + i + k % t->tp, t->tp, t->ep },
				t->spec->ep_bytes, t->spec->window);
	}
}

/* The stage waits for what comes from its neighbour, works, and hands on. */
static void pass(struct train *t, uint32_t stage, uint32_t batch, bool back)
{
	struct build *b = t->b;
	uint32_t first = stage * t->stage_ranks, *came = t->came[back] + (uint64_t)batch * b->n;
	uint64_t ps = back ? t->spec->backward_ps : t->spec->forward_ps;
	bool is_last = back ? !stage : stage + 1 == t->pp;

	for (uint32_t i = first; i < first + t->stage_ranks; i++) {
		if (came[i] == NONE)
			continue;
		build_step(b, i, 0);
		build_after(b, came[i], WEFT_SIM_WHOLE);
	}
	for (uint32_t i = 0; i < t->spec->layers; i++)
		layer(t, stage, ps / t->spec->layers);
	for (uint32_t i = first; i < first + t->stage_ranks && !is_last; i++) {
		uint32_t peer = back ? i - t->stage_ranks : i + t->stage_ranks;

		came[peer] = build_send(b, b->hosts[i], b->hosts[peer], t->spec->pp_bytes);
		build_tail(b, i);
	}
}

/* What a stage does at its turn-th turn: 2 microbatch + (1: back); NONE: it is done. */
static uint32_t work_of(const struct train *t, uint32_t stage, uint32_t turn)
{
	uint32_t m = t->spec->microbatches, fill = WEFT_MIN(t->pp - stage - 1, m);

	if (turn >= 2 * m)
		return NONE;
	if (turn < fill)
		return 2 * turn;
	if (turn >= 2 * m - fill)
		return 2 * (turn - m) + 1;
	uint32_t k = turn - fill;

	return k % 2 ? 2 * (k / 2) + 1 : 2 * (fill + k / 2);
}

/* Whether what it waits for has been listed already: flows may only name earlier ones here. */
static bool is_ready(const struct train *t, uint32_t stage, uint32_t work)
{
	const uint32_t *came = t->came[work & 1] + (uint64_t)(work / 2) * t->b->n;
	bool is_first = work & 1 ? stage + 1 == t->pp : !stage;

	return is_first || came[stage * t->stage_ranks] != NONE;
}

/* Lists passes in an order in which each comes after what it waits for. */
static void pipeline(struct train *t, uint32_t *turns)
{
	uint64_t left = 2 * (uint64_t)t->spec->microbatches * t->pp;

	for (uint32_t i = 0; i < t->pp; i++)
		turns[i] = 0;
	while (left && !t->b->load->broken) {
		for (uint32_t stage = 0; stage < t->pp; stage++) {
			uint32_t work = work_of(t, stage, turns[stage]);

			if (work == NONE || !is_ready(t, stage, work))
				continue;
			pass(t, stage, work / 2, work & 1);
			turns[stage]++;
			left--;
		}
	}
}

static void gradients(struct train *t)
{
	uint32_t slice = t->tp * t->cp;

	for (uint32_t stage = 0; stage < t->pp && t->spec->dp_bytes && t->dp > 1; stage++) {
		for (uint32_t k = 0; k < slice; k++)
			collective_ring(t->b,
				&(struct group){ stage * t->stage_ranks + k, slice, t->dp },
				t->spec->dp_bytes, RING_ALLREDUCE);
	}
	for (uint32_t i = 0; i < t->b->n; i++)
		build_step(t->b, i, t->spec->compute_ps);
}

static bool judge(struct train *t, uint64_t ranks)
{
	const struct weft_workload_spec *spec = t->spec;
	struct build *b = t->b;
	uint64_t a_layer = 1 + (spec->tp_bytes ? 2u : 0) + (spec->cp_bytes ? 2u : 0) +
			   (spec->ep_bytes ? 2 * (uint64_t)t->ep : 0);
	uint64_t flows =
		ranks * (2 * (uint64_t)spec->microbatches * (2 + spec->layers * a_layer) + 3);

	if (ranks > b->n)
		return build_fail(b,
			"training: tp %u x cp %u x pp %u x dp %u are %llu ranks, there are %u"
			" hosts",
			(unsigned)t->tp, (unsigned)t->cp, (unsigned)t->pp, (unsigned)t->dp,
			(unsigned long long)ranks, (unsigned)b->n);
	if ((uint64_t)t->cp * t->dp % t->ep)
		return build_fail(b, "ep: %u does not divide cp x dp = %u", (unsigned)t->ep,
			(unsigned)(t->cp * t->dp));
	return build_fits(b, flows * spec->steps);
}

bool training_add(struct build *b)
{
	const struct weft_workload_spec *spec = b->spec;
	struct train t = { .b = b,
		.spec = spec,
		.tp = spec->tp,
		.cp = spec->cp,
		.dp = spec->dp,
		.pp = spec->pp,
		.ep = spec->ep };
	uint64_t ranks = (uint64_t)t.tp * t.cp * t.pp;

	if (ranks > b->n || ranks * t.dp > b->n)
		ranks = ranks > b->n ? ranks : ranks * t.dp;
	else
		ranks *= t.dp;
	if (!judge(&t, ranks))
		return false;
	b->n = (uint32_t)ranks;
	t.stage_ranks = b->n / t.pp;
	uint64_t n = (uint64_t)spec->microbatches * b->n;
	uint32_t *memory = malloc((2 * n + t.pp) * sizeof(*memory));

	if (!memory)
		return build_fail(b, "out of memory");
	t.came[0] = memory;
	t.came[1] = memory + n;
	for (b->step = 0; b->step < spec->steps; b->step++) {
		for (uint64_t i = 0; i < 2 * n; i++)
			memory[i] = NONE;
		pipeline(&t, memory + 2 * n);
		gradients(&t);
	}
	free(memory);
	return true;
}
