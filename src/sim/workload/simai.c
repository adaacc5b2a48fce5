/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * simai - the workload text of SimAI and AICB (Wang et al., NSDI 2025), a dialect of ASTRA-sim's:
 *
 *   HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 ga: 1 all_gpus: 32
 *   2
 *   layer0 -1 1000 ALLGATHER 1048576 1000 REDUCESCATTER 1048576 500 NONE 0 0
 *
 * A layer is: forward time (ns), collective, bytes; the same of the gradient of inputs, and of the
 * gradient of weights; time of the update.  Forward goes through the layers and back again the
 * other way.  The first two collectives are among tensor parallel ranks and waited for, the third
 * among data parallel ones and goes on beside what follows until the end; _EP and _DP_EP choose
 * expert ranks, and data parallel ranks of one expert.  Every rank does the same list: of a
 * pipeline (pp) each stage, without what goes between stages.  spec.layers above 1 cuts the list
 * off there, also a list that is shorter than its file says.  In a MICRO file each line is a
 * measurement of its own, a step among all ranks after the line before.
 */
#include "workload_local.h"

#include <stdlib.h>
#include <string.h>

/* Thirteen days; the updates of all layers come to one time in ps, which has to fit, too. */
#define NS_MAX (UINT64_C(1) << 50)
#define UPDATE_NS_MAX (UINT64_C(1) << 53)

enum { PARTS = 3 }; /* forward, gradient of inputs, of weights */
enum pattern { NOTHING, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL, BROADCAST };
enum members { TENSOR, DATA, EXPERT, DATA_EXPERT };

struct layer {
	uint64_t ns[PARTS], bytes[PARTS], update_ns;
	uint8_t pattern[PARTS], members[PARTS];
};

struct simai {
	struct build *b;
	struct reader *r;
	uint32_t tp, ep, pp, gpus, n;
	bool is_micro;
	struct layer *layers;
	uint32_t *late; /* [rank]: where its gradients of weights have got to */
};

static bool read_header(struct simai *s)
{
	struct reader *r = s->r;
	const struct {
		const char *name;
		uint32_t *to;
	} keys[] = { { "model_parallel_NPU_group:", &s->tp }, { "ep:", &s->ep }, { "pp:", &s->pp },
		{ "all_gpus:", &s->gpus } };

	s->tp = s->ep = s->pp = 1;
	s->gpus = s->b->n;
	if (!reader_next(r))
		return r->error[0] ? false : reader_fail(r, "an empty file");
	s->is_micro = !strcmp(r->words[0], "MICRO");
	if (!s->is_micro && strncmp(r->words[0], "HYBRID", 6) && strncmp(r->words[0], "DATA", 4) &&
		strncmp(r->words[0], "MODEL", 5))
		return reader_fail(r,
			"\"%.40s\", wanted is SimAI's HYBRID_TRANSFORMER_FWD_IN_BCKWD and the"
			" like",
			r->words[0]);
	for (uint32_t i = 1; i + 1 < r->n; i++) {
		uint64_t value;

		for (unsigned k = 0; k < WEFT_COUNT(keys); k++) {
			if (strcmp(r->words[i], keys[k].name))
				continue;
			if (!reader_number(r, keys[k].name, r->words[i + 1], 1u << 24, &value))
				return false;
			if (!value)
				return reader_fail(r, "%s 0, wanted is 1 or more", keys[k].name);
			*keys[k].to = (uint32_t)value;
		}
	}
	if (s->gpus > s->b->n)
		return reader_fail(r, "%u GPUs, and %u hosts to put them on", (unsigned)s->gpus,
			(unsigned)s->b->n);
	if (s->gpus % ((uint64_t)s->tp * s->pp) || s->gpus / s->tp / s->pp % s->ep)
		return reader_fail(r, "%u GPUs do not divide into tp %u x pp %u x ep %u",
			(unsigned)s->gpus, (unsigned)s->tp, (unsigned)s->pp, (unsigned)s->ep);
	return true;
}

