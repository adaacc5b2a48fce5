/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_LOCAL_H
#define VERBS_LOCAL_H
/*
 * What the files of verbs share.  Every object begins with the part that programs know, so that a
 * cast leads from theirs to ours; <infiniband/verbs.h> is the authority for that part's layout.
 */
#include <weft/base.h>
#include <weft/lock.h>
#include <weft/verbs.h>

#include <errno.h>
#include <infiniband/verbs.h>

#define PORT 1
#define GIDS 4           /* and not one: scripts for RoCE say 3; see gid.c */
#define INLINE_BYTES 256 /* at least, whatever is asked for */
#define DEVICE_BYTES 1024

/* Vendors' libraries read on behind ibv_device, to see whether it is theirs: there is a zero. */
struct device {
	struct ibv_device ibv;
	void *ops;
	struct weft_dev_name name;
	uint32_t users; /* lists and contexts; atomic */
	uint8_t pad[DEVICE_BYTES];
};

struct context {
	struct verbs_context verbs; /* its end is the program's ibv_context */
	struct device *device;
	struct weft_dev *dev;
	struct weft_dev_attr attr;
	uint8_t gid[16]; /* the device's */
	bool strict;
};

struct td {
	struct ibv_td ibv;
	uint32_t users; /* parent domains; atomic */
};

struct pd {
	struct ibv_pd ibv;
	struct weft_dev_pd *dev; /* of a parent domain: its parent's */
	struct pd *parent;       /* or NULL */
	struct td *td;           /* or NULL */
	uint32_t users;          /* parent domains made of it; atomic */
};

struct dm {
	struct ibv_dm ibv;
	uint8_t *memory;
	size_t bytes;
	uint32_t users; /* registrations; atomic */
};

struct mr {
	struct ibv_mr ibv;
	struct weft_dev_mr *dev;
	struct dm *dm;   /* NULL: not device memory of ours */
	bool is_foreign; /* by its DMA-BUF: it has no address here */
	uint64_t iova;
	unsigned int access;
};

struct mw {
	struct ibv_mw ibv;
	struct weft_dev_mw *dev;
};

struct ah {
	struct ibv_ah ibv;
	struct weft_dev_ah *dev;
};

struct channel {
	struct ibv_comp_channel ibv;
	struct weft_dev_channel *dev;
};

struct cq {
	struct ibv_cq_ex ibv; /* ibv_cq is its beginning */
	struct weft_dev_cq *dev;
	uint32_t comp_events, async_events; /* given out; under ibv.mutex */
	struct weft_dev_wc now;             /* between start_poll and end_poll */
};

struct srq {
	struct ibv_srq ibv;
	struct weft_dev_srq *dev;
	uint32_t async_events; /* given out; under ibv.mutex */
};

struct domain; /* of XRC; verbs_xrc.c */

struct xrcd {
	struct ibv_xrcd ibv;
	struct domain *domain;
};

struct build; /* what ibv_wr_* have put together; wr.c */

struct qp {
	struct ibv_qp_ex ibv; /* ibv_qp is its beginning */
	struct weft_dev_qp *dev;
	struct ibv_qp_cap cap;
	struct ibv_qp_attr attr; /* as last set */
	struct build *build;     /* NULL: not made for ibv_wr_* */
	uint32_t async_events;   /* given out; under ibv.qp_base.mutex */
	int sq_sig_all;
	struct domain *domain;  /* IBV_QPT_XRC_RECV; else NULL */
	struct qp *next_target; /* in it */
};

static inline struct context *context_of(struct ibv_context *ibv)
{
	return (struct context *)(void *)((char *)ibv - offsetof(struct verbs_context, context));
}

static inline struct cq *cq_of(struct ibv_cq *ibv)
{
	return (struct cq *)(void *)ibv;
}

static inline struct qp *qp_of(struct ibv_qp *ibv)
{
	return (struct qp *)(void *)ibv;
}

