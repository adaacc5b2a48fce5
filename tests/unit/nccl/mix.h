/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MIX_H
#define MIX_H
/* Memory of the host or of a stand-in's GPU, which tests of nccl use alike. */
#include "ends.h"
#include "unit/gpu/gpus.h"

struct mix {
	bool is_gpu;
	uint64_t at;
	size_t bytes;
	struct comm *comm;
	void *mr;
};

static inline uint8_t *mix_at(const struct mix *m, size_t at)
{
	return (uint8_t *)(uintptr_t)(m->at + at);
}

static inline struct mix mix_open(struct comm *comm, bool is_gpu, size_t bytes)
{
	struct mix m = { .is_gpu = is_gpu, .bytes = bytes, .comm = comm };

	m.at = is_gpu ? gpus_memory(0, bytes) : (uintptr_t)calloc(1, bytes);
	REQUIRE(ncclNetPlugin_v12.reg_mr(comm, mix_at(&m, 0), bytes,
			is_gpu ? WEFT_NCCL_PTR_CUDA : WEFT_NCCL_PTR_HOST, &m.mr) == 0);
	return m;
}

static inline void mix_close(struct mix *m)
{
	CHECK_EQ(ncclNetPlugin_v12.dereg_mr(m->comm, m->mr), 0);
	if (m->is_gpu)
		gpus_free(0, m->at);
	else
		free(mix_at(m, 0));
}

static inline void mix_put(const struct mix *m, const uint8_t *bytes, size_t n)
{
	if (m->is_gpu)
		gpus_put(m->at, bytes, n);
	else
		memcpy(mix_at(m, 0), bytes, n);
}

static inline void mix_get(const struct mix *m, size_t from, uint8_t *bytes, size_t n)
{
	if (m->is_gpu)
		gpus_get(bytes, m->at + from, n);
	else
		memcpy(bytes, mix_at(m, from), n);
}

/* Both ends and their memory: i & 1: the sender's is a GPU's, i & 2: the receiver's. */
struct mixed {
	struct ends e;
	struct mix from, to;
};

static inline void mixed_open(struct mixed *x, unsigned i, size_t bytes)
{
	ends_open(&x->e);
	x->from = mix_open(x->e.sender, i & 1, bytes);
	x->to = mix_open(x->e.receiver, i & 2, bytes);
}

static inline void mixed_close(struct mixed *x)
{
	mix_close(&x->from);
	mix_close(&x->to);
	ends_close(&x->e);
	gpus_are_clean();
}

static inline void *mixed_receive(struct mixed *x, size_t at, size_t room, int tag)
{
	void *data = mix_at(&x->to, at), *request = NULL;

	for (unsigned i = 0; i < TRIES_MAX && !request; i++) {
		REQUIRE(recv_begin(x->e.receiver, 1, &data, &room, &tag, &x->to.mr, &request) == 0);
		if (!request)
			usleep(100);
	}
	REQUIRE(request);
	return request;
}

/* Until both are done, or one has failed; the first result that is not success. */
static inline int mixed_wait(void *sent, void *received, int bytes[])
{
	int one = 0, other = 0, result = 0;

	for (unsigned i = 0; i < TRIES_MAX && !result && !(one && other); i++) {
		if (!one)
			result = comm_test(sent, &one, NULL);
		if (!result && !other)
			result = comm_test(received, &other, bytes);
		usleep(20);
	}
	CHECK(result || (one && other));
	return result;
}

#endif