static bool read_collective(struct simai *s, const char *word, unsigned part, struct layer *layer)
{
	static const struct {
		const char *name;
		enum pattern pattern;
	} names[] = { { "NONE", NOTHING }, { "ALLREDUCE", ALLREDUCE }, { "ALLGATHER", ALLGATHER },
		{ "REDUCESCATTER", REDUCESCATTER }, { "ALLTOALL", ALLTOALL },
		{ "BROADCAST", BROADCAST } };
	static const struct {
		const char *name;
		enum members members;
	} ends[] = { { "_EP", EXPERT }, { "_DP_EP", DATA_EXPERT }, { "_DP", DATA },
		{ "_TP", TENSOR } };

	for (unsigned i = 0; i < WEFT_COUNT(names); i++) {
		size_t n = strlen(names[i].name);

		if (strncmp(word, names[i].name, n))
			continue;
		layer->pattern[part] = (uint8_t)names[i].pattern;
		layer->members[part] = part == 2 ? DATA : TENSOR;
		if (!word[n])
			return true;
		for (unsigned k = 0; k < WEFT_COUNT(ends); k++) {
			if (strcmp(word + n, ends[k].name))
				continue;
			layer->members[part] = (uint8_t)ends[k].members;
			return true;
		}
	}
	return reader_fail(s->r,
		"\"%.40s\", wanted is NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL or"
		" BROADCAST, and maybe _EP or _DP_EP",
		word);
}

static bool read_layer(struct simai *s, struct layer *layer)
{
	struct reader *r = s->r;

	if (r->n < 12)
		return reader_fail(r, "%u words, a layer has 12", (unsigned)r->n);
	for (unsigned part = 0; part < PARTS; part++) {
		char **words = &r->words[2 + 3 * part];

		if (!reader_number(r, "time", words[0], NS_MAX, &layer->ns[part]) ||
			!read_collective(s, words[1], part, layer) ||
			!reader_number(
				r, "bytes", words[2], UINT64_C(1) << 50, &layer->bytes[part]))
			return false;
	}
	return reader_number(r, "update", r->words[11], NS_MAX, &layer->update_ns);
}

static bool read_layers(struct simai *s)
{
	struct reader *r = s->r;
	uint64_t n;

	if (!reader_next(r))
		return r->error[0] ? false : reader_fail(r, "no number of layers");
	if (!reader_number(r, "layers", r->words[0], 1u << 20, &n))
		return false;
	if (s->b->spec->layers > 1)
		n = WEFT_MIN(n, (uint64_t)s->b->spec->layers);
	s->layers = calloc(n + 1, sizeof(*s->layers));
	if (!s->layers)
		return reader_fail(r, "out of memory");
	for (s->n = 0; s->n < n && reader_next(r); s->n++) {
		if (!read_layer(s, &s->layers[s->n]))
			return false;
	}
	if (r->error[0])
		return false;
	if (s->is_micro && s->n * (uint64_t)s->b->spec->steps > UINT16_MAX)
		return reader_fail(r, "%u lines, %u times: more than %u measurements",
			(unsigned)s->n, (unsigned)s->b->spec->steps, (unsigned)UINT16_MAX);
	return s->n == n ||
	       reader_fail(r, "%u layers, the file says %u", (unsigned)s->n, (unsigned)n);
}

/* ---- flows ---- */

/* Ranks: tensor parallel fastest, then data parallel (experts are neighbours in it), stages. */
static struct group group_of(const struct simai *s, enum members members)
{
	uint32_t dp = s->gpus / s->tp / s->pp;

	if (s->is_micro)
		return (struct group){ 0, 1, s->gpus };
	switch (members) {
	case DATA:
		return (struct group){ 0, s->tp, dp };
	case EXPERT:
		return (struct group){ 0, s->tp, s->ep };
	case DATA_EXPERT:
		return (struct group){ 0, s->tp * s->ep, dp / s->ep };
	default:
		return (struct group){ 0, 1, s->tp };
	}
}

