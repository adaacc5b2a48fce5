/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_device.h"

#include <fcntl.h>

static struct ibv_xrcd *open_domain(struct ibv_context *context, int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
			IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = oflags };

	return ibv_open_xrcd(context, &attr);
}

TEST(ibv_open_xrcd__finds_a_domain_by_its_file)
{
	struct ibv_context *context = open_context();
	int fd = open("/tmp", O_RDONLY | O_CLOEXEC);
	int before = fake.open;

	CHECK(!open_domain(context, fd, 0));
	CHECK_EQ(errno, EAGAIN);
	CHECK(!open_domain(context, -1, 0));
	CHECK_EQ(errno, EINVAL);
	CHECK(!open_domain(context, fd, O_CREAT | O_TRUNC));
	CHECK_EQ(errno, EINVAL);
	struct ibv_xrcd *one = open_domain(context, fd, O_CREAT);
	struct ibv_xrcd *same = open_domain(context, fd, O_CREAT);
	struct ibv_xrcd *own = open_domain(context, -1, O_CREAT);

	REQUIRE(one && same && own);
	CHECK(xrc_device(one) == xrc_device(same));
	CHECK(xrc_device(one) != xrc_device(own));
	CHECK(!open_domain(context, fd, O_CREAT | O_EXCL));
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(ibv_close_xrcd(one), 0);
	fake.error = EBUSY;
	CHECK_EQ(ibv_close_xrcd(same), EBUSY);
	CHECK_EQ(ibv_close_xrcd(same), 0);
	CHECK_EQ(ibv_close_xrcd(own), 0);
	CHECK_EQ(fake.open, before);
	close(fd);
	close_context(context);
}

TEST(ibv_open_qp__is_another_handle_on_the_same)
{
	struct ibv_context *context = open_context();
	struct ibv_xrcd *xrcd = open_domain(context, -1, O_CREAT);
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_RECV };
	struct ibv_qp_open_attr attr = { .comp_mask = IBV_QP_OPEN_ATTR_NUM |
			IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = 0x4712,
		.xrcd = xrcd,
		.qp_type = IBV_QPT_XRC_RECV };

	CHECK(!ibv_create_qp_ex(context, &init));
	CHECK_EQ(errno, EINVAL);
	init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	init.xrcd = xrcd;
	struct ibv_qp *qp = ibv_create_qp_ex(context, &init);

	REQUIRE(qp);
	CHECK(!ibv_open_qp(context, &attr));
	attr.qp_num = qp->qp_num;
	struct ibv_qp *other = ibv_open_qp(context, &attr);

	REQUIRE(other);
	struct weft_dev_qp *dev = qp_of(qp)->dev;

	CHECK(qp_of(other)->dev == dev);
	CHECK(dev->init.user == qp);
	CHECK(dev->init.xrcd == xrc_device(xrcd));
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK(dev->init.user == other);
	attr.qp_type = IBV_QPT_RC;
	CHECK(!ibv_open_qp(context, &attr));
	CHECK_EQ(ibv_destroy_qp(other), 0);
	CHECK_EQ(ibv_close_xrcd(xrcd), 0);
	close_context(context);
}

TEST(ibv_get_srq_num__is_of_xrc_only)
{
	struct ibv_context *context = open_context();
	struct ibv_xrcd *xrcd = open_domain(context, -1, O_CREAT);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, NULL, 0);
	struct ibv_srq_init_attr_ex attr = { .attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			IBV_SRQ_INIT_ATTR_XRCD,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.xrcd = xrcd,
		.cq = cq };
	uint32_t number = 0;

	CHECK(!ibv_create_srq_ex(context, &attr));
	CHECK_EQ(errno, EINVAL);
	attr.comp_mask |= IBV_SRQ_INIT_ATTR_CQ;
	struct ibv_srq *srq = ibv_create_srq_ex(context, &attr);

	REQUIRE(srq);
	CHECK(fake.srq.xrcd == xrc_device(xrcd));
	CHECK(fake.srq.cq == cq_of(cq)->dev);
	CHECK_EQ(ibv_get_srq_num(srq, &number), 0);
	CHECK_EQ(number, 0x010001);
	CHECK(!ibv_destroy_srq(srq));
	struct ibv_srq_init_attr basic = { .attr = { .max_wr = 4, .max_sge = 1 } };

	srq = ibv_create_srq(pd, &basic);
	REQUIRE(srq);
	CHECK_EQ(ibv_get_srq_num(srq, &number), EOPNOTSUPP);
	CHECK(!ibv_destroy_srq(srq));
	CHECK(!ibv_destroy_cq(cq));
	CHECK(!ibv_dealloc_pd(pd));
	CHECK(!ibv_close_xrcd(xrcd));
	close_context(context);
}

TEST(post_one__names_the_peers_queue)
{
	struct ibv_context *context = open_context();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex init = { .send_cq = cq,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
		.qp_type = IBV_QPT_XRC_SEND,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
		.pd = pd };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .qp_type.xrc.remote_srqn = 0x123 }, *bad;
	struct ibv_qp *qp = ibv_create_qp_ex(context, &init);

	REQUIRE(qp);
	CHECK_EQ(qp_of(qp)->dev->init.profile, WEFT_DEV_XRC_SEND);
	fake.room = 2;
	CHECK_EQ(ibv_post_send(qp, &wr, &bad), 0);
	CHECK_EQ(fake.sent[0].srqn, 0x123);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);

	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_xrc_srqn(ex, 0x456);
	CHECK_EQ(ibv_wr_complete(ex), 0);
	CHECK_EQ(fake.sent[1].srqn, 0x456);
	CHECK(!ibv_destroy_qp(qp));
	CHECK(!ibv_destroy_cq(cq));
	CHECK(!ibv_dealloc_pd(pd));
	close_context(context);
}

TEST(ibv_open_xrcd__is_not_strict)
{
	setenv("WEFT_PROFILE", "strict", 1);
	struct ibv_context *context = open_context();

	CHECK(!open_domain(context, -1, O_CREAT));
	CHECK_EQ(errno, EOPNOTSUPP);
	close_context(context);
	unsetenv("WEFT_PROFILE");
}