/* errno = error; NULL. */
static inline void *refuse(int error)
{
	errno = error;
	return NULL;
}

/* errno = error too, unless it is 0: the real library leaves the kernel's there, and programs that
 * get a number print the other (UCX: "%m"). */
static inline int complain(int error)
{
	if (error)
		errno = error;
	return error;
}

/* An object's life is over when what was given out about it has been acknowledged. */
void wait_for_acks(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *given,
	const uint32_t *acknowledged);

/* ---- gid.c ---- */

/* At index; false: there is none. */
bool gid_at(const struct context *context, uint32_t index, union ibv_gid *gid);
/* The one by which the device is found: an address, where gid is a form of one. */
void gid_address(const union ibv_gid *gid, uint8_t address[16]);

/* ---- attr.c ---- */

int attr_query_device_ex(struct ibv_context *ibv, const struct ibv_query_device_ex_input *input,
	struct ibv_device_attr_ex *out, size_t bytes);
int attr_query_port(struct ibv_context *ibv, uint8_t port, struct ibv_port_attr *out, size_t bytes);
int attr_query_rt_values(struct ibv_context *ibv, struct ibv_values_ex *values);
enum ibv_mtu attr_mtu(const struct context *context); /* that its packets hold */
/* Verbs' code words for a rate: width and speed, whose product comes nearest. */
void attr_speed(uint64_t rate_bps, uint8_t *width, uint8_t *speed);

/* ---- domain.c: thread domains, parent domains, advice, device memory ---- */

#define DM_BYTES_MAX (16u << 20)
void domain_fill(struct verbs_context *v);
void domain_close(struct pd *pd); /* of a parent domain */

/* ---- verbs_cq.c ---- */

int cq_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int cq_arm(struct ibv_cq *cq, int solicited_only);
struct ibv_cq_ex *cq_create_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);
struct cq *cq_new(struct ibv_context *context, int entries, void *user, struct ibv_comp_channel *c);

/* ---- cq_ex.c: completions read one field at a time ---- */

void cq_ex_fill(struct cq *cq);

/* ---- verbs_srq.c ---- */

struct ibv_srq *srq_create_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);
int srq_post(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

/* ---- verbs_xrc.c: extended reliable connections ---- */

void xrc_fill(struct verbs_context *v);
/* An IBV_QPT_XRC_RECV queue pair of the domain; an errno value. */
int xrc_target_open(struct qp *qp, struct ibv_xrcd *xrcd);
int xrc_target_close(struct qp *qp);
struct weft_dev_xrcd *xrc_device(struct ibv_xrcd *xrcd);

/* ---- verbs_mw.c: memory windows ---- */

void mw_fill(struct ibv_context_ops *ops);
/* What a work says of a window of type 2, in the device's words; false: it is of another type. */
bool mw_words(const struct ibv_send_wr *wr, struct weft_dev_bind *bind);

/* ---- verbs_qp.c ---- */

/* The rest of a queue pair whose device's is open. */
void qp_fill(struct qp *qp, struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *qp_create_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);

/* ---- verbs_post.c ---- */

/* The strict profile refuses something, and says so once.  bit: an opcode, or one of these. */
enum { STRICT_UD = 16, STRICT_XRC, STRICT_SRQ, STRICT_MW };
int strict_refuses(uint32_t bit, const char *what); /* EOPNOTSUPP */

int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
/* A work in the device's words, which point to `bind` if it is one; an errno value. */
int post_words(const struct qp *qp, const struct ibv_send_wr *wr, struct weft_dev_send *send,
	struct weft_dev_bind *bind);

/* ---- wr.c: works put together call by call ---- */

bool build_open(struct qp *qp);                              /* fills the pointers */
bool build_serves(const struct qp *qp, uint64_t operations); /* IBV_QP_EX_WITH_* */
void build_close(struct qp *qp);

#endif
