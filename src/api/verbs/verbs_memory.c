/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_memory - protection domains, registered memory, and addresses of datagram peers.
 *
 * Access bits in the range that verbs call optional are hints and masked; of the others, what needs
 * hardware of a kind (on demand paging) is refused.  Memory that this process cannot read,
 * a GPU's for one, is refused by the device with EFAULT, and programs then copy through memory of
 * their own.  By its DMA-BUF it can be had where its driver lets a CPU map it.
 */
#include "verbs_local.h"

#include <stdlib.h>
#include <string.h>

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define ACCESS \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)
#define HARMLESS (IBV_ACCESS_OPTIONAL_RANGE | IBV_ACCESS_HUGETLB)
#define GRH_SGID_AT 8

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return refuse(ENOMEM);
	int error = weft_dev_pd_open(context_of(context)->dev, &pd->dev);
	if (error) {
		free(pd);
		return refuse(error);
	}
	pd->ibv.context = context;
	return &pd->ibv;
}

int ibv_dealloc_pd(struct ibv_pd *ibv)
{
	struct pd *pd = (struct pd *)ibv;

	if (__atomic_load_n(&pd->users, __ATOMIC_ACQUIRE))
		return complain(EBUSY);
	if (pd->parent) {
		domain_close(pd);
		return 0;
	}
	int error = weft_dev_pd_close(pd->dev);

	if (!error)
		free(pd);
	return complain(error);
}

struct weft_dev_pd *weft_verbs_pd(struct ibv_pd *ibv)
{
	return weft_verbs_device(ibv->context) ? ((struct pd *)ibv)->dev : NULL;
}

/* ---- registered memory ---- */

struct region { /* what is to be registered */
	struct ibv_pd *pd;
	void *addr;
	size_t length;
	uint64_t iova, offset;
	int fd; /* with offset; -1: the memory at addr */
	unsigned access;
};

static int open_region(const struct region *r, struct weft_dev_mr **mr)
{
	struct weft_dev_pd *pd = ((struct pd *)r->pd)->dev;

	return r->fd < 0 ? weft_dev_mr_open(pd, r->addr, r->length, r->iova, r->access, mr)
			 : weft_dev_mr_open_dmabuf(pd, r->fd, r->offset, r->length, r->iova,
				   r->access, mr);
}

static struct ibv_mr *open_mr(struct region r)
{
	r.access &= ~(unsigned)HARMLESS;
	if (r.access & IBV_ACCESS_ZERO_BASED)
		r.iova = 0;
	r.access &= ~(unsigned)IBV_ACCESS_ZERO_BASED;
	if (r.access & ~(unsigned)ACCESS)
		return refuse(EOPNOTSUPP);
	struct mr *mr = calloc(1, sizeof(*mr));
	if (!mr)
		return refuse(ENOMEM);
	mr->iova = r.iova;
	mr->access = r.access;
	mr->is_foreign = r.fd >= 0;
	int error = open_region(&r, &mr->dev);
	if (error) {
		free(mr);
		return refuse(error);
	}
	mr->ibv.context = r.pd->context;
	mr->ibv.pd = r.pd;
	mr->ibv.addr = r.addr;
	mr->ibv.length = r.length;
	mr->ibv.lkey = mr->ibv.rkey = mr->ibv.handle = weft_dev_mr_key(mr->dev);
	return &mr->ibv;
}

struct ibv_mr *ibv_reg_mr_iova2(
	struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	return open_mr((struct region){ .pd = pd,
		.addr = addr,
		.length = length,
		.iova = iova,
		.fd = -1,
		.access = access });
}

/*
 * NCCL and UCX ask with no file whether a device takes DMA-BUFs, and hand it a GPU's for good if
 * it does not say EOPNOTSUPP.  The GPUs that they mean are NVIDIA's, whose no CPU may map; so the
 * answer is no, and they copy through the host.  Who comes with a file is told about that one.
 */
