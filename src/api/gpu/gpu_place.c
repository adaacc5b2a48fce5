/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gpu_place - to which GPU a pointer belongs, and how to speak to it.
 *
 * Whoever calls has no context that we know of: NCCL's proxy thread may have none.  Memory of
 * cuMemAlloc() knows the context that it was made in.  Memory that was mapped (cuMemMap(), which
 * NCCL prefers) or came from a pool belongs to a device only: then that device's primary context
 * does, which is the one that CUDA's runtime uses.
 */
#include "gpu_local.h"

static int find_primary(const struct driver *d, uint64_t at, struct weft_gpu_place *place)
{
	int ordinal = -1, device = -1;
	int rc = d->pointer_get(&ordinal, CU_POINTER_DEVICE, at);

	if (!rc)
		rc = d->device_get(&device, ordinal);
	if (!rc)
		rc = d->primary_retain(&place->context, device);
	if (!rc)
		place->primary = device;
	return rc;
}

int weft_gpu_find(uint64_t at, struct weft_gpu_place *place)
{
	const struct driver *d = driver_get();
	unsigned type = 0;
	int rc;

	*place = (struct weft_gpu_place){ .primary = -1 };
	if (!d)
		return CU_NO_DEVICE;
	rc = d->pointer_get(&type, CU_POINTER_MEMORY_TYPE, at);
	if (rc)
		return rc;
	if (type != CU_MEMORY_DEVICE)
		return CU_INVALID_VALUE;
	if (!d->pointer_get(&place->context, CU_POINTER_CONTEXT, at) && place->context)
		return CU_OK;
	place->context = NULL;
	return find_primary(d, at, place);
}

void weft_gpu_forget(const struct weft_gpu_place *place)
{
	const struct driver *d = driver_get();

	if (d && place->primary >= 0)
		(void)d->primary_release(place->primary);
}

int place_enter(const struct weft_gpu_place *place)
{
	const struct driver *d = driver_get();

	return d ? d->push(place->context) : CU_NO_DEVICE;
}

void place_leave(void)
{
	void *was;

	(void)driver_get()->pop(&was);
}

int weft_gpu_pin(const struct weft_gpu_place *place, void *host, size_t bytes)
{
	int rc = place_enter(place);

	if (rc)
		return rc;
	rc = driver_get()->host_register(host, bytes, CU_REGISTER_PORTABLE);
	place_leave();
	return rc;
}

/* What goes wrong here does at the end of the program, where the driver has gone before us. */
void weft_gpu_unpin(const struct weft_gpu_place *place, void *host)
{
	if (place_enter(place))
		return;
	(void)driver_get()->host_unregister(host);
	place_leave();
}
