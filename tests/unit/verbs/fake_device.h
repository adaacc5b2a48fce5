/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H
/*
 * A device that moves nothing: it notes what verbs asked of it and answers what the test has
 * prepared, so that a test sees exactly how one vocabulary becomes the other.
 *
 * These definitions stand before the device room's when a test is linked.
 */
#include "check.h"
#include "verbs_local.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/version.h>

struct weft_dev_cq {
	uint32_t entries;
	struct weft_dev_wc wcs[8];
	int n, armed;
	void *user;
};

struct weft_dev_xrcd {
	struct weft_dev *dev;
};

struct weft_dev_qp {
	struct weft_dev_qp_init init;
	struct weft_dev_qp_attr attr;
	uint32_t mask;
};

static struct {
	int open; /* objects */
	int error; /* the next opening's or moving's answer */
	struct weft_dev_attr attr;
	bool plane_up[2];
	struct weft_dev_event event;
	int events;
	void *channel_user;
	void (*meanwhile)(void *user);
	uint8_t ah_gid[16], group[16];
	bool joined, is_bound;
	struct weft_dev_bind bind; /* of the last that was sent */
	uint32_t mr_access;
	uint64_t mr_iova;
	int mr_fd;
	uint64_t mr_offset;
	struct weft_dev_send sent[8];
	struct weft_dev_sge sges[8];
	bool more[8];
	int n_sent;
	int room; /* sends that fit */
	struct weft_dev_recv received;
	struct weft_dev_srq_attr srq;
} fake;

static inline int opened(void **out, size_t bytes)
{
	int error = fake.error;

	fake.error = 0;
	if (error)
		return error;
	*out = calloc(1, bytes);
	fake.open++;
	return 0;
}

static inline int closed(void *object)
{
	int error = fake.error;

	fake.error = 0;
	if (error)
		return error;
	free(object);
	fake.open--;
	return 0;
}

int weft_dev_list(struct weft_dev_name list[WEFT_DEV_MAX], char *error, size_t bytes)
{
	if (fake.error) {
		snprintf(error, bytes, "devices.conf:1: what is this");
		fake.error = 0;
		return -1;
	}
	memset(list, 0, 2 * sizeof(*list));
	snprintf(list[0].name, sizeof(list[0].name), "weft0");
	snprintf(list[1].name, sizeof(list[1].name), "weft1");
	list[0].guid = 0x1122334455667788;
	return 2;
}

int weft_dev_open(struct weft_dev **dev, const struct weft_dev_name *name, char *e, size_t n)
{
	snprintf(e, n, "%s does not open", name->name);
	return opened((void **)dev, 1);
}

int weft_dev_close(struct weft_dev *dev)
{
	return closed(dev);
}

void weft_dev_query(const struct weft_dev *dev, struct weft_dev_attr *attr)
{
	(void)dev;
	*attr = fake.attr;
}

void weft_dev_gid(const struct weft_dev *dev, uint8_t gid[16])
{
	(void)dev;
	memset(gid, 0, 16);
	gid[0] = 0xfd;
	gid[15] = 7;
}

int weft_dev_plane_query(struct weft_dev *dev, uint32_t plane, struct weft_dev_plane *info)
{
	(void)dev;
	info->link = fake.plane_up[plane];
	info->admin = true;
	return 0;
}

int weft_dev_event_fd(const struct weft_dev *dev)
{
	(void)dev;
	return 77;
}

int weft_dev_event_take(struct weft_dev *dev, struct weft_dev_event *event,
	void (*got)(const struct weft_dev_event *event))
{
	(void)dev;
	if (!fake.events)
		return EAGAIN;
	fake.events--;
	*event = fake.event;
	if (fake.events) /* the first of several is one that verbs do not know */
		*event = (struct weft_dev_event){ .kind = WEFT_DEV_PLANE_DOWN, .number = 3 };
	got(event);
	if (fake.meanwhile) /* what another thread does before the caller looks at it */
		fake.meanwhile(event->user);
	return 0;
}