static void collective(struct simai *s, const struct layer *layer, unsigned part)
{
	struct group g = group_of(s, layer->members[part]);
	uint64_t bytes = layer->bytes[part];

	if (layer->pattern[part] == NOTHING || g.n < 2 || !bytes)
		return;
	/* Groups: ranks whose place in theirs is 0. */
	for (uint32_t rank = 0; rank < s->gpus; rank++) {
		if (rank / g.stride % g.n)
			continue;
		struct group one = { rank, g.stride, g.n };

		if (layer->pattern[part] == ALLTOALL)
			collective_exchange(s->b, &one, bytes, s->b->spec->window);
		else if (layer->pattern[part] == BROADCAST)
			collective_broadcast(s->b, &one, bytes, s->b->spec->pieces);
		else
			collective_ring(s->b, &one, bytes,
				layer->pattern[part] == ALLREDUCE ? RING_ALLREDUCE : RING_HALF);
	}
}

static void compute(struct simai *s, uint64_t ns)
{
	for (uint32_t rank = 0; ns && rank < s->gpus; rank++)
		build_step(s->b, rank, ns * 1000);
}

/* The gradients of weights go their own way: the ranks' tails stay where they are. */
static void beside(struct simai *s, const struct layer *layer)
{
	struct build *b = s->b;

	if (layer->pattern[2] == NOTHING || !layer->bytes[2])
		return;
	uint32_t *kept = b->tails;
	uint32_t first = b->load->n;

	/* After what has been computed, and after those of the layer before. */
	for (uint32_t rank = 0; rank < s->gpus; rank++) {
		build_compute(b, b->hosts[rank], 0);
		build_tail(b, rank);
		if (s->late[rank] != NONE)
			build_after(b, s->late[rank], WEFT_SIM_WHOLE);
		s->late[rank] = first + rank;
	}
	b->tails = s->late;
	collective(s, layer, 2);
	b->tails = kept;
}

static void one_step(struct simai *s)
{
	struct build *b = s->b;
	uint64_t update_ns = 0;

	for (uint32_t rank = 0; rank < s->gpus; rank++)
		s->late[rank] = NONE;
	for (uint32_t i = 0; i < s->n; i++) {
		compute(s, s->layers[i].ns[0]);
		collective(s, &s->layers[i], 0);
		update_ns += s->layers[i].update_ns;
	}
	for (uint32_t i = s->n; i--;) {
		compute(s, s->layers[i].ns[2]);
		beside(s, &s->layers[i]);
		compute(s, s->layers[i].ns[1]);
		collective(s, &s->layers[i], 1);
	}
	for (uint32_t rank = 0; rank < s->gpus; rank++) {
		build_step(b, rank, update_ns * 1000);
		if (s->late[rank] != NONE)
			build_after(b, s->late[rank], WEFT_SIM_WHOLE);
	}
}

static void one_measurement(struct simai *s, const struct layer *layer)
{
	for (unsigned part = 0; part < PARTS; part++) {
		compute(s, layer->ns[part]);
		collective(s, layer, part);
	}
	compute(s, layer->update_ns);
}

static bool judge_updates(struct simai *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		sum += s->layers[i].update_ns;
		if (sum > UPDATE_NS_MAX)
			return reader_fail(s->r, "the updates of all layers take more than %llu ns",
				(unsigned long long)UPDATE_NS_MAX);
	}
	return true;
}

static uint64_t flows_of(const struct simai *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		for (unsigned part = 0; part < PARTS; part++) {
			struct group g = group_of(s, s->layers[i].members[part]);

			sum += s->layers[i].ns[part] ? 1 : 0;
			if (s->layers[i].pattern[part] != NOTHING)
				sum += s->layers[i].pattern[part] == ALLTOALL ? g.n + 1 : 3;
		}
	}
	return sum * s->gpus;
}

bool simai_add(struct build *b, struct reader *reader)
{
	struct simai s = { .b = b, .r = reader };

	reader->error[0] = 0;
	bool is_good = read_header(&s) && read_layers(&s) && judge_updates(&s) &&
		       build_fits(b, flows_of(&s) * b->spec->steps);

	if (is_good) {
		s.late = malloc(b->n * sizeof(*s.late));
		is_good = s.late || reader_fail(reader, "out of memory");
	}
	for (b->step = 0; is_good && !s.is_micro && b->step < b->spec->steps; b->step++)
		one_step(&s);
	for (b->step = 0; is_good && s.is_micro && b->step < b->spec->steps * s.n; b->step++)
		one_measurement(&s, &s.layers[b->step % s.n]);
	free(s.layers);
	free(s.late);
	return is_good;
}
