/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * newer - for programs that were built against a newer rdma-core than ours: registration by a
 * structure, buffers that the library allocates, the speed of a port as a number.
 *
 * Handles for steering DMA and counters of completions are a card's; they are refused as by a
 * provider without them.
 */
#include "verbs_newer.h"

#include "verbs_local.h"

#include <stdlib.h>
#include <sys/mman.h>

#define MR_HAS_FILE (MR_HAS_FD | MR_HAS_FD_OFFSET | MR_HAS_IOVA)
#define KNOWN (MR_HAS_FILE | MR_HAS_ADDR | MR_HAS_BUF)
#define SPEED_UNIT_BPS UINT64_C(100000000)

struct ibv_buf {
	struct ibv_pd *pd; /* who allocated it, and may register it */
	uint8_t *addr;
	size_t bytes;
};

/* ---- buffers ---- */

/* Memory of its own pages, which is given back whole. */
void *ibv_alloc_buf(struct ibv_pd *pd, size_t bytes, struct ibv_buf **out)
{
	struct ibv_buf *buf;

	if (!pd || !bytes || !out)
		return refuse(EINVAL);
	buf = malloc(sizeof(*buf));
	if (!buf)
		return refuse(ENOMEM);
	buf->pd = pd;
	buf->bytes = bytes;
	buf->addr = mmap(
		NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buf->addr == MAP_FAILED) {
		free(buf);
		return refuse(ENOMEM);
	}
	*out = buf;
	return buf->addr;
}

void ibv_free_buf(struct ibv_buf *buf)
{
	if (!buf)
		return;
	(void)munmap(buf->addr, buf->bytes);
	free(buf);
}

static bool is_part(
	const struct ibv_buf *buf, const struct ibv_pd *pd, const void *addr, size_t length)
{
	if (!buf || buf->pd != pd)
		return false;
	uintptr_t at = (uintptr_t)addr - (uintptr_t)buf->addr;

	return at <= buf->bytes && length <= buf->bytes - at;
}

struct ibv_mr *ibv_reg_buf_mr(
	struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length, int access)
{
	if (!is_part(buf, pd, addr, length))
		return refuse(EINVAL);
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

/* Ordinary memory has no file; the manual's word for that is not "refused". */
int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)
{
	(void)buf;
	errno = ENODATA;
	return -1;
}

/* ---- registration ---- */

struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr)
{
	uint64_t iova;

	if (attr->comp_mask & ~(uint64_t)KNOWN)
		return refuse(EOPNOTSUPP);
	if (attr->comp_mask == MR_HAS_FILE)
		return ibv_reg_dmabuf_mr(pd, attr->fd_offset, attr->length, attr->iova, attr->fd,
			attr->access);
	/* Memory or a file, and of a file all three. */
	if (!(attr->comp_mask & MR_HAS_ADDR) || attr->comp_mask & (MR_HAS_FD | MR_HAS_FD_OFFSET))
		return refuse(EINVAL);
	if (attr->comp_mask & MR_HAS_BUF && !is_part(attr->buf, pd, attr->addr, attr->length))
		return refuse(EINVAL);
	iova = attr->comp_mask & MR_HAS_IOVA ? attr->iova : (uintptr_t)attr->addr;
	return ibv_reg_mr_iova2(pd, attr->addr, attr->length, iova, (unsigned)attr->access);
}

/* ---- ports ---- */

int ibv_query_port_speed(struct ibv_context *ibv, uint32_t port, uint64_t *speed)
{
	if (port != 1)
		return EINVAL;
	*speed = context_of(ibv)->attr.line_bps / SPEED_UNIT_BPS;
	return 0;
}

/* ---- what a card has ---- */

struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context, struct ibv_dmah_init_attr *attr)
{
	(void)context, (void)attr;
	return refuse(EOPNOTSUPP);
}

int ibv_dealloc_dmah(struct ibv_dmah *dmah)
{
	(void)dmah;
	return EOPNOTSUPP;
}

int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
	(void)dm;
	errno = EOPNOTSUPP;
	return -1;
}

int _ibv_query_comp_cntr_caps(
	struct ibv_context *context, struct ibv_comp_cntr_caps *caps, size_t bytes)
{
	(void)context, (void)caps, (void)bytes;
	return EOPNOTSUPP;
}

struct ibv_comp_cntr *ibv_create_comp_cntr(
	struct ibv_context *context, struct ibv_comp_cntr_init_attr *attr)
{
	(void)context, (void)attr;
	return refuse(EOPNOTSUPP);
}

int ibv_destroy_comp_cntr(struct ibv_comp_cntr *counter)
{
	(void)counter;
	return EOPNOTSUPP;
}

#define COUNTER(name, type) \
	int name(struct ibv_comp_cntr *counter, type value) \
	{ \
		(void)counter, (void)value; \
		return EOPNOTSUPP; \
	}
COUNTER(ibv_set_comp_cntr, uint64_t)
COUNTER(ibv_set_err_comp_cntr, uint64_t)
COUNTER(ibv_inc_comp_cntr, uint64_t)
COUNTER(ibv_inc_err_comp_cntr, uint64_t)
COUNTER(ibv_read_comp_cntr, uint64_t *)
COUNTER(ibv_read_err_comp_cntr, uint64_t *)

int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *counter,
	struct ibv_qp_attach_comp_cntr_attr *attr)
{
	(void)qp, (void)counter, (void)attr;
	return EOPNOTSUPP;
}
