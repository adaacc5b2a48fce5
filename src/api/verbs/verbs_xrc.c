/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_xrc - extended reliable connections: domains, and queue pairs that may be opened twice.
 *
 * A domain that was opened by a file is found again by that file, in this process: its queue pairs
 * and queues live in one device, and that is the process's.  A receiving queue pair that is opened
 * by number is another handle on the same one of the device, which closes with the last handle;
 * its events go to the oldest that is left.
 */
#include "verbs_local.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

struct domain {
	struct domain *next;
	const struct context *context;
	struct weft_dev_xrcd *dev;
	struct qp *targets; /* handles, oldest first */
	dev_t device;
	ino_t inode;
	bool has_file;
	uint32_t users; /* ibv_xrcds */
};

static struct domain *domains;
static struct weft_lock lock = WEFT_LOCK_INIT; /* of all above */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Another thread of the parent may have had it. */
static void in_child(void)
{
	weft_lock_open(&lock);
}

static void watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, in_child);
}

struct weft_dev_xrcd *xrc_device(struct ibv_xrcd *xrcd)
{
	return ((struct xrcd *)xrcd)->domain->dev;
}

/* ---- domains ---- */

static struct domain *find(const struct context *context, const struct stat *file)
{
	struct domain *d = domains;

	while (d && !(d->has_file && d->context == context && d->device == file->st_dev &&
			    d->inode == file->st_ino))
		d = d->next;
	return d;
}

static int add(const struct context *context, const struct stat *file, struct domain **out)
{
	struct domain *d = calloc(1, sizeof(*d));
	int error = d ? weft_dev_xrcd_open(context->dev, &d->dev) : ENOMEM;

	if (error) {
		free(d);
		return error;
	}
	d->context = context;
	d->has_file = file != NULL;
	d->device = file ? file->st_dev : 0;
	d->inode = file ? file->st_ino : 0;
	d->next = domains;
	domains = d;
	*out = d;
	return 0;
}

static int take(const struct context *context, int fd, int oflags, struct domain **out)
{
	struct stat file;

	if (fd >= 0 && fstat(fd, &file))
		return errno;
	*out = fd < 0 ? NULL : find(context, &file);
	if (*out)
		return oflags & O_EXCL ? EINVAL : 0;
	if (!(oflags & O_CREAT))
		return fd < 0 ? EINVAL : EAGAIN;
	return add(context, fd < 0 ? NULL : &file, out);
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *ibv, struct ibv_xrcd_init_attr *attr)
{
	const uint32_t needed = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	const struct context *context = context_of(ibv);
	struct xrcd *xrcd;
	int error;

	if (context->strict)
		return refuse(EOPNOTSUPP);
	if (attr->comp_mask != needed || attr->oflags & ~(O_CREAT | O_EXCL))
		return refuse(EINVAL);
	xrcd = calloc(1, sizeof(*xrcd));
	if (!xrcd)
		return refuse(ENOMEM);
	(void)pthread_once(&once, watch_forks);
	weft_lock_take(&lock);
	error = take(context, attr->fd, attr->oflags, &xrcd->domain);
	if (!error)
		xrcd->domain->users++;
	weft_lock_give(&lock);
	if (error) {
		free(xrcd);
		return refuse(error);
	}
	xrcd->ibv.context = ibv;
	return &xrcd->ibv;
}

static int close_xrcd(struct ibv_xrcd *ibv)
{
	struct xrcd *xrcd = (struct xrcd *)ibv;
	struct domain *d = xrcd->domain, **at = &domains;
	int error = 0;

	weft_lock_take(&lock);
	if (d->users == 1)
		error = weft_dev_xrcd_close(d->dev);
	if (!error && !--d->users) {
		while (*at != d)
			at = &(*at)->next;
		*at = d->next;
		free(d);
	}
	weft_lock_give(&lock);
	if (!error)
		free(xrcd);
	return complain(error);
}

/* ---- receiving queue pairs ---- */

static void enlist(struct qp *qp, struct domain *d)
{
	struct qp **at = &d->targets;

	while (*at)
		at = &(*at)->next_target;
	*at = qp;
	qp->domain = d;
}

int xrc_target_open(struct qp *qp, struct ibv_xrcd *xrcd)
{
	const struct weft_dev_qp_init init = { .user = qp };
	struct domain *d = ((struct xrcd *)xrcd)->domain;
	int error = weft_dev_xrc_recv_open(d->dev, &init, &qp->dev);

	if (error)
		return error;
	weft_lock_take(&lock);
	enlist(qp, d);
	weft_lock_give(&lock);
	return 0;
}

static struct qp *find_target(const struct domain *d, uint32_t number)
{
	struct qp *qp = d->targets;

	while (qp && weft_dev_qp_number(qp->dev) != number)
		qp = qp->next_target;
	return qp;
}

int xrc_target_close(struct qp *qp)
{
	struct qp **at = &qp->domain->targets, *other;
	int error = 0;

	weft_lock_take(&lock);
	while (*at != qp)
		at = &(*at)->next_target;
	*at = qp->next_target;
	other = find_target(qp->domain, qp->ibv.qp_base.qp_num);
	if (other)
		weft_dev_qp_set_user(qp->dev, other);
	else
		error = weft_dev_qp_close(qp->dev);
	weft_lock_give(&lock);
	return error;
}

static struct ibv_qp *open_qp(struct ibv_context *ibv, struct ibv_qp_open_attr *attr)
{
	const uint32_t needed =
		IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	bool has_user = attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT;
	const struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_RECV,
		.qp_context = has_user ? attr->qp_context : NULL };

	if ((attr->comp_mask & needed) != needed || attr->qp_type != IBV_QPT_XRC_RECV ||
		!attr->xrcd)
		return refuse(EINVAL);
	struct domain *d = ((struct xrcd *)attr->xrcd)->domain;
	struct qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return refuse(ENOMEM);
	weft_lock_take(&lock);
	const struct qp *known = find_target(d, attr->qp_num);

	if (known) {
		qp->dev = known->dev;
		qp->attr = known->attr;
		enlist(qp, d);
	}
	weft_lock_give(&lock);
	if (!qp->dev) {
		free(qp);
		return refuse(EINVAL);
	}
	struct weft_dev_qp_attr now;

	qp_fill(qp, ibv, &init);
	weft_dev_qp_query(qp->dev, &now, NULL);
	qp->ibv.qp_base.state = (enum ibv_qp_state)now.state;
	return &qp->ibv.qp_base;
}

static int get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
	uint32_t own = weft_dev_srq_number(((struct srq *)srq)->dev);

	if (!own)
		return EOPNOTSUPP;
	*number = own;
	return 0;
}

void xrc_fill(struct verbs_context *v)
{
	v->open_xrcd = open_xrcd;
	v->close_xrcd = close_xrcd;
	v->open_qp = open_qp;
	v->get_srq_num = get_srq_num;
}
