/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_context - devices found, opened, closed, and what happens to them.
 *
 * Nothing is found before a program asks: a library that is preloaded into every process of a job
 * costs none of them anything.  What devices there are is the device room's business; one that it
 * cannot list (a faulty configuration) is told on stderr, since a verbs program would only say that
 * there is no device.
 */
#include "verbs_local.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void let_go(struct device *device)
{
	if (__atomic_sub_fetch(&device->users, 1, __ATOMIC_ACQ_REL) == 0)
		free(device);
}

static struct device *make_device(const struct weft_dev_name *name, int index)
{
	struct device *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->name = *name;
	d->users = 1;
	d->ibv.node_type = IBV_NODE_CA;
	d->ibv.transport_type = IBV_TRANSPORT_IB;
	(void)snprintf(d->ibv.name, sizeof(d->ibv.name), "%s", name->name);
	(void)snprintf(d->ibv.dev_name, sizeof(d->ibv.dev_name), "uverbs%d", index);
	(void)snprintf(d->ibv.dev_path, sizeof(d->ibv.dev_path),
		"/sys/class/infiniband_verbs/uverbs%d", index);
	(void)snprintf(d->ibv.ibdev_path, sizeof(d->ibv.ibdev_path), "/sys/class/infiniband/%s",
		name->name);
	return d;
}

/* An empty list is no error, but seldom what was meant. */
static void tell_no_planes(void)
{
	static uint32_t told;

	if (!__atomic_exchange_n(&told, 1, __ATOMIC_RELAXED))
		weft_dev_say("no planes: run inside a lab (weft lab run HOST -- ...), or set "
			     "WEFT_PLANES to this host's addresses or interfaces, one per plane");
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct weft_dev_name names[WEFT_DEV_MAX];
	struct ibv_device **list = calloc(WEFT_DEV_MAX + 1, sizeof(*list));
	char error[256];

	if (num_devices)
		*num_devices = 0;
	if (!list)
		return refuse(ENOMEM);
	int n = weft_dev_list(names, error, sizeof(error));
	if (n < 0)
		weft_dev_say("%s", error);
	else if (!n)
		tell_no_planes();
	for (int i = 0; i < n; i++) {
		struct device *device = make_device(&names[i], i);

		if (!device) {
			ibv_free_device_list(list);
			return refuse(ENOMEM);
		}
		list[i] = &device->ibv;
	}
	if (num_devices)
		*num_devices = n > 0 ? n : 0;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	for (struct ibv_device **d = list; *d; d++)
		let_go((struct device *)(void *)*d);
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	return htobe64(((struct device *)(void *)device)->name.guid);
}

/* None: it is the kernel's number, and by NETLINK_RDMA programs would ask for another's device. */
int ibv_get_device_index(struct ibv_device *device)
{
	(void)device;
	return -1;
}

static void fill_operations(struct verbs_context *v)
{
	v->sz = sizeof(*v);
	v->query_port = attr_query_port;
	v->query_device_ex = attr_query_device_ex;
	v->query_rt_values = attr_query_rt_values;
	v->create_cq_ex = cq_create_ex;
	v->create_qp_ex = qp_create_ex;
	v->create_srq_ex = srq_create_ex;
	domain_fill(v);
	xrc_fill(v);
	mw_fill(&v->context.ops);
	v->context.ops.poll_cq = cq_poll;
	v->context.ops.req_notify_cq = cq_arm;
	v->context.ops.post_send = post_send;
	v->context.ops.post_recv = post_recv;
	v->context.ops.post_srq_recv = srq_post;
	v->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
}

struct ibv_context *ibv_open_device(struct ibv_device *ibv)
{
	struct device *device = (struct device *)(void *)ibv;
	struct context *context = calloc(1, sizeof(*context));
	const char *profile = getenv("WEFT_PROFILE");
	char why[256];

	if (!context)
		return refuse(ENOMEM);
	int error = weft_dev_open(&context->dev, &device->name, why, sizeof(why));
	if (error) {
		weft_dev_say("%s: %s", device->name.name, why);
		free(context);
		return refuse(error);
	}
	/* Nobody listens there, but programs look whether it is one, and copy it. */
	int cmd_fd = memfd_create(device->name.name, MFD_CLOEXEC);

	if (cmd_fd < 0) {
		error = errno;
		weft_dev_say("%s: cannot be opened: %s", device->name.name, strerror(error));
		(void)weft_dev_close(context->dev);
		free(context);
		return refuse(error);
	}
	weft_dev_query(context->dev, &context->attr);
	context->strict = !context->attr.extended || (profile && !strcmp(profile, "strict"));
	weft_dev_gid(context->dev, context->gid);
	fill_operations(&context->verbs);
	struct ibv_context *out = &context->verbs.context;
	out->device = ibv;
	out->cmd_fd = cmd_fd;
	out->async_fd = weft_dev_event_fd(context->dev);
	out->num_comp_vectors = 1;
	pthread_mutex_init(&out->mutex, NULL);
	__atomic_add_fetch(&device->users, 1, __ATOMIC_RELAXED);
	context->device = device;
	return out;
}

