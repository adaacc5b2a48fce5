/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_PATHS_H
#define WEFT_PATHS_H
/*
 * paths - libweft-paths.so, preloaded by `weft run`: the device nodes and sysfs entries that
 * programs look for beside verbs.
 *
 *   UCX  --> stat("/dev/infiniband/uverbs0") --> this --> stat("/dev/null"): a character device
 *   NCCL --> realpath("/sys/class/infiniband/mrc0/device") --> this: a device on no bus
 *
 * UCX believes in a device only when its node is there, NCCL's network for the OCP API only when it
 * has a place; to make either takes root or a driver.  Everything else passes through untouched.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* What to look at in its stead, for whoever asks of what kind it is: itself, unless it is such a
 * name and the machine does not have it. */
const char *weft_paths_map(const char *path);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_PATHS_H */
