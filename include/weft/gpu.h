/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_GPU_H
#define WEFT_GPU_H
/*
 * gpu - copies between a GPU's memory and the host's, by the copy engines of a GPU.
 *
 *   weft_gpu_find --> where a pointer leads --> weft_gpu_lane_open --> weft_gpu_copy
 *                                                                      weft_gpu_copied?
 *
 * CUDA's driver is looked for when the program runs and not when it is built; without one there is
 * no GPU, and nothing else changes.
 *
 * Threads  Any; one at a time per lane, but for weft_gpu_lane_settle().  No context need be
 *          current, and none is afterwards that was not before.
 * Errors   Numbers of the driver's, above 0: weft_gpu_error() knows their names.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether there is a driver, and a GPU behind it.  Looked for once per process. */
bool weft_gpu_is_there(void);
const char *weft_gpu_error(int error); /* static */

struct weft_gpu_place { /* of a piece of a GPU's memory */
	void *context;
	int primary; /* whose own context that is, held meanwhile; -1: the program's */
};
/* An error where `at` is no GPU's memory.  To be given back. */
int weft_gpu_find(uint64_t at, struct weft_gpu_place *place);
void weft_gpu_forget(const struct weft_gpu_place *place);

#define WEFT_GPU_COPIES_MAX 64u

/* Copies in one order, in one context: a stream, and marks on it by which one knows how far it
 * is.  It waits for nothing that the program does in streams of its own. */
struct weft_gpu_lane;
/* copies: at most so many under way, numbered from 0. */
int weft_gpu_lane_open(
	const struct weft_gpu_place *place, uint32_t copies, struct weft_gpu_lane **lane);
/* Waits for the copies that are under way now, for a few seconds at most, and not for those that
 * another thread begins meanwhile.  False: they still are. */
bool weft_gpu_lane_settle(struct weft_gpu_lane *lane);
/* Likewise, alone.  False: what they read and write must stay as it is for good. */
bool weft_gpu_lane_close(struct weft_gpu_lane *lane);

enum weft_gpu_way { WEFT_GPU_TO_HOST, WEFT_GPU_FROM_HOST };
/* A number is free again when weft_gpu_copied() has said so.  Host memory must be pinned for the
 * copy to go on by itself, and is lent until it is done. */
int weft_gpu_copy(struct weft_gpu_lane *lane, uint32_t copy, enum weft_gpu_way way, uint64_t at,
	void *host, size_t bytes);
/* An error: this copy failed, or one before it, or all that the GPU does. */
int weft_gpu_copied(struct weft_gpu_lane *lane, uint32_t copy, bool *done);

/* Host memory, whole pages, for copies of all GPUs; before it is given back to the system it must
 * be unpinned. */
int weft_gpu_pin(const struct weft_gpu_place *place, void *host, size_t bytes);
void weft_gpu_unpin(const struct weft_gpu_place *place, void *host);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_GPU_H */