int weft_dev_pd_open(struct weft_dev *dev, struct weft_dev_pd **pd)
{
	(void)dev;
	return opened((void **)pd, 1);
}

int weft_dev_pd_close(struct weft_dev_pd *pd)
{
	return closed(pd);
}

void *weft_dev_mr_find(struct weft_dev_pd *pd, const struct weft_dev_sge *sge, uint32_t access)
{
	(void)pd;
	fake.mr_access = access;
	return sge->lkey == 1 ? (void *)(uintptr_t)sge->addr : NULL;
}

int weft_dev_mr_open(struct weft_dev_pd *pd, void *addr, uint64_t len, uint64_t iova,
	uint32_t access, struct weft_dev_mr **mr)
{
	(void)pd, (void)addr, (void)len;
	fake.mr_access = access;
	fake.mr_iova = iova;
	return opened((void **)mr, 1);
}

int weft_dev_mr_open_dmabuf(struct weft_dev_pd *pd, int fd, uint64_t offset, uint64_t len,
	uint64_t iova, uint32_t access, struct weft_dev_mr **mr)
{
	(void)pd, (void)len;
	fake.mr_access = access;
	fake.mr_iova = iova;
	fake.mr_fd = fd;
	fake.mr_offset = offset;
	return opened((void **)mr, 1);
}

int weft_dev_mr_move(struct weft_dev_mr *mr, struct weft_dev_pd *pd, void *addr, uint64_t len,
	uint64_t iova, uint32_t access)
{
	(void)mr, (void)pd, (void)addr, (void)len;
	int error = fake.is_bound ? EBUSY : fake.error;

	fake.error = 0;
	if (!error) {
		fake.mr_access = access;
		fake.mr_iova = iova;
	}
	return error;
}

struct weft_dev_mw {
	unsigned type;
};

int weft_dev_mw_open(struct weft_dev_pd *pd, unsigned type, struct weft_dev_mw **mw)
{
	(void)pd;
	int error = opened((void **)mw, sizeof(**mw));

	if (!error)
		(*mw)->type = type;
	return error;
}

int weft_dev_mw_close(struct weft_dev_mw *mw)
{
	return closed(mw);
}

uint32_t weft_dev_mw_key(const struct weft_dev_mw *mw)
{
	return mw->type << 28 | 0x100 | (uint32_t)fake.n_sent;
}

int weft_dev_mr_close(struct weft_dev_mr *mr)
{
	return closed(mr);
}

uint32_t weft_dev_mr_key(const struct weft_dev_mr *mr)
{
	(void)mr;
	return 0xabcdef;
}

int weft_dev_channel_open(struct weft_dev *dev, struct weft_dev_channel **channel)
{
	(void)dev;
	return opened((void **)channel, 1);
}

int weft_dev_channel_close(struct weft_dev_channel *channel)
{
	return closed(channel);
}

int weft_dev_channel_fd(const struct weft_dev_channel *channel)
{
	(void)channel;
	return 78;
}

int weft_dev_channel_take(struct weft_dev_channel *channel, void **user, void (*got)(void *user))
{
	(void)channel;
	*user = fake.channel_user;
	if (!*user)
		return EAGAIN;
	got(*user);
	if (fake.meanwhile)
		fake.meanwhile(*user);
	return 0;
}

int weft_dev_cq_open(struct weft_dev *dev, uint32_t entries, struct weft_dev_channel *channel,
	void *user, struct weft_dev_cq **cq)
{
	(void)dev, (void)channel;
	int error = opened((void **)cq, sizeof(**cq));

	if (!error) {
		(*cq)->entries = entries;
		(*cq)->user = user;
	}
	return error;
}

int weft_dev_cq_close(struct weft_dev_cq *cq)
{
	return closed(cq);
}

int weft_dev_cq_resize(struct weft_dev_cq *cq, uint32_t entries)
{
	cq->entries = entries;
	return fake.error;
}