struct ibv_mr *ibv_reg_dmabuf_mr(
	struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
{
	if (fd < 0)
		return refuse(EOPNOTSUPP);
	return open_mr((struct region){ .pd = pd,
		.addr = (void *)(uintptr_t)offset, /* as providers' do */
		.length = length,
		.iova = iova,
		.offset = offset,
		.fd = fd,
		.access = (unsigned)access });
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr_iova(
	struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned)access);
}

/* Keys stay: programs have told them to others.  Where it cannot be changed the old one stands. */
int ibv_rereg_mr(
	struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct mr *mr = (struct mr *)ibv;
	bool moves = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
	unsigned rights = flags & IBV_REREG_MR_CHANGE_ACCESS ? (unsigned)access : mr->access;
	struct ibv_pd *to = flags & IBV_REREG_MR_CHANGE_PD ? pd : ibv->pd;
	uint64_t iova = moves ? (uintptr_t)addr : mr->iova;

	errno = EINVAL;
	if (mr->dm || mr->is_foreign)
		return IBV_REREG_MR_ERR_INPUT;
	if (!flags || flags & ~IBV_REREG_MR_FLAGS_SUPPORTED || !to || (moves && !addr))
		return IBV_REREG_MR_ERR_INPUT;
	if (rights & IBV_ACCESS_ZERO_BASED)
		iova = 0;
	rights &= ~(unsigned)(HARMLESS | IBV_ACCESS_ZERO_BASED);
	errno = rights & ~(unsigned)ACCESS
			? EOPNOTSUPP
			: weft_dev_mr_move(mr->dev, ((struct pd *)to)->dev,
				  moves ? addr : ibv->addr, moves ? length : ibv->length, iova,
				  rights);
	if (errno)
		return IBV_REREG_MR_ERR_INPUT;
	mr->iova = iova;
	mr->access = rights;
	ibv->pd = to;
	if (moves) {
		ibv->addr = addr;
		ibv->length = length;
	}
	return 0;
}

int ibv_dereg_mr(struct ibv_mr *ibv)
{
	struct mr *mr = (struct mr *)ibv;
	int error = weft_dev_mr_close(mr->dev);

	if (error)
		return complain(error);
	if (mr->dm)
		__atomic_sub_fetch(&mr->dm->users, 1, __ATOMIC_RELEASE);
	free(mr);
	return error;
}

/* ---- addresses ---- */

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	uint8_t address[16];

	if (!attr->is_global || (attr->port_num && attr->port_num != PORT) ||
		attr->grh.sgid_index >= GIDS)
		return refuse(EINVAL);
	struct ah *ah = calloc(1, sizeof(*ah));
	if (!ah)
		return refuse(ENOMEM);
	gid_address(&attr->grh.dgid, address);
	int error = weft_dev_ah_open(((struct pd *)pd)->dev, address, &ah->dev);
	if (error) {
		free(ah);
		return refuse(error);
	}
	ah->ibv.context = pd->context;
	ah->ibv.pd = pd;
	return &ah->ibv;
}

int ibv_destroy_ah(struct ibv_ah *ibv)
{
	struct ah *ah = (struct ah *)ibv;
	int error = weft_dev_ah_close(ah->dev);

	if (!error)
		free(ah);
	return complain(error);
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
	struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	(void)context;
	memset(attr, 0, sizeof(*attr));
	if (port != PORT || !(wc->wc_flags & IBV_WC_GRH)) {
		errno = EINVAL;
		return -1;
	}
	attr->port_num = port;
	attr->is_global = 1;
	attr->grh.hop_limit = 64;
	attr->grh.sgid_index = GIDS - 1;
	memcpy(attr->grh.dgid.raw, (const char *)grh + GRH_SGID_AT, 16);
	return 0;
}

struct ibv_ah *ibv_create_ah_from_wc(
	struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port)
{
	struct ibv_ah_attr attr;

	if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr))
		return NULL;
	return ibv_create_ah(pd, &attr);
}
