/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_PATHS_H
#define WEFT_PATHS_H
/*
 * paths - libweft-paths.so, preloaded by `weft run`: the device node that UCX looks for.
 *
 *   UCX --> stat("/dev/infiniband/uverbs0") --> this --> stat("/dev/null"): a character device
 *
 * UCX believes in a device only when its node is there, and to make one takes root.  Nobody ever
 * reads or writes the node; everything else passes through untouched.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* Where path leads: itself, unless it is such a node and there is none. */
const char *weft_paths_map(const char *path);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_PATHS_H */