uint32_t weft_dev_cq_entries(const struct weft_dev_cq *cq)
{
	return cq->entries;
}

int weft_dev_cq_poll(struct weft_dev_cq *cq, struct weft_dev_wc wc[], int max)
{
	int n = cq->n < max ? cq->n : max;

	if (n <= 0)
		return cq->n;
	memcpy(wc, cq->wcs, (size_t)n * sizeof(*wc));
	memmove(cq->wcs, cq->wcs + n, (size_t)(cq->n - n) * sizeof(*wc));
	cq->n -= n;
	return n;
}

int weft_dev_cq_arm(struct weft_dev_cq *cq, bool solicited_only)
{
	cq->armed = 1 + solicited_only;
	return 0;
}

int weft_dev_ah_open(struct weft_dev_pd *pd, const uint8_t gid[16], struct weft_dev_ah **ah)
{
	(void)pd;
	memcpy(fake.ah_gid, gid, 16);
	return opened((void **)ah, 1);
}

int weft_dev_group_join(struct weft_dev_qp *qp, const uint8_t gid[16])
{
	(void)qp;
	memcpy(fake.group, gid, 16);
	fake.joined = true;
	return 0;
}

int weft_dev_group_leave(struct weft_dev_qp *qp, const uint8_t gid[16])
{
	(void)qp;
	if (!fake.joined || memcmp(fake.group, gid, 16))
		return EINVAL;
	fake.joined = false;
	return 0;
}

int weft_dev_ah_close(struct weft_dev_ah *ah)
{
	return closed(ah);
}

int weft_dev_srq_open(struct weft_dev_pd *pd, const struct weft_dev_srq_attr *attr, void *user,
	struct weft_dev_srq **srq)
{
	(void)pd, (void)user;
	fake.srq = *attr;
	return opened((void **)srq, 1);
}

uint32_t weft_dev_srq_number(const struct weft_dev_srq *srq)
{
	(void)srq;
	return fake.srq.xrcd ? 0x010001 : 0;
}

int weft_dev_xrcd_open(struct weft_dev *dev, struct weft_dev_xrcd **xrcd)
{
	int error = opened((void **)xrcd, sizeof(**xrcd));

	if (!error)
		(*xrcd)->dev = dev;
	return error;
}

int weft_dev_xrcd_close(struct weft_dev_xrcd *xrcd)
{
	return closed(xrcd);
}

int weft_dev_srq_close(struct weft_dev_srq *srq)
{
	return closed(srq);
}

int weft_dev_srq_limit(struct weft_dev_srq *srq, uint32_t limit)
{
	(void)srq;
	fake.srq.limit = limit;
	return 0;
}

void weft_dev_srq_query(const struct weft_dev_srq *srq, struct weft_dev_srq_attr *attr)
{
	(void)srq;
	*attr = fake.srq;
}

int weft_dev_srq_post(struct weft_dev_srq *srq, const struct weft_dev_recv *recv)
{
	(void)srq;
	fake.received = *recv;
	return fake.room-- > 0 ? 0 : ENOMEM;
}

int weft_dev_qp_open(
	struct weft_dev_pd *pd, const struct weft_dev_qp_init *init, struct weft_dev_qp **qp)
{
	(void)pd;
	int error = opened((void **)qp, sizeof(**qp));

	if (!error)
		(*qp)->init = *init;
	return error;
}

int weft_dev_xrc_recv_open(struct weft_dev_xrcd *xrcd, const struct weft_dev_qp_init *init,
	struct weft_dev_qp **qp)
{
	struct weft_dev_qp_init own = *init;

	own.profile = WEFT_DEV_XRC_RECV;
	own.xrcd = xrcd;
	return weft_dev_qp_open(NULL, &own, qp);
}

void weft_dev_qp_set_user(struct weft_dev_qp *qp, void *user)
{
	qp->init.user = user;
}

