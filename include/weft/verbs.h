/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_VERBS_H
#define WEFT_VERBS_H
/*
 * verbs - libibverbs.so.1, which RDMA programs were written for, over a device of ours.
 *
 *   program --> ibv_post_send() --> context->ops.post_send --+
 *           --> ibv_create_qp() --> exported symbol ---------+--> <weft/device.h>
 *           --> ibv_create_cq_ex() --> verbs_context.create_cq_ex
 *
 * Its interface is rdma-core's <infiniband/verbs.h> and not repeated here; what is declared here is
 * for our other libraries in the same process, which share its contexts.
 *
 * Environment  WEFT_PROFILE=strict: writes only, as MRC has it; else extended, see docs/verbs.md.
 * Errors       As verbs: NULL with errno, or an errno value, or -1 with errno.
 */
#include <weft/device.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ibv_context;
struct ibv_pd;

/* The device behind a context; NULL: it is not ours. */
struct weft_dev *weft_verbs_device(struct ibv_context *context);
struct weft_dev_pd *weft_verbs_pd(struct ibv_pd *pd);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_VERBS_H */
