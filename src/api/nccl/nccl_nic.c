/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_nic - the devices of this host, each opened when it is first used and closed when nobody
 * does.
 */
#include "nccl_local.h"

#include <limits.h>
#include <string.h>

weft_nccl_log_fn *nccl_log;

static struct {
	struct weft_lock lock;
	struct nic nics[WEFT_DEV_MAX];
	int n;
} all = { .lock = WEFT_LOCK_INIT };

/* Another thread of the parent may have had it; the parent's devices are dead here, and say so. */
static void in_child(void)
{
	weft_lock_open(&all.lock);
}

static void watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, in_child);
}

int nic_init(weft_nccl_log_fn *log)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct weft_dev_name names[WEFT_DEV_MAX];
	char error[256] = "";

	(void)pthread_once(&once, watch_forks);
	nccl_log = log;
	weft_lock_take(&all.lock);
	if (!all.n) {
		int n = weft_dev_list(names, error, sizeof(error));

		for (int i = 0; i < n; i++)
			all.nics[i].name = names[i];
		all.n = n > 0 ? n : 0;
	}
	weft_lock_give(&all.lock);
	if (all.n)
		return WEFT_NCCL_SUCCESS;
	if (*error)
		WARN("NET/Weft: %s", error);
	return WEFT_NCCL_SYSTEM_ERROR; /* NCCL goes on to the next network */
}

int nic_count(void)
{
	return all.n;
}

static bool nic_open(struct nic *nic)
{
	char error[256] = "";

	if (weft_dev_open(&nic->dev, &nic->name, error, sizeof(error))) {
		WARN("NET/Weft: %s: %s", nic->name.name, error);
		nic->dev = NULL;
		return false;
	}
	weft_dev_query(nic->dev, &nic->attr);
	if (!weft_dev_pd_open(nic->dev, &nic->pd))
		return true;
	(void)weft_dev_close(nic->dev);
	nic->dev = NULL;
	return false;
}

struct nic *nic_get(int dev)
{
	struct nic *nic = dev >= 0 && dev < all.n ? &all.nics[dev] : NULL;

	if (!nic)
		return NULL;
	weft_lock_take(&all.lock);
	if (nic->users || nic_open(nic))
		nic->users++;
	else
		nic = NULL;
	weft_lock_give(&all.lock);
	return nic;
}

struct nic *nic_again(struct nic *nic)
{
	weft_lock_take(&all.lock);
	nic->users++;
	weft_lock_give(&all.lock);
	return nic;
}

void nic_put(struct nic *nic)
{
	weft_lock_take(&all.lock);
	/* What NCCL has not deregistered holds the domain: then the device stays open. */
	if (!--nic->users && !weft_dev_pd_close(nic->pd)) {
		(void)weft_dev_close(nic->dev);
		nic->dev = NULL;
	} else if (!nic->users) {
		nic->users = 1;
	}
	weft_lock_give(&all.lock);
}

int nic_properties(int dev, struct weft_nccl_properties_v12 *p)
{
	struct nic *nic = nic_get(dev);

	if (!nic)
		return WEFT_NCCL_SYSTEM_ERROR;
	memset(p, 0, sizeof(*p));
	p->name = nic->name.name;
	p->guid = nic->name.guid;
	p->ptr_support = WEFT_NCCL_PTR_HOST;
	if (weft_gpu_is_there())
		p->ptr_support |= WEFT_NCCL_PTR_CUDA | WEFT_NCCL_PTR_DMABUF;
	p->reg_is_global = 1;
	/* What verbs call the port, so that NCCL ranks it among others alike by either way. */
	p->speed_mbps = (int)WEFT_MIN(nic->attr.line_bps / 1000000, (uint64_t)INT_MAX);
	p->port = 1;
	p->latency_us = 10;
	p->comms_max = (int)nic->attr.max_qp;
	p->recvs_max = WEFT_NCCL_RECVS_MAX;
	p->merged.n = 1;
	p->merged.devs[0] = dev;
	p->p2p_bytes_max = p->coll_bytes_max = nic->attr.max_msg_bytes;
	p->multi_requests_max = 1;
	p->rail = -1; /* all planes are in one device */
	p->plane = -1;
	nic_put(nic);
	return WEFT_NCCL_SUCCESS;
}