int weft_dev_qp_close(struct weft_dev_qp *qp)
{
	return closed(qp);
}

uint32_t weft_dev_qp_number(const struct weft_dev_qp *qp)
{
	(void)qp;
	return 0x4711;
}

int weft_dev_qp_modify(struct weft_dev_qp *qp, const struct weft_dev_qp_attr *attr, uint32_t mask)
{
	int error = fake.error;

	fake.error = 0;
	if (error)
		return error;
	qp->attr = *attr;
	qp->mask = mask;
	return 0;
}

void weft_dev_qp_query(
	struct weft_dev_qp *qp, struct weft_dev_qp_attr *attr, struct weft_dev_qp_init *init)
{
	*attr = qp->attr;
	if (init)
		*init = qp->init;
}

int weft_dev_post_send(struct weft_dev_qp *qp, const struct weft_dev_send *send, bool more)
{
	(void)qp;
	if (fake.room-- <= 0)
		return ENOMEM;
	fake.sent[fake.n_sent] = *send;
	fake.more[fake.n_sent] = more;
	if (send->bind)
		fake.bind = *send->bind;
	if (send->n_sges)
		fake.sges[fake.n_sent] = send->sges[0];
	fake.n_sent++;
	return 0;
}

int weft_dev_post_sends(
	struct weft_dev_qp *qp, const struct weft_dev_send sends[], uint32_t n, bool more)
{
	if (fake.room < (int)n)
		return ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		(void)weft_dev_post_send(qp, &sends[i], more || i + 1 < n);
	return 0;
}

int weft_dev_post_recv(struct weft_dev_qp *qp, const struct weft_dev_recv *recv)
{
	(void)qp;
	fake.received = *recv;
	return fake.room-- > 0 ? 0 : ENOMEM;
}

/* ---- what most tests begin with ---- */

static inline struct ibv_context *open_context(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.attr = (struct weft_dev_attr){ .guid = 0x1122334455667788,
		.version = WEFT_VERSION,
		.rate_bps = UINT64_C(20000000000),
		.line_bps = UINT64_C(100000000000),
		.planes = 2,
		.mtu_bytes = 4096,
		.max_qp = 64,
		.max_qp_wr = 1024,
		.max_sge = 32,
		.max_inline_bytes = 1024,
		.max_cq = 64,
		.max_cqe = 4096,
		.max_srq = 8,
		.max_srq_wr = 1024,
		.max_srq_sge = 32,
		.max_rd_atomic = 16,
		.max_msg_bytes = 1u << 30,
		.extended = true };
	fake.plane_up[1] = true;
	fake.room = 100;
	int n;
	struct ibv_device **list = ibv_get_device_list(&n);
	REQUIRE(list && n == 2);
	struct ibv_context *context = ibv_open_device(list[0]);
	REQUIRE(context);
	ibv_free_device_list(list);
	return context;
}

static inline void close_context(struct ibv_context *context)
{
	CHECK(!ibv_close_device(context));
	CHECK_EQ(fake.open, 0);
}

struct bench {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static inline struct bench open_bench(enum ibv_qp_type type, uint64_t send_ops)
{
	struct bench b = { .context = open_context() };
	struct ibv_qp_init_attr_ex attr = { .qp_type = type,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD };

	b.pd = ibv_alloc_pd(b.context);
	b.cq = ibv_create_cq(b.context, 16, NULL, NULL, 0);
	REQUIRE(b.pd && b.cq);
	attr.send_cq = attr.recv_cq = b.cq;
	attr.pd = b.pd;
	if (send_ops) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = send_ops;
	}
	b.qp = ibv_create_qp_ex(b.context, &attr);
	REQUIRE(b.qp);
	return b;
}

static inline void close_bench(struct bench *b)
{
	CHECK(!ibv_destroy_qp(b->qp));
	CHECK(!ibv_destroy_cq(b->cq));
	CHECK(!ibv_dealloc_pd(b->pd));
	close_context(b->context);
}

#endif
