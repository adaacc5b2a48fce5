/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_device.h"

TEST(cq_ex_fill__reads_one_completion_after_the_other)
{
	struct ibv_context *context = open_context();
	struct ibv_cq_init_attr_ex attr = { .cqe = 4, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_poll_cq_attr poll = { 0 };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(context, &attr);

	REQUIRE(cq);
	CHECK_EQ(ibv_start_poll(cq, &poll), ENOENT);
	struct weft_dev_cq *dev = cq_of(ibv_cq_ex_to_cq(cq))->dev;
	dev->wcs[0] = (struct weft_dev_wc){ .id = 1, .op = WEFT_DEV_DONE_READ, .len_bytes = 9 };
	dev->wcs[1] = (struct weft_dev_wc){ .id = 2,
		.op = WEFT_DEV_DONE_RECV,
		.imm = 0x0a000001,
		.src_qpn = 12,
		.qpn = 34,
		.flags = WEFT_DEV_WC_GRH,
		.vendor = 5,
		.status = WEFT_DEV_LOC_LEN_ERR };
	dev->n = 2;
	CHECK_EQ(ibv_start_poll(cq, &poll), 0);
	CHECK_EQ(cq->wr_id, 1);
	CHECK_EQ(ibv_wc_read_opcode(cq), IBV_WC_RDMA_READ);
	CHECK_EQ(ibv_wc_read_byte_len(cq), 9);
	CHECK_EQ(ibv_next_poll(cq), 0);
	CHECK_EQ(cq->wr_id, 2);
	CHECK_EQ(cq->status, IBV_WC_LOC_LEN_ERR);
	CHECK_EQ(ibv_wc_read_src_qp(cq), 12);
	CHECK_EQ(ibv_wc_read_qp_num(cq), 34);
	CHECK_EQ(ibv_wc_read_vendor_err(cq), 5);
	CHECK_EQ(ibv_wc_read_wc_flags(cq), IBV_WC_GRH);
	CHECK_EQ(ibv_wc_read_imm_data(cq), htobe32(0x0a000001));
	CHECK_EQ(ibv_wc_read_slid(cq) + ibv_wc_read_sl(cq) + ibv_wc_read_dlid_path_bits(cq), 0);
	CHECK_EQ(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	CHECK(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	close_context(context);
}

TEST(cq_ex_fill__tells_when)
{
	struct ibv_context *context = open_context();
	struct ibv_cq_init_attr_ex attr = { .cqe = 4,
		.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(context, &attr);
	struct ibv_poll_cq_attr poll = { 0 };

	REQUIRE(cq);
	struct weft_dev_cq *dev = cq_of(ibv_cq_ex_to_cq(cq))->dev;
	dev->wcs[0].at_ns = 123456789;
	dev->n = 1;
	CHECK_EQ(ibv_start_poll(cq, &poll), 0);
	CHECK_EQ(ibv_wc_read_completion_ts(cq), 123456789);
	ibv_end_poll(cq);
	CHECK(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	close_context(context);
}
