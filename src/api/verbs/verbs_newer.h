/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_NEWER_H
#define VERBS_NEWER_H
/*
 * verbs_newer - what libibverbs has exported since rdma-core 44, whose headers we are built with:
 * names, arguments and layouts as programs that were built against rdma-core 60 to 65 know them
 * (its verbs.h and libibverbs.map of 2026-08; nodes IBVERBS_1.15 to 1.18).
 */
#include <infiniband/verbs.h>

enum newer_mr_has { /* comp_mask of struct ibv_mr_init_attr */
	MR_HAS_IOVA = 1 << 0,
	MR_HAS_ADDR = 1 << 1,
	MR_HAS_FD = 1 << 2,
	MR_HAS_FD_OFFSET = 1 << 3,
	MR_HAS_DMAH = 1 << 4,
	MR_HAS_BUF = 1 << 5,
};

/* Of struct ibv_parent_domain_init_attr, beside those that the headers have. */
#define PARENT_ALLOWS_UNPROTECTED (1u << 2)

struct ibv_dmah;
struct ibv_dmah_init_attr;
struct ibv_buf;
struct ibv_comp_cntr;
struct ibv_comp_cntr_init_attr;
struct ibv_comp_cntr_caps;
struct ibv_qp_attach_comp_cntr_attr;

struct ibv_mr_init_attr {
	size_t length;
	int access;
	uint64_t comp_mask;
	uint64_t iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	struct ibv_dmah *dmah;
	struct ibv_buf *buf;
};

/* 1.15 */
struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context, struct ibv_dmah_init_attr *attr);
int ibv_dealloc_dmah(struct ibv_dmah *dmah);
struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr);
/* 1.16 */
int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm);
int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed);
/* 1.17 */
void *ibv_alloc_buf(struct ibv_pd *pd, size_t bytes, struct ibv_buf **buf);
void ibv_free_buf(struct ibv_buf *buf);
struct ibv_mr *ibv_reg_buf_mr(
	struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length, int access);
/* 1.18 */
int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf);
int _ibv_query_comp_cntr_caps(
	struct ibv_context *context, struct ibv_comp_cntr_caps *caps, size_t bytes);
struct ibv_comp_cntr *ibv_create_comp_cntr(
	struct ibv_context *context, struct ibv_comp_cntr_init_attr *attr);
int ibv_destroy_comp_cntr(struct ibv_comp_cntr *counter);
int ibv_set_comp_cntr(struct ibv_comp_cntr *counter, uint64_t value);
int ibv_set_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t value);
int ibv_inc_comp_cntr(struct ibv_comp_cntr *counter, uint64_t amount);
int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t amount);
int ibv_read_comp_cntr(struct ibv_comp_cntr *counter, uint64_t *value);
int ibv_read_err_comp_cntr(struct ibv_comp_cntr *counter, uint64_t *value);
int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *counter,
	struct ibv_qp_attach_comp_cntr_attr *attr);

#endif