int ibv_close_device(struct ibv_context *ibv)
{
	struct context *context = context_of(ibv);
	int error = weft_dev_close(context->dev);

	/* The kernel would take back what a program has left open (perftest does leave some); it
	 * stays until the process ends, and its context with it.
	 */
	if (error == EBUSY)
		return 0;
	if (error) {
		errno = error;
		return -1;
	}
	(void)close(ibv->cmd_fd);
	pthread_mutex_destroy(&ibv->mutex);
	let_go(context->device);
	free(context);
	return 0;
}

struct weft_dev *weft_verbs_device(struct ibv_context *ibv)
{
	/* Another library's context has other functions, whatever lies before it. */
	return ibv && ibv->ops.poll_cq == cq_poll ? context_of(ibv)->dev : NULL;
}

/* ---- events ---- */

static void unlock(void *mutex)
{
	pthread_mutex_unlock(mutex);
}

/* To wait is a cancellation point. */
void wait_for_acks(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *given,
	const uint32_t *acknowledged)
{
	pthread_mutex_lock(mutex);
	pthread_cleanup_push(unlock, mutex);
	while (*given != *acknowledged)
		pthread_cond_wait(cond, mutex);
	pthread_cleanup_pop(1);
}

static void count(pthread_mutex_t *mutex, uint32_t *counter)
{
	pthread_mutex_lock(mutex);
	++*counter;
	pthread_mutex_unlock(mutex);
}

static const struct {
	uint32_t kind;
	enum ibv_event_type type;
} kinds[] = {
	{ WEFT_DEV_PORT_ACTIVE, IBV_EVENT_PORT_ACTIVE },
	{ WEFT_DEV_PORT_DOWN, IBV_EVENT_PORT_ERR },
	{ WEFT_DEV_QP_FATAL, IBV_EVENT_QP_FATAL },
	{ WEFT_DEV_QP_ACCESS, IBV_EVENT_QP_ACCESS_ERR },
	{ WEFT_DEV_QP_REQUEST, IBV_EVENT_QP_REQ_ERR },
	{ WEFT_DEV_SQ_DRAINED, IBV_EVENT_SQ_DRAINED },
	{ WEFT_DEV_QP_LAST_WQE, IBV_EVENT_QP_LAST_WQE_REACHED },
	{ WEFT_DEV_CQ_ERROR, IBV_EVENT_CQ_ERR },
	{ WEFT_DEV_SRQ_LIMIT, IBV_EVENT_SRQ_LIMIT_REACHED },
};

/* False: verbs have no word for it (a single plane). */
static bool translate(const struct weft_dev_event *from, struct ibv_async_event *to)
{
	size_t i = 0;

	while (i < WEFT_COUNT(kinds) && kinds[i].kind != from->kind)
		i++;
	if (i == WEFT_COUNT(kinds))
		return false;
	to->event_type = kinds[i].type;
	switch (to->event_type) {
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
		to->element.port_num = PORT;
		break;
	case IBV_EVENT_CQ_ERR:
		to->element.cq = ibv_cq_ex_to_cq(&((struct cq *)from->user)->ibv);
		break;
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		to->element.srq = &((struct srq *)from->user)->ibv;
		break;
	default:
		to->element.qp = &((struct qp *)from->user)->ibv.qp_base;
		break;
	}
	return true;
}

/* Whoever destroys its object from now on waits until it is acknowledged. */
static void count_given(const struct weft_dev_event *from)
{
	struct ibv_async_event event;
	struct cq *cq = from->user;
	struct srq *srq = from->user;
	struct qp *qp = from->user;

	if (!translate(from, &event))
		return;
	switch (event.event_type) {
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
		break;
	case IBV_EVENT_CQ_ERR:
		count(&cq->ibv.mutex, &cq->async_events);
		break;
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		count(&srq->ibv.mutex, &srq->async_events);
		break;
	default:
		count(&qp->ibv.qp_base.mutex, &qp->async_events);
		break;
	}
}

int ibv_get_async_event(struct ibv_context *ibv, struct ibv_async_event *event)
{
	struct weft_dev_event from;
	int error;

	do
		error = weft_dev_event_take(context_of(ibv)->dev, &from, count_given);
	while (!error && !translate(&from, event));
	if (!error)
		return 0;
	errno = error;
	return -1;
}

static void acknowledge(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *counter)
{
	pthread_mutex_lock(mutex);
	++*counter;
	pthread_cond_broadcast(cond);
	pthread_mutex_unlock(mutex);
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_cq *cq = event->element.cq;
	struct ibv_qp *qp = event->element.qp;
	struct ibv_srq *srq = event->element.srq;

	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		acknowledge(&cq->mutex, &cq->cond, &cq->async_events_completed);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		acknowledge(&srq->mutex, &srq->cond, &srq->events_completed);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		acknowledge(&qp->mutex, &qp->cond, &qp->events_completed);
		break;
	default:
		break;
	}
}
