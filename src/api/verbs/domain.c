/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * domain - thread domains, parent domains, advice about memory, and device memory.
 *
 * A card's provider spares a thread domain's objects their locks.  Here one lock per device guards
 * everything, the thread that receives included, so a thread domain is a promise of the program's
 * that nothing is gained from; it is kept so that programs which make one go on.  A parent domain
 * is its protection domain under another name; allocators of the program's are refused, because the
 * memory that they would give is the device's business.  Leave to take memory that a confidential
 * guest shares with its host is accepted and not needed: nothing here bounces, by any memory.
 *
 * Device memory of a card is memory that no host can see.  Here host memory stands in: it behaves
 * as the interface says and is no faster than any other.
 */
#include "verbs_local.h"
#include "verbs_newer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DM_WORD_BYTES 4u

static struct ibv_td *alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	if (!attr || attr->comp_mask)
		return refuse(EINVAL);
	struct td *td = calloc(1, sizeof(*td));

	if (!td)
		return refuse(ENOMEM);
	td->ibv.context = context;
	return &td->ibv;
}

static int dealloc_td(struct ibv_td *ibv)
{
	struct td *td = (struct td *)ibv;

	if (__atomic_load_n(&td->users, __ATOMIC_ACQUIRE))
		return EBUSY;
	free(td);
	return 0;
}

static struct ibv_pd *alloc_parent_domain(
	struct ibv_context *context, struct ibv_parent_domain_init_attr *attr)
{
	const uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			       IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT | PARENT_ALLOWS_UNPROTECTED;

	if (!attr || !attr->pd || attr->pd->context != context || attr->comp_mask & ~known ||
		(attr->td && attr->td->context != context))
		return refuse(EINVAL);
	struct pd *parent = (struct pd *)attr->pd;

	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS)
		return refuse(EOPNOTSUPP);
	if (parent->parent) /* of a parent domain none is made */
		return refuse(EINVAL);
	struct pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return refuse(ENOMEM);
	pd->ibv.context = context;
	pd->dev = parent->dev;
	pd->parent = parent;
	pd->td = (struct td *)attr->td;
	__atomic_add_fetch(&parent->users, 1, __ATOMIC_RELAXED);
	if (pd->td)
		__atomic_add_fetch(&pd->td->users, 1, __ATOMIC_RELAXED);
	return &pd->ibv;
}

void domain_close(struct pd *pd)
{
	__atomic_sub_fetch(&pd->parent->users, 1, __ATOMIC_RELEASE);
	if (pd->td)
		__atomic_sub_fetch(&pd->td->users, 1, __ATOMIC_RELEASE);
	free(pd);
}

/* ---- advice ---- */

/* All memory here can be used at once; what may take time is the kernel's reading it in. */
static int advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
	struct ibv_sge *sges, uint32_t n)
{
	uint32_t access = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE ? WEFT_DEV_LOCAL_WRITE : 0;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	if (advice > IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return EOPNOTSUPP;
	if (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH || !n || !sges)
		return EINVAL;
	for (uint32_t i = 0; i < n; i++) {
		const struct weft_dev_sge sge = { sges[i].addr, sges[i].length, sges[i].lkey };
		void *at = weft_dev_mr_find(((struct pd *)pd)->dev, &sge, access);
		uintptr_t skip = (uintptr_t)at & (page - 1);

		if (!at)
			return EFAULT;
		/* A hint: memory that the kernel cannot read in ahead is as good. */
		(void)madvise((char *)at - skip, sge.len_bytes + skip, MADV_WILLNEED);
	}
	return 0;
}

/* ---- device memory ---- */

static bool lies_in(const struct dm *dm, uint64_t offset, size_t bytes)
{
	return offset <= dm->bytes && bytes <= dm->bytes - offset;
}

/* Cards that have device memory reach it in words of four bytes, and rdma-core's tests hold every
 * provider to that: a program that works here is to work there. */
static bool may_copy(const struct dm *dm, uint64_t offset, size_t bytes)
{
	return lies_in(dm, offset, bytes) && !((offset | bytes) % DM_WORD_BYTES);
}

static int copy_to(struct ibv_dm *ibv, uint64_t offset, const void *from, size_t bytes)
{
	struct dm *dm = (struct dm *)ibv;

	if (!may_copy(dm, offset, bytes))
		return EINVAL;
	memcpy(dm->memory + offset, from, bytes);
	return 0;
}

static int copy_from(void *to, struct ibv_dm *ibv, uint64_t offset, size_t bytes)
{
	const struct dm *dm = (struct dm *)ibv;

	if (!may_copy(dm, offset, bytes))
		return EINVAL;
	memcpy(to, dm->memory + offset, bytes);
	return 0;
}

static struct ibv_dm *alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	void *memory;

	if (!attr || !attr->length || attr->comp_mask || attr->log_align_req > 21)
		return refuse(EINVAL);
	if (attr->length > DM_BYTES_MAX)
		return refuse(ENOMEM);
	struct dm *dm = calloc(1, sizeof(*dm));
	size_t align = WEFT_MAX((size_t)1 << attr->log_align_req, (size_t)4096);

	if (!dm || posix_memalign(&memory, align, attr->length)) {
		free(dm);
		return refuse(ENOMEM);
	}
	memset(memory, 0, attr->length); /* nobody's earlier secrets */
	dm->memory = memory;
	dm->bytes = attr->length;
	dm->ibv.context = context;
	dm->ibv.memcpy_to_dm = copy_to;
	dm->ibv.memcpy_from_dm = copy_from;
	return &dm->ibv;
}

static int free_dm(struct ibv_dm *ibv)
{
	struct dm *dm = (struct dm *)ibv;

	if (__atomic_load_n(&dm->users, __ATOMIC_ACQUIRE))
		return EBUSY;
	free(dm->memory);
	free(dm);
	return 0;
}

/* Its addresses count from 0: the program knows no others. */
static struct ibv_mr *reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibv, uint64_t offset,
	size_t bytes, unsigned int access)
{
	struct dm *dm = (struct dm *)ibv;

	if (!lies_in(dm, offset, bytes) || !(access & IBV_ACCESS_ZERO_BASED))
		return refuse(EINVAL);
	struct ibv_mr *mr = ibv_reg_mr_iova2(pd, dm->memory + offset, bytes, 0, access);

	if (!mr)
		return NULL;
	mr->addr = NULL;
	((struct mr *)mr)->dm = dm;
	__atomic_add_fetch(&dm->users, 1, __ATOMIC_RELAXED);
	return mr;
}

void domain_fill(struct verbs_context *v)
{
	v->alloc_td = alloc_td;
	v->dealloc_td = dealloc_td;
	v->alloc_parent_domain = alloc_parent_domain;
	v->advise_mr = advise_mr;
	v->alloc_dm = alloc_dm;
	v->free_dm = free_dm;
	v->reg_dm_mr = reg_dm_mr;
}
