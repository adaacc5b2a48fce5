/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cq_ex - completions read one field at a time.
 *
 * One completion is fetched per step and kept in the CQ: what a program does not read it does not
 * lose, and the plain way of polling sees the same order.  LIDs, service levels and VLANs are
 * zero here, as the packets have none.  Times are of the device's clock, which is monotonic.
 */
#include "verbs_local.h"

#include <endian.h>

static struct cq *of(struct ibv_cq_ex *ibv)
{
	return (struct cq *)(void *)ibv;
}

static int next_poll(struct ibv_cq_ex *ibv)
{
	struct cq *cq = of(ibv);
	int n = weft_dev_cq_poll(cq->dev, &cq->now, 1);

	if (n != 1)
		return n ? EIO : ENOENT;
	ibv->wr_id = cq->now.id;
	ibv->status = (enum ibv_wc_status)cq->now.status;
	return 0;
}

static int start_poll(struct ibv_cq_ex *ibv, struct ibv_poll_cq_attr *attr)
{
	return attr && attr->comp_mask ? EINVAL : next_poll(ibv);
}

static void end_poll(struct ibv_cq_ex *ibv)
{
	(void)ibv;
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ibv)
{
	return (enum ibv_wc_opcode)of(ibv)->now.op;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ibv)
{
	return of(ibv)->now.vendor;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ibv)
{
	return of(ibv)->now.len_bytes;
}

static __be32 read_imm_data(struct ibv_cq_ex *ibv)
{
	const struct weft_dev_wc *now = &of(ibv)->now;

	/* Also how ibv_wc_read_invalidated_rkey() asks, which wants a number. */
	return now->flags & WEFT_DEV_WC_WITH_INV ? now->imm : htobe32(now->imm);
}

static uint32_t read_qp_num(struct ibv_cq_ex *ibv)
{
	return of(ibv)->now.qpn;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ibv)
{
	return of(ibv)->now.src_qpn;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ibv)
{
	return of(ibv)->now.flags;
}

static uint32_t read_none(struct ibv_cq_ex *ibv)
{
	(void)ibv;
	return 0;
}

static uint8_t read_no_byte(struct ibv_cq_ex *ibv)
{
	(void)ibv;
	return 0;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ibv)
{
	return of(ibv)->now.at_ns;
}

void cq_ex_fill(struct cq *cq)
{
	cq->ibv.start_poll = start_poll;
	cq->ibv.next_poll = next_poll;
	cq->ibv.end_poll = end_poll;
	cq->ibv.read_opcode = read_opcode;
	cq->ibv.read_vendor_err = read_vendor_err;
	cq->ibv.read_byte_len = read_byte_len;
	cq->ibv.read_imm_data = read_imm_data;
	cq->ibv.read_qp_num = read_qp_num;
	cq->ibv.read_src_qp = read_src_qp;
	cq->ibv.read_wc_flags = read_wc_flags;
	cq->ibv.read_slid = read_none;
	cq->ibv.read_sl = read_no_byte;
	cq->ibv.read_dlid_path_bits = read_no_byte;
	cq->ibv.read_completion_ts = read_completion_ts;
}
