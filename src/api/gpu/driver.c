/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * driver - CUDA's driver, if this machine has one.
 *
 * By dlopen() and not by linking: a plugin of NCCL's must load on machines without a GPU, and
 * building Weft must need nothing of NVIDIA's.  The driver's library and not CUDA's runtime, which
 * programs link into themselves and of which there may be several in one process.  The library is
 * never closed: its threads would outlive their code.
 */
#include "gpu_local.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libcuda.so.1"

static struct driver driver;
static bool is_there;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find_calls(void *library)
{
	static const char *const names[] = {
#define FIELD(field, name, arguments) name,
		DRIVER_CALLS
#undef FIELD
	};
	void *found[WEFT_COUNT(names)];

	for (size_t i = 0; i < WEFT_COUNT(names); i++) {
		found[i] = dlsym(library, names[i]);
		if (!found[i])
			return false;
	}
	_Static_assert(sizeof(found) == sizeof(driver), "one pointer per call");
	memcpy(&driver, found, sizeof(driver));
	return true;
}

static void look(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	int n = 0;

	is_there = library && find_calls(library) && !driver.init(0) && !driver.device_count(&n) &&
		   n > 0;
}

const struct driver *driver_get(void)
{
	pthread_once(&once, look);
	return is_there ? &driver : NULL;
}

bool weft_gpu_is_there(void)
{
	return driver_get() != NULL;
}

const char *weft_gpu_error(int error)
{
	const struct driver *d = driver_get();
	const char *text = NULL;

	if (d && !d->error_string(error, &text) && text)
		return text;
	return error == CU_NO_DEVICE ? "no GPU" : "an error of CUDA's driver";
}
